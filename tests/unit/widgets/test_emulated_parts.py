"""A plan with GPU memory on a computer without a GPU: the explorer offers to emulate it, runs it, and says so in every part."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from given.questions import answer_to
from html_cases import check_saved_page

from isoviz.backends.cuda import gpus
from isoviz.backends.cuda.cupy_driver import Loaded
from isoviz.machines import preset
from isoviz.measure.gpus.gpu_parts import with_gpus
from isoviz.this_computer import GpuFacts
from isoviz.widgets.chosen.machine_choice import DescribedMachine
from isoviz.widgets.chosen.session_file import settings_in
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.contract import Exported
from isoviz.widgets.notebook.static_picture import StaticPicture
from isoviz.widgets.panes.machine_pane import canvas_part
from isoviz.widgets.panes.plan_pane import plan_part
from isoviz.widgets.running.past_runs import past_runs
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot
from isoviz.widgets.state import State, whole_sentence

NO_GPU = "CuPy finds no GPU: this computer has no NVIDIA driver"
START = settings_for(
    machine="laptop", space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float32"},
    source=("node0.sys", "<F, x, y>"), destination=("node0.fbm0", "<y, x, F>"), planner="simple",
)  # fmt: skip


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(gpus, "loaded", lambda: Loaded(None, NO_GPU))
    made = Session(START)
    made.demand("explorer")
    made.demand("why")
    made.wait()
    yield made
    made.close()


def now(state: State) -> dict[str, Any]:
    return snapshot(state, 1)["panes"]["run"]["now"]  # type: ignore[no-any-return]


def emulate(session: Session) -> State:
    """What the button *Emulate here* sends."""
    memories = now(session.state)["offerEmulated"]
    session.send({"kind": "edit-machine", "edit": {"do": "emulate", "memories": memories, "on": True}})
    return session.wait()


def test_run_offers_to_emulate_what_this_computer_lacks(session: Session) -> None:
    told = now(session.state)
    assert session.plan is not None
    lacks = [name for name in session.plan.every_memory if name != "node0.sys"]
    assert "node0.fbm0" in lacks
    assert told["canRun"] is False and told["offerEmulated"] == lacks
    assert told["reason"] == ("laptop is another computer. Main memory can stand in for node0.fbm0.")
    told = now(emulate(session))
    assert told["canRun"] is True and told["offerEmulated"] == [] and told["offerLocal"] is False
    session.undo()
    assert now(session.wait())["offerEmulated"] == lacks


def test_nothing_is_offered_where_a_disk_is_missing_or_ranks_are_meant(session: Session) -> None:
    for machine, destination in (("two-node", "node1.dsk"), ("ranks", "node1.reg")):
        ends = {"source": ("node0.sys", "<F, x>"), "destination": (destination, "<F, x>")}
        session.choose(settings_for(machine=machine, space={"x": 64}, **ends))
        state = session.wait()
        assert state.derived.plan is not None and now(state)["offerEmulated"] == [], machine


def test_a_machine_of_ones_own_says_what_this_computer_lacks_and_why(session: Session) -> None:
    state = emulate(session)
    assert isinstance(state.settings.machine, DescribedMachine)
    session.send({"kind": "edit-machine", "edit": {"do": "emulate", "memories": ["node0.fbm0"], "on": False}})
    told = now(session.wait())
    assert told["reason"] == (f"This computer lacks node0.fbm0. Main memory can stand in for it. {whole_sentence(NO_GPU)}")
    assert told["offerEmulated"] == ["node0.fbm0"]


def test_this_computer_as_measured_with_a_gpu_that_is_gone(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from isoviz.measure import local_machine

    measured = with_gpus(preset("local", measure="assumed"), [GpuFacts(0, "Maker M1", "9.0", 1 << 34)], "measured")
    monkeypatch.setattr(local_machine, "kept_machine", lambda _place: measured)
    options = {"directory": str(tmp_path)}  # where no machine was made before
    ends = {"source": ("node0.sys", "<F, x>"), "destination": ("node0.fbm0", "<F, x>")}
    session.choose(settings_for(machine="local", machine_options=options, space={"x": 64}, **ends))
    told = now(session.wait())
    assert told["canRun"] is False and told["offerEmulated"] == ["node0.fbm0"]
    assert told["reason"].startswith("This computer lacks node0.fbm0.") and NO_GPU in told["reason"]


def _lanes(state: State, which: str) -> str:
    message, _ = answer_to({"kind": "trace", "which": which, "number": 1, "client": "a"}, state)
    head = message["trace"]
    assert head is not None, message["error"]
    touched = [lane["title"] for lane in head["lanes"] if "fbm0" in lane["channel"]]
    assert touched and all("(emulated)" in title for title in touched)
    assert not any("(emulated)" in lane["title"] for lane in head["lanes"] if lane["channel"] == "node0.sys->node0.sys")
    return json.dumps(head)


PARTS: dict[str, Callable[[State], str]] = {
    "bar": lambda state: (plan_part(state) or {})["where"],  # type: ignore[typeddict-item]
    "journey": lambda state: " ".join(
        f"{stop['memory']} emulated"
        for path in (plan_part(state) or {})["paths"]  # type: ignore[typeddict-item]
        for stop in path["stops"]
        if stop["emulated"]
    ),
    "canvas": lambda state: " ".join(
        f"{memory['name']} emulated"
        for memory in canvas_part(state.derived.planned_on)["memories"]  # type: ignore[arg-type]
        if memory["emulated"]
    ),
    "memories in menus": lambda state: json.dumps(snapshot(state, 1)["menus"]["memories"]),
    "why": lambda state: json.dumps(snapshot(state, 1)["panes"]["why"]["verdict"]),
    "candidates": lambda state: json.dumps(snapshot(state, 1)["panes"]["why"]["candidates"]),
    "timeline, simulated": lambda state: _lanes(state, "simulated"),
    "timeline, measured": lambda state: _lanes(state, "measured"),
    "run": lambda state: " ".join(f"{name} emulated" for name in snapshot(state, 1)["panes"]["run"]["emulated"]),
    "advice": lambda state: json.dumps(snapshot(state, 1)["panes"]["run"]["advice"]),
    "report": lambda state: json.dumps(snapshot(state, 1)["panes"]["run"]["report"]["notes"]),
    "history": lambda state: past_runs(state)[0]["outcome"],
}


@pytest.fixture(scope="module")
def ran() -> Iterator[Session]:
    patch = pytest.MonkeyPatch()
    patch.setattr(gpus, "loaded", lambda: Loaded(None, NO_GPU))
    session = Session(START)
    session.demand("explorer")
    for view in ("why", "timeline"):
        session.demand(view)
    session.wait()
    emulate(session)
    session.run()
    state = session.wait()
    assert state.run.phase == "done", state.run.error
    yield session
    session.close()
    patch.undo()


@pytest.mark.parametrize("part", PARTS)
def test_every_part_says_so(part: str, ran: Session) -> None:
    assert "emulated" in PARTS[part](ran.state).lower()


@pytest.mark.parametrize("what", get_args(Exported))
def test_every_export_says_so(what: Exported, ran: Session) -> None:
    message = answer_to({"kind": "export", "what": what, "number": 1, "client": "a"}, ran.state).message
    assert message["error"] == ""
    text = message["text"]
    if what == "page":
        page = check_saved_page(text)
        assert page.content["traits"]["part_plan"]["where"] == "this computer, emulated"
        text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "emulated" in text
    if what == "session":
        machine = settings_in(text, "session").machine
        assert isinstance(machine, DescribedMachine) and machine.machine.memory("node0.fbm0").emulated


@pytest.mark.parametrize("pane", ["explorer", "plan", "machine"])
def test_what_viewers_without_a_kernel_show_says_so(pane: str, ran: Session) -> None:
    shown = StaticPicture(ran, "token", pane=pane)._repr_mimebundle_()
    assert "emulated" in shown["text/plain"] and "emulated" in shown["text/html"]


@pytest.mark.parametrize("with_machine", [False, True])
def test_a_trace_alone_says_so(with_machine: bool, ran: Session) -> None:
    report = ran.state.run.report
    assert report is not None and report.trace is not None
    machine = ran.machine if with_machine else None
    alone = Session(both_ends=False, trace=report.trace, trace_machine=machine)
    _lanes(alone.state, "given")
    for shown in StaticPicture(alone, "token", pane="trace")._repr_mimebundle_().values():
        assert "emulated: node0.fbm0" in shown or "node0.fbm0</dd>" in shown
    alone.close()
