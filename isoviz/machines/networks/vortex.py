"""The switch of a Data Vortex as a network. All messages share the whole switch.

Gioiosa et al., *Exploring DataVortex Systems for Irregular Applications*, section II.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.networks.places import Places
from isoviz.machines.networks.routing import Route, Routing, Works, register_routing, told
from isoviz.machines.networks.topology import Link, Topology, register_topology
from isoviz.machines.networks.vortex_shares import MOST_ANGLES, MOST_HEIGHTS, measured_share
from isoviz.schema import member

SWITCH, THROUGH = "switch", "switch>switch"


@register_topology
@dataclass(frozen=True)
class DataVortex(Topology):
    """The switch of a Data Vortex as a topology: one router, and one link that all messages share.

    - `heights`, `angles`: H and A. There are C = log₂ H + 1 nested cylinders of H × A nodes each.
    - `inputs`: how many angles have ports, one at every height, where packets enter and leave. These angles are spread evenly.
    - `share`: packets per port and cycle that the switch delivers when it is saturated: a packet waits at every input, and all
      outputs are alike. The default was measured by a simulation of the switch (`vortex_shares`). The width of the link is
      `ports` × `share`: the `link_rate` of a network is one word per cycle.

    The share holds for uniform traffic: 0.58 words per port and cycle with A = 4, H = 32 and one input angle. A transposition
    reaches 0.60 there if nodes send in the best order, and 0.17 in the worst order (`isoviz.vortex.Transposition`).

    Raises:
        MachineError: `heights` is not a power of two from 2 on, `angles` or `inputs` is out of range, or `share` is left out and
            nothing was measured for such a switch.
    """

    kind: ClassVar[str] = "data vortex"
    default_routing: ClassVar[str] = "through the switch"
    best_order: ClassVar[str] = "word by word, a word to each node in turn"
    heights: int
    angles: int
    inputs: int
    share: float = member(None)

    def __post_init__(self) -> None:
        owner = f"topology {self.kind!r}"
        heights = checks.whole(owner, "heights", self.heights, low=2, high=MOST_HEIGHTS)
        if heights & (heights - 1):
            raise checks.FieldError(owner, "heights", f"expected a power of two, got {heights}")
        angles = checks.whole(owner, "angles", self.angles, low=1, high=MOST_ANGLES)
        inputs = checks.whole(owner, "inputs", self.inputs, low=1, high=angles)
        given: object = self.share
        share = measured_share(owner, heights, angles, inputs) if given is None else given
        for field, value in (("heights", heights), ("angles", angles), ("inputs", inputs)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "share", checks.number(owner, "share", share, high=1.0, open_low=True))

    @property
    def cylinders(self) -> int:
        """C = log₂ H + 1."""
        return self.heights.bit_length()

    @property
    def ports(self) -> int:
        """The number of ports: one at every height of every angle that takes input."""
        return self.heights * self.inputs

    @property
    def cycles(self) -> float:
        """The mean cycles of a packet through an empty switch: its way inwards, a hop for every bit that differs, and its way
        around."""
        return 1.5 * (self.cylinders - 1) + (self.angles - 1) / 2 + 1

    @property
    def router_count(self) -> int:
        """1."""
        return 1

    def router_name(self, router: int) -> str:
        """The name of the router: `"switch"`."""
        self.checked(router)
        return SWITCH

    def router(self, name: str) -> int:
        """See `Topology.router`."""
        if not checks.is_one_of(name, (SWITCH,)):
            raise MachineError(f"{self.kind}: no router {checks.show(name)}; its only router is {SWITCH!r}")
        return 0

    def links_from(self, router: int) -> tuple[Link, ...]:
        """The whole switch, as a link from itself to itself."""
        self.checked(router)
        return (Link(THROUGH, 0, 0, self.ports * self.share),)

    def places(self) -> Places:
        """Its cylinders as rings, around which the memories stand."""
        said = f"{self.cylinders} cylinders as rings: packets enter the outermost one, and leave the innermost one."
        return Places(((0.0, 0.0),), reading=said, shape="vortex", sizes=(self.cylinders, self.heights, self.angles, self.inputs))

    def __str__(self) -> str:
        at = f"{self.inputs} of {self.angles} angles" if self.inputs < self.angles else f"{self.angles} angles"
        return f"data vortex of {self.heights} heights with ports at {at}"


@register_routing
@dataclass(frozen=True)
class ThroughTheSwitch(Routing):
    """In a Data Vortex: every message goes through the one switch, also to another port of the same router."""

    kind: ClassVar[str] = "through the switch"

    def check(self, topology: Topology) -> None:
        """See `Routing.check`."""
        if not isinstance(topology, DataVortex):
            raise MachineError(f"routing {self.kind!r}: expected a data vortex, got {told(topology)}")

    def route(self, topology: Topology, source: int, destination: int, works: Works | None = None) -> Route | None:
        """See `Routing.route`."""
        source, _ = self.checked(topology, source, destination, works)
        links = topology.links_from(source)
        return links if works is None or all(map(works, links)) else None
