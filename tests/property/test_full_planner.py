"""The optimal planner against brute force over every path, intermediate layout and block size; and brute force against itself."""

from __future__ import annotations

import itertools
import math
import os
import pprint
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from brute_force import FEWER_HOPS, Best, optimum, paths, rate, seconds_of, slot_limit
from brute_force_layouts import Parts, all_layouts, block, parts_of, prefix
from brute_force_short_blocks import counts_short_blocks_as_whole
from planner_problems import build, random_problem, regular, text, throughput

from isoviz.errors import LimitError, NoPathError
from isoviz.planner import Plan, plan

Report = Callable[[str, object], None]
Problem = dict[str, Any]

CLOSE = 1e-9
FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
BATCH = 100 if FULL else 5
# (first seed, blocks that need not nest, requests and layout changes cost time): 50 problems, or 2,500.
COUNTS = ((False, 15 if FULL else 6), (True, 10 if FULL else 4))
BATCHES = [(k * BATCH, k % 5 == 4, costs) for costs, count in COUNTS for k in range(count)]
OTHERS = ("simple", "spsl", "spdl", "direct")

# ---- the planner


def planned(problem: Problem, planner: str) -> Plan | None:
    """The plan, or None where there is no path or none within the limits."""
    transfer, machine, options = build(problem)
    try:
        return plan(transfer, machine, planner, options)
    except (NoPathError, LimitError):
        return None


def described(problem: Problem, seed: int, kind: str, found: Plan | None, best: Best | None) -> str:
    """Two answers, and the problem as Python that makes it again."""
    lines = ["", "from planner_problems import build, random_problem", "from brute_force import optimum"]
    lines += [f"problem = random_problem({seed}, {kind})  # which is", pprint.pformat(problem, width=130)]
    lines.append(f"source {problem['source'][0]} {text(problem['source'][1])}")
    lines.append(f"destination {problem['destination'][0]} {text(problem['destination'][1])}")
    if best is None:
        lines.append("brute force: no path, or none within the limits")
    else:
        mean = sum(problem["fields"]) / len(problem["fields"])
        lines.append(f"brute force: {best.seconds!r} s, chunk {best.payload} elements ({best.payload * mean:g} bytes)")
        lines.append(f"  slot for {best.elements} elements")
        lines.append(f"  channels {', '.join(best.path)}")
        lines += [f"  layout {shown(layout)}" for layout in best.layouts]
    if found is None:
        lines.append("planner: none")
    else:
        chunk = f"{found.chunk_bytes} bytes, {found.per_chunk} blocks of {found.order}"
        lines.append(f"planner: {found.objective!r} s, chunk {chunk}")
        for hop, needs in zip(found.hops, found.shuffles, strict=True):
            run, shuffle = f"run {hop.request_bytes:g}", f"shuffle {needs}"
            lines.append(f"  {hop.channel}: {hop.source_layout} → {hop.destination_layout}, {run}, {shuffle}")
    return "\n".join(lines)


def shown(layout: Parts) -> str:
    """A layout of brute force in notation."""
    return text(tuple(part if part == "F" else part[:2] for part in layout))


