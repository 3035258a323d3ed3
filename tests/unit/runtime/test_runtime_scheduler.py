"""The scheduler, case by case; and recordings of it. Random work is in `tests/property/test_scheduler.py`."""

from __future__ import annotations

import json
import pickle
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from isoviz.errors import InputError, LimitError
from isoviz.runtime import Scheduler, Simulator, first_come_first_served
from isoviz.runtime.recording import Recorder, Recording, ReplayError
from isoviz.scheduling.pool import ChannelState
from isoviz.scheduling.scheduler import Counts
from isoviz.scheduling.work import (
    Allocate,
    Cancel,
    Done,
    Failed,
    Finish,
    Instruction,
    Issue,
    PathWork,
    Release,
    Ring,
    Submit,
    Work,
)

NOTHING = Counts(0, 0, 0, 0)


def line(*channels: str, chunks: int = 3, memory: str = "m", nbytes: int = 1, slots: int = 2, **rest: Any) -> Work:
    """Work along channels with equal buffers between them, all in one memory."""
    return Work.one_path(channels, chunks, (Ring(memory, nbytes, slots),) * (len(channels) - 1), **rest)


def issues(instructions: Iterable[Instruction]) -> list[tuple[int, int, int]]:
    """What is to be issued: transfer, hop, chunk."""
    return [each[:3] for each in instructions if type(each) is Issue]


def drain(scheduler: Scheduler, instructions: Iterable[Instruction]) -> list[Instruction]:
    """End all requests, first come first; returns all instructions, those handed in among them."""
    queue, found = deque(instructions), []
    while queue:
        found.append(instruction := queue.popleft())
        if type(instruction) is Issue:
            queue.extend(scheduler.done(*instruction))
    return found


def finished(instructions: Iterable[Instruction]) -> list[int]:
    return [each.transfer for each in instructions if type(each) is Finish]


# ---- one transfer


def test_a_pipeline_of_two_slots() -> None:
    scheduler = Scheduler()
    assert scheduler.submit(0, line("a", "b")) == [Allocate(0), Issue(0, 0, 0, 0)]
    assert scheduler.counts == Counts(0, 1, 1, 2)
    assert sorted(scheduler.done(0, 0, 0, 0)) == [Issue(0, 0, 1, 0), Issue(0, 1, 0, 0)]
    assert scheduler.done(0, 0, 1, 0) == []  # both slots are full
    assert sorted(scheduler.done(0, 1, 0, 0)) == [Issue(0, 0, 2, 0), Issue(0, 1, 1, 0)]
    assert scheduler.done(0, 0, 2, 0) == []
    assert scheduler.done(0, 1, 1, 0) == [Issue(0, 1, 2, 0)]
    assert scheduler.done(0, 1, 2, 0) == [Release(0), Finish(0, "done")]
    assert scheduler.counts == NOTHING


def test_one_slot_takes_turns() -> None:
    done = drain(scheduler := Scheduler(), scheduler.submit(0, line("a", "b", slots=1)))
    assert issues(done) == [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (0, 0, 2), (0, 1, 2)]


def test_store_and_forward_moves_all_before_the_next_hop() -> None:
    scheduler = Scheduler({"a": 2})
    done = drain(scheduler, scheduler.submit(0, line("a", "b", "c", slots=3, pipelined=False)))
    assert issues(done) == [(0, hop, chunk) for hop in range(3) for chunk in range(3)]


def test_without_overlap_a_chunk_goes_all_the_way() -> None:
    scheduler = Scheduler(dict.fromkeys("abc", 4))
    done = drain(scheduler, scheduler.submit(0, line("a", "b", "c", overlap=False)))
    assert issues(done) == [(0, hop, chunk) for chunk in range(3) for hop in range(3)]


def test_a_chunk_counts_when_all_its_requests_are_done() -> None:
    scheduler = Scheduler({"a": 4})
    work = line("a", "b", chunks=2, requests=(2, 1))
    assert issues(scheduler.submit(0, work)) == [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 1)]
    assert scheduler.done(0, 0, 1, 0) == []
    assert scheduler.done(0, 0, 1, 1) == []  # the chunk before is not there
    assert scheduler.done(0, 0, 0, 1) == []
    assert issues(scheduler.done(0, 0, 0, 0)) == [(0, 1, 0)]
    assert issues(scheduler.done(0, 1, 0, 0)) == [(0, 1, 1)]


