"""Collective calls, through memory that all ranks map and by messages: every rank gets what all have told, turn by turn."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from group import Group, group, three_ranks
from run_cases import no_leaked_files

from isoviz.backends.mpi.thread.slots import ROOM
from isoviz.errors import RankLost
from isoviz.runtime.engine.interrupts import defer_interrupts
from isoviz.runtime.ranks.gathering import GatheringByMessages, GatheringBySlots
from isoviz.runtime.ranks.messages import Gathered
from isoviz.runtime.ranks.rank_engine import RankEngine

__all__ = ["no_leaked_files"]


@pytest.fixture(params=["slots", "messages"])
def three(request: pytest.FixtureRequest, tmp_path: Path, no_leaked_files: None) -> Iterator[Group]:
    by_slots = request.param == "slots"
    with group(three_ranks("gathering"), tmp_path, 3, slots=by_slots) as found:
        kind = GatheringBySlots if by_slots else GatheringByMessages
        assert all(type(engine._gathering) is kind for engine in found.engines)
        yield found


def value(rank: int, turn: int) -> bytes:
    """A value of a rank, which some ranks have no room for in some turns."""
    rng = random.Random(f"value {rank} {turn}")
    return rng.randbytes(rng.choice((0, 1, 100, ROOM // 2, ROOM - 40, ROOM, ROOM + 1, 3 * ROOM)))


def test_values_of_any_length_over_many_turns(three: Group, full: bool) -> None:
    turns = 2000 if full else 200

    def work(engine: RankEngine) -> None:
        rng = random.Random(f"pauses {engine.rank}")
        for turn in range(turns):
            if rng.random() < 0.02:
                threading.Event().wait(rng.uniform(0, 0.01))  # the others sleep
            mine = value(engine.rank, turn) if turn % 3 else None
            wanted = [value(rank, turn) if turn % 3 else None for rank in range(3)]
            assert engine.gather(mine) == wanted, f"rank {engine.rank}, turn {turn}"

    assert three.together(work) == [None] * 3
    assert all(not engine._peers.mailbox._messages for engine in three.engines)


def test_messages_carry_only_what_has_no_room(three: Group) -> None:
    def work(engine: RankEngine) -> None:
        engine.barrier()
        engine.gather({"rank": engine.rank})
        engine.gather(bytes(ROOM + 1 if engine.rank == 1 else 1))

    assert three.together(work) == [None] * 3
    told = [[type(message) is Gathered for message in transport.seen].count(True) for transport in three.transports]
    assert told == ([1, 0, 1] if three.transports[0].slots else [6, 3, 3])


def test_a_value_that_cannot_be_sent_is_refused_before_its_turn(three: Group) -> None:
    """Its rank can still tell another one."""
    if not three.transports[0].slots:
        pytest.skip("by messages, rank 0 finds out too late")

    def work(engine: RankEngine) -> list[object]:
        if engine.rank == 1:
            with pytest.raises((AttributeError, TypeError)):
                engine.gather(threading.Lock())
        return engine.gather(engine.rank)

    assert three.together(work) == [[0, 1, 2]] * 3


def test_a_rank_may_leave_any_number_of_turns(three: Group) -> None:
    """The others get what it has told, however late they come."""
    has_left = threading.Event()

    def work(engine: RankEngine) -> list[Any]:
        if engine.rank == 1:
            for turn in range(9):
                engine.leave(("left", turn, value(1, turn)))
            has_left.set()
        else:
            assert has_left.wait(120)
        found = [] if engine.rank == 1 else [engine.gather(turn)[1] for turn in range(9)]
        assert engine.gather(engine.rank) == [0, 1, 2]
        return found

    found = three.together(work)
    assert found[0] == found[2] == [("left", turn, value(1, turn)) for turn in range(9)]
    assert three.together(lambda engine: engine.gather(engine.rank + 3)) == [[3, 4, 5]] * 3


def test_a_rank_that_is_lost_while_others_wait(three: Group) -> None:
    """They raise, also in later turns. What it had told before is not lost with it."""
    three.together(lambda engine: engine.leave("told") if engine.rank == 1 else None)
    assert [each[1] for each in three.together(lambda engine: engine.rank != 1 and engine.gather(0)) if each] == ["told"] * 2
    waits = threading.Barrier(3)

    def work(engine: RankEngine) -> Any:
        waits.wait(120)
        if engine.rank == 1:
            three.lose(1)
            return None
        return engine.gather(engine.rank)

    for _ in range(2):
        found = three.together(work)
        assert all(isinstance(found[rank], RankLost) and found[rank].rank == 1 for rank in (0, 2)), found


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("interruptible", [True, False])
def test_a_rank_that_is_interrupted_keeps_no_other_waiting(
    three: Group, monkeypatch: pytest.MonkeyPatch, rank: int, interruptible: bool
) -> None:
    """This thread is that rank: Ctrl-C comes while it waits. If it is not `interruptible`, it gets the values first."""
    engine = three.engines[rank]
    slots = three.transports[rank].slots
    waits, name = (slots[0], "wait_for") if slots else (engine._peers.mailbox, "expect")
    wait = getattr(waits, name)
    came: list[int] = []
    comes = threading.Event()
    """Set once Ctrl-C came. The others come later."""

    def interrupted(*given: Any, **options: Any) -> Any:
        if not came:
            came.append(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            if not interruptible:
                comes.set()
        return wait(*given, **options)

    def work(other: RankEngine) -> Any:
        if other is engine:
            return None
        assert comes.wait(120)
        return other.gather(other.rank)

    monkeypatch.setattr(waits, name, interrupted)
    got: list[object] = []
    others = [three.pool.submit(work, other) for other in three.engines]
    with pytest.raises(KeyboardInterrupt), defer_interrupts():  # a signal is handled where this rank waits, or at the end
        got = engine.gather(rank, interruptible=interruptible)
    comes.set()
    assert came and got == ([] if interruptible else [0, 1, 2])
    assert [each.result(120) for each in others if each.result(120) is not None] == [[0, 1, 2]] * 2
    assert three.together(lambda each: each.gather(each.rank + 3)) == [[3, 4, 5]] * 3
