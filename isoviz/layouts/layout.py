"""Layouts and linearizations (Isometry, section 2).

A layout is the order in which an instance is stored, fastest-varying component first. On an index space and a field space it
defines a map (index, field) → byte offset, the linearization:

- A digit faster than `F` has stride (product of the extents before it) × (size of the field).
- `F` contributes (product of the extents before it) × (sum of the sizes of the fields before the field).
- A digit slower than `F` has stride (product of the extents before it) × `|F|`.

Therefore fields of different sizes have different strides. If a block does not divide its dimension, the last block is padded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import LayoutError, show
from isoviz.layouts.given_arrays import dense_order
from isoviz.layouts.modes import (
    FIELDS,
    Component,
    Mode,
    NormalPart,
    Part,
    modes_of,
    normal_form,
    steps_of,
    strides_of,
    whole_dimensions,
)
from isoviz.layouts.notation import check_components, parse
from isoviz.layouts.spaces import MAX_BYTES, FieldSpace, IndexSpace

Index = Sequence[int] | Mapping[str, int]
IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """A sequence of digits and `F`, **fastest-varying first**.

    `Layout("<F, x, y>")` stores the fields of an entry together, and neighbours in x are adjacent. It is the C-order NumPy array
    of shape (y, x) with a structured dtype. `Layout("<x, y, F>")` stores one field after the other, as the C-order array of shape
    (fields, y, x).

    Raises:
        NotationError: the text is not a layout. The message points at the invalid character.
        LayoutError: the components do not form a layout.
    """

    components: tuple[Part, ...]

    def __init__(self, layout: str | Iterable[Part] | Layout) -> None:
        if isinstance(layout, Layout):
            components = layout.components
        elif isinstance(layout, str):
            components = parse(layout)
        else:
            try:
                components = tuple(layout)
            except TypeError:
                raise LayoutError(f"layout {show(layout)}: expected text such as '<F, x>', or components") from None
            check_components(components)
        object.__setattr__(self, "components", components)

    @classmethod
    def of(cls, array: Any, dims: Sequence[str] | None = None) -> Layout:
        """The layout of an array: a NumPy array, an array on a GPU (CuPy, PyTorch, Numba), or any array that supports DLPack.

        `dims` names its axes in order (default: …, `y`, `x`; the last axis is x). So a C-order array of shape (3, 4) has
        `<F, x, y>` and a Fortran-order one `<F, y, x>`.

        Raises:
            ArrayError: `array` is not such an array, has a mask, or is not dense. `isoviz.layouts.view_of_array` accepts rows
                with gaps.
            LayoutError: the names do not fit its axes.
        """
        return cls((FIELDS, *map(Component, dense_order(array, dims).dims)))

    @classmethod
    def unchecked(cls, components: tuple[Part, ...]) -> Layout:
        """The layout of components that are known to be valid. They are not checked."""
        layout = cls.__new__(cls)
        object.__setattr__(layout, "components", components)
        return layout

    @classmethod
    def aos(cls, *dims: str) -> Layout:
        """Array of structs, `<F, x, y, …>`: a structured NumPy array. Its last axis is the first dimension in `dims`.

        `Layout.aos("x", "y")` is `numpy.zeros((ny, nx), fields.dtype)`.
        """
        return cls((FIELDS, *whole_dimensions(dims)))

    @classmethod
    def soa(cls, *dims: str) -> Layout:
        """Struct of arrays, `<x, y, …, F>`: one C-order array of shape (…, ny, nx) per field, stored one after the other.

        If all fields have one type, `Layout.soa("x", "y")` is `numpy.zeros((n_fields, ny, nx), dtype)`.
        """
        return cls((*whole_dimensions(dims), FIELDS))

    @classmethod
    def row_major(cls, *dims: str) -> Layout:
        """The C-order structured array with the axes `dims`: the **last** dimension varies fastest.

        `Layout.row_major("row", "column")` is `numpy.zeros((n_row, n_column), fields.dtype)`, i.e. `<F, column, row>`.
        """
        return cls((FIELDS, *whole_dimensions(dims[::-1])))

    @classmethod
    def column_major(cls, *dims: str) -> Layout:
        """The Fortran-order structured array with the axes `dims`: the **first** dimension varies fastest.

        `Layout.column_major("row", "column")` is `numpy.zeros((n_row, n_column), fields.dtype, order="F")`, i.e. `<F, row,
        column>`.
        """
        return cls((FIELDS, *whole_dimensions(dims)))

    @classmethod
    def blocked(cls, block: Mapping[str, int], *dims: str, fields: str = "first") -> Layout:
        """Blocks stored one after the other. The order of the dimensions is the same inside blocks and among blocks.

        `Layout.blocked({"x": 3, "y": 3}, "x", "y")` is `<F, x_in=3, y_in=3, x_out, y_out>`, the C-order array of shape
        (ny/3, nx/3, 3, 3). `dims` is the order, fastest first (default: the order of `block`). A dimension without a block is not
        split; it is outside the blocks. `fields` places `F` "first", "inside" (between the inner and the outer digits: the hybrid
        layout of Isometry, figure 2c) or "last".
        """
        expect("blocked layout", block, Mapping, "the size of a block for each dimension, such as {'x': 4}")
        order = checks.names("blocked layout", dims or tuple(block), "names of dimensions")
        if unknown := [dim for dim in block if dim not in order]:
            raise LayoutError(f"blocked layout: block given for {show(unknown[0])}, which is not among {', '.join(order)}")
        inner: list[Part] = [Component(dim, "in", 0, _block_size(dim, block[dim])) for dim in order if dim in block]
        outer: list[Part] = [Component(dim, "out", 1) if dim in block else Component(dim) for dim in order]
        places = {"first": (FIELDS, *inner, *outer), "inside": (*inner, FIELDS, *outer), "last": (*inner, *outer, FIELDS)}
        if not checks.is_one_of(fields, places):
            raise LayoutError(f"blocked layout: fields={show(fields)}; expected 'first', 'inside' or 'last'")
        return cls(places[fields])

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The dimensions, in the order in which they first appear."""
        return tuple(dict.fromkeys(part.dim for part in self.components if isinstance(part, Component)))

    @cached_property
    def digits(self) -> Mapping[str, tuple[Component, ...]]:
        """The digits of each dimension by rank, fastest (rank 0) first, regardless of their positions in the layout."""
        found: dict[str, list[Component]] = {}
        for part in self.components:
            if isinstance(part, Component):
                found.setdefault(part.dim, []).append(part)
        return {dim: tuple(sorted(parts, key=lambda part: part.rank)) for dim, parts in found.items()}

    @cached_property
    def is_blocked(self) -> bool:
        """Whether any dimension is split into digits."""
        return any(isinstance(part, Component) and part.label != "" for part in self.components)

    def on(self, space: IndexSpace, fields: FieldSpace) -> Linearization:
        """The linearization of an instance in this layout: the map from (index, field) to byte offsets.

        Raises:
            LayoutError: a dimension is missing or unknown, or a block is larger than its dimension.
        """
        if type(space) is not IndexSpace or type(fields) is not FieldSpace:  # else the cache would be asked for what has no hash
            expect("layout", space, IndexSpace, "an index space")
            expect("layout", fields, FieldSpace, "a field space")
        return _linearization(self, space, fields)

    @property
    def pretty(self) -> str:
        """The layout for display: `⟨F, x, y⟩`."""
        return f"⟨{', '.join(map(str, self.components))}⟩"

    def __str__(self) -> str:
        text: str | None = self.__dict__.get("_text")
        if text is None:
            text = self.__dict__["_text"] = f"<{', '.join([str(part) for part in self.components])}>"
        return text

    def __repr__(self) -> str:
        return f'Layout("{self}")'


