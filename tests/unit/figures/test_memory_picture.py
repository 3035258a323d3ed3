"""Pictures of memory in static pictures: what a picture says of a layout, and that a path shows where the order turns."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from isoviz.figures.layouts.memory_map import block_map, whole_map
from isoviz.figures.layouts.memory_picture import landscape, memory_pixels, png
from isoviz.figures.machines.path_picture import path_svg
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
from isoviz.machines import preset
from isoviz.planner import Plan, Transfer, plan

MACHINE = preset("two-node")
ONE = FieldSpace(value="complex128")


def turned_on_the_way() -> Plan:
    """Isometry, section 4.3."""
    space = IndexSpace(x=8192, y=8192)
    return plan(Transfer.whole(space, ONE, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"), MACHINE, "full")


def on(layout: str, fields: FieldSpace = ONE, **sizes: int) -> Linearization:
    return Layout(layout).on(IndexSpace.of(sizes), fields)


def pixels(file: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG file of rows that are not filtered."""
    width, height = struct.unpack(">II", file[16:24])
    at, body = 8, b""
    while at < len(file):
        (length,) = struct.unpack(">I", file[at : at + 4])
        body += file[at + 8 : at + 8 + length] if file[at + 4 : at + 8] == b"IDAT" else b""
        at += length + 12
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + 4 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 4)


def test_c_and_fortran_order_of_one_array_have_two_pictures() -> None:
    c, fortran = (memory_pixels(whole_map(on(text, x=8, y=6)), None, 48, 48) for text in ("<F, x, y>", "<F, y, x>"))
    assert (c != fortran).any()
    assert (c == fortran.transpose(1, 0, 2)).mean() > 0.5, "the one lies on the side of the other"


def test_the_picture_of_an_array_in_c_order_stands() -> None:
    seen = memory_pixels(whole_map(on("<F, x, y>", x=64, y=64)), None, 64, 64)
    assert (seen[..., :3] == landscape(64, 64)).all()


def test_one_block_of_a_path_changes_at_the_hop_that_converts() -> None:
    path = turned_on_the_way().only
    assert path.block == {"x": 16, "y": 2048}
    ends = path.orders[0], path.orders[-1]
    seen = [memory_pixels(block_map(order, path.block, path.orders, 1024), ends, 96, 96) for order in path.orders]
    assert [bool((a != b).any()) for a, b in pairwise(seen)] == [change == "converts" for change in path.order_changes]


def test_the_picture_of_a_path_has_the_memory_at_both_ends_of_each_hop() -> None:
    found = turned_on_the_way()
    svg = path_svg(MACHINE, found, theme="light")
    once = dict(re.findall(r'<g id="([^"]+)"><image [^>]*href="data:image/png;base64,([^"]+)"', svg))
    shown = re.findall(r'<(?:g id="|use href="#)([^"]+-memory-[^"]+)"', svg)
    assert len(shown) == 2 * len(found.hops) and len(once) == len(set(once.values())) < len(shown)
    seen = [pixels(base64.b64decode(once[name])) for name in shown]
    # Stops between two hops are drawn at both of them.
    assert all((seen[2 * hop + 1] == seen[2 * hop + 2]).all() for hop in range(len(found.hops) - 1))
    changed = [bool((seen[2 * hop] != seen[2 * hop + 1]).any()) for hop in range(len(found.hops))]
    assert changed == [change != "keeps" for change in found.only.order_changes]
    assert len(svg) < 200_000


def test_fields_lie_in_a_cell_or_in_planes() -> None:
    fields = FieldSpace(re="float32", im="float32")
    structs, arrays = (whole_map(on(text, fields, x=8, y=8)) for text in ("<F, x, y>", "<x, y, F>"))
    assert [each.field for each in structs.elements()][:4] == [0, 1, 0, 1]
    assert [each.field for each in arrays.elements()][:4] == [0, 0, 0, 0]
    assert (structs.strips, arrays.strips) == (2, 1)
    plane = memory_pixels(arrays, None, 80, 40)
    assert not plane[:, 39:41, 3].all(), "a gap between both planes"
    assert (plane[:, :30, 0] > plane[:, :30, 1]).all() and (plane[:, 50:, 1] > plane[:, 50:, 0]).all(), "each in its colour"


def test_padding_is_told_from_entries() -> None:
    padded = whole_map(on("<F, x_in=4, y, x_out>", x=6, y=2))
    assert list(padded.elements())[-1].point == (5, 1)
    assert sum(padded.element_at(place) is None for place in range(padded.count)) == 4
    seen = memory_pixels(padded, None, 64, 64)
    assert (seen[..., :3] == (226, 231, 236)).all(axis=-1).any()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5)])
def test_a_png_file_holds_the_pixels(shape: tuple[int, int]) -> None:
    given = np.arange(4 * shape[0] * shape[1], dtype=np.uint8).reshape(*shape, 4)
    assert (pixels(png(given)) == given).all()
