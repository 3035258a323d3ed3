"""Linearizations of regular sets: where the coordinates of a regular set lie in the instance that holds them.

The place of coordinate u in the instance is a sum of terms ⌊u / step⌋ × jump. The instance's own digits are ⌊place / step⌋. Where
the steps of both nest, the byte offset is again a sum of terms ⌊u / step⌋ × weight, and a whole set is one strided copy.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.layouts import Layout
from isoviz.layouts.layout import Linearization
from isoviz.layouts.spaces import IndexSpace

if TYPE_CHECKING:
    from isoviz.layouts.layout import Index, IntArray
    from isoviz.layouts.modes import Mode
    from isoviz.redistribution.sets.regular import Regular

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
        """⌊place / step⌋ as a constant and terms of u; None if that is no such sum."""
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
