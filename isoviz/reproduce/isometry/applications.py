"""The transfers of PageRank, VGG-16 and Circuit in an iteration, and their times by Isometry and by Realm (section 6.5, table 6).

The paper gives kinds of transfers, not sizes: "large" for PageRank, "varying" for the others; direct ones (ZCM → local FBM) and
ones of several hops (FBM → remote FBM). Everything beyond that is assumed. One GPU of each node of XStream takes part. With the
15 other nodes and one local transfer that makes the 16 paths per node of table 6, so this count tests nothing.

Channels are as in table 2: one of a kind on each node (one for each GPU), whichever memories it joins, so that all transfers of
a node share its network card, and those that a hub receives share the hub's. Where all nodes do the same, Isometry's side is
simulated with a node that sends and one that receives in place of all others: each gets from one other at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine
from isoviz.planner import Plan, Transfer, plan
from isoviz.reproduce.isometry import realm
from isoviz.reproduce.isometry.assumptions import cluster
from isoviz.runtime import Simulator
from isoviz.runtime.pipeline import work_of
from isoviz.scheduling.work import Work

if TYPE_CHECKING:
    from isoviz.reproduce.isometry.assumptions import Assumptions

VALUE = FieldSpace(value="float32")
LABEL = FieldSpace(label="int32")
VGG_WEIGHTS = 138_357_544
"""Parameters of VGG-16 with biases: 13 convolutions, 3 fully connected layers (Simonyan and Zisserman, configuration D)."""
VGG_OPERATIONS = 3 * 2 * 15.47e9
"""Floating-point operations per image: 15.47 · 10⁹ multiply-adds forward, twice as many backward."""
NHWC, NCHW = "<c, w, h, n>", "<w, h, c, n>"


class Move(NamedTuple):
    """A transfer: from a memory of a node to a memory of a node (`fbm0`, node 0)."""

    source: str
    here: int
    destination: str
    there: int
    space: IndexSpace
    fields: FieldSpace = VALUE
    source_layout: str = ""
    destination_layout: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes that move."""
        return self.space.volume * self.fields.nbytes

    @property
    def converts(self) -> bool:
        """Whether the layout changes."""
        return self.source_layout != self.destination_layout


Phase = tuple[Move, ...]
"""Transfers that are launched together; the next phase begins when all of them are done."""


@dataclass(frozen=True)
class Application:
    """An application: its cluster, and how many GPUs of a node take part.

    `phases(nodes)` are the transfers of an iteration on all nodes, `compute` the seconds it computes, before or after them.
    `alike` tells whether all nodes do the same, `hub` which node talks with all others.
    """

    name: str
    cluster: str
    gpus: int
    sizes: tuple[int, ...]
    phases: Callable[[int], tuple[Phase, ...]]
    compute: float
    alike: bool = True
    hub: int | None = None