@dataclass(frozen=True)
class Location:
    """The content of a byte: the `index` of its point, the name of its `field`, and the number of the `byte` in the element."""

    index: tuple[int, ...]
    field: str
    byte: int


@dataclass(frozen=True, eq=False)
class Linearization:
    """A layout on an index space and a field space. `layout.on(space, fields)` creates it.

    Raises:
        LayoutError: the layout and the space have different dimensions, a block is larger than its dimension, or the instance
            would have 2⁶³ bytes or more.
    """

    layout: Layout
    space: IndexSpace
    fields: FieldSpace

    def __post_init__(self) -> None:
        expect("linearization", self.layout, Layout, "a layout")
        expect("linearization", self.space, IndexSpace, "an index space")
        expect("linearization", self.fields, FieldSpace, "a field space")
        for dim in self.layout.dims:
            if dim not in self.space:
                raise LayoutError(f"layout {self.layout}: dimension {dim!r} is not in the index space ({self.space})")
        if missing := [dim for dim in self.space if dim not in self.layout.digits]:
            raise LayoutError(f"layout {self.layout}: dimension {missing[0]!r} of the index space ({self.space}) is missing")
        if self.nbytes > MAX_BYTES:
            raise LayoutError(f"layout {self.layout} on ({self.space}): {self.nbytes} bytes, more than 2^63 - 1")

    # ---- modes and strides

    @cached_property
    def parts(self) -> tuple[NormalPart, ...]:
        """The components as modes and `F`, in the order of the layout, fastest first."""
        layout, space = self.layout, self.space
        modes = {
            digit: mode
            for dim, digits in layout.digits.items()
            for digit, mode in zip(digits, modes_of(digits, space[dim], f"layout {layout}"), strict=True)
        }
        return tuple(modes[part] if isinstance(part, Component) else part for part in layout.components)

    @cached_property
    def count(self) -> int:
        """Entries allocated, padding included."""
        return math.prod(part.extent for part in self.parts if isinstance(part, Mode))

    @cached_property
    def nbytes(self) -> int:
        """TOTAL: bytes allocated, padding included."""
        return self.count * self.fields.nbytes

    @property
    def payload(self) -> int:
        """Bytes of the entries, without padding."""
        return self.space.volume * self.fields.nbytes

    @property
    def is_padded(self) -> bool:
        """Whether some allocated bytes belong to no entry."""
        return self.count != self.space.volume

    @cached_property
    def padding(self) -> dict[str, int]:
        """For each dimension, the number of coordinates that complete its last block. The instance has room for them."""
        return {
            part.dim: part.step * part.extent - self.space[part.dim] for part in self.parts if isinstance(part, Mode) and part.top
        }

    @cached_property
    def inner_count(self) -> int:
        """The product of the extents faster than `F`."""
        place = self.parts.index(FIELDS)
        return math.prod(part.extent for part in self.parts[:place] if isinstance(part, Mode))

    def strides(self, field: str) -> tuple[tuple[Mode, int], ...]:
        """Every mode with its stride in bytes for one field, fastest first."""
        try:
            known = self._strides.get(field)
        except TypeError:  # a value that no dictionary can hold
            known = None
        if known is None:
            size = self.fields.sizes[self.fields.index(field)]
            known = self._strides[field] = strides_of(self.parts, size, self.fields.nbytes)
        return known

    @cached_property
    def _strides(self) -> dict[str, tuple[tuple[Mode, int], ...]]:
        """Cache of `strides`, by field."""
        return {}

    @cached_property
    def _steps(self) -> dict[tuple[str, str], tuple[tuple[int, int], ...]]:
        """Cache of `steps`, by (dimension, field)."""
        return {}

    def field_base(self, field: str) -> int:
        """The byte offset of a field at index (0, …, 0)."""
        return self.inner_count * self.fields.starts[self.fields.index(field)]

    # ---- (index, field) → offset

    def steps(self, dim: str, field: str) -> tuple[tuple[int, int], ...]:
        """The dimension's part of the offset as Σ (i // step) × weight: the pairs (step, weight) with a weight other than 0.

        The weight of a digit is its stride, less the distance that the faster digits of the dimension go back when they wrap
        around.
        """
        try:
            known = self._steps.get((dim, field))
        except TypeError:  # a value that no dictionary can hold
            known = None
        if known is None:
            self.space[dim]
            known = self._steps[dim, field] = steps_of(dim, self.strides(field))
        return known

    def dim_offsets(self, dim: str, field: str, low: int = 0, high: int | None = None) -> IntArray:
        """The contributions of the coordinates `low` to `high` - 1 of a dimension, by default of all, to the offset, in bytes, as
        int64. The offset of (i, f) is `field_base(f)` plus these contributions of all dimensions."""
        size = self.space[dim]
        ends = [checks.count("dim_offsets", "coordinate", each, high=size) for each in (low, size if high is None else high)]
        return self._along(dim, np.arange(*ends, dtype=np.int64), field)

    def _along(self, dim: str, coordinates: IntArray, field: str) -> IntArray:
        total = np.zeros_like(coordinates)
        for mode, stride in self.strides(field):
            if mode.dim == dim:
                total += coordinates // mode.step % mode.extent * stride
        return total

    def offset(self, index: Index, field: str) -> int:
        """The byte offset of one element.

        Raises:
            LayoutError: the index is out of range or has another number of dimensions.
            SpaceError: the field is unknown.
        """
        at = self._coordinates(index)
        total = self.field_base(field)
        for mode, stride in self.strides(field):
            total += at[mode.dim] // mode.step % mode.extent * stride
        return total

    def offsets(self, indices: Sequence[Any] | Mapping[str, Any], field: str) -> IntArray:
        """The byte offsets of many elements, as int64. `indices` has one array of coordinates per dimension; they are broadcast.

        Raises:
            LayoutError: a coordinate is out of range, or a dimension does not have exactly one array.
        """
        given = dict(indices) if isinstance(indices, Mapping) else None
        arrays = list(given.values() if given is not None else checks.items("indices", indices, "an array for each dimension"))
        dims = list(self.space.dims if given is None else given)
        if set(dims) != set(self.space.dims) or len(arrays) != len(dims):
            raise LayoutError(f"indices: expected one array for each of ({', '.join(self.space.dims)})")
        total: IntArray = np.asarray(self.field_base(field), dtype=np.int64)
        for dim, array in zip(dims, arrays, strict=True):
            coordinates = _whole_array(dim, array)
            if coordinates.size and (coordinates.min() < 0 or coordinates.max() >= self.space[dim]):
                raise LayoutError(f"indices: coordinate out of range in dimension {dim!r} of size {self.space[dim]}")
            try:
                total = total + self._along(dim, coordinates, field)
            except ValueError:
                shapes = f"{total.shape} and {coordinates.shape}"
                raise LayoutError(f"indices: arrays of shapes {shapes} cannot be broadcast together") from None
        return total

    def _coordinates(self, index: Index) -> dict[str, int]:
        if isinstance(index, Mapping):
            if set(index) != set(self.space.dims):
                raise LayoutError(f"index {dict(index)}: expected coordinates for ({', '.join(self.space.dims)})")
            given: Mapping[str, object] = index
        else:
            values = checks.items("index", index, "a coordinate for each dimension")
            if len(values) != len(self.space):
                raise LayoutError(f"index {values}: expected {len(self.space)} coordinates ({', '.join(self.space.dims)})")
            given = dict(zip(self.space.dims, values, strict=True))
        return {dim: checks.count("index", dim, given[dim], high=self.space[dim] - 1, error=LayoutError) for dim in self.space}

    # ---- offset → (index, field)

    def locate(self, offset: int) -> Location | None:
        """The content of the byte at an offset; None for padding.

        Raises:
            LayoutError: the offset is outside the instance.
        """
        offset = checks.count("linearization", "offset", offset, high=self.nbytes - 1, error=LayoutError)
        block, rest = divmod(offset, self.inner_count * self.fields.nbytes)
        field = max(f for f, start in enumerate(self.fields.starts) if start * self.inner_count <= rest)
        inner, byte = divmod(rest - self.fields.starts[field] * self.inner_count, self.fields.sizes[field])
        at = dict.fromkeys(self.space.dims, 0)
        number = inner
        for part in self.parts:
            if isinstance(part, Mode):
                number, digit = divmod(number, part.extent)
                at[part.dim] += digit * part.step
            else:
                number = block
        if any(at[dim] >= self.space[dim] for dim in self.space):
            return None
        return Location(tuple(at.values()), self.fields.names[field], byte)

    def order(self) -> Iterator[tuple[tuple[int, ...], str]]:
        """Every (index, field) in storage order, without padding."""
        offset = 0
        while offset < self.nbytes:
            _block, rest = divmod(offset, self.inner_count * self.fields.nbytes)
            field = max(f for f, start in enumerate(self.fields.starts) if start * self.inner_count <= rest)
            if (found := self.locate(offset)) is not None:
                yield found.index, found.field
            offset += self.fields.sizes[field]

    # ---- normal form

    @cached_property
    def normal(self) -> tuple[NormalPart, ...]:
        """The normal form: modes of extent 1 are dropped, adjacent digits of one dimension are merged.

        `F` comes first if there is only one field. Two linearizations of the same spaces with equal normal forms have the same
        offsets and the same size.
        """
        return normal_form(self.parts, len(self.fields))

    def same_as(self, other: Linearization) -> bool:
        """Whether both have the same offset for every (index, field), and the same size."""
        expect("linearization", other, Linearization, "a linearization")
        if self is other:
            return True
        return self.normal == other.normal and self.space == other.space and self.fields == other.fields

    def __str__(self) -> str:
        return f"{self.layout} on ({self.space}; {self.fields})"


def _block_size(dim: str, size: object) -> int:
    return checks.count("blocked layout", f"block {dim}", size, low=1, error=LayoutError)


def _whole_array(dim: str, given: Any) -> IntArray:
    """Coordinates as an array of whole numbers."""
    try:
        found = np.asarray(given)
        if found.dtype.kind not in "iu" and found.size:
            raise TypeError
        return found.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise LayoutError(f"indices: dimension {dim!r}: expected an array of whole numbers, got {show(given)}") from None


@lru_cache(maxsize=1024)
def known_layout(text: str) -> Layout:
    """The layout that a text describes. Every call returns the same object, so that its cached properties are reused.

    Raises:
        NotationError: the text is not a layout.
    """
    return Layout(text)


@lru_cache(maxsize=1024)
def _linearization(layout: Layout, space: IndexSpace, fields: FieldSpace) -> Linearization:
    return Linearization(layout, space, fields)
