"""Ranks as a place for runs: where they are offered, kept for the next runs, lost, started again, and ended with the session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from isoviz.errors import Cancelled, InputError, LaunchError, RankLost, RanksClosed, RunError
from isoviz.machines import Machine, preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import Plan
from isoviz.runtime import Report
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.machine_choice import DescribedMachine, PresetMachine
from isoviz.widgets.chosen.python_text import python_text
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.consequences import where_it_runs
from isoviz.widgets.consequences.where_it_runs import MISSING, most_ranks, ranks_for
from isoviz.widgets.panes.plan_pane import plan_part
from isoviz.widgets.panes.run_pane import run_part
from isoviz.widgets.running.past_runs import past_runs
from isoviz.widgets.session import Session
from isoviz.widgets.state import State

SMALL = settings_for(
    space={"x": 64, "y": 32}, fields={"a": "float32"}, source=("node0.sys", "<F, x, y>"),
    destination=("node0.sys", "<F, y, x>"), machine_options={"measure": "assumed"}, runs_in="ranks",
)  # fmt: skip
FOUR = preset("ranks", measure="assumed")


class FakeRanks:
    """Ranks of this test, which carry plans out in this process; `lose` is the death of one."""

    mpi = "An MPI 1.0"

    def __init__(self, count: int) -> None:
        self.count = count
        self.error: RunError | None = None
        self.closed = False
        self.processes = [SimpleNamespace(pid=100 + rank) for rank in range(count)]
        self.during: Callable[[], object] = lambda: None

    @property
    def is_alive(self) -> bool:
        return self.error is None

    def lose(self) -> RankLost:
        words = f"rank 0 (pid 100) was killed by SIGKILL; the ranks were ended; isoviz.ranks({self.count}) starts new ones"
        error = self.error = RankLost(words, rank=0, pid=100)
        return error

    def close(self) -> None:
        self.closed = True
        self.error = self.error or RanksClosed("the ranks were closed")

    def run(self, plan: Plan, *, machine: Machine, progress: Any, cancel: threading.Event) -> Report:
        self.during()
        if self.error is not None:
            raise self.error
        return Engine(machine).run(plan, progress=progress, cancel=cancel, trial=False)

    def submit(self, *plans: Plan, machine: Machine, begins: list[float]) -> Any:
        assert len(begins) == len(plans)

        def outcomes(progress: Any, cancel: threading.Event) -> list[Report | BaseException]:
            found: list[Report | BaseException] = [
                self.run(plan, machine=machine, progress=progress, cancel=cancel) for plan in plans[:-1]
            ]
            return [*found, RunError("hop 0: the disk is full")]

        return SimpleNamespace(outcomes=outcomes)


class Starter:
    """What starts ranks: it notes them, and may wait or fail."""

    def __init__(self) -> None:
        self.started: list[FakeRanks] = []
        self.fails = ""
        self.go = threading.Event()
        self.go.set()

    def __call__(self, count: int) -> FakeRanks:
        assert self.go.wait(120)
        if self.fails:
            raise LaunchError(self.fails)
        self.started.append(FakeRanks(count))
        return self.started[-1]


@pytest.fixture(autouse=True)
def _has_mpi(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(where_it_runs, "has_mpi", lambda: True)
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))


@pytest.fixture
def starter() -> Starter:
    return Starter()


@pytest.fixture
def session(starter: Starter) -> Iterator[Session]:
    made = Session(SMALL, ranks=starter)
    made.demand("explorer")
    made.wait()
    yield made
    starter.go.set()
    made.close()


def until(session: Session, holds: Callable[[State], bool]) -> State:
    """The state once something holds of it."""
    seen = threading.Event()
    stop = session.listen(lambda _: seen.set() if holds(session.state) else None)
    try:
        assert holds(session.state) or seen.wait(120), session.state.ranks
    finally:
        stop()
    return session.state


def run(session: Session) -> State:
    session.run()
    return session.wait()


# ---- where they are offered


def without(machine: Machine, node: int) -> Machine:
    left = {memory.name for memory in machine.memories if memory.node == node}
    return replace(
        machine,
        memories=tuple(memory for memory in machine.memories if memory.name not in left),
        channels=tuple(channel for channel in machine.channels if not left & {channel.source, channel.destination}),
        positions={},
    )


@pytest.mark.parametrize(
    ("machine", "choice", "count", "words"),
    [
        (FOUR, PresetMachine("ranks"), 4, ""),
        (FOUR, DescribedMachine(FOUR), 4, ""),
        (preset("local", measure="assumed"), PresetMachine("local"), 1, ""),
        (preset("sapling"), PresetMachine("sapling"), 2, "another computer"),
        (preset("two-node"), DescribedMachine(preset("two-node")), 2, "node0.zcm is pinned memory"),
        (without(FOUR, 1), DescribedMachine(FOUR), 3, "without a gap; the nodes of this machine are 0, 2, 3"),
    ],
)
def test_ranks_are_offered_where_nodes_can_be_ranks(machine: Machine, choice: Any, count: int, words: str) -> None:
    found = ranks_for(machine, choice)
    assert found.count == count
    assert words in found.reason and bool(words) == bool(found.reason)


def test_more_ranks_than_this_computer_should_start_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where_it_runs, "most_ranks", lambda: 3)
    assert (
        ranks_for(FOUR, PresetMachine("ranks")).reason == "The machine has 4 nodes; this computer should start at most 3 ranks."
    )
    assert most_ranks() >= 16


def test_a_device_that_is_missing_is_missing_for_ranks_as_well(starter: Starter) -> None:
    bound = replace(FOUR, memories=(replace(FOUR.memories[0], device=4000), *FOUR.memories[1:]))
    session = Session(replace(SMALL, machine=DescribedMachine(bound), runs_in=""), ranks=starter)
    session.demand("explorer")
    told = run_part(session.wait())
    session.close()
    assert told["now"]["canRun"] is False and all("4000" in place["reason"] for place in told["places"])


def test_ranks_of_several_hosts_run_here_and_that_is_said() -> None:
    found = ranks_for(preset("ranks", hosts=2, measure="assumed"), PresetMachine("ranks", (("hosts", "2"),)))
    assert not found.reason and found.about.startswith("The machine has 2 hosts.")


def test_without_mpi_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, starter: Starter) -> None:
    monkeypatch.setattr(where_it_runs, "has_mpi", lambda: False)
    session = Session(replace(SMALL, machine=PresetMachine("ranks"), runs_in=""), ranks=starter)
    session.demand("explorer")
    told = run_part(session.wait())
    assert told["now"]["canRun"] is False and told["now"]["reason"] == MISSING
    assert "pip install --editable '.[mpi]'" in MISSING
    session.start_ranks()
    refused = session.wait().refused
    session.run()
    session.wait()
    session.close()
    assert refused is not None and refused.message == MISSING
    assert starter.started == []


def test_the_place_is_chosen_undone_and_falls_back(session: Session) -> None:
    state = session.wait()
    assert run_part(state)["place"] == "ranks"
    shown = plan_part(state)
    assert shown is not None and shown["where"] == "1 rank of this computer"
    session.send({"kind": "set", "field": "runs-in", "value": "process"})
    state = session.wait()
    shown = plan_part(state)
    assert run_part(state)["place"] == "process" and shown is not None and shown["where"] == "this computer"
    session.undo()
    assert run_part(session.wait())["place"] == "ranks"
    session.send({"kind": "set", "field": "runs-in", "value": "the moon"})
    refused = session.wait().refused
    assert refused is not None and "'process', 'ranks'" in refused.message
    session.send({"kind": "set", "field": "machine", "value": "ranks"})
    told = run_part(session.wait())
    assert told["place"] == "ranks" and [place["ranks"] for place in told["places"]] == [0, 4]
    assert told["places"][0]["reason"] == "The memories of this machine belong to ranks."


# ---- what is kept


@pytest.mark.parametrize("place", ["", "process", "ranks"])
def test_python_and_session_files_know_the_place(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = replace(SMALL, runs_in=place)
    assert settings_in(session_text(chosen), "session").runs_in == place
    text = python_text(chosen)
    assert ("runs_in" in text) == bool(place)
    found: list[Settings] = []

    def explored(example: str | None = None, **given: Any) -> None:
        found.append(settings_for(**given, start=None if example is None else EXAMPLES[example].settings))

    monkeypatch.setattr("isoviz.explore", explored)
    exec(compile(text, "<text>", "exec"), {})
    assert found[0].runs_in == place


def test_a_place_for_runs_is_one_of_those_there_are() -> None:
    with pytest.raises(InputError, match="runs_in 'there'"):
        settings_for(runs_in="there")


# ---- runs


def test_ranks_start_with_the_first_run_and_stay_for_the_next(session: Session, starter: Starter) -> None:
    stages: list[str] = []
    session.listen(lambda _: stages.append(session.state.run.stage))
    starter.go.clear()
    session.run()
    until(session, lambda state: state.run.stage == "ranks" and state.ranks.phase == "starting")
    starter.go.set()
    state = session.wait()
    assert state.run.phase == "done", state.run.error
    assert state.run.report is not None and state.run.report.verified is True
    told = run_part(state)
    assert told["ranks"] == {"phase": "running", "count": 1, "library": "An MPI 1.0", "pids": [100], "problem": ""}
    assert told["now"]["ranks"] == 1
    session.repeat(3)
    state = session.wait()
    assert state.run.phase == "done" and len(state.run.reports) == 3
    assert len(starter.started) == 1
    facts = {fact["name"]: fact["text"] for fact in past_runs(state)[0]["facts"]}
    assert facts["where"] == "1 rank of An MPI 1.0"
    session.close()
    assert starter.started[0].closed


def test_the_process_starts_no_ranks(session: Session, starter: Starter) -> None:
    session.send({"kind": "set", "field": "runs-in", "value": "process"})
    state = run(session)
    assert state.run.phase == "done" and not starter.started
    facts = {fact["name"]: fact["text"] for fact in past_runs(state)[0]["facts"]}
    assert facts["where"] == "this process"


def test_ranks_lost_between_runs_are_told_and_replaced(session: Session, starter: Starter) -> None:
    run(session)
    starter.started[0].lose()
    state = until(session, lambda state: state.ranks.phase == "lost")
    assert state.ranks.problem == "Rank 0 (pid 100) was killed by SIGKILL; the ranks were ended"
    assert starter.started[0].closed
    state = run(session)
    assert state.run.phase == "done" and state.ranks.phase == "running" and len(starter.started) == 2


def test_ranks_lost_in_a_run_fail_it_and_the_next_run_starts_new_ones(session: Session, starter: Starter) -> None:
    run(session)
    starter.started[0].during = starter.started[0].lose
    state = run(session)
    assert state.run.phase == "failed" and state.run.error == "rank 0 (pid 100) was killed by SIGKILL; the ranks were ended"
    until(session, lambda state: state.ranks.phase == "lost")
    assert run_part(session.state)["advice"][0]["text"] == "The next run starts new ranks."
    state = run(session)
    assert state.run.phase == "done", state.run.error


def test_ranks_that_do_not_start_fail_the_run(session: Session, starter: Starter) -> None:
    starter.fails = "mpiexec ended with status 1"
    state = run(session)
    assert state.run.phase == "failed" and "mpiexec ended with status 1" in state.run.error
    assert state.ranks.phase == "failed" and state.ranks.problem == "Mpiexec ended with status 1"
    starter.fails = ""
    assert run(session).run.phase == "done"


def test_a_run_is_cancelled_while_ranks_start_and_they_serve_the_next(session: Session, starter: Starter) -> None:
    starter.go.clear()
    session.run()
    until(session, lambda state: state.run.stage == "ranks")
    session.cancel()
    state = until(session, lambda state: not state.run.active)
    assert state.run.phase == "cancelled" and state.ranks.phase == "starting"
    starter.go.set()
    assert session.wait().ranks.phase == "running"
    assert run(session).run.phase == "done" and len(starter.started) == 1


def test_ranks_are_started_and_ended_by_hand(session: Session, starter: Starter) -> None:
    session.start_ranks()
    assert session.wait().ranks.phase == "running"
    session.end_ranks()
    state = session.wait()
    assert state.ranks.phase == "ended" and starter.started[0].closed
    session.start_ranks()
    assert session.wait().ranks.phase == "running" and len(starter.started) == 2


def test_ranks_at_work_are_not_ended(session: Session, starter: Starter) -> None:
    run(session)
    begun, go = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go.wait(120)

    starter.started[0].during = wait
    session.run()
    assert begun.wait(120)
    session.end_ranks()
    refused = until(session, lambda state: state.refused is not None).refused
    go.set()
    state = session.wait()
    assert refused is not None and "cancel it first" in refused.message
    assert state.run.phase == "done" and state.ranks.phase == "running"


def test_a_machine_with_other_ranks_gets_new_ones(session: Session, starter: Starter) -> None:
    run(session)
    session.send({"kind": "set", "field": "machine", "value": "ranks"})
    session.wait()
    session.start_ranks()
    until(session, lambda state: state.ranks.phase == "running" and state.ranks.count == 4)
    assert [ranks.count for ranks in starter.started] == [1, 4] and starter.started[0].closed


def test_a_session_that_closes_while_ranks_start_ends_them(session: Session, starter: Starter) -> None:
    starter.go.clear()
    session.start_ranks()
    until(session, lambda state: state.ranks.phase == "starting")
    closing = threading.Thread(target=session.close)
    closing.start()
    starter.go.set()
    closing.join(120)
    assert not closing.is_alive() and [ranks.closed for ranks in starter.started] == [True]


def test_a_cancelled_run_stays_cancelled(session: Session, starter: Starter) -> None:
    run(session)

    def cancelled() -> None:
        raise Cancelled("cancelled on the ranks")

    starter.started[0].during = cancelled
    state = run(session)
    assert state.run.phase == "cancelled" and state.ranks.phase == "running"


def test_transfers_run_together_on_ranks_and_one_may_fail(session: Session) -> None:
    session.send({"kind": "add-transfer"})
    session.wait()
    state = run(session)
    assert state.run.phase == "failed"
    assert [(len(each.reports), each.error) for each in state.run.transfers] == [(1, ""), (0, "hop 0: the disk is full")]
    assert state.run.trace is not None and len(state.run.trace.transfers) == 1
