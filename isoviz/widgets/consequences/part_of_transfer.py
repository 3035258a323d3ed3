"""What moves and when, from what was typed: stages."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from isoviz.errors import InputError, show
from isoviz.units import COUNTS, parse_count
from isoviz.widgets.chosen.settings import Part, Range, Row
from isoviz.widgets.consequences.catching import caught
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace

MOST_PRIORITY = 1_000_000
"""Priorities lie between this number and its negative."""


@dataclass(frozen=True)
class Box:
    """What moves: the extent of the box and its first indices at both ends, in the order of the dimensions, and the fields."""

    shape: tuple[int, ...]
    source_origin: tuple[int, ...]
    destination_origin: tuple[int, ...]
    field_names: tuple[str, ...]


@dataclass(frozen=True)
class Turn:
    """When a transfer begins, in seconds after the begin of all, and how urgent it is."""

    priority: int = 0
    begin: float = 0.0


def part_of(
    problems: dict[str, Problem],
    part: Part,
    dimensions: tuple[Row, ...],
    rows: tuple[Row, ...],
    space: IndexSpace,
    _fields: FieldSpace,
) -> Box | None:
    """The part of the array that moves; None where it cannot be, which is told at its controls."""
    found = [_range(part.range_of(row.key), row.name, space[row.name], problems) for row in dimensions]
    names = tuple([row.name for row in rows if row.key not in part.left_out])
    if not names:
        problems["part-fields"] = Problem("No field moves; choose at least one")
    if not names or None in found:
        return None
    numbers = [each for each in found if each is not None]
    first, extent, to = (tuple(each[place] for each in numbers) for place in range(3))  # there may be no dimension at all
    return Box(extent, first, to, names)


def _range(given: Range, dim: str, size: int, problems: dict[str, Problem]) -> tuple[int, int, int] | None:
    """First index, extent, and first index at the destination."""

    def first() -> int:
        value = _whole(given.first, 0, "an index")
        if value >= size:
            raise InputError(f"the indices of {dim} are 0 to {size - 1}")
        return value

    def extent(start: int) -> int:
        value = _whole(given.extent, size - start, "a number of indices")
        if value < 1:
            raise InputError("at least one index has to move")
        if start + value > size:
            raise InputError(f"from index {start} on, {dim} has {size - start}")
        return value

    def goal(start: int, count: int) -> int:
        value = _whole(given.to, start, "an index")
        if value + count > size:
            raise InputError(f"{count} indices fit into {dim} from index {size - count} on at the latest")
        return value

    start = caught(first, f"part-first:{given.row}", problems)
    count = None if start is None else caught(partial(extent, start), f"part-extent:{given.row}", problems)
    if start is None or count is None:
        return None
    there = caught(partial(goal, start, count), f"part-to:{given.row}", problems)
    return None if there is None else (start, count, there)


def _whole(text: str, usual: int, what: str) -> int:
    text = text.strip()
    if not text:
        return usual
    found = parse_count(text)
    if found is None:
        raise InputError(f"{show(text)} is not {what}; expected a whole number of at least 0, such as {COUNTS}")
    return found


def turn_of(problems: dict[str, Problem], priority: str, begin: str) -> Turn | None:
    """When a transfer begins and how urgent it is; None where one of both cannot be."""

    def urgency() -> int:
        if not re.fullmatch("[+-]?[0-9]{1,7}", priority.strip() or "0") or abs(int(priority.strip() or "0")) > MOST_PRIORITY:
            raise InputError(f"{show(priority)} is not a priority; expected a whole number, such as 1")
        return int(priority.strip() or "0")

    def seconds() -> float:
        try:
            value = float(begin.strip() or "0")
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1e6:
            raise InputError(f"{show(begin)} is not a time; expected seconds from 0 on, such as 0.005")
        return value

    first = caught(urgency, "transfer-priority", problems)
    second = caught(seconds, "transfer-begin", problems)
    return None if first is None or second is None else Turn(first, second)
