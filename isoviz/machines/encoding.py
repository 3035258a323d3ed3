"""The parts of a machine as JSON objects, for machine files and for the digest of a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoviz.machines.channel import Channel, Resource
    from isoviz.machines.costs import OneTimeCost
    from isoviz.machines.limits import Limits
    from isoviz.machines.memory import Memory

FORMAT = "isoviz machine"
VERSION = 1


def header_to_json(name: str, provenance: str, limits: Limits) -> dict[str, Any]:
    """The first members of a machine's JSON object: format, version, name, provenance and limits."""
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
    """A memory as a JSON object, without most fields that have their default value."""
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


def _cost_to_json(cost: OneTimeCost) -> dict[str, Any]:
    result: dict[str, Any] = {"name": cost.name, "seconds": cost.seconds, "per": cost.per}
    if cost.cached_by:
        result["cached_by"] = cost.cached_by
    if cost.only_converting:
        result["only_converting"] = True
    return result


def channel_to_json(channel: Channel) -> dict[str, Any]:
    """A channel as a JSON object, without most fields that have their default value."""
    result: dict[str, Any] = {
        "name": channel.name,
        "kind": channel.kind.name,
        "source": channel.source,
        "destination": channel.destination,
        "throughput": channel.throughput.to_json(),
    }
    if channel.layout_throughput is not None:
        result["layout_throughput"] = channel.layout_throughput.to_json()
    if channel.one_time:
        result["costs"] = [_cost_to_json(cost) for cost in channel.one_time]
    if channel.descriptors is not None:
        result["descriptors"] = channel.descriptors
    if channel.request_seconds:
        result["request_seconds"] = channel.request_seconds
    if channel.alignment != 1:
        result["alignment"] = channel.alignment
    if channel.resources:
        result["resources"] = [list(use) for use in channel.resources]
    if channel.max_in_flight != channel.kind.in_flight:
        result["max_in_flight"] = channel.max_in_flight
    result["provenance"] = channel.provenance
    return result
