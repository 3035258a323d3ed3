"""Padding that both ends of a hop have moves along: blocks stay whole, and what is written there is never anybody else's data."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Layout, Transfer, plan
from isoviz.machines import preset
from isoviz.planner import Options

FIELDS = FieldSpace.of({"a": "V12", "b": "f8", "c": "u1"})


def entries(array: np.ndarray, layout: str, space: IndexSpace) -> list[bytes]:
    """The bytes of every (index, field), in an order of their own."""
    lin = Layout(layout).on(space, FIELDS)
    flat = array.tobytes()
    sizes = dict(zip(FIELDS.names, FIELDS.sizes, strict=True))
    found = []
    for index in np.ndindex(*space.sizes):
        for name in FIELDS.names:
            at = lin.offset(index, name)
            found.append(flat[at : at + sizes[name]])
    return found


def padding_of(array: np.ndarray, layout: str, space: IndexSpace) -> np.ndarray:
    """The bytes that belong to no entry."""
    lin = Layout(layout).on(space, FIELDS)
    free = np.ones(lin.nbytes, bool)
    for index in np.ndindex(*space.sizes):
        for name, size in zip(FIELDS.names, FIELDS.sizes, strict=True):
            at = lin.offset(index, name)
            free[at : at + size] = False
    return array[free]


@pytest.mark.parametrize(
    ("here", "there", "padding"),
    [
        ("<x_in=3, F, x_out, y>", "<x_in=3, F, x_out, y>", (2, 0)),  # equal: the blocks of every row with their last one
        ("<x_in=3, F, x_out, y>", "<F, x_in=3, x_out, y>", (0, 0)),  # both pad by 2, but that is half as many bytes again
        ("<F, x, y>", "<x_in=3, F, x_out, y>", (0, 0)),
    ],
)
def test_what_moves_along(here: str, there: str, padding: tuple[int, int]) -> None:
    machine = preset("local", measure="assumed")
    made = plan(Transfer.whole(IndexSpace(x=4, y=50), FIELDS, "node0.sys", here, "node0.dsk", there), machine)
    assert made.padding[0] == padding or len(made.hops) > 1
    last = made.copies(len(made.hops) - 1, 0)
    if here == there:
        assert len(made.hops) == 1
        assert not any(copy.loops for copy in last)


def test_a_part_moves_without_padding() -> None:
    machine = preset("local", measure="assumed")
    space = IndexSpace(x=4, y=50)
    whole = Transfer.whole(space, FIELDS, "node0.sys", "<x_in=3, F, x_out, y>", "node0.dsk", "<x_in=3, F, x_out, y>")
    part = Transfer(whole.source, whole.destination, shape=(4, 20))
    assert plan(part, machine).padding == ((0, 0),) * len(plan(part, machine).hops)


def test_padding_is_no_reason_for_another_chunk() -> None:
    space, fields = IndexSpace(x=5, y=1358), FieldSpace(a="f8", b="V7")
    made = plan(
        Transfer.whole(space, fields, "node0.sys", "<F, y, x>", "node0.sys", "<F, y_in=256, x_in=2, y_out, x_out>"),
        preset("local"),
    )
    assert made.chunk_count == 1


def test_chunks_of_nothing_but_padding() -> None:
    """In several requests each: there is nothing to move, and nothing goes wrong."""
    machine = preset("local", measure="assumed")
    fields, space = FieldSpace(a="f4", b="f4"), IndexSpace(x=200001)
    with Engine(machine) as engine:
        for layout in ("<F, x_in=8, x_out>", "<x_in=131072, F, x_out>"):
            made = plan(Transfer.whole(space, fields, "node0.sys", "<F, x>", "node0.sys", layout), machine)
            assert engine.run(made).verified


def test_padding_never_shows_what_a_buffer_held_before(tmp_path: Path) -> None:
    """Buffers are used again: what lay in them must not get into a file."""
    space = IndexSpace(x=4, y=500)
    layout = "<x_in=3, F, x_out, y>"
    source = np.full(space.volume * FIELDS.nbytes, 0xFF, np.uint8)
    machine = preset("local", measure="assumed", directory=tmp_path)
    with Engine(machine) as engine:
        for name in ("first", "second", "third"):
            path = tmp_path / name
            engine.run(plan(Transfer.whole(space, FIELDS, "node0.sys", "<F, x, y>", "node0.dsk", layout), machine), source, path)
            found = np.fromfile(path, np.uint8)
            assert not padding_of(found, layout, space).any()
            assert entries(found, layout, space) == entries(source, "<F, x, y>", space)


def test_random_padded_layouts(tmp_path: Path, full: bool) -> None:
    """Blocks that do not divide, in up to three dimensions, over memory and disk: the entries arrive, in small chunks too."""
    rng, moved = random.Random(3), 0
    machine = preset("local", measure="assumed", directory=tmp_path)
    with Engine(machine) as engine:
        for case in range(300 if full else 50):
            space = IndexSpace.of({dim: rng.randint(2, 9) for dim in "xyz"[: rng.randint(1, 3)]})
            parts = ["F"]
            for dim, size in space.as_dict().items():
                parts += [f"{dim}_in={rng.randint(2, size)}", f"{dim}_out"]
            rng.shuffle(parts)
            here = f"<{', '.join(parts)}>"
            rng.shuffle(parts)
            there = here if rng.random() < 0.5 else f"<{', '.join(parts)}>"
            memory = rng.choice(("node0.sys", "node0.dsk"))
            options = Options(slot_limit=rng.choice((64, 300, None)))
            made = plan(Transfer.whole(space, FIELDS, "node0.sys", here, memory, there), machine, options=options)
            source = np.frombuffer(rng.randbytes(Layout(here).on(space, FIELDS).nbytes), np.uint8)
            found = np.zeros(Layout(there).on(space, FIELDS).nbytes, np.uint8)
            target = tmp_path / f"{case}.raw" if memory == "node0.dsk" else found
            engine.run(made, source, target)
            if memory == "node0.dsk":
                found = np.fromfile(target, np.uint8)
            assert entries(found, there, space) == entries(source, here, space), (here, there, space)
            moved += any(map(any, made.padding))
    assert moved > 10
