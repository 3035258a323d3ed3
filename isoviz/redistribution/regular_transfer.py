"""Transfers of regular sets: all that one rank sends another one, as few transfers as possible."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.errors import TransferError
from isoviz.layouts import Box, Layout, Mode, View
from isoviz.layouts.layout import Linearization
from isoviz.layouts.spaces import IndexSpace
from isoviz.planner import Instance, Transfer
from isoviz.redistribution.regular import Regular, common

if TYPE_CHECKING:
    from isoviz.layouts.layout import Index, IntArray
    from isoviz.redistribution.distributed_instance import DistributedInstance


# Linearizations of regular sets: where the coordinates of a regular set lie in the instance that holds them.
#
# The place of coordinate u in the instance is a sum of terms ⌊u / step⌋ × jump. The instance's own digits are ⌊place /
# step⌋. Where the steps of both nest, the byte offset is again a sum of terms ⌊u / step⌋ × weight, and a whole set is
# one strided copy.

Terms = tuple[tuple[int, int], ...]
"""Pairs (step, weight): the sum of ⌊u / step⌋ × weight."""


class Stretch(NamedTuple):
    """A regular set as one of its two ends sees it: coordinate t has the place `start` + Σ ⌊u / step⌋ × jump, u = t + `phase`.

    `jumps` holds the pairs (step, jump), beginning with (1, 1). The steps ascend, and each divides the next.
    """

    count: int  # type: ignore[assignment]  # the number of coordinates, not the method of tuples
    start: int
    phase: int
    jumps: Terms

    @classmethod
    def at_source(cls, found: Regular) -> Stretch:
        """The set as the source sees it."""
        return cls(found.count, found.source, found.phase, ((1, 1), *((jump.step, jump.source) for jump in found.jumps)))

    @classmethod
    def at_destination(cls, found: Regular) -> Stretch:
        """The set as the destination sees it."""
        jumps = ((jump.step, jump.destination) for jump in found.jumps)
        return cls(found.count, found.destination, found.phase, ((1, 1), *jumps))

    def on_digits(self, steps: Sequence[int]) -> Stretch | None:
        """The same set, shifted so that its start suits digits of these steps; None if it does not nest with them."""
        advance = _advances(self.jumps)
        top, far = self.jumps[-1][0], advance[-1]
        largest = max((step for step in steps if step % far == 0), default=far)
        turns = self.start % largest // far
        shifted = self._replace(start=self.start - turns * far, phase=self.phase + turns * top)
        return shifted if all(shifted.digit(step) is not None for step in steps) else None

    def digit(self, step: int) -> tuple[int, Terms] | None:
        """⌊place / step⌋ as a constant and terms of u; None if that is not such a sum."""
        levels, advance = [jump for jump, _ in self.jumps], _advances(self.jumps)
        tops = (self.phase + self.count - 1) // levels[-1] + 1
        extents = [*(b // a for a, b in itertools.pairwise(levels)), tops]
        low = 0  # levels whose advance the step does not divide
        while low < len(levels) and any(each % step for each in advance[low:]):
            low += 1
        constant, rest = divmod(self.start, step)
        terms: dict[int, int] = {}
        for level in range(low, len(levels)):
            _add_digit(terms, levels, level, 1, advance[level] // step)
        spread = [(extent - 1) * each for extent, each in zip(extents, advance, strict=True)]
        if rest + sum(spread[:low]) < step:
            return constant, _terms(terms)
        last = low - 1
        within, over = divmod(step, advance[last])
        if over or rest + sum(spread[:last]) >= advance[last]:
            return None
        if last + 1 < len(levels) and extents[last] % within:
            return None
        _add_digit(terms, levels, last, within, 1)
        return constant, _terms(terms)


def _advances(jumps: Terms) -> list[int]:
    """For each step, how far the place moves while u moves by it."""
    return [sum(step // other * jump for other, jump in jumps if other <= step) for step, _ in jumps]


def _add_digit(terms: dict[int, int], levels: Sequence[int], level: int, within: int, weight: int) -> None:
    """Add weight × ⌊digit / within⌋, where the digit is that of u between the steps of a level and of the next one."""
    step = levels[level] * within
    terms[step] = terms.get(step, 0) + weight
    if level + 1 < len(levels):
        above = levels[level + 1]
        terms[above] = terms.get(above, 0) - weight * (above // step)


def _terms(terms: Mapping[int, int]) -> Terms:
    return tuple(sorted((step, weight) for step, weight in terms.items() if weight))


@dataclass(frozen=True, eq=False)
class StretchedLinearization(Linearization):
    """The linearization of regular sets of an instance, one set per dimension, in coordinates u.

    `whole` is the linearization of the instance. `stretches` holds the sets, in the order of its dimensions; each nests with the
    digits of its dimension. `of` makes it.
    """

    whole: Linearization
    stretches: tuple[Stretch, ...]

    @classmethod
    def of(cls, whole: Linearization, stretches: Sequence[Stretch]) -> StretchedLinearization:
        """The linearization of regular sets of an instance."""
        sizes = {dim: each.phase + each.count for dim, each in zip(whole.space, stretches, strict=True)}
        space = IndexSpace.of(sizes)
        return cls(Layout.aos(*space.dims), space, whole.fields, whole, tuple(stretches))

    def strides(self, field: str) -> tuple[tuple[Mode, int], ...]:
        """The modes of the whole instance with their strides."""
        return self.whole.strides(field)

    def field_base(self, field: str) -> int:
        """The byte offset of a field at u = (0, …, 0)."""
        return self.whole.field_base(field) + sum(self._term(dim, field)[0] for dim in self.space)

    def steps(self, dim: str, field: str) -> Terms:
        """The dimension's part of the offset as Σ (u // step) × weight."""
        return self._term(dim, field)[1]

    def _term(self, dim: str, field: str) -> tuple[int, Terms]:
        known = self._terms_of.get((dim, field))
        if known is None:
            stretch = self.stretches[self.space.dims.index(dim)]
            constant, terms = 0, dict[int, int]()
            for step, weight in self.whole.steps(dim, field):
                found = stretch.digit(step)
                assert found is not None  # `on_digits` said so
                constant += found[0] * weight
                for each, factor in found[1]:
                    terms[each] = terms.get(each, 0) + factor * weight
            known = self._terms_of[dim, field] = constant, _terms(terms)
        return known

    @property
    def _terms_of(self) -> dict[tuple[str, str], tuple[int, Terms]]:
        """Cache of the terms by (dimension, field)."""
        found: dict[tuple[str, str], tuple[int, Terms]] = self.__dict__.setdefault("_terms_found", {})
        return found

    def _along(self, dim: str, coordinates: IntArray, field: str) -> IntArray:
        total = np.zeros_like(coordinates)
        for step, weight in self.steps(dim, field):
            total += coordinates // step * weight
        return total

    def offset(self, index: Index, field: str) -> int:
        """The byte offset of one element, by its coordinates u."""
        at = self._coordinates(index)
        return self.field_base(field) + sum(
            at[dim] // step * weight for dim in self.space for step, weight in self.steps(dim, field)
        )


