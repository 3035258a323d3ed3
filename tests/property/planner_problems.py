"""Random small transfer problems as plain data (see `brute_force`), and the same as a transfer, a machine and options."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, Constant, LatencyBandwidth, Limits, Machine, Memory, OneTimeCost, Resource, Sampled
from isoviz.machines.throughput import ThroughputFunction
from isoviz.planner import Options, Transfer

Problem = dict[str, Any]
Layout = tuple[Any, ...]

DTYPES = {1: "u1", 2: "<i2", 3: "S3", 4: "<f4", 8: "<f8", 16: "<c16"}
# Shapes with at most some 400 layouts of six components, for one field and for several.
SINGLE = [
    *((size,) for size in range(1, 14)),
    *((3, 2), (4, 2), (5, 2), (6, 2), (7, 2), (3, 3), (4, 3), (5, 3), (4, 4), (5, 4), (7, 3)),
    *((2, 3, 2), (3, 3, 2), (4, 2, 2)),
]
SEVERAL = [
    *((size,) for size in range(2, 14)),
    *((2, 2), (3, 2), (4, 2), (2, 4), (5, 2), (2, 5), (6, 2), (7, 2), (3, 3), (4, 3), (4, 4)),
    *((2, 2, 2), (2, 3, 2), (4, 2, 2)),
]
HOST = ("SYS", "REG", "ZCM")
RATES = (1e3, 2e3, 5e3, 1e4, 3e4, 1e5)


def random_problem(seed: int, *, non_nesting: bool = False, costs: bool = False) -> Problem:
    """A problem; with `non_nesting` the blocks of its ends need not divide a dimension, and often not each other (`regular`).

    With `costs` requests cost time, and some channels have a throughput of their own between different layouts.
    """
    draw = random.Random(f"{seed} {non_nesting}")
    count = draw.choice((1, 2, 2, 3, 4))
    fields = tuple(draw.choices(tuple(DTYPES), k=count)) if draw.random() < 0.5 else (draw.choice(tuple(DTYPES)),) * count
    shape = draw.choice(SINGLE if count == 1 else SEVERAL)
    sizes = dict(zip("xyz", shape, strict=False))
    source, destination = _ends(draw, sizes, count, non_nesting)
    for _ in range(draw.choice((0, 6)) if non_nesting else 0):
        if nest(sizes, source, destination):
            source, destination = _ends(draw, sizes, count, non_nesting)
    memories, channels, here, there = draw.choices((_machine, _relayed, _staged), weights=(6, 2, 3))[0](draw)
    problem: Problem = {
        "sizes": sizes,
        "fields": fields,
        "source": (here, source),
        "destination": (there, destination),
        "memories": memories,
        "channels": tuple(channels),
        "resources": {},
        "limits": {
            "slot_limit": 1 << 25,
            "memory_limit": None,
            "slots": draw.choice((2, 2, 2, 1, 3)),
            "overlap": draw.random() > 0.15,
        },
        "options": {"slot_limit": None, "memory_limit": None, "slots": None},
    }
    _add_resources(draw, problem)
    _add_limits(draw, problem)
    if costs:
        _add_costs(draw, problem)
    return problem


def regular(problem: Problem) -> bool:
    """Whether in every dimension the blocks of both ends divide each other and the dimension."""
    ends = problem["source"][1], problem["destination"][1]
    digits = [part for layout in ends for part in layout if part != "F"]
    return nest(problem["sizes"], *ends) and all(problem["sizes"][dim] % step == 0 for dim, step in digits)


def nest(sizes: dict[str, int], *layouts: Layout) -> bool:
    """Whether in every dimension the blocks of all layouts divide each other."""
    for dim in sizes:
        steps = sorted({part[1] for layout in layouts for part in layout if part[0] == dim})
        if any(above % below for below, above in itertools.pairwise(steps)):
            return False
    return True


def _ends(draw: random.Random, sizes: dict[str, int], fields: int, non_nesting: bool) -> tuple[Layout, Layout]:
    """Layouts of both ends. Blocks are taken from one chain of divisors of each dimension unless they may be any."""
    found = []
    nested = {dim: _chain(draw, size) for dim, size in sizes.items()}
    for _ in range(2):
        steps = {}
        for dim, size in sizes.items():
            cuts = draw.choice((0, 0, 0, 1, 1, 2))
            if non_nesting and cuts and size > 2:
                steps[dim] = [draw.randrange(2, size)]
                steps[dim] += [step for step in (2 * steps[dim][0],) if cuts == 2 and step < size]
            else:
                steps[dim] = sorted(draw.sample(nested[dim], min(cuts, len(nested[dim]))))
        while sum(map(len, steps.values())) + len(sizes) + 1 > 5:
            max(steps.values(), key=len).pop()
        parts: list[Any] = ["F", *((dim, step) for dim in sizes for step in (1, *steps[dim]))]
        draw.shuffle(parts)
        found.append(_merged(parts, sizes))
    if draw.random() < 0.08:
        found[1] = found[0]
    return found[0], found[1]


def _chain(draw: random.Random, size: int) -> list[int]:
    """Proper divisors of a size, each a divisor of the next."""
    found: list[int] = []
    step = 1
    while larger := [k for k in range(2 * step, size, step) if size % k == 0]:
        step = draw.choice(larger)
        found.append(step)
    return found


def _merged(parts: list[Any], sizes: dict[str, int]) -> Layout:
    """Digits side by side that are one as one: the last of them would else be padded where its block does not divide."""
    ends = {}
    for dim in sizes:
        steps = sorted(part[1] for part in parts if part != "F" and part[0] == dim)
        ends.update({(dim, step): end for step, end in itertools.pairwise(steps)})
    kept = parts[:1]
    for before, part in itertools.pairwise(parts):
        if before == "F" or part == "F" or part[0] != before[0] or ends.get(before) != part[1]:
            kept.append(part)
    return tuple(kept)


# ---- machines


def _throughput(draw: random.Random) -> tuple[Any, ...]:
    kind, top = draw.randrange(6), draw.choice(RATES) * draw.choice((1, 1, 0.7, 1.3))
    if kind == 0:
        return ("constant", top)
    if kind <= 2:
        return ("latency", draw.choice((1, 4, 16, 60, 250)) / top, top)
    runs = sorted(draw.sample((1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 200, 300), draw.randint(1, 5)))
    if kind == 3:  # concave: slopes in the logarithms fall
        slopes = sorted((draw.random() for _ in runs[1:]), reverse=True)
        rates = [top / 20]
        for slope, (low, high) in zip(slopes, itertools.pairwise(runs), strict=True):
            rates.append(rates[-1] * (high / low) ** slope)
    elif kind == 4:  # anything that does not fall
        rates = sorted(top * draw.choice((0.01, 0.02, 0.1, 0.3, 0.5, 0.9, 1)) for _ in runs)
    else:  # steep jumps: next to nothing below a length, everything from it on
        at = draw.choice(runs)
        runs = [1, *([at * 0.999] if at > 1.01 else []), *([at] if at > 1 else [])]
        rates = [top / 100, top / 90, top][: len(runs)]
    return ("samples", tuple(zip(map(float, runs), rates, strict=True)))


def _channel(draw: random.Random, memories: dict[str, Any], here: str, there: str, taken: list[dict[str, Any]]) -> dict[str, Any]:
    kind = _kind(memories[here], memories[there])
    number = sum((channel["source"], channel["destination"]) == (here, there) for channel in taken)
    return {
        "name": f"{here}->{there}" + (f"#{number}" if number else ""),
        "kind": kind,
        "source": here,
        "destination": there,
        "throughput": _throughput(draw),
        "setup": draw.choice((0.0, 0.0, 0.001, 0.01, 0.05)),
        "resources": (),
    }


def _kind(here: dict[str, Any], there: dict[str, Any]) -> str | None:
    """The kind of channel that may join two memories; None where none may."""
    ends = tuple("HOST" if memory["kind"] in HOST else memory["kind"] for memory in (here, there))
    if here["node"] != there["node"]:
        return "RemoteMemcpy" if ends == ("HOST", "HOST") else None
    return {
        ("HOST", "HOST"): "Memcpy",
        ("FBM", "HOST"): "GPURead",
        ("HOST", "FBM"): "GPUWrite",
        ("FBM", "FBM"): "GPUCopy",
        ("DSK", "HOST"): "DiskRead",
        ("HOST", "DSK"): "DiskWrite",
    }.get(ends)


def _memory(draw: random.Random, node: int, kinds: Sequence[str] = (*HOST, *HOST, "FBM", "DSK")) -> dict[str, Any]:
    return {"kind": draw.choice(kinds), "node": node, "capacity": None, "slot_limit": None}


def _machine(draw: random.Random) -> tuple[dict[str, Any], list[dict[str, Any]], str, str]:
    """Two to six memories on up to three nodes, channels at random; now and then nothing leads to the destination."""
    nodes = draw.randint(1, 3)
    memories = {f"m{k}": _memory(draw, draw.randrange(nodes)) for k in range(draw.randint(2, 6))}
    if not any(memory["kind"] in HOST for memory in memories.values()):
        memories["m0"]["kind"] = "SYS"
    here, there = draw.choices(list(memories), k=2) if draw.random() < 0.1 else draw.sample(list(memories), 2)
    if draw.random() < 0.95:  # a host memory on every node in use, and no more nodes than have one
        hosts = [memory["node"] for memory in memories.values() if memory["kind"] in HOST]
        for memory in memories.values():
            memory["node"] = memory["node"] if memory["node"] in hosts else draw.choice(hosts)
    legal = [(a, b) for a in memories for b in memories if _kind(memories[a], memories[b])]
    channels: list[dict[str, Any]] = []
    draw.shuffle(legal)
    loops = [pair for pair in legal if pair[0] == pair[1]][: draw.randint(0, 3)]
    most = draw.randint(len(memories) - 1, 10)
    patience = 0 if draw.random() < 0.03 else 14
    for a, b in [*loops, *(pair for pair in legal if pair[0] != pair[1])]:
        if len(channels) < most or (len(channels) < patience and not _reaches(channels, here, there)):
            channels += [_channel(draw, memories, a, b, channels)]
            if draw.random() < 0.1:
                channels += [_channel(draw, memories, a, b, channels)]
    return memories, channels, here, there


def _reaches(channels: list[dict[str, Any]], here: str, there: str) -> bool:
    found: set[str] = set()
    news = {here}
    while news:
        news = {channel["destination"] for channel in channels if channel["source"] in news} - found
        found |= news
    return there in found


def _relayed(draw: random.Random) -> tuple[dict[str, Any], list[dict[str, Any]], str, str]:
    """A slow way between two nodes, and a fast one over a third."""
    memories = {f"n{node}.{kind}": _memory(draw, node, (kind,)) for node in range(3) for kind in ("SYS",)}
    extra = draw.randrange(3)
    for k in range(extra):
        memories[f"e{k}"] = _memory(draw, k % 3, ("REG", "ZCM", "FBM"))
    channels: list[dict[str, Any]] = []
    for a, b in [("n0.SYS", "n1.SYS"), ("n1.SYS", "n2.SYS"), ("n0.SYS", "n2.SYS")]:
        channels.append(_channel(draw, memories, a, b, channels))
    channels[2]["throughput"] = ("latency", 0.01, draw.choice((300.0, 1e3)))
    legal = [(a, b) for a in memories for b in memories if _kind(memories[a], memories[b])]
    draw.shuffle(legal)
    for a, b in legal[: draw.randint(0, 5)]:
        channels.append(_channel(draw, memories, a, b, channels))
    return memories, channels, "n0.SYS", "n2.SYS"


def _staged(draw: random.Random) -> tuple[dict[str, Any], list[dict[str, Any]], str, str]:
    """Ends that need long runs, and something between them that does not: the layout is best converted on the way."""
    inner = draw.randint(1, 3)
    memories = {f"s{k}": _memory(draw, 0, HOST) for k in range(inner + 2)}
    memories["s0"]["kind"], memories[f"s{inner + 1}"]["kind"] = (
        draw.choice(("SYS", "DSK", "FBM")),
        draw.choice(("SYS", "DSK", "FBM")),
    )
    channels: list[dict[str, Any]] = []
    for k in range(inner + 1):
        channels.append(_channel(draw, memories, f"s{k}", f"s{k + 1}", channels))
        channels[-1]["setup"] = draw.choice((0.0, 0.0, 0.001))
        if 0 < k < inner and draw.random() < 0.7:
            channels[-1]["throughput"] = ("constant", draw.choice(RATES[2:]))
        elif k in (0, inner):
            top = draw.choice(RATES)
            channels[-1]["throughput"] = draw.choice(
                [("latency", draw.choice((30, 200, 1000)) / top, top), ("samples", ((draw.choice((16.0, 40.0, 120.0)), top),))]
            )
    for name in draw.sample([f"s{k + 1}" for k in range(inner)], 1 if inner < 3 else draw.randint(0, 1)):
        channels.append(_channel(draw, memories, name, name, channels))
        channels[-1]["throughput"] = draw.choice([("constant", draw.choice(RATES[2:])), _throughput(draw)])
        channels[-1]["setup"] = draw.choice((0.0, 0.0, 0.001))
    if draw.random() < 0.3:
        legal = [(a, b) for a in memories for b in memories if _kind(memories[a], memories[b])]
        channels.append(_channel(draw, memories, *draw.choice(legal), channels))
    return memories, channels, "s0", f"s{inner + 1}"


# ---- layout changes and requests


def _add_costs(draw: random.Random, problem: Problem) -> None:
    for channel in problem["channels"]:
        channel["request"] = draw.choice((0.0, 0.0001, 0.001, 0.001, 0.01))
        channel["layouts"] = None if draw.random() < 0.5 else _throughput(draw)


# ---- limits


def _add_resources(draw: random.Random, problem: Problem) -> None:
    if draw.random() < 0.25:
        problem["resources"] = {name: draw.choice(RATES) for name in ("bus", "link")[: draw.randint(1, 2)]}
        for channel in problem["channels"]:
            names = [name for name in problem["resources"] if draw.random() < 0.5]
            channel["resources"] = tuple((name, draw.choice((0.0, 0.5, 1.0, 2.0))) for name in names)


def _add_limits(draw: random.Random, problem: Problem) -> None:
    entry, payload = sum(problem["fields"]), _payload(problem)
    options, limits = problem["options"], problem["limits"]
    tight = draw.choice(("loose", "loose", "middle", "tight", "few"))
    slot = {
        "loose": 1 << 25,
        "middle": draw.randint(max(1, payload // 2), payload + 1),
        "tight": draw.randint(entry, max(entry, payload // 2)),
        "few": entry * draw.randint(1, 3) + draw.choice((0, 0, 1)),
    }[tight]
    (options if draw.random() < 0.5 else limits)["slot_limit"] = slot
    if draw.random() < 0.2:
        options["slots"] = draw.choice((1, 2, 3))
    if draw.random() < 0.25:
        draw.choice((options, limits))["memory_limit"] = draw.randint(entry * 2, payload * 6)
    both = [_bound(problem, problem[end][1]) for end in ("source", "destination")]
    for name, memory in problem["memories"].items():
        if draw.random() < 0.15:
            memory["slot_limit"] = draw.randint(entry, payload + 1)
        if draw.random() < 0.15:
            taken = sum(need for end, need in zip(("source", "destination"), both, strict=True) if problem[end][0] == name)
            memory["capacity"] = max(1, taken + draw.randint(entry, payload * 4))


def _payload(problem: Problem) -> int:
    return math.prod(problem["sizes"].values()) * sum(problem["fields"])


def _bound(problem: Problem, layout: Layout) -> int:
    """Bytes of an instance, padding included."""
    found = sum(problem["fields"])
    for dim, size in problem["sizes"].items():
        top = max(part[1] for part in layout if part != "F" and part[0] == dim)
        found *= top * -(-size // top)
    return found


# ---- the same as values of the package


def text(layout: Layout) -> str:
    """A layout in notation: `<x_in=4, F, x_out>`."""
    steps: dict[str, list[int]] = {}
    for part in layout:
        if part != "F":
            steps.setdefault(part[0], []).append(part[1])
    names = []
    for part in layout:
        if part == "F":
            names.append("F")
            continue
        dim, step = part[0], part[1]
        ranks = sorted(steps[dim])
        rank, count = ranks.index(step), len(ranks)
        label = "" if count == 1 else ("_in", "_out")[rank] if count == 2 else f"_{rank}"
        names.append(f"{dim}{label}" + (f"={ranks[rank + 1] // step}" if rank + 1 < count else ""))
    return f"<{', '.join(names if 'F' in names else ['F', *names])}>"


def throughput(given: tuple[Any, ...]) -> ThroughputFunction:
    kind, *rest = given
    return {"constant": Constant, "latency": LatencyBandwidth, "samples": Sampled}[kind](*rest)


def _built(given: dict[str, Any]) -> Channel:
    known = {name: value for name, value in given.items() if name not in ("throughput", "layouts", "request", "prepares")}
    costs = [OneTimeCost(f"c{k}", seconds, per, kept=kept) for k, (seconds, per, kept) in enumerate(given.get("prepares", ()))]
    layouts, request = given.get("layouts"), given.get("request", 0.0)
    return Channel(
        **known,
        throughput=throughput(given["throughput"]),
        layout_throughput=None if layouts is None else throughput(layouts),
        request_seconds=request,
        costs=costs,
    )


def build(problem: Problem) -> tuple[Transfer, Machine, Options]:
    """A problem for `plan(transfer, machine, planner, options)`."""
    space = IndexSpace.of(problem["sizes"])
    fields = FieldSpace.of({f"f{k}": DTYPES[size] for k, size in enumerate(problem["fields"])})
    (here, source), (there, destination) = problem["source"], problem["destination"]
    machine = Machine(
        "random",
        [Memory(name, **memory) for name, memory in problem["memories"].items()],
        [_built(channel) for channel in problem["channels"]],
        [Resource(name, capacity) for name, capacity in problem["resources"].items()],
        Limits(**problem["limits"]),
    )
    transfer = Transfer.whole(space, fields, here, text(source), there, text(destination))
    return transfer, machine, Options(**problem["options"], reuse=problem.get("reuse"))
