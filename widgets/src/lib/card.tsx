// What panes are made of: a folded part, a list of remarks.
import type { ComponentChildren, JSX } from "preact";

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
