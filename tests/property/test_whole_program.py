"""Section 4.2 as one mixed-integer program, against the programs of all paths one by one, and against the planner `full`.

The paths are enumerated here by code that knows nothing of the package (`brute_force.paths`), and the program of each path is
solved on its own. So the two answers have in common what a row says, and nothing of how a path is found.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from typing import Any

import planner_problems
import pytest
from brute_force import paths
from planner_problems import build, random_problem, regular

from isoviz.errors import LimitError, NoPathError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset, presets
from isoviz.planner import Options, Plan, Transfer, certificate, load_transfer, plan
from isoviz.planner.explanation.alternatives import alternatives
from isoviz.planner.one_path.choice import Choice
from isoviz.planner.paths.routes import Route
from isoviz.planner.problem import Problem
from isoviz.planner.program.certificate import path_program
from isoviz.planner.program.path_bound import solve
from isoviz.planner.whole_program.solving import WholeSolution, solve_whole

Report = Callable[[str, object], None]

AGREE = 1e-6
ABOVE = 1e-9
"""How far a plan may be above a bound: rounding."""
WHOLE_SIZES = 0.05
"""What whole numbers cost `full` on large transfers with functions that rise no faster than runs: it takes round block sizes, up
to 3 % smaller at an end, leaves up to a thousandth of T for fewer chunks, and balances the rest against filling its pipeline."""
ON_PRESETS = 0.01
"""The same where runs are long enough to lie on the flat part of the functions."""
FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
BATCH = 125 if FULL else 10
BATCHES = [k * BATCH for k in range(4 if not FULL else 8)]


def best_of_all_paths(given: dict[str, Any], problem: Problem) -> float:
    """The highest optimum of the programs of all paths, hops that convert and families of layouts; 0 where none has room."""
    channels = {channel.name: channel for channel in problem.machine.channels}
    best = 0.0
    for path in paths(given):
        route = tuple(channels[channel["name"]] for channel in path)
        hops, inside = len(route), tuple(channel.destination for channel in route[:-1])
        if problem.limit(inside) < problem.largest:
            continue
        for at in range(hops) if problem.ends.converts else (None,):
            for family in problem.ends.families if at not in (None, 0, hops - 1) else (None,):
                runs = problem.runs(hops, at)
                choice = Choice(0.0, Route(route, at), family, 1, 1, 1, 1.0, 1, runs, problem.slots)
                program = path_program(problem, choice)
                if program.upper_bound > best:
                    try:
                        best = max(best, solve(program, prices=False).throughput)
                    except LimitError:
                        continue
    return best


def solved(problem: Problem) -> WholeSolution | None:
    try:
        return solve_whole(problem)
    except (LimitError, NoPathError):
        return None


def planned(transfer: Transfer, machine: Any, planner: str, options: Options) -> Plan | None:
    try:
        return plan(transfer, machine, planner, options)
    except (LimitError, NoPathError):
        return None


def staged_problem(seed: int) -> dict[str, Any]:
    """A random problem on a machine whose ends need long runs, and with something between them that does not: converting between
    two buffers pays. Dimensions are larger, so that blocks have many sizes."""
    given = random_problem(seed)
    draw = random.Random(f"{seed} staged")
    memories, channels, here, there = planner_problems._staged(draw)
    for channel in channels:
        channel["resources"] = ()
    times = draw.choice((1, 4, 16))
    given |= {
        "memories": memories,
        "channels": tuple(channels),
        "source": (here, given["source"][1]),
        "destination": (there, given["destination"][1]),
        "sizes": {dim: size * times for dim, size in given["sizes"].items()},
        "resources": {},
        "options": {"slot_limit": None, "memory_limit": None, "slots": None},
    }
    planner_problems._add_resources(draw, given)
    planner_problems._add_limits(draw, given)
    return given


@pytest.mark.parametrize("first", BATCHES)
@pytest.mark.parametrize("made", [random_problem, staged_problem])
@pytest.mark.few(2)
def test_one_program_finds_what_all_paths_find(report: Report, made: Callable[[int], dict[str, Any]], first: int) -> None:
    """1 to 3 dimensions, up to six memories, parallel channels, resources, limits of slots, memories and all buffers."""
    for seed in range(first, first + BATCH):
        given = made(seed)
        assert regular(given)
        transfer, machine, options = build(given)
        problem = Problem(transfer, machine, options)
        best, found = best_of_all_paths(given, problem), solved(problem)
        report("problems of the whole program against all paths", 1)
        if found is None:
            assert best == 0.0, f"seed {seed}: no path, but all paths find {best}"
            continue
        assert found.finished and found.exact, f"seed {seed}: {found}"
        assert found.throughput == pytest.approx(best, rel=AGREE), f"seed {seed}: {found}"
        assert found.bound == pytest.approx(best, rel=AGREE), f"seed {seed}: {found}"
        if found.block is not None:
            report("... of them converting between two buffers", 1)
        if found.model.resources:
            report("... of them with shared resources", 1)


@pytest.mark.parametrize("first", BATCHES)
@pytest.mark.parametrize("non_nesting", [False, True])
@pytest.mark.few(2)
def test_no_plan_is_above_the_bound(report: Report, first: int, non_nesting: bool) -> None:
    """Neither `full` nor `program`, and both find a path where there is one; also where blocks do not nest, or pad."""
    for seed in range(first, first + BATCH):
        transfer, machine, options = build(random_problem(seed, non_nesting=non_nesting))
        bound = solved(Problem(transfer, machine, options))
        full, program = (planned(transfer, machine, name, options) for name in ("full", "program"))
        assert (full is None) == (program is None), f"seed {seed}"
        if full is None or program is None:
            continue
        assert bound is not None
        report("plans against the bound of the whole program", 2)
        for each in (full, program):
            assert each.throughput <= bound.bound * (1 + ABOVE), f"seed {seed}: {each}\n{bound}"
        assert program.objective >= full.objective * (1 - 1e-9), f"seed {seed}: {program}\n{full}"


@pytest.mark.parametrize("first", BATCHES)
@pytest.mark.parametrize("non_nesting", [False, True])
@pytest.mark.few(2)
def test_no_plan_is_above_the_program_of_its_path(report: Report, first: int, non_nesting: bool) -> None:
    """`certificate` would raise InternalError."""
    for seed in range(first, first + BATCH):
        transfer, machine, options = build(random_problem(seed, non_nesting=non_nesting))
        for name in ("full", "simple", "spsl", "spdl", "direct"):
            found = planned(transfer, machine, name, options)
            if found is not None:
                known = certificate(found, machine, options)
                assert found.throughput <= known.bound * (1 + ABOVE), f"{name}, seed {seed}: {found}\n{known}"
                report("plans against the program of their own path", 1)


@pytest.mark.parametrize("first", BATCHES)
def test_no_plan_to_try_is_above_the_program_of_its_path(report: Report, first: int) -> None:
    """Other paths, layouts and chunks that a trial of several plans tries, longer chunks without buffers among them."""
    for seed in range(first, first + BATCH):
        transfer, machine, options = build(random_problem(seed))
        found = planned(transfer, machine, "full", options)
        for each in alternatives(found, machine, 6, options) if found is not None else ():
            known = certificate(each, machine, options)
            assert each.throughput <= known.bound * (1 + ABOVE), f"seed {seed}: {each}\n{known}"
            report("plans to try against the program of their own path", 1)


def grown(seed: int) -> dict[str, Any]:
    """A random problem with dimensions, runs and limits large enough that whole numbers cost little, and functions that rise no
    faster than runs."""
    given = random_problem(seed)
    draw = random.Random(f"{seed} grown")
    # A slot has room for the largest field for each element; the program counts bytes. So all fields have one size here.
    given["fields"] = given["fields"][:1] * len(given["fields"])
    sizes = given["sizes"]
    times = {1: 1 << 18, 2: 1 << 9, 3: 1 << 6}[len(sizes)]
    given["sizes"] = {dim: size * times for dim, size in sizes.items()}
    for channel in given["channels"]:
        top = draw.choice((1e6, 2e6, 5e6, 1e7))
        run = draw.choice((64.0, 256.0, 1024.0))
        channel["throughput"] = draw.choice(
            (("constant", top), ("latency", run / top, top), ("samples", ((run, top / 4), (run * 16, top))))
        )
        channel["setup"] = 0.0
    for memory in given["memories"].values():
        memory["capacity"] = memory["slot_limit"] = None
    given["limits"] |= {"slots": 2, "overlap": True, "slot_limit": 1 << 15, "memory_limit": None}
    given["options"] = {"slot_limit": None, "memory_limit": draw.choice((None, 1 << 17)), "slots": None}
    return given


def in_boxes(layout: tuple[Any, ...]) -> bool:
    """Whether a run of the layout is a box: no digit lies before a faster digit of its dimension. `full` cuts other orders into
    chunks of a few boxes, for the engine's sake, which the program knows nothing of."""
    return all(
        late == "F" or early == "F" or early[0] != late[0] or early[1] < late[1]
        for k, late in enumerate(layout)
        for early in layout[:k]
    )


