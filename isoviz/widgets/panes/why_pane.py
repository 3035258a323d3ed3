"""Why the plan is what it is: its constraints, its rivals, and what would make one of them win."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from isoviz.planner.options import BY_HAND
from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.explained_plan import Explained, FoundElsewhere, Turns
from isoviz.widgets.contract import ConstraintKind
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.planner import Explanation
    from isoviz.planner.explanation.explanation import Crossover, RankedPath
    from isoviz.planner.path_plan import Constraint
    from isoviz.planner.program.path_bound import RowState
MOST_CANDIDATES = 12
"""Candidates that are shown; the rest is counted."""
EQUAL = 1e-7
"""Times that differ by a smaller share are those of a tie."""


class ShownConstraint(TypedDict):
    """`left` ≤ `bound`, in bytes per second for "throughput" and "resource", else in bytes; of a resource that is `held`, as a
    number of it.

    `hop` counts from 0 along the plan; null for a constraint of the whole path. `name` is the channel, the memory or the
    resource. `binding` says that it holds the throughput of the path back; `price` is what one unit more of the bound adds to the
    throughput, `priceDown` what one unit less takes from it (null: nothing less is possible). Both are null where unknown.
    """

    kind: ConstraintKind
    hop: int | None
    name: str
    words: str
    left: float
    bound: float
    held: bool
    holds: bool
    binding: bool
    price: float | None
    priceDown: float | None


class ShownCandidate(TypedDict):
    """A path that the planner compared. `seconds` is null where the bound alone says that it cannot win. `isTie` says that it
    takes as long as the chosen one. `hops` are the kinds of its channels in words.
    """

    chosen: bool
    isTie: bool
    channels: list[str]
    memories: list[str]
    hops: list[str]
    converting: int | None
    seconds: float | None
    bound: float
    throughput: float | None
    limit: str
    layouts: list[str]


class ShownTurn(TypedDict):
    """The value of a parameter at which a rival wins. `parameter` is "bandwidth" of the channel `name`, "slot_limit", or "size"
    of the dimension `name`. `rival` is the number of the candidate that overtakes, `winner` the channels of the path that wins
    then.
    """

    parameter: str
    name: str
    words: str
    now: float
    value: float
    rival: int
    winner: list[str]


class ShownRegion(TypedDict):
    """The block sizes `x` and `y` that sustain `throughput`: a polygon, straight in the logarithms. `chosen` are those of the
    plan, `most` the largest sizes.
    """

    x: str
    y: str
    throughput: float
    corners: list[list[float]]
    chosen: list[float]
    most: list[float]


class ShownChannel(TypedDict):
    """A channel: its kind in words, the memories at its ends, and its highest rate in bytes per second."""

    name: str
    words: str
    source: str
    destination: str
    peak: float


class ShownHeld(TypedDict):
    """A resource that channels hold while they work. There is `capacity` of it, and `whole`, a whole number, where nothing else
    takes any.
    """

    name: str
    capacity: float
    whole: int


class ShownHandStop(TypedDict):
    """A memory on a path by hand, in words."""

    memory: str
    words: str
    where: str


class ShownHandPath(TypedDict):
    """A path by hand as far as it leads: its memories, and the channels by which it could go on. `hops` are its channels in
    words. `reaches` says whether it ends at the destination.
    """

    stops: list[ShownHandStop]
    hops: list[str]
    onward: list[ShownChannel]
    reaches: bool


class WhyPart(TypedDict):
    """The explanation of a plan. `isOfPlan` says whether that is the plan on the screen.

    `target` is the throughput for which the constraints are judged, `optimum` the most that the path sustains.
    `referenceSeconds` is the time of the planner's plan, where this one is by hand. `beaten` counts the paths that were left out
    beforehand, `gap` is the largest share by which the plan can lie above the optimum (null: nothing is proved). `verdict` says
    in sentences what binds, `ranking` how the candidates compare. `channels` are those of the path and of the candidates, and
    `held` the resources that they hold.
    `turns` say what would make a rival win, once the view "rivals" is shown: `turnsDone` says that nothing more follows,
    `turnsCut` that the planning time did not suffice for all rivals.
    """

    isOfPlan: bool
    byHand: bool
    target: float
    optimum: float | None
    seconds: float
    referenceSeconds: float | None
    constraints: list[ShownConstraint]
    candidates: list[ShownCandidate]
    moreCandidates: int
    beaten: int | None
    gap: float | None
    proved: bool
    verdict: list[str]
    ranking: str
    turns: list[ShownTurn]
    turnsDone: bool
    turnsCut: bool
    region: ShownRegion | None
    channels: list[ShownChannel]
    held: list[ShownHeld]
    problem: str


class HandPart(TypedDict):
    """The path by hand that is being built; null where a planner plans."""

    path: ShownHandPath | None


_whys: Remembered[WhyPart] = Remembered()
_paths: Remembered[HandPart] = Remembered()
_NO_PATH: HandPart = {"path": None}


@pane("why", "why the plan is what it is", {"why": EVERYTHING | {"explanation"}, "rivals": EVERYTHING | {"explanation", "turns"}})
def why_part(state: State) -> WhyPart | None:
    """What is known of why the plan is what it is; None before the first explanation."""
    explained: Explained | None = state.derived.later.get("explanation")
    if explained is None:
        return None
    turns: Turns = state.derived.later.get("turns") or Turns(explained.plan)
    if turns.plan is not explained.plan:
        turns = Turns(explained.plan)
    is_of_plan = explained.plan is state.derived.plan
    key = explained, turns.found, turns.done, is_of_plan  # the two flags are one object each
    return _whys.of(lambda: _why(explained, turns, is_of_plan), *key)


@pane("hand", "the path by hand")
def hand_part(state: State) -> HandPart:
    """The path by hand as far as it leads, with the channels by which it could go on."""
    settings, machine = state.settings, state.derived.machine
    by_hand = settings.by_hand
    if by_hand is None or machine is None:
        return _NO_PATH
    ends = settings.source.memory, settings.destination.memory
    key = by_hand, machine, settings.source, settings.destination
    return _paths.of(lambda: {"path": _hand_path(by_hand.path, machine, *ends)}, *key)


def _hand_path(path: tuple[str, ...], machine: Machine, source: str, destination: str) -> ShownHandPath:
    memories = {memory.name: memory for memory in machine.memories}
    channels = []
    at = source
    for name in path:
        channel = machine.find_channel(name)
        if channel is None or channel.source != at:
            break
        channels.append(channel)
        at = channel.destination
    stops = [source, *(channel.destination for channel in channels)]
    return {
        "stops": [
            {
                "memory": name,
                "words": memory.kind.words,
                "where": f"node {memory.node} · {memory.short_name}{', emulated' if memory.emulated else ''}",
            }
            for name in stops
            if (memory := memories.get(name)) is not None
        ],
        "hops": [channel.kind.words for channel in channels],
        "onward": [_channel(machine, channel.name) for channel in _onward(machine, at, source, destination)],
        "reaches": bool(channels) and len(channels) == len(path) and at == destination,
    }


def _onward(machine: Machine, at: str, source: str, destination: str) -> tuple[Channel, ...]:
    """The channels by which a path between two memories can go on from a memory."""
    known = {memory.name for memory in machine.memories}
    return machine.around(*(name for name in (at, source, destination) if name in known)).outgoing(at) if at in known else ()


def _channel(machine: Machine, name: str) -> ShownChannel:
    channel = machine.channel(name)
    return {
        "name": name, "words": channel.kind.words, "source": channel.source, "destination": channel.destination,
        "peak": channel.peak,
    }  # fmt: skip


def _held(machine: Machine, channels: list[str]) -> list[ShownHeld]:
    """The resources that some channels hold, in their order."""
    used = dict.fromkeys(name for channel in channels for name, weight in machine.channel(channel).resources if weight)
    return [
        {"name": name, "capacity": each.capacity, "whole": math.ceil(each.capacity)}
        for name in used
        if (each := machine.resource(name)).held
    ]


def _why(explained: Explained, turns: Turns, is_of_plan: bool) -> WhyPart:
    from isoviz.planner.explanation.explanation_words import emulation_text, orders_text, verdict
    from isoviz.planner.explanation.rival_words import compared_text, ranking_text

    why, machine = explained.explanation, explained.machine
    searched = None if why is None or why.is_by_hand else why
    candidates = () if searched is None else searched.candidates[:MOST_CANDIDATES]
    used = [hop.channel for hop in explained.plan.every_hop]
    compared = [name for each in candidates for name in each.channels]
    names = dict.fromkeys([*used, *compared, *(turn.channel for turn in turns.found)])
    channel_names = {name for name in names if machine.find_channel(name) is not None}
    region = None if why is None else why.region
    most = {} if searched is None else {variable.name: variable.high for variable in searched.program.variables}
    return {
        "isOfPlan": is_of_plan,
        "byHand": explained.plan.planner == BY_HAND,
        "target": explained.target,
        "optimum": None if why is None else why.solution.throughput,
        "seconds": explained.plan.seconds,
        "referenceSeconds": None if why is None or why.reference is None else why.reference.seconds,
        "constraints": [_constraint(row, explained) for row in explained.constraints],
        "candidates": [_candidate(each, candidates[0], machine) for each in candidates],
        "moreCandidates": 0 if searched is None else len(searched.candidates) - len(candidates),
        "beaten": None if searched is None else searched.beaten,
        "gap": None if searched is None else searched.gap,
        "proved": searched is not None and searched.proved,
        "verdict": [] if searched is None else [*verdict(searched), *orders_text(searched), *emulation_text(explained.plan)],
        "ranking": "" if searched is None else ranking_text(searched) + compared_text(searched),
        "turns": [] if searched is None else _turns(turns.found, searched, machine),
        "turnsDone": turns.done,
        "turnsCut": turns.cut,
        "region": None
        if region is None
        else {
            "x": region.x,
            "y": region.y,
            "throughput": region.throughput,
            "corners": [list(corner) for corner in region.corners],
            "chosen": list(region.chosen),
            "most": [most.get(name, _size(name, explained)) for name in (region.x, region.y)],
        },
        "channels": [_channel(machine, name) for name in names if name in channel_names],
        "held": _held(machine, [name for name in names if name in channel_names]),
        "problem": explained.problem,
    }


def _size(variable: str, explained: Explained) -> float:
    """The size of the dimension of a block: `x_in` belongs to x."""
    space = explained.plan.transfer.space
    dim = variable.rpartition("_")[0]
    return float(space[dim]) if dim in space else 1.0


def _constraint(row: Constraint, explained: Explained) -> ShownConstraint:
    state = _state_of(row, explained)
    price = None if state is None or math.isnan(state.price_up) else state.price_up
    down = None if state is None or math.isnan(state.price_down) or math.isinf(state.price_down) else state.price_down
    return {
        "kind": row.constraint,
        "hop": row.hop,
        "name": row.name,
        "words": _words(row, explained.machine),
        "left": row.needed,
        "bound": row.allowed,
        "held": row.constraint == "resource" and explained.machine.resource(row.name).held,
        "holds": row.holds,
        "binding": state is not None and state.binding,
        "price": price,
        "priceDown": down,
    }


def _words(row: Constraint, machine: Machine) -> str:
    """What the constraint is about, in words."""
    if row.constraint in ("throughput", "shuffle"):
        return machine.channel(row.name).kind.words
    if row.constraint in ("slot", "buffers", "capacity"):
        memory = machine.memory(row.name)
        return f"{memory.kind.words}, node {memory.node}"
    return row.name


def _state_of(row: Constraint, explained: Explained) -> RowState | None:
    """The row of the program that a constraint belongs to: it has the price."""
    for state in () if explained.explanation is None else explained.explanation.solution.rows:
        # The limit of a slot is a row of the hop that converts: it is told at the buffer that this hop fills.
        if (row.constraint, state.kind) in (("throughput", "throughput"), ("slot", "space")) and state.hop == row.hop:
            return state
        whole = row.constraint in ("memory-limit", "capacity", "resource") and row.constraint == state.kind
        if whole and (row.name == "" or row.name in state.label):
            return state
    return None


def _candidate(each: RankedPath, chosen: RankedPath, machine: Machine) -> ShownCandidate:
    hops = [machine.channel(name).kind.words for name in each.channels]
    limit = each.limit
    for kind, words in zip(each.kinds, hops, strict=True):
        limit = limit.replace(f" {kind}: ", f", {words}: ")
    same = each.seconds is not None and abs(each.seconds / chosen.least - 1) < EQUAL
    return {
        "chosen": each.chosen,
        "isTie": same and not each.chosen,
        "channels": list(each.channels),
        "memories": [f"{name} (emulated)" if machine.emulated((name,)) else name for name in each.memories],
        "hops": hops,
        "converting": each.converting,
        "seconds": each.seconds,
        "bound": each.bound,
        "throughput": each.throughput,
        "limit": limit,
        "layouts": list(each.layouts),
    }


def _turns(found: tuple[Crossover, ...], why: Explanation, machine: Machine) -> list[ShownTurn]:
    numbers = {(each.channels, each.converting): number for number, each in enumerate(why.candidates)}
    channel_of_name = {turn.channel: channel for turn in found if (channel := machine.find_channel(turn.channel)) is not None}
    return [
        {
            "parameter": turn.parameter,
            "name": turn.channel,
            "words": channel_of_name[turn.channel].kind.words if turn.channel in channel_of_name else "",
            "now": turn.now,
            "value": turn.value,
            "rival": numbers.get((turn.rival, turn.converting), 0),
            "winner": list(turn.winner),
        }
        for turn in found
        if turn.value is not None
    ]


class ElsewherePart(TypedDict):
    """The seconds of the transfer with its conversion at each hop, as far as they are known: null where that hop cannot convert.

    `isOfPlan` says whether it is about the path of the plan on the screen. `done` says that nothing more follows.
    """

    seconds: list[float | None]
    done: bool
    isOfPlan: bool


@pane("elsewhere", "the time of the transfer with its conversion at each hop", {"elsewhere": EVERYTHING | {"elsewhere"}})
def elsewhere_part(state: State) -> ElsewherePart | None:
    """The times of the plan; None before the first of them is known."""
    found: FoundElsewhere | None = state.derived.later.get("elsewhere")
    if found is None:
        return None
    return {"seconds": list(found.seconds), "done": found.done, "isOfPlan": found.plan is state.derived.plan}
