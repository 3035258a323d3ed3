"""From what was decided for a route to a plan that says everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import Layout, Linearization, Mode
from isoviz.planner.plan import Hop, Plan

if TYPE_CHECKING:
    from isoviz.planner.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.timing import Clock


def make_plan(problem: Problem, choice: Choice, clock: Clock, planner: str, notes: Sequence[str] = ()) -> Plan:
    """The plan of a choice."""
    transfer, route, ends = problem.transfer, choice.route, problem.ends
    held = _held(problem, choice)
    inner = len(route.channels) - 1
    at = inner if route.converting is None else route.converting
    texts = [
        str(transfer.source.layout),
        *[str(held.before)] * at,
        *[str(held.after)] * (inner - at),
        str(transfer.destination.layout),
    ]
    runs = [min(run, choice.chunk) for run in choice.runs]
    rates = clock.rates(choice.chunk, runs)
    converting = route.converting if ends.converts else None
    hops = [Hop(*step, texts[i], texts[i + 1], runs[i], rates[i], i == converting) for i, step in enumerate(route.steps)]
    return Plan(
        transfer=transfer,
        machine_name=problem.machine.name,
        machine_digest=problem.machine.digest,
        planner=planner,
        hops=tuple(hops),
        order=held.order,
        outer=held.outer,
        per_chunk=held.per_chunk,
        slots=problem.slots,
        overlap=problem.machine.limits.overlap,
        objective=choice.seconds,
        throughput=clock.throughput(choice.chunk, rates),
        setup=clock.setup,
        shares=clock.shares(rates),
        notes=tuple(notes),
    )


def layouts_of(problem: Problem, choice: Choice) -> tuple[Layout, Layout]:
    """The layouts of the buffers before and after the converting hop."""
    held = _held(problem, choice)
    return held.before, held.after


class _Held(NamedTuple):
    """What the buffers hold: L and M; `order`, whose `outer` slowest components number the blocks; and how many make a chunk."""

    before: Layout
    after: Layout
    order: Layout
    outer: int
    per_chunk: int


def _held(problem: Problem, choice: Choice) -> _Held:
    source, destination = problem.transfer.source_order, problem.transfer.destination_order
    if choice.shape is not None:
        follows = choice.shape.follows or problem.follows
        before, after, outer = problem.ends.layouts(choice.shape, choice.a, choice.b, follows)
        return _Held(before, after, before if follows == "source" else after, outer, choice.per_chunk)
    held = source if problem.held_order(choice.route) == "source" else destination
    if choice.part is not None:
        (before, outer), (after, _) = choice.part, choice.after or choice.part
        return _Held(before, after, before, outer, choice.per_chunk)
    elements = choice.per_chunk
    if len(choice.route.channels) == 1 and choice.chunk >= problem.nbytes:  # all in one, with the padding between
        elements = held.count * len(held.fields)
    outer, per_chunk = _blocks(held, elements)
    return _Held(held.layout, held.layout, held.layout, outer, per_chunk)


def _blocks(held: Linearization, elements: int) -> tuple[int, int]:
    """So many elements in a row in as few and as large blocks as possible.

    Returns the number of components that number the blocks, and the blocks in a chunk.
    """
    parts = held.parts
    inner = 0
    for part in parts:
        extent = part.extent if isinstance(part, Mode) else len(held.fields)
        if elements % extent:
            break
        elements //= extent
        inner += 1
    return len(parts) - inner, elements
