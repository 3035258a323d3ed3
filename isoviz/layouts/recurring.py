"""Reuse of strided copies: chunks of the same shape have the same copies with other offsets.

Computing the strided copies of a box takes as long as moving some hundred KiB. Two boxes have the same copies, up to their
offsets, if they have the same shape and the same position relative to the periods of all digits.
"""

from __future__ import annotations

import itertools
import math
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from isoviz.layouts.copies import ListedCopy, StridedCopy
from isoviz.layouts.geometry import joined, strided_copies
from isoviz.layouts.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoviz.layouts.chunks import Chunk, ChunkSequence
    from isoviz.layouts.geometry import View
    from isoviz.layouts.spaces import Box

_Key = tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]
EVEN = 64
"""Parts of a long loop begin at multiples of this many iterations, or of a quarter or a sixteenth of it.

Small copies that begin less than this many bytes apart count as neighbours.
"""
MOST = 256
"""The largest number of shapes in a cache."""
FEW = 16
"""Up to this many copies stay in one group, wherever they lie."""
MANY = 256
"""With more copies than this, small ones are distributed together rather than one by one."""
UNEVEN = 1.25
"""The largest ratio of the longest part to the mean part, unless no loop allows it."""


class _Alike:
    """Copies of neighbouring fields that have the same strides at both ends. Moving a box shifts all of them equally."""

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
        if source.listed or destination.listed:  # the places of a list never recur
            return strided_copies(source, destination, box, fields)
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
    """`strided_copies` between the linearizations of two views, for a sequence of boxes."""

    def __init__(self, source: View, destination: View) -> None:
        a, b = source.linearization, destination.linearization
        names = [name for name in b.fields.names if name in a.fields]
        # Only neighbours form a class: a loop over fields with other fields between them would split the runs of those.
        dims = [dim for dim in source.dims if a.space[dim] > 1 or b.space[dim] > 1]
        stretches = itertools.groupby(names, lambda name: [lin.steps(dim, name) for lin in (a, b) for dim in dims])
        self.classes = [_Alike(source, destination, list(stretch)) for _, stretch in stretches]

    def of(self, source: View, destination: View, box: Box, fields: Sequence[str]) -> list[StridedCopy]:
        """The copies of a box. The views may differ from those of the constructor only in their `base`."""
        return together(self.apart(source, destination, box, fields))

    def apart(self, source: View, destination: View, box: Box, fields: Sequence[str]) -> list[list[StridedCopy]]:
        """The copies of a box by class, not joined. A class is a set of neighbouring fields that have the same strides."""
        if len(self.classes) == 1:
            return [self.classes[0].of(source, destination, box, tuple(fields))]
        found, chosen = [], frozenset(fields)
        for each in self.classes:
            names = tuple([name for name in each.names if name in chosen])
            found.append(each.of(source, destination, box, names) if names else [])
        return found

    def shifts(self, axis: int, distance: int) -> list[tuple[int, int]]:
        """The shift of a box's copies in bytes, as pairs (source, destination) by class, if the box moves along an axis.

        `distance` is in coordinates and is a multiple of `period(axis)`.
        """
        return [each.shift(axis, distance) for each in self.classes]

    def period(self, axis: int) -> int:
        """The number of coordinates of an axis after which the offsets of both ends repeat."""
        return math.lcm(*(each.periods[axis] for each in self.classes))


