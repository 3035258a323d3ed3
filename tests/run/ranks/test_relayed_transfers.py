"""Plans of several paths through other ranks, on engines of one process: proxies that are lost, fail, or differ."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from group import Group, group

from isoviz import FieldSpace, IndexSpace, Machine, Options, Plan, Transfer
from isoviz.errors import Cancelled, RankError, RankLost, RunError
from isoviz.machines import Channel, ChannelKind, Constant, Memory, MemoryKind
from isoviz.planner import plan_of_paths
from isoviz.runtime.ranks.messages import Relay
from isoviz.runtime.ranks.rank_engine import RankEngine
from isoviz.scheduling.work import Grant

SIZE = 4
SPACE, FIELDS = IndexSpace(x=192, y=160), FieldSpace(a="<f4", b="u1")
NBYTES = 192 * 160 * 5


@pytest.fixture(scope="module")
def machine() -> Machine:
    """Four ranks; a link of its own joins each of them to each other one."""
    memories, channels = [], []
    for rank in range(SIZE):
        here = f"node{rank}.sys"
        memories.append(Memory(here, MemoryKind.SYS, rank))
        channels.append(Channel("", ChannelKind.MEMCPY, here, here, Constant(1e11)))
    for here, there in itertools.permutations(range(SIZE), 2):
        ends = f"node{here}.sys", f"node{there}.sys"
        channels.append(Channel("", ChannelKind.REMOTE_MEMCPY, *ends, Constant(1e8), request_seconds=5e-6))
    return Machine("links", tuple(memories), tuple(channels))


@pytest.fixture
def four(machine: Machine, tmp_path: Path) -> Iterator[Group]:
    with group(machine, tmp_path, SIZE) as found:
        yield found


def across(machine: Machine, first: int, last: int) -> Plan:
    """A plan of three paths, directly and through both other ranks; the layout changes on the way."""
    moved = Transfer.whole(SPACE, FIELDS, f"node{first}.sys", "<F, x, y>", f"node{last}.sys", "<y, x, F>")
    others = (rank for rank in range(SIZE) if rank not in (first, last))
    relayed = [
        ({"y": share}, [f"node{first}.sys", f"node{rank}.sys", f"node{last}.sys"], ["<y_in=28, F, y_out, x>"])
        for rank, share in zip(others, ((60, 110), (110, 160)), strict=True)
    ]
    direct = ({"y": (0, 60)}, [f"node{first}.sys", f"node{last}.sys"])
    return plan_of_paths(moved, machine, [*relayed, direct], options=Options(slot_limit=1 << 13))


def table(seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    found = np.zeros((160, 192), FIELDS.dtype)
    found["a"], found["b"] = rng.random((160, 192)), rng.integers(0, 256, (160, 192))
    return found


def turned(given: np.ndarray[Any, Any]) -> bytes:
    return given["a"].T.tobytes() + given["b"].T.tobytes()


def submit(engine: RankEngine, made: Plan, source: Any, room: Any, **options: Any) -> Any:
    first, last = (engine.node_of(end.memory) for end in (made.transfer.source, made.transfer.destination))
    ends = source if engine.rank == first else None, room if engine.rank == last else None
    return engine.submit(made, *ends, **options)


def run(four: Group, made: Plan, ranks: tuple[int, ...] = tuple(range(SIZE)), seed: int = 7) -> None:
    given, room = table(seed), np.zeros(NBYTES, np.uint8)
    for event in [submit(four.engines[rank], made, given, room) for rank in ranks]:
        event.wait(120)
    assert room.tobytes() == turned(given)


def grants(four: Group) -> int:
    """How often a rank was told that a transfer is admitted."""
    messages = [message for transport in four.transports for message in transport.seen]
    return sum(isinstance(message, Relay) and isinstance(message.stimulus, Grant) for message in messages)


@pytest.mark.parametrize("gone", [1, 0])
@pytest.mark.parametrize("when", [pytest.param(1, marks=pytest.mark.full), 3, pytest.param(-1, marks=pytest.mark.full)])
@pytest.mark.few(2)
def test_a_proxy_is_lost_at_a_chunk(four: Group, machine: Machine, gone: int, when: int) -> None:
    """Rank 0 is also the one that admits transfers: without it, those with buffers end, and the direct ones go on."""
    first, last = (0, 3) if gone else (1, 3)
    made = across(machine, first, last)
    number = next(k for k, path in enumerate(made.paths) if f"node{gone}.sys" in path.memories)
    chunks = made.paths[number].chunk_count
    at = min(when, chunks) if when > 0 else chunks
    moves, reached, go = itertools.count(1), threading.Event(), threading.Event()

    def forward() -> None:
        if next(moves) == at:
            reached.set()
            assert go.wait(120)
            raise RunError("this process has ended")

    four.devices[gone].broken = forward
    given, room = table(3), np.zeros(NBYTES, np.uint8)
    events = [submit(engine, made, given, room) for engine in four.engines]
    assert reached.wait(120)
    four.lose(gone)
    for rank, event in enumerate(events):
        if rank != gone:
            error = event.error(120)
            assert isinstance(error, RankLost) and error.rank == gone, error
    go.set()
    for rank in range(SIZE):
        if rank != gone:
            four.transports[gone].lost(rank, "cut off")
    assert events[gone].error(120) is not None
    assert all(engine.held_bytes == 0 for engine in four.engines)
    kept = tuple(rank for rank in range(SIZE) if rank != gone)
    first, last = (made.transfer.source.memory, made.transfer.destination.memory)
    other = next(f"node{rank}.sys" for rank in kept if f"node{rank}.sys" not in (first, last))
    half = [({"y": (0, 80)}, [first, last]), ({"y": (80, 160)}, [first, other, last])]
    run(four, plan_of_paths(made.transfer, machine, half if gone else [({}, [first, last])]), kept)


def test_what_fails_because_of_a_lost_rank_is_told_as_its_loss(four: Group, machine: Machine) -> None:
    """Another rank notices the loss first and withdraws its stores. A hop into them fails before its own rank knows why."""
    made = across(machine, 1, 3)
    moves, refused = itertools.count(1), threading.Event()

    def forward() -> None:
        if next(moves) == 3:
            four.transports[0].cut = True
            refused.set()
            raise RunError("rank 2: store 2 was withdrawn")

    four.devices[1].broken = forward
    events = [submit(engine, made, table(2), np.zeros(NBYTES, np.uint8)) for engine in four.engines]
    assert refused.wait(120)
    four.lose(0)
    for rank in range(1, SIZE):
        four.transports[0].lost(rank, "cut off")
    errors = [event.error(120) for event in events]
    assert all(isinstance(error, RankLost) and error.rank == 0 for error in errors[1:]), errors
    assert "withdrawn" in str(errors[1].__cause__)


def test_a_direct_transfer_that_fails_without_rank_0_keeps_its_own_error(four: Group, machine: Machine) -> None:
    """Rank 0 is lost before and has no part in it."""
    moved = across(machine, 1, 3).transfer
    made = plan_of_paths(moved, machine, [({}, [moved.source.memory, moved.destination.memory])])

    def fail() -> None:
        raise RunError("the cable is cut")

    four.devices[1].broken = fail
    four.lose(0)
    events = [submit(four.engines[rank], made, table(4), np.zeros(NBYTES, np.uint8)) for rank in (1, 3)]
    errors = [event.error(120) for event in events]
    assert not any(isinstance(error, RankLost) for error in errors), errors
    assert all("the cable is cut" in str(error) for error in errors), errors


def test_a_proxy_that_fails_names_the_path_and_the_others_go_on(four: Group, machine: Machine) -> None:
    made = across(machine, 0, 3)
    moves = itertools.count(1)

    def forward() -> None:
        if next(moves) == 3:
            raise RunError("the cable is cut")

    four.devices[2].broken = forward
    events = [submit(engine, made, table(1), np.zeros(NBYTES, np.uint8)) for engine in four.engines]
    errors = [event.error(120) for event in events]
    assert all("the cable is cut" in str(error) and "path " in str(error) for error in errors), errors
    assert type(errors[2]) is RunError and "node2.sys->node3.sys" in str(errors[2])
    assert all(isinstance(errors[rank], RankError) for rank in (0, 1, 3))
    four.devices[2].broken = lambda: None
    run(four, made)


def test_ranks_with_other_priorities_are_told(four: Group, machine: Machine) -> None:
    made = across(machine, 0, 3)
    room = np.zeros(NBYTES, np.uint8)
    events = [submit(engine, made, table(1), room, priority=int(engine.rank == 2)) for engine in four.engines]
    for event in events:
        error = event.error(120)
        assert isinstance(error, RankError), error
        assert "priority 1 instead of 0" in str(error) or "priority 0 instead of 1" in str(error)
    assert not room.any()
    run(four, made)


def test_prepared_several_paths_are_started_again_and_again(four: Group, machine: Machine) -> None:
    made = across(machine, 0, 3)
    given, room = table(0), np.zeros(NBYTES, np.uint8)
    prepared = [
        engine.prepare(made, given if engine.rank == 0 else None, room if engine.rank == 3 else None) for engine in four.engines
    ]
    for turn in range(4):
        given[:] = table(turn)
        room[:] = 0
        events = [each.start() for each in prepared]
        if turn == 2:
            events[1].cancel()
        errors = [event.error(120) for event in events]
        assert errors == [None] * SIZE or (turn == 2 and all(isinstance(error, Cancelled) for error in errors))
        assert errors[0] is not None or room.tobytes() == turned(given)
    for each in prepared:
        each.close()
    run(four, made)


def test_urgent_transfers_over_several_paths_overtake(four: Group, machine: Machine) -> None:
    """Many at a time, over paths that cross each other: every byte arrives, and the urgent ones, submitted last, overtake."""
    pairs = [(0, 3), (3, 0), (1, 2), (2, 1)]
    plans = {ends: across(machine, *ends) for ends in pairs}
    rooms: dict[int, tuple[Any, bytes]] = {}
    ended: SimpleQueue[int] = SimpleQueue()
    waiting = []
    go = threading.Event()
    for device in four.devices:  # nothing moves before all are admitted
        device.broken = lambda: go.wait(120)
    for number, ends in enumerate(pairs * 4):
        given, room = table(number), np.zeros(NBYTES, np.uint8)
        rooms[number] = room, turned(given)
        events = [submit(engine, plans[ends], given, room, priority=5 if number >= 12 else 0) for engine in four.engines]
        events[ends[1]].add_done_callback(lambda _, number=number: ended.put(number))
        waiting += events
    while grants(four) < 16 * SIZE:
        go.wait(0.005)
    go.set()
    for event in waiting:
        event.wait(120)
    assert all(room.tobytes() == expected for room, expected in rooms.values())
    order = [ended.get(timeout=250) for _ in rooms]  # callbacks may be later than those who wait
    assert sorted(order) == list(range(16)) and min(order.index(number) for number in range(12, 16)) < 12
