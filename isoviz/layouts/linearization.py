"""The map (index, field) → byte offset that a layout defines on an index space and a field space (Isometry, section 2).

Digits faster than `F` have stride (extents before them) × size of the field; `F` itself contributes (extents before it) × the
sizes of the fields before the field; digits slower than `F` have stride (extents before them) × |F|. Fields of different sizes
therefore have different strides. A block that does not divide its dimension pads the last block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from isoviz.errors import LayoutError
from isoviz.layouts.layout import FIELDS, Component, FieldsComponent, Layout, Part
from isoviz.layouts.spaces import MAX_BYTES, FieldSpace, IndexSpace

Index = Sequence[int] | Mapping[str, int]
IntArray = np.ndarray[Any, np.dtype[np.int64]]


class Mode(NamedTuple):
    """One digit of a dimension on an index space: coordinate i has digit `(i // step) % extent`.

    `top` marks the last digit of its dimension, which alone may run past the dimension's size (padding).
    """

    dim: str
    extent: int
    step: int
    top: bool


@dataclass(frozen=True)
class Location:
    """What is stored at a byte: `index` of the point, name of the `field`, and the `byte` within that element."""

    index: tuple[int, ...]
    field: str
    byte: int


NormalPart = Mode | FieldsComponent


@dataclass(frozen=True, eq=False)
class Linearization:
    """A layout on an index space and a field space. Made by `layout.on(space, fields)`.

    Raises:
        LayoutError: the layout and the space have different dimensions, a block is larger than its dimension, or the instance
            would have 2⁶³ bytes or more.
    """

    layout: Layout
    space: IndexSpace
    fields: FieldSpace

    def __post_init__(self) -> None:
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
        """The components with their numbers filled in, in the order of the layout, fastest first."""
        modes = {part: mode for dim, digits in self.layout.digits.items() for part, mode in self._modes_of(dim, digits)}
        return tuple(modes[part] if isinstance(part, Component) else part for part in self.layout.components)

    def _modes_of(self, dim: str, digits: tuple[Component, ...]) -> Iterator[tuple[Part, Mode]]:
        size, step = self.space[dim], 1
        for digit in digits[:-1]:
            extent = digit.extent
            assert extent is not None  # the notation asks for it below the top digit
            if step * extent > size:
                through = f" (with the digits below it, {step * extent})" if step > 1 else ""
                raise LayoutError(
                    f"layout {self.layout}: block {digit}{through} is larger than dimension {dim!r} of size {size};"
                    f" expected at most {size // step}"
                )
            yield digit, Mode(dim, extent, step, False)
            step *= extent
        yield digits[-1], Mode(dim, -(-size // step), step, True)

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
        """Bytes that belong to entries: without padding."""
        return self.space.volume * self.fields.nbytes

    @property
    def is_padded(self) -> bool:
        """Whether some allocated bytes belong to no entry."""
        return self.count != self.space.volume

    @cached_property
    def padding(self) -> dict[str, int]:
        """How many coordinates behind each dimension's last have room: those that complete its last block."""
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
        known = self._strides.get(field)
        if known is None:
            known = self._strides[field] = self._strides_of(field)
        return known

    @cached_property
    def _strides(self) -> dict[str, tuple[tuple[Mode, int], ...]]:
        """What `strides` has been asked for."""
        return {}

    @cached_property
    def _steps(self) -> dict[tuple[str, str], tuple[tuple[int, int], ...]]:
        """What `steps` has been asked for."""
        return {}

    def _strides_of(self, field: str) -> tuple[tuple[Mode, int], ...]:
        size = self.fields.sizes[self.fields.index(field)]
        found: list[tuple[Mode, int]] = []
        stride = size
        for part in self.parts:
            if isinstance(part, Mode):
                found.append((part, stride))
                stride *= part.extent
            else:
                stride = stride // size * self.fields.nbytes
        return tuple(found)

    def field_base(self, field: str) -> int:
        """Offset of a field at index (0, …, 0)."""
        return self.inner_count * self.fields.starts[self.fields.index(field)]

    # ---- (index, field) → offset

    def steps(self, dim: str, field: str) -> tuple[tuple[int, int], ...]:
        """The dimension's part of the offset as Σ (i // step) × weight: the (step, weight) pairs, weights of 0 left out.

        Within a run of a digit the weight is its stride; where the digit turns over, the next weight takes back what it walked.
        """
        known = self._steps.get((dim, field))
        if known is None:
            known = self._steps[dim, field] = self._steps_of(dim, field)
        return known

    def _steps_of(self, dim: str, field: str) -> tuple[tuple[int, int], ...]:
        digits = sorted((mode.step, mode.extent, stride) for mode, stride in self.strides(field) if mode.dim == dim)
        found: list[tuple[int, int]] = []
        walked = 0
        for step, extent, stride in digits:
            if stride != walked:
                found.append((step, stride - walked))
            walked = stride * extent
        return tuple(found)

    def dim_offsets(self, dim: str, field: str) -> IntArray:
        """Contribution of every coordinate of a dimension to the offset in bytes, int64 of shape (size,).

        The offset of (i, f) is `field_base(f)` plus the sum of these over the dimensions.
        """
        coordinates = np.arange(self.space[dim], dtype=np.int64)
        return self._along(dim, coordinates, field)

    def _along(self, dim: str, coordinates: IntArray, field: str) -> IntArray:
        total = np.zeros_like(coordinates)
        for mode, stride in self.strides(field):
            if mode.dim == dim:
                total += coordinates // mode.step % mode.extent * stride
        return total

    def offset(self, index: Index, field: str) -> int:
        """Byte offset of one element.

        Raises:
            LayoutError: an index out of range or of another number of dimensions. SpaceError: an unknown field.
        """
        at = self._coordinates(index)
        total = self.field_base(field)
        for mode, stride in self.strides(field):
            total += at[mode.dim] // mode.step % mode.extent * stride
        return total

    def offsets(self, indices: Sequence[Any] | Mapping[str, Any], field: str) -> IntArray:
        """Byte offsets of many elements: one array of coordinates per dimension, broadcast against each other; int64.

        Raises:
            LayoutError: a coordinate out of range, or not one array per dimension.
        """
        arrays = list(indices.values()) if isinstance(indices, Mapping) else list(indices)
        dims = list(indices) if isinstance(indices, Mapping) else list(self.space.dims)
        if sorted(dims) != sorted(self.space.dims) or len(arrays) != len(dims):
            raise LayoutError(f"indices: expected one array for each of ({', '.join(self.space.dims)})")
        total: IntArray = np.asarray(self.field_base(field), dtype=np.int64)
        for dim, array in zip(dims, arrays, strict=True):
            coordinates = np.asarray(array, dtype=np.int64)
            if coordinates.size and (coordinates.min() < 0 or coordinates.max() >= self.space[dim]):
                raise LayoutError(f"indices: coordinate out of range in dimension {dim!r} of size {self.space[dim]}")
            total = total + self._along(dim, coordinates, field)
        return total

    def _coordinates(self, index: Index) -> dict[str, int]:
        if isinstance(index, Mapping):
            if set(index) != set(self.space.dims):
                raise LayoutError(f"index {dict(index)}: expected coordinates for ({', '.join(self.space.dims)})")
            at = {dim: int(index[dim]) for dim in self.space}
        else:
            if len(index) != len(self.space):
                raise LayoutError(f"index {tuple(index)}: expected {len(self.space)} coordinates ({', '.join(self.space.dims)})")
            at = {dim: int(value) for dim, value in zip(self.space.dims, index, strict=True)}
        for dim, value in at.items():
            if not 0 <= value < self.space[dim]:
                raise LayoutError(f"index {dim}={value}: expected 0 to {self.space[dim] - 1}")
        return at

    # ---- offset → (index, field)

    def locate(self, offset: int) -> Location | None:
        """What is stored at a byte; None in padding.

        Raises:
            LayoutError: an offset outside the instance.
        """
        if not 0 <= offset < self.nbytes:
            raise LayoutError(f"offset {offset}: expected 0 to {self.nbytes - 1}")
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
        """Every (index, field) in the order of storage, padding left out."""
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
        """The normal form: modes of extent 1 dropped, adjacent digits of one dimension merged, `F` first where it has one field.

        Two linearizations of the same spaces with equal normal forms have the same offsets and size.
        """
        return normal_form(self.parts, len(self.fields))

    def same_as(self, other: Linearization) -> bool:
        """Whether both put every (index, field) at the same offset and have the same size."""
        return self.space == other.space and self.fields == other.fields and self.normal == other.normal

    def __str__(self) -> str:
        return f"{self.layout} on ({self.space}; {self.fields})"


