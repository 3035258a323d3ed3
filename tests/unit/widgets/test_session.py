"""The session behind the explorer: edits, problems, plans, runs; without a browser."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from given.sessions import session_fixture

from isoviz.errors import Cancelled, InputError, RunError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.widgets.chosen.machine_choice import THIS_COMPUTER
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.commands import explorer_commands
from isoviz.widgets.notebook import static_picture
from isoviz.widgets.running.past_runs import past_runs
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot
from isoviz.widgets.state import Derived, State

ASSUMED = {"measure": "assumed"}
SMALL = settings_for(machine_options=ASSUMED, space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"})

session = session_fixture(SMALL)


def put(session: Session, field: str, value: str, **more: object) -> None:
    session.send({"kind": "set", "field": field, "value": value, **more})


def test_it_begins_with_a_plan_and_has_pictures(session: Session) -> None:
    state = session.wait()
    assert state.derived.problems == {}
    assert session.plan is not None
    assert session.plan.bytes == 64 * 32 * 12
    assert session.machine.name == "local"
    pictures = [static_picture._picture_of(name, state.derived, 620) for name in ("source", "destination", "path")]
    assert all(picture.startswith("<svg") for picture in pictures)


def test_a_change_of_the_layout_changes_its_end_and_the_plan(session: Session) -> None:
    before = session.wait()
    put(session, "source-layout", "<y, F, x>")
    after = session.wait()
    assert str(after.derived.source.layout) == "<y, F, x>"  # type: ignore[union-attr]
    assert after.derived.destination is before.derived.destination
    assert session.plan is not None
    assert str(session.plan.transfer.source.layout) == "<y, F, x>"


@pytest.mark.parametrize(
    ("field", "value", "control", "words"),
    [
        ("source-layout", "<F, x, q>", "source-layout", "'q' is not a dimension"),
        ("source-layout", "<F, x>", "source-layout", "'y' is missing"),
        ("destination-layout", "<x_in=128, F, x_out, y>", "destination-layout", "larger than dimension"),
        ("destination-layout", "<F, F, x, y>", "destination-layout", "F appears twice"),
        ("destination-memory", "node7.fbm3", "destination-memory", "node7.fbm3"),
        ("slot-limit", "much", "slot-limit", "not a size|expected"),
        ("memory-limit", "3 bananas", "memory-limit", "expected"),
        ("planner", "magic", "planner", "magic"),
        ("memory-limit", "0", "memory-limit", "at least one byte"),
    ],
)
def test_a_mistake_is_told_at_its_control(session: Session, field: str, value: str, control: str, words: str) -> None:
    session.wait()
    put(session, field, value)
    state = session.wait()
    assert list(state.derived.problems) == [control]
    assert re.search(words, state.derived.problems[control].message)
    assert "plan" in state.derived.stale
    assert session.plan is None
    assert state.defect == ""
    told = snapshot(state, 1)
    assert told["panes"]["run"]["now"]["canRun"] is False
    assert told["panes"]["run"]["now"]["reason"] != ""


def test_the_offending_character_is_known(session: Session) -> None:
    put(session, "source-layout", "<F, x, ?>")
    problem = session.wait().derived.problems["source-layout"]
    assert (problem.text, problem.position) == ("<F, x, ?>", 7)
    put(session, "source-layout", "<F, x, y_out, y_in=4, q_out, q_in=2>")
    problem = session.wait().derived.problems["source-layout"]
    assert problem.text is not None and problem.position is not None
    assert problem.text[problem.position :].startswith("q_out")


@pytest.mark.parametrize("name", ["F", "x_in", "y", "", "1a", "a b"])
def test_a_name_that_cannot_be_is_told_at_its_row_only_and_leaves_the_layouts_alone(session: Session, name: str) -> None:
    first, second = SMALL.dimensions
    put(session, "dimension-name", name, row=first.key)
    state = session.wait()
    assert list(state.derived.problems) == [f"dimension:{second.key if name == 'y' else first.key}"]
    assert (state.settings.source.layout, state.settings.destination.layout) == ("<F, x, y>", "<x, y, F>")
    put(session, "dimension-name", "row", row=first.key)
    state = session.wait()
    assert state.derived.problems == {}
    assert (state.settings.source.layout, state.settings.destination.layout) == ("<F, row, y>", "<row, y, F>")


def test_a_transfer_that_cannot_be_sends_nobody_to_a_marked_control(session: Session) -> None:
    for row in SMALL.dimensions:
        put(session, "dimension-size", "1000000", row=row.key)
    state = session.wait()
    assert list(state.derived.problems) == ["transfer"]
    told = snapshot(state, 1)
    assert "marked" not in told["panes"]["run"]["now"]["reason"]
    assert told["panes"]["run"]["now"]["canRun"] is False


def test_a_dimension_removed_while_its_name_cannot_be_leaves_the_layouts_too(session: Session) -> None:
    first = SMALL.dimensions[0]
    put(session, "dimension-name", "y", row=first.key)
    session.send({"kind": "remove-dimension", "row": first.key})
    state = session.wait()
    assert state.derived.problems == {}
    assert (state.settings.source.layout, state.settings.destination.layout) == ("<F, y>", "<y, F>")


def test_a_wrong_option_of_the_machine_is_told_at_that_option(session: Session) -> None:
    put(session, "machine-option", "/no/such/directory", name="directory")
    put(session, "machine-option", "assumed", name="measure")
    assert list(session.wait().derived.problems) == ["machine-option:directory"]


def test_an_observer_that_raises_is_shown_and_does_not_end_the_session(session: Session) -> None:
    session.wait()

    def broken(change: object) -> None:
        raise ValueError("of the observer")

    session.observe(broken, names=["state", "plan"])
    put(session, "source-layout", "<y, F, x>")
    assert "of the observer" in session.wait().defect
    put(session, "source-layout", "<x, F, y>")
    assert str(session.wait().derived.plan.transfer.source.layout) == "<x, F, y>"


@pytest.mark.parametrize("size", ["", "0", "-3", "4.5", "many", "9" * 30])
def test_a_wrong_size_is_told_at_its_row_and_keeps_what_was_typed(session: Session, size: str) -> None:
    row = SMALL.dimensions[1]
    put(session, "dimension-size", size, row=row.key)
    state = session.wait()
    assert list(state.derived.problems) == [f"dimension:{row.key}"]
    assert state.settings.dimensions[1].value == size
    assert state.derived.stale == {"source", "destination", "plan"}


def test_wrong_layouts_are_told_even_while_sizes_are_wrong(session: Session) -> None:
    put(session, "dimension-size", "0", row=SMALL.dimensions[0].key)
    put(session, "source-layout", "<F, x, q>")
    assert len(session.wait().derived.problems) == 2


def test_a_wrong_dtype_and_two_of_one_name_are_told_at_their_rows(session: Session) -> None:
    first, second = SMALL.fields
    put(session, "field-dtype", "flot32", row=first.key)
    assert list(session.wait().derived.problems) == [f"field:{first.key}"]
    put(session, "field-dtype", "float32", row=first.key)
    put(session, "field-name", "a", row=second.key)
    assert list(session.wait().derived.problems) == [f"field:{second.key}"]


def test_a_corrected_mistake_is_forgotten(session: Session) -> None:
    put(session, "source-layout", "<F, x")
    assert session.wait().derived.problems
    put(session, "source-layout", "<F, x, y>")
    state = session.wait()
    assert state.derived.problems == {}
    assert state.derived.stale == frozenset()
    assert session.plan is not None


def test_a_new_dimension_joins_both_layouts_and_leaves_them_when_removed(session: Session) -> None:
    session.send({"kind": "add-dimension"})
    state = session.wait()
    assert state.settings.source.layout == "<F, x, y, z>"
    assert state.settings.destination.layout == "<x, y, F, z>"
    assert state.derived.problems == {}
    session.send({"kind": "remove-dimension", "row": state.settings.dimensions[0].key})
    assert session.wait().settings.source.layout == "<F, y, z>"


def test_a_renamed_dimension_is_renamed_in_the_layouts(session: Session) -> None:
    put(session, "source-layout", "<x_in=4, F, x_out, y>")
    put(session, "dimension-name", "row", row=SMALL.dimensions[0].key)
    state = session.wait()
    assert state.settings.source.layout == "<row_in=4, F, row_out, y>"
    assert state.settings.destination.layout == "<row, y, F>"
    assert state.derived.problems == {}


def test_an_edit_of_a_row_that_is_gone_is_refused_in_words(session: Session) -> None:
    session.send({"kind": "remove-field", "row": 12345})
    session.send({"kind": "fly"})
    state = session.wait()
    assert state.refused is not None and "fly" in state.refused.message
    assert state.settings == SMALL


def test_another_machine_gets_the_nearest_memories(session: Session) -> None:
    session.wait()
    put(session, "machine", "two-node")
    put(session, "destination-memory", "node1.fbm0")
    assert session.wait().derived.problems == {}
    put(session, "machine", "local")
    state = session.wait()
    assert state.settings.destination.memory == "node0.sys"
    assert "node0.sys" in state.notice
    assert state.derived.problems == {}


def test_a_machine_of_other_computers_is_planned_on_but_not_run(session: Session) -> None:
    put(session, "machine", "sapling")
    put(session, "destination-memory", "node1.fbm0")
    state = session.wait()
    assert session.plan is not None
    told = snapshot(state, 1)["panes"]["run"]["now"]
    assert told["canRun"] is False and told["offerLocal"] is True and "another computer" in told["reason"]
    session.run()
    assert session.wait().run.number == 0
    session.send({"kind": "use-local"})
    state = session.wait()
    assert (state.settings.machine, state.settings.destination.memory) == (THIS_COMPUTER, "node0.sys")
    assert snapshot(state, 1)["panes"]["run"]["now"]["canRun"] is True


def test_a_machine_option_that_is_no_number_is_told_at_the_option(session: Session) -> None:
    put(session, "machine", "sapling")
    put(session, "machine-option", "two", name="nodes")
    assert list(session.wait().derived.problems) == ["machine-option:nodes"]
    put(session, "machine-option", "3", name="nodes")
    assert len({memory.node for memory in session.wait().derived.machine.memories}) == 3  # type: ignore[union-attr]


def test_more_than_the_memory_is_planned_but_not_run(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.widgets.consequences.where_it_runs.available_memory", lambda: 1000)
    put(session, "source-memory", "node0.sys")
    state = session.wait()
    assert session.plan is not None
    assert "memory" in snapshot(state, 1)["panes"]["run"]["now"]["reason"]


def test_a_real_run_is_verified_and_kept_in_the_history(session: Session) -> None:
    session.wait()
    session.run()
    state = session.wait()
    assert state.run.phase == "done", state.run.error
    assert session.report is not None and session.report.verified is True
    told = snapshot(state, 1)["panes"]["run"]["report"]
    assert told["verified"] is True
    assert told["rows"][0]["name"] == "overall"
    assert len(told["rows"]) == 1 + len(session.report.plan.hops)
    session.run()
    assert [run.number for run in session.wait().history] == [2, 1]
    session.send({"kind": "forget"})
    assert session.wait().history == ()


def test_a_run_says_what_its_copies_were_tried_to_take(session: Session) -> None:
    """The plan and the trial may say different times: both are told, in the report and in the list of runs."""
    for end, layout in (("source", "<F, x, y>"), ("destination", "<x, y, F>")):
        put(session, f"{end}-memory", "node0.sys")
        put(session, f"{end}-layout", layout)
    session.wait()
    session.run()
    state = session.wait()
    report = session.report
    assert report is not None and report.tried is not None and report.record is not None and report.plan == session.plan
    told = snapshot(state, 1)["panes"]["run"]
    (listed,) = past_runs(state)
    assert told["report"]["triedSeconds"] == report.tried.seconds == listed["tried"]
    assert told["report"]["plannedSeconds"] == report.plan.seconds == listed["planned"]
    assert told["report"]["trialLeads"] == report.trial_leads and told["report"]["basis"] == report.record.words
    for seconds, said in ((0.02 * report.seconds, 0.02 * report.seconds), (0.005 * report.seconds, None)):
        late = replace(report, buffer_seconds=seconds)
        told = snapshot(replace(state, run=replace(state.run, report=late, reports=(late,))), 1)["panes"]["run"]
        assert told["report"]["bufferSeconds"] == said, "the time in which the system gave memory, where it is worth a word"


def test_the_snapshot_is_json_and_tells_of_the_newest_command(session: Session) -> None:
    session.send({"kind": "hello", "client": "a", "number": 3})
    session.send({"kind": "set", "field": "planner", "value": "simple", "client": "b", "number": 8})
    session.send({"kind": "hello", "client": "a", "number": 2})
    told = json.loads(json.dumps(snapshot(session.wait(), 5)))
    assert told["frame"]["acknowledged"] == {"a": 3, "b": 8}
    assert told["frame"]["revision"] == 5
    assert told["frame"]["settled"] is True


# ---- runs and computations under the test's control


class Gate:
    """A run that goes on when told."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.go = threading.Event()
        self.error: Exception | None = None

    def __call__(self, plan, machine, tell, cancel):  # type: ignore[no-untyped-def]
        tell("move", 100)
        self.started.set()
        while not self.go.wait(0.01):
            if cancel.is_set():
                raise Cancelled("stopped")
        if self.error is not None:
            raise self.error
        from isoviz.measure.local_engine import Engine

        return Engine(machine).run(plan)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def gated(gate: Gate) -> Iterator[Session]:
    made = Session(SMALL, execute=gate)
    made.wait()
    yield made
    made.close()


