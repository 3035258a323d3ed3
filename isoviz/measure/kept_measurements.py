"""Kept measurements of this computer: the results of `isoviz.probe`, and of the brief probe at first use.

They are in the user's cache directory, so that the next plan has them at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz._version import __version__
from isoviz.errors import FileError, MachineError
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.machine_file import LARGEST_FILE, machine_from_json, machine_to_json, text_of
from isoviz.regular_files import read_own, write_text
from isoviz.schema import BY_NAME, As, MismatchError, format_json, member, parse, plain, read
from isoviz.this_computer import host_name, nvidia_gpus, processor
from isoviz.user_cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines.channel import Channel

_LOG = logging.getLogger("isoviz")

PROBE_FORMAT = "isoviz kept probe"
RANKS_FORMAT = "isoviz kept probe of ranks, 2"
VERSION = 2
DISK = "node0.dsk"


@dataclass(frozen=True)
class _Kept:
    """What the file of a kept measurement holds; `key` has the conditions that it was taken under.

    `digest` is that of the whole machine, its devices included: no name, rate or folder can be another one unseen.
    """

    format: str
    version: int
    key: dict[str, object]
    machine: Machine = member(by_name=As(kind=dict, write=machine_to_json, read=machine_from_json))
    digest: str = ""


def keep_probe(machine: Machine, disk: str, directory: Path) -> bool:
    """Keep the results of a probe for the host memory and one disk. `kept_probe` finds them for directories of that file system.

    False if the cache directory is not writable.
    """
    return _keep("probe", _Kept(PROBE_FORMAT, VERSION, _probe_key(directory), _with_disk(machine, disk)))


def kept_probe(directory: Path) -> Machine | None:
    """The kept probe of this computer and the device of a directory, with its disk as `node0.dsk`.

    None if it is missing or damaged, or was measured by another version of isoviz, whose rates may differ, or with other GPUs.
    """
    return _machine("probe", PROBE_FORMAT, _probe_key(directory))


def keep_ranks(machine: Machine, hosts: Sequence[int], mpi: str, directory: Path) -> bool:
    """Keep the results of a probe of ranks: `hosts` has the host of every rank, `mpi` the name and version of the MPI library.

    False if the cache directory is not writable.
    """
    return _keep("ranks", _Kept(RANKS_FORMAT, VERSION, _ranks_key(hosts, mpi, directory), machine))


def kept_ranks(hosts: Sequence[int], mpi: str, directory: Path) -> Machine | None:
    """The kept probe of ranks on such hosts with this MPI library, for the device of a directory.

    None if it is missing or damaged, or was measured by another version of isoviz, whose rates may differ. What was measured for
    other numbers of ranks or hosts is never taken.
    """
    return _machine("ranks", RANKS_FORMAT, _ranks_key(hosts, mpi, directory))


def forget_probe(directory: Path) -> None:
    """Delete the kept probe for the device of a directory."""
    with contextlib.suppress(OSError, FileError):
        _file("probe", _probe_key(directory)).unlink(missing_ok=True)


def _keep(what: str, content: _Kept) -> bool:
    content = replace(content, digest=_digest(content.machine))
    try:
        write_text(_file(what, content.key), format_json(plain(content, BY_NAME)) + "\n", private=True)
    except FileError:
        return False
    return True


def _machine(what: str, format_: str, key: dict[str, Any]) -> Machine | None:
    """The machine that is kept under a key, if this version of isoviz measured it. A damaged file is told by a warning."""
    try:
        path = _file(what, key)
        kept: _Kept = read(parse(text_of(read_own(path, LARGEST_FILE + 1))), _Kept, BY_NAME)
        if (kept.format, kept.version) != (format_, VERSION):
            return None
        if kept.key != key or kept.digest != _digest(kept.machine):
            raise MachineError("it is not what was measured")
    except FileError:
        return None
    except (MachineError, MismatchError) as error:
        _LOG.warning("a kept measurement is damaged and not used: %s: %s", path, error)
        return None
    measured = kept.machine.measurement
    return kept.machine if measured is not None and dict(measured.versions).get("isoviz") == __version__ else None


def _digest(machine: Machine) -> str:
    return hashlib.sha256(json.dumps(machine_to_json(machine), sort_keys=True).encode()).hexdigest()


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


def _file(what: str, key: dict[str, Any]) -> Path:
    """The file of what is kept under a key.

    Raises:
        FileError: nothing can be kept.
    """
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


def _ranks_key(hosts: Sequence[int], mpi: str, directory: Path) -> dict[str, Any]:
    """The conditions of a probe of ranks: also their hosts and their MPI library."""
    return _key(directory) | {"hosts": list(hosts), "mpi": mpi}
