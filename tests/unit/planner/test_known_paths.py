"""The best plan on paths that are known already."""

from __future__ import annotations

import math

import pytest

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Options, Plan, Transfer, plan
from isoviz.planner.explanation.known_paths import best_of_paths, compared_paths, path_of
from isoviz.planner.explanation.rivals import with_bandwidth
from isoviz.planner.planning_work import STEPS_PER_SECOND, Work
from isoviz.planner.problem import Problem
from isoviz.planner.time.path_time import Clock
from isoviz.planner.tuning import ASKED_STEPS

MACHINE = preset("sapling", nodes=4)
SPACE, FIELDS = IndexSpace(c=64, w=56, h=56, n=128), FieldSpace(v="float32")
TRANSFER = Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, c, w, h, n>", "node1.fbm0", "<F, w, h, c, n>")


@pytest.fixture(scope="module")
def found() -> Plan:
    return plan(TRANSFER, MACHINE, "full")


def test_the_best_of_the_compared_paths_is_the_plan(found: Plan) -> None:
    again = best_of_paths(Problem(TRANSFER, MACHINE, Options()), compared_paths(found, MACHINE, Options()))
    assert again is not None
    assert again.seconds == pytest.approx(found.seconds, rel=1e-9)


@pytest.mark.parametrize("seconds", [0.0, 0.03])
def test_work_ends_when_it_is_done(found: Plan, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left over when it is done is one path at most; the first path is always worked out."""
    asked: list[Clock] = []
    seconds_of = Clock.seconds
    monkeypatch.setattr(Clock, "seconds", lambda clock, *given: asked.append(clock) or seconds_of(clock, *given))
    slow = max(found.hops, key=lambda hop: 1 / hop.throughput).channel
    paths, work = compared_paths(found, MACHINE, Options()), Work(seconds)
    for factor in (1 / 16, 16.0):
        paths += compared_paths(found, with_bandwidth(MACHINE, slow, factor), Options())
    paths, machine = tuple(dict.fromkeys(paths)), with_bandwidth(MACHINE, slow, 1.4)  # many of them are worth a look now
    asked.clear()
    best_of_paths(Problem(TRANSFER, machine, Options()), paths, Work(math.inf))
    every, most = len(asked), max(asked.count(clock) for clock in set(asked))
    asked.clear()
    best = best_of_paths(Problem(TRANSFER, machine, Options()), paths, work)
    assert best is not None
    assert path_of(best) in paths
    assert ASKED_STEPS * len(asked) <= STEPS_PER_SECOND * seconds + 2 * ASKED_STEPS * most
    assert len(asked) < every