def test_run_returns_at_once_and_a_second_one_is_refused(gated: Session, gate: Gate) -> None:
    gated.run()
    assert gate.started.wait(120)
    gated.run()
    wait_until(gated, lambda: gated.state.notice != "")
    assert "under way" in gated.state.notice
    assert gated.state.run.number == 1
    assert (gated.state.run.stage, gated.state.run.bytes_done) == ("move", 100)
    gate.go.set()
    state = gated.wait()
    assert state.run.phase == "done"
    assert state.notice == "", "what was said about the second one is over"


def test_a_run_asked_for_right_after_an_edit_is_a_run_of_what_was_entered(gated: Session, gate: Gate) -> None:
    gate.go.set()
    put(gated, "dimension-name", "row", row=SMALL.dimensions[0].key)
    gated.run()
    state = gated.wait()
    assert state.run.phase == "done"
    assert "<F, row, y>" in state.run.transfer_text
    assert state.notice == ""


def test_a_run_is_planned_where_nobody_has_asked_for_a_plan(gate: Gate) -> None:
    gate.go.set()
    for view in (None, "layout-editor"):
        session = Session(SMALL, execute=gate)
        if view is not None:
            session.demand(view)
            assert session.wait().derived.plan is None
        session.run()
        assert session.wait().run.phase == "done"
        session.close()


