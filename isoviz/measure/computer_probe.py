"""The probe of this computer: host memory, disks and GPUs, measured in one process (DESIGN, section 5).

It first measures the throughput function of every channel by running plans (`isoviz.measure.channel_timer`), with more samples
where the function bends (`isoviz.measure.sampling`). Then it measures pairs of channels at once, to find shared resources
(`isoviz.measure.sharing`). Finally it checks predictions on a few transfers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from isoviz import checks
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.direct_storage import why_not_direct
from isoviz.backends.host import kernels
from isoviz.errors import Cancelled, FileError, InputError, RunError, line, show
from isoviz.machines import Machine
from isoviz.machines.measurement import Measurement
from isoviz.measure import kept_measurements, tuning
from isoviz.measure.assumed_host import with_assumed_disk
from isoviz.measure.channel_timer import ChannelTimer, GpuRooms, working_set
from isoviz.measure.computer_steps import ComputerSteps
from isoviz.measure.gpus.gpu_parts import free_bytes, gpus_here, memories_of, with_remark
from isoviz.measure.gpus.gpu_steps import GpuSteps
from isoviz.measure.kept_measurements import DISK
from isoviz.measure.steps import Tell
from isoviz.measure.ways import Effort
from isoviz.this_computer import GpuFacts, nvidia_driver, this_computer, versions

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
