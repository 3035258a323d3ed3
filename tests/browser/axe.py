"""What axe-core objects to (WCAG 2.1, A and AA)."""

from __future__ import annotations

from typing import Any

import harness
from playwright.sync_api import Locator

AXE = harness.ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """root => axe.run(root, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa"], resultTypes: ["violations"]}).then(found => {
  if (found.passes.length < 5) throw new Error("axe has looked at next to nothing");
  const told = ({html, failureSummary}) => `${html}\\n  ${failureSummary}`;
  return found.violations.map(({id, help, nodes}) => ({id, help, nodes: nodes.map(told)}));
})"""


def objections(notebook: harness.Notebook, view: Locator | None = None) -> list[str]:
    """What axe says of a view as it is; without one, of the first of the notebook."""
    notebook.at_rest()  # what fades in has its colours then
    if not notebook.page.evaluate("() => 'axe' in window"):
        notebook.page.add_script_tag(path=AXE)
    found: list[dict[str, Any]] = (view or notebook.explorer).evaluate(_RUN)
    return [f"{each['id']}: {each['help']}\n" + "\n".join(f"  {node}" for node in each["nodes"][:4]) for each in found]
