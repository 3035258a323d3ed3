"""The common part of simulated VICs and ranks: a system that runs programs, their results, and the words of their errors."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from isoviz.checks import expect_call
from isoviz.errors import InputError, RankError, RunError, in_words
from isoviz.vortex.vic import Race


class Stopped(BaseException):
    """The error of another node ends this program."""


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """The result of a program. Seconds are modelled, or on ranks measured.

    - `results`: the values that it returned, by node.
    - `seconds`: until the last node ended; `by_node`: until each node ended.
    - `packets`: the number of packets that were sent, including those of barriers and replies if these are simulated; or the
      number of messages.
    - `races`: what another order of arrival would change, at most 1,000 entries.
    """

    results: tuple[Any, ...]
    seconds: float
    by_node: tuple[float, ...]
    packets: int
    races: tuple[Race, ...]


class System(ABC):
    """Nodes that run programs: with VICs, made by `simulated` and `on_ranks`, or with communicators, made by `messages`.

    The contents of VICs stay from run to run.
    """

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.races: list[Race] = []
        self._closed = self._failed = False

    def run(self, program: Callable[..., Any], *arguments: Any) -> ProgramRun:
        """Run `program(vic, *arguments)` on every node, until all packets have arrived.

        Each simulated node has a thread. Only one of them runs at a time, so that their order is always the same. On ranks, all
        ranks call this together, and each runs the program in the calling thread. Every rank gets the results of all ranks, so
        results are data that can be pickled.

        Raises:
            InputError, RankError: the program failed on a node; the message has its number. The program ends on all nodes, and
                the system takes no further program.
            RankLost: a rank is lost.
        """
        expect_call("run", program, "a program", may_be_class=True)
        if self._closed or self._failed:
            raise InputError(f"run: the system {'is closed' if self._closed else 'had an error'}; expected another one")
        self.races[:] = []
        try:
            return self._run(program, arguments)
        except BaseException:
            self._failed = True
            raise

    @abstractmethod
    def _run(self, program: Callable[..., Any], arguments: tuple[Any, ...]) -> ProgramRun: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closed = True


def of_node(rank: int, error: BaseException) -> InputError | RankError:
    """The error of a program, with the number of its node."""
    if isinstance(error, InputError):
        return InputError(f"node {rank}: {error}")
    what = str(error) if isinstance(error, RunError) else in_words(error)
    return RankError(f"node {rank}: {what}", rank=rank)


def came_back(returned: Sequence[tuple[int, int]]) -> RunError:
    """The error of a program that ended before it took what came back to it."""
    return RunError(f"{len(returned)} words came back from VIC {returned[0][0]}, whose FIFO was full; returned() gives them")


def never(what: str, timeout: float | None) -> RunError:
    """The error of a wait that does not end."""
    limit = "nothing is under way that could end it" if timeout is None else f"timed out after {timeout:g} s"
    return RunError(f"waits for {what}; {limit}")


def awaited(rank: int, counter: int, expected: int, left: int, early: int) -> str:
    """What a wait for a counter waits for."""
    text = f"counter {counter} of VIC {rank}: expected {expected} packets, {max(left, 0)} missing"
    if early:
        text += f"; {early} came before the counter was set, and so it cannot reach zero"
    return text if left >= 0 else f"{text}; {-left} came and nobody had set it"


def absent(ranks: tuple[int, ...], here: Collection[int]) -> str:
    """Which nodes did not come to a barrier."""
    missing = [str(rank) for rank in ranks if rank not in here]
    return f"a barrier of {len(ranks)} nodes, to which {', '.join(missing)} did not come"


def too_few(rank: int, least: int, held: int) -> str:
    """What a wait for words in a FIFO waits for."""
    return f"{least} words in the FIFO of VIC {rank}, which has {held}"


def not_own(call: str, rank: int, what: str = "the VIC") -> InputError:
    """The error of a call that is not made by the program of its node."""
    return InputError(f"{call}: {what} of node {rank} is for the program on that node, while it runs")


# Programs of many nodes in one process. Each has a thread, and one thread runs at a time.


class ProgramThread:
    """The program of a node in its thread. `result`: what it returned; `done`: whether it has ended."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.result: Any = None
        self.done = False
        self._error: BaseException | None = None
        self._go, self._back, self._running, self._stopped = threading.Semaphore(0), threading.Semaphore(0), False, False
        self._thread = threading.Thread(target=lambda: None)

    def start(self, program: Callable[[], Any]) -> None:
        """Start the program's thread; the program begins with the first `go`."""
        self._thread = threading.Thread(target=self._run, args=(program,), name=f"isoviz-node-{self.rank}", daemon=True)
        self._thread.start()

    def _run(self, program: Callable[[], Any]) -> None:
        self._go.acquire()
        try:
            if not self._stopped:
                self.result = program()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001  # told by `go`
            self._error = error
        self.done = True
        self._back.release()

    def go(self) -> None:
        """Let the program go on until it pauses.

        Raises:
            InputError, RankError: what went wrong in it, with the number of the node.
        """
        self._running = True
        self._go.release()
        self._back.acquire()
        self._running = False
        if (error := self._error) is not None:
            if not isinstance(error, Exception):
                raise error
            raise of_node(self.rank, error) from error

    def end(self) -> None:
        """End the program where it is, as far as it lets itself be ended."""
        self._running, self._stopped = False, True
        for _ in range(3):
            if self.done or not self._thread.is_alive():
                break
            self._go.release()
            self._back.acquire(timeout=1)

    def pause(self) -> None:
        """Called by the program: let the others go on, until `go`.

        Raises:
            Stopped: another node had an error.
        """
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise Stopped

    def check_own(self, call: str, what: str) -> None:
        """Check that the program of this node runs, and calls; `what` names that which it may call.

        Raises:
            InputError: it does not.
        """
        if not self._running or threading.current_thread() is not self._thread:
            raise not_own(call, self.rank, what)


def run_threads(
    nodes: Sequence[ProgramThread],
    subjects: Sequence[Any],
    program: Callable[..., Any],
    arguments: tuple[Any, ...],
    go: Callable[[], None],
) -> None:
    """Start `program(subject, *arguments)` on every node, run all of them by `go`, and end what has not ended."""
    try:
        for node, subject in zip(nodes, subjects, strict=True):
            node.start(partial(program, subject, *arguments))
        go()
    finally:
        for node in nodes:
            node.end()