def test_nothing_to_move() -> None:
    assert (scheduler := Scheduler()).submit(0, line("a", chunks=0)) == [Finish(0, "done")]
    assert scheduler.counts == NOTHING


def test_several_paths_are_admitted_and_finished_together() -> None:
    """Hops are numbered path after path; each path has its own chunks, buffers and requests."""
    first = PathWork(("a", "b"), 1, (Ring("m", 1, 2),))
    second = PathWork(("c",), 2, requests=(2,))
    third = PathWork(("d", "e"), 0, (Ring("m", 3, 1),))
    work = Work((first, second, third), 4)
    assert work.channels == ("a", "b", "c", "d", "e") and work.requests == (1, 1, 2, 1, 1)
    assert work.hop_chunks == (1, 1, 2, 0, 0) and work.chunks == 3 and work.starts == (0, 2, 3)
    assert work.places == ((0, 0), (0, 1), (1, 0), (2, 0), (2, 1))
    assert work.buffers == ((0, Ring("m", 1, 2)), (3, Ring("m", 3, 1))) and work.rings == (Ring("m", 1, 2), Ring("m", 3, 1))
    scheduler = Scheduler({"c": 2}, {"m": 5})
    assert scheduler.needs(work) == {"m": 5}
    assert scheduler.submit(0, work) == [Allocate(0), Issue(0, 0, 0, 0), Issue(0, 2, 0, 0), Issue(0, 2, 0, 1)]
    assert scheduler.submit(1, line("a", "b")) == []
    assert scheduler.done(0, 0, 0, 0) == [Issue(0, 1, 0, 0)]
    assert scheduler.done(0, 1, 0, 0) == []
    assert scheduler.done(0, 2, 0, 1) == [Issue(0, 2, 1, 0)]
    assert scheduler.done(0, 2, 0, 0) == [Issue(0, 2, 1, 1)]
    assert scheduler.done(0, 2, 1, 0) == []
    assert scheduler.done(0, 2, 1, 1)[:3] == [Release(0), Finish(0, "done"), Allocate(1)]


def test_a_path_that_fails_stops_the_others() -> None:
    scheduler = Scheduler()
    scheduler.submit(0, Work((PathWork(("a",), 3), PathWork(("b",), 3))))
    assert scheduler.failed(0, 1, 0, 0, "torn") == []
    assert scheduler.done(0, 0, 0, 0) == [Release(0), Finish(0, "failed", "torn")]


def test_work_and_its_json() -> None:
    one = line("a", "b", requests=(2, 1), priority=3, overlap=False)
    assert "paths" not in one.to_json() and "ranks" not in one.to_json()
    several = Work((*one.paths, PathWork(("c", "d"), 1, (Ring("n", 2, 1),), ranks=(0, 1))), -1)
    for work in (one, several):
        assert Work.from_json(json.loads(json.dumps(work.to_json()))) == work
    assert several.ranks(7) == (0, 1, 7)


@pytest.mark.parametrize(
    "work",
    [
        Work(()),
        Work((PathWork(("a",), 1), PathWork(("a",), -1))),
        Work.one_path((), 1),
        Work.one_path(("a", "b"), 1),
        Work.one_path(("a",), 1, (Ring("m", 1, 2),)),
        Work.one_path(("a",), -1),
        Work.one_path(("a",), 1, (), (0,)),
        Work.one_path(("a",), 1, (), (1, 1)),
        line("a", "b", slots=0),
        line("a", "b", nbytes=-1),
        line("a", "b", slots=2, pipelined=False),
    ],
)
def test_work_that_could_never_end_is_refused(work: Work) -> None:
    scheduler = Scheduler()
    with pytest.raises(InputError):
        scheduler.submit(0, work)
    with pytest.raises(InputError, match="path 1: -1 chunks"):
        scheduler.submit(0, Work((PathWork(("a",), 1), PathWork(("a",), -1))))
    assert scheduler.counts == NOTHING and scheduler.submit(0, line("a"))


