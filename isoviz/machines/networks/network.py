"""Networks: a topology, a routing rule and link rates, which join any two of their ports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.errors import InputError, MachineError
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.costs import OneTimeCost
from isoviz.machines.kinds import ChannelKind
from isoviz.machines.memory import Memory, may_join
from isoviz.machines.networks.grids import Grid
from isoviz.machines.networks.routing import DimensionOrder, Route, Routing, read_routing, routing_of_kind
from isoviz.machines.networks.topology import Link, Topology, checked_link, read_topology, write_kind
from isoviz.machines.throughput import ThroughputFunction, read_function
from isoviz.schema import BY_NAME, As, member
from isoviz.units import format_rate

if TYPE_CHECKING:
    import networkx

_FUNCTION = As(kind=object, write=lambda function: function.to_json(), read=read_function)


@dataclass(frozen=True)
class Port:
    """A memory on a network.

    - `memory`: the name of the memory.
    - `router`: the name of the router to which it is joined (`Topology.router`).
    - `inject`, `receive`: the rates of its own link to the router and from it, in bytes per second on the wire; None if it has no
      such link, so that only the links between routers bound it. The 11th link of a bridge node of Blue Gene/Q is such a link:
      that of the I/O node joined to it.

    Raises:
        MachineError: a field has the wrong type or is out of range.
    """

    memory: str
    router: str
    inject: float | None = member(None, brief=True)
    receive: float | None = member(None, brief=True)

    def __post_init__(self) -> None:
        owner = f"port {checks.text('port', 'memory', self.memory, spaces=False)!r}"
        checks.text(owner, "router", self.router)
        for name in ("inject", "receive"):
            rate = getattr(self, name)
            if rate is not None:
                object.__setattr__(self, name, checks.number(owner, name, rate, open_low=True))


@dataclass(frozen=True)
class Transport:
    """A way to send over a network: the kind, speed and costs of the channels between its ports.

    A network has one or several transports, such as MPI and PAMI on Blue Gene/Q. `name` distinguishes them; it may be empty if
    there is only one. The other fields are those of `Channel`. `throughput` holds for an idle route: it includes the cost of a
    message, and its peak is the best rate of one message. `layout_throughput` is for kernels that write to the memory of other
    GPUs.

    Raises:
        MachineError: a field has the wrong type or is out of range.
    """

    kind: ChannelKind
    throughput: ThroughputFunction = member(by_name=_FUNCTION)
    name: str = ""
    setup: float = member(0.0, brief=True)
    costs: tuple[OneTimeCost, ...] = member((), brief=True)
    request_seconds: float = member(0.0, brief=True)
    max_in_flight: int | None = member(None, brief=True)
    provenance: str = "assumed"
    layout_throughput: ThroughputFunction | None = member(None, brief=True, by_name=_FUNCTION)
    conversion_setup: float = member(0.0, brief=True)
    descriptors: int | None = member(None, brief=True)

    def __post_init__(self) -> None:
        name = checks.text("transport", "name", self.name, empty=True, spaces=False)
        # A channel checks all other fields.
        example = self.channel(f"transport {name!r}" if name else "transport", "a", "b", ())
        for each in ("kind", "setup", "costs", "request_seconds", "conversion_setup", "descriptors"):
            object.__setattr__(self, each, getattr(example, each))

    def channel(self, name: str, source: str, destination: str, resources: tuple[tuple[str, float], ...]) -> Channel:
        """A channel of this transport between two memories."""
        return Channel(
            name,
            self.kind,
            source,
            destination,
            self.throughput,
            setup=self.setup,
            resources=resources,
            max_in_flight=self.max_in_flight,  # type: ignore[arg-type]  # None is that of the kind
            provenance=self.provenance,
            costs=self.costs,
            request_seconds=self.request_seconds,
            layout_throughput=self.layout_throughput,
            conversion_setup=self.conversion_setup,
            descriptors=self.descriptors,
        )


@dataclass(frozen=True)
class Network:
    """A topology, a routing rule and link rates. They join any two ports, without a stop in memory on the way.

    - `name`: unique in its machine, one word.
    - `topology`: the routers and links (`Torus`, `Mesh`, `FatTree`, `Switch`, `ListedLinks`, or one of another package).
    - `ports`: the memories on the network, each at a router (`Port`).
    - `transports`: the ways to send (`Transport`), such as MPI and PAMI.
    - `link_rate`: bytes per second on the wire of a link between routers, in each direction; `Link.width` multiplies it.
    - `overhead`: bytes on the wire per byte of data: packet headers and protocol. It is 10/9 where a link of 2 GB/s
      carries 1.8 GB/s of data.
    - `routing`: the routing rule; None becomes that of the topology.
    - `dead_links`, `dead_routers`: names of links and routers that carry nothing. Routers take their links and ports with them.
    - `provenance`: the origin of the figures.

    A channel between two ports is made by `channels_between`. Its resources are the links of its route, each with the weight
    `overhead`: all channels over a link share its rate. It needs no channels, buffers or time at the routers. A network stores
    nothing per pair of ports.

    Resources are named after their network: `"torus:0.0.1.3.0+A"` is a link between routers, `"torus:node5.sys>"` the link of a
    port towards its router, and `"torus:>node5.sys"` the link back.

    Channels are named after their ends, network and transport: `"node0.sys->node5.sys torus/pami"`, or
    `"node0.sys->node5.sys torus"` if the transport has no name.

    What a planner of several paths needs:

    - `ports` and `port(memory)`; `router_of(memory)` is the number of the router of a port;
    - `live_links()`: the links between routers that work, as `Link`s with the numbers of their ends; `capacity(link)` is the rate
      of a link in bytes of data per second;
    - `route(source, destination)`: the links of the default route between two memories, None where it is dead;
      `route_between(a, b)`: the same between two routers, by number;
    - `dimension_order(source, destination)`: for dimension order, the dimensions in the order of the pair's zone, as letters;
    - `channels_between(source, destination)`: the channels of the pair, one per transport.

    Raises:
        MachineError: a field has the wrong type or is out of range; a memory has two ports; a router or link is unknown; the rule
            does not suit the topology.
    """

    name: str
    topology: Topology = field(metadata={"forms": {BY_NAME: As(kind=object, write=write_kind, read=read_topology)}})
    ports: tuple[Port, ...]
    transports: tuple[Transport, ...]
    link_rate: float
    overhead: float = member(1.0, brief=True)
    routing: Routing = member(None, brief=True, by_name=As(kind=object, write=write_kind, read=read_routing))
    dead_links: tuple[str, ...] = member((), brief=True)
    dead_routers: tuple[str, ...] = member((), brief=True)
    provenance: str = "assumed"
    _ports: dict[str, tuple[int, Port]] = field(init=False, repr=False, compare=False)
    """By memory: the number of its router, and its port."""

    def __post_init__(self) -> None:
        name = checks.text("network", "name", self.name, spaces=False)
        owner = f"network {name!r}"
        if ":" in name or "/" in name:
            raise checks.FieldError(
                owner, "name", "expected a name without ':' and '/', which separate it from links and transports"
            )
        if not isinstance(self.topology, Topology):
            raise checks.FieldError(owner, "topology", f"expected a topology, got {checks.show(self.topology)}")
        for each, kind in (("ports", Port), ("transports", Transport)):
            object.__setattr__(self, each, _parts(owner, each, getattr(self, each), kind))
        object.__setattr__(self, "link_rate", checks.number(owner, "link_rate", self.link_rate, open_low=True))
        object.__setattr__(self, "overhead", checks.number(owner, "overhead", self.overhead, low=1.0, high=1e6))
        self._check_routing(owner)
        self._check_transports(owner)
        self._check_ports(owner)
        self._check_dead(owner)
        checks.text(owner, "provenance", self.provenance, empty=True)

    # ---- checks

    def _check_routing(self, owner: str) -> None:
        rule: object = self.routing
        if rule is None:
            rule = routing_of_kind(self.topology.default_routing)
            object.__setattr__(self, "routing", rule)
        if not isinstance(rule, Routing):
            raise checks.FieldError(owner, "routing", f"expected a routing rule, got {checks.show(rule)}")
        rule.check(self.topology)

    def _check_transports(self, owner: str) -> None:
        if not self.transports:
            raise checks.FieldError(owner, "transports", "expected at least one transport, got none")
        names = [each.name for each in self.transports]
        for k, name in enumerate(names):
            if name in names[:k]:
                raise checks.FieldError(owner, f"transports[{k}].name", f"{name!r} is already that of another transport")

    def _check_ports(self, owner: str) -> None:
        found: dict[str, tuple[int, Port]] = {}
        for k, port in enumerate(self.ports):
            if port.memory in found:
                raise checks.FieldError(owner, f"ports[{k}].memory", f"{port.memory!r} has a port already")
            for own in (f"{port.memory}>", f">{port.memory}") if ">" in port.memory else ():
                if self.topology.has_link(own):
                    raise checks.FieldError(owner, f"ports[{k}].memory", f"its own link would have the name of the link {own!r}")
            try:
                found[port.memory] = self.topology.router(port.router), port
            except MachineError as error:
                raise checks.FieldError(owner, f"ports[{k}].router", str(error)) from None
        object.__setattr__(self, "_ports", found)

    def _check_dead(self, owner: str) -> None:
        for part, known in (("dead_links", self.topology.link), ("dead_routers", self.topology.router)):
            try:
                names = checks.names(owner, getattr(self, part), "a list of names")
            except InputError:
                raise checks.FieldError(owner, part, f"expected names, got {checks.show(getattr(self, part))}") from None
            for k, each in enumerate(names):
                try:
                    known(each)
                except MachineError as error:
                    raise checks.FieldError(owner, f"{part}[{k}]", str(error)) from None
            object.__setattr__(self, part, tuple(sorted(set(names))))

    # ---- ports

    def has_port(self, memory: object) -> bool:
        """Whether a memory has a port."""
        return checks.is_one_of(memory, self._ports)

    def port(self, memory: str) -> Port:
        """The port of a memory.

        Raises:
            MachineError: it has none.
        """
        return self._at(memory)[1]

    def router_of(self, memory: str) -> int:
        """The number of the router to which a memory is joined.

        Raises:
            MachineError: it has no port.
        """
        return self._at(memory)[0]

    def _at(self, memory: str) -> tuple[int, Port]:
        if not checks.is_one_of(memory, self._ports):
            raise MachineError(f"network {self.name!r}: {checks.show(memory)} has no port")
        return self._ports[memory]

    @cached_property
    def memories_at(self) -> dict[int, tuple[str, ...]]:
        """The memories joined to each router, by the number of the router."""
        found: dict[int, list[str]] = {}
        for name, (router, _) in self._ports.items():
            found.setdefault(router, []).append(name)
        return {router: tuple(names) for router, names in found.items()}

    # ---- links

    @cached_property
    def _dead(self) -> tuple[frozenset[str], frozenset[int]]:
        return frozenset(self.dead_links), frozenset(map(self.topology.router, self.dead_routers))

    def works(self, link: Link) -> bool:
        """Whether neither a link nor one of its routers is dead. MachineError if it is not a link."""
        return self._works(checked_link(f"network {self.name!r}", link))

    def _works(self, link: Link) -> bool:
        links, routers = self._dead
        return link.name not in links and link.source not in routers and link.destination not in routers

    def live_links(self) -> Iterator[Link]:
        """The links between routers that are not dead, router after router."""
        return filter(self._works, self.topology.links())

    def capacity(self, link: Link) -> float:
        """The bytes of data per second that a link carries at most. MachineError if it is not a link."""
        link = checked_link(f"network {self.name!r}", link)
        return self.link_rate * link.width / self.overhead

    def resource_name(self, link: Link) -> str:
        """The name of the resource of a link. MachineError if it is not a link."""
        link = checked_link(f"network {self.name!r}", link)
        return f"{self.name}:{link.name}"

    def resource(self, name: object) -> Resource:
        """The resource of a link between routers, or of the link of a port. Its capacity is in bytes per second on the wire.

        Raises:
            MachineError: there is none of this name.
        """
        if isinstance(name, str) and (made := self._made.get(name)) is not None:
            return made
        start, _, short = name.partition(":") if isinstance(name, str) else ("", "", "")
        if start == self.name:
            rate: float | None = None
            if short.startswith(">") and self.has_port(short[1:]):
                rate = self.port(short[1:]).receive
            elif short.endswith(">") and self.has_port(short[:-1]):
                rate = self.port(short[:-1]).inject
            else:
                rate = self.link_rate * self.topology.link(short).width
            if rate is not None:
                return self._made.setdefault(str(name), Resource(str(name), rate, self.provenance))
        raise MachineError(f"network {self.name!r}: no resource {checks.show(name)}")

    @cached_property
    def _made(self) -> dict[str, Resource]:
        """Cache of `resource`."""
        return {}

    # ---- routes

    def route_between(self, source: int, destination: int) -> Route | None:
        """The links of the default route between two routers, by number; None if a dead part is in the way.

        Raises:
            MachineError: one of them is not a number of a router.
        """
        links, routers = self._dead
        source, destination = self.topology.checked(source), self.topology.checked(destination)
        if routers and (source in routers or destination in routers):
            return None
        return self.routing.route(self.topology, source, destination, self._works if links or routers else None)

    def route(self, source: str, destination: str) -> Route | None:
        """The links between routers that a message from one memory to another takes; None if a dead part is in the way.

        Raises:
            MachineError: one of the memories has no port.
        """
        return self.route_between(self.router_of(source), self.router_of(destination))

    def dimension_order(self, source: str, destination: str) -> str:
        """The dimensions in the order in which a message between two memories takes them, as letters: `"ABCDE"`.

        Raises:
            MachineError: one of the memories has no port, or the network is not routed by dimension order.
        """
        rule, grid = self.routing, self.topology
        if not isinstance(rule, DimensionOrder) or not isinstance(grid, Grid):
            raise MachineError(f"network {self.name!r}: routed by {rule.kind!r}, not by dimension order")
        order = rule.order(grid, self.router_of(source), self.router_of(destination))
        return "".join(grid.dimensions[dimension] for dimension in order)

    def resources_between(self, source: str, destination: str) -> tuple[str, ...] | None:
        """The names of the resources of a message between two memories: the links of the ports and of the route, in order.

        None if a dead part is in the way.

        Raises:
            MachineError: one of the memories has no port.
        """
        route = self.route(source, destination)
        if route is None:
            return None
        own = [f"{self.name}:{source}>"] if self.port(source).inject is not None else []
        last = [f"{self.name}:>{destination}"] if self.port(destination).receive is not None else []
        return (*own, *[self.resource_name(link) for link in route], *last)

    # ---- channels

    def channels_between(self, source: Memory, destination: Memory) -> tuple[Channel, ...]:
        """The channels from one memory to another, one per transport whose kind can join them. They are made by this call.

        Empty if a memory has no port, if both are the same memory, or if a dead part is in the way.

        Raises:
            InputError: an end is not a memory.
        """
        for end in (source, destination):
            checks.expect(f"network {self.name!r}", end, Memory, "a memory at each end")
        here, there = source.name, destination.name
        if here == there or here not in self._ports or there not in self._ports:
            return ()
        chosen = [each for each in self.transports if may_join(each.kind, source, destination)]
        links = self.resources_between(here, there) if chosen else None
        if links is None:
            return ()
        uses = tuple([(link, self.overhead) for link in links])
        return tuple([each.channel(self._channel_name(here, there, each), here, there, uses) for each in chosen])

    def channel_ends(self, name: object) -> tuple[str, str] | None:
        """The memories that a channel of this name would join; None if it is not a name of a channel of the network."""
        ends, _, rest = name.partition(" ") if isinstance(name, str) else ("", "", "")
        here, _, there = ends.partition("->")
        if not self.has_port(here) or not self.has_port(there) or here == there:
            return None
        return (here, there) if any(self._suffix(each) == rest for each in self.transports) else None

    def owns(self, name: object) -> bool:
        """Whether a channel or a resource of the network would have this name."""
        return str(name).startswith(f"{self.name}:") or self.channel_ends(name) is not None

    def _suffix(self, transport: Transport) -> str:
        return f"{self.name}/{transport.name}" if transport.name else self.name

    def _channel_name(self, source: str, destination: str, transport: Transport) -> str:
        return f"{source}->{destination} {self._suffix(transport)}"

    # ---- views

    def graph(self) -> networkx.MultiDiGraph[str]:
        """A new networkx graph of the routers and live links, with the ports. Its size grows with the links, not with the pairs.

        Routers are named `"torus:0.1.3"` and have the attribute `router`, their number. Edges between them have the resource as
        key, and `link` and `capacity` (bytes of data per second) as attributes. A memory is joined to its router, both ways.
        """
        import networkx

        graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=self.name)
        names = [f"{self.name}:{self.topology.router_name(router)}" for router in range(self.topology.router_count)]
        graph.add_nodes_from((name, {"router": router}) for router, name in enumerate(names))
        for link in self.live_links():
            ends = names[link.source], names[link.destination]
            graph.add_edge(*ends, key=self.resource_name(link), link=link, capacity=self.capacity(link))
        for memory, (router, port) in self._ports.items():
            for rate, ends in ((port.inject, (memory, names[router])), (port.receive, (names[router], memory))):
                key = f"{self.name}:{memory}>" if ends[0] == memory else f"{self.name}:>{memory}"
                graph.add_edge(*ends, key=key, capacity=math.inf if rate is None else rate / self.overhead)
        return graph

    def __str__(self) -> str:
        dead = len(self.dead_links) + len(self.dead_routers)
        parts = [f"network {self.name}: {self.topology}", f"{len(self.ports)} ports", f"links of {format_rate(self.link_rate)}"]
        parts += [f"{format_rate(self.link_rate / self.overhead)} for data"] if self.overhead > 1 else []
        return ", ".join([*parts, f"routing: {self.routing}", *([f"{dead} dead"] if dead else [])])


def _parts(owner: str, field: str, given: object, kind: type[Port | Transport]) -> tuple[Any, ...]:
    try:
        found = checks.items(owner, given, "a list")
    except InputError:
        raise checks.FieldError(owner, field, f"expected a list, got {checks.show(given)}") from None
    for k, each in enumerate(found):
        if not isinstance(each, kind):
            raise checks.FieldError(owner, f"{field}[{k}]", f"expected a {kind.__name__}, got {checks.show(each)}")
    return found
