"""Timing of channels: an engine runs real plans, with its usual chunks, requests and threads.

The measured rates therefore include the costs that predictions have to include: the rate of the device, the computation of a
chunk's geometry, and the hand-over of requests to threads and back.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.backends.cuda.device_memory import DeviceMemory, DeviceStore
from isoviz.backends.cuda.pinned_memory import PinnedMemory, PinnedStore
from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory, FileStore
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill
from isoviz.backends.host.host_memory import Memcpy
from isoviz.backends.pages import page_aligned
from isoviz.errors import InternalError, RunError
from isoviz.machines import Machine, MemoryKind
from isoviz.measure import tuning
from isoviz.measure.jobs import Job, job_plan
from isoviz.planner import plan as make_plan
from isoviz.runtime import BaseEngine
from isoviz.this_computer import caches

if TYPE_CHECKING:
    from isoviz.backends.cuda.gpus import Gpus
    from isoviz.backends.host.host_memory import HostStore
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Instance, Plan, Transfer
    from isoviz.runtime import Trace
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory


class NeverTogether(RunError):  # noqa: N818  what happened, not a mistake
    """Channels that were to work at the same time never did, however much they had to do."""


class ChannelTimer:
    """Time jobs on real memory and files of this computer: `with ChannelTimer(directories, room) as timer`.

    `directories` are those of the disks, by memory. `room` is the size in bytes of the arrays and files that jobs read. Jobs use
    successive parts of them, so that no data of an earlier run are in a cache. All files are removed at the end.

    `gpus` holds room in the memories of GPUs, if some of their channels are timed.

    Raises:
        FileError: a directory cannot be written to.
        RunError: not enough space.
    """

    def __init__(self, directories: Mapping[str, Path], room: int, gpus: GpuRooms | None = None) -> None:
        self.directories = dict(directories)
        self.room = room
        self.gpus = gpus
        self._stack = ExitStack()
        self._at = 0
        self._source = self._destination = page_aligned(0)
        self._files: dict[str, NewFile] = {}

    def __enter__(self) -> ChannelTimer:
        try:
            self._source, self._destination = page_aligned(self.room), page_aligned(self.room)
            fill(self._source, 0)
            self._destination[:] = 1  # This takes the page faults before any measurement.
            for memory, directory in self.directories.items():
                file = self._files[memory] = NewFile(None, self.room, directory)
                self._stack.callback(file.close)
                file.write_at(0, self._source)
                file.flush()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._source = self._destination = page_aligned(0)

    def is_unbuffered(self, memory: str) -> bool:
        """Whether a disk is accessed with direct I/O."""
        return self._files[memory].is_direct

    def seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job alone, as in a report: until the disk has all data.

        Short jobs run once before they are timed. So do those of GPUs: streams and threads are made, and kernels compiled.
        """
        return self._plan_seconds(machine, job_plan(machine, job), job.nbytes <= tuning.TIMED_TWICE)

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """The seconds of a transfer with its plan on a machine."""
        return self._plan_seconds(machine, make_plan(transfer, machine))

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them work on these jobs.

        Raises:
            NeverTogether: the channels never worked at the same time.
        """
        plans = [job_plan(machine, job) for job in jobs]
        for times in tuning.LONGER_JOBS:  # Short jobs may end before the last one begins.
            with BaseEngine(machine, _TimerDevices(self), record=True) as engine:
                for event in [engine.submit(plan, *self._ends(plan)) for plan in _in_turns(plans) for _ in range(times)]:
                    event.wait()
                rates = rates_together(engine.trace())
            if rates is not None:
                return rates
        raise NeverTogether(f"{' and '.join(dict.fromkeys(job.channel for job in jobs))}: never worked at the same time")

    def _plan_seconds(self, machine: Machine, plan: Plan, is_short: bool = False) -> float:
        """The seconds of a plan, after a run that does not count where it is short or has a memory of a GPU.

        A scheduler decides about each request, as beside other transfers and beside channels that no lane has.
        """
        runs = 2 if is_short or (self.gpus is not None and any(map(self.gpus.has, plan.memories))) else 1
        with BaseEngine(machine, _TimerDevices(self), lanes=False) as engine:
            return [engine.run(plan, *self._ends(plan), verify=False).seconds for _ in range(runs)][-1]

    def _ends(self, plan: Plan) -> tuple[Any, Any]:
        """The ends of a plan: the next parts of the arrays and files."""
        transfer = plan.transfer
        nbytes = max(transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes)
        rooms = {} if self.gpus is None else self.gpus.rooms
        room = min(rooms.get(end.memory, self.room) for end in transfer.ends)
        if nbytes > room:
            raise RunError(f"a job of {nbytes} bytes; expected at most {room}")
        if self._at + nbytes > room:
            self._at = 0
        at = self._at
        self._at += -(-nbytes // tuning.MIB) * tuning.MIB
        found: list[Any] = []
        for end, (instance, array) in enumerate(((transfer.source, self._source), (transfer.destination, self._destination))):
            file = self._files.get(instance.memory)
            if self.gpus is not None and self.gpus.has(instance.memory):
                found.append(self.gpus.part(instance.memory, end, at, instance.linearization.nbytes))
            elif file is None:
                found.append(array[at : at + instance.linearization.nbytes])
            elif instance is transfer.source:
                self._forget_cached(file)
                found.append(_Part(file, at, instance.linearization.nbytes))
            else:
                found.append(None)
        return found[0], found[1]

    def _forget_cached(self, file: NewFile) -> None:
        """Drop a buffered file from the page cache, so that it is read from the disk."""
        if not file.is_direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


class _Part(FileStore):
    """A part of a file that stays open after its transfer."""

    def __init__(self, file: NewFile, base: int, nbytes: int) -> None:
        super().__init__(file, base, nbytes, identity=(file.identity, base))

    def close(self) -> None:
        """Do nothing: the timer closes its files."""


class _TimerDevices(ThisComputer):
    """The devices of this computer, with the files of a timer on its disks and its blocks on GPUs."""

    def __init__(self, timer: ChannelTimer) -> None:
        super().__init__(gpus=None if timer.gpus is None else timer.gpus.gpus)
        self._timer = timer

    def memory(self, memory: Memory) -> RealMemory | None:
        if memory.kind is MemoryKind.DSK:
            return _TimerDisk(memory.name, self._timer.directories[memory.name])
        if self._timer.gpus is not None and self._timer.gpus.has(memory.name):
            return self._timer.gpus.memory(memory)
        return super().memory(memory)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        found = super().channel(channel, source, destination)
        return _AsItIs() if isinstance(found, Memcpy) else found


class _AsItIs(Memcpy):
    """Copies with the kernels that are ready. None are compiled meanwhile: that would take a processor from the measurement."""

    def prepare(self, nbytes: int) -> None:
        """Do nothing: the kernels were prepared before the measurement, where there are any."""


class _TimerDisk(DiskMemory):
    """A disk that accepts parts of a timer's file as sources."""

    def source(self, instance: Instance, given: Any | None) -> FileStore:
        return given if isinstance(given, _Part) else super().source(instance, given)


