"""The times of a transfer's requests: the sums that a report needs, and the first requests in full.

A conversion of a terabyte has millions of requests, so the memory for their times must not grow with their number.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isoviz.runtime.trace.trace import RequestSpan

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Integers

MOST = 1 << 14
"""The number of requests of one transfer that are kept for its trace, in about 3 MiB."""
_FOLD = 1 << 10


class Spans:
    """The requests of one transfer, in the order in which they ended. Any thread may append.

    `first` is the start of the first request, `last` the end of the last one. Iteration yields the requests that were kept.
    """

    def __init__(self, hops: int) -> None:
        self.first, self.last = math.inf, -math.inf
        self.count = 0
        self._kept: list[RequestSpan] = []
        self._new: list[RequestSpan] = []
        self._busy = [0.0] * hops
        self._until = [-math.inf] * hops
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[RequestSpan]:
        return iter(self._kept)

    def __len__(self) -> int:
        return self.count

    def append(self, span: RequestSpan) -> None:
        """Add a request."""
        with self._lock:
            self.count += 1
            if span.start < self.first:
                self.first = span.start
            if span.end > self.last:
                self.last = span.end
            if len(self._kept) < MOST:
                self._kept.append(span)
            self._new.append(span)
            if len(self._new) >= _FOLD:
                self._fold()

    def add(self, number: int, times: Integers) -> None:
        """Add requests of transfer `number`, one after the other: rows of hop, chunk, begin and end in nanoseconds."""
        if not len(times):
            return
        seconds = times[:, 2:] * 1e-9
        with self._lock:
            self._fold()
            self.first, self.last = min(self.first, seconds[0, 0].item()), max(self.last, seconds[-1, 1].item())
            self.count += len(times)
            most = max(0, MOST - len(self._kept))
            for (hop, chunk, *_), (begin, end) in zip(times[:most].tolist(), seconds[:most].tolist(), strict=True):
                self._kept.append(RequestSpan(number, hop, chunk, 0, begin, end))
            for hop in range(len(self._busy)):
                mine = seconds[times[:, 0] == hop]
                if len(mine):
                    self._busy[hop] += (mine[:, 1] - mine[:, 0]).sum().item()
                    self._until[hop] = mine[-1, 1].item()

    def busy(self) -> list[float]:
        """The busy seconds of every hop.

        A hop is busy while any of its requests is in flight. Several requests in flight count once.
        """
        with self._lock:
            self._fold()
            return list(self._busy)

    def _fold(self) -> None:
        """Add the new requests to the sums.

        If a request began before the last end in the sums of its hop, only the part after that end counts.
        """
        self._new.sort(key=lambda span: span.start)
        for span in self._new:
            until = self._until[span.hop]
            if span.end > until:
                self._busy[span.hop] += span.end - max(span.start, until)
                self._until[span.hop] = span.end
        self._new.clear()