def test_a_run_asked_for_right_after_a_mistake_does_not_begin(gated: Session) -> None:
    put(gated, "source-layout", "<F, x")
    gated.run()
    state = gated.wait()
    assert state.run.number == 0
    assert state.notice.startswith("There is no plan to run. The text ends")


def test_editing_goes_on_while_a_run_is_under_way_and_the_report_keeps_its_plan(gated: Session, gate: Gate) -> None:
    planned = gated.plan
    gated.run()
    assert gate.started.wait(120)
    put(gated, "source-layout", "<y, x, F>")
    wait_until(gated, lambda: gated.state.settled and gated.plan is not None and gated.plan != planned)
    gate.go.set()
    state = gated.wait()
    assert state.run.plan == planned
    assert "<F, x, y>" in state.run.transfer_text


def test_a_cancelled_run_says_so(gated: Session, gate: Gate) -> None:
    gated.run()
    assert gate.started.wait(120)
    gated.cancel()
    state = gated.wait()
    assert state.run.phase == "cancelled"
    assert state.run.report is None
    assert gated.report is None


@pytest.mark.parametrize("error", [RunError("the disk is full", hop=1), ZeroDivisionError("oh")])
def test_a_failed_run_says_why_and_the_next_one_can_start(gated: Session, gate: Gate, error: Exception) -> None:
    gate.error = error
    gate.go.set()
    gated.run()
    state = gated.wait()
    assert state.run.phase == "failed"
    assert str(error) in state.run.error
    gate.error = None
    gated.run()
    assert gated.wait().run.phase == "done"


