"""The notebook of the panes alone in a real kernel: every cell runs, and shows something where there is no kernel."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from isoviz.layouts import FieldSpace, IndexSpace, Layout

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "layouts.ipynb"
LAST = Layout("<x_in=4, F, y, x_out>").on(IndexSpace(x=8, y=6), FieldSpace(a="float32", b="float64"))
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("view.close(); editor.close()"))  # type: ignore[no-untyped-call]
    folder = str(tmp_path_factory.mktemp("notebook"))
    nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": folder}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def test_it_is_committed_without_outputs() -> None:
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("cell", ["editor", "view"])
def test_each_pane_is_shown_once_with_the_last_layout_beside_it(executed: Any, cell: str) -> None:
    assert len([output for output in executed[cell] if VIEW in output.data]) == 1
    (picture,) = [output.data["text/html"] for output in executed[cell] if "text/html" in output.data]
    assert re.findall("<figcaption>(.*?)</figcaption>", picture) == ["Layout"]
    assert "as it was left" in picture
    assert f"<li>{LAST.layout.pretty}, {LAST.nbytes} B</li>" in picture


def test_values_go_both_ways(executed: Any) -> None:
    assert "<x_in=4, F, y, x_out>" in executed["set"][0].data["text/plain"]
    assert executed["wrong"][0].text.startswith("<x_in=4, F, y, x_out> - ")
    assert int(executed["bytes"][0].data["text/plain"]) == LAST.offset({"x": 5, "y": 2}, "b")
