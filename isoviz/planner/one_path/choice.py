"""What is decided for one route."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.planner.intermediate.intermediate_layouts import Shape
    from isoviz.planner.paths.routes import Route


MOST_BOXES = 16
"""Boxes that one chunk may consist of; more cost an engine more than they can gain."""
PIECE = 32 << 20
"""Chunks that no buffer holds are a multiple of so many bytes."""


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
    def key(self) -> tuple[float, int, int, tuple[str, ...], bool, int]:
        """Less is better; ties: fewer hops, then less buffer space, then names in order (DESIGN, section 2); then the route whose
        converting hop is the one that really converts."""
        route = self.route
        return (self.seconds, len(route.channels), self.buffer_bytes, route.names, self._is_misnamed, route.converting or 0)

    @property
    def _is_misnamed(self) -> bool:
        """Whether all buffers hold one layout, and the hop at the other end has the shorter run between layouts."""
        if self.part is None or self.after is not None or len(self.runs) < 2:
            return False
        return (self.runs[0] < self.runs[-1]) != (self.route.converting == 0)
