"""The search for the best layouts: the most promising candidates first, until the counted work is used up.

Every layout has a *bound* for each use: no plan of the use takes less. The bound depends on the layout only through the run that
it has in common with the other end, so it costs little. A layout is planned only where its bounds say that it may be among the
candidates that are asked for, or better in some use than every layout that is planned already.

Each layout that is planned and that no other beats in every use adds its neighbours: those that differ by a single change
(`neighbours`). The next layout is alternately the one with the least bound and the one whose parent was the fastest. The layouts
of the uses have no parent and come first in the turns of the latter. If no layout is left, the neighbours of the fastest other
layout are added.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import LayoutError, NoPathError, TransferError
from isoviz.layouts import FieldsComponent, IndexSpace, Layout, Linearization, Mode
from isoviz.layouts.compare import run_bytes
from isoviz.planner.full import RouteKey, listed_routes
from isoviz.planner.intermediate.intermediate_layouts import divisors
from isoviz.planner.intermediate.part_layouts import layout_of
from isoviz.planner.intermediate.part_runs import end_runs
from isoviz.planner.one_path.optimum import lower_bounds
from isoviz.planner.planners.full_planner import full, full_within
from isoviz.planner.planning_work import work_of
from isoviz.planner.problem import Problem
from isoviz.planner.search.first_look import first_look
from isoviz.planner.transfer import Instance, Transfer, check_ends

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.layout_choice.use import Use
    from isoviz.planner.options import Options
    from isoviz.planner.planner_registry import Planner


# Layouts as sequences of digits, and the layouts that differ from one by a single change.

Digits = tuple[tuple[str, int] | None, ...]
"""A layout, fastest first: every digit as (dimension, step), `F` as None. Dimensions of size 1 have no digit, nor has `F` where
there is a single field."""

MOST_SPLIT = 2
"""Dimensions that are cut into blocks at the same time, unless more are in the layouts of the uses."""
MOST_SIZES = 16
"""Block sizes that are tried in a dimension. Of more divisors, those are taken that form the most even ratios."""


class Neighbourhood:
    """The layouts of one index space, and which of them are next to each other.

    Blocks divide their dimension. With `most_padding` above 0, powers of two are block sizes as well.
    """

    def __init__(self, space: IndexSpace, single_field: bool, most_padding: float) -> None:
        self.space = space
        self.single_field = single_field
        self.most_padding = most_padding
        self.dims = tuple(dim for dim in space if space[dim] > 1)

    @cached_property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The block sizes of every dimension."""
        return {dim: self._sizes(self.space[dim]) for dim in self.dims}

    def _sizes(self, size: int) -> tuple[int, ...]:
        found = set(divisors(size))
        found |= {1 << k for k in range(size.bit_length()) if -(-size >> k << k) <= size * (1 + self.most_padding)}
        between = sorted(found - {1, size})
        if len(between) <= MOST_SIZES:
            return tuple(between)
        ratio = between[-1] / between[0]
        wanted = [between[0] * ratio ** (k / (MOST_SIZES - 1)) for k in range(MOST_SIZES)]
        return tuple(sorted({min(between, key=lambda each: abs(each - goal) / each) for goal in wanted}))

    def of(self, order: Linearization) -> Digits:
        """The digits of a layout."""
        parts = [part for part in order.normal if isinstance(part, Mode) or not self.single_field]
        return tuple((part.dim, part.step) if isinstance(part, Mode) else None for part in parts)

    def layout(self, digits: Digits) -> Layout:
        """The layout with these digits."""
        lone = [(dim, 1) for dim in self.space if self.space[dim] == 1]
        fields = FieldsComponent()
        parts = [fields if digit is None else Mode(digit[0], 0, digit[1], False) for digit in (*digits, *lone)]
        return layout_of([fields, *parts] if self.single_field else parts)

    def around(self, digits: Digits) -> Iterator[Digits]:
        """Every layout that differs by one change, without repetition.

        The changes: a component moves; a dimension is cut into blocks, or into other blocks, or is whole again.
        """
        seen = {digits}
        for changed in self._changes(digits):
            found = self.normal(changed)
            if found not in seen:
                seen.add(found)
                yield found

    def _changes(self, digits: Digits) -> Iterator[Sequence[tuple[str, int] | None]]:
        for i, digit in enumerate(digits):
            rest = [*digits[:i], *digits[i + 1 :]]
            for j in range(len(digits)):
                if j != i:
                    yield [*rest[:j], digit, *rest[j:]]
        chains = {dim: sorted(digit[1] for digit in digits if digit is not None and digit[0] == dim) for dim in self.dims}
        split = sum(len(steps) > 1 for steps in chains.values())
        for dim, steps in chains.items():
            for below, step in itertools.pairwise(steps):
                at, under = digits.index((dim, step)), digits.index((dim, below))
                yield [digit for k, digit in enumerate(digits) if k != at]
                yield [digits[under] if k == at else digit for k, digit in enumerate(digits) if k != under]
                for size in self.sizes[dim]:
                    others = [other for other in steps if other != step]
                    if size not in steps and all(max(size, each) % min(size, each) == 0 for each in others):
                        yield [(dim, size) if k == at else digit for k, digit in enumerate(digits)]
            if len(steps) == 1 and split < MOST_SPLIT:
                at = digits.index((dim, 1))
                for size in self.sizes[dim]:
                    for place in range(at):  # the block goes in front
                        yield [*digits[:place], (dim, 1), *digits[place:at], (dim, size), *digits[at + 1 :]]
                    for place in range(at + 1, len(digits)):  # the rest goes behind
                        yield [*digits[: place + 1], (dim, size), *digits[place + 1 :]]

    def normal(self, digits: Sequence[tuple[str, int] | None]) -> Digits:
        """The digits with those merged that follow each other in one dimension."""
        above: dict[tuple[str, int], int] = {}
        for dim in self.dims:
            steps = sorted(digit[1] for digit in digits if digit is not None and digit[0] == dim)
            above.update({(dim, step): up for step, up in itertools.pairwise(steps)})
        found: list[tuple[str, int] | None] = []
        last: tuple[str, int] | None = None
        for digit in digits:
            joins = last is not None and digit is not None and digit[0] == last[0] and above.get(last) == digit[1]
            if not joins:
                found.append(digit)
            last = digit
        return tuple(found)


