"""A file of another format is never raw bytes; a raw file may begin behind a header of its own."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import sqlite3
import struct
import tarfile
import wave
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz.cli.command_line import main
from isoviz.errors import FileError, InputError, IsovizError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.measure.run_file import run_file
from isoviz.planner import Instance, Transfer, load_transfer, plan_from_json, plan_to_json
from isoviz.widgets.chosen.shown_array import shown_array

BYTE = FieldSpace(v="u1")


def npz(compressed: bool = False) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, one=np.arange(6.0))
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 500)
    return file.getvalue()


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"), io.BytesIO())
    return file.getvalue()


def wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(400))
    return file.getvalue()


def sqlite(folder: Path) -> bytes:
    with sqlite3.connect(folder / "made") as database:
        database.execute("create table a (b)")
    database.close()
    return (folder / "made").read_bytes()


TENSORS = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
CONTAINERS: dict[str, tuple[str, bytes]] = {
    "a.npz": ("archive of arrays", npz()),
    "compressed": ("archive of arrays", npz(compressed=True)),
    "a.pt": ("zip archive", zipped()),
    "a.h5": ("HDF5", b"\x89HDF\r\n\x1a\n" + bytes(500)),
    "with_user_block": ("HDF5", b"x" * 512 + b"\x89HDF\r\n\x1a\n" + bytes(500)),
    "a.nc": ("NetCDF", b"CDF\x01" + bytes(500)),
    "a.gz": ("gzip", gzip.compress(bytes(500))),
    "a.bz2": ("bzip2", bz2.compress(bytes(500))),
    "a.xz": ("xz", lzma.compress(bytes(500))),
    "a.tar": ("tar", tar()),
    "a.wav": ("WAV", wav()),
    "a.safetensors": ("safetensors", struct.pack("<Q", len(TENSORS)) + TENSORS + bytes(8)),
    "a.pkl": ("pickle", pickle.dumps(list(range(100)))),
    "a.mat": ("MATLAB", b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + bytes(100)),
    "a.fits": ("FITS", b"SIMPLE  =                    T".ljust(2880)),
    "a.nii": ("NIfTI", bytes(344) + b"n+1\0" + bytes(100)),
    "a.mrc": ("MRC", bytes(208) + b"MAP " + bytes(900)),
    "a.dcm": ("DICOM", bytes(128) + b"DICM" + bytes(100)),
    "a.tif": ("TIFF", b"II*\0" + bytes(100)),
    "big.tif": ("TIFF", b"MM\0+" + bytes(100)),
    "a.png": ("PNG", b"\x89PNG\r\n\x1a\n" + bytes(100)),
    "a.jpg": ("JPEG", b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(100)),
    "a.parquet": ("Parquet", b"PAR1" + bytes(100) + b"PAR1"),
    "a.csv": ("text", b"1,2,3\n4,5,6\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_file_of_another_format_is_named_and_refused_everywhere(tmp_path: Path, name: str, capsys: Any) -> None:
    word, content = CONTAINERS[name]
    for path in (tmp_path / name, tmp_path / "renamed.raw"):
        if word == "text" and path.name != name:
            continue  # letters are raw bytes, unless the name says text
        path.write_bytes(content)
        size = len(content)
        space = IndexSpace(x=size)
        here = Instance("node0.dsk", space, BYTE, "<F, x>", path)
        there = Instance("node0.sys", space, BYTE, "<F, x>")
        toml = tmp_path / "t.toml"
        toml.write_text(
            f"space = {{x = {size}}}\nfields = {{v = 'u1'}}\nmachine = {{preset = 'local', measure = 'assumed'}}\n"
            f"source = {{memory = 'node0.dsk', layout = '<F, x>', path = '{path}'}}\n"
            "destination = {memory = 'node0.sys', layout = '<F, x>'}\n"
        )
        ways: list[Any] = [
            lambda path=path: isoviz.convert(path, tmp_path / "b.npy", None, "<F, x>"),
            lambda path=path, size=size: isoviz.convert(path, tmp_path / "b.raw", "<F, x>", "<F, x>", {"x": size}, {"v": "u1"}),
            lambda here=here, there=there: isoviz.plan(Transfer(here, there), "local").run(verify=False),
            lambda toml=toml: run_file(toml, trial=False),
            lambda path=path: shown_array(path),
        ]
        for way in ways:
            with pytest.raises(FileError, match=f"{path.name}: is .*{word}.* not raw bytes; "):
                way()
        assert (
            main(["convert", str(path), str(tmp_path / "b.npy"), "--to", "<F, x>", "--space", f"x={size}", "--fields", "v=u1"])
            == 2
        )
        assert word in capsys.readouterr().err
    assert not list(tmp_path.glob("b.*"))


def test_a_zarr_folder_is_named(tmp_path: Path) -> None:
    for mark in (".zarray", "zarr.json"):
        folder = tmp_path / f"{mark[1:]}.zarr"
        folder.mkdir()
        (folder / mark).write_text("{}")
        for way in (lambda f=folder: isoviz.convert(f, tmp_path / "b.npy", None, "<F, x>"), lambda f=folder: shown_array(f)):
            with pytest.raises(FileError, match="Zarr"):
                way()


@pytest.mark.parametrize(
    "name", ["a.npz", "a.h5", "A.HDF5", "a.nc", "a.zip", "a.npy.gz", "a.tif", "a.safetensors", "a.csv", "a.zarr"]
)
def test_a_name_of_another_format_is_not_filled_with_raw_bytes(tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "a.npy", np.arange(6))
    (tmp_path / "none.npy").write_bytes(b"")
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    for source in ("a.npy", "empty.npy"):
        with pytest.raises(FileError, match=r"would not be .*; expected a name that ends in \.npy"):
            isoviz.convert(tmp_path / source, tmp_path / name, None, "<F, x, y>" if source == "empty.npy" else "<F, x>")
    space = IndexSpace(x=6)
    transfer = Transfer(
        Instance("node0.sys", space, BYTE, "<F, x>"), Instance("node0.dsk", space, BYTE, "<F, x>", tmp_path / name)
    )
    with pytest.raises(FileError, match="would not be"):
        isoviz.plan(transfer, "local").run()
    assert not (tmp_path / name).exists()


def test_a_npy_is_known_under_any_name(tmp_path: Path) -> None:
    array = np.arange(12, dtype="f4").reshape(3, 4)
    with (tmp_path / "particles.cs").open("wb") as file:
        np.save(file, array)
    isoviz.convert(tmp_path / "particles.cs", tmp_path / "b.npy", "<F, x, y>", "<F, y, x>", verify=True)
    assert np.array_equal(np.load(tmp_path / "b.npy"), array.T)
    assert shown_array(tmp_path / "particles.cs").linear.space == IndexSpace(x=4, y=3)
    here = Instance("node0.dsk", IndexSpace(x=4, y=3), FieldSpace(v="f4"), "<F, x, y>", tmp_path / "particles.cs")
    out = np.zeros((4, 3), "f4")
    isoviz.plan(Transfer(here, Instance("node0.sys", here.space, here.fields, "<F, y, x>")), "local").run(destination=out)
    assert np.array_equal(out, array.T)
    size = (tmp_path / "particles.cs").stat().st_size
    with pytest.raises(FileError, match="its elements are float32"):  # its header is no data, whatever sizes are given
        isoviz.convert(tmp_path / "particles.cs", tmp_path / "c.npy", "<F, x>", "<F, x>", {"x": size}, {"v": "u1"})
    with pytest.raises(FileError, match="expected no offset"):
        isoviz.convert(tmp_path / "particles.cs", tmp_path / "c.npy", "<F, x>", "<F, x>", {"x": size}, {"v": "u1"}, offset=0)


@pytest.mark.parametrize("offset", [0, 1, 512, 4096, 5000])
def test_raw_data_behind_a_header(tmp_path: Path, offset: int, capsys: Any) -> None:
    cube = np.random.default_rng(offset).integers(0, 1000, (5, 7, 300)).astype(">i2")
    raw = tmp_path / "a.img"
    raw.write_bytes(b"\x1f\x8b\x08\x00".ljust(offset, b"H")[:offset] + cube.tobytes())
    space = {"s": 300, "b": 7, "l": 5}
    isoviz.convert(raw, tmp_path / "b.npy", "<F, s, b, l>", "<F, b, s, l>", space, {"v": ">i2"}, verify=True, offset=offset)
    assert np.array_equal(np.load(tmp_path / "b.npy"), cube.transpose(0, 2, 1))
    words = ["convert", str(raw), str(tmp_path / "c.raw"), "--from", "<F, s, b, l>", "--to", "<F, s, l, b>"]
    more = ["--space", "s=300,b=7,l=5", "--fields", "v=>i2", "--verify"]
    assert main([*words, *more, "--offset", str(offset)]) == 0
    assert np.array_equal(np.fromfile(tmp_path / "c.raw", ">i2").reshape(7, 5, 300), cube.transpose(1, 0, 2))
    capsys.readouterr()
    assert main([*words, *more, "--overwrite", "--offset", str(offset + 2)]) == 2
    assert f"too short: 20998 bytes from byte {offset + 2} on" in capsys.readouterr().err
    assert main([*words, *more, "--overwrite", "--offset", "1MiB"]) == 2
    assert "offset 1048576 lies behind its end" in capsys.readouterr().err
    if offset:
        assert main([*words, *more, "--overwrite", "--offset", str(offset - 1)]) == 2
        assert "too long: 21001 bytes" in capsys.readouterr().err


def test_an_offset_in_plans_and_transfer_files(tmp_path: Path) -> None:
    values = np.arange(1000, dtype="i4")
    (tmp_path / "a.raw").write_bytes(b"PK\x03\x04".ljust(300, b"h") + values.tobytes())
    (tmp_path / "t.toml").write_text(
        "space = {x = 50, y = 20}\nfields = {v = 'i4'}\nmachine = {preset = 'local', measure = 'assumed'}\n"
        "source = {memory = 'node0.dsk', layout = '<F, x, y>', path = 'a.raw', offset = 300}\n"
        "destination = {memory = 'node0.dsk', layout = '<F, y, x>', path = 'b.npy'}\n"
    )
    run_file(tmp_path / "t.toml", trial=False)
    assert np.array_equal(np.load(tmp_path / "b.npy"), values.reshape(20, 50).T)
    plan = isoviz.plan(load_transfer(tmp_path / "t.toml").transfer, "local")
    assert plan.transfer.source.offset == 300
    assert plan_from_json(plan_to_json(plan)) == plan
    # A part of an existing file, behind a header that stays.
    space = IndexSpace(x=50, y=20)
    there = Instance("node0.dsk", space, FieldSpace(v="i4"), "<F, x, y>", tmp_path / "a.raw", 300)
    row = Transfer(Instance("node0.sys", IndexSpace(x=50, y=1), there.fields, "<F, x, y>"), there, destination_origin=(0, 3))
    isoviz.plan(row, "local").run(np.full((1, 50), -1, "i4"))
    values[150:200] = -1
    assert (tmp_path / "a.raw").read_bytes() == b"PK\x03\x04".ljust(300, b"h") + values.tobytes()
    whole = Transfer(Instance("node0.sys", space, there.fields, "<F, x, y>"), there)
    with pytest.raises(TransferError, match="expected no offset"):
        isoviz.plan(whole, "local").run(np.zeros((20, 50), "i4"))
    for wrong in (-1, 1.5, "x"):
        with pytest.raises(IsovizError, match="offset"):
            Instance("node0.dsk", space, there.fields, "<F, x, y>", "a.raw", wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="offset"):
        isoviz.convert(np.memmap(tmp_path / "a.raw", "i4", "r", 300), tmp_path / "c.npy", "<F, x>", "<F, x>", offset=300)
    end = {"memory": "node0.sys", "layout": "<F, x>"}
    with pytest.raises(IsovizError, match="path"):
        load_transfer({"space": {"x": 1}, "fields": {"v": "u1"}, "source": {**end, "offset": 4}, "destination": end})
