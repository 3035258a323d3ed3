"""Notebook 2: what is known of pairs of layouts, right answers of several kinds, cheap wins that fail, pictures of the answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from isoviz.course.checking import judged
from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.exercise import NotAnAnswer
from isoviz.course.kinds import linear_of
from isoviz.course.lessons import exercise
from isoviz.course.notebook_2.measured_conversions import MeasuredConversions, measured_conversions
from isoviz.course.notebook_2.three_hops import LayoutsBetween
from isoviz.course.notebook_2.two_layouts import first_stray, jump
from isoviz.layouts import compare
from isoviz.runtime.ledger.ledger import VARIABLE, ledger

MATRIX = {"sizes": {"x": 96, "y": 72}, "fields": {"v": "float64"}, "run": 64, "shuffle": 768}
"""Blocks of 8 × 8 entries do, and those of up to 96 entries."""


def numbers(name: str, number: int = 0) -> Any:
    return drawn(exercise(name), learner_seed("notebook 2", f"{name} {number}"))


def verdict(name: str, answer: object, given: Any) -> Any:
    return judged(exercise(name), answer, given).verdict


# ---- runs and shuffle sizes


def test_a_run_is_followed_to_its_end() -> None:
    given = {"sizes": {"x": 8, "y": 3}, "fields": {"a": "float32", "b": "float64"}}
    found = jump(linear_of(given, "<F, x, y>"), linear_of(given, "<F, x_in=4, y, x_out>"))
    assert len(found.run) == 8 and found.run[-1] == ((3, 0), "b")
    assert (found.here, found.there) == (((4, 0), "a"), ((0, 1), "a"))


def test_a_block_is_as_long_as_the_shuffle_size_or_a_multiple() -> None:
    for number in range(3):
        given = numbers("2.2", number)
        here, there = linear_of(given, given["source"]), linear_of(given, given["destination"])
        size = compare(here, there).shuffle_bytes
        lengths = [n for n in range(1, here.nbytes + 1) if here.nbytes % n == 0]
        assert [n for n in lengths if first_stray(here, there, n) is None] == [n for n in lengths if n % size == 0]


def test_where_one_run_is_right_the_other_is_spoken_of() -> None:
    given = numbers("2.1")
    model = exercise("2.1").model("source-alone")
    assert model is not None
    right, wrong = exercise("2.1").right(given), model.answer(given)
    found = judged(exercise("2.1"), {**right, "second": wrong["second"]}, given)
    assert found.model == "source-alone" and not found.verdict.right
    assert found.verdict.words["copy"] == given["second"]


def test_a_picture_has_the_pieces_of_the_learners_own_bytes() -> None:
    given = {
        "sizes": {"x": 8, "y": 3}, "fields": {"a": "float32", "b": "float64"},
        "source": "<F, x, y>", "first": "<F, x_in=4, y, x_out>", "second": "<x, y, F>",
    }  # fmt: skip
    shown = verdict("2.1", (60, 7), given).picture()._repr_html_()
    assert "60 B, at byte 0." in shown and "7 B, at byte 0." in shown
    assert "1, at byte 0." in shown and "2, at byte 144." in shown and "3, at byte" not in shown.partition("7 B")[0]
    shown = verdict("2.1", (48, 6), given).picture()._repr_html_()
    assert shown.count("in one piece, at byte") == 3  # one run of whole entries, and one of each field


def test_a_block_of_one_byte_is_told_as_one() -> None:
    given = numbers("2.2")
    assert "So byte " in verdict("2.2", 1, given).says
    assert "to" not in verdict("2.2", 1, given).says.split("So ")[1]


def test_a_multiple_of_the_shuffle_size_is_not_right() -> None:
    given = numbers("2.2")
    size = exercise("2.2").right(given)
    for answer in (2 * size, *range(max(1, size - 4), size), size + 1, size // 2, 1):
        assert not verdict("2.2", answer, given).right
    assert "smaller" in verdict("2.2", linear_of(given, given["source"]).nbytes, given).says


def test_equal_runs_stand_in_any_order() -> None:
    for number in range(30):
        given = numbers("2.3", number)
        runs = {name: compare(*(linear_of(given, each) for each in pair)).run_bytes for name, pair in given["pairs"].items()}
        one = sorted(runs, key=lambda name: (-runs[name], name))
        other = sorted(sorted(runs, reverse=True), key=lambda name: -runs[name])
        if one != other:
            assert verdict("2.3", one, given).right and verdict("2.3", other, given).right
            return
    pytest.fail("no draw has equal runs")


# ---- layouts between


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<F, x_in=8, y_in=8, x_out, y_out>", "<F, y_in=8, x_in=8, x_out, y_out>"),
        ("<F, x_in=8, y_in=8, y_out, x_out>", "<F, y_in=8, x_in=8, y_out, x_out>"),
        ("<F, x_in=12, y_in=8, x_out, y_out>", "<F, y_in=8, x_in=12, x_out, y_out>"),
        ("<F, x_in=8, y_in=12, x_out, y_out>", "<F, y_in=12, x_in=8, x_out, y_out>"),
        ("<F, x_in=9, y_in=10, x_out, y_out>", "<F, y_in=10, x_in=9, x_out, y_out>"),  # padded
        ("<x_in=8, y_in=8, F, x_out, y_out>", "<y_in=8, x_in=8, x_out, y_out, F>"),  # one field: F is free
    ],
)
def test_every_pair_of_layouts_that_does_is_right(first: str, second: str) -> None:
    found = verdict("2.4", (first, second), MATRIX)
    assert found.right, found.says
    assert found.cost and ("nothing" in found.cost) == ("x_in=9" not in first)


@pytest.mark.parametrize(
    ("first", "second", "hop"),
    [
        ("<F, x, y>", "<F, y, x>", "hop between"),
        ("<F, x, y>", "<F, x, y>", "last hop"),
        ("<F, y, x>", "<F, y, x>", "first hop"),
        ("<F, x_in=8, y_in=8, x_out, y_out>", "<F, y_in=8, x_in=8, y_out, x_out>", "hop between"),
        ("<F, x_in=12, y_in=9, x_out, y_out>", "<F, y_in=9, x_in=12, x_out, y_out>", "hop between"),
        ("<F, x_in=4, y_in=24, x_out, y_out>", "<F, y_in=24, x_in=4, x_out, y_out>", "first hop"),
        ("<F, y_in=8, x_in=8, x_out, y_out>", "<F, x_in=8, y_in=8, x_out, y_out>", "first hop"),
    ],
)
def test_every_hop_is_looked_at(first: str, second: str, hop: str) -> None:
    found = verdict("2.4", (first, second), MATRIX)
    assert not found.right and hop in found.says


def test_layouts_of_another_array_are_not_read() -> None:
    for answer in (("<F, x, y>", "<F, z, x>"), ("<F, x, y>",), ("<F, x, y>", ...), ("<F, x, y>", MATRIX), "<F, x, y>"):
        with pytest.raises(NotAnAnswer):
            verdict("2.4", answer, MATRIX)


def test_the_picture_of_the_stops_has_the_learners_layouts_and_figures() -> None:
    shown = verdict("2.4", ("<F, x_in=12, y_in=9, x_out, y_out>", "<F, y_in=9, x_in=12, x_out, y_out>"), MATRIX).picture()
    page = shown._repr_html_()
    assert "x_in=12, y_in=9" in page and "✓ run 96" in page and "✗ shuffle" in page and "✓ run 72" in page


def test_both_editors_are_one_answer() -> None:
    pytest.importorskip("ipywidgets")
    told: list[Any] = []
    task = exercise("2.4")
    assert task.pane is not None
    editors: LayoutsBetween = task.pane(MATRIX, told.append)
    try:
        editors.first.value, editors.second.value = "<F, x_in=8, y_in=8, x_out, y_out>", "<F, y_in=8, x_in=8, x_out, y_out>"
        assert verdict("2.4", editors, MATRIX).right
        editors.second.value = "<F, y, x>"
        assert not verdict("2.4", editors, MATRIX).right
        assert editors.first.session.state.fixed is not None and editors.second.session.state.fixed is not None
    finally:
        editors.close()


# ---- blocks that do not nest


def test_blocks_of_4_and_6() -> None:
    given = {"sizes": {"x": 24, "y": 24}, "fields": {"v": "float32"}, "here": 4, "there": 6}
    assert exercise("2.5").right(given) == {"run": 8, "entries": 288}
    for answer in ((16, 288), (4, 288), (8, 12), (8, 24 * 24), (24, 288), (8, 289)):
        assert not verdict("2.5", answer, given).right


def test_runs_that_are_cut_stand_out_in_the_picture() -> None:
    given = {"sizes": {"x": 24, "y": 24}, "fields": {"v": "float32"}, "here": 4, "there": 6}
    cut, whole = (verdict("2.5", (4 * run, 288), given).picture()._repr_html_() for run in (4, 2))
    assert "runs of 4" in cut and "runs of 2" in whole
    assert cut.count("f-bad") > whole.count("f-bad") == 0


# ---- the tensor


def test_the_figures_of_a_usual_tensor() -> None:
    given = {"sizes": {"w": 56, "h": 56, "c": 64, "n": 8}, "fields": {"v": "float32"}}
    found = compare(linear_of(given, "<F, c, w, h, n>"), linear_of(given, "<F, w, h, c, n>"))
    assert (found.run_bytes, found.shuffle_bytes) == (4, 802_816)


def test_a_ratio_is_taken_to_two_per_cent_and_not_beyond() -> None:
    given, task = numbers("2.P"), exercise("2.P")
    right = task.right(given)
    for factor, is_right in ((1.019, True), (0.981, True), (1.03, False), (0.97, False), (math.e, False)):
        assert verdict("2.P", {**right, "ratio": right["ratio"] * factor}, given).right == is_right


def test_the_clock_of_this_computer_decides_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is run for real, small; what a wrong prediction costs is told; the user's ledger stays as it was."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "ledger.jsonl"))
    given = {**numbers("2.P"), "sizes": {"w": 8, "h": 8, "c": 32, "n": 2}}
    found = measured_conversions(given, repeats=1)
    assert set(found.measured) == set(given["names"]) and all(seconds > 0 for seconds in found.measured.values())
    assert found.regret >= 1
    book = ledger()
    assert book is not None and book.read().entries == ()
    page = found._repr_html_()
    assert "measured here" in page and str(found)[:30] in page


def test_regret_is_about_the_choice_not_about_the_prediction() -> None:
    given = numbers("2.P")
    predicted = MeasuredConversions(given, dict.fromkeys(given["names"], 1.0)).predicted
    slower = {name: 10 * seconds for name, seconds in predicted.items()}
    assert MeasuredConversions(given, slower).regret == 1  # wrong by a factor of ten, and well chosen
    chosen = min(predicted, key=lambda name: predicted[name])
    assert MeasuredConversions(given, {**slower, chosen: 3 * max(slower.values())}).regret > 3
