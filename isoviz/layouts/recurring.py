"""Copies of boxes that recur: chunks of one shape differ in nothing but where they begin.

Working out the strided copies of a box takes as long as moving some hundred KiB. A box that has the shape of one before, and lies
alike between the turns of all digits, has the same copies with other offsets.
"""

from __future__ import annotations

import itertools
import math
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from isoviz.layouts.geometry import StridedCopy, joined, strided_copies
from isoviz.layouts.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoviz.layouts.chunks import Chunk, ChunkSequence
    from isoviz.layouts.geometry import View
    from isoviz.layouts.spaces import Box

_Key = tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]
EVEN = 64
"""Turns of a long loop of which parts have a multiple."""
MOST = 256
"""Shapes that are remembered."""
FEW = 16
"""Copies that may go together wherever they are."""
MANY = 256
"""Copies of which the small ones are not looked at one by one."""
UNEVEN = 1.25
"""So many times as long as the mean may the longest of some parts be, if there is another way."""


class _Alike:
    """Copies of fields that have the same strides at both ends: a box that is moved on takes all of them along equally far."""

    def __init__(self, source: View, destination: View, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._known: dict[_Key, tuple[list[StridedCopy], int, int]] = {}
        dims = source.dims
        axes = [
            [(step, weight, view.origin[view.dims.index(dim)]) for step, weight in view.linearization.steps(dim, names[0])]
            for view in (source, destination)
            for dim in dims
        ]
        self._source, self._destination = axes[: len(dims)], axes[len(dims) :]
        self.periods = [
            math.lcm(*(step for step, _, _ in (*here, *there)), 1)
            for here, there in zip(self._source, self._destination, strict=True)
        ]

    def of(self, source: View, destination: View, box: Box, fields: tuple[str, ...]) -> list[StridedCopy]:
        lo = box.lo
        shape = tuple([high - low for low, high in zip(lo, box.hi, strict=True)])
        phase = tuple([low % period for low, period in zip(lo, self.periods, strict=True)])
        key = shape, phase, fields
        here, there = source.base + _at(self._source, lo), destination.base + _at(self._destination, lo)
        known = self._known.get(key)
        if known is None:
            copies = strided_copies(source, destination, box, fields, padding=True)
            if len(self._known) < MOST:
                self._known[key] = copies, here, there
            return copies
        copies, before, behind = known
        return shifted(copies, here - before, there - behind)

    def shift(self, axis: int, distance: int) -> tuple[int, int]:
        return _along(self._source[axis], distance), _along(self._destination[axis], distance)


class RecurringCopies:
    """`strided_copies` between the linearizations of two views, for one box after the other."""

    def __init__(self, source: View, destination: View) -> None:
        a, b = source.linearization, destination.linearization
        names = [name for name in b.fields.names if name in a.fields.names]
        # Neighbours only: fields of one size with others between them would be one loop, and part the others' runs.
        dims = [dim for dim in source.dims if a.space[dim] > 1 or b.space[dim] > 1]
        stretches = itertools.groupby(names, lambda name: [lin.steps(dim, name) for lin in (a, b) for dim in dims])
        self.classes = [_Alike(source, destination, list(stretch)) for _, stretch in stretches]

    def of(self, source: View, destination: View, box: Box, fields: Sequence[str]) -> list[StridedCopy]:
        """The copies of a box; the views differ from those given first in nothing but their `base`."""
        return together(self.apart(source, destination, box, fields))

    def apart(self, source: View, destination: View, box: Box, fields: Sequence[str]) -> list[list[StridedCopy]]:
        """The same for every class, neighbouring fields that have the same strides, not joined yet."""
        if len(self.classes) == 1:
            return [self.classes[0].of(source, destination, box, tuple(fields))]
        found = []
        for each in self.classes:
            names = tuple([name for name in each.names if name in fields])
            found.append(each.of(source, destination, box, names) if names else [])
        return found

    def shifts(self, axis: int, distance: int) -> list[tuple[int, int]]:
        """By how many bytes of source and destination the copies of any box lie further, class by class, once it is moved so far
        along an axis: a multiple of `period(axis)`."""
        return [each.shift(axis, distance) for each in self.classes]

    def period(self, axis: int) -> int:
        """After how many coordinates of an axis both ends repeat themselves."""
        return math.lcm(*(each.periods[axis] for each in self.classes))


class RecurringChunks:
    """The copies of one hop, chunk after chunk. Along the slowest digit that numbers the blocks, chunks repeat those before: they
    are looked up by their numbers, without working out what is in them.

    `views` gives both ends of the hop for the chunk of a number, `chunk` what is in it. `padding` is how many coordinates behind
    each dimension's last both ends have and move along: without them, rows of blocks fall into pieces where they end.
    """

    def __init__(
        self,
        chunks: ChunkSequence,
        views: Callable[[int], tuple[View, View]],
        chunk: Callable[[int], Chunk] | None = None,
        padding: Sequence[int] = (),
    ) -> None:
        self._views, self._chunk = views, chunk or chunks.__getitem__
        self._chunks, self._padding = chunks, padding
        self._boxes = RecurringCopies(*views(0))
        self._known: dict[int, tuple[int, list[list[StridedCopy]], int]] = {}
        self._shifts: list[tuple[int, int]] = []
        self._turn, self._whole = self._turns(chunks)

    def of(self, number: int) -> tuple[list[StridedCopy], int]:
        """The copies of a chunk, and the bytes of entries in it."""
        if number >= self._whole:
            copies, payload = self._anew(number)
            return together(copies), payload
        turn, place = divmod(number, self._turn)
        known = self._known.get(place)
        if known is None:
            copies, payload = self._anew(number)
            if len(self._known) < MOST:
                self._known[place] = turn, copies, payload
            return together(copies), payload
        before, copies, payload = known
        turn -= before
        moved = [shifted(each, turn * by[0], turn * by[1]) for each, by in zip(copies, self._shifts, strict=True)]
        return together(moved), payload

    def _anew(self, number: int) -> tuple[list[list[StridedCopy]], int]:
        chunk, (source, destination) = self._chunk(number), self._views(number)
        parts = self._chunks.padded_parts(number, self._padding) if any(self._padding) else chunk.parts
        found: list[list[StridedCopy]] = [[] for _ in self._boxes.classes]
        for box, names in parts:
            for copies, more in zip(found, self._boxes.apart(source, destination, box, names), strict=True):
                copies += more
        return [joined(copies) if len(copies) > 1 else copies for copies in found], chunk.payload_bytes

    def _turns(self, chunks: ChunkSequence) -> tuple[int, int]:
        """After how many chunks they repeat themselves, and how many chunks are full and not cut off at the edge of the index
        space; notes how far the copies have moved by then at both ends."""
        slowest = chunks.digits[-1] if chunks.outer else None
        space = chunks.linearization.space
        if not isinstance(slowest, Mode) or not slowest.top:
            return 0, 0
        axis, size = space.dims.index(slowest.dim), space[slowest.dim]
        row = chunks.blocks // slowest.extent
        """Blocks with the same slowest digit."""
        period = self._boxes.period(axis)
        turn = math.lcm(period // math.gcd(period, slowest.step) * row, chunks.per_chunk) // chunks.per_chunk
        if turn >= len(chunks):
            return 0, 0
        here, there = (later.base - first.base for first, later in zip(self._views(0), self._views(turn), strict=True))
        shifts = self._boxes.shifts(axis, turn * chunks.per_chunk // row * slowest.step)
        self._shifts = [(by_source + here, by_destination + there) for by_source, by_destination in shifts]
        full = size // slowest.step
        if any(self._padding) and self._padding[axis] and not size % slowest.step:
            full -= 1  # the last ones may have padding behind them that is only at the ends of the hop
        return turn, full * row // chunks.per_chunk


def together(classes: Sequence[list[StridedCopy]]) -> list[StridedCopy]:
    """The copies of all classes of fields; those that continue each other are joined."""
    return classes[0] if len(classes) == 1 else joined([copy for copies in classes for copy in copies])


def shifted(copies: list[StridedCopy], here: int, there: int) -> list[StridedCopy]:
    """Copies so many bytes further in the source and in the destination."""
    if not here and not there:
        return copies
    return [StridedCopy(copy.source_offset + here, copy.destination_offset + there, copy.run, copy.loops) for copy in copies]


def _along(axis: Sequence[tuple[int, int, int]], distance: int) -> int:
    return sum(distance // step * weight for step, weight, _ in axis)


def _at(axes: Sequence[Sequence[tuple[int, int, int]]], lo: Sequence[int]) -> int:
    total = 0
    for axis, low in zip(axes, lo, strict=True):
        for step, weight, origin in axis:
            total += (low + origin) // step * weight
    return total


def split(
    copies: Sequence[StridedCopy], parts: int, unit: int = 1, base: int = 0, by: str = "destination"
) -> list[list[StridedCopy]]:
    """Copies in so many parts of about equal bytes, in their order: along their slowest loops, or, where they have none, along
    the run, where the offset `by` the source or the destination, counted from `base`, is a multiple of `unit` bytes. A part may
    be empty."""
    if parts <= 1:
        return [list(copies)]
    total = sum(copy.nbytes for copy in copies)
    found: list[list[StridedCopy]] = [[] for _ in range(parts)]
    done = number = 0
    for copy in copies:
        rest: StridedCopy | None = copy
        while rest is not None:
            number = max(number, min(parts - 1, done * parts // total))
            room = -(-(number + 1) * total // parts) - done if number < parts - 1 else rest.nbytes
            at = base + (rest.destination_offset if by == "destination" else rest.source_offset)
            head, rest = _cut(rest, room, unit, at % unit)
            found[number].append(head)
            done += head.nbytes
            if rest is not None:  # the part is full, but for less than half a unit that would be a piece of its own
                number = min(parts - 1, number + 1)
    return found


def neighbours(group: list[StridedCopy]) -> list[list[StridedCopy]]:
    """Copies that turn alike in groups that share lines, at the end where more of them do: those that lie within one turn of the
    longest loop. Going through all at once would be going through as many places in turn."""
    if len(group) <= FEW or not group[0].loops:
        return [group]
    longest = max(range(len(group[0].loops)), key=lambda k: group[0].loops[k][0])
    found = []
    for place in (_source_place, _destination_place):
        parts: list[list[StridedCopy]] = []
        for copy in sorted(group, key=lambda copy: place(copy, longest)[0]):
            if parts and place(copy, longest)[0] - place(parts[-1][-1], longest)[0] < place(copy, longest)[1]:
                parts[-1].append(copy)
            else:
                parts.append([copy])
        found.append(parts)
    return min(found, key=len)


def _source_place(copy: StridedCopy, loop: int) -> tuple[int, int]:
    """Where a copy begins in the source, and how much further it is after a turn of a loop."""
    return copy.source_offset, copy.loops[loop][1]


def _destination_place(copy: StridedCopy, loop: int) -> tuple[int, int]:
    """The same in the destination."""
    return copy.destination_offset, copy.loops[loop][2]


def split_together(copies: Sequence[StridedCopy], parts: int, unit: int = 1) -> list[list[StridedCopy]]:
    """Copies in so many parts of about equal bytes, as `split`; but of copies that turn alike (the fields of structs) every part
    has some turns of all: lines that they share are visited once. Few bytes are not cut: a copy costs more than it moves."""
    if parts <= 1 or not copies:  # a chunk may hold nothing but padding
        return [list(copies), *([] for _ in range(parts - 1))]
    least = sum([copy.nbytes for copy in copies]) / parts / 4
    if len(copies) > MANY:
        few = [copy for copy in copies if copy.nbytes >= least]
        beside = split_together(few, parts, unit) if len(few) <= MANY else split(few, parts, unit)
        together = _stretches([copy for copy in copies if copy.nbytes < least], parts)
        return [[*some, *others] for some, others in zip(together, beside, strict=True)]
    groups: dict[tuple[int, ...], list[StridedCopy]] = {}
    for copy in copies:
        groups.setdefault(tuple([loop[0] for loop in copy.loops]), []).append(copy)
    if max(max(turns, default=1) for turns in groups) < parts:
        return split(copies, parts, unit)
    found: list[list[StridedCopy]] = [[] for _ in range(parts)]
    taken = [0] * parts
    small: list[tuple[int, int, list[StridedCopy]]] = []
    for group in [near for alike in groups.values() for near in neighbours(alike)]:
        turns = tuple([loop[0] for loop in group[0].loops])
        nbytes = sum([copy.nbytes for copy in group])
        if nbytes < least:
            small.append((nbytes, len(small), group))
            continue
        taken = [before + nbytes // parts for before in taken]
        place = _cut_along(group[0], parts)
        if place is None:
            for part, more in zip(found, split(group, parts, unit), strict=True):
                part += more
            continue
        # So that parts begin with whole lines, too, as far as they stay about equal.
        unit_turns = next((each for each in (EVEN, EVEN // 4, EVEN // 16) if turns[place] >= 4 * each * parts), 1)
        bounds = [turns[place] * k // parts // unit_turns * unit_turns for k in range(parts)] + [turns[place]]
        for part, (low, high) in zip(found, itertools.pairwise(bounds), strict=True):
            part += [_turns(copy, place, low, high) for copy in group]
    for nbytes, _, group in sorted(small, reverse=True):
        lightest = taken.index(min(taken))
        taken[lightest] += nbytes
        found[lightest] += group
    return found


def _cut_along(copy: StridedCopy, parts: int) -> int | None:
    """The loop along which parts reach the furthest, at the end where they reach less far: short runs are slow at either end. Of
    loops that make about equal parts, if there are any; None where no loop turns so often."""
    reaches = [
        (-(-turns // parts) * parts <= UNEVEN * turns, turns // parts * min(here, there), there)
        for turns, here, there in copy.loops
    ]
    return max((i for i, loop in enumerate(copy.loops) if loop[0] >= parts), key=reaches.__getitem__, default=None)


def _stretches(copies: Sequence[StridedCopy], parts: int) -> list[list[StridedCopy]]:
    """Whole copies in so many parts of about equal bytes: those that lie side by side, at the end where more of them do."""
    found: list[list[StridedCopy]] = [[] for _ in range(parts)]
    near: list[tuple[int, list[StridedCopy]]] = []
    for end in ("source_offset", "destination_offset"):
        ordered = sorted(copies, key=attrgetter(end))
        places = [getattr(copy, end) for copy in ordered]
        near.append((sum([after - before < EVEN for before, after in itertools.pairwise(places)]), ordered))
    ordered = max(near, key=itemgetter(0))[1]
    total, done = sum([copy.nbytes for copy in copies]), 0
    for copy in ordered:
        found[min(parts - 1, (2 * done + copy.nbytes) * parts // (2 * total))].append(copy)  # by its middle
        done += copy.nbytes
    return found


def _turns(copy: StridedCopy, place: int, low: int, high: int) -> StridedCopy:
    """The copy with some turns of one loop."""
    _, here, there = copy.loops[place]
    loops = tuple((high - low, *loop[1:]) if i == place else loop for i, loop in enumerate(copy.loops))
    loops = tuple(loop for loop in loops if loop[0] > 1)
    return StridedCopy(copy.source_offset + low * here, copy.destination_offset + low * there, copy.run, loops)


def _cut(copy: StridedCopy, nbytes: int, unit: int, phase: int) -> tuple[StridedCopy, StridedCopy | None]:
    """About the first so many bytes of a copy that begins `phase` bytes behind a multiple of `unit`, and the rest."""
    if copy.nbytes <= nbytes:
        return copy, None
    if not copy.loops:
        run = max(1, round((nbytes + phase) / unit)) * unit - phase
        if run >= copy.run:
            return copy, None
        rest = StridedCopy(copy.source_offset + run, copy.destination_offset + run, copy.run - run)
        return StridedCopy(copy.source_offset, copy.destination_offset, run), rest
    (extent, here, there), *inner = copy.loops
    count = max(1, round(nbytes / (copy.nbytes // extent)))
    if count >= extent:
        return copy, None
    return _part(copy, 0, count, here, there, inner), _part(copy, count, extent - count, here, there, inner)


def _part(copy: StridedCopy, first: int, count: int, here: int, there: int, inner: Sequence[tuple[int, int, int]]) -> StridedCopy:
    loops = ((count, here, there), *inner) if count > 1 else tuple(inner)
    return StridedCopy(copy.source_offset + first * here, copy.destination_offset + first * there, copy.run, loops)
