"""This computer as a machine: its host memory and one file system."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.limits import Limits
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import tuning
from isoviz.measure.gpus.gpu_parts import with_gpus_of
from isoviz.measure.kept_measurements import DISK

if TYPE_CHECKING:
    from collections.abc import Callable

MEASURE = ("cached", "fresh", "assumed")

# Defaults without a measurement: round figures for a desktop computer with one thread and a solid-state disk.
ASSUMED_MEMCPY = LatencyBandwidth(latency=0.5e-9, bandwidth=10e9)
ASSUMED_DISK_READ = LatencyBandwidth(latency=80e-6, bandwidth=1.5e9)
ASSUMED_DISK_WRITE = LatencyBandwidth(latency=80e-6, bandwidth=1.2e9)

BLOCK = 4096
"""Alignment of direct I/O, in bytes: no block device in use needs more."""
BY_NUMPY = "NumPy"
"""How `isoviz.backends.host.kernels.state` begins where there are no compiled kernels."""


def local(directory: str | Path | None = None, measure: str = "cached") -> Machine:
    """This computer: `node0.sys`, `node0.dsk` (the file system of `directory`), and the channels Memcpy, DiskRead and DiskWrite.

    `measure` selects the source of the rates:

    - `"cached"`: the latest results of `isoviz.probe` for this file system, from the user's cache directory. Without them, or
      where copies have become faster since because their kernels have been compiled, a brief probe, which is kept.
    - `"fresh"`: a new brief probe, which takes one or two seconds and is kept.
    - `"assumed"`: round figures, without a measurement.

    The disk is bound to `directory` (None: the working directory). If it is not writable, its disk has assumed rates and a label
    that says so. The provenance names the source of the rates.

    Raises:
        MachineError: there is no such directory, or `measure` has another value.
    """
    chosen: object = measure
    if not isinstance(chosen, str) or chosen not in MEASURE:
        raise MachineError(f"preset 'local', measure: expected one of {', '.join(MEASURE)}, got {checks.show(measure)}")
    place = checked_directory(directory)
    if measure == "assumed":
        return described(place)
    kept = kept_machine(place) if measure == "cached" else None
    return measured_machine(place) if kept is None else kept


def kept_machine(place: Path, *, outdated: bool = False) -> Machine | None:
    """This computer with the figures that are kept of it; None where it has yet to be measured.

    Figures of copies by NumPy are outdated once their kernels have been compiled.
    """
    probed = measurements.kept_probe(place)
    return None if probed is None or (not outdated and _is_outdated(probed)) else _here(probed, place)


def measured_machine(place: Path, tell: Callable[[str, float], None] | None = None) -> Machine:
    """This computer, measured briefly (`isoviz.measure.probe.probe_briefly`), with the GPUs of an earlier probe. It is kept.

    `tell` is called often with what is being measured ("memory", "disk") and the share of the whole that is done. It may raise to
    stop.
    """
    from isoviz.measure.probe import probe_briefly

    found, earlier = probe_briefly(place, tell), measurements.kept_probe(place)
    if earlier is not None:
        found = with_gpus_of(found, earlier)
    measurements.keep_probe(found, DISK, place)
    return _here(found, place)


def _here(probed: Machine, place: Path) -> Machine:
    """The results of a probe as the preset `local`, its disk bound to a directory."""
    memories = tuple(replace(each, device=str(place)) if each.name == DISK else each for each in probed.memories)
    return replace(probed, name="local", memories=memories, provenance=f"{probed.provenance}, by a probe")


def _is_outdated(probed: Machine) -> bool:
    """Whether copies were made by NumPy, and kernels would make them now."""
    made = dict(probed.measurement.versions).get("copies", "") if probed.measurement is not None else ""
    if not made.startswith(BY_NUMPY):
        return False
    from isoviz.backends.host import kernels

    return kernels.is_compiled()


def described(place: Path, assumed: str = "assumed") -> Machine:
    """This computer with round figures. `assumed` is their provenance."""
    memory = Memory("node0.sys", MemoryKind.SYS, capacity=host_memory())
    copy = Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", ASSUMED_MEMCPY, provenance=assumed)
    limits = Limits(chunk_seconds=tuning.ENGINE_CHUNK_SECONDS)
    return with_assumed_disk(Machine("local", (memory,), (copy,), limits=limits, provenance=assumed), place, assumed)


def with_assumed_disk(host: Machine, place: Path, assumed: str) -> Machine:
    """The machine of a host with a disk of round figures; `assumed` is their provenance."""
    disk = Memory(DISK, MemoryKind.DSK, capacity=disk_space(place), device=str(place))
    read, write = (
        Channel("", kind, *ends, function, alignment=BLOCK, provenance=assumed)
        for kind, ends, function in (
            (ChannelKind.DISK_READ, (DISK, "node0.sys"), ASSUMED_DISK_READ),
            (ChannelKind.DISK_WRITE, ("node0.sys", DISK), ASSUMED_DISK_WRITE),
        )
    )
    return replace(host, memories=(*host.memories, disk), channels=(*host.channels, read, write))


def checked_directory(directory: object, name: str = "local") -> Path:
    """The directory that the disk is bound to (None: the working directory). `name` is the preset that asks.

    Raises:
        MachineError: there is no such directory.
    """
    if directory is not None and not isinstance(directory, str | os.PathLike):
        raise MachineError(f"preset {name!r}, directory: expected a path, got {checks.show(directory)}")
    try:
        place = Path.cwd() if directory is None else Path.cwd() / directory
        found = place.is_dir()
    except (OSError, ValueError) as error:
        raise MachineError(f"preset {name!r}, directory: {error}") from None
    if not found:
        raise MachineError(f"preset {name!r}, directory: {checks.show(str(place))} is no directory")
    return place


def host_memory() -> int | None:
    """Bytes of memory available to this process: those of the computer, or the limit of its control group (containers)."""
    found = []
    with contextlib.suppress(ValueError, OSError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    usable = [size for size in found if size > 0]
    return min(usable) if usable else None


def disk_space(place: Path) -> int | None:
    """The size of the file system in bytes. A machine describes hardware, so the free space does not matter."""
    try:
        return shutil.disk_usage(place).total or None
    except OSError:
        return None
