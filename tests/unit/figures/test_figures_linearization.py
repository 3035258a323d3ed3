"""The linearization plot: what it prints is what the layout says, from 4 x 4 to 512 x 512 and beyond."""

from __future__ import annotations

import base64
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from itertools import pairwise

import numpy as np
import pytest
from html_cases import SVG, svg_root

from isoviz.errors import LayoutError, SpaceError
from isoviz.figures.charts.svg import text_width
from isoviz.figures.layouts.numpy_text import numpy_equivalent
from isoviz.figures.layouts.order_cells import FONT, ORDER_LINE
from isoviz.figures.layouts.order_plot import linearization_svg, png_data_url
from isoviz.figures.layouts.order_view import default_axes, example_fields, example_space, order_view
from isoviz.layouts import FieldSpace, IndexSpace, Layout

VALUE = FieldSpace(value="float32")
MIXED = FieldSpace(re="float32", im="float64")
TIP = re.compile(r"(?:(.*), )?(\w+): bytes? (\d+)(?: to (\d+))?")

LAYOUTS = [
    ("<F, x, y>", "x=4,y=4"),
    ("<x, F, y>", "x=5,y=3"),
    ("<y, x, F>", "x=4,y=6"),
    ("<x_in=3, y_in=3, x_out, y_out, F>", "x=6,y=6"),
    ("<x_in=4, F, y, x_out>", "x=10,y=3"),
    ("<x_0=2, y, x_1=2, F, x_2>", "x=9,y=4"),
    ("<F, x>", "x=8"),
    ("<x, F>", "x=8"),
    ("<x_in=4, F, x_out>", "x=11"),
    ("<z, F, x, y>", "x=4,y=4,z=3"),
]


def space_of(text: str) -> IndexSpace:
    return IndexSpace.of({name: int(size) for name, size in (part.split("=") for part in text.split(","))})


def tips(svg: str) -> list[tuple[dict[str, int], str, int, int]]:
    """(index, field, first byte, last byte) of every cell that has a tooltip."""
    found = []
    for node in svg_root(svg).iter(f"{SVG}rect"):
        title = node.find(f"{SVG}title")
        if title is not None and (match := TIP.fullmatch(title.text or "")):
            index = dict(part.split("=") for part in (match[1] or "").split(", ") if part)
            found.append(({k: int(v) for k, v in index.items()}, match[2], int(match[3]), int(match[4] or match[3])))
    return found


def printed(svg: str) -> list[int]:
    """The numbers printed in cells: the only text with a rim of its own colour."""
    return [int(node.text or "") for node in svg_root(svg).iter(f"{SVG}text") if is_number(node)]


def is_number(text: ET.Element) -> bool:
    return text.get("stroke") is not None and text.get("paint-order") == "stroke"


@pytest.mark.parametrize(("layout", "sizes"), LAYOUTS)
@pytest.mark.parametrize("fields", [VALUE, MIXED], ids=["one", "mixed"])
def test_offsets_are_those_of_the_layout(layout: str, sizes: str, fields: FieldSpace) -> None:
    space = space_of(sizes)
    lin = Layout(layout).on(space, fields)
    svg = linearization_svg(layout, space, fields)
    cells = tips(svg)
    for index, field, first, last in cells:
        offset = lin.offset(index, field)
        assert (first, last) == (offset, offset + fields.sizes[fields.index(field)] - 1)
    assert sorted(printed(svg)) == sorted(cell[2] for cell in cells)
    if len(space) <= 2:  # nothing is sliced away: every element is there once
        assert len(cells) == space.volume * len(fields)
    else:
        view = order_view(lin)
        assert len(cells) == view.columns * view.rows * len(fields)
        assert "slice" in svg