def test_what_is_refused_leaves_no_trace() -> None:
    scheduler = Scheduler({}, {"m": 8})
    with pytest.raises(LimitError, match="9 bytes in m"):
        scheduler.submit(0, Work.one_path(("a", "b", "c"), 1, (Ring("m", 4, 1), Ring("m", 5, 1))))
    scheduler.submit(0, line("a"))
    with pytest.raises(InputError, match="known"):
        scheduler.submit(0, line("a"))
    assert scheduler.counts == Counts(0, 1, 1, 0)


def test_what_is_not_known_is_ignored() -> None:
    scheduler = Scheduler()
    for stimulus in (Cancel(7), Failed(7, -1, -1, -1, "no"), Failed(7, 0, 0, 0, "no"), Done(7, 0, 0, 0)):
        assert scheduler.handle(stimulus) == []


# ---- priorities


@pytest.mark.parametrize(
    ("stimulus", "words"),
    [
        (
            Done(7, 0, 1, 0),
            "hop 0: request 0 of chunk 1 ended, but was not under way (the transfer runs; 1 of 3 chunks are moved",
        ),
        (Done(7, 0, 0, 1), "hop 0: request 1 of chunk 0 ended"),
        (Done(7, 1, 0, 0), "hop 1: request 0 of chunk 0 ended"),
        (Done(7, 2, 0, 0), "hop 2: request 0 of chunk 0 ended, but was not under way (the transfer runs; hops 0, 1)"),
        (Failed(7, 0, 2, 0, "gone"), "hop 0: request 0 of chunk 2 ended"),
    ],
)
def test_what_cannot_have_ended_is_refused_with_how_far_it_came(stimulus: Done | Failed, words: str) -> None:
    scheduler = Scheduler({"a": 1, "b": 1})
    scheduler.handle(Submit(7, line("a", "b", slots=1)))
    scheduler.handle(Done(7, 0, 0, 0))
    if stimulus.hop == 1:
        scheduler.handle(Done(7, 1, 0, 0))  # its only request that was under way
    with pytest.raises(InputError) as caught:
        scheduler.handle(stimulus)
    assert f"transfer 7, {words}" in str(caught.value)


def test_first_come_first_served() -> None:
    scheduler = Scheduler()
    first = scheduler.submit(0, line("a", chunks=2))
    assert scheduler.submit(1, line("a", chunks=2)) == [Allocate(1)]
    assert issues(drain(scheduler, first)) == [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]


def test_an_urgent_transfer_goes_between_the_requests_of_another() -> None:
    scheduler = Scheduler()
    first = scheduler.submit(0, line("a", chunks=2, requests=(2,)))
    scheduler.submit(1, line("a", chunks=1, priority=1))
    assert issues(drain(scheduler, first)) == [(0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 1)]


def test_lower_ones_wait_even_while_the_channel_is_idle() -> None:
    scheduler = Scheduler()
    urgent = scheduler.submit(0, line("a", "b", chunks=1, priority=1))
    low = scheduler.submit(1, line("b"))
    assert low == [Allocate(1)]
    assert issues(drain(scheduler, urgent)) == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 0, 2)]


def test_a_channel_may_choose_otherwise() -> None:
    scheduler = Scheduler(policies={"b": first_come_first_served})
    scheduler.submit(0, line("a", "b", chunks=1, priority=1))
    assert issues(scheduler.submit(1, line("b"))) == [(1, 0, 0)]


def test_a_policy_of_ones_own() -> None:
    """Whatever the pool has to offer: here nothing until it is opened."""
    is_open = False

    def gate(channel: ChannelState) -> Any:
        return first_come_first_served(channel) if is_open else None

    scheduler = Scheduler({"a": 2}, policy=gate)
    assert scheduler.submit(0, line("a")) == [Allocate(0)]
    is_open = True
    assert issues(scheduler.submit(1, line("a"))) == [(0, 0, 0), (0, 0, 1)]


def test_who_waits_for_buffers_lends_his_priority() -> None:
    """Low holds what high needs, and middle keeps low off its channel: the classical inversion."""
    scheduler = Scheduler({}, {"m": 2})
    low = scheduler.submit(0, line("a", "b", chunks=2))
    assert scheduler.submit(1, line("a", chunks=50, priority=1)) == [Allocate(1)]
    assert scheduler.submit(2, line("c", "d", priority=5)) == []
    assert (scheduler.priority(0), scheduler.priority(1)) == (5, 1)
    order = finished(drain(scheduler, low))
    assert order == [0, 2, 1]


