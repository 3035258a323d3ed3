"""The notebook of section 4.3 of the Isometry paper in a real kernel: every cell runs, and its numbers are those of table 3."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "isometry-4.3.ipynb"
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


@pytest.mark.parametrize("cell", ["machine", "plan"])
def test_each_view_is_shown_once(executed: Any, cell: str) -> None:
    assert len([output for output in executed[cell] if VIEW in output.get("data", {})]) == 1


def test_the_blocks_of_the_paper_sustain_the_network(executed: Any) -> None:
    said = executed["numbers"][0].text
    assert "3 GB/s" in said.splitlines()[0]
    assert "x_in=2048" in said
    assert "over the limits" not in said
    yours, planner = executed["yours"][0].text.split("full plan", 1)
    assert yours.startswith("by hand plan for two-node")
    assert "3 GB/s" in planner.splitlines()[0]


def test_the_plan_is_made_on_the_machine_of_the_editor() -> None:
    """Somebody halves the rate of the network in the editor and runs the cells below again."""
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
    names: dict[str, Any] = {}
    rates = {}
    exec(cells["machine"], names)
    try:
        for network in ("3 GB/s", "1.5 GB/s"):
            (channel,) = names["editor"].value.between("node0.reg", "node1.reg")
            edit = {"do": "set-channel", "channel": channel.name, "field": "bandwidth", "value": network}
            names["editor"].session.send({"kind": "edit-machine", "edit": edit})
            names["editor"].session.wait()
            assert names["editor"].problem == ""
            exec(cells["plan"].replace("layouts(64, 64)", "layouts(2048, 1024)"), names)
            names["view"].close()
            rates[network] = names["plan"].throughput
    finally:
        names["editor"].close()
    assert rates["3 GB/s"] == pytest.approx(3e9)
    assert rates["1.5 GB/s"] == pytest.approx(1.5e9)
