"""The figures of the channels between ranks that were not measured, from what their cards assume (`AssumedFigures`).

The figures of hosts are rounded from measurements with two and four ranks on one host of two cores. All units are bytes and
seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from isoviz.machines.cards import AssumedFigures
from isoviz.machines.channel import Resource
from isoviz.machines.throughput import LatencyBandwidth, Sampled, ThroughputFunction


@dataclass(frozen=True)
class KindFigures:
    """The figures of all channels of one kind at one distance; the fields are those of a `Channel`.

    `memory_use` is the weight of the channel in the memory of each of its hosts, in bytes through the memory per payload byte;
    None for what the kind needs at least. `processor_use` is its weight in the processors of a host, where that of a copy within
    a rank is 1.
    """

    throughput: ThroughputFunction
    setup: float
    max_in_flight: int = 1
    provenance: str = "assumed"
    conversion_setup: float = 0.0
    memory_use: float | None = None
    layout_throughput: ThroughputFunction | None = None
    request_seconds: float = 0.0
    processor_use: float = 1.0


MEMORY = 22e9
"""Bytes per second through the memory of a host, reading and writing: four ranks that copied at once reached half of it."""
PROCESSORS = Resource("node0.processors", 1.0, "assumed: the ranks of a host copy as fast together as one of them", held=True)
"""The processors of a host. Four ranks on two cores copied no more together than one of them alone. Two ranks moved 4 to 256 MiB
over two paths at once, `Window` and `ProcessWrite`, 10 to 40 % slower than over one of them."""


def assumed_figures(memcpy: ThroughputFunction, assumed: AssumedFigures) -> KindFigures:
    """What a card assumes, on hosts that copy with the throughput function `memcpy`."""
    rate = _at_most(_copied_and_sent(memcpy, assumed), assumed.at_most)
    return KindFigures(rate, assumed.setup, assumed.in_flight, assumed.provenance)


def _copied_and_sent(memcpy: ThroughputFunction, assumed: AssumedFigures) -> ThroughputFunction:
    """The rate where a byte is copied, sent, or one after the other."""
    copied, message, sent = assumed.copied, assumed.message, assumed.sent
    if not copied:
        return _like(memcpy, LatencyBandwidth(message, sent))
    if copied == 1 and math.isinf(sent) and not message:
        return memcpy
    if isinstance(memcpy, LatencyBandwidth):
        return LatencyBandwidth(copied * memcpy.latency + message, 1 / (copied / memcpy.bandwidth + 1 / sent))
    return _samples(lambda run: 1 / (copied / memcpy(run) + message / run + 1 / sent) if memcpy(run) else 0.0)


def _at_most(rate: ThroughputFunction, bandwidth: float) -> ThroughputFunction:
    """The rate, up to some bytes per second."""
    if math.isinf(bandwidth):
        return rate
    if isinstance(rate, LatencyBandwidth):
        return LatencyBandwidth(rate.latency, min(rate.bandwidth, bandwidth))
    return _samples(lambda run: min(rate(run), bandwidth))


def _like(memcpy: ThroughputFunction, function: LatencyBandwidth) -> ThroughputFunction:
    """The function in the form of `memcpy`: only functions of one form can be compared to leave out a channel that is slower."""
    return function if isinstance(memcpy, LatencyBandwidth) else _samples(function)


def _samples(function: Callable[[float], float]) -> Sampled:
    """An assumed function as samples, without a date."""
    return Sampled(tuple((run, function(run)) for run in (float(1 << k) for k in range(27))))


def assumed_memory(memcpy: ThroughputFunction) -> float:
    """The assumed bytes per second through the memory of a host: at least those of one copy, which reads and writes."""
    return max(MEMORY, 2 * memcpy.peak)
