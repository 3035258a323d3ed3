"""Pages that draw themselves: complete, self-contained, safe for any name, small, and written without a notebook's packages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from html_cases import check_saved_page

from isoviz.cli import main
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine, Memory, MemoryKind, preset
from isoviz.planner import Instance, Options, Transfer, plan
from isoviz.planner.explanation.explanation import Crossover
from isoviz.runtime import HopMeasurement, Report, simulate
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.session_file import settings_in
from isoviz.widgets.pages import plan_page as page_module
from isoviz.widgets.pages.plan_page import Embedded, command_key, html_page, plan_page, state_page
from isoviz.widgets.pages.state_of_plan import settings_of_plan, state_of_plan
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot

MACHINE = preset("two-node")
SIZES, FIELDS = IndexSpace(x=64, y=32), FieldSpace(a="int32", b="int64")
PLAN = plan(Transfer.whole(SIZES, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<y, x, F>"), MACHINE)
TWO_NODE = """
space = { x = 8192, y = 8192 }
fields = { value = "complex128" }
source = { memory = "node0.fbm0", layout = "<F, x, y>" }
destination = { memory = "node1.fbm0", layout = "<F, y, x>" }
machine = { preset = "two-node" }
"""
EVIL = "</script><script>alert(1)</script><!--"
"""A name that machines take."""


def reported(verified: bool | None = True) -> Report:
    hops = tuple(HopMeasurement(each.index, 1.5, 2 * PLAN.bytes, 3) for each in PLAN.hops)
    return Report(PLAN, 0.5, 0.0, hops, verified)


def test_a_page_holds_the_state_of_an_explorer() -> None:
    """What a page shows is what the explorer shows of the same plan."""
    session = Session(EXAMPLES["two-node"].settings)
    try:
        state = session.wait()
        text = state_page(state)
        assert len(text.encode()) <= 840_000
        saved = check_saved_page(text)
        told = json.loads(json.dumps(snapshot(state, 1)))
        assert saved.content["traits"]["part_plan"] == told["panes"]["plan"]
        assert saved.content["traits"]["part_layout"] == told["panes"]["layout"]
        assert saved.content["traits"]["palette"] == told["palette"]
        made = state_of_plan(state.derived.plan, state.derived.planned_on, choice=state.settings.machine)
        assert json.loads(json.dumps(snapshot(made, 1)))["panes"]["plan"] == told["panes"]["plan"], "made without a session"
    finally:
        session.close()


@pytest.mark.parametrize("way", ["export", "show"])
def test_what_would_make_rivals_win_is_worked_out_when_asked(way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It takes seconds of planning, which no page waits for unasked; one that was asked for holds it."""
    asked = []

    def answered(_problem: Any, candidates: Any, *_: Any) -> Iterator[Iterator[Crossover | None]]:
        rival = candidates[1]
        asked.append(rival)
        yield iter([Crossover("size", "x", 8192.0, 9.0, "", rival.channels, rival.converting, rival.channels, (1.0, 1e6))])

    monkeypatch.setattr("isoviz.planner.explanation.rivals._questions", answered)
    session = Session(EXAMPLES["two-node"].settings)
    file, out = tmp_path / "transfer.toml", tmp_path / "page.html"

    def saved(*flags: str) -> Any:
        if way == "show":
            assert main(["show", str(file), "-o", str(out), *flags]) == 0
            return check_saved_page(out.read_text(encoding="utf-8")).content["traits"]["part_why"]
        if flags:
            session.demand("rivals")
            session.until(lambda state: "turns" in state.derived.later and state.derived.later["turns"].done, 60)
        return check_saved_page(state_page(session.wait())).content["traits"]["part_why"]

    try:
        file.write_text(TWO_NODE, encoding="utf-8")
        why = saved()
        assert why["turns"] == [] and not why["turnsDone"] and why["candidates"] and not asked
        why = saved("--rivals")
        assert [turn["value"] for turn in why["turns"]] == [9.0] and why["turnsDone"] and asked
    finally:
        session.close()


def test_a_page_holds_the_switch_of_a_data_vortex_to_play_and_its_picture() -> None:
    session = Session(EXAMPLES["vortex-transpose"].settings)
    try:
        text = state_page(session.wait())
    finally:
        session.close()
    saved = check_saved_page(text)
    assert saved.content["page"]["views"][:3] == ["ends", "hops", "switch"]
    shape = {"heights": 32, "angles": 4, "inputs": [0], "outputs": [0]}
    assert saved.content["traits"]["part_switch"] == shape
    network = saved.content["traits"]["part_network"]["networks"][0]
    assert network["whole"] == pytest.approx(32 * 0.585 * network["rate"]), "ports × share × a word in each cycle"
    assert "cylinder 5" in text and "to its angle" in text


