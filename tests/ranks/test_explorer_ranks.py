"""The session of an explorer with real ranks: kept for the next run, killed in the middle of one, started again, ended."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi
from waiting import until

from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.panes.run_pane import run_part
from isoviz.widgets.session import Session
from isoviz.widgets.state import State

pytestmark = needs_mpi


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))
    options = {"ranks": 2, "measure": "assumed", "directory": str(tmp_path)}
    ends = {"source": ("node0.sys", "<F, x, y>"), "destination": ("node1.reg", "<x, y, F>")}
    made = Session(settings_for(machine="ranks", machine_options=options, space={"x": 256, "y": 128}, **ends))
    made.demand("explorer")
    made.wait()
    yield made
    made.close()


def run(session: Session) -> State:
    session.run()
    return session.wait(120)


def test_ranks_serve_runs_until_they_are_killed_and_start_again(session: Session) -> None:
    state = run(session)
    assert state.run.phase == "done", state.run.error
    first = state.ranks.pids
    assert len(first) == 2 and state.run.report is not None and state.run.report.verified
    trace = state.run.trace
    assert trace is not None and trace.requests and trace.seconds == pytest.approx(state.run.report.seconds, rel=0.2)
    assert run(session).ranks.pids == first
    # A rank is killed while runs are under way.
    session.repeat(100)
    moving = threading.Event()
    stop = session.listen(lambda _: moving.set() if session.state.run.over else None)
    assert moving.wait(120)
    stop()
    os.kill(first[1], signal.SIGKILL)
    state = session.wait(120)
    assert state.run.phase == "failed" and f"rank 1 (pid {first[1]}) was killed by SIGKILL" in state.run.error
    assert "isoviz.ranks(" not in state.run.error
    assert until(lambda: session.state.ranks.phase == "lost") and f"pid {first[1]}" in session.state.ranks.problem
    assert run_part(session.state)["advice"][0]["act"] == "run"
    # The next run starts new ones.
    state = run(session)
    assert state.run.phase == "done" and not set(state.ranks.pids) & set(first), state.run.error
    session.end_ranks()
    assert session.wait(120).ranks.phase == "ended"
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in (*first, *state.ranks.pids)))


def test_transfers_run_together_and_begin_at_their_own_times(session: Session) -> None:
    session.send({"kind": "add-transfer"})
    session.send({"kind": "set", "field": "transfer-begin", "transfer": 2, "value": "0.2"})
    session.wait()
    state = run(session)
    assert state.run.phase == "done", state.run.error
    assert [each.reports[-1].verified for each in state.run.transfers] == [True, True]
    assert state.run.trace is not None
    one, other = state.run.trace.transfers
    assert one.ended <= other.ended and other.submitted == pytest.approx(0.2)
    pids = state.ranks.pids
    session.close()
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
