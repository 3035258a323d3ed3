"""Topologies: routers and the directed links between them, in a registry that other packages may extend.

Routers have numbers from 0 and names. A link leads from one router to another; two routers may be joined by several links.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.networks.places import Places
from isoviz.schema import BY_NAME, MismatchError, plain, read, tag

MOST_ROUTERS = 2**20
"""The most routers that a topology may have."""


class Link(NamedTuple):
    """A directed link: its `name`, unique in its topology, and the numbers of the routers that it leaves and leads to.

    `width` is its rate relative to the links of its network: 2 for two NVLink lanes where a link of the network is one.
    """

    name: str
    source: int
    destination: int
    width: float = 1.0


class Topology(ABC):
    """Routers and links. A subclass is a frozen dataclass of plain fields; `kind` is its name in machine files.

    Its memory must not grow with the number of pairs of routers.
    """

    kind: ClassVar[str]
    """The name of the kind in files: "torus", "mesh", "fat tree", "switch", "links"."""
    default_routing: ClassVar[str]
    """The kind of the routing rule that networks of this topology have unless they say otherwise."""
    best_order: ClassVar[str] = ""
    """In which order nodes send best where each has something for every other one, as the end of a sentence; "": in any."""

    @property
    @abstractmethod
    def router_count(self) -> int:
        """The number of routers; they are numbered from 0."""

    @abstractmethod
    def router_name(self, router: int) -> str:
        """The name of a router."""

    @abstractmethod
    def router(self, name: str) -> int:
        """The number of the router of this name.

        Raises:
            MachineError: there is no such router; the message says how routers are named.
        """

    @abstractmethod
    def links_from(self, router: int) -> tuple[Link, ...]:
        """The links that leave a router, in a fixed order."""

    def checked(self, router: object) -> int:
        """The number of a router that a caller gave. Every public method calls this check.

        Raises:
            MachineError: it is not a number of a router, such as a negative one.
        """
        if type(router) is int and 0 <= router < self.router_count:
            return router
        return checks.whole(f"topology {self.kind!r}", "router", router, high=self.router_count - 1)

    def has_link(self, name: object) -> bool:
        """Whether there is a link of this name."""
        return self._link(name) is not None

    def link(self, name: str) -> Link:
        """The link of this name. Link names begin with the name of the router that they leave and one of "+", "-", ">".

        Raises:
            MachineError: there is no such link.
        """
        found = self._link(name)
        if found is None:
            example = next(self.links(), None)
            like = f"; links are named like {example.name!r}" if example else ""
            raise MachineError(f"{self.kind}: no link {checks.show(name)}{like}")
        return found

    def _link(self, name: object) -> Link | None:
        for at, letter in enumerate(name if isinstance(name, str) else ""):
            if letter in "+->":
                try:
                    leaving = self.links_from(self.router(str(name)[:at]))
                except MachineError:
                    continue
                for link in leaving:
                    if link.name == name:
                        return link
        return None

    def links(self) -> Iterator[Link]:
        """All links, router after router."""
        for router in range(self.router_count):
            yield from self.links_from(router)

    def places(self) -> Places:
        """Where the routers are drawn: in a circle, unless the topology says otherwise."""
        return Places.in_circle(self.router_count)

    def __str__(self) -> str:
        return f"{self.kind} of {self.router_count} routers"


def checked_link(owner: str, link: object) -> Link:
    """A link that a caller gave.

    Raises:
        MachineError: it is not a link, or has something else than a name, two numbers of routers and a width.
    """
    if type(link) is Link and tuple(map(type, link)) == (str, int, int, float) and link.width == 1.0:
        return link  # almost every one, of many thousands
    if not isinstance(link, Link):
        raise checks.FieldError(owner, "link", f"expected a link of a topology, got {checks.show(link)}")
    if type(link.name) is not str or type(link.source) is not int or type(link.destination) is not int:
        raise checks.FieldError(owner, "link", "expected a name and the numbers of two routers")
    checks.number(owner, "link, width", link.width, open_low=True)
    return link


_TOPOLOGIES: dict[str, type[Topology]] = {}


def register_topology(made: type[Topology]) -> type[Topology]:
    """Register a kind of topology by its `kind`, for networks and machine files. Usable as a decorator of the class.

    Raises:
        MachineError: another class has the kind, or it is not a topology.
    """
    register(_TOPOLOGIES, made, Topology, "topology")
    return made


def topologies() -> tuple[str, ...]:
    """The registered kinds of topology."""
    return tuple(_TOPOLOGIES)


def register(table: dict[str, type[Any]], made: object, base: type[Any], what: str) -> None:
    """Register a class by its `kind` in a table of kinds.

    Raises:
        MachineError: another class has the kind, or the class is none of `base`.
    """
    if not isinstance(made, type) or not issubclass(made, base):
        raise MachineError(f"{what}: expected a subclass of {base.__name__}, got {checks.show(made)}")
    name = checks.text(what, "kind", getattr(made, "kind", None))
    if table.setdefault(name, made) is not made:
        raise MachineError(f"{what} {name!r} is registered already, as {table[name].__qualname__}")


def read_topology(data: Any) -> Topology:
    """The topology of a JSON object of `write_kind`.

    Raises:
        MismatchError, MachineError: the object is invalid.
    """
    found: Topology = read_kind(data, _TOPOLOGIES)
    return found


def write_kind(value: Any) -> dict[str, Any]:
    """A topology or a routing rule as a JSON object, with its kind first."""
    return {"kind": value.kind, **plain(value, BY_NAME)}


def read_kind(data: Any, table: Mapping[str, type[Any]]) -> Any:
    """The value of a JSON object of `write_kind`, of one of the kinds in a table."""
    if isinstance(data, Mapping) and "kind" not in data:
        raise MismatchError("", f"the key 'kind' is missing; expected one of {', '.join(table)}")
    chosen = table[tag(data, "kind", table)]
    return read({key: value for key, value in data.items() if key != "kind"}, chosen, BY_NAME)
