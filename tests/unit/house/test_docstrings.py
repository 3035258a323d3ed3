"""The examples in docstrings of public names run as they are printed."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ipywidgets import Widget

import isoviz

FAR = ("ranks", "Ranks", "redistribute", "prepare_redistribution", "probe")
"""What needs ranks or minutes; tests/ranks runs examples of ranks."""


def examples() -> Iterator[tuple[str, str]]:
    """Name and code of the examples: lines after `>>>`, or a paragraph of calls of isoviz that is indented further."""
    for name in ["", *isoviz.__all__]:
        value = getattr(isoviz, name) if name else isoviz
        text = inspect.getdoc(value) or "" if name not in FAR and (inspect.isclass(value) or callable(value) or not name) else ""
        prompted = "\n".join(re.findall(r"^\s*>>> (.*)$", text, re.MULTILINE))
        for block in [prompted, *re.findall(r"\n\n((?:    .*\n)+)\n", text)]:
            code = textwrap.dedent(block)
            if (">>>" not in code and "isoviz." in code) or (block is prompted and code):
                yield name or "isoviz", code


@pytest.fixture
def names() -> dict[str, Any]:
    """What the words around an example stand for."""
    space, fields = isoviz.IndexSpace(x=16, y=16), isoviz.FieldSpace(re="f4", im="f4")
    transfer = isoviz.Transfer.whole(space, fields, "node0.sys", "<F, x, y>", "node0.sys", "<F, y, x>")
    machine = isoviz.preset("local", measure="assumed")
    array = np.zeros((16, 16))
    known: dict[str, Any] = {"isoviz": isoviz, "space": space, "fields": fields, "array": array, "rows": array, "numpy": np}
    known |= {"transfer": transfer, "machine": machine, "plan": isoviz.plan(transfer, machine)}
    return known | {name: getattr(isoviz, name) for name in ("Use", "find_layout")}


@pytest.mark.parametrize(("name", "code"), list(examples()))
def test_examples_of_docstrings_run(
    name: str, code: str, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "explorer" in code:
        names["explorer"] = isoviz.explore(restore=False)
    try:
        exec(code, names)
    finally:
        Widget.close_all()


def test_there_are_examples() -> None:
    found = {name for name, _ in examples()}
    assert {"isoviz", "LayoutEditor", "find_layout", "PlanView", "TraceView", "RunPanel"} <= found
