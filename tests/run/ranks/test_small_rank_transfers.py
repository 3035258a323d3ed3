"""Small transfers between ranks, whose bytes ride with the message: the same outcome as all others, without schedulers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from group import Group, group, three_ranks
from run_cases import elements, no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Instance, Machine, Plan, Report, Transfer, plan
from isoviz.errors import Cancelled, EngineClosed, RankError, RankLost
from isoviz.runtime.ranks.messages import EagerData, EagerReceipt
from isoviz.runtime.ranks.rank_engine import RankEngine

__all__ = ["no_leaked_files"]


@pytest.fixture
def machine() -> Machine:
    return three_ranks("small")


@pytest.fixture
def three(machine: Machine, tmp_path: Path, no_leaked_files: None) -> Any:
    with group(machine, tmp_path, 3) as found:
        yield found


def small(machine: Machine, source: str = "node0.sys", destination: str = "node1.sys", count: int = 8) -> Plan:
    sizes: dict[str, Any] = {"space": IndexSpace(x=count, y=4), "fields": FieldSpace(a="<f8", b="<i4")}
    ends = Instance(source, layout="<F, x, y>", **sizes), Instance(destination, layout="<y, x, F>", **sizes)
    found = plan(Transfer(*ends), machine, "direct")
    assert len(found.hops) == 1
    return found


def kinds(ranks: Group) -> set[type]:
    return {type(message) for transport in ranks.transports for message in transport.seen}


def test_random_small_transfers_are_bit_exact(three: Group, machine: Machine, full: bool) -> None:
    for seed in range(300 if full else 40):
        rng = random.Random(f"small {seed}")
        space, fields = random_spaces(rng, 5)
        here, there = rng.sample(range(3), 2)
        memories = f"node{here}.{rng.choice(('sys', 'reg'))}", f"node{there}.{rng.choice(('sys', 'reg'))}"
        ends = [Instance(memory, space, fields, random_layout(rng, space)) for memory in memories]
        found = plan(Transfer(ends[0], ends[1]), machine, "direct")
        source, room = random_bytes(rng, ends[0].linearization.nbytes), np.zeros(ends[1].linearization.nbytes, np.uint8)

        def run(engine: RankEngine) -> None:
            given = source if engine.rank == here else None, room if engine.rank == there else None  # noqa: B023
            engine.submit(found, *given).wait(120)  # noqa: B023

        assert three.together(run) == [None] * 3, f"seed {seed}: {found}"
        assert elements(ends[0].linearization, source) == elements(ends[1].linearization, room), f"seed {seed}: {found}"
    assert {EagerData, EagerReceipt} <= kinds(three)


def test_they_pass_no_arbiter_and_are_measured(three: Group, machine: Machine) -> None:
    found = small(machine)
    for report in three.together(lambda engine: engine.run(found, verify=False)):
        assert isinstance(report, Report)
        assert report.hops[0].requests == 1
        assert report.hops[0].seconds > 0
        assert report.trace is not None and len(report.trace.requests) == 1
    assert {each.__name__ for each in kinds(three)} == {"EagerData", "EagerReceipt"}  # the collective calls go by slots
    assert all(isinstance(report, Report) and report.verified for report in three.together(lambda engine: engine.run(found)))


def test_a_large_source_does_not_ride(three: Group, machine: Machine) -> None:
    assert all(isinstance(each, Report) for each in three.together(lambda engine: engine.run(small(machine, count=4096))))
    assert EagerData not in kinds(three)


def test_another_plan_is_refused(three: Group, machine: Machine) -> None:
    plans = [small(machine), small(machine, count=9), small(machine)]
    parts = three.together(lambda engine: engine.run_part(plans[engine.rank]))
    for part in parts[:2]:
        assert isinstance(part.error, RankError) and "rank 1 has another plan" in str(part.error)


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_end_that_cannot_be_opened_fails_on_both_ranks(three: Group, machine: Machine, wrong: int) -> None:
    bad = np.zeros(3, np.uint8)
    parts = three.together(
        lambda engine: engine.run_part(small(machine), *[bad if wrong == engine.rank == end else None for end in (0, 1)])
    )
    assert "expected" in str(parts[wrong].error) or "bytes" in str(parts[wrong].error)
    other = parts[1 - wrong].error
    assert isinstance(other, RankError) and f"rank {wrong}" in str(other)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_rank_without_the_device_declines(three: Group, machine: Machine, wrong: int) -> None:
    three.devices[wrong].memory = lambda _: None  # type: ignore[method-assign]
    parts = three.together(lambda engine: engine.run_part(small(machine)))
    assert "no such device" in str(parts[wrong].error)
    assert isinstance(parts[1 - wrong].error, RankError)


def test_a_lost_rank_ends_them(three: Group, machine: Machine) -> None:
    events = [three.engines[0].submit(small(machine)), three.engines[2].submit(small(machine, "node1.sys", "node2.sys"))]
    three.lose(1)
    for event in events:
        with pytest.raises(RankLost, match="rank 1"):
            event.wait(120)
    for rank in (0, 2):
        three.engines[1].transport.lost(rank, "cut off")  # type: ignore[attr-defined]


@pytest.mark.parametrize("rank", [0, 1])
def test_they_can_be_cancelled_and_closed_while_the_other_rank_is_late(three: Group, machine: Machine, rank: int) -> None:
    event = three.engines[rank].submit(small(machine))
    event.cancel()
    with pytest.raises(Cancelled):
        event.wait(120)
    late = three.engines[1 - rank].submit(small(machine))
    if rank:
        with pytest.raises(Cancelled, match="cancelled by the rank of the destination"):
            late.wait(120)
    else:
        late.wait(120)
    three.engines[2].skip(small(machine))
    waiting = three.engines[rank].submit(small(machine))
    three.engines[rank].close()
    with pytest.raises(Cancelled):
        waiting.wait(120)
    with pytest.raises(EngineClosed):
        three.engines[rank].submit(small(machine)).wait(120)


@pytest.mark.parametrize("count", [8, 1 << 16])
def test_a_transfer_within_a_rank_sends_no_message(three: Group, machine: Machine, count: int) -> None:
    """One rank submits it alone, without the others."""
    sizes: dict[str, Any] = {"space": IndexSpace(x=count, y=4), "fields": FieldSpace(a="<f8", b="<i4")}
    ends = [Instance("node1.sys", layout=layout, **sizes) for layout in ("<F, x, y>", "<y, x, F>")]
    found = plan(Transfer(ends[0], ends[1]), machine, "direct")
    source, room = random_bytes(random.Random(6), ends[0].linearization.nbytes), np.zeros(ends[1].linearization.nbytes, np.uint8)
    for _ in range(3):
        room[:] = 0
        three.engines[1].submit(found, source, room).wait(120)
        if count == 8:
            assert elements(ends[0].linearization, source) == elements(ends[1].linearization, room)
        assert np.array_equal(np.bincount(room, minlength=256), np.bincount(source, minlength=256))
    assert not any(transport.seen for transport in three.transports)
