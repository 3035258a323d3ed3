"""A report as a document: planned beside measured figures, and the simulation of the same plan beside the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.document import Document, Facts, Mark, Part, Picture, Prose, Section, Table
from isoviz.errors import InputError
from isoviz.planner.explanation.plan_document import plan_title
from isoviz.runtime.simulator import simulate
from isoviz.runtime.trace.trace_document import comparison_table
from isoviz.units import format_bytes, format_rate, format_ratio, format_seconds

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.trace.report import Report


def verified_mark(verified: bool | None) -> Mark:
    """Whether the destination was compared bit for bit, in words."""
    if verified is None:
        return Mark("not verified (not asked for)")
    return Mark("every byte verified", "good") if verified else Mark("NOT VERIFIED", "bad")


def report_document(report: Report, machine: Machine | None = None) -> Document:
    """A run: whether every byte was verified, and planned beside measured rates for the whole and for each hop.

    `machine` is the plan's, if it is not known otherwise.
    """
    plan, verified = report.plan, verified_mark(report.verified)
    facts = Facts(
        [
            ("compared bit for bit", verified),
            ("moved", format_bytes(report.bytes)),
            ("time", format_seconds(report.seconds)),
            ("rate", format_rate(report.throughput)),
        ]
    )
    beside = []
    if report.flush_seconds > 0.01 * report.seconds:
        beside.append(f"part of it spent waiting for the disk (fsync): {format_seconds(report.flush_seconds)}")
    if report.waited_for_memory:
        took = format_seconds(report.buffer_seconds)
        beside.append(f"buffers: {took} until the system had given their memory, before that time")
    if report.prediction is not None:
        beside.append(str(report.prediction))
    if report.tried is not None and report.record is not None:
        beside.append(report.record.words)
    beside += [f"note: {note}" for note in (*plan.notes, *report.notes)]
    parts = [facts, Picture("report_svg", (report,)), _figures(report), *map(Prose, beside), *_simulated(report, machine)]
    line = f"{format_bytes(report.bytes)} from {plan.transfer.source} to {plan.transfer.destination}: {verified}"
    return Document(f"Run of {plan_title(plan)}", parts, line)


def _figures(report: Report) -> Table:
    """Predicted beside measured: the time, the rate, and the rates of the hops while they were at work."""
    plan, said = report.plan, report.expected
    shown = [plan] if report.tried is None else [plan, report.tried]
    times = [format_seconds(each.seconds) for each in shown]
    rates = [format_rate(_rate_of(each)) for each in shown]
    rows = [
        ["time", *times, format_seconds(report.seconds), format_ratio(report.seconds, said.seconds)],
        ["rate", *rates, format_rate(report.throughput), format_ratio(report.throughput, _rate_of(said))],
    ]
    for number, (hop, found) in enumerate(zip(plan.every_hop, report.hops, strict=True)):
        path = f"path {found.path} " if len(plan.paths) > 1 else ""
        name = f"{path}hop {hop.index} {hop.kind} {hop.source} → {hop.destination}"
        rates = [format_rate(each.every_rate[number]) for each in shown]
        rows.append([name, *rates, format_rate(found.throughput), format_ratio(found.throughput, said.every_rate[number])])
    if plan.emulated:  # how near measured is to planned says nothing there
        rows = [[*row[:-1], ""] for row in rows]
    names = ["planned", "after the trial"][: len(shown)]
    header = ("", *names, "measured", f"measured / {report.basis_words}")
    return Table(header, rows, numbers=range(1, len(header)))


def _rate_of(plan: Plan) -> float:
    """Bytes per second over the whole transfer, as predicted."""
    return plan.bytes / plan.seconds if plan.seconds > 0 else 0.0


def _simulated(report: Report, machine: Machine | None) -> list[Part]:
    """The trace of the run, below the simulation of the same plan, on one time axis."""
    if report.trace is None:
        return []
    try:
        simulated = simulate(report.plan, machine)
    except InputError:  # The plan is for a machine that is not known here.
        return []
    names = ("simulated", "measured")
    picture = Picture("compare_svg", (simulated, report.trace), {"names": names})
    return [Section("Simulated and measured", [picture, comparison_table(simulated, report.trace, names)])]
