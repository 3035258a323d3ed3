"""Copies: the same bytes at two ends, as runs in loops with strides or in a table of offsets."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isoviz.layouts.layout import IntArray

Loop = tuple[int, int, int]
"""(extent, source stride, destination stride), strides in bytes."""


class StridedCopy(NamedTuple):
    """For every combination of the loop counters, `run` contiguous bytes move from source to destination.

    `loops` are triples (extent, source stride in bytes, destination stride in bytes), slowest first. No two loops can be merged,
    and no loop has extent 1.
    """

    source_offset: int
    destination_offset: int
    run: int
    loops: tuple[Loop, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes moved."""
        return self.run * math.prod(extent for extent, _, _ in self.loops)

    @property
    def run_count(self) -> int:
        """The number of runs."""
        return math.prod(extent for extent, _, _ in self.loops)

    def spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The range of bytes that it touches in the source and in the destination: the first byte, and the one after the last."""
        here = there = self.run
        for extent, from_here, to_there in self.loops:
            here += (extent - 1) * from_here
            there += (extent - 1) * to_there
        at, to = self.source_offset, self.destination_offset
        return (at, at + here), (to, to + there)

    def reversed(self) -> StridedCopy:
        """The copy of the same bytes from destination to source."""
        return StridedCopy(self.destination_offset, self.source_offset, self.run, _reversed(self.loops))


def _reversed(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    return tuple((extent, there, here) for extent, here, there in loops)


NOWHERE = -(1 << 62)
"""The offsets of a listed copy as a strided one: code that does not know lists finds it outside of every array, and refuses."""


class ListedCopy(StridedCopy):
    """A strided copy whose outermost loop is a table of offsets: entries that an index array names.

    Entry i begins at byte `source_base` + `source_places[i]` of the source and at `destination_base` + `destination_places[i]` of
    the destination; its `run` and `loops` count from there. Both tables are int64 of shape (entries,), in bytes. Copies share
    them, so they must not be changed. A million entries are one such value.
    """

    source_base: int
    destination_base: int
    source_places: IntArray
    destination_places: IntArray

    def __new__(
        cls, bases: tuple[int, int], places: tuple[IntArray, IntArray], run: int, loops: tuple[Loop, ...] = ()
    ) -> ListedCopy:
        made = super().__new__(cls, NOWHERE, NOWHERE, run, loops)
        made.source_base, made.destination_base = bases
        made.source_places, made.destination_places = places
        return made

    def __getnewargs__(self) -> Any:
        return self.bases, self.places, self.run, self.loops

    def __getstate__(self) -> None:
        """All that it is stands in these arguments."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ListedCopy)
            and (self.run, self.loops) == (other.run, other.loops)
            and all(np.array_equal(mine, its) for mine, its in zip(self.offsets, other.offsets, strict=True))
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.run, self.loops, self.entries))

    def __repr__(self) -> str:
        return f"ListedCopy({self.entries} entries, bases={self.bases}, run={self.run}, loops={self.loops})"

    @property
    def bases(self) -> tuple[int, int]:
        """`source_base` and `destination_base`: the bytes that are added to the tables."""
        return self.source_base, self.destination_base

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """The tables of the source and of the destination."""
        return self.source_places, self.destination_places

    @property
    def offsets(self) -> tuple[IntArray, IntArray]:
        """Where the entries begin in the source and in the destination, in bytes."""
        return self.source_places + self.source_base, self.destination_places + self.destination_base

    @property
    def entries(self) -> int:
        """The length of the tables."""
        return len(self.source_places)

    @property
    def nbytes(self) -> int:
        """Bytes moved."""
        return super().nbytes * self.entries

    @property
    def run_count(self) -> int:
        """The number of runs; entries that follow each other at both ends are one (`runs`)."""
        return super().run_count * len(run_begins(*self.places, self.run))

    def reversed(self) -> ListedCopy:
        """The copy of the same bytes from destination to source."""
        return ListedCopy(self.bases[::-1], self.places[::-1], self.run, _reversed(self.loops))

    def moved(self, here: int, there: int) -> ListedCopy:
        """The copy with `here` bytes added to its offsets in the source, and `there` bytes to those in the destination."""
        return ListedCopy((self.source_base + here, self.destination_base + there), self.places, self.run, self.loops)

    def part(self, low: int, high: int) -> ListedCopy:
        """Its entries `low` to `high` - 1, which share its tables."""
        return ListedCopy(self.bases, (self.source_places[low:high], self.destination_places[low:high]), self.run, self.loops)

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Results that code which moves this copy repeatedly has computed once."""
        return {}

    def cut(self, parts: int, unit: int = 1) -> list[ListedCopy]:
        """The copy in `parts` parts of about equal length, cut at multiples of `unit` entries; fewer parts if it has fewer
        entries.

        The same call returns the same parts.
        """
        if (parts, unit) in self.kept:
            known: list[ListedCopy] = self.kept[parts, unit]
            return known
        bounds = [self.entries * k // parts // unit * unit for k in range(parts)] + [self.entries]
        found = self.kept[parts, unit] = [self.part(low, high) for low, high in itertools.pairwise(bounds) if high > low]
        return found

    def spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """As `StridedCopy.spans`."""
        return self._spans

    @cached_property
    def _spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        (here, behind), (there, beyond) = StridedCopy(0, 0, self.run, self.loops).spans()
        at, to = ((base + int(each.min()), base + int(each.max())) for base, each in zip(self.bases, self.places, strict=True))
        return (at[0] + here, at[1] + behind), (to[0] + there, to[1] + beyond)

    @cached_property
    def steps(self) -> tuple[int | None, int | None]:
        """The distance of neighbours in the source and in the destination, in bytes; None where it is not constant."""
        return step_of(self.source_places), step_of(self.destination_places)

    @property
    def joins_much(self) -> bool:
        """Whether it has far fewer runs than entries, judged by a sample: neighbours at both ends join into one run."""
        if self.entries < 2 * _JOINED:
            return False
        parts = [self.part(low, low + _LOOK * _JOINED) for low in range(0, self.entries, -(-self.entries // 4))]
        return sum([each.run_count for each in parts]) * _JOINED <= sum([each.entries for each in parts])

    def runs(self) -> tuple[IntArray, IntArray, IntArray]:
        """The runs of adjacent entries: their offsets in the source and in the destination, and their lengths, all in bytes.

        Entries that lie one behind the other at both ends are one run. The `loops` begin at each of these offsets.
        """
        begins = run_begins(*self.places, self.run)
        here, there = (base + places[begins] for base, places in zip(self.bases, self.places, strict=True))
        return here, there, np.diff(begins, append=self.entries) * self.run

    def one_by_one(self) -> Iterator[StridedCopy]:
        """A strided copy for each of its runs."""
        for here, there, length in zip(*[each.tolist() for each in self.runs()], strict=True):
            yield StridedCopy(here, there, length, self.loops)


def run_begins(here: IntArray, there: IntArray, run: int) -> IntArray:
    """The numbers of the entries of `run` bytes that do not follow the one before them at both ends."""
    breaks = here[1:] - here[:-1] != run
    breaks |= there[1:] - there[:-1] != run
    return np.concatenate((np.zeros(1, np.int64), np.flatnonzero(breaks) + 1))


_JOINED = 8
"""Entries in a run from which moving it as a whole pays."""
_LOOK = 64
"""Entries at the beginning of a list that usually tell that nothing can be joined."""


def listed(bases: tuple[int, int], here: IntArray, there: IntArray, run: int, loops: tuple[Loop, ...]) -> ListedCopy:
    """The copy of entries at these places, with the longest runs that all have one length: pages that a list names one entry
    after the other move as pages."""
    for look in (_LOOK, len(here)):
        begins = run_begins(here[:look], there[:look], run)
        together = int(np.gcd.reduce(begins if look < len(here) else np.append(begins, len(here))))
        if together == 1:
            return ListedCopy(bases, (here, there), run, loops)
    return ListedCopy(bases, (here[::together], there[::together]), run * together, loops)


def step_of(places: IntArray) -> int | None:
    """The distance of neighbours, if it is the same for all of them; 0 for a single place."""
    if len(places) == 1:
        return 0
    step = int(places[1] - places[0])
    if int(places[-1] - places[0]) != step * (len(places) - 1):
        return None
    return step if bool((places[1:] - places[:-1] == step).all()) else None


def without_lists(copies: Iterable[StridedCopy]) -> list[StridedCopy]:
    """The copies, with a strided copy for each run of the listed ones: for a device that knows no tables."""
    found: list[StridedCopy] = []
    for copy in copies:
        found += copy.one_by_one() if isinstance(copy, ListedCopy) else (copy,)
    return found
