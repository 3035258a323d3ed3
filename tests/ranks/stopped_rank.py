"""Run under mpiexec: rank 1 is stopped while it writes to rank 0, counts as lost, and continues. What does it overwrite?

`python stopped_rank.py WAY FOLDER [unfenced]`; `unfenced` plays a system that lets no rank end another one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin

import isoviz
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.channels import window_copy
from isoviz.backends.mpi.lanes.lane_ends import LanePart, SendingLane
from isoviz.backends.mpi.world import World
from isoviz.errors import RankLost, RunError
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, Constant, Memory, MemoryKind, preset
from isoviz.redistribution.running.on_rank import redistribute_on_rank
from isoviz.runtime.protocols import Bound
from isoviz.runtime.ranks.lanes.lane_transfers import LaneTransfer
from isoviz.runtime.ranks.rank_engine import RankEngine

LIMIT = 3.0
PATTERN = 0xAB
MIB = 1 << 20
PARTS, BEFORE = 24, 12
"""Parts of what rank 1 writes, and those that it has written when it stops itself."""
LONG = 64 * MIB
"""Bytes of one message: rank 0 stops rank 1 when the first bytes arrive."""
KINDS = {
    "window": (ChannelKind.WINDOW, "REG"),
    "process write": (ChannelKind.PROCESS_WRITE, "SYS"),
    "packed": (ChannelKind.PACKED, "SYS"),
    "message": (ChannelKind.TWO_SIDED, "SYS"),
    "message to window": (ChannelKind.TWO_SIDED, "REG"),
    "datatype": (ChannelKind.DERIVED, "SYS"),
    "put": (ChannelKind.PUT, "REG"),
    "small": (ChannelKind.TWO_SIDED, "SYS"),
}
IS_LONG = ("message", "message to window", "datatype", "put")


class Mail:
    """The messages of the other rank, and its loss."""

    def __init__(self, world: World) -> None:
        self.found: list[object] = []
        self.is_lost = False
        self.news = threading.Condition()
        world.transport.start(self._receive, self._gone)

    def _receive(self, _sender: int, message: object) -> None:
        with self.news:
            self.found.append(message)
            self.news.notify_all()

    def _gone(self, _rank: int, _reason: str) -> None:
        with self.news:
            self.is_lost = True
            self.news.notify_all()

    def take(self) -> Any:
        with self.news:
            assert self.news.wait_for(lambda: bool(self.found), 100)
            return self.found.pop(0)

    def wait_for_loss(self) -> None:
        with self.news:
            assert self.news.wait_for(lambda: self.is_lost, 100)


class StopAfter:
    """Stops this process at its call number `left`."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this thread first, then all others


