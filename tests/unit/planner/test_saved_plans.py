"""Plans in files: each takes its machine along, and another file of isoviz is told by what it holds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import isoviz
from isoviz import machines, planner, runtime
from isoviz.errors import InputError, IsovizError, TransferError
from isoviz.widgets.chosen.session_file import load_settings, save_settings
from isoviz.widgets.chosen.settings import Settings

NEAR = isoviz.Transfer.whole(
    isoviz.IndexSpace(x=8, y=4), isoviz.FieldSpace(v="f4"), "node0.sys", "<F, x, y>", "node0.sys", "<F, y, x>"
)
ELSEWHERE = """
import isoviz
from isoviz.planner import load_plan
plan = load_plan("plan.json")
print(plan.run().verified, plan.explain().plan == plan, plan.simulate().seconds == plan.seconds)
"""


def drawn() -> machines.Machine:
    """A machine that no preset has."""
    memory = machines.Memory("node0.sys", "SYS")
    return machines.Machine(
        "drawn", (memory,), (machines.Channel("", "Memcpy", memory.name, memory.name, machines.Constant(2e9)),)
    )


def test_a_saved_plan_runs_explains_and_simulates_itself_in_another_process(tmp_path: Path) -> None:
    plan = isoviz.plan(NEAR, drawn())
    plan.save(tmp_path / "plan.json")
    assert planner.load_plan(tmp_path / "plan.json") == plan
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"] * 3, done.stderr


def test_a_plan_by_hand_on_a_machine_file_knows_its_machine(tmp_path: Path) -> None:
    machines.save(drawn(), tmp_path / "mine.json")
    plan = isoviz.cost(NEAR, tmp_path / "mine.json", ["node0.sys", "node0.sys"])
    assert plan.simulate().seconds == pytest.approx(plan.seconds)


def test_a_plan_that_was_printed_alone_takes_its_machine(tmp_path: Path) -> None:
    path = tmp_path / "alone.json"
    other = isoviz.plan(NEAR, machines.Machine("other", drawn().memories, drawn().channels, provenance="p"))
    path.write_text(json.dumps(planner.plan_to_json(other)).replace(other.machine_digest, "0" * 64))
    plan = planner.load_plan(path)
    with pytest.raises(InputError, match=r"give the one that it was made for, as in plan\.run\(machine="):
        plan.run()
    with pytest.raises(TransferError, match="plan again"):
        plan.save(path, drawn())


def test_the_machine_of_another_plan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    isoviz.plan(NEAR, drawn()).save(path)
    data = json.loads(path.read_text())
    data["machine_file"]["channels"][0]["throughput"]["bandwidth"] = 1e9
    path.write_text(json.dumps(data))
    with pytest.raises(TransferError, match="machine_file: machine 'drawn' is not the one that the plan was made for"):
        planner.load_plan(path)


READERS: dict[str, Callable[[Path], Any]] = {
    "a plan": planner.load_plan,
    "a machine": machines.load,
    "a transfer": planner.load_transfer,
    "a session": load_settings,
}
TRANSFER = """
[space]
x = 4
[fields]
v = "f4"
[source]
memory = "node0.sys"
layout = "<F, x>"
[destination]
memory = "node0.sys"
layout = "<x, F>"
"""


@pytest.mark.parametrize("expected", READERS)
def test_a_reader_says_what_another_file_holds(expected: str, tmp_path: Path) -> None:
    plan = isoviz.plan(NEAR, drawn())
    plan.save(tmp_path / "a plan")
    machines.save(drawn(), tmp_path / "a machine")
    (tmp_path / "a transfer").write_text(TRANSFER)
    save_settings(Settings(), tmp_path / "a session")
    (tmp_path / "a trace").write_text(json.dumps(runtime.simulate(plan).to_json()))
    READERS[expected](tmp_path / expected)
    for held in {*READERS, "a trace"} - {expected}:
        with pytest.raises(IsovizError, match=rf"{held}.*: holds {held}; expected {expected} \(.* reads it\)"):
            READERS[expected](tmp_path / held)


def test_help_names_every_planner(capsys: pytest.CaptureFixture[str]) -> None:
    from isoviz.cli import main

    for command in ("plan", "run", "show", "simulate"):
        assert main([command, "--help"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        *names, last = planner.PLANNERS
        assert f"--planner NAME {', '.join(names)} or {last} (default" in said