def test_closing_cancels_a_run_and_ends_every_thread(gate: Gate) -> None:
    before = set(threading.enumerate())
    session = Session(SMALL, execute=gate)
    session.wait()
    session.run()
    assert gate.started.wait(120)
    session.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(120)
    assert set(threading.enumerate()) <= before


def test_a_burst_of_edits_computes_the_newest_and_not_all() -> None:
    computed: list[str] = []
    first = threading.Event()
    go = threading.Event()

    def compute(base: Derived) -> Iterator[Derived]:
        computed.append(base.settings.planner)
        first.set()
        assert go.wait(120)
        yield base

    session = Session(SMALL, compute=compute)
    assert first.wait(120)
    for number in range(50):
        put(session, "planner", f"p{number}")
    wait_until(session, lambda: session.settings.planner == "p49")
    go.set()
    assert session.wait().derived.settings.planner == "p49"
    assert len(computed) < 10
    session.close()


def test_a_computation_that_takes_long_does_not_hold_up_a_newer_edit() -> None:
    stuck = threading.Event()
    free = threading.Event()

    def compute(base: Derived) -> Iterator[Derived]:
        if base.settings.planner == "slow":
            stuck.set()
            assert free.wait(120)
        yield base

    session = Session(SMALL, compute=compute)
    session.wait()
    put(session, "planner", "slow")
    assert stuck.wait(120)
    put(session, "planner", "quick")
    assert session.wait(120).derived.settings.planner == "quick"
    free.set()
    session.close()


