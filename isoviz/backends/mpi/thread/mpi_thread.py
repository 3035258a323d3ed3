"""The thread of a rank that makes all MPI calls.

Other threads queue commands. The thread carries them out, tests the outstanding requests, and looks for messages. After the last
event it yields the processor for `AWAKE` seconds and then sleeps for growing times up to `LONGEST` seconds; a command wakes it at
once. So a rank that waits costs little, and ranks that share a processor do not hold each other up: 4 spinning ranks on 2
processors needed 14 ms for a round trip with MPICH.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Any, TypeVar

from isoviz.backends.mpi.thread.bells import Bell, SharedBell, give_way, own_bell
from isoviz.backends.mpi.thread.inbox import Inbox
from isoviz.backends.mpi.thread.mpi_requests import Ended, Requests, ToReceive, failed
from isoviz.backends.mpi.thread.starting_mpi import starting_mpi
from isoviz.errors import EngineClosed, MissingPartError, RunError

Buffer = Any
"""A contiguous buffer: bytes, a bytearray, or an array of uint8."""
_LOG = logging.getLogger("isoviz")
T = TypeVar("T")

AWAKE = 200e-6
"""Seconds after the last event in which the thread only yields the processor."""
SHORTEST, LONGEST = 50e-6, 1e-3
"""Seconds of the first sleep and of the longest one."""
RUNG = 5e-3
"""Seconds of the longest sleep where all other ranks can ring this one's bell."""
WAITING = 200e-6
"""Seconds of the longest sleep while requests are outstanding: they progress only within MPI calls."""
_LOOKS = 1000
"""Looks into MPI after which everything that an ended rank had sent to this host has arrived."""
LAST = 5.0
"""Seconds that the last messages of a rank have to leave it."""

Message = Callable[[int, int, bytes], None]
"""Called in the MPI thread with the sender's rank, the tag and the bytes of a message."""


@dataclass
class _Timer:
    period: float
    call: Callable[[], None]
    due: float


