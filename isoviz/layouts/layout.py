"""Layouts: the order in which an instance is stored, fastest-varying component first (Isometry, section 2)."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from isoviz.errors import LayoutError, show
from isoviz.layouts.spaces import FieldSpace, IndexSpace, check_dimension

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isoviz.layouts.linearization import Linearization


@dataclass(frozen=True)
class FieldsComponent:
    """`F`, the field space, as a component of a layout."""

    def __str__(self) -> str:
        return "F"


FIELDS = FieldsComponent()


@dataclass(frozen=True)
class Component:
    """One digit of a dimension, as written: `x`, `x_in=4`, `x_out`, `x_1=512`.

    `rank` numbers the digits of the dimension from the fastest (0); `label` is what follows the underscore ("" for a whole
    dimension); `extent` is the number written, None where it follows from the size of the dimension.
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


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """A sequence of digits and `F`, **fastest-varying first**.

    `Layout("<F, x, y>")` stores all fields of an entry together, neighbours in x next to each other: it is the NumPy C-order
    array of a structured dtype of shape (y, x). `Layout("<x, y, F>")` stores field after field: C-order shape (fields, y, x).

    Raises:
        NotationError: text that is not a layout; it points at the offending character.
        LayoutError: components that do not make a layout.
    """

    components: tuple[Part, ...]

    def __init__(self, layout: str | Iterable[Part] | Layout) -> None:
        from isoviz.layouts.notation import check_components, parse

        if isinstance(layout, Layout):
            components = layout.components
        elif isinstance(layout, str):
            components = parse(layout)
        elif not isinstance(layout, Iterable):
            raise LayoutError(f"layout {layout!r}: expected text such as '<F, x>', or components")
        else:
            components = tuple(layout)
            check_components(components)
        object.__setattr__(self, "components", components)

    @classmethod
    def unchecked(cls, components: tuple[Part, ...]) -> Layout:
        """The layout with components that are known to make one."""
        layout = cls.__new__(cls)
        object.__setattr__(layout, "components", components)
        return layout

    @classmethod
    def aos(cls, *dims: str) -> Layout:
        """Array of structs, `<F, x, y, …>`: a structured NumPy array whose last axis is the first dimension named.

        `Layout.aos("x", "y")` is `numpy.zeros((ny, nx), fields.dtype)`.
        """
        return cls((FIELDS, *_whole(dims)))

    @classmethod
    def soa(cls, *dims: str) -> Layout:
        """Struct of arrays, `<x, y, …, F>`: one C-order array of shape (…, ny, nx) per field, one after the other.

        For fields of one type `Layout.soa("x", "y")` is `numpy.zeros((n_fields, ny, nx), dtype)`.
        """
        return cls((*_whole(dims), FIELDS))

    @classmethod
    def row_major(cls, *dims: str) -> Layout:
        """The C-order structured array with these axes: the **last** dimension named varies fastest.

        `Layout.row_major("row", "column")` is `numpy.zeros((n_row, n_column), fields.dtype)`, i.e. `<F, column, row>`.
        """
        return cls((FIELDS, *_whole(dims[::-1])))

    @classmethod
    def column_major(cls, *dims: str) -> Layout:
        """The Fortran-order structured array with these axes: the **first** dimension named varies fastest.

        `Layout.column_major("row", "column")` is `numpy.zeros((n_row, n_column), fields.dtype, order="F")`, i.e. `<F, row,
        column>`.
        """
        return cls((FIELDS, *_whole(dims)))

    @classmethod
    def blocked(cls, block: Mapping[str, int], *dims: str, fields: str = "first") -> Layout:
        """Blocks stored one after the other, the same order inside and among them.

        `Layout.blocked({"x": 3, "y": 3}, "x", "y")` is `<F, x_in=3, y_in=3, x_out, y_out>`, the C-order array of shape
        (ny/3, nx/3, 3, 3). `dims` gives the order, fastest first (default: the order of `block`); a dimension without a block
        stays whole, outside the blocks. `fields` puts `F` "first", "inside" (after the blocks: the hybrid layout of Isometry,
        figure 2c) or "last".
        """
        order = dims or tuple(block)
        if unknown := [dim for dim in block if dim not in order]:
            raise LayoutError(f"blocked layout: block given for {unknown[0]!r}, which is not among {', '.join(order)}")
        inner: list[Part] = [Component(dim, "in", 0, _block_size(dim, block[dim])) for dim in order if dim in block]
        outer: list[Part] = [Component(dim, "out", 1) if dim in block else Component(dim) for dim in order]
        places = {"first": (FIELDS, *inner, *outer), "inside": (*inner, FIELDS, *outer), "last": (*inner, *outer, FIELDS)}
        if fields not in places:
            raise LayoutError(f"blocked layout: fields={fields!r}; expected 'first', 'inside' or 'last'")
        return cls(places[fields])

    @classmethod
    def from_array(cls, array: np.ndarray[Any, Any], dims: Sequence[str] | None = None) -> Layout:
        """The layout that a NumPy array has; `dims` names its axes in order (default: …, `y`, `x`, the last axis being x).

        Raises:
            LayoutError: strides that no layout has (a view with gaps, reversed or repeated); `View.from_array` takes rows with
            gaps.
        """
        from isoviz.layouts.arrays import layout_of_array

        return layout_of_array(array, dims)

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The dimensions, in the order in which they first appear."""
        return tuple(dict.fromkeys(part.dim for part in self.components if isinstance(part, Component)))

    @cached_property
    def digits(self) -> Mapping[str, tuple[Component, ...]]:
        """The digits of each dimension, fastest digit (rank 0) first, wherever they stand."""
        found: dict[str, list[Component]] = {}
        for part in self.components:
            if isinstance(part, Component):
                found.setdefault(part.dim, []).append(part)
        return {dim: tuple(sorted(parts, key=lambda part: part.rank)) for dim, parts in found.items()}

    @cached_property
    def is_blocked(self) -> bool:
        """Whether any dimension is in digits."""
        return any(isinstance(part, Component) and part.label != "" for part in self.components)

    def on(self, space: IndexSpace, fields: FieldSpace) -> Linearization:
        """This layout of an instance: what maps (index, field) to byte offsets.

        Raises:
            LayoutError: a dimension missing or unknown, or a block larger than its dimension.
        """
        return _linearization(self, space, fields)

    @property
    def pretty(self) -> str:
        """For display: `⟨F, x, y⟩`."""
        return f"⟨{', '.join(map(str, self.components))}⟩"

    def __str__(self) -> str:
        text: str | None = self.__dict__.get("_text")
        if text is None:
            text = self.__dict__["_text"] = f"<{', '.join([str(part) for part in self.components])}>"
        return text

    def __repr__(self) -> str:
        return f'Layout("{self}")'


def _block_size(dim: str, size: object) -> int:
    try:
        return operator.index(size)  # type: ignore[arg-type]  # TypeError is the answer for everything else
    except TypeError:
        raise LayoutError(f"blocked layout: block {dim}={show(size)}; expected a whole number") from None


def _whole(dims: Iterable[str]) -> tuple[Component, ...]:
    return tuple(Component(check_dimension(dim)) for dim in dims)


@lru_cache(maxsize=4096)
def known_layout(text: str) -> Layout:
    """The layout that a text writes; the same object every time, so that what it worked out about itself stays known.

    Raises:
        NotationError: see `Layout`.
    """
    return Layout(text)


@lru_cache(maxsize=4096)
def _linearization(layout: Layout, space: IndexSpace, fields: FieldSpace) -> Linearization:
    from isoviz.layouts.linearization import Linearization

    return Linearization(layout, space, fields)
