"""Layouts as sequences of digits, and the layouts that differ from one by a single change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

from isoviz.layouts import FieldsComponent, IndexSpace, Layout, Linearization, Mode
from isoviz.planner.intermediate.intermediate_layouts import divisors
from isoviz.planner.intermediate.part_layouts import layout_of

Digits = tuple[tuple[str, int] | None, ...]
"""A layout, fastest first: every digit as (dimension, step), `F` as None. Dimensions of size 1 have no digit, nor has `F` where
there is a single field."""

MOST_SPLIT = 2
"""Dimensions that are cut into blocks at the same time, unless more are in the layouts of the uses."""
MOST_SIZES = 16
"""Block sizes that are tried in a dimension. Of more divisors, those are taken that form the most even ratios."""


class Neighbourhood:
    """The layouts of one index space, and which of them are next to each other.

    Blocks divide their dimension. With `most_padding` above 0, powers of two are block sizes as well.
    """

    def __init__(self, space: IndexSpace, single_field: bool, most_padding: float) -> None:
        self.space = space
        self.single_field = single_field
        self.most_padding = most_padding
        self.dims = tuple(dim for dim in space if space[dim] > 1)

    @cached_property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The block sizes of every dimension."""
        return {dim: self._sizes(self.space[dim]) for dim in self.dims}

    def _sizes(self, size: int) -> tuple[int, ...]:
        found = set(divisors(size))
        found |= {1 << k for k in range(size.bit_length()) if -(-size >> k << k) <= size * (1 + self.most_padding)}
        between = sorted(found - {1, size})
        if len(between) <= MOST_SIZES:
            return tuple(between)
        ratio = between[-1] / between[0]
        wanted = [between[0] * ratio ** (k / (MOST_SIZES - 1)) for k in range(MOST_SIZES)]
        return tuple(sorted({min(between, key=lambda each: abs(each - goal) / each) for goal in wanted}))

    def of(self, order: Linearization) -> Digits:
        """The digits of a layout."""
        parts = [part for part in order.normal if isinstance(part, Mode) or not self.single_field]
        return tuple((part.dim, part.step) if isinstance(part, Mode) else None for part in parts)

    def layout(self, digits: Digits) -> Layout:
        """The layout with these digits."""
        lone = [(dim, 1) for dim in self.space if self.space[dim] == 1]
        fields = FieldsComponent()
        parts = [fields if digit is None else Mode(digit[0], 0, digit[1], False) for digit in (*digits, *lone)]
        return layout_of([fields, *parts] if self.single_field else parts)

    def around(self, digits: Digits) -> Iterator[Digits]:
        """Every layout that differs by one change, without repetition.

        The changes: a component moves; a dimension is cut into blocks, or into other blocks, or is whole again.
        """
        seen = {digits}
        for changed in self._changes(digits):
            found = self.normal(changed)
            if found not in seen:
                seen.add(found)
                yield found

    def _changes(self, digits: Digits) -> Iterator[Sequence[tuple[str, int] | None]]:
        for i, digit in enumerate(digits):
            rest = [*digits[:i], *digits[i + 1 :]]
            for j in range(len(digits)):
                if j != i:
                    yield [*rest[:j], digit, *rest[j:]]
        chains = {dim: sorted(digit[1] for digit in digits if digit is not None and digit[0] == dim) for dim in self.dims}
        split = sum(len(steps) > 1 for steps in chains.values())
        for dim, steps in chains.items():
            for below, step in itertools.pairwise(steps):
                at, under = digits.index((dim, step)), digits.index((dim, below))
                yield [digit for k, digit in enumerate(digits) if k != at]
                yield [digits[under] if k == at else digit for k, digit in enumerate(digits) if k != under]
                for size in self.sizes[dim]:
                    others = [other for other in steps if other != step]
                    if size not in steps and all(max(size, each) % min(size, each) == 0 for each in others):
                        yield [(dim, size) if k == at else digit for k, digit in enumerate(digits)]
            if len(steps) == 1 and split < MOST_SPLIT:
                at = digits.index((dim, 1))
                for size in self.sizes[dim]:
                    for place in range(at):  # the block goes in front
                        yield [*digits[:place], (dim, 1), *digits[place:at], (dim, size), *digits[at + 1 :]]
                    for place in range(at + 1, len(digits)):  # the rest goes behind
                        yield [*digits[: place + 1], (dim, size), *digits[place + 1 :]]

    def normal(self, digits: Sequence[tuple[str, int] | None]) -> Digits:
        """The digits with those merged that follow each other in one dimension."""
        above: dict[tuple[str, int], int] = {}
        for dim in self.dims:
            steps = sorted(digit[1] for digit in digits if digit is not None and digit[0] == dim)
            above.update({(dim, step): up for step, up in itertools.pairwise(steps)})
        found: list[tuple[str, int] | None] = []
        last: tuple[str, int] | None = None
        for digit in digits:
            joins = last is not None and digit is not None and digit[0] == last[0] and above.get(last) == digit[1]
            if not joins:
                found.append(digit)
            last = digit
        return tuple(found)
