"""Thousands of calls of the public interface with wrong arguments: each is refused with a typed error, or has a meaning."""

from __future__ import annotations

import inspect
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from network_calls import NETWORKS
from right_calls import COMMANDS, COMPUTER, FILES, LAYOUTS, MACHINES, PLANNER, RUNTIME, SLOW, SPREAD, WIDGETS, Things
from vortex_calls import TRAFFIC, VORTEX
from wrong_values import PATIENCE, Caller, made_wrong

import isoviz
from isoviz import layouts, machines, planner, redistribution, runtime, vortex
from isoviz.machines.networks import routing, topology
from isoviz.machines.presets import registry as preset_registry
from isoviz.planner import planner_registry


def methods_of(kind: type) -> list[str]:
    """The public methods of a class that take arguments, with those of its bases in isoviz."""
    found = []
    ours = [vars(each) for each in reversed(kind.__mro__) if each.__module__.startswith("isoviz.")]
    parts = dict(itertools.chain.from_iterable(each.items() for each in ours))
    for name, value in parts.items():
        function = getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(function) and len(inspect.signature(function).parameters) > 1:
            found.append(name)
    return found


GROUPS = {
    "layouts": LAYOUTS,
    "machines": MACHINES,
    "networks": NETWORKS,
    "planner": PLANNER,
    "runtime": RUNTIME,
    "spread": SPREAD,
    "vortex": VORTEX,
    "computer": COMPUTER,
    "files": FILES,
    "widgets": WIDGETS,
    "commands": COMMANDS,
}
SOME, MOST = 1500, 10000
NOT_HERE = ("probe", "ranks", "redistribute", "prepare_redistribution", "isoviz history")
"""Calls that need ranks, minutes or a ledger: only what they refuse is tested."""
RECORDS_OF_A_MACHINE = ("DescribedMachine", "FileMachine")
READ_BACK: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any] | None]] = {
    machines.Machine: (machines.machine_to_json, machines.machine_from_json),
    machines.Constant: (machines.Constant.to_json, machines.throughput_from_json),
    machines.LatencyBandwidth: (machines.LatencyBandwidth.to_json, machines.throughput_from_json),
    machines.Sampled: (machines.Sampled.to_json, machines.throughput_from_json),
    isoviz.Transfer: (planner.transfer_to_json, planner.transfer_from_json),
    isoviz.Instance: (lambda it: planner.transfer_to_json(isoviz.Transfer(it, replace(it, path=None)))["source"], None),
    isoviz.Options: (isoviz.Options.as_dict, lambda data: isoviz.Options(**data)),
    isoviz.Plan: (planner.plan_to_json, planner.plan_from_json),
    planner.Explanation: (planner.whole_explanation_to_json, planner.explanation_from_json),
    planner.LayoutChoice: (planner.layout_choice_to_json, planner.layout_choice_from_json),
    isoviz.Layout: (str, isoviz.Layout),
    isoviz.IndexSpace: (isoviz.IndexSpace.as_dict, isoviz.IndexSpace.of),
    isoviz.FieldSpace: (isoviz.FieldSpace.as_dict, isoviz.FieldSpace.of),
    isoviz.Distribution: (isoviz.Distribution.to_json, lambda data: isoviz.Distribution(**data)),
    isoviz.DistributedInstance: (isoviz.DistributedInstance.to_json, redistribution.instance_from_json),
    redistribution.RedistributionPlan: (redistribution.redistribution_to_json, redistribution.redistribution_from_json),
    isoviz.Trace: (isoviz.Trace.to_json, isoviz.Trace.from_json),
}


