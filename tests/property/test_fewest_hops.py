"""More hops win only where they save a thousandth, on machines whose hops cost nothing but their bytes."""

from __future__ import annotations

import math
import random

import pytest

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, Constant, Machine, Memory
from isoviz.planner import Options, Plan, Transfer, plan
from isoviz.planner.full import listed_routes
from isoviz.planner.problem import Problem

BYTES = FieldSpace(byte="u1")
SPACE = IndexSpace(x=1 << 30)
STEP = 4e-4  # two steps are less than a thousandth, three are more
Rates = dict[tuple[int, int], float]


def random_rates(seed: int, memories: int, channels: int, levels: int) -> Rates:
    draw = random.Random(f"fewest hops {seed}")
    pairs = [(a, b) for a in range(memories) for b in range(memories) if a != b]
    return {pair: 1e9 * (1 + STEP * draw.randrange(levels)) for pair in draw.sample(pairs, min(channels, len(pairs)))}


def machine_of(rates: Rates, memories: int) -> Machine:
    names = [f"node{k}.sys" for k in range(memories)]
    channels = [Channel("", "RemoteMemcpy", names[a], names[b], Constant(rate)) for (a, b), rate in rates.items()]
    return Machine("free hops", tuple(Memory(name, "SYS", k) for k, name in enumerate(names)), tuple(channels))


def hops_that_win(rates: Rates, memories: int) -> int | None:
    """The number of hops, from the widest walk of at most so many hops: filling the pipeline takes no time here."""
    widest = [math.inf] + [0.0] * (memories - 1)
    won, hops = 0.0, None
    for count in range(1, memories):
        before = list(widest)
        for (a, b), rate in rates.items():
            widest[b] = max(widest[b], min(before[a], rate))
        reached = widest[-1]
        if reached > 0 and (not won or 1 / reached < (1 - 1e-3) / won):
            won, hops = reached, count
    return hops


def planned(rates: Rates, memories: int, planner: str) -> Plan:
    ends = ("node0.sys", "<F, x>", f"node{memories - 1}.sys", "<F, x>")
    transfer, machine = Transfer.whole(SPACE, BYTES, *ends), machine_of(rates, memories)
    if memories > 9:
        assert listed_routes(Problem(transfer, machine, Options())) is None, "the paths were listed"
    return plan(transfer, machine, planner, Options(planning_time=20.0))


@pytest.mark.parametrize(("memories", "channels", "levels", "count"), [(5, 14, 12, 40), (8, 40, 30, 12), (14, 110, 60, 4)])
@pytest.mark.parametrize("planner", ["full", "auto"])
def test_the_fewest_hops_win(full: bool, planner: str, memories: int, channels: int, levels: int, count: int) -> None:
    found = []
    for seed in range(count * 10 if full else count):
        rates = random_rates(seed, memories, channels, levels)
        expected = hops_that_win(rates, memories)
        if expected is not None:
            made = planned(rates, memories, planner)
            found.append(len(made.hops))
            if planner == "auto" and len(made.hops) != expected:  # it stops where more would not pay
                assert made.gap != 0
                most = 1.01 if made.gap is None else 1.001 + made.gap
                assert made.seconds <= most * planned(rates, memories, "full").seconds, f"seed {seed}: {made}"
                continue
            assert len(made.hops) == expected, f"seed {seed}: {made}"
            again = planned(dict(reversed(rates.items())), memories, planner)
            assert [hop.channel for hop in again.hops] == [hop.channel for hop in made.hops]
    assert len(set(found)) > 1
