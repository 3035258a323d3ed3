"""The lines that people type first: a name for a machine, and methods of plans."""

from __future__ import annotations

import inspect

import pytest

import isoviz
from isoviz.errors import InputError

SPACE, FIELDS = isoviz.IndexSpace(x=64, y=48), isoviz.FieldSpace(re="f4", im="f4")
FAR = isoviz.Transfer.whole(SPACE, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
NEAR = isoviz.Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x, y>", "node0.sys", "<x, y, F>")


def test_a_preset_is_named() -> None:
    machine = isoviz.preset("two-node")
    assert isoviz.plan(FAR, "two-node") == isoviz.plan(FAR, machine)
    path = ["node0.fbm0", "node0.zcm", "node1.zcm", "node1.fbm0"]
    assert isoviz.cost(FAR, "two-node", path) == isoviz.cost(FAR, machine, path)
    assert isoviz.sweep(FAR, "two-node", "size", [1 << 20]) == isoviz.sweep(FAR, machine, "size", [1 << 20])
    assert isoviz.explain(FAR, "two-node").candidates == isoviz.explain(FAR, machine).candidates
    assert isoviz.Engine("laptop").machine == isoviz.preset("laptop")


def test_a_plan_explains_simulates_and_runs_itself() -> None:
    plan = isoviz.plan(NEAR, "laptop")
    assert plan.explain().candidates == isoviz.explain(NEAR, "laptop").candidates
    assert plan.simulate().seconds == pytest.approx(plan.seconds)
    assert plan.run().verified
    assert not plan.run(verify=False).verified
    assert inspect.signature(isoviz.Plan.simulate) == inspect.signature(isoviz.simulate), "help shows the function"


def test_a_plan_of_an_unknown_machine_asks_for_it() -> None:
    plan = isoviz.plan(NEAR, "laptop")
    strange = plan.__class__(NEAR, "mine", "0" * 64, plan.planner, plan.paths)
    for call in (strange.explain, strange.simulate, strange.run):
        with pytest.raises(InputError, match="of this plan is not known in this process; give the one that it was made for"):
            call()