def working_set() -> int:
    """Bytes to use in turn so that caches do not help: twice the largest cache, at least 64 MiB and at most 1 GiB."""
    largest = max((cache.size for cache in caches()), default=0)
    return min(max(tuning.LEAST_WORKING_SET, 2 * largest), tuning.MOST_WORKING_SET)


def _in_turns(plans: Sequence[Plan]) -> list[Plan]:
    """Order plans in turn over their channels, so that every channel begins early."""
    number: Counter[str] = Counter()
    ranks = []
    for plan in plans:
        name = plan.hops[0].channel
        ranks.append(number[name])
        number[name] += 1
    return [plan for _, plan in sorted(zip(ranks, plans, strict=True), key=lambda each: each[0])]


def rates_together(trace: Trace) -> dict[str, float] | None:
    """Bytes per second of every channel while all of them work: from the start of the last one to the end of the first one.

    None if there is no such period, or a channel moved nothing in it.
    """
    spans: dict[str, list[tuple[float, float, float]]] = {}
    for span in trace.requests:
        transfer = trace.of[span.transfer]
        nbytes = transfer.request_bytes(span.hop, span.chunk)
        spans.setdefault(transfer.work.channels[span.hop], []).append((span.start, span.end, nbytes))
    begin = max(min(start for start, _, _ in found) for found in spans.values())
    end = min(max(end for _, end, _ in found) for found in spans.values())
    if end <= begin:
        return None
    rates = {name: sum(_within(span, begin, end) for span in found) / (end - begin) for name, found in spans.items()}
    return rates if all(rates.values()) else None


