"""Waiting for a transfer while telling how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.protocols import CancelToken


@dataclass(frozen=True)
class Progress:
    """How far a run is. `stage` is "move" while bytes move, then "verify"; the numbers are those of the moving."""

    stage: str
    chunks_done: int
    chunks: int
    bytes_done: int
    bytes: int


ProgressCallback = Callable[[Progress], None]
_TICK = 0.05
"""Seconds between two looks at a cancel token."""


def setting(*events: threading.Event) -> Callable[[Execution], None]:
    """What sets events, in this order, once nothing of an execution moves any more."""

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
    """Wait until `moved`, telling `progress` whenever something has `arrived`, and cancel when the token says so."""
    tell(execution, progress, "move")
    if progress is None and token is None:
        moved.wait()
        return
    told = -1
    while not moved.is_set():
        (arrived if progress is not None else moved).wait(_TICK)
        arrived.clear()
        opening = execution.is_granted and execution.is_open is None  # it does not stop before that is done
        if token is not None and not opening and token.is_set():
            cancel()
        if told != (told := execution.event.bytes_done):
            tell(execution, progress, "move")
    if told != execution.event.bytes_done:
        tell(execution, progress, "move")


def tell(execution: Execution, progress: ProgressCallback | None, stage: str) -> None:
    """Tell how far an execution is."""
    if progress is not None:
        plan = execution.plan
        progress(Progress(stage, execution.chunks_done, plan.chunk_count, execution.event.bytes_done, plan.bytes))
        execution.event.home.require()  # `progress` may have forked: nothing would ever arrive in that child
