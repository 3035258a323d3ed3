"""Measured traces of the runs of a session: each run keeps one, and the oldest make room for new ones."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from given.questions import answer_to

from isoviz.runtime.ledger.ledger import VARIABLE
from isoviz.runtime.trace.trace import RequestSpan
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.commands.answers import exported_file
from isoviz.widgets.running import run_thread
from isoviz.widgets.running.past_runs import past_runs
from isoviz.widgets.session import Session
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import TraceMessage


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session in this process, with a ledger of its own."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "runs.jsonl"))
    ends = {"source": ("node0.sys", "<F, x, y>"), "destination": ("node0.sys", "<x, y, F>")}
    made = Session(settings_for(space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"}, **ends))
    made.demand("explorer")
    made.wait()
    yield made
    made.close()


def measured(state: State, run: str) -> TraceMessage:
    return answer_to({"kind": "trace", "which": "measured", "run": run}, state).message


def test_every_run_keeps_one_trace(session: Session) -> None:
    for _ in range(2):
        session.run()
        session.wait()
    session.repeat(3)
    state = session.wait()
    new, *older = state.history
    assert new.trace is not None and [each.trace for each in new.reports] == [None] * 3
    assert exported_file("trace", state)[0] == "isoviz-trace-measured.json"
    assert [len(run.reports) for run in older] == [1, 1]
    for run in older:
        assert run.trace is not None and run.report is not None
        assert [run.report.trace, *(each.trace for each in run.reports)] == [None, None], "its requests are kept once"
    for run in state.history:
        head = measured(state, f"run {run.number}")["trace"]
        assert head is not None and run.trace is not None
        assert (head["id"], head["seconds"]) == (f"run {run.number}", run.trace.seconds)
    session.send({"kind": "add-transfer"})
    session.repeat(2)
    together = session.wait()
    assert [each.trace for moved in together.run.transfers for each in moved.reports] == [None] * 4
    assert together.run.trace is not None and len(together.run.trace.transfers) == 2
    assert together.history[1].trace is not None
    session.send({"kind": "set", "field": "machine", "value": "two-node"})
    lanes = measured(session.wait(), "run 1")["trace"]
    assert lanes is not None and [lane["title"] for lane in lanes["lanes"]] == ["memory copy"], "words of the machine of the run"


def test_the_oldest_traces_make_room_for_new_ones(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run()
    first = session.wait().run.trace
    assert first is not None
    monkeypatch.setattr(run_thread, "MOST_TRACE_BYTES", 2 * len(first.requests) * run_thread.REQUEST_BYTES)
    for _ in range(3):
        session.run()
        session.wait()
    state = session.wait()
    assert [run["timeline"] for run in past_runs(state)] == ["kept", "kept", "dropped", "dropped"]
    assert "run 2 is not kept" in measured(state, "run 2")["error"]
    assert measured(state, "run 3")["error"] == ""
    monkeypatch.setattr(run_thread, "MOST_TRACE_BYTES", 1)
    session.run()
    state = session.wait()
    assert [run["timeline"] for run in past_runs(state)][:2] == ["kept", "dropped"], "the newest stays, however long it is"


def test_a_request_of_a_trace_takes_as_much_memory_as_is_counted() -> None:
    count = 10_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        requests = tuple([RequestSpan(0, 1, chunk, 0, 1e-9 * chunk, 2e-9 * chunk) for chunk in range(1000, 1000 + count)])
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(requests) == count and used / count == pytest.approx(run_thread.REQUEST_BYTES, rel=0.25)
