"""The explorer's notebook in a real kernel: it runs, stays small, and shows something where there is no kernel."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "explorer.ipynb"
LIMIT = 1_000_000
ASSUMED = {"measure": "assumed"}


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=250, resources={"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    ).execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    return notebook


def outputs(notebook: Any, cell: int = 0) -> list[Any]:
    return [each for each in notebook.cells if each.cell_type == "code"][cell].outputs


def test_it_is_committed_without_outputs() -> None:
    committed = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in committed["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert "widgets" not in committed["metadata"]


def test_the_first_cell_shows_the_explorer_once_and_a_picture_beside_it(executed: Any) -> None:
    kinds = [set(output.data) for output in outputs(executed)]
    views = [kind for kind in kinds if "application/vnd.jupyter.widget-view+json" in kind]
    assert len(views) == 1
    # A widget output that also carries a picture would show "model not found" without a kernel.
    assert not views[0] & {"text/html", "image/svg+xml", "image/png"}
    pictures = [output.data["text/html"] for output in outputs(executed) if "text/html" in output.data]
    assert len(pictures) == 1
    assert pictures[0].count("<svg") == 3
    assert re.search(r'data-isoviz-static="[0-9a-f]{32}"', pictures[0])
    assert "<script" not in pictures[0]
    assert '<pre style="font-family:monospace;' in pictures[0], "else its columns need not stand"
    said = [output.data["text/plain"] for output in outputs(executed)]
    assert not [text for text in said if " object at 0x" in text]


def test_python_sees_the_plan_of_the_explorer(executed: Any) -> None:
    assert "plan for local" in outputs(executed, 1)[0].text


def test_it_stays_small_with_the_state_of_the_widgets_saved(executed: Any, report: Any) -> None:
    text = nbformat.writes(executed)
    report("executed explorer notebook with widget state, bytes", f"{len(text)}")
    assert "application/vnd.jupyter.widget-state+json" in text, "the check below would say nothing"
    assert len(text) < LIMIT
    assert "bokehjs" not in text.lower()


def test_the_explorer_as_the_last_value_of_its_cell_is_shown_once(tmp_path: Path) -> None:
    cells = ["import isoviz\nisoviz.explore(machine_options={'measure': 'assumed'})", "_.close()"]
    again = "kept = isoviz.explore(machine_options={'measure': 'assumed'}); kept.close()"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in [*cells, again]])
    nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    views = [output for output in outputs(notebook) if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    assert len(views) == 1
    assert len(outputs(notebook)) == 2


def test_closing_the_explorer_ends_its_threads(tmp_path: Path) -> None:
    source = """
import threading, isoviz
before = set(threading.enumerate())
explorer = isoviz.explore(machine_options={"measure": "assumed"})
explorer.session.wait()
assert any(thread.name.startswith("isoviz") for thread in threading.enumerate())
explorer.close()
for thread in set(threading.enumerate()) - before:
    if thread.name.startswith("isoviz"):
        thread.join(120)
print([thread.name for thread in threading.enumerate() if thread.name.startswith("isoviz")])
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert outputs(notebook)[-1].text.strip() == "[]"


def test_the_picture_beside_it_shows_the_last_state(tmp_path: Path, report: Any) -> None:
    """The output of the first cell is replaced while later cells run: in a saved notebook it is the state that was left."""
    change = """
import time
explorer.session.send({"kind": "set", "field": "source-layout", "value": "<y, F, x>"})
explorer.session.wait()
explorer.close()
"""
    cells = [f"import isoviz\nexplorer = isoviz.explore(machine_options={ASSUMED})\nexplorer.session.wait()\nNone", change]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    (picture,) = [output.data["text/html"] for output in outputs(notebook) if "text/html" in output.get("data", {})]
    assert "as it was left" in picture
    assert "&lt;y, F, x&gt;" in picture
    assert picture.count("<svg") == 3
    assert len(picture.encode()) <= 400_000
    report("static picture of the explorer, bytes", f"{len(picture.encode())}")
    assert outputs(notebook, 1) == []


def test_running_the_cell_again_closes_the_explorer_it_showed(tmp_path: Path) -> None:
    cells = [
        "import threading, isoviz, isoviz.widgets.explorer as module\nmodule._cell = lambda: 'the cell'",
        "first = isoviz.explore(machine_options={'measure': 'assumed'})",
        "second = isoviz.explore(machine_options={'measure': 'assumed'})",
        "module._cell = lambda: 'another cell'\nthird = isoviz.explore(machine_options={'measure': 'assumed'})",
        "print([shown.comm is None for shown in (first, second, third)])\nsecond.close()\nthird.close()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert outputs(notebook, 4)[-1].text.strip() == "[True, False, False]"
