"""Modes: the digits of a layout with extents and steps from an index space, and the normal form of a sequence of modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isoviz.errors import LayoutError
from isoviz.layouts.spaces import check_dimension

# The components of layouts: digits of dimensions, and `F`, the field space.


@dataclass(frozen=True)
class FieldsComponent:
    """`F`, the field space, as a component of a layout."""

    def __str__(self) -> str:
        return "F"


FIELDS = FieldsComponent()


@dataclass(frozen=True)
class Component:
    """One digit of a dimension as written: `x`, `x_in=4`, `x_out`, `x_1=512`.

    `rank` is the number of the digit within its dimension; the fastest is 0. `label` is the text after the underscore, "" for a
    whole dimension. `extent` is the written number, None if it follows from the size of the dimension.
    """

    dim: str
    label: str = ""
    rank: int = 0
    extent: int | None = None

    @property
    def name(self) -> str:
        """`x`, `x_in`, `x_1`."""
        return f"{self.dim}_{self.label}" if self.label else self.dim

    def __str__(self) -> str:
        return self.name if self.extent is None else f"{self.name}={self.extent}"


Part = Component | FieldsComponent
"""A component of a layout."""


def whole_dimensions(dims: Iterable[str]) -> tuple[Component, ...]:
    """One component per dimension. The dimensions are not split into digits.

    Raises:
        SpaceError: a name is not valid for a dimension.
    """
    return tuple(Component(check_dimension(dim)) for dim in dims)


class Mode(NamedTuple):
    """One digit of a dimension on an index space: coordinate i has the digit `(i // step) % extent`.

    `top` marks the slowest digit of its dimension. Only this digit may exceed the size of the dimension (padding).
    """

    dim: str
    extent: int
    step: int
    top: bool


NormalPart = Mode | FieldsComponent
"""A mode, or `F`."""


def modes_of(digits: Sequence[Component], size: int, owner: str) -> tuple[Mode, ...]:
    """The modes of one dimension of size `size`, from all its digits, fastest first. `owner` names the layout in errors.

    Raises:
        LayoutError: a block, with the digits below it, is larger than the dimension.
    """
    found: list[Mode] = []
    step = 1
    for digit in digits[:-1]:
        extent = digit.extent
        assert extent is not None  # the notation requires an extent below the top digit
        if step * extent > size:
            through = f" (with the digits below it, {step * extent})" if step > 1 else ""
            raise LayoutError(
                f"{owner}: block {digit}{through} is larger than dimension {digit.dim!r} of size {size};"
                f" expected at most {size // step}"
            )
        found.append(Mode(digit.dim, extent, step, False))
        step *= extent
    found.append(Mode(digits[-1].dim, -(-size // step), step, True))
    return tuple(found)


def strides_of(parts: Sequence[NormalPart], field_bytes: int, all_bytes: int) -> tuple[tuple[Mode, int], ...]:
    """Every mode with its stride in bytes. The field has `field_bytes` bytes, the field space `all_bytes` bytes."""
    found: list[tuple[Mode, int]] = []
    stride = field_bytes
    for part in parts:
        if isinstance(part, Mode):
            found.append((part, stride))
            stride *= part.extent
        else:
            stride = stride // field_bytes * all_bytes
    return tuple(found)


def steps_of(dim: str, strides: Sequence[tuple[Mode, int]]) -> tuple[tuple[int, int], ...]:
    """The pairs (step, weight) of `Linearization.steps` for one dimension, from the strides of all modes."""
    digits = sorted((mode.step, mode.extent, stride) for mode, stride in strides if mode.dim == dim)
    found: list[tuple[int, int]] = []
    walked = 0
    for step, extent, stride in digits:
        if stride != walked:
            found.append((step, stride - walked))
        walked = stride * extent
    return tuple(found)


def normal_form(parts: Sequence[NormalPart], fields: int) -> tuple[NormalPart, ...]:
    """The normal form (`Linearization.normal`) of modes, fastest first, for a field space with `fields` fields."""
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
    """The parts with `top` set again: after a top digit of extent 1 is dropped, the digit below it is the top digit."""
    ends: dict[str, int] = {}
    for part in parts:
        if isinstance(part, Mode):
            ends[part.dim] = max(ends.get(part.dim, 0), part.step * part.extent)
    return tuple(
        part._replace(top=part.step * part.extent == ends[part.dim]) if isinstance(part, Mode) else part for part in parts
    )


def parts_within(parts: Sequence[NormalPart], extents: Mapping[str, int]) -> list[NormalPart]:
    """A normal form within a block of these extents at the begin of the array: digits that have one value there are left out."""
    found: list[NormalPart] = []
    for part in parts:
        if isinstance(part, FieldsComponent):
            found.append(part)
            continue
        extent = min(part.extent, -(-extents[part.dim] // part.step))
        if extent <= 1:
            continue
        last = found[-1] if found else None
        if isinstance(last, Mode) and last.dim == part.dim and last.step * last.extent == part.step:
            joined = min(last.extent * extent, -(-extents[part.dim] // last.step))
            found[-1] = Mode(part.dim, joined, last.step, last.top or part.top)
        else:
            found.append(part._replace(extent=extent))
    return found


def without_ones(parts: Sequence[NormalPart]) -> list[NormalPart]:
    """The parts without digits of extent 1: they keep nothing together, and one of them has the step of the digit above it."""
    return list(_with_tops([part for part in parts if isinstance(part, FieldsComponent) or part.extent > 1]))


def part_text(part: NormalPart) -> str:
    """A part of a comparison for display: `F`, `x`, `x_in=4`, `x_out=512`, or `x_[4]=512` for step 4 and extent 512."""
    if isinstance(part, FieldsComponent):
        return "F"
    if part.step == 1 and part.top:
        return part.dim
    if part.step == 1:
        return f"{part.dim}_in={part.extent}"
    return f"{part.dim}_out={part.extent}" if part.top else f"{part.dim}_[{part.step}]={part.extent}"
