"""A planner of another package: registered once, it is known to `plan`, to options, to files and to the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from isoviz import FieldSpace, IndexSpace, Options
from isoviz.errors import InputError
from isoviz.machines import preset
from isoviz.planner import (
    PLANNERS,
    Plan,
    Problem,
    Transfer,
    plan,
    plan_from_json,
    plan_to_json,
    planner_registry,
    register_planner,
    registered_planners,
)
from isoviz.widgets.chosen.menus import menus

TRANSFER = Transfer.whole(IndexSpace(x=64, y=32), FieldSpace(a="f4"), "node0.sys", "<F, x, y>", "node1.sys", "<F, y, x>")


def shortest_by_name(problem: Problem) -> Plan:
    return replace(plan(problem.transfer, problem.machine, "simple", replace(problem.options, planner="auto")), planner="mine")


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    planner_registry._planners.pop("mine", None)
    planner_registry._about.pop("mine", None)


def test_it_plans_and_is_known_everywhere() -> None:
    before = menus(None)["planners"]
    register_planner("mine", shortest_by_name, about="the shortest path again")
    made = plan(TRANSFER, preset("two-node"), "mine")
    assert made.planner == "mine" and made.hops == plan(TRANSFER, preset("two-node"), "simple").hops
    assert plan(TRANSFER, preset("two-node"), options=Options(planner="mine")) == made
    assert plan_from_json(plan_to_json(made)) == made
    assert menus(None)["planners"] == [*before, {"name": "mine", "title": "mine", "about": "the shortest path again"}]
    assert registered_planners()[-1].meaning == "The shortest path again."


def test_the_same_function_again_takes_its_place() -> None:
    """A cell of a notebook may run twice."""
    register_planner("mine", shortest_by_name, about="once")
    old = plan(TRANSFER, preset("two-node"), "mine")
    register_planner("mine", shortest_by_name, about="twice")
    assert PLANNERS["mine"] == "twice" and plan(TRANSFER, preset("two-node"), "mine") is not old


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("full", shortest_by_name, "planner 'full': there is another planner of this name"),
        ("by hand", shortest_by_name, "one printable word"),
        ("mine", "a text", "planner 'mine': expected a function of a problem"),
        (3, shortest_by_name, "expected text"),
    ],
)
def test_what_is_no_planner(name: Any, make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        register_planner(name, make, about="words")


def test_a_planner_that_returns_something_else() -> None:
    register_planner("mine", lambda _: "nothing", about="words")  # type: ignore[arg-type,return-value]
    with pytest.raises(InputError, match="planner 'mine': expected a plan as its result, got 'nothing'"):
        plan(TRANSFER, preset("two-node"), "mine")
    with pytest.raises(InputError, match=r"planner 'yours': expected one of auto, .*, mine"):
        plan(TRANSFER, preset("two-node"), "yours")
