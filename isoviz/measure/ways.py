"""How channels are measured: an entry for every kind in `WAYS`, and how much effort a probe makes.

The entries are the same for this computer, its GPUs and ranks, and for brief and thorough probes. What is measured of a channel
besides its throughput function is a list of its own (`isoviz.measure.steps.MEASUREMENTS`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from isoviz.backends.cuda.gpus import CHANNELS as GPU_CHANNELS
from isoviz.machines import Channel, ChannelKind
from isoviz.measure import tuning
from isoviz.measure.tuning import KIB, MIB
from isoviz.runtime.ranks.eager import RIDES

Way = tuple[str, int]
"""The shape of a job (`isoviz.measure.jobs.SHAPES`), and its run in bytes."""


@dataclass(frozen=True)
class Effort:
    """The amount of measuring: `repeats` of everything, up to `samples` per function, about `seconds` each.

    After `limit` seconds no function is refined and no round begins. Some repeats of a sample follow each other, to find where a
    function bends. The others, more than half, are taken in rounds over all samples of all channels. The speed of a computer
    changes within seconds, so the median of one moment may be off by half.

    A probe that `is_brief` leaves out what changes predictions least: the shortest runs of disks, samples where their functions
    bend, most jobs that compare numbers of requests in flight, and conversions beside other channels.
    """

    repeats: int
    samples: int
    seconds: float
    limit: float
    is_brief: bool = False


@dataclass(frozen=True)
class Ways:
    """How the channels of a kind are measured.

    - `shapes`: the shapes of jobs with runs of a given length in bytes. They look like plans with such runs.
    - `first`: the runs in bytes at which the throughput function is always measured. There are more where it bends, unless
      `bends` is False.
    - `in_flight`: the numbers of requests in flight that are tried; empty if that of the channel stays. `tried_with` are the ways
      of the jobs that tell, and more requests `pays` from this gain on.
    - `setup`: the way of jobs of two sizes, whose times give the set-up for a start; None: the time of the smallest transfer.
    - `small`: bytes of transfers whose time is mostly set-up, from which it is found in the end.
    - `converting`: ways of conversions that may have a set-up of their own; empty if there is none.
    - `in_parts`: whether the rates of layout changes and the seconds of a request are measured apart.
    - `relayed`: whether a copy on the other node takes chunks further on, so that each has to be told of.
    - `repeated`: how much more often the set-up is measured than anything else: short times spread.
    - `briefly`: the ways of a brief probe, if they are others.
    """

    shapes: Callable[[Channel, int], tuple[str, ...]]
    first: tuple[int, ...]
    in_flight: tuple[int, ...]
    tried_with: tuple[Way, ...]
    setup: Way | None
    small: tuple[int, ...] = tuning.SMALL_TRANSFERS
    converting: tuple[Way, ...] = ()
    in_parts: bool = False
    relayed: bool = False
    repeated: int = 1
    pays: float = tuning.REQUESTS_PAY
    bends: bool = True
    briefly: Ways | None = None


def ways_of(channel: Channel, effort: Effort) -> Ways:
    """How a channel is measured."""
    ways = WAYS[channel.kind]
    return ways.briefly if effort.is_brief and ways.briefly is not None else ways


def shapes(channel: Channel, run: int) -> tuple[str, ...]:
    """The shapes of jobs that measure a channel with runs of `run` bytes."""
    return WAYS[channel.kind].shapes(channel, run)


# ---- the shapes of jobs


def _converted(channel: Channel, run: int) -> tuple[str, ...]:
    """Short runs are parts of a chunk that is converted, longer ones are whole chunks."""
    is_copy = channel.is_self_loop or channel.kind.crosses_nodes
    whole = tuning.WHOLE_CHUNKS_COPY if is_copy else tuning.WHOLE_CHUNKS_LINK
    if channel.kind in GPU_CHANNELS:
        whole = tuning.WHOLE_CHUNKS_GPU_COPY if channel.kind is ChannelKind.GPU_COPY else tuning.WHOLE_CHUNKS_GPU_LINK
    if run >= whole:
        return ("stream",)
    is_field = 4 <= run <= tuning.LONG_FIELD and is_copy
    return ("split", "join", "transpose") if is_field else ("gather", "scatter", "transpose")


def _messages(channel: Channel, run: int) -> tuple[str, ...]:
    """Every short run is a call of MPI, wherever it lies."""
    return ("gather",) if run < tuning.LONG_FIELD else _converted(channel, run)


def _file_reads(_: Channel, run: int) -> tuple[str, ...]:
    """Short runs in a file have gaps. Whole chunks are measured in a pipeline and alone."""
    if run < tuning.WHOLE_CHUNKS_DISK:
        return ("sparse",) if run < MIB // 16 else ("sparse", "piped")
    return "piped", "stream"


def _file_writes(_: Channel, run: int) -> tuple[str, ...]:
    if run < tuning.WHOLE_CHUNKS_DISK:
        return ("gather", "transpose") if run < MIB // 16 else ("gather", "piped")
    return "piped", "stream"


def _direct_reads(_: Channel, run: int) -> tuple[str, ...]:
    """Pipelines would measure the kernels of the GPU as well."""
    return ("stream",) if run >= tuning.WHOLE_CHUNKS_DISK else ("sparse",)


def _direct_writes(_: Channel, run: int) -> tuple[str, ...]:
    return ("stream",) if run >= tuning.WHOLE_CHUNKS_DISK else ("gather",)


# ---- the table

_CONVERSIONS: tuple[Way, ...] = (("transpose", 4), ("split", 16))
_COPIES = Ways(
    _converted,
    first=(1, 16, 256, 4096, MIB // 16, MIB, 16 * MIB),
    in_flight=(1, 2, 4),
    tried_with=(("gather", 4), ("transpose", 4), ("stream", 4 * MIB)),
    setup=("split", 16),
    converting=_CONVERSIONS,
    in_parts=True,
    pays=tuning.COPIES_PAY,
)
_GPU_RUNS = (1, 16, 256, 4096, MIB // 16, MIB)
_GPUS = replace(
    _COPIES,
    first=(*_GPU_RUNS, tuning.WHOLE_CHUNKS_GPU_LINK),
    in_flight=(8,),  # Those behind the first one are queued: a GPU works on, while Python is busy with something else.
    tried_with=(("stream", MIB), ("stream", 8 * MIB), ("gather", 4)),
    setup=("stream", MIB),
    pays=tuning.REQUESTS_PAY,
)

_GPU_COPIES = replace(_GPUS, first=(*_GPU_RUNS, tuning.WHOLE_CHUNKS_GPU_COPY))


def _files(shapes: Callable[[Channel, int], tuple[str, ...]], short: str) -> Ways:
    """The ways of files that are read or written through host memory. `short` is the shape of short runs."""
    whole: tuple[Way, ...] = (("piped", MIB), ("piped", 4 * MIB), ("stream", 16 * MIB))
    ways = Ways(
        shapes,
        first=(64, 4096, MIB // 16, MIB, 8 * MIB),
        in_flight=(1, 2, 4, 8),
        tried_with=(*whole, *((short, run) for run in tuning.SHORT_DISK_RUNS), ("copied", MIB)),
        setup=("piped", MIB),
    )
    first = (4096, MIB // 16, MIB, 4 * MIB)
    return replace(ways, briefly=replace(ways, first=first, in_flight=(1, 4), tried_with=whole[:1], bends=False))


_DIRECT_READS = Ways(
    _direct_reads,
    first=(4096, MIB // 16, MIB, 8 * MIB),  # Every run is a request of its own.
    in_flight=(2, 3, 4),
    tried_with=(("stream", MIB), ("stream", 8 * MIB)),
    setup=("stream", MIB),
)
_SENT = Ways(
    _messages,
    first=(8, 64, 1 * KIB, 16 * KIB, MIB // 4, 4 * MIB),
    in_flight=(1, 2, 4),
    tried_with=(("stream", MIB), ("gather", 4 * KIB)),
    setup=None,
    small=(2 * RIDES, 8 * RIDES, 32 * RIDES),  # Smaller ones ride with a message, on no channel.
    relayed=True,
    repeated=3,
)
_CONVERTED_AND_SENT = replace(_SENT, shapes=_converted, converting=(("transpose", 8), ("split", 16)))

WAYS: dict[ChannelKind, Ways] = {
    ChannelKind.MEMCPY: _COPIES,
    ChannelKind.DISK_READ: _files(_file_reads, "sparse"),
    ChannelKind.DISK_WRITE: _files(_file_writes, "gather"),
    **dict.fromkeys(GPU_CHANNELS, _GPUS),
    ChannelKind.GPU_COPY: _GPU_COPIES,
    ChannelKind.DIRECT_READ: _DIRECT_READS,
    ChannelKind.DIRECT_WRITE: replace(_DIRECT_READS, shapes=_direct_writes),
    ChannelKind.TWO_SIDED: _SENT,
    ChannelKind.WINDOW: replace(_CONVERTED_AND_SENT, in_parts=True),
    ChannelKind.PROCESS_WRITE: replace(_CONVERTED_AND_SENT, in_parts=True),
    ChannelKind.PACKED: _CONVERTED_AND_SENT,
}
"""How channels are measured, by kind."""
