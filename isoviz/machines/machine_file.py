"""Reading and writing of machine files, in JSON. A file may be corrupt or hostile: each error is one clear line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from isoviz.checks import expect
from isoviz.errors import MachineError
from isoviz.json_cursor import Node, format_json, parse
from isoviz.machines import throughput
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.costs import CONVERSION, SET_UP, OneTimeCost
from isoviz.machines.encoding import FORMAT, VERSION, channel_to_json, header_to_json, memory_to_json, resource_to_json
from isoviz.machines.limits import Limits
from isoviz.machines.machine import Machine
from isoviz.machines.measurement import Measurement, warn_elsewhere
from isoviz.machines.memory import Memory
from isoviz.machines.positions import Positions
from isoviz.regular_files import base_of, read_some, write_text
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LARGEST_FILE = 64 * 1024 * 1024
"""The largest machine file accepted, in bytes. It allows a thousand nodes and rejects data files given by mistake."""

_FIELDS = {SET_UP: "setup", CONVERSION: "conversion_setup"}
_CONVERTING = {SET_UP: "", CONVERSION: " and converts there (only_converting: true)"}

T = TypeVar("T")


def machine_to_json(machine: Machine) -> dict[str, Any]:
    """The machine as a JSON object. `machine_from_json` returns an equal machine."""
    expect("machine file", machine, Machine, "a machine")
    result = header_to_json(machine.name, machine.provenance, machine.limits)
    result["memories"] = [memory_to_json(memory) for memory in machine.memories]
    result["resources"] = [resource_to_json(resource) for resource in machine.resources]
    result["channels"] = [channel_to_json(channel) for channel in machine.channels]
    if machine.measurement is not None:
        result["measurement"] = machine.measurement.to_json()
    if machine.positions:
        result["positions"] = {name: list(place) for name, place in machine.positions.items()}
    return result


def machine_from_json(data: Mapping[str, Any]) -> Machine:
    """The machine from a JSON object of `machine_to_json`.

    Raises:
        MachineError: the object is invalid. The one-line message names the place, e.g. `channels[3].throughput.samples[2]`.
    """
    root = Node(data)
    root.choice("format", (FORMAT,))
    optional = ("provenance", "limits", "resources", "channels", "measurement", "positions")
    parts = root.members(("format", "version", "name", "memories"), optional)
    version = parts["version"].value
    if isinstance(version, bool) or version != VERSION:
        parts["version"].fail(f"expected {VERSION}; this isoviz reads no other version of the format")
    memories = _each(parts, "memories", _read_memory)
    resources = _each(parts, "resources", _read_resource)
    channels = _each(parts, "channels", _read_channel)
    limits = _read_limits(parts["limits"]) if "limits" in parts else Limits()
    name = parts["name"].value
    provenance = parts["provenance"].value if "provenance" in parts else ""
    measurement = Measurement.from_json(parts["measurement"]) if "measurement" in parts else None
    positions = parts["positions"].build(lambda: Positions(parts["positions"].value)) if "positions" in parts else Positions()
    return root.build(lambda: Machine(name, memories, channels, resources, limits, provenance, measurement, positions))


def _each(parts: Mapping[str, Node], key: str, read: Callable[[Node], T]) -> tuple[T, ...]:
    return tuple(read(item) for item in parts[key].items()) if key in parts else ()


def _read_limits(node: Node) -> Limits:
    parts = node.members((), ("slot_limit", "memory_limit", "slots", "overlap", "chunk_seconds"))
    sizes = ("slot_limit", "memory_limit")
    values = {key: part.size() if key in sizes else part.value for key, part in parts.items()}
    return node.build(lambda: Limits(**values))


def _read_memory(node: Node) -> Memory:
    parts = node.members(("name", "kind"), ("node", "capacity", "slot_limit", "label", "emulated", "device"))
    sizes = ("capacity", "slot_limit")
    values = {key: part.size() if key in sizes else part.value for key, part in parts.items()}
    return node.build(lambda: Memory(**values))


def _read_resource(node: Node) -> Resource:
    parts = node.members(("name", "capacity"), ("provenance", "held"))
    values = {key: part.value for key, part in parts.items()}
    return node.build(lambda: Resource(**values))


def _read_channel(node: Node) -> Channel:
    parts = node.members(
        ("kind", "source", "destination", "throughput"),
        (
            *("name", "costs", "descriptors", "request_seconds", "alignment", "resources", "max_in_flight", "provenance"),
            "layout_throughput",
        ),
    )
    values = {key: part.value for key, part in parts.items()}
    values.setdefault("name", "")
    if "costs" in parts:
        values["costs"] = _read_costs(parts["costs"], values)
    if "resources" in parts:
        values["resources"] = [use.value for use in parts["resources"].items()]
    for name in ("throughput", "layout_throughput"):
        if name in parts:
            values[name] = throughput.from_json(parts[name])
    return node.build(lambda: Channel(**values))


def _read_costs(node: Node, values: dict[str, Any]) -> list[OneTimeCost]:
    """The costs of a channel. Set-up and conversion go into `values`, since `Channel` has a field for each of them."""
    found = []
    for item in node.items():
        parts = item.members(("name", "seconds"), ("per", "cached_by", "only_converting"))
        cost = item.build(lambda parts=parts: OneTimeCost(**{key: part.value for key, part in parts.items()}))  # type: ignore[misc]
        field = _FIELDS.get(cost.name)
        if field is None:
            found.append(cost)
        elif field in values:
            item.fail(f"the cost {cost.name!r} stands twice")
        elif cost != OneTimeCost(cost.name, cost.seconds, only_converting=cost.name == CONVERSION):
            item.fail(f"the cost {cost.name!r} is paid by every transfer that uses the channel{_CONVERTING[cost.name]}")
        else:
            values[field] = cost.seconds
    return found


def load(path: str | Path) -> Machine:
    """Read a machine file. Relative directories of disks are relative to the directory of the file.

    Raises:
        FileError: the file cannot be read.
        MachineError: the file does not describe a machine. The message names the file and the place.
    """
    try:
        machine = machine_from_json(parse(read_text(path)))
    except MachineError as error:
        raise MachineError(f"{path}: {error}") from None
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
    content = read_some(path, LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise MachineError(f"larger than {format_bytes(LARGEST_FILE)}, so no description of a machine")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MachineError(f"not text in UTF-8 (byte {error.start})") from None


def save(machine: Machine, path: str | Path) -> None:
    """Write a machine file atomically.

    Raises:
        FileError: the file cannot be written.
    """
    write_text(path, format_json(machine_to_json(machine)) + "\n")