def _within(span: tuple[float, float, float], begin: float, end: float) -> float:
    """The bytes of a request that moved between two moments, at a constant rate."""
    start, stop, nbytes = span
    if stop <= start:
        return nbytes if begin <= start < end else 0.0
    return nbytes * max(0.0, min(stop, end) - max(start, begin)) / (stop - start)


# ---- GPUs


class GpuRooms:
    """Two blocks in each of some memories: `with GpuRooms(gpus, memories, room, pinned) as blocks`.

    Blocks on GPUs have `room` bytes, those in pinned memory `pinned`; `rooms` has them by memory. One block holds what jobs read,
    the other one receives what they write. The kernels that jobs compile stay loaded.

    Raises:
        DeviceMemoryError: no room.
        DeviceError, TransferError: a GPU fails, or is absent.
    """

    def __init__(self, gpus: Gpus, memories: Iterable[Memory], room: int, pinned: int) -> None:
        self.gpus = gpus
        self._wanted = tuple(memories)
        self.rooms = {memory.name: room if memory.kind is MemoryKind.FBM else pinned for memory in self._wanted}
        self._stores: dict[str, tuple[Any, Any]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> GpuRooms:
        try:
            for memory in self._wanted:
                real = self.memory(memory)
                if real is None:
                    raise InternalError(f"probe: {memory.name} is no memory of a GPU here")
                real.gpu.join()
                self._stack.callback(real.gpu.leave)
                stores = []
                for _ in range(2):
                    store = real.slot(self.rooms[memory.name])
                    self._stack.callback(store.close)
                    store.clear()
                    stores.append(store)
                self._stores[memory.name] = stores[0], stores[1]
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stores.clear()
        self._stack.close()

    def memory(self, memory: Memory) -> _DeviceParts | _PinnedParts | None:
        """The real memory, which takes parts of the blocks as ends of transfers; None for a memory of another kind."""
        if memory.kind is MemoryKind.FBM:
            found = self.gpus.device_memory(memory)
            return _DeviceParts(found.name, found.gpu) if isinstance(found, DeviceMemory) else None
        pinned = self.gpus.pinned_memory(memory) if memory.kind is MemoryKind.ZCM else None
        return _PinnedParts(pinned.name, pinned.gpu) if isinstance(pinned, PinnedMemory) else None

    @property
    def without_kernels(self) -> str:
        """Why a GPU converted layouts without kernels; empty if none did."""
        gpus = (self.gpus.device_memory(memory) for memory in self._wanted if memory.kind is MemoryKind.FBM)
        return next(
            (each.gpu.without_kernels for each in gpus if isinstance(each, DeviceMemory) and each.gpu.without_kernels), ""
        )

    def has(self, memory: str) -> bool:
        """Whether a memory has blocks."""
        return memory in self._stores

    def part(self, memory: str, end: int, at: int, nbytes: int) -> DeviceStore | PinnedStore:
        """`nbytes` bytes from offset `at` on, of what is read (`end` is 0) or written (1)."""
        store = self._stores[memory][end]
        if isinstance(store, DeviceStore):
            return DeviceStore(store.gpu, store.pointer + at, nbytes)
        return PinnedStore(store.array[at : at + nbytes])


class _DeviceParts(DeviceMemory):
    def source(self, instance: Instance, given: Any | None) -> DeviceStore:
        return given if isinstance(given, DeviceStore) else super().source(instance, given)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> DeviceStore:
        return given if isinstance(given, DeviceStore) else super().destination(instance, given, partial)


class _PinnedParts(PinnedMemory):
    def source(self, instance: Instance, given: Any | None) -> HostStore:
        return given if isinstance(given, PinnedStore) else super().source(instance, given)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> HostStore:
        return given if isinstance(given, PinnedStore) else super().destination(instance, given, partial)
