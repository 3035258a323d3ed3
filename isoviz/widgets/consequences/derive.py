"""What follows from settings: the stages, what each view demands of them, and their evaluation, quickest first."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, get_args

from isoviz.widgets.chosen.machine_choice import MachineChoice
from isoviz.widgets.chosen.settings import End, Row, Settings, TransferSettings
from isoviz.widgets.consequences.earlier_runs import interval_of, runs_known
from isoviz.widgets.consequences.ends_of_transfer import fields_of, linearization_of, space_of
from isoviz.widgets.consequences.explained_plan import explained_plan, turns_of_plan
from isoviz.widgets.consequences.machines_made import Making, corrections, makings
from isoviz.widgets.consequences.part_of_transfer import part_of, turn_of
from isoviz.widgets.consequences.places import Where
from isoviz.widgets.consequences.plan_of_transfer import memories_of, options_of, plan_of, transfer_of
from isoviz.widgets.consequences.plans_beside import BesidePlan, control_of
from isoviz.widgets.consequences.stage_graph import Evaluation, Stage
from isoviz.widgets.consequences.what_if_plan import what_if_plans
from isoviz.widgets.consequences.where_it_runs import where_of
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived, Problem, Result
from isoviz.widgets.traces.simulating import simulation_of, stored_simulation_of

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace, Linearization
    from isoviz.machines import Machine
    from isoviz.planner import Plan

T = TypeVar("T")

LAYOUTS = frozenset({"space", "fields", "source", "destination"})
"""What every session knows: it takes no machine."""
EVERYTHING = LAYOUTS | {"what if",
    "machine", "memories", "options", "part", "turn", "transfer", "plan", "where", "interval", "beside plans",
}  # fmt: skip
"""What takes a machine as well: the whole explorer."""


def _space(problems: dict[str, Problem], dimensions: tuple[Row, ...]) -> IndexSpace | None:
    return space_of(Settings(dimensions=dimensions), problems)


def _fields(problems: dict[str, Problem], fields: tuple[Row, ...]) -> FieldSpace | None:
    return fields_of(Settings(fields=fields), problems)


def _end(side: Side) -> Stage:
    def make(
        problems: dict[str, Problem],
        layout: str,
        dimensions: tuple[Row, ...],
        rows: tuple[Row, ...],
        space: IndexSpace | None,
        fields: FieldSpace | None,
    ) -> Linearization | None:
        end = End("", layout)
        settings = Settings(dimensions=dimensions, fields=rows, source=end, destination=end)
        return linearization_of(settings, side, space, fields, problems)

    # The text is read even where the spaces are wrong: its own mistakes are told as well.
    return Stage(side, (f"{side} layout", "dimension rows", "field rows", "space", "fields"), make, partial=True)


STAGES: tuple[Stage, ...] = (
    Stage("space", ("dimension rows",), _space),
    Stage("fields", ("field rows",), _fields),
    _end("source"),
    _end("destination"),
    Stage("memories", ("machine", "source memory", "destination memory"), memories_of),
    Stage("options", ("planner", "slot limit", "memory limit"), options_of),
    Stage("part", ("chosen part", "dimension rows", "field rows", "space", "fields"), part_of),
    Stage("turn", ("priority", "begin"), turn_of),
    Stage("transfer", ("source", "destination", "source memory", "destination memory", "part", "turn"), transfer_of),
    Stage("plan", ("transfer", "machine", "memories", "options", "by hand"), plan_of),
    Stage("what if", ("question", "plan", "machine", "options", "by hand"), what_if_plans),
    Stage("explanation", ("plan", "machine", "options", "by hand"), explained_plan),
    Stage("turns", ("explanation", "trying"), turns_of_plan),
    Stage("where", ("plan", "machine", "choice", "runs in"), where_of),
    Stage("interval", ("plan", "machine", "where", "runs"), interval_of),
    Stage("beside plans", ("beside", "machine", "choice", "runs in"), lambda *given: _beside_plans(*given)),
    Stage("simulation", ("plan", "machine", "turn", "called", "beside plans"), simulation_of),
    Stage("stored simulation", ("plan", "machine", "turn", "called", "beside plans"), stored_simulation_of),
)


def _given(now: Derived) -> dict[str, object]:
    settings = now.settings
    return {
        "dimension rows": settings.dimensions,
        "field rows": settings.fields,
        "source layout": settings.source.layout,
        "destination layout": settings.destination.layout,
        "source memory": settings.source.memory,
        "destination memory": settings.destination.memory,
        "planner": settings.planner,
        "slot limit": settings.slot_limit,
        "memory limit": settings.memory_limit,
        "chosen part": settings.part,
        "priority": settings.priority,
        "begin": settings.begin,
        "called": (settings.key, settings.name),
        "beside": settings.beside,
        "by hand": (settings.by_hand,),
        "question": now.what_if,
        "trying": not now.what_if.changes_nothing,
        "choice": settings.machine,
        "runs in": settings.runs_in,
        "machine": None,
        "runs": runs_known() if "interval" in now.demanded else (),
    }


def _beside_plans(
    problems: dict[str, Problem], beside: tuple[TransferSettings, ...], machine: Machine, choice: MachineChoice, runs_in: str
) -> tuple[BesidePlan, ...]:
    """The plans of the other transfers, by the same stages."""
    found = []
    for settings in beside:
        alone = Settings(**vars(settings), machine=choice, runs_in=runs_in)
        own = Evaluation(STAGES, {**_given(Derived(alone)), "machine": machine}, {})
        plan, turn, where = own.of("plan"), own.of("turn"), own.of("where")
        if plan is None or turn is None:
            reason = next((problem.message for problem in own.problems.values()), "There is no plan")
            problems[control_of(settings.key)] = Problem(f"{settings.name}: {reason}")
            found.append(BesidePlan(settings.key, settings.name, None, 0.0, reason))
        else:
            found.append(BesidePlan(settings.key, settings.name, plan, turn.begin, "", where))
    return tuple(found)


def derive(before: Derived) -> Iterator[Derived]:
    """What follows from `before.settings`, as far as `before.demanded` asks for it; the rest of `before` was derived last.

    It yields better and better successors: what has been yielded can be shown while the rest is being computed.
    """
    settings, demanded = before.settings, before.demanded
    found = Evaluation(STAGES, _given(before), before.kept)
    ends = {side: found.of(side) for side in get_args(Side)}
    stale = {side for side, linear in ends.items() if linear is None}
    now = replace(
        before,
        problems=found.problems,
        space=_latest(found.of("space"), before.space),
        fields=_latest(found.of("fields"), before.fields),
        source=_latest(ends["source"], before.source),
        destination=_latest(ends["destination"], before.destination),
        corrections={},
        refines=False,
        kept=found.keep,
    )
    if "machine" not in demanded:
        # A plan that nobody looks at is not renewed.
        yield replace(now, stale=frozenset(stale | ({"plan"} if now.plan is not None else set())), step="")
        return
    if before.complete != before.asked:
        yield replace(now, stale=frozenset(stale if not stale else {*stale, "plan"}), step="Planning")
    problems: dict[str, Problem] = {}
    for making in _makings(before, problems):
        if making.machine is None:
            stale.add("plan")
            told = {**found.problems, **problems}
            yield replace(now, problems=told, stale=frozenset(stale) if not making.step else now.stale, step=making.step)
            continue
        now = replace(now, machine=making.machine, corrections=corrections(now.machine, making.machine, settings))
        if now.corrections:
            yield replace(now, step="")
            return
        # A memory that was moved on the drawing leaves the plan as it is.
        unplaced = replace(making.machine, positions={}) if making.machine.positions else making.machine
        found.give("machine", unplaced)
        now = _with_plan(now, found)
        if not making.step:
            if "plan" in demanded:
                now = replace(now, planned=(settings, before.measurement))
            now = yield from _later(now, found)
            made = Result((settings.machine, before.measurement), making.machine)
            now = replace(now, kept={**now.kept, "machine": made}, complete=before.asked)
            now = yield from _refined(now, found)
        yield replace(now, step=making.step)


def _later(now: Derived, found: Evaluation) -> Generator[Derived, None, Derived]:
    """What was derived, with the slow stages that are demanded; the plan is shown meanwhile."""
    for name, words in LATER.items():
        if name not in now.demanded or (name == "what if" and now.what_if.changes_nothing):
            continue
        if not found.is_kept(name):
            yield replace(now, step=words)
        for part in found.parts_of(name):
            now = now if part is None else replace(now, later={**now.later, name: part})
            yield replace(now, step=words)  # a newer edit ends the stage here
        value = found.of(name)
        later = now.later if value is None else {**now.later, name: value}
        now = replace(now, later=later, problems=found.problems, kept=found.keep)
    return now


def _refined(now: Derived, found: Evaluation) -> Generator[Derived, None, Derived]:
    """What was derived, with what is demanded beyond what is complete."""
    for name in sorted(REFINEMENTS & now.demanded):
        for part in found.parts_of(name):
            now = now if part is None else replace(now, later={**now.later, name: part})
            yield replace(now, step="", refines=True)
        value = found.of(name)
        later = now.later if value is None else {**now.later, name: value}
        now = replace(now, later=later, kept={**now.kept, **found.results})
    return now


def _latest(now: T | None, last: T | None) -> T | None:
    """What there is now, else what there was last."""
    return last if now is None else now


def _makings(before: Derived, problems: dict[str, Problem]) -> Iterable[Making]:
    """The machine of the settings: the one that there is already where it was chosen before, else better and better ones."""
    kept = before.kept.get("machine")
    if kept is not None and kept.inputs == (before.settings.machine, before.measurement):
        return [Making(kept.value, "")]
    return makings(before.settings.machine, before.measurement, problems)


def _with_plan(now: Derived, found: Evaluation) -> Derived:
    """What was derived, with all that is demanded of it and follows from the machine."""
    outputs = {name: found.of(name) for name in ("space", "fields", "source", "destination", *_ORDER) if name in now.demanded}
    stale = {side for side in get_args(Side) if outputs[side] is None}
    plan: Plan | None = outputs.get("plan")
    now = replace(now, problems=found.problems, kept=found.keep, beside=outputs.get("beside plans") or ())
    if plan is None:
        if "plan" in now.demanded or now.plan is not None:
            stale.add("plan")
        return replace(now, stale=frozenset(stale))
    where: Where = outputs["where"]
    return replace(
        now,
        stale=frozenset(stale),
        transfer=outputs["transfer"],
        plan=plan,
        planned_on=now.machine,
        where=where,
        interval=outputs.get("interval"),
        begin=outputs["turn"].begin,
    )


LATER: dict[str, str] = {
    "what if": "Planning with the changes",
    "simulation": "Simulating",
    "stored simulation": "Simulating, stored and forwarded",
    "explanation": "Explaining the plan",
}
"""Stages that take longer than a gesture, and what is said while they are at work. `Derived.later` has their outputs by name."""
REFINEMENTS = frozenset({"turns"})
"""Stages that add to what is complete without them; they take seconds, and nothing waits for them."""
_ORDER = ("memories", "options", "part", "turn", "transfer", "plan", "where", "interval", "beside plans")
"""The stages behind the machine, in the order in which their problems are told."""


def derived_of_plan(before: Derived, plan: Plan, machine: Machine) -> Derived:
    """What follows from a plan that is there already, for `before.settings`, as far as `before.demanded` asks for it."""
    source, destination = plan.transfer.source, plan.transfer.destination
    given = {
        "space": source.space,
        "fields": source.fields,
        "source": source.linearization,
        "destination": destination.linearization,
        "memories": True,
        "transfer": plan.transfer,
        "plan": plan,
    }
    found = Evaluation([stage for stage in STAGES if stage.name not in given], {**_given(before), **given}, {})
    found.give("machine", machine)
    where: Where = found.of("where")
    names = [name for name in (*LATER, *sorted(REFINEMENTS)) if name != "what if"]
    return replace(
        before,
        space=source.space,
        fields=source.fields,
        source=source.linearization,
        destination=destination.linearization,
        machine=machine,
        transfer=plan.transfer,
        plan=plan,
        planned_on=machine,
        where=where,
        interval=found.of("interval"),
        later={name: value for name in names if name in before.demanded and (value := found.of(name)) is not None},
        problems={},
        step="",
    )
