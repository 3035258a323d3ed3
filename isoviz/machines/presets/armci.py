"""The preset of two clusters on which ARMCI moves memory between nodes by one-sided calls, over InfiniBand and over Myrinet.

The paper is Tipparaju et al., *Host-Assisted Zero-Copy Remote Memory Access Communication on InfiniBand*. Its protocols are:

- buffered and pipelined: the path SYS → REG → REG → SYS, in one chunk or in several. Registered memory that is not contiguous is
  copied within REG;
- zero-copy: the network card moves each run of registered memory by a call of its own;
- on demand: memory is registered first, and stays so;
- host-assisted: a helper at the other end posts requests of up to 60 runs.

A busy node is a processor as a held resource, with less capacity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations
from typing import Any

from isoviz import checks
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.channel_kinds.assisted import RUNS
from isoviz.machines.costs import OneTimeCost
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets.numbers import MB, figure_from, origin_of, origins_text
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.throughput import Constant, LatencyBandwidth

US = 1e-6
GET, PUT = "get", "put"
INFINIBAND, MYRINET = "infiniband", "myrinet"
MOST_NODES = 32
"""From the paper (section 4.1): the larger of its clusters."""
NIC = 1000 * MB
"""Bytes per second of a network card in each direction (from the paper, section 3: 10 Gb/s; 8 of 10 bits are data)."""


@dataclass(frozen=True)
class CallCosts:
    """What one-sided calls cost, in seconds and bytes per second. `origin` says where each figure is from."""

    put: float = figure_from(7.44 * US, "from the paper, table 1: a short put")
    get: float = figure_from(16 * US, "from the paper, table 1: a short get")
    put_rate: float = figure_from(730 * MB, "from the paper, figure 3: puts")
    get_rate: float = figure_from(689 * MB, "from the paper, figure 4: gets")
    post: float = figure_from(1 * US, "from the paper, section 5.2: a request is posted")
    answered: float = figure_from(22.1 * US, "from the paper, section 4.3: the helper is asked, and answers")
    gather: float = figure_from(0.016 * US, "from the paper, section 5.2: 60 runs of a request take less than 1 µs more than one")
    owner_get: float = figure_from(24 * US, "from the paper, section 5.1: a short get by the owner's put, on Myrinet")
    owner_rate: float = figure_from(237 * MB, "from the paper, section 5.1: gets by the owner's put, on Myrinet")
    call: float = figure_from(3 * US, "fitted: a copy is called; a copied get on Myrinet takes 27 µs, one by the owner's put 24")
    copy: float = figure_from(1200 * MB, "assumed: a processor copies")
    copied_run: float = figure_from(0.02 * US, "assumed: a run that a processor copies")
    read: float = figure_from(1 * US, "assumed: a further get of a run, as a request is posted")
    register: float = figure_from(100 * US, "assumed: a buffer is registered, and no longer")
    page: float = figure_from(0.1 * US, "assumed: a page of it, 4 KiB")
    helper: float = figure_from(0.01, "assumed: the share of a processor that a helper takes while its requests move")


origin = cache(partial(origin_of, CallCosts))
"""Where a figure of `CallCosts` is from."""


def armci_cluster(
    busy: float = 0.0, nodes: int = 2, call: str = GET, network: str = INFINIBAND, costs: CallCosts | None = None
) -> Machine:
    """Nodes with pageable memory `node<k>.sys` and registered memory `node<k>.reg`, between which one-sided calls move data.

    - `busy`: the share of a processor of node 0 that its program takes, from 0 to below 1. Nodes have two processors. The helper
      of a node shares that of its program, and the other one has no part in transfers; this is assumed.
    - `call`: data move by a "get" of the node that receives them, or by a "put" of the node that sends them. So node 0 is the
      other end of a get from node 0, or of a put to node 0.
    - `network`: "infiniband", or "myrinet", whose cards cannot read memory of another node: only gets, all by a put of the owner.

    A registration at a busy node is not slower here.

    Raises:
        MachineError: an argument has another value, or Myrinet is to have puts.
    """
    owner = "preset 'armci-cluster'"
    share = checks.number(owner, "busy", busy)
    if share >= 1:
        raise checks.FieldError(owner, "busy", f"expected a share of a processor, from 0 to below 1, got {checks.show(busy)}")
    nodes = checks.whole(owner, "nodes", nodes, low=1, high=MOST_NODES)
    for name, value, known in (("call", call, (GET, PUT)), ("network", network, (INFINIBAND, MYRINET))):
        if not checks.is_one_of(value, known):
            raise checks.FieldError(owner, name, f"expected one of {', '.join(known)}, got {checks.show(value)}")
    if (network, call) == (MYRINET, PUT):
        raise checks.FieldError(owner, "call", f"expected {GET!r}: on Myrinet the figures are of gets")
    made = _Parts(costs or CallCosts(), call, network)
    return Machine(
        "armci-cluster",
        tuple([Memory(f"node{k}.{end}", kind, k, within=("DRAM",)) for k in range(nodes) for end, kind in _MEMORIES]),
        (
            *[channel for node in range(nodes) for channel in made.within(node)],
            *[channel for here, there in permutations(range(nodes), 2) for channel in made.between(here, there)],
        ),
        tuple([part for node in range(nodes) for part in made.shared(node, share if node == 0 else 0.0)]),
        provenance="Tipparaju et al., Host-Assisted Zero-Copy Remote Memory Access: figures from the paper, fitted or assumed",
    )


_MEMORIES = ("sys", MemoryKind.SYS), ("reg", MemoryKind.REG)


class _Parts:
    """The parts of a cluster."""

    def __init__(self, costs: CallCosts, call: str, network: str) -> None:
        self.costs, self.call, self.network = costs, call, network

    def shared(self, node: int, busy: float) -> Iterator[Resource]:
        said = "assumed: one of two processors, on which the helper runs beside the program"
        taken = f", which takes {100 * busy:g} % of it" if busy else ", which leaves it alone"
        yield Resource(f"node{node}.cpu", 1.0 - busy, said + taken, held=True, node=node)
        for way in ("out", "in"):
            yield Resource(
                f"node{node}.nic.{way}", NIC, "from the paper, section 3: 10 Gb/s with 8b/10b", node=node, within=("NIC",)
            )

    def within(self, node: int) -> Iterator[Channel]:
        costs, pageable, registered = self.costs, f"node{node}.sys", f"node{node}.reg"
        copied = LatencyBandwidth(costs.copied_run, costs.copy)
        for source, destination in ((pageable, registered), (registered, pageable), (registered, registered)):
            name = f"{source}->{destination}"
            yield self._channel(
                ChannelKind.MEMCPY, source, destination, copied, name, uses="copy copied_run call", request_seconds=costs.call,
                resources=((f"node{node}.cpu", 1.0),),
            )  # fmt: skip

    def between(self, here: int, there: int) -> Iterator[Channel]:
        costs, is_get = self.costs, self.call == GET
        cards = (f"node{here}.nic.out", 1.0), (f"node{there}.nic.in", 1.0)
        assisted = (*cards, (f"node{here if is_get else there}.cpu", costs.helper))
        ends = f"node{here}.reg", f"node{there}.reg"
        if self.network == MYRINET:
            wire, name = Constant(costs.owner_rate), f"{ends[0]}->{ends[1]} get by put"
            uses = "owner_get owner_rate helper"
            yield self._channel(ChannelKind.GET_BY_PUT, *ends, wire, name, costs.owner_get, assisted, uses=uses)
            return
        rate, first, each = (costs.get_rate, costs.get, costs.read) if is_get else (costs.put_rate, costs.put, costs.post)
        uses = "get_rate get read" if is_get else "put_rate put post"
        single: dict[str, Any] = {"descriptors": 1, "request_seconds": each}
        wire = Constant(rate)
        # A buffer at the other end is filled or emptied by the helper there.
        asked = OneTimeCost("call of the helper", costs.put, only_following=True, kept=False)
        registering = OneTimeCost("registration", costs.register, per="buffer"), OneTimeCost("pages", costs.page, per="page")
        begun = max(0.0, first - each)
        yield self._channel(
            ChannelKind.REMOTE_MEMCPY, *ends, wire, "", begun, cards, uses=f"{uses} put", costs=(asked,), **single
        )
        pageable = f"node{here}.sys", f"node{there}.sys"
        yield self._channel(
            ChannelKind.REMOTE_MEMCPY, *pageable, wire, f"{pageable[0]}->{pageable[1]} on demand", begun, cards,
            uses=f"{uses} register page", costs=registering, **single,
        )  # fmt: skip
        yield self._channel(
            ChannelKind.ASSISTED_GET if is_get else ChannelKind.ASSISTED,
            *ends,
            LatencyBandwidth(costs.gather, rate),
            f"{ends[0]}->{ends[1]} assisted",
            costs.answered - costs.post if is_get else costs.answered + costs.put - costs.post,
            assisted,
            uses=f"{uses.split()[0]} put gather post answered helper",
            descriptors=RUNS,
            request_seconds=costs.post,
            costs=(asked,),
        )

    @staticmethod
    def _channel(
        kind: ChannelKind,
        source: str,
        destination: str,
        rate: Constant | LatencyBandwidth,
        name: str,
        setup: float = 0.0,
        resources: tuple[tuple[str, float], ...] = (),
        *,
        uses: str,
        **more: Any,
    ) -> Channel:
        """A channel; `uses` are the names of its costs."""
        said = origins_text(CallCosts, uses.split())
        return Channel(name, kind, source, destination, rate, setup, resources=resources, provenance=said, **more)


register_preset(
    PresetInfo(
        "armci-cluster",
        "nodes with InfiniBand or Myrinet, and one-sided calls: copies, zero-copy, and a helper that posts requests",
        {
            "busy": PresetOption(0.0, "the share of a processor of node 0 that its program takes, below 1"),
            "nodes": PresetOption(2, "how many nodes"),
            "call": PresetOption(GET, "what moves data between nodes", (GET, PUT)),
            "network": PresetOption(INFINIBAND, "the network", (INFINIBAND, MYRINET)),
        },
        armci_cluster,
    )
)
