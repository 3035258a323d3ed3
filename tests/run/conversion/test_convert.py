"""`convert`: every kind of array, right or refused."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import elements, names_in, no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, convert
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.formats.stored import stored_array
from isoviz.errors import FileError, InputError, LayoutError, LimitError, NotationError, RunError, SpaceError, TransferError

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

PAIR = np.dtype([("re", "f4"), ("im", "f4")])
MIXED = np.dtype([("a", "u1"), ("b", "f8")])


def filled(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray[Any, Any]:
    array = np.zeros(shape, dtype)
    array.reshape(-1).view("u1")[:] = random_bytes(random.Random(seed), array.nbytes)
    return array


def converted(tmp_path: Path, array: np.ndarray[Any, Any], here: str | None, there: str, **more: Any) -> np.ndarray[Any, Any]:
    np.save(tmp_path / "in.npy", array)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", here, there, verify=True, overwrite=True, **more)
    found: np.ndarray[Any, Any] = np.load(tmp_path / "out.npy")
    assert found.flags.c_contiguous
    return found


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Bytes and shape; NaNs and all."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def test_structs_to_arrays_and_back(tmp_path: Path) -> None:
    array = filled((1000,), PAIR)
    soa = converted(tmp_path, array, "<F, x>", "<x, F>")
    assert same(soa, np.stack([array["re"], array["im"]]))
    assert same(converted(tmp_path, soa, "<x, F>", "<F, x>", fields={"re": "f4", "im": "f4"}), array)
    assert converted(tmp_path, soa, "<x, F>", "<F, x>").dtype.names == ("f0", "f1")


def test_structs_of_mixed_types_make_a_struct_of_arrays(tmp_path: Path) -> None:
    array = filled((7, 30), MIXED)
    found = converted(tmp_path, array, None, "<x, y, F>")
    assert found.shape == ()
    assert same(found["b"][()], np.ascontiguousarray(array["b"]))
    assert same(converted(tmp_path, found, "<x, y, F>", "<F, x, y>"), array)
    found = converted(tmp_path, array, None, "<x_in=10, F, x_out, y>")
    assert found.shape == (7, 3)
    assert same(np.ascontiguousarray(found["a"].reshape(7, 30)), np.ascontiguousarray(array["a"]))
    assert same(converted(tmp_path, found, "<x_in=10, F, x_out, y>", "<F, x, y>"), array)


def test_a_struct_within_a_struct_of_arrays_stays_in_one_piece(tmp_path: Path) -> None:
    point = np.dtype([("x", "f4"), ("y", "f4")])
    array = filled((), [("p", point, (10,)), ("q", "f8", (10,))])
    found = converted(tmp_path, array, "<x, F>", "<F, x>")
    assert found.dtype == np.dtype([("p", point), ("q", "f8")])
    assert found["p"].tobytes() == array["p"].tobytes()
    assert found["q"].tobytes() == array["q"].tobytes()
    assert same(converted(tmp_path, array, "<x, F>", "<x, F>"), array)


def test_transpositions(tmp_path: Path) -> None:
    array = filled((30, 50), "f8")
    assert same(converted(tmp_path, array, "<F, x, y>", "<F, y, x>"), np.ascontiguousarray(array.T))
    assert same(converted(tmp_path, array, None, "<F, y, x>"), np.ascontiguousarray(array.T))
    cube = filled((3, 4, 5), "i2")
    assert same(converted(tmp_path, cube, "<F, x, y, z>", "<F, z, x, y>"), np.ascontiguousarray(cube.transpose(1, 2, 0)))


def test_fortran_order_is_a_layout(tmp_path: Path) -> None:
    array = np.asfortranarray(filled((30, 50), PAIR))
    # Without names the last axis is x, as everywhere; with names, the first one named is the fastest stored.
    assert same(converted(tmp_path, array, None, "<F, x, y>"), np.ascontiguousarray(array))
    assert same(converted(tmp_path, array, "<F, i, j>", "<F, j, i>"), np.ascontiguousarray(array))
    assert same(converted(tmp_path, array, "<F, i, j>", "<F, i, j>"), np.ascontiguousarray(array.T))


def test_aligned_nested_big_endian_and_sub_array_fields(tmp_path: Path) -> None:
    fields: Any = [("a", "u1"), ("p", [("x", ">f8"), ("y", "S3")]), ("v", "f4", (3,)), ("t", "M8[s]"), ("u", "U2")]
    aligned, packed = np.dtype(fields, align=True), np.dtype(fields)
    array = filled((20, 30), aligned)
    found = converted(tmp_path, array, "<F, x, y>", "<F, y, x>")
    assert found.dtype == packed
    for name in ("a", "v", "t", "u"):
        assert found[name].tobytes() == np.ascontiguousarray(array[name].swapaxes(0, 1)).tobytes()
    for name in ("x", "y"):  # the nested struct loses its own gap too
        assert found["p"][name].tobytes() == np.ascontiguousarray(array["p"][name].T).tobytes()
    found = converted(tmp_path, array, "<F, x, y>", "<x, y, F>")
    assert found.dtype["p.x"] == np.dtype((">f8", (20, 30)))
    assert found["p.y"].tobytes() == np.ascontiguousarray(array["p"]["y"]).tobytes()
    assert found["v"].shape == (20, 30, 3)
    back = converted(tmp_path, found, "<x, y, F>", "<F, x, y>")
    assert back["v"].tobytes() == np.ascontiguousarray(array["v"]).tobytes()
    with pytest.raises(FileError, match="with F first"):
        converted(tmp_path, array, "<x, F, y>", "<F, x, y>")


def test_long_files_with_gaps_are_read_in_large_pieces(tmp_path: Path) -> None:
    array = filled((300_000,), np.dtype([("a", "u1"), ("b", "f8")], align=True))
    np.save(tmp_path / "in.npy", array)
    done = convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x>", "<x, F>", verify=True)
    assert done.report is not None
    assert done.report.hops[0].requests < array.nbytes / 16384, "not run by run"
    assert np.load(tmp_path / "out.npy")["b"].tobytes() == np.ascontiguousarray(array["b"]).tobytes()


@pytest.mark.parametrize("array", [np.array(3.5), np.array((1, 2.0), MIXED), np.array(b"abc")], ids=str)
def test_no_dimensions(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    assert same(converted(tmp_path, array, None, "<F>"), array)
    assert same(converted(tmp_path, array, "<F>", "<F>"), array)


def test_no_elements(tmp_path: Path) -> None:
    assert converted(tmp_path, np.zeros((0, 5), "f4"), None, "<F, y, x>").shape == (5, 0)
    assert same(converted(tmp_path, np.zeros((0, 5), PAIR), None, "<y, x, F>"), np.zeros((2, 5, 0), "f4"))
    assert same(converted(tmp_path, np.zeros((0,), MIXED), None, "<x, F>"), np.zeros((), [("a", "u1", (0,)), ("b", "f8", (0,))]))
    with pytest.raises(FileError, match="no blocks"):
        converted(tmp_path, np.zeros((0, 5), "f4"), None, "<F, y_in=2, x, y_out>")


def test_padding_is_zero_and_left_out_again(tmp_path: Path) -> None:
    array = filled((103,), PAIR)
    found = converted(tmp_path, array, None, "<x_in=8, F, x_out>")
    assert found.shape == (13, 2, 8)
    assert not found[-1, :, 7:].any()
    assert same(found[:, 0].reshape(-1)[:103], np.ascontiguousarray(array["re"]))
    back = converted(tmp_path, found, "<x_in=8, F, x_out>", "<F, x>", space={"x": 103}, fields={"re": "f4", "im": "f4"})
    assert same(back, array)


def test_raw_files(tmp_path: Path) -> None:
    array = filled((6, 10), MIXED)
    (tmp_path / "in.raw").write_bytes(array.tobytes())
    more = {"space": IndexSpace(x=10, y=6), "fields": FieldSpace(a="u1", b="f8"), "overwrite": True, "verify": True}
    convert(tmp_path / "in.raw", tmp_path / "out.raw", "<F, x, y>", "<x, y, F>", **more)
    assert (tmp_path / "out.raw").read_bytes() == array["a"].tobytes() + array["b"].tobytes()
    convert(tmp_path / "out.raw", tmp_path / "out.npy", "<x, y, F>", "<F, x, y>", **more)
    assert same(np.load(tmp_path / "out.npy"), array)
    convert(tmp_path / "out.npy", tmp_path / "back.raw", None, "<F, x, y>", verify=True)
    assert (tmp_path / "back.raw").read_bytes() == array.tobytes()
    for missing in ("space", "fields"):
        with pytest.raises(FileError, match=f"--{missing}"):
            convert(tmp_path / "in.raw", tmp_path / "x", "<F, x, y>", "<x, y, F>", **{**more, missing: None})
    with pytest.raises(FileError, match="too short"):
        convert(tmp_path / "in.raw", tmp_path / "x", "<F, x, y>", "<x, y, F>", **{**more, "space": {"x": 11, "y": 6}})
    assert not (tmp_path / "x").exists()


def test_random_layouts(tmp_path: Path, full: bool) -> None:
    rng = random.Random(9)
    for case in range(400 if full else 10):
        space, fields = random_spaces(rng)
        here, there = random_layout(rng, space), random_layout(rng, space)
        a, b = here.on(space, fields), there.on(space, fields)
        data = random_bytes(rng, a.nbytes)
        (tmp_path / "in").write_bytes(data.tobytes())
        convert(tmp_path / "in", tmp_path / "out.npy", here, there, space, fields, verify=True, overwrite=True)
        stored = stored_array(tmp_path / "out.npy", there, space, fields if len(fields) > 1 else None)
        out = np.frombuffer((tmp_path / "out.npy").read_bytes()[stored.data_offset :], "u1")
        assert elements(b, out) == elements(a, data), case
        convert(tmp_path / "out.npy", tmp_path / "back", there, here, space, fields, verify=True, overwrite=True)
        back = np.frombuffer((tmp_path / "back").read_bytes(), "u1")
        assert elements(a, back) == elements(a, data), case


@pytest.mark.parametrize(
    ("here", "there", "more", "error"),
    [
        ("<F, x>", "<F, x>", {}, FileError),
        ("<F, x, y>", "<F, x>", {}, (LayoutError, TransferError)),
        ("<F, x, y>", "<F, F, x, y>", {}, NotationError),
        ("<F, x, y", "<F, x, y>", {}, NotationError),
        ("<F, x_in, y>", "<F, x, y>", {}, LayoutError),
        ("<F, x_in=99, x_out, y>", "<F, x, y>", {}, FileError),
        ("<F, x, y>", "<x_in=99, F, x_out, y>", {}, LayoutError),
        ("<F, x, y>", "<F, y, x>", {"space": {"x": 30, "y": 50}}, FileError),
        ("<F, x, y>", "<F, y, x>", {"space": {"F": 50, "y": 30}}, SpaceError),
        ("<F, x, y>", "<F, y, x>", {"space": {"x_in": 50, "y": 30}}, SpaceError),
        ("<F, x, y>", "<F, y, x>", {"space": {"x": 0, "y": 30}}, SpaceError),
        ("<F, x, y>", "<F, y, x>", {"fields": {"re": "f4", "im": "f8"}}, FileError),
        ("<F, x, y>", "<F, y, x>", {"fields": {"re": "f4"}}, FileError),
        ("<F, x, y>", "<F, y, x>", {"memory_limit": "1KiB"}, InputError),
        ("<F, x, y>", "<F, y, x>", {"memory_limit": "much"}, InputError),
    ],
)
def test_bad_input_leaves_the_destination_alone(here: str, there: str, more: Any, error: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", filled((30, 50), PAIR))
    (tmp_path / "out.npy").write_text("before")
    with pytest.raises(error) as caught:
        convert(tmp_path / "in.npy", tmp_path / "out.npy", here, there, overwrite=True, **more)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "out.npy").read_text() == "before"
    assert names_in(tmp_path) == ["in.npy", "out.npy"]


def test_files_in_the_way(tmp_path: Path) -> None:
    array = filled((10,), PAIR)
    np.save(tmp_path / "in.npy", array)
    (tmp_path / "soft.npy").symlink_to("in.npy")
    os.link(tmp_path / "in.npy", tmp_path / "hard.npy")
    for name in ("in.npy", "soft.npy", "hard.npy"):
        with pytest.raises(TransferError, match="the source itself"):
            convert(tmp_path / "in.npy", tmp_path / name, "<F, x>", "<x, F>", overwrite=True)
    (tmp_path / "out.npy").write_text("before")
    with pytest.raises(FileError, match="exists already"):
        convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x>", "<x, F>")
    with pytest.raises(FileError, match="no such directory"):
        convert(tmp_path / "in.npy", tmp_path / "no" / "out.npy", "<F, x>", "<x, F>")
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    with pytest.raises(FileError, match="Python objects"):
        convert(tmp_path / "objects.npy", tmp_path / "x.npy", "<F, x>", "<F, x>")
    with pytest.raises(FileError, match="null byte"):
        convert(tmp_path / "in.npy", tmp_path / "nul\0.npy", "<F, x>", "<x, F>", overwrite=True)
    for name, target in (("circle.npy", "back.npy"), ("back.npy", "circle.npy")):
        (tmp_path / name).symlink_to(target)
    with pytest.raises(FileError, match="in a circle"):
        convert(tmp_path / "in.npy", tmp_path / "circle.npy", "<F, x>", "<x, F>", overwrite=True)
    assert same(np.load(tmp_path / "in.npy"), array)


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize(
    ("name", "problem"), [("new/", "ends in '/', as a directory does"), ("there", "is a directory"), ("there/", "ends in '/'")]
)
def test_a_directory_is_no_destination(
    name: str, problem: str, overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that is said before the source is even looked at."""
    (tmp_path / "there").mkdir()
    monkeypatch.setattr("isoviz.conversion.convert.read_header", lambda *_: pytest.fail("read"))
    with pytest.raises(FileError, match=f"{name}: {problem}.*expected the name of a file"):
        convert(tmp_path / "in.npy", f"{tmp_path}/{name}", "<F, x>", "<x, F>", overwrite=overwrite)
    assert names_in(tmp_path) == ["there"]


@pytest.mark.parametrize("count", [0, 10])
def test_a_file_that_appears_meanwhile_is_left_alone(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "in.npy", filled((count,), PAIR))
    out = tmp_path / "out.npy"
    flush = NewFile.flush

    def somebody(file: NewFile) -> None:
        flush(file)
        out.write_text("before")

    monkeypatch.setattr(NewFile, "flush", somebody)
    with pytest.raises(RunError, match="in the meantime"):
        convert(tmp_path / "in.npy", out, "<F, x>", "<x, F>")
    assert out.read_text() == "before"
    assert names_in(tmp_path) == ["in.npy", "out.npy"]
    convert(tmp_path / "in.npy", out, "<F, x>", "<x, F>", overwrite=True)
    assert np.load(out).shape == (2, count)


@pytest.mark.full
def test_a_block_larger_than_the_limit(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", filled((2, 200_000), MIXED))
    try:
        done = convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x, y>", "<x, F, y>", memory_limit="64KiB", verify=True)
    except LimitError:
        assert not (tmp_path / "out.npy").exists()
    else:
        assert done.report is not None
        assert done.report.plan.buffer_bytes <= 64 << 10
