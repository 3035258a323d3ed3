"""An iteration of an application by Isometry and by Realm: how long its transfers take (Isometry, section 6.5).

Channels are as in table 2: one of a kind on each node (one for each GPU), whichever memories it joins, so that all transfers of
a node share its network card, and those that a hub receives share the hub's. Where all nodes do the same, Isometry's side is
simulated with a node that sends and one that receives in place of all others: each gets from one other at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.bench.reproduce import realm
from isoviz.bench.reproduce.applications import Application, Move
from isoviz.bench.reproduce.assumptions import cluster
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine
from isoviz.planner import Plan, Transfer, plan
from isoviz.runtime import Simulator
from isoviz.runtime.scheduling.pipeline import work_of
from isoviz.runtime.scheduling.work import Work

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions

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
    found = []
    for move in phase:
        if move.here == move.there and move.here < 2:
            found.append(move)
        elif move.here == 0 != move.there:
            found.append(move._replace(there=1))
    return found


def _phase(machine: Machine, moves: tuple[Move, ...], given: Assumptions, features: Features, application: Application) -> float:
    simulator = Simulator(machine, request_bytes=given.request_bytes)
    two = cluster(application.cluster, given, 2, application.gpus)
    for move in moves:
        found, setup = _plan(two, move._replace(here=0, there=int(move.here != move.there)), given, features)
        nodes = (move.here, move.there)
        work = work_of(found, pipelined=features.pipelined, request_bytes=given.request_bytes)
        (path,) = work.paths
        full = found.chunk_payload
        last = found.bytes - (work.chunks - 1) * full
        times = []
        for hop, requests in zip(found.hops, work.requests, strict=True):
            channel = two.channel(hop.channel)
            lost = 0.0 if features.in_flight else _hidden(channel)
            times.append((full / hop.throughput / requests + lost, last / hop.throughput / requests + lost))
        engines = tuple(engine(two.channel(hop.channel), nodes, application.hub) for hop in found.hops)
        rings = tuple(ring._replace(memory=_at(ring.memory, nodes)) for ring in work.rings)
        placed = Work((path._replace(channels=engines, rings=rings),), work.priority)
        simulator.submit_work(placed, times, found.bytes, full, setup=setup)
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
    found = plan(transfer_of(move, move.here, move.there), machine, planner_of(move) if features.paths else "spsl")
    return found, found.setup


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
    found = []
    for a, b in pairwise(memories):
        copy = realm.single(machine, a, b, move.nbytes, run)
        node = move.here if given.worker == "launcher" else (move.here, move.there)[copy.node]
        found.append(copy._replace(channel=engine(machine.channel(copy.channel), (move.here, move.there), hub), node=node))
    return tuple(found)


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