@pytest.mark.parametrize(("first", "non_nesting", "costs"), BATCHES)
@pytest.mark.few(3)
@pytest.mark.few(2)
def test_full_is_optimal(report: Report, first: int, non_nesting: bool, costs: bool) -> None:
    """Where the ends' blocks divide each other and their dimension, the least time of all; elsewhere never less than that.

    Where layout changes have rates of their own, it is the least time of all where the plan says so.
    """
    wrong, equals, kind = [], [], f"non_nesting={non_nesting}, costs={costs}"
    for seed in range(first, first + BATCH):
        problem = random_problem(seed, non_nesting=non_nesting, costs=costs)
        best, found = optimum(problem), planned(problem, "full")
        least = best.seconds if best is not None else math.inf
        seconds = found.objective if found is not None else math.inf
        equal = least == seconds or math.isclose(least, seconds, rel_tol=CLOSE, abs_tol=0)
        promised = regular(problem) and not (costs and found is not None and found.gap)
        if promised:
            report("problems of the optimal planner against brute force", 1)
        else:
            equals.append(equal)
        if not equal and seconds > least and best is not None and counts_short_blocks_as_whole(problem, best):
            report("... brute force counts short blocks as whole", 1)
            equal = True
        if not equal and (promised or seconds < least):
            wrong.append(described(problem, seed, kind, found, best))
    if equals:
        report(
            "problems without a promise: blocks that do not nest or that pad, layout changes with rates of their own", len(equals)
        )
        report("... of them with the optimal plan", sum(equals))
    assert not wrong, f"{len(wrong)} of {BATCH} differ; the first:{wrong[0]}"


@pytest.mark.parametrize(("first", "non_nesting", "costs"), BATCHES)
@pytest.mark.few(3)
def test_no_other_planner_beats_the_optimum(report: Report, first: int, non_nesting: bool, costs: bool) -> None:
    kind = f"non_nesting={non_nesting}, costs={costs}"
    for seed in range(first, first + BATCH):
        problem = random_problem(seed, non_nesting=non_nesting, costs=costs)
        best = optimum(problem)
        for planner in OTHERS:
            found = planned(problem, planner)
            if found is not None:
                report("plans of other planners against brute force", 1)
                beaten = best is None or found.objective < best.seconds * (1 - FEWER_HOPS)
                assert not beaten, f"{planner}:{described(problem, seed, kind, found, best)}"


@pytest.mark.parametrize(("first", "non_nesting", "costs"), BATCHES)
def test_no_other_planner_beats_full(first: int, non_nesting: bool, costs: bool) -> None:
    for seed in range(first, first + BATCH):
        problem = random_problem(seed, non_nesting=non_nesting, costs=costs)
        full = planned(problem, "full")
        for planner in OTHERS:
            found = planned(problem, planner)
            if found is not None:
                least = full.objective * (1 - FEWER_HOPS) if full is not None else math.inf
                assert found.objective >= least, f"{planner}, seed {seed}: {found}"


# ---- brute force: what two layouts share, worked out by hand


SIZES = {"x": 12, "y": 5}


def parts(layout: str, fields: int = 3) -> Parts:
    """`x y F x4`: digits by dimension and step."""
    return parts_of([part if part == "F" else (part[0], int(part[1:] or 1)) for part in layout.split()], SIZES, fields)


@pytest.mark.parametrize(
    ("a", "b", "run", "places", "exist", "inside"),
    [
        ("x y F", "x y F", 180, 1, 1, False),
        ("x y F", "F x y", 1, 180, 180, True),
        ("x F y", "F x y", 1, 36, 36, True),
        ("x y F", "y x F", 1, 60, 60, False),
        ("x F x4 y", "x F y", 4, 36, 36, True),
        ("x F x4 y", "x y F", 4, 180, 180, True),
        ("x F x4 y", "x F x6 y", 2, 36, 36, True),  # 4 and 6: their gcd in front, their lcm behind
        ("F x y x4", "F y x", 3, 60, 60, True),
        ("F x y x4", "F x y", 12, 180, 180, True),
        ("F x y x4", "F x y x2", 6, 60, 60, True),
        ("x2 F x y", "F x y", 1, 36, 36, True),
        ("y F y2 x", "y F x", 2, 18, 15, True),  # 2 does not divide 5: the last block is padded
        ("y F y2 x", "y F y3 x", 1, 18, 15, True),  # no block fits the lcm, 6; one side pads 5 to 6, so does the other
        ("y F x y4", "F y x y4", 1, 12, 12, True),  # the padded digit is not in the block
        ("y y4 F x", "y F y4 x", 4, 24, 15, True),
        ("F y2 y x", "y2 F y x", 1, 9, 9, True),  # 0, 2, 4
        ("F y4 y y2 x", "y4 F y y2 x", 1, 6, 6, True),  # 0, 4
        ("F y4 y y2 x", "y4 y F y2 x", 1, 12, 9, True),  # 0, 1, 4, but not 5
        ("x y F x4", "x F y x4", 4, 60, 60, True),
        ("x y x4 F", "y x x4 F", 1, 20, 20, False),
    ],
)
def test_runs_and_blocks(a: str, b: str, run: int, places: int, exist: int, inside: bool) -> None:
    for left, right in ((parts(a), parts(b)), (parts(b), parts(a))):
        assert prefix(left, right, SIZES, 3) == run
        assert block(left, right, SIZES, 3) == (places, exist, inside)


