"""Run under mpiexec: what messages and channels between ranks cost, beside MPI itself in the same run."""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from given.rank_program import begin

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.world import World
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, Constant, Memory, MemoryKind
from isoviz.runtime.protocols import Bound

KINDS = ("Window", "ProcessWrite", "TwoSided", "Packed", "Derived", "Put", "RemoteMemcpy")


class Echo:
    """Answers every message; measures round trips."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.came = threading.Semaphore(0)
        self.last: object = None
        world.transport.start(self.receive, lambda rank, reason: None)

    def receive(self, sender: int, message: object) -> None:
        if message == "ping":
            self.world.transport.send(sender, "pong")
        else:
            self.last = message
            self.came.release()

    def wait(self) -> object:
        assert self.came.acquire(timeout=200)
        return self.last

    def round_trips(self, rank: int, count: int) -> float:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            self.world.transport.send(rank, "ping")
            self.wait()
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def raw(world: World, nbytes: int, count: int) -> float | None:
    """MPI alone: a message from rank 0 to rank 1, and an empty answer. The median at rank 0."""

    def exchange() -> float | None:
        mpi = world.thread.mpi
        pair = mpi.COMM_WORLD.Split(0 if world.rank < 2 else 1)
        data, times = np.ones(nbytes, np.uint8), []
        if world.rank < 2:
            for _ in range(count):
                start = time.perf_counter()
                if world.rank == 0:
                    pair.Send([data, mpi.BYTE], 1)
                    pair.Recv([bytearray(0), mpi.BYTE], 1)
                else:
                    pair.Recv([data, mpi.BYTE], 0)
                    pair.Send([b"", mpi.BYTE], 0)
                times.append(time.perf_counter() - start)
        pair.Free()
        return statistics.median(times) if times else None

    return world.thread.call(exchange)


def channel_of(world: World, kind: str) -> Any:
    here, there = Memory("node0.reg", MemoryKind.REG, node=0), Memory("node1.reg", MemoryKind.REG, node=1)
    real = world.devices.memory(here)
    described = Channel("", ChannelKind(kind), here.name, there.name, Constant(1e9))
    return world.devices.channel(described, Bound(here, real), Bound(there, None))  # type: ignore[arg-type]


def timed(call: Callable[[], object], count: int) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def idle_share(world: World, echo: Echo, seconds: float) -> float:
    """The share of a core that this rank uses while nothing happens; all ranks measure together."""
    start, used = time.perf_counter(), time.process_time()
    threading.Event().wait(seconds)
    return (time.process_time() - used) / (time.perf_counter() - start)


def main() -> None:
    begin()
    what = sys.argv[1]
    found: dict[str, Any] = {}
    with World(limit=30, mapped="unmapped" not in sys.argv) as world:
        echo = Echo(world)
        if what == "idle":
            found["idle"] = idle_share(world, echo, float(sys.argv[2]))
            if world.rank == 0:
                found["round_trip"] = [echo.round_trips(rank, 50) for rank in range(1, world.size)]
        else:
            sizes = [int(size) for size in sys.argv[2:] if size.isdigit()]
            for nbytes in sizes:
                count = (300 if nbytes <= 1 << 16 else 30 if nbytes <= 4 << 20 else 7) + 1
                times = {"raw": raw(world, nbytes, count)}
                if world.rank == 1:
                    store = HostStore(world.array(nbytes))
                    world.transport.send(0, world.devices.export(store))
                    assert echo.wait() == "measured"
                if world.rank == 0:
                    there = world.devices.reach(echo.wait())  # type: ignore[arg-type]
                    source = HostStore(world.array(nbytes))
                    source.array[:] = 1
                    copies = [StridedCopy(0, 0, nbytes)]
                    for kind in KINDS:
                        channel = channel_of(world, kind)
                        if channel is not None:
                            move = partial(channel.move, copies, source, there, lambda: None)
                            move()
                            times[kind] = timed(move, count)
                    world.transport.send(1, "measured")
                    for rank in range(2, world.size):
                        world.transport.send(rank, "measured")
                elif world.rank > 1:
                    echo.wait()
                found[str(nbytes)] = times
        if world.rank == 0:
            clocks = world.transport.clock_offsets()
            found["clocks"] = clocks
            assert all(abs(clock.offset) <= clock.uncertainty for clock in clocks if clock is not None), clocks
            print(json.dumps(found), flush=True)


main()
