"""The memories at the stops of a path beside each other, each a picture of its bytes, with words about the hops between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isoviz.figures.charts.svg import Drawing, shorten, wrap
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.layouts.memory_map import whole_map
from isoviz.figures.layouts.memory_picture import draw_memory
from isoviz.layouts import Linearization

_WIDTH = 760.0
_GAP = 88.0
_CELLS = 96


class HopWords(NamedTuple):
    """What stands at a hop: a few words, and whether the hop does what it should (None: nothing is asked of it)."""

    words: str
    is_met: bool | None = None


def stops_svg(stops: Sequence[Linearization], hops: Sequence[HopWords], title: str, *, theme: ThemeName = "auto") -> str:
    """The stops of a path, `hops` between them. Memory is read in rows, from the top left on."""
    told = [f"{number}: {stop.layout}" for number, stop in enumerate(stops)]
    drawing = Drawing(title, f"{'; '.join(told)}. Hops: {'; '.join(hop.words for hop in hops)}.", theme)
    drawing.text(MARGIN, MARGIN + 12, title, size=12.5, bold=True)
    side = (_WIDTH - 2 * MARGIN - _GAP * len(hops)) / len(stops)
    top = MARGIN + 30
    bottom = top + side
    for number, stop in enumerate(stops):
        x = MARGIN + number * (side + _GAP)
        draw_memory(drawing, whole_map(stop, _CELLS), (stops[0], stops[-1]), x, top, side, side)
        for line, text in enumerate(_lines(stop, side)):
            drawing.text(x, top + side + 16 + 14 * line, text, size=10.5, mono=True)
            bottom = max(bottom, top + side + 16 + 14 * line)
    for number, (words, is_met) in enumerate(hops):
        x = MARGIN + number * (side + _GAP) + side
        colour = "muted" if is_met is None else "good" if is_met else "bad"
        sign = "" if is_met is None else "✓ " if is_met else "✗ "
        y = top + side / 2
        drawing.line(x + 6, y, x + _GAP - 6, y, stroke=colour, width=1.5, marker_end=drawing.arrow(colour))
        lines = wrap(sign + words, _GAP - 6, 11)
        for line, text in enumerate(lines):
            drawing.text(x + _GAP / 2, y - 8 - 14 * (len(lines) - 1 - line), text, size=11, anchor="middle", fill=colour)
    return drawing.render(_WIDTH, bottom + MARGIN)


def _lines(stop: Linearization, width: float) -> list[str]:
    return [shorten(line, width + _GAP - 10, 10.5, mono=True) for line in wrap(stop.layout.pretty, width + 20, 10.5, mono=True)]
