"""Numbers as learners type them, and those that solutions tell: typed back, they are right."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from course_cases import FULL

from isoviz.course.checking import judged
from isoviz.course.classroom import drawn
from isoviz.course.exercise import NotAnAnswer, shared
from isoviz.course.kinds import Number
from isoviz.course.lessons import every_exercise

SEEDS = 60 if FULL else 4
EXERCISES = every_exercise()
TOLD = re.compile(r"\([^()]*\)|.+?(?=\. |: |, for example|$)")
"""A solution begins with the answer: in brackets, or up to the end of a sentence."""
NOT_TYPED = {"3.0": "channels, told by arrows", "3.2": "a function, told in words", "4.5": "a function, told by its last line"}


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in NOT_TYPED])
def test_what_a_solution_tells_is_right(name: str) -> None:
    for seed in range(SEEDS):
        given = drawn(EXERCISES[name], f"told {seed}")
        found = TOLD.match(EXERCISES[name].text("solution", given=given))
        assert found is not None
        verdict = judged(EXERCISES[name], found[0], given).verdict
        assert verdict.right, (given, found[0], verdict.says)


@pytest.mark.parametrize(
    ("unit", "answer", "number"),
    [
        ("", "1,296", 1296),
        ("", "71_095", 71095),
        ("", "1 008", 1008),
        ("s", "0.053 s", 0.053),
        ("s", "1,296 ms", 1.296),
        ("%", "1,250.5 %", 1250.5),
        ("", Decimal("1.5"), 1.5),
        ("", Fraction(3, 2), 1.5),
        ("B", "4,032 B", 4032),
        ("", "+356", 356),
        ("", "−3.5", -3.5),
        ("", "4.29×", 4.29),
        ("", "1.919x", 1.919),
        ("B", "356 bytes.", 356),
        ("B", "3.56e2", 356),
        ("B", "3.56e2 KiB", 356 * 1024),
        ("B", "1.5 KiB.", 1536),
        ("s", "3.56e-2 s", 0.0356),
        ("s", "5.", 5),
        ("s", "-5 ms", -0.005),
        ("%", "0.663 percent", 0.663),
        ("%", "0.663 per cent.", 0.663),
        ("%", "+0.663%", 0.663),
    ],
)
def test_numbers_are_read_as_learners_write_them(unit: str, answer: Any, number: float) -> None:
    assert Number("a number", unit).read(answer, {}) == pytest.approx(number)


@pytest.mark.parametrize("unit", ["", "s", "B", "B/s", "%"])
@pytest.mark.parametrize(
    "answer", ["0,053", "4_29", "6_6,3", "1,29", "01,296", "1,2345", Decimal("nan"), Fraction(10**400), 1e31]
)
def test_numbers_that_can_be_meant_in_two_ways_are_not_counted(unit: str, answer: Any) -> None:
    with pytest.raises(NotAnAnswer):
        Number("a number", unit).read(answer, {})


@pytest.mark.parametrize("unit", ["", "s", "B", "B/s", "%"])
@pytest.mark.parametrize("answer", ["three", "5 apples", "", ".", "-", "--5", "+-5", "3 -5", "-5 B ms", "1e"])
def test_texts_that_are_no_numbers_get_a_plain_sentence(unit: str, answer: str) -> None:
    with pytest.raises(NotAnAnswer, match=r"^expected a number here, a number such as .*, got '") as told:
        Number("a number here", unit).read(answer, {})
    assert "character" not in str(told.value)


@pytest.mark.parametrize(("unit", "answer"), [("s", "-5 ms"), ("s", -5), ("B", "-5 B"), ("", "-5"), ("%", "−5 %")])
def test_a_number_below_the_least_is_told_so(unit: str, answer: Any) -> None:
    with pytest.raises(NotAnAnswer, match="at least 0"):
        Number("a number", unit, least=0).read(answer, {})


def test_what_is_too_long_to_be_read_is_told_short() -> None:
    said = judged(EXERCISES["4.1"], 1e30, drawn(EXERCISES["4.1"], "told 0")).verdict.says
    assert said == "At 1e+30 s the last chunk has been there for 1e+30 s."
    unread = shared("unread", problem="got 0.30000000000000004, 1234567890123456.7 and 999,999,999,999")
    assert unread.startswith("got 0.30000000000000004, 1.23e+15 and 999,999,999,999 ")


def test_sizes_that_are_computed_are_rounded_down() -> None:
    assert Number("a chunk", "B", whole=True, floors=True).read("3.55 MiB", {}) == 3722444
    assert Number("a chunk", "B", whole=True, floors=True).read(739062.5, {}) == 739062
    with pytest.raises(NotAnAnswer):
        Number("a byte", "B", whole=True).read(24.5, {})


def test_a_slot_outside_of_its_bounds_is_not_counted() -> None:
    given = drawn(EXERCISES["3.P"], "told 0")
    for slot in (0, 1, "128 MiB"):
        with pytest.raises(NotAnAnswer, match=r"1 MiB|64 MiB"):
            judged(EXERCISES["3.P"], (1.5, slot), given)
