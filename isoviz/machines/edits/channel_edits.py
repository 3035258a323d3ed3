"""Edits of channels: join two memories, change the figures of a channel and what it shares."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import Any

from isoviz import checks
from isoviz.errors import MachineError, show
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind, channel_kinds
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory, may_join
from isoviz.machines.presets import preset
from isoviz.machines.throughput import (
    LATENCY_LIMIT,
    RATE_FLOOR,
    RATE_LIMIT,
    Constant,
    LatencyBandwidth,
    Sampled,
    Samples,
    ThroughputFunction,
)

# Names of the parts of an edited machine.


def free_name(wanted: str, taken: Collection[str], blank: str = "") -> str:
    """`wanted`, or with the first number from 2 on that makes it free; `blank` stands before the number."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}{blank}{number}" in taken:
        number += 1
    return f"{wanted}{blank}{number}"


def memory_name(machine: Machine | None, kind: MemoryKind, node: int) -> str:
    """A free name for a memory by the convention: `node1.sys`; GPU memories are counted from 0 (`node1.fbm0`)."""
    taken = {memory.name for memory in machine.memories} if machine is not None else set()
    stem = f"node{node}.{kind.name.lower()}"
    if kind is not MemoryKind.FBM:
        return free_name(stem, taken)
    number = 0
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"


def channel_name(source: str, destination: str, taken: Collection[str]) -> str:
    """A free name for a channel: `node0.sys->node0.zcm`, parallel ones `node0.sys->node0.zcm 2`."""
    return free_name(f"{source}->{destination}", taken, " ")


def on_node(name: str, old: int, new: int) -> str:
    """The name of a memory or a resource on another node, where it follows the convention: `node0.sys` → `node2.sys`."""
    prefix = f"node{old}."
    return f"node{new}.{name.removeprefix(prefix)}" if name.startswith(prefix) else name


def refuse_taken(what: str, name: str, taken: Collection[str]) -> None:
    """Raise a MachineError where the name is taken."""
    if name in taken:
        raise MachineError(f"{what} {show(name)}: another {what} has this name already")


def where(memory: Memory) -> str:
    """A memory in words, for errors: "GPU memory (node0.fbm0)"."""
    return f"{memory.kind.words} ({memory.name})"


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


# Edits of throughput functions: by bandwidth, by latency, and point by point.

_STEP = 4.0
"""The factor between the runs of two points of a function that had none."""
_AT_PEAK = 0.97
"""The share of the peak at which such points end."""


def editable_points(function: ThroughputFunction) -> Samples:
    """The points by which a function is edited; empty for a function that depends on more than the run."""
    if isinstance(function, Sampled):
        return function.samples
    if isinstance(function, Constant):
        return ((1.0, function.bandwidth),)
    if isinstance(function, LatencyBandwidth):
        last = function.inverse(_AT_PEAK * function.bandwidth)
        runs = [64.0]
        while runs[-1] < last and len(runs) < 40:
            runs.append(runs[-1] * _STEP)
        return tuple((run, function(run)) for run in runs)
    return ()


def measured_samples(function: ThroughputFunction) -> Samples:
    """The samples that a clock gave, before anything was drawn; empty where the function was never measured."""
    if not isinstance(function, Sampled):
        return ()
    if function.measured is not None:
        return function.measured
    return function.samples if function.date is not None else ()


def with_bandwidth(machine: Machine, name: str, bandwidth: float) -> Machine:
    """The machine in which the highest rate of a channel is `bandwidth`, in bytes per second; a curve keeps its form.

    Raises:
        MachineError: there is no such channel, the rate cannot be, or the function is one that is not edited.
    """
    bandwidth = checks.number(f"channel {name!r}", "bandwidth", bandwidth, low=RATE_FLOOR, high=RATE_LIMIT)
    function = _of(machine.channel(name))
    after: ThroughputFunction
    if isinstance(function, Constant | LatencyBandwidth):
        after = replace(function, bandwidth=bandwidth)
    else:
        factor = bandwidth / function.peak
        rates = [min(rate * factor, bandwidth) for _, rate in function.samples]
        rates[-1] = bandwidth
        after = _drawn(function, tuple((run, rate) for (run, _), rate in zip(function.samples, rates, strict=True)))
    return with_channel(machine, name, throughput=after)


def with_latency(machine: Machine, name: str, seconds: float) -> Machine:
    """The machine in which every run over a channel takes `seconds` before it moves at the channel's bandwidth.

    A function through samples becomes one of latency and bandwidth.

    Raises:
        MachineError: there is no such channel, the time cannot be, or the function is one that is not edited.
    """
    seconds = checks.number(f"channel {name!r}", "latency", seconds, high=LATENCY_LIMIT)
    function = _of(machine.channel(name))
    after = LatencyBandwidth(seconds, function.peak) if seconds else Constant(function.peak)
    return with_channel(machine, name, throughput=after)


def with_point(machine: Machine, name: str, point: int, run: float, rate: float) -> Machine:
    """The machine in which a point of a channel's function lies elsewhere.

    Raises:
        MachineError: there is no such channel or point, or the point would pass its neighbours.
    """
    points = list(_points(machine, name, point))
    points[point] = (run, rate)
    return _with_points(machine, name, points)


def with_another_point(machine: Machine, name: str, run: float, rate: float | None = None) -> Machine:
    """The machine in which a channel's function has one more point, without a `rate` on the function as it is.

    Raises:
        MachineError: there is no such channel, there is a point at this run, or rates would fall.
    """
    channel = machine.channel(name)
    points = _points(machine, name)
    if any(run == known for known, _ in points):
        raise MachineError(f"channel {name!r}: there is a point at {run:g} bytes already")
    if rate is None:
        below = [known for at, known in points if at < run]
        above = [known for at, known in points if at > run]
        rate = min(max([channel.rate(run), *below]), *above) if above else max([channel.rate(run), *below])
    return _with_points(machine, name, sorted([*points, (run, rate)]))


def without_point(machine: Machine, name: str, point: int) -> Machine:
    """The machine in which a point of a channel's function is gone.

    Raises:
        MachineError: there is no such channel or point, or it is the last one.
    """
    points = list(_points(machine, name, point))
    if len(points) == 1:
        raise MachineError(f"channel {name!r}: a throughput function has at least one point")
    del points[point]
    return _with_points(machine, name, points)


def _with_points(machine: Machine, name: str, points: list[tuple[float, float]]) -> Machine:
    function = machine.channel(name).throughput
    return with_channel(machine, name, throughput=_drawn(function, tuple(points)))


def _drawn(before: ThroughputFunction, points: Samples) -> Sampled:
    """A function through points that were drawn. What was measured stays beside them, to be compared."""
    measured = measured_samples(before)
    return Sampled(points, measured=measured or None)


def _of(channel: Channel) -> ThroughputFunction:
    return checked_function(channel.throughput if editable_points(channel.throughput) else None, channel.name)


def _points(machine: Machine, name: str, point: int = 0) -> Samples:
    points = editable_points(_of(machine.channel(name)))
    if not 0 <= point < len(points):
        raise MachineError(f"channel {name!r}: there is no point {point}; it has {len(points)}")
    return points
