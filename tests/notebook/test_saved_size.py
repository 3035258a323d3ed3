"""Saved notebooks hold no script: what is kept of a view is its state, its static picture and a small loader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from given.notebooks import run_all

EDITOR = 'isoviz.LayoutEditor("<F, x, y>", space={"x": 4096, "y": 4096}, fields={"re": "float32", "im": "float32"})'
EXPLORER = 'isoviz.explore(machine_options={"measure": "assumed"})'
WIDGETS = "application/vnd.jupyter.widget-state+json"


@pytest.mark.parametrize(
    ("view", "most"),
    [pytest.param(EDITOR, 400_000, id="layout editors"), pytest.param(EXPLORER, 1_600_000, id="explorers")],
)
def test_ten_views_are_saved_in_little_space(view: str, most: int, tmp_path: Path) -> None:
    code = f"import isoviz\nviews = [{view} for _ in range(10)]\n_ = [display(each) for each in views]\n"
    code += "for each in views:\n    _ = each.session.wait()\n    each.close()"
    cell: Any = nbformat.v4.new_code_cell(code)  # type: ignore[no-untyped-call]
    notebook: Any = nbformat.v4.new_notebook(cells=[cell])  # type: ignore[no-untyped-call]
    run_all(notebook, tmp_path, store_widget_state=True)
    states = [each["state"] for each in notebook.metadata.widgets[WIDGETS]["state"].values()]
    assert sum("_esm" in state for state in states) == 10, "the state of all views is there"
    pictures = [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]
    assert len(pictures) == 10 and all("<svg" in picture for picture in pictures)
    text = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    assert len(text.encode()) <= most
