"""The linearization-order plot as static SVG (the idea of Isometry, figures 2 and 6).

Cells stand in index space, coloured and numbered by byte offset, and a line joins them in the order of storage. A large array
is drawn twice: all of it as colours, and its first corner cell by cell. The caption says so.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoviz.figures.charts.svg import Drawing, shorten, text_width, wrap
from isoviz.figures.charts.theme import FIELD_COLOUR, MARGIN, RAMP_INK, ThemeName, dimension_tokens, ramp
from isoviz.figures.layouts.numpy_text import numpy_equivalent
from isoviz.figures.layouts.order_cells import CellPlot, draw_cells
from isoviz.figures.layouts.order_view import OrderView, order_view
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.modes import Component
from isoviz.layouts.spaces import FieldSpace, IndexSpace
from isoviz.units import format_bytes

OVERVIEW = 264.0
RAMP = ramp(48)


def linearization_svg(
    layout: Layout | Linearization | str,
    space: IndexSpace | None = None,
    fields: FieldSpace | None = None,
    *,
    axes: Sequence[str] | None = None,
    field: str | None = None,
    fixed: Mapping[str, int] | None = None,
    heading: str | None = None,
    caption: bool = True,
    width: float = 760,
    theme: ThemeName = "auto",
) -> str:
    """The order in which a layout stores its elements, as SVG.

    `axes` names the dimensions drawn to the right and down (default: those that vary fastest); `field` draws one field only;
    `fixed` holds the other dimensions (default 0). Without `space`, a small example space is used and the caption says so.

    Raises:
        LayoutError: the layout does not fit the space, or an axis or a coordinate is not in the space.
    """
    view = order_view(layout, space, fields, axes=axes, field=field, fixed=fixed)
    linearization = view.linearization
    example = space is None and not isinstance(layout, Linearization)
    title = f"Linearization order of {linearization.layout.pretty} on ({linearization.space})"
    drawing = Drawing(title, _description(view), theme)
    inner = width - 2 * MARGIN
    y = MARGIN
    if heading:
        drawing.text(MARGIN, y + 11, shorten(heading, inner, 14, bold=True), size=14, bold=True)
        y += 24
    y = _chips(drawing, linearization, y, inner)
    bottom, notes = _panels(drawing, view, y + 10, inner)
    y = bottom + 14
    if caption:
        lines = [line for note in captions(view, example=example, notes=notes) for line in wrap(note, inner, 11.5)]
        for line in lines:
            drawing.text(MARGIN, y + 9, line, size=11.5, fill="muted")
            y += 17
        equivalent = numpy_equivalent(linearization, max_fields=4)
        sentences = (
            "  f: number of the field"
            if equivalent.counts_fields
            else "  f: name of the field"
            if "[f]" in equivalent.element
            else ""
        )
        for text in (f"NumPy: {equivalent.array}", f"       element: {equivalent.element}{sentences}"):
            drawing.text(
                MARGIN, y + 11, shorten(text, inner, 11.5, mono=True), size=11.5, fill="ink", mono=True, style="white-space:pre"
            )
            y += 17
    return drawing.render(width, y + MARGIN - 2)


def captions(view: OrderView, *, example: bool = False, notes: Sequence[str] = ()) -> list[str]:
    """The sentences that a reader of the plot needs, equal for the static and the interactive plot."""
    linearization = view.linearization
    first = linearization.layout.components[0]
    sentences: list[str] = []
    if view.horizontal and view.vertical:
        sentences.append(f"{view.horizontal} runs right, {view.vertical} runs down.")
    elif view.horizontal:
        sentences.append(f"{view.horizontal} runs right; each row is one field.")
    fastest = "F (the fields of one entry lie together)" if not isinstance(first, Component) else str(first)
    sentences.append(f"The first component varies fastest: {fastest}.")
    sentences.append(
        f"Numbers are byte offsets; {format_bytes(linearization.nbytes)} in all"
        + (f", of it {format_bytes(linearization.nbytes - linearization.payload)} padding." if linearization.is_padded else ".")
    )
    found = [" ".join(sentences)]
    if example:
        found.append(
            f"A layout alone has no sizes: drawn here on the example space ({linearization.space}) with fields "
            f"({linearization.fields})."
        )
    if view.fixed:
        at = ", ".join(f"{dim}={value}" for dim, value in view.fixed.items())
        sizes = ", ".join(f"{dim}: {view.space[dim]}" for dim in view.fixed)
        found.append(f"Shown is the slice {at} (sizes {sizes}).")
    found.extend(notes)
    return found


def _description(view: OrderView) -> str:
    return " ".join(captions(view)) + f" NumPy equivalent: {numpy_equivalent(view.linearization, 4).array}."


# -- the layout as coloured components


def _chips(drawing: Drawing, linearization: Linearization, y: float, width: float) -> float:
    """The components in their colours, fastest first; wraps where there are many. Returns the bottom."""
    tokens = dimension_tokens(linearization.layout.dims)
    drawing.text(MARGIN, y + 17, "fastest", size=11, fill="muted")
    start = MARGIN + 50
    x = start
    for component in linearization.layout.components:
        is_dimension = isinstance(component, Component)
        text = shorten(str(component), 220, 13, mono=True)
        token = tokens[component.dim] if isinstance(component, Component) else FIELD_COLOUR
        chip = text_width(text, 13, mono=True) + 18
        if x + chip > MARGIN + width - 60 and x > start:
            x, y = start, y + 32
        drawing.rect(x, y, chip, 26, fill="raised", stroke=token, radius=5, stroke_width=1.4)
        drawing.rect(x + 0.7, y + 0.7, chip - 1.4, 24.6, fill=token, radius=4.3, fill_opacity=0.13)
        drawing.text(x + 9, y + 17.5, text, size=13, fill=token, mono=True, bold=not is_dimension)
        x += chip + 7
    drawing.text(x + 2, y + 17, "slowest", size=11, fill="muted")
    return y + 26


# -- the plot itself


def _panels(drawing: Drawing, view: OrderView, y: float, width: float) -> tuple[float, list[str]]:
    """Draw the cells, with an overview if they are a part of the array. The result: the bottom, sentences for the caption."""
    notes: list[str] = []
    whole = CellPlot.plan(view, view.padded(view.horizontal), _all_rows(view), width)
    if whole is not None:
        notes += _hidden_fields(whole.view)
        return draw_cells(drawing, whole, MARGIN, y), notes
    if view.rows_are_fields:
        bottom = _overview(drawing, view, MARGIN, y, width, with_frame=False)
        detail = CellPlot.corner(view, width)
        bottom = draw_cells(drawing, detail, MARGIN, bottom + 14)
        notes += _hidden_fields(detail.view)
        notes.append(
            f"Above: all {view.columns:,} entries, coloured from first byte to last. "
            f"Below: the first {detail.columns}, coloured within themselves."
        )
    else:
        detail = CellPlot.corner(view, width - OVERVIEW - 56)
        notes += _hidden_fields(detail.view)
        left = _overview(drawing, view, MARGIN, y, OVERVIEW, with_frame=True, detail=detail)
        right = draw_cells(drawing, detail, MARGIN + OVERVIEW + 56, y)
        bottom = max(left, right)
        sampled = ""
        if max(view.columns, view.rows) > 512:
            sampled = f" (one sampled in {-(-view.columns // 512)}\u00a0×\u00a0{-(-view.rows // 512)})"
        whose = f" of field {view.fields[0]}" if len(view.linearization.fields) > 1 else ""
        notes.append(
            f"Left: all {view.columns:,} × {view.rows:,} cells{whose}{sampled}, coloured from first byte to last. "
            f"Right: the corner {view.horizontal}\u00a0<\u00a0{detail.columns}, "
            f"{view.vertical}\u00a0<\u00a0{detail.rows} framed there, coloured within itself."
        )
    notes.append("The line is the order of storage, dashed where it leaves what is shown and comes back.")
    return bottom, notes


def _all_rows(view: OrderView) -> int:
    return view.rows if view.rows_are_fields else view.padded(view.vertical)


def _hidden_fields(view: OrderView) -> list[str]:
    fields = view.linearization.fields
    if len(view.fields) == len(fields):
        return []
    shown = ", ".join(view.fields)
    return [f"Shown: {'field' if len(view.fields) == 1 else 'fields'} {shown}, of {len(fields)} fields."]


def _overview(
    drawing: Drawing,
    view: OrderView,
    x: float,
    y: float,
    width: float,
    *,
    with_frame: bool,
    detail: CellPlot | None = None,
) -> float:
    """All cells as colours. Returns the bottom."""
    tokens = dimension_tokens(view.space.dims)
    horizontal = view.horizontal or ""
    columns = min(view.columns, 512)
    rows = min(view.rows, 512 if view.vertical else 8)
    across = _samples(view.columns, columns)
    down = _samples(view.rows if view.vertical else 1, rows if view.vertical else 1)
    left = x + (text_width(f"{view.rows - 1}", 11) + 12 if view.vertical else _label_room(view))
    top = y + 22
    area = width - (left - x)
    cell = area / view.columns
    high = min(area, max(48.0, cell * view.rows)) if view.vertical else 22.0 * rows
    wide = area
    if view.vertical and cell * view.rows > area:
        wide = max(48.0, area * view.columns / view.rows)
    if view.vertical:
        table = view.offsets(across, down, view.fields[0])
    else:
        table = np.vstack([view.offsets(across, down, name) for name in view.fields[:rows]])
    first, last = _byte_span(view)
    # Exact integers: an instance may have more bytes than a float counts exactly.
    step = max(1, -(-(last - first + 1) // len(RAMP)))
    pixels = ((table - first) // step).astype(np.uint8)
    drawing.element(
        "image",
        x=left, y=top, width=wide, height=high, preserveAspectRatio="none", href=png_data_url(pixels, RAMP),
        style="image-rendering:pixelated",
    )  # fmt: skip
    drawing.rect(left, top, wide, high, stroke="line")
    for dim, size, length, upright in ((view.horizontal, view.columns, wide, True), (view.vertical, view.rows, high, False)):
        for step in view.block_steps(dim)[-1:]:
            if step * length / size >= 7:
                data = "".join(
                    f"M{left + at / size * length:.1f} {top:.1f}v{high:.1f}"
                    if upright
                    else f"M{left:.1f} {top + at / size * length:.1f}h{wide:.1f}"
                    for at in range(step, size, step)
                )
                drawing.path(data, stroke=RAMP_INK, width=0.7, stroke_opacity=0.5)
    _axis(drawing, horizontal, view.columns, left, wide, y + 15, tokens.get(horizontal, "ink"))
    if view.vertical:
        token = tokens[view.vertical]
        drawing.text(left - 7, top + 10, "0", size=11, fill=token, anchor="end")
        drawing.text(left - 7, top + high, f"{view.rows - 1}", size=11, fill=token, anchor="end")
        name = shorten(f"← {view.vertical}", high - 40, 13, bold=True)
        where = f"rotate(-90 {left - 12:.1f} {top + high / 2:.1f})"
        drawing.text(left - 12, top + high / 2 + 4, name, size=13, fill=token, anchor="middle", bold=True, transform=where)
    else:
        for row, name in enumerate(view.fields[:rows]):
            label = shorten(name, 110, 12)
            drawing.text(left - 9, top + 22 * row + 15, label, size=12, fill=FIELD_COLOUR, anchor="end")
    if with_frame and detail is not None:
        frame_width = max(5.0, detail.columns / view.columns * wide)
        frame_height = max(5.0, detail.rows / view.rows * high)
        drawing.rect(left, top, frame_width, frame_height, stroke=RAMP_INK, stroke_width=1.6)
    return _legend(drawing, (first, last), left, top + high + 10, wide)


def _axis(drawing: Drawing, dim: str, size: int, x: float, width: float, baseline: float, token: str) -> None:
    drawing.text(x, baseline, "0", size=11, fill=token)
    drawing.text(x + width, baseline, f"{size - 1}", size=11, fill=token, anchor="end")
    name = shorten(f"{dim} →", width - 60, 13, bold=True)
    drawing.text(x + width / 2, baseline, name, size=13, fill=token, anchor="middle", bold=True)


def _byte_span(view: OrderView) -> tuple[int, int]:
    """The first and the last byte of the shown region."""
    ends = []
    for field in view.fields:
        nbytes = view.linearization.fields.sizes[view.linearization.fields.index(field)]
        far = view.base(field) + nbytes - 1
        for dim in (view.horizontal, view.vertical):
            if dim:
                # All digits are at their largest, or one is a step short and those below it are full.
                top = view.space[dim] - 1
                corners = {top, *(top // step * step - 1 for step in view.block_steps(dim))}
                reached = view.along(dim, np.asarray(sorted(c for c in corners if c >= 0), np.int64), field)
                far += int(reached.max())
        ends.append(far)
    return min(view.base(field) for field in view.fields), max(ends)


def _legend(drawing: Drawing, span: tuple[int, int], x: float, y: float, width: float) -> float:
    """The colour scale from first byte to last."""
    low, high = f"byte {span[0]:,}", f"byte {span[1]:,}"
    before = text_width(low, 11) + 8
    room = width - before - text_width(high, 11) - 8
    if room < 40:
        return y
    drawing.rect(x + before, y, room, 9, fill=drawing.gradient(ramp(6)))
    drawing.text(x, y + 9, low, size=11, fill="muted")
    drawing.text(x + before + room + 8, y + 9, high, size=11, fill="muted")
    return y + 12


def _samples(size: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """`count` coordinates spread over `size`, each in the middle of its share."""
    return (np.arange(count, dtype=np.int64) * 2 + 1) * size // (2 * count)


def _label_room(view: OrderView) -> float:
    return max(24.0, *(min(112.0, text_width(name, 12) + 14) for name in view.fields))


# ---- many cells as one small picture, in place of a thousand rectangles


def png_data_url(pixels: np.ndarray[Any, np.dtype[np.uint8]], palette: Sequence[str]) -> str:
    """`pixels` (rows, columns) of palette numbers as `data:image/png;base64,…`; the palette holds `#rrggbb`."""
    rows, columns = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    colours = b"".join(bytes.fromhex(value[1:]) for value in palette)
    # Each row is preceded by its filter: 2 (difference to the row above) makes regular pictures tiny.
    above = np.vstack([np.zeros((1, columns), np.uint8), pixels[:-1]])
    lines = np.empty((rows, columns + 1), np.uint8)
    lines[:, 0] = 2
    lines[:, 1:] = pixels - above
    data = zlib.compress(lines.tobytes(), 9)
    chunks = (_chunk(b"IHDR", header), _chunk(b"PLTE", colours), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
