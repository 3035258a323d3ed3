"""Routes on which a hop between two buffers converts, block by block: the search for the block sizes.

1. Hop times never increase when blocks grow.
2. So for a steady state of at least TP bytes per second, the smallest blocks whose runs sustain TP are best: with them all other
   hops fill the pipeline soonest.
3. That leaves one unknown, TP. The search for it is the paper's bisection with T as the objective (Isometry, section 4.2): r′ is
   the smallest run with tp(r′) ≥ TP.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from isoviz.planner.intermediate.intermediate_layouts import F, divisors
from isoviz.planner.one_path.buffer_needs import evaluated
from isoviz.planner.one_path.choice import Choice
from isoviz.planner.one_path.sizes import even_or_round_sizes, fastest_size, first_at_least, round_numbers
from isoviz.planner.tuning import (
    BOUND_SLACK,
    BRACKET_FACTOR,
    CHUNK_STEP,
    FIRST_SHORTFALL,
    MOST_BOXES,
    MOST_PAIRS_TRIED,
    MOST_SHORTFALL,
    MOST_SIZES_NOT_CONVEX,
    MOST_SIZES_TRIED,
    PAGE_DEVIATION,
    PEAK_SHARE,
    TIE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.planner.intermediate.intermediate_layouts import LayoutFamily
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def best_blocked(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    """The best choice for a route on which a hop between two buffers converts; None where no block fits."""
    limit = problem.limit(route.inside)
    entries, elements = limit // problem.entry, limit // problem.largest
    fitting = [family for family in problem.ends.families if family.entries <= (entries if F in family.complete else elements)]
    searches = [BlockSearch(problem, route, clock, family, limit) for family in fitting]
    found: list[tuple[int, Choice]] = []
    least = math.inf
    for bound, number in sorted([(search.bound(), number) for number, search in enumerate(searches)]):
        choice = searches[number].best() if bound <= least * (1 + BOUND_SLACK) else None
        if choice is not None and choice.seconds <= least * (1 + BOUND_SLACK):
            choice = evaluated(problem, choice)  # with short last blocks a choice may have shorter runs than its family says
            found.append((number, choice))
            least = min(least, choice.seconds)
    return min(found, key=lambda each: (each[1].key, each[0]), default=(0, None))[1]


class BlockSearch:
    """The search among the cuts of one family of layouts on one route.

    A family has up to two cuts, `a` for the source's order and `b` for the destination's (`LayoutFamily`). A slot holds at least
    one block.
    """

    def __init__(self, problem: Problem, route: Route, clock: Clock, family: LayoutFamily, limit: int | None = None) -> None:
        self.problem, self.route, self.clock, self.family = problem, route, clock, family
        self.limit = problem.limit(route.inside) if limit is None else limit
        self.entry_bytes, self.entry_slot_bytes = (
            (float(problem.entry), problem.entry) if F in family.complete else (problem.mean, problem.largest)
        )
        """The bytes of an entry of a block as payload, and in a slot."""
        self.one_cut = family.cut_a == family.cut_b
        self.entries = family.entries
        """The entries of a block per value of each cut."""
        self.scattered = family.scattered
        self.every = max(clock.every, MOST_SIZES_TRIED if family.scattered else 0)
        self.runs = problem.runs(len(route.channels), route.converting)
        self.reach = min(family.longest_first_run, self.runs[0]), min(family.longest_last_run, self.runs[-1])

    def _cut_sizes(self, digit: int | None, most: int, step: float, page: int) -> tuple[int, ...]:
        """The sizes at which a digit is cut, up to `most`.

        A digit that can be cut anywhere has round sizes. On a disk it has sizes that leave parts of equal size, because a small
        last part would need as many requests as a full one; where a step of the digit is a known number of bytes, the parts are
        whole pages.
        """
        if digit is None:
            return (1,)
        _, _, extent, top = self.problem.ends.digits[digit]
        if top:
            sizes = even_or_round_sizes(extent, most)
            if page == 1 or not math.isfinite(step):
                return sizes
            paged = page // math.gcd(page, int(step))
            return tuple(sorted({_whole_pages(-(-extent // -(-extent // size)), paged, extent, most) for size in sizes}))
        cuts = divisors(extent)
        return cuts[: bisect_right(cuts, most)]

    def peak(self) -> float:
        """The largest throughput that any blocks sustain, in bytes per second: every run as long as it can be."""
        longest = min(self.limit, self.problem.nbytes)
        largest = self.limit // (self.entries * self.entry_slot_bytes)
        return min(self.clock.most_rates(longest, self._runs(largest, largest)))

    def bound(self) -> float:
        """A lower bound on T in seconds: the peak throughput, with nothing for filling the pipeline."""
        return self.clock.setup + self.problem.nbytes / self.peak()

    def best(self) -> Choice | None:
        """The best choice of this family; None where no block fits."""
        most = self.limit // (self.entries * self.entry_slot_bytes)
        here, there = self.problem.pages
        self.a = self._cut_sizes(self.family.cut_a, most, self.family.first, here)
        self.b = (1,) if self.one_cut else self._cut_sizes(self.family.cut_b, most, self.family.last, there)
        if len(self.a) == 1 or len(self.b) == 1:
            return self._single()
        pairs = len(self.a) * len(self.b)
        if pairs <= max(MOST_PAIRS_TRIED, self.every):
            return self._all_pairs()
        return self._pairs()

    # ---- evaluation

    def _block(self, a: int, b: int) -> tuple[int, int]:
        """The entries of a block (of one field, where the block lacks F), and the bytes of a slot that holds one block."""
        entries = self.entries * a if self.one_cut else self.entries * a * b
        return entries, entries * self.entry_slot_bytes

    def fits(self, a: int, b: int) -> bool:
        """Whether a slot holds a block with these cuts."""
        return self._block(a, b)[1] <= self.limit

    def choice_for(self, a: int, b: int, per_chunk: int = 1, seconds: float | None = None) -> Choice | None:
        """The choice with these cuts and `per_chunk` blocks in a chunk; None where it breaks a limit. `seconds` is T, if it is
        known."""
        if self.one_cut:
            b = a
        block, slot = self._block(a, b)
        slot *= per_chunk
        if slot > self.limit or (self.scattered and per_chunk * self._boxes(a, b) > MOST_BOXES):
            return None
        runs, chunk = self._runs(a, b), per_chunk * block * self.entry_bytes
        if seconds is None:
            seconds = self.clock.seconds(chunk, runs)
        chunk = min(chunk, self.problem.nbytes)
        return Choice(seconds, self.route, self.family, a, b, per_chunk, chunk, slot, tuple(runs), self.problem.slots)

    def _runs(self, a: float, b: float) -> list[float]:
        runs = list(self.runs)
        first, last = self.family.first * a, self.family.last * b
        runs[0] = first if first <= self.reach[0] else self.reach[0]
        runs[-1] = last if last <= self.reach[1] else self.reach[1]
        return runs

    def _boxes(self, a: int, b: int) -> int:
        taken = self.problem.ends.taken(self.family, a, b)
        return math.prod(taken[digit] for digit in self.scattered)

    def _chunked(self, a: int, b: int) -> Choice | None:
        """The choice with these cuts and the best number of blocks in a chunk."""
        block, slot = self._block(a, b)
        most = min(self.limit // slot, math.ceil(self.problem.nbytes / (block * self.entry_bytes)))
        if most <= 1:
            return self.choice_for(a, b) if most == 1 else None
        if self.every >= MOST_SIZES_NOT_CONVEX:  # T may have any shape between two sizes
            if self.scattered:
                most = min(most, MOST_BOXES // self._boxes(a, b))
            counts = round_numbers(most)
            if not counts:
                return None
            times = self.clock.seconds_of_chunks(np.array(counts) * (block * self.entry_bytes), self._runs(a, b))
            return self.choice_for(a, b, counts[int(np.argmax(times <= times.min() * (1 + TIE)))])
        cache: dict[int, Choice | None] = {}

        def seconds(n: int) -> float:
            choice = cache[n] = self.choice_for(a, b, n)
            return choice.seconds if choice is not None else math.inf

        _, count = fastest_size(seconds, round_numbers(most), self.every)
        return cache[count]

    # ---- one variable, or none

    def _single(self) -> Choice | None:
        only_b = len(self.a) == 1
        sizes = self.b if only_b else self.a
        entry_slot_bytes = self.entries * self.entry_slot_bytes  # bytes of a slot for a cut of one
        if len(sizes) <= MOST_SIZES_TRIED:
            found = [self._chunked(1, size) if only_b else self._chunked(size, 1) for size in sizes]
            return min((choice for choice in found if choice is not None), key=lambda choice: choice.key, default=None)
        largest = sizes[-1]
        if not self.clock.overlap and self.clock.sized is None:  # nothing to fill, and rates only grow with blocks
            return self.choice_for(1, largest) if only_b else self.choice_for(largest, 1)
        start = None
        if not self.every and self.clock.separable and self.clock.is_plain:
            start = first_at_least(sizes, self._sustaining(self.peak(), only_b))
        if only_b:
            seconds, size = fastest_size(lambda size: self._seconds(1, size), sizes, self.every, start)
        else:
            seconds, size = fastest_size(lambda size: self._seconds(size, 1), sizes, self.every, start)
        best = None
        if seconds < math.inf:
            best = self.choice_for(1, size, seconds=seconds) if only_b else self.choice_for(size, 1, seconds=seconds)
        if 2 * largest * entry_slot_bytes > self.limit and best is not None:
            return best  # no chunk holds two of the largest blocks
        found = [best, self._chunked(1, largest) if only_b else self._chunked(largest, 1)]
        return min((choice for choice in found if choice is not None), key=lambda choice: choice.key, default=None)

    def _sustaining(self, throughput: float, only_b: bool) -> float:
        """The least cut whose runs sustain a throughput; it counts the runs that are proportional to the cut."""
        functions, family = self.clock.functions, self.family
        need = 0.0 if only_b else functions[0].inverse(throughput) / family.first
        if only_b or self.one_cut:
            need = max(need, functions[-1].inverse(throughput) / family.last)
        for i, function in enumerate(functions[1:-1], 1):
            if i != self.route.converting:
                need = max(need, function.inverse(throughput) / (family.entries * self.entry_bytes))
        return need

    def larger(self, choice: Choice) -> Iterator[tuple[int, int]]:
        """The cuts of about twice the block: one cut goes to the next power of two, or to the next possible size above it."""
        family = self.family
        if family.cut_a is not None and (a := self._next(family.cut_a, choice.a)) > choice.a:
            yield a, choice.b
        if family.cut_b is not None and not self.one_cut and (b := self._next(family.cut_b, choice.b)) > choice.b:
            yield choice.a, b

    def _next(self, digit: int, size: int) -> int:
        power, (_, _, extent, top) = 1 << size.bit_length(), self.problem.ends.digits[digit]
        return min(power, extent) if top else first_at_least(divisors(extent), power)

    def _seconds(self, a: int, b: int) -> float:
        if self.one_cut:
            b = a
        block, slot = self._block(a, b)
        if slot > self.limit or (self.scattered and self._boxes(a, b) > MOST_BOXES):
            return math.inf
        return self.clock.seconds(block * self.entry_bytes, self._runs(a, b))

    # ---- two variables

    def _all_pairs(self) -> Choice | None:
        """The best of all pairs of cuts, visited by their lower bounds; a pair whose bound exceeds the best time is never worked
        out."""
        pairs = [(a, b) for a in self.a for b in self.b if self.fits(a, b)]
        least = math.inf
        found: list[tuple[tuple[object, ...], int, int, Choice]] = []
        for bound, a, b in sorted([(self.clock.least_seconds(self._runs(a, b)), a, b) for a, b in pairs]):
            if bound > least * (1 + BOUND_SLACK):
                break
            choice = self._chunked(a, b)
            if choice is not None:
                least = min(least, choice.seconds)
                found.append((choice.key, a, b, choice))
        return min(found, key=lambda each: each[:3])[3] if found else None

    def _pairs(self) -> Choice | None:
        """The best pair of cuts.

        Where each hop bounds the throughput on its own, the search goes over the throughput; otherwise over a, with a search over
        b for each a.
        """
        start = self._by_throughput() if self.clock.separable else self._nested()
        return self._polished(start) if start is not None else None

    def _by_throughput(self) -> tuple[int, int] | None:
        """The smallest cuts that sustain the best throughput; None where the route moves nothing.

        T is convex in log TP, and infinite where no blocks that fit sustain TP. The search variable is the shortfall: with the
        peak P, TP = P / (1 + shortfall).
        """
        runs, whole = list(self.runs), float(min(self.limit, self.problem.nbytes))
        runs[0], runs[-1] = min(runs[0], self.family.longest_first_run), min(runs[-1], self.family.longest_last_run)
        peak = min(*self.clock.most_rates(whole, runs), self.clock.resource_bound)
        if not peak > 0:
            return None
        if (sized := self._cuts_for(peak)) is not None and self._seconds(*sized) <= self._seconds_for(peak * PEAK_SHARE):
            return sized
        shortfall = self._first_shortfall(peak)
        here, factor = self._seconds_for(peak / (1 + shortfall)), BRACKET_FACTOR
        while math.isinf(here):
            if shortfall > MOST_SHORTFALL:
                return self.a[0], self.b[0]
            shortfall *= 4
            here = self._seconds_for(peak / (1 + shortfall))
        while shortfall < MOST_SHORTFALL:
            more, less = self._seconds_for(peak / (1 + shortfall * factor)), self._seconds_for(peak / (1 + shortfall / factor))
            if here <= more and here <= less:
                if factor <= BRACKET_FACTOR:
                    # The vertex of the parabola through these three points, in the logarithm of the shortfall.
                    bent = more + less - 2 * here
                    shortfall *= factor ** ((less - more) / (2 * bent)) if 0 < bent < math.inf else 1.0
                    break
                factor = math.sqrt(factor)
            elif more < less:
                here, shortfall, factor = more, shortfall * factor, factor * factor
            else:
                here, shortfall, factor = less, shortfall / factor, factor * factor
        return self._cuts_for(peak / (1 + shortfall))

    def _first_shortfall(self, peak: float) -> float:
        """An estimate of the best shortfall, for hops whose runs cost a latency and then a time per byte.

        Both cuts grow like 1 / shortfall, so filling the pipeline costs in proportion to shortfall⁻². The steady state loses in
        proportion to the shortfall.
        """
        shortfall, steady = FIRST_SHORTFALL, self.problem.nbytes / peak
        for _ in range(2):
            fill = self._seconds_for(peak / (1 + shortfall)) - steady * (1 + shortfall)
            if not 0 < fill < math.inf:
                break
            shortfall = (2 * fill * shortfall * shortfall / steady) ** (1 / 3)
        return shortfall

    def _cuts_for(self, throughput: float) -> tuple[int, int] | None:
        """The smallest cuts whose runs sustain a throughput; None where a slot does not hold such blocks."""
        if not any(self.clock.pace.requests):
            return self._cuts([throughput] * len(self.runs), 0.0)
        # The larger a block, the slower may its bytes move, because its requests cost the same. The least such block is wanted.
        low = throughput * max(self.clock.pace.requests) * (1 + TIE)
        high = float(min(self.limit, self.problem.nbytes))
        found = self._cuts_in(throughput, high) if low < high else None
        while found is not None and high > low * CHUNK_STEP:
            block = math.sqrt(low * high)
            cuts = self._cuts_in(throughput, block)
            if cuts is None:
                low = block
            else:
                found, high = cuts, block
        return found

    def _cuts_in(self, throughput: float, block: float) -> tuple[int, int] | None:
        """The smallest cuts that sustain a throughput in a block of about `block` bytes; None where they need a larger block."""
        left = [1 / throughput - seconds / block for seconds in self.clock.pace.requests]
        cuts = self._cuts([1 / each if each > 0 else math.inf for each in left], block)
        return cuts if cuts is None or self._block(*cuts)[0] * self.entry_bytes <= block * CHUNK_STEP else None

    def _cuts(self, rates: Sequence[float], least: float) -> tuple[int, int] | None:
        """The smallest cuts whose runs let the bytes of every hop move at a rate, in a block of at least `least` bytes."""
        functions, layouts, family = self.clock.functions, self.clock.pace.layouts, self.family
        a = first_at_least(self.a, (layouts[0] or functions[0]).inverse(rates[0]) / family.first)
        b = first_at_least(self.b, (layouts[-1] or functions[-1]).inverse(rates[-1]) / family.last)
        block, slot = self._block(a, b)
        if slot > self.limit:
            return None
        cut = (0, self.route.converting, len(functions) - 1)
        rest = [i for i in range(len(functions)) if i not in cut or layouts[i] is not None]
        need = max([functions[i].inverse(rates[i]) for i in rest], default=0.0)
        need = min(max(need, least), self.limit) / self.entry_bytes
        if block < need:  # the other hops need a larger chunk anyway, so both cuts may grow to fill it
            factor = math.sqrt(need / block)
            a = min(first_at_least(self.a, a * factor), self.a[-1])
            b = min(first_at_least(self.b, b * need / self._block(a, b)[0]), self.b[-1])
            if not self.fits(a, b):
                return None
        return a, b

    def _seconds_for(self, throughput: float) -> float:
        sized = self._cuts_for(throughput)
        return self._seconds(*sized) if sized is not None else math.inf

    def _nested(self) -> tuple[int, int]:
        def best_b(a: int) -> tuple[float, int]:
            fitting = [b for b in self.b if self.fits(a, b)] or [self.b[0]]
            if not self.clock.overlap and self.clock.sized is None:
                return self._seconds(a, fitting[-1]), fitting[-1]
            return fastest_size(lambda b: self._seconds(a, b), fitting, self.every)

        sizes = [a for a in self.a if self.fits(a, self.b[0])]
        _, a = fastest_size(lambda a: best_b(a)[0], sizes, self.every)
        return a, best_b(a)[1]

    def _polished(self, start: tuple[int, int]) -> Choice | None:
        """The choice at the local minimum among neighbouring sizes, reached by steepest descent."""
        i, j = bisect_left(self.a, start[0]), bisect_left(self.b, start[1])
        end_a, end_b = len(self.a), len(self.b)
        best = self._seconds(self.a[i], self.b[j]), i, j
        seen = {(i, j)}
        while True:
            _, i, j = here = best
            for to in [(x, y) for x in (i - 1, i, i + 1) for y in (j - 1, j, j + 1)]:
                if to not in seen and 0 <= to[0] < end_a and 0 <= to[1] < end_b:
                    seen.add(to)
                    best = min(best, (self._seconds(self.a[to[0]], self.b[to[1]]), *to))
            if not best[0] < here[0]:
                break
        if math.isinf(here[0]):
            return None
        choice = self.choice_for(self.a[i], self.b[j])
        several = self.clock.overlap is False or not self.clock.is_plain or len(seen) < 3 or self.clock.sized is not None
        more = self._chunked(self.a[i], self.b[j]) if several else None
        return min((c for c in (choice, more) if c is not None), key=lambda c: c.key, default=None)


def _whole_pages(size: int, page: int, extent: int, most: int) -> int:
    """A size of whole pages near `size`, if there is one.

    A page that two parts share is read twice, and a part that does not begin with a page is copied once more.
    """
    near = [each for each in (-(-size // page) * page, size // page * page) if each <= min(most, extent)]
    near = [each for each in near if abs(each - size) * PAGE_DEVIATION <= size]
    parts = -(-extent // size)
    return next((each for each in near if -(-extent // each) <= parts + parts // PAGE_DEVIATION), size)
