"""Plans by hand that use a channel several times, on one path or on several: predicted and simulated time, on random machines."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable
from typing import Any

from isoviz import FieldSpace, IndexSpace, cost
from isoviz.errors import InputError, LimitError, TransferError
from isoviz.layouts import Box
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, Resource, Sampled
from isoviz.planner import Options, Plan, Transfer, plan_of_paths
from isoviz.planner.time.spread import spread_prediction
from isoviz.runtime import simulate

Report = Callable[[str, object], None]
KIB, MIB = 1 << 10, 1 << 20
HOSTS, GPU = ("a", "b", "c", "z"), "g"
PAIRS = [("a", "b"), ("b", "c"), ("c", "b"), ("b", "a"), ("c", "z"), ("b", "z"), ("z", "c"), ("a", "z"), ("a", "g"), ("g", "z")]
LAYOUTS = ("<F, x, y>", "<y, x, F>", "<x, F, y>", "<F, x_in=4, y, x_out>")
FIELDS = FieldSpace(re="f4", im="f8")


def kind_of(here: str, there: str) -> ChannelKind:
    ends = here == GPU, there == GPU
    return {
        (False, False): ChannelKind.MEMCPY,
        (True, False): ChannelKind.GPU_READ,
        (False, True): ChannelKind.GPU_WRITE,
        (True, True): ChannelKind.GPU_COPY,
    }[ends]


def random_machine(draw: random.Random) -> Machine:
    """Four host memories and a GPU, each with a self-loop; rates with their spread, requests in flight, shared resources."""
    resources = [
        Resource(f"bus{k}", draw.choice((1.0, 2.0)) if held else draw.choice((1e9, 3e9, 1e10)), held=held)
        for k, held in enumerate(draw.choices((False, True), k=draw.choice((0, 0, 0, 1, 2))))
    ]

    def function() -> Any:
        top = draw.choice((1e9, 1e9, 2e9, 4e9, draw.uniform(5e8, 8e9)))
        if draw.random() < 0.3:
            return LatencyBandwidth(draw.choice((1e-7, 1e-6)), top)
        return Sampled(((64.0, top / 3), (4096.0, top)), spread=(0.2, draw.choice((0.0, 0.1, 0.3))))

    channels = [
        Channel(
            "",
            kind_of(here, there),
            here,
            there,
            function(),
            setup=draw.choice((0.0, 0.0, 1e-4)),
            max_in_flight=draw.choice((None, None, 1, 2, 3, 8)),
            resources=tuple(
                (each.name, 1.0 if each.held else draw.choice((0.5, 1.0, 2.0))) for each in resources if draw.random() < 0.5
            ),
        )
        for here, there in [*PAIRS, *((name, name) for name in (*HOSTS, GPU))]
    ]
    limits = Limits(slots=draw.choice((1, 2, 2, 2, 3, 4)), overlap=draw.random() > 0.1)
    memories = [*(Memory(name, MemoryKind.SYS) for name in HOSTS), Memory(GPU, MemoryKind.FBM)]
    return Machine("looped", memories, channels, resources=resources, limits=limits)


def random_walk(draw: random.Random, machine: Machine, here: str, there: str) -> list[str]:
    """Two to six channels from a memory to another one; every second is a self-loop, so many are used more than once."""
    while True:
        at, walk = here, list[str]()
        for _ in range(draw.randint(2, 6)):
            onwards = machine.outgoing(at)
            loop = next(each for each in onwards if each.is_self_loop)
            channel = loop if draw.random() < 0.5 else draw.choice(onwards)
            walk.append(channel.name)
            at = channel.destination
        if at == there:
            return walk


def random_plan(seed: int) -> tuple[Plan, Machine]:
    """A plan of one to three paths, of a single chunk up to a few hundred."""
    draw = random.Random(seed)
    while True:
        machine = random_machine(draw)
        here = draw.choice(HOSTS)
        ends = here, draw.choice((here, "z"))
        space = IndexSpace(x=draw.choice((64, 100, 256)), y=draw.choice((64, 333, 1024, 8192)))
        chunk = space.volume * FIELDS.nbytes // draw.choice((1, 2, 3, 5, 8, 20, 30, 60, 120))
        layout, other = draw.choice(LAYOUTS), draw.choice(LAYOUTS)
        moved = Transfer.whole(space, FIELDS, ends[0], layout, ends[1], draw.choice((layout, other)))
        options = Options(slot_limit=1 << 30)
        count = draw.choice((1, 1, 2, 3))
        walks = [random_walk(draw, machine, *ends) for _ in range(count)]
        if count > 1 and draw.random() < 0.5:
            walks[1] = walks[0]
        try:
            if count == 1:
                made = cost(moved, machine, walks[0], chunk=chunk, options=options)
            elif draw.random() < 0.5:
                cuts = [0, *sorted(draw.sample(range(1, space["y"]), count - 1)), space["y"]]
                given = [
                    (Box((0, low), (space["x"], high)), walk, (), chunk)
                    for walk, (low, high) in zip(walks, itertools.pairwise(cuts), strict=True)
                ]
                made = plan_of_paths(moved, machine, given, options=options)
            else:
                chunks = cost(moved, machine, walks[0], chunk=chunk, options=options).chunk_count
                cuts = [0, *sorted(draw.sample(range(1, chunks), count - 1)), chunks]
                runs = [range(low, high) for low, high in itertools.pairwise(cuts)]
                sized = [(runs[0], walks[0], (), chunk), *zip(runs[1:], walks[1:], strict=True)]
                made = plan_of_paths(moved, machine, sized, options=options)
        except (LimitError, TransferError, InputError, ValueError):  # too few chunks, or chunks smaller than a block
            continue
        if made.chunk_count <= 400:
            return made, machine


def test_predicted_is_simulated(report: Report, full: bool) -> None:
    """A pipeline of 20 chunks or more takes the predicted time within a hundredth, any other one is in the interval."""
    errors, worst, outside = [], (0.0, -1), []
    for seed in range(2000 if full else 60):
        made, machine = random_plan(seed)
        found = simulate(made, machine).end
        error = abs(found / made.seconds - 1)
        errors.append(error)
        worst = max(worst, (error, seed))
        said = spread_prediction(made, machine)
        low, high = (made.seconds, made.seconds) if said is None else (said.low, said.high)
        if made.chunk_count >= 20 * len(made.paths):
            low, high = max(low, made.seconds / 1.01), min(high, made.seconds * 1.01)
        if not low * (1 - 1e-9) <= found <= high * (1 + 1e-9):
            outside.append(seed)
    errors.sort()
    middle, high = statistics.median(errors), errors[len(errors) * 95 // 100]
    report("plans by hand that share channels: error median, p95, worst", f"{middle:.2g} {high:.2g} {worst[0]:.2g} ({worst[1]})")
    assert not outside, f"{len(outside)} of {len(errors)}, such as seeds {outside[:5]}"
