"""The figures of a reproduction: numbers as a table of text cells, and as bars from zero in the style of `isoviz.figures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import ThemeName

MARGIN = 16.0
_LABEL, _BAR, _GAP, _VALUE = 210.0, 17.0, 14.0, 96.0
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


class Figure(NamedTuple):
    """A figure of the paper again: its name, its picture as SVG, and its numbers. The `heading` tells figures of one section
    apart."""

    name: str
    svg: str
    grids: Sequence[Grid]
    heading: str = ""


class Section(NamedTuple):
    """What stands under one heading of a page: figures, and tables without one."""

    title: str
    parts: Sequence[Figure | Grid]


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


def bars(
    groups: Sequence[Group],
    legend: Sequence[tuple[str, str]],
    *,
    title: str,
    right: str = "",
    width: float = 1000,
    theme: ThemeName = "auto",
) -> str:
    """The picture; `legend` are (colour, text)."""
    said = "; ".join(
        f"{group.label} {group.detail}: {', '.join(bar.text for bar in group.bars)} {group.right}" for group in groups
    )
    drawing = Drawing(title, said, theme)
    longest = max((sum(value for _, value in bar.parts) for group in groups for bar in group.bars), default=0.0)
    left = MARGIN + _LABEL
    room = width - left - MARGIN - _VALUE - (116 if any(group.right for group in groups) else 0)
    x, y = left, MARGIN
    for token, text in legend:
        drawing.rect(x, y + 1, 12, 12, fill=token, radius=2)
        drawing.text(x + 18, y + 11.5, text, size=12, fill="muted")
        x += 36 + text_width(text, 12)
    drawing.text(width - MARGIN, y + 11.5, right, size=12, fill="muted", anchor="end")
    y += 30
    top = y
    for group in groups:
        high = max(_BAR * len(group.bars), 30.0 if group.detail else _BAR)
        middle = y + high / 2
        drawing.text(
            left - 14,
            middle - (2 if group.detail else -4.5),
            shorten(group.label, _LABEL - 16, 13, bold=True),
            size=13,
            anchor="end",
            bold=True,
        )
        drawing.text(left - 14, middle + 13, shorten(group.detail, _LABEL - 16, 11), size=11, fill="muted", anchor="end")
        full = group.full or longest
        at = y + (high - _BAR * len(group.bars)) / 2
        for bar in group.bars:
            start = left
            for token, value in bar.parts:
                length = min(room, room * value / full) if full > 0 else 0.0
                drawing.rect(start, at + 1, max(length, 1.5), 14, fill=token, radius=2, tip=bar.text)
                start += length
            drawing.text(max(start, left + 1.5) + 7, at + 12.2, bar.text, size=11.5)
            at += _BAR
        drawing.text(width - MARGIN, middle + 4.5, group.right, size=13, anchor="end", bold=True)
        y += high + _GAP
    drawing.line(left - 1, top - 6, left - 1, y - _GAP + 6, stroke="line")
    return drawing.render(width, y + 2)
