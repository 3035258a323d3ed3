"""What would make a rival win: the bandwidth, the slot limit or the size at which another path becomes the fastest of all.

The full planner itself answers the question. A parameter is changed until `full` chooses the rival. Bisection then finds the
value at which the choice changes. Planning slightly below and slightly above that value therefore gives the two paths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.errors import InputError, LayoutError, LimitError, TransferError
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled
from isoviz.planner.explanation.curves.scaling import resized
from isoviz.planner.explanation.explanation import Crossover, RankedPath
from isoviz.planner.full import listed_routes, search
from isoviz.planner.planning_work import Work, work_of
from isoviz.planner.problem import Problem
from isoviz.planner.transfer import check_ends

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.machines.throughput import ThroughputFunction

CLOSE = 1e-3
"""The relative precision of the value at which the winner changes."""
REACH = 1024.0
"""Parameters are tried from their value divided by this factor up to their value times this factor."""

MOST_CHANNELS = 3
"""The bandwidths of at most this number of channels are changed for a rival."""

RivalKey = tuple[tuple[str, ...], int | None]
"""A path: its channels and the hop that converts."""


def crossovers_of(problem: Problem, candidates: Sequence[RankedPath], most: int) -> tuple[Crossover, ...]:
    """The crossovers of the `most` best rivals; a crossover without a value is left out.

    If the paths are too many to list, every crossover takes a search. Then only those that the planning time allows are found.
    """
    found: list[Crossover] = []
    work = work_of(problem.options) if listed_routes(problem) is None else Work(math.inf)
    for asked in _questions(problem, candidates, most, work):
        if not work.is_done:
            found += [crossover for crossover in asked if crossover is not None]
    return tuple(crossover for crossover in found if crossover.value is not None)


def crossover_steps(
    problem: Problem, candidates: Sequence[RankedPath], most: int, work: Work | None = None
) -> Iterator[Crossover | None]:
    """The crossovers of the `most` best rivals one by one, for a caller that may stop at any time.

    None comes after every search that answers nothing yet; a crossover without a value was not found. The steps of the searches
    are added to `work`, for a caller that stops when it is done.
    """
    for asked in _questions(problem, candidates, most, work or Work(math.inf)):
        yield from asked


def _questions(problem: Problem, candidates: Sequence[RankedPath], most: int, work: Work) -> Iterator[Iterator[Crossover | None]]:
    chosen, *rivals = candidates
    for rival in [rival for rival in rivals if rival.seconds is not None][:most]:
        apart = set(rival.channels) ^ set(chosen.channels)
        ends = (rival.limiting_channel, chosen.limiting_channel)
        # A channel that limits one of the two paths is the most likely to decide, then a channel that only one of them uses.
        channels = sorted(apart, key=lambda name: (name not in ends, name not in chosen.channels, name))[:MOST_CHANNELS]
        yield from (_bandwidth_crossover(problem, rival, channel, work) for channel in channels)
        yield _slot_limit_crossover(problem, rival, work)
        yield _size_crossover(problem, rival, work)


def _bandwidth_crossover(problem: Problem, rival: RankedPath, channel: str, work: Work) -> Iterator[Crossover | None]:
    """The peak of a channel, in bytes per second, at which the rival overtakes. The whole throughput function is scaled."""
    machine = problem.machine.around(problem.transfer.source.memory, problem.transfer.destination.memory)
    now = machine.channel(channel).peak

    def at(value: float) -> Problem:
        return Problem(problem.transfer, with_bandwidth(machine, channel, value / now), problem.options)

    return _crossover("bandwidth", channel, now, "B/s", rival, at, work, whole=False)


def _slot_limit_crossover(problem: Problem, rival: RankedPath, work: Work) -> Iterator[Crossover | None]:
    """The slot limit (TH), in bytes, at which the rival overtakes."""

    def at(value: float) -> Problem:
        return Problem(problem.transfer, problem.machine, replace(problem.options, slot_limit=round(value)))

    return _crossover("slot_limit", "", float(problem.slot_limit), "B", rival, at, work, whole=True)


def _size_crossover(problem: Problem, rival: RankedPath, work: Work) -> Iterator[Crossover | None]:
    """The size of the largest dimension at which the rival overtakes."""
    transfer = problem.transfer
    dim = max(transfer.space.dims, key=lambda dim: transfer.space[dim])

    def at(value: float) -> Problem:
        return Problem(resized(transfer, dim, round(value)), problem.machine, problem.options)

    return _crossover("size", dim, float(transfer.space[dim]), "", rival, at, work, whole=True)


def with_bandwidth(machine: Machine, channel: str, factor: float) -> Machine:
    """The machine with the throughput function of one channel scaled."""
    return with_bandwidths(machine, {channel: factor})


def with_bandwidths(machine: Machine, factors: Mapping[str, float]) -> Machine:
    """The machine with the throughput functions of some channels scaled.

    Raises:
        InputError: a function of a kind that is not known here.
    """
    channels = [
        replace(each, throughput=scaled(each.throughput, factors[each.name]), provenance="assumed")
        if each.name in factors
        else each
        for each in machine.channels
    ]
    return replace(machine, channels=tuple(channels))


def scaled(function: ThroughputFunction, factor: float) -> ThroughputFunction:
    """`factor` × tp(r) for every run r.

    Raises:
        InputError: the kind of function is not known here.
    """
    if isinstance(function, Constant):
        return Constant(function.bandwidth * factor)
    if isinstance(function, LatencyBandwidth):
        return LatencyBandwidth(function.latency / factor, function.bandwidth * factor)
    if isinstance(function, Sampled):
        return Sampled(tuple((run, rate * factor) for run, rate in function.samples))
    raise InputError(f"throughput function of type {type(function).__name__}: cannot be scaled")


def _crossover(
    parameter: str,
    name: str,
    now: float,
    unit: str,
    rival: RankedPath,
    at: Callable[[float], Problem],
    work: Work,
    *,
    whole: bool,
) -> Iterator[Crossover | None]:
    """The crossover, after a None for every search that it takes."""
    wanted = (rival.channels, rival.converting)
    winners: dict[float, RivalKey | None] = {}

    def winner(value: float) -> Generator[None, None, RivalKey | None]:
        value = float(round(value)) if whole else value
        if value not in winners:
            winners[value] = _winner(at, value, wanted, work)
            yield
        return winners[value]

    if (yield from winner(now)) == wanted:  # it wins already: the plan is not that of the full planner
        yield Crossover(parameter, name, now, None, unit, rival.channels, rival.converting, (), (now, now))
        return
    low, high = max(now / REACH, 1.0 if whole else 0.0), now * REACH
    for direction in (2.0, 0.5):
        inside, outside = now, now * direction
        while low <= outside <= high and (yield from winner(outside)) != wanted:
            inside, outside = outside, outside * direction
        if not low <= outside <= high:
            continue
        while abs(math.log(outside / inside)) > CLOSE and not (whole and abs(outside - inside) <= 1):
            middle = math.sqrt(inside * outside)
            if (yield from winner(middle)) == wanted:
                outside = middle
            else:
                inside = middle
        value = float(round(outside)) if whole else outside
        beyond = 1.01 ** math.copysign(1, math.log(direction))
        if (yield from winner(value * beyond)) != wanted or (yield from winner(value / beyond)) == wanted:
            continue  # the winner does not change for good at this value
        yield Crossover(parameter, name, now, value, unit, rival.channels, rival.converting, wanted[0], (low, high))
        return
    yield Crossover(parameter, name, now, None, unit, rival.channels, rival.converting, (), (low, high))


def _winner(at: Callable[[float], Problem], value: float, near: RivalKey, work: Work) -> RivalKey | None:
    """The fastest path at a value; None if no plan is possible there. `near` is tried first, as a likely winner."""
    try:
        problem = at(value)
        check_ends(problem.transfer, problem.machine)
        own = work_of(problem.options)
        try:
            route = search(problem, near, work=own).best.route
        finally:
            work.add(own.steps)
    except (LimitError, LayoutError, TransferError):
        return None
    return route.names, route.converting
