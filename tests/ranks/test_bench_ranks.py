"""`isoviz bench ranks`: everything runs on real ranks, and the rows have the documented keys."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi

from isoviz.bench import SUITES
from isoviz.bench.aims import KEYS, compared, quickest, row
from isoviz.cli import main

PARTS = {
    "prepared",
    "contiguous",
    "small",
    "layout changes",
    "pipeline",
    "urgent",
    "regret",
    "predictions",
    "transposition",
    "waiting",
    "launch",
}


@needs_mpi
@pytest.mark.usefixtures("no_leaked_threads")
@pytest.mark.full
def test_every_part_runs_beside_its_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, file = tmp_path / "files", tmp_path / "ranks.json"
    folder.mkdir()
    arguments = ["bench", "ranks", "--quick", "--repeat", "1", "--directory", str(folder), "--json", str(file)]
    assert main(arguments) == 0
    found = json.loads(file.read_text())
    assert {each["part"] for each in found["rows"]} == PARTS
    for each in found["rows"]:
        assert tuple(each) == KEYS
        assert math.isfinite(each["figure"]), each
        assert each["figure"] >= 0, each
        assert (each["met"] is None) == (each["aim"] is None), each
        if each["limit"] is not None:
            assert each["ratio"] >= 0, each
            assert each["beside"] != "-", each
    beside = " ".join(each["beside"] for each in found["rows"])
    for peer in ("Send, Recv", "Put, Flush", "derived datatype", "NumPy, Send", "Window", "Alltoallw", "Alltoall,", "memcpy"):
        assert peer in beside
    assert {"mpi", "load", "cores", "date", "rates"} <= set(found["machine"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:3] == ["part", "what", "isoviz"]
    assert len([line for line in lines if line.startswith("note:")]) == len(found["notes"])
    assert list(folder.iterdir()) == []


def test_rows_say_whether_an_aim_is_met() -> None:
    assert row("small", "8 B", 2.0, "peer", 1.0, 0.5)["met"] is True
    assert row("small", "8 B", 2.0, "peer", 1.0, 0.6)["met"] is False
    assert row("small", "8 B", 2.0)["met"] is None
    times = {"isoviz": [1.0, 2.0, 4.0], "peer": [2.0, 2.0, 2.0], "slow": [9.0, 9.0, 1.0]}
    assert quickest(times, ["peer", "slow"]) == "peer"
    found = compared("contiguous", "1 MiB", times, "isoviz", "peer", 0.95)
    assert (found["figure"], found["limit"], found["ratio"], found["met"]) == (2.0, 2.0, 1.0, True)


def test_the_name_of_a_suite_after_json_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json", "priority", "--size", "64KiB", "--repeat", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["benchmark"] == "priority"
    assert main(["bench"]) == 2
    assert ", ".join(SUITES) in capsys.readouterr().err
