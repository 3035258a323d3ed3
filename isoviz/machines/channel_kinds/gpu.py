"""The kinds of the channels that a GPU carries out, by its copy engines and kernels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from isoviz.machines.cards import MIB, Ways, conversions
from isoviz.machines.channel_kinds.host import CONVERSIONS, HOST
from isoviz.machines.kinds import MemoryKind, register_channel_kind

WHOLE_OVER_LINK, WHOLE_WITHIN = 32 * MIB, 256 * MIB
"""Run lengths from which plans use only whole chunks, between a GPU and the host, and between GPUs or within one. A request takes
longer than a shorter chunk's bytes."""
GPU = (MemoryKind.FBM,)
PINNED = (MemoryKind.ZCM,)

_RUNS = (1, 16, 256, 4096, MIB // 16, MIB)
_LINKS = Ways(
    conversions(WHOLE_OVER_LINK),
    first=(*_RUNS, WHOLE_OVER_LINK),
    in_flight=(8,),  # Those behind the first one are queued: a GPU works on, while Python is busy with something else.
    tried_with=(("stream", MIB), ("stream", 8 * MIB), ("gather", 4)),
    setup=("stream", MIB),
    converting=CONVERSIONS,
    in_parts=True,
)
_COPIES = replace(
    _LINKS, shapes=conversions(WHOLE_WITHIN), shapes_within=conversions(WHOLE_WITHIN, fields=True), first=(*_RUNS, WHOLE_WITHIN)
)

# While a GPU carries out one request, the next ones are queued: it never waits for the host, even if Python is busy for some ms.
_kind = partial(register_channel_kind, is_of_gpu=True, in_flight=8)
GPU_READ = _kind("GPURead", sources=GPU, destinations=HOST, description="GPU read", colour=2, ways=_LINKS)
GPU_WRITE = _kind("GPUWrite", sources=HOST, destinations=GPU, description="GPU write", colour=4, ways=_LINKS)
GPU_COPY = _kind("GPUCopy", sources=GPU, destinations=GPU, description="GPU copy", colour=5, ways=_COPIES)
ZERO_COPY_READ = _kind("ZeroCopyRead", sources=GPU, destinations=PINNED, description="zero-copy read", colour=0, ways=_LINKS)
ZERO_COPY_WRITE = _kind("ZeroCopyWrite", sources=PINNED, destinations=GPU, description="zero-copy write", colour=1, ways=_LINKS)
