"""Regular sets: the coordinates of one dimension that one part of a distribution has in common with a part of another one.

Both parts hold the common coordinates in ascending order. Number them t = 0, 1, …: the places in both parts are t plus a jump
after every stretch of equal length. Block against block is a single range. Cyclic against block is one range at one end and
evenly spaced coordinates at the other. Blocks that do not nest give several sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Axis:
    """A dimension of `size` coordinates, dealt to `parts` parts in blocks of `block` coordinates, block after block.

    One block per part is a block distribution, a block of 1 is a cyclic one. The last block may be short, and parts may have no
    coordinate.
    """

    size: int
    parts: int
    block: int

    @property
    def cycle(self) -> int:
        """The number of coordinates after which the parts repeat."""
        return self.parts * self.block

    def owner(self, index: int) -> int:
        """The part that holds a coordinate."""
        return index // self.block % self.parts

    def local(self, index: int) -> int:
        """The place of a coordinate within the part that holds it."""
        return index // self.cycle * self.block + index % self.block

    def index(self, part: int, local: int) -> int:
        """The coordinate at a place within a part: the inverse of `owner` and `local`."""
        return (local // self.block * self.parts + part) * self.block + local % self.block

    def count(self, part: int) -> int:
        """The number of coordinates that a part holds."""
        whole, rest = divmod(self.size, self.cycle)
        return whole * self.block + min(self.block, max(0, rest - part * self.block))

    def ranges(self, part: int, end: int | None = None) -> Iterator[tuple[int, int]]:
        """The blocks of a part that begin before the coordinate `end`, as pairs (first coordinate, coordinate after the last)."""
        for low in range(part * self.block, self.size if end is None else min(end, self.size), self.cycle):
            yield low, min(low + self.block, self.size)


class Jump(NamedTuple):
    """After every `step` coordinates, the place in the source moves `source` further, the place in the destination `destination`.

    The steps of the jumps of a set ascend, and each divides the next.
    """

    step: int
    source: int
    destination: int


class Regular(NamedTuple):
    """`count` coordinates. Coordinate t has, with u = t + `phase`, the place `source` + u + Σ ⌊u / step⌋ × jump in the source.

    Its place in the destination is the same with `destination` and the jumps of the destination.
    """

    count: int  # type: ignore[assignment]  # the number of coordinates, not the method of tuples
    source: int
    destination: int
    phase: int = 0
    jumps: tuple[Jump, ...] = ()

    def places(self, t: int) -> tuple[int, int]:
        """The places of coordinate number t in the source and in the destination."""
        u = t + self.phase
        here, there = self.source + u, self.destination + u
        for step, source, destination in self.jumps:
            here += u // step * source
            there += u // step * destination
        return here, there

    @property
    def run(self) -> int:
        """The largest number of coordinates that are neighbours at both ends."""
        return min(self.count, self.jumps[0].step) if self.jumps else self.count

    @property
    def tops(self) -> int:
        """The number of stretches between the jumps of the largest step; 1 without jumps."""
        if not self.jumps:
            return 1
        step = self.jumps[-1].step
        return (self.phase + self.count - 1) // step - self.phase // step + 1

    def part(self, low: int, high: int) -> Regular:
        """The coordinates from number `low` up to, but without, number `high`, in normal form."""
        return _normal(self._replace(count=high - low, phase=self.phase + low))

    def pieces(self) -> Iterator[Regular]:
        """The set cut at every jump of the largest step."""
        if not self.jumps:
            yield self
            return
        step, low = self.jumps[-1].step, 0
        while low < self.count:
            high = min(self.count, low + step - (low + self.phase) % step)
            yield self.part(low, high)
            low = high


def _normal(found: Regular) -> Regular:
    """The same set without jumps that it does not make, and with the least phase."""
    count, source, destination, phase, jumps = found
    kept = [jump for jump in jumps if jump.source or jump.destination]
    while kept and phase // kept[-1].step == (phase + count - 1) // kept[-1].step:
        step, here, there = kept.pop()
        source += phase // step * here
        destination += phase // step * there
    largest = kept[-1].step if kept else 1
    down = phase // largest * largest
    source += down + sum(down // step * here for step, here, _ in kept)
    destination += down + sum(down // step * there for step, _, there in kept)
    return Regular(count, source, destination, phase - down, tuple(kept))


def common(here: Axis, part: int, there: Axis, other: int) -> list[Regular]:
    """The coordinates that `part` of the distribution `here` and `other` of the distribution `there` have in common.

    Places of `here` are those in the source. The sets are disjoint, and together they hold every common coordinate once.
    """
    swapped = here.block < there.block
    coarse, mine, fine, its = (there, other, here, part) if swapped else (here, part, there, other)
    size = coarse.size
    period = math.lcm(coarse.cycle, fine.cycle)
    repeats = size // period
    found: list[Regular] = []
    if repeats < 2:
        for low, high in coarse.ranges(mine):
            found += _within(coarse, low, high, fine, its)
    else:
        first = [each for low, high in coarse.ranges(mine, period) for each in _within(coarse, low, high, fine, its)]
        rest = (
            [
                each
                for low, high in coarse.ranges(mine)
                if low >= repeats * period
                for each in _within(coarse, low, high, fine, its)
            ]
            if size % period
            else []
        )
        along = period // coarse.parts, period // fine.parts
        found = _repeated(first, rest, repeats, along)
    if swapped:
        found = [_swapped(each) for each in found]
    return _joined(found)


def _within(coarse: Axis, low: int, high: int, fine: Axis, part: int) -> list[Regular]:
    """What a part of the finer distribution holds of one block of the coarser one; the coarser one is the source."""
    block, parts = fine.block, fine.parts
    first = low // block
    first += (part - first) % parts
    if first * block >= high:
        return []
    last = (high - 1) // block
    last -= (last - part) % parts
    number = (last - first) // parts + 1
    phase = max(0, low - first * block)
    count = number * block - phase - max(0, (last + 1) * block - high)
    source, destination = coarse.local(low) - low + first * block, first // parts * block
    return [_normal(Regular(count, source, destination, phase, (Jump(block, (parts - 1) * block, 0),)))]


def _repeated(first: Sequence[Regular], rest: Sequence[Regular], repeats: int, along: tuple[int, int]) -> list[Regular]:
    """The sets of the first period repeated; `rest` holds those after the last whole period, `along` a period in both parts."""
    even: list[Regular] = []
    for each in first:
        whole = not each.jumps or (each.phase == 0 and each.count % each.jumps[-1].step == 0)
        even += [each] if whole else _evened(each)
    left = list(rest)
    found: list[Regular] = []
    for each in even:
        begin = each.source + repeats * along[0], each.destination + repeats * along[1]
        more = next((piece for piece in left if piece.places(0) == begin and _begins(each, piece)), None)
        if more is not None:
            left.remove(more)
        count, jumps = each.count, each.jumps
        images = [count + sum(count // jump.step * jump[end] for jump in jumps) for end in (1, 2)]
        outer = Jump(count, along[0] - images[0], along[1] - images[1])
        total = repeats * count + (0 if more is None else more.count)
        found.append(_normal(Regular(total, each.source, each.destination, 0, (*jumps, outer))))
    return found + left


def _evened(each: Regular) -> list[Regular]:
    """A set with one jump, as its ragged first stretch, the whole ones, and the ragged last one; the empty ones are left out."""
    step = each.jumps[-1].step
    low = -each.phase % step
    high = low + (each.count - low) // step * step
    cuts = [(0, min(low, each.count)), (low, high), (max(low, high), each.count)]
    return [each.part(*cut) for cut in cuts if cut[0] < cut[1]]


def _begins(each: Regular, piece: Regular) -> bool:
    """Whether a set at its own place is the beginning of another one."""
    if piece.phase or piece.count > each.count:
        return False
    return each.part(0, piece.count)._replace(source=0, destination=0) == piece._replace(source=0, destination=0)


def _swapped(each: Regular) -> Regular:
    jumps = tuple(Jump(step, there, here) for step, here, there in each.jumps)
    return Regular(each.count, each.destination, each.source, each.phase, jumps)


def _joined(found: list[Regular]) -> list[Regular]:
    """The sets with ranges that continue each other at both ends joined."""
    joined: list[Regular] = []
    for each in sorted(found, key=lambda each: each.places(0)):
        last = joined[-1] if joined else None
        if last is not None and not last.jumps and not each.jumps and each.places(0) == last.places(last.count):
            joined[-1] = last._replace(count=last.count + each.count)
        else:
            joined.append(each)
    return joined