def page_rank(given: Assumptions) -> Application:
    """Every node takes its partition's vertex values from ZCM to its GPU, and every GPU sends its partition's to all others."""
    space = IndexSpace(x=given.page_rank_bytes // VALUE.nbytes)
    gpus = given.page_rank_gpus

    def phases(nodes: int) -> tuple[Phase, ...]:
        own = [Move("zcm", node, f"fbm{k}", node, space) for node in range(nodes) for k in range(gpus)]
        return ((*own, *_to_all_others(nodes, space, gpus)),)

    return Application("PageRank", "xstream", gpus, (1, 2, 4, 8, 16), phases, given.page_rank_compute)


def vgg_16(given: Assumptions) -> Application:
    """Data parallel: every node takes a batch of images from SYS (NHWC) to its GPU (NCHW), with labels; then gradients are
    summed, each GPU collecting those of its n-th part of the weights, and the new weights sent to all others in the same way."""
    images = IndexSpace(w=224, h=224, c=3, n=given.vgg_batch)
    labels = IndexSpace(n=given.vgg_batch)

    def phases(nodes: int) -> tuple[Phase, ...]:
        batch = tuple(
            move
            for node in range(nodes)
            for move in (
                Move("sys", node, "fbm0", node, images, VALUE, NHWC, NCHW),
                Move("sys", node, "fbm0", node, labels, LABEL),
            )
        )
        loss = tuple(Move("fbm0", node, "sys", node, IndexSpace(n=1)) for node in range(nodes))
        part = _to_all_others(nodes, IndexSpace(x=-(-VGG_WEIGHTS // nodes)))
        return (batch, (*part, *loss), part) if nodes > 1 else (batch, loss)

    compute = given.vgg_batch * VGG_OPERATIONS / given.vgg_rate
    return Application("VGG-16", "xstream", 1, (1, 2, 4, 8, 16), phases, compute)


def circuit(given: Assumptions, compute: float = 0.0) -> Application:
    """The master's GPUs send to those of every other node and receive from them: three transfers of different sizes per GPU and
    direction. Every GPU takes its own piece from ZCM."""
    sizes = tuple(given.circuit_bytes // part for part in (1, given.circuit_ratio, given.circuit_ratio**2))
    spaces = [IndexSpace(x=max(1, nbytes // VALUE.nbytes)) for nbytes in sizes]

    def phases(nodes: int) -> tuple[Phase, ...]:
        own = [Move("zcm", node, f"fbm{k}", node, spaces[0]) for node in range(nodes) for k in range(2)]
        others = [(node, f"fbm{k}") for node in range(1, nodes) for k in range(2)]
        down = [Move(gpu, 0, gpu, node, space) for node, gpu in others for space in spaces]
        up = [Move(gpu, node, gpu, 0, space) for node, gpu in others for space in spaces]
        return (tuple(own + down + up),)

    return Application("Circuit", "moonlight", 2, (1, 2, 4, 8, 16, 32, 64), phases, compute, alike=False, hub=0)


def _to_all_others(nodes: int, space: IndexSpace, gpus: int = 1) -> Phase:
    """From every GPU to all others, each beginning with the next node, so that a node receives from one other at a time."""
    return tuple(
        Move(f"fbm{a}", node, f"fbm{b}", (node + step) % nodes, space)
        for step in range(nodes)
        for node in range(nodes)
        for a in range(gpus)
        for b in range(gpus)
        if step or a != b
    )


APPLICATIONS: dict[str, Callable[[Assumptions], Application]] = {
    "PageRank": page_rank,
    "VGG-16": vgg_16,
    "Circuit": circuit,
}
"""By the names of table 6."""


FULL_FROM = 16_000_000
"""Bytes from which the full planner plans, the simple one below (section 4.4)."""


class Features(NamedTuple):
    """The parts of Isometry that are switched on (figure 13): its own paths, pipelining, several requests in flight."""

    paths: bool = True
    pipelined: bool = True
    in_flight: bool = True


EVERYTHING = Features()


def transfer_of(move: Move, here: int, there: int) -> Transfer:
    """The transfer of a move between two nodes."""
    plain = f"<F, {', '.join(move.space)}>"
    layouts = [f"<F, {text.strip('<>')}>" if text else plain for text in (move.source_layout, move.destination_layout)]
    return Transfer.whole(
        move.space, move.fields, f"node{here}.{move.source}", layouts[0], f"node{there}.{move.destination}", layouts[1]
    )


def planner_of(move: Move) -> str:
    """The one of the paper's two planners that plans a transfer."""
    return "full" if move.nbytes >= FULL_FROM else "simple"


def isometry_seconds(application: Application, nodes: int, given: Assumptions, features: Features = EVERYTHING) -> float:
    """Seconds that the transfers of an iteration take."""
    machine = cluster(application.cluster, given, max(nodes, 2), application.gpus)
    fold = application.alike and nodes > 2
    total = 0.0
    for phase in application.phases(nodes):
        moves = _folded(phase) if fold else phase
        total += _phase(machine, tuple(moves), given, features, application)
    return total


def _folded(phase: Iterable[Move]) -> list[Move]:
    """The transfers of node 0, all to node 1, and those inside these two nodes."""
    moves = []
    for move in phase:
        if move.here == move.there and move.here < 2:
            moves.append(move)
        elif move.here == 0 != move.there:
            moves.append(move._replace(there=1))
    return moves


def _phase(machine: Machine, moves: tuple[Move, ...], given: Assumptions, features: Features, application: Application) -> float:
    simulator = Simulator(machine, request_bytes=given.request_bytes)
    two = cluster(application.cluster, given, 2, application.gpus)
    for move in moves:
        made, setup = _plan(two, move._replace(here=0, there=int(move.here != move.there)), given, features)
        nodes = (move.here, move.there)
        work = work_of(made, pipelined=features.pipelined, request_bytes=given.request_bytes)
        (path,) = work.paths
        full = made.chunk_payload
        last = made.bytes - (work.chunks - 1) * full
        times = []
        for hop, requests in zip(made.hops, work.requests, strict=True):
            channel = two.channel(hop.channel)
            lost = 0.0 if features.in_flight else _hidden(channel)
            times.append((full / hop.throughput / requests + lost, last / hop.throughput / requests + lost))
        engines = tuple(engine(two.channel(hop.channel), nodes, application.hub) for hop in made.hops)
        rings = tuple(ring._replace(memory=_at(ring.memory, nodes)) for ring in work.rings)
        placed = Work((path._replace(channels=engines, rings=rings),), work.priority)
        simulator.submit_work(placed, times, made.bytes, full, setup=setup)
    return simulator.run().seconds


def _hidden(channel: Channel) -> float:
    """Seconds of latency that a channel hides by having several requests in flight."""
    if isinstance(channel.throughput, LatencyBandwidth) or channel.max_in_flight == 1 or not channel.kind.crosses_nodes:
        return 0.0
    run, rate = channel.throughput.samples[0]
    return run / rate


@lru_cache(maxsize=1024)
def _plan(machine: Machine, move: Move, given: Assumptions, features: Features) -> tuple[Plan, float]:
    """A plan between two nodes, and the seconds that it takes to set up."""
    if not features.paths:
        machine = without_registered(machine, given.temporaries)
    made = plan(transfer_of(move, move.here, move.there), machine, planner_of(move) if features.paths else "spsl")
    return made, made.setup


@lru_cache(maxsize=16)
def without_registered(machine: Machine, kept: str) -> Machine:
    """A machine whose paths between GPUs go through one kind of host memory only, as Realm's do; direct channels stay."""
    passed = {memory.name for memory in machine.memories if memory.kind.is_host and memory.short_name != kept}

    def stays(channel: Channel) -> bool:
        direct = channel.source.partition(".")[0] == channel.destination.partition(".")[0]
        return channel.destination not in passed and (channel.source not in passed or direct)

    return replace(machine, channels=tuple(channel for channel in machine.channels if stays(channel)))


def realm_seconds(application: Application, nodes: int, given: Assumptions) -> float:
    """Seconds that the transfers of an iteration take with Realm."""
    two = cluster(application.cluster, given, 2, application.gpus)
    total = 0.0
    for phase in application.phases(nodes):
        orders = [realm.Order(_copies(two, move, given, application.hub)) for move in phase]
        total += max(realm.completion(orders, given.threads), default=0.0)
    return total


@lru_cache(maxsize=4096)
def _copies(machine: Machine, move: Move, given: Assumptions, hub: int | None) -> tuple[realm.Copy, ...]:
    """Realm's copies of a move. A conversion on the way to a GPU is done by a Memcpy before, or row by row by GPUWrite."""
    here, there = f"node0.{move.source}", f"node{int(move.here != move.there)}.{move.destination}"
    memories = realm.route(machine, here, there, given.temporaries)
    run = move.nbytes
    if move.converts and given.conversion == "memcpy":
        memories = (here, *memories)
    elif move.converts:
        run = move.fields.nbytes
    hops = []
    for a, b in pairwise(memories):
        copy = realm.single(machine, a, b, move.nbytes, run)
        node = move.here if given.worker == "launcher" else (move.here, move.there)[copy.node]
        hops.append(copy._replace(channel=engine(machine.channel(copy.channel), (move.here, move.there), hub), node=node))
    return tuple(hops)


def engine(channel: Channel, nodes: tuple[int, int], hub: int | None) -> str:
    """The engine that a channel between the nodes 0 and 1 (`nodes` in the cluster) works on: one of a kind per node, or per
    GPU."""
    source, destination = (_at(name, nodes) for name in (channel.source, channel.destination))
    if channel.kind is ChannelKind.REMOTE_MEMCPY:
        here, there = source.partition(".")[0], destination.partition(".")[0]
        return f"{there} network in" if there == f"node{hub}" else f"{here} network out"
    if channel.kind in (ChannelKind.GPU_READ, ChannelKind.GPU_COPY):
        return f"{source} {channel.kind}"
    if channel.kind is ChannelKind.GPU_WRITE:
        return f"{destination} {channel.kind}"
    return f"{source.partition('.')[0]} {channel.kind}"


def _at(memory: str, nodes: tuple[int, int]) -> str:
    """A memory of node 0 or 1 on the node that it stands for."""
    node, _, name = memory.partition(".")
    return f"node{nodes[int(node.removeprefix('node'))]}.{name}"
