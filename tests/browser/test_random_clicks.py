"""Seeded random clicks and keys: no error in the page, no defect of isoviz, and the explorer still answers."""

from __future__ import annotations

import random

import harness
import pytest
from playwright.sync_api import Error

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 64, "y": 48, "z": 3}, restore=False,
    source=("node0.dsk", "<F, x, y, z>"), destination=("node0.sys", "<x, y, z, F>"),
)
"""
TEXTS = ("", "4", "128", "<x, y, F>", "<x_in=4, F, y, x_out, z>", "float32", "two-node", "nonsense", "-1")
KEYS = (
    "ArrowRight",
    "ArrowLeft",
    "ArrowDown",
    "Home",
    "End",
    "Enter",
    "Escape",
    "n",
    "f",
    "+",
    "Control+z",
    "Control+Shift+z",
    "PageDown",
)
LEFT_ALONE = ("menu-", "open-machine", "measure", "run", "canvas-open", "canvas-save", "canvas-measure")
"""What opens windows of the browser, or works for long."""

_TARGETS = """(root, alone) => [...root.querySelectorAll("button, input, select, summary, canvas, [tabindex='0']")]
  .map((element, place) => { element.setAttribute("data-random", place); return element; })
  .filter(element => element.checkVisibility({visibilityProperty: true}) && element.type !== "file"
    && !alone.some(name => (element.dataset.testid ?? "").startsWith(name)))
  .map(element => [element.getAttribute("data-random"), element.tagName, element.type ?? ""])"""


@pytest.mark.full
def test_random_clicks_break_nothing(desk: harness.Notebook, full: bool) -> None:
    desk.show(SMALL)
    chosen = random.Random(2711)
    for gestures in range(1, 600 if full else 40):
        targets = desk.explorer.evaluate(_TARGETS, list(LEFT_ALONE))
        place, tag, kind = chosen.choice(targets)
        target = desk.explorer.locator(f"[data-random='{place}']").first
        try:
            if tag == "SELECT":
                options = target.locator("option").evaluate_all("options => options.map(option => option.value)")
                target.select_option(chosen.choice(options or [""]), timeout=500)  # none where the list has gone meanwhile
            elif tag == "INPUT" and kind == "text" and chosen.random() < 0.6:
                target.fill(chosen.choice(TEXTS), timeout=500)
                target.press(chosen.choice(("Enter", "Tab")), timeout=500)
            elif chosen.random() < 0.4:
                target.press(chosen.choice(KEYS), timeout=500)
            else:
                target.click(timeout=500)
        except Error:
            desk.page.keyboard.press("Escape")  # covered by what is open, or gone meanwhile
        for name in ("defect", "drawing"):
            assert desk.page.get_by_test_id(f"error-{name}").count() == 0, f"after {gestures} gestures"
        assert desk.errors == []
    # It still answers: what is chosen now is planned.
    desk.page.keyboard.press("Escape")
    desk.settled()
    if desk.part("drawer").count():
        desk.close_drawer()
    if desk.part("dock").get_attribute("data-wide") == "true":
        desk.part("dock-size").click()
    before = int(desk.explorer.get_attribute("data-revision") or 0)
    desk.to_top()
    desk.part("source-layout").fill("<F>")
    desk.settled()
    harness.assert_seen(desk.part("error-source-layout"))
    assert int(desk.explorer.get_attribute("data-revision") or 0) > before
    desk.to_top()
    desk.picture("random-clicks")
    # A key beside the explorer may have been JupyterLab's: its search would lie over the next explorer.
    search = desk.page.locator(".jp-DocumentSearch-overlay")
    if search.count():
        search.locator(".jp-DocumentSearch-input").first.press("Escape")
        search.wait_for(state="detached")
