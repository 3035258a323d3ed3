"""Assumed figures of the channels between ranks, for machines that were not measured.

They are rounded from measurements of Open MPI 5.0 and MPICH 5.0 with two and four ranks on one host of two cores. A copy into a
peer's window is the copy of the host itself, so it is assumed as fast as Memcpy. Between hosts an Ethernet of 10 Gb/s is assumed.
All units are bytes and seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from isoviz.machines.kinds import ChannelKind
from isoviz.machines.throughput import LatencyBandwidth, ThroughputFunction
from isoviz.measure.ranks.rank_hosts import Distance


@dataclass(frozen=True)
class KindFigures:
    """The figures of all channels of one kind at one distance; the fields are those of a `Channel`."""

    throughput: ThroughputFunction
    setup: float
    max_in_flight: int = 1
    provenance: str = "assumed"
    conversion_setup: float = 0.0


LINK = 1.15e9
"""Bytes per second in each direction of the link of a host: 10 Gb/s without the headers of Ethernet, IP and TCP."""
MEMORY = 22e9
"""Bytes per second through the memory of a host, reading and writing: four ranks that copied at once reached half of it."""
HAND_OVER = 15e-6
"""The time from a request to the thread that makes the MPI calls of a rank, and back."""

_ON_ONE_HOST = {
    ChannelKind.TWO_SIDED: KindFigures(LatencyBandwidth(0.7e-6, 6e9), HAND_OVER, 4),
    ChannelKind.PACKED: KindFigures(LatencyBandwidth(0.6e-9, 3e9), 2 * HAND_OVER, 4),
    ChannelKind.DERIVED: KindFigures(LatencyBandwidth(4e-9, 4.3e9), HAND_OVER, 2),
    ChannelKind.PUT: KindFigures(LatencyBandwidth(0.35e-6, 7e9), HAND_OVER, 2),
}
_BETWEEN_HOSTS = {
    ChannelKind.TWO_SIDED: KindFigures(LatencyBandwidth(10e-6, LINK), 60e-6, 4),
    ChannelKind.PACKED: KindFigures(LatencyBandwidth(0.6e-9, 0.95 * LINK), 80e-6, 4),
    ChannelKind.DERIVED: KindFigures(LatencyBandwidth(4e-9, 0.9 * LINK), 60e-6, 2),
}


def assumed_figures(memcpy: ThroughputFunction) -> dict[Distance, dict[ChannelKind, KindFigures]]:
    """The assumed figures by distance and kind, on hosts that copy with the throughput function `memcpy`."""
    window = KindFigures(memcpy, HAND_OVER, provenance="assumed: as fast as a copy within memory")
    return {"same host": {ChannelKind.WINDOW: window, **_ON_ONE_HOST}, "other host": dict(_BETWEEN_HOSTS)}


def assumed_memory(memcpy: ThroughputFunction) -> float:
    """The assumed bytes per second through the memory of a host: at least those of one copy, which reads and writes."""
    return max(MEMORY, 2 * memcpy.peak)
