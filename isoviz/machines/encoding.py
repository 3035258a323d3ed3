"""The parts of a machine as JSON objects: what machine files hold and what a machine's digest is taken of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoviz.machines.channel import Channel, Resource
    from isoviz.machines.limits import Limits
    from isoviz.machines.memory import Memory

FORMAT = "isoviz machine"
VERSION = 1


def header_to_json(name: str, provenance: str, limits: Limits) -> dict[str, Any]:
    """What a machine's JSON object begins with."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "provenance": provenance,
        "limits": {
            "slot_limit": limits.slot_limit,
            "memory_limit": limits.memory_limit,
            "slots": limits.slots,
            "overlap": limits.overlap,
            **({"chunk_seconds": limits.chunk_seconds} if limits.chunk_seconds else {}),
        },
    }


def resource_to_json(resource: Resource) -> dict[str, Any]:
    """A shared resource as a JSON object."""
    found = {"name": resource.name, "capacity": resource.capacity, "provenance": resource.provenance}
    return found | ({"held": True} if resource.held else {})


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """A memory as a JSON object; fields that hold their default are left out."""
    result: dict[str, Any] = {"name": memory.name, "kind": memory.kind.name, "node": memory.node}
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


def channel_to_json(channel: Channel) -> dict[str, Any]:
    """A channel as a JSON object; fields that hold their default are left out."""
    result: dict[str, Any] = {
        "name": channel.name,
        "kind": channel.kind.name,
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
