"""Figures to zoom and to hover over, in Bokeh: the order of storage of large arrays, and throughput functions.

Bokeh is imported inside the functions. The figures are plain models, without server or network. `theme` is "light" or "dark",
as Bokeh draws on a canvas that style sheets do not reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from isoviz.errors import MissingPartError
from isoviz.figures.charts.theme import FIELD_COLOUR, RAMP_INK, colour, dimension_tokens, ramp
from isoviz.figures.layouts.order_cells import ORDER_LINE
from isoviz.figures.layouts.order_view import OrderView, order_view
from isoviz.figures.machines.curves import OperatingPoint, bounds, curves, kind_token
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.spaces import FieldSpace, IndexSpace
from isoviz.machines import Channel
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from bokeh.plotting import figure

MAX_LINE_CELLS = 1024
MAX_NUMBERED_CELLS = 256
_MAX_PIXELS = 512

# Offsets are separable: field + Σ per dimension. So the hover is exact for every cell, also where the picture samples.
_HOVER = """
const at = (v, n) => Math.max(0, Math.min(n - 1, Math.round(v)));
const i = at(special_vars.x, columns), j = at(special_vars.y, rows);
if (what === "index") return names.map((n, k) => n + "=" + (k === 0 ? i : j)).concat(held).join(", ");
const f = rows_are_fields ? j : 0;
if (what === "field") return fields[f];
const along = (v, digits) => digits.reduce((sum, [step, extent, stride]) => sum + Math.floor(v / step) % extent * stride, 0);
const first = bases[f] + along(i, across[f]) + along(j, down[f]);
return first.toLocaleString("en") + " to " + (first + sizes[f] - 1).toLocaleString("en");
"""


def _bokeh() -> tuple[Any, Any]:
    """Bokeh's models and its figure, untyped: its annotations know neither the keywords of glyphs nor those of models."""
    try:
        from bokeh import models
        from bokeh.plotting import figure
    except ModuleNotFoundError:
        raise MissingPartError("Bokeh, which draws figures to zoom and hover,", "lab") from None
    return models, figure


def linearization_figure(
    layout: Layout | Linearization | str,
    space: IndexSpace | None = None,
    fields: FieldSpace | None = None,
    *,
    axes: Sequence[str] | None = None,
    field: str | None = None,
    fixed: Mapping[str, int] | None = None,
    theme: Literal["light", "dark"] = "light",
    height: int = 380,
) -> figure:
    """The order of storage as a Bokeh figure: hover tells index, field and bytes; block outlines and, for up to 1,024 cells, the
    line through them and (up to 256) their offsets.

    In two dimensions one field is shown (the first, or `field`); in one the rows are the fields. Arrays above 512 × 512 are
    drawn from samples, and the title says so; hover is exact everywhere.

    Raises:
        LayoutError: the layout does not fit the space, or an axis or coordinate that is not in it.
    """
    models, make = _bokeh()
    view = order_view(layout, space, fields, axes=axes, field=field, fixed=fixed)
    if view.vertical:
        view = OrderView(view.linearization, view.horizontal, view.vertical, view.fixed, view.fields[:1])
    columns, rows = view.columns, view.rows
    across, down = _sampled(columns), _sampled(rows if view.vertical else 1)
    table = np.vstack([view.offsets(across, down, name) for name in view.fields])
    low, high = int(table.min()), int(table.max())
    # Exact integers: offsets may be too large to multiply.
    span = max(1, high - low)
    scaled = (table - low) * 255 // span if span < 2**54 else (table - low) // (span // 255 + 1)
    shades = scaled.astype(np.uint8)
    plot: Any = make(
        height=height,
        sizing_mode="stretch_width",
        x_range=models.Range1d(-0.5, columns - 0.5, bounds=(-0.5, columns - 0.5)),
        y_range=models.Range1d(rows - 0.5, -0.5, bounds=(-0.5, rows - 0.5)),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll=None,
        x_axis_location="above",
        title=_title(view, sampled=len(across) < columns or len(down) < (rows if view.vertical else 1)),
    )
    # BokehJS draws the first row of an image at the bottom of its box, which here is the smaller y.
    image = plot.image(
        image=[shades],
        x=-0.5,
        y=-0.5,
        dw=columns,
        dh=rows,
        color_mapper=models.LinearColorMapper(palette=list(ramp(256)), low=0, high=255),
    )
    cells = columns * rows
    if cells <= MAX_LINE_CELLS:
        listed = [cell for cell in view.cells(columns, rows) if not cell.padding]
        xs, ys = [cell.column for cell in listed], [cell.row for cell in listed]
        plot.line(xs, ys, line_color=ORDER_LINE, line_width=2, line_alpha=0.8, line_join="round")
        if cells > MAX_NUMBERED_CELLS:
            plot.scatter(xs[:1], ys[:1], size=9, fill_color=ORDER_LINE, line_color="white")
        else:
            source = models.ColumnDataSource({"x": xs, "y": ys, "text": [str(cell.offset) for cell in listed]})
            plot.text(
                x="x", y="y", text="text", source=source, text_align="center", text_baseline="middle",
                text_font_size="11px", text_color=RAMP_INK, background_fill_color="#ffffff", background_fill_alpha=0.65,
            )  # fmt: skip
    _block_lines(plot, view, columns, rows)
    plot.add_tools(_hover(view, image), models.CrosshairTool(line_alpha=0.25, line_color=RAMP_INK))
    _axes(plot, view, theme)
    return cast("figure", plot)


