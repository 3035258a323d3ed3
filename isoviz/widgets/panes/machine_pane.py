"""The machine: its name, its drawing as text, and its parts where its canvas is shown."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.machines import channel_kinds, draw, memory_kinds
from isoviz.machines.edits.channel_edits import editable_points, measured_samples
from isoviz.machines.throughput import Constant, LatencyBandwidth
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.consequences.where_it_runs import absent_memories, ranks_for
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Machine, ThroughputFunction

CANVAS = "canvas"
"""Demanded, it is no stage: it asks for the parts of the machine."""


class MachinePart(TypedDict):
    """A machine: how many memories and channels it has, where its figures come from, and its drawing as text.

    `canvas` has its parts; null where no view shows them.
    """

    name: str
    memories: int
    channels: int
    provenance: str
    drawing: str
    canvas: CanvasPart | None


@pane("machine", "the machine", {"machine": LAYOUTS | {"machine", "memories", CANVAS}})
def machine_part(state: State) -> MachinePart | None:
    """What the machine pane shows: the last machine there was, None before the first."""
    machine = state.derived.machine
    if machine is None:
        return None
    whole = CANVAS in state.demanded
    ranks = ranks_for(machine, state.settings.machine) if whole else None
    return _machine(machine, whole, 0 if ranks is None or ranks.reason else ranks.count)


@lru_cache(maxsize=8)
def _machine(machine: Machine, whole: bool, ranks: int) -> MachinePart:
    return {
        "name": machine.name,
        "memories": len(machine.memories),
        "channels": len(machine.channels),
        "provenance": machine.provenance,
        "drawing": _drawing(machine.undrawn),
        "canvas": canvas_part(machine, ranks) if whole else None,
    }


@lru_cache(maxsize=8)
def _drawing(machine: Machine) -> str:
    """The drawing as text, the same wherever the memories lie on the canvas."""
    return draw(machine)


# ---- its parts as the canvas gets them, what can be added to it, and where it runs


MOST_DRAWN = 400
"""A machine with networks and more memories than this is drawn by its networks alone (`isoviz.widgets.panes.network_pane`)."""


class DrawnMemoryKind(TypedDict):
    """A kind of memory that can be added, and the form of its device: "number", "directory" or "text"."""

    name: str
    words: str
    device: str


class DrawnChannelKind(TypedDict):
    """A kind of channel, with the kinds of memory at its ends. `crosses` says whether it joins different nodes."""

    name: str
    words: str
    sources: list[str]
    destinations: list[str]
    crosses: bool


class DrawnMemory(TypedDict):
    """A memory. Sizes are bytes; null is no bound. `here` says whether this computer has it or emulates it, `place` is its
    position, [x, y], or null. `within` has the names of the boxes around it, outermost first.
    """

    name: str
    short: str
    kind: str
    node: int
    capacity: int | None
    slotLimit: int | None
    label: str
    emulated: bool
    device: str
    here: bool
    place: list[float] | None
    within: list[str]


class DrawnFunction(TypedDict):
    """A throughput function, shared by channels: its points, [run, rate] in bytes and bytes per second. One that depends on more
    than the run is not `editable`. `measured` are the samples that a clock gave.

    `latency` is in seconds; null where the function is one of samples. `smooth`: it is one of latency and bandwidth.
    """

    points: list[list[float]]
    measured: list[list[float]]
    latency: float | None
    bandwidth: float
    smooth: bool
    editable: bool


class DrawnChannel(TypedDict):
    """A channel. `source` and `destination` count the memories, `function` the functions, `origin` the origins, from 0. `uses`
    has pairs [resource, weight]; resources are counted as well. Set-up times are seconds.
    """

    name: str
    kind: str
    source: int
    destination: int
    function: int
    setup: float
    conversionSetup: float
    inFlight: int
    uses: list[list[float]]
    origin: int


class DrawnResource(TypedDict):
    """A shared resource: bytes per second, or the amount that there is of a resource that is held while channels work.

    It lies on a node (null: on none), in the boxes `within`.
    """

    name: str
    capacity: float
    held: bool
    origin: str
    node: int | None
    within: list[str]


class CanvasPart(TypedDict):
    """All parts of a machine. Those of a machine that is drawn by its networks alone are left out; then `whole` is false.

    `runs` says where it runs: "here", "emulated" (here, where main memory stands in for some memories), "ranks" (in `ranks` MPI
    ranks on this computer) or "simulated"; `absent` names the memories that this process lacks, `emulable` those of them that
    main memory can stand in for.
    """

    whole: bool
    memoryKinds: list[DrawnMemoryKind]
    channelKinds: list[DrawnChannelKind]
    memories: list[DrawnMemory]
    functions: list[DrawnFunction]
    origins: list[str]
    channels: list[DrawnChannel]
    resources: list[DrawnResource]
    runs: Literal["here", "emulated", "ranks", "simulated"]
    ranks: int
    absent: list[str]
    emulable: list[str]


@lru_cache(maxsize=8)
def canvas_part(machine: Machine, ranks: int = 0) -> CanvasPart:
    """The parts of a machine, for its canvas; its nodes can be `ranks` MPI ranks of this computer (0: they cannot)."""
    absent = absent_memories(machine)
    if machine.networks and len(machine.memories) > MOST_DRAWN:
        return {
            **_kinds(), "whole": False, "memories": [], "functions": [], "origins": [], "channels": [], "resources": [],
            "runs": "simulated" if absent else "here", "ranks": ranks, "absent": list(absent[:1]), "emulable": [],
        }  # fmt: skip
    missing = set() if ranks else set(absent)
    places = {memory.name: place for place, memory in enumerate(machine.memories)}
    resources = {resource.name: place for place, resource in enumerate(machine.resources)}
    functions: dict[ThroughputFunction, int] = {}
    numbers: dict[int, int] = {}
    origins: dict[str, int] = {}
    channels: list[DrawnChannel] = []
    for channel in machine.channels:
        function = channel.throughput
        number = numbers.get(id(function))
        if number is None:
            number = numbers[id(function)] = functions.setdefault(function, len(functions))
        channels.append(
            {
                "name": channel.name,
                "kind": channel.kind.name,
                "source": places[channel.source],
                "destination": places[channel.destination],
                "function": number,
                "setup": channel.setup,
                "conversionSetup": channel.conversion_setup,
                "inFlight": channel.max_in_flight,
                "uses": [[float(resources[name]), weight] for name, weight in channel.resources],
                "origin": origins.setdefault(channel.provenance, len(origins)),
            }
        )
    emulated = any(memory.emulated for memory in machine.memories)
    return {
        **_kinds(),
        "whole": True,
        "memories": [_memory(machine, name, name not in missing) for name in places],
        "functions": [_function(function) for function in functions],
        "origins": list(origins),
        "channels": channels,
        "resources": [
            {
                "name": each.name,
                "capacity": each.capacity,
                "held": each.held,
                "origin": each.provenance,
                "node": each.node,
                "within": list(each.within),
            }
            for each in machine.resources
        ],
        "runs": ("ranks" if ranks else "simulated") if absent else "emulated" if emulated else "here",
        "ranks": ranks,
        "absent": list(absent),
        "emulable": [name for name in absent if machine.memory(name).holds_buffers],
    }


class _Kinds(TypedDict):
    memoryKinds: list[DrawnMemoryKind]
    channelKinds: list[DrawnChannelKind]


def _kinds() -> _Kinds:
    return {
        "memoryKinds": [{"name": kind.name, "words": kind.words, "device": kind.device} for kind in memory_kinds()],
        "channelKinds": [
            {
                "name": kind.name,
                "words": kind.words,
                "sources": [source.name for source in kind.sources],
                "destinations": [destination.name for destination in kind.destinations],
                "crosses": kind.crosses_nodes,
            }
            for kind in channel_kinds()
        ],
    }


def _memory(machine: Machine, name: str, here: bool) -> DrawnMemory:
    memory = machine.memory(name)
    place = machine.positions.get(name)
    return {
        "name": name,
        "short": memory.short_name,
        "kind": memory.kind.name,
        "node": memory.node,
        "capacity": memory.capacity,
        "slotLimit": memory.slot_limit,
        "label": memory.label,
        "emulated": memory.emulated,
        "device": "" if memory.device is None else str(memory.device),
        "here": here,
        "place": None if place is None else list(place),
        "within": list(memory.within),
    }


def _function(function: ThroughputFunction) -> DrawnFunction:
    smooth = isinstance(function, LatencyBandwidth)
    latency = function.latency if isinstance(function, LatencyBandwidth) else 0.0 if isinstance(function, Constant) else None
    points = editable_points(function)
    return {
        "points": [list(point) for point in points or function.samples],
        "measured": [list(point) for point in measured_samples(function)],
        "latency": latency,
        "bandwidth": function.peak,
        "smooth": smooth,
        "editable": bool(points),
    }
