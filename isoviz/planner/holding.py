"""What the buffers of a choice hold, and what the choice therefore takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import ChunkSequence, Layout, Linearization, Mode
from isoviz.planner.derive import chunk_bytes, clock_along, runs_of

if TYPE_CHECKING:
    from isoviz.planner.choice import Choice
    from isoviz.planner.problem import Problem


class Held(NamedTuple):
    """What the buffers hold: L `before` the hop that converts and M `after` it; `order`, whose `outer` slowest components number
    the blocks; and how many of these make a chunk."""

    before: Layout
    after: Layout
    order: Layout
    outer: int
    per_chunk: int


def held_by(problem: Problem, choice: Choice) -> Held:
    """What the buffers of a choice hold."""
    source, destination = problem.transfer.source_order, problem.transfer.destination_order
    if choice.shape is not None:
        follows = choice.shape.follows or problem.follows
        before, after, outer = problem.ends.layouts(choice.shape, choice.a, choice.b, follows)
        return Held(before, after, before if follows == "source" else after, outer, choice.per_chunk)
    held = source if problem.held_order(choice.route) == "source" else destination
    if choice.part is not None:
        (before, outer), (after, _) = choice.part, choice.after or choice.part
        return Held(before, after, before, outer, choice.per_chunk)
    elements = choice.per_chunk
    if len(choice.route.channels) == 1 and choice.chunk >= problem.nbytes:  # all in one, with the padding between
        elements = held.count * len(held.fields)
    outer, per_chunk = blocks_of(held, elements)
    return Held(held.layout, held.layout, held.layout, outer, per_chunk)


def layouts_along(problem: Problem, choice: Choice, held: Held) -> tuple[Layout, ...]:
    """The layouts along the path, those of both ends too: one more than hops."""
    transfer, inner = problem.transfer, len(choice.route.channels) - 1
    at = inner if choice.route.converting is None else choice.route.converting
    return (transfer.source.layout, *[held.before] * at, *[held.after] * (inner - at), transfer.destination.layout)


def orders_along(problem: Problem, choice: Choice, held: Held) -> tuple[Linearization, ...]:
    """The orders along the path of what moves: one more than hops."""
    transfer = problem.transfer
    inside = [layout.on(transfer.space, transfer.fields) for layout in layouts_along(problem, choice, held)[1:-1]]
    return (transfer.source_order, *inside, transfer.destination_order)


def chunks_of(problem: Problem, held: Held) -> ChunkSequence:
    """The chunks of a choice."""
    return ChunkSequence(held.order.on(problem.transfer.space, problem.transfer.fields), held.outer, held.per_chunk)


def evaluated(problem: Problem, choice: Choice) -> Choice:
    """The choice with the runs, the chunk and the T that its layouts really have (`derive`)."""
    held = held_by(problem, choice)
    orders = orders_along(problem, choice, held)
    runs = runs_of(problem.transfer, orders)
    chunk = chunk_bytes(chunks_of(problem, held))
    clock = clock_along(problem.transfer, problem.machine, choice.route.channels, orders, problem.slots, choice.route.pace)
    return choice._replace(seconds=clock.seconds(chunk, runs), runs=runs, chunk=chunk)


def blocks_of(held: Linearization, elements: int) -> tuple[int, int]:
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
