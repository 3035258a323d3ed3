"""Why a plan is what it is, what would make a rival win, which path wins for which runs, what requests name, and what converting
elsewhere takes: slow stages.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import IsovizError
from isoviz.widgets.chosen.settings import ByHand
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import Problem, sentence

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Explanation, Options, Plan, Transfer, WinnerMap
    from isoviz.planner.explanation.explanation import Crossover
    from isoviz.planner.explanation.handshake import Handshake
    from isoviz.planner.explanation.hop_descriptors import HopDescriptors
    from isoviz.planner.path_plan import Constraint, PathPlan


TURN_SECONDS = 6.0
"""The planning time for which it is asked what would make rivals win."""
MOST_RIVALS = 3
"""Rivals for which it is asked what would make them win."""


@dataclass(frozen=True)
class Explained:
    """The constraints of a plan with what else there is to say.

    `explanation` is None where it could not be made; `problem` then says why, in words. `constraints` are those of the plan for
    the throughput `target`.
    """

    plan: Plan
    machine: Machine
    options: Options
    target: float
    constraints: tuple[Constraint, ...]
    explanation: Explanation | None = None
    problem: str = ""


@dataclass(frozen=True)
class Turns:
    """What would make rivals of a plan win, as far as it has been found; `done` where nothing follows, `cut` where the
    planning time was used up before all rivals were asked about."""

    plan: Plan
    found: tuple[Crossover, ...] = ()
    done: bool = False
    cut: bool = False


@dataclass(frozen=True)
class FoundMap:
    """The map of the fastest paths, as far as it is known; `done` where nothing follows. `problem` says why there is none."""

    transfer: Transfer
    options: Options
    found: WinnerMap | None = None
    done: bool = False
    problem: str = ""


def explained_plan(
    _problems: dict[str, Problem], plan: Plan, machine: Machine, options: Options, typed_by_hand: ByHand | None
) -> Explained:
    """The explanation of a plan; for a plan by hand, for the throughput that was asked for beside it."""
    from isoviz.planner import explain

    target = None if typed_by_hand is None else typed_by_hand.target or None
    try:
        return explained(plan, options, explain(plan, machine, options=options, target=target))
    except IsovizError as error:
        from isoviz.planner.explanation.constraints import constraints_of
        from isoviz.planner.explanation.paths_explanation import lead

        first = lead(plan)
        target = target or first.throughput
        rows = constraints_of(first, machine, target, options)
        return Explained(plan, machine, options, target, rows, problem=sentence(str(error)))


def explained(plan: Plan, options: Options, why: Explanation) -> Explained:
    """What a pane shows of an explanation."""
    return Explained(plan, why.machine, options, why.target, why.constraints, why, sentence(why.refusal))


def turns_of_plan(_problems: dict[str, Problem], explanation: Explained, trying: bool) -> Generator[Turns, None, Turns]:
    """What would make the best rivals win, better and better. It waits while something is tried on the plan (`trying`)."""
    turns = Turns(explanation.plan)
    if explanation.explanation is None or explanation.explanation.is_by_hand:
        return replace(turns, done=True)
    if trying:
        return turns
    from isoviz.planner.explanation.rivals import crossover_steps
    from isoviz.planner.planning_work import Work
    from isoviz.planner.problem import Problem as Planning

    problem = Planning(explanation.plan.transfer, explanation.machine, explanation.options)
    work = Work(TURN_SECONDS)
    for turn in crossover_steps(problem, explanation.explanation.candidates, MOST_RIVALS, work):
        if turn is not None and turn.value is not None:
            turns = replace(turns, found=(*turns.found, turn))
        if work.is_done:
            return replace(turns, done=True, cut=True)
        yield turns
    return replace(turns, done=True)


_known_maps: Remembered[dict[Options, FoundMap]] = Remembered()
"""By transfer and machine: the whole maps by the options, so that none is worked out twice."""


def winner_map_of(
    _problems: dict[str, Problem], transfer: Transfer, machine: Machine, options: Options, tried_reuse: int | None
) -> Generator[FoundMap | None, None, FoundMap]:
    """Which path wins over run length and number of runs, better and better, for as many starts as are tried."""
    from isoviz.planner.explanation.curves.sweeping import map_steps

    options = options if tried_reuse is None else replace(options, reuse=tried_reuse)
    known = _known_maps.of(dict, transfer, machine)
    if options in known:
        return known[options]
    latest = FoundMap(transfer, options)
    try:
        for found in map_steps(transfer, machine, options):
            if found is not None:
                latest = replace(latest, found=found)
            yield None if found is None else latest
    except IsovizError as error:
        return replace(latest, problem=sentence(str(error)), done=True)
    known[options] = replace(latest, done=True)
    return known[options]


class HopRequests(NamedTuple):
    """The requests of a hop: what its descriptors name, if they have a limit, and its messages at the first start of the
    transfer, and at a later one where that is another; none where its kind has no known protocol."""

    descriptors: HopDescriptors | None
    handshakes: tuple[Handshake, ...]


@dataclass(frozen=True)
class FoundRequests:
    """The requests of every hop of a plan, path after path."""

    plan: Plan
    hops: tuple[HopRequests, ...]


def requests_of(_problems: dict[str, Problem], plan: Plan, machine: Machine) -> FoundRequests:
    """The requests of every hop."""
    from isoviz.planner.explanation.handshake import handshake
    from isoviz.planner.explanation.hop_descriptors import hop_descriptors

    def of(number: int, path: PathPlan, hop: int) -> HopRequests:
        named = hop_descriptors(path, hop, machine)
        if machine.channel(path.hops[hop].channel).kind.protocol is None:
            return HopRequests(named, ())
        first, again = (handshake(plan, hop, path=number, start=start, machine=machine) for start in (1, 2))
        return HopRequests(named, (first,) if again.messages == first.messages else (first, again))

    hops = [of(number, path, hop) for number, path in enumerate(plan.paths) for hop in range(len(path.hops))]
    return FoundRequests(plan, tuple(hops))


@dataclass(frozen=True)
class FoundElsewhere:
    """The seconds of a plan's transfer with the conversion at each hop of its path, hop after hop as far as they are known.

    They are None where that hop cannot convert. `done` says that nothing more follows. A plan of several paths, or one that
    converts nowhere, has none.
    """

    plan: Plan
    seconds: tuple[float | None, ...] = ()
    done: bool = False


def elsewhere_of(
    _problems: dict[str, Problem], plan: Plan, machine: Machine, options: Options
) -> Generator[FoundElsewhere, None, FoundElsewhere]:
    """What converting at each hop takes, one hop after the other."""
    from isoviz.layouts import OrderChange
    from isoviz.planner.by_hand.path_by_hand import costed
    from isoviz.planner.explanation.converting_at import layouts_converting_at
    from isoviz.planner.problem import Problem as Planning

    found = FoundElsewhere(plan)
    changes = plan.paths[0].order_changes
    if len(plan.paths) > 1 or OrderChange.CONVERTS not in changes:
        return replace(found, done=True)
    path = tuple(hop.channel for hop in plan.hops)
    for hop, change in enumerate(changes):
        seconds: float | None = plan.seconds
        if change is not OrderChange.CONVERTS:
            try:
                layouts = layouts_converting_at(plan.transfer, machine, path, hop, options)
                seconds = costed(Planning(plan.transfer, machine, options), path, layouts)[0].seconds
            except IsovizError:
                seconds = None
        found = replace(found, seconds=(*found.seconds, seconds))
        yield found
    return replace(found, done=True)
