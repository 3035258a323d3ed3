"""What moves, and runs: a part chosen on the grid, several transfers together, repeats, notes, a comparison, cancelling."""

from __future__ import annotations

import json
import re
from pathlib import Path

import harness
import pytest
from playwright.sync_api import Locator, expect

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 12, "y": 8}, fields={"re": "float32", "im": "float32", "weight": "float64"},
    source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), restore=False,
)
"""
LARGE = SMALL.replace('"x": 12, "y": 8', '"x": 4096, "y": 2048').replace("dsk", "sys")
"""Verified in a second or so: long enough to be cancelled."""


def explorer(desk: harness.Notebook, code: str = SMALL) -> harness.Notebook:
    desk.show(code)
    desk.to_top()
    desk.settled()
    return desk


def grid(notebook: harness.Notebook, side: str) -> Locator:
    return notebook.grid(side)


def moved(notebook: harness.Notebook) -> dict[str, object]:
    """What moves, as Python says it."""
    told = notebook.python(
        "import json; t = explorer.session.wait().derived.transfer; "
        "print(json.dumps([t.shape, t.source_origin, t.destination_origin, t.field_names]))"
    )
    shape, source, destination, fields = json.loads(told)
    return {"shape": shape, "source": source, "destination": destination, "fields": fields}


def drag(notebook: harness.Notebook, where: Locator, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over the grid, from one share of its size to another."""
    box = where.bounding_box()
    assert box is not None
    mouse = notebook.page.mouse
    mouse.move(box["x"] + begin[0] * box["width"], box["y"] + begin[1] * box["height"])
    mouse.down()
    mouse.move(box["x"] + end[0] * box["width"], box["y"] + end[1] * box["height"], steps=6)
    mouse.up()


def verified(notebook: harness.Notebook) -> None:
    expect(notebook.part("verified")).to_have_attribute("data-verified", "true")


@pytest.mark.full
def test_a_part_is_chosen_with_the_mouse_and_runs_verified(desk: harness.Notebook) -> None:
    notebook = explorer(desk)
    notebook.grid("source")
    notebook.part("linearization-part").click()
    drag(notebook, grid(notebook, "source"), (0.25, 0.3), (0.6, 0.7))
    notebook.settled()
    first = moved(notebook)
    assert first["shape"] != [12, 8]
    assert first["source"] == first["destination"] != [0, 0]
    expect(notebook.part("title")).to_contain_text("moves")
    # At the destination the part is moved, as a whole.
    notebook.to_top()
    drag(notebook, grid(notebook, "destination"), (0.98, 0.98), (0.01, 0.01))
    notebook.settled()
    tools, ends = (notebook.part(name).bounding_box() for name in ("linearization-toolbar", "ends"))
    assert tools is not None and ends is not None
    assert tools["x"] + tools["width"] <= ends["x"] + ends["width"], "the tools stay with their cards"
    notebook.picture("runs-part")
    second = moved(notebook)
    assert second["shape"] == first["shape"]
    assert second["source"] == first["source"]
    assert second["destination"] == [0, 0]
    notebook.to_top()
    notebook.run()
    verified(notebook)
    # One step to undo for each of the two gestures.
    notebook.part("undo").click()
    notebook.part("undo").click()
    notebook.settled()
    assert moved(notebook)["shape"] == [12, 8]


@pytest.mark.full
def test_a_part_is_chosen_with_the_keyboard_and_by_numbers(desk: harness.Notebook) -> None:
    notebook = explorer(desk)
    page = notebook.page
    grid(notebook, "source").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    notebook.settled()
    assert moved(notebook) == {"shape": [3, 2], "source": [1, 1], "destination": [1, 1], "fields": ["re", "im", "weight"]}
    notebook.to_top()
    grid(notebook, "destination").focus()
    page.keyboard.press("Shift+ArrowRight")
    notebook.settled()
    assert moved(notebook)["destination"] == [2, 1]
    notebook.to_top()
    drawer = notebook.open_drawer()
    notebook.part("part-first-y").fill("7")
    harness.assert_seen(drawer.get_by_test_id("error-part-y"), re.compile("from index 7 on, y has 1", re.IGNORECASE))
    notebook.picture("runs-part-wrong")
    notebook.part("part-first-y").fill("4")
    notebook.part("part-field-im").uncheck()
    notebook.settled()
    expect(drawer.get_by_test_id("error-part-y")).to_be_empty()
    assert moved(notebook) == {"shape": [3, 2], "source": [1, 4], "destination": [2, 4], "fields": ["re", "weight"]}
    notebook.to_top()
    notebook.run()
    verified(notebook)
    notebook.part("part-everything").click()
    notebook.settled()
    assert moved(notebook)["shape"] == [12, 8]
    notebook.to_top()
    notebook.close_drawer()


