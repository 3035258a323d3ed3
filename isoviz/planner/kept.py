"""Results of functions of a plan and its machine, kept for plans that run repeatedly."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.machines import Machine
    from isoviz.planner.plan import Plan

T = TypeVar("T")

MOST_ANSWERS = 64
"""The largest number of plans for which `kept_with_plan` keeps what a function returned; that of the first one is dropped."""


def kept_with_plan(function: Callable[[Plan, Machine], T]) -> Callable[[Plan, Machine], T]:
    """Decorate a function of a plan and its machine, both frozen: it is called once for them. Any thread may call it.

    A plan that runs again and again has the same prediction, the same notes and the same words in the ledger. To find them takes
    longer than a short run.
    """
    kept: OrderedDict[int, tuple[ref[Plan], Machine, T]] = OrderedDict()

    @wraps(function)
    def answer(plan: Plan, machine: Machine) -> T:
        found = kept.get(id(plan))
        if found is None or found[0]() is not plan or found[1] is not machine:
            found = kept[id(plan)] = ref(plan), machine, function(plan, machine)
            while len(kept) > MOST_ANSWERS:
                with suppress(KeyError):  # another thread has dropped it
                    kept.popitem(last=False)
        return found[2]

    return answer
