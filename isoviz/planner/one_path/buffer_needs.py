"""The layouts that the buffers of a choice hold, and the time that the choice takes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import FIELDS, ChunkSequence, Layout, Linearization, Mode
from isoviz.planner.intermediate.part_runs import buffer_orders, chunk_order
from isoviz.planner.one_path.hop_facts import PathOrders, chunk_bytes, path_clock, path_orders

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem


class BufferLayouts(NamedTuple):
    """The layouts of the buffers of a path.

    The buffers `before` the converting hop hold layout L, those `after` it layout M. The `outer` slowest components of `order`
    number the blocks, and `per_chunk` blocks make a chunk. `source_fields` is that of the path (`PathPlan.source_fields`).
    """

    before: Layout
    after: Layout
    order: Layout
    outer: int
    per_chunk: int
    source_fields: int


def buffer_layouts(problem: Problem, choice: Choice) -> BufferLayouts:
    """The layouts of the buffers of a choice."""
    source, destination = problem.transfer.source_order, problem.transfer.destination_order
    if choice.family is not None:
        follows = choice.family.follows or problem.chunk_order
        before, after, outer = problem.ends.layouts(choice.family, choice.a, choice.b, follows)
        lead = before if follows == "source" else after
        return BufferLayouts(before, after, lead, outer, choice.per_chunk, _source_fields(choice, lead, outer, follows))
    order = source if problem.held_order(choice.route) == "source" else destination
    if choice.layout_before is not None:
        (before, outer), (after, _) = choice.layout_before, choice.layout_after or choice.layout_before
        at = _source_fields(choice, before, outer, problem.chunk_order)
        return BufferLayouts(before, after, before, outer, choice.per_chunk, at)
    elements = choice.per_chunk
    if len(choice.route.channels) == 1 and choice.chunk >= problem.nbytes:  # one chunk, padding included
        elements = order.count * len(order.fields)
    outer, per_chunk = run_as_blocks(order, elements)
    at = _source_fields(choice, order.layout, outer, problem.chunk_order)
    return BufferLayouts(order.layout, order.layout, order.layout, outer, per_chunk, at)


def _source_fields(choice: Choice, order: Layout, outer: int, follows: str) -> int:
    """How many buffers hold the fields in the order of the source: those before the hop that converts.

    Where `F` numbers the blocks, all buffers have one order of the fields, that of the end which the blocks follow.
    """
    buffers = len(choice.route.channels) - 1
    at = buffers if choice.route.converting is None else choice.route.converting
    if at in (0, buffers) or FIELDS not in order.components[len(order.components) - outer :]:
        return at
    return buffers if follows == "source" else 0


def path_layouts(problem: Problem, choice: Choice, buffers: BufferLayouts) -> tuple[Layout, ...]:
    """The layouts along the path, both ends included: one more than hops."""
    transfer, inner = problem.transfer, len(choice.route.channels) - 1
    at = inner if choice.route.converting is None else choice.route.converting
    return (transfer.source.layout, *[buffers.before] * at, *[buffers.after] * (inner - at), transfer.destination.layout)


def orders_along(problem: Problem, choice: Choice, buffers: BufferLayouts) -> PathOrders:
    """The orders along the path of a choice. The problem caches them by layouts, because most routes share them."""
    layouts = path_layouts(problem, choice, buffers)[1:-1]
    key = layouts, buffers.source_fields
    found = problem.path_orders_of.get(key)
    if found is None:
        transfer = problem.transfer
        inside = buffer_orders(transfer, layouts, buffers.source_fields)
        found = problem.path_orders_of[key] = path_orders(transfer, (transfer.source_order, *inside, transfer.destination_order))
    return found


def chunk_sequence(problem: Problem, buffers: BufferLayouts) -> ChunkSequence:
    """The chunks of a choice."""
    order = chunk_order(problem.transfer, buffers.order, buffers.source_fields)
    return ChunkSequence(order, buffers.outer, buffers.per_chunk)


def exact_if_needed(problem: Problem, choice: Choice) -> Choice:
    """A choice with the runs and costs that its layouts really have, where the search knows only estimates.

    Where everything moves, blocks of both ends nest and all fields have one size, the search is exact: if a choice counts shorter
    runs than its layouts have, another family has the same layouts with the longer runs (`intermediate.intermediate_layouts`).
    """
    is_plain = problem.ends.regular and not problem.has_short_runs and problem.transfer.is_whole
    return choice if is_plain and choice.route.pace.has_fixed_costs else evaluated(problem, choice)


def evaluated(problem: Problem, choice: Choice) -> Choice:
    """A choice with the runs, the chunk and the T that its layouts really have (`hop_facts`)."""
    buffers = buffer_layouts(problem, choice)
    path = orders_along(problem, choice, buffers)
    chunk = chunk_bytes(chunk_sequence(problem, buffers))
    clock = path_clock(problem.transfer, problem.machine, choice.route.channels, path, problem.slots, choice.route.pace)
    return choice._replace(seconds=clock.seconds(chunk, path.runs), runs=path.runs, chunk=chunk)


def run_as_blocks(order: Linearization, elements: int) -> tuple[int, int]:
    """A run of `elements` elements of an order, as the fewest and largest blocks.

    Returns the number of slowest components that number the blocks, and the number of blocks in a chunk.
    """
    parts = order.parts
    inner = 0
    for part in parts:
        extent = part.extent if isinstance(part, Mode) else len(order.fields)
        if elements % extent:
            break
        elements //= extent
        inner += 1
    return len(parts) - inner, elements
