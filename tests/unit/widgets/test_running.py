"""Runs: parts and several transfers on real memory, repeats and their spread, notes, cancelling in every phase, advice."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from given.sessions import session_fixture

from isoviz.errors import Cancelled, InputError, RunError
from isoviz.machines import preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import plan as make_plan
from isoviz.runtime.ledger.ledger import LONGEST_NOTE, VARIABLE, ledger, read_notes, write_note
from isoviz.widgets import RunPanel
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.commands.answers import exported_file
from isoviz.widgets.contract import Stage
from isoviz.widgets.panes.run_pane import run_part
from isoviz.widgets.running import joint_run, one_run
from isoviz.widgets.running.past_runs import past_runs
from isoviz.widgets.running.shown_runs import spread_of
from isoviz.widgets.session import Session
from isoviz.widgets.state import State

SMALL = settings_for(
    space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"}, source=("node0.sys", "<F, x, y>"),
    destination=("node0.sys", "<x, y, F>"),
)  # fmt: skip
X = SMALL.dimensions[0].key


@pytest.fixture(autouse=True)
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger of its own."""
    path = tmp_path / "runs.jsonl"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


session = session_fixture(SMALL, "explorer", waits=True)


def part(session: Session, first: str, extent: str, to: str) -> State:
    told = {"ranges": [{"row": X, "first": first, "extent": extent, "to": to}], "leftOut": []}
    session.send({"kind": "part", "part": told, "control": "box"})
    return session.wait()


def test_a_part_runs_verified_and_leaves_the_rest(session: Session) -> None:
    part(session, "16", "8", "0")
    session.run()
    state = session.wait()
    assert state.run.phase == "done", state.run.error
    assert state.run.report is not None and state.run.report.verified is True
    assert state.run.report.bytes == 8 * 32 * 12


@pytest.mark.parametrize("emulated", [False, True])
def test_transfers_run_together_verified(emulated: bool) -> None:
    settings = settings_for(start=SMALL, source=("node0.dsk", "<F, x, y>"))
    if emulated:
        found = preset("two-node")
        made = replace(found, memories=tuple(replace(memory, emulated=True) for memory in found.memories))
        ends = {"source": ("node0.fbm0", "<F, x, y>"), "destination": ("node1.fbm0", "<x, y, F>")}
        settings = settings_for(start=SMALL, machine=made, **ends)
    session = Session(settings)
    session.demand("explorer")
    session.send({"kind": "add-transfer"})
    session.send({"kind": "set", "field": "transfer-priority", "transfer": 2, "value": "5"})
    session.send({"kind": "set", "field": "transfer-begin", "transfer": 2, "value": "0.002"})
    part(session, "8", "16", "40")
    session.run()
    state = session.wait()
    session.close()
    assert state.run.phase == "done", state.run.error
    assert [each.name for each in state.run.transfers] == ["Transfer 1", "Transfer 2"]
    assert all(each.reports[0].verified is True and each.seconds[0] > 0 for each in state.run.transfers)
    assert all(each.simulated is not None and each.simulated >= each.plan.seconds * 0.999 for each in state.run.transfers)
    told = run_part(state)["parts"]
    assert [(each["priority"], each["begin"], each["edited"]) for each in told] == [(0, 0.0, False), (5, 0.002, True)]
    trace = state.run.trace
    assert trace is not None and [span.label for span in trace.transfers] == ["Transfer 1", "Transfer 2"]
    assert trace.begin == 0
    assert min(span.start for span in trace.requests if span.transfer == 1) > 0.002 - 1e-9, "it began at its own time"
    waited = [
        min(span.start for span in trace.requests if span.transfer == number) - begin for number, begin in enumerate((0.0, 0.002))
    ]
    assert min(waited) == pytest.approx(0, abs=1e-4), "what is made ready before the first request is not counted"
    assert (run_part(state)["emulated"] != []) == emulated


def test_equal_transfers_run_together(session: Session) -> None:
    session.send({"kind": "add-transfer"})
    session.send({"kind": "add-transfer"})
    session.run()
    state = session.wait()
    assert state.run.phase == "done", state.run.error
    assert len(state.run.transfers) == 3
    book = ledger()
    assert book is not None
    assert {each.origin for each in book.recent()} == {"together"}
    assert not any(each.is_real for each in book.recent()), "they waited for each other: no evidence for predictions"


