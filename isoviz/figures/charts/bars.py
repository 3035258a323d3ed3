"""Bars: a figure for each of a few names, as long as it is large, or two figures side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from isoviz.figures.charts.svg import Drawing, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName

_WIDTH = 760.0
_HIGH = 16.0
_GAP = 12.0


@dataclass(frozen=True)
class NamedBar:
    """One name and its figures, each with the words that stand behind it. `is_marked`: it stands out."""

    name: str
    figures: tuple[tuple[float, str], ...]
    is_marked: bool = False


def bars_svg(
    bars: Sequence[NamedBar], title: str, *, series: Sequence[str] = (), logarithmic: bool = False, theme: ThemeName = "auto"
) -> str:
    """Bars below each other. `series` names the figures of a bar where there are several. The longest is the largest figure."""
    told = "; ".join(f"{bar.name}: {', '.join(words for _, words in bar.figures)}" for bar in bars)
    drawing = Drawing(title, f"{told}.", theme)
    left = MARGIN + max(text_width(bar.name, 12, mono=True) for bar in bars) + 12
    most = max(figure for bar in bars for figure, _ in bar.figures)
    least = min(figure for bar in bars for figure, _ in bar.figures)
    room = _WIDTH - MARGIN - left - max(text_width(words, 12) for bar in bars for _, words in bar.figures) - 8
    drawing.text(MARGIN, MARGIN + 12, title, size=12.5, bold=True)
    y = MARGIN + 28
    tokens = ("predicted", "measured") if len(series) > 1 else ("path",)
    if len(series) > 1:
        x = left
        for token, name in zip(tokens, series, strict=True):
            drawing.rect(x, y - 4, 12, 12, fill=token, radius=2)
            drawing.text(x + 18, y + 6, name, size=12)
            x += text_width(name, 12) + 44
        y += 22
    for bar in bars:
        drawing.text(left - 12, y + 13, bar.name, size=12, anchor="end", mono=True, bold=bar.is_marked)
        for number, (figure, words) in enumerate(bar.figures):
            # A logarithmic bar begins a factor of two below the least figure.
            share = math.log(2 * figure / least) / math.log(2 * most / least) if logarithmic else figure / most
            fill = "bad" if bar.is_marked else tokens[number % len(tokens)]
            drawing.rect(left, y, max(2.0, room * share), _HIGH, fill=fill, radius=2)
            drawing.text(left + max(2.0, room * share) + 6, y + 13, words, size=12)
            y += _HIGH + 3
        y += _GAP - 3
    return drawing.render(_WIDTH, y + MARGIN - _GAP)
