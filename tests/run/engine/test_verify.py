"""The comparison of both ends sees every byte that counts, and none that does not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Transfer
from isoviz.backends.boxes import Boxes
from isoviz.backends.disk.disk_memory import FileStore
from isoviz.backends.disk.file_access import ReadFile
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.verify import verify
from isoviz.errors import VerificationError
from isoviz.layouts import Linearization

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]


def moved(a: Linearization, data: np.ndarray[Any, Any], b: Linearization, out: np.ndarray[Any, Any]) -> None:
    for index in np.ndindex(*a.space.sizes):
        for name, size in zip(a.fields.names, a.fields.sizes, strict=True):
            at, to = a.offset(index, name), b.offset(index, name)
            out[to : to + size] = data[at : at + size]


def compared(transfer: Transfer, data: Any, out: Any, folder: Path | None, budget: int) -> None:
    if folder is None:
        verify(transfer, HostStore(data), HostStore(out), budget)
        return
    stores = []
    for name, content in (("a", data), ("b", out)):
        (folder / name).write_bytes(b"header" + content.tobytes())
        stores.append(FileStore(ReadFile(folder / name), 6, len(content)))
    try:
        verify(transfer, *stores, budget)
    finally:
        for store in stores:
            store.close()


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.few(1)
def test_one_wrong_byte_anywhere_is_found_and_padding_is_not_looked_at(
    where: str, tmp_path: Path, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(where)
    folder = tmp_path if where == "file" else None
    padded = 0
    for case in range(300 if full else 60):
        space, fields = random_spaces(rng, 9)
        here, there = random_layout(rng, space), random_layout(rng, space)
        transfer = Transfer.whole(space, fields, "m", here, "m", there)
        a, b = here.on(space, fields), there.on(space, fields)
        data, out = random_bytes(rng, a.nbytes), random_bytes(rng, b.nbytes)
        moved(a, data, b, out)
        budget = rng.choice((1, 3000, 1 << 26))
        monkeypatch.setattr("isoviz.backends.boxes._GAP", rng.choice((0, 16, 4096)))  # blocks are long, or short
        monkeypatch.setattr("isoviz.backends.verify._BLOCK", rng.choice((1, 64, 1 << 16)))
        compared(transfer, data, out, folder, budget)
        at = rng.randrange(b.nbytes)
        out[at] ^= 1 << rng.randrange(8)
        location = b.locate(at)
        if location is None:
            padded += 1
            compared(transfer, data, out, folder, budget)
            continue
        with pytest.raises(VerificationError) as caught:
            compared(transfer, data, out, folder, budget)
        where_said = ", ".join(f"{dim}={i}" for dim, i in zip(space.dims, location.index, strict=True))
        assert f"field {location.field!r} at {where_said} is" in str(caught.value), case
    assert padded > 0


@pytest.mark.parametrize("where", ["memory", "file"])
def test_only_the_part_that_moved_is_compared(where: str, tmp_path: Path) -> None:
    here = Instance("m", IndexSpace(x=9, y=7), FieldSpace(a="f4", b="u1"), Layout("<x_in=2, F, y, x_out>"))
    there = Instance("m", IndexSpace(x=5, y=20), FieldSpace(b="u1", c="f8"), Layout("<F, y, x>"))
    transfer = Transfer(here, there, shape=(4, 3), source_origin=(3, 2), destination_origin=(1, 11), field_names=("b",))
    rng = random.Random(4)
    a, b = here.linearization, there.linearization
    data, out = random_bytes(rng, a.nbytes), random_bytes(rng, b.nbytes)
    for x, y in np.ndindex(4, 3):
        out[b.offset((x + 1, y + 11), "b")] = data[a.offset((x + 3, y + 2), "b")]
    folder = tmp_path if where == "file" else None
    compared(transfer, data, out, folder, 1 << 20)
    out[b.offset((0, 11), "b")] ^= 1
    out[b.offset((1, 11), "c")] ^= 1
    compared(transfer, data, out, folder, 1 << 20)
    out[b.offset((4, 13), "b")] ^= 1
    with pytest.raises(VerificationError, match="x=3, y=2"):
        compared(transfer, data, out, folder, 1 << 20)


def test_not_a_number_is_compared_by_its_bits() -> None:
    space, fields = IndexSpace(x=4), FieldSpace(v="f8")
    transfer = Transfer.whole(space, fields, "m", "<F, x>", "m", "<F, x>")
    nan = np.array([0x7FF8000000000001] * 4, "u8").view("u1")
    verify(transfer, HostStore(nan), HostStore(nan.copy()))
    other = nan.copy()
    other[0] ^= 2
    with pytest.raises(VerificationError):
        verify(transfer, HostStore(nan), HostStore(other))
    zero, minus = np.zeros(4).view("u1"), -np.zeros(4)
    with pytest.raises(VerificationError):
        verify(transfer, HostStore(zero), HostStore(minus.view("u1")))


class Counting(FileStore):
    """A file that counts how it is read."""

    runs = nbytes_read = 0

    def read_into(self, offset: int, into: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        self.runs += 1
        self.nbytes_read += len(into)
        super().read_into(offset, into)


@pytest.mark.parametrize(
    ("here", "there", "runs", "factor"),
    [
        ("<F, x, y>", "<F, y, x>", 20_000, 1.0),
        ("<F, x, y>", "<F, y_in=7, x_in=5, y_out, x_out>", 20_000, 1.5),
        ("<F, x_in=1000, y, x_out>", "<F, x, y>", 12_000, 1.0),
    ],
)
def test_files_are_read_in_long_runs_and_about_once(tmp_path: Path, here: str, there: str, runs: int, factor: float) -> None:
    space, fields = IndexSpace(x=2000, y=1500), FieldSpace(v="u1")
    transfer = Transfer.whole(space, fields, "m", here, "m", there)
    values = np.random.default_rng(2).integers(0, 256, (1500, 2000), dtype="u1")
    stores = []
    for name, layout in (("a", here), ("b", there)):
        order = Layout(layout).on(space, fields)
        store = HostStore(np.zeros(order.nbytes, "u1"))
        Boxes(store.array, order, ("y", "x")).write({"x": (0, 2000), "y": (0, 1500)}, "v", values[..., None])
        assert Layout(layout).is_blocked or np.array_equal(
            store.array, (values if name == "a" or layout == "<F, x, y>" else values.T).ravel()
        )
        (tmp_path / name).write_bytes(store.array.tobytes())
        stores.append(Counting(ReadFile(tmp_path / name), 0, order.nbytes))
    try:
        verify(transfer, *stores, 1 << 20)
        for store in stores:
            assert store.runs <= runs
            assert store.nbytes_read <= factor * store.nbytes
    finally:
        for store in stores:
            store.close()
