"""A trace as a document: its channels, and in sections its transfers, buffers and critical path; and two traces side by side."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.document import Cell, Document, Facts, Part, Picture, Prose, Section, Table
from isoviz.machines.memory import emulated_text
from isoviz.runtime.trace.critical_path import REASONS, critical_parts, critical_path_text
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.runtime.trace.trace import Trace

MOST = 200
"""Most transfers in a table."""

Steps = tuple[tuple[float, float], ...]


def trace_document(trace: Trace) -> Document:
    """A run: its timeline, and its channels, transfers, buffers and critical path as tables."""
    done = sum(transfer.outcome == "done" for transfer in trace.transfers)
    count = len(trace.transfers)
    key: list[tuple[str, Cell]] = [
        ("moved", format_bytes(trace.nbytes)),
        ("time", format_seconds(trace.seconds)),
        ("rate", format_rate(trace.throughput)),
        ("channels at a time", f"{trace.overlap:.2f} of {len(trace.channels)}"),
    ]
    if count != 1 or done != 1:
        key.append(("transfers done", f"{done:,} of {count:,}"))
    said = emulated_text(trace.emulated)
    parts: list[Part] = [
        Facts(key),
        Picture("timeline_svg", (trace,)),
        _channels(trace),
        *([Prose(said)] if said else []),
        Section("Overlap and critical path", [Prose(overlap_text(trace)), Prose(critical_path_text(trace)), *_critical(trace)]),
        Section("Transfers", _transfers(trace)),
        *_buffers(trace),
    ]
    return Document(f"{trace.where.capitalize()} run of {count:,} transfer{'s'[: count != 1]}", parts, trace.headline())


def comparison_table(first: Trace, second: Trace, names: tuple[str, str]) -> Table:
    """Seconds and busy shares of two runs."""
    rows = [("whole run", format_seconds(first.seconds), format_seconds(second.seconds), _ratio(second.seconds, first.seconds))]
    others = {use.channel: use for use in second.uses}
    for use in first.uses:
        other = others.get(use.channel)
        own_time = f"{format_seconds(use.seconds)} ({100 * use.share:.0f} %)"
        other_time = f"{format_seconds(other.seconds)} ({100 * other.share:.0f} %)" if other is not None else "–"
        rows.append((use.channel, own_time, other_time, _ratio(other.seconds if other is not None else 0.0, use.seconds)))
    caption = "Seconds of the run and of every channel at work (share of the run)"
    return Table(("", names[0], names[1], f"{names[1]} / {names[0]}"), rows, caption, numbers=(1, 2, 3))


def _ratio(value: float, base: float) -> str:
    return f"{value / base:.2f} ×" if base > 0 and value > 0 else "–"


def _channels(trace: Trace) -> Table:
    """When each channel was at work, and for how long."""
    begin, ends = trace.begin, dict[str, tuple[float, float]]()
    for span in trace.requests:
        name = trace.channel(span)
        first, last = ends.get(name, (span.start, span.end))
        ends[name] = min(first, span.start), max(last, span.end)
    rows = [
        (
            use.channel,
            *(format_seconds(when - begin) for when in ends.get(use.channel, ())),
            *([] if use.channel in ends else ["–", "–"]),
            format_seconds(use.seconds),
            f"{100 * use.share:.1f} %",
            f"{use.requests:,}",
            format_bytes(use.nbytes),
        )
        for use in trace.uses
    ]
    header = ("", "first request", "last one ended", "busy", "share of the run", "requests", "bytes")
    return Table(header, rows, numbers=range(1, 7))


def overlap_text(trace: Trace) -> str:
    """The overlap as a sentence."""
    if not trace.requests:
        return "No channel was at work."
    count = len(trace.channels)
    if count == 1:
        return "There is one channel; nothing can overlap."
    how = "one after the other" if trace.overlap < 1.005 else f"{trace.overlap:.2f} of {count} at a time, on average"
    return f"While any channel was at work, they worked {how}."


def _critical(trace: Trace) -> list[Part]:
    critical = critical_parts(trace)
    rows = [
        (
            part.channel,
            REASONS[part.reason],
            f"{part.requests:,}",
            format_seconds(part.seconds),
            f"{100 * part.seconds / critical.seconds:.3g} %" if critical.seconds > 0 else "–",
        )
        for part in sorted(critical.parts, key=lambda part: -part.seconds)
    ]
    header = ("channel", "its requests", "requests", "seconds", "share")
    return [Table(header, rows, "The critical path, longest first", numbers=(2, 3, 4))] if rows else []


def _transfers(trace: Trace) -> list[Part]:
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
    header = ("", "bytes", "submitted", "has its buffers", "ended", "outcome")
    table = Table(header, rows, "In time since the first was submitted", numbers=(1, 2, 3, 4))
    return [table, *([Prose(f"and {left_out:,} more")] if left_out else [])]


# ---- buffers


class Fill(NamedTuple):
    """A buffer, or the buffers of several transfers at the same place: the hop that fills it, and its memory.

    `filled` has the slots in use and `held` the slots of admitted transfers, as steps (seconds since the beginning, slots from
    then on). `nbytes` is the largest size of all slots. `mean` is the mean of the slots in use while any were held.
    """

    hop: int
    memory: str
    transfers: int
    filled: Steps
    held: Steps
    slots: float
    nbytes: float
    mean: float


def fills(trace: Trace) -> tuple[Fill, ...]:
    """The buffers of a run in the order of the path.

    Buffers of several transfers after the same hop, in the same memory, are added.
    """
    filled: dict[tuple[int, str], dict[float, float]] = {}
    held: dict[tuple[int, str], dict[float, float]] = {}
    room: dict[tuple[int, str], dict[float, float]] = {}
    count: dict[tuple[int, str], int] = defaultdict(int)
    begin = trace.begin
    for transfer in trace.transfers:
        if transfer.admitted is None:
            continue
        for hop, ring in transfer.work.buffers:
            key = hop, ring.memory
            count[key] += 1
            steps = filled.setdefault(key, defaultdict(float))
            before = 0.0
            for when, level in trace.fill(transfer.number, hop):
                steps[when - begin] += level - before
                before = level
            for table, size in ((held, ring.slots), (room, ring.total)):
                changes = table.setdefault(key, defaultdict(float))
                changes[transfer.admitted - begin] += size
                changes[transfer.ended - begin] -= size
    buffers = []
    for key in sorted(filled, key=lambda key: key[0]):
        used, owned, nbytes = (_summed(table[key]) for table in (filled, held, room))
        busy = sum(after - when for (when, level), (after, _) in pairwise(owned) if level > 0)
        area = sum(level * (after - when) for (when, level), (after, _) in pairwise(used))
        slots = max(level for _, level in owned)
        most = max(level for _, level in nbytes)
        buffers.append(Fill(*key, count[key], used, owned, slots, most, area / busy if busy else 0.0))
    return tuple(buffers)


def _summed(changes: dict[float, float]) -> Steps:
    level, steps = 0.0, []
    for when in sorted(changes):
        level += changes[when]
        steps.append((when, level))
    return tuple(steps)


def _buffers(trace: Trace) -> list[Part]:
    rows = [
        (
            fill.memory,
            f"{fill.hop}",
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
    table = Table(header, rows, "Held: by all transfers together, at most", numbers=range(1, 8))
    return [Section("Buffers", [table])] if rows else []
