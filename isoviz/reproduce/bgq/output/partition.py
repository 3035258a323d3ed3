"""The links of a whole partition by number, for flow-level simulation, and the streams over them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isoviz.machines.presets import blue_gene
from isoviz.reproduce.bgq.assumptions import machine, torus_of
from isoviz.reproduce.bgq.messages import memory

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions
    from isoviz.reproduce.bgq.output.flows import Floats


class Partition:
    """The torus of a partition with its I/O nodes: numbers of its links, and their rates for data."""

    def __init__(self, nodes: int, given: BgqAssumptions) -> None:
        self.nodes, self.given = nodes, given
        self.torus = torus_of(machine(nodes, given))
        self.bridges = blue_gene.bridge_nodes(nodes)
        self.ports = {bridge: number for number, bridge in enumerate(self.bridges, nodes)}
        """By bridge node: its I/O node."""
        self._numbers: dict[str, int] = {}
        self._rates: list[float] = []
        self._ways: dict[tuple[int, int], tuple[int, ...]] = {}

    def own_io_node(self, node: int) -> int:
        """The I/O node that serves a compute node by default."""
        return blue_gene.io_node(self.nodes, node)

    @property
    def capacity(self) -> Floats:
        """Bytes of data per second of every link that some way takes, by its number."""
        return np.array(self._rates)

    def way(self, here: int, there: int) -> tuple[int, ...]:
        """The links of a message between two nodes, compute nodes or I/O nodes; with what receives it there."""
        found = self._ways.get((here, there))
        if found is None:
            names = self.torus.resources_between(memory(here), memory(there))
            assert names is not None
            found = self._ways[here, there] = tuple([self._number(name) for name in names])
        return found

    def ways(self, stops: Sequence[int]) -> tuple[int, ...]:
        """The links of a path with some stops."""
        return tuple([link for pair in itertools.pairwise(stops) for link in self.way(*pair)])

    def _number(self, name: str) -> int:
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self._rates)
            self._rates.append(self.torus.resource(name).capacity / self.torus.overhead)
        return found