def test_padding_takes_room_and_no_time() -> None:
    problem = line(("constant", 64.0), ("constant", 64.0), ("constant", 64.0), slot=64)
    problem["sizes"] = {"x": 5}
    path = problem["channels"][:3]
    # Eight places of 8 bytes, 40 bytes in them: the three hops take 0.625 s each, and everything is one chunk.
    before, after = (parts_of(layout, {"x": 5}, 2) for layout in ((("x", 1), "F", ("x", 4)), (("x", 1), "F")))
    assert block(before, after, {"x": 5}, 2) == (16, 10, True)
    assert seconds_of(problem, path, (before, after), 10) == pytest.approx(3 * 40 / 64, rel=1e-12)
    assert seconds_of(problem, path, (before, after), 16) is None
    problem["limits"]["slot_limit"] = 63
    assert seconds_of(problem, path, (before, after), 10) is None


def test_chunks_of_one_layout_may_split_entries() -> None:
    problem = line(("constant", 64.0), ("constant", 64.0), slot=8, fields=(2, 6))
    layout = parts_of(("F", ("x", 1)), problem["sizes"], 2)
    path = problem["channels"][:2]
    assert seconds_of(problem, path, (layout,), 1) == pytest.approx(17 / 16, rel=1e-12)
    assert seconds_of(problem, path, (layout,), 2) == pytest.approx(9 / 8, rel=1e-12), "a whole entry: 8 bytes, not 12"
    problem["limits"]["slot_limit"] = 7
    assert seconds_of(problem, path, (layout,), 1) is not None
    assert seconds_of(problem, path, (layout,), 2) is None


def test_all_layouts_are_different_and_all_there() -> None:
    # <x, F> in both orders; in two digits 4 orders for each of the blocks 2, 3, 4; 14 orders for 1, 2, 4.
    assert len(list(all_layouts({"x": 5}, 2))) == 2 + 3 * 4 + 14
    for sizes, fields in (({"x": 7}, 2), ({"x": 3, "y": 2}, 2), ({"x": 4, "y": 3}, 1)):
        found = list(all_layouts(sizes, fields))
        assert len(set(found)) == len(found)
        for layout in found:
            given = [part if part == "F" else part[:2] for part in layout]
            assert parts_of(given, sizes, fields) == layout


# ---- brute force: times, worked out by hand

MEMORY = {"kind": "SYS", "node": 0, "capacity": None, "slot_limit": None}


def line(*throughputs: tuple[Any, ...], slot: int = 1 << 20, fields: tuple[int, ...] = (4, 4), **limits: Any) -> Problem:
    """`x=8` from `<x, F>` to `<F, x>` through memories in a row; m1 has a loop of 1000 bytes/s, whatever the run."""
    count = len(throughputs)
    channels = [(f"m{k}", f"m{k + 1}", given) for k, given in enumerate(throughputs)]
    channels += [("m1", "m1", ("constant", 1000.0))] if count > 1 else []
    return {
        "sizes": {"x": 8},
        "fields": fields,
        "source": ("m0", (("x", 1), "F")),
        "destination": (f"m{count}", ("F", ("x", 1))),
        "memories": {f"m{k}": MEMORY for k in range(count + 1)},
        "channels": tuple(
            {
                "name": f"{a}->{b}",
                "kind": "Memcpy",
                "source": a,
                "destination": b,
                "throughput": given,
                "setup": 0.0,
                "resources": (),
            }
            for a, b, given in channels
        ),
        "resources": {},
        "limits": {"slot_limit": slot, "memory_limit": None, "slots": 2, "overlap": True, **limits},
        "options": {"slot_limit": None, "memory_limit": None, "slots": None},
    }


