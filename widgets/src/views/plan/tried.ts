// What is tried on the plan: what the person does at once, the kernel's answer when it comes. One question is on its way at a time, so
// that answers never lag behind the pointer: the latest one waits for the answer to the one before.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ShownWhatIf } from "#model/types.ts";
import { useView } from "#model/view.ts";

export const NOTHING_TRIED: ShownWhatIf = { bandwidths: [], slotLimit: null, sizes: [], reuse: null, capacities: [] };

interface Question {
  whatIf: ShownWhatIf;
  moving: boolean;
}

export interface Tried {
  whatIf: ShownWhatIf;
  /** Whether anything is tried. */
  active: boolean;
  ask: (change: Partial<ShownWhatIf>, moving: boolean) => void;
  reset: () => void;
  keep: () => void;
}

export function isNothing(whatIf: ShownWhatIf): boolean {
  const { bandwidths, slotLimit, sizes, reuse, capacities } = whatIf;
  return [bandwidths, sizes, capacities].every((named) => named.length === 0) && slotLimit === null && reuse === null;
}

export function useTried(): Tried {
  const { connection, snapshot } = useView();
  const told = snapshot.panes.what_if?.whatIf ?? NOTHING_TRIED;
  const [draft, setDraft] = useState<ShownWhatIf | null>(null);
  const sent = useRef(0);
  const waiting = useRef<Question | null>(null);
  const send = (question: Question): void => {
    sent.current = connection.send({ kind: "what-if", ...question });
    waiting.current = null;
  };
  const isAnswered = (): boolean => connection.acknowledged >= sent.current && (snapshot.panes.what_if?.isAnswer ?? true);
  const answered = isAnswered();
  useEffect(() => {
    if (!isAnswered()) return; // by now more may have been asked
    if (waiting.current !== null) send(waiting.current);
    else setDraft(null);
  }, [answered, connection.acknowledged, snapshot.panes.what_if]);
  const shown = draft ?? told;
  const put = (whatIf: ShownWhatIf, moving: boolean): void => {
    setDraft(whatIf);
    const question = { whatIf, moving };
    // What is final does not wait: it replaces whatever the kernel is at.
    if (!moving || isAnswered()) send(question);
    else waiting.current = question;
  };
  return {
    whatIf: shown,
    active: !isNothing(shown),
    ask: (change, moving) => put({ ...shown, ...change }, moving),
    reset: () => put(NOTHING_TRIED, false),
    keep: () => {
      setDraft(null);
      waiting.current = null;
      connection.send({ kind: "keep-what-if" });
    },
  };
}
