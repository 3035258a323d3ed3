"""Recurring copies are the copies that are worked out anew; parts of copies are all of their bytes, each of them once."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, StridedCopy, View, strided_copies
from isoviz.layouts.chunks import ChunkSequence
from isoviz.layouts.recurring import RecurringChunks, RecurringCopies, split, split_together

UNIT = 4096


def random_layout(rng: random.Random, space: IndexSpace) -> Layout:
    """A layout whose dimensions have up to three digits, the last blocks ragged or padded at times."""
    parts = ["F"]
    for dim, size in space.as_dict().items():
        if size > 2 and rng.random() < 0.6:
            extents = [rng.randint(2, size)]
            if extents[0] * 2 <= size and rng.random() < 0.5:
                extents.append(rng.randint(2, size // extents[0]))
            parts += [f"{dim}_{i}={extent}" for i, extent in enumerate(extents)]
            parts.append(f"{dim}_{len(extents)}")
        else:
            parts.append(dim)
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def turned(space: IndexSpace, rng: random.Random) -> IndexSpace:
    """The same dimensions in another order, as large or larger."""
    dims = list(space.as_dict().items())
    rng.shuffle(dims)
    return IndexSpace.of({dim: size + rng.choice((0, 0, 3)) for dim, size in dims})


def random_box(rng: random.Random, sizes: tuple[int, ...], shape: tuple[int, ...] | None = None) -> Box:
    """Somewhere in the space, of a shape or of any."""
    lo, hi = [], []
    for axis, size in enumerate(sizes):
        extent = rng.randint(1, size) if shape is None else shape[axis]
        lo.append(rng.randint(0, size - extent))
        hi.append(lo[-1] + extent)
    return Box(tuple(lo), tuple(hi))


def remembered(recurring: RecurringCopies) -> int:
    """How many shapes, of the class of fields that has most."""
    return max(len(each._known) for each in recurring.classes)


def pairs(copies: list[StridedCopy]) -> list[tuple[int, int]]:
    """(destination, source) of every byte that is moved, in order."""
    found = []
    for copy in copies:
        here, there = np.array([copy.source_offset]), np.array([copy.destination_offset])
        for extent, from_here, to_there in (*copy.loops, (copy.run, 1, 1)):
            turns = np.arange(extent)
            here, there = (here[:, None] + turns * from_here).reshape(-1), (there[:, None] + turns * to_there).reshape(-1)
        found.append(np.stack([there, here], axis=1))
    every = np.concatenate(found) if found else np.zeros((0, 2), np.int64)
    return every[np.lexsort((every[:, 1], every[:, 0]))].tolist()


@pytest.mark.parametrize("kinds", [("f4",), ("u1", "f4", "f8"), ("V12", "u1")])
def test_equal_to_those_worked_out_anew(kinds: tuple[str, ...], full: bool) -> None:
    """Any layouts, boxes of a few shapes all over the space, sub-boxes of larger instances, slots at any base, some fields."""
    rng = random.Random(5)
    again = 0
    for _ in range(2000 if full else 60):
        space = IndexSpace.of({dim: rng.randint(1, 14) for dim in "xyz"[: rng.randint(1, 3)]})
        fields = FieldSpace.of({f"f{i}": rng.choice(kinds) for i in range(rng.randint(1, 4))})
        other = turned(space, rng)
        a, b = random_layout(rng, space).on(space, fields), random_layout(rng, other).on(other, fields)
        room = {dim: rng.randint(0, size - 1) for dim, size in space.as_dict().items()}
        here = tuple(rng.randint(0, room[dim]) for dim in space.dims)
        there = tuple(rng.randint(0, room[dim]) for dim in other.dims)
        sizes = tuple(size - room[dim] for dim, size in space.as_dict().items())
        first = View(a, here, 0), View(b, there, 0)
        recurring = RecurringCopies(*first)
        shapes = [random_box(rng, sizes) for _ in range(2)]
        for _ in range(12):
            like = rng.choice(shapes)
            shape = tuple(hi - lo for lo, hi in zip(like.lo, like.hi, strict=True))
            box = random_box(rng, sizes, shape)
            names = tuple(rng.sample(fields.names, rng.randint(1, len(fields.names))))
            source, destination = View(a, here, rng.choice((0, 5, -3))), View(b, there, rng.choice((0, 64, -7)))
            known = remembered(recurring)
            assert pairs(recurring.of(source, destination, box, names)) == pairs(strided_copies(source, destination, box, names))
            again += remembered(recurring) == known
    assert again > 100


def test_chunks_of_one_shape_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    space, fields = IndexSpace(x=64, y=64), FieldSpace(a="f4", b="f4")
    source, destination = (View(Layout(layout).on(space, fields)) for layout in ("<F, x, y>", "<y_in=4, x, y_out, F>"))
    recurring = RecurringCopies(source, destination)
    for y in range(0, 64, 8):
        recurring.of(source, destination, Box((0, y), (64, y + 8)), ("a", "b"))
    assert remembered(recurring) == 1
    monkeypatch.setattr("isoviz.layouts.recurring.MOST", 1)
    for y in range(0, 60, 4):
        box = Box((0, y), (64, y + 4))
        assert recurring.of(source, destination, box, ("a",)) == strided_copies(source, destination, box, ("a",))
    assert remembered(recurring) == 1, "no more than it may remember"


def test_chunks_are_looked_up_by_their_numbers(full: bool) -> None:
    """Whatever numbers the blocks and however the ends lie: the copies of a chunk are those of what is in it."""
    rng = random.Random(11)
    again = 0
    cases = 1000 if full else 60
    for _ in range(cases):
        space = IndexSpace.of({dim: rng.randint(1, 24) for dim in "xyz"[: rng.randint(1, 3)]})
        mixed = rng.random() < 0.5
        fields = FieldSpace.of({f"f{i}": rng.choice((("f4",), ("f4", "u1"))[mixed]) for i in range(rng.randint(1, 3))})
        order = random_layout(rng, space).on(space, fields)
        chunks = ChunkSequence(order, rng.randint(0, len(order.parts)), rng.randint(1, 5))
        end = rng.choice((order, random_layout(rng, space).on(space, fields)))
        slot = rng.random() < 0.5

        def views(number: int, order=order, end=end, slot=slot, chunks=chunks) -> tuple[View, View]:
            return View(order, base=-chunks.first_byte(number) if slot else 0), View(end)

        asked: list[int] = []

        def chunk(number: int, chunks=chunks, asked=asked) -> object:
            asked.append(number)
            return chunks[number]

        recurring = RecurringChunks(chunks, views, chunk)
        numbers = rng.choices(range(len(chunks)), k=min(2 * len(chunks), 40))
        for number in numbers:
            there = chunks[number]
            anew = [copy for box, names in there.parts for copy in strided_copies(*views(number), box, names)]
            copies, payload = recurring.of(number)
            assert (pairs(copies), payload) == (pairs(anew), there.payload_bytes), (order, chunks.outer, chunks.per_chunk, end)
        again += len(numbers) - len(asked)
    assert again > 1.2 * cases


def test_chunks_with_padding_behind_them_are_looked_up_too(full: bool) -> None:
    """Both ends of the hop pad, the order in which chunks are counted does or does not: in any order of asking."""
    rng = random.Random(12)
    again = 0
    cases = 1000 if full else 90
    for _ in range(cases):
        space = IndexSpace.of({dim: rng.randint(1, 20) for dim in "xy"[: rng.randint(1, 2)]})
        fields = FieldSpace.of({f"f{i}": rng.choice(("f4", "u1")) for i in range(rng.randint(1, 3))})
        order, end = (random_layout(rng, space).on(space, fields) for _ in range(2))
        chunks = ChunkSequence(order, rng.randint(0, len(order.parts)), rng.randint(1, 5))
        padding = tuple(end.padding[dim] for dim in space)
        recurring = RecurringChunks(chunks, lambda _, end=end: (View(end), View(end)), padding=padding)
        for number in rng.choices(range(len(chunks)), k=min(2 * len(chunks), 30)):
            parts = chunks.padded_parts(number, padding)
            anew = [copy for box, names in parts for copy in strided_copies(View(end), View(end), box, names, padding=True)]
            assert pairs(recurring.of(number)[0]) == pairs(anew), (order, chunks.outer, chunks.per_chunk, end, number)
        again += any(padding)
    assert again > cases // 6


def test_a_chunk_of_several_boxes_is_one_run() -> None:
    """What a chunk has of rows that it does not hold whole continues the others: chunks of an array as it lies are contiguous."""
    order = Layout("<F, x, y, z>").on(IndexSpace(x=7, y=5, z=9), FieldSpace(a="f8", b="u2"))
    chunks = ChunkSequence(order, 3, 11)
    recurring = RecurringChunks(chunks, lambda number: (View(order), View(order, base=-chunks.first_byte(number))))
    assert len(chunks[0].parts) > 1
    for number in range(len(chunks)):
        nbytes = min(110, 3150 - 110 * number)
        assert recurring.of(number) == ([StridedCopy(110 * number, 0, nbytes)], nbytes)


def test_nothing_in_parts() -> None:
    assert split_together([], 3) == split([], 3) == [[], [], []]


def test_only_so_many_chunks_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.layouts.recurring.MOST", 2)
    order = Layout("<F, x, y>").on(IndexSpace(x=4, y=8), FieldSpace(a="f4"))
    chunks = ChunkSequence(order, 2)
    recurring = RecurringChunks(chunks, lambda _: (View(order), View(order)))
    for number in range(len(chunks)):
        assert recurring.of(number) == ([StridedCopy(4 * number, 4 * number, 4)], 4)
    assert len(recurring._known) == 2


def moved(copies: list[StridedCopy]) -> Counter[tuple[int, int]]:
    """How often each pair of a source and a destination byte is moved."""
    found: Counter[tuple[int, int]] = Counter()
    for copy in copies:
        for counters in itertools.product(*(range(extent) for extent, _, _ in copy.loops)):
            at = copy.source_offset + sum(k * loop[1] for k, loop in zip(counters, copy.loops, strict=True))
            to = copy.destination_offset + sum(k * loop[2] for k, loop in zip(counters, copy.loops, strict=True))
            found.update((at + byte, to + byte) for byte in range(copy.run))
    return found


def random_copy(rng: random.Random, at: int) -> StridedCopy:
    run = rng.choice((1, 4, 12, 100, 1000))
    loops, here, there = [], run + rng.choice((0, 1, 8)), run + rng.choice((0, 3))
    for _ in range(rng.randint(0, 2) if run < 1000 else 0):
        extent = rng.randint(2, 7)
        loops.insert(0, (extent, here, there))
        here, there = here * extent + rng.choice((0, 5)), there * extent + 1
    return StridedCopy(at, at + 7, run, tuple(loops))


def test_parts_are_all_bytes_once(full: bool) -> None:
    rng = random.Random(6)
    for _ in range(3000 if full else 60):
        copies = [random_copy(rng, 100_000 * i) for i in range(rng.choice((0, 1, 2, 3, 20)))]
        parts, unit = rng.choice((1, 2, 3, 5, 8, 64)), rng.choice((1, 16, UNIT))
        for found in (split(copies, parts, unit), split_together(copies, parts, unit)):
            assert len(found) == parts
            assert moved([copy for part in found for copy in part]) == moved(copies)
            assert all(extent > 1 for part in found for copy in part for extent, _, _ in copy.loops)


@pytest.mark.parametrize("parts", [2, 3, 7, 16, 100])
@pytest.mark.parametrize(("base", "by", "phase"), [(0, "destination", 3), (100, "source", 111), (UNIT - 11, "source", 0)])
def test_parts_of_a_run_begin_at_whole_units(base: int, by: str, phase: int, parts: int) -> None:
    """Of the file, whose byte `base` is the first of the store, not of the run: a disk writes whole pages."""
    for nbytes in (1, UNIT - 1, UNIT, UNIT + 1, 3 * UNIT, (1 << 20) + 5, 10_000_019):
        found = split([StridedCopy(11, 3, nbytes)], parts, UNIT, base, by)
        assert len(found) == parts
        at = 0
        for copy in itertools.chain.from_iterable(found):
            assert (copy.source_offset, copy.destination_offset, copy.loops) == (11 + at, 3 + at, ())
            assert at == 0 or (phase + at) % UNIT == 0
            at += copy.run
        assert at == nbytes
        sizes = [sum(copy.nbytes for copy in part) for part in found]
        assert max(sizes) <= nbytes / parts + UNIT, "about equal"


@pytest.mark.parametrize("parts", [2, 4, 5, 9])
def test_parts_of_loops_are_about_equal(parts: int) -> None:
    copies = [StridedCopy(i << 20, i << 20, 16, ((90, 4096, 1600), (100, 32, 16))) for i in range(3)]
    sizes = [sum(copy.nbytes for copy in part) for part in split(copies, parts)]
    assert sum(sizes) == 3 * 90 * 1600
    assert max(sizes) - min(sizes) <= 3 * 1600 + parts


def test_structs_go_together_and_few_bytes_whole() -> None:
    """Rows of structs of three fields, two hundred of them short: no part has a share of every row."""
    rows = [(row, 40) for row in range(200)] + [(200, 30_000)]
    copies = [
        StridedCopy(1_000_000 * field + 500 * row, 11 * 500 * row + offset, size, ((turns, size, 11),))
        for row, turns in rows
        for field, (offset, size) in enumerate([(0, 2), (2, 8), (10, 1)])
    ]
    parts = split_together(copies, 4)
    assert sum(copy.nbytes for part in parts for copy in part) == sum(copy.nbytes for copy in copies)
    assert [sum(copy.loops[0][0] < 100 for copy in part) for part in parts] == [150] * 4
    for part in parts:
        assert sum(copy.loops[0][0] > 100 for copy in part) == 3
        taken = {copy.destination_offset // 5500 for copy in part if copy.loops[0][0] < 100}
        assert len(taken) == 50, "structs have all their fields in one part"


@pytest.mark.parametrize("turned", [False, True])
def test_parts_have_long_runs_at_both_ends(turned: bool) -> None:
    """The longest loop is fast at both ends: cut along it, every part would have a bit of every row."""
    here, there = (92_160, 96), (32_000, 16)
    if turned:
        here, there = there, here
    whole = StridedCopy(0, 0, 16, ((62, here[0], there[0]), (160, here[1], there[1])))
    for part in split_together([whole], 8):
        assert [copy.loops[1] for copy in part] == [whole.loops[1]]
    transposed = StridedCopy(0, 0, 4, ((500, 4, 12_000), (3000, 2000, 4)))  # shorter rows at one end than columns at the other
    for part in split_together([transposed], 8):
        assert [copy.loops[0] for copy in part] == [transposed.loops[0]]


@pytest.mark.parametrize(("turns", "parts"), [(9, 8), (190, 2), (575, 8), (130, 2), (640, 8), (2000, 7)])
def test_parts_are_about_equal_wherever_lines_begin(turns: int, parts: int) -> None:
    whole = StridedCopy(0, 0, 4, ((turns, 80_000, 90_000), (5000, 4, 8)))
    sizes = [sum(copy.nbytes for copy in part) for part in split_together([whole], parts)]
    assert sum(sizes) == whole.nbytes
    assert max(sizes) <= 1.26 * whole.nbytes / parts


@pytest.mark.parametrize("rows_at", [0, 1])
def test_very_many_copies_are_not_made_more(rows_at: int) -> None:
    """Blocks that do not nest: every part has some of them, whole, and of those side by side all."""
    copies = []
    for row in range(700):
        for field in range(3):
            places = (1_000_000 * field + 100 * row, 500 * row + 8 * field)
            loops = ((2, 40, 250), (3 + row % 4, 8, 24))
            copies.append(StridedCopy(*(places if rows_at else places[::-1]), 8, loops))
    found = split_together(copies, 31)
    assert sum(map(len, found)) == len(copies)
    assert Counter(copy for part in found for copy in part) == Counter(copies)
    sizes = [sum(copy.nbytes for copy in part) for part in found]
    assert max(sizes) < 1.1 * min(sizes)
    rows = [{copy[rows_at] // 500 for copy in part} for part in found]
    assert sum(map(len, rows)) <= 700 + 2 * 31, "a row is in one part, but for those at the ends"


def test_many_runs_beside_a_loop_in_parts() -> None:
    """Rows of ragged blocks: more single runs than may go together wherever they are."""
    copies = [StridedCopy(100 * k, 64 * k, 50) for k in range(40)] + [StridedCopy(10_000, 10_000, 4, ((90, 8, 4),))]
    for parts in (2, 3, 8):
        found = split_together(copies, parts)
        assert len(found) == parts
        assert moved([copy for part in found for copy in part]) == moved(copies)


def test_a_part_for_every_byte_and_more() -> None:
    """Requests of one byte, and more parts than there are bytes."""
    found = split([StridedCopy(0, 0, 5), StridedCopy(9, 9, 1, ((3, 2, 2),))], 8)
    assert [sum(copy.nbytes for copy in part) for part in found] == [1] * 8
    found = split([StridedCopy(0, 0, 3)], 10)
    assert sum(copy.nbytes for part in found for copy in part) == 3 and len(found) == 10
    assert split([], 3) == [[], [], []]


@pytest.mark.parametrize("layout", ["<x_in=2, F, x_out, y>", "<x, F, y>", "<F, x, y>", "<x_in=5, F, x_out, y>"])
def test_one_layout_at_both_ends_is_one_run(layout: str) -> None:
    """Fields of different sizes side by side at both ends: nothing has to be moved field by field."""
    space, fields = IndexSpace(x=10, y=6), FieldSpace(a="u2", b="c16", c="f4", d="V32")
    here = View(Layout(layout).on(space, fields))
    (copy,) = strided_copies(here, here, Box.whole(space))
    assert (copy.run, copy.loops) == (here.linearization.nbytes, ())
    (copy,) = strided_copies(here, here, Box((0, 2), (10, 5)))
    assert copy.run == here.linearization.nbytes // 2


def test_a_part_of_a_run_is_one_piece() -> None:
    """What rounding to whole pages leaves of a part is not a piece of its own: on a disk it would be a request for one page."""
    for base, nbytes, parts in itertools.product((0, 128, 4000), (6_422_528, 4_980_736, 999_999), (2, 5, 7, 13)):
        found = split([StridedCopy(512, 0, nbytes)], parts, 4096, base)
        assert [len(part) for part in found] == [1] * parts
        assert sum(part[0].nbytes for part in found) == nbytes
        assert all((base + part[0].destination_offset) % 4096 == 0 for part in found[1:])
        assert max(part[0].nbytes for part in found) - min(part[0].nbytes for part in found) <= 2 * 4096
    rows = split([StridedCopy(0, 0, 100, ((1000, 300, 100),))], 7)
    assert [len(part) for part in rows] == [1] * 7
