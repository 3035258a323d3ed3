"""Traces of the explorer: simulations as stages, columns for the browser, steps in words, urgent transfers, a trace alone."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given.questions import answer_to
from given.sessions import session_fixture

from isoviz.errors import InputError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Options, Plan, Transfer, plan
from isoviz.runtime import Simulator, Trace, simulate
from isoviz.scheduling.work import Done, Issue
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.chosen.transfers import with_urgent
from isoviz.widgets.consequences.derive import LATER
from isoviz.widgets.consequences.stage_graph import DerivedStage, Evaluation
from isoviz.widgets.panes.trace_pane import trace_part
from isoviz.widgets.session import Session
from isoviz.widgets.state import State
from isoviz.widgets.traces import simulating
from isoviz.widgets.traces.session_traces import PackedTrace, packed
from isoviz.widgets.views.trace_view import TraceView

TWO = preset("two-node")
PIPED = settings_for(
    machine="two-node",
    space={"x": 256, "y": 128},
    fields={"a": "float64"},
    source=("node0.fbm0", "<F, x, y>"),
    destination=("node1.fbm0", "<F, y, x>"),
    slot_limit="16KiB",
)


def a_plan(size: int = 128, limit: int = 1 << 14, priority: int = 0) -> Plan:
    transfer = Transfer.whole(IndexSpace(x=size, y=64), FieldSpace(a="f8"), "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    return plan(replace(transfer, priority=priority), TWO, options=Options(slot_limit=limit))


def columns(of: PackedTrace) -> dict[str, Any]:
    """The columns as arrays, as a browser reads them."""
    head, buffers = of
    return {
        column["name"]: np.frombuffer(buffer, "<" + column["type"])
        for column, buffer in zip(head["columns"], buffers, strict=True)
    }


session = session_fixture(PIPED)


def settled(session: Session, *views: str) -> State:
    for view in views:
        session.demand(view)
    return session.wait()


# ---- columns


@pytest.mark.parametrize("seed", range(6))
def test_columns_hold_every_request_by_lane_and_start(seed: int) -> None:
    rng = random.Random(seed)
    simulator = Simulator(TWO, request_bytes=rng.choice([1 << 11, 1 << 20]))
    for number in range(rng.randint(1, 3)):
        simulator.submit(a_plan(rng.choice([32, 128])), at=0.001 + 1e-4 * number, priority=number)
    trace = simulator.run()
    of = packed(trace, "name", TWO, {0: (1.5, 7)}, "a note")
    head, found = of.head, columns(of)
    assert (head["id"], head["where"], head["note"], head["count"]) == ("name", "simulated", "a note", len(trace.requests))
    assert head["seconds"] == trace.seconds
    transfers = head["transfers"]
    assert (transfers[0]["alone"], transfers[0]["key"]) == (1.5, 7) and all(each["alone"] is None for each in transfers[1:])
    rows = [(place, hop) for place, each in enumerate(trace.transfers) for hop in range(len(each.work.channels))]
    assert [(hop["transfer"], hop["hop"]) for hop in head["hops"]] == rows
    told = set()
    for i in range(head["count"]):
        place, hop = rows[found["row"][i]]
        number = trace.transfers[place].number
        told.add((number, hop, int(found["chunk"][i]), int(found["request"][i])))
    assert told == {span[:4] for span in trace.requests}
    at = 0
    for lane in head["lanes"]:
        part = slice(lane["first"], lane["first"] + lane["count"])
        assert lane["first"] == at and (np.diff(found["start"][part]) >= 0).all()
        own = sorted((span.start, span.end) for span in trace.requests if trace.channel(span) == lane["channel"])
        assert np.allclose(found["start"][part] + trace.begin, [start for start, _ in own], rtol=0, atol=1e-15)
        assert np.allclose(found["end"][part] + trace.begin, [end for _, end in own], rtol=0, atol=1e-15)
        at += lane["count"]
    assert at == head["count"]


def test_what_requests_wait_for_is_told_as_the_trace_has_it() -> None:
    for pipelined in (True, False):
        trace = simulate(a_plan(), TWO, pipelined=pipelined)
        head = packed(trace, "name", TWO).head
        for span in trace.requests:
            expected = {(reason, hop, chunk) for reason, (_, hop, chunk) in trace.waits(span)}
            waits = head["hops"][span.hop]["waits"]
            chunks = trace.transfers[0].work.chunks
            told = {(each["reason"], each["row"], chunks - 1 if each["whole"] else span.chunk - each["lead"]) for each in waits}
            assert {each for each in told if each[2] >= 0} == expected


def test_a_trace_without_requests_has_empty_columns() -> None:
    of = packed(Trace((), ()), "none")
    assert of.head["count"] == 0 and of.head["lanes"] == [] and all(len(buffer) == 0 for buffer in of.buffers)


def test_channels_have_words_where_the_machine_is_known_and_names_elsewhere() -> None:
    trace = simulate(a_plan(), TWO)
    known, unknown = packed(trace, "a", TWO).head["lanes"], packed(trace, "b").head["lanes"]
    assert "network" in {lane["title"] for lane in known}
    assert [lane["title"] for lane in unknown] == [name.replace("->", " → ") for name in trace.channels]


# ---- stages


def test_a_stage_made_in_parts_can_be_given_up_and_gives_its_output_as_others_do() -> None:
    calls: list[int] = []

    def make(_problems: Any, top: int) -> Any:
        for number in range(top):
            calls.append(number)
            yield
        return sum(range(top))

    stages = (DerivedStage("sum", make), DerivedStage("double", lambda _problems, sum: 2 * sum))  # noqa: A006 - the name of a stage
    found = Evaluation(stages, {"top": 5}, {})
    parts = found.parts_of("sum")
    next(parts)
    next(parts)
    assert calls == [0, 1] and "sum" not in found.results
    assert list(found.parts_of("sum")) == [None] * 5
    assert found.of("sum") == 10 and found.of("double") == 20
    assert Evaluation(stages, {"top": 5}, {}).of("double") == 20, "nobody has to go through the parts"
    assert list(Evaluation(stages, {"top": 5}, found.keep).parts_of("sum")) == [], "it is kept"


def test_the_plan_is_simulated_where_it_is_watched_and_nowhere_else(session: Session) -> None:
    state = settled(session, "explorer")
    assert not set(LATER) & set(state.derived.later)
    told = trace_part(state)
    assert told["simulated"] is None and told["stored"] is None and told["measured"] is None and told["problems"] == {}
    state = settled(session, "timeline")
    told = trace_part(state)
    assert told["simulated"] is not None and told["stored"] is None
    assert told["simulated"]["fresh"] and told["simulated"]["seconds"] == pytest.approx(session.plan.seconds, rel=1e-9)
    stored = trace_part(settled(session, "stored"))["stored"]
    assert stored is not None and stored["seconds"] > 1.2 * told["simulated"]["seconds"]


def test_a_trace_has_another_name_after_another_plan_and_the_same_one_otherwise(session: Session) -> None:
    first = trace_part(settled(session, "timeline"))["simulated"]
    session.send({"kind": "select", "selection": {"entry": None, "chunk": 1, "time": 1e-6, "stop": None, "hop": None}})
    assert trace_part(session.wait())["simulated"] == first
    session.send({"kind": "set", "field": "destination-layout", "value": "<F, x, y>"})
    second = trace_part(session.wait())["simulated"]
    assert first is not None and second is not None and second["id"] != first["id"] and second["fresh"]
    session.send({"kind": "set", "field": "destination-layout", "value": "<F, x"})
    third = trace_part(session.wait())["simulated"]
    assert third is not None and third["id"] == second["id"] and not third["fresh"], "the last one stays, and is said to be old"


def test_with_too_many_requests_each_is_a_whole_chunk_and_a_long_simulation_ends_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = a_plan()
    transfers = (simulating.Simulated(found, "it", 0, 0.0),)
    whole = _last(simulating._simulated(TWO, transfers, pipelined=True))
    monkeypatch.setattr(simulating, "MOST_REQUESTS", 10)
    coarse = _last(simulating._simulated(TWO, transfers, pipelined=True))
    assert coarse.trace.seconds == pytest.approx(whole.trace.seconds, rel=1e-9)
    assert len(coarse.trace.requests) == found.chunk_count * len(found.hops) and "whole chunk" in coarse.note
    monkeypatch.setattr(simulating, "PATIENCE", 0.0)
    monkeypatch.setattr(simulating, "PART", 7)
    cut = _last(simulating._simulated(TWO, transfers, pipelined=True))
    assert 0 < len(cut.trace.requests) < len(coarse.trace.requests) and cut.note.startswith("Only the first")
    assert cut.trace.transfers[0].outcome == "running"


def _last(made: Any) -> Any:
    while True:
        try:
            next(made)
        except StopIteration as ended:
            return ended.value


def test_why_a_plan_cannot_be_stored_and_forwarded_is_told() -> None:
    small = tuple(replace(each, capacity=1 << 14) if each.kind in ("ZCM", "REG") else each for each in TWO.memories)
    machine = replace(TWO, memories=small)
    transfer = Transfer.whole(IndexSpace(x=256, y=64), FieldSpace(a="f8"), "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, x, y>")
    found = plan(transfer, machine, options=Options(slot_limit=1 << 12))
    transfers = (simulating.Simulated(found, "it", 0, 0.0),)
    assert _last(simulating._simulated(machine, transfers, pipelined=True)).trace is not None
    stored = _last(simulating._simulated(machine, transfers, pipelined=False))
    assert stored.trace is None and stored.problem[0].isupper()


# ---- answers


def test_an_answer_holds_the_columns_or_says_why_not(session: Session) -> None:
    message, buffers = answer_to({"kind": "trace", "which": "simulated", "client": "a", "number": 3}, session.state)
    assert message["error"] == "There is no such trace yet." and buffers == () and message["number"] == 3
    state = settled(session, "timeline")
    message, buffers = answer_to({"kind": "trace", "which": "simulated"}, state)
    assert message["error"] == "" and message["trace"] is not None
    assert message["trace"]["id"] == trace_part(state)["simulated"]["id"]  # type: ignore[index]
    assert len(buffers) == len(message["trace"]["columns"])
    again, others = answer_to({"kind": "trace", "which": "simulated"}, state)
    assert again["trace"] is message["trace"] and others is buffers, "it is packed once"


def test_steps_are_those_of_the_simulator_in_words(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulating, "MOST_STEPS", 50)
    monkeypatch.setattr("isoviz.widgets.commands.answers.MOST_STEPS", 50)
    assert answer_to({"kind": "steps", "first": 0}, session.state).message["error"] != ""
    state = settled(session, "timeline")
    simulator = Simulator(session.machine)
    simulator.submit(session.plan)
    expected = list(iter(simulator.step, None))
    told: list[Any] = []
    while True:
        answer = answer_to({"kind": "steps", "first": len(told)}, state).message
        assert answer["error"] == "" and answer["first"] == len(told)
        told += answer["steps"]
        if not answer["more"]:
            break
    assert len(told) == len(expected) > 50
    for shown, step in zip(told, expected, strict=True):
        assert shown["seconds"] == step.seconds
        issued = [(each.hop, each.chunk, each.request) for each in step.instructions if isinstance(each, Issue)]
        assert [(each["row"], each["chunk"], each["request"]) for each in shown["begun"]] == issued
        done = step.stimulus if isinstance(step.stimulus, Done) else None
        assert (shown["ended"] is None) == (done is None)
        assert shown["answers"] and all(
            text.endswith(".") and text[0].isupper() for text in (shown["stimulus"], *shown["answers"])
        )
    assert "is submitted" in told[0]["stimulus"] and "gets its buffers" in told[0]["answers"][0]
    assert "is done" in told[-1]["answers"][-1] or "gives its buffers back" in " ".join(told[-1]["answers"])


def test_the_last_run_that_ended_well_has_a_measured_trace(tmp_path: Path) -> None:
    options = {"measure": "assumed", "directory": str(tmp_path)}
    session = Session(settings_for(machine_options=options, space={"x": 256, "y": 64}, fields={"a": "float32"}))
    try:
        session.demand("explorer")
        assert trace_part(session.wait())["measured"] is None
        session.run()
        state = session.wait()
        assert state.run.report is not None, state.run.error
        told = trace_part(state)["measured"]
        assert told is not None and told["fresh"] and told["note"] == ""
        head = answer_to({"kind": "trace", "which": "measured"}, state).message["trace"]
        assert head is not None and head["where"] == "measured" and head["count"] == len(state.run.report.trace.requests)
        assert {lane["title"] for lane in head["lanes"]} == {"file read"}, "channels have words"
        assert 0 < head["seconds"] < 60
    finally:
        session.close()


# ---- urgent transfers


def test_an_urgent_transfer_is_added_in_one_step_and_delays_the_other(session: Session) -> None:
    alone = trace_part(settled(session, "timeline"))["simulated"]
    session.send({"kind": "add-urgent"})
    state = session.wait()
    assert state.refused is None and len(state.settings.beside) == 1
    urgent = state.settings.beside[0]
    assert urgent.name == "Urgent" and int(urgent.priority) > int(state.settings.priority)
    assert state.settings.key != urgent.key, "the first transfer is still the one that is edited"
    head = answer_to({"kind": "trace", "which": "simulated"}, state).message["trace"]
    assert head is not None and alone is not None
    slow, quick = head["transfers"]
    assert (slow["label"], quick["label"]) == (state.settings.name, "Urgent") and quick["priority"] > slow["priority"]
    assert quick["submitted"] == pytest.approx(0.5 * alone["seconds"], rel=1e-3)
    assert quick["ended"] - quick["submitted"] < 1.2 * alone["seconds"] < slow["ended"]
    assert slow["key"] == state.settings.key and quick["key"] == urgent.key
    session.send({"kind": "add-urgent"})
    names = {each.name for each in session.wait().settings.beside}
    assert names == {"Urgent", "Urgent 2"}
    session.undo()
    session.undo()
    assert session.wait().settings.beside == ()


def test_an_urgent_transfer_needs_a_plan() -> None:
    with pytest.raises(InputError, match="needs a plan"):
        with_urgent(PIPED, None)


# ---- a trace alone


def test_a_view_shows_a_trace_and_closes_its_session() -> None:
    trace = simulate(a_plan(), TWO)
    view = TraceView(trace, machine=TWO)
    try:
        told = view.part_trace["given"]
        assert told["requests"] == len(trace.requests) and told["seconds"] == trace.seconds
        head = answer_to({"kind": "trace", "which": "given"}, view.session.state).message["trace"]
        assert head is not None and "network" in {lane["title"] for lane in head["lanes"]}
        assert "timeline" in repr(view)
    finally:
        view.close()
    worker = view.session._worker
    assert worker is not None and not worker._thread.is_alive(), "it made the session, and ended it"


def test_a_view_shares_a_session(session: Session) -> None:
    view = TraceView(session)
    try:
        assert view.session is session and view.pane == "timeline"
        assert trace_part(session.wait())["simulated"] is not None
    finally:
        view.close()
    assert session.wait().settled, "the session goes on"


def test_a_view_refuses_what_is_no_trace() -> None:
    with pytest.raises(InputError, match="expected a trace"):
        TraceView(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no channel"):
        TraceView(simulate(a_plan(), TWO), machine=preset("local", measure="assumed"))


@pytest.mark.parametrize("priority", ["--5", "+", "²", "9" * 5000])
def test_an_urgent_transfer_beside_one_whose_priority_cannot_be(session: Session, priority: str) -> None:
    plan = session.wait().derived.plan
    urgent = with_urgent(replace(session.settings, priority=priority), plan).beside[0]
    assert (urgent.name, urgent.priority) == ("Urgent", "1")


def test_the_measured_trace_of_transfers_that_ran_together_has_all_of_them(tmp_path: Path) -> None:
    settings = settings_for(
        machine_options={"measure": "assumed", "directory": str(tmp_path)}, space={"x": 64, "y": 32}, fields={"a": "float32"}
    )
    session = Session(settings)
    session.wait()
    session.send({"kind": "add-urgent"})
    session.run()
    state = session.wait()
    session.close()
    assert state.run.phase == "done", state.run.error
    head = answer_to({"kind": "trace", "which": "measured"}, state).message["trace"]
    assert head is not None and [each["label"] for each in head["transfers"]] == ["Transfer 1", "Urgent"]
    told = trace_part(state)["measured"]
    assert told is not None and told["fresh"] and told["requests"] == head["count"]
