"""Arguments of the wrong type: each call names itself, what it expects and what it got."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isoviz
import isoviz.runtime
from isoviz.backends.devices import ThisComputer
from isoviz.errors import InputError
from isoviz.machines import ChannelKind, Machine, MemoryKind, preset
from isoviz.planner import Plan

ENDS = ("node0.sys", "<F, x, y>", "node0.sys", "<F, y, x>")
TRANSFER = isoviz.Transfer.whole(isoviz.IndexSpace(x=30, y=20), isoviz.FieldSpace(v="f8"), *ENDS)
WRONG: dict[str, tuple[Callable[[Machine, Plan], Any], str]] = {
    "a plan for a transfer": (lambda machine, plan: isoviz.plan(plan, machine), "plan: expected a transfer, got a Plan"),
    "a number for a machine": (
        lambda machine, plan: isoviz.plan(TRANSFER, 2),
        "plan: expected a machine, the name of a preset or the path of a machine file, got 2",
    ),
    "the name of no machine": (lambda machine, plan: isoviz.plan(TRANSFER, "two-nodes"), "did you mean 'two-node'?"),
    "a list for a transfer": (lambda machine, plan: isoviz.plan([], machine), "plan: expected a transfer, got a list"),
    "a path without a machine": (
        lambda machine, plan: isoviz.cost(TRANSFER, None, ["node0.sys"]),
        "path by hand: expected a machine, the name of a preset or the path of a machine file, got None",
    ),
    "explain a machine": (
        lambda machine, plan: isoviz.explain(machine),
        "explain: expected a transfer or a plan, got a Machine",
    ),
    "explain a transfer without a machine": (
        lambda machine, plan: isoviz.explain(TRANSFER),
        "explain: expected a machine with a transfer",
    ),
    "explain a plan with another planner": (
        lambda machine, plan: isoviz.explain(plan, machine, "full"),
        "explain: a plan is explained as it is; expected no planner with it, got 'full'",
    ),
    "simulate a transfer": (
        lambda machine, plan: isoviz.simulate(TRANSFER),
        "simulate: expected a plan or several, got a Transfer",
    ),
    "simulate transfers": (lambda machine, plan: isoviz.simulate([TRANSFER]), "simulate: expected a plan, got a Transfer"),
    "an engine of a number": (
        lambda machine, plan: isoviz.Engine(7),
        "engine: expected a machine, the name of a preset or the path of a machine file, got 7",
    ),
    "an array of another dtype": (
        lambda machine, plan: isoviz.Engine(machine).run(plan, np.zeros((20, 30), "f4")),
        "its elements are float32; expected {v: float64}",
    ),
    "run a transfer": (lambda machine, plan: isoviz.Engine(machine).run(TRANSFER), "engine: expected a plan, got a Transfer"),
    "submit a transfer": (
        lambda machine, plan: isoviz.Engine(machine).submit(TRANSFER),
        "engine: expected a plan, got a Transfer",
    ),
    "try out a transfer": (lambda machine, plan: isoviz.try_out(TRANSFER, machine), "trial: expected a plan, got a Transfer"),
    "ends that are no instances": (
        lambda machine, plan: isoviz.Transfer("a", "b"),
        "transfer: expected an instance at each end, got 'a'",
    ),
    "a shape for a space": (
        lambda machine, plan: isoviz.Instance("node0.sys", (30, 20), TRANSFER.source.fields, "<F, x, y>"),
        "instance: expected an index space, got a list",
    ),
    "a type for fields": (
        lambda machine, plan: isoviz.Instance("node0.sys", TRANSFER.source.space, "f8", "<F, x, y>"),
        "instance: expected a field space, got 'f8'",
    ),
    "explore a number": (
        lambda machine, plan: isoviz.explore(space=3),
        "space: expected a value for each name, such as {'x': 64",
    ),
    "explore a list of fields": (
        lambda machine, plan: isoviz.explore(fields=["re"]),
        "fields: expected a value for each name, such as {'re': 'f4', 'im': 'f4'}, got a list",
    ),
    "explore options without names": (
        lambda machine, plan: isoviz.explore(machine="sapling", machine_options={4: 4}),
        "machine_options: expected a value for each name, such as {'nodes': 4}, got an object",
    ),
    "explore half a part": (
        lambda machine, plan: isoviz.explore(space={"x": 64}, part={"x": 3}),
        "part 'x': 3; expected a dimension with (first index, extent)",
    ),
    "explore a numbered session": (
        lambda machine, plan: isoviz.explore(session=3),
        "session: expected the path of a file, got 3",
    ),
    "redistribute instances": (
        lambda machine, plan: isoviz.redistribute(TRANSFER.source, TRANSFER.destination),
        "redistribute: expected a distributed instance at each end, got an Instance",
    ),
    **{
        f"the priority {given!r}": (
            lambda machine, plan, given=given: isoviz.Transfer.whole(TRANSFER.space, TRANSFER.fields, *ENDS, priority=given),
            "transfer, priority: expected a whole number",
        )
        for given in (None, "high", math.nan, 1.5, True, 2**70, [])
    },
    "submit with the priority nan": (
        lambda machine, plan: isoviz.Engine(machine).submit(plan, priority=math.nan),
        "transfer, priority: expected a whole number",
    ),
    "options in a dictionary": (lambda machine, plan: isoviz.plan(TRANSFER, machine, options={}), "options: expected"),
    "no options but 0": (lambda machine, plan: isoviz.Engine(machine, options=0), "engine: expected options or None, got 0"),
    "a slot limit below 0": (
        lambda machine, plan: isoviz.Options(slot_limit=-1),
        "size -1: expected a number of bytes, not negative",
    ),
    "requests in flight below 0": (
        lambda machine, plan: isoviz.Simulator(machine, in_flight=-1),
        "scheduler, in_flight: expected a whole number from 1",
    ),
    "a policy by name": (
        lambda machine, plan: isoviz.simulate(plan, machine, policy="urgent"),
        "scheduling policy: expected a function",
    ),
    "a policy of an unknown channel": (
        lambda machine, plan: isoviz.Simulator(machine, policies={"x": isoviz.runtime.first_come_first_served}),
        "no channel 'x'",
    ),
    "requests without bytes": (lambda machine, plan: isoviz.Simulator(machine, request_bytes=-4), "request_bytes"),
    "devices that are none": (lambda machine, plan: isoviz.Engine(machine, 3), "engine: expected devices"),
    "a factory that makes no memory": (
        lambda machine, plan: isoviz.Engine(machine, ThisComputer(memories={MemoryKind.SYS: lambda _: 3})).run(plan),
        "memory node0.sys: its devices made 3 without 'slot'; expected a memory",
    ),
    "a factory that makes no channel": (
        lambda machine, plan: isoviz.Engine(machine, ThisComputer(channels={ChannelKind.MEMCPY: lambda *_: "a"})).run(plan),
        "its devices made 'a' without 'prepare'; expected a channel",
    ),
    "a distributed instance without fields": (
        lambda machine, plan: isoviz.DistributedInstance(TRANSFER.space, None, isoviz.Distribution({"x": 2}), "<F, x, y>"),
        "distributed instance: expected a field space, got None",
    ),
    "plan to redistribute instances": (
        lambda machine, plan: isoviz.plan_redistribution(TRANSFER.source, TRANSFER.destination, machine),
        "redistribution: expected a distributed instance at each end, got an Instance",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_error_says_what_was_expected(case: str) -> None:
    machine = preset("local", measure="assumed")
    call, said = WRONG[case]
    with pytest.raises(InputError, match=re.escape(said)):
        call(machine, isoviz.plan(TRANSFER, machine))


def test_a_copy_of_a_wrong_priority_ends_at_once() -> None:
    array, there = np.zeros((256, 400)), np.zeros((400, 256))
    with isoviz.Engine(preset("local", measure="assumed")) as engine:
        engine.copy(array, "<F, x, y>", there, "<F, y, x>", priority=np.int64(1)).wait()
        for priority in (None, "high", math.nan, True, {}):
            with pytest.raises(InputError, match="priority: expected a whole number"):
                engine.copy(array, "<F, x, y>", there, "<F, y, x>", priority=priority)
