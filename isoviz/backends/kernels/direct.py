"""Copies that need no buffer: from registers to whole lines past the caches.

Small matrices in one piece at both ends; entries of elements of 4 bytes and an array for each of these, one from the other; rows
of half a line or a whole one. What is written are whole lines, each once, so that nothing has to be put together in a cache
first; what is read lies in sequence, or in a few sequences in turn. Everything else is for `isoviz.backends.kernels.recipe`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.kernels.recipe import LINE, Integers, goes_past, integers

if TYPE_CHECKING:
    from isoviz.layouts.geometry import Loop

LONGEST_ENTRY = 14 << 10
"""Bytes of entries that are read sixteen at a time: longer ones lie too far apart for that."""
MOST_JOINED = 128
"""Arrays that become entries, sixteen at a time: their lines lie too far apart where there are more."""
ARRAYS = 16
"""Places that are read in turn."""


class Blocks(NamedTuple):
    """The arguments of `isoviz.backends.kernels.compiled.permute_blocks`."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    vectors: int
    turn: int
    order: Any
    past_caches: bool


@lru_cache(maxsize=1024)
def blocks_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> Blocks | None:
    """The recipe for small matrices that lie in one piece at both ends and are transposed: structs and blocks of a few of them.
    None where these are none, or of another size than 2, 4 or 8 vectors."""
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
    source = (element % columns * rows + element // columns) * (run // 4) + part  # the word of the source that comes there
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
    """The arguments of `isoviz.backends.kernels.compiled.turn_lines`."""

    extents: Integers
    source_strides: Integers
    destination_strides: Integers
    lines: int
    chunks: int
    by: Integers
    chunk_by: Integers
    steps: Integers
    vectors: int
    back: bool


@lru_cache(maxsize=1024)
def lines_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> tuple[Lines, StridedRest | None] | None:
    """The recipe for entries of 2, 4, 8 or a multiple of 16 elements of 4 bytes that become an array for each of them, or (up to
    128) the other way round; with what is left of the entries. None where these are none, or cannot be written in whole lines."""
    if run != 4 or not goes_past(run, loops, large=large):
        return None
    for entries, (count, near, far) in enumerate(loops):
        for fields, (width, one, other) in enumerate(loops):
            if entries == fields or count < 16 or (width not in (2, 4, 8) and width % 16):
                continue
            back = (one, far) == (run, run) and near == run * width <= LONGEST_ENTRY  # structs → arrays
            if not back and not ((near, other) == (run, run) and far == run * width and width <= MOST_JOINED):
                continue
            outer = [loop for i, loop in enumerate(loops) if i not in (entries, fields)]
            if any(loop[2] % LINE for loop in outer) or (back and other % LINE):
                continue
            vectors, entry = min(width, 16), run * width
            lines, left = divmod(count, 16)
            apart = other if back else one  # bytes between the arrays
            inside = LINE if width <= 16 else entry  # bytes between the vectors of a chunk, at the end where entries lie
            ends = ((16 * entry, LINE), (LINE, vectors * apart), (inside, apart))
            by, chunk_by, steps = (integers(end if back else end[::-1]) for end in ends)
            extents, here, there = (integers(loop[i] for loop in outer) for i in range(3))
            found = Lines(extents, here, there, lines, width // vectors, by, chunk_by, steps, vectors, back)
            rest = None
            if left:
                kept = tuple(((left, *loop[1:]) if i == entries else loop) for i, loop in enumerate(loops))
                rest = StridedRest(lines * 16 * near, lines * 16 * far, tuple(loop for loop in kept if loop[0] > 1))
            return found, rest
    return None


class Gather(NamedTuple):
    """The arguments of `isoviz.backends.kernels.compiled.gather_lines`."""

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


@lru_cache(maxsize=1024)
def gather_of(run: int, loops: tuple[Loop, ...], *, large: bool = False) -> tuple[Gather, StridedRest | None] | None:
    """The recipe for runs of 32 or 64 bytes of which lines are put together: blocks of rows, arrays of short vectors, and the way
    back; with what is left of the last line. None where lines are not whole or come from too many places, or blocks have gaps."""
    if run not in (32, 64) or not goes_past(run, loops, large=large):
        return None
    pieces = LINE // run
    rows = next((i for i, (count, _, far) in enumerate(loops) if far == run and count % pieces == 0 and count <= ARRAYS), None)
    along = next((i for i, (_, near, _) in enumerate(loops) if near == run and i != rows), None)
    rest = None
    if rows is not None and along is not None and loops[along][2] == run * loops[rows][0]:  # arrays in turn
        count, apart, _ = loops[rows]
        turns, _, far = loops[along]
        by, inner, inner_by = (run, far), count // pieces, (pieces * apart, LINE)
        step, ahead, taken = apart, (count, apart), (rows, along)
    else:  # a line of every run that several blocks have in turn
        along = next((i for i, (_, _, far) in enumerate(loops) if far == run), None)
        if along is None or loops[along][0] < pieces or loops[along][1] > LONGEST_ENTRY:
            return None
        count, step, _ = loops[along]
        within = next((i for i, loop in enumerate(loops) if i != along and loop[:2] == (step // run, run)), None)
        if within is None or step % run or loops[within][2] % LINE:
            return None
        turns, left = divmod(count, pieces)
        by, ahead = (pieces * step, LINE), (1, 0)
        inner, inner_by, taken = loops[within][0], loops[within][1:], (along, within)
        if left:
            kept = tuple((left, *loop[1:]) if i == along else loop for i, loop in enumerate(loops))
            rest = StridedRest(turns * by[0], turns * by[1], tuple(loop for loop in kept if loop[0] > 1))
    outer = sorted((loop for i, loop in enumerate(loops) if i not in taken), key=lambda loop: -loop[2])
    if any(loop[2] % LINE for loop in outer):
        return None
    extents, here, there = (integers(loop[i] for loop in outer) for i in range(3))
    return Gather(extents, here, there, turns, integers(by), inner, integers(inner_by), step, run, integers(ahead)), rest


class StridedRest(NamedTuple):
    """What a recipe leaves of a copy: how much further it begins at either end, and its loops."""

    source_offset: int
    destination_offset: int
    loops: tuple[Loop, ...]
