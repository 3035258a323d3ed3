"""The kinds of the channels for which a helper at the other end posts requests and copies nothing.

The memory of both ends is registered. A request gathers runs at the source and scatters them at the destination. Tipparaju et
al., *Host-Assisted Zero-Copy Remote Memory Access Communication on InfiniBand*, section 5.
"""

from __future__ import annotations

from functools import partial

from isoviz.machines.cards import AssumedFigures, Protocol, Signal
from isoviz.machines.channel_kinds.ranks import HAND_OVER, SENDING, WINDOWS
from isoviz.machines.kinds import register_channel_kind

RUNS = 60
"""The most runs of a request at either end (section 5.2)."""
RUN_GAP = 0.1e-6
"""Seconds of each run besides those of its bytes, between ranks of one host: its entry in a request, and its copy."""
MOVED = 6e9
"""Bytes per second at which a helper moves long runs there."""
_RECEIVES = "posts receives that scatter"

_MAPPED = "makes its memory ready"

_kind = partial(register_channel_kind, sources=WINDOWS, destinations=WINDOWS, crosses_nodes=True)
ASSISTED = _kind(
    "Assisted",
    description="host-assisted put",
    colour=4,
    counts_both_ends=True,
    ways=SENDING,
    same_host=AssumedFigures(HAND_OVER, 2, copied=0, message=RUN_GAP, sent=MOVED),
    is_usual=False,
    protocol=Protocol(
        before=(
            Signal("request", "source", "asks the helper to receive, and tells its strides"),
            Signal("acknowledgement", "destination", "says that the receives are posted", posted=_RECEIVES),
        ),
        data="send",
        mapped=_MAPPED,
    ),
)
ASSISTED_GET = _kind(
    "AssistedGet",
    description="host-assisted get",
    colour=6,
    counts_both_ends=True,
    protocol=Protocol(
        before=(Signal("request", "destination", "asks the helper to send, and tells its strides", posted=_RECEIVES),),
        data="send",
        mapped=_MAPPED,
    ),
)
GET_BY_PUT = _kind(
    "GetByPut",
    description="get by the owner's put",
    colour=5,
    protocol=Protocol(before=(Signal("request", "destination", "asks the helper to put"),), data="put", mapped=_MAPPED),
)