def test_one_that_fails_leaves_the_others(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.send({"kind": "add-transfer"})
    part(session, "8", "16", "40")
    whole = Engine.run

    def run(self: Engine, plan: Any, *args: Any, **options: Any) -> Any:
        if plan.transfer.is_partial:
            raise RunError("the disk is full", hop=0)
        return whole(self, plan, *args, **options)

    monkeypatch.setattr(Engine, "run", run)
    session.run()
    state = session.wait()
    assert state.run.phase == "failed"
    assert "Transfer 2" in state.run.error and "the disk is full" in state.run.error
    one, other = state.run.transfers
    assert one.reports[0].verified is True
    assert other.reports == ()
    told = run_part(state)
    assert [each["error"] == "" for each in told["parts"]] == [True, False]
    assert "not disturbed" in told["advice"][0]["text"]


def test_errors_that_must_not_end_a_run_are_logged(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_args: Any, **_options: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setattr("isoviz.measure.trial.trial", broken)
    monkeypatch.setattr("isoviz.runtime.ledger.ledger_entry.entry_of", broken)
    caplog.set_level("INFO", "isoviz")
    session.run()
    assert session.wait().run.phase == "done"
    assert "the trial of a plan failed: no" in caplog.text
    assert "a run could not be added to the ledger" in caplog.text


def test_repeats_have_a_middle_and_a_spread(session: Session) -> None:
    session.repeat(3)
    state = session.wait()
    run = state.run
    assert (run.phase, run.over, run.wanted) == ("done", 3, 3)
    assert len(run.reports) == len(set(run.keys)) == 3
    assert run.report is sorted(run.reports, key=lambda each: each.seconds)[1]
    told = run_part(state)["report"]
    assert told is not None and told["spread"] is not None
    assert told["spread"]["values"] == [each.seconds for each in run.reports]
    assert told["spread"]["low"] <= told["spread"]["median"] == run.report.seconds <= told["spread"]["high"]
    hops = [row["spread"] for row in told["rows"]]
    assert all(each is not None and len(each["values"]) == 3 for each in hops)
    session.send({"kind": "repeat", "times": 0})
    assert "expected 1 to 100" in str(session.wait().refused)


def test_the_middle_of_an_even_number_lies_between_two() -> None:
    assert spread_of([4.0, 1.0, 3.0, 2.0]) == {"values": [4.0, 1.0, 3.0, 2.0], "median": 2.5, "low": 1.0, "high": 4.0}


@pytest.mark.parametrize("stage", ["trial", "generate", "move", "verify"])
@pytest.mark.few(2)
def test_a_run_is_cancelled_in_every_phase(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[Stage] = []
    session: list[Session] = []

    def execute(plan: Any, machine: Any, tell: Any, cancel: threading.Event) -> Any:
        def told(now: Stage, nbytes: int) -> None:
            reached.append(now)
            tell(now, nbytes)
            if now == stage:
                session[0].cancel()
                assert cancel.wait(120)

        return one_run.execute(plan, machine, told, cancel)

    made = Session(settings_for(start=SMALL, space={"x": 512, "y": 256}), execute=execute)
    session.append(made)
    made.demand("explorer")
    made.wait()
    made.run()
    state = made.wait()
    made.close()
    assert reached[-1] == stage
    assert state.run.phase == "cancelled"
    assert state.run.report is None


def test_a_session_is_closed_while_a_run_begins(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another thread, which waits for the run's thread: that can be waited for only once it has started."""
    begun = threading.Thread.start
    errors: list[RuntimeError] = []
    closers: list[threading.Thread] = []

    def close() -> None:
        try:
            session._runner.close()
        except RuntimeError as error:
            errors.append(error)

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith("isoviz-run-"):
            closers.append(threading.Thread(target=close))
            begun(closers[0])
            closers[0].join(0.05)
        begun(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    session.run()
    session.wait()
    closers[0].join(120)
    assert not errors, errors


def test_repeats_are_cancelled_between(session: Session) -> None:
    count = 0

    def execute(plan: Any, machine: Any, tell: Callable[..., None], cancel: threading.Event) -> Any:
        nonlocal count
        count += 1
        if count == 2:
            made.cancel()
            assert cancel.wait(120)
            raise Cancelled("stopped")
        return Engine(machine).run(plan)

    made = Session(SMALL, execute=execute)
    made.demand("explorer")
    made.wait()
    made.repeat(50)
    state = made.wait()
    made.close()
    assert state.run.phase == "cancelled"
    assert (len(state.run.reports), state.run.over) == (1, 1), "what was measured until then is kept"


def test_transfers_are_cancelled_together(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.send({"kind": "add-transfer"})
    session.send({"kind": "set", "field": "transfer-begin", "transfer": 2, "value": "1000"})
    session.wait()
    began = threading.Event()
    outcome = joint_run._outcome
    monkeypatch.setattr(joint_run, "_outcome", lambda *args: (began.set(), outcome(*args))[1])
    session.run()
    assert began.wait(120)
    session.cancel()
    state = session.wait()
    assert state.run.phase == "cancelled", "the second one would have begun in a quarter of an hour"


def test_a_run_does_not_wait_for_slow_stages() -> None:
    from isoviz.widgets.consequences import derive as stages

    go = threading.Event()
    slow = stages.derive

    def held(before: Any) -> Any:
        for now in slow(before):
            yield now
            if now.planned is not None and not now.complete:
                assert go.wait(120)

    made = Session(SMALL, compute=held)
    made.demand("timeline")
    made.run()
    with made._changed:
        assert made._changed.wait_for(lambda: made.state.run.phase == "done", 30)
        assert not made.state.settled
    go.set()
    made.wait()
    made.close()


def test_notes_are_kept_with_runs(session: Session, book: Path) -> None:
    session.run()
    session.wait()
    session.send({"kind": "note", "run": "run 1", "note": "after the coffee break"})
    (own,) = past_runs(session.wait())
    assert own["note"] == "after the coffee break"
    later = Session(SMALL)
    later.demand("run")
    (earlier,) = past_runs(later.wait())
    assert (earlier["number"], earlier["note"]) == (None, "after the coffee break")
    later.send({"kind": "note", "run": earlier["name"], "note": ""})
    assert past_runs(later.wait())[0]["note"] == ""
    later.send({"kind": "note", "run": "run 7", "note": "x"})
    assert "not there" in str(later.wait().refused)
    later.send({"kind": "set", "field": "dimension-size", "row": X, "value": "8"})
    assert past_runs(later.wait()) == [], "runs of another transfer are not listed"
    later.close()


def test_a_run_of_the_session_is_listed_once() -> None:
    """Also where a hop moves whole numbers of bytes: its entry is known again as the ledger has read it."""
    transpose = settings_for(
        space={"x": 64, "y": 32},
        fields={"a": "float64"},
        source=("node0.sys", "<F, x, y>"),
        destination=("node0.sys", "<F, y, x>"),
    )
    session = Session(transpose)
    session.demand("run")
    session.wait()
    session.send({"kind": "repeat", "times": 2})
    state = session.wait()
    assert [run["number"] for run in past_runs(state)] == [1]
    book = ledger()
    assert book is not None
    assert {entry.key for entry in book.recent()} == set(state.run.keys)
    session.close()


def test_notes_of_a_damaged_file_are_none_and_long_ones_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    assert read_notes(path) == {}
    for text in ("", "[1]", "{", '{"a": 1}'):
        path.write_text(text)
        assert read_notes(path) == {}
    write_note(path, ["a", "b"], "x" * (LONGEST_NOTE + 5))
    assert {key: len(note) for key, note in read_notes(path).items()} == {"a": LONGEST_NOTE, "b": LONGEST_NOTE}


def test_the_list_of_runs_is_exported(session: Session) -> None:
    session.repeat(2)
    session.wait()
    name, text = exported_file("runs-json", session.state)
    (run,) = json.loads(text)["runs"]
    assert name.endswith(".json")
    assert (run["runs"], run["outcome"]) == (2, "Verified bit for bit")
    assert {fact["name"] for fact in run["facts"]} >= {"machine", "planner", "source", "chunk"}
    rows = list(csv.DictReader(io.StringIO(exported_file("runs-csv", session.state)[1])))
    assert len(rows) == 1
    assert float(rows[0]["measured_seconds"]) == run["measured"]


def test_advice_after_a_failure_and_a_noisy_repeat() -> None:
    delays = iter([0.0, 0.2, 0.0])

    def execute(plan: Any, machine: Any, tell: Any, cancel: Any) -> Any:
        report = Engine(machine).run(plan)
        return replace(report, seconds=report.seconds + next(delays))

    made = Session(SMALL, execute=execute)
    made.demand("explorer")
    made.wait()
    made.repeat(3)
    (noisy, *_) = run_part(made.wait())["advice"]
    assert "times as long as the quickest" in noisy["text"]
    assert (noisy["act"], noisy["value"]) == ("repeat", "6")
    made.run()
    state = made.wait()  # the delays are used up: a defect, told as a failure
    made.close()
    assert state.run.phase == "failed"
    assert run_part(state)["advice"][0]["act"] == "run"


def test_a_panel_runs_a_transfer_a_plan_and_the_runs_of_an_explorer(session: Session) -> None:
    plan = session.plan
    assert plan is not None
    for given, machine in ((plan.transfer, None), (plan, session.machine), (session, None)):
        panel = RunPanel(given, machine=machine)
        panel.session.wait()
        panel.run()
        panel.session.wait()
        assert panel.report is not None and panel.report.verified is True
        assert panel.report.plan.transfer == plan.transfer
        panel.close()
    session.wait(120)  # the panel did not end it
    for wrong in (3, None):
        with pytest.raises(InputError, match="expected a transfer"):
            RunPanel(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="none beside it"):
        RunPanel(session, machine="local")


def test_a_plan_for_another_machine_is_refused_in_words() -> None:
    machine = preset("two-node")
    made = make_plan(Session(SMALL).settings and _transfer(), machine)
    panel = RunPanel(made, machine=machine)
    panel.run()
    state = panel.session.wait()
    panel.close()
    assert state.run.number == 0
    assert state.notice != ""


def _transfer() -> Any:
    from isoviz import FieldSpace, IndexSpace, Transfer

    return Transfer.whole(IndexSpace(x=8), FieldSpace(a="float32"), "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>")


@pytest.mark.parametrize("name", ["", "x", "a" * 23, "A" * 24, "\x00" * 24, "0" * 1000])
def test_a_note_to_what_is_no_run_is_refused_and_not_kept(session: Session, book: Path, name: str) -> None:
    session.send({"kind": "note", "run": name, "note": "lost"})
    assert "no run has such a name" in str(session.wait().refused)
    assert read_notes(book.with_name("runs.notes.json")) == {}
