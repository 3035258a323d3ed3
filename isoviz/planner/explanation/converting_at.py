"""The conversion of a path at a chosen hop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from isoviz.errors import NoPathError
from isoviz.layouts import Layout, OrderChange, compare, order_change
from isoviz.layouts.compare import block_of
from isoviz.planner.by_hand.path_by_hand import costed
from isoviz.planner.explanation.known_paths import best_of_paths
from isoviz.planner.one_path.hop_facts import conversion_hop
from isoviz.planner.one_path.non_nesting import blocked_ends
from isoviz.planner.one_path.optimum import clock_of
from isoviz.planner.paths.routes import Route
from isoviz.planner.problem import Problem, channels_in_mean

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.machines import Machine
    from isoviz.planner.options import Options
    from isoviz.planner.transfer import Transfer

MOST_BLOCKS = 12
"""So many blocks with which the hop converts are worked out, the most promising ones."""


def layouts_converting_at(
    transfer: Transfer, machine: Machine, path: Sequence[str], hop: int, options: Options
) -> tuple[Layout, ...]:
    """The layouts of the buffers of a path, named by its channels, with which that hop converts and no other one does.

    Buffers before it hold blocks in the order of the source, buffers behind it blocks in the order of the destination. The blocks
    are those of the fastest plan that converts there.

    Raises:
        NoPathError: with no blocks within the limits does that hop convert. MachineError: an unknown channel.
    """
    problem = Problem(transfer, machine, options)
    for candidates in (_of_the_planner(problem, path, hop), _of_boxes(problem, path, hop)):
        able = (layouts for layouts in candidates if _converts_at(problem, layouts, hop))
        costs = [(costed(problem, path, layouts)[0].mean, layouts) for layouts in islice(able, MOST_BLOCKS)]
        if costs:
            return min(costs, key=lambda each: each[0])[1]
    raise NoPathError(f"path by hand: hop {hop} cannot convert: no block within the limits has two orders there")


def _of_the_planner(problem: Problem, path: Sequence[str], hop: int) -> Iterator[tuple[Layout, ...]]:
    """The layouts of the fastest plan of this path, where it converts at that hop."""
    found = best_of_paths(problem, [(tuple(path), hop)])
    if found is not None:
        yield tuple([Layout(each.destination_layout) for each in found.hops[:-1]])


def _of_boxes(problem: Problem, path: Sequence[str], hop: int) -> Iterator[tuple[Layout, ...]]:
    """Both orders on blocks that are boxes, by the time that they promise. The planner leaves most of them out: converting at
    another hop is faster with them.
    """
    transfer, last = problem.transfer, len(path) - 1
    route = Route(channels_in_mean(problem, path), hop)
    clock = clock_of(problem, route)
    found: list[tuple[float, int, tuple[Layout, ...]]] = []
    for ends in blocked_ends(problem, problem.limit(route.inside)):
        layouts = (*[ends.before] * hop, *[ends.after] * (last - hop))
        runs = list(problem.runs(len(path), None))
        for place, (here, there) in enumerate(pairwise(_orders(transfer, layouts))):
            if place in (0, hop, last):
                runs[place] = min(runs[place], compare(here, there).run_bytes)
        found.append((clock.seconds(min(ends.chunk, problem.nbytes), runs), len(found), layouts))
    yield from (layouts for _, _, layouts in sorted(found))


def _orders(transfer: Transfer, layouts: Sequence[Layout]) -> list[Linearization]:
    """The orders at all stops of a path."""
    inside = (each.on(transfer.space, transfer.fields) for each in layouts)
    return [transfer.source_order, *inside, transfer.destination_order]


def _converts_at(problem: Problem, layouts: Sequence[Layout], hop: int) -> bool:
    """Whether that hop converts and no other one. Where both ends begin to vary alike, whether it has the shortest runs."""
    orders = _orders(problem.transfer, layouts)
    if order_change(orders[0], orders[-1]) is not OrderChange.CONVERTS:
        return conversion_hop(problem.transfer, orders) == hop
    block = block_of(orders)
    turning = [order_change(*ends, block=block) is OrderChange.CONVERTS for ends in pairwise(orders)]
    return [place for place, turns in enumerate(turning) if turns] == [hop]
