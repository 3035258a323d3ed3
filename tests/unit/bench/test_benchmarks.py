"""`python -m benchmarks`: what measures isoviz itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks import planner, simulator
from benchmarks.__main__ import parser
from benchmarks.machines import PLACES
from benchmarks.suites import SUITES
from isoviz.bench import SUITES as SUITES_OF_USERS
from isoviz.cli.command_line import main
from isoviz.planner import CACHE, Plan, Transfer, plan


def run(*words: str) -> int:
    return main(words, parser)


class Planned(NamedTuple):
    """What `planner` has measured, the transfers that it planned, and how many plans it took from the cache."""

    table: Any
    transfers: list[Transfer]
    hits: int


@pytest.fixture(scope="module")
def planned() -> Planned:
    """Measured once. Growth is measured on two small machines: the paths of one are listed, those of the other are too many."""
    seen: list[Transfer] = []

    def watched(transfer: Transfer, *others: Any) -> Plan:
        seen.append(transfer)
        return plan(transfer, *others)

    few = {name: PLACES[name] for name in ("sapling, 2 nodes", "10 memories, all-to-all")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.growth.PLACES", few)
        patch.setattr(planner, "plan", watched)
        patch.setattr(planner, "_cached", lambda *_: 1.0)
        table = planner.measure(repeat=1)
        return Planned(table, seen, CACHE.statistics.hits)


@pytest.fixture
def told(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command tells what was measured already."""

    def measure(repeat: int) -> Any:
        assert repeat == 1
        return planned.table

    monkeypatch.setattr(planner, "measure", measure)


@pytest.mark.full
def test_planning_beside_its_peers(capsys: pytest.CaptureFixture[str], told: None) -> None:
    assert run("planner", "--repeat", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["what"]: row for row in found["rows"]}
    assert len(rows) == len(found["rows"])
    known = {
        *("cached", "cached, by the name of the preset", "direct", "spsl", "spdl", "simple", "full", "full, 64 nodes"),
        *("certifying full", "networkx shortest path", "one PuLP solve"),
        *(f"full{nodes}, {what}" for nodes in ("", ", 64 nodes") for what in ("path unknown", "first plan on a machine")),
    }
    assert {row["what"].replace(f" {row['case']}", "") for row in found["rows"]} == known
    assert {row["case"] for row in found["rows"]} == {"1-D", "2-D"}
    assert all(row["seconds"] > 0 and row["to_simple"] > 0 for row in found["rows"])
    for dims in ("1-D", "2-D"):
        assert rows[f"simple {dims}"]["to_simple"] == 1
        assert rows[f"networkx shortest path {dims}"]["to_networkx"] == rows[f"one PuLP solve {dims}"]["to_pulp"] == 1
        assert rows[f"one PuLP solve {dims}"]["programs"] == 1
        assert rows[f"certifying full {dims}"]["programs"] == 1
        assert 0 < rows[f"certifying full {dims}"]["solver_share"] < 1
        for name in ("direct", "spsl", "spdl", "simple", "full"):
            row = rows[f"{name} {dims}"]
            assert row["programs"] == row["solver_share"] == 0
            assert all(row[size] > 0 for size in ("16 MiB", "256 MiB", "8 GiB"))
        assert rows[f"cached {dims}"]["programs"] is rows[f"cached {dims}"]["8 GiB"] is None
    assert rows["full 2-D"]["paper"] and rows["full 1-D, 64 nodes"]["paper"] is None


@pytest.mark.full
def test_planning_for_people(capsys: pytest.CaptureFixture[str], told: None, tmp_path: Path) -> None:
    page = tmp_path / "planner.html"
    assert run("planner", "--repeat", "1", "-o", str(page)) == 0
    first, growth = capsys.readouterr().out.split("\n\nfull planner on machines of growing size")
    lines = first.splitlines()
    assert all(heading in lines[2] for heading in ("what", "÷ simple", "Isometry (C++)", "in solver", "16 MiB", "8 GiB"))
    table = [line for line in lines[2:] if not line.startswith("  note: ")]
    assert len({len(line) for line in table}) == 1
    assert any("64 nodes ÷ 2 nodes" in line for line in lines)
    assert growth.count("10 memories, all-to-all") == growth.count("sapling, 2 nodes") == 4
    assert "gap" in growth and "networkx" in growth
    shown = page.read_text(encoding="utf-8")
    assert "<h1>Planning time</h1>" in shown and shown.count('class="plot" data-plot') == 1


@pytest.mark.full
def test_growth_of_planning_for_programs(capsys: pytest.CaptureFixture[str], told: None) -> None:
    assert run("planner", "--repeat", "1", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["growth"]["rows"]
    assert {row["case"] for row in rows} == {"1-D", "2-D", "3-D", "as it is"}
    for row in rows:
        assert row["seconds"] > 0 and row["first"] > 0 and row["channels"] in (62, 90)
        assert row["gap"] is not None and row["gap"] <= 1e-4 and row["slower"] >= 1 - 2e-3


@pytest.mark.full
def test_planning_is_never_of_a_transfer_planned_before(planned: Planned) -> None:
    assert len(set(planned.transfers)) == len(planned.transfers) > 50
    assert planned.hits == 0


def test_simulated_requests_beside_simpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "CHUNKS", 128)
    monkeypatch.setattr(simulator, "NODES", 2)
    monkeypatch.setattr(simulator, "TRANSFERS", 5)
    found = simulator.measure(repeat=1)
    rows = {row["what"]: row for row in found.rows}
    assert [row["requests"] for row in found.rows[:2]] == [128, 384]
    assert all(row["per_second"] == row["requests"] / row["seconds"] > 0 for row in found.rows)
    assert rows["5 transfers among 2 nodes"]["planning"] > 0
    if simulator._simpy() is not None:
        assert all(row["to_simpy"] > 0 for row in found.rows[:3])
    assert "SimPy" in str(found)


def test_every_suite_can_be_loaded() -> None:
    assert all(callable(suite.measure) for suite in SUITES.values())
    assert not {*SUITES} & {*SUITES_OF_USERS}


def test_the_options_of_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of `isoviz bench`; its suites run here as well."""
    assert run("import", "--repeat", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["benchmark"] == "import" and found["rows"][0]["to_numpy"] == 1
    assert run("import", "--size", "1MiB") == 2
    assert "import: takes no --size" in capsys.readouterr().err
    assert run("import", "-o", str(tmp_path / "page.html")) == 2
    assert run("engine", "--repeat", "0") == 2
    assert run() == 2
    assert ", ".join([*SUITES, *SUITES_OF_USERS]) in capsys.readouterr().err


def test_staged_reads_beside_the_one_hop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("staging", "--size", "64KiB", "--repeat", "1", "--directory", str(tmp_path), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["by"] == "staged" and rows[0]["to_staged"] == 1
    assert all(row["seconds"] > 0 and row["predicted"] > 0 for row in rows)
    assert list(tmp_path.iterdir()) == []
