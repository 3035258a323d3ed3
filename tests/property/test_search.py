"""The search on machines whose paths are too many to list: the same optimum, a bound that is one, and an answer at any time."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from brute_force import optimum
from brute_force_short_blocks import counts_short_blocks_as_whole
from dense_machines import medium, transposed
from planner_problems import build, random_problem, regular

from benchmarks.machines import chain, ring, torus
from isoviz.errors import LimitError, NoPathError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, LatencyBandwidth, Limits, Machine, Memory, preset
from isoviz.planner import CACHE, Options, Transfer, explain, explanation_text, plan
from isoviz.planner.full import listed_routes, search
from isoviz.planner.one_path.blocked import BlockSearch
from isoviz.planner.one_path.choice import Choice
from isoviz.planner.one_path.optimum import best_choice, clock_of
from isoviz.planner.paths import route_search
from isoviz.planner.paths.route_search import CostClasses
from isoviz.planner.paths.routes import Route, forget_routes, node_classes
from isoviz.planner.planning_work import Work
from isoviz.planner.problem import Problem
from isoviz.planner.search.best_first import BestFirst, Outcome
from isoviz.planner.search.bounds import Bounds, ConvertingHop, SearchBox, SearchSpace
from isoviz.planner.search.first_look import first_look
from isoviz.planner.search.tuning import ACCEPTED_GAP

Report = Callable[[str, object], None]

FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
CLOSE = 1e-9
BATCHES = range(0, 2400 if FULL else 50, 50)
MEDIUM_BATCH = 20 if FULL else 7
MEDIUM = range(0, 120 if FULL else MEDIUM_BATCH, MEDIUM_BATCH)


def searched(problem: Problem) -> Outcome:
    """What the search finds from nothing."""
    return BestFirst(problem, None, [], Work(math.inf)).run()


def least(problem: Problem, found: Outcome) -> float:
    """The seconds of its best choice; infinite where there is none."""
    return math.inf if found.best is None else problem.with_cost(found.best)


@pytest.mark.parametrize("first", BATCHES)
def test_it_finds_what_brute_force_finds(report: Report, first: int) -> None:
    for seed in range(first, first + 50):
        raw = random_problem(seed)
        problem = Problem(*build(raw))
        found = searched(problem)
        if not regular(raw):
            continue
        report("problems of the search against brute force", 1)
        best = optimum(raw)
        expected = math.inf if best is None else best.seconds
        seconds = math.inf if found.best is None else found.best.seconds
        if problem.bounded:
            assert first_look(problem).lower <= expected * (1 + CLOSE), f"seed {seed}"
        if best is not None and seconds > expected and counts_short_blocks_as_whole(raw, best):
            continue
        assert seconds == expected or math.isclose(seconds, expected, rel_tol=CLOSE), f"seed {seed}: {seconds!r}, {expected!r}"


@pytest.mark.parametrize("first", MEDIUM)
def test_it_finds_what_trying_every_path_finds(report: Report, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger transfers, on machines with limits, resources, one-time costs: the best of all paths that are listed."""
    monkeypatch.setattr(route_search, "MOST_LABELS", 10**6)
    monkeypatch.setattr(route_search, "MOST_COST_CLASSES", 10**6)
    for seed in range(first, first + MEDIUM_BATCH):
        forget_routes()
        problem = Problem(*reversed(medium(seed)), Options())
        try:
            listed_best = search(problem).lower
        except (NoPathError, LimitError):
            listed_best = math.inf
        found = searched(problem)
        seconds = least(problem, found)
        gap = seconds / found.lower - 1 if math.isfinite(seconds) else 0.0
        report("machines of the search against all paths", 1)
        assert gap <= ACCEPTED_GAP
        assert math.isclose(seconds, listed_best, rel_tol=max(gap, CLOSE)) or seconds == listed_best, f"seed {seed}"
    forget_routes()


