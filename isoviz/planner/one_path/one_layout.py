"""Routes on which no hop between two buffers converts: all buffers hold one layout, and a chunk is a run of it.

Usually that layout is the order of one end, and a chunk has any length. Three cases need others: fields of different sizes in
tight slots, where a block that holds whole entries wastes nothing; ends whose blocks do not nest, between which a layout that
both nest with lies well; and orders whose runs would fall into very many boxes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence, FieldsComponent, Layout, Linearization, Mode, compare
from isoviz.planner.hop_facts import chunk_bytes
from isoviz.planner.intermediate.intermediate_layouts import F
from isoviz.planner.intermediate.part_layouts import grown, layout_of, restricted
from isoviz.planner.intermediate.part_runs import boxes_of_runs
from isoviz.planner.one_path.buffer_needs import checked, evaluated
from isoviz.planner.one_path.choice import MOST_BOXES, Choice
from isoviz.planner.one_path.sizes import SMALL, best_of, choices, least_as_good, round_numbers
from isoviz.planner.one_path.unbuffered import unheld

if TYPE_CHECKING:
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def plain(problem: Problem, route: Route, clock: Clock, *, costs: bool = False) -> Choice | None:
    """The best choice for a route whose buffers all hold the same layout: of the least T, or, if that is said, of the least T and
    what its chunks cost an engine."""
    held = problem.transfer.source_order if problem.held_order(route) == "source" else problem.transfer.destination_order
    if len(route.channels) == 1:
        return unheld(problem, route, clock, held)
    search = _Plain(problem, route, clock, held, costs)
    if boxes_of_runs(held) > MOST_BOXES and search.limit // problem.largest > MOST_BOXES:
        found = list(search.by_boxes())
    else:
        found = list(search.by_runs())
    if problem.largest > problem.mean and boxes_of_runs(held) <= MOST_BOXES:
        found += search.by_whole_entries()
    if not problem.ends.nesting:
        found += search.by_common_blocks()
    able = [checked(problem, choice) for choice in found if choice is not None]
    if search.shorter > 1 and not search.by_ends:
        able += [evaluated(problem, choice) for choice in search.by_blocks_across_runs() if choice is not None]
        least = min((choice.seconds for choice in able), default=math.inf)
        able += [evaluated(problem, choice) for choice in search.by_parts_of_runs(least) if choice is not None]
    return min(able, key=lambda choice: (choice.seconds + search.cost(choice.chunk), choice.key), default=None)


class _Plain:
    def __init__(self, problem: Problem, route: Route, clock: Clock, held: Linearization, costs: bool) -> None:
        self.costs = costs
        self.problem, self.route, self.clock, self.held = problem, route, clock, held
        self.runs = problem.runs(len(route.channels), route.converting)
        self.limit = problem.limit(route.inside)
        self.shorter = shorter_run(problem, route.inside, self.runs)
        self.by_ends = min(problem.end_runs) < (math.inf if route.converting is None else problem.ends.run)
        """Whether that is what lies together of a part at an end, whatever the layouts: then smaller chunks are parts of it."""

    def cost(self, chunk: float) -> float:
        return self.problem.chunk_cost(chunk, len(self.runs)) if self.costs else 0.0

    def by_runs(self) -> Iterator[Choice | None]:
        """Runs of the end's order: of elements, of blocks that hold whole entries."""
        problem = self.problem
        # Elements that hold whole entries: of one field every one does, wherever the layout names its fields.
        period = self.held.inner_count * problem.field_count if problem.field_count > 1 else 1
        entries_first = isinstance(self.held.normal[0], FieldsComponent)
        few = min(self.limit, problem.nbytes) <= SMALL * problem.entry
        units = [1] if few or not entries_first else []
        if problem.largest > problem.mean or (entries_first and not few):
            units.append(period)
        for unit in units:
            whole = math.lcm(unit, self.shorter)
            yield self._chunked(whole, self._places(whole, period))
            if self.by_ends and unit < self.shorter:
                yield self._chunked(unit, self._places(unit, period), bound=self.shorter // unit)

    def _places(self, elements: int, period: int) -> int:
        """Bytes of a slot for so many elements, `period` of which hold whole entries."""
        problem = self.problem
        return round(elements * problem.mean) if elements % period == 0 else elements * problem.largest

    def _chunked(
        self,
        elements: int,
        room: int,
        runs: tuple[float, ...] = (),
        part: tuple[Layout, int] | None = None,
        payload: float = 0.0,
        bound: int | None = None,
        times: int = 1,
        blocks: int = 0,
    ) -> Choice | None:
        """The best number of units of so many elements, which take `room` bytes in a slot; of a `part`, of so many `times` a
        block with so much `payload`, of which there are `blocks`."""
        problem, clock, runs = self.problem, self.clock, runs or self.runs
        unit, room = times * (payload or elements * problem.mean), times * room
        # Of an end with padding there are more units than bytes that move.
        every = math.ceil(blocks / times) if blocks else math.ceil(max(problem.nbytes, self.held.nbytes) / unit)
        most = min(self.limit // room, every, self.limit if bound is None else bound)
        if most < 1:
            return None

        def seconds(number: int) -> float:
            return clock.seconds(number * unit, runs)

        if not clock.overlap:
            number = least_as_good(seconds, most)
        else:
            _, number = best_of(
                lambda each: seconds(each) + self.cost(each * unit), self._worth_trying(unit, most, runs), clock.every
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
            number * room,
            runs,
            problem.slots,
            part,
            every_block_a_box=part is not None and bound is not None,
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

    def by_parts_of_runs(self, least: float) -> Iterator[Choice | None]:
        """Blocks that are parts of the shorter run, where they take less than so many seconds: the blocks of another run, or
        field, follow before the next part of the same one, so that no longer run is counted than a chunk has."""
        problem, ends = self.problem, self.problem.ends
        if ends.loose:
            return
        order = ends.orders[problem.held_order(self.route) == "destination"]
        ways: list[tuple[float, dict[int, int]]] = []
        elements, taken = 1, dict[int, int]()
        for digit in ends.structure.prefix:
            if digit == F and problem.field_count == 1:
                taken[F] = 1
                continue
            sizes = (1,) if digit == F else choices(ends.sizes(digit), ends.digits[digit].top)
            bound = min(self.limit / (problem.mean if F in taken else problem.largest), self.shorter - 1)
            fitting = [size for size in sizes if elements * size <= bound]
            if not fitting:
                break
            seconds, size = best_of(partial(self._of_parts, elements), fitting, self.clock.every)
            ways.append((seconds, {**taken, digit: size} if digit != F else dict(taken)))
            taken[digit] = 1 if digit == F else ends.digits[digit].extent
            elements *= problem.field_count if digit == F else ends.digits[digit].extent
        for seconds, block in sorted(ways, key=lambda way: way[0]):
            if seconds >= least * (1 - 1e-12):
                return
            choice = self._held(*ends.restricted(order, block, later=True), MOST_BOXES)
            if choice is not None:
                yield choice
                return

    def by_blocks_across_runs(self) -> Iterator[Choice | None]:
        """Blocks of the end's first digit that do not nest with the runs, where chunks have few elements: then multiples of a run
        may be far from the best size."""
        first, *rest = self.held.normal
        most = min(self.limit, self.problem.nbytes) // self.problem.largest
        if not isinstance(first, Mode) or not rest or not self.shorter < most <= SMALL or first.extent <= self.shorter:
            return
        for size in range(self.shorter + 1, min(most + 1, first.extent)):
            if size % self.shorter and first.step * size < self.held.space[first.dim]:
                inner = Mode(first.dim, size, first.step, False)
                outer = Mode(first.dim, -(-first.extent // size), first.step * size, first.top)
                named = {part.dim for part in self.held.normal if isinstance(part, Mode)}
                lone = [Mode(dim, 1, 1, True) for dim in self.held.space if dim not in named]
                if first.top or first.extent % size == 0:
                    yield self._held(layout_of([*lone, inner, rest[0], outer, *rest[1:]]), len(rest) + 1)

    def _of_parts(self, before: int, size: int) -> float:
        """T for chunks of so many elements, all hops in runs of one chunk."""
        chunk = before * size * self.problem.mean
        return self.clock.seconds(chunk, [chunk] * len(self.runs))

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
        payload = chunk_bytes(sequence)
        times = _times(shorter_run(problem, self.route.inside, runs), round(payload / problem.mean))
        if bound is not None:
            bound //= times
        return self._chunked(elements, sequence.block_bytes, runs, (layout, outer), payload, bound, times, sequence.blocks)

    def by_boxes(self) -> Iterator[Choice | None]:
        """Blocks of the end's order that are boxes."""
        problem, transfer = self.problem, self.problem.transfer
        lead = transfer.source_order if problem.follows == "source" else transfer.destination_order
        entries = min(self.limit // problem.entry, transfer.space.volume)
        while entries >= 1:
            block = grown(self.held, lead, dict.fromkeys(transfer.space.dims, 1), entries)
            yield self._held(*restricted(self.held, lead, block), MOST_BOXES)
            entries //= 2


def shorter_run(problem: Problem, inside: Sequence[str], runs: Sequence[float]) -> int:
    """The elements of which chunks are multiples where all buffers hold one layout: with one buffer those of the shorter run, and
    of the longer one where it is none of whole chunks, so that no chunk boundary cuts a run that T counts whole (DESIGN, section
    4). 1 where there are more buffers, in several memories, or whole chunks move."""
    if len(set(inside)) != 1:
        return 1
    finite = [run for run in runs if run < problem.nbytes]
    counts = [round(run / problem.mean) for run in finite]
    if any(not math.isclose(count * problem.mean, run) for count, run in zip(counts, finite, strict=True)):
        return 1  # of some fields the mean is no whole number of elements
    return math.lcm(*counts) if problem.whole else min(counts, default=1)


def _times(shorter: int, elements: int) -> int:
    """Of how many blocks of so many elements the least chunk is that is a multiple of a run."""
    return shorter // math.gcd(shorter, elements)
