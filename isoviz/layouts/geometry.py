"""Strided copies between two views of the same entries: the only description of a copy in isoviz.

An offset is a sum over the dimensions. The term of a dimension is a sum over its digits: Σ ⌊(i + origin) / step⌋ × weight.
Therefore a range of one dimension can be cut into pieces on which both offsets are affine in a few loop counters. A box is a
union of products of such pieces, and each product is one strided copy. Blocks that divide the range evenly give one piece;
ragged ends and sub-boxes give a few more. Blocks that do not nest (4 and 6) give one piece per overlap within their common
period. Entries that a list names along a dimension lie anywhere: they are one copy with a table of offsets (`ListedCopy`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import LayoutError
from isoviz.layouts.copies import ListedCopy, Loop, StridedCopy, listed, step_of
from isoviz.layouts.given_arrays import array_order
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.lists import ListedLinearization
from isoviz.layouts.modes import FIELDS, Component
from isoviz.layouts.spaces import Box, IndexSpace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isoviz.layouts.layout import IntArray


Found = TypeVar("Found")


@dataclass(frozen=True)
class View:
    """One end of a copy: a part of an instance, or a slot that holds a part.

    Local index (0, …, 0) is index `origin` of the linearization. `base` is added to every byte offset: if the first byte of a
    slot is byte n of its layout, `base` is −n.
    """

    linearization: Linearization
    origin: tuple[int, ...] = ()
    base: int = 0

    def __post_init__(self) -> None:
        expect("view", self.linearization, Linearization, "a linearization")
        dims = len(self.linearization.space)
        given = checks.items("view, origin", self.origin, "whole numbers") or (0,) * dims
        origin = tuple([checks.count("view", "origin", at, error=LayoutError) for at in given])
        if len(origin) != dims:
            raise LayoutError(f"view: origin {origin}: expected {dims} coordinates")
        object.__setattr__(self, "origin", origin)
        if type(self.base) is not int:
            base = checks.count("view", "base", self.base, low=-checks.BYTES_LIMIT, error=LayoutError)
            object.__setattr__(self, "base", base)

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The dimensions, in the order of the local index."""
        return self.linearization.space.dims

    @property
    def listed(self) -> str | None:
        """The dimension along which a list names the entries; None without a list."""
        return self.linearization.listed if isinstance(self.linearization, ListedLinearization) else None

    def places(self, dim: str, low: int, high: int, field: str) -> IntArray:
        """What the local coordinates `low` to `high` - 1 of a dimension add to the offset of a field, in bytes."""
        origin = self.origin[self.dims.index(dim)]
        return self.linearization.dim_offsets(dim, field, origin + low, origin + high)


def view_of_array(array: Any, dims: Sequence[str] | None = None) -> View:
    """The view of an array (as in `Layout.of`). If its rows have gaps (a pitch), it is a box in a larger instance without gaps.

    `dims` names the axes in order (default: …, `y`, `x`). Offsets count from the array's first element.

    Raises:
        LayoutError: no layout has these strides (reversed or repeated axes, or a pitch that is not a multiple of the faster
            stride).
    """
    order = array_order(array, dims)
    layout = Layout((FIELDS, *map(Component, order.dims)))
    return View(layout.on(IndexSpace.of(order.sizes), order.fields))


class _Piece(NamedTuple):
    """Local coordinates start + Σ k·step over loops (extent, step). Both offsets are affine on them."""

    start: int
    loops: tuple[tuple[int, int], ...]


def strided_copies(
    source: View, destination: View, box: Box, fields: Sequence[str] | None = None, *, padding: bool = False
) -> list[StridedCopy]:
    """The copies that move the entries of a box between two views. The box is in local coordinates.

    `fields` names the fields to move (default: all fields of the destination). Both views must have these fields with the same
    sizes. Both must have the same dimensions, in any order; `box` follows the order of the source. With `padding` the box may
    exceed the index spaces, as far as both ends have room.

    Raises:
        LayoutError: dimensions or field sizes differ, or the box leaves one of the instances.
    """
    checks.flag_argument("copy", "padding", padding)
    for view in (source, destination):
        expect("copy", view, View, "a view at each end")
    expect("copy", box, Box, "a box")
    if fields is not None:
        fields = checks.names("copy, fields", fields, "names of fields")
    a, b = source.linearization, destination.linearization
    names = tuple(b.fields.names if fields is None else fields)
    _check(source, destination, box, names, padding=padding)
    if box.volume == 0:
        return []
    found: list[StridedCopy] = []
    groups = _mergeable(a, b, names)
    if (dim := source.listed or destination.listed) is not None:
        return list(_kept_copies(source, destination, box, groups, dim))
    # The pieces depend on where digits wrap around, which is the same for all fields with the same strides.
    for group in groups:
        found += _copies_of(source, destination, box, group)
    return joined(found)


