"""A group of rank engines in one process: their transport is queues, and they reach each other's stores directly."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from isoviz.backends.disk.disk_memory import DiskMemory, DiskRead, DiskWrite
from isoviz.backends.host.host_memory import HostMemory, HostStore, Memcpy
from isoviz.backends.mpi.thread.slots import SLOT, Slots
from isoviz.backends.verify import BaseDevices
from isoviz.errors import RunError
from isoviz.machines import Channel, ChannelKind, Machine, Memory, MemoryKind
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.runtime.protocols import Bound, RealChannel, RealMemory, Store
from isoviz.runtime.ranks.handles import StoreHandle
from isoviz.runtime.ranks.rank_engine import RankEngine
from isoviz.runtime.ranks.transport import ClockOffset, Lost, Receive


class Queues:
    """A transport between threads. Messages are pickled, as those between processes are."""

    def __init__(self, group: list[Queues], rank: int) -> None:
        self.group, self.rank, self.size = group, rank, len(group)
        self.slots: Sequence[Slots] = ()
        self.number = 1
        self.queue: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()
        self.cut = False
        self.gate = threading.Event()
        """Messages are delivered while it is set."""
        self.gate.set()
        self.seen: list[object] = []

    def start(self, receive: Receive, lost: Lost) -> None:
        self.lost = lost

        def work() -> None:
            while (found := self.queue.get()) is not None:
                message = pickle.loads(found[1])
                assert self.gate.wait(120)
                self.seen.append(message)
                receive(found[0], message)

        self.thread = threading.Thread(target=work, name=f"queue of rank {self.rank}")
        self.thread.start()

    def send(self, rank: int, message: object) -> None:
        if rank == self.rank or not (self.cut or self.group[rank].cut):
            self.group[rank].queue.put((self.rank, pickle.dumps(message)))

    def poll(self, is_over: Callable[[], bool]) -> None:
        """The queues have threads of their own."""

    def give_up(self, rank: int, reason: str) -> None:
        self.lost(rank, reason)

    def clock_offsets(self) -> tuple[ClockOffset | None, ...]:
        return (ClockOffset(0.0, 0.0),) * self.size

    def close(self) -> None:
        self.queue.put(None)
        self.thread.join()


class Reached(HostStore):
    """The store of another rank. Closing it here leaves it open there."""

    def __init__(self, store: HostStore) -> None:
        super().__init__(store.array)


class RankOfThread(BaseDevices):
    """The devices of one rank: host memory and a folder of files. `shared` holds the exported stores of all ranks."""

    def __init__(self, rank: int, folder: Path, shared: dict[int, Store]) -> None:
        super().__init__()
        self.rank, self.folder, self.shared = rank, folder / f"rank{rank}", shared
        self.folder.mkdir(exist_ok=True)
        self.keys = itertools.count()
        self.broken: Callable[[], None] = lambda: None

    def memory(self, memory: Memory) -> RealMemory | None:
        if memory.node != self.rank:
            return None
        return DiskMemory(memory.name, self.folder) if memory.kind is MemoryKind.DSK else HostMemory(memory.name)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        if channel.kind is ChannelKind.DISK_READ:
            return DiskRead()
        if channel.kind is ChannelKind.DISK_WRITE:
            return DiskWrite()
        return Breaking(self) if channel.kind is ChannelKind.REMOTE_MEMCPY else Memcpy()

    def export(self, store: Store) -> StoreHandle:
        key = 1000 * next(self.keys) + self.rank
        self.shared[key] = store
        return StoreHandle(self.rank, key, store.nbytes, None, store.alignment, store.base)

    def withdraw(self, handle: StoreHandle) -> None:
        del self.shared[handle.key]

    def reach(self, handle: StoreHandle) -> Store:
        store = self.shared[handle.key]
        return Reached(store) if isinstance(store, HostStore) else Borrowed(store)


class Borrowed:
    """A file of another rank, to read."""

    def __init__(self, store: Store) -> None:
        self.nbytes, self.alignment, self.base, self.reads_in_place = store.nbytes, store.alignment, store.base, False
        self.read = store.read

    def close(self) -> None:
        pass


class Breaking(Memcpy):
    """The network, which a test may break."""

    def __init__(self, devices: RankOfThread) -> None:
        super().__init__()
        self.devices = devices

    def move(self, copies: Any, source: Any, destination: Any, check: Any) -> int:
        self.devices.broken()
        return super().move(copies, source, destination, check)


class Group:
    """Rank engines that share a machine; `together` calls a function with each engine, in a thread for each.

    `slots`: whether they tell each other values through memory, as the ranks of one host do.
    """

    def __init__(self, machine: Machine, folder: Path, size: int, *, slots: bool = True, **options: Any) -> None:
        transports: list[Queues] = []
        for rank in range(size):
            transports.append(Queues(transports, rank))
        room = np.zeros(2 * size * SLOT, np.uint8)
        for each in transports:
            each.size = size
            each.slots = Slots.of(room, each.rank, size) if slots else ()
        self.shared: dict[int, Store] = {}
        self.devices = [RankOfThread(rank, folder, self.shared) for rank in range(size)]
        self.transports = transports
        pairs = zip(self.devices, transports, strict=True)
        self.engines = [RankEngine(machine, devices, transport, **options) for devices, transport in pairs]
        self.pool = ThreadPoolExecutor(size)

    def together(self, call: Callable[[RankEngine], Any]) -> list[Any]:
        """What the call returned or raised on each rank."""

        def caught(engine: RankEngine) -> Any:
            try:
                return call(engine)
            except Exception as error:  # noqa: BLE001  # the test looks at it
                return error

        return list(self.pool.map(caught, self.engines, timeout=250))

    def lose(self, rank: int) -> None:
        """Cut a rank off. All others notice."""
        self.transports[rank].cut = True
        for each in self.transports:
            if each.rank != rank:
                each.lost(rank, "its process has ended")

    def close(self) -> None:
        self.pool.shutdown()
        for engine in self.engines:
            engine.close()
        for transport in self.transports:
            transport.close()


@contextlib.contextmanager
def group(machine: Machine, folder: Path, size: int, **options: Any) -> Iterator[Group]:
    found = Group(machine, folder, size, **options)
    try:
        yield found
    finally:
        found.close()
    assert not found.shared, "stores are still exported"


def random_machine(rng: random.Random, size: int, others: float = 0.15) -> Machine:
    """Ranks with main memory, registered memory and files. The network joins registered memories, and a share of `others`."""
    memories, channels = [], []

    def join(kind: ChannelKind, source: str, destination: str) -> None:
        rate = LatencyBandwidth(rng.choice((1e-9, 1e-7, 1e-6)), rng.choice((1e9, 5e9, 2e10)))
        channels.append(Channel("", kind, source, destination, rate, max_in_flight=rng.choice((1, 1, 2))))

    for rank in range(size):
        sys, reg, dsk = (f"node{rank}.{kind}" for kind in ("sys", "reg", "dsk"))
        room = rng.choice((None, 1 << 16))
        memories += [
            Memory(sys, MemoryKind.SYS, rank),
            Memory(reg, MemoryKind.REG, rank, capacity=room),
            Memory(dsk, MemoryKind.DSK, rank),
        ]
        for source, destination in ((sys, reg), (reg, sys), (sys, sys)):
            join(ChannelKind.MEMCPY, source, destination)
        join(ChannelKind.DISK_READ, dsk, sys)
        join(ChannelKind.DISK_WRITE, sys, dsk)
    for here, there in itertools.permutations(range(size), 2):
        join(ChannelKind.REMOTE_MEMCPY, f"node{here}.reg", f"node{there}.reg")
        for source, destination in (("sys", "sys"), ("sys", "reg"), ("reg", "sys")):
            if rng.random() < others:
                join(ChannelKind.REMOTE_MEMCPY, f"node{here}.{source}", f"node{there}.{destination}")
    return Machine("ranks", tuple(memories), tuple(channels))


def three_ranks(seed: str, others: float = 1.1) -> Machine:
    """A random machine of three ranks whose channels have one rate: all memories of all ranks are joined, or a share `others`."""
    found = random_machine(random.Random(seed), 3, others)
    rate = LatencyBandwidth(1e-7, 5e9)
    return replace(found, channels=tuple(replace(channel, throughput=rate) for channel in found.channels))


def broken() -> None:
    raise RunError("the cable is cut")
