"""`isoviz bench gpu`: transfers from, to and inside a GPU, beside CUDA itself, CuPy and PyTorch in the same run.

A part that fails becomes a row with its error, and the other parts go on. Each part has a share of the time.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from isoviz.backends.cuda.kernels import nvrtc
from isoviz.backends.host import kernels
from isoviz.bench.aims import compared
from isoviz.bench.gpu.bench import (
    FAKE,
    GPU_COLUMNS,
    NOTES,
    BenchedGpu,
    GpuBench,
    GpuTable,
    Sizes,
    completed,
    failed,
    gpu_of_this_computer,
)
from isoviz.bench.gpu.conversions import engine_conversions, gpu_conversions
from isoviz.bench.gpu.links import host_links, small_transfers, urgent_on_gpu
from isoviz.bench.gpu.predictions import gpu_predictions
from isoviz.bench.gpu.staged import files_to_gpu, structs_to_gpu
from isoviz.bench.ranks.bench import Order, RankBench, rank_bench
from isoviz.bench.table import Row, scratch_folder
from isoviz.errors import InputError, MissingPartError, RunError
from isoviz.launch.ranks import ranks
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.planner import Plan, Transfer, plan_by_path
from isoviz.units import format_bytes

# From a GPU to the GPU of another rank, beside the slowest hop alone. Two ranks share the GPU if it is a single one.

AIM = 0.85
PATH = ("node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0")
SHOWN = "FBM → REG → REG* → FBM*"
WORD = FieldSpace(v="uint64")


def gpus_of_ranks(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Rows of two ranks of this computer, which begin while this process leaves the GPU alone."""
    if not bench.benched.is_real:
        raise RunError("ranks use the real GPUs of this computer only, and this one is played")
    order = Order(bench.repeat, bench.sizes.ranks, str(bench.folder), quick=False)
    with ranks(2) as two:
        yield from two.call(between_gpus_on_rank, machine_of_two([process.host for process in two.processes]), order)[0]


def machine_of_two(hosts: Sequence[str]) -> Machine:
    """Two ranks with a GPU and registered memory each. Paths are given, so all rates are alike."""
    rate = LatencyBandwidth(1e-5, 1e10)
    across = ChannelKind.WINDOW if hosts[0] == hosts[1] else ChannelKind.REMOTE_MEMCPY
    memories, channels = [], []
    for rank in (0, 1):
        fbm, reg = f"node{rank}.fbm0", f"node{rank}.reg"
        memories += [Memory(fbm, MemoryKind.FBM, rank), Memory(reg, MemoryKind.REG, rank)]
        channels += [Channel("", ChannelKind.GPU_READ, fbm, reg, rate), Channel("", ChannelKind.GPU_WRITE, reg, fbm, rate)]
    channels.append(Channel("", across, PATH[1], PATH[2], rate))
    return Machine("two ranks with a GPU, rates assumed", tuple(memories), tuple(channels))


def between_gpus_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """What each rank does."""
    with rank_bench(machine, order) as rank:
        return between_gpus(rank, order)


def between_gpus(rank: RankBench, order: Order) -> list[dict[str, Any]]:
    """The whole path, and each of its hops alone, in turn; then once more with a comparison of all bytes."""
    words = order.nbytes // WORD.nbytes

    def by_hand(path: tuple[str, ...]) -> Plan:
        ends = path[0], "<F, x>", path[-1], "<F, x>"
        return rank.agreed(lambda: plan_by_path(Transfer.whole(IndexSpace(x=words), WORD, *ends), rank.machine, path))

    whole, registered = by_hand(PATH), rank.array("reg", order.nbytes)

    def end(name: str) -> Any:
        """The engine makes the ends on GPUs, outside the measured time."""
        return registered if name == f"node{rank.rank}.reg" else None

    ways = {"whole": rank.reported(whole)}
    hops = list(pairwise(PATH))
    for hop in hops:
        ways[_name(hop)] = rank.reported(by_hand(hop), end(hop[0]), end(hop[1]))
    times = rank.interleaved(ways, order.repeat)
    verified = rank.engine.run(whole).verified
    slowest = max(map(_name, hops), key=lambda name: statistics.median(times[name]))
    what = f"{format_bytes(order.nbytes)}, {SHOWN}, {'every byte verified' if verified else 'NOT VERIFIED'}"
    medians = {name: statistics.median(found) for name, found in times.items()}
    return [{**compared("ranks", what, times, "whole", slowest, AIM), "ways": medians}]


def _name(hop: tuple[str, str]) -> str:
    words = {"node0.fbm0": "FBM", "node0.reg": "REG", "node1.reg": "REG*", "node1.fbm0": "FBM*"}
    return f"{words[hop[0]]} → {words[hop[1]]} alone"


_LOG = logging.getLogger("isoviz")

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FULL_SIZES = Sizes(
    links=(64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB),
    conversions=GIB,
    engine_conversions=GIB,
    structs=128 * MIB,
    file=512 * MIB,
    bulk=256 * MIB,
    urgent=16 * MIB,
    small=(8, 4 * KIB),
    predictions=(16 * MIB, 128 * MIB),
    ranks=256 * MIB,
)
QUICK_SIZES = Sizes(
    links=(4 * KIB,),
    conversions=16 * KIB,
    engine_conversions=16 * KIB,
    structs=4 * KIB,
    file=16 * KIB,
    bulk=8 * KIB,
    urgent=KIB,
    small=(8,),
    predictions=(4 * KIB,),
    ranks=4 * KIB,
)
"""They only show that everything runs."""
MINUTES = 3.0


