"""Timing of channels: an engine runs real plans, with its usual chunks, requests and threads.

The measured rates therefore include the costs that predictions have to include: the rate of the device, the computation of a
chunk's geometry, and the hand-over of requests to threads and back.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.backends.cuda.gpus import CHANNELS as GPU_CHANNELS
from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory, FileStore
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill
from isoviz.backends.host.host_memory import Memcpy
from isoviz.backends.pages import page_aligned
from isoviz.errors import RunError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import ChannelKind, Machine, MemoryKind
from isoviz.measure import tuning
from isoviz.planner import Instance, Options, Transfer, cost
from isoviz.planner import plan as make_plan
from isoviz.planner.explanation.chunk_curve import rechunked
from isoviz.runtime import Engine
from isoviz.this_computer import caches

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory
    from isoviz.measure.gpus.gpu_rooms import GpuRooms
    from isoviz.planner import Plan
    from isoviz.runtime import Trace
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory

_BYTE = FieldSpace(v="uint8")
_FIELDS = 4
_THERE, _BACK = "<F, x, y, z>", "<F, x, z, y>"
_LAYOUTS = {
    "gather": (_THERE, _BACK),
    "scatter": (_BACK, _THERE),
    "transpose": (_THERE, _BACK),
    "piped": (_THERE, _BACK),
    "split": ("<F, x>", "<x, F>"),
    "join": ("<x, F>", "<F, x>"),
}
SHAPES = ("stream", "piped", "copied", "gather", "scatter", "sparse", "parts", "split", "join", "transpose")
"""The kinds of jobs.

- `stream`: contiguous chunks of one run.
- `gather`: structs of four fields, each a run long, become four arrays. `scatter` is the inverse.
- `split` and `join`: the same with fields of a quarter, a half, one and 9/4 of a run, whose mean is the run.
- `transpose`: rows of a matrix become columns; an element is a run.
- `sparse`: one field of structs, with gaps so large that a disk does not read through them.
- `parts`: one of two equal fields of structs, so that runs with gaps are copied as they are.
- `piped`: chunks of a run go through a buffer in host memory, and a copy converts them there. Most plans for disks are such
  pipelines.