@pytest.mark.parametrize("how", ["cancel", "served"])
def test_what_was_lent_is_taken_back(how: str) -> None:
    scheduler = Scheduler({}, {"m": 4})
    scheduler.submit(0, line("a", "b"))
    other = scheduler.submit(1, line("c", "d", chunks=1))
    scheduler.submit(2, line("e", "f", priority=7))
    assert (scheduler.priority(0), scheduler.priority(1)) == (7, 7)
    if how == "cancel":
        assert scheduler.cancel(2) == [Finish(2, "cancelled")]
        assert scheduler.priority(1) == 0
    else:
        (one,) = [each for each in scheduler.done(*other[1]) if type(each) is Issue]
        assert Allocate(2) in scheduler.done(*one)
    assert scheduler.priority(0) == 0


def test_choices_wait_until_all_priorities_are_taken_back() -> None:
    """Two had been lent a priority; when it is taken back, the channel that becomes free goes to the higher of the two."""
    scheduler = Scheduler({}, {"m": 6})
    first = scheduler.submit(0, line("c", "x", priority=3))
    second = scheduler.submit(1, line("y", "c"))
    third = scheduler.submit(2, line("z", "c", chunks=1, priority=9))
    scheduler.done(*third[1])
    (last,) = (each for each in scheduler.done(*first[1]) if each[:2] == (2, 1))  # now it is on c
    assert scheduler.submit(3, line("q", "r", priority=9)) == []
    assert issues(scheduler.done(*second[1])) == [(1, 0, 1)]  # its second hop could use c, too
    assert [scheduler.priority(number) for number in (0, 1, 2)] == [9, 9, 9]
    answer = scheduler.done(*last)
    assert [scheduler.priority(number) for number in (0, 1, 3)] == [3, 0, 9]
    assert sorted(issues(answer)) == [(0, 0, 1), (3, 0, 0)]


# ---- buffers


def test_a_large_one_is_not_overtaken() -> None:
    """Small ones fit where a large one does not; those that come after it wait behind it."""
    scheduler = Scheduler({}, {"m": 10})
    small = scheduler.submit(0, line("a", "b", nbytes=2))
    assert scheduler.submit(1, line("a", "b", nbytes=4)) == []
    for number in range(2, 50):
        assert scheduler.submit(number, line("a", "b")) == []
    admitted = [each.transfer for each in drain(scheduler, small) if type(each) is Allocate]
    assert admitted == list(range(50))


def test_nor_where_somebody_else_keeps_it_waiting() -> None:
    """1 waits for m, 2 for m behind it and for n; 3 wants n only, and comes last."""
    scheduler = Scheduler({}, {"m": 2, "n": 2})
    scheduler.submit(0, line("a", "b", nbytes=1))
    assert scheduler.submit(1, line("a", "b", nbytes=1)) == []
    assert scheduler.submit(2, Work.one_path(("a", "b", "c"), 1, (Ring("m", 1, 1), Ring("n", 2, 1)))) == []
    assert scheduler.submit(3, line("d", "e", memory="n")) == []
    assert scheduler.submit(4, line("d", "e", memory="n", priority=1))[0] == Allocate(4)


def test_the_urgent_are_first_in_line() -> None:
    scheduler = Scheduler({}, {"m": 2})
    first = scheduler.submit(0, line("a", "b", chunks=1))
    for number, priority in enumerate((0, 2, 1, 2), 1):
        scheduler.submit(number, line("a", "b", chunks=1, priority=priority))
    assert finished(drain(scheduler, first)) == [0, 2, 4, 3, 1]


@pytest.mark.parametrize("priorities", [1, 3])
@pytest.mark.few(1)
def test_ten_thousand_transfers_through_one_mebibyte(priorities: int) -> None:
    scheduler = Scheduler({"a": 2, "b": 3}, {"m": 1 << 20, "n": 1 << 20})
    queue: deque[Instruction] = deque()
    for number in range(10_000):
        one, two = (number * 7919) % (1 << 18) + 1, (number * 104_729) % (1 << 19) + 1
        rings = (Ring("m", one, 2), Ring("n", two, 1)) if number % 3 else (Ring("n", two, 2), Ring("m", one, 1))
        queue.extend(scheduler.submit(number, Work.one_path(("a", "b", "c"), 2, rings, priority=number % priorities)))
        assert scheduler.counts.held_bytes <= 2 << 20 if number % 1000 == 0 else True
    done = finished(drain(scheduler, queue))
    assert sorted(done) == list(range(10_000))
    assert scheduler.counts == NOTHING


