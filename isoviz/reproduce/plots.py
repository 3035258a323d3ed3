"""What an experiment shows: plots and tables as declarations. Each is called with what the experiment found, and gives parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from isoviz.document import Cell, Part, Plot, Quantity, Section, Table
from isoviz.figures.charts.theme import colour
from isoviz.figures.plots.bokeh_plot import DASHES, Axis, Unit, add_hover, add_legend, new_plot, row_names, text_style

if TYPE_CHECKING:
    from bokeh.plotting import figure

_BAR, _GAP = 1.0, 0.8
OURS, THEIRS, OTHER = "measured", "predicted", "line"
"""Colours: the system of the paper, the one that it is compared with, and what both have."""
TOKENS = ("dim0", "dim1", "dim2", "dim3", "dim4", "dim5", "dim6", "field")
"""Colours of further things."""
Shown = Callable[[Any, str, str], Sequence[Part]]
"""Makes the parts of a document: of what an experiment found, a name for files, and a title."""
Of = str | tuple[Any, ...] | Callable[[Any], Any]
"""A value of a row, or of what was found: its key, keys one after the other, or a function."""
Row = Mapping[str, Any]
Curve = Mapping[float, float]
"""Values by the place on the axis."""


def value_of(found: Any, of: Of) -> Any:
    """The value that `of` means."""
    if callable(of):
        return of(found)
    for key in (of,) if isinstance(of, str) else of:
        found = found[key]
    return found


def under(heading: str, after: str, *shown: Shown) -> Shown:
    """Parts under a heading of their own, such as those of figure 9b. `after` follows the experiment's name in file names."""

    def parts(found: Any, name: str, title: str) -> list[Part]:
        inner = [part for each in shown for part in each(found, name + after, f"{title}, {heading}")]
        return [Section(heading, inner)]

    return parts


class Column(NamedTuple):
    """A column of a table: its heading, and its value of a row.

    `unit` is one of `isoviz.document.UNITS`, "" for words, or "set right" for words that are set right.
    """

    heading: str
    of: Of
    unit: str = ""

    def cell(self, row: Row) -> Cell:
        """The cell of a row."""
        value = value_of(row, self.of)
        return str(value) if self.unit in ("", "set right") else Quantity(value, self.unit)


@dataclass(frozen=True)
class Columns:
    """A table of rows: `columns` are the arguments of `Column`. `rows` takes the rows out of what was found."""

    columns: Sequence[tuple[str, Of] | tuple[str, Of, str]]
    rows: Callable[[Any], Iterable[Row]] = iter
    caption: str = ""

    def __call__(self, found: Any, *_: str) -> list[Part]:
        """The table."""
        columns = [Column(*each) for each in self.columns]
        cells = [[column.cell(row) for column in columns] for row in self.rows(found)]
        right = [k for k, column in enumerate(columns) if column.unit == "set right"]
        return [Table([column.heading for column in columns], cells, self.caption, right)]


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


def bars_of(row: Row, colours: Mapping[str, str], unit: str) -> tuple[Bar, ...]:
    """A bar for each of some keys of a row, by their colours."""
    return tuple(Bar(((token, row[key]),), str(Quantity(row[key], unit))) for key, token in colours.items())


@dataclass(frozen=True)
class Bars:
    """A plot of groups of bars. `legend` are (colour, text); `right` says what the words at the right are. Without a `title` that
    of the experiment, which stands above it, is enough."""

    legend: Sequence[tuple[str, str]]
    groups: Callable[[Any], Iterable[Group]]
    right: str = ""
    title: str = ""

    def __call__(self, found: Any, name: str, title: str) -> list[Part]:
        """The plot."""
        said = self.title + (f" (at the right: {self.right})" if self.right else "")
        return [Plot(name, self.title or title, lambda: bars_figure(tuple(self.groups(found)), self.legend, said))]