- `copied`: `piped` from a disk to itself.
"""


class Job(NamedTuple):
    """A job: move `nbytes` bytes over a channel in runs of `run` bytes, in one of the `SHAPES`."""

    channel: str
    shape: str
    run: int
    nbytes: int


class NeverTogether(RunError):  # noqa: N818  what happened, not a mistake
    """Channels that were to work at the same time never did, however much they had to do."""


class ChannelTimer:
    """Time jobs on real memory and files of this computer: `with ChannelTimer(directories, room) as timer`.

    `directories` are those of the disks, by memory. `room` is the size in bytes of the arrays and files that jobs read. Jobs use
    successive parts of them, so that no data of an earlier run are in a cache. All files are removed at the end.

    `gpus` holds the same room in the memories of GPUs, if some of their channels are timed (`isoviz.measure.gpus`).

    Raises:
        FileError: a directory cannot be written to.
        RunError: not enough space.
    """

    def __init__(self, directories: Mapping[str, Path], room: int, gpus: GpuRooms | None = None) -> None:
        self.directories = dict(directories)
        self.room = room
        self.gpus = gpus
        self._warm: set[Job] = set()
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

        Short jobs run once before they are timed. So does the first one of each job of a GPU, for which kernels are compiled.
        """
        plan = job_plan(machine, job)
        is_cold = self.gpus is not None and job not in self._warm and any(map(self.gpus.has, plan.memories))
        self._warm.add(job)
        return self._plan_seconds(machine, plan, 2 if is_cold or job.nbytes <= tuning.TIMED_TWICE else 1)

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """The seconds of a transfer with its plan on a machine."""
        plan = make_plan(transfer, machine)
        return self._plan_seconds(machine, plan, 2 if self.gpus is not None and any(map(self.gpus.has, plan.memories)) else 1)

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them work on these jobs.

        Raises:
            NeverTogether: the channels never worked at the same time.
        """
        plans = [job_plan(machine, job) for job in jobs]
        for times in tuning.LONGER_JOBS:  # Short jobs may end before the last one begins.
            with Engine(machine, _TimerDevices(self), record=True) as engine:
                for event in [engine.submit(plan, *self._ends(plan)) for plan in _in_turns(plans) for _ in range(times)]:
                    event.wait()
                rates = rates_together(engine.trace())
            if rates is not None:
                return rates
        raise NeverTogether(f"{' and '.join(dict.fromkeys(job.channel for job in jobs))}: never worked at the same time")

    def _plan_seconds(self, machine: Machine, plan: Plan, runs: int = 1) -> float:
        """The seconds of the last of `runs` runs."""
        with Engine(machine, _TimerDevices(self)) as engine:
            return [engine.run(plan, *self._ends(plan), verify=False).seconds for _ in range(runs)][-1]

    def _ends(self, plan: Plan) -> tuple[Any, Any]:
        """The ends of a plan: the next parts of the arrays and files."""
        transfer = plan.transfer
        nbytes = max(transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes)
        is_on_gpu = self.gpus is not None and any(self.gpus.has(end.memory) for end in transfer.ends)
        room = min(self.room, self.gpus.room) if self.gpus is not None and is_on_gpu else self.room
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


def job_plan(machine: Machine, job: Job) -> Plan:
    """The plan of a job on a machine."""
    channel = machine.channel(job.channel)
    ends = channel.source, channel.destination
    if job.shape == "stream":
        transfer = _transfer(IndexSpace(x=job.nbytes), *ends, "<F, x>", "<F, x>")
        return cost(transfer, machine, [channel.name], chunk=job.run)
    if job.shape in ("piped", "copied"):
        rows = max(1, job.nbytes // (_FIELDS * tuning.PIPED_RUN))
        space = IndexSpace(x=tuning.PIPED_RUN, y=_FIELDS, z=rows)
        if job.shape == "copied":
            disk = next(end for end in ends if machine.memory(end).kind is MemoryKind.DSK)
            transfer = _transfer(space, disk, disk, _THERE, _THERE)
        else:
            transfer = _transfer(space, *ends, *_LAYOUTS["piped"])
        plan = make_plan(transfer, machine, None, Options("simple", slot_limit=max(job.run, tuning.MIB)))
        return rechunked(plan, min(max(1, round(job.run * plan.chunks.blocks / plan.bytes)), plan.chunks.blocks), machine)
    if job.shape in ("split", "join"):
        fields = FieldSpace.of({f"f{part}": f"V{job.run * part // 4}" for part in (1, 2, 4, 9)})
        space = IndexSpace(x=max(1, job.nbytes // fields.nbytes))
        source, destination = _LAYOUTS[job.shape]
        transfer = Transfer.whole(space, fields, ends[0], source, ends[1], destination)
        return _on_channel(transfer, machine, channel)
    if job.shape in ("sparse", "parts"):
        fields = FieldSpace(a=f"V{job.run}", b=f"V{tuning.APART if job.shape == 'sparse' else job.run}")
        space = IndexSpace(x=max(1, job.nbytes // job.run))
        here = Instance(ends[0], space, fields, Layout("<F, x>"))
        there = Instance(ends[1], space, fields.subset(("a",)), Layout("<F, x>"))
        transfer = Transfer(here, there, field_names=("a",))
        return _on_channel(transfer, machine, channel)
    elements = max(1, job.nbytes // job.run)
    rows = _FIELDS if job.shape != "transpose" else max(2, math.isqrt(elements))
    space = IndexSpace(x=job.run, y=rows, z=max(1, elements // rows))
    transfer = _transfer(space, *ends, *_LAYOUTS[job.shape])
    return _on_channel(transfer, machine, channel)


def _transfer(space: IndexSpace, source: str, destination: str, here: str, there: str) -> Transfer:
    return Transfer.whole(space, _BYTE, source, here, destination, there)


def _on_channel(transfer: Transfer, machine: Machine, channel: Channel) -> Plan:
    """The plan of one hop over a channel, which may have others beside it."""
    found = make_plan(transfer, machine, None, Options("direct"))
    return found if found.hops[0].channel == channel.name else cost(transfer, machine, [channel.name])


CONVERTING = (ChannelKind.MEMCPY, *GPU_CHANNELS)
"""Kinds of channels between two memories that convert as well as within one."""


def shapes(channel: Channel, run: int) -> tuple[str, ...]:
    """The shapes of jobs that measure a channel with runs of `run` bytes; plans with such runs look like them.

    Short runs are parts of a chunk that is converted; in a file that is read they have gaps. Longer runs are whole chunks; those
    of a disk are measured in a pipeline and alone. GPUs convert short runs by kernels, between memories as well.
    """
    if channel.is_self_loop:
        if run >= tuning.WHOLE_CHUNKS_COPY:
            return ("stream",)
        return ("split", "join", "transpose") if 4 <= run <= tuning.LONG_FIELD else ("gather", "scatter", "transpose")
    if channel.kind in CONVERTING:
        return ("gather", "scatter", "transpose") if run < tuning.WHOLE_CHUNKS_LINK else ("stream",)
    if channel.kind in (ChannelKind.DIRECT_READ, ChannelKind.DIRECT_WRITE):
        # Pipelines would measure the kernels of the GPU as well.
        if run >= tuning.WHOLE_CHUNKS_DISK:
            return ("stream",)
        return ("sparse",) if channel.kind is ChannelKind.DIRECT_READ else ("gather",)
    if channel.kind is ChannelKind.DISK_READ:
        if run < tuning.WHOLE_CHUNKS_DISK:
            return ("sparse",) if run < tuning.MIB // 16 else ("sparse", "piped")
    elif run < tuning.WHOLE_CHUNKS_DISK:
        return ("gather", "transpose") if run < tuning.MIB // 16 else ("gather", "piped")
    return "piped", "stream"


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
