"""The notebooks for nbgrader and otter: the form of their cells without these packages, and for real where they are installed."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from course_cases import ROOT

from isoviz.cli import main
from isoviz.course import lessons
from isoviz.course.classroom import new_folder
from isoviz.course.export import exercises_in, exported, otter_file, otter_test
from isoviz.course.lessons import every_exercise, exercises_of
from isoviz.errors import FileError

FILES = {int(path.name[0]): path for path in sorted((ROOT / "notebooks").glob("[0-9]-*.ipynb"))}


def code(*sources: str) -> dict[str, Any]:
    cells = [{"cell_type": "code", "id": f"c{k}", "metadata": {}, "source": each, "outputs": [], "execution_count": None}
             for k, each in enumerate(sources)]  # fmt: skip
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


def sources(notebook: dict[str, Any]) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


@pytest.mark.parametrize("grader", ["nbgrader", "otter"])
@pytest.mark.parametrize("number", FILES)
def test_a_notebook_for_a_grader_is_one(number: int, grader: Any) -> None:
    original = json.loads(FILES[number].read_text("utf-8"))
    before = json.dumps(original)
    made = exported(original, grader)
    assert json.dumps(original) == before
    nbformat.validate(nbformat.from_dict(made))
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids)
    for source in (source for cell, source in zip(made["cells"], sources(made), strict=True) if cell["cell_type"] == "code"):
        ast.parse(source)
    assert exercises_in(original) == list(exercises_of(number))
    kept = [cell for cell in original["cells"] if cell["cell_type"] == "markdown"]
    assert [cell for cell in made["cells"] if cell["cell_type"] == "markdown"] == kept


@pytest.mark.parametrize("number", FILES)
def test_cells_of_nbgrader(number: int) -> None:
    """Version 3 of its metadata. What the last line of a graded cell returns are its points."""
    made = exported(json.loads(FILES[number].read_text("utf-8")), "nbgrader")
    graded = [cell for cell in made["cells"] if "nbgrader" in cell["metadata"]]
    names = [cell["metadata"]["nbgrader"]["grade_id"] for cell in graded]
    assert names == [f"exercise-{name.replace('.', '-')}" for name in exercises_of(number)]
    for cell, name in zip(graded, exercises_of(number), strict=True):
        kept = cell["metadata"]["nbgrader"]
        assert {key: kept[key] for key in ("schema_version", "grade", "solution", "locked", "task", "points")} == {
            "schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False, "points": 1,
        }  # fmt: skip
        assert cell["source"].splitlines()[-1] == f'course.points("{name}")'


@pytest.mark.parametrize("name", every_exercise())
def test_files_of_otter(name: str) -> None:
    tree = ast.parse(otter_test(name))
    values = {each.targets[0].id: each.value.value for each in tree.body if isinstance(each, ast.Assign)}  # type: ignore[attr-defined]
    assert values == {"OK_FORMAT": False, "name": Path(otter_file(name)).stem, "points": 1}
    (function,) = (each for each in tree.body if isinstance(each, ast.FunctionDef))
    assert re.fullmatch(r"test_q\d_\w", function.name)


def test_a_check_leaves_the_cell_of_its_answer() -> None:
    made = exported(code("answer = ...\ncourse.check(\n    '1.1',\n    answer,\n)\n"), "nbgrader")
    assert sources(made) == ["answer = ...", "display(course.check(\n    '1.1',\n    answer,\n))\ncourse.points(\"1.1\")"]
    made = exported(code("def f(a):\n    return a\n\ncourse.check('3.2', f)", "print(f)"), "otter")
    assert sources(made)[1:4] == [
        "def f(a):\n    return a",
        "display(course.check('3.2', f))\ngrader.check(\"q3_2\")",
        "print(f)",
    ]


def test_an_exercise_is_graded_once_after_its_last_cell() -> None:
    made = exported(code("course.pane('1.2')", "answer = ...\ncourse.check('1.2', answer)"), "nbgrader")
    assert sources(made)[0] == "course.pane('1.2')"
    assert sum("course.points" in each for each in sources(made)) == 1
    made = exported(code("course.pane('1.2')"), "nbgrader")
    assert sources(made) == ["course.pane('1.2')", 'course.points("1.2")']


def test_what_is_no_notebook_is_told() -> None:
    for wrong in ({}, {"cells": 3}, code("course.check('1.1', ")):
        with pytest.raises(FileError, match="export"):
            exported(wrong, "nbgrader")


def test_points(folder: Path) -> None:
    """A prediction counts by its first answer; other exercises by any."""
    prediction = every_exercise()["1.1"]
    given = lessons.given("1.1")
    assert prediction.is_prediction and lessons.points("1.1") == 0
    lessons.check("1.1", prediction.right(given) + 1)
    lessons.check("1.1", prediction.right(given))
    assert lessons.points("1.1") == 0
    (folder / "progress.jsonl").unlink()
    lessons.check("1.1", prediction.right(given))
    assert lessons.points("1.1") == 1
    path = folder / "progress.jsonl"
    path.write_text(path.read_text().replace(f'"answer": {prediction.right(given)}', '"answer": 0'))
    assert lessons.points("1.1") == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "export", "--otter", str(tmp_path / "o"), "--notebook", "1"]) == 0
    assert sorted(path.name for path in (tmp_path / "o" / "tests").iterdir()) == sorted(map(otter_file, exercises_of(1)))
    assert main(["course", "export", "--nbgrader", str(tmp_path / "n")]) == 0
    assert {path.name for path in (tmp_path / "n").iterdir()} == {path.name for path in FILES.values()}
    for wanted, *arguments in (
        ("is there already", "--otter", str(tmp_path / "o")),
        ("expected one of", "--otter", str(tmp_path / "b"), "--notebook", "17"),
        ("not allowed with", "--otter", "--nbgrader", str(tmp_path / "b")),
        ("required", str(tmp_path / "b")),
    ):
        assert main(["course", "export", *arguments]) == 2
        assert wanted in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


# ---- for real


def answered(path: Path, names: tuple[str, ...]) -> None:
    """Write right answers into the cells of some exercises of notebook 1."""
    notebook, name = json.loads(path.read_text("utf-8")), ""
    solutions = ROOT / "notebooks" / "solutions" / "notebook_1.py"
    numbers = 'course.lessons.learners_folder().given(course.lessons.exercise("{name}"))'
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        stated = re.search(r'course\.statement\("([\w.]+)"\)', source)
        name = stated[1] if stated else name
        right = f'__import__("runpy").run_path({str(solutions)!r})["ANSWERS"]["{name}"]({numbers.format(name=name)})[0]'
        if name in names and source.strip() == "answer = ...":
            cell["source"] = f"answer = {right}"
        elif name in names and source.startswith(f'course.pane("{name}")'):
            cell["source"] = f'{source}\ncourse.check("{name}", {right})'
    path.write_text(json.dumps(notebook))


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("nbgrader") is None, reason="nbgrader is not installed")
def test_nbgrader_gives_the_points(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ISOVIZ_LEDGER": "off"}

    def nbgrader(*command: str) -> None:
        subprocess.run([sys.executable, "-m", "nbgrader", *command], cwd=tmp_path, env=environment, check=True, timeout=280)

    assert main(["course", "export", "--nbgrader", str(tmp_path / "source" / "ps1"), "--notebook", "1"]) == 0
    (tmp_path / "nbgrader_config.py").write_text("get_config().CourseDirectory.course_id = 'c'\n")
    nbgrader("generate_assignment", "ps1", "--create")
    wanted = {"ada": tuple(exercises_of(1)), "bob": ("1.1", "1.2")}
    for who, names in wanted.items():
        folder = tmp_path / "submitted" / who / "ps1"
        shutil.copytree(tmp_path / "release" / "ps1", folder)
        new_folder(folder, who, "a class")
        answered(folder / FILES[1].name, names)
    nbgrader("autograde", "ps1", "--create")
    nbgrader("export", "--to", "grades.csv")
    rows = [line.split(",") for line in (tmp_path / "grades.csv").read_text().splitlines()]
    at = {name: rows[0].index(name) for name in ("student_id", "score", "max_score")}
    found = {row[at["student_id"]]: (float(row[at["score"]]), float(row[at["max_score"]])) for row in rows[1:]}
    assert found == {who: (len(names), len(exercises_of(1))) for who, names in wanted.items()}


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("otter") is None, reason="otter-grader is not installed")
def test_otter_gives_the_points(tmp_path: Path) -> None:
    import nbclient

    assert main(["course", "export", "--otter", str(tmp_path), "--notebook", "1"]) == 0
    new_folder(tmp_path, "bob", "a class")
    answered(tmp_path / FILES[1].name, ("1.1", "1.2"))
    notebook = nbformat.read(tmp_path / FILES[1].name, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=250, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "ISOVIZ_LEDGER": "off"})
    said = {}
    for cell in notebook.cells:
        for name in re.findall(r'grader\.check\("q(\w+)"\)', cell.source):
            said[name.replace("_", ".")] = "All test cases passed" in json.dumps(cell.outputs)
    assert said == {name: name in ("1.1", "1.2") for name in exercises_of(1)}
