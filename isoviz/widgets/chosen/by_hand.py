"""A path by hand: frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from isoviz import checks
from isoviz.checks import expect


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

    def __post_init__(self) -> None:
        for name in ("path", "layouts"):
            object.__setattr__(self, name, checks.names(f"path by hand, {name}", getattr(self, name), "texts"))
        expect("path by hand, chunk", self.chunk, str, "the size of a chunk as text")
        if self.target is not None:
            object.__setattr__(self, "target", checks.amount("path by hand", "target", self.target))
