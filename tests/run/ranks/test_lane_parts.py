"""The parts of a lane: several threads may carry them out at a time, and both ranks."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.lanes.lane_ends import LaneAddress, LanePart, ReceivingLane, SendingLane
from isoviz.backends.mpi.lanes.lanes import LARGEST_SPAN, PART, _parts_of, _read, _Room, _written
from isoviz.backends.mpi.lanes.page import CLAIMED
from isoviz.backends.mpi.other_process import check_reach
from isoviz.backends.pages import PAGE, page_aligned
from isoviz.errors import RunError
from isoviz.layouts import Box, View, strided_copies
from isoviz.runtime.ranks.handles import StoreHandle

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux writes to the memory of another process")


def address_of(array: np.ndarray[Any, Any]) -> StoreHandle:
    """This process, as if it were another one."""
    return StoreHandle(0, 1, array.nbytes, None, process=os.getpid(), address=array.ctypes.data)


@pytest.mark.parametrize(
    "texts", [("<F, x, y>", "<F, y, x>"), ("<F, x, y>", "<x, F, y>"), ("<F, x, y>", "<x_in=64, F, y, x_out>")]
)
@pytest.mark.parametrize("is_read", [False, True])
def test_parts_at_a_time(texts: tuple[str, str], is_read: bool) -> None:
    """Each part is packed first, or unpacked afterwards, in a room that all parts share."""
    space, fields = IndexSpace(x=512, y=64), FieldSpace(v="V512")
    ends = [Layout(text).on(space, fields) for text in texts]
    copies = strided_copies(View(ends[0]), View(ends[1]), Box.whole(space))
    source = np.random.default_rng(3).integers(0, 256, ends[0].nbytes, np.uint8)
    destination = np.zeros(ends[1].nbytes, np.uint8)
    cut = _parts_of(copies, is_mapped=False)
    parts = (
        _read(cut, HostStore(destination), address_of(source))
        if is_read
        else _written(cut, HostStore(source), address_of(destination))
    )
    assert len(parts) >= 8 and sum(part.nbytes for part in parts) == source.nbytes
    expected = np.zeros_like(destination)
    for copy in copies:
        for at, to in zip(*starts_of(copy), strict=True):
            expected[to : to + copy.run] = source[at : at + copy.run]
    for _ in range(5):
        destination[:] = 0
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda part: [move() for move in part.moves], parts))
        assert np.array_equal(destination, expected)


@pytest.mark.parametrize("kinds", [("<f8", "<f8", "<f8", "<f8"), ("<f4", "<f8", "u1"), ("V3", "V700")])
def test_fields_that_become_structs_are_written_in_one_piece(kinds: tuple[str, ...]) -> None:
    """Each field alone has short runs at the destination."""
    space, fields = IndexSpace(x=200_000), FieldSpace.of({f"f{k}": kind for k, kind in enumerate(kinds)})
    ends = [Layout(text).on(space, fields) for text in ("<x, F>", "<F, x>")]
    copies = strided_copies(View(ends[0]), View(ends[1]), Box.whole(space))
    source = np.random.default_rng(7).integers(0, 256, ends[0].nbytes, np.uint8)
    destination = np.zeros(ends[1].nbytes, np.uint8)
    parts = _written(_parts_of(copies, is_mapped=False), HostStore(source), address_of(destination))
    for part in parts:
        for move in part.moves:
            move()
    rows = destination.reshape(200_000, -1)
    at = 0
    for size in fields.sizes:
        column = source[at * len(rows) : (at + size) * len(rows)].reshape(len(rows), size)
        assert np.array_equal(rows[:, at : at + size], column)
        at += size


@pytest.mark.parametrize("run", [4, 64, 700, 5000])
@pytest.mark.few(2)
@pytest.mark.few(1)
def test_short_runs_are_read_with_what_lies_between_them(run: int) -> None:
    """One of two fields, into an array that has it alone, in the same order or in another one."""
    count = max(60, (2 << 20) // run)
    space, both = IndexSpace(x=count, y=2), FieldSpace.of({"a": f"V{run}", "b": f"V{run}"})
    for text in ("<F, x, y>", "<F, y, x>"):
        start, goal = Layout(text).on(space, both), Layout("<F, x, y>").on(space, both.subset(("b",)))
        copies = strided_copies(View(start), View(goal), Box.whole(space), ("b",))
        source = np.random.default_rng(run).integers(0, 256, start.nbytes, np.uint8)
        destination, expected = np.zeros((2, goal.nbytes), np.uint8)
        for copy in copies:
            at, to = (starts[:, None] + np.arange(copy.run) for starts in starts_of(copy))
            expected[to] = source[at]
        parts = _read(_parts_of(copies, is_mapped=False), HostStore(destination), address_of(source))
        for part in parts:
            for move in part.moves:
                move()
        assert np.array_equal(destination, expected)


def test_the_room_of_a_lane_stays_where_it_is() -> None:
    """Calls of earlier parts keep its address. A later part may need more of it."""
    room = _Room()
    assert room.of(PART)[0] == room.of(LARGEST_SPAN * PART)[0]


def starts_of(copy: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where each run of a strided copy begins, before and after."""
    at, to = np.array([copy.source_offset]), np.array([copy.destination_offset])
    for extent, here, there in copy.loops:
        at, to = ((starts[:, None] + step * np.arange(extent)).ravel() for starts, step in ((at, here), (to, there)))
    return at, to


