"""Where the bytes of a conversion come from: mapped arrays, files that change, headers of every version, other file systems."""

from __future__ import annotations

import errno
import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import isoviz, names_in, no_leaked_files

from isoviz import Layout, convert
from isoviz.backends.disk import file_system
from isoviz.backends.disk.disk_memory import DiskRead
from isoviz.backends.disk.file_access import NewFile, ReadFile
from isoviz.errors import FileError, InputError, RunError

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

PAIR = np.dtype([("re", "f4"), ("im", "f8")])


def numbers(shape: tuple[int, ...], dtype: Any = "u4") -> np.ndarray[Any, Any]:
    array = np.zeros(shape, dtype)
    flat = array.reshape(-1).view("u1")
    flat[:] = np.arange(len(flat), dtype="u8") * 2654435761 >> 7 & 255
    return array


# ---- mapped arrays


def mapped(tmp_path: Path, array: np.ndarray[Any, Any], mode: Any = "r") -> Any:
    np.save(tmp_path / "in.npy", array)
    return np.load(tmp_path / "in.npy", mmap_mode=mode)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_array_is_the_file_it_is_in(order: Any, tmp_path: Path) -> None:
    array = np.asarray(numbers((300, 500), PAIR), order=order)
    done = convert(mapped(tmp_path, array), tmp_path / "out.npy", None, "<F, y, x>", verify=True)
    assert np.load(tmp_path / "out.npy").tobytes() == np.ascontiguousarray(array.T).tobytes()
    assert done.source == tmp_path / "in.npy"


@pytest.mark.parametrize("offset", [0, 8, 4096, 12_345 * 4])
def test_a_mapped_raw_file_and_a_part_of_one(offset: int, tmp_path: Path) -> None:
    array = numbers((400, 100))
    (tmp_path / "raw").write_bytes(bytes(offset) + array.tobytes() + b"more")
    whole = np.memmap(tmp_path / "raw", "u4", "r", offset, (400, 100))
    convert(whole, tmp_path / "out.npy", "<F, x, y>", "<F, y, x>", verify=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)
    convert(whole[37:301], tmp_path / "out.npy", "<F, x, y>", "<F, y, x>", verify=True, overwrite=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), array[37:301].T)
    assert np.array_equal(whole, array), "the map is as it was"


def test_what_was_written_to_a_mapped_array_is_converted(tmp_path: Path) -> None:
    found = mapped(tmp_path, numbers((200, 300)), "r+")
    found[:] = numbers((200, 300))[::-1]
    convert(found, tmp_path / "out.npy", None, "<F, y, x>", verify=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), numbers((200, 300))[::-1].T)


def test_mapped_arrays_are_taken_as_they_lie(tmp_path: Path) -> None:
    """Axes in any order, a part of the rows, and fields chosen from a struct."""
    cube = mapped(tmp_path, numbers((4, 60, 50)))
    turned = cube.transpose(2, 0, 1)
    assert isinstance(turned, np.memmap)
    convert(turned, tmp_path / "a.npy", None, Layout.of(turned), verify=True)
    assert np.load(tmp_path / "a.npy").tobytes() == np.asarray(cube).tobytes(), "its own order"
    convert(turned, tmp_path / "b.npy", Layout.of(turned), "<F, z, y, x>", verify=True)
    assert np.array_equal(np.load(tmp_path / "b.npy"), np.asarray(turned).transpose(2, 1, 0)), "<F, z, y, x> has axes x, y, z"
    convert(cube[1:3].transpose(1, 2, 0), tmp_path / "c.npy", "<F, x, y, z>", "<F, y, x, z>", verify=True)
    assert np.array_equal(np.load(tmp_path / "c.npy"), np.asarray(cube)[1:3].transpose(0, 2, 1))
    del cube, turned  # which hold the map
    gc.collect()


def test_mapped_arrays_that_are_no_file(tmp_path: Path) -> None:
    array = numbers((200, 300))
    found = mapped(tmp_path, array)
    out = tmp_path / "out.npy"
    for each, problem in (
        (found[:, ::2], "is not dense"),
        (found[::-1], "is reversed"),
        (found.copy(), "not a view of a file"),
        (mapped(tmp_path, array, "c"), "copy-on-write"),
    ):
        assert isinstance(each, np.memmap)
        with pytest.raises(InputError, match=problem) as caught:
            convert(each, out, None, "<F, y, x>")
        assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == ["in.npy"]
    del found, each, caught  # which hold the maps
    gc.collect()


