"""Rulers above each other: where the blocks of a dimension end, in one layout and in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isoviz.figures.charts.svg import Drawing, text_width
from isoviz.figures.charts.theme import MARGIN, RAMP_INK, ThemeName, ramp

_WIDTH = 760.0
_HIGH = 28.0
_MOST_NUMBERS, _NUMBER = 48, 19.0
"""Numbers along a dimension at most, and the room for each in pixels."""


@dataclass(frozen=True)
class Ruler:
    """Pieces of equal length along a dimension. `colour` is a token of the theme; without one, pieces have colours in turn.

    Those whose numbers are `marked` stand out.
    """

    name: str
    step: int
    colour: str = ""
    marked: tuple[int, ...] = ()


def rulers_svg(
    rulers: Sequence[Ruler], size: int, dim: str, title: str, *, cuts: Sequence[int] = (), theme: ThemeName = "auto"
) -> str:
    """Rulers over the entries 0 to `size` - 1 of a dimension. At `cuts` a line goes through all of them."""
    told = ". ".join(f"{ruler.name}: pieces of {ruler.step}" for ruler in rulers)
    drawing = Drawing(
        title, f"{told}. Lines through all of them behind {dim} = {', '.join(str(cut - 1) for cut in cuts)}.", theme
    )
    left = MARGIN + max(text_width(ruler.name, 12) for ruler in rulers) + 12
    unit = (_WIDTH - MARGIN - left) / size
    drawing.text(MARGIN, MARGIN + 12, title, size=12.5, bold=True)
    top = y = MARGIN + 40
    steps = (step for step in (1, 2, 3, 5, 6, 10, 12, 20, 30, 60) if size / step <= _MOST_NUMBERS and unit * step >= _NUMBER)
    every = next(steps, -(-size // 30))
    drawing.text(left - 12, y - 8, dim, size=11.5, fill="muted", anchor="end")
    for at in range(0, size, every):
        drawing.text(left + (at + 0.5) * unit, y - 8, str(at), size=10, fill="muted", anchor="middle")
    light, _, dark = ramp(3)
    for ruler in rulers:
        drawing.text(left - 12, y + 18, ruler.name, size=12, anchor="end")
        for number, begin in enumerate(range(0, size, ruler.step)):
            width = min(ruler.step, size - begin) * unit
            fill = "bad" if number in ruler.marked else ruler.colour or (dark if number % 2 else light)
            drawing.rect(left + begin * unit, y, width, _HIGH, fill=fill, stroke="paper", stroke_width=1.5, radius=2)
            if width >= 16:
                ink = "on-path" if ruler.colour else RAMP_INK
                drawing.text(left + begin * unit + width / 2, y + 18, str(number), size=11, anchor="middle", fill=ink)
        y += _HIGH + 8
    for cut in cuts:
        drawing.line(left + cut * unit, top - 4, left + cut * unit, y - 4, stroke="bad", width=2, stroke_dasharray="4 3")
    return drawing.render(_WIDTH, y + MARGIN - 8)