def test_short_runs_and_foreign_bytes_are_refused() -> None:
    space, fields = IndexSpace(x=64, y=64), FieldSpace(v="<f8")
    ends = [Layout(text).on(space, fields) for text in ("<F, x, y>", "<F, y, x>")]
    copies = strided_copies(View(ends[0]), View(ends[1]), Box.whole(space))
    room = np.zeros(ends[0].nbytes, np.uint8)
    padded = [copy._replace(destination_offset=2 * copy.destination_offset, loops=spread(copy.loops)) for copy in copies]
    with pytest.raises(RunError, match="runs of less than 512 B"):
        _written([padded], HostStore(room), address_of(np.zeros(2 * room.nbytes, np.uint8)))
    with pytest.raises(RunError, match="outside"):
        _written([copies], HostStore(room), address_of(room[:-8]))


def spread(loops: Any) -> Any:
    return tuple((extent, here, 2 * there) for extent, here, there in loops)


def test_memory_that_is_not_there() -> None:
    with pytest.raises(RunError, match="cannot be reached"):
        check_reach(os.getpid(), 8)


class Pair:
    """Both ends of a lane in this process. `failing` makes moves of the receiver fail."""

    def __init__(self, count: int, chance: random.Random) -> None:
        self.page = page_aligned(PAGE)
        self.page[:] = 0
        self.count, self.chance, self.failing = count, chance, False
        self.source, self.destination = np.zeros(count, np.int64), np.zeros(count, np.int64)
        end = address_of(self.destination)
        self.receiver = ReceivingLane(self.page, LaneAddress(end, end), lambda: None)
        parts = [LanePart(8, (self.move(number, fails=False),)) for number in range(count)]
        parts[0] = LanePart(8, (self.await_receiver, *parts[0].moves))
        self.sender = SendingLane(self.page, parts, address_of(self.source), (), lambda: None)
        self.receiver.share([LanePart(8, (self.move(number, fails=True),)) for number in range(count)], None)

    def move(self, number: int, *, fails: bool) -> Callable[[], None]:
        def move() -> None:
            self.pause()
            if fails and self.failing and self.chance.random() < 0.3:
                raise RunError("cannot be read")
            seen = self.source[number]
            self.pause()
            self.destination[number] = seen

        return move

    def await_receiver(self) -> None:
        """Often the receiver is there before the sender has moved everything."""
        until = time.monotonic() + (1.0 if self.chance.random() < 0.5 else 0.0)
        while not self.page.view(np.uint64)[CLAIMED] and time.monotonic() < until:
            os.sched_yield()

    def pause(self) -> None:
        for _ in range(self.chance.choice((0, 0, 1, 3, 20))):
            os.sched_yield()


@pytest.mark.parametrize("failing", [False, True])
def test_both_ends_move_parts(failing: bool, full: bool, report: Callable[[str, object], None]) -> None:
    """Each part is moved; once the sender has ended, neither end moves anything any more, also after a cancel."""
    chance = random.Random(5)
    pulled = done = 0
    for number in range(200 if full else 40):
        pair = Pair(chance.randint(3, 12), chance)
        pair.failing = failing
        for turn in range(1, 6):
            is_cancelled = chance.random() < 0.2
            pair.source[:] = value = 1000 * number + turn
            assert pair.receiver.next_turn() == turn

            def send(pair: Pair = pair, turn: int = turn, most: int = chance.randint(0, 3) if is_cancelled else 99) -> None:
                pair.sender.begin(turn)
                for part in range(min(most, pair.count)):
                    pair.sender.move(part)
                while not pair.sender.settle(most == 99):
                    pass
                pair.sender.end(turn, None)
                pair.source[:] = -1  # the owner writes what comes next

            thread = threading.Thread(target=send)
            thread.start()
            while not pair.receiver.is_over(turn):
                try:
                    pulled += pair.receiver.pull()
                except RunError:
                    assert failing
                pair.receiver.wait(turn)
            thread.join()
            if not is_cancelled:
                assert (pair.destination == value).all()
                done += 1
            after = pair.destination.copy()
            while pair.receiver.pull():
                pass
            assert (pair.destination == after).all()
            if failing:
                pair.receiver.share([LanePart(8, (pair.move(part, fails=True),)) for part in range(pair.count)], None)
    assert min(pulled, done) > 0
    report("transfers whose parts both ranks moved", done)
