"""The picture of a report: predicted and measured rates as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
from isoviz.runtime import Report
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL, _ROW = 190.0, 46.0


@dataclass(frozen=True)
class Measured:
    """Rates in bytes per second: as planned, as measured (None: nothing was measured) and after the trial (None: there was none).

    `emulated` says that main memory stood in for a memory: then the ratio says nothing about the prediction, and there is none.
    """

    label: str
    detail: str
    planned: float
    measured: float | None
    emulated: bool = False
    tried: float | None = None
    trial_leads: bool = False

    @property
    def predicted(self) -> float:
        """The prediction: the rate after the trial where that leads, else the planned one."""
        return self.tried if self.tried is not None and self.trial_leads else self.planned

    @property
    def ratio(self) -> float | None:
        """Measured as a share of predicted."""
        known = self.measured is not None and self.predicted > 0 and not self.emulated
        return self.measured / self.predicted if known and self.measured is not None else None


def report_svg(report: Report, *, theme: ThemeName = "auto") -> str:
    """Predicted beside measured rates as bars, of the whole and of each hop."""
    title = f"Rates {report.basis_words} and measured" if report.trial_leads else "Planned and measured rates"
    remark = emulated_text(report.plan.emulated)
    return bars_svg(measurements(report), title=title, basis=report.basis_words, remark=remark, theme=theme)


def measurements(report: Report) -> list[Measured]:
    """The whole transfer, then each hop. A hop that never ran has no measured rate."""
    plan, tried = report.plan, report.tried
    emulated = bool(plan.emulated)

    def rated(label: str, detail: str, planned: float, after: float | None, measured: float | None) -> Measured:
        return Measured(label, detail, planned, measured, emulated, after, report.trial_leads)

    whole = [None if each is None else plan.bytes / each.seconds if each.seconds > 0 else 0.0 for each in (plan, tried)]
    found = [rated("whole transfer", format_bytes(plan.bytes), whole[0] or 0.0, whole[1], report.throughput or None)]
    by_place = {(hop.path, hop.index): hop for hop in report.hops}
    several = len(plan.paths) > 1
    rates = iter(zip(plan.every_rate, [None] * len(plan.every_rate) if tried is None else tried.every_rate, strict=True))
    for number, path in enumerate(plan.paths):
        for hop in path.hops:
            ran = by_place.get((number, hop.index))
            rate = ran.throughput if ran is not None and ran.bytes > 0 else None
            label = f"{f'path {number}, ' if several else ''}hop {hop.index} {ChannelKind.words_for(hop.kind)}"
            found.append(rated(label, f"{hop.source} → {hop.destination}", *next(rates), rate))
    return found


def bars_svg(
    rows: Sequence[Measured],
    *,
    title: str,
    basis: str = "planned",
    width: float = 760,
    remark: str = "",
    theme: ThemeName = "auto",
) -> str:
    """Horizontal bars from zero on one linear scale; values stand at their ends, the ratio at the right. `remark` is below.

    `basis` names the prediction.
    """
    said = "; ".join(
        f"{row.label}: {basis} {format_rate(row.predicted)}, "
        + (f"measured {format_rate(row.measured)}" if row.measured is not None else "not measured")
        for row in rows
    )
    drawing = Drawing(title, said, theme, remark=remark)
    top = max([row.predicted for row in rows] + [row.measured or 0.0 for row in rows], default=0.0)
    left = MARGIN + _LABEL
    room = width - left - MARGIN - 150
    y = MARGIN
    x = left
    for token, text in (("predicted", basis), ("measured", "measured")):
        drawing.rect(x, y + 1, 12, 12, fill=token, radius=2)
        drawing.text(x + 18, y + 11.5, text, size=12, fill="muted")
        x += 36 + text_width(text, 12)
    drawing.text(width - MARGIN, y + 11.5, f"measured / {basis}", size=12, fill="muted", anchor="end")
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
