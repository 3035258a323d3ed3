"""Photos and arrays of every kind in the explorer: what is shown, their values for pictures, and what cannot be planned."""

from __future__ import annotations

import base64
import io
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from html_cases import check_saved_page
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from PIL import Image

import isoviz
from isoviz.errors import ArrayError, FileError, MissingPartError
from isoviz.layouts import Box, View, strided_copies
from isoviz.widgets import Session
from isoviz.widgets.chosen.photo import COLOURS, photo
from isoviz.widgets.chosen.session_file import load_settings
from isoviz.widgets.chosen.shown_array import MOST_LEVELS, NO_LEVEL, ShownArray, shown_array
from isoviz.widgets.pages.plan_page import state_page

BASE = np.arange(1, 141, dtype="<f8").reshape(4, 5, 7)
STRUCTS = np.zeros((6, 5), [("re", "f4"), ("im", "f8"), ("n", "i2")])
STRUCTS["im"] = np.arange(1, 31).reshape(6, 5)


def levels_of(shown: ShownArray, field: str = "value") -> np.ndarray:
    """The levels of a field in the shape of its samples; a gap is `NO_LEVEL`."""
    assert shown.values is not None
    levels = shown.values["levels"]
    text = levels["columns"][shown.values["fields"].index(field)]
    assert text is not None
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(levels["sizes"])


def in_memory(shown: ShownArray, field: str = "value") -> list[int]:
    """The levels of a field in the order of memory."""
    linear = shown.linear
    levels = levels_of(shown, field)
    dims = shown.values["dims"] if shown.values is not None else []
    assert list(levels.shape) == [linear.space[dim] for dim in dims], "every entry has a level of its own"
    found = {linear.offset(dict(zip(dims, at, strict=True)), field): int(levels[at]) for at in np.ndindex(*levels.shape)}
    return [found[offset] for offset in sorted(found)]


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


DENSE = {
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "permuted": BASE.transpose(1, 0, 2),
    "one axis": np.arange(1.0, 9),
    "no axis": np.array(3.0),
    "five axes": np.arange(1.0, 121).reshape(2, 3, 4, 5, 1),
    "one element": BASE[:1, :1, :1],
}
SLICES = {
    "columns": BASE[0][:, 1:4],
    "rows": BASE[0][::2],
    "every second column": BASE[..., :6].copy()[:, :, ::2],
    "planes": BASE[::2],
    "box": BASE[1:3, 1:4, 2:5],
    "Fortran box": np.asfortranarray(BASE)[1:3, 1:4, 2:5],
    "five axes": np.zeros((2, 3, 4, 5, 6))[:, 1:, :, 1:3, :],
    "a field": STRUCTS["im"],
    "rows of structs": STRUCTS[::2],
}
UNPLANNED = {
    "reversed": (BASE[0][::-1], "counts backwards"),
    "all reversed": (BASE[::-1, ::-1, ::-1], "counts backwards"),
    "reversed slice": (BASE[0][::-1, 1:4], "counts backwards"),
    "broadcast rows": (np.broadcast_to(BASE[0][0], (5, 7)), "repeats"),
    "broadcast columns": (np.broadcast_to(BASE[0][:, :1], (5, 7)), "repeats"),
    "one number": (np.broadcast_to(2.5, (5, 7)), "repeats"),
    "odd steps": (BASE[0][:, ::2], "2 places apart"),
    "odd steps of odd steps": (BASE[:, ::2, ::3], "places apart"),
    "windows": (sliding_window_view(BASE[0][0], 3), "share bytes"),
    "overlapping elements": (as_strided(BASE, (4, 4), (4, 8)), "share bytes"),
}


