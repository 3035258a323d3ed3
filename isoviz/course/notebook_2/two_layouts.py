"""What two layouts of one array have in common: what exercises ask of it, and what is said of an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from isoviz.course.exercise import Given, WrongModel
from isoviz.layouts import Comparison, Linearization, Mode
from isoviz.layouts.components import FIELDS


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
