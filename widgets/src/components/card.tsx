// What panes are made of: a card with a heading, a folded part, a list of remarks.
import type { ComponentChildren, JSX } from "preact";

interface CardProps {
  title: ComponentChildren;
  testid?: string;
  /** Older than what has been entered: greyed. */
  stale?: boolean;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Card(props: CardProps): JSX.Element {
  return (
    <section class={`iv-card${props.stale ? " iv-stale" : ""}`} data-testid={props.testid} data-stale={props.stale ? "true" : "false"}>
      <header class="iv-card-head">
        <h2>{props.title}</h2>
        {props.actions}
      </header>
      {props.children}
    </section>
  );
}

interface FoldedProps {
  title: ComponentChildren;
  testid?: string;
  open?: boolean;
  children: ComponentChildren;
}

/** What is there for those who ask. */
export function Folded({ title, testid, open, children }: FoldedProps): JSX.Element {
  return (
    <details class="iv-details" data-testid={testid} open={open || undefined}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

export function Notes({ notes }: { notes: readonly string[] }): JSX.Element | null {
  if (notes.length === 0) return null;
  return (
    <ul class="iv-notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
