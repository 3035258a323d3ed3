"""A client of a helper: requests of this rank to one rank of its host, and the tickets by which they are waited for."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.mpi.helper.ring import (
    ADD,
    ASLEEP,
    BELL,
    CANCEL,
    CANCELLED,
    CAS,
    COPY,
    DONE,
    LOOPS,
    MOST_LOOPS,
    MOST_REQUESTS,
    MOST_RUNS,
    OK,
    POSTED,
    RESULT,
    RUNS,
    SLEEPERS,
    SLOT,
    SLOTS,
    STATE,
    SWAP,
)
from isoviz.backends.mpi.lanes.page import IS_STRICT, SLEEP, fence
from isoviz.backends.mpi.other_process import system_error
from isoviz.backends.mpi.thread.bells import FUTEX, WAIT, WAKE, FutexTime, give_way, library, quick_library
from isoviz.errors import Cancelled, InputError
from isoviz.forks import Home

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.backends.pages import Bytes

SPINS = 60
"""Yields of the processor, each below a microsecond, before a thread sleeps until its request is done."""
_FORMATS = tuple(struct.Struct(f"<{LOOPS // 8 + 3 * count}q") for count in range(MOST_LOOPS + 1))
"""A request with each number of loops."""


class Ticket:
    """A request that was posted. It keeps what it was given to keep until the request is done."""

    __slots__ = ("_client", "_kept", "_number", "_result", "_state")

    def __init__(self, client: Client, number: int, kept: object) -> None:
        self._client, self._number, self._kept = client, number, kept
        self._state: int | None = None
        self._result = 0

    @property
    def done(self) -> bool:
        """Whether the request has ended, well or not: the helper reads and writes nothing for it any more."""
        return self._state is not None or self._client.has_done(self._number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the request. Returns what a word held before a read-modify-write, else 0.

        Raises:
            TimeoutError: it is not over within `timeout` seconds; it goes on.
            ForkedError: this is a forked child. Cancelled: it was cancelled; some of its bytes may be in place.
            RankLost: the rank of the helper is lost.
            RunError: the system does not move the bytes, or the helper has ended.
        """
        if self._state is None:
            self._client.wait_for(self._number, timeout)
        if self._state is None:
            self._client.settle()
        if self._state == OK:
            return self._result
        if self._state == CANCELLED:
            raise Cancelled("cancelled; some of its bytes may be in place")
        raise system_error(f"the helper of rank {self._client.rank} moves nothing from or to another process", self._result)

    def cancel(self) -> bool:
        """Ask the helper to stop. Whether the request was not over yet: `wait` tells how it ends."""
        if self.done:
            return False
        self._client.ask_to_stop(self._number)
        return True

    def end(self, state: int, result: int) -> None:
        """Note how the request has ended."""
        self._result, self._kept = result, None
        self._state = state


