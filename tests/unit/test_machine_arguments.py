"""Wherever a call takes a machine it takes a machine, the name of a preset or the path of a machine file, and means the same."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz import figures, machines, planner, runtime
from isoviz.backends.devices import ThisComputer
from isoviz.errors import InputError
from isoviz.machines import Machine, MachineLike
from isoviz.planner import whole_solution
from isoviz.runtime import highest_priority_first
from isoviz.widgets import Session

NAME = "two-node"
SPACE, FIELDS = isoviz.IndexSpace(x=16, y=8), isoviz.FieldSpace(v="f4")
TRANSFER = isoviz.Transfer.whole(SPACE, FIELDS, source=("node0.sys", "<F, x, y>"), destination=("node0.sys", "<F, y, x>"))
FAR = isoviz.Transfer.whole(SPACE, FIELDS, source=("node0.sys", "<F, x, y>"), destination=("node1.sys", "<F, x, y>"))
USE = isoviz.Use.to("node1.sys", "<F, x, y>")
PLAN = isoviz.plan(TRANSFER, NAME)
ROUTE = ["node0.sys", "node0.reg", "node1.reg", "node1.sys"]


def view(make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a view has as its settings, and the machine of the trace that it shows."""
    shown = make(*given, **named)
    try:
        state = shown.session.state
        return state.settings.machine.name, state.given_machine
    finally:
        shown.close()


def spread(ranks: int) -> isoviz.DistributedInstance:
    return isoviz.DistributedInstance(SPACE, FIELDS, isoviz.Distribution({"x": ranks}), "<F, x, y>")


def engine(machine: MachineLike) -> Any:
    with isoviz.Engine(machine) as made:
        return made.machine


def words(svg: str) -> str:
    """The words of a picture; its ids grow from picture to picture."""
    return re.sub("<style.*?</style>|<[^>]*>", " ", svg, flags=re.DOTALL)


def based(machine: MachineLike) -> Any:
    with runtime.BaseEngine(machine, ThisComputer()) as made:
        return made.machine


def scheduled(machine: MachineLike) -> Any:
    return runtime.Scheduler.of(machine, None, highest_priority_first, None)._machine


def session(machine: MachineLike) -> Any:
    made = Session(trace=isoviz.simulate(PLAN), trace_machine=machine)
    made.close()
    return made.state.given_machine


def run(machine: MachineLike) -> bool | None:
    return isoviz.run(PLAN, np.zeros((8, 16), "f4"), machine=machine).verified


def saved(machine: MachineLike, folder: Path) -> str:
    machines.save(machine, folder / "saved.json")
    return (folder / "saved.json").read_text()


def saved_plan(machine: MachineLike, folder: Path) -> str:
    planner.save_plan(PLAN, folder / "plan.json", machine)
    return (folder / "plan.json").read_text()


