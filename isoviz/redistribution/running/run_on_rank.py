"""What one rank measured of a redistribution. It can be pickled."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A part of a transfer that a rank moved: the number of the sending, hop and chunk, begin and end in seconds."""

    sending: int
    hop: int
    chunk: int
    start: float
    end: float


class RankRun(NamedTuple):
    """A run of a redistribution on one rank. Times are seconds of the rank's clock (`time.perf_counter`).

    `met` is when the ranks had met, before the first byte. `began` and `ended` are this rank's first and last byte.
    """

    rank: int
    met: float
    began: float
    ended: float
    spans: tuple[Span, ...] = ()
    error: Exception | None = None

    def shifted(self, by: float) -> RankRun:
        """The same on another clock."""
        spans = tuple(span._replace(start=span.start + by, end=span.end + by) for span in self.spans)
        return self._replace(met=self.met + by, began=self.began + by, ended=self.ended + by, spans=spans)
