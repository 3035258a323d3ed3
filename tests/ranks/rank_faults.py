"""Run under mpiexec: a rank that stops, one that fails, one that ends the job, and ranks that differ in their speed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.tags import BEAT
from isoviz.backends.mpi.world import World
from isoviz.errors import RunError
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, Constant, Memory, MemoryKind
from isoviz.runtime.protocols import Bound

MESSAGES = 4


class Mail:
    def __init__(self, world: World) -> None:
        self.world = world
        self.found: list[tuple[int, Any]] = []
        self.lost: list[tuple[int, str]] = []
        self.news = threading.Condition()
        world.transport.start(self._receive, self._gone)

    def _receive(self, sender: int, message: object) -> None:
        with self.news:
            self.found.append((sender, message))
            self.news.notify_all()

    def _gone(self, rank: int, reason: str) -> None:
        with self.news:
            self.lost.append((rank, reason))
            self.news.notify_all()

    def take(self, sender: int) -> Any:
        with self.news:
            while True:
                for each in self.found:
                    if each[0] == sender:
                        self.found.remove(each)
                        return each[1]
                assert self.news.wait(150), f"nothing from rank {sender}"

    def wait_for_loss(self) -> tuple[int, str]:
        with self.news:
            while not self.lost:
                assert self.news.wait(150), "no rank was lost"
            return self.lost[0]


def packed(world: World, to: int) -> Any:
    here, there = Memory(f"node{world.rank}.sys", MemoryKind.SYS, node=world.rank), Memory("far.sys", MemoryKind.SYS, node=to)
    described = Channel("", ChannelKind.PACKED, here.name, there.name, Constant(1e9))
    return world.devices.channel(described, Bound(here, world.devices.memory(here)), Bound(there, None))  # type: ignore[arg-type]


def gone(limit: float, send: signal.Signals) -> None:
    """Rank 1 is stopped or killed while the others read from it and write to it. They end it, and go on without it."""
    world = World(period=limit / 5, limit=limit)
    mail = Mail(world)
    store = HostStore(np.zeros(8 << 20, np.uint8))
    handle = world.devices.export(store)
    for rank in range(world.size):
        if rank != world.rank:
            world.transport.send(rank, (handle, os.getpid()))
    others = {rank: mail.take(rank) for rank in range(world.size) if rank != world.rank}
    for rank in others:
        world.transport.send(rank, "ready")
    for rank in others:
        assert mail.take(rank) == "ready"
    if world.rank != 1:
        world.transport.send(1, "you may end")
    else:  # what rank 1 sent has arrived before it ends
        for rank in others:
            assert mail.take(rank) == "you may end"
        os.kill(os.getpid(), send)
        return
    there = world.devices.reach(others[1][0])
    failed = []
    start = time.perf_counter()
    source = HostStore(np.ones(8 << 20, np.uint8))
    while not failed:
        try:
            there.read(0, 8)
            packed(world, 1).move([StridedCopy(0, 0, 8 << 20)], source, there, lambda: None)
        except RunError as error:
            failed.append(str(error))
    rank, reason = mail.wait_for_loss()
    noticed = time.perf_counter() - start
    assert rank == 1 and len(mail.lost) == 1, mail.lost
    # Of two ranks that miss a stopped one, the first ends it; the other one may see that end.
    expected = "its process has ended|MPI failed between" + ("|no sign of life" if send is signal.SIGSTOP else "")
    assert re.search(expected, failed[0]), failed
    other = 2 - world.rank
    world.transport.send(other, reason)
    world.transport.send(1, "dropped")
    reasons = [reason, mail.take(other)]
    live = world.devices.reach(others[other][0])
    packed(world, other).move([StridedCopy(0, 0, 8 << 20)], source, live, lambda: None)
    world.transport.send(other, "written")
    assert mail.take(other) == "written"
    assert (store.array == 1).all()
    clocks = world.transport.clock_offsets()
    assert clocks[1] is None and clocks[0] is not None and clocks[2] is not None
    world.transport.send(other, "done")
    assert mail.take(other) == "done"
    tell(world.rank, {"noticed": noticed, "reasons": reasons, "lost": mail.lost})
    world.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("isoviz MPI")]


def failing() -> None:
    """Rank 1 ends with an error; the others hear why, and all end."""
    with World(limit=30) as world:
        mail = Mail(world)
        if world.rank == 1:
            raise ValueError("no such file on this rank")
        rank, reason = mail.wait_for_loss()
        assert rank == 1
        tell(world.rank, {"reason": reason})


def aborting() -> None:
    with World(limit=30) as world:
        mail = Mail(world)
        if world.rank == 1:
            world.abort("the test wants it")
        mail.wait_for_loss()


def waiting() -> None:
    """Rank 0 is busy for twice the limit while the others have left; nobody counts as lost."""
    limit = 1.5
    with World(period=limit / 10, limit=limit) as world:
        mail = Mail(world)
        if world.rank == 0:
            end = time.monotonic() + 2 * limit
            while time.monotonic() < end:
                np.ones(1 << 20).sum()
        lost = list(mail.lost)
    assert not lost and not mail.lost, mail.lost
    tell(world.rank, {"lost": []})


def raising() -> None:
    """A timer and the end of a message raise errors of their own on rank 0. Both ranks go on, and nobody counts as lost."""
    interval = sys.getswitchinterval()
    with World(period=0.1, limit=10.0) as world:
        mail = Mail(world)
        calls: list[str] = []
        over = threading.Event()

        def fail(where: str) -> None:
            calls.append(where)
            if calls.count("timer") > 2:
                over.set()
            raise ValueError(f"of the {where}")

        if world.rank == 0:
            world.thread.every(0.02, lambda: fail("timer"))
            other = np.zeros(MESSAGES, np.uint8)
            ends: list[object] = []
            for part in range(MESSAGES):
                ended = ends.append if part else lambda _: fail("message")
                world.thread.irecv(other[part : part + 1], 1, 1 + part, ended)
            world.transport.send(1, "begin")
            assert over.wait(100)
            while len(ends) < MESSAGES - 1:
                world.thread.call(int)
            assert other.all() and "message" in calls
            world.transport.send(1, "end")
        else:
            assert mail.take(0) == "begin"
            for part in range(MESSAGES):
                world.thread.isend(np.ones(1, np.uint8), 0, 1 + part)
            assert mail.take(0) == "end"
        assert sys.getswitchinterval() == interval, "the process of a user keeps its own"
        assert not mail.lost, mail.lost
    tell(world.rank, {"failed": sorted(set(calls))})


def putting() -> None:
    """Rank 1 puts into rank 0. The option `full` fills /dev/shm before that, after MPI has started."""
    with World(limit=60) as world:
        mail = Mail(world)
        if world.rank == 0:
            store = HostStore(world.array(1 << 20))
            if "held back" in sys.argv:
                hold_back(world)
            if "full" in sys.argv:
                room = os.statvfs("/dev/shm")
                with contextlib.suppress(OSError), Path("/dev/shm/filler").open("wb") as file:
                    file.write(bytes(room.f_bavail * room.f_frsize))
            world.transport.send(1, world.devices.export(store))
            words = mail.take(1)
            print(json.dumps({"words": words, "bytes": int(store.array.sum())}), flush=True)
            world.transport.send(1, "end")
            return
        here, there = (Memory(f"node{node}.reg", MemoryKind.REG, node=node) for node in (1, 0))
        described = Channel("", ChannelKind.PUT, here.name, there.name, Constant(1e9))
        channel: Any = world.devices.channel(described, Bound(here, world.devices.memory(here)), Bound(there, None))  # type: ignore[arg-type]
        target, source = world.devices.reach(mail.take(0)), HostStore(np.ones(1 << 20, np.uint8))
        try:
            channel.move([StridedCopy(0, 0, 1 << 20)], source, target, lambda: None)
        except RunError as error:
            world.transport.send(0, str(error))
        else:
            world.transport.send(0, "put")
        assert mail.take(0) == "end"


def hold_back(world: World) -> None:
    """On rank 0: when it has all ranks open the window of MPI, an earlier message to rank 1 still waits for the MPI thread."""
    exchange, thread = world.exchange, world.thread
    tell = exchange.tell
    sender = thread._inbox._same_host._senders[1]  # type: ignore[union-attr]

    def late(rank: int, name: str, *arguments: object, ahead: bool = False) -> None:
        if name == "put open":
            with sender.writing:  # as another thread that writes into the ring
                thread.message(rank, BEAT, b"")
        tell(rank, name, *arguments, ahead=ahead)

    exchange.tell = late  # type: ignore[method-assign]


def main() -> None:
    begin(200)
    what = sys.argv[1]
    if what in ("stopped", "killed"):
        gone(float(sys.argv[2]), signal.SIGSTOP if what == "stopped" else signal.SIGKILL)
    else:
        {"failing": failing, "aborting": aborting, "waiting": waiting, "raising": raising, "putting": putting}[what]()


main()
