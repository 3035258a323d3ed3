"""The notebooks of the course in a real kernel: with no, absurd, wrong and right answers, and with a kernel that is killed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from given.notebooks import run_all

from isoviz.course.classroom import drawn, new_folder, opened_folder
from isoviz.course.lessons import NOTEBOOKS, exercises_of

ROOT = Path(__file__).parents[2]
FILES = {int(path.name[0]): path for path in (ROOT / "notebooks").glob("[0-9]-*.ipynb")}
EXERCISES = {name: exercise for notebook in FILES for name, exercise in exercises_of(notebook).items()}
CHECK = re.compile(r"""course\.(?:check|pane)\(\s*["']([\w.]+)["']""")
BESIDE = f"""
import json as _json, runpy as _runpy
from IPython.display import display as _display
from isoviz.course.lessons import exercise as _exercise
_solutions = {{}}
for _number in {sorted(FILES)}:
    _solutions |= _runpy.run_path(f"{ROOT / "notebooks" / "solutions"}/notebook_{{_number}}.py")["ANSWERS"]

def _numbers(name):
    return course.lessons.learners_folder().given(_exercise(name))

def _says(name, answer):
    shown = course.check(name, answer)
    _display(shown)  # with its picture
    print("SAID " + _json.dumps([name, shown.kind, str(shown)]))

def _wrong(name):
    task, given = _exercise(name), _numbers(name)
    models = [each for each in task.models if each.answer(given) is not None]
    def constant(*given):
        return 0
    kept = task.kind.keep(models[0].answer(given)) if models else 0
    return constant if isinstance(kept, dict) and "source" in kept else kept

class _Raising:
    def __getattribute__(self, name):
        raise RuntimeError(name)
"""
ABSURD = ("None", "object()", "'no such thing'", "_Raising()", "10 ** 400", "lambda: 3", "'<script>' * 1000")


def run(notebook: Any, folder: Path) -> Any:
    """A notebook after *Run All*. The kernel needs no network and no GPU."""
    return run_all(notebook, folder, allow_errors=True)


def read(number: int) -> Any:
    return nbformat.read(FILES[number], as_version=4)


def checks(notebook: Any) -> list[str]:
    return [name for cell in notebook.cells if cell.cell_type == "code" for name in CHECK.findall(cell.source)]


def texts(cell: Any) -> str:
    """All that a cell shows, as text."""
    parts = [each.get("text") or each.get("data", {}).get("text/plain", "") + each.get("data", {}).get("text/html", "")
             for each in cell.get("outputs", [])]  # fmt: skip
    return "\n".join(parts)


def errors(notebook: Any) -> list[str]:
    return [
        f"{cell.source[:80]}: {each.ename}: {each.evalue}"
        for cell in notebook.cells for each in cell.get("outputs", []) if each.output_type == "error"
    ]  # fmt: skip


def test_each_notebook_has_a_file_and_its_exercises() -> None:
    assert set(FILES) <= set(NOTEBOOKS)
    for number in FILES:
        found = checks(read(number))
        assert list(dict.fromkeys(found)) == list(exercises_of(number)), number


@pytest.mark.parametrize("number", FILES)
def test_a_notebook_is_whole_and_without_outputs(number: int) -> None:
    notebook = read(number)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None
    linked = {name for cell in notebook.cells for name in re.findall(r"\]\(([\w.-]+\.ipynb)[)#]", cell.source)}
    assert all((ROOT / "notebooks" / name).exists() for name in linked), linked


@pytest.mark.few(1)
@pytest.mark.parametrize("number", FILES)
def test_run_all_without_answers_gives_nothing_away(number: int, tmp_path: Path) -> None:
    new_folder(tmp_path, "ada", "a class")
    notebook = run(read(number), tmp_path)
    assert errors(notebook) == []
    shown = "\n".join(map(texts, notebook.cells))
    answerable = [cell for cell in notebook.cells if cell.cell_type == "code" and "course.check(" in cell.source]
    assert all("Not answered yet" in texts(cell) for cell in answerable)
    seed = opened_folder(tmp_path).seed
    for name, each in exercises_of(number).items():
        assert each.text("title", given=drawn(each, seed)) in shown, name
        assert each.text("solution", given=drawn(each, seed)) not in shown, name
    assert not (tmp_path / "progress.jsonl").exists()
    assert len(json.dumps(notebook)) < 10_000_000


def answered(notebook: Any) -> Any:
    """The notebook with absurd, wrong and right answers after each place for one; right ones come last."""
    cells, is_begun, seen = [], False, set()
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type != "code":
            continue
        if not is_begun and "course.start(" in cell.source:
            cells.append(nbformat.v4.new_code_cell(BESIDE))
            is_begun = True
        for number, name in enumerate(CHECK.findall(cell.source)):
            if name in seen:
                continue
            seen.add(name)
            lines = [f"_says({name!r}, {answer})" for answer in (ABSURD[len(seen) % len(ABSURD)], ABSURD[number])]
            lines += [f"_says({name!r}, _wrong({name!r}))", f"_says({name!r}, _solutions[{name!r}](_numbers({name!r}))[0])"]
            cells.append(nbformat.v4.new_code_cell("\n".join(lines)))
    notebook.cells = cells
    return notebook


@pytest.mark.full
@pytest.mark.parametrize("number", FILES)
def test_answers_are_told_apart(number: int, tmp_path: Path) -> None:
    new_folder(tmp_path, "ada", "a class")
    notebook = run(answered(read(number)), tmp_path)
    assert errors(notebook) == []
    said: dict[str, list[tuple[str, str]]] = {}
    for line in "\n".join(map(texts, notebook.cells)).splitlines():
        if line.startswith("SAID "):
            name, kind, text = json.loads(line[5:])
            said.setdefault(name, []).append((kind, text))
    assert set(said) == set(exercises_of(number))
    for name, ((first, absurd), (second, _), (third, wrong), (last, right)) in said.items():
        assert (first, second) == ("unread", "unread") and "not counted" in absurd, name
        assert third in ("wrong", "unread"), (name, wrong)
        assert last == "right", (name, right)
    assert sum(kinds[2][0] == "wrong" for kinds in said.values()) > len(said) / 2
    kept = opened_folder(tmp_path).progress.attempts()
    assert {each.exercise for each in kept if each.right} == set(said)
    assert all("Traceback" not in texts(cell) for cell in notebook.cells)


def test_a_killed_kernel_loses_no_answer(tmp_path: Path) -> None:
    new_folder(tmp_path, "ada", "a class")
    cells = [
        "from isoviz import course; course.start()",
        "course.check('1.1', 3)",
        "course.check('1.1', 5)",
        "import os; os.kill(os.getpid(), 9)",
    ]
    with pytest.raises(nbclient.exceptions.DeadKernelError):
        run(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells]), tmp_path)
    assert [each.answer for each in opened_folder(tmp_path).progress.attempts()] == [3, 5]
    begun = run(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cells[0])]), tmp_path)
    assert "1 tried" in texts(begun.cells[0])


def test_a_number_is_checked_without_jupyter(tmp_path: Path) -> None:
    """In a process that has no kernel nothing of one is loaded: neither IPython nor widgets."""
    program = """
import sys
from isoviz import course
course.start()
print(course.statement("1.1").kind, course.check("1.1", 1).kind)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"IPython", "ipywidgets", "ipykernel", "bokeh", "anywidget"}))
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first in ("statement wrong", "statement right") and second == "[]"
