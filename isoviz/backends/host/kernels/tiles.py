"""Recipes for copies that vectors cannot make: element by element, in tiles that fit the second-level cache.

Elements move in the order of the source, so that each of its lines is read once, into a buffer whose rows share no cache sets.
From there they go to the destination in whole lines, with non-temporal stores. All fields of a struct move a part that stays in
the first-level cache, then the next part. The next tile is prefetched while a tile is read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels.choices import chosen, remembered
from isoviz.backends.host.kernels.recipe import LINE, Integers, goes_past, integers, is_plane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.host.kernels.pattern import Shape
    from isoviz.backends.host.kernels.recipe import Bare


class Tiles(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.elements.copy_tiles`."""

    extents: Integers
    tiles: Integers
    jobs: Integers
    outs: Integers
    chain: int
    order: Integers
    columns: int
    least: int
    block: int
    past_caches: bool


class _Known(NamedTuple):
    """Tiles of copies at any offset, and the copy with which each row of `Tiles.outs` begins."""

    tiles: Tiles
    first: tuple[int, ...]


def tiles_of(shapes: tuple[Shape, ...], *, large: bool = False) -> Tiles | None:
    """The recipe for copies with equal loops, their offsets relative to any address; None where loops differ or runs are long.

    `large` says that they are a part of a large copy.
    """
    most = max(constants.STAGED_TILE, constants.LEAST_TILE_TURNS * sum([shape[2] for shape in shapes]))
    sources, destinations = (
        _near([shape[0] for shape in shapes], constants.NEAR_FIELDS),
        _near([shape[1] for shape in shapes], most),
    )
    known = _anywhere(tuple([shape[2:] for shape in shapes]), sources, destinations, large)
    if known is None:
        return None
    tiles = known.tiles
    jobs, outs = tiles.jobs.copy(), tiles.outs.copy()
    jobs[:, 0] = [shape[0] for shape in shapes]
    if len(outs):
        outs[:, 0] = [shapes[k][1] for k in known.first]
    else:
        jobs[:, 1] = [shape[1] for shape in shapes]
    return tiles._replace(jobs=jobs, outs=outs)


def are_apart(shapes: Sequence[Shape]) -> bool:
    """Whether copies are as fast one by one: their contiguous pieces are long at both ends, so that they share few lines."""
    least = constants.APART_PLANE_RUN if all(is_plane(run, loops) for _, _, run, loops in shapes) else constants.APART_RUN
    return all(_run(run, loops, end) >= least for _, _, run, loops in shapes for end in (1, 2))


def _run(run: int, loops: Sequence[tuple[int, int, int]], end: int) -> int:
    """Contiguous bytes at one end."""
    for loop in sorted(loops, key=lambda loop: loop[end]):
        if loop[end] != run:
            break
        run *= loop[0]
    return run


def _near(offsets: list[int], most: int) -> tuple[int, ...]:
    """The distances of copies from the first one; empty where one is `most` bytes or more, as they share no lines then."""
    first = min(offsets)
    return tuple([offset - first for offset in offsets]) if max(offsets) - first < most else ()


