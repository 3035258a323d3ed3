// Tabs: arrow keys move between them, and the panel of the chosen one is below. None may be chosen: then there is no panel.
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { useId } from "./use-id.ts";

export interface Tab {
  name: string;
  title: ComponentChildren;
  content: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  choose: (name: string) => void;
  /** What stands to the right of the tabs. */
  aside?: ComponentChildren;
}

/** The place that a key leads to in a row of things, or null for other keys. */
export function placeAfter(key: string, place: number, count: number, turns = false): number | null {
  const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: count - 1 }[key];
  if (to === undefined) return null;
  return turns ? (to + count) % count : Math.max(0, Math.min(count - 1, to));
}

export function Tabs({ label, tabs, chosen, choose, aside }: TabsProps): JSX.Element {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const current = tabs.findIndex((tab) => tab.name === chosen);
  const reached = Math.max(0, current);
  const shown = tabs[current];
  return (
    <>
      <div class="iv-tabs">
        <div
          class="iv-tablist"
          role="tablist"
          aria-label={label}
          ref={list}
          onKeyDown={(event) => {
            const to = placeAfter(event.key, reached, tabs.length, true);
            const next = to === null ? undefined : tabs[to];
            if (to === null || next === undefined) return;
            event.preventDefault();
            choose(next.name);
            list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
          }}
        >
          {tabs.map((tab, place) => (
            <button
              key={tab.name}
              type="button"
              role="tab"
              class="iv-tab"
              id={`${id}-${tab.name}`}
              data-testid={`tab-${tab.name}`}
              aria-selected={place === current}
              aria-controls={shown === undefined ? undefined : `${id}-panel`}
              tabIndex={place === reached ? 0 : -1}
              onClick={() => choose(tab.name)}
            >
              {tab.title}
            </button>
          ))}
        </div>
        {aside}
      </div>
      {shown !== undefined && (
        <div
          class="iv-tabpanel"
          role="tabpanel"
          id={`${id}-panel`}
          tabIndex={0}
          aria-labelledby={`${id}-${shown.name}`}
          data-testid={`pane-${shown.name}`}
        >
          {shown.content()}
        </div>
      )}
    </>
  );
}
