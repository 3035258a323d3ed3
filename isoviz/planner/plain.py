"""Routes on which no hop between two buffers converts: all buffers hold one layout, and a chunk is a run of it.

Usually that layout is the order of one end, and a chunk has any length. Three cases need others: fields of different sizes in
tight slots, where a block that holds whole entries wastes nothing; ends whose blocks do not nest, between which a layout that
both nest with lies well; and orders whose runs would fall into very many boxes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence, FieldsComponent, Layout, Linearization, Mode, compare
from isoviz.planner.blocks import grown, layout_of, restricted
from isoviz.planner.choice import MOST_BOXES, Choice
from isoviz.planner.sizes import SMALL, best_of, choices, least_as_good, round_numbers

if TYPE_CHECKING:
    from isoviz.planner.problem import Problem
    from isoviz.planner.routes import Route
    from isoviz.planner.timing import Clock


def plain(problem: Problem, route: Route, clock: Clock, *, costs: bool = False) -> Choice | None:
    """The best choice for a route whose buffers all hold the same layout: of the least T, or, if that is said, of the least T and
    what its chunks cost an engine."""
    held = problem.transfer.source_order if problem.held_order(route) == "source" else problem.transfer.destination_order
    search = _Plain(problem, route, clock, held, costs)
    if _boxes_of_runs(held) > MOST_BOXES and search.limit // problem.largest > MOST_BOXES:
        found = list(search.by_boxes())
    else:
        found = list(search.by_runs())
    if len(route.channels) > 1:
        if problem.largest > problem.mean and _boxes_of_runs(held) <= MOST_BOXES:
            found += search.by_whole_entries()
        if not problem.ends.nesting:
            found += search.by_common_blocks()
    able = [choice for choice in found if choice is not None]
    return min(able, key=lambda choice: (choice.seconds + search.cost(choice.chunk), choice.key), default=None)


class _Plain:
    def __init__(self, problem: Problem, route: Route, clock: Clock, held: Linearization, costs: bool) -> None:
        self.costs = costs
        self.problem, self.route, self.clock, self.held = problem, route, clock, held
        self.runs = problem.runs(len(route.channels), route.converting)
        self.limit = problem.limit(route.inside)

    def cost(self, chunk: float) -> float:
        return self.problem.chunk_cost(chunk, len(self.runs)) if self.costs else 0.0

    def by_runs(self) -> Iterator[Choice | None]:
        """Runs of the end's order: of elements, of blocks that hold whole entries, of entries where nothing is held."""
        problem, mean = self.problem, self.problem.mean
        if len(self.runs) == 1:
            yield self._chunked(problem.field_count, problem.entry)
            return
        # Elements that hold whole entries: of one field every one does, wherever the layout names its fields.
        period = self.held.inner_count * problem.field_count if problem.field_count > 1 else 1
        entries_first = isinstance(self.held.normal[0], FieldsComponent)
        few = min(self.limit, problem.nbytes) <= SMALL * problem.entry
        if few or not entries_first:
            yield self._chunked(1, problem.largest)
        if problem.largest > mean or (entries_first and not few):
            yield self._chunked(period, round(period * mean))

    def _chunked(
        self,
        elements: int,
        room: int,
        runs: tuple[float, ...] = (),
        part: tuple[Layout, int] | None = None,
        payload: float = 0.0,
        bound: int | None = None,
    ) -> Choice | None:
        """The best number of units of so many elements, which take `room` bytes in a slot."""
        problem, clock, runs = self.problem, self.clock, runs or self.runs
        unit = payload or elements * problem.mean
        # Of an end with padding there are more units than bytes that move.
        every = math.ceil(max(problem.nbytes, self.held.nbytes if not payload else 0) / unit)
        most = min(self.limit // room, every, bound or self.limit)
        if most < 1:
            return None

        def seconds(number: int) -> float:
            return clock.seconds(number * unit, runs)

        if len(runs) == 1:
            number = most
        elif not clock.overlap:
            number = least_as_good(seconds, most)
        else:
            _, number = best_of(
                lambda each: seconds(each) + self.cost(each * unit), self._worth_trying(unit, most, runs), clock.every
            )
        if number * unit >= problem.nbytes:
            number = most
        chunk, per_chunk = min(number * unit, problem.nbytes), number if part is not None else number * elements
        return Choice(
            seconds(number),
            self.route,
            None,
            1,
            1,
            per_chunk,
            chunk,
            number * room,
            runs,
            problem.slots,
            part,
            every_block_a_box=bound is not None,
        )

    def _worth_trying(self, unit: float, most: int, runs: tuple[float, ...]) -> Sequence[int]:
        """Numbers of units: all round ones, or those whose chunks do not cost more than the largest number takes altogether."""
        numbers = round_numbers(most)
        if not self.costs:
            return numbers
        least = self.clock.least_seconds(runs)
        goal = self.clock.seconds(most * unit, runs) + self.cost(most * unit)
        return numbers[bisect_left(numbers, True, key=lambda number: least + self.cost(number * unit) <= goal) :]

    def by_whole_entries(self) -> Iterator[Choice | None]:
        """Blocks of the end's order that hold all fields of their entries, where runs of single fields would not fill a slot."""
        ends = self.problem.ends
        order = ends.orders[self.problem.held_order(self.route) == "destination"]
        before = order.digits[: order.digits.index(-1)] if -1 in order.digits else ()
        if self.problem.entry <= self.limit:
            yield self._held(*ends.restricted(order, {-1: 1}))
        for i, digit in enumerate(before):
            taken = {done: ends.digits[done].extent for done in before[:i]} | {-1: 1}
            sizes = [size for size in choices(ends.sizes(digit), ends.digits[digit].top) if size > 1]
            fitting = [size for size in sizes if self._room({**taken, digit: size}) <= self.limit]
            for size in fitting if len(fitting) <= SMALL else fitting[-1:]:
                yield self._held(*ends.restricted(order, {**taken, digit: size}))

    def _room(self, taken: dict[int, int]) -> int:
        return math.prod(taken.values()) * self.problem.entry

    def by_common_blocks(self) -> Iterator[Choice | None]:
        """Layouts with the order of one end and without its blocks in the dimensions in which the ends' blocks do not nest."""
        transfer = self.problem.transfer
        loose = self.problem.ends.loose
        for lin in (transfer.source_order, transfer.destination_order):
            for last in (False, True):  # a dimension lies where its fastest, or where its slowest digit lay
                parts = [part for part in lin.normal if not isinstance(part, Mode) or part.dim not in loose]
                places = {}
                for place, part in enumerate(lin.normal):
                    if isinstance(part, Mode) and part.dim in loose and (last or part.dim not in places):
                        places[part.dim] = place
                for dim, place in sorted(places.items(), key=lambda item: -item[1]):
                    ahead = [part for part in lin.normal[:place] if not isinstance(part, Mode) or part.dim not in loose]
                    parts.insert(len(ahead), Mode(dim, lin.space[dim], 1, True))
                named = {part.dim for part in parts if isinstance(part, Mode)}
                lone = [Mode(dim, 1, 1, True) for dim in transfer.space if dim not in named]
                layout = layout_of([*lone, *parts])
                yield self._held(layout, len(layout.on(transfer.space, transfer.fields).parts))

    def _held(self, layout: Layout, outer: int, bound: int | None = None) -> Choice | None:
        """Chunks of a layout's blocks, at most so many in one."""
        problem, transfer = self.problem, self.problem.transfer
        lin = layout.on(transfer.space, transfer.fields)
        sequence = ChunkSequence(lin, outer)
        first, last = compare(problem.ends.source, lin).run_bytes, compare(lin, problem.ends.destination).run_bytes
        whole = problem.runs(len(self.runs), None)
        runs = (min(whole[0], first), *whole[1:-1], min(whole[-1], last))
        elements = lin.count * len(transfer.fields) // sequence.blocks
        payload = elements * problem.mean * lin.payload / lin.nbytes if elements > 1 else problem.mean  # padding is none
        return self._chunked(elements, sequence.block_bytes, runs, (layout, outer), payload, bound)

    def by_boxes(self) -> Iterator[Choice | None]:
        """Blocks of the end's order that are boxes."""
        problem, transfer = self.problem, self.problem.transfer
        lead = transfer.source_order if problem.follows == "source" else transfer.destination_order
        entries = min(self.limit // problem.entry, transfer.space.volume)
        while entries >= 1:
            block = grown(self.held, lead, dict.fromkeys(transfer.space.dims, 1), entries)
            layout, outer = restricted(self.held, lead, block)
            if len(self.runs) == 1:
                sequence = ChunkSequence(layout.on(transfer.space, transfer.fields), outer)
                size = sequence.block_bytes
                yield self._chunked(1, size, self.runs, (layout, outer), float(size), MOST_BOXES)
            else:
                yield self._held(layout, outer, MOST_BOXES)
            entries //= 2


def _boxes_of_runs(order: Linearization) -> int:
    """How many boxes a long run of an order falls into."""
    digits = [part for part in order.parts if isinstance(part, Mode)]
    late = [any(low.dim == digit.dim and low.step < digit.step for low in digits[i:]) for i, digit in enumerate(digits)]
    return math.prod(digit.extent for digit, scattered in zip(digits, late, strict=True) if scattered)