def throughput_figure(
    channels: Sequence[Channel],
    points: Sequence[OperatingPoint] = (),
    *,
    remark: str = "",
    theme: Literal["light", "dark"] = "light",
    height: int = 340,
) -> figure:
    """Throughput functions as a Bokeh figure, log-log; hover reads them off, and discs mark the operating points of a plan.

    Channels of one kind with the same function share a line. `remark` is added to the title.
    """
    models, make = _bokeh()
    found = curves(channels)
    box = bounds(found, points)
    plot: Any = make(
        height=height,
        sizing_mode="stretch_width",
        x_axis_type="log",
        y_axis_type="log",
        x_range=models.Range1d(box.low_run, box.high_run),
        y_range=models.Range1d(box.low_rate, box.high_rate),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll=None,
        title="Bytes per second over the length of contiguous runs" + (f" ({remark})" if remark else ""),
    )
    seen: dict[str, int] = {}
    lines, items = [], []
    for curve in found:
        dash = ("solid", "dashed", "dotted", "dotdash")[seen.get(curve.kind, 0) % 4]
        seen[curve.kind] = seen.get(curve.kind, 0) + 1
        shown = [(run, rate) for run, rate in curve.points if box.low_run <= run <= box.high_run]
        source = models.ColumnDataSource(
            {
                "run": [run for run, _ in shown],
                "rate": [rate for _, rate in shown],
                "run_text": [format_bytes(run) for run, _ in shown],
                "rate_text": [format_rate(rate) for _, rate in shown],
                "channel": [f"{curve.kind.words}: {curve.names}"] * len(shown),
            }
        )
        line = plot.line(
            "run", "rate", source=source, line_width=2.5, line_dash=dash, line_color=colour(kind_token(curve.kind), theme)
        )
        lines.append(line)
        items.append(models.LegendItem(label=f"{curve.label}, {format_rate(curve.peak)}", renderers=[line]))
    if points:
        source = models.ColumnDataSource(
            {
                "run": [min(max(point.run_bytes, box.low_run), box.high_run) for point in points],
                "rate": [point.rate for point in points],
                "run_text": [format_bytes(point.run_bytes) for point in points],
                "rate_text": [format_rate(point.rate) for point in points],
                "channel": [f"hop {point.label}: {point.channel}" for point in points],
                "label": [point.label for point in points],
            }
        )
        discs = plot.scatter(
            "run", "rate", source=source, size=22, fill_color=colour("path", theme), line_color=colour("paper", theme)
        )
        plot.text(
            "run", "rate", text="label", source=source, text_align="center", text_baseline="middle",
            text_font_size="12px", text_font_style="bold", text_color=colour("on-path", theme),
        )  # fmt: skip
        lines.append(discs)
    tooltips = [("", "@channel"), ("run", "@run_text"), ("rate", "@rate_text")]
    plot.add_tools(models.HoverTool(renderers=lines, tooltips=tooltips, mode="mouse", line_policy="nearest"))
    if items:
        legend = models.Legend(items=items[:14], click_policy="hide")
        plot.add_layout(legend, "right")
        legend.background_fill_alpha = 0.0
        legend.border_line_color = None
        legend.label_text_color = colour("ink", theme)
        legend.label_text_font_size = "12px"
    powers = np.arange(np.ceil(np.log2(box.low_run)), np.floor(np.log2(box.high_run)) + 1, 4)
    plot.xaxis.ticker = models.FixedTicker(ticks=[float(2.0**power) for power in powers])
    plot.xaxis.formatter = models.CustomJSTickFormatter(code=_BYTES_JS)
    plot.yaxis.formatter = models.CustomJSTickFormatter(code=_RATE_JS)
    plot.xaxis.axis_label, plot.yaxis.axis_label = "length of contiguous runs", "throughput"
    _themed(plot, theme)
    return cast("figure", plot)


_BYTES_JS = """
const units = ["B", "KiB", "MiB", "GiB", "TiB"];
let k = 0, v = tick;
while (v >= 1024 && k < 4) { v /= 1024; k += 1; }
return `${+v.toPrecision(3)} ${units[k]}`;
"""
_RATE_JS = """
for (const [f, u] of [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"]])
  if (tick >= f * 0.9995) return `${+(tick / f).toPrecision(3)} ${u}`;
return `${+tick.toPrecision(3)} B/s`;
"""


