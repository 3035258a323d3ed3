"""Machine files: JSON out and in. What comes in may be corrupt or hostile; it becomes a machine or one clear line."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from isoviz.errors import FileError, MachineError
from isoviz.json_cursor import Node, parse
from isoviz.machines import throughput
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.limits import Limits
from isoviz.machines.machine import Machine
from isoviz.machines.measurement import Measurement, warn_elsewhere
from isoviz.machines.memory import Memory
from isoviz.regular_files import base_of, final_path, read_some
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMAT = "isoviz machine"
VERSION = 1
LARGEST_FILE = 64 * 1024 * 1024
"""Bytes; a thousand nodes fit, a mistaken data file does not."""

T = TypeVar("T")


def to_json(machine: Machine) -> dict[str, Any]:
    """See `Machine.to_json`. Fields that hold their default are left out of memories and channels."""
    result: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "name": machine.name,
        "provenance": machine.provenance,
        "limits": {
            "slot_limit": machine.limits.slot_limit,
            "memory_limit": machine.limits.memory_limit,
            "slots": machine.limits.slots,
            "overlap": machine.limits.overlap,
            **({"chunk_seconds": machine.limits.chunk_seconds} if machine.limits.chunk_seconds else {}),
        },
        "memories": [_memory_to_json(memory) for memory in machine.memories],
        "resources": [
            {"name": resource.name, "capacity": resource.capacity, "provenance": resource.provenance}
            | ({"held": True} if resource.held else {})
            for resource in machine.resources
        ],
        "channels": [_channel_to_json(channel) for channel in machine.channels],
    }
    if machine.measurement is not None:
        result["measurement"] = machine.measurement.to_json()
    return result


def _memory_to_json(memory: Memory) -> dict[str, Any]:
    result: dict[str, Any] = {"name": memory.name, "kind": memory.kind.value, "node": memory.node}
    result["capacity"] = memory.capacity
    if memory.slot_limit is not None:
        result["slot_limit"] = memory.slot_limit
    if memory.label:
        result["label"] = memory.label
    if memory.emulated:
        result["emulated"] = True
    if memory.device is not None:
        result["device"] = memory.device
    return result


def _channel_to_json(channel: Channel) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": channel.name,
        "kind": channel.kind.value,
        "source": channel.source,
        "destination": channel.destination,
        "throughput": channel.throughput.to_json(),
    }
    if channel.setup:
        result["setup"] = channel.setup
    if channel.conversion_setup:
        result["conversion_setup"] = channel.conversion_setup
    if channel.alignment != 1:
        result["alignment"] = channel.alignment
    if channel.resources:
        result["resources"] = [list(use) for use in channel.resources]
    if channel.max_in_flight != 1:
        result["max_in_flight"] = channel.max_in_flight
    result["provenance"] = channel.provenance
    return result


def from_json(data: Mapping[str, Any]) -> Machine:
    """See `Machine.from_json`."""
    root = Node(data)
    root.choice("format", (FORMAT,))
    optional = ("provenance", "limits", "resources", "channels", "measurement")
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
    return root.build(lambda: Machine(name, memories, channels, resources, limits, provenance, measurement))


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
        ("name", "setup", "conversion_setup", "alignment", "resources", "max_in_flight", "provenance"),
    )
    values = {key: part.value for key, part in parts.items()}
    values.setdefault("name", "")
    if "resources" in parts:
        values["resources"] = [use.value for use in parts["resources"].items()]
    values["throughput"] = throughput.from_json(parts["throughput"])
    return node.build(lambda: Channel(**values))


def load(path: str | Path) -> Machine:
    """See `Machine.load`."""
    try:
        machine = from_json(parse(read_text(path)))
    except MachineError as error:
        raise MachineError(f"{path}: {error}") from None
    if machine.measurement is not None:
        warn_elsewhere(machine.measurement, f"machine {machine.name!r} in {path}")
    return _with_directories_of(machine, base_of(path))


def _with_directories_of(machine: Machine, folder: Path) -> Machine:
    """A machine whose disks are bound to directories that a file in this folder names."""
    if not any(isinstance(memory.device, str) and not Path(memory.device).is_absolute() for memory in machine.memories):
        return machine
    here = Path.cwd() / folder
    memories = (
        replace(memory, device=str(here / memory.device)) if isinstance(memory.device, str) else memory
        for memory in machine.memories
    )
    return replace(machine, memories=tuple(memories))


def read_text(path: str | Path) -> str:
    """The text of a file that should be small.

    Raises:
        FileError: it cannot be read.
        MachineError: it is too large, or no text.
    """
    content = read_some(path, LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise MachineError(f"larger than {format_bytes(LARGEST_FILE)}, so no description of a machine")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MachineError(f"not text in UTF-8 (byte {error.start})") from None


def save(machine: Machine, path: str | Path) -> None:
    """See `Machine.save`."""
    write_text(path, format_json(machine.to_json()) + "\n")


def write_text(path: str | Path, text: str) -> None:
    """Writes a file so that at every moment it has its old or its new content, never a part.

    Raises:
        FileError: it cannot be written, or the name is that of something else than a file.
    """
    target = final_path(path)
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{path}: cannot be written: {problem}") from None


def format_json(value: Any, indent: str = "") -> str:
    """JSON for people to read and compare: objects over several lines, lists of numbers and of pairs on one."""
    inner = indent + "  "
    if isinstance(value, dict) and value and not _is_flat(value.values()):
        parts = [f"{inner}{json.dumps(key)}: {format_json(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list) and value and any(isinstance(part, dict) for part in value):
        return "[\n" + ",\n".join(inner + format_json(part, inner) for part in value) + f"\n{indent}]"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Names of files may be no text. JSON can say such bytes, UTF-8 cannot.
    return text if text.isascii() or _is_text(text) else json.dumps(value, allow_nan=False)


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_flat(parts: Any) -> bool:
    return not any(isinstance(part, dict | list) for part in parts)
