"""Edits of channels: join two memories, change the figures of a channel and what it shares."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from isoviz.errors import MachineError, show
from isoviz.machines.channel import Channel
from isoviz.machines.edits.names import channel_name, refuse_taken, where
from isoviz.machines.kinds import ChannelKind, channel_kinds
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory, may_join
from isoviz.machines.presets import preset
from isoviz.machines.throughput import LatencyBandwidth, ThroughputFunction

BY_HAND = "set by hand"
"""The provenance of a figure that a person entered."""
_PRESETS = ("laptop", "two-node", "workstation", "gh200")
"""Presets whose figures a new channel begins with, the first that has a channel of its kind."""
_ANY = LatencyBandwidth(1e-6, 10e9)
"""The throughput of a new channel of a kind that no preset has."""


def fitting_kinds(source: Memory, destination: Memory) -> tuple[ChannelKind, ...]:
    """The kinds of channel that may lead from one memory to another (Isometry, table 2), in order of registration."""
    return tuple(kind for kind in channel_kinds() if may_join(kind, source, destination))


def connected(machine: Machine, source: str, destination: str, kind: str = "") -> tuple[Machine, str]:
    """The machine with one more channel, and the channel's name. Without a `kind` it is the first one that fits.

    Two memories may be joined by several channels, and a memory with itself. The channel begins with the figures of a channel of
    its kind in the machine, else with those that a preset assumes.

    Raises:
        MachineError: there is no such memory, or no kind of channel, or not this one, may lead from one to the other.
    """
    ends = machine.memory(source), machine.memory(destination)
    fitting = fitting_kinds(*ends)
    if not fitting:
        raise MachineError(_why_none(*ends))
    chosen = fitting[0] if not kind else ChannelKind(kind)
    if chosen not in fitting:
        raise MachineError(f"{chosen.words} does not lead from {where(ends[0])} to {where(ends[1])}: {_said(fitting)} does")
    taken = {channel.name for channel in machine.channels}
    channel = replace(_like(machine, chosen, *ends), name=channel_name(source, destination, taken), source=source,
                      destination=destination)  # fmt: skip
    return replace(machine, channels=(*machine.channels, channel)), channel.name


def refitted(machine: Machine, channel: Channel, memories: dict[str, Memory]) -> Channel:
    """A channel whose ends have changed: its kind, where that still fits, else another one that does.

    Raises:
        MachineError: no kind fits.
    """
    ends = memories[channel.source], memories[channel.destination]
    fitting = fitting_kinds(*ends)
    if channel.kind in fitting:
        return channel
    if not fitting:
        raise MachineError(f"{_why_none(*ends)} Delete the channel {channel.name} first.")
    return replace(_like(machine, fitting[0], *ends), name=channel.name, source=channel.source, destination=channel.destination)


def with_channel(machine: Machine, name: str, /, **changes: Any) -> Machine:
    """The machine with fields of one channel changed. Figures that change get the provenance "set by hand".

    Raises:
        MachineError: there is no such channel, a value is wrong, or another channel has the name.
    """
    before = machine.channel(name)
    if changes.get("name", name) != name:
        refuse_taken("channel", changes["name"], {channel.name for channel in machine.channels})
    if "kind" in changes:
        ends = machine.memory(before.source), machine.memory(before.destination)
        kind = ChannelKind.of(f"channel {name!r}", "kind", changes["kind"])
        if kind not in fitting_kinds(*ends):
            raise MachineError(f"{kind.words} does not lead from {where(ends[0])} to {where(ends[1])}")
        changes["kind"] = kind
    after = replace(before, **changes)
    figures = {"throughput", "layout_throughput", "setup", "conversion_setup", "request_seconds"}
    if figures & changes.keys() and after != before:
        after = replace(after, provenance=BY_HAND)
    return replace(machine, channels=tuple(after if each.name == name else each for each in machine.channels))


def without_channel(machine: Machine, name: str) -> Machine:
    """The machine without a channel.

    Raises:
        MachineError: there is no such channel.
    """
    machine.channel(name)
    return replace(machine, channels=tuple(each for each in machine.channels if each.name != name))


def sharing(machine: Machine, name: str, resource: str, weight: float | None) -> Machine:
    """The machine in which a channel uses a shared resource with this weight, or (None) not at all.

    Raises:
        MachineError: there is no such channel or resource, or the weight cannot be.
    """
    channel = machine.channel(name)
    machine.resource(resource)
    uses = tuple(use for use in channel.resources if use[0] != resource)
    if weight is not None:
        at = next((place for place, use in enumerate(channel.resources) if use[0] == resource), len(uses))
        uses = (*uses[:at], (resource, weight), *uses[at:])
    return with_channel(machine, name, resources=uses)


def _like(machine: Machine, kind: ChannelKind, source: Memory, destination: Memory) -> Channel:
    """A channel of this kind whose figures a new one takes: one of the machine between such memories, else an assumed one."""
    best = _most_like(machine, kind, source, destination)
    if best is not None:
        return replace(best, resources=())
    for name in _PRESETS:
        known = _preset(name)
        found = _most_like(known, kind, source, destination)
        if found is not None:
            return replace(found, resources=(), provenance=f"assumed, as in the preset {name}")
    return Channel("", kind, source.name, destination.name, _ANY, provenance="assumed")


def _most_like(machine: Machine, kind: ChannelKind, source: Memory, destination: Memory) -> Channel | None:
    """The first channel of a kind in a machine, one between the same kinds of memory before others."""
    first: Channel | None = None
    for channel in machine.channels:
        if channel.kind is not kind:
            continue
        first = first or channel
        ends = machine.memory(channel.source), machine.memory(channel.destination)
        same_loop = (channel.source == channel.destination) == (source.name == destination.name)
        if same_loop and (ends[0].kind, ends[1].kind) == (source.kind, destination.kind):
            return channel
    return first


@lru_cache(maxsize=len(_PRESETS))
def _preset(name: str) -> Machine:
    return preset(name)


def _why_none(source: Memory, destination: Memory) -> str:
    apart = source.node != destination.node
    place = "to another node" if apart else "on one node"
    reached = dict.fromkeys(
        target.words
        for kind in channel_kinds()
        if source.kind in kind.sources and kind.crosses_nodes == apart
        for target in kind.destinations
    )
    rest = f"Channels {place} lead from {source.kind.words} to {_said(reached)} only." if reached else (
        f"No channel leads from {source.kind.words} {place}: go through main memory, for example."
    )  # fmt: skip
    return f"No kind of channel leads from {where(source)} to {where(destination)}{' across nodes' if apart else ''}. {rest}"


def _said(words: Any) -> str:
    said = [each.words if isinstance(each, ChannelKind) else str(each) for each in words]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def checked_function(function: ThroughputFunction | None, name: str) -> ThroughputFunction:
    """The function, or an error where it is one that is not edited."""
    if function is None:
        raise MachineError(
            f"channel {show(name)}: its throughput depends on more than the run, so that its figures stay as they are"
        )
    return function