@pytest.mark.parametrize("first", BATCHES)
@pytest.mark.few(1)
def test_full_reaches_the_bound_on_large_transfers(report: Report, first: int) -> None:
    for seed in range(first, first + BATCH):
        given = grown(seed)
        transfer, machine, options = build(given)
        full = planned(transfer, machine, "full", options)
        if full is None or not all(in_boxes(given[end][1]) for end in ("source", "destination")):
            continue
        bound = solve_whole(Problem(transfer, machine, options))
        assert bound is not None and bound.finished
        share = full.throughput / bound.bound
        report("large transfers of full against the bound", 1)
        assert 1 - WHOLE_SIZES <= share <= 1 + ABOVE, f"seed {seed}: {share}, {full}\n{bound}"


AOS, SOA, TRANSPOSED = "<F, x, y>", "<x, y, F>", "<F, y, x>"


LARGE = "dgx-h100-pair"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name == LARGE else ()) for name in presets() if name != "local"]
)
@pytest.mark.few(3)
def test_presets(name: str) -> None:
    """`full` reaches the bound of the program between memories of each kind on all machines of the package, but for what its
    blocks and chunks of whole numbers take."""
    machine = preset(name, **({"ranks": 2, "measure": "assumed"} if name == "ranks" else {}))
    names = [memory.name for memory in machine.memories]
    pairs = [(names[0], names[-1]), (names[-1], names[0]), ("node0.fbm0", "node1.fbm0"), (names[0], names[0])]
    fields, size = FieldSpace(re="float32", im="float32"), 1 << 14
    checked = 0
    for here, there in pairs if FULL else pairs[:3:2]:
        for source, destination in ((AOS, TRANSPOSED), (AOS, SOA), (AOS, AOS))[: 3 if FULL else 1]:
            if there not in names or (here == there and source == destination):
                continue
            transfer = Transfer.whole(IndexSpace(x=size, y=size), fields, here, source, there, destination)
            problem = Problem(transfer, machine, Options())
            try:
                bound = solve_whole(problem)
                full, program = plan(transfer, machine, "full"), plan(transfer, machine, "program")
            except TransferError:  # too large for the memory, or one without a way back
                continue
            assert bound is not None and bound.finished
            for each in (full, program):
                assert each.throughput <= bound.bound * (1 + ABOVE)
            checked += 1
            if not bound.exact:  # requests and layout changes cost time that the program leaves out
                assert not all(channel.is_plain for channel in machine.channels)
                continue
            assert bound.throughput == pytest.approx(bound.bound, rel=AGREE)
            assert full.throughput >= bound.bound * (1 - ON_PRESETS), f"{here} → {there}, {source} → {destination}: {full}"
    assert checked


def test_the_paper_s_example() -> None:
    """Section 4.3: FBM → ZCM → REG → the other node → FBM, the hop between ZCM and REG converting, 3 GB/s."""
    file = load_transfer("examples/fbm_to_remote_fbm.toml")
    found = plan(file.transfer, file.machine(), "program")
    bound = solve_whole(Problem(file.transfer, file.machine(), Options()))
    assert bound is not None
    assert bound.bound == pytest.approx(3e9, rel=1e-8)
    assert found.throughput == pytest.approx(3e9, rel=1e-2)
    assert [hop.kind for hop in found.hops] == ["GPURead", "Memcpy", "RemoteMemcpy", "GPUWrite"]
    assert found.converting == (1,)
    assert math.prod(size for _, _, size in bound.kept) <= 2**25 / 16 * (1 + 1e-6)
    assert plan(file.transfer, file.machine(), "full").throughput == pytest.approx(3e9, rel=1e-9)