@pytest.mark.parametrize("name", DENSE)
def test_a_dense_array_is_planned_and_has_its_values_where_they_lie(name: str) -> None:
    array = DENSE[name]
    shown = shown_array(array)
    assert shown.unplanned == "" and shown.part == {}
    lying = np.frombuffer(array.tobytes("A"), "f8") if array.flags.forc else np.sort(array.reshape(-1))
    spread = lying.max() - lying.min()
    expected = np.rint((lying - lying.min()) / spread * 254) if spread else np.full(lying.shape, 127)
    assert in_memory(shown) == expected.tolist()


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_with_gaps_is_shown_with_them_and_its_part_is_planned(name: str) -> None:
    array = SLICES[name]
    shown = shown_array(array)
    dims, field = shown.values["dims"] if shown.values is not None else [], "im" if array.dtype.names else "value"
    assert shown.unplanned == ""
    part = [shown.part.get(dim, (0, shown.linear.space[dim])) for dim in dims]
    assert [extent for _, extent in part] == list(array.shape)
    levels = levels_of(shown, field)
    for at in np.ndindex(*levels.shape):
        inside = all(place < extent for place, (_, extent) in zip(at, part, strict=True))
        assert (levels[at] == NO_LEVEL) is not inside
        if inside:  # it lies as many bytes behind the first as the offset says
            offset = shown.linear.offset(dict(zip(dims, at, strict=True)), field)
            start = shown.linear.offset(dict.fromkeys(dims, 0), field)
            assert address(array[tuple(slice(k, k + 1) for k in at)]) - address(array) == offset - start
    made = isoviz.explore(array, restore=False)
    plan = made.session.wait().derived.plan
    made.close()
    assert plan is not None
    assert dict(zip(plan.transfer.space, plan.transfer.shape, strict=True)) == dict(zip(dims, array.shape, strict=True))
    moved = strided_copies(
        View(shown.linear),
        View(shown.linear),
        Box((0,) * len(dims), tuple(plan.transfer.shape)),
        list(shown.linear.fields.real_names),
    )
    assert sum(copy.nbytes for copy in moved) == array.nbytes - array.size * (array.itemsize - shown_bytes(shown))


def shown_bytes(shown: ShownArray) -> int:
    return sum(size for name, size in zip(shown.linear.fields.names, shown.linear.fields.sizes, strict=True) if "gap" not in name)


@pytest.mark.parametrize("name", UNPLANNED)
def test_what_no_layout_has_is_shown_as_it_lies_and_says_why_it_is_not_planned(name: str) -> None:
    array, why = UNPLANNED[name]
    shown = shown_array(array)
    assert why in shown.unplanned and "numpy.ascontiguousarray(array)" in shown.unplanned
    made = isoviz.explore(array, restore=False)
    state = made.session.wait()
    again = isoviz.explore(np.ascontiguousarray(array), restore=False)
    planned = again.session.wait().derived.plan
    assert state.derived.plan is None and state.derived.problems["transfer"].message == shown.unplanned
    assert state.derived.source is not None and state.derived.source.same_as(shown.linear), "it is shown"
    assert planned is not None and math.prod(planned.transfer.shape) == array.size
    made.session.send({"kind": "set", "field": "source-layout", "value": str(shown.linear.layout), "client": "a", "number": 1})
    assert made.session.wait().derived.plan is not None, "a layout that is entered is that of another array"
    again.close()
    made.close()


def test_values_of_reversed_and_repeated_arrays_are_those_of_their_bytes() -> None:
    row = BASE[0][0]
    assert in_memory(shown_array(row[::-1])) == in_memory(shown_array(row))
    assert in_memory(shown_array(BASE[::-1, :, ::-1])) == in_memory(shown_array(BASE))
    assert in_memory(shown_array(np.broadcast_to(row, (5, 7)))) == in_memory(shown_array(row))
    assert in_memory(shown_array(sliding_window_view(row, 3))) == in_memory(shown_array(row))
    halves = in_memory(shown_array(BASE[0][:, ::2]))
    assert [place for place, level in enumerate(halves) if level != NO_LEVEL] == [
        7 * y + x for y in range(5) for x in (0, 2, 4, 6)
    ]


