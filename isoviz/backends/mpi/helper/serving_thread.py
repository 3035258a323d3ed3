"""The thread that runs the compiled loop of a helper."""

from __future__ import annotations

import atexit
import ctypes
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.atomics import SIZES, atomics
from isoviz.backends.host.kernels import kernel_cache
from isoviz.backends.mpi.helper.ring import BELL, BUSY, CLOSED, DONE, POLLS, POSTED, RING, STOP
from isoviz.backends.mpi.lanes.page import fence
from isoviz.backends.mpi.thread.bells import FUTEX, WAKE, give_way, library
from isoviz.backends.pages import PAGE
from isoviz.errors import RunError
from isoviz.forks import Home, held_over_forks

if TYPE_CHECKING:
    from types import ModuleType

    from isoviz.backends.mpi.windows import Segment, Windows
    from isoviz.backends.pages import Bytes

_Words = np.ndarray[Any, np.dtype[np.int64]]
_loading = threading.Lock()
held_over_forks(_loading)  # a forked child would wait for ever for modules that another thread was importing
_CALLS = ("process_vm_readv", "process_vm_writev", "syscall", "sched_yield")


class ServingThread:
    """The helper of this rank, for up to `ranks` clients, each known by its rank. It runs until `close`, at the latest until the
    interpreter ends. Other threads than the one that makes clients may call `drop` and `let_go`.

    Raises:
        RunError: there is no Numba, or no room in the windows.
    """

    def __init__(self, windows: Windows, ranks: int) -> None:
        loop = loaded_loop()
        self._windows = windows
        self._home = Home("this helper")
        self._control = _zeroed(windows.array(PAGE))
        self._words: Any = _words_of(self._control)
        self._rings: dict[int, Bytes] = {}
        self._table = np.zeros(ranks, np.int64)
        self._scratch = np.zeros((loop.ROOM + ranks * loop.KNOWN) // 8, np.int64)
        self._maps: dict[tuple[int, Segment], Bytes] = {}
        self._leaving: list[tuple[int, int, Bytes]] = []
        """Maps that go when a client has no request under way that is as old: its rank, the request, the map."""
        arguments = _arguments(self._control, self._table, self._scratch)
        self._thread = threading.Thread(target=loop.serve, args=arguments, name="isoviz helper", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def is_alive(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive()

    def polls(self, value: bool) -> None:
        """Let the loop look for requests without sleep, or let it sleep."""
        self._words[POLLS // 8] = value
        self._ring_bell()

    def ring_of(self, rank: int) -> tuple[Bytes, Bytes]:
        """The control page, and the ring of a client."""
        if rank not in self._rings:
            self._rings[rank] = _zeroed(self._windows.array(RING))
            fence()
            self._table[rank] = self._rings[rank].ctypes.data
        return self._control, self._rings[rank]

    def keep(self, rank: int, segment: Segment, array: Bytes) -> int:
        """Keep the map of a segment of a client, and tell its address."""
        self._maps[rank, segment] = array
        return int(array.ctypes.data)

    def let_go(self, rank: int, segment: Segment) -> None:
        """Let go of the map of a segment that has ended, as soon as the client has no request under way that is as old."""
        array = self._maps.pop((rank, segment), None)
        if array is not None:
            self._leaving.append((rank, _words_of(self._rings[rank])[POSTED // 8], array))
        self._leaving = [each for each in self._leaving if _words_of(self._rings[each[0]])[DONE // 8] < each[1]]

    def drop(self, rank: int) -> None:
        """Begin nothing more for a client, and wait for the end of what is begun, of at most a part of a copy."""
        ring = self._rings.get(rank)
        if ring is None:
            return
        words = _words_of(ring)
        words[CLOSED // 8] = 1
        fence()
        self._table[rank] = 0
        while words[BUSY // 8] and self.is_alive:
            give_way()
        for key in [key for key in list(self._maps) if key[0] == rank]:
            self._maps.pop(key, None)
        self._leaving = [each for each in self._leaving if each[0] != rank]

    def close(self) -> None:
        """End the loop after the part that it is at. A forked child has none."""
        atexit.unregister(self.close)
        if not self._home.is_here:
            return
        self._words[STOP // 8] = 1
        self._ring_bell()
        self._thread.join()
        self._maps.clear()
        self._leaving.clear()

    def _ring_bell(self) -> None:
        fence()
        self._words[BELL // 8] += 1
        library().syscall(FUTEX, ctypes.c_void_p(self._control.ctypes.data + BELL), WAKE, 1, None, None, 0)


def loaded_loop() -> ModuleType:
    """The module of the compiled loop, which is compiled once for each computer and version, in some seconds.

    Raises:
        RunError: Numba is missing.
    """
    with _loading:
        return _loop()


@cache
def _loop() -> ModuleType:
    try:
        from isoviz.backends.mpi.helper import loop
    except ImportError as error:
        raise RunError(f"the helper of a rank is compiled by Numba, which cannot be loaded: {error}") from None
    kernel_cache.made_ready(loop.APART, lambda: _call_once(loop))
    return loop


def _call_once(loop: ModuleType) -> None:
    """Compile or load the loop. With the control page of this call it returns at once."""
    control, table, scratch = np.zeros(PAGE, np.uint8), np.zeros(1, np.int64), np.zeros((loop.ROOM + loop.KNOWN) // 8, np.int64)
    _words_of(control)[STOP // 8] = 1
    loop.serve(*_arguments(control, table, scratch))


def _arguments(control: Bytes, table: _Words, scratch: _Words) -> tuple[int, ...]:
    return int(control.ctypes.data), int(table.ctypes.data), len(table), int(scratch.ctypes.data), int(_functions().ctypes.data)


@cache
def _functions() -> _Words:
    """The table of functions, which stays for as long as the process."""
    calls = [_address_of(name) for name in _CALLS]
    changes = [atomics().address_of(name, size) for name in ("fetch_and_add", "swap", "compare_and_swap") for size in SIZES]
    return np.array([*calls, FUTEX or 0, _address_of("__errno_location"), *changes], np.int64)


def _address_of(name: str) -> int:
    return ctypes.cast(getattr(library(), name), ctypes.c_void_p).value or 0


def _zeroed(array: Bytes) -> Bytes:
    array[:] = 0
    return array


def _words_of(array: Bytes) -> Any:
    return memoryview(array).cast("q")  # type: ignore[arg-type]  # an array of bytes has a buffer
