// What a saved page holds, as its frame hands it over (isoviz/widgets/pages/plan_page.py).
import type { PagePart } from "#model/types.ts";

/** What a page shows: the state of an explorer with the rest of the page. */
export interface PageContent {
  page: PagePart;
  traits: Record<string, unknown>;
}

/** The entry of a page. `bytes` unpacks the embedded data of that name; `failed` shows the static part instead. */
export interface SavedPage {
  readonly content: PageContent;
  readonly element: HTMLElement;
  readonly bytes: (name: string) => Promise<ArrayBuffer>;
  readonly failed: () => void;
}

const ENTRY = Symbol.for("isoviz.page.1");

/** The page that this script is in; null in a notebook. */
export function savedPage(): SavedPage | null {
  return (globalThis as unknown as Record<symbol, SavedPage | undefined>)[ENTRY] ?? null;
}
