"""Errors for transfers that no path can carry out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.errors import LimitError, NoPathError
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.planner.problem import Problem


def limits_too_small(problem: Problem, insides: Sequence[Sequence[str]]) -> LimitError:
    """The error for limits that are smaller than the smallest chunk, one element, on every path. It says which limit would be
    enough.

    `insides` holds, for every path, the memories of its buffers.
    """
    transfer = problem.transfer
    element = problem.largest
    fewest = min(insides, key=len)
    slots = len(fewest) * problem.slots
    what = "the limits"
    if problem.slot_limit < element:
        what = f"a slot_limit of at least {format_bytes(element)}, one element"
    elif problem.memory_limit is not None and problem.memory_limit < slots * element:
        what = f"a memory_limit of at least {format_bytes(slots * element)}, one element in each of {slots} slots"
    else:
        what = f"room for one element, {format_bytes(element)}, in each of {slots} slots in {', '.join(dict.fromkeys(fewest))}"
    left = format_bytes(max(problem.limit(inside) for inside in insides))
    return LimitError(
        f"transfer from {transfer.source} to {transfer.destination}: the limits leave {left} for a slot; expected {what}"
    )


def no_throughput(problem: Problem) -> NoPathError:
    """The error for a transfer where every path has a channel that moves nothing in the runs that layouts and limits allow."""
    transfer = problem.transfer
    return NoPathError(
        f"machine {problem.machine.name}: on every path from {transfer.source.memory} to {transfer.destination.memory} some"
        " channel moves nothing in runs as short as the layouts and limits leave it; converting between the two orders takes"
        f" runs of {format_bytes(min(problem.ends.run, problem.nbytes))}"
    )
