"""`.npy` headers: written so that NumPy reads them, read so that nothing hostile gets far."""

from __future__ import annotations

import io
import os
import struct
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import isoviz
from isoviz.backends.formats.known_files import MAGIC, is_npy
from isoviz.backends.formats.npy import ALIGNMENT, LONGEST_HEADER, header_bytes, header_of, read_header
from isoviz.cli.command_line import main
from isoviz.errors import FileError
from isoviz.layouts.given_arrays import default_dims

LONG = np.dtype([(f"field_with_a_long_name_{i}", "f4") for i in range(300)])
DTYPES = [
    np.dtype("f4"),
    np.dtype(">i8"),
    np.dtype("U7"),
    np.dtype("S3"),
    np.dtype("M8[us]"),
    np.dtype([("re", "<f4"), ("im", ">f8")]),
    np.dtype([("pos", [("x", "f4"), ("y", "f4")]), ("v", "f4", (3, 2))]),
    np.dtype([("größe", "f4"), ("Δ", "i2")]),
    np.dtype([("名", "f4")]),
    LONG,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype)[:30])
@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0, 4)])
def test_what_is_written_numpy_reads(tmp_path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype)
    array.reshape(-1).view("u1")[:] = 7
    header = header_bytes(dtype, shape)
    path = tmp_path / "a.npy"
    path.write_bytes(header + array.tobytes())
    found = np.load(path, allow_pickle=False, max_header_size=10_000 if dtype is not LONG else 100_000)
    assert found.dtype == dtype
    assert found.shape == shape
    assert found.tobytes() == array.tobytes()
    again = read_header(path)
    assert (again.dtype, again.shape, again.data_offset) == (dtype, shape, len(header))


def test_data_begin_at_a_page(tmp_path: Path) -> None:
    assert len(header_bytes(np.dtype("f4"), (3,))) % ALIGNMENT == 0


def test_a_header_that_padding_would_make_too_long_for_numpy_is_padded_less() -> None:
    dtype = np.dtype([(f"f{i:03}", "f4") for i in range(480)])
    header = header_bytes(dtype, (3,))
    assert len(header) > 2 * ALIGNMENT
    assert np.load(io.BytesIO(header + bytes(3 * dtype.itemsize))).dtype == dtype


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_writes_is_read(tmp_path: Path, version: tuple[int, int], order: str) -> None:
    path = tmp_path / "a.npy"
    array = np.arange(12, dtype=">f4").reshape(3, 4, order=order)
    array = np.asfortranarray(array) if order == "F" else array
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version=version)
    header = read_header(path)
    assert (header.dtype, header.shape, header.fortran_order) == (array.dtype, (3, 4), order == "F")
    assert header.extents == ((3, 4) if order == "F" else (4, 3))
    assert header.nbytes == 48


def raw(header: bytes, version: tuple[int, int] = (1, 0), length: int | None = None, data: bytes = bytes(64)) -> bytes:
    size = len(header) if length is None else length
    return MAGIC + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", size) + header + data


def described(descr: str = "'<f4'", order: str = "False", shape: str = "(3,)") -> bytes:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}\n".encode()


ALIGNED = np.dtype([("a", "u1"), ("b", "f4")], align=True)
POINTS = "[('p', [('x', '<f4'), ('y', '<f4')], (2,)), ('q', '<f4', (3L,))]"
WRITTEN_ELSEWHERE = {
    "Python 2 on Windows": ("{'descr': '<i4', 'fortran_order': False, 'shape': (3L, 4L), }", "<i4", (3, 4)),
    "NumPy 2": ("{'descr': '<i4', 'fortran_order': np.False_, 'shape': (np.int64(3), np.int32(4))}", "<i4", (3, 4)),
    "texts of Python 2": ("{u'descr': u'<f8', u'fortran_order': False, u'shape': (2,)}", "<f8", (2,)),
    "double quotes": ('{"descr": "<i2", "fortran_order": False, "shape": (5,)}', "<i2", (5,)),
    "a name like 3L": (described("[('3L', '<f4'), ('(4L,)', '<i2')]", shape="(2L,)"), [("3L", "<f4"), ("(4L,)", "<i2")], (2,)),
    "gaps": (described("[('a', '|u1'), ('', '|V3'), ('b', '<f4')]", shape="()"), ALIGNED, ()),
    "titles": (described("[(('long a', 'a'), '<f4')]", shape="(1,)"), [(("long a", "a"), "<f4")], (1,)),
    "nested": (described(POINTS), [("p", [("x", "<f4"), ("y", "<f4")], (2,)), ("q", "<f4", (3,))], (3,)),
    "float8": (described("'<f1'", shape="(2, 3)"), ml_dtypes.float8_e5m2, (2, 3)),
    "in a struct": (described("[('a', '<f1'), ('b', '<V2')]"), [("a", ml_dtypes.float8_e5m2), ("b", "V2")], (3,)),
}


