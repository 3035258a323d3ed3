"""The components of layouts: digits of dimensions, and `F`, the field space."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from isoviz.layouts.spaces import check_dimension


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
