"""Notebooks that run in a kernel of this checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parents[2]


def notebook_of(*cells: str) -> Any:
    """A notebook of some code cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])  # type: ignore[no-untyped-call]


def run_all(notebook: Any, folder: Path | str, **options: Any) -> Any:
    """The notebook after *Run All* in this folder. `options` are those of nbclient."""
    client = nbclient.NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(folder)}}, **options)
    return client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