class Part(NamedTuple):
    """A part of the benchmark: its name, what it measures, and its share of the time."""

    name: str
    measure: Callable[[GpuBench], Iterator[dict[str, Any]]]
    share: float


PARTS = (
    Part("links", host_links, 0.1),
    Part("small", small_transfers, 0.02),
    Part("conversions", gpu_conversions, 0.4),
    Part("structs", structs_to_gpu, 0.12),
    Part("files", files_to_gpu, 0.12),
    Part("urgent", urgent_on_gpu, 0.05),
    Part("engine", engine_conversions, 0.12),
    Part("predictions", gpu_predictions, 0.15),
    Part("ranks", gpus_of_ranks, 0.1),
)


def measure(
    repeat: int = 5,
    directory: str | Path | None = None,
    quick: bool = False,
    minutes: float = MINUTES,
    parts: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> GpuTable:
    """Medians of `repeat` rounds in turn; files are written below `directory`. `progress` gets a text about each part.

    `parts` names those to measure, with commas between; they share `minutes` as they are shared among all.

    No part begins a further case when its share of `minutes` is over. The probe, whose machine the predictions are for, takes up
    to two minutes more. With `quick` all transfers are small: it takes seconds, and its figures say nothing. An interrupt ends
    the measurement, and the table has what is there.

    Raises:
        InputError: there is no GPU, `repeat` or `minutes` is too small, or there is no such part.
    """
    if repeat < 1 or not minutes > 0:
        raise InputError(f"bench gpu: repeat={repeat}, minutes={minutes:g}; expected at least 1 round, and some time")
    chosen = _chosen(parts)
    shares = sum(part.share for part in chosen) if parts else 1.0
    gpu = gpu_of_this_computer()
    tell = progress or _nobody
    began = time.monotonic()
    rows: list[Row] = []
    with scratch_folder(directory) as folder:
        tell("making the copy kernels ready")
        kernels.prepare(wait=True)
        with closing(GpuBench(gpu, folder, QUICK_SIZES if quick else FULL_SIZES, repeat)) as bench:
            facts = _facts(gpu, bench)
            for part in chosen:
                if not _measured(part, bench, minutes / shares, rows, tell):
                    break
    title = f"transfers of {facts['gpu']}: medians of {repeat}" + (" (quick: the figures say nothing)" if quick else "")
    table = GpuTable("gpu", title if gpu.is_real else f"{title}; {FAKE}", GPU_COLUMNS, rows, NOTES, is_real=gpu.is_real)
    facts["seconds"] = round(time.monotonic() - began)
    return replace(table, machine={**table.machine, **facts})


def _chosen(names: str | None) -> Sequence[Part]:
    if names is None:
        return PARTS
    known = {part.name: part for part in PARTS}
    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in known]:
        raise InputError(f"bench gpu: there is no part {unknown[0]!r}; expected some of {', '.join(known)}")
    return [part for name, part in known.items() if name in wanted]


def _measured(part: Part, bench: GpuBench, minutes: float, rows: list[Row], tell: Callable[[str], None]) -> bool:
    """Append the rows of a part. Returns false after an interrupt."""
    tell(part.name)
    used = bench.used()
    bench.allow(60 * minutes * part.share)
    begin = time.monotonic()
    try:
        for found in part.measure(bench):
            rows.append(completed(found))
            tell(f"{part.name}: {found['what']}")
    except KeyboardInterrupt as error:
        rows.append(failed(part.name, error))
        return False
    except Exception as error:  # noqa: BLE001  # the row says it, and the other parts go on
        _LOG.debug("bench gpu: %s", part.name, exc_info=True)
        rows.append(failed(part.name, error))
    bench.tidy()
    if (left := bench.used()) > used:
        rows.append(failed(part.name, RuntimeError(f"{left - used} bytes of the pool of the GPU are still in use")))
    tell(f"{part.name}: {time.monotonic() - begin:.0f} s")
    return True


def _nobody(_what: str) -> None:
    """Progress that nobody follows."""


def _facts(gpu: BenchedGpu, bench: GpuBench) -> dict[str, Any]:
    """The GPU and the versions of everything that its speed depends on."""
    runtime = bench.runtime
    compiler = "none"
    with suppress(MissingPartError):
        compiler = ".".join(map(str, nvrtc.version()))
    return {
        "gpu": gpu.driver.device_name(0) if gpu.is_real else FAKE,
        "gpus": gpu.driver.device_count(),
        "architecture": gpu.driver.architecture(0),
        "driver supports CUDA": _version(runtime.driverGetVersion()),
        "driver": _kernel_driver(),
        "CUDA runtime": _version(runtime.runtimeGetVersion()),
        "NVRTC": compiler,
        "CuPy": bench.cupy.__version__,
        "PyTorch": "not there" if bench.torch is None else bench.torch.version,
        "kernels of the processor": kernels.state(),
    }


def _version(number: int) -> str:
    """A version of CUDA: 13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _kernel_driver() -> str:
    """The version of the NVIDIA driver, if the system tells it."""
    try:
        words = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").split()
    except OSError:
        return "unknown"
    return next((word for word in words if word[:1].isdigit() and "." in word), "unknown")