def state(pid: int) -> str:
    """The state of a process as the system writes it; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def wait(condition: Callable[[], bool]) -> None:
    last, pause = time.monotonic() + 100, threading.Event()
    while not condition():
        assert time.monotonic() < last
        pause.wait(0.001)


def judge(array: Any, other: int, finished: Path, written: int) -> None:
    """Rank 0, after it was told of the loss: it gives its memory new contents, and lets rank 1 continue to its end."""
    array[:] = PATTERN
    with contextlib.suppress(ProcessLookupError):
        os.kill(other, signal.SIGCONT)
    wait(lambda: finished.exists() or state(other) in ("", "Z", "X"))
    ended = not finished.exists()
    overwritten = int(np.count_nonzero(array != PATTERN))
    found = {"written": written, "overwritten": overwritten, "ended": ended, "size": array.nbytes}
    finished.with_name("found").write_text(json.dumps(found))
    with contextlib.suppress(ProcessLookupError):
        os.kill(other, signal.SIGKILL)


# ---- a channel alone


def write(world: World, way: str, finished: Path) -> None:
    """Rank 1: it stops, or is stopped, in the middle of what it writes."""
    mail = Mail(world)
    kind, memory = KINDS[way]
    handle = mail.take()
    source = HostStore(np.ones(handle.nbytes, np.uint8))
    here, there = (Memory(f"node{node}.{memory.lower()}", MemoryKind(memory), node=node) for node in (1, 0))
    described = Channel("", kind, here.name, there.name, Constant(1e9))
    channel: Any = world.devices.channel(described, Bound(here, world.devices.memory(here)), Bound(there, None))
    destination, stop = world.devices.reach(handle), StopAfter(BEFORE)
    world.transport.send(0, os.getpid())
    assert mail.take() == "begin"  # so its message has left it
    with contextlib.suppress(RunError):
        if way == "small":
            for part in range(PARTS):
                stop()
                channel.move([StridedCopy(0, part * 512, 512)], source, destination, lambda: None)
        elif way in IS_LONG:
            loops = ((LONG >> 17, 1 << 17, 1 << 17),) if way == "datatype" else ()
            channel.move([StridedCopy(0, 0, (1 << 17) - 64 if loops else LONG, loops)], source, destination, lambda: None)
        else:
            channel.move([StridedCopy(part * MIB, part * MIB, MIB) for part in range(PARTS)], source, destination, stop)
    finished.touch()
    signal.pause()


def survive(world: World, way: str, finished: Path) -> None:
    mail = Mail(world)
    size = LONG if way in IS_LONG else PARTS * 512 if way == "small" else PARTS * MIB
    array = world.array(size) if KINDS[way][1] == "REG" else np.zeros(size, np.uint8)
    handle = world.devices.export(HostStore(array))
    world.transport.send(1, handle)
    other = mail.take()
    world.transport.send(1, "begin")
    if way in IS_LONG:
        arrived: list[bool] = []

        def stop_it() -> None:
            """In the thread that takes the pieces of the message: no more come while this one looks."""
            if not arrived and array[: 1 << 16].any():
                arrived.append(True)
                os.kill(other, signal.SIGSTOP)

        world.thread.every(1e-5, stop_it)
    mail.wait_for_loss()
    written = int(np.count_nonzero(array))
    if way != "small":  # as an engine does at the end of the transfer; another transfer of the store may go on
        world.devices.withdraw(handle)
    judge(array, other, finished, written)


# ---- a redistribution, and a transfer of the engine


def work_together(world: World, way: str, finished: Path) -> None:
    """Rank 1 stops while it copies into the window of rank 0."""
    made = preset("ranks", ranks=world.size, hosts=list(world.hosts), measure="assumed")
    crossing = ChannelKind.TWO_SIDED if way == "lane" else ChannelKind.WINDOW
    kept = [each for each in made.channels if not each.kind.crosses_nodes or each.kind is crossing]
    engine = RankEngine(replace(made, channels=tuple(kept)), world.devices, world.transport)
    pids: Any = engine.gather(os.getpid())
    if world.rank == 1:
        move, stop = window_copy.WindowCopy.move, StopAfter(2 if way.startswith("lane") else 4)

        def move_in_parts(self: Any, copies: Sequence[StridedCopy], source: Any, destination: Any, check: Any) -> int:
            parts = [
                StridedCopy(copy.source_offset + at, copy.destination_offset + at, min(copy.run - at, MIB))
                for copy in copies
                for at in range(0, copy.run, MIB)
            ]
            return move(self, parts, source, destination, stop)

        window_copy.WindowCopy.move = move_in_parts  # type: ignore[method-assign]
        made_lane = SendingLane.__init__

        def stopping_lane(self: SendingLane, page: Any, parts: Sequence[LanePart], *more: Any) -> None:
            made_lane(self, page, [LanePart(part.nbytes, (stop, *part.moves)) for part in parts], *more)

        SendingLane.__init__ = stopping_lane  # type: ignore[method-assign]
    space, fields, layout = isoviz.IndexSpace(x=MIB), isoviz.FieldSpace(value="float64"), isoviz.Layout("<F, x>")
    memory = "sys" if way == "lane" else "reg"
    array, source = (np.zeros(8 * MIB, np.uint8) if memory == "sys" else world.array(8 * MIB) for _ in range(2))
    source[:] = 1
    with contextlib.suppress(RankLost):
        if way == "redistribution":
            ends = [
                isoviz.DistributedInstance(space, fields, isoviz.Distribution({"x": 1}, ranks=(rank,)), layout, "reg")
                for rank in (1, 0)
            ]
            redistribute_on_rank(engine, ends[0], ends[1], source if world.rank else None, None if world.rank else array)
        else:
            instances = [isoviz.Instance(f"node{rank}.{memory}", space, fields, layout) for rank in (1, 0)]
            plan = isoviz.plan(isoviz.Transfer(*instances), engine.machine)
            ends = source if world.rank else None, None if world.rank else array
            if way == "transfer":
                engine.submit(plan, *ends).wait(100)
            else:
                prepared = engine.prepare(plan, *ends)
                assert isinstance(prepared, LaneTransfer)
                prepared.start().wait(100)
    if world.rank:
        finished.touch()
        signal.pause()
    judge(array, pids[1], finished, int(np.count_nonzero(array)))


def main(way: str, folder: str, *, unfenced: bool) -> None:
    begin(150)
    if unfenced:

        def refused(*_: object) -> int:
            raise PermissionError(1, "Operation not permitted")

        os.pidfd_open = refused
    finished = Path(folder, "finished")
    world = World(period=LIMIT / 5, limit=LIMIT)
    if way not in KINDS:
        work_together(world, way, finished)
    elif world.rank:
        write(world, way, finished)
    else:
        survive(world, way, finished)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], unfenced="unfenced" in sys.argv)