def test_the_range_of_values_of_every_type() -> None:
    infinite = np.array([np.nan, -np.inf, 1.0, 3.0])
    assert levels_of(shown_array(infinite)).tolist() == [NO_LEVEL, NO_LEVEL, 0, 254]
    far = np.array([-1.7e308, 0, 1.7e308])
    assert levels_of(shown_array(far)).tolist() == [0, 127, 254]
    dates = np.array(["2020-01-01", "NaT", "2020-01-03"], "M8[D]")
    assert levels_of(shown_array(dates)).tolist() == [0, NO_LEVEL, 254]
    assert levels_of(shown_array(np.array([3 + 4j, 0]))).tolist() == [254, 0], "its magnitude"
    assert levels_of(shown_array(np.array([True, False]))).tolist() == [254, 0]
    for array in (np.array(["a", "b"]), np.array([b"a"]), np.full(3, np.nan)):
        shown = shown_array(array)
        assert shown.values is not None and shown.values["levels"]["columns"] == [None]


def test_many_values_are_thinned_out_and_short_axes_are_not() -> None:
    shown = shown_array(np.broadcast_to(np.arange(2000.0), (1500, 2000)).copy())
    assert shown.values is not None and shown.values["texts"] == []
    levels = levels_of(shown)
    assert levels.size <= MOST_LEVELS and min(levels.shape) > 800
    assert np.all(np.diff(levels[0].astype(int)) >= 0) and levels[0, 0] == 0 and levels[0, -1] == 254
    assert shown_array(np.zeros((2000, 2000, 3), "u1")).values["levels"]["sizes"][2] == 3  # type: ignore[index]
    assert sum(len(text or "") for text in shown.values["levels"]["columns"]) <= 1 << 20


def test_masks_objects_and_empty_arrays_stay_refused() -> None:
    for given, why in (
        (np.ma.array(BASE, mask=BASE > 3)[::2], "has a mask"),
        (np.array([object()] * 4)[::-1], "Python objects"),
        (BASE[:0][::-1], "has no elements"),
    ):
        with pytest.raises(ArrayError, match=why):
            shown_array(given)


# ---- photos

PIXELS = np.random.default_rng(3).integers(0, 256, (6, 4, 4), dtype=np.uint8)


def saved(folder: Path, image: Image.Image, name: str = "photo.png", **options: Any) -> Path:
    image.save(folder / name, **options)
    return folder / name


@pytest.mark.parametrize(("mode", "names"), [("RGB", COLOURS[:3]), ("RGBA", COLOURS), ("LA", ("grey", "alpha"))])
def test_the_pixels_of_a_photo_are_structs_of_its_colours(tmp_path: Path, mode: str, names: tuple[str, ...]) -> None:
    pixels = np.ascontiguousarray(PIXELS[..., : len(names)])
    image = Image.frombytes(mode, (4, 6), pixels.tobytes())
    for path in (saved(tmp_path, image), str(tmp_path / "photo.png")):
        shown = shown_array(path)
        assert (shown.linear.fields.names, str(shown.linear.layout)) == (names, "<F, x, y>")
        assert shown.linear.space.as_dict() == {"x": 4, "y": 6} and shown.is_photo
        assert shown.values is not None and shown.values["levels"]["colours"] == list(names)
        for place, name in enumerate(names):
            assert np.array_equal(levels_of(shown, name), np.rint(pixels[..., place] / 255 * 254))


def test_a_palette_black_and_white_and_deep_greys(tmp_path: Path) -> None:
    red = Image.new("RGB", (4, 6), (255, 0, 0))
    palette = photo(saved(tmp_path, red.convert("P", palette=Image.Palette.ADAPTIVE)))
    assert palette is not None and palette.dtype.names == COLOURS[:3] and palette[0, 0].tolist() == (255, 0, 0)
    bits = photo(saved(tmp_path, Image.new("1", (4, 6), 1)))
    assert bits is not None and bits.dtype == [("grey", "u1")] and bits["grey"].min() == 255
    deep = np.arange(24, dtype="<u2").reshape(6, 4) * 1000
    for name in ("deep.png", "deep.tif"):
        found = photo(saved(tmp_path, Image.frombytes("I;16", (4, 6), deep.tobytes()), name))
        assert found is not None and np.array_equal(found["grey"], deep)
    grey = photo(saved(tmp_path, Image.new("L", (4, 6), 77)))
    assert grey is not None and grey.dtype.names == ("grey",) and grey["grey"].max() == 77
    inks = photo(saved(tmp_path, Image.new("CMYK", (4, 6), (0, 255, 255, 0)), "inks.jpg"))
    assert inks is not None and inks.dtype.names == COLOURS[:3] and inks["red"].min() > 200


