"""`auto`: the least of planning and transfer together, by counted steps."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator

import pytest

from benchmarks.machines import ring
from isoviz.errors import LimitError, NoPathError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource, preset
from isoviz.planner import CACHE, Options, Transfer, plan, planning_work
from isoviz.planner.multipath.tuning import AUTO_GAIN
from isoviz.planner.planners.full_planner import simple as simple_planner
from isoviz.planner.planning_work import STEPS_PER_SECOND, WORTH, Work
from isoviz.planner.problem import Problem
from isoviz.planner.search.best_first import BestFirst
from isoviz.planner.search.first_look import first_look
from isoviz.planner.search.tuning import search_steps

FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
PRESETS = ("two-node", "sapling", "laptop", "xstream", "workstation", "gh200")
ORDERS = ("<F, x, y>", "<y, F, x>", "<x, F, y>", "<F, y, x>", "<y, x, F>", "<F, x_in=8, y, x_out>")
FIELDS = (FieldSpace(v="complex128"), FieldSpace(a="f4", b="f4", c="f4"), FieldSpace(a="f4"))


def square(side: int, here: str, there: str) -> Transfer:
    """A transposition."""
    return Transfer.whole(IndexSpace(x=side, y=side), FieldSpace(v="complex128"), here, "<F, x, y>", there, "<F, y, x>")


def moved(count: int, here: str, there: str) -> Transfer:
    return Transfer.whole(IndexSpace(x=count), FieldSpace(v="f8"), here, "<F, x>", there, "<F, x>")


def questions(count: int) -> Iterator[tuple[Transfer, Machine]]:
    """Transfers of up to a few hundred MiB between any two memories of presets."""
    draw = random.Random(3)
    machines = [preset(name) for name in PRESETS]
    while count:
        machine, fields = draw.choice(machines), draw.choice(FIELDS)
        space = IndexSpace.of({dim: int(2 ** draw.uniform(6, 12)) for dim in "xy"})
        here, there = (draw.choice(machine.memories).name for _ in range(2))
        transfer = Transfer.whole(space, fields, here, draw.choice(ORDERS), there, draw.choice(ORDERS))
        try:
            plan(transfer, machine, "simple")
        except (NoPathError, LimitError):
            continue
        count -= 1
        yield transfer, machine


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """The work of every plan of `auto`."""
    found: list[Work] = []

    def work_of(options: Options, *, sparing: bool = False) -> Work:
        work = planning_work.work_of(options, sparing=sparing)
        if sparing:
            found.append(work)
        return work

    monkeypatch.setattr("isoviz.planner.planners.auto_planner.work_of", work_of)
    return found


def test_it_plans_where_that_saves_more_than_it_costs(works: list[Work]) -> None:
    """Isometry's two nodes: planning takes milliseconds and saves more."""
    machine = preset("two-node")
    transfer = square(1024, "node0.fbm0", "node1.fbm0")
    simple, full, auto = (plan(transfer, machine, planner) for planner in ("simple", "full", "auto"))
    assert auto.objective <= 1.001 * full.objective < 0.5 * simple.objective
    assert works[0].steps / STEPS_PER_SECOND < 0.5 * (simple.objective - full.objective)


def test_small_transfers_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object) -> None:
        raise AssertionError

    for name in ("auto_planner.first_look", "full_planner.search"):
        monkeypatch.setattr(f"isoviz.planner.planners.{name}", looked)
    for name in PRESETS:
        machine = preset(name)
        host = machine.memories[0].name
        transfer = Transfer.whole(IndexSpace(x=512), FieldSpace(a="f4", b="f4"), host, "<F, x>", host, "<x, F>")
        assert plan(transfer, machine, "auto").objective <= plan(transfer, machine, "simple").objective


def test_planning_and_transfer_take_less_than_by_simple(works: list[Work], report: Callable[[str, object], None]) -> None:
    """Never more than by a third above, and less on average; counted, so the figures are the same everywhere."""
    shares: list[float] = []
    for transfer, machine in questions(300 if FULL else 40):
        CACHE.clear()
        works.clear()
        counted = Work(math.inf)
        simple = simple_planner(Problem(transfer, machine, Options(), counted)).objective + counted.steps / STEPS_PER_SECOND
        auto = plan(transfer, machine, "auto").objective + works[0].steps / STEPS_PER_SECOND
        shares.append(auto / simple)
    assert max(shares) <= 1 + WORTH
    assert math.prod(shares) ** (1 / len(shares)) < 0.95
    report("transfers planned by auto and by simple", len(shares))


def test_no_plan_takes_less_than_the_bound_of_a_first_look() -> None:
    tight = 0
    for transfer, machine in questions(200 if FULL else 25):
        problem = Problem(transfer, machine, Options())
        full = plan(transfer, machine, "full")
        if problem.bound_is_proved:
            lower = first_look(problem).lower
            assert lower <= full.objective * (1 + 1e-9)
            tight += lower > 0.9 * full.objective
    assert tight


