"""What the buffers of a choice hold, and what the choice therefore takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import ChunkSequence, Layout, Linearization, Mode
from isoviz.planner.hop_facts import PathOrders, chunk_bytes, path_clock, path_orders

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem


class BufferLayouts(NamedTuple):
    """What the buffers hold: L `before` the hop that converts and M `after` it; `order`, whose `outer` slowest components number
    the blocks; and how many of these make a chunk."""

    before: Layout
    after: Layout
    order: Layout
    outer: int
    per_chunk: int


def buffer_layouts(problem: Problem, choice: Choice) -> BufferLayouts:
    """What the buffers of a choice hold."""
    source, destination = problem.transfer.source_order, problem.transfer.destination_order
    if choice.family is not None:
        follows = choice.family.follows or problem.follows
        before, after, outer = problem.ends.layouts(choice.family, choice.a, choice.b, follows)
        return BufferLayouts(before, after, before if follows == "source" else after, outer, choice.per_chunk)
    held = source if problem.held_order(choice.route) == "source" else destination
    if choice.layout_before is not None:
        (before, outer), (after, _) = choice.layout_before, choice.layout_after or choice.layout_before
        return BufferLayouts(before, after, before, outer, choice.per_chunk)
    elements = choice.per_chunk
    if len(choice.route.channels) == 1 and choice.chunk >= problem.nbytes:  # all in one, with the padding between
        elements = held.count * len(held.fields)
    outer, per_chunk = run_as_blocks(held, elements)
    return BufferLayouts(held.layout, held.layout, held.layout, outer, per_chunk)


def path_layouts(problem: Problem, choice: Choice, held: BufferLayouts) -> tuple[Layout, ...]:
    """The layouts along the path, those of both ends too: one more than hops."""
    transfer, inner = problem.transfer, len(choice.route.channels) - 1
    at = inner if choice.route.converting is None else choice.route.converting
    return (transfer.source.layout, *[held.before] * at, *[held.after] * (inner - at), transfer.destination.layout)


def orders_along(problem: Problem, choice: Choice, held: BufferLayouts) -> PathOrders:
    """What follows from the layouts along the path, of what moves; kept by the problem, since most routes have the same."""
    layouts = path_layouts(problem, choice, held)[1:-1]
    found = problem.path_orders_of.get(layouts)
    if found is None:
        transfer = problem.transfer
        orders = {layout: layout.on(transfer.space, transfer.fields) for layout in dict.fromkeys(layouts)}
        inside = [orders[layout] for layout in layouts]
        found = problem.path_orders_of[layouts] = path_orders(
            transfer, (transfer.source_order, *inside, transfer.destination_order)
        )
    return found


def chunk_sequence(problem: Problem, held: BufferLayouts) -> ChunkSequence:
    """The chunks of a choice."""
    return ChunkSequence(held.order.on(problem.transfer.space, problem.transfer.fields), held.outer, held.per_chunk)


def exact_if_needed(problem: Problem, choice: Choice) -> Choice:
    """A choice of the search with what its layouts really have, where the search may not know it. Of ends whose blocks nest, and
    of fields of one size, it does: where a choice says less than its layouts have, another one says as much (`shapes`)."""
    return choice if problem.ends.regular and not problem.spread else evaluated(problem, choice)


def evaluated(problem: Problem, choice: Choice) -> Choice:
    """The choice with the runs, the chunk and the T that its layouts really have (`derive`)."""
    held = buffer_layouts(problem, choice)
    way = orders_along(problem, choice, held)
    chunk = chunk_bytes(chunk_sequence(problem, held))
    clock = path_clock(problem.transfer, problem.machine, choice.route.channels, way, problem.slots, choice.route.pace)
    return choice._replace(seconds=clock.seconds(chunk, way.runs), runs=way.runs, chunk=chunk)


def run_as_blocks(held: Linearization, elements: int) -> tuple[int, int]:
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