MADE_BY_ISOVIZ = {
    *("Chunk", "Comparison", "Location", "Mode", "StridedCopy", "CopyShape", "PresetInfo", "RateComparison", "Buffer", "Hop"),
    *("CacheStatistics", "Certificate", "ChunkCurve", "ChunkPoint", "Explanation", "PathByHand", "PathPlan", "Plan"),
    *("LayoutChoice", "RankedLayout"),
    *("WarpLoad", "OrderChange", "Link"),
    *("Sweep", "WinnerMap", "Planner", "PreparedTransfer", "Problem", "TransferFile", "WholeSolution", "Event", "HopMeasurement"),
    *("Progress", "Report", "Bundle", "ListedTransfer", "ListedCopy"),
    *("RequestSpan", "Span", "TransferSpan", "Trace", "RedistributionPlan", "Sending", "Ranks"),
    *(f"vortex.{name}" for name in ("Communicator", "Computed", "Distribution", "Drawn", "FifoRing", "Gups", "MessageSystem")),
    *(f"vortex.{name}" for name in ("Packets", "ProgramRun", "Race", "Request", "SentMessage", "SwitchRun", "System", "Vic")),
}
"""Records that isoviz makes. What takes them checks them; their own methods are called as those of all others are."""
EARLIER = {"cost": "plan_by_path", "try_out": "trial"}
"""Earlier names of public functions, and those that they have now."""
CALLED_BY_ISOVIZ = {
    *(
        "ShapedThroughput",
        "ThroughputFunction",
        "CancelToken",
        "ChannelState",
        "Devices",
        "Endpoint",
        "RealChannel",
        "RealMemory",
        "Slot",
        "Store",
        "XD",
    ),
    *("first_come_first_served", "highest_priority_first"),
    *("Instance.lying_as", "Plan.lying", "TransferFile.for_runs", "WinnerMap.label"),
    *(f"ListedCopy.{name}" for name in methods_of(layouts.ListedCopy)),
    *(f"{kind}.{name}" for kind in ("Bundle", "ListedTransfer") for name in methods_of(isoviz.Transfer)),
    *("Bundle.stretches", "ChunkSequence.of_bytes", "PathPlan.recurring", "View.places"),
    *(f"Transfer.{name}" for name in ("keyed", "mean_run", "recurring")),
    *(f"Scheduler.{name}" for name in methods_of(runtime.Scheduler) if name != "of"),
    *(f"RankScheduler.{name}" for name in methods_of(runtime.RankScheduler)),
    *(f"Coordinator.{name}" for name in methods_of(runtime.Coordinator) if name != "free"),
    *("Event.end", "Event.moved"),
    *(f"{kind.__name__}.{name}" for kind in (machines.Topology, machines.Routing) for name in methods_of(kind)),
    *(f"Problem.{name}" for name in methods_of(planner.Problem)),
    *(f"Ranks.{name}" for name in methods_of(isoviz.Ranks)),
    *("vortex.Traffic", "vortex.Vic.send_packets", *(f"vortex.{kind}.packets" for kind in (*TRAFFIC, "Traffic"))),
    *(
        f"vortex.{kind.__name__}.{name}"
        for kind in (vortex.MessageSystem, vortex.Request)
        for name in methods_of(kind)
        if name != "run"
    ),
    *("Simulator.submit_work", "Box.unchecked", "Layout.unchecked", "Topology", "Routing"),
}
"""Protocols, and the steps of schedulers for every request: an engine calls them with what a scheduler answered. Planners ask a
`Problem` about what it gave them, and a transfer of any kind about its copies. `Ranks` need ranks: tests/ranks calls them."""


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    folder = tmp_path_factory.mktemp("things")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # many a wrong path is the name of a new file
        for kind in (machines.MemoryKind, machines.ChannelKind):
            patch.setattr(kind, "_registered", dict(kind._registered))
        patch.setattr(preset_registry, "_registered", dict(preset_registry._registered))
        patch.setattr(topology, "_TOPOLOGIES", dict(topology._TOPOLOGIES))
        patch.setattr(routing, "_ROUTINGS", dict(routing._ROUTINGS))
        for names in ("_planners", "_about"):
            patch.setattr(planner_registry, names, dict(getattr(planner_registry, names)))
        made = Things(folder)
        yield made
        made.close()


