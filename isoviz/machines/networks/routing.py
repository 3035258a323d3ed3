"""Routing rules: the links that a message takes from one router to another, in a registry that other packages may extend."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.networks.grids import Grid, distance_between, step_from
from isoviz.machines.networks.topology import Link, Topology, read_kind, register
from isoviz.schema import member

Route = tuple[Link, ...]
"""The links of a route, in order; empty from a router to itself."""
Works = Callable[[Link], bool]
"""Whether a link carries anything: whether neither it nor one of its routers is dead."""


class Routing(ABC):
    """A routing rule. A subclass is a frozen dataclass of plain fields; `kind` is its name in machine files.

    A route depends on the rule, the topology and its dead parts only: it is the same each time and in every process.
    """

    kind: ClassVar[str]
    """The name of the kind in files: "dimension order", "up and down", "shortest", "neighbours"."""

    @abstractmethod
    def route(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> Route | None:
        """The links that a message takes between two routers; None if it does not get there.

        `works` says whether a link carries anything; None if all do.

        Raises:
            MachineError: as `checked`.
        """

    def check(self, topology: Topology) -> None:
        """Check that the rule suits a topology. Most rules suit any.

        Raises:
            MachineError: it does not, or is not a topology.
        """
        if not isinstance(topology, Topology):
            raise MachineError(f"routing {self.kind!r}: expected a topology, got {told(topology)}")

    def checked(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> tuple[int, int]:
        """The numbers of the routers in a call of `route`, after all arguments are checked. The rules of isoviz call it first.

        Raises:
            MachineError: the rule does not suit the topology, a router is not one of its routers, or `works` cannot be called.
        """
        self.check(topology)
        ends = topology.checked(source), topology.checked(destination)
        if works is not None and not callable(works):
            raise MachineError(f"routing {self.kind!r}, works: expected a function of a link or None, got {checks.show(works)}")
        return ends

    def __str__(self) -> str:
        return self.kind


def told(topology: object) -> str:
    """What was given as a topology, for errors."""
    return f"a {topology.kind}" if isinstance(topology, Topology) else checks.show(topology)


_ROUTINGS: dict[str, type[Routing]] = {}


def register_routing(made: type[Routing]) -> type[Routing]:
    """Register a kind of routing rule by its `kind`, for networks and machine files. Usable as a decorator of the class.

    Raises:
        MachineError: another class has the kind, or it is not a routing rule.
    """
    register(_ROUTINGS, made, Routing, "routing rule")
    return made


def routings() -> tuple[str, ...]:
    """The registered kinds of routing rule."""
    return tuple(_ROUTINGS)


def routing_of_kind(kind: str) -> Routing:
    """The routing rule of a kind, with its default fields."""
    return _ROUTINGS[kind]()


def read_routing(data: Any) -> Routing:
    """The routing rule of a JSON object of `write_kind`.

    Raises:
        MismatchError, MachineError: the object is invalid.
    """
    found: Routing = read_kind(data, _ROUTINGS)
    return found


SMALL_BYTES = 65536
"""Messages below this size are routed deterministically where the zone is chosen. Assumed: the paper gives no number."""
LITTLE_FLEXIBILITY = 1.5
"""The flexibility up to which large messages take zone 0, above it zone 1. Assumed: the paper gives no number."""


@register_routing
@dataclass(frozen=True)
class DimensionOrder(Routing):
    """Dimension order on a torus or mesh, with the zones of Blue Gene/Q (Bui et al., section 3).

    A message goes the whole way in one dimension, then in the next one. The zone is the order of the dimensions:

    - 0: the longest dimension of the machine first; dimensions of equal size in a random order;
    - 1: any order, at random;
    - 2: the longest dimension first; of equal ones, the first letter first (A before B);
    - 3: the longest dimension first; of equal ones, the last letter first (assumed: the paper only says that 2 and 3 are fixed).

    Random orders follow from `seed` and the two routers, so a pair of routers always has the same route. With `zone=None` the
    zone follows from the flexibility of the pair and from `message_bytes`, the size of the messages (`zone_of`). On the machine,
    `PAMI_ROUTING` sets the zone.

    Raises:
        MachineError: there is no such zone, or a field is not a whole number.
    """

    kind: ClassVar[str] = "dimension order"
    zone: int | None = 2
    seed: int = member(0, brief=True)
    message_bytes: int = member(2**20, brief=True)

    def __post_init__(self) -> None:
        owner = f"routing {self.kind!r}"
        if self.zone is not None:
            object.__setattr__(self, "zone", checks.whole(owner, "zone", self.zone, high=3))
        object.__setattr__(self, "seed", checks.whole(owner, "seed", self.seed))
        object.__setattr__(self, "message_bytes", checks.whole(owner, "message_bytes", self.message_bytes))

    def check(self, topology: Topology) -> None:
        """See `Routing.check`."""
        if not isinstance(topology, Grid):
            raise MachineError(f"routing {self.kind!r}: expected a torus or a mesh, got {told(topology)}")

    def __str__(self) -> str:
        return f"{self.kind}, zone {'by flexibility and size' if self.zone is None else self.zone}"

    def flexibility(self, grid: Grid, source: int, destination: int) -> float:
        """The distance of two routers relative to the size of the machine: the sum over dimensions of links / most links there.

        It is 0 for a router and itself, and the number of dimensions for the farthest pair. Assumed: the paper says only that it
        is computed from the torus size and the distance.

        Raises:
            MachineError: it is not a torus or mesh, or a router is not one of its routers.
        """
        source, destination = self.checked(grid, source, destination)
        return self._flexibility(grid, source, destination)

    def _flexibility(self, grid: Grid, source: int, destination: int) -> float:
        found = 0.0
        for dimension, size in enumerate(grid.sizes):
            most = size // 2 if grid.wraps(dimension) else size - 1
            found += abs(distance_between(grid, source, destination, dimension)) / most if most else 0.0
        return found

    def zone_of(self, grid: Grid, source: int, destination: int, message_bytes: int | None = None) -> int:
        """The zone of messages between two routers: the `zone` of the rule, or the one that is chosen for them.

        Small messages take zone 2, large ones zone 0 between close routers and zone 1 between distant ones.

        Raises:
            MachineError: it is not a torus or mesh, a router is not one of its routers, or `message_bytes` is not a size.
        """
        source, destination = self.checked(grid, source, destination)
        if message_bytes is not None:
            message_bytes = checks.whole(f"routing {self.kind!r}", "message_bytes", message_bytes)
        return self._zone_of(grid, source, destination, message_bytes)

    def _zone_of(self, grid: Grid, source: int, destination: int, message_bytes: int | None = None) -> int:
        if self.zone is not None:
            return self.zone
        if (self.message_bytes if message_bytes is None else message_bytes) < SMALL_BYTES:
            return 2
        return 0 if self._flexibility(grid, source, destination) <= LITTLE_FLEXIBILITY else 1

    def order(self, grid: Grid, source: int, destination: int) -> tuple[int, ...]:
        """The numbers of the dimensions in the order in which a message between two routers takes them.

        It has all dimensions, also those in which the message takes no link. In zones 2 and 3 it is the same for all pairs.

        Raises:
            MachineError: it is not a torus or mesh, or a router is not one of its routers.
        """
        source, destination = self.checked(grid, source, destination)
        return self._order(grid, source, destination)

    def _order(self, grid: Grid, source: int, destination: int) -> tuple[int, ...]:
        zone = self._zone_of(grid, source, destination)
        found = list(range(len(grid.sizes)))
        if zone == 3:
            found.reverse()
        elif zone < 2:
            random.Random(f"{self.seed} {source} {destination}").shuffle(found)  # noqa: S311  # no secret
        if zone != 1:
            found.sort(key=lambda dimension: -grid.sizes[dimension])  # the sort keeps the order of equal ones
        return tuple(found)

    def route(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> Route | None:
        """See `Routing.route`. A dead link on the way ends it: the hardware does not go round it."""
        source, destination = self.checked(topology, source, destination, works)
        if not isinstance(topology, Grid):
            return None
        links: list[Link] = []
        at = source
        for dimension in self._order(topology, source, destination):
            ahead = distance_between(topology, source, destination, dimension)
            for _ in range(abs(ahead)):
                link = step_from(topology, at, dimension, 1 if ahead > 0 else -1)
                if link is None or (works is not None and not works(link)):
                    return None
                links.append(link)
                at = link.destination
        return tuple(links)


@register_routing
@dataclass(frozen=True)
class Shortest(Routing):
    """The fewest links. Of equally short routes, the one whose first link comes first among the links of its router, and so on.

    Dead links are avoided, as a subnet manager does after a sweep.
    """

    kind: ClassVar[str] = "shortest"

    def route(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> Route | None:
        """See `Routing.route`."""
        source, destination = self.checked(topology, source, destination, works)
        came: dict[int, Link | None] = {source: None}
        frontier = [source]
        while frontier and destination not in came:
            reached = []
            for router in frontier:
                for link in topology.links_from(router):
                    if link.destination not in came and (works is None or works(link)):
                        came[link.destination] = link
                        reached.append(link.destination)
            frontier = reached
        if destination not in came:
            return None
        links: list[Link] = []
        while (last := came[links[-1].source if links else destination]) is not None:
            links.append(last)
        return tuple(reversed(links))


@register_routing
@dataclass(frozen=True)
class Neighbours(Routing):
    """Only routers that a link joins reach each other, over that link. Example: NVLink between GPUs, which do not forward."""

    kind: ClassVar[str] = "neighbours"

    def route(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> Route | None:
        """See `Routing.route`."""
        source, destination = self.checked(topology, source, destination, works)
        if source == destination:
            return ()
        for link in topology.links_from(source):
            if link.destination == destination and (works is None or works(link)):
                return (link,)
        return None
