// A saved page about a plan: one screen of summary, then the views of the explorer, folded.
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Figures } from "#app/bar.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { type PaneProps, paneOf, tabPanes } from "#model/pane.ts";
import type { PageLine, PagePart } from "#model/types.ts";
import { formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { machineWords, memoryWords, titleOf } from "#model/words.ts";
import { SavePicture } from "#views/controls/save-picture.tsx";
import { Term } from "#views/controls/term.tsx";
import { Inspector } from "#views/inspector/inspector.tsx";
import { Journey } from "#views/journey/journey.tsx";
import { Leading } from "#views/journey/leading.tsx";
import { Advice, Report } from "#views/runs/run-report.tsx";
import { PageEnds } from "./page-ends.tsx";
import { SavedFiles } from "./saved-files.tsx";

const WORDS: Record<PagePart["kind"], string> = { show: "Plan", simulate: "Simulation", run: "Run", explorer: "Plan" };

const IN_PAGE: PaneProps = { alone: false, sides: ["source", "destination"] };

export function Page({ page }: { page: PagePart }): JSX.Element {
  const { snapshot } = useView();
  const { settings, menus, panes } = snapshot;
  const [from, to] = [
    memoryWords(menus.memories, settings.source.memory),
    memoryWords(menus.memories, settings.destination.memory),
  ];
  const { report } = panes.run;
  const journey = useRef<HTMLDivElement>(null);
  const views = [
    { name: "ends", title: "Layouts of both ends", content: () => <PageEnds ends={page.ends} /> },
    ...tabPanes().map((pane) => ({ ...pane, content: () => pane.render(IN_PAGE) })),
  ];
  return (
    <>
      <header class="iv-page-head">
        <div>
          <h1>{titleOf(settings)}</h1>
          <p class="iv-faint">
            {WORDS[page.kind]} on {machineWords(settings.machine)} · {from} <code>{settings.source.memory}</code> → {to}{" "}
            <code>{settings.destination.memory}</code>
          </p>
        </div>
        <SavedFiles />
      </header>
      <div class="iv-page-leading">
        <Leading />
        <Figures />
      </div>
      <div class="iv-page-journey" ref={journey}>
        <SavePicture name="Journey" of={() => journey.current?.querySelector<HTMLElement>(".iv-journey") ?? null} />
        <Journey />
      </div>
      <div class="iv-page-summary">
        <section
          class={`iv-card iv-page-said${page.lines.length > 0 ? " iv-page-short" : ""}`}
          aria-label="In short"
          data-testid="page-said"
        >
          {report !== null ? (
            <>
              <h2>Predicted and measured</h2>
              <Report report={report} emulated={panes.run.emulated} />
              <Advice advice={panes.run.advice} />
            </>
          ) : (
            <>
              <h2>{page.lines.length > 0 ? "Predicted and simulated" : "Hop by hop"}</h2>
              {page.lines.length > 0 && <Lines lines={page.lines} />}
              {page.said.map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
              {paneOf("hops")?.render(IN_PAGE)}
            </>
          )}
        </section>
        <Inspector />
      </div>
      {page.views.map((name) => {
        const view = views.find((each) => each.name === name) ?? inPage(name);
        const told = name === "hops" && report === null; // in the summary
        return view === undefined || told ? null : (
          <Section key={name} name={name} title={view.title} opened={page.opened.includes(name)}>
            {view.content}
          </Section>
        );
      })}
      <footer class="iv-faint">isoviz {page.version}</footer>
    </>
  );
}

/** A pane that has no tab. */
function inPage(name: string): { title: string; content: () => ComponentChildren } | undefined {
  const pane = paneOf(name);
  return pane && { title: pane.title, content: () => pane.render(IN_PAGE) };
}

/** A view that is folded at first. It is drawn once it is opened: what is hidden has no size. */
function Section({
  name,
  title,
  opened,
  children,
}: {
  name: string;
  title: ComponentChildren;
  opened: boolean;
  children: () => ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(opened);
  const content = useRef<HTMLDivElement>(null);
  return (
    <details
      class="iv-card iv-page-view"
      data-testid={`view-${name}`}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <h2>{title}</h2>
      </summary>
      {open && (
        <div class="iv-page-content" ref={content}>
          {name !== "ends" && <SavePicture name={String(title)} of={() => content.current} />}
          {children()}
        </div>
      )}
    </details>
  );
}

function Lines({ lines }: { lines: readonly PageLine[] }): JSX.Element {
  const most = Math.max(...lines.map((line) => line.seconds)) || 1;
  const columns: readonly Column<PageLine>[] = [
    { title: "Transfer", cell: (line) => line.name, names: true },
    { title: "Time", cell: (line) => formatSeconds(line.seconds), number: true },
    { title: () => <Term name="throughput">Rate</Term>, cell: (line) => formatRate(line.rate), number: true },
    {
      title: "time, drawn",
      cell: (line) => <span class="iv-measure iv-measure-measured" style={{ width: `${(100 * line.seconds) / most}%` }} />,
      drawn: { cells: "iv-measures", head: "iv-measures-head" },
    },
  ];
  return (
    <Table
      caption="Times of the whole transfer"
      columns={columns}
      rows={lines}
      keyOf={(line) => line.name}
      tableClass="iv-page-lines"
    />
  );
}