# ---- failure


def test_a_transfer_fails_when_its_last_request_is_back() -> None:
    scheduler = Scheduler({"a": 3}, {"m": 6})
    scheduler.submit(0, line("a", "b", slots=3))
    bystander = scheduler.submit(1, line("a", "b", slots=3))
    waiting = scheduler.submit(2, line("c", "d"))
    assert bystander == [Allocate(1)] and waiting == []
    assert issues(scheduler.done(0, 0, 0, 0)) == [(0, 1, 0), (1, 0, 0)]
    # It gets nothing any more: the bystander has its place.
    assert issues(scheduler.failed(0, 0, 2, 0, "disk full")) == [(1, 0, 1)]
    assert issues(scheduler.done(0, 0, 1, 0)) == [(1, 0, 2)]
    answer = scheduler.failed(0, 1, 0, 0, "another reason")
    assert answer == [Release(0), Finish(0, "failed", "disk full"), Allocate(2), Issue(2, 0, 0, 0)]


def test_an_allocation_fails() -> None:
    scheduler = Scheduler({}, {"m": 2})
    issued = scheduler.submit(0, line("a", "b"))
    scheduler.submit(1, line("a", "b"))
    assert scheduler.failed(0, -1, -1, -1, "out of memory") == []
    assert scheduler.failed(*issued[1], "no buffer")[:2] == [Release(0), Finish(0, "failed", "out of memory")]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_cancelled_at_every_point(victim: int, twice: bool) -> None:
    """Three transfers, the last of which waits for buffers: cancel one of them before every stimulus there is."""
    point = 0
    while True:
        scheduler = Scheduler({"b": 2}, {"m": 4})
        queue: deque[Instruction] = deque()
        found: list[Instruction] = []
        outcomes: dict[int, str] = {}
        coming = [Submit(number, line("a", "b", "a", chunks=2, requests=(1, 2, 1), slots=1)) for number in range(3)]
        steps = 0
        after: list[Instruction] = []
        while coming or queue:
            if steps == point:
                for _ in range(1 + twice):
                    answer = scheduler.cancel(victim)
                    queue.extend(answer)
            steps += 1
            if coming:
                answer = scheduler.handle(coming.pop(0))
            else:
                instruction = queue.popleft()
                found.append(instruction)
                if type(instruction) is Finish:
                    assert instruction.transfer not in outcomes
                    outcomes[instruction.transfer] = instruction.outcome
                if type(instruction) is not Issue:
                    continue
                answer = scheduler.done(*instruction)
            queue.extend(answer)
            if steps > point:
                after += answer
        assert scheduler.counts == NOTHING
        assert [number for number in range(3) if number != victim and outcomes[number] != "done"] == []
        if outcomes[victim] == "cancelled":
            assert not any(each.transfer == victim for each in after if type(each) is Issue)
        allocated, released = ([each.transfer for each in found if type(each) is kind] for kind in (Allocate, Release))
        assert sorted(allocated) == sorted(released)
        if steps <= point:
            break
        point += 1
    assert point > 20


# ---- recordings


def recorded() -> Recorder:
    """A run with everything in it."""
    ticks = iter(range(10_000))
    recorder = Recorder(Scheduler({"a": 2}, {"m": 4}, {"b": first_come_first_served}), clock=lambda: next(ticks) * 0.5)
    queue = deque(recorder.submit(0, line("a", "b", requests=(2, 1))))
    for number in range(1, 4):
        queue.extend(recorder.submit(number, line("a", "b", priority=number)))
    queue.extend(recorder.cancel(1))
    broken = False
    while queue:
        instruction = queue.popleft()
        if type(instruction) is Issue:
            fails = instruction.transfer == 2 and not broken
            broken = broken or fails
            queue.extend(recorder.failed(*instruction, "torn") if fails else recorder.done(*instruction))
    assert recorder.counts == NOTHING
    return recorder