def faster(problem: Problem, name: str, given: tuple[Any, ...]) -> Problem:
    """The same with another throughput of one channel."""
    channels = tuple({**channel, "throughput": given} if channel["name"] == name else channel for channel in problem["channels"])
    return {**problem, "channels": channels}


GAP = ("samples", ((64.0, 64000.0),))  # a run takes 1 ms, however short


@pytest.mark.parametrize(
    ("problem", "seconds", "hops"),
    [
        # One channel: 64 bytes in runs of one element.
        (line(("constant", 64.0)), 1.0, 1),
        (line(GAP), 64 / (64000 / 16), 1),
        # No run matters: chunks of one element, 16 of them through two hops.
        (line(("constant", 64.0), ("constant", 64.0)), 17 / 16, 2),
        (line(("constant", 64.0), ("constant", 64.0), overlap=False), 2.0, 2),
        # With one slot two hops take turns, 2/16 s an element; better with the loop between, 1/16 + 4/1000.
        (line(("constant", 64.0), ("constant", 64.0), slots=1), 17 / 16 + 16 * 0.004, 3),
        # Runs matter: a hop takes 1 ms for all 64 bytes, 16 where it converts. The last one, at no cost, does.
        (line(GAP, GAP, ("constant", 1e6)), 0.001 + 0.001 + 0.000064, 3),
        # Converting in the first or the last hop costs 16 runs, 16 ms, the loop 64 ms; a faster one would be worth it.
        (line(GAP, GAP), 0.017, 2),
        (faster(line(GAP, GAP), "m1->m1", ("constant", 64000.0)), 0.003, 3),
    ],
)
def test_times_by_hand(problem: Problem, seconds: float, hops: int) -> None:
    best = optimum(problem)
    assert best is not None
    assert best.seconds == pytest.approx(seconds, rel=1e-12)
    assert len(best.path) == hops


def test_limits_by_hand() -> None:
    fits = line(("constant", 64.0), ("constant", 64.0), slot=3)
    assert optimum(fits) is None, "an element has 4 bytes"
    fits["limits"]["slot_limit"] = 4
    assert optimum(fits) is not None
    mixed = line(("constant", 64.0), ("constant", 64.0), slot=4, fields=(2, 6))
    assert optimum(mixed) is None, "a slot of one element has to hold the largest field, one of both fields an entry"
    mixed["limits"]["slot_limit"] = 6
    assert optimum(mixed) is not None
    mixed["limits"] |= {"slot_limit": 100, "memory_limit": 11}
    assert optimum(mixed) is None, "two slots of 6 bytes"


# ---- brute force: nothing it does not try is better


def everything(problem: Problem) -> Iterator[float]:
    """The times of all ways through a tiny problem, one by one."""
    sizes, count = problem["sizes"], len(problem["fields"])
    layouts = list(all_layouts(sizes, count))
    most = 4 * math.prod(sizes.values()) * count
    for path in paths(problem):
        for taken in itertools.product(layouts, repeat=len(path) - 1):
            for elements in range(1, most + 1):
                if (seconds := seconds_of(problem, path, taken, elements)) is not None:
                    yield seconds


