"""The intermediate layouts that can be optimal: a few dozen families stand for all layouts between two ends.

**One conversion suffices.** A is the source's layout, B the destination's.

1. Prefixes are ultrametric: of three layouts a, b, c, PREFIX(a, c) is at least as long as the shorter of PREFIX(a, b) and
   PREFIX(b, c). Suffixes are ultrametric too.
2. So on every path from A to B some hop has a run of at most g = PREFIX(A, B).
3. Replace all intermediate layouts before that hop by the first of them, L, and all after it by the last, M. No run gets shorter,
   and no shuffle gets larger.
4. So three kinds of paths suffice. If the *first* hop converts, L = M = B and every other hop moves whole chunks. If the *last*
   hop converts, L = M = A, likewise. If a hop *between two buffers* converts, it turns L into M in runs of g within a chunk; the
   first hop has the run PREFIX(A, L), the last hop PREFIX(M, B), and all others move whole chunks.

**Blocks.** They describe the third kind.

1. L keeps the first p entries of A's order together, and M the first q entries of B's order.
2. Their common suffix numbers blocks that contain both. The smallest such block, D, is the union of the first digits of A that
   make p and the first digits of B that make q.
3. The last digit on each side may be cut at any size: `a` for A's digit, `b` for B's.
4. Inside D, L has the order of A, and M the order of B. Outside D both continue in the same order.
5. If D is just a beginning of A's order, the outside follows A: then L is A, and the first hop moves whole chunks. The same holds
   for B. In all other cases the order outside does not affect the runs.
6. A longer prefix that does not enlarge D costs nothing. So a family is a pair: the number of digits of A kept whole, and the
   number of digits of B. Its variables are a and b.

**Limits of the argument.**

- Converting must cost no more set-up in an end hop than between two buffers (`Channel.conversion_setup`).
- Digits must nest: the cut points of A and B in one dimension must divide each other. Where they do not (4 and 6), there are no
  families, and other layouts are tried (`one_path.one_layout`, `one_path.non_nesting`).
- Where an end pads a dimension (blocks of 4 in 10), runs may be shorter than the families say; then the optimum is not
  guaranteed.
- Intermediate blocks that nest with neither end (3 in a dimension that an end cuts at 2) are not tried: of some 4,000 random
  problems one would gain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

from isoviz.layouts import FIELDS, Layout, Linearization, Mode
from isoviz.layouts.compare import field_groups, run_bytes
from isoviz.layouts.modes import NormalPart
from isoviz.planner.intermediate.layout_families import Digit, F, Order, Run, Structure, structure_of
from isoviz.planner.intermediate.part_layouts import layout_of

__all__ = ["Ends", "F", "LayoutFamily", "divisors", "ends_of"]


class LayoutFamily(NamedTuple):
    """A family of intermediate layouts: L before the converting hop, M after it.

    Block D contains the digits `complete` in full, `a` values of digit `cut_a` and `b` values of digit `cut_b`. A cut is None
    where there is no such variable; where both are the same digit, a = b.

    Runs are in bytes. Between A and L they are `first` × a, at most `longest_first_run`; between M and B they are `last` × b, at
    most `longest_last_run`. They are infinite where everything is one run. A block has `entries` × a × b entries, of |F| bytes
    each, or of one field where `complete` lacks F.

    `scattered` lists the digits in D that lack a faster digit of their dimension: each of their values is a box of its own.
    `follows` is the end whose order the blocks follow: "source", "destination", or "" where it does not matter.
    """

    complete: frozenset[int]
    cut_a: int | None
    cut_b: int | None
    first: float
    last: float
    longest_first_run: float
    longest_last_run: float
    entries: int
    scattered: tuple[int, ...]
    follows: str


class Ends(NamedTuple):
    """Both ends of a transfer on common digits, and the families of layouts between them.

    `digits` are those of `structure` with their extents. `run` is PREFIX(A, B) in bytes, the run of the converting hop; it is
    infinite where the ends are equal. `even` says whether neither end pads. Then a block has exactly the product of its digits,
    and runs are exactly those of the families.
    """

    source: Linearization
    destination: Linearization
    structure: Structure
    digits: tuple[Digit, ...]
    run: float
    families: tuple[LayoutFamily, ...]
    even: bool

    @property
    def orders(self) -> tuple[Order, Order]:
        """The orders of both ends."""
        return self.structure.orders

    @property
    def non_nesting_dims(self) -> frozenset[str]:
        """The dimensions in which the digits of the two ends do not nest."""
        return self.structure.non_nesting_dims

    @property
    def nesting(self) -> bool:
        """Whether the digits of the two ends nest in every dimension."""
        return not self.structure.non_nesting_dims

    @property
    def converts(self) -> bool:
        """Whether the two ends have different orders."""
        return not math.isinf(self.run)

    @property
    def regular(self) -> bool:
        """Whether the families are exact: the blocks of both ends divide each other and their dimension."""
        return self.even and not self.structure.non_nesting_dims

    def sizes(self, digit: int) -> Sequence[int]:
        """The sizes at which a digit can be cut: any size for the top digit of a dimension, else the divisors of its extent."""
        extent = self.digits[digit].extent
        return range(1, extent + 1) if self.digits[digit].top else divisors(extent)

    def layouts(self, family: LayoutFamily, a: int, b: int, follows: str) -> tuple[Layout, Layout, int]:
        """L and M for the cuts a and b, and the number of their slowest components that number the blocks."""
        # The layouts depend on the sizes only through this: does a cut leave a rest of its digit?
        uncut = tuple(
            [cut is not None and self.digits[cut].extent == size for cut, size in ((family.cut_a, a), (family.cut_b, b))]
        )
        key = self.structure, family.complete, family.cut_a, family.cut_b, follows, a, b, uncut
        found = _LAYOUTS.get(key)
        if found is None:
            taken = self.taken(family, a, b)
            outside = self._parts(self.orders[follows == "destination"], taken, inside=False)
            before, after = (layout_of(self._named([*self._parts(order, taken, inside=True), *outside])) for order in self.orders)
            found = before, after, len(outside)
            if len(_LAYOUTS) >= MOST_LAYOUTS:
                _LAYOUTS.clear()
            _LAYOUTS[key] = found
        return found

    def restricted(self, order: Order, taken: dict[int, int], *, later: bool = False) -> tuple[Layout, int]:
        """The layout with this order inside a block and outside it, and the number of its slowest components that number the
        blocks.

        With `later`, the first two digits outside the block change places.
        """
        inside, outside = self._parts(order, taken, inside=True), self._parts(order, taken, inside=False)
        if later:
            outside[:2] = outside[1::-1]
        return layout_of(self._named([*inside, *outside])), len(outside)

    def _named(self, parts: list[NormalPart]) -> list[NormalPart]:
        """The digits, preceded by one for every dimension of size 1: such a dimension has no digit, but a layout must name it."""
        named = {part.dim for part in parts if isinstance(part, Mode)}
        return parts if len(named) == len(self.source.space) else [*self._lone(named), *parts]

    def _lone(self, named: set[str]) -> list[NormalPart]:
        return [Mode(dim, 1, 1, True) for dim in self.source.space if dim not in named]

    def taken(self, family: LayoutFamily, a: int, b: int) -> dict[int, int]:
        """The number of values of each digit in block D; digits that are absent have one."""
        taken = {digit: self.digits[digit].extent if digit != F else 1 for digit in sorted(family.complete)}
        if family.cut_a is not None:
            taken[family.cut_a] = a
        if family.cut_b is not None and family.cut_b != family.cut_a:
            taken[family.cut_b] = b
        return taken

    def _parts(self, order: Order, taken: dict[int, int], inside: bool) -> list[NormalPart]:
        """The digits of an order inside block D, or those outside it."""
        found: list[NormalPart] = []
        joins = False  # whether the next digit continues the last part
        for digit, whole in zip(order.digits, order.whole, strict=True):
            if digit == F:
                if (F in taken) == inside:
                    found.append(FIELDS)
                joins = False
                continue
            dim, step, extent, top = self.digits[digit]
            have = taken.get(digit, 1)
            if inside:
                part = Mode(dim, have, step, top and have == extent) if have > 1 else None
                ends = have == extent
            else:
                rest = -(-extent // have)
                part = Mode(dim, rest, step * have, top) if rest > 1 else None
                ends = True
            last = found[-1] if found else None
            if part is not None:
                if joins and isinstance(last, Mode) and last.dim == dim and last.step * last.extent == part.step:
                    end = -(-self.source.space[dim] // last.step) if part.top else last.extent * part.extent
                    found[-1] = Mode(dim, end, last.step, part.top)
                else:
                    found.append(part)
            joins = whole and ends
        return found


MOST_LAYOUTS = 2048
"""Pairs of layouts that are cached: those of some hundred transfers."""
_LAYOUTS: dict[tuple[Hashable, ...], tuple[Layout, Layout, int]] = {}
"""A cache of `Ends.layouts`: transfers of many sizes share few of them."""


def divisors(number: int) -> tuple[int, ...]:
    """All divisors of a number, in ascending order."""
    return _divisors(number)


@lru_cache(maxsize=1024)
def _divisors(number: int) -> tuple[int, ...]:
    low = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return tuple(sorted({*low, *(number // k for k in low)}))


def ends_of(source: Linearization, destination: Linearization) -> Ends:
    """Both ends on common digits."""
    structure = structure_of(source, destination)
    space, filled, even = source.space, list(structure.digits), True
    for number, dim, step in structure.tops:
        extent = -(-space[dim] // step)
        filled[number] = Digit(dim, step, extent, True)
        even = even and extent * step == space[dim]
    digits = tuple(filled)
    even = even and not (source.is_padded or destination.is_padded)  # a padded digit may hide in a merged one
    if structure.non_nesting_dims or not even:
        run = math.inf if source.same_as(destination) else run_bytes(source, destination)
    elif structure.same:
        run = math.inf
    else:  # nothing pads
        groups = field_groups(source.fields, destination.fields) if structure.at_fields else len(source.fields)
        run = source.fields.nbytes / (1 if F in structure.prefix else groups)
        for number in structure.prefix:
            if number != F:
                run *= digits[number].extent
    families = () if math.isinf(run) or structure.non_nesting_dims else _families(source, digits, structure, run)
    return Ends(source, destination, structure, digits, run, families, even)


def _families(source: Linearization, digits: tuple[Digit, ...], structure: Structure, run: float) -> tuple[LayoutFamily, ...]:
    """The families in which both end hops have longer runs than the conversion; all others are dominated by converting in an end
    hop."""
    count_a, count_b = (_counts(order, digits, source) for order in structure.orders)
    found: dict[int, LayoutFamily] = {}
    for number, complete, inside, cut_a, cut_b, first, last, scattered, follows in structure.templates:
        if number in found:
            continue
        least_first, longest_first_run = _reach(first, count_a, digits) if first is not None else _EVERYTHING
        least_last, longest_last_run = _reach(last, count_b, digits) if last is not None else _EVERYTHING
        if longest_first_run > run and longest_last_run > run:
            entries = 1
            for digit in inside:
                entries *= digits[digit].extent
            found[number] = LayoutFamily(
                complete, cut_a, cut_b, least_first, least_last, longest_first_run, longest_last_run, entries, scattered, follows
            )
    return tuple(found.values())


_EVERYTHING = math.inf, math.inf


def _reach(run: Run, counts: Sequence[float], digits: Sequence[Digit]) -> tuple[float, float]:
    """The bytes of a run for a cut of one, and for the largest cut."""
    if not run.onwards:
        return counts[run.least], counts[run.most]
    onwards = math.prod([digits[digit].extent for digit in run.onwards])
    return counts[run.least] * onwards, counts[run.most] * onwards


def _counts(order: Order, digits: tuple[Digit, ...], source: Linearization) -> list[float]:
    """The bytes of the run that the first i digits of an order make, for every i."""
    size = source.fields.nbytes
    count, unit = 1, size / len(source.fields)
    found = [unit]
    start = 1, 1  # for the end's digit that contains this one: the entries before it, and its step
    joined = False
    for digit, whole in zip(order.digits, order.whole, strict=True):
        if digit == F:
            unit = float(size)
        else:
            dim, step, extent, top = digits[digit]
            if not joined:
                start = count, step
            count = start[0] * -(-source.space[dim] // start[1]) if top else count * extent
        joined = whole
        found.append(count * unit)
    return found
