"""What is assumed of a computer before it is measured, and what its system tells: sizes of memory and of file systems."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.limits import Limits
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.measure import tuning
from isoviz.measure.kept_measurements import DISK

# Defaults without a measurement: round figures for a desktop computer with one thread and a solid-state disk.
ASSUMED_MEMCPY = LatencyBandwidth(latency=0.5e-9, bandwidth=10e9)
ASSUMED_DISK_READ = LatencyBandwidth(latency=80e-6, bandwidth=1.5e9)
ASSUMED_DISK_WRITE = LatencyBandwidth(latency=80e-6, bandwidth=1.2e9)

BLOCK = 4096
"""Alignment of direct I/O, in bytes: no block device in use needs more."""


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
