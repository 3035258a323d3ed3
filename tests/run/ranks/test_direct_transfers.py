"""Direct transfers between two ranks: without buffers, without the arbiter, and with ranks that submit different plans."""

from __future__ import annotations

import itertools
import random
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from group import Group, broken, group, three_ranks
from run_cases import elements, no_leaked_files, random_bytes

from isoviz import FieldSpace, IndexSpace, Instance, Machine, Options, Plan, Report, Transfer, plan
from isoviz.errors import Cancelled, RankError, RankLost, TransferError
from isoviz.runtime.ranks.messages import Compare, Consult, Relay
from isoviz.runtime.ranks.rank_engine import RankEngine
from isoviz.scheduling.work import Credit, End

__all__ = ["no_leaked_files"]


@pytest.fixture
def machine() -> Machine:
    return three_ranks("direct")


@pytest.fixture
def three(machine: Machine, tmp_path: Path, no_leaked_files: None) -> Any:
    with group(machine, tmp_path, 3, request_bytes=1 << 14) as found:
        yield found


def ends(source: str, destination: str, count: int) -> Transfer:
    sizes: dict[str, Any] = {"space": IndexSpace(x=count, y=16), "fields": FieldSpace(a="<f8", b="<i4")}
    return Transfer(Instance(source, layout="<F, x, y>", **sizes), Instance(destination, layout="<y, x, F>", **sizes))


def direct(machine: Machine, source: str = "node0.sys", destination: str = "node1.sys", count: int = 512) -> Plan:
    found = plan(ends(source, destination, count), machine, "direct")
    assert len(found.hops) == 1
    return found


def small(machine: Machine) -> Plan:
    return direct(machine, count=8)


def buffered(machine: Machine) -> Plan:
    """A plan with buffers: it reads a file."""
    found = plan(ends("node0.dsk", "node1.sys", 512), machine, "full", Options(slot_limit=4096))
    assert len(found.hops) > 1
    return found


def messages(ranks: Group) -> list[Any]:
    return [message for transport in ranks.transports for message in transport.seen]


@pytest.mark.parametrize("late", [0, 1])
def test_two_messages_settle_it(three: Group, machine: Machine, late: int) -> None:
    """Whichever rank is late: the credit of the receiver waits for the sender, and the sender waits for the credit."""
    found = direct(machine)
    source = random_bytes(random.Random(late), found.transfer.source.linearization.nbytes)
    room = np.zeros(found.transfer.destination.linearization.nbytes, np.uint8)
    given: list[dict[str, Any]] = [{"source": source}, {"destination": room}]
    early = three.engines[1 - late].submit(found, **given[1 - late])
    three.engines[2].skip(found)
    assert not early.done
    three.engines[late].submit(found, **given[late]).wait(120)
    early.wait(120)
    here, there = found.transfer.source.linearization, found.transfer.destination.linearization
    assert elements(here, source) == elements(there, room)
    told = [message for message in messages(three) if not isinstance(message, Compare)]
    assert [type(message.stimulus) for message in told] == [Credit, End]
    assert all(isinstance(message, Relay) for message in told)


def test_many_at_once(three: Group, machine: Machine) -> None:
    """Each rank sends to both others, in the same order on all of them, and every byte is verified."""
    pairs = itertools.permutations(range(3), 2)
    plans = [direct(machine, f"node{here}.sys", f"node{there}.sys", count) for here, there in pairs for count in (64, 512)]
    for found in plans:
        reports = three.together(lambda engine, found=found: engine.run(found))  # type: ignore[misc]
        assert all(isinstance(report, Report) and report.verified for report in reports)
    events = three.together(lambda engine: [engine.submit(found) for found in plans])
    for event in itertools.chain.from_iterable(events):
        event.wait(120)
    assert not any(isinstance(message, Consult) for message in messages(three))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_cancel_before_the_other_rank_comes(three: Group, machine: Machine, rank: int) -> None:
    found = direct(machine)
    event = three.engines[rank].submit(found)
    event.cancel()
    late = three.engines[1 - rank].submit(found)
    for each in (event, late):
        with pytest.raises(Cancelled):
            each.wait(120)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_cancel_while_it_moves(three: Group, machine: Machine, rank: int) -> None:
    begun, go = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go.wait(120)

    three.devices[0].broken = wait
    found = direct(machine)
    events = [engine.submit(found) for engine in three.engines[:2]]
    assert begun.wait(120)
    events[rank].cancel()
    assert not any(event.done for event in events), "the sender still writes to the destination"
    together = [threading.Thread(target=engine.barrier) for engine in three.engines]  # it comes after the cancel
    for each in together:
        each.start()
    for each in together:
        each.join(120)
    go.set()
    for event in events:
        with pytest.raises(Cancelled):
            event.wait(120)


def test_a_cancel_that_comes_too_late(three: Group, machine: Machine) -> None:
    """The sender has ended the transfer, and the receiver has not heard of it when it cancels."""
    found = direct(machine)
    event = three.engines[1].submit(found)
    three.transports[1].gate.clear()
    three.engines[0].submit(found).wait(120)
    event.cancel()
    assert not event.done
    three.transports[1].gate.set()
    event.wait(120)
    assert event.error(0) is None


@pytest.mark.parametrize("wrong", [0, 1])
def test_ends_that_do_not_fit(three: Group, machine: Machine, wrong: int) -> None:
    bad = np.zeros(3, np.uint8)

    def run(engine: RankEngine) -> Any:
        given = [bad if wrong == engine.rank == end else None for end in (0, 1)]
        return engine.run_part(direct(machine), *given)

    parts = three.together(run)
    assert not isinstance(parts[wrong].error, RankError)
    other = parts[1 - wrong].error
    assert isinstance(other, RankError) and f"rank {wrong}" in str(other)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_rank_without_the_device_declines(three: Group, machine: Machine, wrong: int) -> None:
    three.devices[wrong].memory = lambda _: None  # type: ignore[method-assign]
    parts = three.together(lambda engine: engine.run_part(direct(machine)))
    assert "no such device" in str(parts[wrong].error)
    assert isinstance(parts[1 - wrong].error, RankError) and f"rank {wrong}" in str(parts[1 - wrong].error)


