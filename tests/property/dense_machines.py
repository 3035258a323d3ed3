"""Random machines with all that a machine may have, and transfers through them; seeded."""

from __future__ import annotations

import random

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, Constant, LatencyBandwidth, Limits, Machine, Memory, Resource, Sampled
from isoviz.machines.throughput import ThroughputFunction
from isoviz.planner import Transfer

COMPLEX = FieldSpace(re="float32", im="float32")


def transposed(source: str, destination: str, layouts: tuple[str, str] = ("<F, x, y>", "<y, x, F>")) -> Transfer:
    """A transfer of 6 MiB."""
    return Transfer.whole(IndexSpace(x=1024, y=768), COMPLEX, source, layouts[0], destination, layouts[1])


def medium(seed: int) -> tuple[Machine, Transfer]:
    """Three to five memories with channels of all kinds, limits, resources and one-time costs; any permutation."""
    draw = random.Random(seed)
    count = draw.choice((3, 4, 5, 5))
    memories = []
    for k in range(count):
        own = 1 << 16 if draw.random() < 0.07 else None
        memories.append(Memory(f"m{k}", draw.choice(("SYS", "REG", "ZCM")), node=k % 3, slot_limit=own))
    shared = [Resource(f"r{k}", 10 ** draw.uniform(8.7, 10.3)) for k in range(draw.choice((0, 0, 1, 2)))]
    density = draw.uniform(0.3, 1)
    channels = []
    for here in memories:
        for there in memories:
            if draw.random() > (0.4 if here is there else density):
                continue
            for way in range(draw.choice((1, 1, 1, 2))):
                kind = "Memcpy" if here.node == there.node else "RemoteMemcpy"
                uses = tuple((each.name, draw.choice((0.5, 1.0, 2.0))) for each in shared if draw.random() < 0.4)
                setup = draw.choice((0.0, 0.0, 1e-5))
                name = f"{here.name}>{there.name}/{way}"
                channels.append(Channel(name, kind, here.name, there.name, _function(draw), setup=setup, resources=uses))
    limits = Limits(
        slot_limit=draw.choice((1 << 25, 1 << 20, 1 << 14)),
        memory_limit=draw.choice((None, None, 1 << 22)),
        slots=draw.choice((2, 2, 2, 3, 1)),
        overlap=draw.random() > 0.1,
        chunk_seconds=draw.choice((0.0, 0.0, 0.0, 1e-5)),
    )
    machine = Machine(f"medium {seed}", tuple(memories), channels, resources=shared, limits=limits)
    dims = "xyz"[: draw.choice((1, 2, 2, 3))]
    space = IndexSpace.of({dim: draw.choice((16, 60, 97, 128, 360)) for dim in dims})
    types = ("float32", "float32", "float64", "int8")
    fields = FieldSpace.of({f"f{k}": draw.choice(types) for k in range(draw.choice((1, 2, 3)))})
    here, there = draw.choice(memories), draw.choice(memories)
    ends = (here.name, _order(draw, dims)), (there.name, _order(draw, dims))
    return machine, Transfer.whole(space, fields, *ends[0], *ends[1])


def _order(draw: random.Random, dims: str) -> str:
    parts = ["F", *dims]
    draw.shuffle(parts)
    return f"<{', '.join(parts)}>"


def _function(draw: random.Random) -> ThroughputFunction:
    kind = draw.random()
    if kind < 0.6:
        return LatencyBandwidth(10 ** draw.uniform(-8, -5.5), 10 ** draw.uniform(9, 10.5))
    if kind < 0.7:
        return Constant(10 ** draw.uniform(8.5, 10.5))
    runs = sorted(draw.sample([8, 16, 64, 256, 4096, 65536, 1 << 20], draw.randint(1, 4)))
    rates = sorted(10 ** draw.uniform(7, 10.5) for _ in runs)
    return Sampled(tuple((float(run), rate) for run, rate in zip(runs, rates, strict=True)))
