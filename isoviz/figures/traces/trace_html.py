"""HTML of traces: timelines, buffers, and the critical path; and of the time over the chunk size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import facts, folded, heading, paragraph, pre, representation, table
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.figures.plots.planning import chunk_curve_figure
from isoviz.figures.plots.traces import fills, overlap_text
from isoviz.figures.traces.critical_parts import REASONS, critical_parts, critical_path_text
from isoviz.figures.traces.timeline import compare_svg, timeline_svg
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner.explanation.curves.chunk_curve import ChunkCurve
    from isoviz.runtime import Trace

MOST = 200
"""Most transfers in a table."""


def trace_html(trace: Trace, *, theme: ThemeName = "auto") -> str:
    """A run: its timeline, and its transfers, channels, buffers and critical path as tables."""
    title = heading(f"{trace.where.capitalize()} run of {_count(len(trace.transfers), 'transfer')}")
    return representation(
        "trace",
        title,
        trace_facts(trace),
        timeline_svg(trace, theme=theme),
        _tables(trace),
        _buffers(trace),
        paragraph(critical_path_text(trace)),
        _critical(trace),
        folded("As text", pre(trace)),
    )


def comparison_html(first: Trace, second: Trace, *, names: tuple[str, str] | None = None, theme: ThemeName = "auto") -> str:
    """Two runs of the same plans on one time axis, for example simulated and real, and a table that compares their channels."""
    chosen = names or (first.where, second.where)
    title = heading(f"{chosen[0].capitalize()} and {chosen[1]}")
    picture = compare_svg(first, second, names=chosen, theme=theme)
    return representation("comparison", title, picture, comparison_table(first, second, chosen))


def curve_html(curve: ChunkCurve, *, theme: ThemeName = "auto", plots: bool = True) -> str:
    """The predicted time over the chunk size. Without `plots` it is a table only."""
    said = str(curve)
    return representation(
        "chunk-curve",
        heading("Predicted time over the chunk size"),
        paragraph(f"{said[:1].upper()}{said[1:]}."),
        plot_html(chunk_curve_figure, curve, theme=theme) if plots else "",
        curve_table(curve),
    )


def trace_facts(trace: Trace) -> str:
    """Key figures of a run."""
    done = sum(transfer.outcome == "done" for transfer in trace.transfers)
    key: list[tuple[str, object]] = [
        ("moved", format_bytes(trace.nbytes)),
        ("time", format_seconds(trace.seconds)),
        ("rate", format_rate(trace.throughput)),
        ("channels at a time", f"{trace.overlap:.2f} of {len(trace.channels)}"),
    ]
    if trace.emulated:
        key.append(("emulated", ", ".join(trace.emulated)))
    if len(trace.transfers) != 1 or done != 1:
        key.append(("transfers done", f"{done:,} of {len(trace.transfers):,}"))
    return facts(key)


def comparison_table(first: Trace, second: Trace, names: tuple[str, str]) -> str:
    """Seconds and busy shares of two runs."""
    rows: list[Sequence[object]] = [
        ("whole run", format_seconds(first.seconds), format_seconds(second.seconds), _ratio(second.seconds, first.seconds))
    ]
    others = {use.channel: use for use in second.uses}
    for use in first.uses:
        other = others.get(use.channel)
        own_time = f"{format_seconds(use.seconds)} ({100 * use.share:.0f} %)"
        other_time = f"{format_seconds(other.seconds)} ({100 * other.share:.0f} %)" if other is not None else "–"
        rows.append((use.channel, own_time, other_time, _ratio(other.seconds if other is not None else 0.0, use.seconds)))
    return table(
        "Seconds of the run and of every channel at work (share of the run)",
        ("", names[0], names[1], f"{names[1]} / {names[0]}"),
        rows,
        numbers=(1, 2, 3),
    )


def curve_table(curve: ChunkCurve) -> str:
    """The points of a chunk curve."""
    rows = []
    for point in curve.points:
        said = "" if point.fits else "does not fit"
        said = "the plan" if point == curve.chosen else "minimum" if point == curve.best else said
        rows.append(
            (
                format_bytes(point.chunk_bytes),
                f"{point.per_chunk:,}" if point.per_chunk else "smaller blocks",
                f"{point.chunks:,}",
                format_seconds(point.seconds),
                format_seconds(point.stored_seconds),
                said,
            )
        )
    return table(
        "Predicted time for chunks of other sizes, on the same path",
        ("chunk", "blocks", "chunks", "pipelined", "stored and forwarded", ""),
        rows,
        numbers=(0, 1, 2, 3, 4),
        marked=[k for k, point in enumerate(curve.points) if point == curve.chosen],
    )


def _tables(trace: Trace) -> str:
    begin = trace.begin
    rows = [
        (
            transfer.label,
            format_bytes(transfer.nbytes),
            format_seconds(transfer.submitted - begin),
            format_seconds(transfer.admitted - begin) if transfer.admitted is not None else "–",
            format_seconds(transfer.ended - begin),
            transfer.outcome + (f": {transfer.reason}" if transfer.reason else ""),
        )
        for transfer in trace.transfers[:MOST]
    ]
    left_out = len(trace.transfers) - len(rows)
    ends: dict[str, tuple[float, float]] = {}
    for span in trace.requests:
        name = trace.channel(span)
        first, last = ends.get(name, (span.start, span.end))
        ends[name] = min(first, span.start), max(last, span.end)
    channels = [
        (
            use.channel,
            format_seconds(ends[use.channel][0] - begin) if use.channel in ends else "–",
            format_seconds(ends[use.channel][1] - begin) if use.channel in ends else "–",
            format_seconds(use.seconds),
            f"{100 * use.share:.1f} %",
            f"{use.requests:,}",
            format_bytes(use.nbytes),
        )
        for use in trace.uses
    ]
    header = ("", "bytes", "submitted", "has its buffers", "ended", "outcome")
    return (
        table("Transfers, in time since the first was submitted", header, rows, numbers=(1, 2, 3, 4))
        + (paragraph(f"and {left_out:,} more") if left_out else "")
        + table(
            "Channels",
            ("", "first request", "last request ended", "busy", "share of the run", "requests", "bytes"),
            channels,
            numbers=(1, 2, 3, 4, 5, 6),
        )
        + paragraph(overlap_text(trace))
    )


def _buffers(trace: Trace) -> str:
    rows = [
        (
            fill.memory,
            fill.hop,
            f"{fill.transfers:,}",
            f"{fill.slots:,.0f}",
            format_bytes(fill.nbytes),
            f"{max((level for _, level in fill.filled), default=0.0):,.0f}",
            f"{fill.mean:,.2f}",
            f"{100 * fill.mean / fill.slots:.0f} %",
        )
        for fill in fills(trace)
    ]
    header = ("memory", "filled by hop", "transfers", "slots held", "bytes held", "most in use", "mean in use", "full")
    caption = "Buffers; held: by all transfers together, at most"
    return table(caption, header, rows, numbers=(1, 2, 3, 4, 5, 6, 7)) if rows else ""


def _critical(trace: Trace) -> str:
    critical = critical_parts(trace)
    if not critical.parts:
        return ""
    rows = [
        (
            part.channel,
            f"{part.reason}: {REASONS[part.reason]}",
            f"{part.requests:,}",
            format_seconds(part.seconds),
            f"{100 * part.seconds / critical.seconds:.3g} %" if critical.seconds > 0 else "–",
        )
        for part in sorted(critical.parts, key=lambda part: -part.seconds)
    ]
    header = ("channel", "its requests", "requests", "seconds", "share")
    return table("The critical path, longest first", header, rows, numbers=(2, 3, 4))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s'[: number != 1]}"


def _ratio(value: float, base: float) -> str:
    return f"{value / base:.2f} ×" if base > 0 and value > 0 else "–"
