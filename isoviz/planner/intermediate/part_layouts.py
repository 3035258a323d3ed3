"""Layouts of parts: an end's layout restricted to a block, and the blocks that fit a budget.

An intermediate buffer holds a *part* of the instance. Inside a block of extents b the entries have the order
of one end, and the blocks have one order along the whole path. So `<x, F>` becomes `<x_in=b, F, x_out>`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.layouts import FIELDS, Component, FieldsComponent, FieldSpace, IndexSpace, Layout, Linearization, Mode
from isoviz.layouts.modes import without_ones

if TYPE_CHECKING:
    from isoviz.layouts.modes import NormalPart


LARGEST_FACTOR = 1 << 22
"""Block sizes are factored by trial division up to this number. That factors every size below 2⁴⁴ completely; of a larger size a
factor above it stays whole, so that factoring takes below a second."""
PAGES = 4
"""A part of a block consists of whole pages if it has at least this many pages: rounding then changes it by at most a quarter."""

Block = Mapping[str, int]
"""The extent of a block in every dimension; the size of the dimension where it is not cut."""


def fitted(layout: Layout, space: IndexSpace, fields: FieldSpace) -> Linearization:
    """A layout on a box of the space for which it was made; digits that the box does not need are dropped.

    Raises:
        LayoutError: dimensions missing or unknown.
    """
    parts: list[NormalPart] = []
    for part in layout.components:
        if isinstance(part, FieldsComponent):
            parts.append(FIELDS)
            continue
        size = space[part.dim]
        step = math.prod(digit.extent or 1 for digit in layout.digits[part.dim][: part.rank])
        end = size if part.extent is None else min(size, step * part.extent)
        extent = -(-end // step)
        if extent > 1 or (size == 1 and part.rank == 0):  # a layout must name a dimension of size 1 too
            parts.append(Mode(part.dim, extent, step, end == size))
    return layout_of(parts).on(space, fields)


def layout_of(parts: Sequence[NormalPart]) -> Layout:
    """The layout with these digits; their steps determine the names (`x`, `x_in`/`x_out`, `x_0`, `x_1`, …) and extents."""
    return _layout(tuple([(part.dim, part.step) if isinstance(part, Mode) else None for part in parts]))


@lru_cache(maxsize=1024)
def _layout(digits: tuple[tuple[str, int] | None, ...]) -> Layout:
    """The layout with digits of these dimensions and steps, None for the fields. Transfers of many sizes share few of them."""
    steps: dict[str, list[int]] = {}
    for dim, step in filter(None, digits):
        steps.setdefault(dim, []).append(step)
    components: list[Component | FieldsComponent] = []
    for digit in digits:
        if digit is None:
            components.append(FIELDS)
            continue
        dim, step = digit
        ranks = sorted(steps[dim])
        rank, count = ranks.index(step), len(ranks)
        label = "" if count == 1 else ("in", "out")[rank] if count == 2 else str(rank)
        components.append(Component(dim, label, rank, None if rank == count - 1 else ranks[rank + 1] // step))
    return Layout.unchecked(tuple(components))  # digits of steps that nest make a layout


def _merged(parts: Iterable[NormalPart]) -> list[NormalPart]:
    """The digits with adjacent digits of one dimension merged."""
    found: list[NormalPart] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, Mode) and isinstance(last, Mode) and last.dim == part.dim and _end(last) == part.step:
            found[-1] = Mode(part.dim, last.extent * part.extent, last.step, part.top)
        else:
            found.append(part)
    return found


def restricted(inside: Linearization, among: Linearization, block: Block) -> tuple[Layout, int]:
    """The layout whose entries are ordered like `inside` within a block, and whose blocks are ordered like `among`.

    Returns the layout and the number of its slowest components that number the blocks. `block` has to nest with the digits of
    both (see `nesting`).
    """
    sizes = inside.space
    inner: list[NormalPart] = []
    for part in inside.parts:
        if isinstance(part, FieldsComponent):
            inner.append(FIELDS)
        elif part.step < block[part.dim]:
            end = min(_end(part), block[part.dim])
            inner.append(Mode(part.dim, -(-end // part.step), part.step, end >= sizes[part.dim]))
    outer: list[NormalPart] = []
    for part in among.parts:
        if isinstance(part, Mode) and block[part.dim] < sizes[part.dim] and _end(part) > block[part.dim]:
            step = max(part.step, block[part.dim])
            outer.append(Mode(part.dim, -(-_end(part) // step), step, part.top))
    outer = _merged(outer)
    # A dimension of size 1 has no digit left, but a layout must name it.
    named = {part.dim for part in (*inner, *outer) if isinstance(part, Mode)}
    lone = [Mode(dim, 1, 1, True) for dim in sizes if dim not in named]
    return layout_of((*lone, *_merged(inner), *outer)), len(outer)


def _end(part: Mode) -> int:
    """The first coordinate beyond a digit."""
    return part.step * part.extent


def nesting(bound: int, steps: Iterable[int], size: int) -> int:
    """The largest block of at most `bound` that nests with digits of the given steps: it divides each step, or the step divides
    it."""
    if bound >= size:
        return size
    cuts = sorted({step for step in steps if 1 < step < size})
    for limit in (bound, *(cut - 1 for cut in reversed(cuts) if cut - 1 < bound)):
        below = math.lcm(*(cut for cut in cuts if cut <= limit))
        above = math.gcd(*(cut for cut in cuts if cut > limit))
        if below > limit or (above and above % below):
            continue
        if not above:
            return limit // below * below
        return below * _largest_divisor(above // below, limit // below)
    return 1


@lru_cache(maxsize=4096)
def _largest_divisor(number: int, bound: int) -> int:
    """The largest divisor of at most `bound`, built from the prime factors of at most `bound`."""
    found = {1}
    for prime, power in _small_factors(number):
        found |= {divisor * prime**k for divisor in found for k in range(1, power + 1) if divisor * prime**k <= bound}
    return max(found)


@lru_cache(maxsize=256)
def _small_factors(number: int) -> tuple[tuple[int, int], ...]:
    """The prime factors with their powers; a rest without factors below `LARGEST_FACTOR` counts as one factor."""
    found: list[tuple[int, int]] = []
    for factor in range(2, LARGEST_FACTOR):
        if factor * factor > number:
            break
        power = 0
        while number % factor == 0:
            number //= factor
            power += 1
        if power:
            found.append((factor, power))
    return (*found, (number, 1)) if number > 1 else tuple(found)


def grown(order: Linearization, other: Linearization, block: Block, budget: int, page: int = 1) -> dict[str, int]:
    """A block grown along one end's order until it holds `budget` entries, for the longest contiguous run that fits.

    It is never smaller than `block`. The last dimension that grows is cut into parts of nearly equal size. With several pages of
    `page` entries in a part, parts are whole pages.
    """
    found = dict(block)
    for part in order.parts:
        if not isinstance(part, Mode) or part.extent == 1:
            continue
        size = order.space[part.dim]
        have = found[part.dim]
        end = size if part.top else _end(part)
        if have >= end:
            continue
        across = math.prod(found.values()) // have
        left = budget // across
        steps = [mode.step for lin in (order, other) for mode in lin.parts if isinstance(mode, Mode) and mode.dim == part.dim]
        if have < part.step:  # a slower digit comes first: its entries are one run once the block has the digits below it
            if left < part.step or nesting(part.step, steps, size) < part.step:
                break
            have = part.step
        even = -(-end // -(-end // left))  # parts of equal size
        whole = math.lcm(*(step for step in steps if step <= even))
        paged = math.lcm(whole, page // math.gcd(page, across))
        # Rounded up where the budget allows it: rounded down, a further part would hold the rest.
        ups = [-(-even // unit) * unit for unit in (paged, whole) if unit == whole or unit * PAGES <= even]
        up = next((up for up in ups if up <= left), even // whole * whole or even)
        found[part.dim] = max(have, nesting(up, steps, size))
        if found[part.dim] < end:
            break
    return found


# The common suffix of several layouts. It numbers the blocks of a chunk sequence.


def ending_alike(orders: Sequence[Linearization]) -> tuple[list[Linearization], int]:
    """The orders, written such that all end with the same components, and the number of these components.

    The number is 0 where they have no common suffix. A component may have to be split: `<F, x>` ends like `<x_in=4, F, x_out>`
    once it is written as `<F, x_in=4, x_out>`, which is the same order. A digit of extent 1 (`x_in=1`) is left out: `<F, y, x>`
    ends like `<y, x_in=1, F, x_out>`.
    """
    if len({order.parts for order in orders}) == 1:
        return list(orders), len(orders[0].parts)
    parts = [without_ones(order.parts) for order in orders]
    outer = 0
    while all(len(each) > outer for each in parts) and len({each[-1 - outer] for each in parts}) == 1:
        outer += 1
    if split := _split([each[-1 - outer] for each in parts if len(each) > outer], len(parts), orders[0].space.as_dict()):
        for each, pieces in zip(parts, split, strict=True):
            each[len(each) - 1 - outer : len(each) - outer] = pieces
        outer += 1
    if not outer:
        return list(orders), 0
    return [
        order if len(order.parts) == len(each) and not split else _written(order, each)
        for order, each in zip(orders, parts, strict=True)
    ], outer


def _split(last: Sequence[NormalPart], count: int, sizes: dict[str, int]) -> list[list[NormalPart]]:
    """Digits of one dimension that end alike, cut where all of them repeat: the faster part of each, then the digit that all
    share.

    Empty where they do not end alike.
    """
    modes = [part for part in last if isinstance(part, Mode)]
    if len(modes) != count or len({(mode.dim, mode.step * mode.extent, mode.top) for mode in modes}) != 1:
        return []
    whole, step = modes[0].step * modes[0].extent, math.lcm(*(mode.step for mode in modes))
    if step >= min(whole, sizes[modes[0].dim]) or whole % step:
        return []
    above = Mode(modes[0].dim, whole // step, step, modes[0].top)
    return [[Mode(mode.dim, step // mode.step, mode.step, False), above] if mode.step < step else [above] for mode in modes]


def _written(order: Linearization, parts: Sequence[NormalPart]) -> Linearization:
    named = {part.dim for part in parts if isinstance(part, Mode)}
    lone = [Mode(dim, 1, 1, True) for dim in order.space if dim not in named]
    return layout_of([*lone, *parts]).on(order.space, order.fields)