def kept_by_views(function: Callable[..., Found]) -> Callable[..., Found]:
    """Keep what a function of two views finds. What belongs to a list goes with the list: a cache of all views would keep the
    tables of old ones."""
    known = lru_cache(maxsize=4096)(function)

    @wraps(function)
    def found(source: View, destination: View, *more: Any) -> Found:
        for lin in (source.linearization, destination.linearization):
            if isinstance(lin, ListedLinearization):
                key = function, source, destination, *more
                if key not in lin.known:
                    lin.known[key] = function(source, destination, *more)
                result: Found = lin.known[key]
                return result
        return known(source, destination, *more)

    return found


@kept_by_views
def mean_run(source: View, destination: View, shape: tuple[int, ...], fields: tuple[str, ...]) -> float:
    """The bytes that the copies of a box move on average between two gaps, at its origin in both views; infinite without a gap.

    `shape` is in the order of the source's dimensions. Of a box that is cut into very many pieces a part counts. A list counts as
    a whole: its entries that follow each other at both ends are one run.

    Raises:
        LayoutError: as `strided_copies`.
    """
    copies, share = copies_at_origin(source, destination, shape, fields)
    count = sum([copy.run_count for copy in copies])
    return sum([copy.nbytes for copy in copies]) / count if count > 1 or share < 1 else math.inf


