"""The probe of this computer: host memory, disks and GPUs, measured in one process.

It first measures the throughput function of every channel by running plans (`isoviz.measure.channel_timer`), with more samples
where the function bends (`isoviz.measure.sampling`). Then it measures pairs of channels at once, to find shared resources
(`isoviz.measure.sharing`). Finally it checks predictions on a few transfers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.direct_storage import why_not_direct
from isoviz.backends.host import kernels
from isoviz.errors import Cancelled, FileError, InputError, RunError, line, show
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind
from isoviz.machines.measurement import Measurement, Pair
from isoviz.measure import kept_measurements, sharing, tuning
from isoviz.measure.assumed_host import BLOCK, disk_space, host_memory, with_assumed_disk
from isoviz.measure.channel_timer import ChannelTimer, GpuRooms, working_set
from isoviz.measure.gpus.gpu_parts import free_bytes, gpus_here, memories_of, with_remark
from isoviz.measure.gpus.gpu_steps import GpuSteps
from isoviz.measure.jobs import Job
from isoviz.measure.kept_measurements import DISK
from isoviz.measure.steps import Steps, Tell, Timer
from isoviz.measure.ways import Effort
from isoviz.planner import Transfer
from isoviz.this_computer import GpuFacts, nvidia_driver, this_computer, versions
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.this_computer import ComputerFacts


# The steps of a probe of host memory and disks: requests in flight, set-up, throughput function, shared resources, and
# a check of predictions.

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


BRIEF = Effort(repeats=3, samples=9, seconds=0.003, limit=0.8, is_brief=True)
QUICK = Effort(repeats=7, samples=11, seconds=0.02, limit=45.0)
THOROUGH = Effort(repeats=11, samples=19, seconds=0.06, limit=300.0)


def probe_computer(disks: object, gpus: bool | Iterable[int] | None, *, thorough: bool, tell: Tell, keep: bool) -> Machine:
    """Measure this computer: see `isoviz.probe`."""
    directories = {f"node0.dsk{k or ''}": place for k, place in enumerate(places_of(disks))}
    tell(0, 1, "looking for GPUs")
    devices = Gpus()
    found = gpus_here(gpus, devices)
    tell(0, 1, "making the copy kernels ready")
    kernels.prepare(wait=True)  # Otherwise only the later copies would use them.
    order = ProbeOrder(directories, found, THOROUGH if thorough else QUICK, datetime.now(UTC).isoformat(timespec="seconds"))
    machine = measured(order, devices, tell)
    if keep:
        for memory, place in directories.items():
            kept_measurements.keep_probe(machine, memory, place)
    return machine


def places_of(disks: object, most: int | None = None) -> Sequence[Path]:
    """The directories that a probe is asked for, at most `most` if given.

    Raises:
        InputError, FileError: they cannot be measured.
    """
    if disks is None:
        return [Path.cwd()]
    given = checks.parts([disks] if isinstance(disks, str | Path) else disks)
    if given is None:
        raise InputError(f"probe, disks: expected directories, got {show(disks)}")
    found: list[Path] = []
    for each in given:
        if not isinstance(each, str | Path):
            raise InputError(f"probe, disks: expected a directory, got {show(each)}")
        try:
            place = Path(each).resolve()
            if not place.is_dir():
                raise FileError(f"{each}: {'is no directory' if place.exists() else 'no such directory'}")
            if any(place.stat().st_dev == other.stat().st_dev for other in found):
                raise InputError(f"probe, disks: {each} is on the same file system as one before; name each once")
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise FileError(f"{str(each)!r}: {error}") from None
        found.append(place)
    if most is not None and len(found) != most:
        raise InputError(f"probe, disks: expected {most} directory for the files of all ranks, got {len(found)}")
    return found


def probe_briefly(place: Path, tell: Callable[[str, float], None] | None = None) -> Machine:
    """A brief probe of the host memory and of the file system of a directory, for one or two seconds.

    It is the probe with fewer samples and repeats of shorter jobs. Copies are made with the kernels if these were compiled
    before, else with NumPy; nothing is compiled meanwhile. The disk has assumed rates if the directory cannot be written to.
    `tell` is called often with what is being measured ("memory", "disk") and the share of the whole that is done. It may raise to
    stop.
    """
    told = tell or (lambda _what, _share: None)

    def inner(done: int, steps: int, what: str) -> None:
        told("disk" if "dsk" in what else "memory", min(done / steps, 1.0))

    inner(0, 1, "")
    if kernels.is_compiled():
        kernels.prepare()
    date = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        found = measured(ProbeOrder({DISK: place}, (), BRIEF, date), Gpus(), inner)
    except Cancelled:
        raise
    except (FileError, RunError):
        host = measured(ProbeOrder({}, (), BRIEF, date), Gpus(), inner)
        why = "assumed: the directory could not be written to, so the disk was not measured"
        found = with_assumed_disk(host, place, why)
    return replace(found, provenance=f"{found.provenance}, briefly")


@dataclass(frozen=True)
class ProbeOrder:
    """What to measure: the directories of disks by memory, GPUs, how thoroughly, and the date of the measurement."""

    directories: Mapping[str, Path]
    gpus: tuple[GpuFacts, ...]
    effort: Effort
    date: str


def measured(order: ProbeOrder, devices: Gpus, tell: Tell) -> Machine:
    """The machine with the record of its measurement."""
    facts, began = this_computer(), time.perf_counter()
    room = max(tuning.PROBE_ROOM, working_set())
    if order.effort.is_brief:
        room = min(max(tuning.BRIEF_ROOM, working_set() // 2), room)
    with ExitStack() as stack:
        rooms = stack.enter_context(_rooms(order.gpus, devices, room)) if order.gpus else None
        timer = stack.enter_context(ChannelTimer(order.directories, room, rooms))
        buffered = [memory for memory in order.directories if not timer.is_unbuffered(memory)]
        later = 0

        def first(done: int, steps: int, what: str) -> None:
            tell(done, steps + later, what)

        def then(done: int, steps: int, what: str) -> None:
            tell(host.steps + done, host.steps + steps, what)

        host = ComputerSteps(timer, facts, order.directories, buffered, room, order.effort, order.date, first)
        pairs, checks = host.pairs, host.checks
        remarks: tuple[str, ...] = ()
        if rooms is None:
            machine = host.measure()
        else:
            disks, direct = tuple(order.directories), not why_not_direct()
            with_gpus = GpuSteps(timer, order.gpus, disks, room, rooms.rooms, order.effort, order.date, then, direct=direct)
            later = with_gpus.steps
            machine = host.measure()
            machine = with_gpus.measure(machine, host.pairs[0])
            pairs, checks, remarks = pairs + with_gpus.pairs, checks + with_gpus.checks, tuple(with_gpus.remarks)
            machine = with_remark(machine, rooms.without_kernels)
        made = (*versions(), ("copies", line(kernels.state(), 200)), *_gpu_versions(order.gpus, devices))
    places = tuple((memory, _printable(place)) for memory, place in order.directories.items())
    seconds = round(time.perf_counter() - began, 1)
    measured = Measurement(facts, order.date, seconds, made, places, tuple(pairs), tuple(checks), remarks, gpus=order.gpus)
    return replace(machine, measurement=measured)


def _rooms(gpus: Sequence[GpuFacts], devices: Gpus, room: int) -> GpuRooms:
    """Blocks in pinned memory and on every GPU, as large as the GPUs can spare."""
    spared = min(free_bytes(devices, gpu.number) for gpu in gpus) // tuning.SPARED // tuning.MIB * tuning.MIB
    most = max(spared, tuning.LEAST_GPU_ROOM)
    return GpuRooms(devices, memories_of(gpus), min(most, tuning.GPU_ROOM), min(most, max(room, tuning.PINNED_ROOM)))


def _gpu_versions(gpus: Sequence[GpuFacts], devices: Gpus) -> Sequence[tuple[str, str]]:
    driver = devices.driver() if gpus else None
    if driver is None:
        return ()
    kernel_driver = nvidia_driver()
    return (*driver.versions(), *((("NVIDIA driver", kernel_driver),) if kernel_driver else ()))


def _printable(place: Path) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(place)).strip()[-200:]
