"""The notebook about pipelines in a real kernel: every cell runs and shows its picture."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "pipelines.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the code cells show, as HTML; empty where one shows nothing."""
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    folder = str(tmp_path_factory.mktemp("notebook"))
    nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": folder}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(output.data.get("text/html", "") for output in cell.outputs if "data" in output) for cell in cells]


def test_it_is_committed_without_outputs() -> None:
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.full
def test_every_cell_shows_its_picture(shown: list[str]) -> None:
    imports, *pictures = shown
    assert imports == ""
    assert len(pictures) == 5
    for number, picture in enumerate(pictures):
        is_plot = number == 2  # the time over the chunk size, which Bokeh draws
        found = ["<svg" in picture, "data-plot" in picture, "<script" in picture]
        assert found == [not is_plot, is_plot, is_plot], number


@pytest.mark.full
def test_simulated_stands_above_measured_on_one_axis(shown: list[str]) -> None:
    report = shown[-1]
    assert "verified bit for bit" in report
    assert report.index("simulated") < report.index("measured / simulated")
    assert len(json.dumps(shown)) < 2_000_000


@pytest.mark.full
def test_the_urgent_transfer_is_named(shown: list[str]) -> None:
    assert "urgent" in shown[4]
