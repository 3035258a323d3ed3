"""1.3: what lies at a byte?"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from isoviz.course.exercise import Exercise, Given, Kind, NotAnAnswer, Verdict, WrongModel
from isoviz.course.kinds import Choice, Number, Several, linear_of
from isoviz.course.notebook_1.layout_pictures import Marked, fields_moved, lying_at, order_reversed, tape_picture
from isoviz.errors import show
from isoviz.layouts import Linearization, Location

PADDING = "padding"
_DTYPES = ("uint8", "uint16", "float32", "float64")
_LAYOUTS = ("<x_in={}, F, x_out, y>", "<x_in={}, F, y, x_out>", "<x_in={}, y, F, x_out>")
_SIZES = ((5, 2), (5, 3), (5, 4), (6, 4), (7, 2), (7, 3), (7, 4))
"""Sizes of x with a block that does not divide them."""
_PARTS = Several(
    {
        "x": Number("x of the entry", whole=True, least=0),
        "y": Number("y of the entry", whole=True, least=0),
        "field": Choice(lambda given: list(given["fields"]), "field"),
        "byte": Number("the byte within the element, counted from 0", "B", whole=True, least=0),
    }
)


@dataclass(frozen=True)
class Content(Kind):
    """What lies at a byte: (x, y, field, byte within the element), or "padding"."""

    def read(self, answer: object, given: Given) -> Any:
        """The four parts by name, or "padding"."""
        if isinstance(answer, str) and answer.strip().casefold() == PADDING:
            return PADDING
        if not isinstance(answer, list | tuple | dict) and not (isinstance(answer, str) and "," in answer):
            raise NotAnAnswer(f"expected (x, y, field, byte), such as (2, 0, 'a', 1), or 'padding', got {show(answer)}")
        found = _PARTS.read(answer, given)
        for dim, size in given["sizes"].items():
            if found[dim] >= size:
                raise NotAnAnswer(f"there is no entry with {dim} = {found[dim]}: {dim} is 0 to {size - 1}")
        return found

    def same(self, one: Any, other: Any) -> bool:
        """Whether all four parts are the same, or both are padding."""
        return bool(one == other)


def _part(linear: Linearization, found: Location | None) -> Any:
    if found is None:
        return PADDING
    return {**dict(zip(linear.space.dims, found.index, strict=True)), "field": found.field, "byte": found.byte}


def _content(given: Given, layout: str | None = None, byte: int | None = None) -> Any:
    """What lies at the byte of the exercise, or at another one. Behind the end lies nothing: None."""
    linear = linear_of(given, layout)
    at = given["byte"] if byte is None else byte
    return _part(linear, linear.locate(at)) if at < linear.nbytes else None


def _without_padding(given: Given) -> Any:
    """What would lie there if padding took no bytes."""
    linear, end = linear_of(given), 0
    for index, field in linear.order():
        begin, end = end, end + linear.fields.sizes[linear.fields.index(field)]
        if end > given["byte"]:
            return _part(linear, Location(index, field, given["byte"] - begin))
    return None


def _from_one(given: Given) -> dict[str, Any] | None:
    """The entry as somebody names it who counts from 1; None where there is none of that name."""
    found = _content(given)
    if found == PADDING or any(found[dim] + 1 == size for dim, size in given["sizes"].items()):
        return None
    return {**found, **{dim: found[dim] + 1 for dim in given["sizes"]}}


def _draw(source: random.Random) -> dict[str, Any]:
    """Two of five draws are padding. Where it is none, every wrong model has an answer."""
    is_padding = source.random() < 0.4
    while True:
        size, block = source.choice(_SIZES)
        given = {
            "sizes": {"x": size, "y": source.choice((3, 4))},
            "fields": dict(zip("ab", source.sample(_DTYPES, 2), strict=True)),
            "layout": source.choice(_LAYOUTS).format(block),
            "block": block,
        }
        given["byte"] = source.randrange(linear_of(given).payload)  # behind it nothing would lie if padding took no bytes
        if (_content(given) == PADDING) == is_padding and (is_padding or _from_one(given)) and _is_told_apart(given):
            return given


def _is_beside(answer: Any, given: Given) -> bool:
    """Whether the byte of an answer is the next one to that of the exercise, or it itself by the bytes of another element."""
    return bool(answer != PADDING and abs(_byte_of(linear_of(given), answer) - given["byte"]) <= 1)


def _beside(given: Given) -> Any:
    """The byte after that of the exercise, or the one before it, where an element lies there."""
    found = (_content(given, byte=given["byte"] + step) for step in (1, -1) if given["byte"] + step >= 0)
    return next((each for each in found if each not in (PADDING, None)), None)


def _is_told_apart(given: Given) -> bool:
    """Also, no other wrong model gives a byte beside the right one: an answer there is explained by its nearness."""
    answers = [model.answer(given) for model in LOCATED_BYTE.models if model.name != "one-byte-beside"]
    others = [each for each in answers if each is not None]
    return LOCATED_BYTE.tells_apart(given) and not any(_is_beside(each, given) for each in others)


def _byte_of(linear: Linearization, answer: dict[str, Any]) -> int:
    return int(linear.offset({dim: answer[dim] for dim in linear.space}, answer["field"]) + answer["byte"])


def _judge(answer: Any, given: Given) -> Verdict:
    linear, byte = linear_of(given), given["byte"]
    here, right, yours = lying_at(linear, byte), answer == _content(given), None
    words: dict[str, object] = {"here": here}
    if right:
        says = "right"
    elif answer == PADDING:
        says = "no padding"
    elif answer["byte"] >= (size := linear.fields.sizes[linear.fields.index(answer["field"])]):
        words |= {"its": answer["field"], "within": answer["byte"], "last": size - 1}
        says = "no such byte"
    else:
        yours = _byte_of(linear, answer)
        words |= {"yours": lying_at(linear, yours), "at": yours}
        says = "other"
    marks = [Marked(byte, f"byte {byte}: {'padding' if linear.locate(byte) is None else 'asked'}", True)]
    if yours is not None:
        marks.append(Marked(yours, f"your answer: byte {yours}"))
    title = LOCATED_BYTE.text("says", "picture", given=given)
    told = LOCATED_BYTE.text("says", says, given=given, **words)
    return Verdict(right, told, words, lambda: tape_picture(linear, title, *marks))


def _words(given: Given) -> dict[str, object]:
    linear = linear_of(given)
    sizes, size = linear.fields.sizes, given["sizes"]["x"]
    right = _content(given)
    return {
        "nx": size, "ny": given["sizes"]["y"], "last_x": size - 1, "last_y": given["sizes"]["y"] - 1,
        "a": given["fields"]["a"], "b": given["fields"]["b"], "size_a": sizes[0], "size_b": sizes[1],
        "told": right if right == PADDING else f"({', '.join(map(str, right.values()))})",
        "nbytes": linear.nbytes, "stretch": linear.inner_count,
        "blocks": -(-size // given["block"]), "rest": size % given["block"], "missing": -size % given["block"],
    }  # fmt: skip


LOCATED_BYTE = Exercise(
    "1.3",
    Content(),
    _draw,
    _judge,
    (
        WrongModel("one-byte-beside", _beside, explains=_is_beside),
        WrongModel("padding-forgotten", _without_padding),
        WrongModel("order-reversed", lambda given: _content(given, order_reversed(given["layout"]))),
        WrongModel("fields-innermost", lambda given: _content(given, fields_moved(given["layout"], 0))),
        WrongModel("one-size-for-all", lambda given: _content({**given, "fields": dict.fromkeys("ab", given["fields"]["a"])})),
        WrongModel("counted-from-one", _from_one),
    ),
    _content,
    words=_words,
    is_prediction=True,
)
