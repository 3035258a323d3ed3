"""Arrays without elements: taken where no index space is needed, and refused alike where one is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz.errors import ArrayError, EmptyArrayError, FileError
from isoviz.layouts.geometry import view_of_array
from isoviz.redistribution.running.on_rank import OnRank, redistribute_on_rank
from isoviz.runtime.ranks.rank_engine import RankEngine

sys.path.append(str(Path(__file__).parents[1] / "ranks"))
from group import group

MACHINE = isoviz.machines.preset("local")
EMPTY = np.zeros((3, 0), "f4")
ALIGNED = np.zeros((0, 4, 2), np.dtype([("a", "u1"), ("b", "f8")], align=True))
SPACE = isoviz.IndexSpace(x=2, y=3)
WORDS = r"has no elements \(shape \(3, 0\)\), and every size of an index space is at least 1"


def plan_of(machine: isoviz.Machine, source: str, destination: str) -> isoviz.Plan:
    transfer = isoviz.Transfer.whole(SPACE, isoviz.FieldSpace(v="f4"), source, "<F, x, y>", destination, "<F, y, x>")
    return isoviz.plan(transfer, machine)


def test_they_have_layouts() -> None:
    assert isoviz.Layout.of(EMPTY) == isoviz.Layout("<F, x, y>")
    assert isoviz.Layout.of(EMPTY.T) == isoviz.Layout("<F, x, y>")
    assert isoviz.Layout.of(ALIGNED, ["a", "b", "c"]) == isoviz.Layout("<F, c, b, a>")


def test_they_are_relaid_and_converted(tmp_path: Path) -> None:
    assert isoviz.relayout(EMPTY, isoviz.Layout.of(EMPTY), "<F, y, x>").shape == (0, 3)
    np.save(tmp_path / "in.npy", EMPTY)
    isoviz.convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>")
    assert np.load(tmp_path / "out.npy").shape == (0, 3)


@pytest.mark.parametrize(
    ("source", "source_layout", "destination", "destination_layout"),
    [
        (EMPTY, "<F, x, y>", np.zeros((0, 3), "f4"), "<F, y, x>"),
        (EMPTY, "<F, x, y>", EMPTY.copy(), "<F, x, y>"),
        (np.zeros(0, "i2"), "<F, x>", np.zeros(0, "i2"), "<F, x>"),
        (ALIGNED, "<F, x, y, z>", np.zeros((4, 0, 2), [("a", "u1"), ("b", "f8")]), "<F, x, z, y>"),
        (ALIGNED[["b", "a"]], "<F, x, y, z>", ALIGNED.copy(), "<F, x, y, z>"),
    ],
)
def test_they_are_copied(source: Any, source_layout: str, destination: Any, destination_layout: str) -> None:
    with isoviz.Engine(MACHINE) as engine:
        event = engine.copy(source, source_layout, destination, destination_layout)
        event.wait(60)
    assert event.done and event.bytes_done == 0 and event.progress == 1
    assert "empty arrays" in repr(event)
    with pytest.raises(EmptyArrayError, match="no plan"):
        event.plan  # noqa: B018


@pytest.mark.parametrize(
    ("destination", "layout"),
    [
        (np.zeros((3, 0), "f4"), "<F, y, x>"),
        (np.zeros((0, 2), "f4"), "<F, y, x>"),
        (np.zeros((0, 3), "f8"), "<F, y, x>"),
        (np.zeros((0, 3), [("v", "f4"), ("w", "f4")]), "<F, y, x>"),
        (np.zeros((2, 3), "f4"), "<F, y, x>"),
        (np.zeros((0, 2, 2), "f4"), "<F, y_in=2, y_out, x>"),
    ],
)
def test_they_are_not_copied_to_what_does_not_fit(destination: Any, layout: str) -> None:
    with isoviz.Engine(MACHINE) as engine:
        for ends in ((EMPTY, "<F, x, y>", destination, layout), (destination, layout, EMPTY, "<F, x, y>")):
            with pytest.raises(ArrayError):
                engine.copy(*ends)


def test_what_needs_an_index_space_refuses_them_alike(tmp_path: Path) -> None:
    source, filled = np.ones((3, 2), "f4"), np.zeros((2, 3), "f4")
    path, out = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(path, EMPTY)
    with isoviz.Engine(MACHINE) as engine:
        plan, of_file = plan_of(MACHINE, "node0.sys", "node0.sys"), plan_of(MACHINE, "node0.dsk", "node0.sys")
        of_arrays: list[Callable[[], object]] = [
            lambda: view_of_array(EMPTY),
            lambda: isoviz.explore(EMPTY),
            lambda: isoviz.relayout(EMPTY, "<F, x, y>", "<F, y, x>", space=SPACE),
            lambda: isoviz.relayout(source, "<F, x, y>", "<F, y, x>", out=EMPTY.copy()),
            lambda: engine.run(plan, EMPTY, filled),
            lambda: engine.run(plan, source, EMPTY),
            lambda: engine.submit(plan, EMPTY, filled).wait(60),
            lambda: engine.prepare(plan, EMPTY, filled),
            lambda: engine.copy(EMPTY, "<F, x, y>", filled, "<F, y, x>"),
            lambda: engine.copy(EMPTY, "<F, x, y>", out, "<F, y, x>"),
        ]
        for number, call in enumerate(of_arrays):
            with pytest.raises(EmptyArrayError, match=WORDS):
                pytest.fail(f"call {number} took it: {call()}")
        of_files: list[Callable[[], object]] = [
            lambda: engine.run(of_file, path, filled),
            lambda: engine.copy(path, "<F, x, y>", filled, "<F, y, x>"),
            lambda: isoviz.convert(path, out, "<F, x, y>", "<F, y, x>", space=SPACE),
        ]
        for number, call in enumerate(of_files):
            with pytest.raises(FileError, match=WORDS):
                pytest.fail(f"call {number} took it: {call()}")
    assert not out.exists()


def test_ranks_refuse_them_unless_they_hold_no_part(tmp_path: Path) -> None:
    machine = isoviz.machines.preset("ranks", ranks=3, measure="assumed")
    plan = plan_of(machine, "node0.sys", "node1.sys")
    fields, layout = isoviz.FieldSpace(v="f4"), isoviz.Layout("<F, x, y>")
    ends = [isoviz.DistributedInstance(SPACE, fields, isoviz.Distribution({}, ranks=(rank,)), layout) for rank in (0, 1)]
    filled = np.arange(6, dtype="f4").reshape(3, 2)
    with group(machine, tmp_path, 3) as ranks:
        found = ranks.together(lambda engine: engine.run(plan, EMPTY if engine.rank == 0 else None))
        assert isinstance(found[0], EmptyArrayError) and WORDS.split("\\")[0] in str(found[0])
        assert all("has no elements" in str(error) for error in found)

        def redistributed(engine: RankEngine, other: Any, mine: Any) -> OnRank:
            array = mine if engine.rank == 0 else other
            return redistribute_on_rank(engine, *ends, array, None if engine.rank == 1 else other)

        done = ranks.together(lambda engine: redistributed(engine, EMPTY, filled))
        assert np.array_equal(done[1].array, filled)
        refused = ranks.together(lambda engine: redistributed(engine, EMPTY, EMPTY))
        assert isinstance(refused[0], EmptyArrayError) and all("has no elements" in str(error) for error in refused)
        refused = ranks.together(lambda engine: redistributed(engine, filled, filled))
        assert all("holds no part" in str(error) for error in refused)
