"""From `make lab` to a verified run, clicked as a user would; screenshots are kept in artifacts/browser."""

from __future__ import annotations

import json
import re

import harness
from playwright.sync_api import expect

AOS, BLOCKED = "<F, x, y>", "<x_in=4, y_in=4, F, x_out, y_out>"


def test_first_five_minutes(notebook: harness.Notebook, lab: harness.Lab, status_before: str, report) -> None:
    page = notebook.page
    notebook.open()

    # One cell shows the explorer, with a machine and a transfer chosen and a plan drawn.
    notebook.run_all_cells()
    expect(notebook.explorer).to_be_visible()
    assert page.get_by_test_id("explorer").count() == 1
    expect(notebook.part("plan")).to_be_visible()
    expect(notebook.part("plot-source").locator("svg").first).to_be_visible()
    expect(notebook.part("plot-destination").locator("svg").first).to_be_visible()
    notebook.picture("light")

    # Another layout: its plot changes, the plot of the other end does not.
    before = {side: notebook.part(f"plot-{side}").inner_html() for side in ("source", "destination")}
    notebook.choose_layout("source", BLOCKED)
    expect(notebook.part("plot-source").locator("svg").first).to_be_visible()
    assert notebook.part("plot-source").inner_html() != before["source"], "the plot did not follow the layout"
    assert notebook.part("plot-destination").inner_html() == before["destination"]
    expect(notebook.part("plan")).to_contain_text("x_in")
    notebook.picture("blocked")

    # A mistake is explained beside its control, and goes away with it.
    notebook.choose_layout("source", "<x_in=4, F, y>")
    problem = notebook.part("error-source-layout")
    expect(problem).to_be_visible()
    assert re.search(r"x", problem.inner_text())
    expect(notebook.part("run")).to_be_disabled()
    notebook.picture("error")
    notebook.choose_layout("source", AOS)
    expect(problem).to_have_count(0)

    # Run and measure: real bytes, checked, measured beside predicted.
    notebook.part("run").click()
    verified = notebook.part("report").locator("[data-verified=true]")
    verified.wait_for()
    text = notebook.part("report").inner_text()
    assert "measured" in text and "predicted" in text and re.search(r"\d.* [kMG]B/s", text), text
    notebook.picture("report")

    assert page.locator(".jp-Dialog, .Toastify__toast").count() == 0, "a first visit is met by a prompt"
    assert notebook.errors == []
    assert notebook.elsewhere == [], "something was fetched from outside this computer"

    # What stays behind: a small notebook without BokehJS, and a clean checkout.
    notebook.save()
    size = lab.notebook.stat().st_size
    report("saved explorer notebook, bytes", f"{size}")
    assert size < 1_000_000
    saved = lab.notebook.read_text(encoding="utf-8")
    assert any(cell.get("outputs") for cell in json.loads(saved)["cells"])
    assert "bokehjs" not in saved.lower()
    assert harness.git_status() == status_before


def test_small_and_large_spaces(notebook: harness.Notebook) -> None:
    notebook.open()
    notebook.run_first_cell()
    drawn = set()
    for size in ("4", "64", "512", "4096"):
        for dimension in ("x", "y"):
            notebook.part(f"size-{dimension}").fill(size)
        notebook.settled()
        expect(notebook.part("plot-source").locator("svg").first).to_be_visible()
        drawn.add(notebook.part("plot-source").inner_html())
        notebook.picture(f"size-{size}")
    assert len(drawn) == 4
    assert notebook.errors == []


def test_dark_theme_and_reload(notebook: harness.Notebook, lab: harness.Lab) -> None:
    notebook.open()
    notebook.run_first_cell()
    notebook.choose_layout("source", BLOCKED)
    notebook.save()
    lab.choose_theme("JupyterLab Dark")
    try:
        notebook.page.reload()
        notebook.page.locator("body[data-jp-theme-light=false]").wait_for(state="attached")
        notebook.explorer.wait_for()
        notebook.settled()
        expect(notebook.part("source-layout")).to_have_value(BLOCKED)  # the kernel lives on, and the explorer with it
        notebook.picture("dark")
    finally:
        lab.choose_theme("JupyterLab Light")


def test_narrow_window(browser, lab: harness.Lab) -> None:
    notebook = harness.Notebook(browser, lab, viewport={"width": 900, "height": 2600})
    try:
        notebook.open()
        notebook.run_first_cell()
        body = notebook.explorer.bounding_box()
        assert body is not None
        assert notebook.explorer.evaluate("element => element.scrollWidth - element.clientWidth") <= 1
        notebook.picture("narrow")
    finally:
        notebook.close()


SKETCH = """\
import isoviz
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind

cpu, gpu = Memory("node0.sys", MemoryKind.SYS, 0), Memory("node0.fbm0", MemoryKind.FBM, 0, emulated=True)
kinds = {"copy": (ChannelKind.MEMCPY, cpu, cpu), "up": (ChannelKind.GPU_WRITE, cpu, gpu)}
joined = [Channel(name, kind, a.name, b.name, LatencyBandwidth(1e-6, 5e9)) for name, (kind, a, b) in kinds.items()]
explorer = isoviz.explore(
    machine=Machine("sketch", (cpu, gpu), joined), space={"x": 64, "y": 32},
    source=("node0.sys", "<F, x, y>"), destination=("node0.fbm0", "<x, y, F>"),
)
"""


def test_a_machine_drawn_in_python(notebook: harness.Notebook) -> None:
    page = notebook.page
    notebook.open()
    page.locator(".jp-CodeCell .jp-InputArea-editor").first.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(SKETCH)
    notebook.run_first_cell()

    # Its name and its drawing are shown, its memories offered, and it is planned on and run.
    expect(notebook.part("machine").locator("option:checked")).to_have_text("sketch")
    expect(notebook.part("machine-drawing")).to_contain_text("Machine sketch: 1 node, 2 memories, 2 channels")
    expect(notebook.part("status")).to_contain_text("planned for sketch")
    notebook.part("run").click()
    notebook.part("report").locator("[data-verified=true]").wait_for()
    notebook.picture("drawn-machine")

    # A memory that it lacks is told beside its control; undo brings back what there was, redo the mistake, undo again the rest.
    notebook.part("machine").select_option("two-node")
    notebook.settled()
    expect(notebook.part("status")).to_contain_text("planned for two-node")
    notebook.part("destination-memory").select_option("node1.fbm0")
    notebook.settled()
    for _ in range(2):
        notebook.part("undo").click()
    notebook.settled()
    expect(notebook.part("status")).to_contain_text("planned for sketch")
    notebook.part("redo").click()
    notebook.settled()
    expect(notebook.part("status")).to_contain_text("planned for two-node")
    assert notebook.errors == []
