// A component whose code is loaded when it is first shown.
import type { ComponentType, FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ErrorLine } from "./error-line.tsx";

/** The component that `load` brings. Until it has come, a line stands in its place; afterwards it is drawn at once. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  let Loaded: ComponentType<Props> | null = null;
  let loading: Promise<void> | null = null;
  const begin = (): Promise<void> => {
    loading ??= load().then(
      (found) => {
        Loaded = found;
      },
      (error: unknown) => {
        loading = null; // it is tried again when it is shown again
        throw error;
      },
    );
    return loading;
  };
  return function Later(props) {
    const [problem, setProblem] = useState("");
    const [, drawAgain] = useState(0);
    useEffect(() => {
      if (Loaded !== null) return;
      let shown = true;
      begin().then(
        () => shown && drawAgain(1),
        (error: unknown) => shown && setProblem(error instanceof Error ? error.message : String(error)),
      );
      return () => {
        shown = false;
      };
    }, []);
    if (Loaded !== null) return <Loaded {...props} />;
    if (problem !== "") return <ErrorLine name="part">This part could not be loaded: {problem}</ErrorLine>;
    return (
      <p class="iv-faint" data-testid="part-waiting">
        Being loaded…
      </p>
    );
  };
}