@remembered(maxsize=1024)
def _anywhere(shapes: Bare, sources: tuple[int, ...], destinations: tuple[int, ...], large: bool) -> _Known | None:
    """The recipe for copies at any offset, as offsets differ from chunk to chunk."""
    first = shapes[0][1]
    if not first or any([loop[0] for loop in loops] != [loop[0] for loop in first] for _, loops in shapes):
        return None
    runs = [run for run, _ in shapes]
    if max(runs) > constants.WIDEST_RUN:
        return None
    # Slowest in the destination first: neighbouring tiles are neighbours there.
    slowest = sorted(range(len(first)), key=lambda i: -sum([loops[i][2] for _, loops in shapes]))
    extents = [first[i][0] for i in slowest]
    here, there = ([[loops[i][end] for i in slowest] for _, loops in shapes] for end in (1, 2))
    out = None
    if goes_past(sum(runs), first, large=large):
        tiles = _tiles(extents, (here, there), sum(runs), constants.STAGED_TILE)
        out = _out(runs, destinations, extents, tiles, there)
    if out is None:
        tiles = _tiles(extents, (here, there), sum(runs), constants.DIRECT_TILE)
        out = _Out([0] * len(runs), there, np.zeros((0, 3 + 2 * len(extents)), np.int64), -1, ())
    fetched = _fetched(runs, sources, here)
    jobs = [[0, at, run, *by, *to, more] for at, run, by, to, more in zip(out.at, runs, here, out.strides, fetched, strict=True)]
    order, columns = _order(tiles, (here, there))
    found = Tiles(
        integers(extents), integers(tiles), np.array(jobs, np.int64), out.rows, out.chain, order, columns,
        constants.LEAST_COLUMNS, constants.TILE_PART, chosen().tiles_past,
    )  # fmt: skip
    return _Known(found, out.first)


