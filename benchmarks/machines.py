"""Machines on which planning is measured: small ones, dense ones, and clusters; the same in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, Resource, preset


def ring(count: int, ahead: int, seed: int = 0) -> Machine:
    """Memories in a ring, each with own links to the next `ahead` ones; all-to-all with `count` − 1."""
    draw = random.Random(seed)  # noqa: S311  no secret
    channels = [
        Channel("", ChannelKind.MEMCPY, f"m{k}", f"m{(k + step) % count}", _link(draw))
        for k in range(count)
        for step in range(1, ahead + 1)
    ]
    return Machine(f"ring {count}/{ahead}", tuple(Memory(f"m{k}", MemoryKind.SYS) for k in range(count)), tuple(channels))


def chain(stages: int, parallel: int, seed: int = 0) -> Machine:
    """Memories in a row, joined by `parallel` channels each."""
    draw = random.Random(seed)  # noqa: S311
    channels = [
        Channel(f"{k}/{way}", ChannelKind.MEMCPY, f"m{k}", f"m{k + 1}", _link(draw))
        for k in range(stages)
        for way in range(parallel)
    ]
    return Machine(f"chain {stages}", tuple(Memory(f"m{k}", MemoryKind.SYS) for k in range(stages + 1)), tuple(channels))


def torus(side: int, *, resources: bool = False) -> Machine:
    """Nodes in a square whose ends meet, a link to each of four neighbours; each link may be a resource of its own."""
    nodes = [(x, y) for x in range(side) for y in range(side)]
    name = {at: f"node{k}.sys" for k, at in enumerate(nodes)}
    channels = [Channel("", ChannelKind.MEMCPY, here, here, LatencyBandwidth(2e-8, 1e10)) for here in name.values()]
    links = []
    for x, y in nodes:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            here, there = name[x, y], name[(x + dx) % side, (y + dy) % side]
            used = ((f"{here} {there}", 1.0),) if resources else ()
            links += [Resource(f"{here} {there}", 2e9)] if resources else []
            channels.append(Channel("", ChannelKind.REMOTE_MEMCPY, here, there, LatencyBandwidth(1e-6, 2e9), resources=used))
    memories = tuple(Memory(each, MemoryKind.SYS, node=k) for k, each in enumerate(name.values()))
    return Machine(f"torus {side}", memories, tuple(channels), resources=tuple(links))


def _link(draw: random.Random) -> LatencyBandwidth:
    return LatencyBandwidth(10 ** draw.uniform(-8, -5.5), 10 ** draw.uniform(9, 10.5))


class Place(NamedTuple):
    """A machine with two memories far from each other, and the family it belongs to."""

    family: str
    machine: Callable[[], Machine]
    source: str
    destination: str


def _ring(count: int, ahead: int, family: str) -> Place:
    return Place(family, partial(ring, count, ahead), "m0", f"m{count - 1}")


PLACES: Mapping[str, Place] = MappingProxyType(
    {
        "6 memories, all-to-all": _ring(6, 5, "all-to-all"),
        "10 memories, all-to-all": _ring(10, 9, "all-to-all"),
        "20 memories, all-to-all": _ring(20, 19, "all-to-all"),
        "30 memories, all-to-all": _ring(30, 29, "all-to-all"),
        "40 memories, all-to-all": _ring(40, 39, "all-to-all"),
        "50 memories, 5 links each": _ring(50, 5, "some links each"),
        "100 memories, 10 links each": _ring(100, 10, "some links each"),
        "200 memories, 10 links each": _ring(200, 10, "some links each"),
        "10 stages, 3 channels each": Place("stages", partial(chain, 10, 3), "m0", "m10"),
        "20 stages, 3 channels each": Place("stages", partial(chain, 20, 3), "m0", "m20"),
        "torus of 64 nodes": Place("torus", partial(torus, 8), "node0.sys", "node36.sys"),
        "torus of 256 nodes": Place("torus", partial(torus, 16), "node0.sys", "node136.sys"),
        "torus of 256 nodes, links as resources": Place("torus", partial(torus, 16, resources=True), "node0.sys", "node136.sys"),
        "sapling, 2 nodes": Place("presets", partial(preset, "sapling"), "node0.fbm0", "node1.fbm0"),
        "sapling, 64 nodes": Place("presets", partial(preset, "sapling", nodes=64), "node0.fbm0", "node5.fbm0"),
        "dgx-h100-pair": Place("presets", partial(preset, "dgx-h100-pair"), "node0.fbm0", "node1.fbm3"),
    }
)
"""Name → place."""
