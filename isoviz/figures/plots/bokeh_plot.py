"""What all plots of numbers share: an empty Bokeh figure with axes in bytes, seconds or rates, and its way onto a page.

Bokeh is imported inside the functions. Plots are plain models, without server or network. They have the colours of the light
theme; `plot_html` writes a plot so that the page which draws it replaces them by those of its own theme.
"""

from __future__ import annotations

import base64
import gzip
import json
from math import log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoviz.errors import MissingPartError
from isoviz.figures.charts.html_parts import paragraph
from isoviz.figures.charts.svg import ID, finish
from isoviz.figures.charts.theme import TOKENS, ThemeName, colour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Unit = Literal["bytes", "seconds", "rate", "number", "share", "factor"]
DASHES = ("solid", "dashed", "dotted", "dotdash")
"""Line styles, in the order in which lines take them."""

_WORDS_JS: dict[Unit, str] = {
    "bytes": 'const steps = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];',
    "seconds": 'const steps = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];',
    "rate": 'const steps = [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]];',
    "number": "return tick.toLocaleString('en');",
    "share": "return `${+(100 * tick).toPrecision(3)} %`;",
    "factor": "return `${+tick.toPrecision(3)} ×`;",
}
_STEPS_JS = """
for (const [size, unit] of steps) if (tick >= size * 0.9995) return `${+(tick / size).toPrecision(3)} ${unit}`;
return `${+tick.toPrecision(3)}`;
"""
_UNPACKED_JS = """new Response(
    new Blob([Uint8Array.from(atob("%(packed)s"), (each) => each.charCodeAt(0))]).stream()
      .pipeThrough(new DecompressionStream("gzip")),
  ).text()"""
# The library and the script of a plot may run in either order; in JupyterLab both run before their output is on the page.
_DRAW_JS = (
    """(() => {
  const id = %(id)s, given = %(theme)s, dark = %(dark)s;
  const unpacked = """
    + _UNPACKED_JS
    + """;
  const { dataset, classList } = document.body;
  const isDark = given !== "auto" ? given === "dark" : dataset.jpThemeLight !== undefined ? dataset.jpThemeLight === "false"
    : classList.contains("vscode-dark")
    || (!classList.contains("vscode-light") && matchMedia("(prefers-color-scheme: dark)").matches);
  const draw = async (tries) => {
    const box = document.getElementById(id);
    if (box === null || globalThis.Bokeh?.embed === undefined) return void (tries > 0 && setTimeout(draw, 100, tries - 1));
    const text = await unpacked;
    const item = JSON.parse(isDark ? text.replace(/#[0-9a-f]{6}/g, (each) => dark[each] ?? each) : text);
    box.replaceChildren();
    globalThis.Bokeh.embed.embed_item(item, id);
  };
  draw(300);
})();"""
)
_LOAD_JS = (
    """(async () => {
  if (globalThis.Bokeh !== undefined) return;
  const script = document.createElement("script");
  script.textContent = await """
    + _UNPACKED_JS
    + """;
  document.head.append(script);
})();"""
)


class Axis(NamedTuple):
    """An axis from `low` to `high`, logarithmic or linear; the unit decides where its ticks are and how they are written."""

    label: str
    unit: Unit
    low: float
    high: float
    is_log: bool = True


