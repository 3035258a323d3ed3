"""HTML of reports: planned rates, those after the trial and measured ones, as bars and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.figures.charts.html_parts import facts, heading, paragraph, representation, table, verified_badge
from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.plans.plan_html import plan_title
from isoviz.figures.traces.timeline import compare_svg
from isoviz.figures.traces.trace_html import comparison_table
from isoviz.machines import ChannelKind, Machine
from isoviz.machines.memory import emulated_text
from isoviz.planner.time.spread import range_text
from isoviz.runtime import Report, simulate
from isoviz.units import format_bytes, format_rate, format_seconds

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


def report_html(report: Report, machine: Machine | None = None, *, theme: ThemeName = "auto") -> str:
    """A run: whether every byte was verified, and planned beside measured rates for the whole and for each hop.

    `machine` is the plan's, if it is not known otherwise.
    """
    plan = report.plan
    key: list[tuple[str, object]] = [
        ("moved", format_bytes(report.bytes)),
        ("time", format_seconds(report.seconds)),
        ("planned", format_seconds(plan.seconds)),
        ("rate", format_rate(report.throughput)),
    ]
    if report.tried is not None:
        key.insert(3, ("after the trial", format_seconds(report.tried.seconds)))
    if (said := report.prediction) is not None:
        key.insert(-1, (f"{'after the trial' if said.tried else 'planned'}, nine of ten runs", range_text(said.low, said.high)))
    if report.flush_seconds > 0.01 * report.seconds:
        key.append(("of it waiting for the disk", format_seconds(report.flush_seconds)))
    if report.waited_for_memory:
        key.append(("before it, memory of buffers", format_seconds(report.buffer_seconds)))
    rows = measurements(report)
    body: list[Sequence[object]] = [
        (row.label, row.detail, format_rate(row.planned), *([] if report.tried is None else [_rate(row.tried)]),
         _rate(row.measured), _ratio(row.ratio))
        for row in rows
    ]  # fmt: skip
    names = ["planned", *([] if report.tried is None else ["after the trial"]), "measured", f"measured / {report.basis_words}"]
    return representation(
        "report",
        heading(f"Run of {plan_title(plan)}", after=verified_badge(report.verified)),
        facts(key),
        bars_svg(
            rows,
            title=f"Rates {report.basis_words} and measured" if report.trial_leads else "Planned and measured rates",
            basis=report.basis_words,
            remark=emulated_text(plan.emulated),
            theme=theme,
        ),
        table(
            "Planned and measured rates; a hop's rate counts only the time in which it was at work",
            ("", "", *names),
            body,
            numbers=range(2, 2 + len(names)),
        ),
        *([] if report.record is None else [paragraph(report.record.words)]),
        *_simulated_and_measured(report, machine, theme),
        *(paragraph(f"Note: {note}") for note in report.notes),
    )


def _simulated_and_measured(report: Report, machine: Machine | None, theme: ThemeName) -> tuple[str, ...]:
    """The trace of the run, below the simulation of the same plan, on one time axis."""
    if report.trace is None:
        return ()
    try:
        simulated = simulate(report.plan, machine)
    except InputError:  # The plan is for a machine that is not known here.
        return ()
    names = ("simulated", "measured")
    return compare_svg(simulated, report.trace, names=names, theme=theme), comparison_table(simulated, report.trace, names)


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


def _rate(value: float | None) -> str:
    return format_rate(value) if value is not None else "–"


def _ratio(value: float | None) -> str:
    return f"{value:.2f} ×" if value is not None else "–"
