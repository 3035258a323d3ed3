"""What the buffers of a choice hold, and what the choice therefore takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import ChunkSequence, Layout, Linearization, Mode
from isoviz.planner.hop_facts import Along, along, chunk_bytes, clock_along

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
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


def way_of(problem: Problem, choice: Choice, held: Held) -> Along:
    """What follows from the layouts along the path, of what moves; kept by the problem, since most routes have the same."""
    layouts = layouts_along(problem, choice, held)[1:-1]
    found = problem.ways.get(layouts)
    if found is None:
        transfer = problem.transfer
        orders = {layout: layout.on(transfer.space, transfer.fields) for layout in dict.fromkeys(layouts)}
        inside = [orders[layout] for layout in layouts]
        found = problem.ways[layouts] = along(transfer, (transfer.source_order, *inside, transfer.destination_order))
    return found


def chunks_of(problem: Problem, held: Held) -> ChunkSequence:
    """The chunks of a choice."""
    return ChunkSequence(held.order.on(problem.transfer.space, problem.transfer.fields), held.outer, held.per_chunk)


def checked(problem: Problem, choice: Choice) -> Choice:
    """A choice of the search with what its layouts really have, where the search may not know it. Of ends whose blocks nest, and
    of fields of one size, it does: where a choice says less than its layouts have, another one says as much (`shapes`)."""
    known = problem.ends.regular and not problem.spread and choice.route.pace.has_fixed_costs
    return choice if known else evaluated(problem, choice)


def evaluated(problem: Problem, choice: Choice) -> Choice:
    """The choice with the runs, the chunk and the T that its layouts really have (`derive`)."""
    held = held_by(problem, choice)
    way = way_of(problem, choice, held)
    chunk = chunk_bytes(chunks_of(problem, held))
    clock = clock_along(problem.transfer, problem.machine, choice.route.channels, way, problem.slots, choice.route.pace)
    return choice._replace(seconds=clock.seconds(chunk, way.runs), runs=way.runs, chunk=chunk)


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
