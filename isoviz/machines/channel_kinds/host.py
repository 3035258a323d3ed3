"""The kind of the channels within the memory of a host."""

from __future__ import annotations

from isoviz.machines.cards import COPIES_PAY, MIB, WHOLE_COPIES, Way, Ways, conversions
from isoviz.machines.kinds import MemoryKind, memory_kinds, register_channel_kind

_FIRST = MemoryKind.SYS, MemoryKind.ZCM
HOST = (*_FIRST, *(kind for kind in memory_kinds() if kind.is_host and kind not in _FIRST))
"""The kinds of memory that a processor addresses."""

BETWEEN_HOST_MEMORIES = 1 * MIB
"""The run length from which plans use only whole chunks between two host memories. It is assumed."""
CONVERSIONS: tuple[Way, ...] = (("transpose", 4), ("split", 16))
"""The ways of conversions that may have a set-up of their own."""

MEMCPY = register_channel_kind(
    "Memcpy",
    sources=HOST,
    destinations=HOST,
    is_host_copy=True,
    description="memory copy",
    colour=0,
    ways=Ways(
        conversions(BETWEEN_HOST_MEMORIES),
        shapes_within=conversions(WHOLE_COPIES, fields=True),
        first=(1, 16, 256, 4096, MIB // 16, MIB, 16 * MIB),
        in_flight=(1, 2, 4),
        tried_with=(("gather", 4), ("transpose", 4), ("stream", 4 * MIB)),
        setup=("split", 16),
        converting=CONVERSIONS,
        in_parts=True,
        pays=COPIES_PAY,
    ),
)