def test_a_recording_and_its_file(tmp_path: Path) -> None:
    recorder = recorded()
    recording = recorder.recording
    assert [type(entry.stimulus) for entry in recording][:5] == [Submit] * 4 + [Cancel]
    assert [entry.seconds for entry in recording] == [0.5 * (k + 1) for k in range(len(recording))]
    recording.save(tmp_path / "run.json")
    loaded = Recording.load(tmp_path / "run.json")
    assert loaded == recording
    assert {type(each) for entry in loaded for each in entry.instructions} == {Allocate, Issue, Release, Finish}
    assert loaded.replay().counts == NOTHING
    fresh = Scheduler(recording.limits, recording.capacity, {"b": first_come_first_served})
    assert loaded.replay(fresh) is fresh


def test_a_replay_says_where_it_differs() -> None:
    recording = recorded().recording
    with pytest.raises(ReplayError, match=r"stimulus 0, submit 0: .*no instruction|instruction \d is") as caught:
        recording.replay(Scheduler({"a": 1}, recording.capacity))
    assert caught.value.index == 0 and len(caught.value.got) < len(caught.value.expected)
    with pytest.raises(ReplayError, match="stimulus 0, submit 0: LimitError") as caught:
        recording.replay(Scheduler(recording.limits, {"m": 1}))
    assert isinstance(caught.value.got, LimitError)
    with pytest.raises(ReplayError) as caught:
        recording.replay(Scheduler(recording.limits, {"m": 100}, {"b": first_come_first_served}))
    error = caught.value
    assert error.index > 0 and error.entry == recording.entries[error.index] and error.got != error.expected
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_replay_needs_a_fresh_scheduler() -> None:
    recorder = recorded()
    with pytest.raises(ReplayError):
        recorder.recording.replay(_busy())
    with pytest.raises(InputError, match="already has work"):
        Recorder(_busy())


def _busy() -> Scheduler:
    scheduler = Scheduler({"a": 2}, {"m": 4}, {"b": first_come_first_served})
    scheduler.submit(0, line("a"))
    return scheduler


def test_what_was_refused_is_not_recorded() -> None:
    recorder = Recorder(Scheduler({}, {"m": 1}))
    with pytest.raises(LimitError):
        recorder.submit(0, line("a", "b"))
    assert len(recorder.recording) == 0
    assert recorder.needs(line("a", "b", slots=1)) == {"m": 1}
    recorder.submit(0, line("a", "b", slots=1))
    assert recorder.priority(0) == 0 and recorder.channel("a").in_flight == 1
    assert recorder.limits == {} and recorder.capacity == {"m": 1}


def test_a_policy_without_a_name_is_handed_in() -> None:
    def mine(channel: ChannelState) -> Any:
        return first_come_first_served(channel)

    recorder = Recorder(Scheduler(policy=mine))
    recorder.submit(0, line("a"))
    recording = Recording.from_json(json.loads(json.dumps(recorder.recording.to_json())))
    with pytest.raises(InputError, match="mine"):
        recording.replay()
    recording.replay(Scheduler(policy=mine))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "isoviz-recording-0"},
        {"entries": [[0, ["jump", 1], []]]},
        {"entries": [[0, ["cancel"], []]]},
        {"entries": [[0, [], []]]},
        {"entries": [[0, ["submit", 0, {}], []]]},
        {"entries": [[0, ["cancel", 0], [["cancel", 0]]]]},
        {"entries": 7},
        {"limits": []},
        {"capacity": {"m": "much"}},
        {"policies": None},
    ],
)
def test_what_is_no_recording(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recording"):
        Recording.from_json({**recorded().recording.to_json(), **change})


def test_files_that_hold_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for content in (b"", b"{", b"\xff", b"[]", b"null"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="recording"):
            Recording.load(path)


def test_a_simulation_is_recorded_in_its_own_time() -> None:
    from isoviz.machines import preset

    simulator = Simulator(preset("two-node"))
    recorder = simulator.scheduler = Recorder(simulator.scheduler, clock=lambda: simulator.now)  # type: ignore[assignment]
    for number in range(3):
        simulator.submit_work(line("a", "b", memory="anywhere"), ((1.0, 0.5),) * 2, 3.0, 1.0, at=number * 0.25)
    trace = simulator.run()
    recording = recorder.recording
    assert max(entry.seconds for entry in recording) == trace.end
    assert len(recording) == len(trace.requests) + 3
    recording.replay()