def test_a_hop_that_fails(three: Group, machine: Machine) -> None:
    three.devices[0].broken = broken
    parts = three.together(lambda engine: engine.run_part(direct(machine)))
    assert "the cable is cut" in str(parts[0].error) and parts[0].error.channel is not None
    assert isinstance(parts[1].error, RankError) and "rank 0: " in str(parts[1].error)


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("arbitrates", [False, True])
def test_a_lost_rank_ends_it(three: Group, machine: Machine, lost: int, arbitrates: bool) -> None:
    """Also where rank 0 goes on without the lost one; a direct transfer between two other ranks goes on without rank 0."""
    at = [0, 1] if arbitrates else [1, 2]
    gone, rest = at[lost], at[1 - lost]
    found = direct(machine, f"node{at[0]}.sys", f"node{at[1]}.sys")
    event = three.engines[rest].submit(found)
    three.lose(gone)
    with pytest.raises(RankLost, match=f"rank {gone}"):
        event.wait(120)
    with pytest.raises(RankLost, match=f"rank {gone}"):
        three.engines[rest].submit(found)
    others = [rank for rank in range(3) if rank != gone]
    for _ in range(2):
        three.engines[3 - gone - rest].skip(found)
    left = direct(machine, *[f"node{rank}.sys" for rank in others])
    for each in [three.engines[rank].submit(left) for rank in others]:
        each.wait(120)
    for rank in others:
        three.engines[gone].transport.lost(rank, "cut off")  # type: ignore[attr-defined]


KINDS = {"small": small, "direct": direct, "buffered": buffered, "other": lambda machine: direct(machine, count=256)}


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("kinds", list(itertools.permutations([*KINDS, "none"], 2)), ids="-".join)
def test_ranks_that_submit_different_plans(three: Group, machine: Machine, kinds: tuple[str, str], late: int) -> None:
    """However the two ranks would wait for each other, both fail. A rank without a part in the transfer says so, too."""
    moved: list[int] = []
    three.devices[0].broken = lambda: moved.append(1)
    order = [1 - late, late]
    events = []
    for rank in order:
        if kinds[rank] == "none":
            three.engines[rank].skip(direct(machine))
        else:
            events.append(three.engines[rank].submit(KINDS[kinds[rank]](machine)))
    if kinds == ("none", "small"):  # It has told nobody that it waits.
        events[0].cancel()
    for event in events:
        with pytest.raises((RankError, Cancelled), match=r"another plan|no part|cancelled"):
            event.wait(120)
    assert not moved
    three.devices[0].broken = lambda: None
    for each in [engine.submit(direct(machine)) for engine in three.engines[:2]]:  # Both go on together.
        each.wait(120)


def carried_out(engine: RankEngine, plan: Plan, how: str) -> object:
    return engine.submit(plan).wait() if how == "submitted" else engine.run(plan, verify=how == "verified")


@pytest.mark.parametrize("how", ["verified", "unverified", "submitted"])
def test_a_file_is_as_private_as_its_source_on_another_rank(three: Group, tmp_path: Path, machine: Machine, how: str) -> None:
    """`submit` hears nothing of the source before the file gets its name, so nobody else may read the file."""
    for before, after in ((0o600, 0o600), (0o644, 0o600 if how == "submitted" else 0o644)):
        given = ends("node0.dsk", "node1.dsk", 512)
        here, there = tmp_path / "in.raw", tmp_path / "out.raw"
        here.write_bytes(random_bytes(random.Random(1), given.source.linearization.nbytes).tobytes())
        here.chmod(before)
        there.unlink(missing_ok=True)
        transfer = replace(
            given, source=replace(given.source, path=str(here)), destination=replace(given.destination, path=str(there))
        )
        found = plan(transfer, machine, "simple")
        done = three.together(partial(carried_out, plan=found, how=how))
        assert not any(isinstance(each, Exception) for each in done), done
        assert there.stat().st_size and there.stat().st_mode & 0o777 == after


@pytest.mark.parametrize("count", [8, 512])
def test_a_struct_without_a_field_that_moves_is_refused_on_both_ranks(three: Group, machine: Machine, count: int) -> None:
    """Of a transfer that rides with a message, and of one that does not. The next transfer is right."""
    chosen = direct(machine, count=count)
    larger = np.ones((16, count), [("z", "u1"), ("b", "<i4"), ("a", "<f8")])
    room = np.zeros(16 * count * 12, "u1")
    for source, words in ((larger[["a"]], "field 'b' is not in the source"), (larger[["b", "z"]], "has the fields")):
        given = {0: (source, None), 1: (None, room)}
        found = three.together(partial(_run, chosen, given))
        assert isinstance(found[0], TransferError) and words in str(found[0]), found
        assert all(isinstance(error, TransferError | RankError) for error in found[:2])
        assert not room.any(), "nothing was written"
    done = three.together(partial(_run, chosen, {0: (larger[["b", "a"]], None), 1: (None, room)}))
    assert all(isinstance(each, Report) and each.verified for each in done)
    assert room.tobytes() == np.ones(16 * count, "<f8").tobytes() + np.ones(16 * count, "<i4").tobytes()


def _run(chosen: Plan, given: Any, engine: RankEngine) -> Report:
    return engine.run(chosen, *given.get(engine.rank, (None, None)))
