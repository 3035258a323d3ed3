"""The MPI window of a rank, into which the channels of kind Put of other ranks write.

A dynamic MPI window covers the segments that are put into. A segment is attached when another rank first asks for its address,
and stays until the rank closes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.backends.mpi.stores import window_of
from isoviz.errors import EngineClosed, RunError
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.windows import Windows
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.ranks.handles import StoreHandle

_SHM = "/dev/shm"  # noqa: S108
MOST_ATTACHED = 16
"""Segments that are attached to the MPI window at a time. Open MPI takes 64. An attached segment keeps its memory."""


class PutWindow:
    """The MPI window of a rank. All ranks open it together when one of them first wants to put.

    That rank asks rank 0, which asks all ranks whether they are there, and then has all meet. Each opens it as soon as all have
    come: MPI waits for all ranks then, and no rank sends a message meanwhile.

    A segment is attached when another rank asks for its address. Then the segments that lie longest attached are detached if
    there are too many; `exported` gives those with exported stores, which stay.
    """

    def __init__(self, exchange: Exchange, windows: Windows, exported: Callable[[], set[int]]) -> None:
        self.exchange = exchange
        self._windows = windows
        self._exported = exported
        self._attached: dict[int, tuple[int, Bytes]] = {}
        self._addresses: dict[tuple[int, int], int] = {}
        self.window: Any = None
        self._wanting: list[tuple[int, int]] = []
        self._refusal: BaseException | None = None
        exchange.serve |= {
            "attach": self._attach,
            "detached": self._detached,
            "help": self._help,
            "put wanted": self._wanted,
            "put ready": lambda sender, number, _: exchange.answer(sender, number),
            "put open": lambda *_: self._meet(),
        }

    @property
    def is_exposed(self) -> bool:
        """Whether other ranks can put into memory of this rank."""
        return bool(self._attached)

    def _wanted(self, sender: int, number: int, _arguments: tuple[Any, ...]) -> None:
        """On rank 0: another rank, or this one, needs the window."""
        self._wanting.append((sender, number))
        if len(self._wanting) > 1:
            return
        ranks = range(self.exchange.thread.size)
        answers: list[object] = []

        def answered(answer: object) -> None:
            answers.append(answer)
            if len(answers) < len(ranks):
                return
            error = next((each for each in answers if isinstance(each, BaseException)), None)
            if error is not None or self.window is not None:
                self._answer(error)
                return
            for rank in ranks[1:]:
                self.exchange.tell(rank, "put open")
            self._meet()

        for rank in ranks:
            self.exchange.request(rank, "put ready", answer=answered)

    def _meet(self) -> None:
        thread = self.exchange.thread
        thread.requests.meet(thread.bulk, self._open)

    def _open(self, error: BaseException | None) -> None:
        """Open it: all ranks are here, or one of them is lost, which is the `error`."""
        self._refusal = error
        if error is None:
            mpi = self.exchange.thread.mpi
            try:
                window = mpi.Win.Create_dynamic(comm=mpi.COMM_WORLD)
                window.Lock_all(mpi.MODE_NOCHECK)
            except mpi.Exception as raised:
                self._refusal = RunError(f"MPI could not open its window for channels of kind Put ({raised}){_shared_memory()}")
            else:
                self.window = window
        self._answer(self._refusal)

    def _answer(self, error: object) -> None:
        """On rank 0: answer the ranks that need the window. The other ranks have nobody to answer."""
        wanting, self._wanting = self._wanting, []
        for rank, asked in wanting:
            self.exchange.answer(rank, asked, error)

    def close(self, *, clean: bool) -> None:
        """Free the window with all other ranks. After the loss of a rank it cannot be freed."""
        if clean and self.window is not None:
            self.exchange.thread.call(self._free)
        self._attached.clear()

    def _free(self) -> None:
        self.window.Unlock_all()
        for _, array in self._attached.values():
            self.window.Detach(array)
        self.window.Free()

    def _attach(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        inode = arguments[0]
        found = self._attached.get(inode)
        if found is None:
            array = self._windows.whole(inode)
            if array is None:
                raise RunError("the window was closed before it was put into")
            self._make_room()
            self.window.Attach(array)
            found = self._attached[inode] = self.exchange.thread.mpi.Get_address(array), array
        self.exchange.answer(sender, number, found[0])

    def _make_room(self) -> None:
        """Detach segments until one more has room. The other ranks forget their addresses before they get a handle again."""
        if len(self._attached) < MOST_ATTACHED:
            return
        exported, thread = self._exported(), self.exchange.thread
        for inode in [inode for inode in self._attached if inode not in exported][: len(self._attached) - MOST_ATTACHED + 1]:
            self.window.Detach(self._attached.pop(inode)[1])
            for rank in range(thread.size):
                if rank != thread.rank:
                    self.exchange.tell(rank, "detached", inode)
        if len(self._attached) >= MOST_ATTACHED:
            raise RunError(f"MPI puts into {MOST_ATTACHED} pieces of registered memory at a time; more are in use")

    def _detached(self, sender: int, _number: int, arguments: tuple[Any, ...]) -> None:
        self._addresses.pop((sender, arguments[0]), None)

    def _help(self, sender: int, _number: int, arguments: tuple[Any, ...]) -> None:
        self.exchange.thread.help(sender, begin=arguments[0])

    def with_address(self, handle: StoreHandle, use: Any) -> None:
        """Call `use` in the MPI thread with the address of a store, or with an exception."""
        if handle.window is None:
            where = (
                "the arrays of the bundle lie in several windows"
                if handle.pieces
                else "the destination lies in no window of its rank"
            )
            use(RunError(where))
            return
        if self.window is None:
            self.exchange.request(
                0, "put wanted", answer=lambda result: self._opened(result, partial(self.with_address, handle, use), use)
            )
            return
        segment, offset = window_of(handle)
        key = handle.rank, segment.inode

        def answered(result: object) -> None:
            if isinstance(result, int):
                self._addresses[key] = result
                use(result + offset)
            else:
                use(result)

        known = self._addresses.get(key)
        if known is None:
            self.exchange.request(handle.rank, "attach", segment.inode, answer=answered)
        else:
            try:
                self.exchange.thread.post(partial(use, known + offset))
            except EngineClosed as error:
                use(error)

    def _opened(self, result: object, then: Callable[[], None], failed: Callable[[object], None]) -> None:
        if self.window is None:
            failed(self._refusal or result)
        else:
            then()


def _shared_memory() -> str:
    """What may be full, as the rest of a sentence; empty where the system has no /dev/shm."""
    try:
        room = os.statvfs(_SHM)
    except OSError:
        return ""
    free, size = (format_bytes(blocks * room.f_frsize) for blocks in (room.f_bavail, room.f_blocks))
    return (
        f". MPI keeps it in {_SHM}, which has {free} of {size} left: remove files there or make it larger;"
        " other kinds of channels need no room there"
    )
