"""Random strided copies for the copy kernels; run as a program, between pages that nobody may touch.

    python kernel_cases.py SEED COUNT

prints how many copies were right, of how many bytes were shuffled and elements moved one by one, how many were squares turned
in registers, how many of these several squares one below the other, how many were small ones in one call; and of those element by
element how many went by way of the buffer, and how many of these in runs that go on in the next tile; or ends with a fault.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isoviz.layouts import StridedCopy

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes

RUNS = (1, 1, 2, 2, 4, 4, 4, 8, 8, 3, 5, 6, 7, 9, 12, 15, 16, 16, 17, 24, 31, 32, 48, 64, 100, 255, 256, 300, 4096, 5000)
EXTENTS = (2, 2, 3, 3, 4, 4, 5, 7, 8, 13, 15, 16, 17, 31, 32, 33, 64, 65, 100, 130, 257, 512, 1025)
MOST = 1 << 19
"""Bytes of a random copy at most."""


def random_copy(rng: random.Random) -> tuple[StridedCopy, int, int]:
    """A copy with loops in any orders, with and without gaps, at any addresses, now and then of runs that overlap in the source;
    and the bytes of the arrays it lies in."""
    run, count = rng.choice(RUNS), rng.randint(0, 5)
    extents = [rng.choice(EXTENTS) for _ in range(count)]
    nbytes = run
    for k, extent in enumerate(extents):
        if nbytes * extent > MOST:
            extents[k] = extent = 1 if nbytes * 2 > MOST else 2
        nbytes *= extent
    ends = []
    for end in range(2):
        order, strides, at = list(range(count)), [0] * count, run + rng.choice((0, 0, 0, 0, 0, 1, 4, 60))
        overlapping = end == 0 and rng.random() < 0.1
        rng.shuffle(order)
        for k in order:
            strides[k] = rng.randint(1, at) if overlapping else at
            at = at * extents[k] + rng.choice((0, 0, 0, 0, 0, 3, 16, 64))
        reach = run + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
        ends.append((strides, reach, rng.choice((0, 0, 1, 8, 33, 64))))
    (here, source, source_offset), (there, destination, destination_offset) = ends
    copy = StridedCopy(source_offset, destination_offset, run, tuple(zip(extents, here, there, strict=True)))
    return copy, source_offset + source, destination_offset + destination


def random_structs(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Fields of different sizes, side by side at one end and apart at the other, in one loop or two, with and without gaps."""
    sizes_of_fields = rng.choice(((1, 2, 4, 8), (4, 8), (1, 2, 3, 4, 8, 12, 16, 40, 300), (300, 2000, 5000)))
    runs = [rng.choice(sizes_of_fields) for _ in range(rng.randint(2, 6))]
    extents = [rng.choice((2, 3, 63, 64, 65, 200)), *([rng.choice((2, 3, 5))] if rng.random() < 0.5 else [])]
    gap, row_gap = rng.choice((0, 0, 0, 1, 5)), rng.choice((0, 0, 0, 7, 64))
    entry, together, apart, at = sum(runs) + gap, [], [], 0
    row = entry * extents[0] + row_gap
    for k, run in enumerate(runs):
        together.append((sum(runs[:k]), [entry, row][: len(extents)]))
        apart.append((at, [run, run * extents[0]][: len(extents)]))
        at += run * extents[0] * (extents[1] if len(extents) > 1 else 1) + rng.choice((0, 0, 1, 13, 64))
    ends = [together, apart] if rng.random() < 0.5 else [apart, together]
    copies, sizes = [], [0, 0]
    for k, run in enumerate(runs):
        (here, by_here), (there, by_there) = ends[0][k], ends[1][k]
        loops = tuple(zip(extents, by_here, by_there, strict=True))[::-1]
        copies.append(StridedCopy(here, there, run, loops))
        for end in (0, 1):
            offset, strides = ends[end][k]
            reach = offset + run + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
            sizes[end] = max(sizes[end], reach)
    if rng.random() < 0.2:
        copies.pop(rng.randrange(len(copies)))  # not all of them
    return copies, sizes[0], sizes[1]