def test_a_photo_stands_upright(tmp_path: Path) -> None:
    image = Image.new("RGB", (4, 6))
    image.putpixel((0, 0), (255, 255, 255))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: the first row is the right edge
    found = photo(saved(tmp_path, image, exif=exif))
    assert found is not None and found.shape == (4, 6) and found["red"].argmax() == 5


def test_files_that_are_no_photos_say_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no photo\n")
    (tmp_path / "nothing.jpg").write_bytes(b"")
    whole = io.BytesIO()
    Image.fromarray(PIXELS).save(whole, "PNG")
    (tmp_path / "half.png").write_bytes(whole.getvalue()[:60])
    (tmp_path / "drawn.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 6\n%%EndComments\n")
    (tmp_path / "data.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    for name, why in (
        ("none.png", "none.png"),
        ("text.png", "neither a photo nor a .npy"),
        ("nothing.jpg", "neither a photo nor a .npy"),
        ("half.png", "damaged"),
        ("drawn.png", "neither a photo nor a .npy"),
        ("data.h5", "HDF5"),
        (".", "folder|directory"),
    ):
        with pytest.raises(FileError, match=why):
            isoviz.explore(tmp_path / name, restore=False)


def test_a_photo_of_too_many_pixels_is_not_decoded(tmp_path: Path) -> None:
    saved(tmp_path, Image.new("1", (40_000, 10_000)))
    with pytest.raises(FileError, match="too many pixels"):
        shown_array(tmp_path / "photo.png")
    saved(tmp_path, Image.new("1", (12_000, 10_000)))
    assert shown_array(tmp_path / "photo.png").linear.space.as_dict() == {"x": 12_000, "y": 10_000}


def test_without_pillow_a_photo_is_refused_in_words_and_pillow_waits_for_one(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", BASE)
    code = f"""
import sys
import isoviz
from isoviz.widgets.chosen.shown_array import shown_array
isoviz.explore(restore=False).close()
shown_array({str(tmp_path / "rows.npy")!r})
assert not [name for name in sys.modules if name.split(".")[0] == "PIL"], "imported before it is needed"
sys.modules["PIL"] = None
try:
    shown_array({str(saved(tmp_path, Image.new("L", (4, 6))))!r})
except isoviz.errors.MissingPartError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "pillow is not installed here; install it with: pip install pillow" in found.stdout
    assert issubclass(MissingPartError, ImportError)


def test_the_explorer_begins_with_a_photo_and_its_session_is_saved(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.fromarray(PIXELS[..., :3].copy()))
    made = isoviz.explore(path, restore=False)
    try:
        settings = made.session.settings
        assert (settings.source.memory, settings.source.layout) == ("node0.sys", "<F, x, y>"), "its pixels are in memory"
        assert settings.destination.layout == "<x, y, F>", "planes"
        assert made.session.wait().derived.plan is not None
        made.session.save(tmp_path / "session.json")
        assert made.array_values["levels"]["colours"] == ["red", "green", "blue"]
        page = check_saved_page(state_page(replace(made.session.wait(), array_values=made.array_values)))
        assert page.content["traits"]["array_values"] == made.array_values, "a page is coloured by its values, too"
    finally:
        made.close()
    loaded = load_settings(tmp_path / "session.json")
    assert loaded.source == settings.source and [row.name for row in loaded.fields] == ["red", "green", "blue"]
    session = Session(loaded)
    plan = session.wait().derived.plan
    session.close()
    assert plan is not None and plan.bytes == 72


def test_a_session_of_an_array_without_a_plan_keeps_why(tmp_path: Path) -> None:
    made = isoviz.explore(BASE[::-1], restore=False)
    made.session.save(tmp_path / "session.json")
    made.close()
    session = Session(load_settings(tmp_path / "session.json"))
    problem = session.wait().derived.problems["transfer"]
    session.close()
    assert "counts backwards" in problem.message
