"""The stages from settings to pictures, quickest first: what has been yielded can be shown while the rest is being computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

from isoviz.widgets.consequences.drawings import plan_pictures, plots
from isoviz.widgets.consequences.ends_of_transfer import fields_of, linearization_of, space_of
from isoviz.widgets.consequences.machines_made import corrections, is_slow, machine_of
from isoviz.widgets.consequences.plan_of_transfer import check_memories, planned
from isoviz.widgets.consequences.where_it_runs import where_it_runs
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived, Problem


def derive(before: Derived) -> Iterator[Derived]:
    """`before.settings` are new, the rest of `before` is what was derived last; yields better and better successors."""
    settings = before.settings
    problems: dict[str, Problem] = {}
    now = replace(before, problems=problems, stale=frozenset(), not_runnable="", offer_local=False, corrections={})
    space = space_of(settings, problems)
    fields = fields_of(settings, problems)
    stale: set[str] = set()
    ends: dict[str, Any] = {}
    for side in get_args(Side):
        linear = linearization_of(settings, side, space, fields, problems)
        if linear is None:
            stale |= {side, "plan"}
        else:
            ends[side] = linear
    now = replace(now, **ends)
    now = replace(now, pictures=plots(now, before))
    now = replace(now, problems=dict(problems), stale=frozenset(stale))
    yield replace(now, step="Measuring this computer" if is_slow(settings) else "Planning")

    machine = machine_of(settings, problems)
    if machine is not None:
        now = replace(now, machine=machine, corrections=corrections(before.machine, machine, settings))
        if now.corrections:
            yield replace(now, step="")
            return
        check_memories(settings, machine, problems)
    found = planned(now, space, fields, problems) if machine is not None and "plan" not in stale else None
    if found is None:
        stale.add("plan")
        yield replace(now, problems=dict(problems), stale=frozenset(stale), step="")
        return
    now = replace(found, problems=dict(problems), stale=frozenset(stale), step="")
    yield replace(now, **where_it_runs(now), pictures=plan_pictures(now))
