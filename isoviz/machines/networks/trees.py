"""Fat trees, and the routing rule of fat trees."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.networks.places import Places
from isoviz.machines.networks.routing import Route, Routing, Works, register_routing, told
from isoviz.machines.networks.topology import MOST_ROUTERS, Link, Topology, register_topology

MOST_LEVELS = 8


@register_topology
@dataclass(frozen=True)
class FatTree(Topology):
    """A fat tree: an extended generalised fat tree (Öhring et al., 1995).

    A router of level l + 1 has `down[l]` routers of level l below it, and a router of level l has `up[l]` routers above it.
    Level 0 are the hosts: there are as many as the product of `down`. `FatTree((4, 4), (1, 4))` has 16 hosts; each group of 4
    has a leaf switch, and each leaf switch is joined to 4 spines.

    Hosts are named `"0"`, `"1"`, …; the k-th switch of level l is `"l.k"`. A link is named `"3>1.0"` by its routers.

    Raises:
        MachineError: `down` and `up` are not 1 to 8 whole numbers ≥ 1 each, as many of one as of the other, or there are too many
            routers.
    """

    kind: ClassVar[str] = "fat tree"
    default_routing: ClassVar[str] = "up and down"
    down: tuple[int, ...]
    up: tuple[int, ...]

    def __post_init__(self) -> None:
        owner = f"topology {self.kind!r}"
        for field in ("down", "up"):
            given: Any = getattr(self, field)
            if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_LEVELS:
                raise checks.FieldError(owner, field, f"expected 1 to {MOST_LEVELS} whole numbers, got {checks.show(given)}")
            numbers = [checks.whole(owner, f"{field}[{k}]", each, low=1, high=MOST_ROUTERS) for k, each in enumerate(given)]
            object.__setattr__(self, field, tuple(numbers))
        if len(self.down) != len(self.up):
            raise checks.FieldError(owner, "up", f"expected {len(self.down)} numbers, as in down, got {len(self.up)}")
        if math.prod(self.down) > MOST_ROUTERS or self.router_count > MOST_ROUTERS:
            raise checks.FieldError(owner, "down", f"expected at most {MOST_ROUTERS:,} routers")

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        """The routers of every level."""
        return tuple(math.prod(self.up[:level]) * math.prod(self.down[level:]) for level in range(len(self.down) + 1))

    @cached_property
    def _firsts(self) -> tuple[int, ...]:
        """The number of the first router of every level."""
        return tuple(itertools.accumulate(self._counts[:-1], initial=0))

    @property
    def host_count(self) -> int:
        """The number of hosts, which are the first routers."""
        return self._counts[0]

    @cached_property
    def router_count(self) -> int:
        """The number of hosts and switches."""
        return sum(self._counts)

    def level(self, router: int) -> int:
        """The level of a router; 0 for a host."""
        router = self.checked(router)
        return max(level for level, first in enumerate(self._firsts) if first <= router)

    def router_name(self, router: int) -> str:
        """The name of a router: `"3"` for a host, `"1.0"` for a switch."""
        level = self.level(router)
        return f"{level}.{router - self._firsts[level]}" if level else str(router)

    def router(self, name: str) -> int:
        """See `Topology.router`."""
        asked: object = name
        parts = asked.split(".") if isinstance(asked, str) and len(asked) < 20 else []
        if 1 <= len(parts) <= 2 and all(part.isascii() and part.isdecimal() for part in parts):
            level, place = (0, int(parts[0])) if len(parts) == 1 else (int(parts[0]), int(parts[1]))
            if level < len(self._counts) and place < self._counts[level] and (level > 0) == (len(parts) == 2):
                return self._firsts[level] + place
        raise MachineError(
            f"{self.kind}: no router {checks.show(name)}; hosts are '0' to '{self.host_count - 1}', switches are named like '1.0'"
        )

    def _place(self, router: int, level: int) -> tuple[int, int]:
        """The digits of a router of a level as two numbers: that of its part of the tree, and that of its copy there."""
        copies = math.prod(self.up[:level])
        return divmod(router - self._firsts[level], copies)

    def _number(self, level: int, part: int, copy: int) -> int:
        return self._firsts[level] + part * math.prod(self.up[:level]) + copy

    def _above(self, router: int, level: int, choice: int) -> int:
        """The router above one of a level, by its number among those above it."""
        part, copy = self._place(router, level)
        return self._number(level + 1, part // self.down[level], copy + choice * math.prod(self.up[:level]))

    def _below(self, router: int, level: int, choice: int) -> int:
        """The router below one of a level, by its number among those below it."""
        part, copy = self._place(router, level)
        return self._number(level - 1, part * self.down[level - 1] + choice, copy % math.prod(self.up[: level - 1]))

    def _between(self, source: int, destination: int) -> Link:
        return Link(f"{self.router_name(source)}>{self.router_name(destination)}", source, destination)

    def links_from(self, router: int) -> tuple[Link, ...]:
        """The links of a router: those up, then those down."""
        level = self.level(router)
        ups = [self._above(router, level, k) for k in range(self.up[level])] if level < len(self.up) else []
        downs = [self._below(router, level, k) for k in range(self.down[level - 1])] if level else []
        return tuple([self._between(router, other) for other in (*ups, *downs)])

    def climb(self, source: int, destination: int, choices: tuple[int, ...]) -> Route:
        """The route between two hosts that goes up by these choices, and down from there.

        Raises:
            MachineError: one of the routers is not a host, or there are no such choices on the way.
        """
        owner = f"topology {self.kind!r}"
        choices = checks.items(owner, choices, "a whole number for each level", MachineError)
        if len(choices) != self.height(source, destination):
            raise MachineError(f"{owner}: expected {self.height(source, destination)} choices, got {len(choices)}")
        for level, choice in enumerate(choices):
            checks.whole(owner, f"choices[{level}]", choice, high=self.up[level] - 1)
        return self._climb(source, destination, choices)

    def _climb(self, source: int, destination: int, choices: tuple[int, ...]) -> Route:
        routers, top = [source], len(choices)
        for level, choice in enumerate(choices):
            routers.append(self._above(routers[-1], level, choice))
        for level in range(top, 0, -1):
            place = destination // math.prod(self.down[: level - 1]) % self.down[level - 1]
            routers.append(self._below(routers[-1], level, place))
        return tuple([self._between(*ends) for ends in itertools.pairwise(routers)])

    def height(self, source: int, destination: int) -> int:
        """The number of levels that a message between two hosts goes up, to their nearest common switches.

        Raises:
            MachineError: one of the routers is not a host.
        """
        for each in (source, destination):
            checks.whole(f"topology {self.kind!r}", "host", each, high=self.host_count - 1)
        height = 0
        while source != destination:
            source, destination = source // self.down[height], destination // self.down[height]
            height += 1
        return height

    def places(self) -> Places:
        """The levels one above the other, the hosts at the bottom."""
        return Places.on_levels(self._counts, "Hosts are at the bottom, the switches of each level above them.")

    def __str__(self) -> str:
        return f"fat tree of {self.host_count} hosts and {self.router_count - self.host_count} switches"


@register_routing
@dataclass(frozen=True)
class UpAndDown(Routing):
    """In a fat tree: up to the nearest common switch, then down. The destination decides between the links up (D-mod-k).

    If a link of the route is dead, the next choice without a dead link is taken, as a subnet manager does after a sweep.
    """

    kind: ClassVar[str] = "up and down"

    def check(self, topology: Topology) -> None:
        """See `Routing.check`."""
        if not isinstance(topology, FatTree):
            raise MachineError(f"routing {self.kind!r}: expected a fat tree, got {told(topology)}")

    def route(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> Route | None:
        """See `Routing.route`. Only hosts send and receive."""
        source, destination = self.checked(topology, source, destination, works)
        if not isinstance(topology, FatTree) or max(source, destination) >= topology.host_count:
            return None
        orders, spread = [], destination
        for ways in topology.up[: topology.height(source, destination)]:
            orders.append([(spread + k) % ways for k in range(ways)])
            spread //= ways
        for choices in itertools.product(*orders):
            found = topology._climb(source, destination, choices)  # noqa: SLF001  # this module's
            if works is None or all(works(link) for link in found):
                return found
        return None