@pytest.mark.parametrize("first", MEDIUM)
def test_no_choice_lies_below_the_bound_of_a_box_that_holds_it(report: Report, first: int) -> None:
    for seed in range(first, first + MEDIUM_BATCH):
        draw = random.Random(seed)
        problem = Problem(*reversed(medium(seed)), Options())
        space = SearchSpace(problem, None)
        for route, choice in searched(problem).tried:
            if choice is None or len(route.channels) == 1 or (problem.has_short_runs and choice.family is None):
                continue
            if choice.family is not None:  # with the runs that its family promises: those it has may belong to another one, too
                family = BlockSearch(problem, route, clock_of(problem, route), choice.family)
                choice = family.choice_for(choice.a, choice.b, choice.per_chunk)
                assert choice is not None
            box = _around(choice, draw)
            runs = space.end_runs(box)
            assert runs is not None
            [lower] = Bounds(space, [box], [runs]).lower
            report("choices against the bounds of boxes that hold them", 1)
            assert lower <= problem.with_cost(choice) * (1 + CLOSE), f"seed {seed}: {route.names} {choice}"


def _around(choice: Choice, draw: random.Random) -> SearchBox:
    """A box that holds a choice: of any width, the choice anywhere in it."""
    last = len(choice.route.channels) - 1
    kinds = {None: ConvertingHop.NONE, 0: ConvertingHop.FIRST, last: ConvertingHop.LAST}
    kind = kinds.get(choice.route.converting, ConvertingHop.MIDDLE)
    low, high = (10 ** draw.choice((0.0, draw.uniform(0, 2))) for _ in range(2))
    box = SearchBox(kind, choice.chunk / low, choice.chunk * high)
    if kind is ConvertingHop.MIDDLE and draw.random() < 0.7:
        box = replace(box, run_low=choice.runs[0] / low, run_high=choice.runs[0] * high)
    return box


# ---- dense machines