def random_alike(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Pieces of entries that turn alike: at both ends in any order within an entry, with gaps, the loops in any order too."""
    runs = [rng.choice((1, 2, 3, 4, 8, 13, 16, 40)) for _ in range(rng.randint(2, 9))]
    extents = [rng.choice((32, 33, 64, 200)), *(rng.choice((2, 3, 5)) for _ in range(rng.randint(0, 2)))]
    ends = []
    for _ in range(2):
        order, offsets, at = list(range(len(runs))), [0] * len(runs), rng.choice((0, 1, 60))
        rng.shuffle(order)
        for k in order:
            offsets[k] = at
            at += runs[k] + rng.choice((0, 0, 0, 1, 30))
        loops, strides = list(range(len(extents))), [0] * len(extents)
        rng.shuffle(loops)
        stride = at
        for k in loops:
            strides[k] = stride
            stride = stride * extents[k] + rng.choice((0, 0, 7))
        ends.append((offsets, strides, stride))
    (here, by_here, source), (there, by_there, destination) = ends
    turns = tuple(zip(extents, by_here, by_there, strict=True))
    return [StridedCopy(*each, turns) for each in zip(here, there, runs, strict=True)], source, destination


def random_blocks(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Small matrices in one piece at both ends, transposed, in one, two or three loops with and without gaps."""
    run, rows, columns = rng.choice((4, 4, 4, 8, 2)), rng.choice((2, 3, 4, 8, 16)), rng.choice((2, 4, 5, 8, 16))
    block = run * rows * columns
    extents = [rng.choice((1, 2, 7, 33, 100)) for _ in range(rng.randint(1, 3))]
    extents[1:] = [min(extent, 7) for extent in extents[1:]]
    ends = []
    for _ in range(2):
        order, strides, at = list(range(len(extents))), [0] * len(extents), block + rng.choice((0, 0, 0, 64, 3))
        rng.shuffle(order)
        for k in order:
            strides[k] = at
            at = at * extents[k] + rng.choice((0, 0, 64))
        ends.append((strides, at, rng.choice((0, 0, 1, 64))))
    (here, source, first), (there, destination, second) = ends
    turns = tuple(turn for turn in zip(extents, here, there, strict=True) if turn[0] > 1)
    copy = StridedCopy(first, second, run, (*turns, (rows, run, run * columns), (columns, run * rows, run)))
    return [copy], first + source, second + destination


def random_lines(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Entries of elements of 4 bytes and arrays of these, one from the other, at whole lines and elsewhere, with entries left."""
    width, count = rng.choice((2, 4, 8, 16, 16, 32, 48, 64, 128, 24)), rng.choice((16, 31, 128, 129, 300))
    apart = 4 * count + rng.choice((-4 * count % 64, -4 * count % 64, -4 * count % 64 + 64, 4, 0))
    structs, arrays = (4 * width, 4), (4, apart)
    outer, reach = rng.choice((1, 1, 3)), (4 * width * count, apart * width)
    ends, sizes = [], []
    both = list(zip((structs, arrays), reach, strict=True))
    for (entry, field), nbytes in both if rng.random() < 0.6 else both[::-1]:
        stride = nbytes + rng.choice((-nbytes % 64, -nbytes % 64, 0, 8))
        first = rng.choice((0, 0, 64, 4))
        ends.append((first, entry, field, stride))
        sizes.append(first + outer * stride)
    (here, *source), (there, *destination) = ends
    turns = list(zip((count, width, outer), source, destination, strict=True))
    rng.shuffle(turns)
    return [StridedCopy(here, there, 4, tuple(turn for turn in turns if turn[0] > 1))], *sizes


def random_rows(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Runs of a line or a part of one, of several arrays in turn, and the way back, with more loops, with and without gaps."""
    run, rows, count = rng.choice((16, 32, 32, 64)), rng.choice((2, 4, 8, 8, 40)), rng.choice((2, 9, 64, 65))
    outer = [rng.choice((2, 3)) for _ in range(rng.randint(0, 2))]
    together, apart = (run * rows, run), (run, run * count + rng.choice((0, 0, -run * count % 64, 16)))
    ends, sizes = [], []
    for end in rng.sample((together, apart), 2):
        strides = list(end)
        at = max(run * rows * count, apart[1] * rows)
        for extent in outer:
            strides.append(at + rng.choice((0, -at % 64, -at % 64)))
            at = strides[-1] * extent
        first = rng.choice((0, 0, 64, 8))
        ends.append((first, strides))
        sizes.append(first + at)
    turns = list(zip((count, rows, *outer), ends[0][1], ends[1][1], strict=True))
    rng.shuffle(turns)
    return [StridedCopy(ends[0][0], ends[1][0], run, tuple(turns))], *sizes


def random_hybrids(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Many structs of fields of any sizes in blocks of a few entries, and other blocks, or arrays, or structs, at the other end;
    not all the fields, in rows, with and without gaps."""
    sizes = [rng.choice((1, 1, 2, 3, 4, 5, 8, 8, 13, 16)) for _ in range(rng.choice((1, 2, 2, 3, 5, 9)))]
    inner, count, rows = rng.choice((1, 2, 3, 4, 16)), rng.choice((40, 128, 257, 1000)), rng.choice((1, 1, 3))
    ends, reaches = [], []
    for _ in range(2):
        gap = rng.choice((0, 0, 0, 1, 5, 64))
        if rng.random() < 0.4:  # arrays
            offsets, at = [], rng.choice((0, 3))
            for size in sizes:
                offsets.append(at)
                at += size * inner * count + rng.choice((0, 0, 7, 64))
            strides, reach = [(size, size * inner) for size in sizes], at
        else:
            blocks = rng.random() < 0.5  # else structs
            entry = sum(sizes) + gap
            starts = [sum(sizes[:k]) for k in range(len(sizes))]
            offsets = [start * inner for start in starts] if blocks else starts
            strides = [(size if blocks else entry, entry * inner) for size in sizes]
            reach = entry * inner * count
        row = reach + rng.choice((0, 0, -reach % 64, 1))
        first = rng.choice((0, 0, 1, 8, 60))
        ends.append([(first + offset, [row, by, within]) for offset, (within, by) in zip(offsets, strides, strict=True)])
        reaches.append(first + row * rows)
    extents, copies = (rows, count, inner), []
    for (here, by_here), (there, by_there), size in zip(*ends, sizes, strict=True):
        turns = zip(extents, by_here, by_there, strict=True)
        copies.append(StridedCopy(here, there, size, tuple(turn for turn in turns if turn[0] > 1)))
    if len(copies) > 1 and rng.random() < 0.2:
        copies.pop(rng.randrange(len(copies)))
    return copies, reaches[0], reaches[1]


def random_transpositions(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Rows contiguous at one end and columns at the other, of one loop or two, with loops around them; aligned and not."""
    run = rng.choice((1, 1, 2, 2, 4, 4, 8, 16, 12))
    side = 64 // run if run != 12 else 5
    extents = []
    for _ in range(2):
        count = side * rng.choice((1, 1, 2, 3, 9)) + rng.choice((0, 0, 0, 1, side - 1, side // 2))
        inner = rng.choice((1, 1, 2, 7))
        extents += [inner, max(1, count // inner)]
    outer = [rng.choice((2, 3)) for _ in range(rng.choice((0, 0, 1, 2)))]
    loops, nbytes = [*extents, *outer], run
    for k, extent in enumerate(loops):
        loops[k] = extent if nbytes * extent <= MOST else 1
        nbytes *= loops[k]
    ends = []
    for first, second in ((0, 2), (2, 0)):
        strides, at = [0] * len(loops), run
        rest = [*(second + k for k in range(2)), *range(4, len(loops))]
        for k in (first, first + 1):
            strides[k] = at
            at *= loops[k]
        if rng.random() < 0.5:
            rng.shuffle(rest)
        for k in rest:
            at += rng.choice((0, 0, -at % 64, -at % 64, -at % 64 + 64, 4, run, 1))
            strides[k] = at
            at *= loops[k]
        start = rng.choice((0, 0, 0, 64, 4, run, 1))
        ends.append((start, strides, start + at))
    (here, by_here, source), (there, by_there, destination) = ends
    turns = [turn for turn in zip(loops, by_here, by_there, strict=True) if turn[0] > 1]
    rng.shuffle(turns)
    return [StridedCopy(here, there, run, tuple(turns))], source, destination


def random_tall(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Transpositions of elements of a byte or two with more rows, or more columns, than are turned together; aligned and not."""
    run = rng.choice((1, 1, 2))
    side = 64 // run
    long, short = side * rng.choice((4, 8, 9, 16, 17)), side * rng.choice((1, 2, 4, 5))
    rows, columns = ((each + rng.choice((0, 0, 1, side // 2, side - 1))) for each in rng.sample((long, short), 2))
    by, to = (run * each + rng.choice((0, 0, -run * each % 64, 1, run)) for each in (columns, rows))
    first, second = (rng.choice((0, 0, 64, 2, 1)) for _ in range(2))
    turns = [(rows, by, run), (columns, run, to)]
    return [StridedCopy(first, second, run, tuple(turns))], first + rows * by, second + columns * to


def random_few_columns(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Planes with few columns and many rows, one behind the other in every row of the source, with gaps between rows at an end
    and without."""
    run = rng.choice((1, 2, 4, 4, 8))
    columns, planes = rng.randint(2, 64 // run + 1), rng.choice((2, 7, 20, 65))
    rows, outer = rng.choice((64 // run, 64 // run + 5, 150)), rng.choice((1, 1, 2, 5))
    row = run * columns * planes + rng.choice((0, 0, 4, 64))
    column = run * rows + rng.choice((0, 0, 0, 8, 60))
    near, far = rng.choice(((column, column * columns), (column * planes, column)))
    turns = (
        (rows, row * outer, run),
        (columns, run, near),
        (planes, run * columns, far),
        (outer, row, column * columns * planes),
    )
    first, second = rng.choice((0, 0, 64, run)), rng.choice((0, 0, 64, run))
    copy = StridedCopy(first, second, run, tuple(turn for turn in turns if turn[0] > 1))
    return [copy], first + rows * outer * row, second + column * columns * planes * outer


def spelled_out(copy: StridedCopy, source: np.ndarray, destination: np.ndarray) -> None:
    """What a copy means: an index of every byte at both ends."""
    here, there = (np.array([offset]) for offset in (copy.source_offset, copy.destination_offset))
    for extent, from_here, to_there in (*copy.loops, (copy.run, 1, 1)):
        turns = np.arange(extent)
        here = (here[:, None] + turns * from_here).reshape(-1)
        there = (there[:, None] + turns * to_there).reshape(-1)
    destination[there] = source[here]


class Guarded:
    """Arrays that end where a page begins that nobody may touch, or begin behind one; they live as long as this object."""

    def __init__(self, nbytes: int) -> None:
        self.pages = -(-nbytes // mmap.PAGESIZE) + 2
        self.map = mmap.mmap(-1, self.pages * mmap.PAGESIZE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for page in (0, self.pages - 1):
            if protect(ctypes.c_void_p(self.address + page * mmap.PAGESIZE), mmap.PAGESIZE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def array(self, nbytes: int, *, at_end: bool) -> np.ndarray:
        room = (self.pages - 2) * mmap.PAGESIZE
        assert nbytes <= room
        start = self.address + mmap.PAGESIZE + (room - nbytes if at_end else 0)
        return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(start), np.uint8)


def counted(road: Callable[..., tuple[object, ...]], roads: dict[str, int], name: str) -> Callable[..., tuple[object, ...]]:
    """A road that says how many copies it was taken for."""

    def taken(*arguments: object, **named: object) -> tuple[object, ...]:
        found = road(*arguments, **named)
        roads[name] += bool(found)
        return found

    return taken


def random_several(rng: random.Random) -> tuple[list[StridedCopy], int, int]:
    """Copies that have nothing in common, one behind the other, with gaps and without."""
    copies, source, destination = [], 0, 0
    for _ in range(rng.randint(2, 12)):
        copy, here, there = random_copy(rng)
        if max(source + here, destination + there) > MOST:
            break
        copies.append(
            copy._replace(source_offset=copy.source_offset + source, destination_offset=copy.destination_offset + destination)
        )
        source, destination = source + here + rng.choice((0, 0, 1, 64)), destination + there + rng.choice((0, 0, 1, 64))
    return (copies, source, destination) if copies else ([StridedCopy(0, 0, 1, ())], 1, 1)


SHAPED = (
    random_several,
    random_structs,
    random_alike,
    random_blocks,
    random_lines,
    random_rows,
    random_hybrids,
    random_transpositions,
    random_transpositions,
    random_tall,
    random_few_columns,
)


def cases(seed: int, count: int) -> Iterator[tuple[list[StridedCopy], int, int]]:
    rng = random.Random(seed)
    for number in range(count):
        if number % 4 == 3:
            yield SHAPED[number // 4 % len(SHAPED)](rng)
        else:
            copy, source, destination = random_copy(rng)
            yield [copy], source, destination


def carried_out(
    copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, threads: int, *, large: bool, again: bool
) -> None:
    """Move the bytes of copies at once, or as prepared ones that move `again`."""
    from isoviz.backends.host import copying as kernel

    if not again:
        kernel.copy_all(copies, source, destination, lambda: None, threads=threads, large=large)
        return
    for move in kernel.prepared_copies(copies, source, destination, large=large):
        move()


def main() -> None:
    from isoviz.backends.host import copying as kernel
    from isoviz.backends.host import kernels
    from isoviz.backends.host.kernels import choices, direct, dispatch, pattern, recipe, tiles
    from isoviz.backends.host.kernels import choices as constants

    seed, count = map(int, sys.argv[1:])
    own_most = pattern._most_steps
    if not kernels.prepare(wait=True):
        sys.exit(f"no kernels: {kernels.state()}")
    rng, data = random.Random(seed), np.random.default_rng(seed)
    guarded = Guarded(4 * MOST * 3), Guarded(4 * MOST * 3)
    # The kernels' own buffer too; threads share it, so that there is one thread while it is.
    between = Guarded(constants.BUFFER_BYTES + recipe.LINE)
    room = between.array(constants.BUFFER_BYTES + recipe.LINE, at_end=True)
    needed = [0]
    own_buffer = dispatch.buffer_address

    def guarded_buffer() -> int:
        """With as much room as a tile needs, or all of it."""
        address = room.ctypes.data + len(room) - (needed[0] or constants.BUFFER_BYTES)
        needed[0] = 0
        return address

    right = 0
    roads = {"shuffled": 0, "tiled": 0, "squares": 0, "tall": 0, "many": 0, "staged": 0, "cut": 0}
    sizes, many_of = (constants.SMALL_COPY, constants.CACHED_COPIES), kernel.many_of

    def many_counted(*arguments: object, **named: object) -> object:
        found = many_of(*arguments, **named)
        roads["many"] += found[0] is not None
        return found

    kernel.many_of = many_counted
    for name in ("shuffled", "tiled"):
        setattr(dispatch, f"_{name}", counted(getattr(dispatch, f"_{name}"), roads, name))
    squares_of = direct.squares_of

    def squares_counted(*arguments: object, **named: object) -> object:
        found = squares_of(*arguments, **named)
        roads["squares"] += found is not None
        roads["tall"] += found is not None and found.tall
        return found

    dispatch.squares_of = squares_counted
    tiles_of = tiles.tiles_of

    def tiles_counted(*arguments: object, **named: object) -> object:
        """The tile ends where the guarded page begins, too."""
        found = tiles_of(*arguments, **named)
        if found is not None and len(found.outs):
            last, loops = found.outs[-1], len(found.extents)
            span = last[2] * found.tiles[0]  # with a line behind it, as behind every row
            size = last[3 + loops] * found.tiles[0] if found.chain else (-(-span // recipe.LINE) + 1) * recipe.LINE
            needed[0] = last[1] + size
            roads["staged"] += 1
            roads["cut"] += bool(found.tiles[found.chain] < found.extents[found.chain])
        return found

    dispatch.tiles_of = tiles_counted
    for copies, source_bytes, destination_bytes in cases(seed, count):
        if max(source_bytes, destination_bytes) > 4 * MOST * 3:
            continue
        # Every road for copies that are small here: past the caches or not, tiles of all sizes.
        constants.PAST_CACHES, constants.TILE_RUN = rng.choice(((0, 64), (0, 512), (0, 512), (1 << 40, 512), (1 << 40, 128)))
        constants.LEAST_COMPILED = 0
        constants.SMALL_COPY, constants.CACHED_COPIES = rng.choice(((0, -1), (2000, -1), sizes))
        kernel.WORTH_THREADS = 0
        constants.LEAST_PATTERN_COPY, constants.LEAST_PATTERN_LOOP, constants.LEAST_REPEATS = 0, 0, rng.choice((4, 8))
        constants.STAGED_TILE = constants.DIRECT_TILE = rng.choice((500, 5000, 160 << 10))
        constants.TILE_PART, constants.LEAST_COLUMNS, constants.LEAST_PLANE = (
            rng.choice((50, 16 << 10)),
            rng.choice((1, 32)),
            rng.choice((16, 1000)),
        )
        tiles._anywhere.cache_clear()
        constants.LEAST_STRUCT_ROW = rng.choice((0, 1 << 20))
        recipe.is_plane.cache_clear()
        pattern._most_steps = rng.choice((own_most, lambda _, **__: 1000))
        pattern.pattern_of.cache_clear()
        pattern._frame.cache_clear()
        pattern._repeated.cache_clear()
        recipe.recipe_of.cache_clear()
        dispatch.way_of.cache_clear()
        recipe._structs_apart.cache_clear()
        recipe._structs_together.cache_clear()
        constants.LEAST_COLUMN, constants.LEAST_STRIPS, constants.CROWDED_LINES = (
            rng.choice((64, 768)),
            0,
            rng.choice((0, 36, 1 << 20)),
        )
        some = {name: rng.choice(options) for name, options in choices.OPTIONS.items()}
        some |= dict.fromkeys(("small_aligned", "small_unaligned", "small_crowded"), "far") if rng.random() < 0.5 else {}
        choices.choose(choices.Choices(**some))
        constants.TALL_COLUMN, constants.SHORT_PATTERN = rng.choice((0, 0, 512)), rng.choice((0, 12, 48))
        constants.LONGEST_TABLE = rng.choice((1, 20, 1 << 14))
        constants.LEAST_STREAMED_RUN, constants.LEAST_STREAMED_LINES = rng.choice(((512, 128), (5, 5), (1 << 20, 1 << 20)))
        constants.LEAST_DEALT_RUN, constants.DEALT_ARRAYS = rng.choice(
            ((112, range(4, 17)), (5, range(1, 100)), (1 << 20, range(0)))
        )
        source = guarded[0].array(source_bytes, at_end=rng.random() < 0.5)
        found = guarded[1].array(destination_bytes, at_end=rng.random() < 0.5)
        source[:] = data.integers(0, 256, source_bytes, np.uint8)
        found[:] = data.integers(0, 256, destination_bytes, np.uint8)
        expected = found.copy()
        for copy in copies:
            spelled_out(copy, source, expected)
        threads = rng.choice((1, 1, 1, 2))
        needed[0] = 0
        constants.LEAST_KEPT_RUN = rng.choice((0, 300, 1 << 20))
        large, again = rng.random() < 0.3, rng.random() < 0.3
        # Prepared calls get their buffers later, when `needed` speaks of another one.
        dispatch.buffer_address = guarded_buffer if threads == 1 and not again else own_buffer
        carried_out(copies, source, found, threads, large=large, again=again)
        if not np.array_equal(found, expected):
            sys.exit(f"wrong, seed {seed}: {copies}, {constants.PAST_CACHES}, {constants.TILE_RUN}")
        right += 1
    sys.stdout.write(" ".join(map(str, (right, *roads.values()))) + "\n")


if __name__ == "__main__":
    main()
