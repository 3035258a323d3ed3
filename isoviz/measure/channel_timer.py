"""A bench on which channels are measured: plans that an engine carries out for real, with the chunks, requests and threads it
always has.

What is measured is therefore what predictions are about: what a channel's device can do, less what it costs to work a chunk's
geometry out, to hand requests to threads and to be told that they are done.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory, FileStore
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill
from isoviz.backends.host.host_memory import page_aligned
from isoviz.errors import RunError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine, MemoryKind
from isoviz.planner import Instance, Options, Transfer, cost
from isoviz.planner import plan as make_plan
from isoviz.planner.explanation.chunk_curve import rechunked
from isoviz.runtime import Engine

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Plan
    from isoviz.runtime import Trace
    from isoviz.runtime.protocols import RealMemory

MIB = 1 << 20
_BYTE = FieldSpace(v="uint8")
_FIELDS = 4
_LONGER = (1, 2, 4, 8, 16)
_FEW = 1 << 20
"""Bytes of jobs that are over before all that is done only once is forgotten: they have a run before."""
_PIPED_RUN = 4096  # long enough for the hop that converts to be faster than disks
_THERE, _BACK = "<F, x, y, z>", "<F, x, z, y>"
APART = 20 << 10
"""Bytes between runs that are read one by one."""
_LAYOUTS = {
    "gather": (_THERE, _BACK),
    "scatter": (_BACK, _THERE),
    "transpose": (_THERE, _BACK),
    "piped": (_THERE, _BACK),
    "split": ("<F, x>", "<x, F>"),
    "join": ("<x, F>", "<F, x>"),
}
SHAPES = ("stream", "piped", "copied", "gather", "scatter", "sparse", "split", "join", "transpose")
"""Ways of moving. `stream`: from end to end, in chunks of a run. `gather`: structs of four fields of a run each become four
arrays; `scatter`: the way back; `split` and `join`: the same with fields of a quarter, a half, one and 9/4 of a run, whose mean
is the run; `transpose`: the rows of a matrix, whose elements are a run, become columns. `sparse`: one field of structs, so far
from the next one that a disk does not read what lies between. `piped`: in chunks of a run through a buffer in host memory, from
or into which a copy converts: a pipeline as most plans for disks are. `copied`: the same from a disk to itself."""


class Job(NamedTuple):
    """So many bytes to move on a channel, in runs of a length, in one of the ways of `SHAPES`."""

    channel: str
    shape: str
    run: int
    nbytes: int


class Bench:
    """Real memory and files of this computer on which jobs run: `with Bench(directories) as bench`.

    `directories` are those of the disks, by memory; `room` the bytes of the arrays and files that jobs read, which are walked
    through so that nothing is in a cache from the run before. Leaving it leaves nothing behind.

    Raises:
        FileError: a directory cannot be written to. RunError: no room.
    """

    def __init__(self, directories: Mapping[str, Path], room: int) -> None:
        self.directories = dict(directories)
        self.room = room
        self._stack = ExitStack()
        self._at = 0
        self._source = self._destination = page_aligned(0)
        self._files: dict[str, NewFile] = {}

    def __enter__(self) -> Bench:
        try:
            self._source, self._destination = page_aligned(self.room), page_aligned(self.room)
            fill(self._source, 0)
            self._destination[:] = 1  # its pages are there
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
        """Whether a disk is reached past the page cache."""
        return self._files[memory].is_direct

    def seconds(self, machine: Machine, job: Job) -> float:
        """How long a job takes by itself, as a report counts it: until the disk has everything."""
        return self._plan_seconds(machine, job_plan(machine, job), 2 if job.nbytes <= _FEW else 1)

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """How long a transfer takes as the machine has it planned."""
        return self._plan_seconds(machine, make_plan(transfer, machine))

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them are at work on these jobs."""
        plans = [job_plan(machine, job) for job in jobs]
        for times in _LONGER:  # short jobs may be over before the last one begins
            with Engine(machine, _BenchDevices(self), record=True) as engine:
                for event in [engine.submit(plan, *self._ends(plan)) for plan in _in_turns(plans) for _ in range(times)]:
                    event.wait()
                rates = rates_together(engine.trace())
            if rates is not None:
                return rates
        raise RunError(f"{' and '.join(dict.fromkeys(job.channel for job in jobs))}: could not be had to work at the same time")

    def _plan_seconds(self, machine: Machine, plan: Plan, runs: int = 1) -> float:
        """Of so many runs, the last."""
        with Engine(machine, _BenchDevices(self)) as engine:
            return [engine.run(plan, *self._ends(plan), verify=False).seconds for _ in range(runs)][-1]

    def _ends(self, plan: Plan) -> tuple[Any, Any]:
        """What a plan moves from and to: the next part of the arrays and files."""
        transfer = plan.transfer
        nbytes = max(transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes)
        if nbytes > self.room:
            raise RunError(f"a job of {nbytes} bytes on a bench of {self.room}")
        if self._at + nbytes > self.room:
            self._at = 0
        at = self._at
        self._at += -(-nbytes // MIB) * MIB
        found: list[Any] = []
        for instance, array in ((transfer.source, self._source), (transfer.destination, self._destination)):
            file = self._files.get(instance.memory)
            if file is None:
                found.append(array[at : at + instance.linearization.nbytes])
            elif instance is transfer.source:
                self._forget_cached(file)
                found.append(_Part(file, at, instance.linearization.nbytes))
            else:
                found.append(None)
        return found[0], found[1]

    def _forget_cached(self, file: NewFile) -> None:
        """What a buffered file has in the page cache would be read from there."""
        if not file.is_direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


class _Part(FileStore):
    """A part of a file that outlives the transfer which reads it."""

    def __init__(self, file: NewFile, base: int, nbytes: int) -> None:
        super().__init__(file, base, nbytes, identity=(file.identity, base))

    def close(self) -> None:
        """The bench closes its files."""


class _BenchDevices(ThisComputer):
    """This computer, with the bench's files on its disks."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self._bench = bench

    def memory(self, memory: Memory) -> RealMemory | None:
        if memory.kind is MemoryKind.DSK:
            return _BenchDisk(memory.name, self._bench.directories[memory.name])
        return super().memory(memory)


class _BenchDisk(DiskMemory):
    """A disk on which the bench's file lies."""

    def source(self, instance: Instance, given: Any | None) -> FileStore:
        return given if isinstance(given, _Part) else super().source(instance, given)


def job_plan(machine: Machine, job: Job) -> Plan:
    """The plan that carries a job out on a machine."""
    channel = machine.channel(job.channel)
    ends = channel.source, channel.destination
    if job.shape == "stream":
        transfer = _transfer(IndexSpace(x=job.nbytes), *ends, "<F, x>", "<F, x>")
        return cost(transfer, machine, [channel.name], chunk=job.run)
    if job.shape in ("piped", "copied"):
        rows = max(1, job.nbytes // (_FIELDS * _PIPED_RUN))
        space = IndexSpace(x=_PIPED_RUN, y=_FIELDS, z=rows)
        if job.shape == "copied":
            disk = next(end for end in ends if machine.memory(end).kind is MemoryKind.DSK)
            transfer = _transfer(space, disk, disk, _THERE, _THERE)
        else:
            transfer = _transfer(space, *ends, *_LAYOUTS["piped"])
        plan = make_plan(transfer, machine, None, Options("simple", slot_limit=max(job.run, MIB)))
        return rechunked(plan, min(max(1, round(job.run * plan.chunks.blocks / plan.bytes)), plan.chunks.blocks), machine)
    if job.shape in ("split", "join"):
        fields = FieldSpace.of({f"f{part}": f"V{job.run * part // 4}" for part in (1, 2, 4, 9)})
        space = IndexSpace(x=max(1, job.nbytes // fields.nbytes))
        source, destination = _LAYOUTS[job.shape]
        transfer = Transfer.whole(space, fields, ends[0], source, ends[1], destination)
        return _on_channel(make_plan(transfer, machine, None, Options("direct")), channel)
    if job.shape == "sparse":
        fields = FieldSpace(a=f"V{job.run}", b=f"V{APART}")
        space = IndexSpace(x=max(1, job.nbytes // job.run))
        here = Instance(ends[0], space, fields, Layout("<F, x>"))
        there = Instance(ends[1], space, fields.subset(("a",)), Layout("<F, x>"))
        transfer = Transfer(here, there, field_names=("a",))
        return _on_channel(make_plan(transfer, machine, None, Options("direct")), channel)
    elements = max(1, job.nbytes // job.run)
    rows = _FIELDS if job.shape != "transpose" else max(2, math.isqrt(elements))
    space = IndexSpace(x=job.run, y=rows, z=max(1, elements // rows))
    transfer = _transfer(space, *ends, *_LAYOUTS[job.shape])
    return _on_channel(make_plan(transfer, machine, None, Options("direct")), channel)


def _transfer(space: IndexSpace, source: str, destination: str, here: str, there: str) -> Transfer:
    return Transfer.whole(space, _BYTE, source, here, destination, there)


def _on_channel(plan: Plan, channel: Channel) -> Plan:
    """A plan of one hop, moved to the channel that is meant, where there are several."""
    return plan.changed(hops=(plan.hops[0]._replace(channel=channel.name),))


def _in_turns(plans: Sequence[Plan]) -> list[Plan]:
    """Plans of several channels so that each channel has its first one soon."""
    number: Counter[str] = Counter()
    ranks = []
    for plan in plans:
        name = plan.hops[0].channel
        ranks.append(number[name])
        number[name] += 1
    return [plan for _, plan in sorted(zip(ranks, plans, strict=True), key=lambda each: each[0])]


def rates_together(trace: Trace) -> dict[str, float] | None:
    """Bytes per second of every channel while all of them are at work: from when the last one begins until the first is done.
    None where that is no time at all, or one of them paused for all of it."""
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
    """Bytes of a request that moved between two moments, had it moved evenly."""
    start, stop, nbytes = span
    if stop <= start:
        return nbytes if begin <= start < end else 0.0
    return nbytes * max(0.0, min(stop, end) - max(start, begin)) / (stop - start)
