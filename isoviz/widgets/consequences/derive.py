"""What follows from settings: the stages, what each view demands of them, and their evaluation, quickest first."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from isoviz.widgets.chosen.machine_choice import MachineChoice
from isoviz.widgets.chosen.settings import Settings, TransferSettings
from isoviz.widgets.consequences.chosen_machine import MachineVersion, corrections, machine_versions
from isoviz.widgets.consequences.explained_plan import elsewhere_of, explained_plan, requests_of, turns_of_plan, winner_map_of
from isoviz.widgets.consequences.layout_stages import layout_choice_of, layout_request_of, layout_times_of, present_layout_of
from isoviz.widgets.consequences.run_places import Where
from isoviz.widgets.consequences.stage_graph import DerivedStage, Evaluation
from isoviz.widgets.consequences.transfer_stages import (
    destination_of,
    fields_of,
    memories_of,
    options_of,
    part_of,
    plan_of,
    planners_plan_of,
    quick_plan_of,
    source_of,
    space_of,
    transfer_of,
    turn_of,
)
from isoviz.widgets.consequences.what_if_plan import what_if_plans
from isoviz.widgets.consequences.where_it_runs import interval_of, ledger_state, where_of
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived, OtherPlan, Problem, Result, control_of_transfer
from isoviz.widgets.traces.simulating import simulation_of, stored_simulation_of

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan

LAYOUTS = frozenset({"space", "fields", "source", "destination"})
"""What every session knows: it takes no machine."""
EVERYTHING = LAYOUTS | {"what_if",
    "machine", "memories", "options", "part", "turn", "transfer", "plan", "planners_plan", "where", "interval", "other_plans",
}  # fmt: skip
"""What takes a machine as well: the whole explorer."""


def _given(now: Derived) -> dict[str, object]:
    """The given values: everything typed as `typed_<name>`, both ends also by their parts, and what is beside the settings."""
    settings = now.settings
    return {
        **{f"typed_{name}": value for name, value in vars(settings).items()},
        "source_layout": settings.source.layout,
        "destination_layout": settings.destination.layout,
        "source_memory": settings.source.memory,
        "destination_memory": settings.destination.memory,
        "unplanned": settings.source.unplanned or settings.destination.unplanned,
        "is_by_hand": settings.by_hand is not None,
        "question": now.what_if,
        "tried_reuse": now.what_if.reuse,
        "trying": not now.what_if.changes_nothing,
        "layouts_to_measure": now.layouts_to_measure,
        "machine": None,
        "runs": ledger_state() if "interval" in now.demanded else (),
    }


def _other_plans(
    problems: dict[str, Problem],
    typed_beside: tuple[TransferSettings, ...],
    machine: Machine,
    typed_machine: MachineChoice,
    typed_runs_in: str,
) -> tuple[OtherPlan, ...]:
    """The plans of the other transfers, by the same stages."""
    plans = []
    for each in typed_beside:
        alone = Settings(**vars(each), machine=typed_machine, runs_in=typed_runs_in)
        stages = Evaluation(STAGES, {**_given(Derived(alone)), "machine": machine}, {})
        plan, turn, where = stages.of("plan"), stages.of("turn"), stages.of("where")
        if plan is None or turn is None:
            reason = next((problem.message for problem in stages.problems.values()), "There is no plan")
            problems[control_of_transfer(each.key)] = Problem(f"{each.name}: {reason}")
            plans.append(OtherPlan(each.key, each.name, None, 0.0, reason))
        else:
            plans.append(OtherPlan(each.key, each.name, plan, turn.begin, "", where))
    return tuple(plans)


STAGES: tuple[DerivedStage, ...] = (
    DerivedStage("space", space_of),
    DerivedStage("fields", fields_of),
    DerivedStage("source", source_of),
    DerivedStage("destination", destination_of),
    DerivedStage("memories", memories_of),
    DerivedStage("options", options_of),
    DerivedStage("part", part_of),
    DerivedStage("turn", turn_of),
    DerivedStage("transfer", transfer_of),
    DerivedStage("quick_plan", quick_plan_of),
    DerivedStage("plan", plan_of),
    DerivedStage("where", where_of),
    DerivedStage("interval", interval_of),
    DerivedStage("other_plans", _other_plans),
    DerivedStage("layout_request", layout_request_of),
    DerivedStage("what_if", what_if_plans, slow="Planning with the changes"),
    DerivedStage("simulation", simulation_of, slow="Simulating"),
    DerivedStage("stored_simulation", stored_simulation_of, slow="Simulating, stored and forwarded"),
    DerivedStage("explanation", explained_plan, slow="Explaining the plan"),
    DerivedStage("elsewhere", elsewhere_of, refines=True),
    DerivedStage("layout_choice", layout_choice_of, refines=True),
    DerivedStage("layout_times", layout_times_of, refines=True),
    DerivedStage("planners_plan", planners_plan_of, refines=True),
    DerivedStage("present_layout", present_layout_of, refines=True),
    DerivedStage("requests", requests_of, refines=True),
    DerivedStage("winner_map", winner_map_of, refines=True),
    DerivedStage("turns", turns_of_plan, refines=True),  # what takes longest, after what a person has opened
)
LATER = frozenset(stage.name for stage in STAGES if stage.slow or stage.refines)
"""Stages that take longer than a gesture. `Derived.later` has their outputs by name."""
NOT_ALONE = frozenset({"what_if", "planners_plan"})
"""Stages that set another plan beside that of the settings. A plan that is given stands alone."""
_ORDER = ("memories", "options", "part", "turn", "transfer", "plan", "where", "interval", "other_plans")
"""The stages that need a machine, in the order in which their problems are shown."""


def derive(before: Derived) -> Iterator[Derived]:
    """What follows from `before.settings`, as far as `before.demanded` asks for it; the rest of `before` was derived last.

    It yields better and better successors: what has been yielded can be shown while the rest is being computed.
    """
    settings, demanded = before.settings, before.demanded
    stages = Evaluation(STAGES, _given(before), before.kept)
    ends = {side: stages.of(side) for side in get_args(Side)}
    stale = {side for side, linear in ends.items() if linear is None}
    now = replace(
        before,
        problems=stages.problems,
        space=before.space if (space := stages.of("space")) is None else space,
        fields=before.fields if (fields := stages.of("fields")) is None else fields,
        source=before.source if ends["source"] is None else ends["source"],
        destination=before.destination if ends["destination"] is None else ends["destination"],
        corrections={},
        refines=False,
        kept=stages.keep,
    )
    if "machine" not in demanded:
        # A plan that nobody looks at is not renewed.
        yield replace(now, stale=frozenset(stale | ({"plan"} if now.plan is not None else set())), step="")
        return
    if before.complete != before.derivation_key:
        yield replace(now, stale=frozenset(stale if not stale else {*stale, "plan"}), step="Planning")
    problems: dict[str, Problem] = {}
    for version in _machine_versions(before, problems):
        if version.machine is None:
            stale.add("plan")
            all_problems = {**stages.problems, **problems}
            yield replace(
                now, problems=all_problems, stale=frozenset(stale) if not version.step else now.stale, step=version.step
            )
            continue
        now = replace(now, machine=version.machine, corrections=corrections(now.machine, version.machine, settings))
        if now.corrections:
            yield replace(now, step="")
            return
        # A memory that was moved on the drawing leaves the plan as it is.
        stages.give("machine", version.machine.undrawn)
        if not version.step and (quick := _quickly(now, stages, before)) is not None:
            yield quick
        now = _with_plan(now, stages)
        if not version.step:
            if "plan" in demanded:
                now = replace(now, planned=(settings, before.measurement))
            now = yield from _with_slow_stages(now, stages)
            made = Result((settings.machine, before.measurement), version.machine)
            now = replace(now, kept={**now.kept, "machine": made}, complete=before.derivation_key)
            now = yield from _with_refinements(now, stages)
        yield replace(now, step=version.step)


def _quickly(now: Derived, stages: Evaluation, before: Derived) -> Derived | None:
    """What was derived, with a plan that is found at once; None where the plan is known, or no better one is looked for."""
    if "plan" not in now.demanded or stages.is_kept("plan") or (quick := stages.of("quick_plan")) is None:
        return None
    given = {**_given(before), "machine": stages.of("machine"), "plan": quick}
    alone = replace(now, demanded=now.demanded - {"other_plans"})
    found = _with_plan(alone, Evaluation([stage for stage in STAGES if stage.name != "plan"], given, stages.keep))
    return replace(found, demanded=now.demanded, beside=now.beside, kept=now.kept, step="Looking for a better plan")


def _with_slow_stages(now: Derived, stages: Evaluation) -> Generator[Derived, None, Derived]:
    """What was derived, with the slow stages that are demanded; the plan is shown meanwhile."""
    for stage in STAGES:
        if stage.slow and stage.name in now.demanded and not (stage.name == "what_if" and now.what_if.changes_nothing):
            if not stages.is_kept(stage.name):
                yield replace(now, step=stage.slow)
            now = yield from _with_stage(stage.name, now, stages, step=stage.slow)  # a newer edit ends the stage in there
            now = replace(now, problems=stages.problems, kept=stages.keep)
    return now


def _with_refinements(now: Derived, stages: Evaluation) -> Generator[Derived, None, Derived]:
    """What was derived, with what is demanded beyond what is complete."""
    waits = {"winner_map"} if now.what_if.moving else set()  # a map waits until the slider rests
    for stage in STAGES:
        if stage.refines and stage.name in now.demanded - waits:
            now = yield from _with_stage(stage.name, now, stages, step="", refines=True)
            now = replace(now, kept={**now.kept, **stages.results})
    return now


def _with_stage(name: str, now: Derived, stages: Evaluation, **meanwhile: Any) -> Generator[Derived, None, Derived]:
    """What was derived, with the output of a long stage; its parts are shown `meanwhile`."""
    for part in stages.parts_of(name):
        now = now if part is None else replace(now, later={**now.later, name: part})
        yield replace(now, **meanwhile)
    value = stages.of(name)
    return now if value is None else replace(now, later={**now.later, name: value})


def _machine_versions(before: Derived, problems: dict[str, Problem]) -> Iterable[MachineVersion]:
    """The versions of the chosen machine: the last one if the choice has not changed, else all of them."""
    kept = before.kept.get("machine")
    if kept is not None and kept.inputs == (before.settings.machine, before.measurement):
        return [MachineVersion(kept.value, "")]
    return machine_versions(before.settings.machine, before.measurement, problems)


def _with_plan(now: Derived, stages: Evaluation) -> Derived:
    """What was derived, with all that is demanded of it and follows from the machine."""
    outputs = {name: stages.of(name) for name in ("space", "fields", "source", "destination", *_ORDER) if name in now.demanded}
    stale = {side for side in get_args(Side) if outputs[side] is None}
    plan: Plan | None = outputs.get("plan")
    now = replace(now, problems=stages.problems, kept=stages.keep, beside=outputs.get("other_plans") or ())
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


def derived_of_plan(before: Derived, plan: Plan, machine: Machine) -> Derived:
    """The outputs of the demanded stages for a given plan, in the place of a plan of `before.settings`."""
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
    stages = Evaluation([stage for stage in STAGES if stage.name not in given], {**_given(before), **given}, {})
    stages.give("machine", machine)
    where: Where = stages.of("where")
    names = LATER & before.demanded - NOT_ALONE
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
        interval=stages.of("interval"),
        later={name: value for name in sorted(names) if (value := stages.of(name)) is not None},
        problems={},
        step="",
    )
