"""Verification of a redistribution, on every rank for its own part of the destination, without gathering the array anywhere.

Which rank held an entry, and where, follows from the definition of a distribution, coordinate by coordinate. It does not follow
from the sets and copies that moved the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.boxes import Boxes
from isoviz.errors import VerificationError
from isoviz.layouts.given_arrays import Array
from isoviz.redistribution.running.content import BUDGET, expected, tiles

if TYPE_CHECKING:
    from isoviz.planner import Instance
    from isoviz.redistribution.distributed_instance import DistributedInstance, IntArray
    from isoviz.runtime.protocols import Store

Check = Callable[[], None]
Lies = Sequence[tuple["Instance | None", "Instance | None"]]
"""For every rank, how both of its ends lie, where their fields lie otherwise than their instances say (`OpenedEnds.lies`)."""


def check_generated(
    destination: DistributedInstance,
    rank: int,
    store: Store,
    source: DistributedInstance,
    check: Check | None = None,
    lies: Lies = (),
) -> None:
    """Compare a rank's part of the destination with the data that `content.generate` gave the source.

    Raises:
        VerificationError: it names the first point and field that differ.
    """
    part = destination.part(rank)
    if part is None:
        return
    reader = Boxes(store, _lying(part, lies, rank, 1).linearization, part.space.dims, check)
    points = destination.coordinates(rank)
    for tile in tiles(part):
        here = {dim: points[dim][slice(*tile[dim])] for dim in part.space}
        for field in part.fields.names:
            if check is not None:
                check()
            _compare(reader.read(tile, field), expected(source, here, field), field, here, rank, "its generated value")


def check_against_peers(
    source: DistributedInstance,
    destination: DistributedInstance,
    rank: int,
    store: Store,
    peers: Callable[[int], Store],
    check: Check | None = None,
    lies: Lies = (),
) -> None:
    """Compare a rank's part of the destination with the parts of the source that its peers hold. `peers` gives a peer's store.

    Raises:
        VerificationError: it names the first point and field that differ.
        RunError: the store of a peer cannot be read.
    """
    part = destination.part(rank)
    if part is None:
        return
    mine = Boxes(store, _lying(part, lies, rank, 1).linearization, part.space.dims, check)
    points = destination.coordinates(rank)
    for peer in source.ranks:
        theirs = source.part(peer)
        place = source.distribution.coordinates(peer)
        if theirs is None or place is None:
            continue
        # By dimension: the places here and there of the coordinates that both hold.
        here, there = {}, {}
        for dim in part.space:
            axis = source.axes[dim]
            owner = points[dim] // axis.block % axis.parts
            here[dim] = np.flatnonzero(owner == place.get(dim, 0))
            held = points[dim][here[dim]]
            there[dim] = held // (axis.block * axis.parts) * axis.block + held % axis.block
        if not all(len(places) for places in here.values()):
            continue
        reader = Boxes(peers(peer), _lying(theirs, lies, peer, 0).linearization, part.space.dims, check)
        for tile in _common_tiles(theirs, part, here, there):
            for field in part.fields.names:
                if check is not None:
                    check()
                a, b = _picked(mine, here, tile, field), _picked(reader, there, tile, field)
                if not np.array_equal(a, b):
                    found = {dim: points[dim][here[dim][slice(*tile[dim])]] for dim in part.space}
                    _compare(a, b, field, found, rank, f"rank {peer} has")


def _lying(part: Instance, lies: Lies, rank: int, end: int) -> Instance:
    """A part as it lies on its rank."""
    return (lies[rank][end] if lies else None) or part


def _common_tiles(
    theirs: Instance, part: Instance, here: Mapping[str, IntArray], there: Mapping[str, IntArray]
) -> Iterator[dict[str, tuple[int, int]]]:
    """Tiles of the common coordinates. The boxes around them fit the budget at both ends, and are long in the peer's order."""
    each = 6 * max(theirs.fields.nbytes, part.fields.nbytes) + 64
    left = [{dim: (0, len(places)) for dim, places in here.items()}]
    order = list(theirs.layout.dims)
    while left:
        tile = left.pop()
        spans = [
            np.prod([int(places[dim][high - 1] - places[dim][low] + 1) for dim, (low, high) in tile.items()], dtype=float)
            for places in (here, there)
        ]
        if max(spans) * each <= BUDGET or all(high - low == 1 for low, high in tile.values()):
            yield tile
            continue
        dim = next(dim for dim in reversed(order) if tile[dim][1] - tile[dim][0] > 1)
        low, high = tile[dim]
        middle = (low + high) // 2
        left += [tile | {dim: (middle, high)}, tile | {dim: (low, middle)}]


def _picked(reader: Boxes, places: Mapping[str, IntArray], tile: Mapping[str, tuple[int, int]], field: str) -> Array:
    """The elements at some places of every dimension: a box around them is read, and they are picked out of it."""
    chosen = {dim: places[dim][slice(*span)] for dim, span in tile.items()}
    box = {dim: (int(each[0]), int(each[-1]) + 1) for dim, each in chosen.items()}
    found = reader.read(box, field)
    for axis, (dim, each) in enumerate(chosen.items()):
        low, high = box[dim]
        if high - low != len(each):
            step = int(each[1] - each[0])
            even = bool((np.diff(each) == step).all())
            found = found[(slice(None),) * axis + (slice(None, None, step),)] if even else found.take(each - low, axis)
    return found


def _compare(found: Array, wanted: Array, field: str, points: Mapping[str, IntArray], rank: int, what: str) -> None:
    if np.array_equal(found, wanted):
        return
    at = tuple(int(i) for i in np.argwhere((found != wanted).any(axis=-1))[0])
    index = ", ".join(f"{dim}={int(each[i])}" for (dim, each), i in zip(points.items(), at, strict=True)) or "its only point"
    raise VerificationError(
        f"verification failed: rank {rank}, field {field!r} at {index} is {found[at].tobytes().hex()},"
        f" {what} {wanted[at].tobytes().hex()} (bytes in hexadecimal)"
    )
