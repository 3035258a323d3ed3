"""Messages through memory that two ranks map: every one arrives once, in order, also where some go through MPI."""

from __future__ import annotations

import mmap
import random
import threading
from typing import Any

import pytest

from isoviz.backends.mpi.thread.bells import SharedBell, are_shared, give_way
from isoviz.backends.mpi.thread.rings import ROOM, Ring, SameHostRings
from isoviz.backends.pages import PAGE

pytestmark = pytest.mark.skipif(not are_shared(), reason="this system has no futexes")
ENGINE, OTHER = 1, 6


class Pair:
    """Two ranks in one process. What finds no room in a ring goes through `mpi`, which is a list here."""

    def __init__(self) -> None:
        self.bells = [SharedBell(mmap.mmap(-1, PAGE)) for _ in range(2)]
        rings = [mmap.mmap(-1, ROOM) for _ in range(2)]
        """From rank 0 to rank 1, and back."""
        self.taken: list[list[tuple[int, bytes]]] = [[], []]
        self.mpi: list[list[tuple[int, bytes]]] = [[], []]
        self.ranks = [
            SameHostRings(self.bells[0], {1: self.bells[1]}, {1: rings[1]}, {1: rings[0]}, self._taken(0), ENGINE),
            SameHostRings(self.bells[1], {0: self.bells[0]}, {0: rings[0]}, {0: rings[1]}, self._taken(1), ENGINE),
        ]

    def _taken(self, rank: int) -> Any:
        return lambda sender, tag, data: self.taken[rank].append((tag, data))

    def send(self, rank: int, tag: int, data: bytes) -> None:
        left = self.ranks[1 - rank].send(rank, tag, data)
        if left is not None:
            self.mpi[rank].append((tag, left))

    def look(self, rank: int, *, everything: bool = True) -> None:
        self.ranks[rank].look(everything=everything)

    def deliver(self, rank: int) -> None:
        while self.mpi[rank]:
            self.ranks[rank].arrived(1 - rank, *self.mpi[rank].pop(0))

    def close(self) -> None:
        for rank in self.ranks:
            rank.close()
        for bell in self.bells:
            bell.close()


def test_a_ring_turns_round() -> None:
    memory = mmap.mmap(-1, ROOM)
    writer, reader = Ring(memory), Ring(memory)
    chance = random.Random(3)
    written: list[tuple[int, int, bytes]] = []
    for number in range(3000):
        data = chance.randbytes(chance.choice((0, 1, 7, 8, 100, 5000, ROOM // 2)))
        if writer.write(number, number % 7, data):
            written.append((number, number % 7, data))
        while not reader.is_empty and chance.random() < 0.6:
            assert reader.next_tag() == written[0][1]
            assert reader.read() == written.pop(0)
    assert not writer.write(0, 0, bytes(ROOM))
    while not reader.is_empty:
        assert reader.read() == written.pop(0)
    assert not written
    writer.close()
    reader.close()


def test_messages_keep_their_order_on_both_ways(full: bool) -> None:
    """Long messages go through MPI, and arrive before or after their neighbours."""
    for seed in range(200 if full else 20):
        chance, pair = random.Random(seed), Pair()
        sent: list[tuple[int, bytes]] = []
        for _ in range(200):
            data = chance.randbytes(chance.choice((1, 30, 300, 9000, 2 * ROOM)))
            tag = chance.choice((ENGINE, ENGINE, OTHER))
            pair.send(1, tag, data)
            sent.append((tag, data))
            if chance.random() < 0.3:
                pair.look(1, everything=chance.random() < 0.5)
            if chance.random() < 0.3:
                pair.deliver(1)
        pair.deliver(1)
        pair.look(1)
        assert pair.taken[1] == sent, seed
        pair.close()


def test_a_thread_that_waits_takes_messages_of_the_engine_only() -> None:
    pair = Pair()
    for tag in (ENGINE, OTHER, ENGINE):
        pair.send(1, tag, b"x")
    pair.look(1, everything=False)
    assert pair.taken[1] == [(ENGINE, b"x")]
    pair.look(1)
    assert [tag for tag, _ in pair.taken[1]] == [ENGINE, OTHER, ENGINE]
    pair.close()


def test_a_message_that_another_thread_leaves_is_taken_though_its_ring_is_empty() -> None:
    """It came through MPI before the message that it follows was read from the ring."""
    pair = Pair()
    pair.send(1, ENGINE, b"first")
    pair.send(1, OTHER, bytes(2 * ROOM))
    pair.deliver(1)
    assert pair.taken[1] == []
    pair.look(1, everything=False)
    assert pair.taken[1] == [(ENGINE, b"first")]
    pair.look(1)
    assert [tag for tag, _ in pair.taken[1]] == [ENGINE, OTHER]
    pair.close()


def test_a_message_wakes_the_mpi_thread_unless_somebody_looks() -> None:
    pair = Pair()
    heard: list[bool] = []
    bell, rank = pair.bells[1], pair.ranks[1]

    def sleep() -> None:
        heard.append(bell.sleep(0.9, lambda: rank.has_messages))

    def asleep(thread: threading.Thread) -> None:
        thread.start()
        while not bell._words[16]:
            give_way()

    sleeper = threading.Thread(target=sleep)
    asleep(sleeper)
    pair.send(1, ENGINE, b"wakes")
    sleeper.join()
    pair.look(1)
    with rank.polling():
        sleeper = threading.Thread(target=sleep)
        asleep(sleeper)
        pair.send(1, ENGINE, b"does not wake")
        assert rank.are_polled
    sleeper.join()  # the message was left to the MPI thread, which is woken at the end of the block
    assert heard == [True, True]
    pair.close()


def test_many_threads_send(full: bool) -> None:
    """Each thread's messages arrive in its order, none is lost, none comes twice."""
    pair, count, threads = Pair(), 2000 if full else 300, 4
    lock = threading.Lock()

    def send(thread: int) -> None:
        for number in range(count):
            left = pair.ranks[0].send(1, ENGINE, bytes([thread]) + number.to_bytes(4, "little") * (1 + 9 * (number % 30)))
            if left is not None:
                with lock:
                    pair.mpi[1].append((ENGINE, left))

    senders = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders) or pair.mpi[1] or pair.ranks[1].has_messages:
        pair.look(1)
        with lock:
            some, pair.mpi[1] = pair.mpi[1], []
        for tag, data in some:
            pair.ranks[1].arrived(0, tag, data)
        give_way()
    assert len(pair.taken[1]) == threads * count
    for thread in range(threads):
        numbers = [int.from_bytes(data[1:5], "little") for _, data in pair.taken[1] if data[0] == thread]
        assert numbers == list(range(count))
    pair.close()
