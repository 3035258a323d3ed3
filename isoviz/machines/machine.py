"""Machines: memories, channels and networks between them, and shared resources (Isometry's transfer graph, section 4.1)."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from isoviz import checks
from isoviz.document import Told
from isoviz.errors import InputError, MachineError
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.limits import Limits
from isoviz.machines.measurement import Measurement
from isoviz.machines.memory import Memory, may_join
from isoviz.machines.networks.network import Network
from isoviz.machines.networks.surroundings import Surroundings
from isoviz.machines.positions import Positions
from isoviz.public_method import PublicMethod
from isoviz.schema import BY_NAME, plain

if TYPE_CHECKING:
    import networkx

    from isoviz.machines.throughput import ThroughputFunction

FORMAT: Final = "isoviz machine"
VERSION = 1
"""What machine files are, and the version of their format."""


@dataclass(frozen=True, repr=False)
class Machine(Told):
    """Memories, channels, networks and shared resources that are consistent with each other.

    - `memories`, `channels`, `resources`: any iterables. Names are unique, and the order is kept. The channels and resources of
      networks are not among them: `between`, `channel` and `resource` make them when they are asked for, and `around` makes those
      between some memories.
    - `limits`: the default limits of intermediate buffers.
    - `provenance`: the origin of the machine's figures.
    - `measurement`: the measurement behind the figures (`isoviz.probe`); None if there was none.
    - `positions`: the positions of memories on a drawing, by name: any mapping of (x, y). Memories may lack one.
    - `networks`: the networks that join memories (`Network`).

    `machine.to_json()` is `isoviz.machines.machine_to_json(machine)`. `Machine.from_json(data)` makes an equal machine from that
    object or its text.

    Raises:
        MachineError: there is no memory, a name is used twice, a position or a port names an unknown memory, a channel uses an
            unknown resource, or an end of a channel is unknown, does not suit the channel's kind (Isometry, table 2) or is on the
            wrong node.
    """

    name: str
    memories: tuple[Memory, ...]
    channels: tuple[Channel, ...] = ()
    resources: tuple[Resource, ...] = ()
    limits: Limits = field(default_factory=Limits)
    provenance: str = ""
    measurement: Measurement | None = None
    positions: Mapping[str, tuple[float, float]] = field(default_factory=Positions)
    networks: tuple[Network, ...] = ()

    to_json = PublicMethod("isoviz.machines", "machine_to_json")
    from_json = PublicMethod("isoviz.machines", "machine_from_json", of_class=True)

    def __post_init__(self) -> None:
        name = checks.text("machine", "name", self.name)
        owner = f"machine {name!r}"
        parts = (("memories", Memory), ("channels", Channel), ("resources", Resource), ("networks", Network))
        for part, kind in parts:
            object.__setattr__(self, part, _checked_parts(owner, part, getattr(self, part), kind))
        if not isinstance(self.limits, Limits):
            raise checks.FieldError(owner, "limits", f"expected Limits, got {checks.show(self.limits)}")
        checks.text(owner, "provenance", self.provenance, empty=True)
        if self.measurement is not None and not isinstance(self.measurement, Measurement):
            raise checks.FieldError(owner, "measurement", f"expected a Measurement, got {checks.show(self.measurement)}")
        if not self.memories:
            raise checks.FieldError(owner, "memories", "expected at least one memory, got none")
        memories = {memory.name: memory for memory in self.memories}
        object.__setattr__(self, "positions", Positions(self.positions))
        for name in self.positions:
            if name not in memories:
                raise checks.FieldError(owner, "positions", f"no memory {name!r}; the machine has {some(memories)}")
        resources = {resource.name for resource in self.resources}
        for k, channel in enumerate(self.channels):
            if not _fits(channel, memories, resources):
                _refuse_channel(owner, f"channels[{k}]", channel, memories, resources)
        self._check_networks(owner, memories, resources)

    def _check_networks(self, owner: str, memories: Mapping[str, Memory], resources: set[str]) -> None:
        for k, network in enumerate(self.networks):
            for port in network.ports:
                if port.memory not in memories:
                    problem = f"no memory {port.memory!r}; the machine has {some(memories)}"
                    raise checks.FieldError(owner, f"networks[{k}].ports", problem)
            for what, names in (("channels", self._channels), ("resources", resources)):
                for name in names:
                    if network.owns(name):
                        problem = f"the name {name!r} is that of a part of the network {network.name!r}"
                        raise checks.FieldError(owner, what, problem)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return int(self.digest[:15], 16)

    @cached_property
    def _memories(self) -> dict[str, Memory]:
        return {memory.name: memory for memory in self.memories}

    @cached_property
    def _channels(self) -> dict[str, Channel]:
        return {channel.name: channel for channel in self.channels}

    @cached_property
    def _resources(self) -> dict[str, Resource]:
        return {resource.name: resource for resource in self.resources}

    @cached_property
    def _surroundings(self) -> Surroundings:
        return Surroundings(self._memories, self.channels, self.networks)

    @cached_property
    def _outgoing(self) -> dict[str, tuple[Channel, ...]]:
        found: dict[str, list[Channel]] = {memory.name: [] for memory in self.memories}
        for channel in self.channels:
            found[channel.source].append(channel)
        return {name: tuple(channels) for name, channels in found.items()}

    @cached_property
    def _between(self) -> dict[str, dict[str, tuple[Channel, ...]]]:
        """Cache of `between`: channels by source and destination. `between` adds a source on its first use."""
        return {}

    @cached_property
    def sources_of(self) -> dict[str, tuple[str, ...]]:
        """For each memory, the other memories that have a listed channel to it, in order of the channels."""
        found: dict[str, dict[str, None]] = {memory.name: {} for memory in self.memories}
        for channel in self.channels:
            if channel.source != channel.destination:
                found[channel.destination][channel.source] = None
        return {name: tuple(sources) for name, sources in found.items()}

    @cached_property
    def digest(self) -> str:
        """A hexadecimal fingerprint of the machine, the same in every process.

        It leaves out devices, positions and boxes (`Memory.within`), since plans and predictions do not depend on them. Machines
        that differ in anything else have different digests.
        """
        rest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": self.name, "provenance": self.provenance}
        rest["limits"] = plain(self.limits, BY_NAME)
        memories = (
            replace(each, device=None, within=()) if each.device is not None or each.within else each for each in self.memories
        )
        rest["memories"] = plain(tuple(memories), BY_NAME)
        resources = (replace(each, node=None, within=()) if each.node is not None else each for each in self.resources)
        rest["resources"] = plain(tuple(resources), BY_NAME)
        rest["channels"] = []
        if self.networks:
            rest["networks"] = plain(self.networks, BY_NAME)
        if self.measurement is not None:
            rest["measurement"] = plain(self.measurement, BY_NAME)
        fingerprint = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
        # Many channels share few functions: each function is written once and referenced by its number.
        number_of: dict[int, int] = {}
        texts: dict[str, int] = {}

        def number(function: ThroughputFunction) -> int:
            found = number_of.get(id(function))
            if found is None:
                found = texts.setdefault(json.dumps(function.to_json(), sort_keys=True), len(texts))
                number_of[id(function)] = found
            return found

        for channel in self.channels:
            said = (
                channel.name,
                channel.kind.name,
                channel.source,
                channel.destination,
                number(channel.throughput),
                channel.setup,
                channel.alignment,
                channel.resources,
                channel.max_in_flight,
                channel.provenance,
                *([channel.conversion_setup] if channel.conversion_setup else []),
                *([_further(channel)] if channel.costs or channel.descriptors is not None or channel.request_seconds else []),
                *([number(channel.layout_throughput)] if channel.layout_throughput is not None else []),
            )
            fingerprint.update(ascii(said).encode())
        fingerprint.update(ascii(tuple(texts)).encode())
        return fingerprint.hexdigest()

    @cached_property
    def undrawn(self) -> Machine:
        """The machine without positions and boxes, which only drawings use."""
        if not self.positions and not any(each.within for each in self.memories) and all(r.node is None for r in self.resources):
            return self
        memories = tuple(replace(each, within=()) for each in self.memories)
        resources = tuple(replace(each, node=None, within=()) for each in self.resources)
        return replace(self, memories=memories, resources=resources, positions={})

    def emulated(self, names: Iterable[str]) -> tuple[str, ...]:
        """The emulated memories of the machine among some names, each once."""
        names = checks.names("machine", names, "names of memories")
        return tuple(name for name in dict.fromkeys(names) if name in self._memories and self._memories[name].emulated)

    @property
    def nodes(self) -> tuple[int, ...]:
        """The numbers of the nodes, in ascending order."""
        return tuple(sorted({memory.node for memory in self.memories}))

    def memory(self, name: str) -> Memory:
        """The memory of this name.

        Raises:
            MachineError: the machine has no such memory. The message lists its memories.
        """
        try:
            found = self._memories.get(name)
        except TypeError:  # a value that no dictionary can hold
            found = None
        if found is None:
            raise self._unknown("memory", name, self._memories)
        return found

    def channel(self, name: str) -> Channel:
        """The channel of this name.

        Raises:
            MachineError: the machine has no such channel. The message lists its channels.
        """
        found = self.find_channel(name)
        if found is None:
            raise self._unknown("channel", name, self._channels)
        return found

    def find_channel(self, name: object) -> Channel | None:
        """The channel of this name, listed or of a network; None if the machine has none."""
        if not isinstance(name, str):
            return None
        found = self._channels.get(name)
        for network in self.networks if found is None else ():
            ends = network.channel_ends(name)
            if ends is not None:
                made = network.channels_between(*map(self._memories.__getitem__, ends))
                return next((each for each in made if each.name == name), None)
        return found

    def resource(self, name: str) -> Resource:
        """The shared resource of this name.

        Raises:
            MachineError: the machine has no such resource. The message lists its resources.
        """
        if checks.is_one_of(name, self._resources):
            return self._resources[name]
        for network in self.networks:
            if str(name).startswith(f"{network.name}:"):
                return network.resource(name)
        raise self._unknown("resource", name, self._resources)

    def outgoing(self, memory: str | Memory) -> tuple[Channel, ...]:
        """The listed channels that start at a memory, including its self-loops; those of networks are not among them.

        Raises:
            MachineError: the machine has no such memory.
        """
        return self._outgoing[self.memory(memory.name if isinstance(memory, Memory) else memory).name]

    def between(self, source: str, destination: str) -> tuple[Channel, ...]:
        """All channels from one memory to another; empty if there is none. For one memory twice, these are its self-loops.

        The listed ones come first, then those of networks, which this call makes.

        Raises:
            MachineError: the machine has no such memory.
        """
        there = self.memory(destination)
        if not isinstance(source, str):
            raise self._unknown("memory", source, self._memories)
        from_source = self._between.get(source)
        if from_source is None:
            gathered: dict[str, list[Channel]] = {}
            for channel in self.outgoing(source):
                gathered.setdefault(channel.destination, []).append(channel)
            from_source = {name: tuple(channels) for name, channels in gathered.items()}
            self._between[source] = from_source
        listed = from_source.get(destination, ())
        if not self.networks:
            return listed
        here = self.memory(source)
        return (*listed, *(each for network in self.networks for each in network.channels_between(here, there)))

    def around(self, *names: str) -> Machine:
        """The part of the machine that matters for paths between these memories, with all its channels listed and no networks.

        It has the nodes of these memories, the gateways between their networks, relays if a dead part is in the way, and small
        networks as a whole (`isoviz.machines.networks.surroundings`). Planners search this part. A machine without networks is
        returned as it is.

        Raises:
            MachineError: the machine has no such memory.
        """
        for name in names:
            self.memory(name)
        return _part(self, names) if self.networks else self

    def graph(self) -> networkx.MultiDiGraph[str]:
        """A new networkx graph: nodes are memory names (attribute `memory`), edges channels (key: name, attribute `channel`).

        A network is represented by its routers and links (`Network.graph`), not by the channels between all pairs of ports.
        """
        import networkx

        graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=self.name)
        for memory in self.memories:
            graph.add_node(memory.name, memory=memory)
        for channel in self.channels:
            graph.add_edge(channel.source, channel.destination, key=channel.name, channel=channel)
        for network in self.networks:
            routers = network.graph()
            graph.add_nodes_from(routers.nodes(data=True))
            graph.add_edges_from(routers.edges(keys=True, data=True))
        return graph

    document = PublicMethod("isoviz.machines.drawing", "machine_document")

    def __str__(self) -> str:
        counts = (
            (len(self.nodes), "node", "nodes"),
            (len(self.memories), "memory", "memories"),
            (len(self.channels), "channel", "channels"),
            (len(self.networks), "network", "networks"),
            (len(self.resources), "shared resource", "shared resources"),
        )
        said = [f"{number} {noun if number == 1 else nouns}" for number, noun, nouns in counts if number or noun == "channel"]
        return f"Machine {self.name}: {', '.join(said)}"

    def headline(self) -> str:
        """Its name and the numbers of its nodes, memories and channels, in one line."""
        return str(self).removeprefix("Machine ")

    def _unknown(self, kind: str, name: object, known: Mapping[str, object]) -> MachineError:
        if not known:
            return MachineError(f"machine {self.name!r} has no {kind} {checks.show(name)}; it has none at all")
        close = get_close_matches(str(name)[: checks.NAME_LIMIT], known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return MachineError(f"machine {self.name!r} has no {kind} {checks.show(name)}; it has {some(known)}{hint}")


def _further(channel: Channel) -> tuple[object, ...]:
    """Rare properties of a channel, for the digest. They are added only where present, so that older digests stay valid."""
    costs = []
    for each in channel.costs:
        rare = (*([True] if each.only_following else []), *([] if each.kept else ["every start"]))
        costs.append((each.name, each.seconds, each.per, each.cached_by, each.only_converting, *rare))
    return tuple(costs), channel.descriptors, channel.request_seconds


def some(names: Iterable[str], most: int = 12) -> str:
    """Names for an error message. If there are more than `most`, only the first ones are listed."""
    listed = list(names)
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[:most])} and {len(listed) - most} more"


@lru_cache(maxsize=16)
def _part(machine: Machine, names: tuple[str, ...]) -> Machine:
    """See `Machine.around`."""
    nodes = machine._surroundings.nodes(names)  # noqa: SLF001  # this module's
    memories = {memory.name: memory for memory in machine.memories if memory.node in nodes}
    channels = [each for each in machine.channels if each.source in memories and each.destination in memories]
    made: dict[str, Resource] = {}
    for network in machine.networks:
        ports = [memory for memory in memories.values() if network.has_port(memory.name)]
        for ends in itertools.permutations(ports, 2):
            for channel in network.channels_between(*ends):
                channels.append(channel)
                made.update((name, network.resource(name)) for name, _ in channel.resources if name not in made)
    resources = (*machine.resources, *made.values())
    places = {name: place for name, place in machine.positions.items() if name in memories}
    return Machine(
        machine.name,
        tuple(memories.values()),
        tuple(channels),
        resources,
        machine.limits,
        machine.provenance,
        machine.measurement,
        places,
    )


def _checked_parts(owner: str, field: str, parts: object, kind: type[Memory | Channel | Resource | Network]) -> tuple[Any, ...]:
    try:
        result = checks.items(owner, parts, "a list")
    except InputError:
        raise checks.FieldError(owner, field, f"expected a list, got {checks.show(parts)}") from None
    first: dict[str, int] = {}
    for k, part in enumerate(result):
        if not isinstance(part, kind):
            raise checks.FieldError(owner, f"{field}[{k}]", f"expected a {kind.__name__}, got {checks.show(part)}")
        if part.name in first:
            again = f"the name {part.name!r} is already that of {field}[{first[part.name]}]"
            if isinstance(part, Channel):
                again += "; parallel channels need names of their own"
            raise checks.FieldError(owner, f"{field}[{k}].name", again)
        first[part.name] = k
    return result


def _fits(channel: Channel, memories: Mapping[str, Memory], resources: set[str]) -> bool:
    """Whether a channel's ends and resources exist and its ends suit its kind. `_refuse_channel` raises the error if not."""
    source, destination = memories.get(channel.source), memories.get(channel.destination)
    return (
        source is not None
        and destination is not None
        and may_join(channel.kind, source, destination)
        and all(name in resources for name, _ in channel.resources)
    )


