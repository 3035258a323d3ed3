"""The content of a linearization plot: its axes, the cells drawn one by one, and the cells shown as colours only.

Pure geometry in index space, shared by the static and the interactive plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isoviz.errors import LayoutError
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.modes import FIELDS, Mode
from isoviz.layouts.spaces import FieldSpace, IndexSpace

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Cell:
    """One element as drawn: its place in the shown region, its index and field, and its bytes."""

    column: int
    row: int
    strip: int
    index: tuple[int, ...]
    field: str
    offset: int
    nbytes: int
    rank: int
    padding: bool


@dataclass(frozen=True)
class OrderView:
    """A linearization seen along one or two of its dimensions, the others held at `fixed`.

    `horizontal` runs right and `vertical` down; in one dimension the rows are the fields, in none there is a single column.
    """

    linearization: Linearization
    horizontal: str | None
    vertical: str | None
    fixed: Mapping[str, int]
    fields: tuple[str, ...]

    @property
    def space(self) -> IndexSpace:
        return self.linearization.space

    @property
    def rows_are_fields(self) -> bool:
        return self.vertical is None

    @cached_property
    def columns(self) -> int:
        return self.space[self.horizontal] if self.horizontal else 1

    @cached_property
    def rows(self) -> int:
        return self.space[self.vertical] if self.vertical else len(self.fields)

    def padded(self, dim: str | None) -> int:
        """The size of a dimension with the padding of its last block."""
        if dim is None:
            return 1
        return max(mode.step * mode.extent for mode in self.linearization.parts if isinstance(mode, Mode) and mode.dim == dim)

    def block_steps(self, dim: str | None) -> tuple[int, ...]:
        """The ends of the blocks of a dimension: the step of each digit but the first, smallest first; only true boundaries."""
        if dim is None:
            return ()
        steps = {part.step for part in self.linearization.parts if isinstance(part, Mode) and part.dim == dim and part.step > 1}
        return tuple(sorted(step for step in steps if step < self.space[dim]))

    def along(self, dim: str, coordinates: IntArray, field: str) -> IntArray:
        """The part of the offset that coordinates of a dimension contribute; they may lie in the padding of the last block."""
        total = np.zeros_like(coordinates)
        for mode, stride in self.linearization.strides(field):
            if mode.dim == dim:
                total += coordinates // mode.step % mode.extent * stride
        return total

    def ranks_along(self, dim: str, coordinates: IntArray) -> IntArray:
        """Like `along`, counting entries of one field instead of bytes: neighbours in this order differ by one."""
        total = np.zeros_like(coordinates)
        stride = 1
        for part in self.linearization.parts:
            if isinstance(part, Mode):
                if part.dim == dim:
                    total += coordinates // part.step % part.extent * stride
                stride *= part.extent
        return total

    def base(self, field: str) -> int:
        """Offset of the shown element of a field at (0, 0) of the axes."""
        return self.linearization.field_base(field) + sum(
            int(self.along(dim, np.asarray([at], np.int64), field)[0]) for dim, at in self.fixed.items()
        )

    def offsets(self, columns: IntArray, rows: IntArray, field: str) -> IntArray:
        """Byte offsets of a field on the axes, shape (rows, columns)."""
        total = np.full((len(rows), len(columns)), self.base(field), dtype=np.int64)
        if self.horizontal:
            total += self.along(self.horizontal, columns, field)[None, :]
        if self.vertical:
            total += self.along(self.vertical, rows, field)[:, None]
        return total

    def cells(self, columns: int, rows: int) -> list[Cell]:
        """Every element in the first `columns` × `rows` places, padding included, in the order of storage."""
        across = np.arange(columns, dtype=np.int64)
        down = np.arange(rows if self.vertical else 1, dtype=np.int64)
        rank = np.zeros((len(down), len(across)), np.int64)
        if self.horizontal:
            rank += self.ranks_along(self.horizontal, across)[None, :]
        if self.vertical:
            rank += self.ranks_along(self.vertical, down)[:, None]
        found: list[Cell] = []
        for strip, field in enumerate(self.fields if self.vertical else self.fields[:rows]):
            nbytes = self.linearization.fields.sizes[self.linearization.fields.index(field)]
            table = self.offsets(across, down, field)
            for i in range(len(down)):
                for j in range(len(across)):
                    padding = j >= self.columns or (self.vertical is not None and i >= self.rows)
                    row, part = (i, strip) if self.vertical else (strip, 0)
                    found.append(Cell(j, row, part, self._index(j, i), field, int(table[i, j]), nbytes, int(rank[i, j]), padding))
        return sorted(found, key=lambda cell: cell.offset)

    def _index(self, column: int, row: int) -> tuple[int, ...]:
        at = {**self.fixed}
        if self.horizontal:
            at[self.horizontal] = column
        if self.vertical:
            at[self.vertical] = row
        return tuple(at[dim] for dim in self.space.dims)

    def follows(self, first: Cell, second: Cell) -> bool:
        """Whether two cells are contiguous: in memory, or in the order of the one field that is drawn."""
        if len(self.fields) < len(self.linearization.fields) and len(self.fields) == 1:
            return second.rank == first.rank + 1
        return second.offset == first.offset + first.nbytes


def order_view(
    layout: Layout | Linearization | str,
    space: IndexSpace | None = None,
    fields: FieldSpace | None = None,
    *,
    axes: Sequence[str] | None = None,
    field: str | None = None,
    fixed: Mapping[str, int] | None = None,
) -> OrderView:
    """Choose the content of a plot. `axes` are one or two dimensions (right, down), `field` picks one field, `fixed` holds the
    others.

    Raises:
        LayoutError: an unknown axis, or a coordinate out of range. SpaceError: an unknown field.
    """
    linearization = layout if isinstance(layout, Linearization) else _on(layout, space, fields)
    space = linearization.space
    chosen = tuple(axes) if axes is not None else default_axes(linearization)
    if len(chosen) != len(set(chosen)) or len(chosen) > 2 or any(dim not in space for dim in chosen):
        raise LayoutError(f"axes {chosen}: expected one or two different dimensions of ({space})")
    if space.dims and not chosen:
        raise LayoutError(f"axes: expected one or two dimensions of ({space})")
    held = {dim: (fixed or {}).get(dim, 0) for dim in space if dim not in chosen}
    for dim, at in held.items():
        if not 0 <= at < space[dim]:
            raise LayoutError(f"slice {dim}={at}: expected 0 to {space[dim] - 1}")
    if field is not None:
        linearization.fields.index(field)
    shown = (field,) if field is not None else linearization.fields.names
    return OrderView(linearization, chosen[0] if chosen else None, chosen[1] if len(chosen) > 1 else None, held, tuple(shown))


def default_axes(linearization: Linearization, other: Linearization | None = None) -> tuple[str, ...]:
    """The one or two dimensions that show the order best, in the order of the index space.

    They are the dimension that varies fastest and, with `other`, the one that varies fastest there: a transfer transposes these
    two.
    """
    space = linearization.space
    moving = [dim for dim in _by_speed(linearization) if space[dim] > 1] or list(space.dims)
    chosen = moving[:1]
    candidates = [dim for dim in _by_speed(other) if space[dim] > 1][:1] if other is not None and other.space == space else []
    chosen += [dim for dim in (*candidates, *moving) if dim not in chosen][:1]
    return tuple(sorted(chosen, key=space.dims.index))


def _by_speed(linearization: Linearization) -> list[str]:
    return list(linearization.layout.dims)


def _on(layout: Layout | str, space: IndexSpace | None, fields: FieldSpace | None) -> Linearization:
    made = Layout(layout)
    if space is None:
        space = example_space(made)
    return made.on(space, fields if fields is not None else example_fields(made))


def example_space(layout: Layout) -> IndexSpace:
    """A small index space on which a layout shows its structure: two or three of each block, otherwise four of each dimension."""
    sizes: dict[str, int] = {}
    many = len(layout.dims) == 1
    for dim in layout.dims:
        digits = layout.digits[dim]
        inner = 1
        for digit in digits[:-1]:
            inner *= digit.extent or 1
        sizes[dim] = (8 if many else 4) if len(digits) == 1 else inner * (2 if inner > 2 or len(layout.dims) > 1 else 4)
    return IndexSpace.of(dict(sorted(sizes.items())))


def example_fields(layout: Layout) -> FieldSpace:
    """Two fields where the place of `F` matters, one where `F` is fastest in more than one dimension."""
    if layout.components[0] == FIELDS and len(layout.dims) > 1:
        return FieldSpace(value="float32")
    return FieldSpace(a="float32", b="float32")
