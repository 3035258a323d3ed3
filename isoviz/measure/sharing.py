"""Shared resources, derived from channels that were measured in pairs.

**Measurement.** For every pair: the rates a, b of both channels alone, and a′, b′ while both work. The shares that they keep are
x = a′/a and y = b′/b. Then x + y is 1 if the two take turns, and 2 if they do not affect each other.

**A device** (the channels to and from one disk) is held by a channel while it works. This holds for large and small requests: a
file copy on a disk runs at the rate κ / (1/a + 1/b), where a and b are the rates of reading and writing with the same chunks. κ
is the same for chunks of 128 KiB and of 8 MiB, little above 1. So the device is a held resource with capacity κ = x + y and
weight 1 for both channels. A path that reads and writes at once has TP × (1/a + 1/b) ≤ κ for all chunk sizes.

**The memory** is the memory bus, the processors, or both. Channel i alone takes the part uᵢ ≤ 1 of it. Two channels that slow
each other down use all of it, so u₁ x + u₂ y = 1: one equation for each pair. Two copies at once on one channel, which keeps x
and y of its rate, give u = 1 / (x + y). Every other channel beside that copy then gives its own part (1 − u x) / y.

A bus is used by the byte: with capacity C and weights wᵢ, uᵢ = wᵢ aᵢ / C. A copy reads and writes every byte, so its weight is 2,
and the capacity is in bytes per second through the memory. Processors are held: a conversion at a fifth of the rate of a copy
still takes a whole processor. A disk whose bytes are moved by a host processor suffers equally from both. A conversion measured
beside the same channels decides between the two cases. Its gain x + y is close either to the gain of copies (held), or to the
gain expected if only its bytes counted (by the byte). A held memory has capacity 1, and the weights are the parts.

In the memory model alone, the slower of two channels keeps its rate and the faster one gets the rest. In measurements both lose.
So **a channel beside a copy** is a resource, too. The channel holds it with weight 1, and a copy with (1 − y′) / x′, so that both
at once use all of it. Here x′ and y′ are the shares that a conversion and the channel keep, because most copies on the way to a
disk convert.

**A link** (`link_resource`) has one throughput, in bytes per second, which its channels share.

Pairs that keep almost all of their rate share no resource.

**GPUs.** These pairs of their channels are measured:

- *The memory of a GPU*: its copies beside each other, and beside its channels to and from pinned memory.
- *The link of a GPU*: its channels to and from pinned memory at once. PCIe carries both directions in full; then there is nothing
  to share.
- *A link of several GPUs*: channels of two GPUs in one direction. GPUs behind one switch share it, those that share with each
  other form a group.
- *The link between two GPUs*: both directions at once, and each of them beside the channels to and from the host. A peer copy
  that is much faster than those uses another link (NVLink), and is not compared.
- *The memory of the host*: a copy of the processor beside the channels of a GPU.

The channels of main memory, and the zero-copy ones of pinned memory, use the same resources as the copy engines of pinned memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from isoviz.machines import Channel, Machine, Resource
from isoviz.machines.measurement import Pair
from isoviz.measure import tuning
from isoviz.measure.channel_timer import NeverTogether
from isoviz.measure.gpus.gpu_parts import SYS, ZCM, gpu_memories

Found = tuple[Resource, dict[str, float]]
"""A resource, and the cost of a byte in it by channel."""


def device_resource(name: str, pair: Pair, provenance: str) -> Found | None:
    """The device behind two channels, and the weight of each channel. None if they share nothing."""
    # They work at one rate, so the faster one is sometimes idle even if they share nothing.
    slower, faster = sorted(pair.alone)
    if pair.gain >= tuning.SHARES_NOTHING / 2 * (1 + slower / faster):
        return None
    capacity = max(pair.gain, 1.0)  # A gain below 1 would be slower than taking turns: that is noise.
    return Resource(name, _rounded(capacity), provenance, held=True), {pair.first: 1.0, pair.second: 1.0}


def beside_copies(name: str, pair: Pair, provenance: str) -> Found | None:
    """The resource by which a copy (first of the pair) slows another channel down; None if the loss is small."""
    x, y = pair.shares
    part = (1 - min(y, 1.0)) / min(x, 1.0)
    if part < tuning.LEAST_LOSS:
        return None
    return Resource(name, 1.0, provenance, held=True), {pair.second: 1.0, pair.first: _rounded(min(part, 1.0))}


def memory_resource(
    name: str,
    copies: Pair,
    others: Sequence[Pair],
    peaks: Mapping[str, float],
    provenance: str,
    conversions: Sequence[Pair] = (),
) -> Found | None:
    """The resource that a copy within a memory shares with another copy and with the channels to and from it; None if nothing.

    `copies` is the pair of two copies on one channel. `others` are pairs of that channel (first) with others (second).
    `conversions` are the same pairs with something slow instead of the copy, in the same order (none: used by the byte).
    """
    own = _own(copies)
    parts = {copies.first: own, **{pair.second: part_beside_copies(copies, pair) for pair in others}}
    if copies.gain >= tuning.SHARES_NOTHING and not any(
        part >= tuning.LEAST_PART for channel, part in parts.items() if channel != copies.first
    ):
        return None
    if is_held(own, parts, others, conversions):
        found = {channel: _rounded(part) for channel, part in parts.items() if part >= tuning.LEAST_PART}
        return Resource(name, 1.0, provenance, held=True), found
    copy = peaks[copies.first]
    capacity = 2 * copy / own
    uses = {channel: part * capacity / peaks[channel] for channel, part in parts.items() if part >= tuning.LEAST_PART}
    return Resource(name, _rounded(capacity), provenance), {channel: _rounded(weight) for channel, weight in uses.items()}


def _own(copies: Pair) -> float:
    """The part of a memory that one of two copies takes."""
    return 1 / min(max(copies.gain, 1.0), 2.0)


def part_beside_copies(copies: Pair, pair: Pair) -> float:
    """The part of a memory that a channel takes, from 0 to 1. It is the second of `pair`, beside one of the two `copies`."""
    if pair.gain >= tuning.SHARES_NOTHING:
        return 0.0
    x, y = pair.shares
    return min(max((1 - _own(copies) * min(x, 1.0)) / min(y, 1.0), 0.0), 1.0)


def weight_of_part(resource: Resource, part: float, peak: float) -> float:
    """The weight of a channel that alone, at its peak rate, takes a part of a resource."""
    return _rounded(part if resource.held else part * resource.capacity / peak)


def link_resource(name: str, pairs: Sequence[Pair], provenance: str) -> Found | None:
    """The link behind channels, used by the byte. Pairs that share nothing are left out; None if none is left."""
    sharing = [pair for pair in pairs if pair.gain < tuning.SHARES_NOTHING]
    if not sharing:
        return None
    capacity = max(rate for pair in sharing for rate in (*pair.alone, sum(pair.together)))
    return Resource(name, _rounded(capacity), provenance), {end: 1.0 for pair in sharing for end in (pair.first, pair.second)}


def is_held(own: float, parts: Mapping[str, float], others: Sequence[Pair], conversions: Sequence[Pair]) -> bool:
    """Whether conversions, which are slower than copies, take as much of a memory as copies do.

    `own` is the part of a copy. `parts` are those of the channels beside it.
    """
    as_copies = by_the_byte = 0.0
    for copy, slow in zip(others, conversions, strict=False):
        if copy.gain >= tuning.SHARES_NOTHING:
            continue
        taken = own * slow.alone[0] / copy.alone[0] + parts[copy.second]
        as_copies += abs(slow.gain - copy.gain)
        by_the_byte += abs(slow.gain - 2 / max(1.0, taken))
    return as_copies < by_the_byte


def with_resources(channels: Iterable[Channel], found: Iterable[tuple[Resource, Mapping[str, float]]]) -> tuple[Channel, ...]:
    """The channels with their uses of each resource."""
    uses: dict[str, list[tuple[str, float]]] = {}
    for resource, weights in found:
        for name, weight in weights.items():
            uses.setdefault(name, []).append((resource.name, weight))
    return tuple(replace(channel, resources=tuple(uses.get(channel.name, ()))) for channel in channels)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


# ---- GPUs

MEMORY = "node0.memory"
"""The resource of the host memory, where copies of the processor share it."""


class GpuPairs:
    """Pairs of channels, each measured once by `measure`. Once `is_over` returns true, only important ones are measured."""

    def __init__(
        self, measure: Callable[[Machine, Channel, Channel | None], Pair], is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._measure, self._is_over = measure, is_over
        self.found: list[Pair] = []

    def __call__(self, machine: Machine, first: Channel, second: Channel | None, is_important: bool = False) -> Pair | None:
        """The two channels (None: two of the first) at once; None if the time is over, or they never worked at once."""
        if self._is_over() and not is_important:
            return None
        try:
            pair = self._measure(machine, first, second)
        except NeverTogether:
            return None
        self.found.append(pair)
        return pair


def with_shared(machine: Machine, copies: Pair, pairs: GpuPairs) -> Machine:
    """The machine with the resources that the channels of its GPUs share. `copies` are two copies in main memory at once."""
    found: list[Found] = []
    gpus = gpu_memories(machine)
    for gpu in gpus:
        found += _within(machine, gpu, pairs)
    for way in ("down", "up"):
        found += _links(machine, gpus, way, pairs)
    for here, there in itertools.combinations(gpus, 2):
        found += _peers(machine, here, there, pairs)
    found += _of_host(machine, gpus, copies, pairs)
    uses = {channel.name: dict(channel.resources) for channel in machine.channels}
    for resource, weights in found:
        for name, weight in weights.items():
            uses[name][resource.name] = weight
    known = {resource.name for resource in machine.resources}
    return replace(
        machine,
        channels=tuple(replace(channel, resources=tuple(uses[channel.name].items())) for channel in machine.channels),
        resources=(*machine.resources, *(resource for resource, _ in found if resource.name not in known)),
    )


def _within(machine: Machine, gpu: str, pairs: GpuPairs) -> Iterator[Found]:
    """The memory of a GPU, and its link to the host in both directions."""
    (copy,) = machine.between(gpu, gpu)
    down, up = _between(machine, ZCM, gpu), _between(machine, gpu, ZCM)
    is_first = gpu == gpu_memories(machine)[0]
    at_once = pairs(machine, copy, None, is_first)
    beside = [pair for each in (down, up) if (pair := pairs(machine, copy, each, is_first)) is not None]
    if at_once is not None:
        peaks = {channel.name: channel.peak for channel in (copy, down, up)}
        memory = memory_resource(f"{gpu}.memory", at_once, beside, peaks, copy.provenance)
        if memory is not None:
            resource, weights = memory
            yield resource, _beside(machine, weights)
    both = pairs(machine, down, up, is_first)
    if both is not None:
        yield from _with_main_memory(machine, link_resource(f"{gpu}.link", [both], down.provenance))


def _links(machine: Machine, gpus: Sequence[str], way: str, pairs: GpuPairs) -> Iterator[Found]:
    """Links that several GPUs share in one direction."""
    groups: list[tuple[set[str], list[Pair]]] = []
    for here, there in itertools.combinations(gpus, 2):
        first, second = (_between(machine, ZCM, gpu) if way == "down" else _between(machine, gpu, ZCM) for gpu in (here, there))
        pair = pairs(machine, first, second)
        if pair is None or pair.gain >= tuning.SHARES_NOTHING:
            continue
        touched = [group for group in groups if group[0] & {here, there}]
        merged = {here, there}.union(*(names for names, _ in touched)), [pair, *(each for _, found in touched for each in found)]
        groups = [group for group in groups if group not in touched] + [merged]
    for names, found in groups:
        origin = machine.between(ZCM, gpus[0])[0].provenance
        yield from _with_main_memory(machine, link_resource(f"{min(names)}.{way}", found, origin))


def _peers(machine: Machine, here: str, there: str, pairs: GpuPairs) -> Iterator[Found]:
    """What the copies between two GPUs share with each other, and with the links to the host."""
    peer, back = _between(machine, here, there), _between(machine, there, here)
    both = pairs(machine, peer, back)
    name = f"{here}.to.{there.removeprefix('node0.')}"
    if both is not None and (found := link_resource(name, [both], peer.provenance)) is not None:
        yield found
    for copy, source, destination in ((peer, here, there), (back, there, here)):
        for way, link in (("up", _between(machine, source, ZCM)), ("down", _between(machine, ZCM, destination))):
            if copy.peak > tuning.ANOTHER_LINK * link.peak:
                continue
            pair = pairs(machine, copy, link)
            if pair is not None:
                end = destination.removeprefix("node0.")
                yield from _with_main_memory(machine, link_resource(f"{source}.to.{end}.{way}", [pair], copy.provenance))


def _of_host(machine: Machine, gpus: Sequence[str], copies: Pair, pairs: GpuPairs) -> Iterator[Found]:
    """The parts of the host memory that the channels of GPUs take, measured with the first GPU of each model."""
    memory = next((resource for resource in machine.resources if resource.name == MEMORY), None)
    if memory is None:
        return
    (copy,) = machine.between(SYS, SYS)
    models: dict[tuple[str, str, bool], float] = {}
    for gpu in gpus:
        model = machine.memory(gpu).label
        for host in (ZCM, SYS):
            for is_up in (False, True):
                channel = _between(machine, gpu, host) if is_up else _between(machine, host, gpu)
                key = model, host, is_up
                if key not in models:
                    pair = pairs(machine, copy, channel, is_important=gpu == gpus[0])
                    if pair is None:
                        continue
                    models[key] = part_beside_copies(copies, pair)
                if models[key] >= tuning.LEAST_PART:
                    weights = {channel.name: weight_of_part(memory, models[key], channel.peak)}
                    yield memory, _beside(machine, weights)


def _between(machine: Machine, source: str, destination: str) -> Channel:
    return machine.between(source, destination)[0]


def _with_main_memory(machine: Machine, found: Found | None) -> Iterator[Found]:
    """A resource, also used by the channels of main memory beside those of pinned memory."""
    if found is None:
        return
    resource, weights = found
    yield resource, _beside(machine, weights, (ZCM, SYS))


def _beside(machine: Machine, weights: Mapping[str, float], hosts: Sequence[str] = (ZCM,)) -> dict[str, float]:
    """Weights of channels, also for those channels of a GPU beside them that have one of `hosts` in place of pinned memory."""
    more = dict(weights)
    for name, weight in weights.items():
        channel = machine.channel(name)
        if ZCM in (channel.source, channel.destination):
            for host in hosts:
                ends = [host if end == ZCM else end for end in (channel.source, channel.destination)]
                more.update({other.name: weight for other in machine.between(*ends) if other.name not in more})
    return more
