"""The panes of the notebook on layouts in a real kernel: each shows something, also where there is no kernel any more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from given.notebooks import run_all

from isoviz.course.classroom import drawn, new_folder
from isoviz.course.lessons import exercise
from isoviz.layouts import FieldSpace, IndexSpace, Layout

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "1-layouts.ipynb"
BEGUN = Layout("<F, x, y>").on(IndexSpace(x=4, y=3), FieldSpace(a="uint8", b="float32"))
VIEW = "application/vnd.jupyter.widget-view+json"
PANES = ("play", "play-picture", "quiet-1", "look-picture", "pane-2", "pane-7")
LAST = "print(view.linearization.offset(view.selection.index, view.selection.field)); view.close(); editor.close()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("notebook")
    return new_folder(folder, "ada", "a class")


@pytest.fixture(scope="module")
def executed(folder: Any) -> Any:
    """The outputs of each cell, with a wrong answer to the first exercise."""
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    (asked,) = [cell for cell in notebook.cells if cell.id == "answer-1"]
    asked.source = asked.source.replace("...", "0")
    notebook.cells.append(nbformat.v4.new_code_cell(LAST, id="last"))  # type: ignore[no-untyped-call]
    run_all(notebook, folder.path)
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


@pytest.mark.parametrize("cell", PANES)
def test_each_pane_is_shown_once(executed: Any, cell: str) -> None:
    assert len([output for output in executed[cell] if VIEW in output.data]) == 1
    assert len([output for output in executed[cell] if "<figcaption>Layout" in output.data.get("text/html", "")]) == 1


def test_a_pane_leaves_its_layout_as_a_picture(executed: Any) -> None:
    for cell in ("play", "play-picture"):
        (picture,) = [output.data["text/html"] for output in executed[cell] if "text/html" in output.data]
        assert re.findall("<figcaption>(.*?)</figcaption>", picture) == ["Layout"]
        assert f"<li>{BEGUN.layout.pretty}, {BEGUN.nbytes} B</li>" in picture


def test_after_a_prediction_the_array_is_shown_with_its_element(executed: Any, folder: Any) -> None:
    given = drawn(exercise("1.1"), folder.seed)
    linear = Layout(given["layout"]).on(IndexSpace(given["sizes"]), FieldSpace(given["fields"]))
    assert int(executed["last"][0].text) == linear.offset(given["index"], given["field"])
