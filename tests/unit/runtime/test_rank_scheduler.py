"""Schedulers of several ranks and their coordinator, case by case. Random work is in `tests/property/test_rank_schedulers.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isoviz.errors import InputError, LimitError
from isoviz.runtime.recording import Recorder, Recording
from isoviz.scheduling.coordinator import Coordinator
from isoviz.scheduling.rank_scheduler import RankScheduler
from isoviz.scheduling.scheduler import Counts, Scheduler
from isoviz.scheduling.work import (
    Abort,
    Allocate,
    Arrived,
    Cancel,
    Credit,
    Done,
    End,
    Finish,
    Grant,
    Issue,
    Lend,
    PathWork,
    Release,
    Request,
    Ring,
    SendArrived,
    SendCredit,
    Settled,
    Stop,
    Submit,
    Work,
)

NOTHING = Counts(0, 0, 0, 0)


def across(*ranks: int, chunks: int = 3, slots: int = 2, **rest: Any) -> Work:
    """A path along channels a, b, … with a buffer in m behind every hop, the hops on these ranks."""
    names = tuple("abcd"[: len(ranks)])
    return Work.one_path(names, chunks, (Ring("m", 1, slots),) * (len(ranks) - 1), ranks=ranks, **rest)


def granted(rank: int, work: Work) -> tuple[RankScheduler, list[Any]]:
    """The scheduler of a rank with a transfer 0 that has its buffers, and what it answered to that."""
    scheduler = RankScheduler(rank, {"a": 2, "b": 2})
    scheduler.submit(0, work)
    return scheduler, scheduler.grant(0)


# ---- messages about chunks


def test_the_rank_that_writes_waits_for_credit() -> None:
    scheduler, answer = granted(0, across(0, 1))
    assert answer == [Allocate(0)]
    assert scheduler.credit(0, 0, 2) == [Issue(0, 0, 0, 0), Issue(0, 0, 1, 0)]
    assert scheduler.done(0, 0, 1, 0) == []  # the chunk before is not there
    assert scheduler.done(0, 0, 0, 0) == [SendArrived(1, 0, 1, 2)]
    assert scheduler.credit(0, 0, 3) == [Issue(0, 0, 2, 0)]
    assert scheduler.done(0, 0, 2, 0) == [SendArrived(1, 0, 1, 3), Settled(0)]
    assert scheduler.end(0, "done") == [Release(0), Finish(0, "done")]
    assert scheduler.counts == NOTHING


def test_the_rank_that_reads_waits_for_chunks_and_gives_credit() -> None:
    scheduler, answer = granted(1, across(0, 1))
    assert answer == [Allocate(0), SendCredit(0, 0, 0, 2)]
    assert scheduler.arrived(0, 1, 1) == [Issue(0, 1, 0, 0)]
    assert scheduler.done(0, 1, 0, 0) == [SendCredit(0, 0, 0, 3)]
    assert scheduler.arrived(0, 1, 3) == [Issue(0, 1, 1, 0), Issue(0, 1, 2, 0)]
    assert scheduler.done(0, 1, 1, 0) == []  # there were slots for all three chunks already
    assert scheduler.done(0, 1, 2, 0) == [Settled(0)]


def test_stored_and_forwarded_tells_only_of_all_chunks() -> None:
    scheduler, _ = granted(0, across(0, 1, slots=3, pipelined=False))
    assert len(scheduler.credit(0, 0, 3)) == 2
    assert scheduler.done(0, 0, 0, 0) == [Issue(0, 0, 2, 0)]
    assert scheduler.done(0, 0, 1, 0) == []
    assert scheduler.done(0, 0, 2, 0) == [SendArrived(1, 0, 1, 3), Settled(0)]


def test_hops_that_take_turns_wait_for_the_last_and_for_slots() -> None:
    scheduler, answer = granted(0, across(0, 1, 2, overlap=False))
    assert answer == [Allocate(0)]
    assert scheduler.credit(0, 0, 2) == [Issue(0, 0, 0, 0)]
    assert scheduler.done(0, 0, 0, 0) == [SendArrived(1, 0, 1, 1)]
    assert scheduler.credit(0, 0, 3) == []
    assert scheduler.arrived(0, 0, 2) == [Issue(0, 0, 1, 0)]  # the first chunk has passed the last hop
    last, _ = granted(2, across(0, 1, 2, overlap=False))
    assert last.arrived(0, 2, 1) == [Issue(0, 2, 0, 0)]
    assert set(last.done(0, 2, 0, 0)) == {SendArrived(0, 0, 0, 2), SendCredit(1, 0, 1, 3)}


def test_messages_twice_late_and_early() -> None:
    scheduler = RankScheduler(1)
    work = across(0, 1, 0)
    assert scheduler.arrived(0, 1, 1) == []  # nobody knows the transfer yet
    scheduler.submit(0, work)
    assert scheduler.arrived(0, 1, 2) == scheduler.arrived(0, 1, 1) == scheduler.credit(0, 1, 1) == []  # it waits for its buffers
    assert scheduler.grant(0) == [Allocate(0), SendCredit(0, 0, 0, 2), Issue(0, 1, 0, 0)]
    assert scheduler.grant(0) == scheduler.arrived(0, 1, 2) == scheduler.arrived(0, 1, 0) == scheduler.credit(0, 1, 1) == []
    assert scheduler.cancel(0) == [Abort(0, "cancelled", "")]
    assert scheduler.arrived(0, 1, 3) == scheduler.credit(0, 1, 3) == scheduler.stop(0, "failed", "no") == []
    assert scheduler.done(0, 1, 0, 0) == [Settled(0)]
    assert scheduler.lend(0, 7) == scheduler.credit(0, 1, 3) == scheduler.grant(0) == []
    assert scheduler.end(0, "cancelled") == [Release(0), Finish(0, "cancelled")]
    assert scheduler.end(0, "done") == scheduler.arrived(0, 1, 3) == scheduler.lend(0, 7) == scheduler.stop(0, "failed") == []
    assert scheduler.counts == NOTHING


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Arrived(0, 3, 1), "expected a hop from 0 to 2"),
        (Arrived(0, -1, 1), "expected a hop from 0 to 2"),
        (Arrived(0, 2, 1), "carried out by rank 0, not by rank 1"),
        (Credit(0, 0, 1), "carried out by rank 0, not by rank 1"),
        (Arrived(0, 1, 4), "4 chunks, expected 0 to 3"),
        (Credit(0, 1, -1), "-1 chunks, expected 0 to 3"),
    ],
)
def test_messages_that_cannot_be_meant(message: Any, words: str) -> None:
    scheduler, _ = granted(1, across(0, 1, 0))
    with pytest.raises(InputError, match=words):
        scheduler.handle(message)
    assert scheduler.arrived(0, 1, 1) == [] and scheduler.credit(0, 1, 1) == [Issue(0, 1, 0, 0)]


def test_messages_for_what_is_all_here() -> None:
    scheduler, _ = granted(0, across(0, 0, 1))
    for message in (Arrived(0, 0, 1), Arrived(0, 1, 1), Credit(0, 0, 1)):
        with pytest.raises(InputError, match="no hop of another rank"):
            scheduler.handle(message)
    alone, _ = granted(3, Work.one_path(("a", "b"), 1, (Ring("m", 1, 1),)))
    with pytest.raises(InputError, match="no hop of another rank"):
        alone.arrived(0, 1, 1)
    with pytest.raises(InputError, match="shares no transfers"):
        Scheduler().handle(Arrived(0, 0, 1))


def test_work_of_other_ranks_is_refused() -> None:
    scheduler = RankScheduler(2, {}, {"m": 3})
    with pytest.raises(InputError, match="no part for rank 2; its hops and ends are on 0, 1"):
        scheduler.submit(0, across(0, 1))
    with pytest.raises(LimitError, match="4 bytes in m"):
        scheduler.submit(0, across(0, 1, 2))
    for ranks in ((2,), (2, -1)):
        with pytest.raises(InputError, match="expected a rank for each of 2 hops"):
            scheduler.submit(0, Work.one_path(("a", "b"), 1, (Ring("n", 1, 1),), ranks=ranks))
    with pytest.raises(InputError, match="some paths name ranks"):
        scheduler.submit(0, Work((PathWork(("a",), 1, ranks=(2,)), PathWork(("b",), 1))))
    assert scheduler.counts == NOTHING


def test_nothing_to_move_needs_no_coordinator() -> None:
    assert RankScheduler(0).submit(0, across(0, 1, chunks=0)) == [Finish(0, "done")]


def test_a_rank_whose_paths_have_no_chunks_settles_at_once() -> None:
    work = Work((PathWork(("a",), 2, ranks=(0,)), PathWork(("b",), 0, ranks=(1,))))
    _, answer = granted(1, work)
    assert answer == [Allocate(0), Settled(0)]


# ---- the coordinator


def asked(number: int, *ranks: int, nbytes: int = 2, priority: int = 0) -> Request:
    return Request(number, (("m", nbytes),), priority, ranks)


def test_it_grants_once_all_ranks_have_asked() -> None:
    coordinator = Coordinator({"m": 3})
    assert coordinator.handle(0, asked(7, 0, 1)) == coordinator.handle(0, asked(7, 0, 1)) == []
    assert coordinator.handle(1, asked(7, 0, 1)) == [(0, Grant(7)), (1, Grant(7))]
    assert coordinator.free("m") == 1 and coordinator.free("anywhere") is None
    assert coordinator.handle(2, asked(8, 2, priority=5)) == [(0, Lend(7, 5)), (1, Lend(7, 5))]
    assert coordinator.handle(1, Settled(7)) == coordinator.handle(1, Settled(7)) == []
    assert coordinator.handle(0, Settled(7)) == [(0, End(7, "done")), (1, End(7, "done")), (2, Grant(8))]
    assert coordinator.handle(0, Settled(7)) == coordinator.handle(0, Abort(7, "cancelled")) == []
    assert coordinator.handle(2, Settled(8)) == [(2, End(8, "done"))]
    assert coordinator.is_idle


def test_a_transfer_that_one_rank_gives_up_ends_on_all() -> None:
    coordinator = Coordinator({"m": 3})
    for rank in (0, 1, 2):
        coordinator.handle(rank, asked(7, 0, 1, 2))
    coordinator.handle(2, Settled(7))
    assert coordinator.handle(0, Abort(7, "failed", "torn")) == [(1, Stop(7, "failed", "torn"))]
    assert coordinator.handle(1, Abort(7, "cancelled")) == []  # the first reason counts
    assert coordinator.handle(1, Settled(7)) == []
    assert coordinator.handle(0, Settled(7)) == [(rank, End(7, "failed", "torn")) for rank in (0, 1, 2)]
    assert coordinator.is_idle and coordinator.free("m") == 3


def test_given_up_before_all_have_asked() -> None:
    coordinator = Coordinator({"m": 3})
    coordinator.handle(0, asked(7, 0, 1))
    assert coordinator.handle(0, Abort(7, "cancelled")) == coordinator.handle(0, Settled(7)) == []
    assert coordinator.handle(1, asked(7, 0, 1)) == [(1, Stop(7, "cancelled"))]
    assert coordinator.handle(1, Settled(7)) == [(0, End(7, "cancelled")), (1, End(7, "cancelled"))]
    assert coordinator.is_idle


def test_those_behind_one_that_is_given_up_go_on() -> None:
    coordinator = Coordinator({"m": 3})
    coordinator.handle(0, asked(0, 0))
    assert coordinator.handle(0, asked(1, 0, nbytes=3)) == coordinator.handle(1, asked(2, 1, nbytes=1)) == []
    assert coordinator.handle(0, Abort(1, "cancelled")) == [(1, Grant(2))]


def test_what_a_coordinator_refuses() -> None:
    coordinator = Coordinator({"m": 3})
    coordinator.handle(0, asked(7, 0, 1))
    with pytest.raises(InputError, match="rank 2 asks for it, but its ranks are"):
        coordinator.handle(2, asked(7, 0, 1))
    with pytest.raises(InputError, match="another rank for"):
        coordinator.handle(1, asked(7, 0, 1, nbytes=1))
    with pytest.raises(InputError, match="rank 1 has not asked"):
        coordinator.handle(1, Abort(7, "cancelled"))
    with pytest.raises(InputError, match="neither granted nor given up"):
        coordinator.handle(0, Settled(7))
    assert len(coordinator.handle(1, asked(7, 0, 1))) == 2


def test_a_scheduler_ends_nothing_that_has_not_settled() -> None:
    scheduler, _ = granted(0, across(0, 1))
    with pytest.raises(InputError, match="it has not settled on rank 0"):
        scheduler.end(0, "done")


# ---- recordings


def test_a_recording_of_a_rank() -> None:
    recorder = Recorder(RankScheduler(1, {"b": 2}, {"m": 100}), clock=lambda: 0.0)
    for stimulus in (
        Submit(0, across(0, 1, 0)),
        Arrived(0, 1, 1),
        Grant(0),
        Credit(0, 1, 1),
        Lend(0, 3),
        Done(0, 1, 0, 0),
        Submit(1, across(1, 0)),
        Cancel(0),
        Stop(1, "failed", "torn"),
        End(0, "cancelled"),
        End(1, "failed", "torn"),
    ):
        recorder.handle(stimulus)
    assert recorder.counts == NOTHING
    recording = recorder.recording
    kinds = {type(each) for entry in recording for each in entry.instructions}
    assert {Request, SendArrived, SendCredit, Abort, Settled} <= kinds
    again = Recording.from_json(json.loads(json.dumps(recording.to_json())))
    assert again == recording and again.rank == 1
    replayed = again.replay()
    assert isinstance(replayed, RankScheduler) and replayed.rank == 1
