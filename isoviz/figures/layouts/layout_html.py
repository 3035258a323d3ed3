"""HTML of layouts and linearizations: the order of storage as a picture, its digits and its first elements as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from isoviz.figures.charts.html_parts import code, folded, heading, representation, table
from isoviz.figures.charts.theme import ThemeName
from isoviz.figures.layouts.numpy_text import numpy_equivalent
from isoviz.figures.layouts.order_plot import linearization_svg
from isoviz.figures.layouts.order_view import example_fields, example_space
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.modes import Component, Mode
from isoviz.units import format_bytes

_FIRST = 16


def layout_html(layout: Layout, *, theme: ThemeName = "auto") -> str:
    """A layout on a small example space that fits its blocks. A layout alone has no sizes, and the picture says so."""
    space, fields = example_space(layout), example_fields(layout)
    linearization = layout.on(space, fields)
    picture = linearization_svg(layout, theme=theme)
    return representation("layout", heading(f"Layout {layout.pretty}"), picture, *_tables(linearization))


def linearization_html(linearization: Linearization, *, theme: ThemeName = "auto") -> str:
    """A layout on its spaces."""
    return representation(
        "linearization",
        heading(f"{linearization.layout.pretty} on ({linearization.space})"),
        linearization_svg(linearization, theme=theme),
        *_tables(linearization),
    )


def _tables(linearization: Linearization) -> tuple[str, str]:
    return digit_table(linearization), folded("First elements in the order of storage", order_table(linearization))


def digit_table(linearization: Linearization) -> str:
    """The components of a layout, fastest first, each with its contribution to an offset."""
    fields = linearization.fields
    strides = {name: dict(linearization.strides(name)) for name in fields.names}
    rows: list[Sequence[object]] = []
    for component, part in zip(linearization.layout.components, linearization.parts, strict=True):
        if isinstance(component, Component) and isinstance(part, Mode):
            steps = {strides[name][part] for name in fields.names}
            low, high = min(steps), max(steps)
            stride = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            rows.append((code(component), part.dim, f"{part.extent:,}", f"{part.step:,}", stride))
        else:
            starts = ", ".join(f"{linearization.field_base(name):,}" for name in fields.names[:4])
            more = ", …" if len(fields) > 4 else ""
            named = f"field{'s' if len(fields) > 1 else ''} {', '.join(fields.names[:4])}{more}"
            rows.append((code("F"), named, f"{len(fields)}", "", f"begin at {starts}{more}"))
    total = f"{format_bytes(linearization.nbytes)} in all"
    if linearization.is_padded:
        total += f", {format_bytes(linearization.nbytes - linearization.payload)} of it padding"
    return table(
        f"Components, fastest-varying first; {total}. NumPy: {numpy_equivalent(linearization, 6).array}",
        ("component", "dimension", "extent", "step", "stride in bytes"),
        rows,
        numbers=(2, 3, 4),
    )


def order_table(linearization: Linearization, count: int = _FIRST) -> str:
    """The first elements in the order of storage."""
    rows: list[Sequence[object]] = []
    for number, (index, field) in enumerate(islice(linearization.order(), count)):
        at = ", ".join(f"{dim}={value}" for dim, value in zip(linearization.space.dims, index, strict=True))
        rows.append((number, code(at), field, f"{linearization.offset(index, field):,}"))
    elements = linearization.space.volume * len(linearization.fields)
    caption = f"{len(rows)} of {elements:,} elements" if len(rows) < elements else "All elements"
    return table(caption, ("order", "index", "field", "byte offset"), rows, numbers=(0, 3))
