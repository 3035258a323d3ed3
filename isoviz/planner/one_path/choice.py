"""The decisions for one route."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.planner.intermediate.intermediate_layouts import LayoutFamily
    from isoviz.planner.paths.routes import Route


class Choice(NamedTuple):
    """All decisions for one route, with their cost.

    `seconds` is T. `family` is the family of layouts where a hop between two buffers converts, else None; `a` and `b` are its
    cuts. `per_chunk` blocks make a chunk of `chunk` payload bytes; where fields differ in size, `chunk` counts the mean field. A
    chunk takes `slot` bytes in a buffer, and a buffer has `slots` slots. `runs` bounds the run of every hop in bytes.

    `layout_before` is the layout of the buffers with the number of components that number its blocks; it is None where the
    buffers hold the order of one end, or a layout of `family`. `layout_after` is the layout of the buffers after the converting
    hop, where it differs. `every_block_a_box` says that each further block in a chunk would be a further box.
    """

    seconds: float
    route: Route
    family: LayoutFamily | None
    a: int
    b: int
    per_chunk: int
    chunk: float
    slot: int
    runs: tuple[float, ...]
    slots: int
    layout_before: tuple[Layout, int] | None = None
    layout_after: tuple[Layout, int] | None = None
    every_block_a_box: bool = False

    @property
    def buffer_bytes(self) -> int:
        """The bytes of all buffers together."""
        return self.slot * self.slots * (len(self.route.channels) - 1)

    @property
    def key(self) -> tuple[float, int, int, tuple[str, ...], bool, int]:
        """The order of preference; less is better.

        Ties of T go to fewer hops, then to less buffer space, then to the first names in order. Last comes
        the route whose converting hop is the one that really converts.
        """
        route = self.route
        return (self.seconds, len(route.channels), self.buffer_bytes, route.names, self._is_misnamed, route.converting or 0)

    @property
    def _is_misnamed(self) -> bool:
        """Whether all buffers hold one layout, and the hop at the other end than `converting` has the shorter run."""
        if self.layout_before is None or self.layout_after is not None or len(self.runs) < 2:
            return False
        return (self.runs[0] < self.runs[-1]) != (self.route.converting == 0)


class BlockedEnds(NamedTuple):
    """A block between two ends: what does not depend on the route.

    `before` and `after` are the layouts of the buffers, in the orders of the source and of the destination; their `outer` slowest
    components number the blocks. `chunk` and `slot` are in bytes. The runs are those out of the source, from one buffer layout to
    the other, and into the destination.
    """

    before: Layout
    after: Layout
    outer: int
    chunk: int
    slot: int
    run_out: float
    run_between: float
    run_in: float
