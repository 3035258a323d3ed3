"""Entries of files by list: read and written in the order of the file, neighbours together; every byte is right."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Instance, Layout, Machine, Transfer, cost, plan, preset, rest

TYPES = ("u1", "<f4", ">f8", "V12", "V700", "V5000", "V40000")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return preset("local", directory=tmp_path_factory.mktemp("disk"), measure="assumed")


def some_of(rng: random.Random, count: int, size: int) -> np.ndarray[Any, Any]:
    """Different entries: at random, ascending, or in stretches."""
    found = rng.sample(range(size), count)
    if rng.random() < 0.3:
        first = rng.randint(0, size - count)
        found = [*range(first + count // 2, first + count), *range(first, first + count // 2)]
    return np.array(sorted(found) if rng.random() < 0.3 else found)


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(120))
def test_random_lists(seed: int, machine: Machine, tmp_path: Path) -> None:
    rng = random.Random(seed)
    dtype = np.dtype(rng.choice(TYPES))
    size = rng.randint(1, max(2, min(3000, (2 << 20) // dtype.itemsize)))
    count = rng.randint(1, size)
    rows = rng.choice((1, 1, 3))
    ends = rng.choice((("dsk", "sys"), ("sys", "dsk"), ("dsk", "dsk")))
    entries, to = some_of(rng, count, size), some_of(rng, count, size)
    if rng.random() < 0.2:
        entries = entries[rng.choices(range(count), k=count)]  # some entries come several times
    fields, space = FieldSpace.of({"v": dtype}), IndexSpace(x=size, y=rows)
    packed = rng.random() < 0.4
    layouts = [rng.choice(("<F, x, y>", "<F, y, x>")) for _ in ends]
    into = IndexSpace(x=count, y=rows) if packed else space
    where = [str(tmp_path / name) if end == "dsk" else None for name, end in zip(("in.bin", "out.bin"), ends, strict=True)]
    instances = [
        Instance(f"node0.{end}", held, fields, Layout(layout), path)
        for end, held, layout, path in zip(ends, (space, into), layouts, where, strict=True)
    ]
    made = Transfer.listed(instances[0], instances[1], entries={"x": entries}, to=rest if packed else {"x": to})
    data = np.random.default_rng(seed).integers(0, 256, space.volume * dtype.itemsize, np.uint8)
    if where[0] is not None:
        Path(where[0]).write_bytes(data.tobytes())
    room = None if where[1] is not None else np.zeros(into.volume * dtype.itemsize, np.uint8)
    chosen = plan(made, machine)
    if ends == ("sys", "dsk") or ends == ("dsk", "sys"):
        chosen = rng.choice((chosen, cost(made, machine, [f"node0.{end}" for end in ends])))
    with Engine(machine) as engine:
        report = engine.run(chosen, None if where[0] is not None else data, room)
    assert report.verified
    found = room if where[1] is None else np.fromfile(where[1], np.uint8)
    source, there = (
        bytes_.view(f"V{dtype.itemsize}").reshape((held["y"], held["x"]) if layout == "<F, x, y>" else (held["x"], held["y"]))
        for bytes_, held, layout in ((data, space, layouts[0]), (found, into, layouts[1]))
    )
    source, there = (array if layout == "<F, x, y>" else array.T for array, layout in zip((source, there), layouts, strict=True))
    wanted = np.zeros_like(there)
    wanted[:, np.arange(count) if packed else to] = source[:, entries]
    assert np.array_equal(there, wanted)


def test_entries_near_each_other_are_read_together(machine: Machine, tmp_path: Path) -> None:
    """A thousand entries of 8 B at random in 64 KiB are one request, and a permutation of a file is written in one."""
    fields, space = FieldSpace(v="f8"), IndexSpace(x=8192)
    values = np.random.default_rng(1).random(8192)
    file = tmp_path / "in.bin"
    values.tofile(file)
    entries = np.random.default_rng(2).permutation(8192)[:1000]
    read = Transfer.listed(
        Instance("node0.dsk", space, fields, "<F, x>", str(file)),  # type: ignore[arg-type]
        Instance("node0.sys", IndexSpace(x=1000), fields, "<F, x>"),  # type: ignore[arg-type]
        entries=entries,
    )
    room = np.zeros(1000)
    with Engine(machine) as engine:
        report = engine.run(cost(read, machine, ["node0.dsk", "node0.sys"]), None, room)
        assert np.array_equal(room, values[entries])
        assert report.hops[0].requests <= 2
        order = np.random.default_rng(3).permutation(8192)
        written = Transfer.listed(
            Instance("node0.sys", space, fields, "<F, x>"),  # type: ignore[arg-type]
            Instance("node0.dsk", space, fields, "<F, x>", str(tmp_path / "out.bin")),  # type: ignore[arg-type]
            to=order,
        )
        report = engine.run(cost(written, machine, ["node0.sys", "node0.dsk"]), values, None)
        assert report.hops[0].requests <= 2
    wanted = np.zeros(8192)
    wanted[order] = values
    assert np.array_equal(np.fromfile(tmp_path / "out.bin"), wanted)
