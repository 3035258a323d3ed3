"""Which intermediate layouts can win: for two ends, a few dozen families of them stand for all.

**One hop pays.** Of three layouts a, b, c, the common prefix of a and c is at least as long as the shorter one of a, b and b, c:
prefixes are ultrametric, suffixes too. Along a path from the source layout A to the destination layout B some hop therefore has
a run of at most g = PREFIX(A, B), and replacing all intermediate layouts before that hop by the first of them, L, and all after
it by the last, M, shortens no run and enlarges no shuffle. So on a path

- the *first* hop pays (L = M = B), or the *last* one (L = M = A): every other hop then moves whole chunks;
- or a hop *between two buffers* pays: it converts L to M in runs of g within a chunk, the first hop has the run PREFIX(A, L), the
  last one PREFIX(M, B), and all others move whole chunks.

**Blocks.** L keeps the first p entries of A's order together, M the first q of B's, and their common suffix numbers blocks that
hold both: the smallest block D is the union of the first digits of A that make p and of those of B that make q. The last digit
of each may be cut at any size (`a` for A's, `b` for B's); inside D, L has the order of A and M that of B. Outside D both go on
in the same order: where D is just a beginning of A's order, in A's, so that L is A and the first hop moves whole chunks (or B's,
likewise); otherwise it does not matter to the runs. A longer prefix that leaves D as it is costs nothing. So the families are
the pairs (how many digits of A are kept whole, how many of B), and the variables in each are a and b.

The argument asks that converting costs no more to set up in an end hop than between two buffers (`Channel.conversion_setup`), and
digits that nest: cut points of A and B in one dimension that divide each other. Where they do not (4 against
6), there are no families (`plain` and `boxed` try others), and where an end pads a dimension (blocks of 4 in 10) runs may be
shorter than the families say; there the promise of the optimum does not hold. Blocks between that nest with neither end (3 of a
dimension that an end cuts at 2) are not tried: of some 4,000 random problems one would gain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

from isoviz.layouts import FIELDS, Layout, Linearization, Mode
from isoviz.layouts.compare import run_bytes
from isoviz.layouts.linearization import NormalPart
from isoviz.planner.intermediate.layout_families import Digit, F, Order, Run, Structure, structure_of
from isoviz.planner.intermediate.part_layouts import layout_of

__all__ = ["Ends", "F", "LayoutFamily", "divisors", "ends_of"]


class LayoutFamily(NamedTuple):
    """A family of intermediate layouts: L before the converting hop, M after it.

    Block D holds the digits `complete`, and `a` values of digit `cut_a`, `b` values of digit `cut_b` (None: no such variable;
    equal: one variable, a = b). The runs are `first` × a bytes between A and L, at most `most_first`, and `last` × b bytes, at
    most `most_last`, between M and B (infinite: everything); a block has `entries` × a × b entries of |F| bytes, or of one field
    where `complete` lacks F. `scattered` are the digits in D that lack faster digits of their dimension: each of their values is
    a box of its own.
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
    follows: str  # the end whose order the blocks follow: "source", "destination", or "" where it does not matter


