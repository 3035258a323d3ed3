"""The machines and plans of submissions: the notebook and its ranks keep the same latest ones, however many are submitted."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Plan, Transfer, plan
from isoviz.errors import TransferError
from isoviz.launch.submitted_plans import SentBefore
from isoviz.launch.this_rank import MOST_MACHINES, MOST_PLANS, Station, bound_digest
from isoviz.machines import Machine, preset
from isoviz.planner.plan_file import plan_from_json, plan_to_json


def machines(count: int) -> list[Machine]:
    """Machines with different figures, as edits on the canvas make them."""
    first = preset("two-node")
    copy, *others = first.channels
    return [replace(first, channels=(replace(copy, setup=1e-6 * k), *others)) for k in range(count)]


def plans(count: int) -> list[Plan]:
    """Different plans of transfers with the same name."""
    machine = preset("two-node")
    fields, layout = FieldSpace(a="float64"), Layout("<F, x>")
    found = []
    for size in range(1, count + 1):
        here, there = (Instance(f"node{node}.sys", IndexSpace(x=size), fields, layout) for node in (0, 1))
        found.append(plan(Transfer(here, there), machine, "simple"))
    return found


def test_a_rank_has_every_machine_that_the_notebook_does_not_send_again() -> None:
    edited, draw = machines(3 * MOST_MACHINES), random.Random(41)
    assert len({bound_digest(machine) for machine in edited}) == len(edited)
    notebook, rank = SentBefore(), Station()
    again = 0
    for _ in range(1000):
        machine = draw.choice(edited)
        sent = notebook.machine(machine)
        again += sent is not machine
        assert rank.submitted_machine(sent) == machine
        assert len(rank._machines) <= MOST_MACHINES
    assert 0 < again < 1000


def test_a_machine_that_is_used_stays() -> None:
    often, *edited = machines(3 * MOST_MACHINES)
    notebook = SentBefore()
    assert notebook.machine(often) is often
    for machine in edited:
        assert notebook.machine(machine) is machine
        assert notebook.machine(often) == bound_digest(often)
    assert notebook.machine(edited[0]) is edited[0]


def test_a_rank_has_every_plan_that_the_notebook_does_not_send_again() -> None:
    """Plans are known by value: an equal plan is not sent, and a plan of the same name with another value is."""
    different, draw = plans(MOST_PLANS + 8), random.Random(42)
    copies = [plan_from_json(plan_to_json(each)) for each in different]
    notebook, rank = SentBefore(), Station()
    again = 0
    for _ in range(500):
        if draw.random() < 0.01:
            notebook.forget()
        chosen = [draw.randrange(len(different)) for _ in range(draw.randrange(4))]
        orders = [notebook.order(draw.choice((different, copies))[at]) for at in chosen]
        again += sum(order.plan is None for order in orders)
        received = rank.submitted_plans([(order.digest, order.plan) for order in orders])
        assert received == [different[at] for at in chosen]
        assert len(rank._plans) <= MOST_PLANS
    assert again > 100


def test_a_plan_that_is_sent_again_is_the_same_object_on_its_rank() -> None:
    """The engine of a rank finds by it what it has prepared for the plan."""
    (one,), notebook, rank = plans(1), SentBefore(), Station()
    first, second, third = [notebook.order(each) for each in (one, one, plan_from_json(plan_to_json(one)))]
    assert first.plan is not None and second.plan is None and third.plan is None
    (received,) = rank.submitted_plans([(first.digest, first.plan)])
    assert all(rank.submitted_plans([(order.digest, order.plan)])[0] is received for order in (second, third))


def test_a_plan_that_a_rank_refuses_is_refused_again() -> None:
    """The notebook does not send it again, and the plans beside it are kept."""
    good, bad = plans(2)
    notebook, rank = SentBefore(), Station()
    orders = [notebook.order(bad), notebook.order(good)]
    broken = (orders[0].digest, {**(orders[0].plan or {}), "paths": []})
    with pytest.raises(TransferError):
        rank.submitted_plans([broken, (orders[1].digest, orders[1].plan)])
    assert rank.submitted_plans([(notebook.order(good).digest, None)]) == [good]
    with pytest.raises(TransferError):
        rank.submitted_plans([(notebook.order(bad).digest, None)])