@pytest.mark.parametrize("name", WRITTEN_ELSEWHERE)
def test_headers_of_others_are_read(tmp_path: Path, name: str) -> None:
    text, dtype, shape = WRITTEN_ELSEWHERE[name]
    content = bytes(range(256))[: np.dtype(dtype).itemsize * int(np.prod(shape))]
    (tmp_path / "a.npy").write_bytes(raw(text if isinstance(text, bytes) else text.encode(), data=content))
    header = read_header(tmp_path / "a.npy")
    assert (header.dtype, header.shape) == (np.dtype(dtype), shape)
    isoviz.convert(
        tmp_path / "a.npy", tmp_path / "b.npy", None, "<" + ", ".join(("F", *default_dims(len(shape))[::-1])) + ">", verify=True
    )
    assert np.load(tmp_path / "b.npy", allow_pickle=False).shape == shape


def test_a_type_that_needs_a_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # type: ignore[arg-type]
    (tmp_path / "a.npy").write_bytes(raw(described("'<f1'")))
    with pytest.raises(FileError, match="float8_e5m2 is a type of the package ml_dtypes: pip install ml_dtypes"):
        read_header(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "complex32"])
def test_added_types_are_plain_bytes_in_files_that_numpy_reads(tmp_path: Path, name: str) -> None:
    array = np.arange(-4, 4).astype(getattr(ml_dtypes, name)).reshape(2, 4)
    array.tofile(tmp_path / "a.raw")
    for source in (tmp_path / "a.raw", np.memmap(tmp_path / "a.raw", array.dtype, "r", shape=array.shape)):
        sizes = {"space": {"x": 4, "y": 2}, "fields": {"v": name}}
        done = isoviz.convert(source, tmp_path / "b.npy", "<F, x, y>", "<F, y, x>", **sizes, verify=True, overwrite=True)
        found = np.load(tmp_path / "b.npy", allow_pickle=False)
        assert found.dtype == f"V{array.itemsize}" and done.dtype == str(found.dtype)
        assert found.view(array.dtype).tobytes() == np.ascontiguousarray(array.T).tobytes()
        isoviz.convert(tmp_path / "b.npy", tmp_path / "c.raw", "<F, y, x>", "<F, x, y>", fields={"v": name}, overwrite=True)
        assert (tmp_path / "c.raw").read_bytes() == array.tobytes()
    with pytest.raises(FileError, match="expected"):
        isoviz.convert(tmp_path / "b.npy", tmp_path / "d.raw", "<F, y, x>", "<F, x, y>", fields={"v": f"u{2 * array.itemsize}"})


def long_struct(count: int, letters: int) -> np.dtype:
    return np.dtype([(f"{k:x<{letters}}", "<i2" if k % 2 else "<f4") for k in range(count)])


