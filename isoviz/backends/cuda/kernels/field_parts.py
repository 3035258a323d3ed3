"""What one tile kernel moves: copies with the same loops, which share the cells of one side.

An array of structs has all fields of an entry in one cell. The copies of its fields have equal strides there, and their runs
lie beside each other. Together they read or write whole cache lines, whereas each alone would use a part of every line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.cuda.kernels.straight_kernels import LONG_RUN
from isoviz.layouts import StridedCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts.copies import Loop

MOST_PARTS = 12
"""Copies of one kernel. Each adds its own code."""
_MOST_UNROLLED = 8
"""Largest extent of a loop over fields that becomes one part for each of them."""
_LARGEST_CELL = 512
"""Bytes of a cell with several parts."""

Key = tuple[tuple[int, int], ...]


class Part(NamedTuple):
    """One copy of a group: its offsets at both ends, its run, and its stride at the far side for every loop of the group."""

    source_offset: int
    destination_offset: int
    run: int
    far: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Copies with the same loops and the same strides at one side, the *near* side (`near_is_source`: the source).

    Loops are sorted by their stride at the near side, fastest first. `near` are these strides in bytes. The parts are sorted by
    their offset at the near side.
    """

    extents: tuple[int, ...]
    near: tuple[int, ...]
    parts: tuple[Part, ...]
    near_is_source: bool
    places: tuple[int, ...] = field(init=False)
    """Offset of each part in its cell."""

    def __post_init__(self) -> None:
        first = self.near_offset(self.parts[0])
        object.__setattr__(self, "places", tuple(self.near_offset(part) - first for part in self.parts))

    def near_offset(self, part: Part) -> int:
        """Offset of a part at the near side, in bytes."""
        return part.source_offset if self.near_is_source else part.destination_offset

    def far_offset(self, part: Part) -> int:
        """Offset of a part at the far side, in bytes."""
        return part.destination_offset if self.near_is_source else part.source_offset

    @property
    def cell(self) -> int:
        """Bytes from the first to the last byte of a cell."""
        return max(place + part.run for place, part in zip(self.places, self.parts, strict=True))

    @property
    def copies(self) -> list[StridedCopy]:
        """The parts as copies."""
        found = []
        for part in self.parts:
            here, there = (self.near, part.far) if self.near_is_source else (part.far, self.near)
            loops = sorted(zip(self.extents, here, there, strict=True), key=lambda loop: -loop[2])
            found.append(StridedCopy(part.source_offset, part.destination_offset, part.run, tuple(loops)))
        return found

    @property
    def nbytes(self) -> int:
        """Bytes moved."""
        total = sum(part.run for part in self.parts)
        for extent in self.extents:
            total *= extent
        return total


def group_of(copies: Sequence[StridedCopy], near_is_source: bool) -> Group:
    """The group of copies with the same extents and near strides."""
    end = 1 if near_is_source else 2
    parts = []
    for copy in copies:
        loops = sorted(copy.loops, key=lambda loop: loop[end])
        parts.append(Part(copy.source_offset, copy.destination_offset, copy.run, tuple(loop[3 - end] for loop in loops)))
    parts.sort(key=lambda part: part.source_offset if near_is_source else part.destination_offset)
    loops = sorted(copies[0].loops, key=lambda loop: loop[end])
    return Group(tuple(loop[0] for loop in loops), tuple(loop[end] for loop in loops), tuple(parts), near_is_source)


def shared_cells(copies: Sequence[StridedCopy]) -> tuple[list[Group], list[StridedCopy]]:
    """Groups of copies that share the cells of the source or of the destination, and the copies that are in no group."""
    groups: list[Group] = []
    rest = list(copies)
    for near_is_source in (True, False):
        while rest:
            taken = _largest(rest, near_is_source)
            if taken is None:
                break
            group, members = taken
            groups.append(group)
            rest = [copy for copy in rest if copy not in members]
    return groups, rest


def _largest(copies: list[StridedCopy], near_is_source: bool) -> tuple[Group, list[StridedCopy]] | None:
    """The first group that is worth a kernel, and the copies in it."""
    end = 1 if near_is_source else 2
    keyed = [(copy, keys) for copy in copies if copy.run < LONG_RUN and (keys := _keys(copy.loops, end))]
    counts = Counter(key for _, keys in keyed for key in keys)
    for key, count in counts.most_common():
        if count < 2 and not any(key in keys[1:] for _, keys in keyed):
            continue
        members = sorted((copy for copy, keys in keyed if key in keys), key=lambda copy: _offset(copy, end))
        for chosen in _cells(members, key, end):
            parts = [part for copy in chosen for part in _unrolled(copy, key, end)]
            if not 2 <= len(parts) <= MOST_PARTS:
                continue
            group = group_of(parts, near_is_source)
            if len(chosen) == 1 and group.cell == group.near[0]:
                continue  # its loop over fields makes one row together with the next loop
            if _pays(group):
                return group, chosen
    return None


def _keys(loops: tuple[Loop, ...], end: int) -> list[Key]:
    """The loops as pairs (extent, near stride), and without the fastest one if that can be a loop over fields."""
    ordered: Key = tuple(sorted(((loop[0], loop[end]) for loop in loops), key=lambda pair: pair[::-1]))
    if not ordered or any(min(loop[1:]) <= 0 for loop in loops):
        return []
    if len({stride for _, stride in ordered}) < len(ordered):
        return []
    found = [ordered]
    if len(ordered) > 1 and ordered[0][0] <= _MOST_UNROLLED and ordered[0][0] * ordered[0][1] <= ordered[1][1]:
        found.append(ordered[1:])
    return found


def _cells(members: list[StridedCopy], key: Key, end: int) -> list[list[StridedCopy]]:
    """Members that begin in the same cell, by their offsets."""
    found: list[list[StridedCopy]] = []
    for copy in members:
        if found and _offset(copy, end) - _offset(found[-1][0], end) < key[0][1]:
            found[-1].append(copy)
        else:
            found.append([copy])
    return found


def _offset(copy: StridedCopy, end: int) -> int:
    return copy.source_offset if end == 1 else copy.destination_offset


def _unrolled(copy: StridedCopy, key: Key, end: int) -> list[StridedCopy]:
    """The copy, with its loop over fields taken apart if the key does not have it."""
    outside = [loop for loop in copy.loops if (loop[0], loop[end]) not in key]
    if not outside:
        return [copy]
    (extent, here, there), *_ = outside
    loops = tuple(loop for loop in copy.loops if loop not in outside)
    return [
        copy._replace(
            source_offset=copy.source_offset + k * here,
            destination_offset=copy.destination_offset + k * there,
            loops=loops,
        )
        for k in range(extent)
    ]


def _pays(group: Group) -> bool:
    """Whether the parts fill their cells: a destination entirely, a source by half. Parts that overlap are refused."""
    ends = [(place, place + part.run) for place, part in zip(group.places, group.parts, strict=True)]
    if any(following[0] < before[1] for before, following in itertools.pairwise(ends)):
        return False
    filled, period = sum(part.run for part in group.parts), group.near[0]
    if group.cell > period or period > _LARGEST_CELL:
        return False
    return 2 * filled >= period if group.near_is_source else filled == group.cell == period