def bokeh() -> tuple[Any, Any]:
    """Bokeh's models and its figure, untyped: its annotations know neither the keywords of glyphs nor those of models.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    try:
        from bokeh import models
        from bokeh.plotting import figure
    except ModuleNotFoundError:
        raise MissingPartError("Bokeh, which draws plots of numbers,", "lab") from None
    return models, figure


def new_plot(title: str, across: Axis, up: Axis, *, height: int = 360, remark: str = "") -> Any:
    """An empty Bokeh figure. `remark` is a sentence below it, such as which memories are emulated."""
    models, figure = bokeh()
    plot = figure(
        title=title,
        height=height,
        sizing_mode="stretch_width",
        x_axis_type="log" if across.is_log else "linear",
        y_axis_type="log" if up.is_log else "linear",
        x_range=models.Range1d(across.low, across.high),
        y_range=models.Range1d(up.low, up.high),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll=None,
    )
    for axis, shown in ((plot.xaxis, across), (plot.yaxis, up)):
        axis.axis_label = shown.label
        axis.formatter = models.CustomJSTickFormatter(
            code=_WORDS_JS[shown.unit] + ("" if "return" in _WORDS_JS[shown.unit] else _STEPS_JS)
        )
        if shown.is_log:
            is_binary = shown.unit == "bytes"
            axis.ticker = models.LogTicker(
                base=2 if is_binary else 10, mantissas=[1] if is_binary else [1, 2, 5], desired_num_ticks=8
            )
    _styled(plot)
    if remark:
        below = models.Title(text=remark, text_color=colour("muted"), text_font_style="normal", text_font_size="12px")
        plot.add_layout(below, "below")
    return plot


def _styled(plot: Any) -> None:
    plot.background_fill_color = colour("panel")
    plot.border_fill_color = None  # the paper of the page
    plot.outline_line_color = colour("line")
    plot.title.text_color = colour("ink")
    plot.axis.axis_line_color = colour("line")
    plot.axis.major_tick_line_color = colour("line")
    plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_color = colour("muted")
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_label_text_color = colour("ink")
    plot.axis.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color = colour("faint")
    plot.toolbar.logo = None
    plot.toolbar.autohide = True


def row_names(plot: Any, names: Sequence[str]) -> None:
    """Name the rows of a plot, whose vertical axis counts them from 0 downwards."""
    models, _ = bokeh()
    plot.y_range = models.Range1d(len(names) - 0.5, -0.5)
    plot.yaxis.ticker = models.FixedTicker(ticks=list(range(len(names))))
    plot.yaxis.formatter = models.BasicTickFormatter()
    plot.yaxis.major_label_overrides = dict(enumerate(names))
    plot.yaxis.major_label_text_color = colour("ink")
    plot.ygrid.visible = False


def add_hover(plot: Any, glyphs: Sequence[Any]) -> None:
    """Tell the column `tip` of the points under the pointer."""
    models, _ = bokeh()
    plot.add_tools(models.HoverTool(renderers=list(glyphs), tooltips=[("", "@tip")], line_policy="nearest"))


def add_legend(plot: Any, entries: Sequence[tuple[str, Sequence[Any]]], place: str = "below", columns: int = 1) -> None:
    """A legend of (text, glyphs) outside the axes; a click on an entry hides what it names."""
    models, _ = bokeh()
    items = [models.LegendItem(label=text, renderers=list(glyphs)) for text, glyphs in entries]
    legend = models.Legend(items=items, click_policy="hide", ncols=columns)
    legend.background_fill_alpha = 0.0
    legend.border_line_color = None
    legend.label_text_color = colour("ink")
    legend.label_text_font_size = "12px"
    legend.padding = legend.margin = 4
    legend.location = "top_left"
    legend.spacing = 10 if columns > 1 else 2
    plot.add_layout(legend, place)
    if place != "right":
        plot.height += (30 if columns > 1 else 22) * -(-len(items) // columns)


def add_label(plot: Any, x: float, y: float, text: str, *, lift: int = -14) -> None:
    """A remark on a place of a plot with logarithmic axes, at the side of it where there is room."""
    models, _ = bokeh()
    low, high = plot.x_range.start, plot.x_range.end
    is_left = log(x / low) < 0.7 * log(high / low)
    side = {"x_offset": 5, "text_align": "left"} if is_left else {"x_offset": -5, "text_align": "right"}
    style = {"text_color": colour("muted"), "text_font_size": "12px"}
    plot.add_layout(models.Label(x=x, y=y, y_offset=lift, text=text, **side, **style))


def text_style(fill: str = "ink", **more: Any) -> dict[str, Any]:
    """Properties of text glyphs."""
    return {"text_font_size": "12px", "text_color": colour(fill), "text_baseline": "middle", **more}


# ---- onto a page


def plot_html(make: Callable[..., Any], *given: Any, theme: ThemeName = "auto", **options: Any) -> str:
    """The plot that `make(*given, **options)` returns, as an element of a page that has `library_html` once.

    If Bokeh is missing, the element is a sentence that says so.
    """
    try:
        plot = make(*given, **options)
    except MissingPartError as error:
        return paragraph(f"{error}.")
    from bokeh.embed import json_item

    data = json.dumps(json_item(plot), ensure_ascii=True, separators=(",", ":"))
    dark = json.dumps({token.light: token.dark for token in reversed(TOKENS.values())})
    script = _DRAW_JS % {"id": f'"{ID}"', "theme": json.dumps(theme), "dark": dark, "packed": _packed(data)}
    hint = "This plot is drawn by a script of the page. Here it did not run; the numbers are in the table."
    return finish(f'<div class="plot" data-plot id="{ID}">{paragraph(hint)}</div><script data-drawn>{script}</script>')


def library_html(content: str) -> str:
    """The script that draws the plots in `content`, to stand once on the page; "" where there are none."""
    if "data-plot" not in content:
        return ""
    from bokeh.resources import Resources

    code = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    return f"<script>{_LOAD_JS % {'packed': _packed(code)}}</script>"


def _packed(text: str) -> str:
    """A text as a script unpacks it."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