def test_optimum_is_the_least_of_everything(report: Report, full: bool) -> None:
    tried = 0
    for seed in itertools.count():
        problem = random_problem(seed, non_nesting=seed % 3 == 0)
        count = len(list(all_layouts(problem["sizes"], len(problem["fields"]))))
        work = sum(count ** (len(path) - 1) for path in paths(problem))
        if not 10 < work < (1500 if full else 800):
            continue
        best, least = optimum(problem), min(everything(problem), default=None)
        assert (best is None) == (least is None), seed
        if best is not None:
            assert best.seconds == pytest.approx(least, rel=1e-12), seed
        tried += 1
        if tried == (60 if full else 6):
            break
    report("problems of brute force against a plain loop", tried)


def test_random_ways_are_never_better(report: Report, full: bool) -> None:
    draw = random.Random(5)
    for seed in range(1000, 1200 if full else 1015):
        problem = random_problem(seed, non_nesting=seed % 3 == 0)
        best = optimum(problem)
        ways, sizes, count = list(paths(problem)), problem["sizes"], len(problem["fields"])
        layouts = [parts_of(problem[end][1], sizes, count) for end in ("source", "destination")]
        every = list(all_layouts(sizes, count))
        for _ in range(150 if ways else 0):
            path = draw.choice(ways)
            few = [draw.choice((draw.choice(every), *layouts)) for _ in range(2)]
            taken = [draw.choice(few) for _ in path[1:]]
            size = math.lcm(*(block(a, b, sizes, count)[1] for a, b in itertools.pairwise(taken)))
            seconds = seconds_of(problem, path, taken, size * draw.choice((1, 1, 2, 3, count, 2 * count)))
            if seconds is not None:
                report("random ways against brute force", 1)
                assert best is not None, seed
                # Fewer hops count first, unless more are better by `FEWER_HOPS`.
                margin = FEWER_HOPS if len(path) > len(best.path) else 1e-12
                assert seconds >= best.seconds * (1 - margin), seed


def test_cutting_hopeless_paths_changes_nothing() -> None:
    for seed in range(10):
        problem = random_problem(seed)
        if sum(1 for _ in paths(problem)) < 60 and all(len(path) < 6 for path in paths(problem)):
            assert optimum(problem) == optimum(problem, cut=False)


def test_problems_are_what_they_should_be() -> None:
    """Throughputs are read the same twice; every sort of problem is there."""
    found = set()
    for seed in range(120):
        problem = random_problem(seed)
        for channel in problem["channels"]:
            given = channel["throughput"]
            function = throughput(given)
            for run in (0.5, 1.0, 3.0, 7.5, 16.0, 40.0, 200.0, 1e4):
                assert function(run) == pytest.approx(rate(given, run), rel=1e-13)
            concave = given[0] != "samples" or function.is_concave
            found |= {given[0], "concave" if concave else "not concave"}
            found |= {"loop"} if channel["source"] == channel["destination"] else set()
            found |= {"parallel"} if "#" in channel["name"] else set()
            found |= {"setup"} if channel["setup"] else {"no setup"}
        found |= {"resources"} if any(channel["resources"] for channel in problem["channels"]) else set()
        found |= {f"{problem['limits']['slots']} slots"} | ({"no overlap"} if not problem["limits"]["overlap"] else set())
        found |= {"memory limit"} if problem["limits"]["memory_limit"] or problem["options"]["memory_limit"] else set()
        found |= {"capacity"} if any(memory["capacity"] for memory in problem["memories"].values()) else set()
        found |= {"mixed fields"} if len(set(problem["fields"])) > 1 else set()
        limits = [slot_limit(problem, path) for path in paths(problem)]
        found |= {"no path"} if not limits else {"tight" if max(limits) < 100 else "loose"}
    assert found == {
        *("constant", "latency", "samples", "concave", "not concave", "loop", "parallel", "setup", "no setup", "resources"),
        *("1 slots", "2 slots", "3 slots", "no overlap", "memory limit", "capacity", "mixed fields", "no path", "tight", "loose"),
    }
