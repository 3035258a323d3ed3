"""Kept measurements of this computer: the results of `isoviz.probe`, and of the brief probe at first use.

They are in the user's cache directory, so that the next plan has them at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz._version import __version__
from isoviz.errors import FileError, MachineError
from isoviz.json_cursor import Node, format_json, parse
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine_file import machine_from_json, machine_to_json, read_text
from isoviz.regular_files import write_text
from isoviz.this_computer import host_name, nvidia_gpus, processor
from isoviz.user_cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines.channel import Channel
    from isoviz.machines.machine import Machine

PROBE_FORMAT = "isoviz kept probe"
RANKS_FORMAT = "isoviz kept probe of ranks"
VERSION = 1
DISK = "node0.dsk"


def keep_probe(machine: Machine, disk: str, directory: Path) -> bool:
    """Keep the results of a probe for the host memory and one disk. `kept_probe` finds them for directories of that file system.

    False if the cache directory is not writable.
    """
    kept = machine_to_json(_with_disk(machine, disk))
    content = {"format": PROBE_FORMAT, "version": VERSION, "key": _probe_key(directory), "machine": kept}
    try:
        write_text(_place(directory), format_json(content) + "\n")
    except FileError:
        return False
    return True


def kept_probe(directory: Path) -> Machine | None:
    """The kept probe of this computer and the device of a directory, with its disk as `node0.dsk`.

    None if it is missing or damaged, or was measured by another version of isoviz, whose rates may differ, or with other GPUs.
    """
    key = _probe_key(directory)
    try:
        root = Node(parse(read_text(_place(directory))))
        parts = root.members(("format", "version", "key", "machine"))
        if parts["format"].value != PROBE_FORMAT or parts["version"].value != VERSION or parts["key"].value != key:
            return None
        machine = machine_from_json(parts["machine"].value)
    except (FileError, MachineError):
        return None
    measured = machine.measurement
    return machine if measured is not None and dict(measured.versions).get("isoviz") == __version__ else None


def keep_ranks(machine: Machine, hosts: Sequence[int], mpi: str, directory: Path) -> bool:
    """Keep the results of a probe of ranks: `hosts` has the host of every rank, `mpi` the name and version of the MPI library.

    False if the cache directory is not writable.
    """
    key = _key(directory) | {"hosts": list(hosts), "mpi": mpi}
    content = {"format": RANKS_FORMAT, "version": VERSION, "key": key, "machine": machine_to_json(machine)}
    try:
        write_text(_file("ranks", key), format_json(content) + "\n")
    except FileError:
        return False
    return True


def kept_ranks(hosts: Sequence[int], mpi: str, directory: Path) -> Machine | None:
    """The kept probe of ranks on such hosts with this MPI library, for the device of a directory.

    None if it is missing or damaged, or was measured by another version of isoviz, whose rates may differ. What was measured for
    other numbers of ranks or hosts is never taken.
    """
    key = _key(directory) | {"hosts": list(hosts), "mpi": mpi}
    try:
        root = Node(parse(read_text(_file("ranks", key))))
        parts = root.members(("format", "version", "key", "machine"))
        if parts["format"].value != RANKS_FORMAT or parts["version"].value != VERSION or parts["key"].value != key:
            return None
        machine = machine_from_json(parts["machine"].value)
    except (FileError, MachineError):
        return None
    measured = machine.measurement
    return machine if measured is not None and dict(measured.versions).get("isoviz") == __version__ else None


def forget_probe(directory: Path) -> None:
    """Delete the kept probe for the device of a directory."""
    with contextlib.suppress(OSError, FileError):
        _place(directory).unlink(missing_ok=True)


def _with_disk(machine: Machine, disk: str) -> Machine:
    """The machine with only one of its disks, named `node0.dsk`."""
    others = [memory.name for memory in machine.memories if memory.kind is MemoryKind.DSK and memory.name != disk]
    memories = [memory for memory in machine.memories if memory.name not in others]
    channels = [channel for channel in machine.channels if not {channel.source, channel.destination} & set(others)]
    used = {name for channel in channels for name, _ in channel.resources}
    resources = [resource for resource in machine.resources if resource.name in used]
    if disk != DISK:
        memories = [replace(memory, name=DISK) if memory.name == disk else memory for memory in memories]
        channels = [_renamed(channel, disk) for channel in channels]
    measurement = machine.measurement
    if measurement is not None and others:
        # The pairs and checks name all disks.
        measurement = replace(measurement, directories=(), pairs=(), checks=())
    return replace(
        machine, memories=tuple(memories), channels=tuple(channels), resources=tuple(resources), measurement=measurement
    )


def _renamed(channel: Channel, disk: str) -> Channel:
    if disk not in (channel.source, channel.destination):
        return channel
    source, destination = (DISK if end == disk else end for end in (channel.source, channel.destination))
    return replace(channel, name="", source=source, destination=destination)


def _place(directory: Path) -> Path:
    """The file of a probe.

    Raises:
        FileError: nothing can be kept.
    """
    return _file("probe", _probe_key(directory))


def _file(what: str, key: dict[str, Any]) -> Path:
    folder = cache_folder()
    if folder is None:
        raise FileError("nothing is kept from run to run")
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return folder / f"{what}-{digest[:16]}.json"


def _key(directory: Path) -> dict[str, Any]:
    """The conditions of a measurement: computer, processor and device."""
    return {"host": host_name(), "processor": processor(), "cpus": os.cpu_count(), "device": directory.stat().st_dev}


def _probe_key(directory: Path) -> dict[str, Any]:
    """The conditions of a probe: also the GPUs that this process may use, as far as their kernel driver tells without CUDA."""
    gpus = nvidia_gpus()
    found = {"gpus": list(gpus), "visible": os.environ.get("CUDA_VISIBLE_DEVICES")} if gpus else {}
    return _key(directory) | found