# ---- sources that change


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("change", ["written", "longer", "shorter"])
@pytest.mark.few(2)
def test_a_source_that_changes_is_not_converted(
    change: str, passes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = numbers((600, 700))
    path = tmp_path / "in.npy"
    np.save(path, array)
    os.utime(path, ns=(1, 1))  # what is written now has another time, however coarse the clock
    move, calls = DiskRead.move, 0

    def changing(self: DiskRead, *given: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            with path.open("r+b") as file:
                if change == "written":
                    file.seek(array.nbytes // 2)
                    file.write(b"changed")
                else:
                    file.truncate(array.nbytes + 4096 if change == "longer" else array.nbytes // 4)
        return move(self, *given)

    monkeypatch.setattr(DiskRead, "move", changing)
    with pytest.raises(RunError, match=r"was changed while it was read|ends at byte"):
        convert(path, tmp_path / "out.npy", "<F, x, y>", "<F, y, x>", memory_limit="256KiB", passes=passes)
    assert names_in(tmp_path) == ["in.npy"]


def test_a_source_that_is_replaced_is_read_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file under its name, as atomic writers do it, leaves the one that is open alone."""
    array = numbers((600, 700))
    np.save(tmp_path / "in.npy", array)
    move, once = DiskRead.move, iter([True])

    def replaced(self: DiskRead, *given: Any) -> int:
        if next(once, False):  # several requests are in flight
            np.save(tmp_path / "new.npy", array + np.uint32(1))
            (tmp_path / "new.npy").replace(tmp_path / "in.npy")
        return move(self, *given)

    monkeypatch.setattr(DiskRead, "move", replaced)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x, y>", "<F, y, x>", memory_limit="256KiB")
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)


# ---- headers


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_headers_of_every_version(version: tuple[int, int], order: Any, tmp_path: Path) -> None:
    dtype = np.dtype([("größe" if version == (3, 0) else "size", "f4"), ("im", ">i2")])
    array = np.asarray(numbers((90, 70), dtype), order=order)
    with (tmp_path / "in.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>", verify=True)
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == dtype
    assert found.tobytes() == np.ascontiguousarray(array.T).tobytes()
    with (tmp_path / "out.npy").open("rb") as file:
        np.lib.format.read_magic(file)
    size = (tmp_path / "out.npy").stat().st_size
    assert (size - array.nbytes) % 4096 == 0, "data begin at a page"


# ---- file systems


def test_a_file_system_in_memory() -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK):
        pytest.skip("no /dev/shm here")
    import tempfile

    with tempfile.TemporaryDirectory(dir=shm) as name:
        folder, array = Path(name), numbers((600, 700))
        np.save(folder / "in.npy", array)
        for passes in (1, 2):
            convert(
                folder / "in.npy",
                folder / "out.npy",
                "<F, x, y>",
                "<F, y, x>",
                memory_limit="256KiB",
                passes=passes,
                verify=True,
                overwrite=True,
            )
            assert np.array_equal(np.load(folder / "out.npy"), array.T)
        assert names_in(folder) == ["in.npy", "out.npy"]


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_that_reserves_nothing(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_system, "_fallocate", lambda: refusing(number))
    array = numbers((600, 700))
    np.save(tmp_path / "in.npy", array)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>", verify=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)


def test_a_disk_that_has_no_room_says_so_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `statvfs` promised may be gone, or belong to a quota: reserving finds out."""
    monkeypatch.setattr(file_system, "_fallocate", lambda: refusing(errno.ENOSPC))
    monkeypatch.setattr(DiskRead, "move", lambda *_: pytest.fail("read"))
    np.save(tmp_path / "in.npy", numbers((600, 700)))
    for more, match in (({"passes": 1}, "out.npy: cannot be written: the disk is full"), ({"passes": 2}, "the disk is full")):
        with pytest.raises(RunError, match=match) as caught:
            convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>", memory_limit="256KiB", **more)
        assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == ["in.npy"]


def refusing(number: int) -> Any:
    import ctypes

    def call(*_: int) -> int:
        ctypes.set_errno(number)
        return -1

    return call


def test_room_is_reserved_on_a_disk(tmp_path: Path) -> None:
    file = NewFile(tmp_path / "a", 8 << 20)
    try:
        if file_system.reserve(file.descriptor, 8 << 20):
            assert os.fstat(file.descriptor).st_blocks * 512 >= 8 << 20
        assert os.fstat(file.descriptor).st_size == 8 << 20
    finally:
        file.close()


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "in.npy", numbers((100, 100)))
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):  # root may write everywhere
        monkeypatch.setenv("HOME", str(tmp_path / "home"))  # nothing that is tried there shall be left in the user's own
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(FileError, match="directory not writable"):
        convert(tmp_path / "in.npy", folder / "out.npy", None, "<F, y, x>")
    assert names_in(folder) == []


def test_a_full_disk_is_one_line_on_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", numbers((600, 700)))
    code = "import isoviz.backends.disk.file_access as d\nd.free_bytes = lambda _: 1000"
    done = isoviz("convert", "in.npy", "out.npy", "--to", "<F, y, x>", cwd=tmp_path, code=code)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "needs 1.61 MiB, the disk has 1,000 B free" in done.stderr
    assert names_in(tmp_path) == ["in.npy"]


# ---- requests


def test_neighbouring_requests_share_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd sizes: what is contiguous on the disk goes there in whole pages, whatever the bounds of requests."""
    array = numbers((3_000_001,), np.dtype([("re", "f4"), ("im", "f4")]))
    np.save(tmp_path / "in.npy", array)
    files: list[NewFile] = []
    publish = NewFile.publish

    def published(self: NewFile) -> None:
        files.append(self)
        publish(self)

    monkeypatch.setattr(NewFile, "publish", published)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x>", "<x, F>", memory_limit="64MiB", verify=True)
    assert np.load(tmp_path / "out.npy")[1].tobytes() == np.ascontiguousarray(array["im"]).tobytes()
    (file,) = files
    source = ReadFile(tmp_path / "in.npy")
    unbuffered = source.is_direct
    source.close()
    if unbuffered:
        # The header, and at most two pages for every run of every chunk.
        assert file.cached_bytes < file.moved_bytes / 100
