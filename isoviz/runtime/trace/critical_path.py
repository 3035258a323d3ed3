"""The critical path of a run, followed backwards from its last request: each step goes to what was waited for longest."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import NamedTuple

from isoviz.checks import expect
from isoviz.runtime.trace.trace import RequestSpan, Trace
from isoviz.units import format_seconds

_SHARE = 0.05
"""The last part of a wait for buffers, as a share of it. A transfer that ends in this part has ended the wait."""


class Step(NamedTuple):
    """A step of the critical path: a request, and what it waited for.

    - "start": nothing but the start of its transfer.
    - "data": the hop before had to write the chunk.
    - "slot": the hop behind had to free a slot.
    - "chunk": the chunk before had to pass the last hop, because hops do not overlap.
    - "channel": the request before it on its channel had to end.
    - "buffers": another transfer had to release its buffers.
    """

    span: RequestSpan
    waited_for: str


def critical_path(trace: Trace) -> tuple[Step, ...]:
    """The critical path of a run, from its first request to its last one. It is empty if nothing was moved."""
    expect("critical path", trace, Trace, "a trace")
    if not trace.requests:
        return ()
    found = _Past(trace)
    at: RequestSpan | None = max(trace.requests, key=lambda span: span.end)
    steps: list[Step] = []
    while at is not None:
        what, source = found.waited_for(at)
        steps.append(Step(at, what))
        at = source
    return tuple(steps[::-1])


class _Past:
    """The predecessors of every request."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.before: dict[RequestSpan, RequestSpan] = {}
        """For every request, the request before it on its channel."""
        self.of_chunk: dict[tuple[int, int, int], RequestSpan] = {}
        """The last request of every chunk of a hop, by (transfer, hop, chunk)."""
        self.of_transfer: dict[int, RequestSpan] = {}
        """The last request of every transfer."""
        self.place: dict[RequestSpan, int] = {}
        """The place of every request in the order of their ends. A request waits only for lower places."""
        last: dict[str, RequestSpan] = {}
        for span in sorted(trace.requests, key=lambda span: span.end):
            self.place[span] = len(self.place)
            channel = trace.channel(span)
            if channel in last:
                self.before[span] = last[channel]
            last[channel] = self.of_chunk[span[:3]] = self.of_transfer[span.transfer] = span
        self.by_end = sorted(trace.transfers, key=lambda transfer: transfer.ended)

    def waited_for(self, at: RequestSpan) -> tuple[str, RequestSpan | None]:
        """The reason that a request waited for longest, and the request that ended this wait."""
        reasons: list[tuple[float, str, RequestSpan | None]] = [(self.trace.of[at.transfer].began, "start", None)]
        for what, key in self.trace.waits(at):
            source = self.of_chunk.get(key)
            if source is not None and self.place[source] < self.place[at]:
                reasons.append((source.end, what, source))
        previous = self.before.get(at)
        if previous is not None and previous.end <= at.start:
            reasons.append((previous.end, "channel", previous))
        _, what, source = max(reasons, key=lambda reason: (reason[0], reason[1] != "start"))
        if what == "start" and (holder := self._holder(at)) is not None:
            return "buffers", holder
        return what, source

    def _holder(self, waited: RequestSpan) -> RequestSpan | None:
        """The last request of another transfer, if the end of that transfer freed the buffers that a request waited for."""
        transfer = self.trace.of[waited.transfer]
        memories = {ring.memory for ring in transfer.work.rings}
        # A transfer also waits for its set-up. That does not end just when another transfer ends.
        earliest = transfer.began - _SHARE * (transfer.began - transfer.submitted)
        at = bisect_right(self.by_end, transfer.began, key=lambda other: other.ended)
        while at and self.by_end[at - 1].ended >= earliest > transfer.submitted:
            at -= 1
            other = self.by_end[at]
            if other is not transfer and other.admitted is not None and any(ring.memory in memories for ring in other.work.rings):
                source = self.of_transfer.get(other.number)
                if source is not None and self.place[source] < self.place[waited]:
                    return source
        return None


# ---- in numbers

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
    `gaps` are the seconds in which a request of the critical path could have begun but had not. `before` + parts + gaps is the
    time until the end of the last request.
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