def test_a_page_holds_the_messages_of_its_hops() -> None:
    """Nobody works them out where there is no kernel."""
    ends = [
        Instance(memory, IndexSpace(x=2048, y=64), FieldSpace(a="u1"), "<F, x, y>") for memory in ("node0.fbm0", "node1.fbm0")
    ]
    given = plan(Transfer(*ends, shape=(1024, 64)), "theta-gpu", "direct")
    content = check_saved_page(plan_page(given, preset("theta-gpu"))).content
    (hop,) = content["traits"]["part_requests"]["hops"]
    assert content["traits"]["part_requests"]["isOfPlan"]
    assert {"RTS", "CTS", "FIN"} <= {message["name"] for each in hop["handshakes"] for message in each["messages"]}


def test_answers_recreate_what_is_shown() -> None:
    options = Options(slot_limit="1MiB")
    saved = check_saved_page(plan_page(PLAN, MACHINE, kind="run", options=options, report=reported()))
    told = [answer["message"] for answer in saved.answers.values()]
    texts = {message["what"]: message["text"] for message in told if message["kind"] == "export"}
    assert set(texts) == {"session", "python", "plan", "machine", "report"}
    again = settings_in(texts["session"], "session")
    assert again.source == settings_of_plan(PLAN, again.machine).source and again.slot_limit == str(2**20)
    assert json.loads(texts["report"])["verified"] is True
    assert saved.content["traits"]["part_run"]["report"]["verdict"] == "Verified bit for bit"
    assert "every byte verified" in saved.static.text


def test_a_page_holds_the_traces_that_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = simulate(PLAN, MACHINE)
    saved = check_saved_page(plan_page(PLAN, MACHINE, kind="simulate", trace=trace))
    answer = saved.answers[command_key({"kind": "trace", "which": "simulated", "run": ""})]
    assert answer["message"]["trace"]["id"] == saved.content["traits"]["part_trace"]["simulated"]["id"]
    assert len(answer["buffers"]) > 0 and saved.content["traits"]["part_trace"]["simulated"]["requests"] == len(trace.requests)
    monkeypatch.setattr(page_module, "MOST_REQUESTS", len(trace.requests) - 1)
    without = check_saved_page(plan_page(PLAN, MACHINE, kind="simulate", trace=trace))
    assert without.content["traits"]["part_trace"]["simulated"] is None
    assert command_key({"kind": "trace", "which": "simulated", "run": ""}) not in without.answers


def test_names_of_any_kind_stay_text() -> None:
    memories = (Memory(f"a{EVIL}", MemoryKind.SYS), Memory("b\"'&", MemoryKind.REG))
    channel = replace(MACHINE.channels[0], name=EVIL, kind="Memcpy", source=memories[0].name, destination=memories[1].name)
    machine = Machine(EVIL, memories, (channel,), provenance=EVIL)
    fields = FieldSpace.of({EVIL: "int32", "x\x00y": "int8"})
    transfer = Transfer.whole(IndexSpace(x=6, y=5), fields, memories[0].name, "<F, x, y>", memories[1].name, "<y, x, F>")
    saved = check_saved_page(plan_page(plan(transfer, machine, "direct"), machine))
    assert saved.content["traits"]["part_plan"]["machine"] == EVIL
    worse = f"{EVIL}\u2028\ud800"
    page = html_page(worse, {"page": worse}, [], [({"kind": "x"}, Embedded({"kind": "x"}, (b"\x00\xff",)))])
    assert check_saved_page(page).content == {"page": worse}


def test_ends_on_spaces_of_their_own() -> None:
    """A part of an array moves into another array: each end is told on its own spaces."""
    source = Instance("node0.sys", IndexSpace(x=10, y=8), FieldSpace(a="int8", b="int16"), Layout("<F, x, y>"))
    target = Instance("node0.reg", IndexSpace(y=4, x=10), FieldSpace(b="int16"), Layout("<y, x, F>"))
    part = Transfer(source, target, shape=(3, 4), source_origin=(7, 2), field_names=("b",))
    ends: Any = check_saved_page(plan_page(plan(part, MACHINE), MACHINE)).content["page"]["ends"]
    assert ends["source"]["moved"] == "x 7 to 9; y 2 to 5; fields b" and ends["source"]["dims"] == [["x", 10], ["y", 8]]
    assert ends["destination"]["dims"] == [["y", 4], ["x", 10]] and ends["destination"]["fields"] == [{"name": "b", "size": 2}]


def test_a_command_is_looked_up_as_the_browser_writes_it() -> None:
    assert command_key({"what": "plan", "kind": "export"}) == '[["kind","export"],["what","plan"]]'


def test_no_package_of_a_notebook_is_needed() -> None:
    code = (
        "import isoviz.cli.command_line, isoviz.widgets.pages.plan_page as one\n"
        "import isoviz, sys\n"
        "ends = 'node0.sys', '<F, x>', 'node0.reg', '<F, x>'\n"
        "t = isoviz.Transfer.whole(isoviz.IndexSpace(x=8), isoviz.FieldSpace(a='i4'), *ends)\n"
        "m = isoviz.machines.preset('two-node'); one.plan_page(isoviz.plan(t, m), m)\n"
        "print(sorted({'traitlets', 'anywidget', 'ipywidgets', 'IPython', 'bokeh'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
