"""The demonstrations of the notebook about pipelines in a real kernel: each waits for an answer, and then shows its picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from given.notebooks import run_all

from isoviz.course.checking import checked
from isoviz.course.classroom import new_folder
from isoviz.course.lessons import exercises_of

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "4-pipelines.ipynb"
DEMONSTRATIONS = ("stored-and-forwarded", "chunk-curve", "urgent-transfer", "on-this-computer")
GUESSES = {
    "with_priority, without = ..., ...": "with_priority, without = 30, 100",
    "times_as_long = ...": "times_as_long = 2",
}


def run(folder: Path, changes: dict[str, str]) -> dict[str, Any]:
    """The demonstrations after *Run All*, by name. `changes` replace text in the cells."""
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        for old, new in changes.items():
            cell.source = cell.source.replace(old, new)
    run_all(notebook, folder)
    cells = {cell.id: cell for cell in notebook.cells}
    return {name: cells[name].outputs for name in DEMONSTRATIONS}


def pictured(outputs: Any) -> str:
    return "".join(each.data.get("text/html", "") for each in outputs if "data" in each)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What they show to somebody who has tried 4.1 and 4.2, and guessed."""
    folder = new_folder(tmp_path_factory.mktemp("answered"), "ada", "a class")
    for name, answer in (("4.1", 1.0), ("4.2", (4096, 4096))):
        assert checked(folder, exercises_of(4)[name], answer).kind == "wrong"
    return run(folder.path, GUESSES)


@pytest.mark.full
def test_nothing_is_shown_before_it_is_predicted(tmp_path: Path) -> None:
    new_folder(tmp_path, "ada", "a class")
    outputs = run(tmp_path, {})
    assert {name: pictured(each) for name, each in outputs.items()} == dict.fromkeys(DEMONSTRATIONS, "")
    for name, exercise in (("stored-and-forwarded", "4.1"), ("chunk-curve", "4.2")):
        assert [each.text for each in outputs[name]] == [f"Answer {exercise} first, then run this cell again.\n"]


@pytest.mark.full
@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_each_shows_its_picture(shown: dict[str, Any], name: str) -> None:
    picture, is_plot = pictured(shown[name]), name == "chunk-curve"  # which Bokeh draws
    assert ["<svg" in picture, "data-plot" in picture, "<script" in picture] == [not is_plot, is_plot, is_plot]
    assert len(picture) < 3_000_000


@pytest.mark.full
def test_the_urgent_transfer_has_two_numbers(shown: dict[str, Any]) -> None:
    said = "".join(each.get("text", "") for each in shown["urgent-transfer"])
    assert re.findall(r"the urgent one ends at ([\d.]+) ms; your guess was (\d+) ms", said) == [("32.5", "30"), ("111.9", "100")]
    assert len(set(re.findall(r"the last of all at ([\d.]+) ms", said))) == 1


@pytest.mark.full
def test_simulated_stands_above_measured_on_one_axis(shown: dict[str, Any]) -> None:
    report = pictured(shown["on-this-computer"])
    assert "every byte verified" in report
    assert report.index("simulated") < report.index("measured / simulated")