# The demands that a layout has to meet, and the runs of a layout.


def run_along(order: Linearization, dim: str) -> float:
    """The bytes that are contiguous along a dimension: of whole entries where `F` is fastest, else of a mean field."""
    parts = order.normal
    entry = float(order.fields.nbytes)
    unit = entry if parts and isinstance(parts[0], FieldsComponent) else entry / len(order.fields)
    count = 1
    for part in parts:
        if isinstance(part, FieldsComponent) and count == 1:
            continue
        if not isinstance(part, Mode) or part.dim != dim or part.step != count:
            break
        count *= part.extent
    return min(count, order.space[dim]) * unit


@dataclass(frozen=True)
class Demands:
    """The demands of `find_layout`.

    `least_runs` are pairs (dimension, bytes). `most_padding` is a share of the array's bytes. `order` holds all dimensions, or
    none where their order is free.
    """

    least_runs: tuple[tuple[str, int], ...] = ()
    most_padding: float = 0.0
    fields_together: bool = False
    order: tuple[str, ...] = ()

    def met_by(self, order: Linearization) -> bool:
        """Whether a layout meets all demands."""
        parts = order.normal
        return (
            order.nbytes <= math.floor(order.payload * (1 + self.most_padding))
            and not (self.fields_together and parts and not isinstance(parts[0], FieldsComponent))
            and all(run_along(order, dim) >= least for dim, least in self.least_runs)
            and self._keeps_order(order)
        )

    def _keeps_order(self, order: Linearization) -> bool:
        """Whether the fastest digits of all dimensions have the demanded order, and the slowest digits of those that are cut."""
        modes = [part for part in order.normal if isinstance(part, Mode)]
        inside = [mode.dim for mode in modes if mode.step == 1]
        among = [mode.dim for mode in modes if mode.top and mode.step > 1]
        return not self.order or all(dims == [dim for dim in self.order if dim in dims] for dims in (inside, among))


