"""Copies of any kind, element by element, tile by tile: as long at both ends as a second-level cache allows.

What vectors cannot do together is moved element by element: in the order of the source, so that every line of it is read once,
into a buffer whose rows get in nobody's way, and from there, in whole lines past the caches, to the destination. Of all fields of
a struct a part is moved that stays in the first-level cache, then the next part. While a tile is read, the next one is fetched.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.backends.host.kernels.choices import chosen, remembered
from isoviz.backends.host.kernels.recipe import LINE, ROOM, WIDEST, Integers, goes_past, integers, is_plane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.host.kernels.pattern import Shape
    from isoviz.backends.host.kernels.recipe import Bare

STAGED = 160 << 10
"""Bytes of a tile that goes by way of the buffer, at most, as far as runs of a line at both ends allow."""
DIRECT = 64 << 10
"""The same of one that goes straight to the destination."""
BLOCK = 16 << 10
"""Bytes that all fields move of a tile before they go on."""
TURNS = 32
"""Turns of a tile that may be more bytes: of many fields."""
COLUMNS = 32
"""Elements of a row of a tile, at least, if loops that are fast in the source have so many."""
MOST_COLUMNS = 4096
"""Elements of the rows of all fields, at most: a table says where each of them is."""
NEAR = 1024
"""Bytes of the source in which fields lie that are fetched together."""
APART = 128
"""Bytes of runs at both ends from which fields share no lines worth mentioning: one after the other is as fast, ..."""
PLANES_APART = 64
"""... and from which it is if vectors turn them over."""


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
    """Tiles, wherever the copies begin: which of them an out of the buffer begins with."""

    tiles: Tiles
    first: tuple[int, ...]


def tiles_of(shapes: tuple[Shape, ...], *, large: bool = False) -> Tiles | None:
    """The recipe for copies that turn alike, their offsets relative to any address; `large`: they are a part of a large one. None
    where they do not turn alike, or have long runs."""
    most = max(STAGED, TURNS * sum([shape[2] for shape in shapes]))
    sources, destinations = _near([shape[0] for shape in shapes], NEAR), _near([shape[1] for shape in shapes], most)
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
    """Whether copies are as fast one by one: they share few lines at either end, or none, for all runs of theirs are long, of
    however many loops."""
    least = PLANES_APART if all(is_plane(run, loops) for _, _, run, loops in shapes) else APART
    return all(_run(run, loops, end) >= least for _, _, run, loops in shapes for end in (1, 2))


def _run(run: int, loops: Sequence[tuple[int, int, int]], end: int) -> int:
    """Bytes that lie together at an end."""
    for loop in sorted(loops, key=lambda loop: loop[end]):
        if loop[end] != run:
            break
        run *= loop[0]
    return run


def _near(offsets: list[int], most: int) -> tuple[int, ...]:
    """How far copies begin behind the first one; nothing where that is so much that it makes no difference."""
    first = min(offsets)
    return tuple([offset - first for offset in offsets]) if max(offsets) - first < most else ()


@remembered(maxsize=1024)
def _anywhere(shapes: Bare, sources: tuple[int, ...], destinations: tuple[int, ...], large: bool) -> _Known | None:
    """The recipe for copies, wherever they begin: chunk after chunk that differs."""
    first = shapes[0][1]
    if not first or any([loop[0] for loop in loops] != [loop[0] for loop in first] for _, loops in shapes):
        return None
    runs = [run for run, _ in shapes]
    if max(runs) > WIDEST:
        return None
    # The slowest in the destination first: neighbouring tiles lie side by side there.
    slowest = sorted(range(len(first)), key=lambda i: -sum([loops[i][2] for _, loops in shapes]))
    extents = [first[i][0] for i in slowest]
    here, there = ([[loops[i][end] for i in slowest] for _, loops in shapes] for end in (1, 2))
    out = None
    if goes_past(sum(runs), first, large=large):
        tiles = _tiles(extents, (here, there), sum(runs), STAGED)
        out = _out(runs, destinations, extents, tiles, there)
    if out is None:
        tiles = _tiles(extents, (here, there), sum(runs), DIRECT)
        out = _Out([0] * len(runs), there, np.zeros((0, 3 + 2 * len(extents)), np.int64), -1, ())
    fetched = _fetched(runs, sources, here)
    jobs = [[0, at, run, *by, *to, more] for at, run, by, to, more in zip(out.at, runs, here, out.strides, fetched, strict=True)]
    order, columns = _order(tiles, (here, there))
    found = Tiles(
        integers(extents), integers(tiles), np.array(jobs, np.int64), out.rows, out.chain, order, columns, COLUMNS, BLOCK,
        chosen().tiles_past,
    )  # fmt: skip
    return _Known(found, out.first)


def _tiles(extents: list[int], ends: tuple[list[list[int]], list[list[int]]], entry: int, most: int) -> list[int]:
    """How often every loop turns in a tile of at most so many bytes: as long at both ends as fits."""
    # Of either end, the loops from the fastest on, with their mean strides.
    loops = [sorted((sum([each[i] for each in end]) / len(end), i, extent) for i, extent in enumerate(extents)) for end in ends]
    wanted = [LINE, LINE]
    tiles = _grown(loops, wanted)
    while max(wanted) < most:
        first = wanted[0] < wanted[1]  # the end with the shorter runs
        for end in (0, 1) if first else (1, 0):
            larger = [2 * nbytes if k == end else nbytes for k, nbytes in enumerate(wanted)]
            grown = _grown(loops, larger)
            turns = math.prod(grown)
            if entry * turns <= most or turns <= TURNS:
                wanted, tiles = larger, grown
                break
        else:
            break
    return [-(-extent // -(-extent // tile)) for extent, tile in zip(extents, tiles, strict=True)]


def _grown(ends: list[list[tuple[float, int, int]]], wanted: list[int]) -> list[int]:
    """Turns for places that lie together in so many bytes of the source, and of the destination."""
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
    """How a tile lies in the buffer: where each copy begins and its strides; the rows of `Tiles.outs`, their offsets in the
    destination left open, and the copy that each of them begins with."""

    at: list[int]
    strides: list[list[int]]
    rows: Integers
    chain: int
    first: tuple[int, ...]


def _out(
    runs: list[int], offsets: tuple[int, ...], extents: list[int], tiles: list[int], strides: list[list[int]]
) -> _Out | None:
    """The buffer for a tile: together what the copies write without gaps, else each on its own. None where they have gaps
    themselves: then lines are put together in the destination, which knows the bytes in them."""
    everyone = list(range(len(runs)))
    for groups in ([everyone], [[k] for k in everyone]) if offsets else ([[k] for k in everyone],):
        for chain in range(len(extents)):  # runs of as many loops as possible
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
    """The bytes of a run that some copies have together in a tile, of the loop `chain` and all that are faster; 0 where there are
    gaps, or where the next tile does not go on where it ends. (No copies write to the same place: as many bytes as there are
    places fill these.)"""
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
    """Runs of so many bytes, row after row with a gap between them; None where the buffer does not hold them."""
    loops, at = len(tiles), 0
    begins, inside = [0] * len(runs), [[0]] * len(runs)
    rows, first = [], []
    for group, span in zip(groups, spans, strict=True):
        size = (-(-span // LINE) + 1 | 1) * LINE  # an odd number of lines: rows begin in different sets of the caches
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
    return _Out(begins, inside, np.array(rows, np.int64), chain, tuple(first)) if at <= ROOM else None


def _fetched(runs: list[int], offsets: tuple[int, ...], strides: list[list[int]]) -> list[int]:
    """Bytes from an element of each copy on that it fetches: those near by with it, which then fetch nothing."""
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
    """The loops of the columns, then those of the rows, the fastest first; and how many are the former. Columns are what is fast
    in the source, or, where rows of these were short, in the destination; or the longest loop."""
    ways = [*(_columns(tiles, strides) for strides in ends), [max(range(len(tiles)), key=tiles.__getitem__)]]
    best = max((way for way in ways if way), key=lambda way: min(COLUMNS, math.prod([tiles[i] for i in way])))
    return integers([*best, *[i for i in range(len(tiles) - 1, -1, -1) if i not in best]]), len(best)


def _columns(tiles: list[int], strides: list[list[int]]) -> list[int]:
    """The loops that are fastest at an end, for columns enough, as far as a table holds them."""
    found: list[int] = []
    count = 1
    for i in sorted(range(len(tiles)), key=lambda i: sum([each[i] for each in strides])):
        if count >= COLUMNS or (found and count * tiles[i] * len(strides) > MOST_COLUMNS):
            break
        if tiles[i] > 1:
            found.append(i)
            count *= tiles[i]
    return found
