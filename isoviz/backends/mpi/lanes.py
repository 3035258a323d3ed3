"""Lanes: prepared transfers between two ranks of one host, carried out without messages, pickles or other threads.

A lane has a page of memory that both ranks map. The receiver writes the number of the transfer that it is ready for (the credit).
The sender moves all bytes and writes the same number (done). Who waits yields the processor for some microseconds and then
sleeps on the word (a futex), some milliseconds at most, so that it can look for lost ranks and cancels meanwhile.

Registered memory is written where it is mapped. Pageable memory of the receiver is written by `process_vm_writev`, up to 1024
pieces in one call. A receiver may cancel while the sender has not begun: each writes its own word first and reads that of the
other one afterwards, with a fence between the two.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.copying import prepared_copies
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.bells import FUTEX, WAIT, WAKE, FutexTime, are_shared, give_way, library, quick_library
from isoviz.backends.mpi.channels.cutting import pieces
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.pages import PAGE
from isoviz.errors import Cancelled, RankError, RunError
from isoviz.layouts.recurring import split_together
from isoviz.runtime.ranks.handles import StoreHandle
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.mpi.fencing import Fence
    from isoviz.backends.mpi.stores import Stores
    from isoviz.backends.mpi.windows import Windows
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Store

PART = 1 << 20
"""Bytes between two looks at more urgent transfers and at a cancel."""
MOST_COPIES = 4096
"""Copies of a transfer at most: their tables are kept with the lane."""
LEAST_RUN = 64
"""Bytes of a run in pageable memory of another process: the system needs some ten nanoseconds for each run."""
SPINS = 60
"""Yields of the processor, each below a microsecond, before a rank sleeps."""
SLEEP = 2e-3
"""Seconds that a rank sleeps at most."""
_LINE = 64
_MOST_PIECES = 1024
"""Pieces of one `process_vm_writev` (IOV_MAX of Linux)."""
_CREDIT, _DONE, _BEGUN, _CANCEL, _MOVED, _STATE = range(0, 48, 8)
_SENDER_SLEEPS, _RECEIVER_SLEEPS, _CLOSED = range(48, 72, 8)
"""Words of the page, each in a cache line of its own."""
_TEXT = 1024
"""Where the page has the reason of a failure."""
_OK, _FAILED, _CANCELLED = range(3)
_SET_PTRACER = 0x59616D61
_IS_STRICT = platform.machine() in ("x86_64", "AMD64")
"""Whether the processor makes stores visible in their order."""


class LaneAddress(NamedTuple):
    """How the sender of a lane reaches its receiver. It can be pickled.

    - `page`: the handle of the page of the lane, which lies in a window.
    - `store`: the handle of the destination.
    - `process`, `address`: the process, and the address of the destination in it.
    """

    page: StoreHandle
    store: StoreHandle
    process: int
    address: int


class _Page:
    """The page of a lane, as one of its two ranks uses it. `sleeps` is the word of this rank, `other` that of the other one."""

    def __init__(self, array: Bytes, sleeps: int, other: int) -> None:
        self._array = array  # it keeps the memory
        self.words = (ctypes.c_uint64 * (PAGE // 8)).from_address(array.ctypes.data)
        self._address = int(array.ctypes.data)
        self._sleeps, self._other = sleeps, other
        self._wait, self._wake = library().syscall, quick_library().syscall

    def post(self, word: int, value: int) -> None:
        """Write a word after everything that this thread has written before, and wake the other rank if it sleeps."""
        if not _IS_STRICT:
            fence()
        self.words[word] = value
        if self.words[self._other]:
            self._wake(FUTEX, ctypes.c_void_p(self._address + 8 * word), WAKE, 1, None, None, 0)

    def wait(self, word: int, value: int, spins: int, *, sleeps: bool = True) -> bool:
        """Wait until a word is at least `value`; False if it is not after some milliseconds, or without sleep."""
        words = self.words
        for _ in range(spins):
            if words[word] >= value:
                break
            give_way()
        else:
            if not sleeps:
                return False
            words[self._sleeps] = 1
            fence()
            try:
                seen = words[word]
                if seen < value:
                    time = FutexTime(0, int(1e9 * SLEEP))
                    at = ctypes.c_void_p(self._address + 8 * word)
                    self._wait(FUTEX, at, WAIT, ctypes.c_uint32(seen & 0xFFFFFFFF), ctypes.byref(time), None, 0)
            finally:
                words[self._sleeps] = 0
        if words[word] < value:
            return False
        if not _IS_STRICT:
            fence()
        return True

    def tell(self, state: int, reason: str = "") -> None:
        """Note how a transfer has ended, before `_DONE` is written."""
        if reason:
            told = reason.encode("utf-8", "replace")[: PAGE - _TEXT - 8]
            self._array[_TEXT : _TEXT + len(told)] = np.frombuffer(told, np.uint8)
            self._array[_TEXT + len(told)] = 0
        self.words[_STATE] = state

    @property
    def reason(self) -> str:
        """Why a transfer has failed."""
        return bytes(self._array[_TEXT:]).partition(b"\0")[0].decode("utf-8", "replace")


class ReceivingLane:
    """The end of a lane on the rank of the destination. `address` is for the sender."""

    def __init__(self, array: Bytes, address: LaneAddress, withdraw: Callable[[], None]) -> None:
        self.address = address
        self._page = _Page(array, _RECEIVER_SLEEPS, _SENDER_SLEEPS)
        self._withdraw = withdraw

    @property
    def turn(self) -> int:
        """The transfer that got a credit last; 0 before the first one."""
        return int(self._page.words[_CREDIT])

    @property
    def is_free(self) -> bool:
        """Whether that transfer is over, or was cancelled before the sender began it: the sender writes nothing."""
        words, turn = self._page.words, self.turn
        return bool(words[_DONE] >= turn or (words[_CANCEL] >= turn and words[_BEGUN] < turn))

    def give_credit(self, turn: int) -> None:
        """The destination may be written for transfer number `turn` (from 1)."""
        self._page.post(_CREDIT, turn)

    def is_over(self, turn: int) -> bool:
        """Whether a transfer has ended."""
        if self._page.words[_DONE] < turn:
            return False
        if not _IS_STRICT:
            fence()
        return True

    def wait(self, turn: int, *, again: bool = False) -> bool:
        """Wait for the end of a transfer, some milliseconds at most. Whether it has ended."""
        return self._page.wait(_DONE, turn, 1 if again else SPINS)

    def moved(self, turn: int) -> int:
        """The bytes of a transfer that have been written so far."""
        return int(self._page.words[_MOVED]) if self._page.words[_BEGUN] >= turn else 0

    def error(self) -> Exception | None:
        """How the transfer that ended last has ended."""
        state = self._page.words[_STATE]
        if state == _OK:
            return None
        return Cancelled("cancelled; some of its bytes may be in place") if state == _CANCELLED else RankError(self._page.reason)

    def cancel(self, turn: int) -> bool:
        """Ask the sender to stop. Whether it will write nothing for this transfer, because it has not begun."""
        self._page.words[_CANCEL] = turn
        fence()
        return bool(self._page.words[_BEGUN] < turn)

    @property
    def sender_has_closed(self) -> bool:
        """Whether the sender begins no further transfer."""
        return bool(self._page.words[_CLOSED])

    def close(self) -> None:
        """Let the sender wait no longer."""
        self._page.words[_CLOSED] = 1
        self._withdraw()


class SendingLane:
    """The end of a lane on the rank of the source: `parts` are its moves, each of at most about `PART` bytes."""

    def __init__(self, page: Bytes, parts: Sequence[_Part], kept: Sequence[object]) -> None:
        self.parts = parts
        self._page = _Page(page, _SENDER_SLEEPS, _RECEIVER_SLEEPS)
        self._kept = kept

    @property
    def turn(self) -> int:
        """The transfer that has ended last; 0 before the first one."""
        return int(self._page.words[_DONE])

    def has_credit(self, turn: int) -> bool:
        """Whether the credit of a transfer is there, or comes within some microseconds."""
        return self._page.wait(_CREDIT, turn, SPINS, sleeps=False)

    def wait(self, turn: int) -> bool:
        """Wait for the credit of a transfer, some milliseconds at most. Whether it is there."""
        return self._page.wait(_CREDIT, turn, 1)

    @property
    def receiver_has_closed(self) -> bool:
        """Whether the receiver gives no further credit."""
        return bool(self._page.words[_CLOSED])

    def begin(self, turn: int) -> None:
        """Begin a transfer that has its credit.

        Raises:
            Cancelled: the receiver has cancelled it.
        """
        self._page.words[_MOVED] = 0
        self._page.words[_BEGUN] = turn
        fence()
        self.check(turn)

    def check(self, turn: int) -> None:
        """Check for a cancel of the receiver.

        Raises:
            Cancelled: it has cancelled the transfer.
        """
        if self._page.words[_CANCEL] >= turn:  # of a later turn: this one is over for the receiver
            raise Cancelled("cancelled by the rank of the destination; some of its bytes may be in place")

    def move(self, number: int) -> int:
        """Carry out a part. Returns its bytes.

        Raises:
            RunError: the system does not write.
        """
        part = self.parts[number]
        for move in part.moves:
            move()
        self._page.words[_MOVED] += part.nbytes
        return part.nbytes

    def end(self, turn: int, error: BaseException | None) -> None:
        """Tell the receiver how a transfer has ended."""
        if error is None:
            self._page.tell(_OK)
        else:
            self._page.tell(_CANCELLED if isinstance(error, Cancelled) else _FAILED, str(error))
        self._page.post(_DONE, turn)

    def close(self) -> None:
        """Let the receiver wait no longer, and forget the parts."""
        self._page.words[_CLOSED] = 1
        self.parts, self._kept = (), ()


class _Part(NamedTuple):
    nbytes: int
    moves: tuple[Callable[[], object], ...]


class Lanes:
    """Makes the lanes of this rank."""

    def __init__(self, stores: Stores, windows: Windows, fence: Fence) -> None:
        self._stores, self._windows, self._fence = stores, windows, fence

    def receiving(self, store: Store, sender: int) -> ReceivingLane:
        """The end of a lane that writes to a store of this rank.

        Raises:
            RunError: there can be no lane between these two; the reason is in words.
        """
        if not are_shared():
            raise RunError("this system has no futexes")
        if not self._stores.shares_host(sender):
            raise RunError(f"rank {sender} cannot map memory of this rank")
        if not isinstance(store, HostStore) or isinstance(store, MappedStore):
            raise RunError("the destination is not in host memory")
        array = self._windows.array(PAGE)
        array[:] = 0
        page = self._stores.export(HostStore(array))
        handle = self._stores.export(store)
        self._stores.withdraw(page)  # the sender maps it; it asks for nothing by its number
        _allow_tracing()
        address = LaneAddress(page, handle, os.getpid(), int(store.array.ctypes.data))
        return ReceivingLane(array, address, partial(self._stores.withdraw, handle))

    def sending(self, address: LaneAddress, source: Store, copies: Sequence[StridedCopy]) -> SendingLane:
        """The end of a lane that carries out copies from a store of this rank to the store behind an address.

        Raises:
            RunError: there can be no lane between these two; the reason is in words.
        """
        if not isinstance(source, HostStore):
            raise RunError("the source is not in host memory")
        if len(copies) > MOST_COPIES:
            raise RunError(f"it is {len(copies)} copies; lanes are for at most {MOST_COPIES}")
        page = self._stores.reach(address.page)
        if not isinstance(page, MappedStore):
            raise RunError("the page of the lane cannot be mapped")
        far = self._stores.reach(address.store)
        if isinstance(far, MappedStore):
            parts = _mapped_parts(copies, source, far)
        else:
            if not self._fence.can_end(address.store.rank):
                raise RunError(f"rank {address.store.rank} cannot be ended if it is lost")
            _check_reach(address)
            parts = _written_parts(copies, source, address)
        return SendingLane(page.array, parts, (source, far, page))


def fence() -> None:
    """Order what this thread has written and read before with what follows: every call that lets go of the interpreter does."""
    give_way()


def _parts_of(copies: Sequence[StridedCopy], unit: int) -> list[list[StridedCopy]]:
    nbytes = sum([copy.nbytes for copy in copies])
    return [part for part in split_together(copies, max(1, -(-nbytes // PART)), unit) if part]


def _mapped_parts(copies: Sequence[StridedCopy], source: HostStore, far: HostStore) -> list[_Part]:
    """Copies between two stores that are mapped here."""
    found = []
    for part in _parts_of(copies, _LINE):
        moves = prepared_copies(part, source.array, far.array, large=source.is_large)
        found.append(_Part(sum([copy.nbytes for copy in part]), moves))
    return found


def _written_parts(copies: Sequence[StridedCopy], source: HostStore, address: LaneAddress) -> list[_Part]:
    """Copies into pageable memory of another process: what is not contiguous here is packed first."""
    low = min((copy.destination_offset for copy in copies), default=0)
    if low < 0 or any(_end(copy) > address.store.nbytes for copy in copies):
        raise RunError("a copy reaches outside the destination")
    room = np.empty(0, np.uint8)
    found = []
    for part in itertools.chain.from_iterable(pieces(each, PART) for each in _parts_of(copies, 1)):
        if part.destination is not None:
            there = np.array([[part.destination, part.nbytes]])
        elif sum([copy.nbytes // copy.run for copy in part.unpack]) * LEAST_RUN > part.nbytes:
            raise RunError(f"its destination is pageable and written in runs of less than {format_bytes(LEAST_RUN)}")
        else:
            there = _runs(part.unpack)
        moves: list[Callable[[], object]] = []
        if part.source is not None:
            here = int(source.array.ctypes.data) + part.source
        else:
            if len(room) < part.nbytes:
                room = np.empty(PART + PAGE, np.uint8)
            moves += prepared_copies(part.pack, source.array, room)
            here = int(room.ctypes.data)
        at = 0
        for first in range(0, len(there), _MOST_PIECES):
            some = there[first : first + _MOST_PIECES]
            nbytes = int(some[:, 1].sum())
            moves.append(_write(address.process, here + at, nbytes, some + np.array([address.address, 0])))
            at += nbytes
        found.append(_Part(part.nbytes, (partial(_in_turn, moves, room),) if len(moves) > 1 else tuple(moves)))
    return found


def _in_turn(moves: Sequence[Callable[[], object]], _room: Bytes) -> None:
    for move in moves:
        move()


def _end(copy: StridedCopy) -> int:
    return copy.destination_offset + copy.run + sum((extent - 1) * there for extent, _, there in copy.loops)


def _runs(unpack: Sequence[StridedCopy]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The runs at the destination in the order of a message, each with its offset and its length."""
    found = []
    for _, destination, run, loops in unpack:
        offsets = np.zeros(1, np.int64)
        for extent, _, there in loops:
            offsets = (offsets[:, None] + np.arange(extent) * there).reshape(-1)
        found.append(np.stack([offsets + destination, np.full(len(offsets), run)], axis=1))
    return np.concatenate(found)


