"""The kinds of the channels between nodes, which MPI ranks carry out.

The assumed figures are rounded from measurements of Open MPI 5.0 and MPICH 5.0 with two and four ranks on one host of two cores.
A copy into a peer's window is the copy of the host itself, so it is assumed as fast as Memcpy. Between hosts an Ethernet of
10 Gb/s is assumed. All units are bytes and seconds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from isoviz.machines.cards import KIB, MIB, WHOLE_COPIES, AssumedFigures, Ways, conversions, messages
from isoviz.machines.channel_kinds.gpu import GPU
from isoviz.machines.channel_kinds.host import HOST
from isoviz.machines.kinds import MemoryKind, register_channel_kind

LINK = 1.15e9
"""Bytes per second in each direction of the link of a host: 10 Gb/s without the headers of Ethernet, IP and TCP."""
HAND_OVER = 15e-6
"""The time from a request to the thread that makes the MPI calls of a rank, and back."""
MESSAGE, MESSAGE_BETWEEN_HOSTS = 0.7e-6, 10e-6
"""Seconds of a message besides those of its bytes: every run is a message of its own where MPI moves it as it is."""
SENT, PUT_AT = 6e9, 7e9
"""Bytes per second of large messages, and of large puts, between ranks of one host."""
WRITTEN = 6.5e9
"""Bytes per second that one request writes into memory of another process. While it writes, another one packs."""
PUT_GAP = 0.35e-6
"""Seconds of a put besides those of its bytes."""
DATATYPES = 3.0
"""How much longer MPI takes to read memory by a derived datatype than the copies of this package take for the same runs."""

WINDOWS = (MemoryKind.REG,)
NETWORKED = (*GPU, *WINDOWS)

SENDING = Ways(
    messages(WHOLE_COPIES),
    first=(8, 64, 1 * KIB, 16 * KIB, MIB // 4, 4 * MIB),
    in_flight=(1, 2, 4),
    tried_with=(("stream", MIB), ("gather", 4 * KIB)),
    setup=None,
    small=(16 * KIB, 64 * KIB, 256 * KIB),  # Smaller ones are sent inside a message, on no channel.
    relayed=True,
    repeated=3,
)
"""The ways of channels whose every run is a message."""
PACKING = replace(SENDING, shapes=conversions(WHOLE_COPIES, fields=True), converting=(("transpose", 8), ("split", 16)))
"""The ways of channels that pack with the copy kernels, and so convert."""
WRITING = replace(PACKING, in_parts=True)
"""The ways of channels that write straight into memory of the other rank."""

_kind = partial(register_channel_kind, crosses_nodes=True)
REMOTE_MEMCPY = _kind("RemoteMemcpy", sources=HOST, destinations=HOST, description="network", colour=1)
WINDOW = _kind(
    "Window",
    sources=HOST,
    destinations=WINDOWS,
    description="copy into a peer",
    colour=5,
    ways=WRITING,
    same_host=AssumedFigures(HAND_OVER, provenance="assumed: as fast as a copy within memory"),
    prepares=True,
)
PROCESS_WRITE = _kind(
    "ProcessWrite",
    sources=HOST,
    destinations=(MemoryKind.SYS,),
    description="write into a peer",
    colour=3,
    ways=WRITING,
    same_host=AssumedFigures(HAND_OVER, 2, at_most=WRITTEN),
    prepares=True,
)
TWO_SIDED = _kind(
    "TwoSided",
    sources=(*HOST, *GPU),
    destinations=(*HOST, *GPU),
    description="send and receive",
    colour=6,
    ways=SENDING,
    same_host=AssumedFigures(HAND_OVER, 4, copied=0, message=MESSAGE, sent=SENT),
    other_host=AssumedFigures(4 * HAND_OVER, 4, copied=0, message=MESSAGE_BETWEEN_HOSTS, sent=LINK),
)
PACKED = _kind(
    "Packed",
    sources=HOST,
    destinations=HOST,
    description="packed send",
    colour=0,
    ways=PACKING,
    same_host=AssumedFigures(2 * HAND_OVER, 4, sent=SENT, memory_copies=3.0),  # pack, send, scatter
    other_host=AssumedFigures(5 * HAND_OVER, 4, sent=LINK, memory_copies=3.0),
)
DERIVED = _kind(
    "Derived",
    sources=HOST,
    destinations=HOST,
    description="MPI datatype",
    colour=1,
    same_host=AssumedFigures(HAND_OVER, 2, copied=DATATYPES, sent=SENT),
    other_host=AssumedFigures(4 * HAND_OVER, 2, copied=DATATYPES, sent=LINK, memory_copies=2.0),
    is_usual=False,
)
PUT = _kind(
    "Put",
    sources=HOST,
    destinations=WINDOWS,
    description="MPI put",
    colour=2,
    same_host=AssumedFigures(HAND_OVER, 2, copied=0, message=PUT_GAP, sent=PUT_AT),
    is_usual=False,
)
DIRECT_REMOTE = _kind("GPUDirectRemote", sources=NETWORKED, destinations=NETWORKED, description="GPUDirect RDMA", colour=4)