def test_a_defect_is_shown_and_the_session_lives_on() -> None:
    def compute(base: Derived) -> Iterator[Derived]:
        if base.settings.planner == "broken":
            raise RuntimeError("not thought of")
        yield replace(base, step="")

    session = Session(SMALL, compute=compute)
    session.wait()
    put(session, "planner", "broken")
    assert "RuntimeError: not thought of" in session.wait().defect
    put(session, "planner", "fine")
    assert session.wait().defect == ""
    session.close()


def test_listeners_hear_of_changes_until_they_stop(session: Session) -> None:
    session.wait()
    heard: list[bool] = []
    stop = session.listen(heard.append)
    put(session, "slot-limit", "1MiB")
    session.wait()
    assert True in heard
    stop()
    count = len(heard)
    put(session, "slot-limit", "2MiB")
    session.wait()
    assert len(heard) == count


def wait_until(session: Session, condition) -> None:  # type: ignore[no-untyped-def]
    """Wait for the state, not for a time."""
    changed = threading.Event()
    stop = session.listen(lambda _finished: changed.set())
    try:
        while not condition():
            assert changed.wait(120), "the session stands still"
            changed.clear()
    finally:
        stop()


# ---- where to begin


def test_explore_takes_values_of_its_own() -> None:
    chosen = settings_for(space={"i": 5}, source=("node0.sys", "<i, F>"), slot_limit="1MiB", planner="direct")
    assert chosen.source.layout == "<i, F>"
    assert chosen.destination.layout == "<i, F>"
    assert (chosen.slot_limit, chosen.planner) == ("1MiB", "direct")
    assert settings_for() == Settings()


def test_an_end_that_is_no_pair_is_refused() -> None:
    with pytest.raises(InputError, match="a memory and a layout"):
        settings_for(source="node0.sys")


def test_a_pane_that_there_is_not_is_refused_in_words() -> None:
    explorer_module = pytest.importorskip("isoviz.widgets.explorer")
    with pytest.raises(InputError, match="pane 'plans': expected one of explorer, elsewhere, find-layout, layout-editor"):
        explorer_module.Explorer(SMALL, pane="plans")


@pytest.mark.parametrize("times", [101, 0, -3, 10**30])
def test_a_number_of_runs_that_cannot_be_is_refused_before_there_is_a_plan(times: int) -> None:
    session = Session(SMALL)
    session.repeat(times)
    state = session.wait()
    session.close()
    assert state.refused is not None and "expected 1 to 100" in state.refused.message
    assert state.awaited == 0 and state.defect == "" and state.run.phase == "idle"


def test_a_defect_in_one_command_loses_no_other(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> State:
        raise ZeroDivisionError("broken")

    session.wait()
    monkeypatch.setitem(explorer_commands._BARE, "hello", broken)
    session.send({"kind": "hello", "client": "view", "number": 7})
    put(session, "slot-limit", "1 MiB")
    state = session.wait()
    assert state.acknowledged == {"view": 7}
    assert state.settings.slot_limit == "1 MiB"


def test_spaces_say_the_same_as_their_names_and_values() -> None:
    named = settings_for(space={"x": 64, "y": 48}, fields={"re": "float32", "im": "float64"})
    assert settings_for(space=IndexSpace(x=64, y=48), fields=FieldSpace(re="f4", im="f8")) == named
