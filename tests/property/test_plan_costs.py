"""One-time costs and limits of requests: plans on random machines against brute force, and against the costs added up by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from brute_force import PAGE, optimum, rate
from planner_problems import build, random_problem
from test_plan_words import chunk_elements

from isoviz.errors import LimitError, NoPathError
from isoviz.machines import Channel, Machine, OneTimeCost, machine_from_json, machine_to_json
from isoviz.planner import PLANNERS, Plan, plan
from isoviz.runtime import simulate

Report = Callable[[str, object], None]
BATCH = 30


def split(channel: Channel) -> Channel:
    """The channel with its set-up as several costs that come to the same."""
    s = channel.setup
    return replace(
        channel, setup=s / 4, costs=(OneTimeCost("registration", s / 8, per="buffer"), OneTimeCost("handshake", s / 2))
    )


@pytest.mark.parametrize("first", [0, BATCH])
@pytest.mark.few(1)
def test_costs_that_come_to_a_setup_leave_the_optimum_as_it_is(report: Report, first: int) -> None:
    compared = 0
    for seed in range(first, first + BATCH):
        problem = random_problem(seed)
        best = optimum(problem)
        transfer, machine, options = build(problem)
        machine = replace(machine, channels=tuple(map(split, machine.channels)))
        if best is None:
            with pytest.raises((NoPathError, LimitError)):
                plan(transfer, machine, "full", options)
            continue
        found = plan(transfer, machine, "full", options)
        assert found.objective == pytest.approx(best.seconds, rel=1e-9), seed
        compared += 1
    report("plans with split set-up against brute force", compared)
    assert compared > BATCH / 2


def preparing(problem: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """The problem with what its channels prepare, once or at every start, and with the number of starts."""
    channels = []
    for channel in problem["channels"]:
        units = draw.sample(("transfer", "buffer", "request", "run", "page"), draw.choice((0, 1, 1, 2)))
        prepares = [(draw.choice((0.0001, 0.001, 0.01)), per, draw.random() < 0.7) for per in units]
        channels.append({**channel, "prepares": tuple(prepares), "descriptors": draw.choice((None, 1, 3, 16))})
    return {**problem, "channels": tuple(channels), "reuse": draw.choice((1, 2, 5, 100))}


@pytest.mark.parametrize("first", range(0, 10 * BATCH, BATCH))
@pytest.mark.few(2)
def test_the_least_mean_of_all_starts_is_found(report: Report, monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Against brute force, with costs per request, run and page, kept or not. The plans promise nothing: `gap` may be None."""
    monkeypatch.setattr("isoviz.machines.costs.PAGE_BYTES", PAGE)
    compared = 0
    for seed in range(first, first + BATCH):
        problem = preparing(random_problem(seed), random.Random(seed))
        best = optimum(problem)
        transfer, machine, options = build(problem)
        if best is None:
            with pytest.raises((NoPathError, LimitError)):
                plan(transfer, machine, "full", options)
            continue
        found = plan(transfer, machine, "full", options)
        assert found.objective == pytest.approx(best.seconds, rel=1e-9), (seed, best)
        starts = [each.seconds for each in simulate(found, machine, starts=2).transfers] if found.chunk_count < 200 else []
        assert starts == pytest.approx([found.first, found.again][: len(starts)], rel=1e-9), seed
        compared += 1
    report("plans for several starts against brute force", compared)
    assert compared > BATCH / 2


def with_costs(machine: Machine, draw: random.Random) -> Machine:
    """The machine with further costs and with limits of requests on its channels."""

    def changed(channel: Channel) -> Channel:
        costs = [
            OneTimeCost(
                f"c{k}",
                draw.choice((0.0, 0.001, 0.007, 0.02)),
                draw.choice(("transfer", "buffer", "layout")),
                draw.choice(("", "", "a", "b")),
                draw.random() < 0.25,
                draw.random() < 0.25,
            )
            for k in range(draw.choice((0, 1, 2, 3)))
        ]
        descriptors = draw.choice((None, None, 1, 3, 16))
        return replace(channel, costs=costs, descriptors=descriptors, request_seconds=draw.choice((0.0, 0.0001, 0.003)))

    return replace(machine, channels=tuple(map(changed, machine.channels)))


def added_up(found: Plan, machine: Machine) -> float:
    """What a plan pays once, from the words of its hops."""
    total, seen = 0.0, set()
    for hop in found.hops:
        channel = machine.channel(hop.channel)
        total += channel.setup
        for cost in channel.one_time[1 if channel.setup else 0 :]:
            if (cost.only_converting and not hop.converts) or (cost.only_following and hop.index == 0):
                continue
            here, there = found.orders[hop.index], found.orders[hop.index + 1]
            things: list[object] = [None]
            if cost.per == "buffer":
                things = [hop.index, hop.index + 1]
            if cost.per == "layout":
                things = [here.normal] if here.same_as(there) else [here.normal, there.normal]
            for thing in things:
                if cost.cached_by and (cost.cached_by, cost.per, thing) in seen:
                    continue
                total += cost.seconds
                if cost.cached_by:
                    seen.add((cost.cached_by, cost.per, thing))
    return total


def sustained(given: dict[str, Any], channel: Channel, chunk: float, run: float) -> float:
    requests = 1 if channel.descriptors is None else math.ceil(math.ceil(chunk / run - 1e-9) / channel.descriptors)
    return chunk / (chunk / rate(given["throughput"], run) + requests * channel.request_seconds)


@pytest.mark.parametrize("first", range(0, 90, BATCH))
@pytest.mark.few(1)
def test_plans_say_what_their_channels_cost(report: Report, first: int) -> None:
    checked = 0
    for seed in range(first, first + BATCH):
        problem = random_problem(seed, non_nesting=seed % 3 == 2)
        transfer, machine, options = build(problem)
        machine = with_costs(machine, random.Random(seed))
        assert machine_from_json(machine_to_json(machine)) == machine
        channels = {each["name"]: each for each in problem["channels"]}
        for planner in (name for name in PLANNERS if name != "multipath"):  # with one path each
            try:
                found = plan(transfer, machine, planner, options)
            except (NoPathError, LimitError):
                continue
            checked += 1
            assert found.setup == pytest.approx(added_up(found, machine), rel=1e-12), (seed, planner)
            chunk = chunk_elements(found, problem) * sum(problem["fields"]) / len(problem["fields"])
            for hop in found.hops:
                expected = sustained(channels[hop.channel], machine.channel(hop.channel), chunk, hop.request_bytes)
                assert hop.throughput == pytest.approx(expected, rel=1e-9), (seed, planner, hop)
            if found.chunk_count < 200:
                assert simulate(found, machine).seconds == pytest.approx(found.seconds, rel=1e-9), (seed, planner)
    report("plans whose costs were added up once more", checked)
    assert checked > BATCH


def test_the_best_plan_loses_to_none_of_the_simple_ones(report: Report) -> None:
    """No promise, but what other planners find is found."""
    worse = compared = 0
    for seed in range(100, 140):
        transfer, machine, options = build(random_problem(seed))
        machine = with_costs(machine, random.Random(seed))
        try:
            found = plan(transfer, machine, "full", options)
        except (NoPathError, LimitError):
            continue
        for planner in ("direct", "simple"):
            try:
                other = plan(transfer, machine, planner, options)
            except (NoPathError, LimitError):
                continue
            compared += 1
            worse += found.objective > other.objective * (1 + 1e-9)
    report("plans with further costs beside those of simple planners: worse, of", f"{worse} of {compared}")
    assert worse == 0
    assert compared > 20