def _sampled(size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    count = min(size, _MAX_PIXELS)
    return (np.arange(count, dtype=np.int64) * 2 + 1) * size // (2 * count)


def _title(view: OrderView, *, sampled: bool) -> str:
    said = f"{view.linearization.layout.pretty}, fastest first"
    if view.fixed:
        said += f"; slice {', '.join(f'{dim}={at}' for dim, at in view.fixed.items())}"
    if view.vertical and len(view.linearization.fields) > 1:
        said += f"; field {view.fields[0]}"
    if sampled:
        said += f"; drawn from {_MAX_PIXELS} samples a side"
    return said


def _block_lines(plot: Any, view: OrderView, columns: int, rows: int) -> None:
    """Outlines of the blocks: the finest ones with room between their lines, and stronger ones for coarser blocks."""
    for dim, size, span, upright in ((view.horizontal, columns, rows, True), (view.vertical, rows, columns, False)):
        for level, step in enumerate([step for step in view.block_steps(dim) if size / step <= 128]):
            at = [edge - 0.5 for edge in range(step, size, step)]
            low, high = [-0.5] * len(at), [span - 0.5] * len(at)
            ends = (at, low, at, high) if upright else (low, at, high, at)
            plot.segment(*ends, line_color=RAMP_INK, line_width=1.0 + level, line_alpha=0.55)


def _hover(view: OrderView, image: Any) -> Any:
    models, _ = _bokeh()
    arguments = {
        "columns": view.columns,
        "rows": view.rows,
        "across": [_digits(view, view.horizontal, name) for name in view.fields],
        "down": [_digits(view, view.vertical, name) for name in view.fields],
        "bases": [float(view.base(name)) for name in view.fields],
        "sizes": [view.linearization.fields.sizes[view.linearization.fields.index(name)] for name in view.fields],
        "fields": list(view.fields),
        "names": [dim for dim in (view.horizontal, view.vertical) if dim],
        "held": [f"{dim}={at}" for dim, at in view.fixed.items()],
        "rows_are_fields": view.rows_are_fields,
    }
    return models.HoverTool(
        renderers=[image],
        tooltips=[("index", "$x{index}"), ("field", "$y{field}"), ("bytes", "@image{bytes}")],
        formatters={
            name: models.CustomJSHover(args={**arguments, "what": what}, code=_HOVER)
            for name, what in (("$x", "index"), ("$y", "field"), ("@image", "bytes"))
        },
    )


def _digits(view: OrderView, dim: str | None, field: str) -> list[list[int]]:
    """(step, extent, stride) of each digit of a dimension. Doubles count exactly to 2^53, beyond any array that is looked at."""
    strides = view.linearization.strides(field)
    return [[mode.step, mode.extent, stride] for mode, stride in strides if mode.dim == dim]


def _axes(plot: Any, view: OrderView, theme: Literal["light", "dark"]) -> None:
    tokens = dimension_tokens(view.space.dims)
    models, _ = _bokeh()
    plot.xaxis.ticker = models.BasicTicker(min_interval=1, desired_num_ticks=8)
    plot.yaxis.ticker = models.BasicTicker(min_interval=1, desired_num_ticks=8)
    _themed(plot, theme)
    plot.grid.visible = False
    if view.horizontal:
        plot.xaxis.axis_label = f"{view.horizontal} →"
        plot.xaxis.axis_label_text_color = colour(tokens[view.horizontal], theme)
    if view.vertical:
        plot.yaxis.axis_label = f"{view.vertical} ↓"
        plot.yaxis.axis_label_orientation = "horizontal"
        plot.yaxis.axis_label_text_color = colour(tokens[view.vertical], theme)
    else:
        plot.yaxis.ticker = models.FixedTicker(ticks=list(range(len(view.fields))))
        plot.yaxis.major_label_overrides = dict(enumerate(view.fields))
        plot.yaxis.major_label_text_color = colour(FIELD_COLOUR, theme)


def _themed(plot: Any, theme: Literal["light", "dark"]) -> None:
    ink, muted, line = (colour(token, theme) for token in ("ink", "muted", "line"))
    plot.background_fill_color = colour("panel", theme)
    plot.border_fill_color = colour("paper", theme)
    plot.outline_line_color = line
    plot.title.text_color = ink
    plot.title.text_font_style = "normal"
    plot.axis.axis_line_color = line
    plot.axis.major_tick_line_color = line
    plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_color = muted
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_label_text_color = ink
    plot.axis.axis_label_text_font_style = "bold"
    plot.grid.grid_line_color = colour("faint", theme)
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
