"""The figures of a reproduction: numbers as a table of text cells, as bars from zero, and as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz.figures.charts.theme import colour
from isoviz.figures.plots.bokeh_plot import DASHES, Axis, add_hover, add_legend, new_plot, row_names, text_style

if TYPE_CHECKING:
    from bokeh.plotting import figure

_BAR, _GAP = 1.0, 0.8
OURS, THEIRS, OTHER = "measured", "predicted", "line"
"""Colours: the system of the paper, the one that it is compared with, and what both have."""


class Grid(NamedTuple):
    """A table: the first `words` columns are text, the others numbers. On a page, under a heading, it has the `caption`, if it
    has one, in place of its title."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    caption: str = ""

    def text(self) -> str:
        """For a terminal."""
        cells = [self.header, *self.rows]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.header))]
        return "\n".join([self.title, *(self._line(row, widths) for row in cells)])

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            cell.ljust(width) if k < self.words else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    def markdown(self) -> str:
        """For a report."""
        rules = ["---"] * self.words + ["---:"] * (len(self.header) - self.words)
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.header, rules, *self.rows))


class Bar(NamedTuple):
    """A bar of one or more parts (colour, length), and the text at its end."""

    parts: tuple[tuple[str, float], ...]
    text: str


class Group(NamedTuple):
    """Bars that belong together; `full` is the length that fills the width (None: the longest of all groups), `right` a word on
    them."""

    label: str
    detail: str
    bars: tuple[Bar, ...]
    right: str = ""
    full: float | None = None


class Bars(NamedTuple):
    """Groups of bars. `legend` are (colour, text); `right` says what the words at the right are."""

    groups: Sequence[Group]
    legend: Sequence[tuple[str, str]]
    title: str
    right: str = ""


class Line(NamedTuple):
    """A line of a plot: its name, its colour, its points (x, y), and a text for each of them."""

    name: str
    token: str
    points: Sequence[tuple[float, float]]
    texts: Sequence[str]


class Lines(NamedTuple):
    """Lines over common axes. Lines of one colour differ in their dashes."""

    lines: Sequence[Line]
    across: Axis
    up: Axis
    title: str


class Figure(NamedTuple):
    """A figure of the paper again: its name, its plot, and its numbers. The `heading` tells figures of one section apart."""

    name: str
    plot: Bars | Lines
    grids: Sequence[Grid]
    heading: str = ""


class Section(NamedTuple):
    """What stands under one heading of a page: figures, and tables without one."""

    title: str
    parts: Sequence[Figure | Grid]


def plot_figure(plot: Bars | Lines) -> figure:
    """The plot of a figure as a Bokeh figure.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    return bars_figure(plot) if isinstance(plot, Bars) else lines_figure(plot)


def lines_figure(lines: Lines) -> figure:
    """Lines with a dot at each point, as a Bokeh figure.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    plot = new_plot(lines.title, lines.across, lines.up)
    used: dict[str, int] = {}
    entries: list[tuple[str, list[Any]]] = []
    for line in lines.lines:
        number = used[line.token] = used.get(line.token, -1) + 1
        columns = {
            "x": [x for x, _ in line.points],
            "y": [y for _, y in line.points],
            "tip": [f"{line.name}, {text}" for text in line.texts],
        }
        style = {"line_width": 2.2, "line_color": colour(line.token), "line_dash": DASHES[number % len(DASHES)]}
        dots = plot.scatter("x", "y", source=columns, size=5, fill_color=colour(line.token), line_color=None)
        entries.append((line.name, [plot.line("x", "y", source=columns, **style), dots]))
    add_hover(plot, [dots for _, (_, dots) in entries])
    add_legend(plot, entries, columns=min(len(entries), 4))
    return cast("figure", plot)


def bars_figure(bars: Bars) -> figure:
    """Horizontal bars as a Bokeh figure.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    groups, legend, title, right = bars
    longest = max((sum(value for _, value in bar.parts) for group in groups for bar in group.bars), default=0.0)
    columns: dict[str, dict[str, list[Any]]] = {
        token: {key: [] for key in ("row", "left", "right", "tip")} for token, _ in legend
    }
    ends: dict[str, list[Any]] = {"row": [], "x": [], "text": []}
    names: dict[float, str] = {}
    words: dict[str, list[Any]] = {"row": [], "text": []}
    row = 0.0
    for group in groups:
        full = group.full or longest or 1.0
        middle = row + (len(group.bars) - 1) / 2 * _BAR
        names[middle] = ", ".join(filter(None, (group.label, group.detail)))
        words["row"].append(middle)
        words["text"].append(group.right)
        for bar in group.bars:
            start = 0.0
            for token, value in bar.parts:
                end = min(1.0, start + value / full)
                for key, each in (("row", row), ("left", start), ("right", end), ("tip", f"{names[middle]}: {bar.text}")):
                    columns[token][key].append(each)
                start = end
            for key, each in (("row", row), ("x", start), ("text", bar.text)):
                ends[key].append(each)
            row += _BAR
        row += _GAP
    has_words = any(group.right for group in groups)
    across = Axis("", "share", 0, 1.45 if has_words else 1.3, False)
    plot = new_plot(
        title + (f" (at the right: {right})" if right else ""),
        across,
        Axis("", "number", 0, 1, False),
        height=110 + int(19 * row),
    )
    row_names(plot, [])
    plot.y_range.start, plot.y_range.end = row - _GAP, -0.8
    plot.yaxis.ticker = list(names)
    plot.yaxis.major_label_overrides = names
    plot.xaxis.visible = False
    plot.xgrid.visible = False
    drawn = [
        (text, [plot.hbar("row", 0.82, "right", "left", source=columns[token], fill_color=colour(token), line_color=None)])
        for token, text in legend
    ]
    plot.text("x", "row", text="text", source=ends, x_offset=7, **text_style())
    if has_words:
        plot.text(across.high - 0.02, "row", text="text", source=words, **text_style(text_align="right", text_font_style="bold"))
    add_hover(plot, [glyph for _, glyphs in drawn for glyph in glyphs])
    add_legend(plot, drawn, "above", columns=len(drawn))
    return cast("figure", plot)