def normal_form(parts: Sequence[NormalPart], fields: int) -> tuple[NormalPart, ...]:
    """The normal form (`Linearization.normal`) of digits with their numbers filled in, fastest first, and so many fields."""
    found: list[NormalPart] = [FIELDS] if fields == 1 else []
    dropped = False
    for part in parts:
        if isinstance(part, FieldsComponent):
            if fields > 1:
                found.append(part)
            continue
        if part.extent == 1:
            dropped = True
            continue
        last = found[-1] if found else None
        if isinstance(last, Mode) and last.dim == part.dim and last.step * last.extent == part.step:
            found[-1] = Mode(part.dim, last.extent * part.extent, last.step, last.top or part.top)
        else:
            found.append(part)
    return _with_tops(found) if dropped else tuple(found)


def _with_tops(parts: Sequence[NormalPart]) -> tuple[NormalPart, ...]:
    """A dropped top digit of extent 1 leaves the digit below as the last one of its dimension."""
    ends: dict[str, int] = {}
    for part in parts:
        if isinstance(part, Mode):
            ends[part.dim] = max(ends.get(part.dim, 0), part.step * part.extent)
    return tuple(
        part._replace(top=part.step * part.extent == ends[part.dim]) if isinstance(part, Mode) else part for part in parts
    )


def part_text(part: NormalPart) -> str:
    """A part of a comparison for people: `F`, `x`, `x[step 4, extent 512]`-like digits as `x:4*512`."""
    if isinstance(part, FieldsComponent):
        return "F"
    if part.step == 1 and part.top:
        return part.dim
    if part.step == 1:
        return f"{part.dim}_in={part.extent}"
    return f"{part.dim}_out={part.extent}" if part.top else f"{part.dim}_[{part.step}]={part.extent}"
