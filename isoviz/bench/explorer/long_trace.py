"""A trace of as many requests as are asked for, made without simulating them: the pipeline of a small plan, repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.runtime import Trace


def long_trace(requests: int) -> Trace:
    """A trace of about `requests` requests over six channels; the slowest is always at work."""
    from isoviz.runtime.scheduling.work import Ring, Work
    from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan

    seconds = (4e-6, 1.1e-5, 0.9e-5, 1.4e-5, 1.0e-5, 3e-6)  # of a request, by hop
    hops = len(seconds)
    chunks = max(1, requests // hops)
    rings = tuple(Ring(f"node0.buffer{number}", 1 << 19, 2) for number in range(hops - 1))
    channels = tuple(f"channel {number}" for number in range(hops))
    period = max(seconds)
    begins = [sum(seconds[:hop]) for hop in range(hops)]
    spans = [
        RequestSpan(0, hop, chunk, 0, begins[hop] + chunk * period, begins[hop] + chunk * period + seconds[hop])
        for chunk in range(chunks)
        for hop in range(hops)
    ]
    end = spans[-1].end
    work = Work.one_path(channels, chunks, rings)
    return Trace(
        (TransferSpan(0, "a long transfer", work, chunks * float(1 << 19), float(1 << 19), 0.0, 0.0, end),), tuple(spans)
    )
