// What leaves the explorer: files by download, Python by the clipboard; and session files that come in.
import type { Connection } from "./connection.ts";
import type { Exported, ExportMessage } from "./types.ts";

/** What is said after an export: good or bad news. */
export interface News {
  good: boolean;
  text: string;
}

const TYPES: Record<Exported, string> = {
  session: "application/json",
  plan: "application/json",
  machine: "application/json",
  report: "application/json",
  trace: "application/json",
  page: "text/html",
  python: "text/x-python",
  "runs-json": "application/json",
  "runs-csv": "text/csv",
};

/** Asks the kernel for an export and gives it to the person as a file. */
export async function save(connection: Connection, what: Exported): Promise<News> {
  const answer = await connection.exported(what);
  if (answer.error !== "") return { good: false, text: answer.error };
  download(answer);
  return { good: true, text: `Saved ${answer.name}.` };
}

/** Asks the kernel for the Python that recreates the state and puts it on the clipboard. */
export async function copyPython(connection: Connection): Promise<News> {
  const answer = await connection.exported("python");
  if (answer.error !== "") return { good: false, text: answer.error };
  if (await copied(answer.text)) return { good: true, text: "Copied the Python that recreates this." };
  download(answer);
  return { good: true, text: `This page may not use the clipboard; saved ${answer.name} instead.` };
}

function download({ what, name, text }: ExportMessage): void {
  downloaded(name, new Blob([text], { type: `${TYPES[what]};charset=utf-8` }));
}

/** Gives a file to the person. */
export function downloaded(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // the browser may still be reading it
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // pages without https or without permission have no clipboard
  }
}

/** Lets the person choose a file of text; null where none is chosen or it cannot be read. */
export function chosenFile(accept: string): Promise<{ name: string; text: string } | null> {
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = accept;
    input.addEventListener("cancel", () => resolve(null));
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (file === undefined) resolve(null);
      else
        file.text().then(
          (text) => resolve({ name: file.name, text }),
          () => resolve(null),
        );
    });
    input.click();
  });
}
