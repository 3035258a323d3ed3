"""Making a complete plan from the choice for a route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.planner.one_path.buffer_needs import buffer_layouts, chunk_sequence, orders_along, path_layouts
from isoviz.planner.one_path.hop_facts import plan_facts
from isoviz.planner.path_plan import Hop, PathPlan
from isoviz.planner.plan import Plan

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def make_plan(problem: Problem, choice: Choice, clock: Clock, planner: str, notes: Sequence[str] = ()) -> Plan:
    """The plan of a choice; its figures follow from its layouts (`hop_facts`)."""
    held = buffer_layouts(problem, choice)
    texts = [str(layout) for layout in path_layouts(problem, choice, held)]
    way, chunks = orders_along(problem, choice, held), chunk_sequence(problem, held)
    words = plan_facts(
        *(problem.transfer, problem.machine, clock.channels, way, chunks, problem.slots, choice.route.pace), reuse=problem.reuse
    )
    hops = [
        Hop(
            *step,
            texts[i],
            texts[i + 1],
            words.requests[i],
            words.rates[i],
            words.converts[i],
            channel.max_in_flight,
            words.latencies[i],
        )
        for i, (step, channel) in enumerate(zip(choice.route.steps, clock.channels, strict=True))
    ]
    path = PathPlan(
        transfer=problem.transfer,
        hops=tuple(hops),
        order=held.order,
        outer=held.outer,
        per_chunk=held.per_chunk,
        slots=problem.slots,
        overlap=problem.machine.limits.overlap,
        objective=words.seconds,
        throughput=words.throughput,
        setup=words.setup,
        shares=words.shares,
        resources=words.resources,
        source_fields=held.source_fields,
        kept=words.kept,
        reuse=problem.reuse,
    )
    machine, found = problem.machine, (*notes, *unproved(problem, planner))
    emulated = machine.emulated(path.memories)
    return Plan(problem.transfer, machine.name, machine.digest, planner, (path,), found, emulated=emulated)


def unproved(problem: Problem, planner: str) -> tuple[str, ...]:
    """The notes for a plan of `full` that is not proved to be the fastest.

    The proof (`families`) assumes that the blocks of both ends nest with each other and with their dimension.
    """
    ends = problem.ends
    if planner != "full" or ends.regular or not ends.converts:
        return ()
    if ends.non_nesting_dims:
        dims = ", ".join(sorted(ends.non_nesting_dims))
        why = f"the blocks of the two ends do not nest in {dims} (as 4 and 6 do not)"
    else:
        why = "the blocks of an end do not divide its dimension, so that the last one is padded"
    return (f"not proved to be the fastest: {why}",)
