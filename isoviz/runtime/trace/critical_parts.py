"""The critical path of a run in numbers: by channel, and by what its requests had waited for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from isoviz.runtime.trace.critical_path import critical_path
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.runtime.trace.trace import Trace

REASONS = {
    "start": "the first: it could begin at once",
    "buffers": "waited for buffers: another transfer had to give back its own",
    "data": "waited for data: the hop before had to move the chunk",
    "slot": "waited for a slot: the hop behind had to make room",
    "chunk": "waited for the chunk before to be through: hops do not overlap",
    "channel": "waited for the channel: it was busy with the chunk before",
}
"""What a request on the critical path had waited for → a text."""


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


def critical_path_text(trace: Trace) -> str:
    """The critical path in one or two sentences."""
    parts = critical_parts(trace)
    if not parts.parts:
        return "Nothing was moved: there is no critical path."
    channel, seconds = next(iter(parts.by_channel().items()))
    requests = sum(part.requests for part in parts.parts)
    sentence = (
        f"The critical path has {requests:,} request{'s'[: requests > 1]}; {format_seconds(seconds)} of its"
        f" {format_seconds(parts.seconds)} ({100 * seconds / parts.seconds:.3g} %) are on {channel}."
        if parts.seconds > 0
        else "The run took no time."
    )
    if parts.before > 0.001 * parts.seconds:
        sentence += f" Before it {format_seconds(parts.before)} went into set-up and waiting for buffers."
    if parts.gaps > 0.001 * parts.seconds:
        sentence += f" For {format_seconds(parts.gaps)} nothing on it was under way."
    return sentence
