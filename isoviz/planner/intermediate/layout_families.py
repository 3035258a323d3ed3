"""The digits that two layouts have in common, and the families of layouts between them, without sizes.

Both depend on a transfer's sizes only through the question which digits exist. So they are worked out once per pair of layouts; a
transfer of another size only fills in its numbers (`intermediate_layouts`, which also explains the families).
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from isoviz.forks import Lock
from isoviz.layouts import Mode

if TYPE_CHECKING:
    from isoviz.layouts import Layout, Linearization

F = -1
"""The number of the field space among the digits of an order."""


class Digit(NamedTuple):
    """A digit of the common refinement of both ends: coordinate i has (i // step) % extent.

    Only a `top` digit may extend beyond the size of its dimension.
    """

    dim: str
    step: int
    extent: int
    top: bool


class Order(NamedTuple):
    """One end's order of the refined digits, fastest first.

    `digits` are numbers of digits, `F` for the field space. `whole[i]` says that digit i and the next one are parts of one digit
    of that end.
    """

    digits: tuple[int, ...]
    whole: tuple[bool, ...]


class Run(NamedTuple):
    """A run at one end: the first `least` digits of its order, times a cut up to the first `most` digits, times the digits
    `onwards`."""

    least: int
    most: int
    onwards: tuple[int, ...] = ()


class FamilyTemplate(NamedTuple):
    """A `LayoutFamily` without its numbers.

    `first` and `last` are its runs, None where everything is one run. `inside` holds its complete digits without F. Templates
    with the same `number` differ only in their runs, and the first of them counts.
    """

    number: int
    complete: frozenset[int]
    inside: tuple[int, ...]
    cut_a: int | None
    cut_b: int | None
    first: Run | None
    last: Run | None
    scattered: tuple[int, ...]
    follows: str


@dataclass(frozen=True, eq=False)
class Structure:
    """What two layouts have in common. The extent of a top digit is 0 here, because it depends on the size.

    `tops` are the top digits: number, dimension and step. `prefix` holds the digits with which both orders begin; where neither
    end pads they are PREFIX. `at_fields` says that both continue with the fields, in different orders. `same` says that both
    orders are equal.
    """

    digits: tuple[Digit, ...]
    orders: tuple[Order, Order]
    non_nesting_dims: frozenset[str]
    templates: tuple[FamilyTemplate, ...]
    tops: tuple[tuple[int, str, int], ...]
    prefix: tuple[int, ...]
    at_fields: bool
    same: bool


Skeleton = tuple[tuple[str, int, int, bool] | None, ...]
"""A normal form without sizes: its digits like `Digit`, None for the field space."""


def structure_of(source: Linearization, destination: Linearization) -> Structure:
    """The structure of two linearizations of one index space."""
    # Sizes decide only which digits a normal form omits: those with a single value.
    ones = [part.extent == 1 for lin in (source, destination) for part in lin.parts if isinstance(part, Mode)]
    reordered = source.fields.names != destination.fields.names
    key = source.layout, destination.layout, source.space.dims, len(source.fields) == 1, reordered, tuple(ones)
    found = _STRUCTURES.get(key)
    if found is None:
        found = _structure(source.space.dims, (), _skeleton(source), _skeleton(destination), reordered)
        with _LOCK:
            _STRUCTURES[key] = found
            while len(_STRUCTURES) > MOST_STRUCTURES:
                _STRUCTURES.popitem(last=False)
    if not found.non_nesting_dims:
        return found
    # Blocks that do not nest repeat together at their least common multiple, which may exceed the size.
    return _structure(source.space.dims, source.space.sizes, _skeleton(source), _skeleton(destination), reordered)


MOST_STRUCTURES = 1024
"""Structures that are cached, one per pair of layouts, those used last."""
_STRUCTURES: OrderedDict[tuple[Layout, Layout, tuple[str, ...], bool, bool, tuple[bool, ...]], Structure] = OrderedDict()
_LOCK = Lock()


def _skeleton(lin: Linearization) -> Skeleton:
    return tuple(
        [
            (part.dim, part.step, 0 if part.top else part.extent, part.top) if isinstance(part, Mode) else None
            for part in lin.normal
        ]
    )


@lru_cache(maxsize=256)
def _structure(dims: tuple[str, ...], sizes: tuple[int, ...], a: Skeleton, b: Skeleton, reordered: bool) -> Structure:
    """The structure of two skeletons; `sizes` is empty where the digits do not depend on the sizes.

    `reordered` says that the two ends have the fields in different orders.
    """
    non_nesting_dims: set[str] = set()
    digits: list[Digit] = []
    numbers: dict[str, list[int]] = {}
    for i, dim in enumerate(dims):
        numbers[dim] = []
        steps = {part[1] for part in (*a, *b) if part is not None and part[0] == dim}
        if not steps:
            continue  # of size 1
        chain = [1]
        for cut in sorted(steps - {1}):
            if cut % chain[-1]:
                non_nesting_dims.add(dim)
                chain[-1] = math.lcm(chain[-1], cut)  # a common digit starts only where both repeat
            else:
                chain.append(cut)
        chain = sorted({1, *chain})
        if sizes:
            chain = [cut for cut in chain if cut < sizes[i] or cut == 1]
        for step, end in itertools.zip_longest(chain, chain[1:]):
            numbers[dim].append(len(digits))
            digits.append(Digit(dim, step, 0 if end is None else end // step, end is None))
    orders = _order(a, digits, numbers), _order(b, digits, numbers)
    templates: Sequence[FamilyTemplate] = ()
    if not non_nesting_dims:
        templates = _all_templates(tuple(digits), orders[0].digits, orders[1].digits, reordered)
    tops = tuple((number, digit.dim, digit.step) for number, digit in enumerate(digits) if digit.top)
    prefix = _common(orders[0].digits, orders[1].digits, reordered)
    at_fields = reordered and all(order.digits[len(prefix) :][:1] == (F,) for order in orders)
    same = a == b and not reordered
    return Structure(tuple(digits), orders, frozenset(non_nesting_dims), tuple(templates), tops, prefix, at_fields, same)


def _common(a: Sequence[int], b: Sequence[int], reordered: bool) -> tuple[int, ...]:
    """The digits with which both orders begin; without the fields where these are in different orders."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return tuple(itertools.takewhile(lambda digit: digit != F or not reordered, [digit for digit, _ in pairs]))


def _order(skeleton: Skeleton, digits: list[Digit], numbers: dict[str, list[int]]) -> Order:
    found: list[int] = []
    whole: list[bool] = []
    for part in skeleton:
        if part is None:
            found.append(F)
            whole.append(False)
            continue
        dim, step, extent, top = part
        end = math.inf if top else step * extent
        covered = [n for n in numbers[dim] if step <= digits[n].step < end and n not in found]
        found += covered
        whole += [True] * (len(covered) - 1) + [False] * (len(covered) > 0)
    return Order(tuple(found), tuple(whole))


def _all_templates(digits: tuple[Digit, ...], a: tuple[int, ...], b: tuple[int, ...], reordered: bool) -> list[FamilyTemplate]:
    """All templates; the numbers of a transfer decide which of them can be optimal."""
    found = _TemplateList(digits)
    # L = A: the block is a beginning of A's order with its last digit cut; then the same with M = B.
    for inside, cut, last in _kept_whole(a, b, reordered):
        found.add(inside, cut, cut, None, last, "source")
    for inside, cut, first in _kept_whole(b, a, reordered):
        found.add(inside, cut, cut, first, None, "destination")
    for i, j in itertools.product(range(len(a) + 1), range(len(b) + 1)):
        complete = frozenset(a[:i]) | frozenset(b[:j])
        next_a, next_b = a[i : i + 1], b[j : j + 1]
        if complete.intersection(next_a) or complete.intersection(next_b):
            continue  # the family with one more whole digit has the same blocks and longer runs
        cut_a, cut_b = (ahead[0] if ahead and ahead[0] != F else None for ahead in (next_a, next_b))
        if cut_a == cut_b and complete in (frozenset(a[:i]), frozenset(b[:j])):
            continue  # found above, where one end keeps its whole order
        found.add(complete, cut_a, cut_b, Run(i, i + (cut_a is not None)), Run(j, j + (cut_b is not None)), "")
    return found.templates


class _TemplateList:
    """A growing list of templates, with a number for each distinct block."""

    def __init__(self, digits: tuple[Digit, ...]) -> None:
        self.digits = digits
        self.numbers: dict[tuple[frozenset[int], int | None, int | None, str], int] = {}
        self.templates: list[FamilyTemplate] = []

    def add(
        self, complete: frozenset[int], cut_a: int | None, cut_b: int | None, first: Run | None, last: Run | None, follows: str
    ) -> None:
        if Run(0, 0) in (first, last):
            return  # a run of one element is no longer than that of the conversion
        scattered = _scattered(self.digits, complete, (cut_a, cut_b))
        if scattered:  # with the missing digits added, the block is one box
            joined = complete | _below(self.digits, scattered)
            if cut_a not in joined and cut_b not in joined:
                self.add(joined, cut_a, cut_b, first, last, "")
        number = self.numbers.setdefault((complete, cut_a, cut_b, follows), len(self.numbers))
        inside = tuple(sorted(complete - {F}))
        self.templates.append(FamilyTemplate(number, complete, inside, cut_a, cut_b, first, last, scattered, follows))


def _kept_whole(
    kept: tuple[int, ...], other: tuple[int, ...], reordered: bool
) -> Iterator[tuple[frozenset[int], int | None, Run | None]]:
    """Blocks that are beginnings of one end's order: their complete digits, the digit that is cut, and the run at the other
    end."""
    for i in range(len(kept) + 1):
        inside = frozenset(kept[:i])
        j = next((j for j, digit in enumerate(other) if digit not in inside), len(other))
        if i < len(kept) and kept[i] != F and j < len(other) and other[j] == kept[i]:
            yield inside, kept[i], Run(j, j + 1)
        elif frozenset(other[:j]) == inside:
            # The run continues with the digits that follow alike in both orders; where these are all, everything is one run.
            common = _common(kept[i:], other[j:], reordered)
            onwards = tuple(digit for digit in common if digit != F)
            yield inside, None, None if len(common) == len(kept) - i else Run(j, j, onwards)
        else:
            yield inside, None, Run(j, j)


def _scattered(digits: tuple[Digit, ...], complete: frozenset[int], cuts: Sequence[int | None]) -> tuple[int, ...]:
    """The digits of a block that lack a faster digit of their dimension."""
    inside = [digit for digit in (*sorted(complete), *cuts) if digit is not None and digit != F]
    return tuple(sorted({digit for digit in inside if _below(digits, (digit,)) - complete}))


def _below(digits: tuple[Digit, ...], above: Sequence[int]) -> frozenset[int]:
    """The faster digits of the same dimensions."""
    return frozenset(
        n for n, digit in enumerate(digits) if any(digit.dim == digits[i].dim and digit.step < digits[i].step for i in above)
    )
