"""Topologies without a rule of their own: the all-to-all switch, and links listed by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from isoviz import checks
from isoviz.errors import InputError, MachineError
from isoviz.machines.networks.places import Places
from isoviz.machines.networks.topology import Link, Topology, register_topology


@register_topology
@dataclass(frozen=True)
class Switch(Topology):
    """An all-to-all switch: one router. Only the links of its ports (`Port.inject`, `Port.receive`) bound it, and nothing else is
    shared."""

    kind: ClassVar[str] = "switch"
    default_routing: ClassVar[str] = "shortest"

    @property
    def router_count(self) -> int:
        """1."""
        return 1

    def router_name(self, router: int) -> str:
        """The name of the router: `"switch"`."""
        self.checked(router)
        return "switch"

    def router(self, name: str) -> int:
        """See `Topology.router`."""
        if not checks.is_one_of(name, ("switch",)):
            raise MachineError(f"switch: no router {checks.show(name)}; its only router is 'switch'")
        return 0

    def links_from(self, router: int) -> tuple[Link, ...]:
        """No links."""
        self.checked(router)
        return ()

    def places(self) -> Places:
        """A bar, beside which the memories stand."""
        return Places(((0.0, 0.0),), shape="bar")

    def __str__(self) -> str:
        return "all-to-all switch"


@register_topology
@dataclass(frozen=True)
class ListedLinks(Topology):
    """Links listed by hand: pairs of routers, or triples with the number of lanes. Each works in both directions.

    `ListedLinks((("gpu0", "gpu1", 2), ("gpu0", "gpu2")))` joins gpu0 and gpu1 by two NVLink lanes. Routers are numbered in the
    order in which they appear. The link from gpu0 to gpu1 is named `"gpu0>gpu1"`. With `one_way`, each link leads from its first
    router to its second one only.

    By the default rule `Shortest` routers forward messages: gpu1 reaches gpu2 over gpu0 without a stop. GPUs do not forward, so
    their network has `routing=Neighbours()`: only GPUs that a link joins reach each other, and data for other GPUs stop in the
    memory of a GPU between.

    Raises:
        MachineError: there are no links, a link is not such a pair or triple, joins a router to itself, is listed twice, or has
            the name of another link.
    """

    kind: ClassVar[str] = "links"
    default_routing: ClassVar[str] = "shortest"
    pairs: tuple[tuple[Any, ...], ...]
    one_way: bool = False

    def __post_init__(self) -> None:
        owner = f"topology {self.kind!r}"
        checks.flag(owner, "one_way", self.one_way)
        try:
            given: Any = checks.items(owner, self.pairs, "pairs of routers")
        except InputError:
            given = ()
        if not given:
            raise checks.FieldError(owner, "pairs", f"expected pairs of routers, got {checks.show(self.pairs)}")
        found: dict[str, int] = {}
        for k, each in enumerate(given):
            place = f"pairs[{k}]"
            if isinstance(each, str | bytes) or not isinstance(each, list | tuple) or len(each) not in (2, 3):
                raise checks.FieldError(
                    owner, place, f"expected (router, router) or (router, router, lanes), got {checks.show(each)}"
                )
            ends = checks.text(owner, place, each[0], spaces=False), checks.text(owner, place, each[1], spaces=False)
            if len(each) == 3:
                checks.number(owner, place, each[2], open_low=True)
            if ends[0] == ends[1]:
                raise checks.FieldError(owner, place, f"joins {ends[0]!r} to itself")
            for here, there in (ends, ends[::-1])[: 1 if self.one_way else 2]:
                name = f"{here}>{there}"
                if name in found:
                    other = given[found[name]][:2]
                    same = ends == tuple(other) or ends == tuple(other[::-1])
                    more = "stands twice; give it more lanes instead" if same else f"would have the name of the link of {other!r}"
                    raise checks.FieldError(owner, place, f"the link {name} {more}")
                found[name] = k
        object.__setattr__(
            self, "pairs", tuple([(*each[:2], float(each[2])) if len(each) == 3 else tuple(each) for each in given])
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        names = dict.fromkeys(end for each in self.pairs for end in each[:2])
        return {name: number for number, name in enumerate(names)}

    @cached_property
    def _leaving(self) -> tuple[tuple[Link, ...], ...]:
        found: list[list[Link]] = [[] for _ in self._numbers]
        for here, there, *lanes in self.pairs:
            for a, b in ((here, there), (there, here))[: 1 if self.one_way else 2]:
                found[self._numbers[a]].append(Link(f"{a}>{b}", self._numbers[a], self._numbers[b], *lanes))
        return tuple([tuple(links) for links in found])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    @cached_property
    def router_count(self) -> int:
        """The number of routers that a link names."""
        return len(self._numbers)

    def router_name(self, router: int) -> str:
        """The name of a router."""
        return self._names[self.checked(router)]

    def router(self, name: str) -> int:
        """See `Topology.router`."""
        if not checks.is_one_of(name, self._numbers):
            raise MachineError(f"links: no router {checks.show(name)}; there are {', '.join(self._names[:12])}")
        return self._numbers[name]

    def links_from(self, router: int) -> tuple[Link, ...]:
        """The links of a router, as listed."""
        return self._leaving[self.checked(router)]

    def __str__(self) -> str:
        count = sum(map(len, self._leaving))
        return f"{count} links between {self.router_count} routers"