@pytest.mark.parametrize("size", [4, 7, 16, 33, 64, 100, 512, 4096, 40960])
@pytest.mark.parametrize("layout", ["<F, x, y>", "<y, x, F>", "<x_in=4, y_in=2, F, x_out, y_out>", "<x_in=4, x_out, F, y>"])
def test_every_size_is_legible_and_small(size: int, layout: str) -> None:
    space = IndexSpace(x=size, y=size)
    for fields in (VALUE, MIXED):
        svg = linearization_svg(layout, space, fields)
        assert len(svg) < 400_000
        root = svg_root(svg)
        sizes = [float(node.get("font-size", "0")) for node in root.iter() if node.get("font-size")]
        assert sizes and min(sizes) >= 10
        width, height = float(root.get("width", "0")), float(root.get("height", "0"))
        assert 0 < width <= 800 and 0 < height <= 900
        assert printed(svg), "some cells must show their numbers"
        if len(printed(svg)) < space.volume:
            words = " ".join(node.text or "" for node in root.iter(f"{SVG}text"))
            assert "framed there" in words and "data:image/png" in svg
        for index, field, first, _ in tips(svg):
            assert first == Layout(layout).on(space, fields).offset(index, field)


@pytest.mark.parametrize(("layout", "sizes"), LAYOUTS)
@pytest.mark.parametrize("fields", [VALUE, MIXED], ids=["one", "mixed"])
def test_no_line_strikes_a_number_through(layout: str, sizes: str, fields: FieldSpace) -> None:
    root = svg_root(linearization_svg(layout, space_of(sizes), fields))
    lines = [node.get("d") or "" for node in root.iter(f"{SVG}path") if node.get("stroke") == ORDER_LINE]
    numbers = [node for node in root.iter(f"{SVG}text") if is_number(node)]
    boxes = np.array(
        [
            (x - wide, y - 0.72 * FONT, x + wide, y)
            for x, y, wide in (
                (float(node.get("x", 0)), float(node.get("y", 0)), text_width(node.text or "", FONT) / 2) for node in numbers
            )
        ]
    )
    struck = []
    for way in "".join(lines).split("M")[1:]:
        points: list[tuple[float, float]] = []
        for step, said in re.findall("([LHV]?)([^LHV]+)", way):
            values = [float(each) for each in said.split()]
            x, y = points[-1] if points else (0.0, 0.0)
            points.append((values[0], y) if step == "H" else (x, values[0]) if step == "V" else (values[0], values[1]))
        for begin, end in pairwise(np.array(points)):
            places = begin + np.linspace(0, 1, 200)[:, None, None] * (end - begin)
            inside = (places > boxes[:, :2]).all(axis=2) & (places < boxes[:, 2:]).all(axis=2)
            struck += [numbers[place].text for place in np.flatnonzero(inside.any(axis=0))]
    assert lines and struck == []


def test_one_dimension_of_any_length() -> None:
    for size in (1, 3, 16, 17, 1000, 10**9):
        for layout in ("<F, x>", "<x, F>"):
            svg = linearization_svg(layout, IndexSpace(x=size), MIXED)
            assert len(svg) < 100_000
            assert {cell[1] for cell in tips(svg)} == {"re", "im"}


def test_padding_is_drawn_as_padding() -> None:
    svg = linearization_svg("<x_in=4, F, x_out>", IndexSpace(x=10), MIXED)
    texts = [node.text for node in svg_root(svg).iter(f"{SVG}text")]
    assert texts.count("pad") == 4
    assert "padding" in svg
    assert "pad" not in [node.text for node in svg_root(linearization_svg("<F, x>", IndexSpace(x=8))).iter(f"{SVG}text")]


def test_many_fields_and_one_chosen() -> None:
    fields = FieldSpace.of({f"f{k}": "int16" for k in range(12)})
    svg = linearization_svg("<F, x, y>", IndexSpace(x=4, y=4), fields)
    assert "of 12 fields" in svg and {cell[1] for cell in tips(svg)} == {"f0"}
    chosen = linearization_svg("<F, x, y>", IndexSpace(x=4, y=4), fields, field="f7")
    assert {cell[1] for cell in tips(chosen)} == {"f7"} and min(printed(chosen)) == 14
    with pytest.raises(SpaceError):
        linearization_svg("<F, x>", IndexSpace(x=4), fields, field="f99")