class RecurringChunks:
    """The copies of one hop, chunk by chunk.

    Chunks repeat along the slowest digit that numbers the blocks. The copies of a repeated chunk are looked up by its number;
    its boxes are not computed.

    `views` maps a chunk's number to both ends of the hop, and `chunk` maps it to the chunk. `padding` is the number of
    coordinates behind the end of each dimension for which both ends have room. These coordinates are copied too: without them
    the copies would be split at the ends of rows of blocks.
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
        """The copies of a chunk, and its payload in bytes."""
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

    @property
    def repetition(self) -> tuple[int, int, tuple[int, int]] | None:
        """(turn, whole, shift): for the first `whole` chunks, the copies repeat every `turn` chunks, moved by `shift` bytes.

        There is a shift for each end. None if the copies do not repeat, or if some fields move further than others.
        """
        if not self._turn or len(set(self._shifts)) > 1:
            return None
        return self._turn, self._whole, self._shifts[0]

    def _anew(self, number: int) -> tuple[list[list[StridedCopy]], int]:
        chunk, (source, destination) = self._chunk(number), self._views(number)
        parts = self._chunks.padded_parts(number, self._padding) if any(self._padding) else chunk.parts
        found: list[list[StridedCopy]] = [[] for _ in self._boxes.classes]
        for box, names in parts:
            for copies, more in zip(found, self._boxes.apart(source, destination, box, names), strict=True):
                copies += more
        return [joined(copies) if len(copies) > 1 else copies for copies in found], chunk.payload_bytes

    def _turns(self, chunks: ChunkSequence) -> tuple[int, int]:
        """The number of chunks after which the copies repeat, and the number of chunks before the edge of the index space.

        Stores in `_shifts` how far the copies move at both ends per repetition.
        """
        slowest = chunks.digits[-1] if chunks.outer else None
        space = chunks.linearization.space
        if not isinstance(slowest, Mode) or not slowest.top or any(view.listed for view in self._views(0)):
            return 0, 0
        axis, size = space.dims.index(slowest.dim), space[slowest.dim]
        row = chunks.blocks // slowest.extent
        """Number of blocks with the same slowest digit."""
        period = self._boxes.period(axis)
        turn = math.lcm(period // math.gcd(period, slowest.step) * row, chunks.per_chunk) // chunks.per_chunk
        if turn >= len(chunks):
            return 0, 0
        here, there = (later.base - first.base for first, later in zip(self._views(0), self._views(turn), strict=True))
        shifts = self._boxes.shifts(axis, turn * chunks.per_chunk // row * slowest.step)
        self._shifts = [(by_source + here, by_destination + there) for by_source, by_destination in shifts]
        full = size // slowest.step
        if any(self._padding) and self._padding[axis] and not size % slowest.step:
            full -= 1  # the last blocks may have padding that the layout of the chunks lacks and both ends have
        return turn, full * row // chunks.per_chunk


def together(classes: Sequence[list[StridedCopy]]) -> list[StridedCopy]:
    """The copies of all classes of fields. Adjacent runs are joined."""
    return classes[0] if len(classes) == 1 else joined([copy for copies in classes for copy in copies])


def shifted(copies: list[StridedCopy], here: int, there: int) -> list[StridedCopy]:
    """Copies shifted by `here` bytes in the source and by `there` bytes in the destination."""
    if not here and not there:
        return copies
    return [
        copy.moved(here, there)
        if isinstance(copy, ListedCopy)
        else StridedCopy(copy.source_offset + here, copy.destination_offset + there, copy.run, copy.loops)
        for copy in copies
    ]


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
    """Copies split into `parts` parts of about equal bytes, in order. A part may be empty.

    A copy is cut along its slowest loop. A copy without loops is cut within its run, at a multiple of `unit` bytes: the offset is
    that of the source or the destination (`by`), plus `base`.
    """
    if parts <= 1:
        return [list(copies)]
    lists, copies = _lists_cut(copies, parts)
    if any(lists):
        return [[*some, *more] for some, more in zip(lists, split(copies, parts, unit, base, by), strict=True)]
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
            if rest is not None:  # the part is full up to half a unit, which is not worth a copy of its own
                number = min(parts - 1, number + 1)
    return found


def _lists_cut(copies: Sequence[StridedCopy], parts: int) -> tuple[list[list[StridedCopy]], list[StridedCopy]]:
    """The listed ones among the copies, each cut into parts of about equal length, and the other copies."""
    found: list[list[StridedCopy]] = [[] for _ in range(parts)]
    others: list[StridedCopy] = []
    for copy in copies:
        if isinstance(copy, ListedCopy):
            for part, piece in zip(found, copy.cut(parts, EVEN if copy.entries >= 4 * EVEN * parts else 1), strict=False):
                part.append(piece)
        else:
            others.append(copy)
    return found, others


def neighbours(group: list[StridedCopy]) -> list[list[StridedCopy]]:
    """Copies with the same loop extents, in groups that share cache lines at one end.

    The copies of a group begin within one stride of the longest loop. The end with fewer groups is used. Iterating over all
    copies together would access one place per group in every iteration.
    """
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
    """The source offset of a copy, and the source stride of a loop."""
    return copy.source_offset, copy.loops[loop][1]


def _destination_place(copy: StridedCopy, loop: int) -> tuple[int, int]:
    """The destination offset of a copy, and the destination stride of a loop."""
    return copy.destination_offset, copy.loops[loop][2]


def split_together(copies: Sequence[StridedCopy], parts: int, unit: int = 1) -> list[list[StridedCopy]]:
    """Copies split into `parts` parts of about equal bytes, with cache lines shared by several copies in one part.

    Copies with the same loop extents, such as the fields of structs, are cut together: each part has the same iterations of all
    of them. Small groups of copies are not cut, since the overhead of a copy would exceed the time to move its bytes. All other
    copies are cut by `split`.
    """
    if parts <= 1 or not copies:  # a chunk may hold nothing but padding
        return [list(copies), *([] for _ in range(parts - 1))]
    lists, copies = _lists_cut(copies, parts)
    if any(lists):
        return [[*some, *more] for some, more in zip(lists, split_together(copies, parts, unit), strict=True)]
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
        # Parts begin at whole cache lines if the loop is long enough for parts of about equal length.
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
    """The loop to cut: the one whose parts span the most bytes, at the end where they span fewer. None if all are too short.

    Long spans are preferred because short runs are slow at either end. Loops that give about equal parts take precedence.
    """
    reaches = [
        (-(-turns // parts) * parts <= UNEVEN * turns, turns // parts * min(here, there), there)
        for turns, here, there in copy.loops
    ]
    return max((i for i, loop in enumerate(copy.loops) if loop[0] >= parts), key=reaches.__getitem__, default=None)


def _stretches(copies: Sequence[StridedCopy], parts: int) -> list[list[StridedCopy]]:
    """Uncut copies in `parts` parts of about equal bytes. Neighbours stay together, at the end with more neighbours."""
    found: list[list[StridedCopy]] = [[] for _ in range(parts)]
    near: list[tuple[int, list[StridedCopy]]] = []
    for end in ("source_offset", "destination_offset"):
        ordered = sorted(copies, key=attrgetter(end))
        places = [getattr(copy, end) for copy in ordered]
        near.append((sum([after - before < EVEN for before, after in itertools.pairwise(places)]), ordered))
    ordered = max(near, key=itemgetter(0))[1]
    total, done = sum([copy.nbytes for copy in copies]), 0
    for copy in ordered:
        found[min(parts - 1, (2 * done + copy.nbytes) * parts // (2 * total))].append(copy)  # the part of the copy's middle byte
        done += copy.nbytes
    return found


def _turns(copy: StridedCopy, place: int, low: int, high: int) -> StridedCopy:
    """The copy with the iterations `low` to `high` - 1 of the loop `place`."""
    _, here, there = copy.loops[place]
    loops = tuple((high - low, *loop[1:]) if i == place else loop for i, loop in enumerate(copy.loops))
    loops = tuple(loop for loop in loops if loop[0] > 1)
    return StridedCopy(copy.source_offset + low * here, copy.destination_offset + low * there, copy.run, loops)


def _cut(copy: StridedCopy, nbytes: int, unit: int, phase: int) -> tuple[StridedCopy, StridedCopy | None]:
    """A copy cut after about `nbytes` bytes: the first piece and the rest. The copy begins at `phase` modulo `unit`."""
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
