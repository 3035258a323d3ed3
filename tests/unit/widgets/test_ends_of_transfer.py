"""What the explorer says of layouts that do not fit: the mistake itself comes first, at its character."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isoviz.layouts.notation import named_dimensions
from isoviz.widgets.chosen.settings import Settings, rows
from isoviz.widgets.consequences.transfer_stages import MOST_DIMENSIONS, linearization_of
from isoviz.widgets.state import Problem


def told(text: str, **sizes: int) -> tuple[str, int | None] | None:
    """What is said of a source layout; the position is None where a dimension is to blame."""
    settings = Settings(dimensions=rows(sizes, 1), fields=rows({"v": "float64"}, 90))
    settings = replace(settings, source=replace(settings.source, layout=text))
    problems: dict[str, Problem] = {}
    linear = linearization_of(settings, "source", problems)
    assert (linear is None) == bool(problems)
    found = problems.get("source-layout") or problems.get("dimensions")
    return None if found is None else (found.message, found.position)


@pytest.mark.parametrize("text", ["hello", "hello=3", "hello_in", "hello_01, x", "hello world", "<hello, F, x, x>"])
def test_a_name_that_is_no_dimension_is_told_before_what_follows_from_it(text: str) -> None:
    assert told(text, x=8, y=6) == ("'hello' is not a dimension; expected x or y", text.index("hello"))


def test_an_unknown_name_is_told_where_it_stands() -> None:
    assert told("x_in, y_out, z_0, F", x=8, y=6) == ("'z' is not a dimension; expected x or y", 13)
    beyond = {"𝒙": 8}  # as a keyword, Python would read it as x
    assert told("<F, 𝒙, q>", **beyond) == ("'q' is not a dimension; expected 𝒙", 7)
    assert told("x, F") == ("'x' is not a dimension; expected F alone", 0)


def test_what_cannot_be_read_hides_the_names_behind_it() -> None:
    assert told("F, x, !, hello", x=8) == (
        "Found '!'; expected a component: F, a dimension such as x, or a digit such as x_in=4",
        6,
    )


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("x, y", "F is missing; expected F exactly once, also where there is one field", 4),
        ("<F, x >", "Dimension 'y' is missing", 6),
        ("F, y, x_out, x_in=9", "Block x_in=9 is larger than dimension 'x' of size 8; expected at most 8", 13),
        (
            "F, x_0=4, x_1=4, x_2, y",
            "Block x_1=4 (with the digits below it, 16) is larger than dimension 'x' of size 8; expected at most 2",
            10,
        ),
    ],
)
def test_other_mistakes_are_told_at_their_place(text: str, message: str, position: int) -> None:
    assert told(text, x=8, y=6) == (message, position)


def test_an_instance_that_is_too_large_is_told_in_bytes() -> None:
    assert told("F, x, y", x=2**40, y=2**20) == (f"The layout has {2**63} bytes; expected at most 2^63 - 1", 0)
    assert told("F, x, y", x=2**40, y=2**19) is None


def test_too_many_dimensions_are_refused_in_words() -> None:
    sizes = {f"d{number}": 2 for number in range(30)}
    words = f"30 dimensions are too many; the explorer shows up to {MOST_DIMENSIONS}"
    assert told(f"F, {', '.join(sizes)}", **sizes) == (words, None)
    few = dict(list(sizes.items())[:MOST_DIMENSIONS])
    assert told(f"F, {', '.join(few)}", **few) is None


def test_the_dimensions_of_a_text_are_named_as_far_as_it_is_names() -> None:
    assert named_dimensions("<x_in = 4, F, y_7, ⟩ z") == [("x", 1), ("y", 14)]
    assert named_dimensions("") == []
    assert named_dimensions("a=, b") == [("a", 0), ("b", 4)]
    assert named_dimensions("a b") == [("a", 0)]