def _refuse_channel(owner: str, place: str, channel: Channel, memories: Mapping[str, Memory], resources: set[str]) -> None:
    for end, name, allowed in (
        ("source", channel.source, channel.kind.sources),
        ("destination", channel.destination, channel.kind.destinations),
    ):
        if name not in memories:
            raise checks.FieldError(owner, f"{place}.{end}", f"no memory {name!r}; the machine has {some(memories)}")
        kind = memories[name].kind
        if kind not in allowed:
            role = "starts from" if end == "source" else "leads to"
            problem = f"{channel.kind} {role} {', '.join(allowed)}, but {name!r} is {kind}"
            raise checks.FieldError(owner, f"{place}.{end}", problem)
    source, destination = memories[channel.source].node, memories[channel.destination].node
    if channel.kind.crosses_nodes and source == destination:
        problem = f"{channel.kind} joins different nodes, but both ends are on node {source}; give one of them another 'node'"
        raise checks.FieldError(owner, place, problem)
    if not channel.kind.crosses_nodes and source != destination:
        problem = f"{channel.kind} stays on one node, but leads from node {source} to node {destination}"
        raise checks.FieldError(owner, place, problem)
    for k, (name, _) in enumerate(channel.resources):
        if name not in resources:
            known = f"the machine has {some(sorted(resources))}" if resources else "the machine has none"
            raise checks.FieldError(owner, f"{place}.resources[{k}]", f"no resource {name!r}; {known}")
