"""What all parts of the benchmark of a GPU use: the GPU, an engine, arrays in every memory, and times of ways in turn."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.cuda.cupy_driver import CupyDriver, loaded
from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.cuda.enqueueing import Lane
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.devices import ThisComputer
from isoviz.backends.generate import ODD, fill
from isoviz.backends.pages import page_aligned
from isoviz.bench.aims import COLUMNS, AimsTable, row
from isoviz.bench.gpu.peers import torch_peer
from isoviz.bench.table import Row, seconds_of, two_digits, where_known
from isoviz.document import Document, Facts, Part, Points, Prose, Section
from isoviz.errors import InputError, VerificationError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.measure.local_engine import Engine
from isoviz.planner import Plan, Transfer, plan_by_path

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.cuda.layout_kernels import KernelMaker
    from isoviz.backends.pages import Bytes
    from isoviz.bench.gpu.peers import TorchPeer


FBM, ZCM, SYS, DSK = "node0.fbm0", "node0.zcm", "node0.sys", "node0.dsk"
BYTE = FieldSpace(v="uint8")
ANY = 4
"""cudaMemcpyDefault."""
WIDEST = 16
"""Bytes of the largest element of CuPy and PyTorch. Arrays are as long as a multiple of this."""
_LINK, _DISK = Constant(5e10), Constant(2e9)
_RATES = {
    ChannelKind.GPU_COPY: Constant(1e12),
    ChannelKind.GPU_READ: _LINK,
    ChannelKind.GPU_WRITE: _LINK,
    ChannelKind.DISK_READ: _DISK,
    ChannelKind.DISK_WRITE: _DISK,
}
FAKE = "fake driver: nothing was measured on a GPU"


class BenchedGpu(NamedTuple):
    """The driver, kernels other than those of isoviz (None: its own), and whether a real GPU is behind it."""

    driver: CudaDriver
    maker: KernelMaker | None
    is_real: bool


def gpu_of_this_computer() -> BenchedGpu:
    """The GPU to measure.

    Raises:
        InputError: this computer has none.
    """
    found = loaded()
    if found.driver is None:
        raise InputError(f"bench gpu: needs a GPU: {found.reason}")
    return BenchedGpu(found.driver, None, type(found.driver) is CupyDriver)


class Sizes(NamedTuple):
    """Bytes of the transfers of each part."""

    links: Sequence[int]
    conversions: int
    engine_conversions: int
    structs: int
    file: int
    bulk: int
    urgent: int
    small: Sequence[int]
    predictions: Sequence[int]
    ranks: int


def machine_of_one_gpu(folder: Path) -> Machine:
    """A GPU, pinned and pageable host memory, and a disk, every pair joined.

    The rates are assumed. Paths are given, so the rates only decide how long requests are.
    """
    kinds = {FBM: MemoryKind.FBM, ZCM: MemoryKind.ZCM, SYS: MemoryKind.SYS, DSK: MemoryKind.DSK}
    memories = tuple(Memory(name, kind, device=str(folder) if name == DSK else None) for name, kind in kinds.items())
    joined = (
        (FBM, FBM, ChannelKind.GPU_COPY),
        *((FBM, name, ChannelKind.GPU_READ) for name in (ZCM, SYS)),
        *((name, FBM, ChannelKind.GPU_WRITE) for name in (ZCM, SYS)),
        *((DSK, name, ChannelKind.DISK_READ) for name in (ZCM, SYS)),
        *((name, DSK, ChannelKind.DISK_WRITE) for name in (ZCM, SYS)),
    )
    return Machine("one GPU, rates assumed", memories, tuple(Channel("", kind, a, b, _RATES[kind]) for a, b, kind in joined))


class GpuBench:
    """One GPU and an engine on it. Peers use CuPy and PyTorch directly.

    `repeat` is the number of rounds. Files are in `folder`. `close` gives everything back.
    """

    def __init__(self, gpu: BenchedGpu, folder: Path, sizes: Sizes, repeat: int) -> None:
        import cupy

        self.cupy, self.runtime = cupy, cupy.cuda.runtime
        self.benched, self.folder, self.sizes, self.repeat = gpu, folder, sizes, repeat
        self.machine = machine_of_one_gpu(folder)
        self.gpus = Gpus(gpu.driver, gpu.maker)
        # Entered, as users enter theirs: it keeps its threads from one transfer to the next.
        self.engine = Engine(self.machine, self.devices()).__enter__()
        self.torch: TorchPeer | None = torch_peer()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self._marks = [self.runtime.eventCreateWithFlags(0) for _ in range(2)]
        self._busy: tuple[Any, Any] | None = None
        self._allowed = self._until = math.inf

    def devices(self) -> ThisComputer:
        """The devices of an engine that uses this GPU."""
        return ThisComputer(self.folder, gpus=self.gpus)

    def close(self) -> None:
        """End the engine, streams and events, and give memory back."""
        self.engine.close()
        for mark in self._marks:
            self._quietly(partial(self.runtime.eventDestroy, mark))
        del self.stream
        self.tidy()

    def _quietly(self, action: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # A dead device has nothing left to give back.
            action()

    # ---- the hygiene of CuPy's pools

    def tidy(self) -> None:
        """Give unused memory back to the driver, so that no part begins with the memory of another one."""
        self._busy = None
        gc.collect()
        self._quietly(lambda: self.cupy.get_default_memory_pool().free_all_blocks())
        self._quietly(lambda: self.cupy.get_default_pinned_memory_pool().free_all_blocks())
        if self.torch is not None:
            self._quietly(self.torch.tidy)

    def used(self) -> int:
        """Bytes of CuPy's pool of device memory that are in use."""
        gc.collect()
        return int(self.cupy.get_default_memory_pool().used_bytes())

    # ---- time

    def allow(self, seconds: float) -> None:
        """Set the time that the next part may take."""
        self._allowed, self._until = seconds, time.monotonic() + seconds

    def allow_again(self) -> None:
        """Begin the time of this part anew: what it did so far has a limit of its own."""
        self.allow(self._allowed)

    @property
    def has_time(self) -> bool:
        """Whether the part has time for one more case."""
        return time.monotonic() < self._until

    def in_turn(self, ways: Mapping[str, Callable[[], float]], repeat: int = 0) -> dict[str, list[float]]:
        """The seconds of each way in every round, after one that does not count."""
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range((repeat or self.repeat) + 1):
            for name, way in ways.items():
                seconds = way()
                if turn:
                    times[name].append(seconds)
        return times

    def on_gpu(self, stream: int, queue: Callable[[], object]) -> float:
        """Seconds of the GPU for queued work. The GPU is busy with a copy while it is queued, so gaps do not count."""
        self._keep_busy(stream)
        begin, end = self._marks
        self.runtime.eventRecord(begin, stream)
        queue()
        self.runtime.eventRecord(end, stream)
        self.runtime.eventSynchronize(end)
        return float(self.runtime.eventElapsedTime(begin, end)) / 1000

    def _keep_busy(self, stream: int) -> None:
        if self._busy is None:
            self._busy = self.device(self.sizes.conversions), self.device(self.sizes.conversions)
        here, there = self._busy
        for _ in range(2):
            self.runtime.memcpyAsync(there.data.ptr, here.data.ptr, here.nbytes, ANY, stream)

    def bare(self, destination: int, source: int, nbytes: int) -> float:
        """Seconds of cudaMemcpyAsync until it has ended."""

        def copy() -> None:
            self.runtime.memcpyAsync(destination, source, nbytes, ANY, self.stream.ptr)
            self.runtime.streamSynchronize(self.stream.ptr)

        return seconds_of(copy)

    # ---- the engine and the lane of isoviz

    def plan(self, nbytes: int, *path: str) -> Plan:
        """The plan for contiguous bytes along a path."""
        ends = path[0], "<F, x>", path[-1], "<F, x>"
        return plan_by_path(Transfer.whole(IndexSpace(x=nbytes), BYTE, *ends), self.machine, path)

    def submitted(self, plan: Plan, source: Any, destination: Any) -> Callable[[], float]:
        """A plan, from `submit` to its end."""
        return lambda: seconds_of(lambda: self.engine.submit(plan, source, destination).wait())

    def lane(self) -> Lane:
        """A stream of isoviz for copies within this GPU."""
        return Lane(self.gpu, within=True)

    @property
    def gpu(self) -> Gpu:
        """The GPU as the backends know it."""
        found = self.gpus.device_memory(self.machine.memory(FBM))
        assert isinstance(found, DeviceMemory)
        return found.gpu

    # ---- memory

    def device(self, nbytes: int) -> Any:
        """Bytes of the GPU: a CuPy array, filled as `isoviz.backends.generate.fill` does."""
        words = self.cupy.arange(1, rounded(nbytes) // 8 + 1, dtype=np.uint64)
        words *= np.uint64(ODD)
        self.runtime.deviceSynchronize()
        return words.view(np.uint8)

    def host(self, memory: str, nbytes: int) -> Bytes:
        """Bytes of host memory, filled: pageable (SYS) or pinned (ZCM)."""
        if memory == SYS:
            array = page_aligned(nbytes)
        else:
            array = np.frombuffer(self.cupy.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)
        fill(array, 0)
        return array

    def check(self, what: str, way: Callable[[], object], destination: Any, expected: Any) -> None:
        """Do something once more that writes `destination`, which holds zeros before and what is expected afterwards.

        Raises:
            VerificationError: it holds something else.
        """
        destination.fill(0)
        self.runtime.deviceSynchronize()
        way()
        self.check_equal(what, destination, expected)

    def check_equal(self, what: str, mine: Any, theirs: Any) -> None:
        """Compare two arrays, which may be on the GPU.

        Raises:
            VerificationError: they differ.
        """
        if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
            mine, theirs = (each if isinstance(each, np.ndarray) else each.get() for each in (mine, theirs))
            equal = np.array_equal(mine, theirs)
        else:
            equal = bool(self.cupy.array_equal(mine, theirs))
        if not equal:
            raise VerificationError(f"{what}: the bytes differ")


def rounded(nbytes: int) -> int:
    """The next multiple of the widest element."""
    return -(-nbytes // WIDEST) * WIDEST


def medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each way."""
    return {name: statistics.median(found) for name, found in times.items()}


# What `isoviz bench gpu` found, as a table, as JSON, and as a page in Markdown.

REPORTS = "benchmarks"
"""The folder of measured reports."""
GPU_COLUMNS = {**COLUMNS, "share": ("of a copy", where_known(two_digits)), "error": ("error", where_known(str, ""))}
NOTES = (
    "ratio: figure of the peer ÷ figure of isoviz, the median of all rounds; above 1, isoviz is faster",
    "links, structs, small, urgent, engine: seconds of the clock, from `submit` to the end; peers until their stream is empty",
    "conversions: seconds between two events of the GPU; all work is queued while it is busy, so the processor does not count",
    "every conversion was compared with CuPy's, byte by byte, and every other transfer with its source",
)
UNSHOWN = (
    "The tests without a GPU execute the PTX of the kernels on the processor. They cannot show what depends on the weak memory"
    " order of a GPU, on what happens inside a warp, or on speed. The figures here, `tests/gpu` and `compute-sanitizer` show it."
)


@dataclass(frozen=True, repr=False)
class GpuTable(AimsTable):
    """Rows of all parts. `is_real` is false on the driver of the tests, whose figures say nothing."""

    is_real: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"measured_on": "a GPU" if self.is_real else FAKE, **super().to_json(), "missing": missing(self.rows)}

    def check_place(self, path: str) -> None:
        """A table of the fake driver is not a report of a GPU.

        Raises:
            InputError: it would be one of the measured reports.
        """
        if not self.is_real and REPORTS in Path(path).resolve().parts:
            raise InputError(f"{path}: {FAKE}; expected a file outside {REPORTS}")

    def to_page(self) -> str:
        """Markdown: the device, the aims and what is missing, then a table for each part."""
        aimed = [each for each in self.rows if each["met"] is not None]
        met = sum(each["met"] for each in aimed)
        absent = missing(self.rows)
        parts: list[Part] = [Prose(f"isoviz bench gpu: {self.title}."), *([] if self.is_real else [Prose(f"{FAKE}.")])]
        parts += [Facts([(str(name), str(value)) for name, value in self.machine.items()])]
        parts += [Prose(f"{met} of {len(aimed)} aims are met. {UNSHOWN}")]
        parts += [Prose("Missing:"), Points(absent)] if absent else []
        parts += [
            Section(f"{part[0].upper()}{part[1:]}", [self.table(list(rows), without=("part",))])
            for part, rows in groupby(self.written(), lambda each: each["part"])
        ]
        return Document("The GPU", [*parts, Section("How it was measured", [Points(self.notes)])]).markdown()


def completed(found: Row) -> Row:
    """A row with every column."""
    return {"error": None, "share": None, **found}


def failed(part: str, error: BaseException) -> Row:
    """The row of a part that failed."""
    said = f"{type(error).__name__}: {error}"
    return completed({**row(part, "failed", 0.0), "figure": None, "met": False, "error": said})


def left_out(part: str, what: str) -> dict[str, Any]:
    """The row of what was not measured because the time of its part was over."""
    return {**row(part, what, 0.0), "figure": None, "met": False, "error": "left out: no time"}


def missing(rows: Sequence[Row]) -> list[str]:
    """The figures that are not there, each as a sentence."""
    return [f"{each['part']}: {each['what']}: {each['error']}" for each in rows if each["error"]]
