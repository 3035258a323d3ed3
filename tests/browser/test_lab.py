"""From `make lab` to a verified run, clicked as a user would; screenshots are kept in artifacts/browser."""

from __future__ import annotations

import json
import re

import harness
import pytest
from playwright.sync_api import Browser, expect

AOS, BLOCKED = "<F, x, y>", "<x_in=4, y_in=4, F, y_out, x_out>"
LARGEST = 400_000
"""Bytes that a saved notebook may have."""


def test_first_five_minutes(notebook: harness.Notebook, lab: harness.Lab, status_before: str, report) -> None:
    page = notebook.page
    notebook.open()

    # One cell shows the explorer, with a machine and a transfer chosen, a plan drawn, and its time predicted.
    notebook.run_all_cells()
    notebook.to_top()
    assert page.get_by_test_id("explorer").count() == 1
    expect(notebook.part("figure-seconds")).to_contain_text(re.compile(r"\d (s|ms|µs)"))
    expect(notebook.part("journey").get_by_test_id("hop-0")).to_be_visible()
    for side in ("source", "destination"):
        expect(notebook.memory(side)).to_be_visible()
    notebook.picture("first")

    # Another layout, typed: chips and picture of this end follow, those of the other end stay.
    before = {side: notebook.drawing(side) for side in ("source", "destination")}
    notebook.choose_layout("source", BLOCKED)
    assert notebook.chips("source") == ["x_in=4", "y_in=4", "F", "y_out", "x_out"]
    assert notebook.drawing("source") != before["source"], "the picture did not follow the layout"
    assert notebook.chips("destination") == ["x", "y", "F"]
    expect(notebook.part("stop-0")).to_have_attribute("title", re.compile("x_in"))
    notebook.picture("blocked")

    # A mistake is explained beside its control; chips and picture stay, and it goes away with its cause.
    chips, drawing = notebook.chips("source"), notebook.drawing("source")
    notebook.choose_layout("source", "<x_in=4, F, y>")
    harness.assert_seen(notebook.part("error-source-layout"), re.compile(r"x_in|x_out"))
    expect(notebook.part("run")).to_have_attribute("aria-disabled", "true")
    expect(notebook.part("journey")).to_have_attribute("data-stale", "true")
    assert (notebook.chips("source"), notebook.drawing("source")) == (chips, drawing)
    notebook.picture("mistake")
    notebook.choose_layout("source", AOS)
    expect(notebook.part("error-source-layout")).to_have_count(0)
    expect(notebook.part("journey")).to_have_attribute("data-stale", "false")

    # A chip is dragged: the text follows.
    notebook.drag_chip("source", "F", "y:0")
    notebook.settled()
    assert notebook.chips("source") == ["x", "y", "F"]
    expect(notebook.part("source-layout")).to_have_value("<x, y, F>")
    notebook.drag_chip("source", "F", "x:0")
    notebook.settled()
    expect(notebook.part("source-layout")).to_have_value(AOS)

    # Run and measure: real bytes, checked, measured beside planned.
    notebook.run()
    notebook.part("report").locator("[data-verified=true]").wait_for()
    text = notebook.part("report").inner_text().lower()
    assert "measured" in text and "planned" in text and re.search(r"\d.* [kmg]b/s", text), text
    expect(notebook.part("status")).to_contain_text("Run 1: verified")
    notebook.part("report").scroll_into_view_if_needed()
    notebook.picture("report")

    assert page.locator(".jp-Dialog, .Toastify__toast").count() == 0, "a first visit is met by a prompt"
    assert notebook.errors == []
    assert notebook.elsewhere == [], "something was fetched from outside this computer"

    # What stays behind: a small notebook, with the state of widgets or without it, and a clean checkout.
    _assert_small(notebook, report, "without widget state")
    notebook.choose_from_menu("Settings", "Save Widget State Automatically")
    try:
        notebook.choose_layout("source", BLOCKED)  # something to save
        _assert_small(notebook, report, "with widget state")
        assert "widgets" in json.loads(notebook.path.read_text(encoding="utf-8"))["metadata"]
    finally:
        notebook.choose_from_menu("Settings", "Save Widget State Automatically")
    assert harness.git_status() == status_before


