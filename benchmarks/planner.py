"""Planning time of each planner on a cluster of two nodes, with sizes that are new every time.

The same run measures a shortest path by networkx on the machine's graph, and one linear program of the winning path, solved
with PuLP. Figures of the paper's C++ (Isometry, sections 4.4, 6.3 and 6.5) stand beside them; they are from another machine.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import networkx

from benchmarks.growth import REPEAT, PlannerTable, growth
from isoviz.bench.table import interleaved, seconds_of
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, MachineLike, preset
from isoviz.planner import CACHE, Options, Transfer, plan
from isoviz.planner.full import forget_machines, search
from isoviz.planner.problem import Problem
from isoviz.planner.program.certificate import path_program
from isoviz.planner.program.path_bound import PathProgram, in_pulp, solve
from isoviz.units import format_bytes, format_seconds

MIB = 1 << 20
SIZES = {"16 MiB": 16 * MIB, "256 MiB": 256 * MIB, "8 GiB": 8192 * MIB}
PAPER = {"full 1-D": "up to 100 µs", "full 2-D": "up to 200 µs"} | dict.fromkeys(
    ("spsl 1-D", "spdl 1-D", "simple 1-D"), "2 to 9 µs"
)
"""Sections 6.3 (1-D, AOS to SOA) and 4.4 (2-D)."""
NETWORKX, PULP = "networkx shortest path", "one PuLP solve"
BATCH = 100
"""Cached plans that are timed together: one takes hardly longer than reading the clock."""
IN_A_ROW = 5
"""New transfers that are planned one after the other."""
MOST_FIRST, MOST_CERTIFIED = 7, 20
"""Repetitions of what takes milliseconds."""
_INTEGERS = FieldSpace.of({f"f{i}": "int32" for i in range(8)})
_COMPLEX = FieldSpace(value="complex128")
_NUMBERS = itertools.count(1)
"""Every transfer of this process gets another one, so that none has the sizes of one before."""

Make = Callable[[int, int, str], Transfer]
"""(bytes, k, memory) → the k-th transfer of about this size, from a memory of one node to that of the other."""


def _line(nbytes: int, k: int, memory: str) -> Transfer:
    """AOS to SOA, as in Isometry 6.3."""
    space = IndexSpace(x=nbytes // _INTEGERS.nbytes - k % 100_000)
    return Transfer.whole(space, _INTEGERS, f"node0.{memory}", "<F, x>", f"node1.{memory}", "<x, F>")


def _square(nbytes: int, k: int, memory: str) -> Transfer:
    """A transposition, as in Isometry 4.3."""
    side = int((nbytes // _COMPLEX.nbytes) ** 0.5)
    space = IndexSpace(x=side - k % 60, y=side - k // 60 % 300)
    return Transfer.whole(space, _COMPLEX, f"node0.{memory}", "<F, x, y>", f"node1.{memory}", "<F, y, x>")


CASES: Mapping[str, Make] = {"1-D": _line, "2-D": _square}


def measure(repeat: int = 100) -> PlannerTable:
    """Planning times on `sapling`; medians of `repeat` plans each, of fewer where one takes milliseconds. And how planning time
    grows with the machine (`growth`).

    Plans made before in this process are forgotten.
    """
    CACHE.clear()
    machine, large = preset("sapling"), preset("sapling", nodes=64)
    rows = [row for dims, make in CASES.items() for row in _planners(machine, large, dims, make, repeat)]
    found = {row["what"]: row["seconds"] for row in rows}
    for row in rows:
        row["to_simple"] = row["seconds"] / found[f"simple {row['case']}"]
        row["to_networkx"] = row["seconds"] / found[f"{NETWORKX} {row['case']}"]
        row["to_pulp"] = row["seconds"] / found[f"{PULP} {row['case']}"]
        row["paper"] = PAPER.get(row["what"])
    nodes = {dims: found[f"full {dims}, 64 nodes"] / found[f"full {dims}"] for dims in CASES}
    peers = {row["case"]: row for row in rows if row["what"] == f"full {row['case']}"}
    capacity = machine.memory("node0.fbm0").capacity
    room = "any size" if capacity is None else format_bytes(capacity)
    return PlannerTable(
        "planner",
        f"planning on {machine.name}, two nodes: medians of {repeat}, 256 MiB, sizes new every time, {IN_A_ROW} in a row",
        {
            "what": ("what", str),
            "seconds": ("median", format_seconds),
            "to_simple": ("÷ simple", _ratio),
            "paper": ("Isometry (C++)", lambda text: text or "-"),
            "programs": ("programs", lambda count: "-" if count is None else str(count)),
            "solver_share": ("in solver", _share),
            **{name: (name, _share) for name in SIZES},
        },
        rows,
        (
            "16 MiB, 256 MiB, 8 GiB: planning time ÷ predicted time of the transfer",
            f"between GPUs, which hold {room}; what is larger, and direct, between the memories of the CPUs",
            "no program is solved to find a plan; certifying solves the winner's, by bisection and as a linear program",
            "Isometry (C++): sections 6.3 (1-D), 4.4 (2-D); its applications, 6.5: full 12 to 102 µs, simple 2 to 9 µs",
            f"full, 64 nodes ÷ 2 nodes: {nodes['1-D']:.2f} in 1-D, {nodes['2-D']:.2f} in 2-D",
            *(
                f"full {dims} ÷ {name}: {_ratio(row[key])}"
                for dims, row in peers.items()
                for name, key in ((NETWORKX, "to_networkx"), (PULP, "to_pulp"))
            ),
        ),
        growth=growth(min(repeat, REPEAT)),
    )


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2g} %" if value >= 1e-5 or not value else "< 0.001 %"


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _planners(machine: Machine, large: Machine, dims: str, make: Make, repeat: int) -> list[dict[str, Any]]:
    """The rows of one case; planners and peers take turns, so that what else the computer does hits all alike."""
    same = _new(make, 256 * MIB, machine, "full")
    program = _program(same, machine)
    actions: dict[str, Callable[[], float]] = {
        f"cached {dims}": partial(_cached, same, machine),
        f"cached {dims}, by the name of the preset": partial(_cached, same, machine.name),
    }
    planners = {f"{name} {dims}": (machine, name) for name in ("direct", "spsl", "spdl", "simple", "full")}
    planners[f"full {dims}, 64 nodes"] = large, "full"
    for what, (where, name) in planners.items():
        _fresh(make, 256 * MIB, where, name)  # its paths are known from here on
        actions[what] = partial(_planning, make, where, name)
    for nodes, where, other in (("", machine, large), (", 64 nodes", large, machine)):
        actions[f"full {dims}{nodes}, path unknown"] = partial(_path_unknown, make, where, other)
    actions[f"{NETWORKX} {dims}"] = _shortest_path(machine, same)
    found = interleaved(actions, repeat)
    rows = {what: _row(what, dims, seconds) for what, seconds in found.items()}
    for what, (where, name) in planners.items():
        shares = {label: _part(make, nbytes, where, name, max(3, repeat // 5)) for label, nbytes in SIZES.items()}
        rows[what].update(shares, programs=0, solver_share=0.0)
    rows[f"{PULP} {dims}"] = _one_solve(f"{PULP} {dims}", dims, program, min(repeat, MOST_CERTIFIED))
    for nodes, where in (("", machine), (", 64 nodes", large)):
        rows[f"full {dims}{nodes}, path unknown"].update(programs=0, solver_share=0.0)
        what = f"full {dims}{nodes}, first plan on a machine"
        rows[what] = _row(what, dims, _first(make, where, min(repeat, MOST_FIRST)), programs=0, solver_share=0.0)
    what = f"certifying full {dims}"
    rows[what] = _certified(what, dims, program, min(repeat, MOST_CERTIFIED))
    return [row for what, row in rows.items() if NETWORKX not in what and PULP not in what] + [
        rows[f"{name} {dims}"] for name in (NETWORKX, PULP)
    ]


def _row(what: str, case: str, seconds: float, **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"programs": None, "solver_share": None, **dict.fromkeys(SIZES)}
    return {"what": what, "case": case, "seconds": seconds, **empty, **more}


def _new(make: Make, nbytes: int, machine: Machine, name: str) -> Transfer:
    """A transfer of sizes that were not planned before."""
    capacity = machine.memory("node0.fbm0").capacity
    fits = capacity is None or nbytes <= capacity
    return make(nbytes, next(_NUMBERS), "fbm0" if fits and name != "direct" else "sys")


def _cached(transfer: Transfer, machine: MachineLike) -> float:
    """Seconds of one plan that is known."""
    plan(transfer, machine, "full")
    return seconds_of(lambda: [plan(transfer, machine, "full") for _ in range(BATCH)]) / BATCH


def _fresh(make: Make, nbytes: int, machine: Machine, name: str) -> tuple[float, float]:
    """Seconds that planning a new transfer takes, and those that the transfer is predicted to take."""
    transfer = _new(make, nbytes, machine, name)
    began = time.perf_counter()
    found = plan(transfer, machine, name)
    return time.perf_counter() - began, found.seconds


def _part(make: Make, nbytes: int, machine: Machine, name: str, repeat: int) -> float:
    """Planning time over the predicted time of the transfer, the paths known."""
    _fresh(make, nbytes, machine, name)
    found = [_fresh(make, nbytes, machine, name) for _ in range(repeat)]
    return statistics.median(seconds / predicted for seconds, predicted in found)


def _planning(make: Make, machine: Machine, name: str) -> float:
    """Seconds of planning a new transfer of 256 MiB: the mean of a few in a row, as an application has them."""
    transfers = [_new(make, 256 * MIB, machine, name) for _ in range(IN_A_ROW)]
    return seconds_of(lambda: [plan(transfer, machine, name) for transfer in transfers]) / IN_A_ROW


def _path_unknown(make: Make, machine: Machine, other: Machine) -> float:
    """Seconds of planning when no path is known from other sizes; afterwards those of both machines are known again."""
    CACHE.clear()
    seconds = _fresh(make, 256 * MIB, machine, "full")[0]
    _planning(make, other, "full")
    return seconds


def _first(make: Make, machine: Machine, repeat: int) -> float:
    """Seconds of the first plan on a machine: nothing is known about its paths."""
    found = []
    for _ in range(repeat):
        CACHE.clear()
        forget_machines()
        found.append(_fresh(make, 256 * MIB, machine, "full")[0])
    return statistics.median(found)


def _shortest_path(machine: Machine, transfer: Transfer) -> Callable[[], float]:
    """What finds the path of the highest peaks by Dijkstra's algorithm."""
    graph = machine.graph()
    for _, _, data in graph.edges(data=True):
        data["weight"] = 1 / data["channel"].peak
    ends = transfer.source.memory, transfer.destination.memory
    return lambda: seconds_of(lambda: networkx.dijkstra_path(graph, *ends))


def _program(transfer: Transfer, machine: Machine) -> PathProgram:
    """The program of the winner."""
    problem = Problem(transfer, machine, Options())
    return path_program(problem, search(problem).best)


def _one_solve(what: str, case: str, program: PathProgram, repeat: int) -> dict[str, Any]:
    """The winner's linear program, built and solved once."""
    solution = solve(program, prices=False)
    found, shares = [], []
    for _ in range(repeat):
        began = time.perf_counter()
        rows = in_pulp(solution.linear, solution.limits)
        rows.solve(whole=False)
        found.append(time.perf_counter() - began)
        shares.append(rows.seconds / found[-1])
    return _row(what, case, statistics.median(found), programs=1, solver_share=statistics.median(shares))


def _certified(what: str, case: str, program: PathProgram, repeat: int) -> dict[str, Any]:
    """The winner's program, by bisection and as a linear program."""
    found, shares, programs = [], [], 0
    for _ in range(repeat):
        began = time.perf_counter()
        solution = solve(program, prices=False)
        found.append(time.perf_counter() - began)
        shares.append(solution.solver_seconds / found[-1])
        programs = solution.programs
    return _row(what, case, statistics.median(found), programs=programs, solver_share=statistics.median(shares))
