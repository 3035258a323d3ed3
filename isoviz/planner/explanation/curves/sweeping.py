"""How the best plan changes with one parameter, and which path wins over two."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from isoviz import checks
from isoviz.document import Document, Picture, Prose, Quantity, Table, Told
from isoviz.errors import InputError, LayoutError, LimitError, TransferError, show
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.curves.scaling import resized
from isoviz.planner.explanation.curves.winner_map import MapPoint, MapTurn, Way, WinnerMap, letter
from isoviz.planner.explanation.explanation_words import path_text
from isoviz.planner.full import search
from isoviz.planner.one_path.optimum import clock_of
from isoviz.planner.options import Options
from isoviz.planner.planning_work import PLAN_STEPS, STEPS_PER_SECOND, Work
from isoviz.planner.problem import Problem
from isoviz.planner.transfer import Instance, Transfer, check_arguments, check_ends
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine, MachineLike
    from isoviz.planner.one_path.choice import Choice

PARAMETERS = {"slot_limit": "slot limit TH", "size": "bytes that move"}
"""The parameters of a sweep, and what they are called."""
MAP_PARAMETERS = ("run", "runs")
MAP_SECONDS = 10.0
"""The planning time of a map, unless the options give another one."""
_RUNS, _COUNTS = (3, 20), (0, 14)
"""Powers of two: the lengths of runs and the numbers of runs on a map, unless the transfer is beyond."""
_BYTES = FieldSpace.of({"v": "u1"})
_EVERY = 8
"""Points of a map after which there is a better one to show."""


@dataclass(frozen=True)
class SweepPoint:
    """The best plan at one value of the parameter: predicted seconds, steady-state bytes per second, and its path."""

    value: float
    seconds: float
    throughput: float
    memories: tuple[str, ...]
    channels: tuple[str, ...]
    converting: int | None

    @property
    def way(self) -> tuple[tuple[str, ...], int | None]:
        """What distinguishes its path: channels, and the converting hop."""
        return self.channels, self.converting


@dataclass(frozen=True, repr=False)
class Sweep(Told):
    """Predicted time over one parameter, with everything else unchanged.

    `parameter` is "slot_limit" (TH, bytes) or "size" (bytes that move). `points` are sorted by growing value. `now` is the value
    in the given transfer. `emulated` names the emulated memories of all paths.
    """

    parameter: str
    unit: str
    now: float
    points: tuple[SweepPoint, ...]
    emulated: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The name of the parameter in words."""
        return PARAMETERS.get(self.parameter, self.parameter)

    @cached_property
    def letters(self) -> dict[tuple[tuple[str, ...], int | None], str]:
        """A letter for each winning path, in the order in which they win. The key has the channels and the converting hop."""
        return {way: letter(number) for number, way in enumerate(dict.fromkeys(point.way for point in self.points))}

    def document(self) -> Document:
        """The best plan at every value, as a plot and as a table."""
        rows = [
            (
                value_text(self, point.value),
                Quantity(point.seconds, "seconds"),
                Quantity(point.throughput, "rate"),
                self.letters[point.way],
                path_text(point.memories, point.converting),
            )
            for point in self.points
        ]
        table = Table((self.words, "time", "steady rate", "", "path (⇒ changes the order)"), rows, numbers=(0,))
        title = f"Predicted time over {self.words}"
        remark = [Prose(emulated_text(self.emulated))] if self.emulated else []
        return Document(title, [*remark, Picture("sweep_figure", (self,)), table], f"{title}, now {value_text(self, self.now)}")


def value_text(found: Sweep, value: float) -> str:
    """A value of the parameter of a sweep for people."""
    return format_bytes(value) if found.unit == "B" else f"{value:,.6g}"


@overload
def sweep(
    transfer: Transfer,
    machine: MachineLike,
    parameter: str,
    values: Sequence[float] | None = None,
    options: Options | None = None,
) -> Sweep: ...


@overload
def sweep(
    transfer: Transfer,
    machine: MachineLike,
    parameter: tuple[str, str],
    values: tuple[Sequence[int], Sequence[int]] | None = None,
    options: Options | None = None,
) -> WinnerMap: ...


