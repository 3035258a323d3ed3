"""The kind of the channels whose network cards gather and scatter themselves (user-mode memory registration).

A key stands for a list of runs, and is mapped to it before the first transfer. Suresh et al., *Network Assisted Non-Contiguous
Transfers for GPU-Aware MPI Libraries*, sections II-B and IV.
"""

from __future__ import annotations

from isoviz.machines.cards import Protocol, Signal
from isoviz.machines.channel_kinds.gpu import GPU
from isoviz.machines.channel_kinds.host import HOST
from isoviz.machines.kinds import register_channel_kind

KEY_BYTES = 4
"""The bytes of a key in a message (section III-C: 1,024 keys are 4 KB)."""

UMR = register_channel_kind(
    "UMR",
    sources=(*GPU, *HOST),
    destinations=(*GPU, *HOST),
    crosses_nodes=True,
    description="gather by keys",
    colour=0,
    counts_both_ends=True,
    protocol=Protocol(
        before=(
            Signal("RTS", "source", "asks to send, and proposes a window"),
            Signal("CTS", "destination", "agrees on a window, and names its keys", key_bytes=KEY_BYTES),
        ),
        data="write",
        after=(Signal("FIN", "source", "says that all is written"),),
        mapped="parses its layout and maps its keys",
        request="key",
    ),
)
