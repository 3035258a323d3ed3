"""Programs of many nodes in one process: each in a thread of its own, of which one runs at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from isoviz.vortex.systems import Stopped, not_own, of_node


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
