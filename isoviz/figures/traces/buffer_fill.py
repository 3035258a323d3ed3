"""The fill level of the buffers between the hops over time."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.figures.charts.svg import Drawing, shorten
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.charts.time_axis import LABEL_WIDTH, TimeAxis, outline, sampled
from isoviz.figures.traces.timeline import AXIS
from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.runtime import Trace

_RIGHT, _ROW, _GAP = 66.0, 46.0, 18.0
MOST = 12
"""Most buffers that are drawn. The figure states the number of all buffers."""

Steps = tuple[tuple[float, float], ...]


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
    found = []
    for key in sorted(filled, key=lambda key: key[0]):
        used, owned, nbytes = (_summed(table[key]) for table in (filled, held, room))
        busy = sum(after - when for (when, level), (after, _) in pairwise(owned) if level > 0)
        area = sum(level * (after - when) for (when, level), (after, _) in pairwise(used))
        slots = max(level for _, level in owned)
        found.append(Fill(*key, count[key], used, owned, slots, max(level for _, level in nbytes), area / busy if busy else 0.0))
    return tuple(found)


def _summed(changes: dict[float, float]) -> Steps:
    level, found = 0.0, []
    for when in sorted(changes):
        level += changes[when]
        found.append((when, level))
    return tuple(found)


def buffer_fill_svg(trace: Trace, *, width: float = 1040, theme: ThemeName = "auto") -> str:
    """Slots in use of each buffer over time, in front of the slots held by its transfers."""
    rows = fills(trace)
    drawing = Drawing("How full the buffers were", _description(rows), theme, remark=emulated_text(trace.emulated))
    if not rows:
        text = (
            "No buffer lies between the hops: nothing to draw."
            if trace.transfers
            else "No transfer was submitted: nothing to draw."
        )
        drawing.text(MARGIN, 34, text, size=13, fill="muted")
        return drawing.render(width, 54)
    left = MARGIN + LABEL_WIDTH
    axis = TimeAxis(trace.seconds, left, width - left - MARGIN - _RIGHT)
    columns = int(axis.width)
    y = MARGIN + 4
    for row in rows[:MOST]:
        floor, scale = y + _ROW, _ROW / row.slots
        drawing.rect(left, y, axis.width, _ROW, fill="panel")
        held, _ = sampled(row.held, axis.seconds, columns)
        mean, most = sampled(row.filled, axis.seconds, columns)
        step = axis.width / columns
        drawing.path(outline(held, left, step, floor, scale), fill="faint")
        tip = f"{row.memory}, filled by hop {row.hop}: {row.mean:.2f} of {row.slots:g} slots in use on average"
        drawing.path(outline(mean, left, step, floor, scale), fill="dim0", tip=tip)
        if abs(most - mean).max() > 0.02:
            drawing.path(outline(most, left, step, floor, scale), stroke="dim0", width=1, stroke_opacity="0.55")
        # Lines at whole slots, if there are few; the axis labels zero and the maximum.
        for slot in range(1, int(row.slots) + 1 if row.slots <= 8 else 1):
            drawing.line(left, floor - slot * scale, axis.right, floor - slot * scale, stroke="line", width=0.6)
        drawing.line(left, floor, axis.right, floor, stroke="line")
        drawing.text(left - 8, floor + 3, "0", size=11, fill="muted", anchor="end")
        drawing.text(left - 8, y + 8, f"{row.slots:,.0f}", size=11, fill="muted", anchor="end")
        drawing.text(left - 46, y + 20, shorten(row.memory, LABEL_WIDTH - 50, 12.5), size=12.5, anchor="end", tip=row.memory)
        drawing.text(left - 46, y + 36, _detail(row), size=11, fill="muted", anchor="end")
        share = 100 * row.mean / row.slots
        drawing.text(axis.right + 8, y + _ROW / 2 + 4, f"{share:.0f} % full", size=12, fill="muted", tip=tip)
        y += _ROW + _GAP
    if len(rows) > MOST:
        drawing.text(left, y + 4, f"and {len(rows) - MOST} more buffers", size=12, fill="muted")
        y += 16
    y = axis.draw(drawing, y - _GAP + 10, AXIS)
    drawing.rect(left, y + 7, 12, 10, fill="dim0", radius=2)
    drawing.text(left + 18, y + 16, "slots in use (mean over a pixel; the line is the most)", size=11.5, fill="muted")
    drawing.rect(left + 360, y + 7, 12, 10, fill="faint", stroke="line", radius=2)
    drawing.text(left + 378, y + 16, "slots that transfers hold", size=11.5, fill="muted")
    return drawing.render(width, y + 32)


def _detail(row: Fill) -> str:
    if row.transfers > 1:
        return f"after hop {row.hop}, {row.transfers:,} transfers"
    return f"after hop {row.hop}, {format_bytes(row.nbytes / row.slots)} each"


def _description(rows: tuple[Fill, ...]) -> str:
    said = [f"{row.memory}, filled by hop {row.hop}: {row.mean:.2f} of {row.slots:g} slots in use on average." for row in rows]
    return " ".join(said) or "No buffers."
