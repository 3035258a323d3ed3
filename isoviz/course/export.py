"""The notebooks of the course for other graders: nbgrader and otter. Neither is needed to write them.

A graded cell calls `course.points`, which judges the kept answers again. So panes count as well, and for a prediction the first
answer counts. The numbers belong to the learner: `course.json` and `progress.jsonl` are handed in with the notebook.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, Literal

from isoviz.errors import FileError

Grader = Literal["nbgrader", "otter"]
_HANDED_IN = ("course.json", "progress.jsonl")


def exported(notebook: dict[str, Any], grader: Grader) -> dict[str, Any]:
    """A notebook in which each exercise has a graded cell after the cell in which it is answered.

    Raises:
        FileError: the notebook has no cells, or a cell with code that cannot be read.
    """
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise FileError("export: expected a notebook with cells")
    last = {name: number for number, cell in enumerate(cells) for name, _ in _answered_in(cell)}
    found: list[dict[str, Any]] = []
    for number, cell in enumerate(cells):
        names = {name: node for name, node in _answered_in(cell) if last[name] == number}
        found += _graded(cell, names, grader) if names else [copy.deepcopy(cell)]
    if grader == "otter":
        found.insert(0, _code('import otter\n\ngrader = otter.Notebook(tests_dir="tests")', "otter-begin"))
        found.append(_code(f"grader.export(pdf=False, files={list(_HANDED_IN)})", "otter-export"))
    return {**copy.deepcopy({key: value for key, value in notebook.items() if key != "cells"}), "cells": found}


def exercises_in(notebook: dict[str, Any]) -> list[str]:
    """The exercises that are answered in a notebook, in their order."""
    return list(dict.fromkeys(name for cell in notebook["cells"] for name, _ in _answered_in(cell)))


def otter_test(name: str) -> str:
    """What otter grades an exercise with: a file in its folder of tests."""
    key = _key(name)
    return f"""from otter.test_files import test_case

OK_FORMAT = False
name = "{key}"
points = 1


@test_case(points=1, hidden=False)
def test_{key}(course):
    assert course.points("{name}") == 1, "exercise {name} is not right yet"
"""


def otter_file(name: str) -> str:
    """The name of that file."""
    return f"{_key(name)}.py"


def _key(name: str) -> str:
    return f"q{name.replace('.', '_')}"


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _answered_in(cell: dict[str, Any]) -> Iterator[tuple[str, ast.Expr | None]]:
    """The exercises that a cell checks, each with its statement; None where a pane checks it."""
    if cell.get("cell_type") != "code":
        return
    try:
        tree = ast.parse(_source(cell))
    except SyntaxError as error:
        raise FileError(f"export: the cell {cell.get('id')} cannot be read: {error}") from error
    statements = {id(node.value): node for node in tree.body if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("check", "pane"):
            of_course = isinstance(node.func.value, ast.Name) and node.func.value.id == "course"
            if of_course and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value), statements.get(id(node)) if node.func.attr == "check" else None


def _graded(cell: dict[str, Any], names: dict[str, ast.Expr | None], grader: Grader) -> Iterator[dict[str, Any]]:
    """The cell without its checks, and a graded cell for each exercise."""
    lines, checks = _source(cell).splitlines(), {}
    for name, node in names.items():
        if node is not None and node.end_lineno is not None:
            checks[name] = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    rest = "\n".join(lines).strip("\n")
    if rest:
        yield {**copy.deepcopy(cell), "source": rest}
    for name in names:
        shown = f"display({checks[name]})\n" if name in checks else ""
        number = name.replace(".", "-")
        if grader == "otter":
            yield _code(f'{shown}grader.check("{_key(name)}")', f"graded-{number}")
            continue
        made = {"schema_version": 3, "grade_id": f"exercise-{number}", "grade": True, "solution": False, "locked": True}
        made |= {"task": False, "points": 1, "cell_type": "code"}
        yield _code(f'{shown}course.points("{name}")', f"graded-{number}", nbgrader=made)


def _code(source: str, name: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "id": name, "metadata": metadata, "source": source, "outputs": [], "execution_count": None}
