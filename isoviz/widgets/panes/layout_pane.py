"""The layouts of both ends, with the NumPy arrays of the same bytes; the browser counts on them by itself."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

from isoviz.schema import Named, named
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.layouts import Linearization


class ShownField(TypedDict):
    """A field with the bytes of one element."""

    name: str
    size: int


class ShownEnd(TypedDict):
    """The layout of one end that was right last, as text and as people write it; and the NumPy array with the same bytes, with
    the expression of one of its elements.
    """

    text: str
    pretty: str
    numpy: str


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
    return {"text": str(linear.layout), "pretty": linear.layout.pretty, "numpy": _numpy(linear)}


def _numpy(linear: Linearization) -> str:
    from isoviz.figures.layouts.numpy_text import numpy_equivalent

    same = numpy_equivalent(linear, max_fields=6)
    return f"{same.array}\n{same.element}"
