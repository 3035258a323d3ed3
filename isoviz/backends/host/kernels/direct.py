"""Recipes for kernels that store straight from registers: non-temporal stores of whole lines, without a buffer.

There are four: small matrices that are contiguous at both ends (`blocks_of`), structs of elements of 4 bytes from or to arrays
(`lines_of`), transposes in strips of squares (`squares_of`), and lines put together from runs of 32 or 64 bytes (`gather_of`).
They read one sequence, or a few in turn. All other copies are for `isoviz.backends.host.kernels.recipe`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels.choices import chosen
from isoviz.backends.host.kernels.recipe import LINE, Integers, goes_past, integers

if TYPE_CHECKING:
    from isoviz.layouts.copies import Loop


class Blocks(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.compiled.permute_blocks`."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    vectors: int
    turn: int
    order: Any
    past_caches: bool


def blocks_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> Blocks | None:
    """The recipe for transposes of small matrices that are contiguous at both ends, such as blocks of a few structs.

    None where the copy is none, or where a matrix has another size than 2, 4 or 8 vectors.
    """
    if run not in (4, 8):
        return None
    found = next(
        (
            (p, q)
            for p, (rows, here, there) in enumerate(loops)
            for q, (columns, along, across) in enumerate(loops)
            if p != q and (here, along) == (run, run * rows) and (across, there) == (run, run * columns)
        ),
        None,
    )
    if found is None or len(loops) < 3:
        return None
    (rows, _, _), (columns, _, _) = loops[found[0]], loops[found[1]]
    vectors, rest = divmod(run * rows * columns, LINE)
    if rest or vectors not in (2, 4, 8):
        return None
    word = np.arange(vectors * 16)
    element, part = np.divmod(word, run // 4)
    source = (element % columns * rows + element // columns) * (
        run // 4
    ) + part  # The word of the source for each word of the destination.
    vector, place = np.divmod(source.reshape(vectors, 1, 16), 16)
    k, lane = np.arange(1, vectors).reshape(1, -1, 1), np.arange(16)
    order = np.where(vector == k, 16 + place, np.where((vector == 0) & (k == 1), place, lane)).astype(np.int32)
    outer = sorted((loop for i, loop in enumerate(loops) if i not in found), key=lambda loop: -loop[2])
    extents, here, there = (integers(loop[i] for loop in outer) for i in range(3))
    past_caches = goes_past(run, loops, large=large) and not any(stride % LINE for _, _, stride in outer)
    turn = run if columns == 8 else -run if rows == 8 else 0
    if vectors == 2 or (vectors == 4 and (run, rows, columns) != (4, 8, 8)):
        turn = 0
    return Blocks(extents, here, there, vectors, turn, order.reshape(-1), past_caches)


class Lines(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.compiled.turn_lines`."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    lines: int
    by: Integers
    steps: Integers
    vectors: int
    back: bool


def lines_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> tuple[Lines, StridedRest | None] | None:
    """The recipe for structs of 2, 4 or 8 elements of 4 bytes, split into one array per element or joined from them.

    The second value is the rest of the structs that fill no line. None where the copy is of another kind, or its stores would not
    be whole lines.
    """
    if run != 4 or not goes_past(run, loops, large=large):
        return None
    for entries, (count, near, far) in enumerate(loops):
        for fields, (width, one, other) in enumerate(loops):
            if entries == fields or count < 16 or width not in (2, 4, 8):
                continue
            entry = run * width
            back = (one, far, near) == (run, run, entry)  # structs → arrays
            if not back and (near, other, far) != (run, run, entry):
                continue
            outer = [loop for i, loop in enumerate(loops) if i not in (entries, fields)]
            if any(loop[2] % LINE for loop in outer) or (back and other % LINE):
                continue
            lines, left = divmod(count, 16)
            by, steps = (integers(end if back else end[::-1]) for end in ((16 * entry, LINE), (LINE, other if back else one)))
            extents, here, there = (integers(loop[i] for loop in outer) for i in range(3))
            found = Lines(extents, here, there, lines, by, steps, width, back)
            rest = None
            if left:
                kept = tuple(((left, *loop[1:]) if i == entries else loop) for i, loop in enumerate(loops))
                rest = StridedRest(lines * 16 * near, lines * 16 * far, tuple(loop for loop in kept if loop[0] > 1))
            return found, rest
    return None


_BYTES, _WORDS = (
    np.array([[count - part + k for k in range(count)] for part in range(count)], dtype).view(np.uint8)
    for count, dtype in ((64, np.uint8), (16, np.int32))
)
"""Shuffles that join a line from two squares, by how many bytes, or words of 4 bytes, the line begins before the second one."""


class Squares(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.compiled.turn_squares` but for its room."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    size: int
    rows: int
    row_step: int
    row_table: Integers
    columns: int
    column_step: int
    column_table: Integers
    wide: int
    ahead: int
    near: bool
    tall: bool
    aligned: bool
    order: Any


def squares_of(
    run: int, loops: tuple[Loop, ...], start: int, *, bytewise: bool, tall: bool = True, large: bool = False
) -> Squares | None:
    """The recipe for transposes of elements of 1 to 16 bytes, whose destination begins `start` bytes behind a line.

    `bytewise` says that lines can be joined at any byte, `tall` that a kernel for several squares below each other exists. None
    where rows or columns fill no line, where columns begin within lines and are short, or where this processor prefers tiles.
    """
    if run not in constants.SQUARE_ELEMENTS or not goes_past(run, loops, large=large):
        return None
    found = _rows_and_columns(run, loops)
    if found is None:
        return None
    rows, columns, outer = found
    (height, row_step, row_table), (width, column_step, column_table) = _steps(rows, 1), _steps(columns, 2)
    if min(height, width) * run < LINE:
        return None
    begins = [start, column_step, *column_table.tolist(), *(loop[2] for loop in outer)]
    aligned = not any(place % LINE for place in begins)
    word = 1 if run < 4 and bytewise else 4
    if outer and run * height * width < (constants.LEAST_STRIPS if aligned and run > 1 else 2 * constants.LEAST_STRIPS):
        return None
    if not aligned and (height * run < constants.LEAST_COLUMN or any(place % word for place in (run, *begins))):
        return None
    places = row_table if len(row_table) else np.arange(min(height, LINE + 64)) * row_step
    extents, here, there = (integers(loop[i] for loop in outer) for i in range(3))
    table = height, row_step, row_table, width, column_step, column_table
    way = _read(run, height, places, aligned=aligned, tall=tall)
    order = _BYTES if word == 1 else _WORDS
    return None if way is None else Squares(extents, here, there, run, *table, *way, aligned, order)


class _Way(NamedTuple):
    """How a strip is read: its width in lines, the rows of its prefetch, and whether that goes to the first-level cache.

    `tall` says that several squares below each other are transposed before their columns are stored.
    """

    wide: int
    ahead: int
    near: bool
    tall: bool = False


def _read(run: int, height: int, places: Integers, *, aligned: bool, tall: bool) -> _Way | None:
    """How strips are read on this processor; None where tiles through the buffer are faster."""
    if aligned and height * run <= LINE:
        return _Way(2, 32, True)
    lines = places[: LINE // run + 64, None] // LINE + np.arange(2 if aligned else 3)
    first, second = (int(np.bincount(lines.reshape(-1) % sets).max()) for sets in constants.CACHE_SETS)
    crowded, few, choices = first > constants.CROWDED_LINES, height * run < 8 * LINE, chosen()
    kind = "unaligned" if not aligned else "crowded" if crowded else "aligned"
    reading = getattr(choices, f"small_{kind}" if run < 4 else kind)
    if reading == "near":
        sparse = crowded and second <= constants.SPREAD_LINES and places[1] - places[0] >= constants.FAR_APART_ROWS
        return _read_near(run, first, sparse=sparse, aligned=aligned, few=few)
    if reading == "far":
        return _read_far(run, crowded=crowded, aligned=aligned, few=few, tall=tall and height * run >= constants.TALL_COLUMN)
    return {"wide": _Way(4, 64, True), "broad": _Way(16, 8, False), "plain": _Way(8, 0, False)}.get(reading)


def _read_near(run: int, first: int, *, sparse: bool, aligned: bool, few: bool) -> _Way | None:
    """The way with a prefetch into the first-level cache.

    Narrow strips store few lines at a time; wide strips read more of each row. Where many rows (`first`) share sets of the
    first-level cache, a prefetch into it evicts lines that are still unread: the hardware prefetcher or the second-level cache is
    better there. A prefetch into the second-level cache alone misleads the hardware prefetcher of some processors where rows are
    not crowded.
    """
    if not aligned and run < 4 and first > constants.CROWDED_LINES:
        return None
    if not aligned:
        if run >= 4 and first > constants.CROWDED_LINES // 3:
            return _Way(4, 16, True) if run == 4 else _Way(2, 64, False)
        return _Way(1 if run == 1 else 2, 64, True)
    if run >= 4 and sparse:
        return _Way(8, 32, False) if few else _Way(2, 64, False)
    if few:
        return _Way(4, 16, True)
    if first > constants.CROWDED_LINES:
        return _Way(8, 0, False) if run < 4 else _Way(4, 0, False) if run < 16 else _Way(8, 32, False)
    return _Way(1 if run == 1 else 2, 64, True)


def _read_far(run: int, *, crowded: bool, aligned: bool, few: bool, tall: bool) -> _Way:
    """The way with a prefetch into the second-level cache only. Tall squares store several lines of a column in sequence."""
    if tall and run < 4 and (crowded or not aligned):
        return _Way(4, 64, False, tall=True)
    if not aligned:
        return _Way(4, 32, False) if run < 4 and crowded else _Way(8, 16, False)
    if few or not crowded:
        return _Way(2, 64 if few else 32, False)
    return {2: _Way(4, 64, False), 4: _Way(4, 32, False), 8: _Way(8, 16, False)}.get(run, _Way(2, 32, False))


def _rows_and_columns(run: int, loops: tuple[Loop, ...]) -> tuple[list[Loop], list[Loop], list[Loop]] | None:
    """The loops along which the destination is contiguous, those along which the source is, and the others, slowest first.

    The first are the rows of the transpose, the second its columns. None where one of the two is missing.
    """
    left, ends = list(loops), ([run, 2], [run, 1])
    chains: tuple[list[Loop], list[Loop]] = ([], [])
    growing = [0, 1]
    while growing:
        which = min(growing, key=lambda k: ends[k][0])  # the shorter one has the choice
        have, end = ends[which]
        chain = chains[which]
        following = next((loop for loop in left if loop[end] == have), None)
        if following is None or (chain and math.prod(loop[0] for loop in (*chain, following)) > constants.LONGEST_TABLE):
            growing.remove(which)
            continue
        left.remove(following)
        chain.append(following)
        ends[which][0] *= following[0]
    return (*chains, sorted(left, key=lambda loop: -loop[2])) if all(chains) else None


def _steps(chain: list[Loop], end: int) -> tuple[int, int, Integers]:
    """The number of rows or columns in a chain of loops, and their offsets at one end: a step, or a table."""
    if len(chain) == 1:
        return chain[0][0], chain[0][end], integers(())
    places = np.zeros(1, np.int64)
    for loop in reversed(chain):
        places = (places[:, None] + np.arange(loop[0]) * loop[end]).reshape(-1)
    return len(places), 0, places


class Gather(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.compiled.gather_lines`."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    turns: int
    by: Integers
    inner: int
    inner_by: Integers
    step: int
    run: int
    ahead: Integers


def gather_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> tuple[Gather, StridedRest | None] | None:
    """The recipe for lines put together from runs of 32 or 64 bytes: blocks of rows, arrays of short vectors, and their inverses.

    The second value is the rest that fills no line. None where stores would not be whole lines, where lines come from too many
    places, or where blocks have gaps.
    """
    if run not in (32, 64) or not goes_past(run, loops, large=large):
        return None
    pieces = LINE // run
    rows = next(
        (
            i
            for i, (count, _, far) in enumerate(loops)
            if far == run and count % pieces == 0 and count <= constants.GATHERED_SHORT_ARRAYS
        ),
        None,
    )
    along = next((i for i, (_, near, _) in enumerate(loops) if near == run and i != rows), None)
    if (
        rows is not None and along is not None and loops[rows][0] > constants.GATHERED_ARRAYS
    ):  # long ones would drive each other out of the caches
        rows = rows if len(loops) > 2 and run * loops[along][0] < constants.LEAST_LONG_ARRAY else None
    rest = None
    if rows is not None and along is not None and loops[along][2] == run * loops[rows][0]:  # arrays in turn
        count, apart, _ = loops[rows]
        turns, _, far = loops[along]
        by, inner, inner_by = (run, far), count // pieces, (pieces * apart, LINE)
        step, ahead, taken = apart, [count, apart, 8 * LINE, 8 * LINE], (rows, along)
    else:  # A line from each run that several blocks have in turn.
        along = next((i for i, (_, _, far) in enumerate(loops) if far == run), None)
        if along is None or loops[along][0] < pieces or loops[along][1] > constants.LONGEST_GATHERED_ENTRY:
            return None
        count, step, _ = loops[along]
        within = next((i for i, loop in enumerate(loops) if i != along and loop[:2] == (step // run, run)), None)
        if within is None or step % run or loops[within][2] % LINE:
            return None
        turns, left = divmod(count, pieces)
        by, ahead = (pieces * step, LINE), [1, 0, 0, 0]
        inner, inner_by, taken = loops[within][0], loops[within][1:], (along, within)
        if left:
            kept = tuple((left, *loop[1:]) if i == along else loop for i, loop in enumerate(loops))
            rest = StridedRest(turns * by[0], turns * by[1], tuple(loop for loop in kept if loop[0] > 1))
    outer = sorted((loop for i, loop in enumerate(loops) if i not in taken), key=lambda loop: -loop[2])
    if any(loop[2] % LINE for loop in outer):
        return None
    if outer and ahead[1] and turns * run < constants.LEAST_LONG_ARRAY:  # After a short array the source goes on elsewhere.
        ahead[2:] = outer[-1][1], turns * run
    extents, here, there = (integers(loop[i] for loop in outer) for i in range(3))
    return Gather(extents, here, there, turns, integers(by), inner, integers(inner_by), step, run, integers(ahead)), rest


class StridedRest(NamedTuple):
    """The rest of a copy that a recipe does not cover: its offsets from the beginning of the copy at both ends, and its loops."""

    source_offset: int
    destination_offset: int
    loops: tuple[Loop, ...]
