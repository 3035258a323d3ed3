"""What two layouts of one array have in common: what exercises ask of it, and what is said of an answer."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from isoviz.course.exercise import Given, WrongModel
from isoviz.layouts import Comparison, Linearization, Mode
from isoviz.layouts.modes import FIELDS

# Pictures of the memories of two layouts: pieces that lie together in both or fall apart, and blocks.

_ROW = 64
_MOST_MARKS = 24
"""Pieces that are marked, at most: behind them the picture shows nothing new."""


class PicturesBelow:
    """Pictures below each other, each with a caption ("": it has its own)."""

    def __init__(self, *pictures: tuple[str, Callable[[], str]]) -> None:
        self._pictures = pictures

    def _repr_html_(self) -> str:
        return "".join(
            f"<div>{f'<p><strong>{html.escape(caption)}</strong></p>' if caption else ''}{draw()}</div>"
            for caption, draw in self._pictures
        )


Stretch = tuple[int, int]
"""Bytes of a memory: the first one, and how many."""


def run_picture(source: Linearization, copies: Sequence[tuple[Linearization, Sequence[Stretch]]], title: str) -> PicturesBelow:
    """Stretches of the source, such as what somebody takes for a run, and where each copy has them."""

    def drawing(copy: Linearization, stretches: Sequence[Stretch]) -> tuple[str, Callable[[], str]]:
        caption = title.format(copy=copy.layout)
        return caption, lambda: _pieces_svg(source, copy, stretches, caption)

    return PicturesBelow(*(drawing(copy, stretches) for copy, stretches in copies))


def block_picture(here: Linearization, there: Linearization, block: Stretch, title: str) -> PicturesBelow:
    """A block of memory at the source, and where the destination has its elements."""
    return PicturesBelow((title, lambda: _pieces_svg(here, there, [block], title, is_block=True)))


def _pieces_svg(
    here: Linearization, there: Linearization, stretches: Sequence[Stretch], title: str, *, is_block: bool = False
) -> str:
    """The stretches in the one memory, and their pieces in the other. Those of a block may lie anywhere within its bytes."""
    from isoviz.figures.layouts.tape import Tape, TapeMark, tapes_svg

    marks, landed = [], []
    for begin, nbytes in stretches:
        shown = min(begin + nbytes, here.nbytes) - begin
        marks.append(TapeMark(begin, f"{shown:,} B", "path", shown))
        pieces = _pieces(here, there, begin, begin + shown)
        if is_block:
            landed.append(TapeMark(begin, f"bytes {begin:,} to {begin + shown - 1:,}", "path", shown))
            outside = (piece for piece in pieces if not begin <= piece[0] < begin + nbytes)
            landed += [TapeMark(at, "also of your block", "bad", size) for at, size in list(outside)[:_MOST_MARKS]]
            continue
        colour = "good" if len(pieces) == 1 else "bad"
        words = ["in one piece"] if len(pieces) == 1 else list(map(str, range(1, len(pieces) + 1)))
        landed += [TapeMark(at, text, colour, size) for text, (at, size) in list(zip(words, pieces, strict=True))[:_MOST_MARKS]]
    last = max(mark.byte + mark.nbytes for mark in (*marks, *landed))
    end = (last // _ROW + 2) * _ROW  # and a little of what follows
    return tapes_svg([Tape(here, "source", tuple(marks), end), Tape(there, "destination", tuple(landed), end)], title, row=_ROW)


def _pieces(here: Linearization, there: Linearization, begin: int, end: int) -> list[Stretch]:
    """Begin and length of the pieces that bytes of the source are at the destination, in the order of the source."""
    found: list[Stretch] = []
    before = None
    for index, field in here.order():
        at, size = here.offset(index, field), here.fields.sizes[here.fields.index(field)]
        low, high = max(at, begin), min(at + size, end)
        if low >= high:
            continue
        landed = there.offset(index, field) + low - at
        if found and before == (low, landed):
            found[-1] = (found[-1][0], found[-1][1] + high - low)
        else:
            found.append((landed, high - low))
        before = (high, landed + high - low)
    return found


class Element(NamedTuple):
    """The value of one field at one index."""

    point: tuple[int, ...]
    field: str


class Jump(NamedTuple):
    """Where a run ends: its elements, and the element that comes next in each memory (None: nothing more)."""

    run: tuple[Element, ...]
    here: Element | None
    there: Element | None


class Stray(NamedTuple):
    """An element that another piece of memory holds at the destination: it, and the number of its piece at the source."""

    element: Element
    piece: int


def mean_size(linear: Linearization) -> float:
    """The bytes of an element, as the mean of the fields."""
    return linear.fields.nbytes / len(linear.fields)


def row_bytes(linear: Linearization) -> float:
    """What lies together along the first dimension of one layout: of whole entries where F comes before it, else of a field."""
    count, unit = 1, mean_size(linear)
    for part in linear.normal:
        if not isinstance(part, Mode):
            unit = linear.fields.nbytes
            continue
        return unit * part.extent
    return unit * count


def suffix_bytes(linear: Linearization, compared: Comparison) -> float:
    """The common suffix taken for the run: its entries, of all fields where F is in it."""
    unit = linear.fields.nbytes if FIELDS in compared.suffix else mean_size(linear)
    return unit * math.prod(part.extent for part in compared.suffix if isinstance(part, Mode))


def elements_in_run(compared: Comparison) -> int:
    """The elements of a run."""
    return compared.prefix_count * (len(compared.field_sizes) if FIELDS in compared.prefix else 1)


def elements_of(linear: Linearization) -> list[Element]:
    """The elements in the order of memory."""
    return [Element(tuple(index), field) for index, field in linear.order()]


def jump(source: Linearization, destination: Linearization) -> Jump:
    """The first run from the start of the source on."""
    here, there = elements_of(source), elements_of(destination)
    at = there.index(here[0])
    length = next((n for n in range(1, len(here)) if at + n >= len(there) or here[n] != there[at + n]), len(here))
    follower = there[at + length] if at + length < len(there) else None
    return Jump(tuple(here[:length]), here[length] if length < len(here) else None, follower)


def first_stray(here: Linearization, there: Linearization, nbytes: int) -> Stray | None:
    """The first element that lies in another piece of `nbytes` bytes at the destination; None where all pieces hold the same."""
    for element in elements_of(here):
        last = here.fields.sizes[here.fields.index(element.field)] - 1
        begin, landed = here.offset(*element), there.offset(*element)
        if begin // nbytes != landed // nbytes or (begin + last) // nbytes != (landed + last) // nbytes:
            return Stray(element, begin // nbytes)
    return None


def told(element: tuple[Sequence[int], str], linear: Linearization) -> str:
    """An element in words."""
    at = ", ".join(f"{dim} = {value}" for dim, value in zip(linear.space.dims, element[0], strict=True))
    return f"the entry {at}" if len(linear.fields) == 1 else f"{element[1]} of {at}"


def plain_number(value: float) -> str:
    """A number as one writes it: without a fraction where it has none."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}".rstrip("0")


def partly(name: str, answer: Callable[[Given], dict[str, Any] | None], right: Callable[[Given], dict[str, Any]]) -> WrongModel:
    """A wrong model of several answers. It explains an answer where each part is right or its own, and one of them is wrong."""

    def explains(read: Mapping[str, Any], given: Given) -> bool:
        own, true = answer(given), right(given)
        return own is not None and read != true and all(read[part] in (true[part], own[part]) for part in true)

    return WrongModel(name, answer, explains)


def parts_apart(right: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the right answer and those of wrong models differ in every part that is wrong.

    A part tells then which model it comes from, also where the other parts are right.
    """
    for part in right:
        wrong = [each[part] for each in answers if each[part] != right[part]]
        if len(set(wrong)) < len(wrong):
            return False
    return all(dict(each) != dict(right) for each in answers)