CALLS: dict[str, Callable[[MachineLike, Path], Any]] = {
    "isoviz.Engine": lambda it, _: engine(it),
    "isoviz.MachineEditor": lambda it, _: view(isoviz.MachineEditor, it),
    "isoviz.PlanView": lambda it, _: (view(isoviz.PlanView, TRANSFER, it), view(isoviz.PlanView, PLAN, it)),
    "isoviz.RunPanel": lambda it, _: view(isoviz.RunPanel, TRANSFER, machine=it),
    "isoviz.Simulator": lambda it, _: isoviz.Simulator(it).machine,
    "isoviz.TraceView": lambda it, _: view(isoviz.TraceView, isoviz.simulate(PLAN), machine=it),
    "isoviz.cost": lambda it, _: isoviz.cost(TRANSFER, it, ["node0.sys", "node0.sys"]),
    "isoviz.explain": lambda it, _: isoviz.explain(TRANSFER, it).stages,
    "isoviz.explore": lambda it, _: view(isoviz.explore, machine=it, restore=False),
    "isoviz.find_layout": lambda it, _: isoviz.find_layout(SPACE, FIELDS, "node0.sys", USE, it, most_plans=3),
    "isoviz.plan": lambda it, _: isoviz.plan(FAR, it),
    "isoviz.plan_redistribution": lambda it, _: isoviz.plan_redistribution(spread(1), spread(2), it),
    "isoviz.run": lambda it, _: run(it),
    "isoviz.simulate": lambda it, _: isoviz.simulate(PLAN, it),
    "isoviz.sweep": lambda it, _: isoviz.sweep(FAR, it, "slot_limit", values=[1024]),
    "isoviz.figures.machine_throughput_figure": lambda it, _: type(figures.machine_throughput_figure(it)),
    "isoviz.figures.path_svg": lambda it, _: words(figures.path_svg(it, isoviz.cost(FAR, NAME, ROUTE))),
    "isoviz.figures.plan_throughput_figure": lambda it, _: type(figures.plan_throughput_figure(it, PLAN)),
    "isoviz.machines.draw": lambda it, _: machines.draw(it),
    "isoviz.machines.machine_argument": lambda it, _: machines.machine_argument("call", it),
    "isoviz.machines.machine_to_json": lambda it, _: machines.machine_to_json(it),
    "isoviz.machines.rates_beside": lambda it, _: str(machines.rates_beside(it, it)),
    "isoviz.machines.save": saved,
    "isoviz.machines.shortest_path": lambda it, _: machines.shortest_path(it, "node0.sys", "node1.sys"),
    "isoviz.planner.certificate": lambda it, _: planner.certificate(PLAN, it).bound,
    "isoviz.planner.chunk_curve": lambda it, _: planner.chunk_curve(isoviz.plan(FAR, it), it),
    "isoviz.planner.machine_of": lambda it, _: planner.machine_of(PLAN, it),
    "isoviz.planner.plan_of_paths": lambda it, _: planner.plan_of_paths(TRANSFER, it, [({}, ["node0.sys", "node0.sys"])]),
    "isoviz.planner.plan_together": lambda it, _: planner.plan_together([TRANSFER], it),
    "isoviz.planner.rechunked": lambda it, _: planner.rechunked(isoviz.plan(FAR, it), 1, it),
    "isoviz.planner.save_plan": saved_plan,
    "isoviz.planner.whole_solution": lambda it, _: whole_solution(FAR, it),
    "isoviz.runtime.BaseEngine": lambda it, _: based(it),
    "isoviz.runtime.Scheduler.of": lambda it, _: scheduled(it),
    "isoviz.widgets.Session": lambda it, _: session(it),
}
"""One call of each that takes a machine, by its name."""
ELSEWHERE = {
    **dict.fromkeys(("isoviz.measure_layouts", "isoviz.trial"), "tests/run: it runs for seconds"),
    **dict.fromkeys((f"isoviz.Ranks.{name}" for name in ("run", "submit", "prepare")), "tests/ranks: it needs ranks"),
    "isoviz.figures.network_svg": "it takes machines with a network, which a two-node machine has not",
}


HOLDING = {"isoviz.planner.Problem"}
"""What holds a machine as a value does, and is made by planning calls alone."""


def asking() -> Iterator[tuple[str, inspect.Parameter]]:
    """Each public call of isoviz and its packages that takes a machine, with the argument. Values that hold one are no calls."""
    seen = set()
    for package in ("isoviz", *(f"isoviz.{each.name}" for each in pkgutil.iter_modules(isoviz.__path__))):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            public = getattr(module, name)
            calls = [(f"{package}.{name}", public)]
            if inspect.isclass(public):
                calls = [] if dataclasses.is_dataclass(public) else calls
                methods = {key: value for key, value in vars(public).items() if not key.startswith("_")}
                calls += [(f"{package}.{name}.{key}", getattr(value, "__func__", value)) for key, value in methods.items()]
            for called, function in calls:
                if callable(function) and id(function) not in seen:
                    seen.add(id(function))
                    yield from ((called, each) for each in arguments(function))


def arguments(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The arguments of a call that are machines, by their names or their types."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some classes of Python have none
        return []
    return [each for each in given if "Machine" in str(each.annotation) or each.name == "machine"]


def test_every_argument_that_is_a_machine_is_of_one_type() -> None:
    asked = [(call, argument) for call, argument in asking() if call not in HOLDING]
    assert [(call, str(each)) for call, each in asked if "MachineLike" not in str(each.annotation)] == []
    assert {call for call, _ in asked} == {*CALLS, *ELSEWHERE}, "a call that takes a machine is called here, with all three"


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MachineLike]]:
    """A machine, its preset and its file. No call changes the machine, which all calls by name share."""
    folder = tmp_path_factory.mktemp("machines")
    machine = machines.preset(NAME)
    machines.save(machine, folder / "two-node.json")
    yield {
        "a machine": machine,
        "a name": NAME,
        "a path": folder / "two-node.json",
        "text of a path": str(folder / "two-node.json"),
    }
    assert machines.preset(NAME) is machine
    assert machine.to_json() == machines.presets()[NAME].make().to_json()


@pytest.mark.parametrize("call", CALLS)
def test_a_machine_its_name_and_its_file_mean_the_same(call: str, forms: dict[str, MachineLike], tmp_path: Path) -> None:
    expected, *others = [CALLS[call](form, tmp_path) for form in forms.values()]
    assert all(other == expected for other in others)
    assert not isinstance(expected, Machine) or expected == machines.preset(NAME)
    with pytest.raises(InputError, match="expected a machine, the name of a preset or the path of a machine file, got 7"):
        CALLS[call](7, tmp_path)  # type: ignore[arg-type]
