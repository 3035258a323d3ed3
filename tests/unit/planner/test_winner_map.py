"""The map of the fastest path by run length and number of runs, against plans of the same vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from isoviz import FieldSpace, IndexSpace, Instance, Options, Transfer, plan, sweep
from isoviz.errors import InputError
from isoviz.machines import Channel, LatencyBandwidth, Machine, Memory, preset
from isoviz.planner import WinnerMap
from isoviz.planner.explanation.curves.sweeping import map_steps

US, GB = 1e-6, 1e9
BYTES = FieldSpace(v="uint8")


def cluster(capacity: int | None = None) -> Machine:
    """Two GPUs: packing kernels and a quick network, or a slow channel that takes each run by itself."""
    memories = tuple(Memory(f"node{n}.fbm0", "FBM", n, capacity=capacity) for n in (0, 1))
    pack = LatencyBandwidth(0.01e-9, 400 * GB)
    kernels = tuple(Channel(f"pack{n}", "GPUCopy", f"node{n}.fbm0", f"node{n}.fbm0", pack, setup=6 * US) for n in (0, 1))
    ends = "node0.fbm0", "node1.fbm0"
    direct = Channel("runs", "GPUDirectRemote", *ends, LatencyBandwidth(0.5 * US, 10 * GB), setup=5 * US)
    return Machine("cluster", memories, (*kernels, direct))


def vector(run: int, runs: int, gaps: tuple[int, int] = (2, 2)) -> Transfer:
    here, there = (
        Instance(f"node{n}.fbm0", IndexSpace(x=run * gap, y=runs), BYTES, "<F, x, y>")  # type: ignore[arg-type]
        for n, gap in enumerate(gaps)
    )
    return Transfer(here, there, shape=(run, runs))


def best(machine: Machine, run: int, runs: int, gaps: tuple[int, int] = (2, 2)) -> tuple[tuple[str, ...], float]:
    found = plan(vector(run, runs, gaps), machine, "full")
    return tuple(hop.channel for hop in found.hops), found.objective


@pytest.mark.parametrize(("gaps", "said"), [((2, 2), "both ends"), ((2, 1), "the source"), ((1, 2), "the destination")])
def test_every_point_is_the_plan_of_its_vector(gaps: tuple[int, int], said: str) -> None:
    machine = cluster()
    found = sweep(vector(256, 64, gaps), machine, ("run", "runs"), ([16, 256, 65536], [1, 64, 1024]))
    assert found.gaps == said and len(found.points) == 9 and len(found.ways) > 1
    for point in found.points:
        channels, seconds = best(machine, point.run, point.runs, gaps)
        assert found.ways[point.way].channels == channels
        assert point.seconds == pytest.approx(seconds, rel=2e-3), "a plan may take a thousandth more, for larger chunks"


def test_the_transfer_is_a_point_and_the_boundaries_around_it_are_exact() -> None:
    machine = cluster()
    found = sweep(vector(1024, 40), machine, ("run", "runs"))
    assert found.now is not None and (found.now.run, found.now.runs) == (1024, 40) and found.own == found.now.way
    assert {turn.axis for turn in found.turns} == {"runs", "run"}
    for turn in found.turns:
        sizes = [(turn.fixed, value) if turn.axis == "runs" else (value, turn.fixed) for value in (turn.value - 1, turn.value)]
        assert turn.fixed == (1024 if turn.axis == "runs" else 40)
        winners = [best(machine, *size)[0] for size in sizes]
        assert winners == [found.ways[turn.before].channels, found.ways[turn.after].channels]
    text = str(found)
    assert "Moved run by run, the transfer is like 40 runs of 1 KiB" in text
    assert text.count("\n") > len(found.columns) and "Runs of 1 KiB: A (" in text


def test_the_map_is_that_of_the_starts_that_are_asked_for() -> None:
    machine, runs = preset("theta-gpu"), ([1024, 4096], [16, 64])
    once, often = (sweep(vector(1024, 64), machine, ("run", "runs"), runs, Options(reuse=reuse)) for reuse in (1, 1000))
    assert (once.reuse, often.reuse) == (1, 1000) and "each 1,000 times" in str(often)
    for found in (once, often):
        for point in found.points:
            same = plan(vector(point.run, point.runs), machine, "full", Options(reuse=found.reuse))
            assert found.ways[point.way].channels == tuple(hop.channel for hop in same.hops)
            assert point.seconds == pytest.approx(same.objective, rel=2e-3)
    assert once.now is not None and often.now is not None
    assert once.ways[once.now.way].kinds == ("GPUCopy", "GPUDirectRemote", "GPUCopy")
    assert often.ways[often.now.way].kinds == ("UMR",)


def test_maps_get_better_and_the_last_one_is_whole() -> None:
    machine, transfer = cluster(), vector(64, 64)
    values = tuple(2**k for k in range(3, 9)), tuple(2**k for k in range(6))
    maps = [found for found in map_steps(transfer, machine, Options(), values) if found is not None]
    assert [each.whole for each in maps] == [*[False] * (len(maps) - 1), True]
    assert [len(each.points) for each in maps] == sorted(len(each.points) for each in maps)
    whole = {(point.run, point.runs): point.seconds for point in maps[-1].points}
    for each in maps:
        assert all(whole[point.run, point.runs] == point.seconds for point in each.points)
    assert maps[-1] == sweep(transfer, machine, ("run", "runs"), values)


def test_what_does_not_fit_is_left_out_and_said() -> None:
    found = sweep(vector(64, 64), cluster(capacity=1 << 20), ("run", "runs"), ([64, 1 << 20], [4, 64]))
    assert {(point.run, point.runs) for point in found.points} == {(64, 4), (64, 64)}
    assert "2 points have no plan" in str(found) and "–" in str(found)


def test_little_planning_time_stops_the_map() -> None:
    found = sweep(vector(64, 64), cluster(), ("run", "runs"), options=Options(planning_time=2e-3))
    assert found.stopped and 0 < len(found.points) < len(found.columns) * len(found.rows)
    assert "The planning time did not suffice" in str(found)


def test_a_whole_matrix_that_is_transposed_has_runs_of_one_element() -> None:
    space = IndexSpace(x=64, y=64)
    turned = Transfer.whole(space, FieldSpace(v="f8"), "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    found = sweep(turned, cluster(), ("run", "runs"), ([8], [4096]))
    assert found.gaps == "both ends" and found.now is not None and (found.now.run, found.now.runs) == (8, 4096)


def test_paths_that_read_alike_are_told_apart() -> None:
    machine = cluster()
    twin = replace(machine.channel("runs"), name="second", throughput=LatencyBandwidth(0.1 * US, 5 * GB))
    found = sweep(vector(64, 64), replace(machine, channels=(*machine.channels, twin)), ("run", "runs"))
    names = found.names
    assert len(set(names)) == len(names) and any("(runs)" in name for name in names) and any("(second)" in name for name in names)


@pytest.mark.parametrize(
    ("parameter", "values", "words"),
    [
        (("runs", "run"), None, "or the pair"),
        (("run", "runs"), [1, 2, 3], "expected two collections"),
        (("run", "runs"), ([], [1]), "expected lengths of runs, got none"),
        (("run", "runs"), ([8], [0]), "from 1 to"),
        (("run", "runs"), ([8.5], [1]), "whole number"),
    ],
)
def test_bad_questions_are_refused(parameter: Any, values: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        sweep(vector(64, 64), cluster(), parameter, values)


def test_regions_have_one_letter_each() -> None:
    found: WinnerMap = sweep(vector(1024, 40), cluster(), ("run", "runs"))
    assert {point.way for point in found.regions} == {point.way for point in found.points}
    assert len(found.regions) == len(set(found.regions)) < len(found.points) / 4
