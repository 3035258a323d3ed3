"""The critical path of a run in numbers: by channel, and by what its requests had waited for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.charts.time_axis import LABEL_WIDTH
from isoviz.machines.memory import emulated_text
from isoviz.runtime.trace.critical_path import critical_path
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.runtime import Trace

_RIGHT, _ROW = 150.0, 30.0

REASONS = {
    "start": ("dim3", "the first: it could begin at once"),
    "buffers": ("dim6", "waited for buffers: another transfer had to give back its own"),
    "data": ("dim1", "waited for data: the hop before had to move the chunk"),
    "slot": ("dim4", "waited for a slot: the hop behind had to make room"),
    "chunk": ("dim2", "waited for the chunk before to be through: hops do not overlap"),
    "channel": ("dim0", "waited for the channel: it was busy with the chunk before"),
}
"""What a request on the critical path had waited for → its colour, and a text."""


class Part(NamedTuple):
    """Time of a channel on the critical path for one reason: the seconds, and the number of requests that waited for it."""

    channel: str
    reason: str
    seconds: float
    requests: int


class Critical(NamedTuple):
    """The critical path in numbers.

    `before` are the seconds until its first request began (set-up, waiting for buffers). `parts` are the times of its requests.
    In `gaps` a request of the critical path could have begun and had not. `before` + parts + gaps is the run until its last
    request.
    """

    before: float
    parts: tuple[Part, ...]
    gaps: float
    seconds: float

    def by_channel(self) -> dict[str, float]:
        """Seconds per channel, in descending order."""
        return self._by(0)

    def by_reason(self) -> dict[str, float]:
        """Seconds per reason, in descending order."""
        return self._by(1)

    def _by(self, field: int) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for part in self.parts:
            found[str(part[field])] += part.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def critical_parts(trace: Trace) -> Critical:
    """The critical path of a run in numbers."""
    steps = critical_path(trace)
    if not steps:
        return Critical(trace.seconds, (), 0.0, trace.seconds)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    count: dict[tuple[str, str], int] = defaultdict(int)
    before = steps[0].span.start - trace.begin
    reached, gaps = steps[0].span.start, 0.0
    chunk, reason = steps[0].span[:3], steps[0].waited_for
    for span, waited_for in steps:
        # The first request of a chunk determines the reason for the whole chunk; the others follow from it.
        if span[:3] != chunk or waited_for != "channel":
            chunk, reason = span[:3], waited_for
        key = trace.channel(span), reason
        # Requests of a channel that takes several at a time overlap: their common time counts once.
        start = max(span.start, reached)
        gaps += start - reached
        seconds[key] += max(span.end - start, 0.0)
        count[key] += 1
        reached = max(reached, span.end)
    order = {name: at for at, name in enumerate(trace.channels)}
    reasons = list(REASONS)
    keys = sorted(seconds, key=lambda key: (order[key[0]], reasons.index(key[1])))
    return Critical(before, tuple(Part(*key, seconds[key], count[key]) for key in keys), gaps, reached - trace.begin)


def critical_path_svg(trace: Trace, *, width: float = 1040, theme: ThemeName = "auto") -> str:
    """A bar for each channel: its seconds on the critical path, by what its requests had waited for."""
    found = critical_parts(trace)
    drawing = Drawing("The critical path", critical_said(trace), theme, remark=emulated_text(trace.emulated))
    if not found.parts:
        drawing.text(MARGIN, 34, "Nothing was moved: there is no critical path.", size=13, fill="muted")
        return drawing.render(width, 54)
    left = MARGIN + LABEL_WIDTH
    room = width - left - MARGIN - _RIGHT
    scale = room / found.seconds if found.seconds > 0 else 0.0
    rows: list[tuple[str, list[Part]]] = [
        (name, [part for part in found.parts if part.channel == name]) for name in trace.channels
    ]
    y = MARGIN
    if found.before > 0.001 * found.seconds:
        rows.insert(0, ("set-up, waiting for buffers", []))
    for name, parts in rows:
        drawing.text(left - 12, y + 19.4, shorten(name, LABEL_WIDTH - 16, 12.5), size=12.5, anchor="end", tip=name)
        drawing.rect(left, y + 6, room, 18, fill="panel", radius=2)
        total = sum(part.seconds for part in parts) if parts or name in trace.channels else found.before
        x = left
        if not parts and total:
            drawing.rect(left, y + 6, max(total * scale, 1.0), 18, fill="predicted", radius=2)
        for part in parts:
            tip = f"{part.requests:,} requests, {format_seconds(part.seconds)}: {REASONS[part.reason][1]}"
            wide = part.seconds * scale
            drawing.rect(x, y + 6, max(wide - 0.8, 0.8), 18, fill=REASONS[part.reason][0], tip=tip)
            if text_width(part.reason, 11) + 10 <= wide:
                drawing.text(x + wide / 2, y + 19, part.reason, size=11, fill="paper", anchor="middle")
            x += wide
        share = f"{100 * total / found.seconds:.3g} %" if found.seconds > 0 else "–"
        drawing.text(left + room + 12, y + 19.4, f"{format_seconds(total)} · {share}" if total else "–", size=12)
        y += _ROW
    y += 6
    used = found.by_reason()
    for reason, (token, text) in REASONS.items():
        if reason in used:
            drawing.rect(left, y + 3, 12, 10, fill=token, radius=2)
            drawing.runs(left + 18, y + 12, [(f"{reason}: ", "ink"), (text, "muted")], size=11.5)
            y += 19
    return drawing.render(width, y + MARGIN - 4)


def critical_said(trace: Trace) -> str:
    """The critical path in one or two sentences."""
    found = critical_parts(trace)
    if not found.parts:
        return "Nothing was moved: there is no critical path."
    channel, seconds = next(iter(found.by_channel().items()))
    requests = sum(part.requests for part in found.parts)
    said = (
        f"The critical path has {requests:,} request{'s'[: requests > 1]}; {format_seconds(seconds)} of its"
        f" {format_seconds(found.seconds)} ({100 * seconds / found.seconds:.3g} %) are on {channel}."
        if found.seconds > 0
        else "The run took no time."
    )
    if found.before > 0.001 * found.seconds:
        said += f" Before it {format_seconds(found.before)} went into set-up and waiting for buffers."
    if found.gaps > 0.001 * found.seconds:
        said += f" For {format_seconds(found.gaps)} nothing on it was under way."
    return said
