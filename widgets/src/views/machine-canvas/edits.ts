// Edits of the machine on their way: sent as commands, and their refusals beside the control that caused them.
import { createContext } from "preact";
import { useContext, useMemo, useRef } from "preact/hooks";
import type { CanvasPart, MachineEdit } from "#model/types.ts";
import { useView } from "#model/view.ts";

/** What is selected on the canvas. `place` counts the parts of its kind: a part that is renamed keeps its place. */
export type Chosen =
  | { readonly kind: "machine" }
  | { readonly kind: "node"; readonly node: number }
  | { readonly kind: "box"; readonly key: string }
  | { readonly kind: "bundle"; readonly key: string }
  | { readonly kind: "memory" | "channel" | "resource"; readonly name: string; readonly place: number };

export const MACHINE: Chosen = { kind: "machine" };

export interface Editing {
  /** Sends an edit for a control; returns the number of the command. */
  send(control: string, edit: MachineEdit): number;
  /** Why the last edit of a control was refused; "" where it was not. */
  problem(control: string): string;
  /** Whether the kernel has answered a command. */
  answered(number: number): boolean;
  chosen: Chosen;
  choose(chosen: Chosen): void;
  /** Selects the part that the next state adds. */
  expect(kind: "memory" | "channel" | "resource"): void;
  part: CanvasPart;
}

export const EditingContext = createContext<Editing | null>(null);

export function useEditing(): Editing {
  const editing = useContext(EditingContext);
  if (editing === null) throw new Error("a control of the machine outside of its canvas");
  return editing;
}

/** Commands that edit, and which control each belongs to. */
export function useCommands(): Pick<Editing, "send" | "problem" | "answered"> {
  const { connection } = useView();
  const controls = useRef(new Map<number, string>());
  return useMemo(
    () => ({
      send: (control, edit) => {
        const number = connection.send({ kind: "edit-machine", edit });
        controls.current.set(number, control);
        return number;
      },
      problem: (control) => {
        const refusal = connection.snapshot?.frame.refusal;
        if (refusal === null || refusal === undefined || refusal.client !== connection.client || refusal.number === null)
          return "";
        return refusal.kind === "edit-machine" && controls.current.get(refusal.number) === control ? refusal.message : "";
      },
      answered: (number) => connection.acknowledged >= number,
    }),
    [connection],
  );
}
