"""Routes on which no hop between two buffers converts: all buffers hold one layout, and a chunk is a run of it.

Usually the layout is the order of one end, and a chunk may have any length. Three cases need other layouts:

- Fields of different sizes in small slots: a block of whole entries wastes no space.
- Ends whose blocks do not nest: a layout that nests with both may be better than either order.
- Orders whose runs would consist of very many boxes: blocks that are boxes are better.

A route of one hop has no buffer. No limit on slots applies, and everything may move as one chunk. Very large transfers are
cut into several chunks all the same, because progress is reported per chunk, but only where that costs no time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence, FieldsComponent, Layout, Linearization, Mode, compare
from isoviz.planner.intermediate.intermediate_layouts import F
from isoviz.planner.intermediate.part_layouts import grown, layout_of, restricted
from isoviz.planner.intermediate.part_runs import boxes_of_runs
from isoviz.planner.one_path.buffer_needs import evaluated, exact_if_needed
from isoviz.planner.one_path.choice import Choice
from isoviz.planner.one_path.hop_facts import chunk_bytes
from isoviz.planner.one_path.sizes import cut_sizes, fastest_size, round_numbers, smallest_as_fast
from isoviz.planner.tuning import (
    BOUND_SLACK,
    CHUNK_GROWTH_SHARE,
    MOST_BOXES,
    MOST_SIZES_TRIED,
    TIE,
    UNBUFFERED_LEAST_SECONDS,
    UNBUFFERED_MOST,
    UNBUFFERED_SECONDS,
    UNBUFFERED_UNIT,
)

if TYPE_CHECKING:
    from isoviz.layouts import Layout, Linearization
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def best_unbuffered(problem: Problem, route: Route, clock: Clock, order: Linearization) -> Choice:
    """The best choice for a route of one hop, with chunks in the given order."""
    nbytes, runs = problem.nbytes, problem.runs(1, route.converting)
    everything = order.count * len(order.fields)
    whole = Choice(clock.seconds(nbytes, runs), route, None, 1, 1, everything, nbytes, order.nbytes, runs, problem.slots)
    least = max(1, math.ceil(UNBUFFERED_LEAST_SECONDS * nbytes / whole.seconds / UNBUFFERED_UNIT)) if whole.seconds else 1
    most = max(UNBUFFERED_MOST // UNBUFFERED_UNIT, least)
    if whole.seconds > UNBUFFERED_SECONDS:
        most = max(1, min(most, math.floor(UNBUFFERED_SECONDS * nbytes / whole.seconds) // UNBUFFERED_UNIT))
    pieces = most if problem.machine.limits.chunk_seconds else least
    while nbytes > pieces * UNBUFFERED_UNIT:
        last = pieces >= most
        goal = whole.seconds * (1 + (CHUNK_GROWTH_SHARE if last else BOUND_SLACK))
        boxes = boxes_of_runs(order) > MOST_BOXES
        for part, per_chunk in (
            _boxes(problem, order, pieces * UNBUFFERED_UNIT) if boxes else _runs(problem, pieces * UNBUFFERED_UNIT)
        ):
            made = evaluated(problem, whole._replace(per_chunk=per_chunk, layout_before=part, chunk=0))
            if made.chunk < nbytes and made.seconds <= goal:
                return made
        if last:
            break
        pieces = min(2 * pieces, most)
    return whole


def _runs(problem: Problem, most: int) -> Iterator[tuple[None, int]]:
    """Chunks that are runs of the order, of about `most` bytes."""
    yield None, max(1, most // problem.entry) * problem.field_count


def _boxes(problem: Problem, order: Linearization, most: int) -> Iterator[tuple[tuple[Layout, int], int]]:
    """Chunks of blocks that are boxes, of at most `most` bytes, the largest block first."""
    lead = problem.transfer.source_order if problem.chunk_order == "source" else problem.transfer.destination_order
    entries = max(1, most // problem.entry)
    while entries >= 1:
        block = grown(order, lead, dict.fromkeys(problem.transfer.space.dims, 1), entries)
        layout, outer = restricted(order, lead, block)
        sequence = ChunkSequence(layout.on(order.space, order.fields), outer)
        yield (layout, outer), max(1, min(MOST_BOXES, most // sequence.block_bytes))
        entries //= 2


def best_one_layout(problem: Problem, route: Route, clock: Clock, *, costs: bool = False) -> Choice | None:
    """The best choice for a route whose buffers all hold the same layout: by T, or with `costs` by T and the cost of its
    chunks."""
    order = problem.transfer.source_order if problem.held_order(route) == "source" else problem.transfer.destination_order
    if len(route.channels) == 1:
        return exact_if_needed(problem, best_unbuffered(problem, route, clock, order))
    search = _OneLayoutSearch(problem, route, clock, order, costs)
    if boxes_of_runs(order) > MOST_BOXES and search.limit // problem.largest > MOST_BOXES:
        found = list(search.by_boxes())
    else:
        found = list(search.by_runs())
    if problem.largest > problem.mean and boxes_of_runs(order) <= MOST_BOXES:
        found += search.by_whole_entries()
    if not problem.ends.nesting:
        found += search.by_common_blocks()
    able = [exact_if_needed(problem, choice) for choice in found if choice is not None]
    if search.multiple > 1 and not search.bounded_by_part:
        able += [evaluated(problem, choice) for choice in search.by_blocks_across_runs() if choice is not None]
        if not clock.is_plain:
            able += [evaluated(problem, choice) for choice in search.by_other_first_digits() if choice is not None]
        least = min((choice.seconds for choice in able), default=math.inf)
        able += [evaluated(problem, choice) for choice in search.by_parts_of_runs(least) if choice is not None]
    return min(able, key=lambda choice: (choice.seconds + search.cost(choice.chunk), choice.key), default=None)


class _OneLayoutSearch:
    """The candidates for a route whose buffers all hold one layout, family by family."""

    def __init__(self, problem: Problem, route: Route, clock: Clock, order: Linearization, costs: bool) -> None:
        self.costs = costs
        self.problem, self.route, self.clock, self.order = problem, route, clock, order
        self.runs = problem.runs(len(route.channels), route.converting)
        self.limit = problem.limit(route.inside)
        self.multiple = chunk_multiple(problem, route.inside, self.runs)
        self.bounded_by_part = min(problem.end_runs) < (math.inf if route.converting is None else problem.ends.run)
        """Whether gaps of a part bound the runs at an end, with every layout: then chunks smaller than a run are parts of
        it."""

    def cost(self, chunk: float) -> float:
        return self.problem.chunk_cost(chunk, len(self.runs)) if self.costs else 0.0

    def by_runs(self) -> Iterator[Choice | None]:
        """Runs of the end's order: of single elements, or of blocks of whole entries."""
        problem = self.problem
        # The elements that are whole entries. With one field every element is an entry, wherever the layout names its fields.
        period = self.order.inner_count * problem.field_count if problem.field_count > 1 else 1
        entries_first = isinstance(self.order.normal[0], FieldsComponent)
        few = min(self.limit, problem.nbytes) <= MOST_SIZES_TRIED * problem.entry
        units = [1] if few or not entries_first else []
        if problem.largest > problem.mean or (entries_first and not few):
            units.append(period)
        for unit in units:
            whole = math.lcm(unit, self.multiple)
            yield self._chunked(whole, self._slot_bytes(whole, period))
            if self.bounded_by_part and unit < self.multiple:
                yield self._chunked(unit, self._slot_bytes(unit, period), bound=self.multiple // unit)

    def _slot_bytes(self, elements: int, period: int) -> int:
        """The bytes of a slot for some elements. Every `period` elements make whole entries."""
        problem = self.problem
        return round(elements * problem.mean) if elements % period == 0 else elements * problem.largest

    def _chunked(
        self,
        elements: int,
        slot_bytes: int,
        runs: tuple[float, ...] = (),
        part: tuple[Layout, int] | None = None,
        payload: float = 0.0,
        bound: int | None = None,
        times: int = 1,
        blocks: int = 0,
    ) -> Choice | None:
        """The choice with the best number of units in a chunk; None where no unit fits.

        A unit is `elements` elements, which take `slot_bytes` bytes in a slot. With a layout in `part`, a unit is `times` blocks
        of `payload` bytes each, and there are `blocks` blocks. `bound` limits the number of units.
        """
        problem, clock, runs = self.problem, self.clock, runs or self.runs
        unit, slot_bytes = times * (payload or elements * problem.mean), times * slot_bytes
        # An end with padding has more units than the payload fills.
        every = math.ceil(blocks / times) if blocks else math.ceil(max(problem.nbytes, self.order.nbytes) / unit)
        most = min(self.limit // slot_bytes, every, self.limit if bound is None else bound)
        if most < 1:
            return None

        def seconds(number: int) -> float:
            return clock.seconds(number * unit, runs)

        if not clock.overlap and clock.sized is None:
            number = smallest_as_fast(seconds, most)
        else:
            _, number = fastest_size(
                lambda each: seconds(each) + self.cost(each * unit), self._numbers_to_try(unit, most, runs), clock.every
            )
        if number * unit >= problem.nbytes:
            number = most
        chunk, per_chunk = min(number * unit, problem.nbytes), number * (times if part is not None else elements)
        return Choice(
            seconds(number),
            self.route,
            None,
            1,
            1,
            per_chunk,
            chunk,
            number * slot_bytes,
            runs,
            problem.slots,
            part,
            every_block_a_box=part is not None and bound is not None,
        )

    def _numbers_to_try(self, unit: float, most: int, runs: tuple[float, ...]) -> Sequence[int]:
        """The numbers of units to try: all round numbers, or those whose chunks cost no more than T and the cost of the largest
        chunks."""
        numbers = round_numbers(most)
        if not self.costs:
            return numbers
        least = self.clock.least_seconds(runs)
        goal = self.clock.seconds(most * unit, runs) + self.cost(most * unit)
        return numbers[bisect_left(numbers, True, key=lambda number: least + self.cost(number * unit) <= goal) :]

    def by_whole_entries(self) -> Iterator[Choice | None]:
        """Blocks of the end's order with all fields of their entries, where runs of single fields would not fill a slot."""
        ends = self.problem.ends
        order = ends.orders[self.problem.held_order(self.route) == "destination"]
        before = order.digits[: order.digits.index(-1)] if -1 in order.digits else ()
        if self.problem.entry <= self.limit:
            yield self._of_layout(*ends.restricted(order, {-1: 1}))
        for i, digit in enumerate(before):
            taken = {done: ends.digits[done].extent for done in before[:i]} | {-1: 1}
            sizes = [size for size in cut_sizes(ends.sizes(digit), ends.digits[digit].top) if size > 1]
            fitting = [size for size in sizes if self._block_bytes({**taken, digit: size}) <= self.limit]
            for size in fitting if len(fitting) <= MOST_SIZES_TRIED else fitting[-1:]:
                yield self._of_layout(*ends.restricted(order, {**taken, digit: size}))

    def by_parts_of_runs(self, least: float) -> Iterator[Choice | None]:
        """Blocks that are parts of the shorter run, where they take less than `least` seconds.

        After such a block comes the same part of the next run or field, and not the next part of the same run. So no run is
        counted as longer than a chunk.
        """
        problem, ends = self.problem, self.problem.ends
        if ends.non_nesting_dims:
            return
        order = ends.orders[problem.held_order(self.route) == "destination"]
        candidates: list[tuple[float, dict[int, int]]] = []
        elements, taken = 1, dict[int, int]()
        for digit in ends.structure.prefix:
            if digit == F and problem.field_count == 1:
                taken[F] = 1
                continue
            sizes = (1,) if digit == F else cut_sizes(ends.sizes(digit), ends.digits[digit].top)
            bound = min(self.limit / (problem.mean if F in taken else problem.largest), self.multiple - 1)
            fitting = [size for size in sizes if elements * size <= bound]
            if not fitting:
                break
            seconds, size = fastest_size(partial(self._of_parts, elements), fitting, self.clock.every)
            candidates.append((seconds, {**taken, digit: size} if digit != F else dict(taken)))
            taken[digit] = 1 if digit == F else ends.digits[digit].extent
            elements *= problem.field_count if digit == F else ends.digits[digit].extent
        for seconds, block in sorted(candidates, key=lambda candidate: candidate[0]):
            if seconds >= least * (1 - TIE):
                return
            choice = self._of_layout(*ends.restricted(order, block, later=True), MOST_BOXES)
            if choice is not None:
                yield choice
                return

    def by_blocks_across_runs(self) -> Iterator[Choice | None]:
        """Blocks of the end's first digit that do not nest with the runs, where chunks have few elements.

        With few elements in a chunk, multiples of a run may be far from the best size.
        """
        first, *rest = self.order.normal
        most = min(self.limit, self.problem.nbytes) // self.problem.largest
        if (
            not isinstance(first, Mode)
            or not rest
            or not self.multiple < most <= MOST_SIZES_TRIED
            or first.extent <= self.multiple
        ):
            return
        for size in range(self.multiple + 1, min(most + 1, first.extent)):
            if size % self.multiple and first.step * size < self.order.space[first.dim]:
                inner = Mode(first.dim, size, first.step, False)
                outer = Mode(first.dim, -(-first.extent // size), first.step * size, first.top)
                named = {part.dim for part in self.order.normal if isinstance(part, Mode)}
                lone = [Mode(dim, 1, 1, True) for dim in self.order.space if dim not in named]
                if first.top or first.extent % size == 0:
                    yield self._of_layout(layout_of([*lone, inner, rest[0], outer, *rest[1:]]), len(rest) + 1)

    def by_other_first_digits(self) -> Iterator[Choice | None]:
        """The end's order with another part in front, where chunks have few elements and cost time themselves.

        Its runs are shorter, so that chunks may have other sizes than multiples of the end's runs.
        """
        parts = self.order.normal
        if not self.multiple < min(self.limit, self.problem.nbytes) // self.problem.largest <= MOST_SIZES_TRIED:
            return
        named = {part.dim for part in parts if isinstance(part, Mode)}
        lone = [Mode(dim, 1, 1, True) for dim in self.order.space if dim not in named]
        for place in range(1, len(parts)):
            layout = layout_of([*lone, parts[place], *parts[:place], *parts[place + 1 :]])
            yield self._of_layout(layout, len(layout.on(self.order.space, self.order.fields).parts))

    def _of_parts(self, before: int, size: int) -> float:
        """T for chunks of `before` × `size` elements, where every hop has runs of one chunk."""
        chunk = before * size * self.problem.mean
        return self.clock.seconds(chunk, [chunk] * len(self.runs))

    def _block_bytes(self, taken: dict[int, int]) -> int:
        return math.prod(taken.values()) * self.problem.entry

    def by_common_blocks(self) -> Iterator[Choice | None]:
        """Layouts with the order of one end, but without its blocks in the dimensions in which the blocks of the ends do not
        nest."""
        transfer = self.problem.transfer
        non_nesting_dims = self.problem.ends.non_nesting_dims
        for lin in (transfer.source_order, transfer.destination_order):
            for last in (False, True):  # a dimension takes the place of its fastest digit, or of its slowest
                parts = [part for part in lin.normal if not isinstance(part, Mode) or part.dim not in non_nesting_dims]
                places = {}
                for place, part in enumerate(lin.normal):
                    if isinstance(part, Mode) and part.dim in non_nesting_dims and (last or part.dim not in places):
                        places[part.dim] = place
                for dim, place in sorted(places.items(), key=lambda item: -item[1]):
                    ahead = [
                        part for part in lin.normal[:place] if not isinstance(part, Mode) or part.dim not in non_nesting_dims
                    ]
                    parts.insert(len(ahead), Mode(dim, lin.space[dim], 1, True))
                named = {part.dim for part in parts if isinstance(part, Mode)}
                lone = [Mode(dim, 1, 1, True) for dim in transfer.space if dim not in named]
                layout = layout_of([*lone, *parts])
                yield self._of_layout(layout, len(layout.on(lin.space, lin.fields).parts))

    def _of_layout(self, layout: Layout, outer: int, bound: int | None = None) -> Choice | None:
        """Chunks of a layout's blocks, with at most `bound` blocks in a chunk."""
        problem, transfer = self.problem, self.problem.transfer
        lin = layout.on(transfer.space, self.order.fields)
        sequence = ChunkSequence(lin, outer)
        first, last = compare(problem.ends.source, lin).run_bytes, compare(lin, problem.ends.destination).run_bytes
        whole = problem.runs(len(self.runs), None)
        runs = (min(whole[0], first), *whole[1:-1], min(whole[-1], last))
        elements = lin.count * len(transfer.fields) // sequence.blocks
        payload = chunk_bytes(sequence)
        times = _blocks_per_multiple(chunk_multiple(problem, self.route.inside, runs), round(payload / problem.mean))
        if bound is not None:
            bound //= times
        return self._chunked(elements, sequence.block_bytes, runs, (layout, outer), payload, bound, times, sequence.blocks)

    def by_boxes(self) -> Iterator[Choice | None]:
        """Blocks of the end's order that are boxes."""
        problem, transfer = self.problem, self.problem.transfer
        lead = transfer.source_order if problem.chunk_order == "source" else transfer.destination_order
        entries = min(self.limit // problem.entry, transfer.space.volume)
        while entries >= 1:
            block = grown(self.order, lead, dict.fromkeys(transfer.space.dims, 1), entries)
            yield self._of_layout(*restricted(self.order, lead, block), MOST_BOXES)
            entries //= 2


def chunk_multiple(problem: Problem, inside: Sequence[str], runs: Sequence[float]) -> int:
    """Chunks are multiples of this number of elements, where all buffers hold one layout.

    With one buffer, chunks are multiples of the runs of both hops, except of a hop that moves whole chunks. Then no chunk
    boundary cuts a run that T counts whole. Where only a part moves, the shorter run alone counts. The result
    is 1 where there are buffers in several memories, or where whole chunks move.
    """
    if len(set(inside)) != 1:
        return 1
    finite = [run for run in runs if run < problem.nbytes]
    counts = [round(run / problem.mean) for run in finite]
    if any(not math.isclose(count * problem.mean, run) for count, run in zip(counts, finite, strict=True)):
        return 1  # fields differ in size, and a run is no whole number of mean elements
    return math.lcm(*counts) if problem.moves_whole else min(counts, default=1)


def _blocks_per_multiple(multiple: int, elements: int) -> int:
    """The fewest blocks of `elements` elements that make a multiple of a run."""
    return multiple // math.gcd(multiple, elements)
