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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.machines.channel import Channel, Resource
from isoviz.measure import tuning

if TYPE_CHECKING:
    from isoviz.machines.measurement import Pair


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
