"""The busy share of each channel in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.charts.time_axis import LABEL_WIDTH
from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.runtime import Trace

_RIGHT, _ROW = 230.0, 30.0


def channel_use_svg(trace: Trace, *, width: float = 1040, theme: ThemeName = "auto") -> str:
    """A bar for each channel: its busy and its idle share of the run. Above them: the number of channels at work over time."""
    uses = trace.uses
    said = overlap_said(trace)
    words = " ".join([said, *(_said(use.channel, use.share) for use in uses)])
    drawing = Drawing("Busy and idle channels", words, theme, remark=emulated_text(trace.emulated))
    if not uses:
        drawing.text(MARGIN, 34, "No transfer was submitted: nothing to draw.", size=13, fill="muted")
        return drawing.render(width, 54)
    left = MARGIN + LABEL_WIDTH
    room = width - left - MARGIN - _RIGHT
    drawing.text(left, MARGIN + 12, said, size=13)
    y = MARGIN + 28
    for percent in (0, 25, 50, 75, 100):
        x = left + room * percent / 100
        drawing.line(x, y, x, y + _ROW * len(uses), stroke="faint")
        drawing.text(x, y + _ROW * len(uses) + 15, f"{percent} %", size=11.5, fill="muted", anchor="middle")
    for use in uses:
        busy = min(use.share, 1.0) * room
        tip = _said(use.channel, use.share)
        drawing.text(left - 12, y + 19.4, shorten(use.channel, LABEL_WIDTH - 16, 12.5), size=12.5, anchor="end", tip=use.channel)
        drawing.rect(left, y + 6, room, 18, fill="panel", stroke="faint", radius=2, tip=tip)
        if busy:
            drawing.rect(left, y + 6, max(busy, 1.0), 18, fill="dim0", radius=2, tip=tip)
        rate = f", {format_rate(use.nbytes / use.seconds)}" if use.seconds > 0 else ""
        detail = f"{100 * use.share:.3g} % · {format_bytes(use.nbytes)}{rate}"
        drawing.text(
            left + room + 12, y + 19.4, shorten(detail, _RIGHT - 14, 12), size=12, tip=f"{format_seconds(use.seconds)} at work"
        )
        y += _ROW
    y += 26
    drawing.rect(left, y + 2, 12, 10, fill="dim0", radius=2)
    drawing.text(left + 18, y + 11, "busy", size=11.5, fill="muted")
    drawing.rect(left + 70, y + 2, 12, 10, fill="panel", stroke="line", radius=2)
    drawing.text(left + 88, y + 11, "idle", size=11.5, fill="muted")
    return drawing.render(width, y + 28)


def overlap_said(trace: Trace) -> str:
    """The overlap as a sentence."""
    if not trace.requests:
        return "No channel was at work."
    count = len(trace.channels)
    if count == 1:
        return "There is one channel; nothing can overlap."
    how = "one after the other" if trace.overlap < 1.005 else f"{trace.overlap:.2f} of {count} at a time, on average"
    return f"While any channel was at work, they worked {how}."


def _said(channel: str, share: float) -> str:
    return f"{channel}: busy {100 * share:.1f} %, idle {100 * (1 - share):.1f} % of the run."
