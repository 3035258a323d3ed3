"""Rehearsals on this computer: what a plan will take, and which of several is the quickest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError
from isoviz.measure.local_engine import Engine
from isoviz.measure.rehearsal import Rehearsal, quickest, rehearsed
from isoviz.planner.alternatives import alternatives

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Options, Plan


def rehearse(
    plan: Plan, machine: Machine, source: Any | None = None, *, of: int = 1, options: Options | None = None
) -> Rehearsal:
    """Move the first chunks of a plan on this computer and say what all of it will take: `rehearse(plan, machine).prediction`.

    With `of` above 1 so many plans are rehearsed, the given one and those of its rivals within `options` that are predicted to be
    the fastest, and the quickest comes back: `rehearse(plan, machine, of=5).plan`. `source` is as in `Engine.run`. Nothing is
    left behind.

    Raises:
        InputError: `of` is below 1. TransferError: it writes to an instance in part, or this computer lacks one of its memories.
        RunError: it cannot be carried out.
    """
    return quickest(rehearsals(plan, machine, source, of=of, options=options))


def rehearsals(
    plan: Plan, machine: Machine, source: Any | None = None, *, of: int = 1, options: Options | None = None
) -> list[Rehearsal]:
    """The rehearsals of `rehearse`, that of the given plan first; rivals that cannot be carried out, or are clearly slower than
    one before, are left out."""
    if of < 1:
        raise InputError(f"rehearsal of {of} plans; expected at least 1")
    with Engine(machine) as engine:
        return rehearsed(engine, alternatives(plan, machine, of, options) if of > 1 else [plan], source)
