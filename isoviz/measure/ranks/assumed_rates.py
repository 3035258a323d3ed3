"""Assumed figures of the channels between ranks, for machines that were not measured.

They are rounded from measurements of Open MPI 5.0 and MPICH 5.0 with two and four ranks on one host of two cores. A copy into a
peer's window is the copy of the host itself, so it is assumed as fast as Memcpy. Between hosts an Ethernet of 10 Gb/s is assumed.
All units are bytes and seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isoviz.machines.channel import Resource
from isoviz.machines.kinds import ChannelKind
from isoviz.machines.throughput import LatencyBandwidth, Sampled, ThroughputFunction
from isoviz.measure.ranks.rank_hosts import Distance


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


LINK = 1.15e9
"""Bytes per second in each direction of the link of a host: 10 Gb/s without the headers of Ethernet, IP and TCP."""
MEMORY = 22e9
"""Bytes per second through the memory of a host, reading and writing: four ranks that copied at once reached half of it."""
PROCESSORS = Resource("node0.processors", 1.0, "assumed: the ranks of a host copy as fast together as one of them", held=True)
"""The processors of a host. Four ranks on two cores copied no more together than one of them alone. Two ranks moved 4 to 256 MiB
over two paths at once, `Window` and `ProcessWrite`, 10 to 40 % slower than over one of them."""
HAND_OVER = 15e-6
"""The time from a request to the thread that makes the MPI calls of a rank, and back."""

MESSAGE, MESSAGE_BETWEEN_HOSTS = 0.7e-6, 10e-6
"""Seconds of a message besides those of its bytes: every run is a message of its own where MPI moves it as it is."""
SENT, PUT = 6e9, 7e9
"""Bytes per second of large messages, and of large puts, between ranks of one host."""
WRITTEN = 6.5e9
"""Bytes per second that one request writes into memory of another process. While it writes, another one packs."""
PUT_GAP = 0.35e-6
"""Seconds of a put besides those of its bytes."""
DATATYPES = 3.0
"""How much longer MPI takes to read memory by a derived datatype than the copies of this package take for the same runs."""


def assumed_figures(memcpy: ThroughputFunction) -> dict[Distance, dict[ChannelKind, KindFigures]]:
    """The assumed figures by distance and kind, on hosts that copy with the throughput function `memcpy`."""
    as_memcpy = "assumed: as fast as a copy within memory"
    return {
        "same host": {
            ChannelKind.WINDOW: KindFigures(memcpy, HAND_OVER, provenance=as_memcpy),
            ChannelKind.PROCESS_WRITE: KindFigures(_at_most(memcpy, WRITTEN), HAND_OVER, 2),
            ChannelKind.TWO_SIDED: KindFigures(_like(memcpy, LatencyBandwidth(MESSAGE, SENT)), HAND_OVER, 4),
            ChannelKind.PACKED: KindFigures(_copied_and_sent(memcpy, 1.0, SENT), 2 * HAND_OVER, 4),
            ChannelKind.DERIVED: KindFigures(_copied_and_sent(memcpy, DATATYPES, SENT), HAND_OVER, 2),
            ChannelKind.PUT: KindFigures(_like(memcpy, LatencyBandwidth(PUT_GAP, PUT)), HAND_OVER, 2),
        },
        "other host": {
            ChannelKind.TWO_SIDED: KindFigures(_like(memcpy, LatencyBandwidth(MESSAGE_BETWEEN_HOSTS, LINK)), 4 * HAND_OVER, 4),
            ChannelKind.PACKED: KindFigures(_copied_and_sent(memcpy, 1.0, LINK), 5 * HAND_OVER, 4),
            ChannelKind.DERIVED: KindFigures(_copied_and_sent(memcpy, DATATYPES, LINK), 4 * HAND_OVER, 2),
        },
    }


def _copied_and_sent(memcpy: ThroughputFunction, times: float, sent: float) -> ThroughputFunction:
    """The rate where every byte takes `times` as long as in a copy, and is sent at `sent` bytes per second as well."""
    if isinstance(memcpy, LatencyBandwidth):
        return LatencyBandwidth(times * memcpy.latency, 1 / (times / memcpy.bandwidth + 1 / sent))
    return _samples(lambda run: 1 / (times / memcpy(run) + 1 / sent) if memcpy(run) else 0.0)


def _at_most(memcpy: ThroughputFunction, bandwidth: float) -> ThroughputFunction:
    """The rate of a copy, up to some bytes per second."""
    if isinstance(memcpy, LatencyBandwidth):
        return LatencyBandwidth(memcpy.latency, min(memcpy.bandwidth, bandwidth))
    return _samples(lambda run: min(memcpy(run), bandwidth))


def _like(memcpy: ThroughputFunction, function: LatencyBandwidth) -> ThroughputFunction:
    """The function in the form of `memcpy`: only functions of one form can be compared to leave out a channel that is slower."""
    return function if isinstance(memcpy, LatencyBandwidth) else _samples(function)


def _samples(function: Callable[[float], float]) -> Sampled:
    """An assumed function as samples, without a date."""
    return Sampled(tuple((run, function(run)) for run in (float(1 << k) for k in range(27))))


def assumed_memory(memcpy: ThroughputFunction) -> float:
    """The assumed bytes per second through the memory of a host: at least those of one copy, which reads and writes."""
    return max(MEMORY, 2 * memcpy.peak)
