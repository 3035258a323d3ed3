"""The graph of stages: what is computed, for whom, and what is not computed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from inspect import signature
from typing import TypeVar

import pytest

from isoviz.errors import InputError
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.consequences import derive as derivation
from isoviz.widgets.consequences.chosen_machine import MachineVersion
from isoviz.widgets.consequences.derive import EVERYTHING, LAYOUTS, STAGES, derive
from isoviz.widgets.consequences.stage_graph import DerivedStage, Evaluation
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.session import Session
from isoviz.widgets.state import Derived, Problem

SMALL = settings_for(machine="two-node", space={"x": 64, "y": 32}, fields={"a": "float32"})


T = TypeVar("T")


def derived(before: Derived) -> Derived:
    """The last that is derived."""
    *_, last = derive(before)
    return last


# ---- stages themselves


def counting(calls: list[str]) -> tuple[DerivedStage, ...]:
    def called(name: str, value: T) -> T:
        calls.append(name)
        return value

    return (
        DerivedStage("sum", lambda problems, a, b: called("sum", a + b)),
        DerivedStage("half", lambda problems, sum: called("half", sum // 2)),  # noqa: A006 - the name of a stage
        DerivedStage("other", lambda problems, c: called("other", c)),
    )


def test_only_what_is_asked_for_is_computed_and_only_where_inputs_changed() -> None:
    calls: list[str] = []
    stages = counting(calls)
    first = Evaluation(stages, {"a": 1, "b": 3, "c": 9}, {})
    assert first.of("half") == 2
    assert calls == ["sum", "half"]
    second = Evaluation(stages, {"a": 2, "b": 3, "c": 8}, first.keep)
    assert second.of("half") == 2
    assert calls == ["sum", "half", "sum", "half"]
    third = Evaluation(stages, {"a": 3, "b": 2, "c": 8}, second.keep)
    assert third.of("half") == 2
    assert calls[4:] == ["sum"], "the sum is the same again, and what follows from it holds"


def test_results_of_stages_that_nobody_asks_for_are_kept_for_those_who_will() -> None:
    calls: list[str] = []
    stages = counting(calls)
    first = Evaluation(stages, {"a": 1, "b": 3, "c": 9}, {})
    first.of("other")
    second = Evaluation(stages, {"a": 1, "b": 3, "c": 9}, first.keep)
    second.of("sum")
    third = Evaluation(stages, {"a": 1, "b": 3, "c": 9}, second.keep)
    third.of("other")
    assert calls == ["other", "sum"]


def test_a_stage_that_lacks_an_input_has_no_output_and_one_that_may_is_called() -> None:
    def needs(problems: dict[str, Problem], a: int) -> int:
        raise AssertionError

    def may(problems: dict[str, Problem], a: int | None) -> int | None:
        problems["control"] = Problem("It is missing")
        return a

    stages = (DerivedStage("needs", needs), DerivedStage("may", may))
    found = Evaluation(stages, {"a": None}, {})
    assert found.of("needs") is None
    assert found.problems == {}
    assert found.of("may") is None
    assert list(found.problems) == ["control"]
    again = Evaluation(stages, {"a": None}, found.keep)
    again.of("may")
    assert list(again.problems) == ["control"], "what is wrong stays wrong while inputs are the same"


def test_a_given_value_may_come_later_and_replaces_what_followed_from_another() -> None:
    calls: list[str] = []
    found = Evaluation(counting(calls), {"a": None, "b": 1, "c": 1}, {})
    assert found.of("sum") is None
    found.give("a", 5)
    assert found.of("half") == 3
    found.give("a", 5)
    found.give("a", 8)
    assert found.of("sum") == 9
    assert calls == ["sum", "half", "sum"]


def test_a_stage_may_wait_for_an_input_that_it_does_not_use() -> None:
    def waits(problems: dict[str, Problem], _a: int) -> str:
        return "over"

    assert DerivedStage("waits", waits).inputs == ("a",)
    assert Evaluation((DerivedStage("waits", waits),), {"a": None}, {}).of("waits") is None
    assert Evaluation((DerivedStage("waits", waits),), {"a": 1}, {}).of("waits") == "over"


# ---- those of the explorer


def test_every_input_is_given_or_the_output_of_a_stage_of_that_type() -> None:
    def kind(annotation: str) -> str:
        return annotation.removesuffix(" | None")

    outputs = {stage.name: kind(str(signature(stage.make).return_annotation)) for stage in STAGES}
    given = derivation._given(Derived(SMALL))
    for stage in STAGES:
        _, *parameters = signature(stage.make).parameters.values()
        for name, parameter in zip(stage.inputs, parameters, strict=True):
            assert (name in given) != (name in outputs), f"{stage.name}: {name}"
            if name in outputs:
                assert kind(str(parameter.annotation)) in (outputs[name], "Memory"), f"{stage.name}: {name}"


@pytest.fixture
def no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes, measures or plans on a machine fails."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a machine was made")

    monkeypatch.setattr("isoviz.widgets.consequences.derive.machine_versions", fail)
    monkeypatch.setattr("isoviz.measure.local_machine.local", fail)
    monkeypatch.setattr("isoviz.measure.local_machine.measured_machine", fail)
    monkeypatch.setattr("isoviz.machines.preset", fail)
    monkeypatch.setattr("isoviz.planner.plan", fail)


@pytest.mark.usefixtures("no_machine")
@pytest.mark.parametrize("pane", ["layout-editor", "linearization"])
def test_a_pane_of_layouts_alone_measures_and_plans_nothing(pane: str) -> None:
    view = Explorer(Settings(), pane=pane)
    session = view.session
    session.wait()
    session.send({"kind": "set", "field": "source-layout", "value": "<y, F, x>"})
    state = session.wait()
    assert state.defect == ""
    assert state.derived.problems == {}
    assert str(state.derived.source.layout) == "<y, F, x>"  # type: ignore[union-attr]
    assert state.derived.machine is None
    view.close()


@pytest.mark.usefixtures("no_machine")
def test_a_session_without_views_knows_its_layouts_until_somebody_asks_for_more() -> None:
    session = Session(SMALL)
    release = session.demand("layout-editor")
    state = session.wait()
    assert (state.defect, state.derived.machine) == ("", None)
    assert state.derived.source is not None
    release()
    session.close()


def test_a_session_in_python_has_a_plan_when_it_is_waited_for() -> None:
    session = Session(SMALL)
    assert session.wait().derived.plan is not None
    assert session.plan is not None
    session.close()


def test_who_observes_the_plan_demands_it() -> None:
    session = Session(SMALL)
    seen: list[object] = []
    session.observe(lambda change: seen.append(change["new"]), names="plan")
    session.wait()
    assert seen and seen[-1] == session.plan
    session.close()


def test_a_view_that_opens_gets_what_it_needs_and_one_that_closes_takes_its_demand_away() -> None:
    session = Session(SMALL)
    layouts = session.demand("layout-editor")
    assert session.wait().derived.plan is None
    whole = session.demand("explorer")
    planned = session.wait()
    assert planned.derived.plan is not None
    assert planned.derived.stale == frozenset()
    whole()
    session.send({"kind": "set", "field": "source-layout", "value": "<y, F, x>"})
    state = session.wait()
    assert state.derived.plan is planned.derived.plan, "nobody looks at it"
    assert "plan" in state.derived.stale
    assert session.plan is None
    layouts()
    session.close()


def test_a_pane_of_the_machine_plans_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.planner.plan", lambda *_, **__: pytest.fail("a plan was made"))
    view = Explorer(SMALL, pane="machine")
    state = view.session.wait()
    assert state.derived.machine is not None
    assert (state.derived.plan, state.defect) == (None, "")
    assert view.part_machine is None or view.part_machine["name"] == "two-node"
    view.close()


def test_a_view_that_there_is_not_is_refused() -> None:
    session = Session(SMALL)
    with pytest.raises(InputError, match="view 'film': expected one of explorer, elsewhere, find-layout, layout-editor"):
        session.demand("film")
    session.close()


def test_every_view_demands_the_layouts() -> None:
    assert all(demand >= LAYOUTS for demand in VIEWS.values())


def test_a_limit_changes_no_layout_and_a_layout_no_machine() -> None:
    first = derived(Derived(SMALL, demanded=EVERYTHING))
    second = derived(replace(first, settings=replace(SMALL, slot_limit="1MiB")))
    for name in ("space", "fields", "source", "destination", "machine", "memories", "transfer"):
        assert second.kept[name].value is first.kept[name].value, name
    assert second.kept["options"] is not first.kept["options"]
    third = derived(replace(second, settings=replace(second.settings, source=replace(SMALL.source, layout="<y, F, x>"))))
    assert third.machine is second.machine
    assert third.kept["destination"] is second.kept["destination"]
    assert third.plan != second.plan


def test_settings_that_come_back_find_their_results_where_nothing_lay_between() -> None:
    first = derived(Derived(SMALL, demanded=EVERYTHING))
    wrong = derived(replace(first, settings=replace(SMALL, source=replace(SMALL.source, layout="<F, x"))))
    assert wrong.plan is first.plan
    assert wrong.stale == {"source", "plan"}
    assert wrong.kept["destination"] is first.kept["destination"]
    back = derived(replace(wrong, settings=SMALL))
    assert back.stale == frozenset()
    assert back.plan == first.plan


def test_the_last_plan_stays_with_the_machine_it_was_made_on() -> None:
    first = derived(Derived(SMALL, demanded=EVERYTHING))
    other = derived(
        replace(first, settings=replace(SMALL, machine=settings_for(machine="sapling").machine, planner="no such planner"))
    )
    assert other.machine is not None and other.machine.name == "sapling"
    assert (other.plan, other.planned_on) == (first.plan, first.machine)
    assert "plan" in other.stale


def test_a_better_machine_replaces_the_one_that_was_planned_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.machines import preset

    slow, quick = preset("sapling"), preset("two-node")

    def machine_versions(*_: object) -> Iterator[MachineVersion]:
        yield MachineVersion(slow, "Measuring this computer: memory")
        yield MachineVersion(slow, "Measuring this computer: disk")
        yield MachineVersion(replace(quick, name=slow.name), "")

    monkeypatch.setattr(derivation, "machine_versions", machine_versions)
    steps = list(derive(Derived(SMALL, demanded=EVERYTHING)))
    assert [each.step for each in steps] == [
        "Planning", "Measuring this computer: memory", "Measuring this computer: disk", "Looking for a better plan", "",
    ]  # fmt: skip
    assert steps[1].plan is steps[2].plan is not None
    assert steps[4].plan != steps[1].plan
    assert steps[4].planned_on == replace(quick, name=slow.name)
    assert "machine" not in steps[1].kept, "what is on the way is not kept"


def test_a_quick_plan_is_shown_until_full_has_found_a_better_one() -> None:
    ends = {"source": ("node0.fbm0", "<F, x, y>"), "destination": ("node1.fbm0", "<F, y, x>")}
    turned = settings_for(machine="two-node", space={"x": 1000, "y": 77}, fields={"a": "complex128"}, **ends)
    steps = list(derive(Derived(turned, demanded=EVERYTHING)))
    quick, best = (each for each in steps if each.plan is not None)
    assert quick.plan is not None and best.plan is not None
    assert (quick.plan.planner, best.plan.planner) == ("simple", "full")
    assert quick.step == "Looking for a better plan" and quick.complete != quick.derivation_key
    assert quick.where is not None and "plan" not in quick.stale
    assert best.plan.seconds < 0.9 * quick.plan.seconds
    # What is known is not looked for again, and no other planner is stood in for.
    again = list(derive(replace(best, runs=1)))
    assert {each.plan for each in again} == {best.plan}
    named = replace(turned, planner="simple")
    assert {each.plan.planner for each in derive(Derived(named, demanded=EVERYTHING)) if each.plan is not None} == {"simple"}
    impossible = replace(turned, memory_limit="1")
    assert "memory-limit" in derived(Derived(impossible, demanded=EVERYTHING)).problems


def test_a_run_that_ends_renews_the_interval_and_nothing_else() -> None:
    first = derived(Derived(SMALL, demanded=EVERYTHING))
    steps = list(derive(replace(first, runs=1)))
    assert [each.step for each in steps] == [""]
    changed = {name for name in first.kept if steps[-1].kept[name] is not first.kept[name]}
    assert changed <= {"interval", "machine"}


# ---- measuring on demand


def test_this_computer_is_measured_afresh_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, int]] = []

    def machine_versions(choice: object, measurement: int, _problems: object) -> Iterator[MachineVersion]:
        asked.append((choice, measurement))
        yield MachineVersion(machine, "Measuring this computer: disk, 40 %")
        yield MachineVersion(machine, "")

    machine = derived(Derived(replace(SMALL, machine=settings_for(machine_options={"measure": "assumed"}).machine),
                              demanded=EVERYTHING)).machine  # fmt: skip
    monkeypatch.setattr(derivation, "machine_versions", machine_versions)
    start = settings_for(start=SMALL, machine="local", machine_options={"measure": "assumed"})
    session = Session(start)
    session.wait()
    session.send({"kind": "measure"})
    state = session.wait()
    assert state.defect == ""
    assert [measurement for _, measurement in asked] == [0, state.measurement]
    assert state.measurement > 0
    assert state.settings.machine == settings_for(machine="local").machine, "measured figures are no assumed ones"
    session.send({"kind": "set", "field": "planner", "value": "simple"})
    session.wait()
    assert len(asked) == 2, "once"
    session.undo()
    session.undo()
    assert session.wait().settings == start
    session.close()


def test_another_computer_cannot_be_measured() -> None:
    session = Session(SMALL)
    session.send({"kind": "measure"})
    state = session.wait()
    assert state.refused is not None
    assert state.refused.message == "measure: the machine is 'two-node'; only this computer can be measured"
    session.close()


# ---- what a part of a view watches, and slow stages


def test_a_view_watches_what_it_shows_and_nothing_more() -> None:
    session = Session(SMALL)
    try:
        session.send({"kind": "watch", "views": ["plan"], "client": "one", "number": 1})
        assert session.wait().demanded == EVERYTHING
        session.send({"kind": "watch", "views": ["nothing"], "client": "one", "number": 2})
        state = session.wait()
        assert state.refused is not None
        assert "nothing" in state.refused.message
        session.send({"kind": "watch", "views": ["machine"], "client": "two", "number": 1})
        session.send({"kind": "watch", "views": [], "client": "one", "number": 3})
        assert session.wait().watched["two"] == VIEWS["machine"]
        assert session.state.watched["one"] == frozenset()
    finally:
        session.close()


def test_slow_stages_come_after_the_plan_and_only_where_something_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def slow(_problems: dict[str, Problem], plan: object) -> object:
        calls.append(plan)
        return plan, "explained"

    monkeypatch.setattr(derivation, "STAGES", (*derivation.STAGES, DerivedStage("slow", slow, slow="Explaining")))
    steps = list(derive(Derived(SMALL, demanded=EVERYTHING | {"slow"})))
    shown = next(step for step in steps if step.step == "Explaining")
    assert shown.plan is not None
    assert not shown.later
    assert steps[-1].later["slow"] == (shown.plan, "explained")
    again = list(derive(replace(steps[-1], settings=replace(SMALL, slot_limit="1 GiB"))))
    assert again[-1].later["slow"][0] == again[-1].plan
    assert len(calls) == (1 if again[-1].plan == shown.plan else 2)
    assert all(step.step != "Explaining" for step in derive(again[-1]))