def _write(process: int, here: int, nbytes: int, there: np.ndarray[Any, np.dtype[np.int64]]) -> Callable[[], None]:
    """The call that writes contiguous bytes of this process to some runs of another one."""
    mine = np.array([[here, nbytes]], np.int64)
    theirs = np.ascontiguousarray(there, np.int64)
    arguments = (
        *(ctypes.c_int(process), ctypes.c_void_p(mine.ctypes.data), ctypes.c_ulong(1)),
        *(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_ulong(len(theirs)), ctypes.c_ulong(0)),
    )
    call = _writer()

    def write() -> None:
        done = call(*arguments)
        if done != nbytes:
            error = os.strerror(ctypes.get_errno()) if done < 0 else f"{done} of {nbytes} bytes were written"
            raise RunError(f"memory of process {process}: {error}")

    write.kept = mine, theirs  # type: ignore[attr-defined]
    return write


@cache
def _writer() -> Any:
    call = ctypes.CDLL(None, use_errno=True).process_vm_writev
    call.restype = ctypes.c_ssize_t
    return call


def _check_reach(address: LaneAddress) -> None:
    """Require that this process may write to the memory of the receiver: it writes nothing to no place.

    Raises:
        RunError: it may not.
    """
    room = np.zeros(8, np.uint8)
    call = ctypes.CDLL(None, use_errno=True).process_vm_readv
    call.restype = ctypes.c_ssize_t
    mine = np.array([[room.ctypes.data, 1]], np.int64)
    theirs = np.array([[address.address, 1]], np.int64)
    done = call(
        ctypes.c_int(address.process),
        *(ctypes.c_void_p(mine.ctypes.data), ctypes.c_ulong(1)),
        *(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_ulong(1), ctypes.c_ulong(0)),
    )
    if done != 1:
        raise RunError(f"memory of process {address.process} cannot be reached: {os.strerror(ctypes.get_errno())}")


@cache
def _allow_tracing() -> None:
    """Let the processes of this job write to this one where the system asks for that (Yama, `ptrace_scope` 1)."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() == "1":
        library().prctl(_SET_PTRACER, ctypes.c_ulong(os.getppid()), 0, 0, 0)