@pytest.mark.full
def test_two_transfers_run_together_and_repeat(desk: harness.Notebook) -> None:
    notebook = explorer(desk)
    notebook.choose_from_explorer("add-transfer")
    notebook.settled()
    drawer = notebook.open_drawer()
    notebook.part("transfer-priority-2").fill("5")
    notebook.part("transfer-begin-2").fill("soon")
    harness.assert_seen(drawer.get_by_test_id("error-transfer-2"), "expected seconds")
    notebook.part("transfer-begin-2").fill("0.001")
    notebook.settled()
    notebook.picture("runs-transfers")
    notebook.close_drawer()
    notebook.part("tab-run").click()
    expect(notebook.part("run-where")).to_contain_text("2 transfers run together")
    notebook.part("repeat-times").fill("3")
    notebook.runs(notebook.part("repeat").click)
    for key in (1, 2):
        expect(notebook.part(f"outcome-{key}")).to_have_text("Verified bit for bit")
    assert notebook.part("spread").count() >= 3
    notebook.part("dock-size").click()
    notebook.at_rest()
    notebook.picture("runs-together")
    notebook.part("dock-size").click()
    # The other one is edited once it is chosen.
    notebook.part("transfer-1").click()
    notebook.settled()
    expect(notebook.part("transfer-1")).to_have_attribute("aria-pressed", "true")


def test_repeats_notes_and_a_comparison(desk: harness.Notebook, tmp_path: Path) -> None:
    kept = f"import os\nos.environ['ISOVIZ_LEDGER'] = {str(tmp_path / 'runs.jsonl')!r}\n{SMALL}"
    notebook = explorer(desk, kept)
    notebook.run()
    notebook.part("repeat-times").fill("3")
    notebook.runs(notebook.part("repeat").click)
    verified(notebook)
    expect(notebook.part("spread").first).to_be_visible()
    notebook.part("dock-size").click()
    note = notebook.part("note-run 2")
    note.fill("after the coffee break")
    note.press("Enter")
    notebook.settled()
    told = notebook.python("print(explorer.session.wait().history[0].note)")
    assert told == "after the coffee break"
    notebook.to_top()
    notebook.part("run-timeline").click()
    expect(notebook.part("run-timelines")).to_have_attribute("data-traces", "2", timeout=harness.PATIENCE)
    notebook.part("run-timelines").scroll_into_view_if_needed()
    notebook.at_rest()
    notebook.picture("runs-timeline")
    notebook.part("run-timeline").click()
    notebook.part("compare-run 2").check()
    notebook.part("compare-run 1").check()
    expect(notebook.part("compared")).to_contain_text("measured time")
    heads = notebook.part("compared").locator("th").all_inner_texts()
    assert heads.index("Run 1") < heads.index("Run 2"), "the older run is the first one"
    notebook.picture("runs-compared")
    notebook.part("compare-timelines").click()
    timelines = notebook.part("compared-timelines")
    expect(timelines).to_have_attribute("data-traces", "2")
    whole = float(timelines.get_by_test_id("timeline").get_attribute("data-whole") or 0)
    told = notebook.python("print(*(run.trace.seconds for run in explorer.session.wait().history[:2]))")
    assert whole == max(map(float, told.split())), "one axis for both"
    hops = timelines.get_by_role("table").last
    assert re.search(r"later|earlier", hops.inner_text()) and re.search(r"longer|shorter", hops.inner_text())
    notebook.to_top()
    timelines.scroll_into_view_if_needed()
    notebook.at_rest()
    notebook.picture("runs-two-timelines")
    notebook.part("compare-timelines").click()
    notebook.choose_theme("Dark")
    notebook.to_top()
    notebook.picture("runs-compared-dark")
    notebook.choose_theme("Light")
    # A new session finds the runs of the same transfer, with their notes.
    notebook = explorer(desk, kept)
    notebook.part("tab-run").click()
    expect(notebook.part("history").get_by_role("textbox").first).to_be_visible()
    notes = notebook.part("history").get_by_role("textbox").evaluate_all("all => all.map(each => each.value)")
    assert notes.count("after the coffee break") == 3, "a note is kept with each of the repeated runs"


def test_a_run_is_cancelled_between_and_within(desk: harness.Notebook) -> None:
    notebook = explorer(desk, LARGE)
    notebook.part("tab-run").click()
    notebook.part("repeat-times").fill("50")
    notebook.part("repeat").click()
    expect(notebook.part("phases")).to_be_visible()
    expect(notebook.part("cancel")).to_be_visible()
    notebook.part("phases").scroll_into_view_if_needed()
    notebook.picture("runs-phases")
    notebook.part("cancel").click()
    expect(notebook.explorer).to_have_attribute("data-running", "false", timeout=harness.PATIENCE)
    harness.assert_seen(notebook.part("error-run"), "Cancelled")
    notebook.runs(notebook.part("advice-run").click)
    verified(notebook)


FAILING = """\
import isoviz, threading
from isoviz.errors import RunError
from isoviz.widgets import Explorer, Session
from isoviz.widgets.chosen.settings import settings_for

def execute(plan, machine, tell, cancel):
    tell("move", 100)
    raise RunError("the disk is full", hop=1, channel="node0.dsk->node0.sys", chunk=3)

explorer = Explorer(Session(settings_for(space={"x": 12, "y": 8}, source=("node0.sys", "<F, x, y>")), execute=execute))
explorer.show()
"""


def test_a_failing_run_says_why(desk: harness.Notebook) -> None:
    notebook = explorer(desk, FAILING)
    notebook.run()
    harness.assert_seen(notebook.part("error-failed-run"), "The disk is full")
    notebook.part("error-run").scroll_into_view_if_needed()
    harness.assert_seen(notebook.part("error-run"), "The disk is full")
    expect(notebook.part("advice-run")).to_be_visible()
    notebook.picture("runs-failed")