class MpiThread:
    """The thread that initialises MPI, makes all MPI calls of this rank, and finalises MPI.

    `rank` and `size` are those of MPI's world. `receive` takes the messages of `message`; it is called in the MPI thread.

    Raises:
        MissingPartError: mpi4py is not installed.
        RunError: MPI cannot be used by this thread.
    """

    def __init__(self, receive: Message) -> None:
        self._receive = receive
        self._commands: deque[Callable[[], None]] = deque()
        self._timers: list[_Timer] = []
        self._bell: Bell = own_bell()
        self._bells: Mapping[int, Bell] = {}
        self._longest = LONGEST
        self._helped: set[int] = set()
        self._failed: set[int] = set()
        self.when_failed: Callable[[int, str], None] | None = None
        """Called in the MPI thread with a rank whose process has ended, where MPI goes on without it, and with the reason."""
        self._stopping = self._silent = False
        self._clean = True
        self.mpi: Any = None
        """The module `mpi4py.MPI`, for commands."""
        self.rank = self.size = 0
        self.events = 0
        """Commands and messages up to now."""
        started: list[BaseException | None] = []
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started, ready), name="isoviz MPI", daemon=True)
        self._thread.start()
        ready.wait()
        if started[0] is not None:
            raise started[0]

    # ---- for any thread

    @property
    def is_here(self) -> bool:
        """Whether the caller is this thread."""
        return threading.current_thread() is self._thread

    @property
    def is_alive(self) -> bool:
        """Whether the thread still takes commands."""
        return self._thread.is_alive() and not self._stopping

    def post(self, command: Callable[[], None]) -> None:
        """Queue a command and return at once. An error of the command is logged.

        Raises:
            EngineClosed: the thread has ended.
        """
        if self._stopping and not self.is_here:
            raise EngineClosed("the MPI thread of this rank has ended")
        self.post_quietly(command)

    def post_quietly(self, command: Callable[[], None]) -> None:
        """Queue a command, which is dropped if the thread has ended. It takes no lock, so finalizers may call it."""
        self._commands.append(command)
        self._bell.ring()

    def call(self, function: Callable[[], T]) -> T:
        """Call a function in the MPI thread and wait for its result. Its error is raised here.

        Raises:
            EngineClosed: the thread has ended.
        """
        if self.is_here:
            return function()
        results: list[T] = []
        errors: list[BaseException] = []
        over = threading.Event()

        def command() -> None:
            try:
                results.append(function())
            except BaseException as error:  # noqa: BLE001  # the caller raises it
                errors.append(error)
            over.set()

        self.post(command)
        while not over.wait(1.0):
            if not self._thread.is_alive() and not over.is_set():
                raise EngineClosed("the MPI thread of this rank has ended")
        if errors:
            raise errors[0]
        return results[0]

    def message(self, rank: int, tag: int, data: bytes, *, ahead: bool = False) -> None:
        """Send a message to `receive` of a rank. Messages between two ranks arrive in the order of these calls, for all
        tags; with `ahead`, a message that the MPI thread itself sends may overtake those that other threads have queued.
        """
        if self._stopping and not self.is_here:
            raise EngineClosed("the MPI thread of this rank has ended")
        left = self._inbox.send(rank, tag, data)
        if left is None:
            return
        if ahead and self.is_here:
            self._send(self._messages, left, rank, tag, None)
        else:
            self.post(lambda: self._send(self._messages, left, rank, tag, None))

    def poll(self, is_over: Callable[[], bool]) -> None:
        """Take messages in this thread for a moment, instead of the MPI thread; see `Inbox.poll`."""
        if not self.is_here:
            self._inbox.poll(is_over)

    def isend(self, buffer: Buffer, rank: int, tag: int, done: Ended | None = None) -> None:
        """Start to send a contiguous buffer. It must not change until `done` is called."""
        self._here(lambda: self._send(self._bulk, buffer, rank, tag, done), done)

    def irecv(self, buffer: Buffer, rank: int, tag: int, done: Ended) -> None:
        """Start to receive into a contiguous buffer exactly its number of bytes."""
        self._here(lambda: self._receive_bulk([buffer, self.mpi.BYTE], rank, tag, done), done)

    def isend_typed(self, buffer: Buffer, kind: Any, rank: int, tag: int, done: Ended | None) -> None:
        """Start to send the bytes of a buffer that a datatype describes, which is freed."""
        self._here(lambda: self._send(self._bulk, buffer, rank, tag, done, kind), done)

    def irecv_typed(self, buffer: Buffer, kind: Any, rank: int, tag: int, done: Ended) -> None:
        """Start to receive the bytes of a buffer that a datatype describes, which is freed."""
        self._here(lambda: self._receive_bulk([buffer, 1, kind], rank, tag, done), done)

    def every(self, period: float, call: Callable[[], None]) -> None:
        """Call a function in the MPI thread about every `period` seconds from now on."""
        self.post(lambda: self._timers.append(_Timer(period, call, time.perf_counter() + period)))

    def close(self, *, clean: bool = True) -> None:
        """End the thread. A clean end finalises MPI, which waits for all ranks. Without it the process must end soon."""
        if not self._thread.is_alive():
            return

        def stop() -> None:
            self._clean, self._stopping = clean, True

        self.post_quietly(stop)
        self._thread.join()

    # ---- for commands, in the MPI thread

    @property
    def bulk(self) -> Any:
        """The communicator of `isend` and `irecv`."""
        return self._bulk

    @property
    def tags(self) -> int:
        """The number of tags."""
        return int(self._bulk.Get_attr(self.mpi.TAG_UB) or 32767) + 1

    def drop(self, rank: int, error: BaseException) -> bool:
        """End all requests of a rank that no longer answers with an error; whether MPI may still write what it sends.

        What has arrived from it is put in its place before.
        """
        self._helped.discard(rank)
        if not self._silent:
            with contextlib.suppress(self.mpi.Exception):
                for _ in range(_LOOKS):  # Nobody sends this tag. MPI takes a few pieces of messages at each look.
                    self._bulk.Iprobe(self.rank, 0)
        return self.requests.drop(rank, error)

    def fall_silent(self) -> None:
        """Make no MPI call any more, because MPI would write to memory that is no longer its own. Requests are refused."""
        self._silent = True

    def wake(self, rank: int) -> None:
        """Wake the MPI thread of another rank of this host, because MPI has something for it."""
        bell = self._bells.get(rank)
        if bell is not None:
            bell.ring()

    def share_memory(
        self, own: SharedBell, others: Mapping[int, Bell], inbound: Mapping[int, mmap], outbound: Mapping[int, mmap]
    ) -> None:
        """Sleep on a bell that the other ranks of this host can ring, and ring theirs; use rings from and to some of them."""
        self._bell, self._bells = own, others
        if outbound:
            self._inbox.share(own, others, inbound, outbound)
        if len(others) == self.size - 1:
            self._longest = RUNG

    def help(self, rank: int, *, begin: bool) -> None:
        """Stay awake for a rank until it no longer needs help: MPI puts its bytes only while this rank calls MPI."""
        if begin:
            self._helped.add(rank)
        else:
            self._helped.discard(rank)

    def _here(self, command: Callable[[], None], done: Ended | None) -> None:
        """Carry out a command: at once in the MPI thread, else as soon as it gets there."""
        if self.is_here:
            command()
            return
        try:
            self.post(command)
        except EngineClosed as error:
            if done is not None:
                done(error)

    def _send(self, comm: Any, buffer: Buffer, rank: int, tag: int, done: Ended | None, kind: Any = None) -> None:
        if comm is self._bulk and self.requests.refused(rank, done):
            return
        if self._silent:
            return
        try:
            request = comm.Isend([buffer, self.mpi.BYTE] if kind is None else [buffer, 1, kind], rank, tag)
        except self.mpi.Exception as error:
            if done is not None:
                done(failed(error, rank))
            return
        finally:
            if kind is not None:
                kind.Free()  # MPI keeps it until the request has ended
        self.wake(rank)
        self.requests.track(request, done, buffer, rank)

    def _receive_bulk(self, spec: list[Any], rank: int, tag: int, done: Ended) -> None:
        if self.requests.refused(rank, done):
            return
        try:
            request = self._bulk.Irecv(spec, rank, tag)
        except self.mpi.Exception as error:
            done(failed(error, rank))
            return
        finally:
            if len(spec) == 3:
                spec.pop().Free()  # MPI keeps it until the request has ended
        self.wake(rank)  # a long message moves only while both ends call MPI
        self.requests.track(request, done, ToReceive(spec[0]), rank)

    # ---- the thread

    def _run(self, started: list[BaseException | None], ready: threading.Event) -> None:
        try:
            self._initialise()
        except BaseException as error:  # noqa: BLE001  # the constructor raises it
            started.append(error)
            ready.set()
            return
        started.append(None)
        ready.set()
        try:
            self._work()
        finally:
            self._stopping = True
            self._end_all()
        if self._clean:
            self._finalise()
        self._inbox.close()
        for bell in (self._bell, *self._bells.values()):
            bell.close()

    def _initialise(self) -> None:
        try:
            import mpi4py
        except ImportError:
            raise MissingPartError("MPI for Python", "mpi") from None
        mpi4py.rc.initialize = mpi4py.rc.finalize = False
        with starting_mpi():
            from mpi4py import MPI

            self.mpi = MPI
            self._initialised = not MPI.Is_initialized()
            if self._initialised:
                MPI.Init_thread(MPI.THREAD_SERIALIZED)
        if not self._initialised and MPI.Query_thread() < MPI.THREAD_SERIALIZED:
            raise RunError("MPI is initialised already, without threads: initialise it with MPI.THREAD_SERIALIZED or more")
        world = MPI.COMM_WORLD
        self.rank, self.size = world.rank, world.size
        self._messages, self._bulk = world.Dup(), world.Dup()
        self.requests = Requests(MPI)
        self._inbox = Inbox(MPI, self._messages, self.requests, self._took)

    def _end_all(self) -> None:
        """End what others may wait for: outstanding requests, and the commands that are left."""
        for rank in range(self.size):
            if not self._clean:
                self.drop(rank, EngineClosed("the MPI thread of this rank has ended"))
        self._obey()

    def _finalise(self) -> None:
        end = time.perf_counter() + LAST
        while self.requests and time.perf_counter() < end:
            self.requests.test()
        self._messages.Barrier()  # After it, no rank sends any more: MPICH frees no communicator that has messages.
        self._receive = lambda _sender, _tag, _data: None
        while self._inbox.take() or (self.requests and time.perf_counter() < end):
            self.requests.test()
        self._messages.Free()
        self._bulk.Free()
        if self._initialised:
            self.mpi.Finalize()

    def _took(self, sender: int, tag: int, data: bytes) -> None:
        self.events += 1
        try:
            self._receive(sender, tag, data)
        except Exception:  # noqa: BLE001  # the thread goes on for all others
            _LOG.exception("rank %d: a message from rank %d could not be handled", self.rank, sender)

    def _work(self) -> None:
        last, seen, pause = time.perf_counter(), 0, SHORTEST
        while not self._stopping:
            self._obey()
            if not self._silent:
                self.requests.test()
                try:
                    self._inbox.take()
                except self.mpi.Exception as error:
                    self._note_failed(error)
            now = time.perf_counter()
            for timer in self._timers:
                if now >= timer.due:
                    timer.due = now + timer.period
                    self._guard(timer.call)
            events = self.events + self.requests.ended
            if events != seen:
                last, seen, pause = now, events, SHORTEST
            elif self._helped or (now - last < AWAKE and not self._inbox.is_polled):
                give_way()
            else:
                pause = min(2 * pause, WAITING if self.requests else self._longest)
                if self._bell.sleep(pause, self._has_work):
                    self.events += 1

    def _has_work(self) -> bool:
        """Whether a command or a message came before the bell was ready to ring."""
        try:
            return bool(self._commands) or (not self._silent and self._inbox.take())
        except self.mpi.Exception:
            return True  # the next look tells why

    def _note_failed(self, error: BaseException) -> None:
        """Report the ranks whose processes have ended, where MPI goes on without them (ULFM).

        Raises:
            BaseException: the error has another reason.
        """
        comm = self._messages
        try:
            failed = comm.Get_failed()
            ranks = failed.Translate_ranks(None, comm.Get_group())
            comm.Ack_failed()
        except (self.mpi.Exception, AttributeError, NotImplementedError):
            raise error from None
        new = set(ranks) - self._failed
        if not new:
            raise error
        self._failed |= new
        for rank in sorted(new):
            if self.when_failed is not None:
                self.when_failed(rank, "its process has ended")

    def _obey(self) -> None:
        commands = self._commands
        for _ in range(len(commands)):
            self.events += 1
            self._guard(commands.popleft())

    def _guard(self, command: Callable[[], None]) -> None:
        """Carry out what others have given to this thread. Its error is logged: the thread goes on for all others."""
        try:
            command()
        except Exception:  # noqa: BLE001  # as said
            _LOG.exception("rank %d: a command of the MPI thread failed", self.rank)
