"""What hardware sees of a layout: cache lines and pages, and the load of a warp of a GPU.

A warp is 32 threads (lanes) that carry out one instruction. In a request every lane moves up to 16 bytes, which have to be
adjacent and aligned. Global memory serves a request in sectors of 32 bytes. Shared memory has 32 banks of 4 bytes. A request
takes one turn for every different word in its fullest bank. A request of 8 bytes per lane is carried out for half a warp at a
time, a request of 16 bytes per lane for a quarter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz import checks
from isoviz.errors import LayoutError
from isoviz.layouts.layout import Linearization

if TYPE_CHECKING:
    from isoviz.layouts.layout import Index, IntArray

LINE = 64
"""Bytes of a cache line of most processors."""
PAGE = 4096
"""Bytes of a page of memory on most computers."""
SECTOR = 32
"""Bytes of a sector of a GPU's memory."""
WARP = 32
"""Lanes of a warp."""
BANKS = 32
WORD = 4
"""Bytes of a bank of shared memory."""
WIDTHS = (4, 8, 16)
"""The bytes that a lane may take."""


class WarpLoad(NamedTuple):
    """How a warp loads consecutive entries along a dimension.

    `offsets` are the bytes at which each lane begins; lanes beyond the end of the dimension are idle. A lane takes `nbytes` bytes
    in `requests` requests of `width` bytes. `sectors` are those that the requests touch, each request counted by itself;
    `least_sectors` are those of the same bytes without gaps. `turns` are the turns that the requests take where the array lies in
    shared memory, `least_turns` those without bank conflicts.
    """

    offsets: tuple[int, ...]
    nbytes: int
    width: int
    requests: int
    sectors: int
    least_sectors: int
    turns: int
    least_turns: int

    @property
    def conflicts(self) -> int:
        """Turns of shared memory that bank conflicts add."""
        return self.turns - self.least_turns


def warp_load(order: Linearization, dim: str, start: Index, width: int = 4, field: str | None = None) -> WarpLoad:
    """The load of a warp whose lanes take consecutive entries along `dim`, from the index `start` on.

    A lane takes `width` bytes (4, 8 or 16) of whole entries, at least one entry. Where these are not adjacent, or not aligned, it
    takes them in smaller requests. `field` is the field that is loaded (None: the first). The array begins at a page.

    Raises:
        LayoutError: the index or `width` is invalid. SpaceError: `dim` or `field` is unknown.
    """
    checks.expect("warp load", order, Linearization, "a linearization")
    width = checks.count("warp load", "width", width, error=LayoutError)
    if width not in WIDTHS:
        raise LayoutError(f"warp load: width {width}: expected one of {', '.join(map(str, WIDTHS))}")
    name = order.fields.names[0] if field is None else field
    size = order.fields.sizes[order.fields.index(name)]
    count = max(1, width // size)
    along = _offsets_along(order, dim, start, name, WARP * count)
    lanes = min(WARP, len(along) // count)
    if lanes == 0:  # the dimension ends within the first lane
        count, lanes = len(along), 1
    entries = along[: lanes * count].reshape(lanes, count)
    step, requests = _requests(entries, size, width)
    turns = [bank_turns(each, step) for each in requests]
    return WarpLoad(
        tuple(entries[:, 0].tolist()),
        count * size,
        step,
        len(requests),
        sum(len(np.unique(each // SECTOR)) for each in requests),
        -(-lanes * count * size // SECTOR),
        sum(map(sum, turns)),
        sum(map(len, turns)),
    )


def pieces_along(order: Linearization, dim: str, start: Index, unit: int = LINE, field: str | None = None) -> IntArray:
    """The numbers of the pieces of `unit` bytes (cache lines, pages) in which the entries along `dim` begin, from the index
    `start` to the end of the dimension.

    Raises:
        As `warp_load`.
    """
    checks.expect("pieces", order, Linearization, "a linearization")
    unit = checks.count("pieces", "unit", unit, low=1, error=LayoutError)
    found: IntArray = _offsets_along(order, dim, start, order.fields.names[0] if field is None else field) // unit
    return found


def bank_turns(places: IntArray, width: int) -> tuple[int, ...]:
    """The turns of one request to shared memory, for each group of lanes that is carried out at a time.

    `places` are the bytes at which the lanes begin, in the order of the lanes; each moves `width` bytes.
    """
    together = WARP * WORD // max(WORD, width)
    found: list[int] = []
    for first in range(0, len(places), together):
        words = np.unique((places[first : first + together, None] // WORD + np.arange(max(1, width // WORD))).ravel())
        found.append(int(np.bincount(words % BANKS).max()))
    return tuple(found)


def _offsets_along(order: Linearization, dim: str, start: Index, field: str, most: int | None = None) -> IntArray:
    """The offsets of the entries along a dimension from an index on, at most `most` of them."""
    if not isinstance(start, Mapping):
        start = checks.items("index", start, "a whole number for each dimension", LayoutError)
    order.offset(start, field)  # raises if the index or the field is invalid
    at: dict[str, Any] = dict(start) if isinstance(start, Mapping) else dict(zip(order.space.dims, start, strict=True))
    left = order.space[dim] - int(at[dim])
    at[dim] = int(at[dim]) + np.arange(left if most is None else min(left, most))
    return order.offsets(at, field)


def _requests(entries: IntArray, size: int, most: int) -> tuple[int, list[IntArray]]:
    """The widest requests of at most `most` bytes in which all lanes can take their entries: their bytes, and for each request
    the places of all lanes."""
    total = entries.shape[1] * size
    step = most
    while step > 1:
        if total % step == 0 and (step % size == 0 or size % step == 0):
            per = max(1, step // size)  # entries of a request
            groups = entries.reshape(len(entries), -1, per)
            adjacent = bool((np.diff(groups, axis=2) == size).all())
            if adjacent and bool((groups[:, :, 0] % step == 0).all()):
                break
        step //= 2
    firsts = entries[:, :: max(1, step // size)]
    within = range(0, max(size, step), step)
    return step, [firsts[:, k] + shift for k in range(firsts.shape[1]) for shift in within]