@dataclass(frozen=True)
class Curves:
    """A plot of curves, and the table of their values.

    - `curves`: them by name, from what was found (`by_column` of rows, `named` of a dictionary).
    - `across`: what the horizontal axis has, and its unit. `up`: what the vertical one has, and its unit.
    - `colours`: the colour of a curve by its name; by default the first one is what the others are compared with.
    - `table`: whether there is a table.
    """

    curves: Callable[[Any], Mapping[str, Curve]]
    across: tuple[str, Literal["bytes", "number"]] = ("size of a message", "bytes")
    up: tuple[str, Literal["rate", "seconds", "share", "count"]] = ("throughput", "rate")
    colours: Callable[[str], str] | None = None
    table: bool = True

    def __call__(self, found: Any, name: str, title: str) -> list[Part]:
        """The plot, and its table."""
        curves = self.curves(found)
        label, unit = self.across
        places = sorted({place for curve in curves.values() for place in curve})
        values = [value for curve in curves.values() for value in curve.values()]
        up: Unit = "number" if self.up[1] == "count" else self.up[1]
        axes = Axis(label, unit, places[0] / 1.2, places[-1] * 1.2), Axis(self.up[0], up, min(values) / 1.3, max(values) * 1.3)
        where = {place: str(Quantity(place, "bytes" if unit == "bytes" else "count")) for place in places}
        lines = []
        for number, (curve_name, curve) in enumerate(curves.items()):
            token = THEIRS if number == 0 else TOKENS[(number - 1) % len(TOKENS)]
            tips = [f"{curve_name}, {where[place]}: {Quantity(value, self.up[1])}" for place, value in sorted(curve.items())]
            lines.append((curve_name, self.colours(curve_name) if self.colours else token, sorted(curve.items()), tips))
        plot = Plot(name, title, lambda: lines_figure(lines, *axes, () if unit == "bytes" else places))
        rows = [
            [where[place], *(Quantity(curve[place], self.up[1]) if place in curve else "" for curve in curves.values())]
            for place in places
        ]
        return [plot, Table([label, *curves], rows)] if self.table else [plot]


def by_column(across: str, up: str, by: str) -> Callable[[Iterable[Row]], dict[str, dict[float, float]]]:
    """The curves of some rows: `up` over `across`, one for each value of the column `by`."""

    def curves(rows: Iterable[Row]) -> dict[str, dict[float, float]]:
        found: dict[str, dict[float, float]] = {}
        for row in rows:
            found.setdefault(str(row[by]), {})[row[across]] = row[up]
        return found

    return curves


def named(**labels: str) -> Callable[[Any], dict[str, Any]]:
    """What was found under some names, by their labels."""
    return lambda found: {label: found[name] for name, label in labels.items()}


Line = tuple[str, str, Sequence[tuple[float, float]], Sequence[str]]
"""The name of a line, its colour, its points, and a text for each of them."""


def lines_figure(lines: Sequence[Line], across: Axis, up: Axis, ticks: Sequence[float] = ()) -> figure:
    """Lines with a dot at each point, as a Bokeh figure. Lines of one colour differ in their dashes.

    - `ticks`: where the axis across has ticks, if not at round numbers.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    plot = new_plot("", across, up)
    if ticks:
        plot.xaxis.ticker = list(ticks)
    decades = range(floor(log10(up.low)), ceil(log10(up.high)))
    steps = (1, 2, 5) if up.high > 10 * up.low else (1, 2, 3, 4, 5, 7)
    plot.yaxis.ticker = [step * 10.0**power for power in decades for step in steps]
    used: dict[str, int] = {}
    entries: list[tuple[str, list[Any]]] = []
    for name, token, points, tips in lines:
        number = used[token] = used.get(token, -1) + 1
        columns = {"x": [x for x, _ in points], "y": [y for _, y in points], "tip": list(tips)}
        style = {"line_width": 2.2, "line_color": colour(token), "line_dash": DASHES[number % len(DASHES)]}
        dots = plot.scatter("x", "y", source=columns, size=5, fill_color=colour(token), line_color=None)
        entries.append((name, [plot.line("x", "y", source=columns, **style), dots]))
    add_hover(plot, [dots for _, (_, dots) in entries])
    add_legend(plot, entries, columns=min(len(entries), 4))
    return cast("figure", plot)


def bars_figure(groups: Sequence[Group], legend: Sequence[tuple[str, str]], title: str) -> figure:
    """Horizontal bars as a Bokeh figure.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
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
    plot = new_plot(title, across, Axis("", "number", 0, 1, False), height=110 + int(19 * row))
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