@pytest.mark.parametrize("dtype", [long_struct(900, 60), long_struct(25, 3000)], ids=["many fields", "long names"])
def test_long_headers_are_written_and_read(tmp_path: Path, dtype: np.dtype) -> None:
    array = np.arange(2 * dtype.itemsize, dtype="u1").view(dtype)
    (tmp_path / "a.npy").write_bytes(header_bytes(dtype, (2,)) + array.tobytes())
    mapped = np.memmap(tmp_path / "a.npy", dtype, "r", read_header(tmp_path / "a.npy").data_offset)
    done = isoviz.convert(tmp_path / "a.npy", tmp_path / "b.npy", "<F, x>", "<x, F>", verify=True)
    needs = next(int(word[16:]) for word in done.notes[0].split() if word.startswith("max_header_size="))
    found = np.load(tmp_path / "b.npy", max_header_size=needs)
    assert all(found[name].tobytes() == array[name].tobytes() for name in dtype.names)
    assert len(str(done)) < 10_000
    isoviz.convert(mapped, tmp_path / "c.npy", "<F, x>", "<x, F>")
    assert (tmp_path / "c.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    assert main(["convert", str(tmp_path / "b.npy"), str(tmp_path / "d.npy"), "--from", "<x, F>", "--to", "<F, x>"]) == 0
    assert np.load(tmp_path / "d.npy", max_header_size=needs).tobytes() == array.tobytes()


def test_a_header_that_would_not_be_read_is_not_written(tmp_path: Path) -> None:
    dtype = long_struct(3, LONGEST_HEADER // 3)
    with pytest.raises(FileError, match="at most 1 MiB"):
        header_bytes(dtype, (2,))
    (tmp_path / "a.raw").write_bytes(bytes(2 * dtype.itemsize))
    mapped = np.memmap(tmp_path / "a.raw", dtype, "r")
    with pytest.raises(FileError, match="at most 1 MiB"):
        isoviz.convert(mapped, tmp_path / "b.npy", "<F, x>", "<x, F>")
    assert [path.name for path in tmp_path.iterdir()] == ["a.raw"]
    for letters in range(LONGEST_HEADER // 3 - 200, LONGEST_HEADER // 3, 9):  # what is written is read, at the bound too
        try:
            written = header_bytes(long_struct(3, letters), (2,))
        except FileError:
            continue
        assert header_of("a.npy", written).shape == (2,)


HOSTILE = {
    "nothing": b"",
    "other file": b"PK\x03\x04 not an array",
    "magic only": MAGIC,
    "version 9": raw(described(), (9, 9)),
    "cut header": MAGIC + b"\x01\x00\xff\x00{'descr'",
    "cut length": MAGIC + b"\x02\x00\x01",
    "huge header": raw(b"{}", (2, 0), 2**32 - 1),
    "a MiB of brackets": raw(b"[" * (1 << 20), (2, 0)),
    "a MiB of signs": raw(b"-" * (1 << 20), (2, 0)),
    "code": raw(b"__import__('os').abort()"),
    "no dict": raw(b"[1, 2]"),
    "more keys": raw(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}"),
    "fewer keys": raw(b"{'descr': '<f4', 'shape': (3,)}"),
    "deep": raw(b"(" * 5000 + b")" * 5000),
    "nul": raw(b"{'descr'\x00: 1}"),
    "not utf-8": raw(b"\xff\xfe\xff", (3, 0)),
    "negative": raw(described(shape="(-3,)")),
    "bool shape": raw(described(shape="(True,)")),
    "list shape": raw(described(shape="[3]")),
    "float shape": raw(described(shape="(3.0,)")),
    "huge shape": raw(described(shape="(9999999999999999999999,)")),
    "overflow": raw(described(shape="(4294967296, 4294967296)")),
    "number without decimal text": raw(described(shape=f"(0x{'f' * 9000},)")),
    "dtype without decimal text": raw(described(f"0x{'f' * 9000}")),
    "axes": raw(described(shape=f"({'1,' * 65})")),
    "order": raw(described(order="1")),
    "objects": raw(described("'|O'")),
    "nested objects": raw(described("[('a', '|O')]")),
    "no dtype": raw(described("'zz'")),
    "no list": raw(described("[1, 2]")),
    "no bytes": raw(described("'|S0'")),
    "huge item": raw(described("'|V99999999999999'")),
    "negative item": raw(described("'|V-4'")),
    "sub-array": raw(described("[('a', '<f4', (-2,))]")),
    "too short": raw(described(shape="(1000,)")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(FileError) as caught:
        read_header(path)
    assert "bad.npy" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_damaged_bytes_never_raise_anything_else(tmp_path: Path) -> None:
    good = header_bytes(np.dtype([("re", "f4"), ("im", "f8")]), (2, 2))[:200] + bytes(64)
    rng = np.random.default_rng(1)
    path = tmp_path / "bad.npy"
    refused = 0
    for _ in range(300):
        broken = bytearray(good)
        for at in rng.integers(0, 120, 3):
            broken[at] = rng.integers(0, 256)
        path.write_bytes(bytes(broken))
        try:
            read_header(path)
        except FileError:
            refused += 1
    assert refused > 250


def test_files_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "directory.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    for name, word in (("missing.npy", "no such file"), ("directory.npy", "a directory"), ("pipe.npy", "a pipe")):
        with pytest.raises(FileError, match=word):
            read_header(tmp_path / name)
    with pytest.raises(FileError):
        read_header("nul\0.npy")


def test_npy_by_name() -> None:
    assert is_npy("a.npy")
    assert is_npy(Path("A.NPY"))
    assert not is_npy("a.npy.raw")
