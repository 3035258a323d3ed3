// What if the transfer had fewer paths, fewer proxies, another routing zone, or another window: settings, each a click.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { ProblemLine } from "#lib/error-line.tsx";
import { byName } from "#model/by-name.ts";
import type { Command, ShownProblem } from "#model/types.ts";
import { counted, formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { MenuControl } from "#views/controls/menu-control.tsx";
import { Term } from "#views/controls/term.tsx";
import { TextControl } from "#views/controls/text-control.tsx";

const PATHS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
const PROXIES = ["0", "1", "2", "3", "4", "5"];
const MULTIPATH = "multipath";
/** Answers that are listed, the latest ones. */
const LISTED = 10;

interface Tried {
  readonly words: string;
  readonly paths: number;
  readonly seconds: number;
  readonly rate: number;
}

export function PathsWhatIf(): JSX.Element | null {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const { network, plan } = snapshot.panes;
  const { problems } = snapshot.faults;
  const tried = useTried();
  if (network === null && (plan?.paths.length ?? 0) < 2 && settings.planner !== MULTIPATH) return null;
  if (connection.offline) return null;
  const zone = zoneOf(snapshot.menus.machines, settings.machine.name);
  const longest = Math.max(...tried.map(({ seconds }) => seconds));
  return (
    <section class="iv-paths-what-if" data-testid="paths-what-if" aria-label="What if the paths were limited">
      <h3>Several paths</h3>
      {settings.planner !== MULTIPATH && (
        <p class="iv-faint">
          The planner {settings.planner} plans here.{" "}
          <Button
            label="Plan with multipath"
            quiet
            testid="use-multipath"
            onClick={() => connection.send({ kind: "set", field: "planner", value: MULTIPATH })}
          />
        </p>
      )}
      <Choice
        name="paths"
        label="Paths at most"
        free="all that pay"
        values={PATHS}
        value={settings.paths}
        problem={problems.paths}
        command={(value) => ({ kind: "set", field: "paths", value })}
      />
      <Choice
        name="proxies"
        label="Proxies of a path at most"
        free="any"
        values={PROXIES}
        value={settings.proxies}
        problem={problems.proxies}
        command={(value) => ({ kind: "set", field: "proxies", value })}
      />
      <div class="iv-machine-options">
        {zone !== undefined && (
          <MenuControl
            name="paths-zone"
            label="Routing zone"
            value={byName(settings.machine.options).get("zone") ?? zone.value}
            choices={zone.choices.map((name) => ({ name, title: name, about: "" }))}
            problem={problems["machine-option:zone"]}
            command={(value) => ({ kind: "set", field: "machine-option", name: "zone", value })}
          />
        )}
        <TextControl
          name="paths-window"
          label={
            <>
              Window (<Term name="slot limit">slot limit</Term>)
            </>
          }
          placeholder="chosen by the model"
          value={settings.slotLimit}
          problem={problems["slot-limit"]}
          command={(value) => ({ kind: "set", field: "slot-limit", value })}
          whenDone
        />
      </div>
      {tried.length > 0 && (
        <ol class="iv-paths-tried" data-testid="paths-tried" aria-label="Plans that were tried, the latest last">
          {tried.map((each) => (
            <li key={each.words}>
              <span>{each.words}</span>
              <span>
                {counted(each.paths, "path")}, {formatRate(each.rate)}, <b>{formatSeconds(each.seconds)}</b>
              </span>
              <i style={{ width: `${(100 * each.seconds) / longest}%` }} aria-hidden="true" />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

const zoneOf = (machines: ReturnType<typeof useView>["snapshot"]["menus"]["machines"], name: string) =>
  machines.find((each) => each.name === name)?.options.find((option) => option.name === "zone");

/** The plans that came of these settings while nothing else was changed, each once. */
function useTried(): readonly Tried[] {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const { plan } = snapshot.panes;
  const kept = useRef<{ rest: string; tried: Tried[] }>({ rest: "", tried: [] });
  const { paths, proxies, slotLimit, machine, ...others } = settings;
  const zone = byName(machine.options).get("zone");
  const options = machine.options.filter(([name]) => name !== "zone");
  const rest = JSON.stringify([others, { ...machine, options }]);
  if (kept.current.rest !== rest) kept.current = { rest, tried: [] };
  const fresh = snapshot.frame.settled && !connection.waiting && !snapshot.faults.stale.includes("plan");
  if (plan !== null && fresh) {
    const words = [
      paths === "" ? "all paths that pay" : `paths ≤ ${paths}`,
      ...(proxies === "" ? [] : [`proxies ≤ ${proxies}`]),
      ...(zone === undefined ? [] : [`zone ${zone}`]),
      ...(slotLimit === "" ? [] : [`window ${slotLimit}`]),
    ].join(", ");
    const found = { words, paths: plan.paths.length, seconds: plan.seconds, rate: plan.throughput };
    const before = kept.current.tried.filter((each) => each.words !== words);
    const known = kept.current.tried.find((each) => each.words === words);
    if (known?.seconds !== found.seconds || known.paths !== found.paths)
      kept.current = { rest, tried: [...before, found].slice(-LISTED) };
  }
  return kept.current.tried;
}

interface ChoiceProps {
  name: string;
  label: string;
  free: string;
  values: readonly string[];
  value: string;
  problem: ShownProblem | undefined;
  command: (value: string) => Command;
}

/** One of a few numbers, or none. */
function Choice({ name, label, free, values, value, problem, command }: ChoiceProps): JSX.Element {
  const { connection } = useView();
  return (
    <div class="iv-mc-row iv-paths-choice" role="group" aria-label={label}>
      <span class="iv-label">{label}</span>
      {[...values, ""].map((each) => (
        <Button
          key={each}
          label={each === "" ? free : each}
          testid={`${name}-${each === "" ? "any" : each}`}
          pressed={value.trim() === each}
          onClick={() => connection.send(command(each))}
        />
      ))}
      <ProblemLine id={`${name}-problem`} name={name} problem={problem} />
    </div>
  );
}