def looked_at(answer: Any) -> None:
    """An answer can be shown and hashed; what a file can hold can be read back."""
    repr(answer)
    if type(answer) in READ_BACK:
        hash(answer)
        write, read = READ_BACK[type(answer)]
        text = json.dumps(write(answer), allow_nan=False)
        if read is not None and read(json.loads(text)) != answer:
            raise AssertionError(f"read back as another value: {text}")
    elif isinstance(answer, runtime.Event):
        error = answer.error(PATIENCE / 2)
        if error is not None:
            raise error


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.few(3)
def test_right_calls_are_answered(group: str, things: Things) -> None:
    """Else their wrong calls would be refused for another reason."""
    caller = Caller(looked_at)
    outcomes = {name: caller(recipe(things)) for name, recipe in GROUPS[group].items() if name not in NOT_HERE}
    caller.close()
    assert [f"{name}: {outcome.said}" for name, outcome in outcomes.items() if outcome.kind != "answered"] == []


@pytest.mark.parametrize("named", ["name", "file", "path"])
def test_a_call_that_takes_a_machine_takes_its_name_or_file(named: str, things: Things) -> None:
    files: dict[str, Path] = {}
    refused, asked = [], set()

    def other(value: Any) -> Any:
        if not isinstance(value, machines.Machine) or (named == "name" and value is not things.cluster):
            return value
        path = files.setdefault(value.digest, things.folder / f"{len(files)}.json")
        machines.save(value, path)
        return {"name": "two-node", "file": str(path), "path": path}[named]

    caller = Caller(looked_at)
    for name, recipe in itertools.chain.from_iterable(group.items() for group in GROUPS.values()):
        if name in RECORDS_OF_A_MACHINE:
            continue
        right = recipe(things)
        given = [*right.arguments, *right.keywords.values()]
        right.arguments = [other(each) for each in right.arguments]
        right.keywords = {word: other(each) for word, each in right.keywords.items()}
        if [*right.arguments, *right.keywords.values()] != given:
            asked.add(name)
            outcome = caller(right)
            refused += [f"{name}: {outcome.said}"] if outcome.kind != "answered" else []
    caller.close()
    assert not refused, "\n".join(refused)
    assert {"simulate", "TraceView"} <= asked if named == "name" else {"plan", "save", "trial", "Engine", "PlanView"} <= asked


def test_wrong_calls(things: Things, full: bool, report: Callable[[str, object], None]) -> None:
    chance = random.Random(7)
    recipes = [(name, recipe) for found in GROUPS.values() for name, recipe in found.items()]
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    caller = Caller(looked_at)
    for turn, (name, recipe) in itertools.product(range(MOST), recipes):
        if turn % SLOW.get(name, 1):
            continue
        wrong = made_wrong(recipe(things), chance)
        shown = str(wrong)
        outcome = caller(wrong)
        outcomes[outcome.kind] += 1
        if outcome.is_fault:
            faults.append(f"{name}: {shown}\n    {outcome.kind}: {outcome.said}")
        if outcomes.total() == (MOST if full else SOME):
            break
    caller.close()
    report("calls with wrong arguments", ", ".join(f"{count} {kind}" for kind, count in sorted(outcomes.items())))
    assert not faults, f"{len(faults)} faults, such as\n" + "\n".join(faults[:10])


def test_every_public_name_is_called() -> None:
    called = {re.split("[ ([]", name)[0] for found in GROUPS.values() for name in found}
    missing = []
    for module in (isoviz, layouts, machines, planner, runtime, redistribution, vortex):
        for name in module.__all__:
            value = getattr(module, name)
            name = f"vortex.{name}" if module is vortex else name  # A `Switch` is in several modules.
            if name in EARLIER and value is getattr(module, EARLIER[name]):
                continue
            if name in CALLED_BY_ISOVIZ or not callable(value):
                continue
            name = "Engine" if name == "BaseEngine" else name  # `isoviz.Engine` is one, and what users have.
            if name not in called | MADE_BY_ISOVIZ:
                missing.append(name)
            if inspect.isclass(value):
                missing += [
                    f"{name}.{method}" for method in methods_of(value) if f"{name}.{method}" not in called | CALLED_BY_ISOVIZ
                ]
    assert missing == []