def sweep(
    transfer: Transfer,
    machine: MachineLike,
    parameter: str | tuple[str, str],
    values: Any = None,
    options: Options | None = None,
) -> Sweep | WinnerMap:
    """The predicted time of the best plan, and its path, over one parameter; or the fastest path over two parameters.

    `parameter` is "slot_limit" (TH) or "size" (bytes that move; the largest dimension grows or shrinks). `values` are in bytes.
    Without `values`, there are 49 steps over a factor of 4096 around the present value. A value is left out if no plan or no
    array of that size exists.

    `("run", "runs")` gives a map for vectors between the memories of the transfer. A vector has `runs` runs of `run` bytes, each
    followed by a gap of the same length. `values` are then the lengths and the numbers of runs, by default powers of two. If one
    end of the transfer has no gaps, the vector has none there. `planning_time` bounds the whole map.

    Raises:
        InputError: the parameter is unknown. MachineError, NoPathError: as `plan`.
    """
    machine = check_arguments("sweep", transfer, machine)
    options = Options.given(options)
    if isinstance(parameter, tuple | list) and tuple(parameter) == MAP_PARAMETERS:
        *_, found = map_steps(transfer, machine, options, _map_values(values))
        assert isinstance(found, WinnerMap)
        return found
    if not checks.is_one_of(parameter, PARAMETERS):
        known = f"{', '.join(PARAMETERS)}, or the pair {MAP_PARAMETERS}"
        raise InputError(f"sweep over {show(parameter)}: expected one of {known}")
    return _line(transfer, machine, str(parameter), values, options)


def _line(transfer: Transfer, machine: Machine, parameter: str, values: Sequence[float] | None, options: Options) -> Sweep:
    """The best plans over one parameter."""
    dim = max(transfer.space.dims, key=lambda dim: transfer.space[dim])
    per_step = transfer.nbytes // transfer.space[dim]
    now = float(options.slot_limit or machine.limits.slot_limit) if parameter == "slot_limit" else float(transfer.nbytes)
    unit = 1 if parameter == "slot_limit" else per_step
    points: dict[float, SweepPoint] = {}
    asked = [now * 2.0 ** (step / 4) for step in range(-32, 17)]
    if values is not None:
        given = checks.items("sweep, values", values, "numbers of bytes")
        asked = [checks.amount("sweep", "values", value, open_low=True, high=checks.BYTES_LIMIT) for value in given]
    for value in asked:
        wanted = float(max(1, round(value / unit)) * unit)
        try:
            if parameter == "slot_limit":
                problem = Problem(transfer, machine, replace(options, slot_limit=round(wanted)))
            else:
                problem = Problem(resized(transfer, dim, round(wanted / per_step)), machine, options)
            best = search(problem).best
        except (LimitError, LayoutError, TransferError):
            continue
        way = _way(best)
        steady = clock_of(problem, best.route).timing(best.chunk, best.runs).throughput
        points[wanted] = SweepPoint(wanted, best.seconds, steady, way.memories, way.channels, way.converting)
    found = tuple(points[value] for value in sorted(points))
    return Sweep(parameter, "B", now, found, machine.emulated(name for point in found for name in point.memories))


# ---- two parameters


def map_steps(
    transfer: Transfer, machine: Machine, options: Options, values: tuple[tuple[int, ...], tuple[int, ...]] | None = None
) -> Generator[WinnerMap | None, None, None]:
    """Maps of the fastest paths, better and better; None where nothing new is worth showing. The last one is whole.

    Raises:
        MachineError, NoPathError: as `plan`.
    """
    winners = _Winners(Problem(transfer, machine, options))
    columns, rows = values or (_powers(*_RUNS, winners.like[0]), _powers(*_COUNTS, winners.like[1]))
    levels = [max(_level(i), _level(j)) for i in range(len(columns)) for j in range(len(rows))]
    order = sorted(zip(levels, itertools.product(columns, rows), strict=True), key=lambda each: each[0])
    for number, (_, (run, runs)) in enumerate(order):
        winners.at(run, runs)
        yield winners.map(columns, rows) if number % _EVERY == 0 else None
    for low, high in itertools.pairwise(sorted({*rows, winners.like[1]})):
        winners.turn("runs", low, high)
        yield None
    for low, high in itertools.pairwise(sorted({*columns, winners.like[0]})):
        winners.turn("run", low, high)
        yield None
    yield replace(winners.map(columns, rows), whole=True)


