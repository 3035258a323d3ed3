"""The kinds of the channels of files."""

from __future__ import annotations

from dataclasses import replace

from isoviz.machines.cards import KIB, MIB, Shapes, Way, Ways
from isoviz.machines.channel_kinds.gpu import GPU
from isoviz.machines.channel_kinds.host import HOST
from isoviz.machines.kinds import MemoryKind, register_channel_kind

WHOLE_ON_DISK = 128 * KIB
"""The run length from which plans use only whole chunks."""
SHORT_RUNS = (8 * KIB, 32 * KIB, 128 * KIB)
"""Run lengths at which more requests in flight make a disk faster (8 KiB: 0.17 GB/s with one, 0.52 with sixteen)."""
DISK = (MemoryKind.DSK,)


def _files(short: str, *shorter: str) -> Ways:
    """The ways of files that are read or written through host memory. `short` is the shape of short runs.

    `shorter` are further shapes of the shortest ones. Whole chunks are measured in a pipeline and alone.
    """
    shapes: Shapes = ((0, (short, *shorter)), (MIB // 16, (short, "piped")), (WHOLE_ON_DISK, ("piped", "stream")))
    whole: tuple[Way, ...] = (("piped", MIB), ("piped", 4 * MIB), ("stream", 16 * MIB))
    ways = Ways(
        shapes,
        first=(64, 4096, MIB // 16, MIB, 8 * MIB),
        in_flight=(1, 2, 4, 8),
        tried_with=(*whole, *((short, run) for run in SHORT_RUNS), ("copied", MIB)),
        setup=("piped", MIB),
    )
    first = (4096, MIB // 16, MIB, 4 * MIB)
    return replace(ways, briefly=replace(ways, first=first, in_flight=(1, 4), tried_with=whole[:1], bends=False))


def _direct(short: str) -> Ways:
    """The ways of files that a GPU reads or writes itself. Pipelines would measure the kernels of the GPU as well."""
    return Ways(
        ((0, (short,)), (WHOLE_ON_DISK, ("stream",))),
        first=(4096, MIB // 16, MIB, 8 * MIB),  # Every run is a request of its own.
        in_flight=(2, 3, 4),
        tried_with=(("stream", MIB), ("stream", 8 * MIB)),
        setup=("stream", MIB),
    )


DISK_READ = register_channel_kind(
    "DiskRead",
    sources=DISK,
    destinations=HOST,
    description="file read",
    colour=3,
    ways=_files("sparse"),  # Short runs in a file have gaps.
)
DISK_WRITE = register_channel_kind(
    "DiskWrite", sources=HOST, destinations=DISK, description="file write", colour=6, ways=_files("gather", "transpose")
)
DIRECT_READ = register_channel_kind(
    "GPUDirectRead", sources=DISK, destinations=GPU, description="direct file read", colour=2, ways=_direct("sparse")
)
DIRECT_WRITE = register_channel_kind(
    "GPUDirectWrite", sources=GPU, destinations=DISK, description="direct file write", colour=4, ways=_direct("gather")
)
