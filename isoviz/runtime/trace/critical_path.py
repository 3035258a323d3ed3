"""The critical path of a run, followed backwards from its last request: each step goes to what was waited for longest."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from isoviz.checks import expect
from isoviz.runtime.trace.trace import RequestSpan, Trace

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