def _assert_small(notebook: harness.Notebook, report, how: str) -> None:
    notebook.save()
    size = notebook.path.stat().st_size
    report(f"saved explorer notebook {how}, bytes", f"{size}")
    assert size < LARGEST
    saved = notebook.path.read_text(encoding="utf-8")
    assert any(cell.get("outputs") for cell in json.loads(saved)["cells"])
    assert "bokehjs" not in saved.lower()


@pytest.mark.full
def test_small_and_large_spaces(desk: harness.Notebook) -> None:
    desk.show("import isoviz\nexplorer = isoviz.explore(space={'x': 4, 'y': 4}, restore=False)")
    desk.open_drawer()
    drawn = [desk.drawing("source")]
    for size in ("64", "512", "4096"):
        for dimension in ("x", "y"):
            desk.part(f"size-{dimension}").fill(size)
        desk.settled()
        expect(desk.part("array-extent")).to_contain_text(re.compile(rf"{int(size):,} × {int(size):,}"))
        drawn.append(desk.drawing("source"))
        desk.to_top()
        desk.picture(f"size-{size}")
    assert all(each != drawn[0] for each in drawn[1:])


SKETCH = """\
import isoviz
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind

cpu, gpu = Memory("node0.sys", MemoryKind.SYS, 0), Memory("node0.fbm0", MemoryKind.FBM, 0, emulated=True)
kinds = {"copy": (ChannelKind.MEMCPY, cpu, cpu), "up": (ChannelKind.GPU_WRITE, cpu, gpu)}
joined = [Channel(name, kind, a.name, b.name, LatencyBandwidth(1e-6, 5e9)) for name, (kind, a, b) in kinds.items()]
explorer = isoviz.explore(
    machine=Machine("sketch", (cpu, gpu), joined), space={"x": 64, "y": 32},
    source=("node0.sys", "<F, x, y>"), destination=("node0.fbm0", "<x, y, F>"), restore=False,
)
"""


@pytest.mark.full
def test_a_machine_drawn_in_python(desk: harness.Notebook) -> None:
    desk.show(SKETCH)

    # Its name and its drawing are shown, its memories offered, and it is planned on and run.
    desk.open_drawer()
    expect(desk.part("machine").locator("option:checked")).to_have_text("sketch")
    desk.close_drawer()
    desk.part("tab-machine").click()
    expect(desk.part("machine-drawing")).to_contain_text("Machine sketch: 1 node, 2 memories, 2 channels")
    desk.run()
    desk.part("report").locator("[data-verified=true]").wait_for()
    desk.to_top()
    desk.picture("drawn-machine")

    # A memory that it lacks is told beside its control; undo brings back what there was, redo the mistake, undo again the rest.
    desk.open_drawer()
    desk.part("machine").select_option("two-node")
    desk.settled()
    expect(desk.part("title")).to_contain_text("two-node")
    desk.close_drawer()
    desk.part("destination-memory").select_option("node1.fbm0")
    desk.settled()
    for _ in range(2):
        desk.part("undo").click()
    desk.settled()
    expect(desk.part("title")).to_contain_text("sketch")
    desk.part("redo").click()
    desk.settled()
    expect(desk.part("title")).to_contain_text("two-node")


@pytest.mark.full
def test_a_second_visit_finds_the_kernel_of_the_first(browser: Browser, lab: harness.Lab) -> None:
    path = lab.new_notebook("visits")
    first = harness.Notebook(browser, lab, path)
    first.open()
    first.show("import isoviz\nexplorer = isoviz.explore(restore=False)")
    first.choose_layout("source", BLOCKED)
    first.save()
    first.close()
    second = harness.Notebook(browser, lab, path)
    try:
        second.open()
        second.explorer.wait_for()
        second.settled()
        expect(second.part("source-layout")).to_have_value(BLOCKED)
        assert second.errors == []
    finally:
        second.close()
        path.unlink()
