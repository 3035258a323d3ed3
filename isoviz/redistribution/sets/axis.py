"""One dimension spread over parts in blocks: which part holds a coordinate, and where in that part it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Axis:
    """A dimension of `size` coordinates, dealt to `parts` parts in blocks of `block` coordinates, block after block.

    One block per part is a block distribution, a block of 1 is a cyclic one. The last block may be short, and parts may have no
    coordinate.
    """

    size: int
    parts: int
    block: int

    @property
    def cycle(self) -> int:
        """The number of coordinates after which the parts repeat."""
        return self.parts * self.block

    def owner(self, index: int) -> int:
        """The part that holds a coordinate."""
        return index // self.block % self.parts

    def local(self, index: int) -> int:
        """The place of a coordinate within the part that holds it."""
        return index // self.cycle * self.block + index % self.block

    def index(self, part: int, local: int) -> int:
        """The coordinate at a place within a part: the inverse of `owner` and `local`."""
        return (local // self.block * self.parts + part) * self.block + local % self.block

    def count(self, part: int) -> int:
        """The number of coordinates that a part holds."""
        whole, rest = divmod(self.size, self.cycle)
        return whole * self.block + min(self.block, max(0, rest - part * self.block))

    def ranges(self, part: int, end: int | None = None) -> Iterator[tuple[int, int]]:
        """The blocks of a part that begin before the coordinate `end`, as pairs (first coordinate, coordinate after the last)."""
        for low in range(part * self.block, self.size if end is None else min(end, self.size), self.cycle):
            yield low, min(low + self.block, self.size)
