"""Predicted against measured: two bars for the whole transfer and for each of its hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.units import format_rate

_LABEL, _ROW = 190.0, 46.0


@dataclass(frozen=True)
class Measured:
    """A rate as planned and as measured, in bytes per second; `measured` is None where nothing was measured."""

    label: str
    detail: str
    predicted: float
    measured: float | None

    @property
    def ratio(self) -> float | None:
        """Measured as a share of predicted."""
        return self.measured / self.predicted if self.measured is not None and self.predicted > 0 else None


def bars_svg(rows: Sequence[Measured], *, title: str, width: float = 760, remark: str = "", theme: ThemeName = "auto") -> str:
    """Horizontal bars from zero on one linear scale; values stand at their ends, the ratio at the right. `remark` is below."""
    said = "; ".join(
        f"{row.label}: predicted {format_rate(row.predicted)}, "
        + (f"measured {format_rate(row.measured)}" if row.measured is not None else "not measured")
        for row in rows
    )
    drawing = Drawing(title, said, theme, remark=remark)
    top = max([row.predicted for row in rows] + [row.measured or 0.0 for row in rows], default=0.0)
    left = MARGIN + _LABEL
    room = width - left - MARGIN - 150
    y = MARGIN
    x = left
    for token, text in (("predicted", "predicted"), ("measured", "measured")):
        drawing.rect(x, y + 1, 12, 12, fill=token, radius=2)
        drawing.text(x + 18, y + 11.5, text, size=12, fill="muted")
        x += 36 + text_width(text, 12)
    drawing.text(width - MARGIN, y + 11.5, "measured / predicted", size=12, fill="muted", anchor="end")
    y += 28
    for row in rows:
        drawing.text(left - 14, y + 13, shorten(row.label, _LABEL - 16, 13, bold=True), size=13, anchor="end", bold=True)
        drawing.text(left - 14, y + 29, shorten(row.detail, _LABEL - 16, 11), size=11, fill="muted", anchor="end", tip=row.detail)
        for number, (value, token) in enumerate(((row.predicted, "predicted"), (row.measured, "measured"))):
            at = y + 1 + 17 * number
            if value is None:
                drawing.text(left, at + 11, "not measured", size=11.5, fill="muted")
                continue
            length = max(2.0, room * value / top) if top > 0 else 2.0
            drawing.rect(left, at, length, 14, fill=token, radius=2)
            drawing.text(left + length + 7, at + 11.2, format_rate(value), size=11.5, fill="ink")
        ratio = row.ratio
        drawing.text(width - MARGIN, y + 21, f"{ratio:.2f} ×" if ratio is not None else "–", size=13, anchor="end", bold=True)
        y += _ROW
    if not rows:
        drawing.text(MARGIN, y + 12, "Nothing was measured.", size=13, fill="muted")
        y += _ROW
    drawing.line(left - 1, MARGIN + 24, left - 1, y - 10, stroke="line")
    return drawing.render(width, y + 2)
