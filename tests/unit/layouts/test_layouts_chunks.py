"""Chunks, those of blocks that hold one field among them, on cases that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from isoviz.errors import LayoutError
from isoviz.layouts import FIELDS, Box, ChunkSequence, FieldSpace, IndexSpace, Layout, View, apply, strided_copies
from isoviz.planner import Hop, PathPlan, Plan, Transfer

MIXED = FieldSpace(a="f4", b="f8", c="u1")


def chunks(layout: str, outer: int, per_chunk: int, fields: FieldSpace = MIXED, **sizes: int) -> ChunkSequence:
    return ChunkSequence(Layout(layout).on(IndexSpace(**sizes), fields), outer, per_chunk)


def box(lo: int, hi: int) -> Box:
    return Box((lo,), (hi,))


def test_runs_of_one_field() -> None:
    """<x, F>, six entries to a block: chunks of two blocks, the third goes from one field to the next."""
    found = chunks("<x_in=6, x_out, F>", 2, 2, x=16)
    assert found.digits[1] == FIELDS
    assert (found.blocks, len(found), found.block_bytes, found.chunk_bytes) == (9, 5, 48, 96)
    assert [(chunk.first_byte, chunk.nbytes, chunk.payload_bytes) for chunk in found] == [
        (0, 48, 48),
        (48, 24 + 48, 4 * 4 + 6 * 8),
        (120, 96, 6 * 8 + 4 * 8),
        (216, 12, 12),
        (228, 6, 4),
    ]
    assert [chunk.parts for chunk in found] == [
        ((box(0, 12), ("a",)),),
        ((box(12, 16), ("a",)), (box(0, 6), ("b",))),
        ((box(6, 16), ("b",)),),
        ((box(0, 12), ("c",)),),
        ((box(12, 16), ("c",)),),
    ]


def test_fields_of_one_box_come_together() -> None:
    found = chunks("<x_in=4, F, x_out>", 2, 3, x=16)
    assert [chunk.parts for chunk in found] == [((box(i, i + 4), ("a", "b", "c")),) for i in (0, 4, 8, 12)]
    assert {chunk.nbytes for chunk in found} == {found.chunk_bytes} == {4 * 13}
    assert [chunk.parts for chunk in chunks("<x_in=4, F, x_out>", 2, 5, x=8)] == [
        ((box(0, 4), ("a", "b", "c")), (box(4, 8), ("a", "b"))),
        ((box(4, 8), ("c",)),),
    ]
    assert chunks("<x, F>", 1, 2, x=5)[0].parts == ((box(0, 5), ("a", "b")),)


def test_a_block_may_be_one_element() -> None:
    found = chunks("<x, F>", 2, 1, x=3)
    assert (found.block_bytes, found.chunk_bytes) == (8, 8)
    assert [(chunk.parts[0], chunk.nbytes) for chunk in found] == [
        ((box(i, i + 1), (name,)), size) for name, size in (("a", 4), ("b", 8), ("c", 1)) for i in range(3)
    ]


def test_a_slot_is_never_larger_than_everything() -> None:
    assert chunks("<x, F>", 2, 1000, x=3).chunk_bytes == 3 * 13
    assert chunks("<x, F>", 1, 2, x=3).chunk_bytes == 3 * 13
    assert chunks("<x_in=2, F, x_out>", 2, 4, x=8).chunk_bytes == 2 * 13 + 2 * 8


def test_numbers_that_make_no_chunks() -> None:
    with pytest.raises(LayoutError, match="outer components: expected a whole number from 0 to 2, got 3"):
        chunks("<x, F>", 3, 1, x=4)
    with pytest.raises(LayoutError, match=r"blocks in a chunk: expected a whole number from 1 .*, got 0"):
        chunks("<x, F>", 1, 0, x=4)


@pytest.mark.timeout(20)
def test_chunks_of_huge_instances_are_worked_out_at_once() -> None:
    many = FieldSpace.of({f"f{i}": "f4" if i % 3 else "f8" for i in range(100)})
    for layout, outer in (("<x, F>", 2), ("<x_in=1024, x_out, F>", 2), ("<x_in=1024, F, x_out>", 2), ("<F, x>", 1)):
        found = chunks(layout, outer, 10**6 + 1, many, x=2**50)
        for at in (0, len(found) // 2, len(found) - 1):
            chunk = found[at]
            assert len(chunk.parts) <= 3
            assert chunk.payload_bytes == chunk.nbytes <= found.chunk_bytes
        assert chunk.first_byte + chunk.nbytes == found.linearization.nbytes


def test_slots_whose_blocks_are_padded_differently() -> None:
    """Entries 0, 4, 8 are a block of three in one buffer, of four in the other: a chunk begins elsewhere in each."""
    space = IndexSpace(x=10)
    order, held = Layout("<x_out, F, x_in=4>"), Layout("<x_2, x_1=2, F, x_0=4>")
    transfer = Transfer.whole(space, MIXED, "a", "<F, x>", "d", "<x, F>")
    through = (transfer.source.layout, order, held, transfer.destination.layout)
    hops = tuple(
        Hop(i, "", "memcpy", "abcd"[i], "abcd"[i + 1], str(through[i]), str(through[i + 1]), 1.0, 1.0, True) for i in range(3)
    )
    path = PathPlan(transfer, hops, order, outer=2, per_chunk=1, slots=1, overlap=False, objective=1, throughput=1)
    made = Plan(transfer, "", "", "simple", (path,))
    assert [buffer.nbytes for buffer in made.buffers] == [3 * 8, 4 * 8]
    assert made.views(1, 4)[0].base == -(3 * 13 + 3 * 4)
    assert made.views(1, 4)[1].base == -(4 * 13 + 4 * 4)
    given = np.random.default_rng(0).integers(0, 255, 130, dtype=np.uint8)
    places = [given, np.zeros(3 * 8, np.uint8), np.zeros(4 * 8, np.uint8), np.zeros(130, np.uint8)]
    for chunk in made.chunks:
        for hop in range(3):
            for part, names in chunk.parts:
                apply(strided_copies(*made.views(hop, chunk.index), part, names), places[hop], places[hop + 1])
    expected = np.zeros(130, np.uint8)
    apply(strided_copies(View(through[0].on(space, MIXED)), View(through[3].on(space, MIXED)), Box.whole(space)), given, expected)
    assert (places[3] == expected).all()
