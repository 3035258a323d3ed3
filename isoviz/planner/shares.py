"""The shares of the paths of a plan: sub-boxes of the transfer, or runs of chunks of one common sequence.

The shares cover the transfer without overlap.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.errors import TransferError
from isoviz.layouts import Box, ChunkSequence

if TYPE_CHECKING:
    from isoviz.layouts import IndexSpace
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.transfer import Transfer

Share = Box | range
"""A box, in coordinates local to the transfer, or a range of consecutive chunk numbers."""


def share_of(transfer: Transfer, path: PathPlan) -> Share:
    """The share of a path of a transfer."""
    if path.run is not None:
        return path.numbers
    part = path.transfer
    lo = tuple(_distance(part.source_origin, transfer.source_origin))
    return Box(lo, tuple([low + extent for low, extent in zip(lo, part.shape, strict=True)]))


def share_text(space: IndexSpace, share: Share) -> str:
    """A share in words: `x=0…63, y=0…127`, or `chunks 0…4`."""
    if isinstance(share, range):
        return _chunks_text(share)
    return ", ".join(f"{dim}={_numbers(low, high)}" for dim, low, high in zip(space, share.lo, share.hi, strict=True))


def check_shares(transfer: Transfer, paths: Sequence[PathPlan]) -> None:
    """Check that the paths move every entry exactly once.

    Raises:
        TransferError: the shares leave a gap or overlap (the message names it), or a path does not belong to the transfer.
    """
    if not paths:
        raise TransferError("plan: no path; expected at least one")
    if any(path.run is not None for path in paths):
        _check_runs(transfer, paths)
        return
    for number, path in enumerate(paths):
        _check_part(transfer, number, path)
    check_boxes(transfer.space, [share for path in paths if isinstance(share := share_of(transfer, path), Box)])


def check_boxes(space: IndexSpace, boxes: Sequence[Box]) -> None:
    """Check that boxes cover every point of an index space exactly once.

    Raises:
        TransferError: as `check_shares`.
    """
    for (one, here), (other, there) in itertools.combinations(enumerate(boxes), 2):
        common = _common(here, there)
        if common is not None:
            both = share_text(space, common)
            raise TransferError(f"plan: paths {one} and {other} both move {both}; expected each entry on one path")
    if sum(box.volume for box in boxes) == space.volume:
        return
    left = [Box.whole(space)]
    for box in boxes:
        left = [rest for each in left for rest in _without(each, box)]
    raise TransferError(f"plan: no path moves {share_text(space, left[0])}; expected the shares to cover {space}")


def check_numbers(runs: Sequence[range], count: int) -> None:
    """Check that runs of chunks cover each of `count` chunks exactly once.

    Raises:
        TransferError: as `check_shares`.
    """
    for number, run in enumerate(runs):
        if run.step != 1 or not run or run.start < 0 or run.stop > count:
            raise TransferError(f"plan: path {number}: {run} of {count} chunks; expected a run of chunks 0…{count - 1}")
    order = sorted(range(len(runs)), key=lambda number: runs[number].start)
    at = 0
    for before, number in zip([None, *order], order, strict=False):
        run = runs[number]
        if run.start < at:
            one, other = sorted((before or 0, number))
            raise TransferError(f"plan: paths {one} and {other} both move chunk {run.start}; expected each chunk on one path")
        if run.start > at:
            break
        at = run.stop
    else:
        if at == count:
            return
    end = min((run.start for run in runs if run.start > at), default=count)
    raise TransferError(f"plan: no path moves {_chunks_text(range(at, end))}; expected the shares to cover all {count} chunks")


def check_holds_entries(number: int, path: PathPlan) -> None:
    """Check that the run of chunks of a path holds entries.

    Raises:
        TransferError: the run holds only padding.
    """
    if not path.bytes:
        raise TransferError(
            f"plan: path {number} moves {_chunks_text(path.numbers)}, which hold padding alone; expected a run with entries"
        )


def _chunks_text(run: range) -> str:
    return f"{'chunk' if len(run) == 1 else 'chunks'} {_numbers(run.start, run.stop)}"


def _numbers(first: int, end: int) -> str:
    """A range of consecutive numbers as text: `3`, or `0…4`."""
    return f"{first}" if end == first + 1 else f"{first}…{end - 1}"


def alike(one: ChunkSequence, other: ChunkSequence) -> bool:
    """Whether chunks with the same number hold the same entries in two sequences."""
    return one.digits == other.digits and one.per_chunk == other.per_chunk


def _check_runs(transfer: Transfer, paths: Sequence[PathPlan]) -> None:
    first = paths[0]
    for number, path in enumerate(paths):
        if path.run is None:
            raise TransferError(f"plan: path {number} moves a box, others runs of chunks; expected all shares to be of one kind")
        if path.transfer != transfer:
            raise TransferError(f"plan: path {number}: a run of chunks of another transfer, {path.transfer}")
        if not alike(first.chunks, path.chunks):
            raise TransferError(
                f"plan: paths 0 and {number} do not have one sequence of chunks: {first.per_chunk} blocks of {first.order}"
                f" (outer {first.outer}), and {path.per_chunk} of {path.order} (outer {path.outer})"
            )
    check_numbers([range(*path.run) for path in paths if path.run is not None], len(first.chunks))
    for number, path in enumerate(paths):
        check_holds_entries(number, path)


def _check_part(transfer: Transfer, number: int, path: PathPlan) -> None:
    """Check that a path's transfer is a part of the plan's: the same ends and fields, and the same box at both ends."""
    part = path.transfer
    if (part.source, part.destination, part.field_names) == (transfer.source, transfer.destination, transfer.field_names):
        here, there = (
            _distance(part.source_origin, transfer.source_origin),
            _distance(part.destination_origin, transfer.destination_origin),
        )
        low = dict(zip(part.source.space, here, strict=True))
        inside = all(at >= 0 and at + extent <= size for at, extent, size in zip(here, part.shape, transfer.shape, strict=True))
        if inside and low == dict(zip(part.destination.space, there, strict=True)):
            return
    raise TransferError(f"plan: path {number} moves what is no part of the transfer: {part}; expected a box of {transfer}")


def _distance(at: Sequence[int], origin: Sequence[int]) -> list[int]:
    return [here - there for here, there in zip(at, origin, strict=True)]


def _common(one: Box, other: Box) -> Box | None:
    """The intersection of two boxes; None if it is empty."""
    lo = tuple(map(max, one.lo, other.lo))
    hi = tuple(map(min, one.hi, other.hi))
    return Box(lo, hi) if all(low < high for low, high in zip(lo, hi, strict=True)) else None


def _without(box: Box, taken: Box) -> list[Box]:
    """A box without another one, as disjoint boxes."""
    common = _common(box, taken)
    if common is None:
        return [box]
    found: list[Box] = []
    lo, hi = list(box.lo), list(box.hi)
    for dim in range(len(lo)):
        if lo[dim] < common.lo[dim]:
            found.append(Box(tuple(lo), (*hi[:dim], common.lo[dim], *hi[dim + 1 :])))
        if common.hi[dim] < hi[dim]:
            found.append(Box((*lo[:dim], common.hi[dim], *lo[dim + 1 :]), tuple(hi)))
        lo[dim], hi[dim] = common.lo[dim], common.hi[dim]
    return found
