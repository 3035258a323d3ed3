"""What hardware sees of a layout, against loops over single bytes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isoviz.backends.cuda.kernels import tile_shape
from isoviz.errors import LayoutError, SpaceError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization, pieces_along, warp_load
from isoviz.layouts.hardware import bank_turns

LAYOUTS = (
    *("<F, x, y>", "<F, y, x>", "<x, y, F>", "<y, F, x>", "<F, x_in=4, y, x_out>", "<x_in=8, F, y, x_out>"),
    *("<F, y_in=2, x_in=2, y_out, x_out>", "<x_in=3, y, F, x_out>", "<x_out, F, x_in=4, y>"),
)


def naive_load(order: Linearization, dim: str, start: dict[str, int], width: int, field: str) -> tuple[int, int, int, int]:
    """Requests, bytes of a lane in each, sectors and turns: tried out byte by byte."""
    size = order.fields.sizes[order.fields.names.index(field)]
    left = order.space[dim] - start[dim]
    each = max(1, width // size)
    lanes = min(32, left // each)
    if not lanes:
        each, lanes = left, 1
    table: list[list[int]] = []  # the addresses of all bytes of each lane
    for lane in range(lanes):
        held: list[int] = []
        for entry in range(each):
            at = order.offset({**start, dim: start[dim] + lane * each + entry}, field)
            held += range(at, at + size)
        table.append(held)
    for step in (16, 8, 4, 2, 1):
        pieces = [[held[k : k + step] for k in range(0, len(held), step)] for held in table]
        whole = all(
            len(piece) == step and piece[0] % step == 0 and piece == list(range(piece[0], piece[0] + step))
            for lane in pieces
            for piece in lane
        )
        if step <= width and whole:
            break
    sectors = turns = 0
    for request in range(len(pieces[0])):
        sectors += len({byte // 32 for lane in pieces for byte in lane[request]})
        together = min(32, 128 // step)
        for first in range(0, lanes, together):
            words = {byte // 4 for lane in pieces[first : first + together] for byte in lane[request]}
            turns += max(sum(word % 32 == bank for word in words) for bank in range(32))
    return len(pieces[0]), step, sectors, turns


FIELDS = [*({"v": name} for name in ("f4", "f8", "f2", "u1", "V12", "c16")), {"u": "u1", "v": "f4"}]


@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("text", LAYOUTS)
def test_the_load_of_a_warp(text: str, fields: dict[str, str]) -> None:
    draw = random.Random(text + str(fields))
    order = Layout(text).on(IndexSpace(x=40, y=36), FieldSpace(**fields))
    for width in (4, 8, 16):
        for dim in "xy":
            start = {"x": draw.choice((0, 0, 1, 8, 39)), "y": draw.choice((0, 3, 32))}
            found = warp_load(order, dim, start, width, "v")
            assert (found.requests, found.width, found.sectors, found.turns) == naive_load(order, dim, start, width, "v")
            assert found.offsets[0] == order.offset(start, "v") and found.conflicts >= 0
            assert found.least_sectors <= found.sectors or found.requests == 1


def test_known_cases() -> None:
    """A row of floats is 4 sectors; a column of a 32 × 32 tile is 32 turns in one bank, of a 33-wide one none is lost."""
    field = FieldSpace(v="f4")
    tile = Layout("<F, x, y>").on(IndexSpace(x=32, y=32), field)
    row, column = warp_load(tile, "x", (0, 0)), warp_load(tile, "y", (0, 0))
    assert (row.requests, row.sectors, row.conflicts) == (1, 4, 0)
    assert (column.requests, column.sectors, column.conflicts) == (1, 32, 31)
    wide = Layout("<F, x, y>").on(IndexSpace(x=33, y=32), field)
    assert warp_load(wide, "y", (0, 0)).conflicts == 0
    vectors = warp_load(Layout("<F, x, y>").on(IndexSpace(x=128, y=2), field), "x", (0, 1), 16)
    assert (vectors.width, vectors.requests, vectors.sectors, vectors.turns, vectors.conflicts) == (16, 1, 16, 4, 0)
    # A lane's four floats lie in four rows: four requests of 4 bytes.
    apart = warp_load(Layout("<F, y, x>").on(IndexSpace(x=128, y=2), field), "x", (0, 0), 16)
    assert (apart.width, apart.requests) == (4, 4)


def test_lines_and_pages() -> None:
    order = Layout("<F, x_in=4, y, x_out>").on(IndexSpace(x=64, y=40), FieldSpace(v="f8"))
    for unit in (64, 4096):
        expected = [order.offset((k, 3), "v") // unit for k in range(5, 64)]
        assert pieces_along(order, "x", (5, 3), unit).tolist() == expected
    assert np.unique(pieces_along(order, "x", (0, 0))).size == 16  # 4 entries of 8 bytes: half a line each, at other places


def test_turns_of_a_request() -> None:
    assert bank_turns(np.arange(32) * 4, 4) == (1,)
    assert bank_turns(np.arange(32) * 8, 4) == (2,)
    assert bank_turns(np.arange(32) * 0, 4) == (1,)  # one word for all
    assert bank_turns(np.arange(32) * 16, 16) == (1, 1, 1, 1)


def test_kernels_count_alike() -> None:
    """The turns by which kernels choose their tiles are those of the load of a warp from the tile in shared memory."""
    seen = set()
    for row in (32, 33, 34, 36, 40, 48, 64):  # the rows of a tile, with what pads them
        for size, width in ((4, 4), (8, 8), (16, 16)):
            tile = Layout("<F, x, y>").on(IndexSpace(x=row, y=32), FieldSpace(v=f"V{size}"))
            for dim in "xy":
                load = warp_load(tile, dim, (0, 0), width)
                assert (load.requests, load.width) == (1, width)
                turns = tile_shape._turns_of(np.array(load.offsets), width)
                assert turns == load.turns / load.least_turns
                seen.add(turns)
    assert {1.0, 2.0, 32.0} <= seen


def test_bad_input() -> None:
    order = Layout("<F, x, y>").on(IndexSpace(x=8, y=8), FieldSpace(v="f4"))
    with pytest.raises(LayoutError, match="expected one of 4, 8, 16"):
        warp_load(order, "x", (0, 0), 12)
    with pytest.raises(LayoutError):
        warp_load(order, "x", (0, 8))
    with pytest.raises(SpaceError, match="'z'"):
        warp_load(order, "z", (0, 0))
    with pytest.raises(SpaceError, match="'w'"):
        pieces_along(order, "x", (0, 0), field="w")
