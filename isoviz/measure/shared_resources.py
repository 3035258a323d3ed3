"""From channels measured two at a time to the resources they share.

**What was measured.** Of every pair: the rates a, b of both channels alone, and a′, b′ while both are at work. With the shares
x = a′/a and y = b′/b that each keeps, x + y is 1 where the two take turns and 2 where they do not notice each other.

**A device** (the channels to and from one disk) is held by a channel while it works, with large requests and with small ones:
what a copy of a file on a disk moves is κ / (1/a + 1/b) with the same κ, little above 1, for chunks of 128 KiB and of 8 MiB, a
and b being what reading and writing do with such chunks. So it is a resource that is held, with weight 1 for both and capacity
κ = x + y; a path that reads and writes at once has TP × (1/a + 1/b) ≤ κ, whatever its chunks.

**The memory** is the memory bus, or the processors, or both. Let uᵢ be the part of it that channel i takes when it is alone (at
most 1, or it could not be that fast). Two channels that slow each other down use it up, so u₁ x + u₂ y = 1: one equation for each
pair. Two copies at once, of one channel that keeps x and y of its speed, give u = 1 / (x + y); then every other channel beside
that copy gives its own u = (1 − u x) / y.

A bus is paid for by the byte: with capacity C and weights wᵢ it is uᵢ = wᵢ aᵢ / C; a copy reads and writes every byte, so its
weight is 2 and the capacity is in bytes per second through the memory. Processors are held: a conversion at a fifth of the speed
of a copy takes all of one, too, and a disk whose bytes a processor of the host moves suffers from it as much. Which of the two it
is, a conversion shows that is measured beside the same channels: the gain x + y that it has is nearer to that of copies, or to
what would be left if only its bytes counted. Where it is held, the capacity is 1 and the weights are the parts.

The memory alone leaves the slower of two in peace: it takes what it needs, and the faster one what is left. Measured, both lose.
So **a channel beside a copy** is a resource, too: held by the channel with weight 1, and by a copy with (1 − y′) / x′, so that
both at once use it up, where x′ and y′ are what a conversion and the channel keep: most copies on the way to a disk convert.

Pairs that keep almost all of their speed share nothing that is worth writing down.
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
"""A resource, and by channel what a byte costs of it."""


def device_resource(name: str, pair: Pair, provenance: str) -> Found | None:
    """The device behind two channels: the resource, and by channel what it holds of it. None where they share nothing."""
    # They work at one rate, so the faster one is idle now and then even where they share nothing.
    slower, faster = sorted(pair.alone)
    if pair.gain >= tuning.SHARES_NOTHING / 2 * (1 + slower / faster):
        return None
    capacity = max(pair.gain, 1.0)  # below 1 would be slower than taking turns: that is noise
    return Resource(name, _rounded(capacity), provenance, held=True), {pair.first: 1.0, pair.second: 1.0}


def beside_copies(name: str, pair: Pair, provenance: str) -> Found | None:
    """The resource by which a copy (first of the pair) slows another channel down; None where it hardly does."""
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
    """What a copy within a memory shares with another copy and with the channels to and from it; None where nothing.

    `copies` is the pair of two copies on one channel, `others` pairs of that channel (first) with others (second);
    `conversions` are those of `others` with something slow instead of the copy, in the same order (none: paid by the byte).
    """
    own = 1 / min(max(copies.gain, 1.0), 2.0)
    parts = {copies.first: own}
    for pair in others:
        x, y = pair.shares
        part = (1 - own * min(x, 1.0)) / min(y, 1.0) if pair.gain < tuning.SHARES_NOTHING else 0.0
        parts[pair.second] = min(max(part, 0.0), 1.0)
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


def is_held(own: float, parts: Mapping[str, float], others: Sequence[Pair], conversions: Sequence[Pair]) -> bool:
    """Whether conversions, which are slower than copies, take as much of a memory as copies do.

    `own` is the part of a copy, `parts` are those of the channels beside it.
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
