"""A path by hand: frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ByHand:
    """A path by hand: the names of its channels, and the layouts of its buffers as text, one for each hop but the last.

    `chunk` is the size of a chunk as typed; "" takes the one of the least time. `target` is the throughput in bytes per second
    for which the constraints are judged; None takes the most that the path sustains.
    """

    path: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    chunk: str = ""
    target: float | None = None
