"""The layouts of both ends: components, sizes, strides."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

from isoviz.schema import Named, named
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.layouts import Linearization, Mode

MOST_STRIDES = 8
"""Fields whose strides are told where they differ."""


class ShownComponent(TypedDict):
    """A component of a layout with the dimension (or F) that it belongs to."""

    text: str
    dim: str


class ShownDigit(TypedDict):
    """A component in numbers. `step` is null for F. `strides` are bytes: one for all fields, or one for each of the first
    fields; for F, the distance from the first field to the second where there is one.
    """

    component: str
    dim: str
    extent: int
    step: int | None
    strides: list[int]


class ShownField(TypedDict):
    """A field with the bytes of one element."""

    name: str
    size: int


class ShownEnd(TypedDict):
    """The linearization at one end: components fastest first, bytes with padding, bytes of padding, and the NumPy array with the
    same bytes with the expression of one of its elements. `text` is the layout that was right last.
    """

    text: str
    components: list[ShownComponent]
    pretty: str
    bytes: int
    padding: int
    fields: int
    numpy: str
    digits: list[ShownDigit]


class LayoutPart(TypedDict):
    """Both ends, null until a layout has been right once; and the dimensions and fields that were right last."""

    dims: Named[int]
    fieldSizes: list[ShownField]
    source: ShownEnd | None
    destination: ShownEnd | None


@pane("layout", "the layouts of both ends", {"layout-editor": LAYOUTS, "linearization": LAYOUTS})
def layout_part(state: State) -> LayoutPart:
    """What the layout pane shows."""
    source, destination = state.derived.source, state.derived.destination
    space, fields = state.derived.space, state.derived.fields
    return {
        "dims": [] if space is None else named(space.as_dict()),
        "fieldSizes": []
        if fields is None
        else [{"name": name, "size": size} for name, size in zip(fields.names, fields.sizes, strict=True)],
        "source": None if source is None else _end(source),
        "destination": None if destination is None else _end(destination),
    }


@lru_cache(maxsize=32)
def _end(linear: Linearization) -> ShownEnd:
    from isoviz.layouts import Component, Mode

    second = linear.field_base(linear.fields.names[1]) if len(linear.fields) > 1 else None
    digits: list[ShownDigit] = []
    for component, part in zip(linear.layout.components, linear.parts, strict=True):
        if isinstance(part, Mode) and isinstance(component, Component):
            digits.append(
                {
                    "component": str(component),
                    "dim": component.dim,
                    "extent": part.extent,
                    "step": part.step,
                    "strides": _strides(linear, part),
                }
            )
        else:
            digits.append(
                {
                    "component": "F",
                    "dim": "F",
                    "extent": len(linear.fields),
                    "step": None,
                    "strides": [] if second is None else [second],
                }
            )
    return {
        "text": str(linear.layout),
        "components": [
            {"text": str(part), "dim": part.dim if isinstance(part, Component) else "F"} for part in linear.layout.components
        ],
        "pretty": linear.layout.pretty,
        "bytes": linear.nbytes,
        "padding": linear.nbytes - linear.payload,
        "fields": len(linear.fields),
        "numpy": _numpy(linear),
        "digits": digits,
    }


def _numpy(linear: Linearization) -> str:
    from isoviz.figures.layouts.numpy_text import numpy_equivalent

    same = numpy_equivalent(linear, max_fields=6)
    return f"{same.array}\n{same.element}"


def _strides(linear: Linearization, mode: Mode) -> list[int]:
    """One stride for all fields where they have the same, else those of the first fields."""
    strides = [dict(linear.strides(name))[mode] for name in linear.fields.names[:MOST_STRIDES]]
    return strides[:1] if len(set(strides)) == 1 else strides