def test_the_search_stops_where_it_costs_more_than_it_may_save() -> None:
    machine = ring(12, 11)
    transfer = moved(1 << 22, "m0", "m11")
    problem = Problem(transfer, machine, Options())
    work = Work(math.inf, sparing=True)
    found = BestFirst(problem, None, [], work).run()
    whole = Work(math.inf)
    best = BestFirst(problem, None, [], whole).run().best
    assert found.best is not None and best is not None
    assert found.stopped and work.steps < whole.steps
    saved = STEPS_PER_SECOND * WORTH * found.best.seconds
    assert work.steps <= saved + 2 * search_steps(problem)
    assert found.lower <= best.seconds <= found.best.seconds


def test_hops_that_cost_nothing_beside_others_lead_round_in_no_circle() -> None:
    """Their time is lost in the rounding of a sum, so the way round is as short as the way on."""
    rates = {("a", "b"): 1e6, ("b", "c"): 1e24, ("c", "b"): 1e24, ("b", "d"): 1e6}
    memories = tuple(Memory(name, MemoryKind.SYS) for name in "abcd")
    channels = tuple(Channel("", ChannelKind.MEMCPY, *ends, Constant(rate)) for ends, rate in rates.items())
    machine, space = Machine("circle", memories, channels), IndexSpace(x=4096, y=4096)
    transfer = Transfer.whole(space, FieldSpace(v="f4", w="f2"), "a", "<F, x, y>", "d", "<x, F, y>")
    assert first_look(Problem(transfer, machine, Options())).lower > 0
    assert plan(transfer, machine).memories == ("a", "b", "d")


@pytest.mark.parametrize("limit", [Options(memory_limit=1), Options(slot_limit=1)])
def test_limits_without_room_for_an_entry(limit: Options) -> None:
    space, fields = IndexSpace(x=512, y=512), FieldSpace(a="f4", b="f8")
    transfer = Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<x, y, F>")
    with pytest.raises(LimitError, match="at least"):
        plan(transfer, preset("two-node"), options=limit)
    assert plan(transfer, preset("gh200"), options=limit).memories == ("node0.fbm0", "node1.fbm0")


def test_several_paths_where_they_save_more_than_they_cost() -> None:
    """Two relays between GPUs without a link: `auto` takes both for much data, one for little or where they share a port."""
    pairs = [(a, b) for a in "azmn" for b in "azmn" if a != b and {a, b} != set("az")]
    links = [Resource(f"link {a}{b}", 25e9) for a, b in pairs]

    def mesh(port: str | None) -> Machine:
        channels = []
        for a, b in pairs:
            uses = [(f"link {a}{b}", 1.0), *([(port, 1.0)] if port and a == "a" else [])]
            channels.append(Channel("", ChannelKind.GPU_COPY, a, b, Constant(25e9), request_seconds=2e-6, resources=tuple(uses)))
        more = [Resource(port, 25e9)] if port else []
        return Machine("mesh", [Memory(name, MemoryKind.FBM) for name in "azmn"], channels, [*links, *more])

    many, few = moved(1 << 28, "a", "z"), moved(1 << 12, "a", "z")
    made = plan(many, mesh(None))
    assert len(made.paths) == 2 and made.planner == "multipath"
    assert made.seconds < (1 - AUTO_GAIN) * plan(many, mesh(None), "full").seconds
    assert len(plan(few, mesh(None)).paths) == 1
    assert len(plan(many, mesh("port")).paths) == 1


@pytest.mark.full
def test_one_path_where_channels_do_not_say_what_they_share() -> None:
    """On the machine of the paper, `multipath` would send through one NIC in three ways at once."""
    space, fields = IndexSpace(x=8192, y=8192), FieldSpace(a="f8", b="f8")
    transfer = Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    assert len(plan(transfer, preset("two-node"), "multipath").paths) > 1
    assert len(plan(transfer, preset("two-node")).paths) == 1


def test_machines_without_parallel_routes_pay_no_program_for_several_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain has one route: neither the program for the steady state nor the planner of several paths is called."""
    names = ["a", "m", "z"]
    channels = [Channel("", ChannelKind.MEMCPY, *pair, Constant(1e9)) for pair in (("a", "m"), ("m", "z"), ("z", "m"))]
    machine = Machine("chain", [Memory(name, MemoryKind.SYS) for name in names], channels)

    def never(*_: object) -> float:
        raise AssertionError

    monkeypatch.setattr("isoviz.planner.multipath.reasons._steady_rate", never)
    monkeypatch.setattr("isoviz.planner.planners.auto_planner.multipath", never)
    assert len(plan(moved(1 << 28, "a", "z"), machine).paths) == 1
