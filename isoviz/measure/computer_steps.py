"""The steps of a probe of host memory and disks: requests in flight, set-up, throughput function, shared resources, and a check
of predictions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import geometric_mean, median
from typing import TYPE_CHECKING

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind
from isoviz.machines.measurement import Pair
from isoviz.measure import sharing, tuning
from isoviz.measure.assumed_host import BLOCK, disk_space, host_memory
from isoviz.measure.jobs import Job
from isoviz.measure.steps import Steps, Tell, Timer
from isoviz.measure.ways import Effort
from isoviz.planner import Transfer
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from isoviz.this_computer import ComputerFacts

SYS = "node0.sys"


class ComputerSteps(Steps):
    """A probe of host memory and of the disks in `directories`. `buffered` disks need no alignment."""

    def __init__(
        self,
        timer: Timer,
        facts: ComputerFacts,
        directories: Mapping[str, Path],
        buffered: Sequence[str],
        room: int,
        effort: Effort,
        date: str,
        tell: Tell,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(timer, room, effort, date, tell, clock)
        self.facts, self.directories, self.buffered = facts, directories, buffered
        disks = len(directories)
        self.steps = (1 + 2 * disks) * self.steps_of_channel + 1 + 3 * disks + len(self._transfers())

    def measure(self) -> Machine:
        """The machine, without the record of its measurement."""
        machine = self._skeleton()
        machine = self._measured(machine, machine.channels)
        found = self._shared(machine)
        channels = sharing.with_resources(machine.channels, found)
        machine = replace(machine, channels=channels, resources=tuple(resource for resource, _ in found))
        self._check(machine, self._transfers())
        return machine

    # ---- the machine before it is measured

    def _skeleton(self) -> Machine:
        origin = f"measured {self.date} on {self.facts.host}"
        nodes, caches = len(self.facts.nodes), self.facts.caches
        said = [f"{nodes} NUMA nodes"] if nodes > 1 else []
        said += [f"caches {', '.join(format_bytes(cache.size) for cache in caches)}"] if caches else []
        memories = [Memory(SYS, MemoryKind.SYS, capacity=host_memory(), label="; ".join(said))]
        guess = LatencyBandwidth(1e-5, 1e9)  # A placeholder until the measurement; it only orders the channels.
        channels = [Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-9, 1e10), provenance=origin)]
        for name, place in self.directories.items():
            memories.append(Memory(name, MemoryKind.DSK, capacity=disk_space(place), device=str(place)))
            note = ", buffered: this file system takes no unbuffered access" if name in self.buffered else ""
            for kind, ends in ((ChannelKind.DISK_READ, (name, SYS)), (ChannelKind.DISK_WRITE, (SYS, name))):
                alignment = 1 if note else BLOCK
                channels.append(Channel("", kind, *ends, guess, alignment=alignment, provenance=origin + note))
        return Machine(
            "local", tuple(memories), tuple(channels), limits=Limits(chunk_seconds=tuning.ENGINE_CHUNK_SECONDS), provenance=origin
        )

    # ---- one channel

    def _candidates(self, channel: Channel) -> Sequence[int]:
        """More copies at once than there are processors do not pay."""
        candidates = super()._candidates(channel)
        return [k for k in candidates if k <= self.facts.cpus] if channel.is_self_loop else candidates

    def _jobs_of(self, machine: Machine, channel: Channel, run: int) -> list[Job]:
        jobs = super()._jobs_of(machine, channel, run)
        for k, job in enumerate(jobs):
            if job.shape == "piped" and self._copy_holds_up(machine, job):
                jobs[k] = self._job(machine, channel, "stream", run)
        return jobs

    def _copy_holds_up(self, machine: Machine, job: Job) -> bool:
        """Whether a disk is so fast that a pipeline with a copy measures the copy."""
        (copy,) = machine.between(SYS, SYS)
        return job.nbytes / self.timer.seconds(machine, job) > tuning.LIKE_COPIES * copy.rate(4096)

    # ---- channels together

    def _shared(self, machine: Machine) -> list[sharing.Found]:
        copy, *others = machine.channels
        peaks = {channel.name: channel.peak for channel in machine.channels}
        self._step("two copies at once")
        copies = self._beside(machine, copy, None)
        beside, conversions = [], []
        for channel in others:
            self._step(f"{channel.kind} {channel.name} beside a copy")
            beside.append(self._beside(machine, copy, channel))
            if not self.is_over and not self.effort.is_brief:
                conversions.append(self._beside(machine, copy, channel, tuning.CONVERSION_BESIDE))
        found = [sharing.memory_resource("node0.memory", copies, beside, peaks, copy.provenance, conversions)]
        self.pairs += [copies, *beside]
        slowest = {pair.second: pair for pair in (*beside, *conversions)}
        for channel in others:
            disk, way = (channel.source, "reading") if channel.destination == SYS else (channel.destination, "writing")
            found.append(sharing.beside_copies(f"{disk}.{way}", slowest[channel.name], copy.provenance))
        for disk in self.directories:
            self._step(f"{disk}: reading while writing")
            pair = self._reading_and_writing(
                machine, *(channel for channel in others if disk in (channel.source, channel.destination))
            )
            self.pairs.append(pair)
            found.append(sharing.device_resource(f"{disk}.device", pair, copy.provenance))
        return [each for each in found if each is not None]

    def _reading_and_writing(self, machine: Machine, read: Channel, write: Channel) -> Pair:
        """A disk that is read and written at the same rate, as on a path from it to itself."""
        gains = []
        for run in (tuning.MIB,) if self.effort.is_brief else (tuning.MIB, 4 * tuning.MIB):
            nbytes = min(16 * run, self.room // 4)
            apart = 1 / read.rate(run) + 1 / write.rate(run)
            job = Job(read.name, "copied", run, nbytes)
            taken = median(self.timer.seconds(machine, job) for _ in range(self._repeats))
            seconds = max(taken - read.setup - write.setup, taken / 2, tuning.CLOCK_TICK)
            # The first chunk is read while nothing is written, and the last one written while nothing is read.
            chunks = nbytes / run
            gains.append(apart * run * (chunks - 1) / max(seconds - run * apart, seconds / 4))
        gain = geometric_mean(gains)
        alone = read.rate(tuning.MIB), write.rate(tuning.MIB)
        together = gain / (1 / alone[0] + 1 / alone[1])
        return Pair(read.name, write.name, alone, (min(together, alone[0]), min(together, alone[1])))

    # ---- whether predictions hold

    def _transfers(self) -> list[tuple[str, Transfer]]:
        """Transfers between all memories, of several sizes and kinds."""
        found = [(f"{what} in memory", self._transfer(what, SYS, SYS)) for what in ("structs", "matrix", "blocks", "turned")]
        for disk in self.directories:
            for what in ("structs", "matrix", "copy"):
                found.append((f"{what}, {disk} to memory", self._transfer(what, disk, SYS)))
                found.append((f"{what}, memory to {disk}", self._transfer(what, SYS, disk)))
            found += [(f"{what}, {disk} to itself", self._transfer(what, disk, disk)) for what in ("structs", "copy")]
        return found

    def _transfer(self, what: str, source: str, destination: str) -> Transfer:
        """A transfer of a kind: structs to arrays, a matrix transposed, arrays to blocks, turned axes, or a copy."""
        nbytes = self.room // {"structs": 8, "matrix": 16, "blocks": 8, "turned": 32, "copy": 16}[what]
        fields, (here, there), others = {
            "structs": (FieldSpace(a="float32", b="float64", c="uint8"), ("<F, x>", "<x, F>"), {}),
            "matrix": (FieldSpace(value="float32"), ("<F, x, y>", "<F, y, x>"), {"y": 1000}),
            "blocks": (FieldSpace(a="float64", b="float64"), ("<x, y, F>", "<x_in=32, F, y, x_out>"), {"y": 100}),
            "turned": (FieldSpace(a="int16", b="int16", c="int16"), ("<F, x, y, z>", "<F, z, x, y>"), {"y": 50, "z": 60}),
            "copy": (FieldSpace(a="float32", b="float32"), ("<F, x>", "<F, x>"), {}),
        }[what]
        space = IndexSpace(x=nbytes // fields.nbytes // math.prod(others.values()), **others)
        return Transfer.whole(space, fields, source, here, destination, there)
