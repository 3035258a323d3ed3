"""What held a run up: from its last request back to its first, each time to what was waited for longest."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from isoviz.runtime.trace.trace import RequestSpan

if TYPE_CHECKING:
    from isoviz.runtime.trace.trace import Trace

_SHARE = 0.05
"""A transfer that ends within this share of the end of a wait for buffers is what ended it."""


class Step(NamedTuple):
    """A piece of the critical path: a request, and what it had waited for: "start", "data" (the hop before), "slot" (the hop
    behind it had to make room), "chunk" (the chunk before had to be through, where hops do not overlap), "channel" (the
    request before it there) or "buffers" (another transfer had to give back its own)."""

    span: RequestSpan
    waited_for: str


def critical_path(trace: Trace) -> tuple[Step, ...]:
    """The critical path of a run, from its first request to its last; empty where nothing was moved."""
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
    """What went before every request."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.before: dict[RequestSpan, RequestSpan] = {}
        """The request before it on its channel."""
        self.of_chunk: dict[tuple[int, int, int], RequestSpan] = {}
        """The last request of a chunk of a hop."""
        self.of_transfer: dict[int, RequestSpan] = {}
        """The last request of a transfer."""
        self.place: dict[RequestSpan, int] = {}
        """The number of a request in the order in which they ended: what it waited for has a lower one, even at the same time."""
        last: dict[str, RequestSpan] = {}
        for span in sorted(trace.requests, key=lambda span: span.end):
            self.place[span] = len(self.place)
            channel = trace.channel(span)
            if channel in last:
                self.before[span] = last[channel]
            last[channel] = self.of_chunk[span[:3]] = self.of_transfer[span.transfer] = span
        self.by_end = sorted(trace.transfers, key=lambda transfer: transfer.ended)

    def waited_for(self, at: RequestSpan) -> tuple[str, RequestSpan | None]:
        """What a request had waited for longest, and the request that ended the wait."""
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
        """The last request of the transfer whose end gave that of another request the buffers that it had waited for."""
        transfer = self.trace.of[waited.transfer]
        memories = {ring.memory for ring in transfer.work.rings}
        # What else there is to wait for, the set-up, does not end just when another transfer does.
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
