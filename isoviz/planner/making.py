"""From what was decided for a route to a plan that says everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import Layout, Linearization, Mode
from isoviz.layouts.compare import shuffle_bytes
from isoviz.layouts.linearization import NormalPart, normal_form
from isoviz.planner.blocks import layout_of
from isoviz.planner.plan import Hop, Plan

if TYPE_CHECKING:
    from isoviz.planner.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.timing import Clock


def make_plan(problem: Problem, choice: Choice, clock: Clock, planner: str, notes: Sequence[str] = ()) -> Plan:
    """The plan of a choice."""
    transfer, route, ends = problem.transfer, choice.route, problem.ends
    count = len(route.channels)
    held = _held(problem, choice)
    at = route.converting if route.converting is not None else count - 1
    names = [str(transfer.source.layout)]
    before, after = str(held.before), str(held.after)
    names += [before if i < at else after for i in range(count - 1)]
    names.append(str(transfer.destination.layout))
    shuffles = _shuffles(problem, choice, held)
    hops = []
    for i, channel in enumerate(route.channels):
        run = min(choice.runs[i], choice.chunk)
        path = i, channel.name, str(channel.kind), channel.source, channel.destination
        converts = ends.converts and i == route.converting
        hops.append(Hop(*path, names[i], names[i + 1], run, shuffles[i], channel.throughput(run), converts))
    timing = clock.timing(choice.chunk, choice.runs)
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
        seconds=choice.seconds,
        throughput=timing.throughput,
        notes=tuple(notes),
    )


def layouts_of(problem: Problem, choice: Choice) -> tuple[Layout, Layout]:
    """The layouts of the buffers before and after the converting hop."""
    held = _held(problem, choice)
    return held.before, held.after


class _Held(NamedTuple):
    """What the buffers hold: L and M, with their normal forms where these are not those of an end; `order`, whose `outer` slowest
    components number the blocks; and how many blocks make a chunk."""

    before: Layout
    after: Layout
    order: Layout
    outer: int
    per_chunk: int
    normals: tuple[tuple[NormalPart, ...], tuple[NormalPart, ...]] | None


def _held(problem: Problem, choice: Choice) -> _Held:
    source, destination = problem.transfer.source_order, problem.transfer.destination_order
    if choice.shape is not None:
        follows = choice.shape.follows or problem.follows
        first, last, outer = problem.ends.parts(choice.shape, choice.a, choice.b, follows)
        before, after = layout_of(first), layout_of(last)
        digits = problem.ends.digits
        cuts = ((choice.shape.cut_a, choice.a), (choice.shape.cut_b, choice.b))
        if any(digit is not None and digits[digit].extent % size for digit, size in cuts):  # a short last block pads
            space, fields = problem.transfer.space, problem.transfer.fields
            normals = before.on(space, fields).normal, after.on(space, fields).normal
        else:
            normals = normal_form(first, problem.field_count), normal_form(last, problem.field_count)
        return _Held(before, after, before if follows == "source" else after, outer, choice.per_chunk, normals)
    held = source if problem.held_order(choice.route) == "source" else destination
    if choice.part is not None:
        (before, outer), (after, _) = choice.part, choice.after or choice.part
        space, fields = problem.transfer.space, problem.transfer.fields
        normals = before.on(space, fields).normal, after.on(space, fields).normal
        return _Held(before, after, before, outer, choice.per_chunk, normals)
    outer, per_chunk = _blocks(held, choice.per_chunk)
    return _Held(held.layout, held.layout, held.layout, outer, per_chunk, None)


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


def _shuffles(problem: Problem, choice: Choice, held: _Held) -> list[int]:
    """What every hop has to hold to convert."""
    space, sizes = problem.transfer.space, problem.transfer.fields.sizes
    route, ends = choice.route, problem.ends
    found = [problem.largest] * len(route.channels)
    if len(found) == 1 or held.normals is None:
        if route.converting is not None:
            found[route.converting] = shuffle_bytes(ends.source.normal, ends.destination.normal, space, sizes)
        return found
    first, last = held.normals
    if route.converting is not None and (choice.after is not None or choice.shape is not None):
        found[route.converting] = shuffle_bytes(first, last, space, sizes)
    found[0] = shuffle_bytes(ends.source.normal, first, space, sizes)
    found[-1] = shuffle_bytes(last, ends.destination.normal, space, sizes)
    return found
