"""`isoviz bench ranks`: everything runs on real ranks, and the rows have the documented keys."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi

from isoviz.bench import SUITES
from isoviz.bench.aims import KEYS, compared, quickest, row
from isoviz.bench.ranks.busy_remote import HELPER, WORKS
from isoviz.bench.ranks.choices import terms
from isoviz.bench.ranks.one_sided import PEERS
from isoviz.cli import main
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Transfer, cost
from isoviz.units import format_seconds

PARTS = {
    "prepared",
    "contiguous",
    "small",
    "layout changes",
    "pipeline",
    "urgent",
    "reports",
    "regret",
    "predictions",
    "transposition",
    "several paths",
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
    assert ["part", "what", "isoviz"] in [line.split()[:3] for line in lines]
    assert len([line for line in lines if line.strip().startswith("note:")]) == len(found["notes"])
    assert list(folder.iterdir()) == []


@needs_mpi
@pytest.mark.usefixtures("no_leaked_threads")
def test_some_parts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "ranks", "--quick", "--repeat", "1", "--parts", "choices", "--directory", str(tmp_path), "--json"]
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {each["part"] for each in rows} == {"reports", "regret", "predictions"}
    for each in rows:
        if each["part"] == "reports":
            assert each["beside"].startswith("set-up "), each
            assert each["ratio"] == pytest.approx(each["limit"] / each["figure"])


@needs_mpi
@pytest.mark.usefixtures("no_leaked_threads")
@pytest.mark.full
def test_scattered_data_beside_the_types_of_mpi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`isoviz bench noncontiguous`: every transfer is checked before it is timed."""
    assert main(["bench", "noncontiguous", "--quick", "--repeat", "1", "--directory", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {each["part"] for each in rows} >= {"2 ranks", "4 ranks", "reports", "regret"}
    beside = {each["beside"] for each in rows if each["part"].endswith(" ranks")}
    assert beside == {"MPI's indexed type", "MPI's vector type"}
    assert list(tmp_path.iterdir()) == []


@needs_mpi
@pytest.mark.usefixtures("no_leaked_threads")
def test_one_sided_calls_beside_windows_of_mpi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every way is checked before it is timed, at the rank whose memory changes."""
    options = ["--quick", "--repeat", "1", "--parts", "one-sided,busy remote", "--directory", str(tmp_path), "--json"]
    assert main(["bench", "noncontiguous", *options]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    busy = {each["what"]: each for each in found if each["part"] == "busy remote"}
    for work in WORKS:
        assert sum(what.endswith(f"remote {work}") for what in busy) >= len(PEERS) + 4, "every way while the remote does this"
    assert [each["aim"] for what, each in busy.items() if what.startswith(HELPER)] == [1.0, None, 1.0]
    rows = [each for each in found if each["part"] == "one-sided"]
    assert {each["beside"] for each in rows} == set(PEERS)
    for each in rows:
        assert each["figure"] > 0, each
        assert (each["aim"] is not None) == (each["beside"] == PEERS[0]), each
    words = {each["what"].partition(",")[0] for each in rows}
    assert words >= {"put of 8 B", "get of 8 B", "fetch-and-add", "put of 64 KiB", "get of 64 KiB in runs of 64 B"}


def test_parts_have_to_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "ranks", "--parts", "choices,others"]) == 2
    assert "there is no part 'others'; expected some of prepared, contiguous" in capsys.readouterr().err


def test_the_terms_of_a_prediction_add_up_to_it() -> None:
    machine = preset("ranks", ranks=2, measure="assumed")
    space, fields = IndexSpace(x=1 << 20), FieldSpace(v="f8")
    moved = Transfer.whole(space, fields, "node0.sys", "<F, x>", "node1.sys", "<F, x>")
    plan = cost(moved, machine, ["node0.sys", "node1.reg", "node1.sys"], chunk="1MiB")
    path, said = plan.only, terms(plan, [0.25, 0.125])
    sent, copied = (path.bytes / hop.throughput for hop in path.hops)
    assert said.startswith(f"set-up {format_seconds(path.setup)}, 8 × 1 MiB, ")
    assert f"{path.hops[0].kind} {format_seconds(sent)} (250 ms)" in said
    assert f"Memcpy {format_seconds(copied)} (125 ms)" in said
    shared = {name: path.bytes * sum(costs) for name, costs in zip(path.resources, path.shares, strict=True)}
    for name, seconds in shared.items():
        assert (f"{name} {format_seconds(seconds)}" in said) == (seconds > max(sent, copied))
    assert path.objective == pytest.approx(path.setup + (sent + copied) / 8 + 7 / 8 * max(sent, copied, *shared.values()))


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
