"""Recipes for strided copies: the two loops that form the transposed plane, the tiles, the way through the buffer.

A tile is as large as the buffer, which fits the second-level cache. Its runs have several lines in the source and in the
destination, as memory reaches a part of its speed only where runs are short, at either end. Where the loops of a run end (few
fields, short rows), the next loop that continues the run adds to it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels.choices import chosen, remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts.copies import Loop

    Bare = tuple[tuple[int, tuple[Loop, ...]], ...]
    """(bytes of a run, loops) of copies at any offset."""

Integers = np.ndarray[Any, np.dtype[np.int64]]

LINE = 64


class Recipe(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.compiled.walk`."""

    extents: Integers
    tiles: Integers
    jobs: Integers
    outs: Integers
    chain: int
    ahead: Integers
    joined: bool
    past_caches: bool


class Streams(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.compiled.stream_rows`."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    run: int
    past_caches: bool
    ahead: int


@remembered(maxsize=4096)
def recipe_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> Recipe | Streams:
    """The recipe for a run within loops (extent, source stride, destination stride), at any offset.

    `large` says that it is a part of a large copy.
    """
    past_caches = goes_past(run, loops, large=large)
    # Slowest first in the order of the destination: neighbouring tiles are neighbours there.
    ordered = sorted(loops, key=lambda loop: -abs(loop[2]))
    if not loops:
        return _streams(run, loops, past_caches, constants.TURNS_AHEAD)
    along = next((i for i, loop in enumerate(ordered) if loop[1] == run), -1)
    across = next((i for i, loop in enumerate(ordered) if loop[2] == run), -1)
    if along < 0 or across < 0 or along == across:
        longest = max(range(len(ordered)), key=lambda i: ordered[i][0])
        along, across = along if along >= 0 else across if across >= 0 else longest, -1
    tiles = _tiles(run, ordered, along, across)
    strides, chain, runs = _buffer(run, ordered, tiles)
    # Parts of lines are combined in the buffer, as a line of the destination would be read again for each part.
    staged = (
        past_caches
        and chain >= 0
        and ordered[chain][2] * tiles[chain] >= 2 * LINE
        and _room(run, ordered, tiles) <= constants.BUFFER_BYTES
    )
    if across < 0 and not staged:  # Nothing is gathered, so rows keep their length.
        tiles = [loop[0] for loop in ordered]
    batch = _batch(ordered, tiles, along, across)
    rows = [
        0,
        0,
        run,
        along,
        across,
        batch,
        *(loop[1] for loop in ordered),
        *(strides if staged else (loop[2] for loop in ordered)),
    ]
    jobs = np.array([rows], np.int64)
    outs = np.zeros((0, 3 + 2 * len(ordered)), np.int64)
    if staged:
        out = [0, 0, ordered[chain][2], *(loop[2] for loop in ordered)]
        out += [-1 if i in runs else stride for i, stride in enumerate(strides)]
        outs = np.array([out], np.int64)
    joined = _are_joined(run, ordered, tiles, (along, across, batch))
    ahead = _ahead(ordered, tiles, (along, across, batch), joined=joined)
    extents = integers(loop[0] for loop in ordered)
    return Recipe(extents, integers(tiles), jobs, outs, chain if staged else -1, ahead, joined, chosen().tiles_past)


def streams_of(run: int, loops: tuple[Loop, ...], start: int, *, large: bool = False) -> Streams | None:
    """The recipe for runs that need no buffer; None where they need one. The destination begins `start` bytes behind a line."""
    whole_lines = not any(place % LINE for place in (start, run, *(loop[2] for loop in loops)))
    goes = goes_past(run, loops, large=large)
    if run >= (constants.LEAST_STREAMED_LINES if whole_lines else constants.LEAST_STREAMED_RUN):
        return _streams(run, loops, goes, constants.TURNS_AHEAD if goes else 0)
    count, here, _ = min(loops, key=lambda loop: loop[1], default=(1, 0, 0))
    following = any(loop[1:] == (count * run, run) for loop in loops)
    if (
        run >= constants.LEAST_DEALT_RUN and here == run and following and count in constants.DEALT_ARRAYS
    ):  # Runs share lines, which a cache combines.
        return _streams(run, loops, False, constants.TURNS_AHEAD)
    if run >= LINE and is_box(run, loops, large=large):
        return _streams(run, loops, goes and whole_lines, 0)
    return None


def _streams(run: int, loops: Sequence[Loop], past_caches: bool, ahead: int) -> Streams:
    # In the order of the source: scattered reads cost more than scattered non-temporal stores.
    ordered = sorted(loops, key=lambda loop: -loop[1])
    extents, here, there = (integers(loop[k] for loop in ordered) for k in range(3))
    return Streams(extents, here, there, run, past_caches and chosen().runs_past, ahead)


def is_box(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> bool:
    """Whether runs are copied one by one, those below a line by NumPy: both ends have them in the same order, with gaps.

    Lines that are put together gain nothing there, as only a part of each line is used. A copy from nearly dense to dense is no
    box; nor is a large copy of single bytes.
    """
    count, here, there = min(loops, key=lambda loop: loop[1])
    if count < constants.LEAST_PLANE or (run < LINE // 2 and run not in (1, 2, 4, 8, 16)):
        return False
    if sorted(loops, key=lambda loop: loop[1]) != sorted(loops, key=lambda loop: loop[2]):
        return False
    if (run == 1 or (run == 2 and there == run)) and goes_past(run, loops, large=large):
        return False
    return there != run or here > (2 if run < LINE // 2 else 1.7) * run


def _batch(loops: list[Loop], tiles: list[int], along: int, across: int) -> int:
    """The loop that repeats planes: the one with the smallest stride in the source, where planes share lines."""
    others = [place for place, tile in enumerate(tiles) if tile > 1 and place not in (along, across)]
    return min(others, key=lambda place: loops[place][1], default=-1) if across >= 0 else -1


def _are_joined(run: int, loops: list[Loop], tiles: list[int], plane: tuple[int, int, int]) -> bool:
    """Whether planes with less than a line of columns are transposed together, in squares: 1.3 to 1.5 times as fast.

    They are contiguous in each row of the source then. Wider planes are faster one by one. `FEW_FIELDS` of a struct are for other
    vector code.
    """
    along, across, batch = plane
    if across < 0 or batch < 0 or run not in (1, 2, 4, 8) or min(tiles[along], tiles[across]) in constants.FEW_FIELDS:
        return False
    if run * tiles[along] >= LINE or tiles[along] < loops[along][0] or loops[batch][1] != run * loops[along][0]:
        return False
    return run * min(tiles[along] * tiles[batch], tiles[across]) >= LINE


def _ahead(loops: list[Loop], tiles: list[int], plane: tuple[int, int, int], *, joined: bool) -> Integers:
    """For each row of a tile in order, the distance to the row that is read `TILE_PREFETCH` bytes later, in this tile or the
    next.

    Rows of `joined` planes count as one.
    """
    along, across, batch = plane
    if across < 0:
        return integers((constants.TILE_PREFETCH,))
    rows = np.zeros(1, np.int64)
    others = [i for i in range(len(loops)) if i not in plane]
    repeated = [batch] if batch >= 0 else []
    for place in [*others, *(repeated if not joined else ()), across]:
        rows = (rows[:, None] + np.arange(tiles[place]) * loops[place][1]).reshape(-1)
    width = loops[along][1] * math.prod(tiles[place] for place in (along, *(repeated if joined else ())))
    count = max(1, min(constants.PREFETCHED_ROWS, constants.TILE_PREFETCH // width))
    last = max((i for i, tile in enumerate(tiles) if tile < loops[i][0]), default=0)
    following = rows + tiles[last] * loops[last][1]
    later = rows
    while len(later) < len(rows) + count:
        later = np.concatenate([later, following])
        following = following + tiles[last] * loops[last][1]
    ahead = later[count : count + len(rows)] - rows
    if width < LINE:  # One prefetch serves all rows in a line.
        ahead[np.diff(rows // LINE, prepend=-1) == 0] = 0
    return ahead


def recipe_of_structs(shapes: tuple[tuple[int, int, int, tuple[Loop, ...]], ...], *, large: bool = False) -> Recipe | None:
    """The recipe for the fields of structs together: (source offset, destination offset, run, loops) of each field.

    Offsets are relative to any address. One after the other, the fields would read or write each line once per field. None where
    the copies are not the fields of one struct at either end, or where their loops differ.
    """
    bare = tuple([shape[2:] for shape in shapes])
    known = _structs_apart(bare, large)
    if known is not None:
        jobs, outs = known.jobs.copy(), known.outs.copy()
        jobs[:, 0], outs[:, 0] = [shape[0] for shape in shapes], [shape[1] for shape in shapes]
        return known._replace(jobs=jobs, outs=outs)
    start = min(shape[1] for shape in shapes)
    if max(shape[1] + shape[2] for shape in shapes) - start != sum(shape[2] for shape in shapes):
        return None  # The structs have gaps.
    known = _structs_together(bare, tuple([shape[1] - start for shape in shapes]), large)
    if known is None:
        return None
    jobs, outs = known.jobs.copy(), known.outs.copy()
    jobs[:, 0], outs[:, 0] = [shape[0] for shape in shapes], start
    return known._replace(jobs=jobs, outs=outs)


def _structs(shapes: Bare, large: bool) -> tuple[list[int], list[int]] | None:
    """The order of the loops, slowest in the destination first, and the turns of a tile; None where another recipe is faster."""
    runs, first = [run for run, _ in shapes], shapes[0][1]
    if sum(runs) * LINE > constants.STRUCT_TILE:  # Long runs are as fast one after the other.
        return None
    if not first or not goes_past(sum(runs), first, large=large):
        return None
    if any([loop[0] for loop in loops] != [loop[0] for loop in first] for _, loops in shapes):
        return None
    order = sorted(range(len(first)), key=lambda i: -first[i][2])
    inner = len(order) - 1
    turns = first[order[inner]][0]
    if turns < LINE or (inner and sum(runs) * turns < constants.LEAST_STRUCT_ROW):  # Short rows: a tile would hold one row.
        return None
    if any(loops[order[inner]][1] > min(loop[1] for loop in loops) for _, loops in shapes):  # They are transposed.
        return None
    return order, [1] * inner + [min(turns, max(LINE, constants.STRUCT_TILE // sum(runs) // LINE * LINE))]


@remembered(maxsize=1024)
def _structs_apart(shapes: Bare, large: bool) -> Recipe | None:
    """The recipe for structs that are split into arrays, at any offset."""
    found = _structs(shapes, large)
    if found is None or not all(loops[found[0][-1]][2] == run for run, loops in shapes):
        return None
    order, tiles = found
    inner = len(order) - 1
    jobs, outs, at = [], [], 0
    for run, unordered in shapes:
        loops, strides = [unordered[i] for i in order], [0] * inner + [run]
        jobs.append([0, at, run, inner, -1, -1, *(loop[1] for loop in loops), *strides])
        outs.append([0, at, run, *(loop[2] for loop in loops), *strides[:-1], -1])
        at += (math.ceil(run * tiles[inner] / LINE) + 1 | 1) * LINE
    return _structs_recipe(shapes, order, tiles, jobs, outs)


@remembered(maxsize=1024)
def _structs_together(shapes: Bare, places: tuple[int, ...], large: bool) -> Recipe | None:
    """The recipe for arrays that are joined to structs, with fields at these places, at any offset."""
    found = _structs(shapes, large)
    if found is None:
        return None
    order, tiles = found
    inner = len(order) - 1
    at, stride, there = 0, shapes[0][1][order[inner]][2], [loop[2] for loop in shapes[0][1]]
    for place, run in sorted(zip(places, [run for run, _ in shapes], strict=True)):
        if place != at:
            return None
        at += run
    if at != stride or any([loop[2] for loop in loops] != there for _, loops in shapes):
        return None
    jobs = [
        [0, place, run, inner, -1, -1, *(loops[i][1] for i in order), *[0] * inner, stride]
        for place, (run, loops) in zip(places, shapes, strict=True)
    ]
    out = [0, 0, stride, *(there[i] for i in order), *[0] * inner, -1]
    return _structs_recipe(shapes, order, tiles, jobs, [out])


def _structs_recipe(shapes: Bare, order: list[int], tiles: list[int], jobs: list[list[int]], outs: list[list[int]]) -> Recipe:
    extents = integers(shapes[0][1][i][0] for i in order)
    table = np.array(jobs, np.int64), np.array(outs, np.int64)
    return Recipe(extents, integers(tiles), *table, len(order) - 1, np.zeros(1, np.int64), False, chosen().tiles_past)


@lru_cache(maxsize=4096)
def is_plane(run: int, loops: tuple[Loop, ...]) -> bool:
    """Whether `recipe_of` is the best recipe: long runs, and planes that vectors transpose.

    A plane has rows that are contiguous in the source and columns that are contiguous in the destination, enough of both, in
    tiles that are worth their start.
    """
    if run > constants.WIDEST_RUN:
        return True
    along = next((loop for loop in loops if loop[1] == run), (0, 0, 0))
    across = next((loop for loop in loops if loop[2] == run), (0, 0, 0))
    if along[0] * across[0] < constants.LEAST_PLANE or (run < constants.LEAST_PLANE_RUN and run not in (1, 2, 4, 8)):
        return False
    if run * math.prod(_grown(run, list(loops), constants.TILE_RUN, constants.TILE_RUN)) < constants.LEAST_TILE:
        return False
    fields = (
        along[0] in constants.FEW_FIELDS and across[1] == run * along[0],
        across[0] in constants.FEW_FIELDS and along[2] == run * across[0],
    )
    return any(fields) or min(along[0], across[0]) >= constants.LEAST_VECTOR_ROWS.get(run, 2)


def goes_past(run: int, loops: Sequence[Loop], *, large: bool) -> bool:
    """Whether runs in loops are written past the caches."""
    return run * math.prod(loop[0] for loop in loops) >= (
        min(constants.PAST_CACHES, constants.PART_PAST_CACHES) if large else constants.PAST_CACHES
    )


def integers(values: Any) -> Integers:
    """Numbers as compiled kernels take them."""
    return np.array(list(values), np.int64)


def _tiles(run: int, loops: list[Loop], along: int, across: int) -> list[int]:
    """How often every loop turns in a tile."""
    here = there = constants.TILE_RUN
    tiles = _grown(run, loops, here, there)
    while not _holds(run, loops, tiles) and here > run:
        here, there = (here, there // 2) if there > here else (here // 2, there)
        tiles = _grown(run, loops, here, there)
    # The longer runs are at both ends, the better; as long as the buffer holds them.
    growing = True
    while growing and max(here, there) <= chosen().buffer:
        growing = False
        for wanted in sorted([(here, 2 * there), (2 * here, there)], key=max):
            larger = _grown(run, loops, *wanted)
            if _holds(run, loops, larger):
                (here, there), tiles, growing = wanted, larger, True
                break
    # Whole vectors, and tiles of nearly the same size.
    for place in (along, across):
        if place < 0:
            continue
        extent, unit = loops[place][0], max(1, LINE // run)
        if tiles[place] < extent:
            even = math.ceil(extent / math.ceil(extent / tiles[place]))
            tiles[place] = min(extent, math.ceil(even / unit) * unit)
    return tiles


def _holds(run: int, loops: list[Loop], tiles: list[int]) -> bool:
    """Whether a tile is small enough. Where all of it is one run, nothing keeps its rows from the same sets of the first-level
    cache: that has to hold all of it."""
    _, _, runs = _buffer(run, loops, tiles)
    whole = all(i in runs or tile == 1 for i, tile in enumerate(tiles))
    return _room(run, loops, tiles) <= (chosen().first_level if whole else chosen().buffer)


def _room(run: int, loops: list[Loop], tiles: list[int]) -> int:
    """Bytes of the buffer that a tile needs."""
    strides, chain, runs = _buffer(run, loops, tiles)
    others = [strides[i] * tiles[i] for i in range(len(loops)) if i not in runs]
    return max(others, default=run if chain < 0 else loops[chain][2] * tiles[chain])


def _grown(run: int, loops: list[Loop], here: int, there: int) -> list[int]:
    """Turns of each loop for runs of `here` bytes in the source and `there` bytes in the destination."""
    tiles = [1] * len(loops)
    for end, wanted in ((1, here), (2, there)):
        have = run
        for place in sorted(range(len(loops)), key=lambda i: abs(loops[i][end])):
            extent, stride = loops[place][0], loops[place][end]
            if stride != have:
                break
            turns = min(extent, max(1, -(-wanted // have)))
            tiles[place] = max(tiles[place], turns)
            have *= extent
            if turns < extent:
                break
    return tiles


def _buffer(run: int, loops: list[Loop], tiles: list[int]) -> tuple[list[int], int, set[int]]:
    """The strides of the buffer, the slowest loop of its runs (-1: a run is one element), and the set of loops of a run.

    A run is contiguous in the buffer and in the destination. Rows of other loops follow with an odd number of lines between them.
    """
    strides = [0] * len(loops)
    chain, runs, have = -1, set(), run
    by_destination = sorted(range(len(loops)), key=lambda i: abs(loops[i][2]))
    for place in by_destination:
        if loops[place][2] != have:
            break
        strides[place] = loops[place][2]
        runs.add(place)
        chain = place
        have *= loops[place][0]
        if tiles[place] < loops[place][0]:
            break
    size = run if chain < 0 else loops[chain][2] * tiles[chain]
    size = (-(-size // LINE) + 1 | 1) * LINE  # With an odd number of lines, rows begin in different sets of a cache.
    for place in by_destination:
        if place not in runs:
            strides[place] = size
            size *= tiles[place]
    return strides, chain, runs