LEAST_GAIN = 1e-3
"""The share by which a layout must be able to gain to be planned. Plans are this close to the optimum (`CHUNK_GROWTH_SHARE`)."""
BOUNDS_PER_PLAN = 12
"""Bounds that cost about as much as a plan."""
SEARCHED_PLANS = 3
"""Plans that cost about as much as one whose paths are too many to list."""
FEW_LAYOUTS = 80
"""Paths and families of layouts for which a plan is exact. Of more, paths are left out that gain less than `ROUGH_GAIN`."""
ROUGH_GAIN = 1e-2
"""The share by which times of such plans may lie above the least. The best layouts are planned exactly in the end."""
EXACT_LAYOUTS = 2
"""The best layouts that are planned exactly in the end."""


class Timed(NamedTuple):
    """A layout that was planned, with the seconds of each use."""

    layout: Layout
    order: Linearization
    times: tuple[float, ...]
    weighted: float


class _Candidate(NamedTuple):
    digits: Digits
    order: Linearization
    transfers: tuple[Transfer, ...]
    bounds: tuple[float, ...]
    parent: float


class LayoutSearch:
    """The search for layouts of an array in a memory, for some uses on a machine."""

    def __init__(
        self,
        array: Instance,
        uses: Sequence[Use],
        machine: Machine,
        planner: Planner,
        options: Options,
        demands: Demands,
        count: int,
    ) -> None:
        self.array, self.uses, self.machine, self.count = array, uses, machine, count
        self.planner, self.options, self.demands = planner, options, demands
        self.around = Neighbourhood(array.space, len(array.fields) == 1, demands.most_padding)
        self.timed: list[Timed] = []
        self.front: list[Timed] = []
        """The layouts that no other one beats in every use."""
        self.considered = 0
        """Layouts that meet the demands and have a bound."""
        self.plans = 0
        """Uses that were planned."""
        self.exhausted = False
        """Whether no layout is left that may gain."""
        self.refusal: TransferError | None = None
        """Why a layout could not be planned."""
        self._seen: set[Digits] = set()
        self._known_bounds: dict[tuple[object, ...], float] = {}
        self._bounds_made = 0
        self._waiting: dict[Digits, _Candidate] = {}
        self._by_bound: list[tuple[float, float, int, Digits]] = []
        self._by_parent: list[tuple[float, float, int, Digits]] = []
        self._unexpanded: list[tuple[float, int, Digits]] = []
        self._least_bounds = [math.inf] * len(uses)
        """The least bound of each use so far: no layout that the search comes to takes less in all of them."""
        self._numbers = itertools.count()
        self._costs = 0.0
        """What all plans cost, in plans."""
        self._paths: dict[int, RouteKey] = {}
        """The path of the last plan of each use: other layouts often go the same way."""
        self._rough: set[Layout] = set()
        """Layouts whose times may lie above the least."""

    def run(self, most_plans: int) -> Iterator[Timed]:
        """Plan layouts until `most_plans` plans are made; every layout that is planned is yielded."""
        for digits in self._seeds():
            self._add(digits, -math.inf)
        for turn in itertools.count():
            if self._costs + self._bounds_made / BOUNDS_PER_PLAN >= most_plans:
                return
            candidate = self._next(turn)
            if candidate is None:
                if not self._unexpanded or self._is_out(self._least_bounds):
                    self.exhausted = True
                    return
                weighted, _, digits = heapq.heappop(self._unexpanded)
                self._expand(digits, weighted)
                continue
            timed = self._planned(candidate)
            if timed is None:
                continue
            self.timed.append(timed)
            yield timed
            if self._keep_in_front(timed):
                self._expand(candidate.digits, timed.weighted)
            else:
                heapq.heappush(self._unexpanded, (timed.weighted, next(self._numbers), candidate.digits))

    def _expand(self, digits: Digits, weighted: float) -> None:
        """Let the neighbours of a layout wait for their turn."""
        for neighbour in self.around.around(digits):
            self._add(neighbour, weighted)

    def settle(self) -> None:
        """Plan the best layouts exactly."""
        for timed in heapq.nsmallest(EXACT_LAYOUTS, self.timed, key=lambda each: each.weighted):
            if timed.layout not in self._rough:
                continue
            array = Instance(self.array.memory, self.array.space, self.array.fields, timed.layout)
            times = [
                self._plan(number, Problem(use.transfer(array), self.machine, self.options), LEAST_GAIN)
                for number, use in enumerate(self.uses)
            ]
            exact = timed._replace(times=tuple(map(min, timed.times, times)))
            exact = exact._replace(weighted=self._weighted(exact.times))
            self.timed[self.timed.index(timed)] = exact
            if timed in self.front:
                self.front.remove(timed)
                self._keep_in_front(exact)

    # ---- candidates

    def _seeds(self) -> Iterator[Digits]:
        """The layouts of the uses and of the demands, as they are and with the fields in front or behind."""
        dims = self.demands.order or tuple(self.array.space)
        first = [dim for dim, _ in self.demands.least_runs] + [use.dim for use in self.uses if use.dim]
        texts = [Layout.aos(*dims), *(Layout.aos(dim, *(other for other in dims if other != dim)) for dim in first)]
        texts += [use.layout for use in self.uses if use.layout is not None]
        for layout in texts:
            try:
                digits = self.around.of(layout.on(self.array.space, self.array.fields))
            except LayoutError:  # a use of a part has blocks that do not fit the whole
                continue
            plain = self.around.normal(digits)
            yield plain
            if not self.around.single_field:
                rest = [digit for digit in plain if digit is not None]
                yield self.around.normal([None, *rest])
                yield self.around.normal([*rest, None])

    def _add(self, digits: Digits, parent: float) -> None:
        """Let a layout wait for its turn, if it meets the demands."""
        if digits in self._seen:
            return
        self._seen.add(digits)
        order = self.around.layout(digits).on(self.array.space, self.array.fields)
        if not self.demands.met_by(order):
            return
        array = Instance(self.array.memory, self.array.space, self.array.fields, order.layout)
        transfers = tuple(use.transfer(array) for use in self.uses)
        bounds = tuple(self._bound(number, transfer) for number, transfer in enumerate(transfers))
        self.considered += 1
        self._least_bounds = list(map(min, self._least_bounds, bounds))
        number, total = next(self._numbers), self._weighted(bounds)
        self._waiting[digits] = _Candidate(digits, order, transfers, bounds, parent)
        heapq.heappush(self._by_bound, (total, parent, number, digits))
        heapq.heappush(self._by_parent, (parent, total, number, digits))

    def _next(self, turn: int) -> _Candidate | None:
        """The next layout that may gain."""
        while self._waiting:
            queue = self._by_parent if turn % 2 else self._by_bound
            digits = heapq.heappop(queue)[3]
            candidate = self._waiting.pop(digits, None)
            if candidate is not None and not self._is_out(candidate.bounds):
                return candidate
        return None

    def _bound(self, number: int, transfer: Transfer) -> float:
        """A lower bound of the seconds of a use."""
        here, there = transfer.source_order, transfer.destination_order
        run = math.inf if here.normal == there.normal else run_bytes(here, there)
        key = number, run, end_runs(transfer), _nest(here, there)
        found = self._known_bounds.get(key)
        if found is None:
            problem = Problem(transfer, self.machine, self.options)
            routes = listed_routes(problem)
            if routes is not None:
                found = min(lower_bounds(problem, routes), default=0.0)
            else:
                found = first_look(problem).lower if problem.bounded else 0.0
            self._known_bounds[key] = found
        self._bounds_made += 1
        return found

    # ---- plans

    def _planned(self, candidate: _Candidate) -> Timed | None:
        """A layout with the time of every use; None where the bounds and the times so far say that it cannot gain, or where no
        plan exists."""
        times = list(candidate.bounds)
        for number, transfer in enumerate(candidate.transfers):
            try:
                check_ends(transfer, self.machine)
                times[number] = self._seconds(number, Problem(transfer, self.machine, self.options), candidate.order.layout)
            except NoPathError:  # there is none for any layout
                raise
            except TransferError as error:
                self.refusal = error
                return None
            self.plans += 1
            if number + 1 < len(times) and self._is_out(times):
                return None
        return Timed(candidate.order.layout, candidate.order, tuple(times), self._weighted(times))

    def _seconds(self, number: int, problem: Problem, layout: Layout) -> float:
        """The seconds of the plan of a use, in the mean of its starts."""
        routes = listed_routes(problem)
        if self.planner.make is not full or routes is None:
            self._costs += 1 if routes is not None else SEARCHED_PLANS
            return self.planner.make(problem).mean
        rough = len(routes) * len(problem.ends.families) > FEW_LAYOUTS
        if rough:
            self._rough.add(layout)
        seconds = self._plan(number, problem, ROUGH_GAIN if rough else 0.0)
        self._costs += 1 + len(problem.choices) * len(problem.ends.families) / FEW_LAYOUTS
        return seconds

    def _plan(self, number: int, problem: Problem, within: float) -> float:
        """The seconds of a plan of `full` whose paths are listed."""
        made = full_within(problem, work_of(self.options), first=self._paths.get(number), within=within)
        self._paths[number] = tuple(hop.channel for hop in made.hops), made.converting[0] if made.converting else None
        return made.mean

    def _weighted(self, times: Sequence[float]) -> float:
        return sum(use.weight * seconds for use, seconds in zip(self.uses, times, strict=True))

    def _is_out(self, bounds: Sequence[float]) -> bool:
        """Whether a layout with these bounds is none of the candidates asked for, and gains nothing but for `LEAST_GAIN`: some
        layout takes no longer in any use."""
        if len(self.timed) < self.count or self._weighted(bounds) < self._last_weighted():
            return False
        return any(
            all(mine <= bound * (1 + LEAST_GAIN) for mine, bound in zip(timed.times, bounds, strict=True)) for timed in self.front
        )

    def _last_weighted(self) -> float:
        """The weighted time of the last candidate that is asked for, less `LEAST_GAIN`."""
        return heapq.nsmallest(self.count, (timed.weighted for timed in self.timed))[-1] * (1 - LEAST_GAIN)

    def _keep_in_front(self, timed: Timed) -> bool:
        """Add a layout to the front unless it is beaten; those that it beats leave the front."""
        if any(_at_most(other.times, timed.times) for other in self.front):
            return False
        self.front = [other for other in self.front if not _at_most(timed.times, other.times)] + [timed]
        return True


def _at_most(times: Sequence[float], others: Sequence[float]) -> bool:
    return all(mine <= other for mine, other in zip(times, others, strict=True))


def _nest(here: Linearization, there: Linearization) -> bool:
    """Whether the blocks of two layouts divide each other in every dimension."""
    steps: dict[str, set[int]] = {}
    for part in (*here.normal, *there.normal):
        if isinstance(part, Mode):
            steps.setdefault(part.dim, {1}).add(part.step)
    return all(not above % below for known in steps.values() for below, above in itertools.pairwise(sorted(known)))
