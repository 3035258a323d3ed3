"""Waiting for a transfer and reporting its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.runtime.opening import OPENS

if TYPE_CHECKING:
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.protocols import CancelToken


@dataclass(frozen=True)
class Progress:
    """The progress of a run. `stage` is "move" while bytes move, then "verify". The numbers count what has moved."""

    stage: str
    chunks_done: int
    chunks: int
    bytes_done: int
    bytes: int


ProgressCallback = Callable[[Progress], None]
_TICK = 0.05
"""Seconds between two checks of a cancel token."""


def setting(*events: threading.Event) -> Callable[[Execution], None]:
    """A function that sets events, in this order, once no bytes of an execution move any more."""

    def over(_: Execution) -> None:
        for event in events:
            event.set()

    return over


def watch(
    execution: Execution,
    moved: threading.Event,
    arrived: threading.Event,
    progress: ProgressCallback | None,
    token: CancelToken | None,
    cancel: Callable[[], None],
) -> None:
    """Wait until `moved` is set. Report to `progress` when bytes have `arrived`; cancel when the token is set."""
    tell(execution, progress, "move")
    if progress is None and token is None:
        moved.wait()
        return
    told = -1
    while not moved.is_set():
        (arrived if progress is not None else moved).wait(_TICK)
        arrived.clear()
        if token is not None and execution.phase != OPENS and token.is_set():
            cancel()  # while it opens, a cancel takes effect afterwards
        if told != (told := execution.event.bytes_done):
            tell(execution, progress, "move")
    if told != execution.event.bytes_done:
        tell(execution, progress, "move")


def tell(execution: Execution, progress: ProgressCallback | None, stage: str) -> None:
    """Report the progress of an execution."""
    if progress is not None:
        plan = execution.plan
        news = Progress(stage, execution.chunks_done, plan.chunk_count, execution.event.bytes_done, plan.bytes)
        checks.tell("run", progress, news)
        execution.event.home.require()  # `progress` may have forked: no bytes would ever arrive in the child
