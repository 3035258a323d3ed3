"""The kinds of the channels of a Data Vortex: into the memory of a card, out of it, and from card to card.

A packet is one word of 8 bytes and finds its way by itself: the length of a request and the order of the words change nothing
between two cards. They do on the way to a card, over PCI Express. Gioiosa et al., *Exploring DataVortex Systems for Irregular
Applications*, sections II and III.
"""

from __future__ import annotations

from functools import partial

from isoviz.machines.channel_kinds.host import HOST
from isoviz.machines.kinds import register_channel_kind
from isoviz.machines.memory_kinds.vortex import DV

WORD = 8
"""The bytes of data of a packet; its header has as many (section II)."""
ENGINES = 2
"""The DMA engines of a card (section II)."""

_CARD = (DV,)
_in = partial(register_channel_kind, sources=HOST, destinations=_CARD)
_out = partial(register_channel_kind, sources=_CARD, destinations=HOST)
VIC_WRITE = _in("VICWrite", description="direct write", colour=1)
VIC_READ = _out("VICRead", description="direct read", colour=3)
DMA_IN = _in("DMAIn", description="DMA into the card", colour=4, in_flight=ENGINES)
DMA_OUT = _out("DMAOut", description="DMA out of the card", colour=2, in_flight=ENGINES)
PACKETS = register_channel_kind(
    "VortexPackets",
    sources=_CARD,
    destinations=_CARD,
    crosses_nodes=True,
    description="packets of a word",
    colour=5,
)
