"""PREFIX and SUFFIX of two layouts on their common modes; run and shuffle size (Isometry, section 4.2).

The comparison refines: a mode is split where the other layout splits it. For blocks that do not nest (4 and 6), the prefix
shares their gcd, and the suffix repeats with their lcm. A top digit has no extent of its own: it takes the extent of the other
layout's digit. If only one layout is padded, a run ends at the last entry before the padding.

Both layouts have the same fields, but `F` may have them in another order. Then it is in neither prefix nor suffix, and a run that
reaches it holds the fields that are neighbours in both orders.

`order_change` says in words what a hop from one layout to the other does.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, LayoutError
from isoviz.layouts.layout import Linearization
from isoviz.layouts.modes import FIELDS, FieldsComponent, Mode, NormalPart, part_text, parts_within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoviz.layouts.spaces import FieldSpace, IndexSpace

Normal = tuple[NormalPart, ...]
"""The normal form of a linearization."""


@dataclass(frozen=True)
class Comparison:
    """The agreement of two linearization orders of one instance.

    `prefix` and `suffix` are the common parts, fastest first: modes on the index space, and `F`.
    """

    prefix: tuple[NormalPart, ...]
    suffix: tuple[NormalPart, ...]
    field_sizes: tuple[int, ...]
    shuffle_bytes: int
    """TOTAL / SUFFIX: the bytes that a conversion must hold at a time.

    It is the size of the components before the common suffix, the larger of the two layouts. If `F` is not among them, it is the
    size for the largest field.
    """
    field_groups: int = 0
    """Where both layouts continue with `F` after the prefix, in another order: the number of groups of neighbouring fields."""

    @property
    def prefix_count(self) -> int:
        """Entries that are adjacent in both layouts. If `F` is not in the prefix, they are elements of one field."""
        return _count(self.prefix)

    @property
    def suffix_count(self) -> int:
        """Blocks that have the same order in both layouts. If `F` is in the suffix, the number includes the fields."""
        return _count(self.suffix) * (len(self.field_sizes) if FIELDS in self.suffix else 1)

    @cached_property
    def run_bytes(self) -> float:
        """PREFIX in bytes: the bound on a contiguous request. If `F` is not in the prefix, it is the bound for the mean field."""
        return _run_bytes(self.prefix, self.field_sizes, self.field_groups)

    @property
    def prefix_text(self) -> str:
        """The common prefix for display; `1` if there is none."""
        return ", ".join(map(part_text, self.prefix)) or "1"

    @property
    def suffix_text(self) -> str:
        """The common suffix for display; `1` if there is none."""
        return ", ".join(map(part_text, self.suffix)) or "1"


def _count(parts: Sequence[NormalPart]) -> int:
    return math.prod(part.extent for part in parts if isinstance(part, Mode))


def compare(a: Linearization, b: Linearization) -> Comparison:
    """The common prefix and suffix of two linearizations of the same index and field space.

    Raises:
        LayoutError: the spaces differ.
    """
    for each in (a, b):
        expect("compare", each, Linearization, "two linearizations")
    return _compared(a, b)


@lru_cache(maxsize=2048)
def _compared(a: Linearization, b: Linearization) -> Comparison:
    if a.space != b.space or (a.fields != b.fields and not _are_reordered(a.fields, b.fields)):
        raise LayoutError(f"compare: the index or field spaces differ: ({a.space}; {a.fields}) and ({b.space}; {b.fields})")
    if a.same_as(b):
        whole = a.normal
        return Comparison(whole, whole, a.fields.sizes, max(a.fields.sizes))
    suffix, before_a, before_b = _suffix(a, b)
    shuffle = max(_bytes(before_a, a.fields.sizes), _bytes(before_b, b.fields.sizes))
    prefix, groups = _prefix(a, b)
    return Comparison(prefix, suffix, a.fields.sizes, shuffle, groups)


def _are_reordered(a: FieldSpace, b: FieldSpace) -> bool:
    """Whether two field spaces differ only in the order of their fields."""
    return dict(zip(a.names, a.dtypes, strict=True)) == dict(zip(b.names, b.dtypes, strict=True))


def field_groups(a: FieldSpace, b: FieldSpace) -> int:
    """The number of groups of fields that are neighbours in both orders."""
    places = [a.index(name) for name in b.names]
    return 1 + sum(there != here + 1 for here, there in itertools.pairwise(places))


def run_bytes(a: Linearization, b: Linearization) -> float:
    """`compare(a, b).run_bytes` without the rest of the comparison. Both must have the same index space and the same fields."""
    prefix, groups = (a.normal, 0) if a.same_as(b) else _prefix(a, b)
    return _run_bytes(prefix, a.fields.sizes, groups)


def _run_bytes(prefix: Normal, sizes: tuple[int, ...], groups: int) -> float:
    entry = sum(sizes)
    return _count(prefix) * entry / (groups or (1 if FIELDS in prefix else len(sizes)))


def _bytes(parts: Sequence[NormalPart], sizes: tuple[int, ...]) -> int:
    count, unit = 1, 0
    for part in parts:
        if isinstance(part, Mode):
            count *= part.extent
        else:
            unit = sum(sizes)
    return count * (unit or max(sizes))


def _prefix(a: Linearization, b: Linearization) -> tuple[Normal, int]:
    """The common prefix, and the groups of fields (`Comparison.field_groups`)."""
    space, reordered = a.space, a.fields.names != b.fields.names
    left, right = list(a.normal[::-1]), list(b.normal[::-1])  # stacks: the fastest on top
    found: list[NormalPart] = []
    while left and right:
        x, y = left.pop(), right.pop()
        if isinstance(x, FieldsComponent) or isinstance(y, FieldsComponent):
            if x != y:
                break
            if reordered:
                return _merged(found), field_groups(a.fields, b.fields)
            found.append(FIELDS)
            continue
        if (x.dim, x.step) != (y.dim, y.step):
            break
        shared = _shared_extent(space, x, y)
        if shared > 1:
            found.append(Mode(x.dim, shared, x.step, x.top and y.top))
        if x.top and y.top:
            if x.extent != y.extent:
                break  # one layout is padded here: the next entries are not adjacent in it
            continue
        for mode, stack in ((x, left), (y, right)):
            if (rest := _above(space, mode, shared)) is not None:
                stack.append(rest)
        if not (x.top or y.top) and x.extent != shared and y.extent != shared:
            break  # blocks that do not nest share no more than their gcd
    return _merged(found), 0


def _shared_extent(space: IndexSpace, x: Mode, y: Mode) -> int:
    """The number of values of two digits with the same step that are adjacent in both layouts."""
    if x.top and y.top:
        return x.extent if x.extent == y.extent else min(x.extent, y.extent, -(-space[x.dim] // x.step))  # equal: padded alike
    if x.top:
        return y.extent
    if y.top:
        return x.extent
    return math.gcd(x.extent, y.extent)


def _above(space: IndexSpace, mode: Mode, shared: int) -> Mode | None:
    """The rest of a digit after its `shared` fastest values are split off; None if nothing is left."""
    if mode.top:
        step = mode.step * shared
        rest = -(-space[mode.dim] // step)
        return Mode(mode.dim, rest, step, True) if rest > 1 else None
    return Mode(mode.dim, mode.extent // shared, mode.step * shared, False) if mode.extent > shared else None


def _suffix(a: Linearization, b: Linearization) -> tuple[Normal, Normal, Normal]:
    """The common suffix, and the components before it in each layout."""
    space, reordered = a.space, a.fields.names != b.fields.names
    left, right = list(a.normal), list(b.normal)  # stacks: the slowest on top
    found: list[NormalPart] = []
    while left and right:
        x, y = left[-1], right[-1]
        if isinstance(x, FieldsComponent) or isinstance(y, FieldsComponent):
            if x != y or reordered:
                break
            found.append(FIELDS)
            left.pop()
            right.pop()
            continue
        alike = x.step * x.extent == y.step * y.extent  # for top digits: the same padding
        if x.dim != y.dim or x.top != y.top or not (x.top or alike):
            break
        step = math.lcm(x.step, y.step)
        extent = x.step * x.extent // step if alike else -(-space[x.dim] // step)
        if extent <= 1 and x.step != y.step:
            break
        found.append(Mode(x.dim, extent, step, x.top))
        for mode, stack in ((x, left), (y, right)):
            stack.pop()
            if step > mode.step:
                stack.append(Mode(mode.dim, step // mode.step, mode.step, False))
        if step not in (x.step, y.step):
            break  # blocks that do not nest: nothing below their lcm repeats
    return tuple(found[::-1]), tuple(left), tuple(right)


def _merged(parts: list[NormalPart]) -> tuple[NormalPart, ...]:
    """The parts with adjacent digits of one dimension merged, so that equal prefixes compare equal."""
    found: list[NormalPart] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, Mode) and isinstance(last, Mode) and last.dim == part.dim and last.step * last.extent == part.step:
            found[-1] = Mode(part.dim, last.extent * part.extent, last.step, part.top)
        else:
            found.append(part)
    return tuple(found)


class OrderChange(StrEnum):
    """What a hop does to the order of the entries."""

    KEEPS = "keeps"
    """The layouts at both ends are the same."""
    FORMS = "forms blocks"
    """Runs are gathered into blocks. The order in a block is the one before."""
    CONVERTS = "converts"
    """The order in a block changes: dimensions (or the fields) change places."""
    DISSOLVES = "dissolves blocks"
    """Blocks are taken apart. Their entries keep their order."""
    REORDERS = "reorders blocks"
    """Blocks follow each other in another order, in as many levels as before. Their entries keep their order."""


def order_change(here: Linearization, there: Linearization, *, block: Mapping[str, int] | None = None) -> OrderChange:
    """The change of the order over a hop with the layout `here` at its source and `there` at its destination.

    `block` is the extent of a block by dimension (None: the smallest block of the two layouts). A hop converts where the entries
    of a block, or their fields, follow each other in another order: `<F, x, y>` to `<F, y, x>` converts, `<F, x, y>` to
    `<F, x_in=4, y_in=4, x_out, y_out>` forms blocks.

    Raises:
        InputError: an argument has another type, or a dimension has no extent in `block`.
    """
    for linear in (here, there):
        checks.expect("order_change", linear, Linearization, "a linearization")
    if block is None:
        block = block_of([here, there])
    else:
        block = checks.counts("order_change", block, low=1)
        if missing := [dim for dim in here.space.dims if dim not in block]:
            raise InputError(f"order_change: block: dimension {missing[0]!r} is missing")
    if here.same_as(there):
        return OrderChange.KEEPS
    if _order_in(here, block) != _order_in(there, block):
        return OrderChange.CONVERTS
    levels = len(there.normal) - len(here.normal)
    return OrderChange.FORMS if levels > 0 else OrderChange.DISSOLVES if levels < 0 else OrderChange.REORDERS


def block_of(orders: Sequence[Linearization]) -> dict[str, int]:
    """The coordinates of a block of a path, by dimension: the smallest block of any of its layouts.

    It is larger if the entries of that block keep their order although other dimensions vary first behind a hop, as from
    `<F, x_out, x_in=2>` to `<x_out, F, x_in=2>`: a block is what shows where the order turns.
    """
    cuts = {dim: {size} for dim, size in orders[0].space.as_dict().items()}
    for part in (part for order in orders for part in order.normal):
        if isinstance(part, Mode) and part.step > 1:
            cuts[part.dim].add(part.step)
    steps = {dim: sorted(found) for dim, found in cuts.items()}
    turning = [(a, b) for a, b in itertools.pairwise(orders) if not a.same_as(b) and _first_to_vary(a) != _first_to_vary(b)]
    block: dict[str, int] = {}
    for level in range(max(map(len, steps.values()), default=1)):
        block = {dim: found[min(level, len(found) - 1)] for dim, found in steps.items()}
        if all(_order_in(a, block) != _order_in(b, block) for a, b in turning):
            break
    return block


def _order_in(linear: Linearization, block: Mapping[str, int]) -> tuple[list[NormalPart], tuple[str, ...]]:
    """The order of the entries of a block, and of the fields."""
    found = [Mode(*part[:3], False) if isinstance(part, Mode) else part for part in parts_within(linear.normal, block)]
    return found, linear.fields.names


def _first_to_vary(linear: Linearization) -> list[str]:
    """The dimensions and `F` in the order in which they begin to vary in memory. What has one value never varies."""
    return list(dict.fromkeys(part.dim if isinstance(part, Mode) else "F" for part in linear.normal))
