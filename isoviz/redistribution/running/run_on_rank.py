"""What one rank measured of a redistribution. It can be pickled."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

_SPAN = struct.Struct("=qqqdd")


class Span(NamedTuple):
    """A part of a transfer that a rank moved: the number of the sending, hop and chunk, begin and end in seconds."""

    sending: int
    hop: int
    chunk: int
    start: float
    end: float


class RankRun(NamedTuple):
    """A run of a redistribution on one rank. Times are seconds of the rank's clock (`time.perf_counter`), less `zero`.

    `met` is when the ranks had met, before the first byte. `began` and `ended` are this rank's first and last byte. The spans are
    packed: every run sends them to all ranks, and few reports are asked for them.
    """

    rank: int
    met: float
    began: float
    ended: float
    packed: bytes = b""
    zero: float = 0.0

    @staticmethod
    def pack(spans: Iterable[Span]) -> bytes:
        """Spans as bytes."""
        return b"".join([_SPAN.pack(*span) for span in spans])

    @property
    def spans(self) -> tuple[Span, ...]:
        """What the rank has moved, in order."""
        return tuple(
            Span(sending, hop, chunk, start - self.zero, end - self.zero)
            for sending, hop, chunk, start, end in _SPAN.iter_unpack(self.packed)
        )

    def since(self, zero: float) -> RankRun:
        """The same on a clock that begins at `zero`."""
        return self._replace(met=self.met - zero, began=self.began - zero, ended=self.ended - zero, zero=self.zero + zero)
