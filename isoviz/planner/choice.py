"""What is decided for one route."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.planner.routes import Route
    from isoviz.planner.shapes import Shape


MOST_BOXES = 16
"""Boxes that one chunk may consist of; more cost an engine more than they can gain."""


class Choice(NamedTuple):
    """Everything decided for one route, with what it costs.

    `shape` is the family of layouts where a hop between two buffers converts, else None; `a` and `b` its cuts; `per_chunk` blocks
    make a chunk of `chunk` payload bytes (fields of different sizes: the mean), which takes `slot` bytes in a buffer. `part` is
    the layout of the buffers, with the number of components that number its blocks, where it is neither the order of one end nor
    one of a family; `after` that of the buffers after the hop that converts, where it is another one. With
    `every_block_a_box` more blocks in a chunk would be more boxes.
    """

    seconds: float
    route: Route
    shape: Shape | None
    a: int
    b: int
    per_chunk: int
    chunk: float
    slot: int
    runs: tuple[float, ...]
    slots: int
    part: tuple[Layout, int] | None = None
    after: tuple[Layout, int] | None = None
    every_block_a_box: bool = False

    @property
    def buffer_bytes(self) -> int:
        """Bytes of all buffers together."""
        return self.slot * self.slots * (len(self.route.channels) - 1)

    @property
    def key(self) -> tuple[float, int, int, tuple[str, ...], int]:
        """Less is better; ties: fewer hops, then less buffer space, then names in order (DESIGN, section 2)."""
        return (self.seconds, len(self.route.channels), self.buffer_bytes, self.route.names, self.route.converting or 0)
