"""Scheduling policies of users: what a channel offers them (`ChannelState.waiting`), and the example of its docstring."""

from __future__ import annotations

import doctest
import random
from collections import deque
from typing import Any

import pytest

from isoviz.runtime import XD, ChannelState, Scheduler, first_come_first_served
from isoviz.scheduling import pool
from isoviz.scheduling.pool import Policy
from isoviz.scheduling.work import Done, Finish, Instruction, Issue, PathWork, Ring, Submit, Work


def test_the_example_is_true() -> None:
    found = doctest.testmod(pool)
    assert found.attempted >= 6 and found.failed == 0


def work(draw: random.Random) -> Work:
    """A transfer along some of four channels, with buffers between them."""
    channels = tuple(draw.sample("abcd", draw.randint(1, 4)))
    requests = tuple(draw.randint(1, 3) for _ in channels)
    chunks, pipelined, overlap = draw.randint(1, 6), draw.random() < 0.8, draw.random() < 0.8
    rings = tuple(Ring("m", 1, draw.randint(1, 3) if pipelined else chunks) for _ in channels[1:])
    path = PathWork(channels, chunks, rings, requests, pipelined=pipelined, overlap=overlap)
    return Work((path,), draw.randint(0, 3))


def told(policy: Policy, seed: int, count: int) -> list[Instruction]:
    """All instructions of a scheduler for some transfers: requests are begun, and end, in an order that the seed gives."""
    draw = random.Random(seed)
    scheduler = Scheduler({"a": 2, "c": 3}, {"m": 20}, policy=policy)
    under_way: deque[Issue] = deque()
    found: list[Instruction] = []
    submitted = 0
    while submitted < count or under_way:
        if submitted < count and (not under_way or draw.random() < 0.3):
            stimulus: Submit | Done = Submit(submitted, work(draw))
            submitted += 1
        else:
            under_way.rotate(draw.randint(0, 3))
            stimulus = Done(*under_way.popleft())
        instructions = scheduler.handle(stimulus)
        found += instructions
        under_way.extend(each for each in instructions if type(each) is Issue)
    return found


def first(channel: ChannelState) -> XD | None:
    return next(iter(channel.waiting()), None)


@pytest.mark.parametrize("seed", range(12))
def test_the_first_that_waits_is_the_first_that_came(seed: int, full: bool) -> None:
    """All of what waits is offered, and nothing else, at every turn: else the two would part, or transfers would be left."""
    for round_ in range(60 if full else 6):
        built_in = told(first_come_first_served, 1000 * seed + round_, 8)
        assert told(first, 1000 * seed + round_, 8) == built_in
        assert [each.outcome for each in built_in if type(each) is Finish] == ["done"] * 8


@pytest.mark.parametrize("seed", range(4))
def test_any_choice_among_those_that_wait_serves_all(seed: int) -> None:
    draw = random.Random(seed)
    asked = 0

    def anyone(channel: ChannelState) -> XD | None:
        nonlocal asked
        waiting = channel.waiting()
        orders = [hop.order for hop in waiting]
        assert orders == sorted(set(orders)) and channel.in_flight < channel.limit
        for hop in waiting:
            assert hop.requests_left >= 1 and 0 <= hop.priority <= 3 and 0 <= hop.number < 8
        asked += bool(waiting)
        return draw.choice(waiting) if waiting else None

    instructions = told(anyone, seed, 8)
    assert [each.outcome for each in instructions if type(each) is Finish] == ["done"] * 8
    assert asked == sum(type(each) is Issue for each in instructions)


def test_requests_that_are_left_are_counted() -> None:
    seen: list[tuple[int, int]] = []

    def watching(channel: ChannelState) -> Any:
        hop = first(channel)
        if hop is not None:
            seen.append((hop.number, hop.requests_left))
        return hop

    scheduler = Scheduler(policy=watching)
    waiting = deque(scheduler.submit(7, Work((PathWork(("a",), 2, (), (3,)),))))
    while waiting:
        if type(issue := waiting.popleft()) is Issue:
            waiting.extend(scheduler.done(*issue))
    assert seen == [(7, left) for left in (6, 5, 4, 3, 2, 1)]