def _tiles(extents: list[int], ends: tuple[list[list[int]], list[list[int]]], entry: int, most: int) -> list[int]:
    """Turns of each loop in a tile of at most `most` bytes, with runs at both ends as long as fits."""
    # The loops of each end, fastest first, with their mean strides.
    loops = [sorted((sum([each[i] for each in end]) / len(end), i, extent) for i, extent in enumerate(extents)) for end in ends]
    wanted = [LINE, LINE]
    tiles = _grown(loops, wanted)
    while max(wanted) < most:
        first = wanted[0] < wanted[1]  # The end with the shorter runs first.
        for end in (0, 1) if first else (1, 0):
            larger = [2 * nbytes if k == end else nbytes for k, nbytes in enumerate(wanted)]
            grown = _grown(loops, larger)
            turns = math.prod(grown)
            if entry * turns <= most or turns <= constants.LEAST_TILE_TURNS:
                wanted, tiles = larger, grown
                break
        else:
            break
    return [-(-extent // -(-extent // tile)) for extent, tile in zip(extents, tiles, strict=True)]


def _grown(ends: list[list[tuple[float, int, int]]], wanted: list[int]) -> list[int]:
    """Turns of each loop for runs of `wanted` bytes in the source and in the destination."""
    tiles = [1] * len(ends[0])
    for end, nbytes in zip(ends, wanted, strict=True):
        for stride, i, extent in end:
            turns = int(-(-nbytes // stride))
            if turns < extent:
                tiles[i] = max(tiles[i], turns)
                break
            tiles[i] = extent
    return tiles


class _Out(NamedTuple):
    """The layout of a tile in the buffer: the offset and the strides of each copy, and the rows of `Tiles.outs`.

    The offsets of the rows in the destination are left open; `first` is the copy with which each row begins.
    """

    at: list[int]
    strides: list[list[int]]
    rows: Integers
    chain: int
    first: tuple[int, ...]


def _out(
    runs: list[int], offsets: tuple[int, ...], extents: list[int], tiles: list[int], strides: list[list[int]]
) -> _Out | None:
    """The layout of a tile in the buffer: copies together where they fill the destination without gaps, else each on its own.

    None where a copy has gaps itself: the other bytes of its lines are in the destination only.
    """
    everyone = list(range(len(runs)))
    for groups in ([everyone], [[k] for k in everyone]) if offsets else ([[k] for k in everyone],):
        for chain in range(len(extents)):  # Runs of as many loops as possible first.
            spans = [_span(group, chain, runs, offsets, extents, tiles, strides) for group in groups]
            if all(span >= LINE for span in spans):
                return _laid_out(groups, spans, chain, runs, offsets, tiles, strides)
    return None


def _span(
    group: list[int],
    chain: int,
    runs: list[int],
    offsets: tuple[int, ...],
    extents: list[int],
    tiles: list[int],
    strides: list[list[int]],
) -> int:
    """Bytes of the run that some copies fill together in a tile, over the loop `chain` and all faster loops.

    0 where the run has gaps, or where the next tile does not continue it. No two copies write to one byte, so a span that equals
    the sum of all bytes has no gap.
    """
    inner = range(chain, len(extents))
    if any(tiles[i] < extents[i] for i in inner[1:]) or any(strides[k][:chain] != strides[group[0]][:chain] for k in group):
        return 0
    begins = [offsets[k] if offsets else 0 for k in group]
    ends = [
        begin + runs[k] + sum([(tiles[i] - 1) * strides[k][i] for i in inner]) for k, begin in zip(group, begins, strict=True)
    ]
    span = max(ends) - min(begins)
    if span != sum([runs[k] for k in group]) * math.prod([tiles[i] for i in inner]):
        return 0
    goes_on = tiles[chain] == extents[chain] or all(strides[k][chain] * tiles[chain] == span for k in group)
    return span if goes_on else 0


def _laid_out(
    groups: list[list[int]],
    spans: list[int],
    chain: int,
    runs: list[int],
    offsets: tuple[int, ...],
    tiles: list[int],
    strides: list[list[int]],
) -> _Out | None:
    """Runs of these spans, row after row with a gap between them; None where the buffer is too small."""
    loops, at = len(tiles), 0
    begins, inside = [0] * len(runs), [[0]] * len(runs)
    rows, first = [], []
    for group, span in zip(groups, spans, strict=True):
        size = (-(-span // LINE) + 1 | 1) * LINE  # With an odd number of lines, rows begin in different sets of a cache.
        outer = [0] * chain
        for i in range(chain - 1, -1, -1):
            outer[i] = size
            size *= tiles[i]
        low = min(group, key=lambda k: offsets[k] if offsets else 0)
        rows.append([0, at, span // tiles[chain], *strides[low], *outer, *[-1] * (loops - chain)])
        first.append(low)
        for k in group:
            begins[k] = at + (offsets[k] - offsets[low] if offsets else 0)
            inside[k] = [*outer, *strides[k][chain:]]
        at += size
    return _Out(begins, inside, np.array(rows, np.int64), chain, tuple(first)) if at <= constants.BUFFER_BYTES else None


def _fetched(runs: list[int], offsets: tuple[int, ...], strides: list[list[int]]) -> list[int]:
    """Bytes that each copy prefetches from its element on. One copy prefetches for its neighbours, which have 0."""
    if not offsets:
        return runs
    found = [0] * len(runs)
    for k in sorted(range(len(runs)), key=offsets.__getitem__):
        leader = next(
            (
                each
                for each, reach in enumerate(found)
                if reach and strides[each] == strides[k] and offsets[k] < offsets[each] + reach + LINE
            ),
            k,
        )
        found[leader] = max(found[leader], offsets[k] + runs[k] - offsets[leader])
    return found


def _order(tiles: list[int], ends: tuple[list[list[int]], list[list[int]]]) -> tuple[Integers, int]:
    """The loops of the columns and then of the rows, fastest first, and the number of column loops.

    Columns are the fast loops of the source; those of the destination or the longest loop where they have more elements.
    """
    ways = [*(_columns(tiles, strides) for strides in ends), [max(range(len(tiles)), key=tiles.__getitem__)]]
    best = max((way for way in ways if way), key=lambda way: min(constants.LEAST_COLUMNS, math.prod([tiles[i] for i in way])))
    return integers([*best, *[i for i in range(len(tiles) - 1, -1, -1) if i not in best]]), len(best)


def _columns(tiles: list[int], strides: list[list[int]]) -> list[int]:
    """The fastest loops of one end: `LEAST_COLUMNS` elements, if the table of offsets holds them."""
    found: list[int] = []
    count = 1
    for i in sorted(range(len(tiles)), key=lambda i: sum([each[i] for each in strides])):
        if count >= constants.LEAST_COLUMNS or (found and count * tiles[i] * len(strides) > constants.MOST_COLUMNS):
            break
        if tiles[i] > 1:
            found.append(i)
            count *= tiles[i]
    return found