DENSE = {
    "10 all-to-all": (ring(10, 9), "m0", "m9"),
    "20 all-to-all": (ring(20, 19), "m0", "m19"),
    "40 memories": (ring(40, 10), "m0", "m39"),
    "a chain with parallel channels": (chain(20, 3), "m0", "m20"),
    "a torus": (torus(10), "node0.sys", "node55.sys"),
    "a torus whose links are resources": (torus(8, resources=True), "node0.sys", "node36.sys"),
    "dgx-h100-pair": (preset("dgx-h100-pair"), "node0.fbm0", "node1.fbm3"),
}


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("layouts", [("<F, x, y>", "<y, x, F>"), ("<F, x, y>", "<F, x, y>")])
@pytest.mark.few(4)
def test_dense_machines_are_searched_to_the_end(name: str, layouts: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumerating their paths takes from minutes to for ever. The work is counted, not timed."""
    machine, source, destination = DENSE[name]
    problem = Problem(transposed(source, destination, layouts), machine, Options())
    if not (name == "a torus" and layouts[0] == layouts[1]):
        assert listed_routes(problem) is None
    boxes = itertools.count()
    monkeypatch.setattr(BestFirst, "_children", _counting(BestFirst._children, boxes))
    found = searched(problem)
    assert next(boxes) < 6000
    assert least(problem, found) <= found.lower * (1 + ACCEPTED_GAP) and not found.stopped
    simple = plan(problem.transfer, machine, "simple")
    assert least(problem, found) <= simple.objective * (1 + CLOSE)


def _counting(method: Callable[..., object], numbers: itertools.count[int]) -> Callable[..., object]:
    def counted(*args: object) -> object:
        next(numbers)
        return method(*args)

    return counted


def test_a_plan_of_a_dense_machine_is_proved_and_the_same_again() -> None:
    machine = ring(12, 11)
    transfer = transposed("m0", "m11")
    found = plan(transfer, machine, "full", Options(planning_time=600))
    assert found.gap is not None and found.gap <= ACCEPTED_GAP and not found.notes
    CACHE.clear()
    forget_routes()
    assert plan(transfer, machine, "full", Options(planning_time=600)) == found


def test_a_path_that_goes_out_to_convert_and_comes_back_is_none() -> None:
    """m2 converts fastest by far, but leads back to where the transfer came from: a path passes a memory once."""
    fast, slow = LatencyBandwidth(1e-9, 1e11), LatencyBandwidth(1e-6, 1e9)
    links = [("m0", "m1"), ("m1", "m2"), ("m2", "m1"), ("m1", "m3"), ("m1", "m4"), ("m4", "m3"), ("m3", "m5")]
    channels = [Channel("", "Memcpy", *link, fast if "m2" in link else slow) for link in links]
    machine = Machine("out and back", tuple(Memory(f"m{k}", "SYS") for k in range(6)), channels)
    problem = Problem(transposed("m0", "m5"), machine, Options())
    found = searched(problem)
    assert found.best is not None
    assert "m1->m2" not in found.best.route.names
    assert least(problem, found) == pytest.approx(search(problem).lower, rel=CLOSE)


def machine_of(*links: tuple[str, str, LatencyBandwidth]) -> Machine:
    """A machine of memories joined by these links."""
    names = dict.fromkeys(name for here, there, _ in links for name in (here, there))
    channels = [Channel("", "Memcpy", here, there, function) for here, there, function in links]
    return Machine("by hand", tuple(Memory(name, "SYS") for name in names), channels)


def test_no_beginning_stands_for_one_that_it_cannot_end_like() -> None:
    """S → m → z converts as S → y → z does, but then z leads back to m: what completes the one does not complete the other."""
    slow, fast = LatencyBandwidth(1e-6, 1e10), LatencyBandwidth(1e-10, 1e10)
    links = [("S", "m", slow), ("S", "y", slow), ("m", "z", fast), ("y", "z", fast), ("z", "m", slow), ("m", "D", slow)]
    problem = Problem(transposed("S", "D"), machine_of(*links), Options())
    expected = ("S->y", "y->z", "z->m", "m->D")
    assert search(problem).best.route.names == expected
    found = searched(problem)
    assert found.best is not None and found.best.route.names == expected


def test_a_self_loop_converts_where_a_walk_would_come_back() -> None:
    """The fastest walk goes out from m to convert and comes back; the best path converts in m itself."""
    near, out = LatencyBandwidth(1e-6, 2e10), LatencyBandwidth(1e-11, 2e10)
    links = [("S", "m", near), ("m", "q", out), ("q", "m", out), ("m", "m", LatencyBandwidth(3e-10, 1e10)), ("m", "D", near)]
    rest = ring(8, 7)
    links += [(each.source, each.destination, each.throughput) for each in rest.channels]  # type: ignore[misc]
    links += [("m", "m0", near), ("m7", "D", near)]
    found = searched(Problem(transposed("S", "D"), machine_of(*links), Options()))
    assert found.best is not None and found.best.route.names == ("S->m", "m->m", "m->D")


def test_cutting_by_the_slowest_hop_loses_no_path() -> None:
    """What a slowest hop takes has to mean one thing in a box and in its parts: else the best path is in neither of them."""
    draw = random.Random(5086)
    count = draw.choice([9, 10, 11])
    density, rates, latencies = draw.uniform(0.4, 1), draw.choice([0.1, 0.3, 1]), draw.choice([0.3, 1, 2])
    channels = []
    for a, b in itertools.product(range(count), repeat=2):
        if (a == b and draw.random() < 0.6) or (a != b and draw.random() > density) or (a, b) == (0, count - 1):
            continue
        latency = 10 ** (-6 + draw.uniform(-latencies, latencies))
        function = LatencyBandwidth(latency, 10 ** (9.5 + draw.uniform(-rates, rates)))
        channels.append(Channel("", "Memcpy", f"m{a}", f"m{b}", function))
    memories = tuple(Memory(f"m{k}", "SYS") for k in range(count))
    machine = Machine("cut", memories, channels, limits=Limits(slot_limit=1 << 14))
    ends = ("m0", "<F, x, y>"), (f"m{count - 1}", "<y, F, x>")
    transfer = Transfer.whole(IndexSpace(x=720, y=10), FieldSpace(v="f8"), *ends[0], *ends[1])
    problem = Problem(transfer, machine, Options())
    names = ("m0->m4", "m4->m2", "m2->m3", "m3->m6", "m6->m5", "m5->m7", "m7->m9")
    route = Route(tuple(machine.channel(name) for name in names), 5)
    known = best_choice(problem, route, clock_of(problem, route))
    assert known is not None
    assert least(problem, searched(problem)) <= known.seconds * (1 + CLOSE)


def test_too_little_room_is_said_on_dense_machines() -> None:
    machine = ring(30, 10)
    numbers = FieldSpace(v="f8")
    transfer = Transfer.whole(IndexSpace(x=64, y=48), numbers, "m0", "<F, x, y>", "m25", "<y, x, F>")
    with pytest.raises(LimitError, match="slot_limit of at least 8 B"):
        plan(transfer, machine, "full", Options(slot_limit=4))
    mixed = Transfer.whole(IndexSpace(x=64), FieldSpace(a="i1", b="f8"), "m0", "<F, x>", "m25", "<x, F>")
    for options in (Options(slot_limit=6, planning_time=0.2), Options(memory_limit=30, planning_time=0.2)):
        with pytest.raises(LimitError):  # and not a search for ever
            plan(mixed, machine, "full", options)


# ---- at any time


def test_planning_stops_in_time_and_says_how_good_the_plan_is() -> None:
    machine, transfer = ring(40, 39), transposed("m0", "m39")
    simple = plan(transfer, machine, "simple")
    found = plan(transfer, machine, "full", Options(planning_time=1e-9))
    assert found.objective <= simple.objective
    assert found.gap is not None and found.gap > 0.01
    assert any("planning_time was used up" in note and "% above the optimum" in note for note in found.notes)
    longer = plan(transfer, machine, "full", Options(planning_time=600))
    assert longer.objective <= found.objective and longer.objective * (1 + found.gap) >= found.objective * (1 - 2e-3)
    assert not longer.notes


def test_rivals_of_a_dense_machine_are_explained() -> None:
    machine = ring(12, 11)
    said = explain(transposed("m0", "m11"), machine, "full", Options(planning_time=600))
    assert len(said.candidates) > 10 and said.beaten is None
    assert "no other path of this machine can be faster than the best of them" in explanation_text(said)


def test_what_would_make_rivals_win_keeps_to_planning_time() -> None:
    """Each space takes dozens of searches."""
    machine, transfer = ring(12, 11), transposed("m0", "m11")
    assert explain(transfer, machine, "full", Options(planning_time=1e-9), crossovers=2).crossovers == ()


# ---- nodes that are alike


def test_nodes_of_a_class_can_be_exchanged() -> None:
    """Against comparing all pairs."""
    for machine in (preset("sapling", nodes=5), preset("xstream"), preset("moonlight"), torus(4), ring(6, 5), _two_kinds()):
        cost_classes = CostClasses(machine)
        classes = node_classes(machine, cost_classes)
        assert sorted(node for alike in classes for node in alike) == sorted(machine.nodes)
        class_of = {node: k for k, alike in enumerate(classes) for node in alike}
        for a, b in itertools.combinations(machine.nodes, 2):
            assert (class_of[a] == class_of[b]) == _exchangeable(machine, cost_classes, a, b), (machine.name, a, b)


def _two_kinds() -> Machine:
    """Pairs of nodes, joined among each other by faster links than to the others."""
    memories = tuple(Memory(f"node{k}.sys", "SYS", node=k) for k in range(6))
    fast, slow = LatencyBandwidth(1e-6, 2e10), LatencyBandwidth(1e-6, 1e9)
    channels = [
        Channel("", "RemoteMemcpy", here.name, there.name, fast if here.node // 2 == there.node // 2 else slow)
        for here, there in itertools.permutations(memories, 2)
    ]
    return Machine("pairs", memories, channels)


def _exchangeable(machine: Machine, cost_classes: CostClasses, a: int, b: int) -> bool:
    """Whether exchanging two nodes leaves the machine as it is."""
    other = {a: b, b: a}
    node = {memory.name: (memory.node, memory.short_name) for memory in machine.memories}

    def seen(swap: bool) -> tuple[set[object], set[object]]:
        def number(at: int) -> int:
            return other.get(at, at) if swap else at

        memories = {(number(each.node), each.short_name, each.kind, each.capacity, each.slot_limit) for each in machine.memories}
        channels = set()
        for each in machine.channels:
            (here, one), (there, two) = node[each.source], node[each.destination]
            channels.add((number(here), one, number(there), two, cost_classes.of(each)))
        return memories, channels  # type: ignore[return-value]

    return seen(False) == seen(True)
