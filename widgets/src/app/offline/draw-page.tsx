// Draws a saved page into its element, in the colours of the system.

import type { JSX } from "preact";
import { render as draw } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { Connection } from "#model/connection.ts";
import { ViewContext } from "#model/view.ts";
import { Page } from "./page.tsx";
import type { SavedPage } from "./page-content.ts";
import { StaticModel } from "./static-model.ts";

export function drawPage(saved: SavedPage): void {
  followSystem();
  draw(
    <Drawn saved={saved}>
      <OfPlan saved={saved} />
    </Drawn>,
    saved.element,
  );
}

function Drawn({ saved, children }: { saved: SavedPage; children: JSX.Element }): JSX.Element | null {
  const [error] = useErrorBoundary((caught: unknown) => {
    console.error(caught);
    saved.failed(); // the static part takes its place
  });
  if (error !== undefined) return null;
  return (
    <div class="isoviz iv-page" data-testid="page">
      {children}
    </div>
  );
}

const connections = new WeakMap<SavedPage, Connection>();

function OfPlan({ saved }: { saved: SavedPage }): JSX.Element | null {
  const { content } = saved;
  let connection = connections.get(saved);
  if (connection === undefined)
    connections.set(saved, (connection = new Connection(new StaticModel(content.traits, saved.bytes))));
  const { snapshot } = connection;
  if (snapshot === null) return null;
  return (
    <ViewContext.Provider value={{ connection, snapshot }}>
      <Page page={content.page} />
    </ViewContext.Provider>
  );
}

/** Light or dark as the system is, and light on paper. */
function followSystem(): void {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const look = (): void => void (document.body.dataset.jpThemeLight = String(!dark.matches));
  look();
  dark.addEventListener("change", look);
  window.addEventListener("beforeprint", () => (document.body.dataset.jpThemeLight = "true"));
  window.addEventListener("afterprint", look);
}
