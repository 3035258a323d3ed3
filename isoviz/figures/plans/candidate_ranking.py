"""The candidate paths by predicted time, each with the constraint that limits it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.planner.explanation.explanation_words import path_text
from isoviz.planner.explanation.rival_words import difference
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.planner.explanation.explanation import RankedPath

_LEFT, _RIGHT, _ROW, _TOP = 34.0, 336.0, 46.0, 30.0
_VALUES = 156.0  # Room for time and difference after the longest bar.
APART = 10.0
"""If times differ by more than this factor, the scale is logarithmic."""


def candidate_ranking_svg(
    candidates: Sequence[RankedPath], *, most: int = 12, width: float = 1000, remark: str = "", theme: ThemeName = "auto"
) -> str:
    """A bar for each candidate, at most `most` of them. The chosen one has the colour of paths.

    The scale starts at zero. If times differ by more than a factor of ten, it is logarithmic and labelled so. The bar of a
    candidate with only a bound has a dashed outline.
    """
    shown = candidates[: max(1, most)]
    drawing = Drawing("Candidate paths by predicted time", _description(shown, len(candidates)), theme, remark=remark)
    if not shown:
        drawing.text(MARGIN, 34, "No candidates.", size=13, fill="muted")
        return drawing.render(width, 54)
    times = [each.least for each in shown if each.least > 0]
    logarithmic = max(times) > APART * min(times)
    left, room = MARGIN + _LEFT, width - 2 * MARGIN - _LEFT - _RIGHT - _VALUES
    low, high, ticks = _decades(min(times), max(times)) if logarithmic else _linear(max(times))
    bottom = MARGIN + _TOP + _ROW * len(shown)

    def length(seconds: float) -> float:
        share = math.log(seconds / low) / math.log(high / low) if logarithmic else seconds / high
        return max(3.0, room * min(1.0, share))

    for tick in ticks:
        x = left + (room * math.log(tick / low) / math.log(high / low) if logarithmic else room * tick / high)
        drawing.line(x, MARGIN + 18, x, bottom - 6, stroke="faint")
        drawing.text(x, MARGIN + 11, format_seconds(tick) if tick else "0", size=11, fill="muted", anchor="middle")
    scale = "logarithmic scale" if logarithmic else "linear scale"
    drawing.text(left + room + _VALUES - 12, MARGIN + 11, scale, size=11, fill="muted", anchor="end")
    drawing.text(width - MARGIN - _RIGHT, MARGIN + 11, "held back by", size=11, fill="muted")
    for number, each in enumerate(shown):
        _row(drawing, each, shown[0], number, MARGIN + _TOP + _ROW * number, length(each.least), width)
    drawing.line(left, MARGIN + 18, left, bottom - 6, stroke="line")
    more = len(candidates) - len(shown)
    if more:
        worst = format_seconds(max(each.least for each in candidates))
        drawing.text(left, bottom + 10, f"and {more:,} more, up to {worst}", size=12, fill="muted")
    return drawing.render(width, bottom + (24 if more else 4))


def _row(drawing: Drawing, each: RankedPath, chosen: RankedPath, number: int, y: float, length: float, width: float) -> None:
    left = MARGIN + _LEFT
    path, time = path_text(each.memories, each.converting), format_seconds(each.least)
    tip = f"{path}: {time if each.seconds is not None else f'at least {time}'}; {each.limit}"
    drawing.open()
    drawing.text(left - 12, y + 31, str(number + 1), size=12, fill="muted", anchor="end")
    name = shorten(path, width - MARGIN - _RIGHT - left - 20, 12.5, bold=each.chosen)
    drawing.text(left + 6, y + 12, name, size=12.5, bold=each.chosen, tip=tip)
    if each.seconds is None:
        drawing.rect(left, y + 19.5, length, 14, fill="panel", stroke="predicted", radius=2, stroke_dasharray="4 3", tip=tip)
        time = f"≥ {time}"
    else:
        drawing.rect(left, y + 19.5, length, 14, fill="path" if each.chosen else "predicted", radius=2, tip=tip)
    x = left + length + 8
    drawing.text(x, y + 30.8, time, size=12, bold=True)
    against = "chosen" if each.chosen else difference(each, chosen).removeprefix("≥ ")
    drawing.text(x + text_width(time, 12, bold=True) + 8, y + 30.8, against, size=12, fill="path" if each.chosen else "muted")
    drawing.text(width - MARGIN - _RIGHT, y + 30.8, shorten(each.limit, _RIGHT, 12), size=12, fill="muted", tip=each.limit)
    drawing.close()


def _decades(least: float, most: float) -> tuple[float, float, list[float]]:
    """The axis from the power of ten below the shortest time to a little above the longest, with ticks that do not touch."""
    first, last = math.floor(math.log10(least * 0.999)), math.ceil(math.log10(most) - 1e-9)
    step = max(1, math.ceil((last - first) / 6))
    low = 10.0**first
    return low, max(most, low * APART), [10.0**power for power in range(first, last + 1, step) if 10.0**power <= most * 1.001]


def _linear(most: float) -> tuple[float, float, list[float]]:
    """The axis from zero to the longest time, with about four round ticks."""
    raw = most / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw * 0.999)
    return 0.0, most, [step * k for k in range(int(most / step * (1 + 1e-9)) + 1)]


def _description(shown: Sequence[RankedPath], count: int) -> str:
    said = [
        f"{number}. {path_text(each.memories, each.converting)}: {'at least ' if each.seconds is None else ''}"
        f"{format_seconds(each.least)}{', chosen' if each.chosen else ''}; {each.limit}."
        for number, each in enumerate(shown, start=1)
    ]
    return " ".join([*said, f"{count - len(shown)} more." if count > len(shown) else ""]).strip()
