"""The uses of an array: each is a transfer to or from the memory where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoviz import checks
from isoviz.errors import InputError, LayoutError, show
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization, Mode
from isoviz.layouts.layout import known_layout
from isoviz.planner.intermediate.part_layouts import fitted, layout_of
from isoviz.planner.transfer import Instance, Transfer

KINDS = ("to", "from", "along")


@dataclass(frozen=True)
class Use:
    """One way in which an array is used. `Use.to`, `Use.from_` and `Use.along` make one.

    - "to": a copy to `memory`, where it has the layout `layout`.
    - "from": a copy from `memory`, where it has the layout `layout`. A fixed source is a use of this kind.
    - "along": an access in runs along the dimension `dim`. It is a copy to `memory` ("": the memory where the array lies) in the
      array's own order with `dim` as its fastest dimension. So it takes long where entries along `dim` are not adjacent.

    `weight` is how often it happens. `shape` is the box that each copy moves, as pairs (dimension, extent); a dimension that is
    absent moves as a whole. `fields` names the fields that move; empty: all of them.

    Raises:
        InputError, LayoutError: a value is invalid.
    """

    kind: str
    memory: str
    layout: Layout | None = None
    dim: str = ""
    weight: float = 1.0
    shape: tuple[tuple[str, int], ...] = ()
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not checks.is_one_of(self.kind, KINDS):
            raise InputError(f"use: kind {show(self.kind)}: expected one of {', '.join(KINDS)}")
        checks.expect("use", self.memory, str, "the name of a memory")
        checks.expect("use", self.dim, str, "the name of a dimension")
        is_along = self.kind == "along"
        if is_along != (self.layout is None) or is_along != bool(self.dim) or not (is_along or self.memory):
            raise InputError(f"use {self.kind!r}: expected {'a dimension alone' if is_along else 'a memory and a layout'}")
        given: Any = self.layout
        if given is not None and not isinstance(given, Layout):
            object.__setattr__(self, "layout", known_layout(given) if isinstance(given, str) else Layout(given))
        object.__setattr__(self, "weight", checks.amount("use", "weight", self.weight, open_low=True, high=1e18))
        object.__setattr__(self, "shape", _pairs(self.shape))
        object.__setattr__(self, "fields", checks.names("use, fields", self.fields, "names of fields"))

    @classmethod
    def to(
        cls,
        memory: str,
        layout: Layout | str,
        *,
        weight: float = 1.0,
        shape: Mapping[str, int] | None = None,
        fields: Sequence[str] = (),
    ) -> Use:
        """A copy to a memory in which the array has a given layout: `Use.to("node0.dsk", "<F, y, x>", weight=10)`."""
        return cls("to", memory, layout, "", weight, shape, fields)  # type: ignore[arg-type]  # made values of their types

    @classmethod
    def from_(
        cls,
        memory: str,
        layout: Layout | str,
        *,
        weight: float = 1.0,
        shape: Mapping[str, int] | None = None,
        fields: Sequence[str] = (),
    ) -> Use:
        """A copy from a memory in which the array has a given layout: `Use.from_("node0.dsk", "<F, x, y>")`."""
        return cls("from", memory, layout, "", weight, shape, fields)  # type: ignore[arg-type]

    @classmethod
    def along(
        cls,
        dim: str,
        *,
        memory: str = "",
        weight: float = 1.0,
        shape: Mapping[str, int] | None = None,
        fields: Sequence[str] = (),
    ) -> Use:
        """An access in runs along a dimension: `Use.along("y")` reads all columns, with `shape={"x": 1}` a single one."""
        return cls("along", memory, None, dim, weight, shape, fields)  # type: ignore[arg-type]

    def transfer(self, array: Instance) -> Transfer:
        """The transfer of this use, where the array is `array`.

        Raises:
            LayoutError, SpaceError, TransferError: a dimension or field is unknown, or the box leaves the array.
        """
        checks.expect("use", array, Instance, "an instance")
        extent = dict(self.shape)
        if unknown := [dim for dim in (*extent, *filter(None, (self.dim,))) if dim not in array.space]:
            raise LayoutError(f"use {self}: dimension {unknown[0]!r} is not in the index space ({array.space})")
        sizes = {dim: extent.get(dim, size) for dim, size in array.space.as_dict().items()}
        space = array.space if sizes == array.space.as_dict() else IndexSpace.of(sizes)
        fields = array.fields if not self.fields else array.fields.subset(self.fields)
        layout = self.layout if self.layout is not None else fastest_along(array.layout, self.dim, space, fields)
        other = Instance(self.memory or array.memory, space, fields, layout)
        ends = (other, array) if self.kind == "from" else (array, other)
        return Transfer(*ends, shape=tuple(sizes[dim] for dim in ends[0].space), field_names=fields.names)

    def __str__(self) -> str:
        what = f"along {self.dim}" if self.kind == "along" else f"{self.kind} {self.memory} {self.layout}"
        if self.kind == "along" and self.memory:
            what += f" to {self.memory}"
        part = [f"{dim}={extent}" for dim, extent in self.shape] + list(self.fields)
        return f"{what} ({', '.join(part)})" if part else what


def fastest_along(layout: Layout, dim: str, space: IndexSpace, fields: FieldSpace) -> Layout:
    """The order of a layout on a box, with one dimension in front of all others. Fields stay in front if they are there."""
    parts = _fitted_parts(layout, space, fields)
    first = [part for part in parts[:1] if not isinstance(part, Mode)]
    rest = [part for part in parts[len(first) :] if not (isinstance(part, Mode) and part.dim == dim)]
    return layout_of([*first, Mode(dim, space[dim], 1, True), *rest])


def _fitted_parts(layout: Layout, space: IndexSpace, fields: FieldSpace) -> tuple[Any, ...]:
    fits: Linearization = fitted(layout, space, fields)
    return fits.parts


def _pairs(shape: object) -> tuple[tuple[str, int], ...]:
    """A box as pairs (dimension, extent), from such pairs or from a mapping."""
    words = "an extent for each dimension, such as {'x': 1}"
    if shape is not None and not isinstance(shape, Mapping):
        pairs = [checks.items("use, shape", pair, words) for pair in checks.items("use, shape", shape, words)]
        if not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
            raise InputError(f"use, shape: expected {words}, got {show(shape)}")
        shape = dict(pairs)
    return tuple(checks.counts("use, shape", shape, low=1).items())