def _map_values(values: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The lengths and the numbers of runs that a call gives."""
    if values is None:
        return None
    pair = checks.items("sweep, values", values, "the lengths of runs in bytes, and the numbers of runs")
    if len(pair) != 2:
        raise InputError(f"sweep, values: expected two collections, lengths of runs and numbers of runs, got {len(pair)}")
    found = []
    for name, each in zip(("lengths of runs", "numbers of runs"), pair, strict=True):
        given = checks.items("sweep, values", each, name)
        if not given:
            raise InputError(f"sweep, values: expected {name}, got none")
        found.append(tuple(sorted({checks.count("sweep", name, value, low=1) for value in given})))
    return found[0], found[1]


def _powers(low: int, high: int, value: int) -> tuple[int, ...]:
    """Powers of two from 2^low to 2^high, and as far beyond as the value."""
    return tuple(1 << power for power in range(min(low, value.bit_length() - 1), max(high, (value - 1).bit_length()) + 1))


def _level(place: int) -> int:
    """How early a row or a column is worked out: every fourth first, then every second."""
    return 0 if place % 4 == 0 else 1 if place % 2 == 0 else 2


def _way(best: Choice) -> Way:
    route = best.route
    memories = (route.channels[0].source, *(channel.destination for channel in route.channels))
    return Way(memories, route.names, tuple([str(channel.kind) for channel in route.channels]), route.converting)


class _Winners:
    """The fastest paths that were found so far, each vector once."""

    def __init__(self, own: Problem) -> None:
        self._own = own
        here, there = (math.isfinite(run) for run in own.end_runs)
        self._gaps = (here, there) if here or there else (True, True)
        run = max(1, round(min(*own.end_runs, own.ends.run if own.ends.converts else math.inf, own.nbytes)))
        self.like = run, max(1, round(own.nbytes / run))
        """The vector that is most like the transfer: bytes of a run, and number of runs."""
        self._work = Work(own.options.planning_time or MAP_SECONDS)
        self._found: dict[tuple[int, int], tuple[Way, float] | None] = {}
        self._turns: list[tuple[Literal["run", "runs"], int, Way, Way]] = []
        best = search(own).best
        self._best = self._latest = _way(best), best.seconds
        self.at(*self.like)

    def at(self, run: int, runs: int) -> Way | None:
        """The fastest path for a vector; None where there is none, or no planning time is left."""
        if (run, runs) not in self._found:
            if self._work.is_done:
                return None
            self._found[run, runs] = self._search(run, runs)
        found = self._found[run, runs]
        return None if found is None else found[0]

    def _search(self, run: int, runs: int) -> tuple[Way, float] | None:
        transfer, machine = self._own.transfer, self._own.machine
        here, there = (
            Instance(end.memory, IndexSpace.of({"x": run * (1 + gap), "y": runs}), _BYTES, Layout("<F, x, y>"))
            for end, gap in zip((transfer.source, transfer.destination), self._gaps, strict=True)
        )
        work = Work(self._work.left / STEPS_PER_SECOND)
        latest = self._latest[0]
        try:
            vector = Transfer(here, there, shape=(run, runs))
            check_ends(vector, machine)
            best = search(Problem(vector, machine, self._own.options), (latest.channels, latest.converting), work=work).best
        except (LimitError, LayoutError, TransferError):
            return None
        finally:
            self._work.add(work.steps + PLAN_STEPS)
        self._latest = _way(best), best.seconds
        return self._latest

    def turn(self, axis: Literal["run", "runs"], low: int, high: int) -> None:
        """Find where the winner changes between two values, in the row or in the column of the vector like the transfer."""

        def at(value: int) -> Way | None:
            return self.at(value, self.like[1]) if axis == "run" else self.at(self.like[0], value)

        before, last = at(low), at(high)
        while before is not None and last is not None and before != last:
            first, other = low, high  # the winner is `before` at `first`, and not at `other`
            while other - first > 1:
                middle = (first + other) // 2
                first, other = (middle, other) if at(middle) == before else (first, middle)
            after = at(other)
            if after is None:
                return
            self._turns.append((axis, other, before, after))
            low, before = other, after

    def map(self, columns: tuple[int, ...], rows: tuple[int, ...]) -> WinnerMap:
        """The map as far as it is known."""
        asked = [(run, runs, found) for run in columns for runs in rows if (found := self._found.get((run, runs))) is not None]
        now = self._found.get(self.like)
        on_it = {self._best[0], *(way for _, _, (way, _) in asked), *(way for turn in self._turns for way in turn[2:])}
        if now is not None:
            on_it.add(now[0])
        ways = sorted(on_it, key=lambda way: (len(way.channels), way.channels, way.converting or 0))
        number = {way: place for place, way in enumerate(ways)}
        both = "both ends" if all(self._gaps) else "the source" if self._gaps[0] else "the destination"
        transfer = self._own.transfer
        return WinnerMap(
            memories=(transfer.source.memory, transfer.destination.memory),
            gaps=both,
            reuse=self._own.options.reuse or 1,
            columns=columns,
            rows=rows,
            ways=tuple(ways),
            points=tuple([MapPoint(run, runs, seconds, number[way]) for run, runs, (way, seconds) in asked]),
            now=None if now is None else MapPoint(*self.like, now[1], number[now[0]]),
            own=number[self._best[0]],
            own_seconds=self._best[1],
            turns=tuple(
                [
                    MapTurn(axis, self.like[axis == "run"], value, number[before], number[after])
                    for axis, value, before, after in self._turns
                ]
            ),
            stopped=self._work.is_done,
            whole=False,
            emulated=self._own.machine.emulated(name for way in ways for name in way.memories),
        )
