"""Reading and writing of machine files, in JSON. A file may be corrupt or hostile: each error is one clear line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from isoviz.checks import FieldError
from isoviz.errors import InputError, MachineError, show
from isoviz.machines import throughput
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.costs import CONVERSION, SET_UP, OneTimeCost
from isoviz.machines.limits import Limits
from isoviz.machines.machine import FORMAT, VERSION, Machine
from isoviz.machines.measurement import Measurement, warn_elsewhere
from isoviz.machines.memory import Memory
from isoviz.machines.networks.network import Network
from isoviz.machines.positions import Positions
from isoviz.machines.presets import preset
from isoviz.machines.presets.registry import find_preset
from isoviz.machines.throughput import ThroughputFunction
from isoviz.regular_files import base_of, read_some, write_text
from isoviz.schema import BY_NAME, As, errors_as, format_json, member, parse, plain, read
from isoviz.schema.formats import misplaced
from isoviz.units import format_bytes

MachineLike: TypeAlias = Machine | str | os.PathLike[str]
"""What a call takes as a machine (`machine_argument`): a `Machine`, the name of a preset, or the path of a machine file."""

LARGEST_FILE = 64 * 1024 * 1024
"""The largest machine file accepted, in bytes. It allows a thousand nodes and rejects data files given by mistake."""

_FIELDS = {SET_UP: "setup", CONVERSION: "conversion_setup"}
_CONVERTING = {SET_UP: "", CONVERSION: " and converts there (only_converting: true)"}
_FUNCTION = As(kind=Mapping, write=lambda function: function.to_json(), read=throughput.read_function)


@dataclass(frozen=True, kw_only=True)
class _FileChannel:
    """A channel as files have it: its set-up and conversion are among its costs."""

    name: str = ""
    kind: str
    source: str
    destination: str
    throughput: ThroughputFunction = member(by_name=_FUNCTION)
    layout_throughput: ThroughputFunction | None = member(None, brief=True, by_name=_FUNCTION)
    costs: tuple[OneTimeCost, ...] = member((), brief=True)
    descriptors: int | None = member(None, brief=True)
    request_seconds: float = member(0.0, brief=True)
    alignment: int = member(1, brief=True)
    resources: tuple[tuple[str, float], ...] = member((), brief=True)
    max_in_flight: int | None = member(None, brief=True)
    provenance: str = "assumed"

    @classmethod
    def of(cls, channel: Channel) -> _FileChannel:
        values = {name: getattr(channel, name) for name in cls.__dataclass_fields__}
        most = None if channel.max_in_flight == channel.kind.in_flight else channel.max_in_flight
        return cls(**{**values, "costs": channel.one_time, "max_in_flight": most})

    def build(self) -> Channel:
        values = dict(vars(self))
        if self.costs:
            values |= _split_costs(self.costs)
        return Channel(**values)


def _split_costs(costs: tuple[OneTimeCost, ...]) -> dict[str, Any]:
    """The costs of a channel as its fields: set-up and conversion have one each."""
    found: dict[str, Any] = {"costs": [cost for cost in costs if cost.name not in _FIELDS]}
    for k, cost in enumerate(costs):
        field = _FIELDS.get(cost.name)
        if field in found:
            raise FieldError("channel", f"costs[{k}]", f"the cost {cost.name!r} stands twice")
        if field is not None:
            if cost != OneTimeCost(cost.name, cost.seconds, only_converting=cost.name == CONVERSION):
                problem = f"the cost {cost.name!r} is paid by every transfer that uses the channel{_CONVERTING[cost.name]}"
                raise FieldError("channel", f"costs[{k}]", problem)
            found[field] = cost.seconds
    return found


_CHANNELS = As(kind=tuple[_FileChannel, ...], write=lambda channels: [_FileChannel.of(each) for each in channels])


def _version(given: object) -> object:
    if isinstance(given, bool) or given != VERSION:
        raise MachineError(f"expected {VERSION}; this isoviz reads no other version of the format")
    return given


@dataclass(frozen=True, kw_only=True)
class _MachineFile:
    """What stands in a machine file."""

    format: Literal["isoviz machine"] = member()
    version: int = member(by_name=As(kind=object, read=_version))
    name: str
    provenance: str = ""
    limits: Limits = member(Limits())
    memories: tuple[Memory, ...]
    resources: tuple[Resource, ...] = ()
    channels: tuple[Channel, ...] = member((), by_name=_CHANNELS)
    networks: tuple[Network, ...] = member((), brief=True)
    measurement: Measurement | None = member(None, brief=True, by_name=As(kind=Measurement))
    positions: Positions = member(Positions(), brief=True, by_name=As(kind=object, write=dict, read=Positions))

    def build(self) -> Machine:
        return Machine(
            self.name,
            self.memories,
            self.channels,
            self.resources,
            self.limits,
            self.provenance,
            self.measurement,
            self.positions,
            self.networks,
        )


def machine_to_json(machine: MachineLike) -> dict[str, Any]:
    """The machine as a JSON object. `machine_from_json` returns an equal machine."""
    machine = machine_argument("machine file", machine)
    values = {each.name: getattr(machine, each.name) for each in fields(machine)}
    result: dict[str, Any] = plain(_MachineFile(format=FORMAT, version=VERSION, **values), BY_NAME)
    return result


def machine_from_json(data: Mapping[str, Any] | str) -> Machine:
    """The machine from a JSON object of `machine_to_json`, or from its text.

    Raises:
        MachineError: the object is invalid. The one-line message names the place, e.g. `channels[3].throughput.samples[2]`.
    """
    with errors_as(MachineError):
        machine: Machine = read(parse(data) if isinstance(data, str) else data, _MachineFile, BY_NAME)
    return machine


def load(path: str | Path) -> Machine:
    """Read a machine file. Relative directories of disks are relative to the directory of the file.

    Raises:
        FileError: the file cannot be read.
        MachineError: the file does not describe a machine. The message names the file and the place.
    """
    text = ""
    try:
        text = read_text(path)
        machine = machine_from_json(text)
    except MachineError as error:
        raise MachineError(f"{path}: {misplaced(text, 'a machine') or error}") from None
    if machine.measurement is not None:
        warn_elsewhere(machine.measurement, f"machine {machine.name!r} in {path}")
    return _with_directories_of(machine, base_of(path))


def _with_directories_of(machine: Machine, folder: Path) -> Machine:
    """The machine with relative directories of disks made absolute, relative to the folder of its file."""
    if not any(memory.directory is not None and not Path(memory.directory).is_absolute() for memory in machine.memories):
        return machine
    here = Path.cwd() / folder
    memories = (
        replace(memory, device=str(here / memory.directory)) if memory.directory is not None else memory
        for memory in machine.memories
    )
    return replace(machine, memories=tuple(memories))


def read_text(path: str | Path) -> str:
    """The text of a small file.

    Raises:
        FileError: the file cannot be read.
        MachineError: the file is larger than `LARGEST_FILE`, or is not UTF-8 text.
    """
    return text_of(read_some(path, LARGEST_FILE + 1))


def text_of(content: bytes) -> str:
    """The text in the content of a small file.

    Raises:
        MachineError: it is larger than `LARGEST_FILE`, or is not UTF-8 text.
    """
    if len(content) > LARGEST_FILE:
        raise MachineError(f"larger than {format_bytes(LARGEST_FILE)}, so no description of a machine")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MachineError(f"not text in UTF-8 (byte {error.start})") from None


def save(machine: MachineLike, path: str | Path) -> None:
    """Write a machine file atomically.

    Raises:
        FileError: the file cannot be written.
    """
    write_text(path, format_json(machine_to_json(machine)) + "\n")


def machine_argument(call: str, machine: MachineLike) -> Machine:
    """The machine that an argument stands for: a machine itself, the name of a preset with its default options, or a file.

    `call` begins the message of an error.

    Raises:
        InputError: `machine` is none of these. MachineError: there is no such preset, or the file describes no machine.
        FileError: the file cannot be read.
    """
    if isinstance(machine, Machine):
        return machine
    path = machine_path(call, machine)
    return preset(str(machine)) if path is None else load(path)


def machine_path(call: str, machine: object) -> str | None:
    """The path of the machine file that a caller means; None for the name of a preset.

    Text that is not a name of a preset is a path if it has a slash, ends in ".json", or names a file. A preset hides a file of
    the same name: `"./local"` is the file.

    Raises:
        InputError: it is no text and no path.
    """
    if isinstance(machine, os.PathLike):
        return os.fsdecode(machine)
    if not isinstance(machine, str):
        raise InputError(f"{call}: expected a machine, the name of a preset or the path of a machine file, got {show(machine)}")
    if os.sep in machine:
        return machine
    if find_preset(machine) is not None:
        return None
    is_file = machine.lower().endswith(".json") or os.path.isfile(machine)  # noqa: PTH113  # Path raises where a name is too long
    return machine if is_file else None
