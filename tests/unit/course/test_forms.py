"""Forms in which learners give an answer that is no plain number: orders, choices, whole tuples as texts."""

from __future__ import annotations

from typing import Any

import pytest
from course_cases import FULL

from isoviz.course.checking import judged
from isoviz.course.classroom import drawn
from isoviz.course.exercise import NotAnAnswer
from isoviz.course.kinds import Choice, LayoutAnswer, Number, Order, Several
from isoviz.course.lessons import every_exercise
from isoviz.layouts import Linearization

EXERCISES = every_exercise()
SEEDS = 20 if FULL else 2
LETTERS = Order(lambda _given: list("ABCDEF"))
NAMES = Order(lambda _given: ["NCHW", "NHWC", "NHCW"])
PAIR = Order(lambda _given: list("ABCDE"), size=2, sorted=True)
CHANGES = Choice(lambda _given: ("larger chunks", "one more slot", "no set-up"))


@pytest.mark.parametrize(
    "answer",
    [
        "ECBADF", "ecbadf", "E C B A D F", "E > C > B > A > D > F", "E, C, B, A, D and F.", "(E, C, B, A, D, F)", "E→C→B→A→D→F",
        "['E', 'C', 'B', 'A', 'D', 'F']", "E;C;B;A;D;F", list("ECBADF"), tuple("ecbadf"),
    ],
)  # fmt: skip
def test_an_order_may_be_written(answer: object) -> None:
    assert LETTERS.read(answer, {}) == list("ECBADF")


@pytest.mark.parametrize("answer", ["NHCW, NCHW, NHWC", "nhcw nchw nhwc", "NHCW > NCHW > NHWC", '("NHCW", "NCHW", "NHWC")'])
def test_an_order_of_longer_names_may_be_written(answer: str) -> None:
    assert NAMES.read(answer, {}) == ["NHCW", "NCHW", "NHWC"]


@pytest.mark.parametrize("answer", ["B and E", "EB", "E, B", {"B", "E"}, frozenset("EB"), "b & e", ["E", "B"]])
def test_a_pair_without_an_order_may_be_a_set(answer: object) -> None:
    assert PAIR.read(answer, {}) == ["B", "E"]


@pytest.mark.parametrize("answer", [set("ABCDEF"), "ABCDE", "ABCDEG", "AABCDE", "", ".", "A, B, C, D, E, E", {1, 2}, "(", 12])
def test_what_is_no_order_is_not_counted(answer: object) -> None:
    with pytest.raises(NotAnAnswer, match=r"expected 6 of|none of A|there twice"):
        LETTERS.read(answer, {})


@pytest.mark.parametrize("answer", [2, 2.0, "2", "2.", " 2 ", "one more slot.", "One  more slot", "ONE MORE SLOT"])
def test_a_choice_may_be_written(answer: object) -> None:
    assert CHANGES.read(answer, {}) == "one more slot"


@pytest.mark.parametrize("answer", [0, 4, 1.5, float("nan"), float("inf"), True, "", ".", "4.", "one slot", None])
def test_what_is_no_choice_is_not_counted(answer: object) -> None:
    with pytest.raises(NotAnAnswer, match="expected one of: 1 larger chunks; 2 one more slot; 3 no set-up"):
        CHANGES.read(answer, {})


def written(part: Any) -> str:
    if isinstance(part, list):
        return " ".join(part)
    return str(part.layout) if isinstance(part, Linearization) else str(part)


@pytest.mark.parametrize("name", [name for name, each in EXERCISES.items() if isinstance(each.kind, Several)])
def test_a_whole_answer_may_be_a_text(name: str) -> None:
    for number in range(SEEDS):
        given = drawn(EXERCISES[name], f"form {number}")
        right = [written(part) for part in EXERCISES[name].right(given).values()]
        for form in (
            ", ".join(right),
            f"({', '.join(right)})",
            f"[{'; '.join(right)}]",
            str(tuple(right)),
            ",".join(right),
            "; ".join(right),
        ):
            assert judged(EXERCISES[name], form, given).verdict.right, form


def test_commas_of_numbers_and_layouts_divide_nothing() -> None:
    kind = Several({"bytes": Number("bytes", "B"), "layout": LayoutAnswer()})
    given = {"sizes": {"x": 4, "y": 4}, "fields": {"a": "uint8"}}
    found = kind.read("(1,296, <F, y, x>)", given)
    assert found["bytes"] == 1296 and str(found["layout"].layout) == "<F, y, x>"


@pytest.mark.parametrize("answer", ["", "6", "1,296", "6, 3, 1", "()", "6 3", "1" * 10000 + ", 3"])
def test_what_are_not_as_many_parts_is_not_counted(answer: str) -> None:
    kind = Several({"x": Number("x"), "y": Number("y")})
    with pytest.raises(NotAnAnswer, match=r"expected \(x, y\)"):
        kind.read(answer, {})


def test_what_lies_at_a_byte_may_be_a_text() -> None:
    for number in range(20):
        given = drawn(EXERCISES["1.3"], f"form {number}")
        right = EXERCISES["1.3"].right(given)
        answer = right if isinstance(right, str) else f"({', '.join(map(str, right.values()))})"
        assert judged(EXERCISES["1.3"], answer, given).verdict.right
