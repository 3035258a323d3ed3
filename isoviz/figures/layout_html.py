"""Documents of layouts and linearizations: the order of storage as a picture, its digits and its first elements as tables."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from isoviz.document import Cell, Code, Document, Picture, Table
from isoviz.figures.charts.html_parts import representation
from isoviz.figures.document_html import document_html
from isoviz.figures.layouts.numpy_text import numpy_equivalent
from isoviz.figures.layouts.order_view import example_fields, example_space
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.modes import Component, Mode
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName

_FIRST = 16


def layout_html(value: Layout | Linearization, *, theme: ThemeName = "auto") -> str:
    """A layout on its spaces. A layout alone has no sizes: it is drawn on a small example space that fits its blocks."""
    return representation(type(value).__name__.lower(), document_html(layout_document(value), level=3, theme=theme))


def layout_document(value: Layout | Linearization) -> Document:
    """The order of storage, its digits and its first elements."""
    if isinstance(value, Layout):
        title, linearization = f"Layout {value.pretty}", value.on(example_space(value), example_fields(value))
    else:
        title, linearization = f"{value.layout.pretty} on ({value.space})", value
    return Document(title, [Picture("linearization_svg", (value,)), _digits(linearization), _order(linearization)])


def _digits(linearization: Linearization) -> Table:
    """The components of a layout, fastest first, each with its contribution to an offset."""
    fields = linearization.fields
    strides = {name: dict(linearization.strides(name)) for name in fields.names}
    rows: list[tuple[Cell, ...]] = []
    for component, part in zip(linearization.layout.components, linearization.parts, strict=True):
        if isinstance(component, Component) and isinstance(part, Mode):
            steps = {strides[name][part] for name in fields.names}
            low, high = min(steps), max(steps)
            stride = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            rows.append((Code(str(component)), part.dim, f"{part.extent:,}", f"{part.step:,}", stride))
        else:
            starts = ", ".join(f"{linearization.field_base(name):,}" for name in fields.names[:4])
            more = ", …" if len(fields) > 4 else ""
            named = f"field{'s' if len(fields) > 1 else ''} {', '.join(fields.names[:4])}{more}"
            rows.append((Code("F"), named, f"{len(fields)}", "", f"begin at {starts}{more}"))
    total = f"{format_bytes(linearization.nbytes)} in all"
    if linearization.is_padded:
        total += f", {format_bytes(linearization.nbytes - linearization.payload)} of it padding"
    return Table(
        ("component", "dimension", "extent", "step", "stride in bytes"),
        rows,
        f"Components, fastest-varying first; {total}. NumPy: {numpy_equivalent(linearization, 6).array}",
        numbers=(2, 3, 4),
    )


def _order(linearization: Linearization) -> Table:
    """The first elements in the order of storage."""
    rows: list[tuple[Cell, ...]] = []
    for number, (index, field) in enumerate(islice(linearization.order(), _FIRST)):
        at = ", ".join(f"{dim}={value}" for dim, value in zip(linearization.space.dims, index, strict=True))
        rows.append((str(number), Code(at), field, f"{linearization.offset(index, field):,}"))
    elements = linearization.space.volume * len(linearization.fields)
    caption = f"The first {len(rows)} of {elements:,} elements" if len(rows) < elements else "All elements"
    header = ("order", "index", "field", "byte offset")
    return Table(header, rows, f"{caption} in the order of storage", numbers=(0, 3), is_folded=True)