def test_slices_and_axes() -> None:
    space = IndexSpace(n=2, h=5, w=6, c=3)
    svg = linearization_svg("<F, c, w, h, n>", space, VALUE, axes=("w", "h"), fixed={"n": 1, "c": 2})
    assert "n=1, c=2" in svg
    assert all(cell[0]["n"] == 1 and cell[0]["c"] == 2 for cell in tips(svg)) and len(tips(svg)) == 30
    with pytest.raises(LayoutError, match="slice n=2"):
        linearization_svg("<F, c, w, h, n>", space, VALUE, axes=("w", "h"), fixed={"n": 2})
    for axes in (("q",), ("w", "w"), ("w", "h", "c"), ()):
        with pytest.raises(LayoutError, match="axes"):
            linearization_svg("<F, c, w, h, n>", space, VALUE, axes=axes)


def test_axes_are_where_the_order_is_told() -> None:
    space = IndexSpace(n=8, h=56, w=56, c=64)
    nhwc, nchw = Layout("<F, c, w, h, n>").on(space, VALUE), Layout("<F, w, h, c, n>").on(space, VALUE)
    assert default_axes(nhwc) == ("w", "c")
    assert default_axes(nhwc, nchw) == ("w", "c")
    assert default_axes(nchw) == ("h", "w")
    assert default_axes(Layout("<F, x>").on(IndexSpace(x=3), VALUE)) == ("x",)


@pytest.mark.parametrize("dim", ["x", "a_dimension_of_a_very_long_name_indeed", "größe"])
def test_long_and_foreign_names(dim: str) -> None:
    fields = FieldSpace.of({"<script>alert(1)</script>": "float32", "a field of a very long name, longer than any label": "int8"})
    svg = linearization_svg(Layout.aos(dim), IndexSpace.of({dim: 8}), fields)
    svg_root(svg)
    assert "<script" not in svg
    assert "url(" not in svg and "href" not in svg


def test_a_layout_alone_says_that_the_space_is_an_example() -> None:
    svg = linearization_svg("<x_in=4, F, x_out>")
    assert "example space (x=8)" in svg.replace("\u00a0", " ")
    assert "example" not in linearization_svg("<F, x>", IndexSpace(x=4), VALUE)


@pytest.mark.parametrize("layout", [each for each, _ in LAYOUTS] + ["<F>", "<F, x_in=1000, x_out>"])
def test_example_spaces_fit_their_layout(layout: str) -> None:
    made = Layout(layout)
    assert not made.on(example_space(made), example_fields(made)).is_padded
    svg_root(linearization_svg(made))


@pytest.mark.parametrize(("layout", "sizes"), LAYOUTS)
@pytest.mark.parametrize("fields", [VALUE, MIXED, FieldSpace(a="int16", b="int16", c="int16")], ids=["one", "mixed", "uniform"])
def test_numpy_equivalent_is_the_same_memory(layout: str, sizes: str, fields: FieldSpace) -> None:
    space = space_of(sizes)
    lin = Layout(layout).on(space, fields)
    said = numpy_equivalent(lin)
    a = eval(said.array, {"np": np})
    assert a.nbytes == lin.nbytes and a.flags.c_contiguous
    flat = a.reshape(-1).view(np.uint8)
    flat[:] = 0
    for at in np.ndindex(*space.sizes):
        for number, field in enumerate(fields.names):
            offset = lin.offset(at, field)
            flat[offset : offset + fields.sizes[number]] = 255
            names = {**dict(zip(space.dims, at, strict=True)), "a": a, "f": number if said.counts_fields else field}
            element = eval(said.element, names)
            assert np.asarray(element).tobytes() == b"\xff" * fields.sizes[number]
            flat[:] = 0


def test_png_is_a_png() -> None:
    pixels = (np.arange(12).reshape(3, 4) % 3).astype(np.uint8)
    url = png_data_url(pixels, ["#ff0000", "#00ff00", "#0000ff"])
    data = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, found = 8, {}
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0] == zlib.crc32(kind + body)
        found[kind], place = body, place + 12 + length
    assert struct.unpack(">II", found[b"IHDR"][:8]) == (4, 3)
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(3, 5)
    assert (np.cumsum(lines[:, 1:], axis=0, dtype=np.uint8) == pixels).all()