class Client:
    """Requests of this rank to the helper of `rank`, from any thread. They are carried out one after the other.

    `control` and `ring` are the pages of `isoviz.backends.mpi.helper.ring`. `check` raises if nobody serves them any more, or in
    a forked child. `reach` is that of `place_of`.
    """

    def __init__(
        self, rank: int, control: Bytes, ring: Bytes, check: Callable[[], None], reach: Callable[[int, int], tuple[int, int]]
    ) -> None:
        self.rank = rank
        self._control: Any = memoryview(control).cast("q")  # type: ignore[arg-type]  # an array of bytes has a buffer
        self._bytes = memoryview(ring)  # type: ignore[arg-type]  # an array of bytes has a buffer
        self._words: Any = memoryview(ring).cast("q")  # type: ignore[arg-type]  # as above
        self._tables = ring[SLOTS:].view(np.int64).reshape(MOST_REQUESTS, SLOT // 8)[:, LOOPS // 8 : LOOPS // 8 + 3 * MOST_RUNS]
        self._bell = ctypes.c_void_p(int(control.ctypes.data) + BELL)
        self._done = ctypes.c_void_p(int(ring.ctypes.data) + DONE)
        self._wake = quick_library().syscall
        self._check, self._reach = check, reach
        self._home = Home("this client of a helper")
        self._lock = threading.Lock()
        """To post requests and to read how they have ended. Nobody waits while holding it."""
        self._sleeping = threading.Lock()
        self._sleepers = 0
        self._posted = self._settled = 0
        self._tickets: list[Ticket | None] = [None] * MOST_REQUESTS

    # ---- requests

    def place_of(self, address: int, nbytes: int) -> tuple[int, int]:
        """How the helper reaches some bytes of this rank: a process and an address in it; 0 is its own, where they are mapped.

        Raises:
            RunError: it does not reach them.
        """
        return self._reach(address, nbytes)

    def copy(
        self,
        source: int,
        destination: int,
        run: int,
        loops: Sequence[tuple[int, int, int]] = (),
        *,
        source_process: int = 0,
        destination_process: int = 0,
        large: bool = False,
        kept: object = None,
    ) -> Ticket:
        """Have runs of `run` bytes copied. A loop is (turns, step in the source, step in the destination), slowest first.

        The addresses are those of the helper's process, unless one of the ends lies in another process (`place_of`). They must
        stay valid until the ticket is done; `kept` is kept until then. With `large`, long runs go past the caches.

        Raises:
            InputError: there is nothing to copy, or there are too many loops, or both ends lie in other processes.
            RankLost, RunError: as `Ticket.wait`.
        """
        count = len(loops)
        if run < 1 or count > MOST_LOOPS or any(loop[0] < 1 for loop in loops):
            raise InputError(
                f"a copy of {count} loops {tuple(loops)} of {run} bytes: expected at most {MOST_LOOPS}, of 1 turn or more"
            )
        _require_one(source_process, destination_process)
        flat = [value for loop in loops for value in loop]
        return self._post((COPY, source_process, destination_process, source, destination, run, count, int(large), *flat), kept)

    def copy_runs(
        self,
        table: np.ndarray[Any, np.dtype[np.int64]],
        *,
        source_process: int = 0,
        destination_process: int = 0,
        large: bool = False,
        kept: object = None,
    ) -> Ticket:
        """Have up to `MOST_RUNS` runs copied: a row of source, destination and bytes for each. The rest is as for `copy`.

        Raises:
            InputError: the table has no runs, or too many. RankLost, RunError: as `Ticket.wait`.
        """
        count = len(table)
        if not 1 <= count <= MOST_RUNS or int(table[:, 2].min()) < 1:
            raise InputError(f"a table of {count} runs: expected 1 to {MOST_RUNS}, of 1 byte or more")
        _require_one(source_process, destination_process)
        return self._post((RUNS, source_process, destination_process, 0, 0, 0, count, int(large)), kept, table.reshape(-1))

    def rmw(self, op: int, address: int, value: int, compare: int = 0, size: int = 8) -> Ticket:
        """Have a word changed by the atomics of the processor: `ADD`, `SWAP` or `CAS`, 4 or 8 bytes, at an address of the helper.

        Raises:
            InputError: there is no such operation or word, or the word is not aligned.
            RankLost, RunError: as `Ticket.wait`.
        """
        if op not in (ADD, SWAP, CAS) or size not in (4, 8) or address % size:
            raise InputError(f"operation {op} on {size} bytes at {address:#x}: expected an aligned word of 4 or 8 bytes")
        return self._post((op, 0, 0, address, _signed(value), _signed(compare), size, 0))

    # ---- for tickets

    def has_done(self, number: int) -> bool:
        """Whether a request has ended."""
        found = self._words[DONE // 8] >= number
        if not IS_STRICT:
            fence()  # what follows reads what the helper has written
        return bool(found)

    def wait_for(self, number: int, timeout: float | None = None) -> None:
        """Wait until a request has ended."""
        for _ in range(SPINS):
            if self.has_done(number):
                return
            give_way()
        end = None if timeout is None else time.monotonic() + timeout
        while not self.has_done(number):
            self._check()
            left = SLEEP if end is None else min(SLEEP, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"rank {self.rank} has not ended the request within {timeout} s")
            self._sleep(number, left)

    def settle(self) -> None:
        """Note how requests have ended, for their tickets.

        Raises:
            ForkedError: this is a forked child, in which the lock may never be free.
        """
        self._home.require()
        with self._lock:
            self._settle()

    def ask_to_stop(self, number: int) -> None:
        """Ask the helper to stop a request. If that has ended and its slot has another one, the number there means nothing."""
        self._words[(_slot_of(number) + CANCEL) // 8] = number

    # ---- inside

    def _post(self, request: tuple[int, ...], kept: object = None, table: Any = None) -> Ticket:
        self._check()
        while True:
            with self._lock:
                self._settle()
                number = self._posted + 1
                if number - self._settled <= MOST_REQUESTS:
                    return self._write(number, request, kept, table)
            self.wait_for(number - MOST_REQUESTS)

    def _write(self, number: int, request: tuple[int, ...], kept: object, table: Any) -> Ticket:
        """Write a request into its slot and tell the helper. The caller holds the lock."""
        words, at = self._words, (number - 1) % MOST_REQUESTS
        _FORMATS[(len(request) - LOOPS // 8) // 3].pack_into(self._bytes, _slot_of(number), *request)
        if table is not None:
            self._tables[at, : len(table)] = table
        ticket = self._tickets[at] = Ticket(self, number, kept)
        if not IS_STRICT:
            fence()
        self._posted = words[POSTED // 8] = number
        fence()
        if self._control[ASLEEP // 8]:
            self._control[BELL // 8] += 1
            self._wake(FUTEX, self._bell, WAKE, 1, None, None, 0)
        return ticket

    def _settle(self) -> None:
        """Note how requests have ended. The caller holds the lock."""
        words = self._words
        for number in range(self._settled + 1, words[DONE // 8] + 1):
            at, slot = (number - 1) % MOST_REQUESTS, _slot_of(number)
            ticket, self._tickets[at] = self._tickets[at], None
            assert ticket is not None
            ticket.end(words[(slot + STATE) // 8], words[(slot + RESULT) // 8])
            self._settled = number

    def _sleep(self, number: int, seconds: float) -> None:
        """Sleep until the helper has ended another request, or for some time."""
        words = self._words
        with self._sleeping:
            self._sleepers += 1
            words[SLEEPERS // 8] = self._sleepers
        fence()
        try:
            seen = words[DONE // 8]
            if seen < number:
                most = FutexTime(0, int(1e9 * seconds))
                library().syscall(FUTEX, self._done, WAIT, ctypes.c_uint32(seen & 0xFFFFFFFF), ctypes.byref(most), None, 0)
        finally:
            with self._sleeping:
                self._sleepers -= 1
                words[SLEEPERS // 8] = self._sleepers


def _slot_of(number: int) -> int:
    """Where a request lies in a ring."""
    return SLOTS + SLOT * ((number - 1) % MOST_REQUESTS)


def _signed(value: int) -> int:
    """A number of 8 bytes as a signed one."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _require_one(source_process: int, destination_process: int) -> None:
    if source_process and destination_process:
        raise InputError("a copy between two other processes: one of its ends has to lie in the process of the helper")