def copies_at_origin(
    source: View, destination: View, shape: tuple[int, ...], fields: tuple[str, ...]
) -> tuple[list[StridedCopy], float]:
    """The copies of a box at its origin in both views, or of a part of it where it is cut into very many pieces, and the share
    of the box that they move."""
    extents, listed = list(shape), (source.listed, destination.listed)
    while True:
        pieces = [
            1 if dim in listed else _most_pieces(extent, source, destination, dim, fields[0])
            for dim, extent in zip(source.dims, extents, strict=True)
        ]
        if math.prod(pieces) <= MOST_PIECES:
            break
        longest = max(range(len(pieces)), key=pieces.__getitem__)
        extents[longest] = -(-extents[longest] // 2)
    copies = strided_copies(source, destination, Box((0,) * len(shape), tuple(extents)), fields)
    return copies, math.prod(extents) / math.prod(shape) if extents != list(shape) else 1.0


MOST_PIECES = 1024
"""`copies_at_origin` looks at a part of a box that is cut into more pieces than this."""


def _most_pieces(extent: int, source: View, destination: View, dim: str, field: str) -> int:
    """About the number of pieces of a range of one dimension, up to what repeats."""
    steps = [step for view in (source, destination) for step, _ in _Axis(view, dim, field).turns]
    return 1 + sum([min(extent, 2 * math.lcm(*steps)) // step for step in steps])


def _check(source: View, destination: View, box: Box, names: tuple[str, ...], *, padding: bool) -> None:
    if set(source.dims) != set(destination.dims):
        raise LayoutError(f"copy: dimensions ({', '.join(source.dims)}) and ({', '.join(destination.dims)}) differ")
    if len(box.lo) != len(source.dims):
        raise LayoutError(f"copy: box of {len(box.lo)} dimensions; expected {len(source.dims)}")
    for view, end in ((source, "source"), (destination, "destination")):
        for dim, hi in zip(source.dims, box.hi, strict=True):
            reach = hi + view.origin[view.dims.index(dim)]
            room = view.linearization.space[dim] + (view.linearization.padding[dim] if padding else 0)
            if reach > room and box.volume:
                raise LayoutError(f"copy: box reaches {dim}={reach}, the {end} has {room}")
    a, b = source.linearization.fields, destination.linearization.fields
    for name in names:
        if a.sizes[a.index(name)] != b.sizes[b.index(name)]:
            raise LayoutError(
                f"copy: field {name!r} has {a.sizes[a.index(name)]} bytes in the source,"
                f" {b.sizes[b.index(name)]} in the destination"
            )


class _Group(NamedTuple):
    """Neighbouring fields that have the same strides: one wide element of `width` bytes, or a loop of `repeat` elements."""

    first: str
    width: int
    repeat: int
    source_step: int
    destination_step: int


def _mergeable(a: Linearization, b: Linearization, names: tuple[str, ...]) -> list[_Group]:
    """Fields in as few groups as possible. Contiguous fields become a wider element, evenly spaced fields a loop."""
    groups: list[_Group] = []
    ends: list[tuple[int, int, tuple[object, ...]]] = []
    for name in names:
        size = a.fields.sizes[a.fields.index(name)]
        at, to = a.field_base(name), b.field_base(name)
        strides: tuple[object, ...] = tuple(stride for lin in (a, b) for _, stride in lin.strides(name))
        if groups and strides == ends[-1][2] and (at, to) == (ends[-1][0], ends[-1][1]) and groups[-1].repeat == 1:
            groups[-1] = groups[-1]._replace(width=groups[-1].width + size)
        else:
            groups.append(_Group(name, size, 1, 0, 0))
            ends.append((0, 0, ()))
        ends[-1] = (at + size, to + size, strides)
    found: list[_Group] = []
    for group, (_, _, strides) in zip(groups, ends, strict=True):
        if found and (step := _step(a, b, found[-1], group, strides)) is not None:
            found[-1] = found[-1]._replace(repeat=found[-1].repeat + 1, source_step=step[0], destination_step=step[1])
        else:
            found.append(group)
    return found


def _step(a: Linearization, b: Linearization, last: _Group, group: _Group, strides: tuple[object, ...]) -> tuple[int, int] | None:
    """The strides (source, destination) of the loop over fields `last` with `group` added; None if `group` does not fit it."""
    if last.width != group.width or strides != tuple(stride for lin in (a, b) for _, stride in lin.strides(last.first)):
        return None
    here = a.field_base(group.first) - a.field_base(last.first), b.field_base(group.first) - b.field_base(last.first)
    if last.repeat == 1:
        return here
    return (
        (last.source_step, last.destination_step)
        if here
        == (
            last.repeat * last.source_step,
            last.repeat * last.destination_step,
        )
        else None
    )


def _kept_copies(source: View, destination: View, box: Box, groups: list[_Group], dim: str) -> list[StridedCopy]:
    """The copies of a box whose entries a list names along `dim`, the same ones for the same box: devices keep facts on them."""
    lin = source.linearization if source.listed else destination.linearization
    assert isinstance(lin, ListedLinearization)
    key = source, destination, box, tuple(groups)
    if key not in lin.known:
        if len(lin.known) >= MOST_KEPT:
            lin.known.clear()
        lin.known[key] = joined([copy for group in groups for copy in _listed_copies(source, destination, box, group, dim)])
    found: list[StridedCopy] = lin.known[key]
    return found


MOST_KEPT = 1024
"""The most boxes of a list whose copies are kept."""


def _listed_copies(source: View, destination: View, box: Box, group: _Group, dim: str) -> list[StridedCopy]:
    """The copies of a box whose entries a list names along `dim`: those of a single entry, for each place in the tables."""
    axis = source.dims.index(dim)
    here, there = (view.places(dim, box.lo[axis], box.hi[axis], group.first) for view in (source, destination))
    from_here, to_there = step_of(here), step_of(there)
    even = None if from_here is None or to_there is None else (len(here), from_here, to_there)
    found: list[StridedCopy] = []
    for copy in _copies_of(source, destination, box, group, without=dim):
        at, to, run, loops = copy
        if even is not None and (len(here) == 1 or min(even) > 0):
            found.append(merged(at + int(here[0]), to + int(there[0]), run, (*loops, even)))
        else:
            found.append(listed((at, to), here, there, run, loops))
    return found


def _copies_of(source: View, destination: View, box: Box, group: _Group, without: str | None = None) -> list[StridedCopy]:
    """The copies of a group of fields. The dimension `without` adds nothing to their offsets, and has no loop."""
    per_dim: list[list[tuple[int, int, tuple[Loop, ...]]]] = []
    for dim, lo, hi in zip(source.dims, box.lo, box.hi, strict=True):
        if dim == without:
            per_dim.append([(0, 0, ())])
            continue
        here, there = _Axis(source, dim, group.first), _Axis(destination, dim, group.first)
        per_dim.append(
            [
                (
                    here.at(piece.start),
                    there.at(piece.start),
                    tuple((extent, here.step(piece.start, step), there.step(piece.start, step)) for extent, step in piece.loops),
                )
                for piece in _pieces(lo, hi, here.turns + there.turns)
            ]
        )
    at = source.base + source.linearization.field_base(group.first)
    to = destination.base + destination.linearization.field_base(group.first)
    over_fields = ((group.repeat, group.source_step, group.destination_step),) if group.repeat > 1 else ()
    return [
        merged(
            at + sum(piece[0] for piece in pieces),
            to + sum(piece[1] for piece in pieces),
            group.width,
            (*over_fields, *(loop for piece in pieces for loop in piece[2])),
        )
        for pieces in itertools.product(*per_dim)
    ]


class _Axis:
    """One dimension of a view: its part of the offset, and the coordinates at which its digits wrap around."""

    def __init__(self, view: View, dim: str, field: str) -> None:
        self.origin = view.origin[view.dims.index(dim)]
        self.weights = view.linearization.steps(dim, field)

    @property
    def turns(self) -> tuple[tuple[int, int], ...]:
        """Pairs (step, phase): the offset is affine between the coordinates i with (i + phase) % step == 0."""
        return tuple((step, self.origin % step) for step, _ in self.weights if step > 1)

    def at(self, i: int) -> int:
        return sum((i + self.origin) // step * weight for step, weight in self.weights)

    def step(self, i: int, by: int) -> int:
        return self.at(i + by) - self.at(i)


def _pieces(lo: int, hi: int, turns: Iterable[tuple[int, int]]) -> list[_Piece]:
    """The range lo ≤ i < hi cut into pieces on which the offsets are affine. `turns` are pairs (step, phase)."""
    distinct = sorted(set(turns))
    if not distinct:
        return [_Piece(lo, ((hi - lo, 1),) if hi - lo > 1 else ())] if hi > lo else []
    step, phase = distinct[-1]
    period = math.lcm(*(turn[0] for turn in distinct))
    first = lo + -(lo + phase) % step  # whole periods begin where the slowest digit changes
    periods = (hi - first) // period if hi > first else 0
    if periods < 2:
        return _cut(lo, hi, step, phase, distinct[:-1])
    last = first + periods * period
    repeated = [
        _Piece(piece.start, ((periods, period), *piece.loops))
        for piece in _cut(first, first + period, step, phase, distinct[:-1])
    ]
    return [*_cut(lo, first, step, phase, distinct[:-1]), *repeated, *_cut(last, hi, step, phase, distinct[:-1])]


def _cut(lo: int, hi: int, step: int, phase: int, rest: list[tuple[int, int]]) -> list[_Piece]:
    """Pieces of a range that is cut at every change of one digit. Between two cuts only the faster digits (`rest`) change."""
    found: list[_Piece] = []
    while lo < hi:
        end = min(hi, lo + step - (lo + phase) % step)
        found += _pieces(lo, end, rest)
        lo = end
    return found


def merged(source_offset: int, destination_offset: int, run: int, loops: Iterable[Loop]) -> StridedCopy:
    """The copy with the fewest loops, slowest first by destination. Contiguous loops extend the run; chained loops are merged."""
    ordered = sorted((loop for loop in loops if loop[0] > 1), key=lambda loop: (loop[2], loop[1]))
    found: list[Loop] = []
    for extent, here, there in ordered:
        if not found and here == there == run:
            run *= extent
        elif found and (here, there) == (found[-1][0] * found[-1][1], found[-1][0] * found[-1][2]):
            found[-1] = (found[-1][0] * extent, *found[-1][1:])
        else:
            found.append((extent, here, there))
    return StridedCopy(source_offset, destination_offset, run, tuple(found[::-1]))


def joined(copies: list[StridedCopy]) -> list[StridedCopy]:
    """The copies with adjacent ones joined: their loops are equal, and their runs are adjacent at both ends.

    Such copies come from ragged ends, from chunks of several boxes, and from fields of different sizes that are adjacent at both
    ends.
    """
    found: list[StridedCopy] = []
    for copy in sorted(copies, key=lambda copy: copy.destination_offset):
        last = found[-1] if found else None
        if (
            last is not None
            and not isinstance(copy, ListedCopy)
            and last.loops == copy.loops
            and last.source_offset + last.run == copy.source_offset
            and last.destination_offset + last.run == copy.destination_offset
        ):
            found[-1] = StridedCopy(last.source_offset, last.destination_offset, last.run + copy.run, copy.loops)
        else:
            found.append(copy)
    return joined([_without_loops(copy) for copy in found]) if len(found) < len(copies) else found


def _without_loops(copy: StridedCopy) -> StridedCopy:
    """The copy with contiguous loops merged into its run."""
    if isinstance(copy, ListedCopy):
        return copy
    run, loops = copy.run, list(copy.loops)
    while (inner := next((loop for loop in loops if loop[1] == loop[2] == run), None)) is not None:
        run *= inner[0]
        loops.remove(inner)
    return StridedCopy(copy.source_offset, copy.destination_offset, run, tuple(loops))
