"""Viewers without a kernel and without the state of widgets: a static picture of the last state stands beside every view."""

from __future__ import annotations

import re
from typing import Any

import nbconvert
import nbformat
import pytest
from given.notebooks import run_all

VIEW = "application/vnd.jupyter.widget-view+json"
SETUP = """\
import isoviz
small = {"space": {"x": 64, "y": 32}, "fields": {"a": "float32", "b": "float64"}}
explorer = isoviz.explore(machine_options={"measure": "assumed"}, **small)
explorer.session.run()
_ = explorer.session.wait()
"""
CELLS = {
    "explorer": SETUP,
    "layout": 'layout = isoviz.LayoutEditor(session=explorer, side="source"); layout',
    "order": 'order = isoviz.LinearizationView(session=explorer, side="destination"); order',
    "machine": "machine = isoviz.MachineEditor(session=explorer); machine",
    "timeline": "timeline = isoviz.TraceView(explorer); timeline",
    "trace": "trace = isoviz.TraceView(explorer.session.report); trace",
    "plan": 'from isoviz.widgets import Explorer\nplan = Explorer(explorer.session, pane="plan"); plan',
    "run": 'run = Explorer(explorer.session, pane="run"); run',
    "end": """\
explorer.session.send({"kind": "set", "field": "destination-layout", "value": "<y, x, F>"})
_ = explorer.session.wait()
for view in (layout, order, machine, timeline, trace, plan, run, explorer):
    view.close()
""",
}
SHOWN = {
    "explorer": ("Path", "Source", "Destination"),
    "layout": ("Layout",),
    "order": ("Layout",),
    "machine": ("Machine",),
    "timeline": ("Timeline",),
    "plan": ("Path",),
    "run": ("The last run", "Path"),
}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The notebook as nbviewer and GitHub show it: executed, without the state of its widgets, as HTML."""
    cells = []
    for name, code in CELLS.items():
        cell: Any = nbformat.v4.new_code_cell(code)  # type: ignore[no-untyped-call]
        cell["id"] = name
        cells.append(cell)
    notebook: Any = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    run_all(notebook, tmp_path_factory.mktemp("viewer"), store_widget_state=False)
    for cell in notebook.cells:
        kinds = ["view" if VIEW in output.data else "picture" for output in cell.outputs if "data" in output]
        assert kinds in (["picture", "view"], []), f"{cell.id}: the picture of the last state comes first"
        for output in cell.outputs:
            output.get("data", {}).pop(VIEW, None)
    return str(nbconvert.HTMLExporter().from_notebook_node(notebook)[0])


@pytest.mark.parametrize("name", [*SHOWN, "trace"])
def test_every_view_shows_its_last_state(converted: str, name: str) -> None:
    cell = converted.partition(f'id="cell-id={name}"')[2].partition('id="cell-id=')[0]
    assert cell.count("data-isoviz-static=") == 1
    assert "<script" not in cell.partition("data-isoviz-static=")[2].partition("</div></div></div>")[0]
    assert "<svg" in cell or "<table" in cell
    if name in SHOWN:
        assert tuple(re.findall("<figcaption>(.*?)</figcaption>", cell)) == SHOWN[name]
    if name in SHOWN and name != "machine":  # which did not change
        assert "as it was left" in cell
    if name == "run":
        assert "verified bit for bit" in cell
    if name in ("timeline", "trace"):
        assert "node0.sys" in cell