@dataclass(frozen=True)
class RegularTransfer(Transfer):
    """A transfer of entries that lie at regular places of both instances: every fourth row, or every other block.

    `sets` holds a regular set for each dimension, in the order of the source's dimensions. `shape` is the number of coordinates
    of each set; the two origins are the places of its first coordinate. In its own coordinates the transfer moves a box.

    Raises:
        TransferError: the sets do not belong to the shape and the origins, or do not nest with the digits of a layout.
    """

    sets: tuple[Regular, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        here, there = self.source.space.dims, self.destination.space.dims
        found = [each.places(0) for each in self.sets]
        last = [each.places(each.count - 1) for each in self.sets]
        suits = len(found) == len(here) and self.shape == tuple(each.count for each in self.sets)
        suits = suits and all(
            self.source_origin[i] == found[i][0]
            and self.destination_origin[there.index(dim)] == found[i][1]
            and last[i][0] < self.source.space[dim]
            and last[i][1] < self.destination.space[dim]
            for i, dim in enumerate(here)
        )
        if not suits or None in (*self._stretches[0], *self._stretches[1]):
            raise TransferError(f"transfer: regular sets {self.sets}: do not suit the box and the layouts of {self}")

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.sets))

    @cached_property
    def _stretches(self) -> tuple[list[Stretch | None], list[Stretch | None]]:
        set_of = dict(zip(self.source.space.dims, self.sets, strict=True))
        return (
            [Stretch.at_source(set_of[dim]).on_digits(_steps(self.source, dim)) for dim in self.source.space],
            [Stretch.at_destination(set_of[dim]).on_digits(_steps(self.destination, dim)) for dim in self.destination.space],
        )

    @property
    def further_json(self) -> dict[str, Any]:
        """The regular sets; `isoviz.redistribution.files` reads plans with them."""
        return {"sets": [{**each._asdict(), "jumps": [list(jump) for jump in each.jumps]} for each in self.sets]}

    def part(self, box: Box) -> Transfer:
        """A sub-box of this transfer, in coordinates local to it."""
        if box == Box.whole(self.space):
            return self
        if len(box.lo) != len(self.space) or not all(
            low < high <= size for low, high, size in zip(box.lo, box.hi, self.space.sizes, strict=False)
        ):
            raise TransferError(f"transfer: {box}: expected a box that is not empty, within {self.space}")
        sets = [each.part(low, high) for each, low, high in zip(self.sets, box.lo, box.hi, strict=True)]
        return transfer_of(self.source, self.destination, sets, self.field_names, self.priority)

    @property
    def is_whole(self) -> bool:
        """Whether all data of both ends move: never, as the sets leave gaps at one end."""
        return False

    def source_view(self) -> View:
        """The source as one end of a copy; local index 0 is the first coordinate of every set."""
        return self._views[0]

    def destination_view(self) -> View:
        """The destination as one end of a copy."""
        return self._views[1]

    @cached_property
    def _views(self) -> tuple[View, View]:
        here, there = [_view(*end) for end in zip(self.as_they_lie, self._stretches, strict=True)]
        return here, there


