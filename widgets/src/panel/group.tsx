// Controls that belong together, below a heading.
import type { ComponentChildren, JSX } from "preact";

export function Group({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <fieldset class="iv-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
