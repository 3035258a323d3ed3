"""The explorer's notebook in a real kernel: it runs, stays small, and shows something where there is no kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from given.notebooks import notebook_of, run_all

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "explorer.ipynb"
LIMIT = 1_000_000
ASSUMED = {"measure": "assumed"}


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_all(nbformat.read(NOTEBOOK, as_version=4), tmp_path_factory.mktemp("notebook"))


THREADS = """
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
CHANGE = """
import time
explorer.session.send({"kind": "set", "field": "source-layout", "value": "<y, F, x>"})
explorer.session.wait()
explorer.close()
"""
EXPLORERS = {
    "threads": THREADS,
    "last value": f"isoviz.explore(machine_options={ASSUMED})",
    "its end": "_.close()",
    "no last value": f"kept = isoviz.explore(machine_options={ASSUMED}); kept.close()",
    "picture": f"explorer = isoviz.explore(machine_options={ASSUMED})\nexplorer.session.wait()\nNone",
    "change": CHANGE,
    "a cell": "import isoviz.widgets.explorer as module\nmodule._cell = lambda: 'the cell'",
    "first": f"first = isoviz.explore(machine_options={ASSUMED})",
    "second": f"second = isoviz.explore(machine_options={ASSUMED})",
    "third": f"module._cell = lambda: 'another cell'\nthird = isoviz.explore(machine_options={ASSUMED})",
    "closed": "print([shown.comm is None for shown in (first, second, third)])\nsecond.close()\nthird.close()",
}
"""Cells of one notebook: a kernel takes seconds to start."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each of these cells has put out at the end."""
    notebook = run_all(notebook_of(*EXPLORERS.values()), tmp_path_factory.mktemp("explorers"))
    return {name: cell.outputs for name, cell in zip(EXPLORERS, notebook.cells, strict=True)}


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


def test_the_explorer_as_the_last_value_of_its_cell_is_shown_once(shown: dict[str, list[Any]]) -> None:
    views = [output for output in shown["last value"] if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    assert len(views) == 1
    assert len(shown["last value"]) == 2


def test_closing_the_explorer_ends_its_threads(shown: dict[str, list[Any]]) -> None:
    assert shown["threads"][-1].text.strip() == "[]"


def test_the_picture_beside_it_shows_the_last_state(shown: dict[str, list[Any]], report: Any) -> None:
    """The output of the first cell is replaced while later cells run: in a saved notebook it is the state that was left."""
    (picture,) = [output.data["text/html"] for output in shown["picture"] if "text/html" in output.get("data", {})]
    assert "as it was left" in picture
    assert "&lt;y, F, x&gt;" in picture
    assert picture.count("<svg") == 3
    assert len(picture.encode()) <= 400_000
    report("static picture of the explorer, bytes", f"{len(picture.encode())}")
    assert shown["change"] == []


def test_running_the_cell_again_closes_the_explorer_it_showed(shown: dict[str, list[Any]]) -> None:
    assert shown["closed"][-1].text.strip() == "[True, False, False]"
