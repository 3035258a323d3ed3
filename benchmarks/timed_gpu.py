"""A GPU whose copies take the time that they would take on a real one, and move no bytes.

Real time passes: queued work ends when a real GPU with these rates would end it. So what Python does between two copies delays
them as it would there. Device memory is addresses only.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from isoviz.backends.cuda.cuda_driver import DeviceBlock, PinnedBlock, Place
from isoviz.backends.pages import Bytes, page_aligned
from isoviz.layouts import StridedCopy

LINK, WITHIN = 55e9, 2.15e12
"""Bytes per second: a link of PCIe 5 with 16 lanes, and copies within the memory of an H200."""
GAP = 2e-6
"""Seconds between two pieces of work of a stream."""
_DEVICE = 1 << 56
"""Device memory begins here, beyond all addresses of the host."""
_TIMER_SLACK, _PRECISE = 29, 1000
"""An option of `prctl`, and nanoseconds by which this thread may sleep too long."""


class Work(NamedTuple):
    """A piece of queued work: what carries it out ("up", "down", "within"), its seconds, and the event that it ends, if any."""

    engine: str
    seconds: float
    event: int | None


class Kernel(NamedTuple):
    """A kernel that takes the time of a copy of its bytes."""

    name: str
    code: str
    arguments: tuple[int, ...]
    block: tuple[int, int, int] = (256, 1, 1)
    grid: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0


class Kernels:
    """Makes one kernel for all copies of a request. Its last argument is their number of bytes."""

    def kernels_of(self, copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int) -> Sequence[Kernel]:  # noqa: ARG002  # the protocol's signature
        return [Kernel("timed", "timed", (sum(copy.nbytes for copy in copies),))]

    def compile(self, source: Any, architecture: str) -> bytes:  # noqa: ARG002  # the protocol's signature
        return b"timed"


class TimedArray:
    """An array of `nbytes` bytes on a device, with `__cuda_array_interface__`."""

    def __init__(self, driver: TimedDriver, nbytes: int) -> None:
        pointer = driver.allocate(nbytes, 0).pointer
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
            "stream": None,
        }


class TimedDriver:
    """`isoviz.backends.cuda.cuda_driver.CudaDriver` with one GPU in real time.

    Each stream carries out its work in order. The copy engine of each direction, and the GPU itself, take one piece of work at a
    time, from the streams in turn. `most_ahead` is the largest number of pieces of work that were queued at a time.
    """

    def __init__(self, link: float = LINK, within: float = WITHIN, gap: float = GAP) -> None:
        self._seconds_per_byte = {"up": 1 / link, "down": 1 / link, "within": 1 / within}
        self._gap = gap
        self._streams: dict[int, deque[Work]] = {}
        self._busy: dict[str, tuple[float, int]] = {}
        """For each engine at work: the time of its end, and the stream that it works for."""
        self._free_since: dict[str, float] = {}
        self._latest: dict[str, int] = {}
        """The stream that an engine worked for last."""
        self._ended: dict[int, bool] = {}
        self._pinned: list[tuple[int, int]] = []
        self._numbers, self._addresses = itertools.count(100), itertools.count(_DEVICE, 1 << 40)
        self._lock = threading.Lock()
        self._precise = threading.local()
        self.most_ahead = 0

    # ---- time

    def _advance(self, now: float) -> None:
        """Carry out what ends until `now`. The caller holds the lock."""
        while True:
            for engine, seconds in self._free_since.items():
                if engine not in self._busy:
                    self._begin(engine, seconds)
            ends = min(((end, engine) for engine, (end, _) in self._busy.items()), default=None)
            if ends is None or ends[0] > now:
                return
            end, engine = ends
            _, stream = self._busy.pop(engine)
            self._streams[stream].popleft()
            self._free_since[engine] = end
            self._mark(stream)

    def _mark(self, stream: int) -> None:
        """End the events at the head of a stream."""
        queue = self._streams[stream]
        while queue and queue[0].event is not None:
            self._ended[queue.popleft().event] = True  # type: ignore[index]  # it is no None

    def _begin(self, engine: str, since: float) -> None:
        """Let an engine take the next piece of work, from the streams in turn."""
        heads = [stream for stream, queue in self._streams.items() if queue and queue[0].engine == engine]
        if heads:
            latest = self._latest.get(engine, -1)
            stream = next((each for each in heads if each > latest), heads[0])
            self._latest[engine] = stream
            self._busy[engine] = since + self._gap + self._streams[stream][0].seconds, stream

    def _put(self, stream: int, work: Work) -> None:
        now = self.now()
        with self._lock:
            self._advance(now)
            queue = self._streams[stream]
            queue.append(work)
            if work.event is not None:
                self._mark(stream)
            elif work.engine not in self._busy:
                self._free_since[work.engine] = now
            self._advance(now)
            self.most_ahead = max(self.most_ahead, sum(each.event is None for each in queue))

    def now(self) -> float:
        """The time in seconds."""
        return time.perf_counter()

    def sleep(self, until: float) -> None:
        """Let this thread sleep until a time, more precisely than threads usually do."""
        if not getattr(self._precise, "is_set", False):
            self._precise.is_set = True
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_TIMER_SLACK, _PRECISE, 0, 0, 0)
        time.sleep(max(0.0, until - self.now()))

    # ---- devices

    def device_count(self) -> int:
        return 1

    def device_name(self, device: int) -> str:  # noqa: ARG002
        return "timed"

    def architecture(self, device: int) -> str:  # noqa: ARG002
        return "sm_90"

    def pci_address(self, device: int) -> str:  # noqa: ARG002
        return ""

    def versions(self) -> tuple[tuple[str, str], ...]:
        return ()

    def free_bytes(self) -> tuple[int, int]:
        return 1 << 40, 1 << 40

    def used_device(self) -> int:
        return 0

    def use(self, device: int) -> None: ...

    def reaches(self, device: int, peer: int) -> bool:  # noqa: ARG002
        return False

    def enable_peer(self, peer: int) -> None: ...

    # ---- memory

    def allocate(self, nbytes: int, stream: int) -> DeviceBlock:  # noqa: ARG002
        return DeviceBlock(next(self._addresses), nbytes, 0, self)

    def free(self, block: DeviceBlock) -> None:
        block.owner = None

    def trim(self, stream: int) -> None: ...

    def allocate_pinned(self, nbytes: int) -> PinnedBlock:
        array: Bytes = page_aligned(nbytes)
        self._pinned.append((array.ctypes.data, nbytes))
        return PinnedBlock(array.ctypes.data, array)

    def free_pinned(self, block: PinnedBlock) -> None:
        self._pinned.remove((block.pointer, block.nbytes))
        block.array = None

    def page_lock(self, pointer: int, nbytes: int) -> None: ...

    def page_unlock(self, pointer: int) -> None: ...

    def place_of(self, pointer: int, nbytes: int = 1) -> Place:
        if pointer >= _DEVICE:
            return Place(0, False)
        return Place(None, any(start <= pointer and pointer + nbytes <= start + size for start, size in self._pinned))

    def from_dlpack(self, given: Any) -> Any:
        return given

    # ---- streams and events

    def new_stream(self) -> int:
        number = next(self._numbers)
        with self._lock:
            self._streams[number] = deque()
        return number

    def destroy_stream(self, stream: int) -> None:
        with self._lock:
            del self._streams[stream]

    def wait_stream(self, stream: int) -> None:
        event = self.new_event()
        if stream in self._streams:
            self.record(event, stream)
            self.wait_event(event)

    def new_event(self) -> int:
        number = next(self._numbers)
        self._ended[number] = True
        return number

    def destroy_event(self, event: int) -> None:
        del self._ended[event]

    def record(self, event: int, stream: int) -> None:
        self._ended[event] = False
        self._put(stream, Work("", 0.0, event))

    def is_over(self, event: int) -> bool:
        with self._lock:
            self._advance(self.now())
        return self._ended[event]

    def wait_event(self, event: int) -> None:
        while not self.is_over(event):
            with self._lock:
                until = self._expected(event)
            self.sleep(until)

    def _expected(self, event: int) -> float:
        """When an event ends, if its stream is alone and nothing more is queued. The caller holds the lock."""
        for stream, queue in self._streams.items():
            if not any(work.event == event for work in queue):
                continue
            before = list(itertools.takewhile(lambda work: work.event != event, queue))
            now = next((end for end, busy in self._busy.values() if busy == stream), self.now())
            return now + sum(self._gap + work.seconds for work in before[1:] if work.event is None)
        return self.now()

    def follow(self, stream: int, event: int) -> None: ...

    # ---- work

    def copy(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        engine = "up" if source < _DEVICE else "down" if destination < _DEVICE else "within"
        self._put(stream, Work(engine, nbytes * self._seconds_per_byte[engine], None))

    def copy_rows(self, destination: int, source: int, rows: Any, stream: int) -> None:
        self.copy(destination, source, rows.width * rows.height * rows.depth, stream)

    def copy_peer(self, destination: int, there: int, source: int, here: int, nbytes: int, stream: int) -> None:  # noqa: ARG002
        self.copy(destination, source, nbytes, stream)

    def fill(self, pointer: int, value: int, nbytes: int, stream: int) -> None:  # noqa: ARG002
        self.copy(pointer, pointer, nbytes, stream)

    def load(self, image: bytes) -> int:  # noqa: ARG002
        return 1

    def unload(self, module: int) -> None: ...

    def function(self, module: int, name: str) -> int:  # noqa: ARG002
        return 1

    def launch(
        self,
        function: int,  # noqa: ARG002
        grid: tuple[int, int, int],  # noqa: ARG002
        block: tuple[int, int, int],  # noqa: ARG002
        shared: int,  # noqa: ARG002
        arguments: Sequence[int],
        stream: int,
    ) -> None:
        source, destination, nbytes = arguments
        self.copy(destination, source, nbytes, stream)