class Ends(NamedTuple):
    """Both ends of a transfer on common digits, and the families of layouts between them.

    `digits` are those of `structure` with their extents; `run` is PREFIX(A, B) in bytes, the run of the hop that converts. `even`
    says whether neither end pads: then blocks hold exactly the product of what is taken of each digit, and runs are what `shapes`
    say.
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
        """The dimensions in which the digits of the two do not nest."""
        return self.structure.non_nesting_dims

    @property
    def nesting(self) -> bool:
        """Whether the digits of the two nest in every dimension."""
        return not self.structure.non_nesting_dims

    @property
    def converts(self) -> bool:
        """Whether the two ends differ."""
        return not math.isinf(self.run)

    @property
    def regular(self) -> bool:
        """Whether the families of layouts between them say all: blocks divide each other and their dimension."""
        return self.even and not self.structure.non_nesting_dims

    def sizes(self, digit: int) -> Sequence[int]:
        """Where a digit can be cut: anywhere if it is the top one of its dimension, else where both parts are whole."""
        extent = self.digits[digit].extent
        return range(1, extent + 1) if self.digits[digit].top else divisors(extent)

    def layouts(self, family: LayoutFamily, a: int, b: int, follows: str) -> tuple[Layout, Layout, int]:
        """L and M for cuts a and b, and how many of their slowest components number the blocks."""
        # Of the sizes they depend on no more than whether a cut leaves anything of its digit.
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
            if len(_LAYOUTS) >= _MOST_LAYOUTS:
                _LAYOUTS.clear()
            _LAYOUTS[key] = found
        return found

    def restricted(self, order: Order, taken: dict[int, int], *, later: bool = False) -> tuple[Layout, int]:
        """The layout with this order inside of a block and outside of it, and how many of its slowest components number the
        blocks; with `later`, what the order goes on with behind a block comes one digit later."""
        inside, outside = self._parts(order, taken, inside=True), self._parts(order, taken, inside=False)
        if later:
            outside[:2] = outside[1::-1]
        return layout_of(self._named([*inside, *outside])), len(outside)

    def _named(self, parts: list[NormalPart]) -> list[NormalPart]:
        """The digits, and one for every dimension that has none: of size 1, it has to be named all the same."""
        named = {part.dim for part in parts if isinstance(part, Mode)}
        return parts if len(named) == len(self.source.space) else [*self._lone(named), *parts]

    def _lone(self, named: set[str]) -> list[NormalPart]:
        return [Mode(dim, 1, 1, True) for dim in self.source.space if dim not in named]

    def taken(self, family: LayoutFamily, a: int, b: int) -> dict[int, int]:
        """How many values of each digit block D holds; digits left out: one."""
        taken = {digit: self.digits[digit].extent if digit != F else 1 for digit in family.complete}
        if family.cut_a is not None:
            taken[family.cut_a] = a
        if family.cut_b is not None and family.cut_b != family.cut_a:
            taken[family.cut_b] = b
        return taken

    def _parts(self, order: Order, taken: dict[int, int], inside: bool) -> list[NormalPart]:
        """The digits of an order that are inside of block D, or those outside."""
        found: list[NormalPart] = []
        joins = False  # whether the next digit goes on where the last part ends
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


_MOST_LAYOUTS = 4096
_LAYOUTS: dict[tuple[Hashable, ...], tuple[Layout, Layout, int]] = {}
"""`Ends.layouts` of transfers before: those of many sizes have few of them."""


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
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
    even = even and not (source.is_padded or destination.is_padded)  # a padded digit may be merged into one that looks whole
    if structure.non_nesting_dims or not even:
        run = math.inf if source.normal == destination.normal else run_bytes(source, destination)
    elif structure.same:
        run = math.inf
    else:  # nothing pads
        run = source.fields.nbytes if F in structure.prefix else source.fields.nbytes / len(source.fields)
        for number in structure.prefix:
            if number != F:
                run *= digits[number].extent
    families = () if math.isinf(run) or structure.non_nesting_dims else _families(source, digits, structure, run)
    return Ends(source, destination, structure, digits, run, families, even)


def _families(source: Linearization, digits: tuple[Digit, ...], structure: Structure, run: float) -> tuple[LayoutFamily, ...]:
    """The families in which both end hops have longer runs than the conversion: others lose against converting in an end hop."""
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
    """Bytes of a run for a cut of one, and for the largest."""
    if not run.onwards:
        return counts[run.least], counts[run.most]
    onwards = math.prod([digits[digit].extent for digit in run.onwards])
    return counts[run.least] * onwards, counts[run.most] * onwards


def _counts(order: Order, digits: tuple[Digit, ...], source: Linearization) -> list[float]:
    """Bytes of the run that the first i digits of an order make, for every i."""
    size = source.fields.nbytes
    count, unit = 1, size / len(source.fields)
    found = [unit]
    start = 1, 1  # entries before the end's own digit that this one is a part of, and that digit's step
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
