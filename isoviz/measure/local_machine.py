"""This computer as a machine: its host memory and one file system."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.limits import Limits
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.throughput import LatencyBandwidth, ThroughputFunction
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import tuning
from isoviz.measure.gpus.gpu_parts import with_gpus_of
from isoviz.measure.kept_measurements import LocalMeasurement

MEASURE = ("cached", "fresh", "assumed")

# Defaults without a measurement: round figures for a desktop computer with one thread and a solid-state disk.
ASSUMED_MEMCPY = LatencyBandwidth(latency=0.5e-9, bandwidth=10e9)
ASSUMED_DISK_READ = LatencyBandwidth(latency=80e-6, bandwidth=1.5e9)
ASSUMED_DISK_WRITE = LatencyBandwidth(latency=80e-6, bandwidth=1.2e9)

BLOCK = 4096
"""Alignment of direct I/O, in bytes."""


def local(directory: str | Path | None = None, measure: str = "cached") -> Machine:
    """This computer: `node0.sys`, `node0.dsk` (the file system of `directory`), and the channels Memcpy, DiskRead and DiskWrite.

    `measure` selects the source of the rates:

    - `"cached"`: the results of `isoviz.probe` for this file system or an earlier quick measurement, whichever is newer, from the
      user's cache directory; else a new quick measurement, which is kept.
    - `"fresh"`: a new quick measurement, which takes about a second and is kept.
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
        return described(place, None)
    kept = kept_machine(place) if measure == "cached" else None
    if kept is not None:
        return kept
    found = measurements.measure(place)
    measurements.keep(found, place)
    return quickly_measured(place, found)


def kept_machine(place: Path) -> Machine | None:
    """This computer with the newest figures that are kept of it; None where it has yet to be measured."""
    probed, quick = measurements.kept_probe(place), measurements.cached(place)
    if probed is not None and (quick is None or probed.measurement is None or quick.date <= probed.measurement.date):
        memories = tuple(replace(each, device=str(place)) if each.name == "node0.dsk" else each for each in probed.memories)
        return replace(probed, name="local", memories=memories, provenance=f"{probed.provenance}, by a probe")
    return None if quick is None else quickly_measured(place, quick)


def quickly_measured(place: Path, found: LocalMeasurement) -> Machine:
    """This computer with the figures of a quick measurement, and the GPUs of an earlier probe, which are not measured quickly."""
    host, probed = described(place, found), measurements.kept_probe(place)
    return host if probed is None else with_gpus_of(host, probed)


def described(place: Path, found: LocalMeasurement | None, assumed: str = "assumed") -> Machine:
    """This computer with measured figures, or with round ones (None). `assumed` is then their provenance."""
    memories = (
        Memory("node0.sys", MemoryKind.SYS, capacity=host_memory()),
        Memory("node0.dsk", MemoryKind.DSK, capacity=disk_space(place), device=str(place)),
    )
    memcpy: ThroughputFunction = ASSUMED_MEMCPY
    read: ThroughputFunction = ASSUMED_DISK_READ
    write: ThroughputFunction = ASSUMED_DISK_WRITE
    origin = disk_origin = assumed
    alignment = BLOCK
    if found is not None:
        memcpy, origin = found.memcpy, f"measured {found.date} on {found.host}"
        if found.disk_read is not None and found.disk_write is not None:
            read, write, disk_origin = found.disk_read, found.disk_write, origin
            if not found.unbuffered:
                alignment = 1
                disk_origin += ", buffered: this file system takes no unbuffered access"
        else:
            disk_origin = "assumed: the directory could not be written to, so the disk was not measured"
    return Machine(
        "local",
        memories,
        (
            Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", memcpy, provenance=origin),
            Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", read, alignment=alignment, provenance=disk_origin),
            Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", write, alignment=alignment, provenance=disk_origin),
        ),
        limits=Limits(chunk_seconds=tuning.ENGINE_CHUNK_SECONDS),
        provenance=origin,
    )


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
