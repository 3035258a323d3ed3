"""The probe: it measures this computer and returns a machine (DESIGN, section 5).

It first measures the throughput function of every channel by running plans (`isoviz.measure.channel_timer`), with more samples
where the function bends (`isoviz.measure.sampling`). Then it measures pairs of channels at once, to find shared resources
(`isoviz.measure.shared_resources`). Finally it checks predictions on a few transfers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.direct_storage import why_not_direct
from isoviz.backends.host import kernels
from isoviz.errors import Cancelled, FileError, InputError, RunError, show
from isoviz.machines import Machine
from isoviz.machines.measurement import Measurement
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import tuning
from isoviz.measure.channel_steps import Effort
from isoviz.measure.channel_timer import ChannelTimer, working_set
from isoviz.measure.gpus.gpu_parts import memories_of, with_remark
from isoviz.measure.gpus.gpu_rooms import GpuRooms
from isoviz.measure.gpus.gpu_steps import GpuSteps
from isoviz.measure.gpus.gpus_here import free_bytes, gpus_here
from isoviz.measure.local_machine import with_assumed_disk
from isoviz.measure.probe_steps import Steps
from isoviz.measure.ranks.rank_probe import RunningRanks, probe_ranks
from isoviz.this_computer import GpuFacts, nvidia_driver, this_computer, versions

__all__ = ["ProbeProgress", "probe"]

QUICK = Effort(repeats=7, samples=11, seconds=0.02, limit=45.0)
THOROUGH = Effort(repeats=11, samples=19, seconds=0.06, limit=300.0)
BRIEF = Effort(repeats=3, samples=9, seconds=0.003, limit=0.8, is_brief=True)


Tell = Callable[[int, int, str], None]
"""Called with (steps done, all steps, text about the current measurement)."""


@dataclass(frozen=True)
class ProbeProgress:
    """The progress of a probe: `done` of `steps` steps, and a text about the current measurement."""

    done: int
    steps: int
    what: str


def probe(
    disks: str | Path | Iterable[str | Path] | None = None,
    *,
    ranks: int | RunningRanks | None = None,
    gpus: bool | Iterable[int] | None = None,
    thorough: bool = False,
    progress: Callable[[ProbeProgress], None] | None = None,
    keep: bool = True,
) -> Machine:
    """Measure this computer: its host memory, its GPUs and the file systems of some directories, as a machine to plan with.

    With `ranks` it measures MPI ranks instead: a number of ranks that it starts, or what `isoviz.ranks` has returned. The result
    is a machine as the preset `ranks` describes it, and that preset uses it for as many ranks on such hosts. The channels between
    ranks are measured once for all pairs that are alike: on one host, and on two. `disks` is then one directory at most, and
    `progress` is called in a thread.

    `disks` are directories, one per file system (None: the working directory). They become `node0.dsk`, `node0.dsk1` and so on. A
    nameless file of at least 128 MiB is written to each, so that no file is left behind in any case. A probe takes less than a
    minute, and about another one with GPUs. `thorough` takes several minutes, with more repetitions and samples. `progress` is
    called at every step. With `keep` the preset `local` uses the result for directories on these file systems.

    `gpus` selects NVIDIA GPUs: None those that CuPy finds, False none, True all (an error if there is none), or numbers. They
    become `node0.fbm0`, `node0.fbm1` and so on, with pinned memory `node0.zcm`. Where kvikio finds GPUDirect Storage, channels
    straight between files and GPUs are measured as well.

    The rates of the machine's channels are those that the engine reaches, with their spread. Its `measurement` has computer,
    GPUs, date and versions. An interrupted probe keeps nothing.

    If repeated measurements differ much (`measurement.checks` far from 1, wide ranges), the computer was busy: measure again.

    Raises:
        FileError: a directory is missing, not writable or has too little space.
        RunError: a disk failed, or there is not enough memory.
        InputError: `disks` is neither a directory nor a collection of directories, or `ranks` is neither a number nor ranks, or
            `gpus` selects nothing that can be, or goes with `ranks`.
        DeviceError: a GPU that `gpus` names is absent, or a GPU failed.
        MissingPartError, LaunchError, RankError: the ranks could not be started, or failed.
    """
    if ranks is not None:
        if gpus is not None and gpus is not False:
            raise InputError("probe, gpus: ranks are measured without GPUs")
        (place,) = _places(disks, 1)
        return probe_ranks(ranks, place, thorough=thorough, tell=_teller(progress), keep=keep)
    directories = {f"node0.dsk{k or ''}": place for k, place in enumerate(_places(disks))}
    tell = _teller(progress)
    tell(0, 1, "looking for GPUs")
    devices = Gpus()
    found = gpus_here(gpus, devices)
    tell(0, 1, "making the copy kernels ready")
    kernels.prepare(wait=True)  # Otherwise only the later copies would use them.
    order = _Order(directories, found, THOROUGH if thorough else QUICK, datetime.now(UTC).isoformat(timespec="seconds"))
    machine = _measured(order, devices, tell)
    if keep:
        for memory, place in directories.items():
            measurements.keep_probe(machine, memory, place)
    return machine


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
        found = _measured(_Order({measurements.DISK: place}, (), BRIEF, date), Gpus(), inner)
    except Cancelled:
        raise
    except (FileError, RunError):
        host = _measured(_Order({}, (), BRIEF, date), Gpus(), inner)
        why = "assumed: the directory could not be written to, so the disk was not measured"
        found = with_assumed_disk(host, place, why)
    return replace(found, provenance=f"{found.provenance}, briefly")


@dataclass(frozen=True)
class _Order:
    """What to measure: disks by memory, GPUs, how thoroughly, and the date of the measurement."""

    directories: Mapping[str, Path]
    gpus: tuple[GpuFacts, ...]
    effort: Effort
    date: str


def _measured(order: _Order, devices: Gpus, tell: Tell) -> Machine:
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

        host = Steps(timer, facts, order.directories, buffered, room, order.effort, order.date, first)
        pairs, checks = host.pairs, host.checks
        remarks: tuple[str, ...] = ()
        if rooms is None:
            machine = host.measure()
        else:
            disks, direct = tuple(order.directories), not why_not_direct()
            with_gpus = GpuSteps(timer, order.gpus, disks, rooms.room, order.effort, order.date, then, direct=direct)
            later = with_gpus.steps
            machine = host.measure()
            machine = with_gpus.measure(machine, host.pairs[0])
            pairs, checks, remarks = pairs + with_gpus.pairs, checks + with_gpus.checks, tuple(with_gpus.remarks)
            machine = with_remark(machine, rooms.without_kernels)
        made = (*versions(), ("copies", _line(kernels.state())), *_gpu_versions(order.gpus, devices))
    places = tuple((memory, _printable(place)) for memory, place in order.directories.items())
    seconds = round(time.perf_counter() - began, 1)
    measured = Measurement(facts, order.date, seconds, made, places, tuple(pairs), tuple(checks), order.gpus, remarks)
    return replace(machine, measurement=measured)


def _rooms(gpus: Sequence[GpuFacts], devices: Gpus, room: int) -> GpuRooms:
    """Blocks in pinned memory and on every GPU, as large as the GPUs can spare."""
    free = [free_bytes(devices, gpu.number) for gpu in gpus]
    most = min(room, min(free) // tuning.SPARED // tuning.MIB * tuning.MIB)
    return GpuRooms(devices, memories_of(gpus), max(most, tuning.LEAST_GPU_ROOM))


def _gpu_versions(gpus: Sequence[GpuFacts], devices: Gpus) -> Sequence[tuple[str, str]]:
    driver = devices.driver() if gpus else None
    if driver is None:
        return ()
    kernel_driver = nvidia_driver()
    return (*driver.versions(), *((("NVIDIA driver", kernel_driver),) if kernel_driver else ()))


def _places(disks: object, most: int | None = None) -> Sequence[Path]:
    if disks is None:
        return [Path.cwd()]
    given = [disks] if isinstance(disks, str | Path) else disks
    if not isinstance(given, Iterable):
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


def _printable(place: Path) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(place)).strip()[-200:]


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).strip()[:200].strip()


def _teller(progress: Callable[[ProbeProgress], None] | None) -> Tell:
    def tell(done: int, steps: int, what: str) -> None:
        if progress is not None:
            progress(ProbeProgress(done, steps, what))

    return tell
