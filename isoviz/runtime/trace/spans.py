"""When the requests of a transfer ran: all that a report needs of them, and the first ones as they were.

A conversion of a terabyte has millions of requests; what is kept of them must not grow with the file.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.runtime.trace.trace import RequestSpan

MOST = 1 << 14
"""Requests of one transfer that are kept for its trace: about 3 MiB."""
_FOLD = 1 << 10


class Spans:
    """The requests of one transfer, in the order in which they ended. Any thread may append.

    `first` and `last` are the start of the first and the end of the last one; iterating gives those that were kept.
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
        """One more."""
        with self._lock:
            self.count += 1
            self.first, self.last = min(self.first, span.start), max(self.last, span.end)
            if len(self._kept) < MOST:
                self._kept.append(span)
            self._new.append(span)
            if len(self._new) >= _FOLD:
                self._fold()

    def busy(self) -> list[float]:
        """Seconds that every hop was at work: a hop is while any of its requests is, several in flight count once."""
        with self._lock:
            self._fold()
            return list(self._busy)

    def _fold(self) -> None:
        """Take the new ones into the sums. One that began before others of its hop were taken in counts from their end on."""
        self._new.sort(key=lambda span: span.start)
        for span in self._new:
            until = self._until[span.hop]
            if span.end > until:
                self._busy[span.hop] += span.end - max(span.start, until)
                self._until[span.hop] = span.end
        self._new.clear()
