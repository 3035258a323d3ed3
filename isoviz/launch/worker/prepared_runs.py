"""Prepared transfers of a notebook on its ranks: a command makes one ready, and later ones carry it out many times.

All ranks execute these commands together.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.errors import Cancelled, EngineClosed, InputError, IsovizError, RankError, in_words
from isoviz.launch.this_rank import this_rank
from isoviz.launch.worker.plan_runs import arrived, placed_ends
from isoviz.layouts.given_arrays import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.launch.worker.plan_runs import Order
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import PreparedTransfer
    from isoviz.runtime.ranks.rank_engine import RankEngine

BATCH = 0.05
"""Seconds between two looks at a cancel, about. All ranks look together, so that they stop at the same transfer."""


@dataclass
class _Held:
    """A prepared transfer with what it needs. A rank without a part in a plan of one rank has no `transfer`."""

    engine: RankEngine
    transfer: PreparedTransfer | None
    destination: Any
    stack: ExitStack


_held: dict[int, _Held] = {}


def prepare(machine: Machine | str, given: Sequence[Order], key: int) -> None:
    """Prepare this rank's part of a plan, and keep it as number `key`.

    Raises:
        RankError: a rank has no room for its arrays. Exception: what `RankEngine.prepare` raises.
    """
    station = this_rank().station
    chosen = station.submitted_machine(machine)
    [plan] = station.submitted_plans([(order.digest, order.plan) for order in given])
    engine = station.engine(chosen)
    has_part = engine.has_part_in(plan)
    with ExitStack() as stack:
        problem, ends = None, (None, None)
        try:
            ends = placed_ends(_with_destination(given[0], engine, plan), plan, chosen, station.world(), stack)
        except (MemoryError, IsovizError) as error:
            problem = f"has no room for its arrays: {in_words(error)}"
        outcomes: Any = engine.gather((problem, has_part))
        for rank, (found, _) in enumerate(outcomes):
            if found is not None:
                raise RankError(f"rank {rank} {found}", rank=rank)
        is_of_several = sum(part for _, part in outcomes) > 1
        transfer = engine.prepare(plan, *ends) if has_part or is_of_several else None
        if transfer is not None:
            stack.callback(transfer.close)
        _held[key] = _Held(engine, transfer, ends[1], stack.pop_all())


def _with_destination(order: Order, engine: RankEngine, plan: Plan) -> Order:
    """The order with a destination in host memory, so that it can be fetched, if this rank has it and the caller gave none."""
    end = plan.transfer.destination
    memory = engine.machine.memory(end.memory)
    if order.destination is None and memory.node == engine.rank and memory.kind.is_host:
        return replace(order, destination=np.zeros(end.linearization.nbytes, np.uint8))
    return order


def run(key: int, count: int) -> list[float]:
    """Carry out a prepared transfer `count` times, one after the other. Returns the seconds of each on this rank.

    Raises:
        InputError: it is closed. Cancelled: the caller has cancelled it. RunError: it failed on some rank.
    """
    rank = this_rank()
    held = _found(key)
    seconds: list[float] = []
    batch, elapsed, error = 1, 0.0, None
    while True:
        outcomes: Any = held.engine.gather((rank.cancel.is_set(), elapsed, error is not None))
        if error is not None:
            raise error
        if failed := [number for number, (_, _, has_failed) in enumerate(outcomes) if has_failed]:
            raise RankError(f"the transfer failed on rank {failed[0]}", rank=failed[0])
        if any(is_cancelled for is_cancelled, _, _ in outcomes):
            raise Cancelled(f"cancelled after {len(seconds)} of {count} transfers")
        if len(seconds) == count:
            return seconds
        if seconds and max(each for _, each, _ in outcomes) < BATCH:
            batch *= 2
        begin = time.perf_counter()
        try:
            seconds.extend(_timed(held.transfer) for _ in range(min(batch, count - len(seconds))))
        except Exception as raised:  # noqa: BLE001  # the other ranks must not wait for this one
            error = raised
        elapsed = time.perf_counter() - begin


def _timed(transfer: PreparedTransfer | None) -> float:
    begin = time.perf_counter()
    if transfer is not None:
        transfer.start().wait()
    return time.perf_counter() - begin


def fetch(key: int) -> Array | None:
    """What the destination on this rank holds; None if it is not in host memory."""
    return arrived(_found(key).destination)


def close(key: int) -> None:
    """Let go of a prepared transfer."""
    held = _held.pop(key, None)
    if held is not None:
        held.stack.close()


def _found(key: int) -> _Held:
    held = _held.get(key)
    if held is None:
        raise InputError("prepared transfer: it is closed; expected one that was prepared anew")
    try:
        held.engine.require_open()
    except EngineClosed:
        close(key)
        raise InputError("prepared transfer: these ranks have run on another machine since; prepare it anew") from None
    return held