def _view(instance: Instance, stretches: Sequence[Stretch | None]) -> View:
    known = [each for each in stretches if each is not None]
    return View(StretchedLinearization.of(instance.linearization, known), tuple(each.phase for each in known))


def _steps(instance: Instance, dim: str) -> list[int]:
    return [part.step for part in instance.linearization.parts if isinstance(part, Mode) and part.dim == dim]


def transfer_of(
    source: Instance, destination: Instance, sets: Sequence[Regular], fields: tuple[str, ...] = (), priority: int = 0
) -> Transfer:
    """The transfer of one regular set per dimension; an ordinary one where every set is a range."""
    places = [each.places(0) for each in sets]
    target = dict(zip(source.space.dims, (there for _, there in places), strict=True))
    made = Transfer if all(not each.jumps for each in sets) else RegularTransfer
    more: dict[str, Any] = {} if made is Transfer else {"sets": tuple(sets)}
    return made(
        source,
        destination,
        tuple(each.count for each in sets),
        tuple(here for here, _ in places),
        tuple(target[dim] for dim in destination.space),
        fields,
        priority,
        **more,
    )


def pair_transfers(source: DistributedInstance, destination: DistributedInstance, sender: int, receiver: int) -> list[Transfer]:
    """What the rank `sender` sends the rank `receiver`, as transfers between the parts of both; empty where nothing moves."""
    here, there = source.part(sender), destination.part(receiver)
    mine, its = source.distribution.coordinates(sender), destination.distribution.coordinates(receiver)
    if here is None or there is None or mine is None or its is None:
        return []
    per_dim: list[list[Regular]] = []
    for dim in here.space:
        sets = common(source.axes[dim], mine.get(dim, 0), destination.axes[dim], its.get(dim, 0))
        steps = _steps(here, dim), _steps(there, dim)
        per_dim.append([piece for each in sets for piece in _nesting(each, steps)])
    names = destination.fields.names
    return [transfer_of(here, there, sets, names) for sets in itertools.product(*per_dim)]


def _nesting(found: Regular, steps: tuple[Sequence[int], Sequence[int]]) -> list[Regular]:
    """A set, cut at its jumps until each piece nests with the digits of both layouts. A range always does."""
    if not found.jumps:
        return [found]
    ends = Stretch.at_source(found), Stretch.at_destination(found)
    if all(end.on_digits(each) is not None for end, each in zip(ends, steps, strict=True)):
        return [found]
    return [piece for each in found.pieces() for piece in _nesting(each, steps)]
