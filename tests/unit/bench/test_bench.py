"""`isoviz bench`: tables that people and programs can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from isoviz.bench import SUITES
from isoviz.bench.host import layout_copies as layouts
from isoviz.bench.host import permutations
from isoviz.bench.planning import planning_time as planner
from isoviz.bench.planning.bench_machines import PLACES
from isoviz.bench.running import simulation_speed as simulator
from isoviz.bench.table import interleaved
from isoviz.cli import main
from isoviz.layouts import StridedCopy, apply
from isoviz.planner import CACHE, Plan, Transfer, plan


class Planned(NamedTuple):
    """What `bench planner` has measured, the transfers that it planned, and how many plans it took from the cache."""

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
        patch.setattr("isoviz.bench.planning.growth.PLACES", few)
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


def test_conversions_beside_their_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "convert", "--size", "1MiB", "--repeat", "1", "--directory", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["case"] for row in found["rows"]} == {"AOS → SOA", "transposition"}
    assert {row["by"] for row in found["rows"]} == {"isoviz", "isoviz copy", "cp", "NumPy memmap"}
    for row in found["rows"]:
        assert row["throughput"] > 0
        assert row["to_copy"] == 1 or row["by"] != "isoviz copy"
    assert found["machine"]["cores"] >= 1
    assert list(tmp_path.iterdir()) == []


def test_tables_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "import", "--repeat", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[0] == "statement"
    assert len({len(line) for line in lines[2:]}) == 1


def test_options_a_suite_does_not_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "import", "--size", "1MiB"]) == 2
    assert "takes no --size" in capsys.readouterr().err
    assert main(["bench", "convert", "--repeat", "0"]) == 2


def test_medians_of_interleaved_rounds() -> None:
    order: list[str] = []
    values = iter([1.0, 10.0, 3.0, 30.0, 2.0, 20.0])

    def action(name: str) -> float:
        order.append(name)
        return next(values)

    assert interleaved({"a": lambda: action("a"), "b": lambda: action("b")}, 3) == {"a": 2.0, "b": 20.0}
    assert order == ["a", "b"] * 3


def test_every_suite_can_be_loaded() -> None:
    assert all(callable(suite.measure) for suite in SUITES.values())


def test_planning_beside_its_peers(capsys: pytest.CaptureFixture[str], told: None) -> None:
    assert main(["bench", "planner", "--repeat", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["what"]: row for row in found["rows"]}
    assert len(rows) == len(found["rows"])
    known = {
        *("cached", "direct", "spsl", "spdl", "simple", "full", "full, 64 nodes"),
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
        assert rows[f"certifying full {dims}"]["programs"] > 1
        assert 0 < rows[f"certifying full {dims}"]["solver_share"] < 1
        for name in ("direct", "spsl", "spdl", "simple", "full"):
            row = rows[f"{name} {dims}"]
            assert row["programs"] == row["solver_share"] == 0
            assert all(row[size] > 0 for size in ("16 MiB", "256 MiB", "8 GiB"))
        assert rows[f"cached {dims}"]["programs"] is rows[f"cached {dims}"]["8 GiB"] is None
    assert rows["full 2-D"]["paper"] and rows["full 1-D, 64 nodes"]["paper"] is None


def test_planning_for_people(capsys: pytest.CaptureFixture[str], told: None, tmp_path: Path) -> None:
    page = tmp_path / "planner.html"
    assert main(["bench", "planner", "--repeat", "1", "-o", str(page)]) == 0
    first, growth = capsys.readouterr().out.split("\n\nfull planner on machines of growing size")
    lines = first.splitlines()
    assert all(heading in lines[2] for heading in ("what", "÷ simple", "Isometry (C++)", "in solver", "16 MiB", "8 GiB"))
    table = [line for line in lines[2:] if not line.startswith("note: ")]
    assert len({len(line) for line in table}) == 1
    assert any("64 nodes ÷ 2 nodes" in line for line in lines)
    assert growth.count("10 memories, all-to-all") == growth.count("sapling, 2 nodes") == 4
    assert "gap" in growth and "networkx" in growth
    assert "Planning time over channels" in page.read_text(encoding="utf-8")


def test_growth_of_planning_for_programs(capsys: pytest.CaptureFixture[str], told: None) -> None:
    assert main(["bench", "planner", "--repeat", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["growth"]["rows"]
    assert {row["case"] for row in rows} == {"1-D", "2-D", "3-D", "as it is"}
    for row in rows:
        assert row["seconds"] > 0 and row["first"] > 0 and row["channels"] in (62, 90)
        assert row["gap"] is not None and row["gap"] <= 1e-4 and row["slower"] >= 1 - 2e-3


def test_planning_is_never_of_a_transfer_planned_before(planned: Planned) -> None:
    assert len(set(planned.transfers)) == len(planned.transfers) > 50
    assert planned.hits == 0


def test_pipelines_beside_their_slowest_hop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over channels of a set speed nothing is faster than its bound, but for the clocks; pipelining is faster than storing."""
    assert main(["bench", "pipeline", "--size", "8MiB", "--repeat", "1", "--directory", str(tmp_path), "--json"]) == 0
    piped, stored, *local = json.loads(capsys.readouterr().out)["rows"]
    assert 0 < piped["to_bound"] <= 1.01 and 0 < stored["to_bound"] <= 1.01
    assert piped["bound"] > 2 * stored["bound"] and piped["seconds"] < stored["seconds"]
    assert len(local) == 2 and all(row["throughput"] > 0 and row["bound"] > 0 for row in local)
    assert list(tmp_path.iterdir()) == []


def test_an_urgent_transfer_among_others(capsys: pytest.CaptureFixture[str]) -> None:
    def rows() -> list[dict[str, float]]:
        assert main(["bench", "priority", "--size", "1MiB", "--repeat", "1", "--json"]) == 0
        found: list[dict[str, float]] = json.loads(capsys.readouterr().out)["rows"]
        assert len(found) == 3
        return found[:2]  # of a set speed

    def holds(row: dict[str, float]) -> bool:
        return row["by_priority"] < row["first_come"] / 2 and row["allowed"] > 1.2 * row["alone"]

    # One round takes a tenth of a second: where another program has the processor meanwhile, it says nothing.
    assert any(all(map(holds, rows())) for _ in range(4))


def test_conversions_in_memory(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(layouts, "RANDOM", 3)
    assert main(["bench", "layouts", "--size", "256KiB", "--repeat", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    groups = [row["group"] for row in found["rows"]]
    assert groups.count("random") == groups.count("small") == 3
    assert len(groups) == 76 + 3 + 3
    assert all(row["share"] > 0 and row["numpy"] > 0 for row in found["rows"])
    drawn = found["rows"][-3:]
    for kind in ("3 random conversions", "3 of a 256th of the size"):
        assert any(note.startswith(f"{kind}: geometric mean") for note in found["notes"])
    assert "→" in drawn[0]["conversion"]


def test_permutations_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "permutations", "--size", "256KiB", "--repeat", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 57
    assert all(row["share"] > 0 and row["numpy"] > 0 for row in found["rows"])
    assert any(note.startswith("57 permutations: geometric mean") for note in found["notes"])
    assert main(["bench", "permutations", "--size", "1KiB"]) == 2
    assert "expected at least 64 KiB" in capsys.readouterr().err


@pytest.mark.parametrize("nbytes", [1 << 24, 200_000_000])
def test_the_suite_of_permutations(nbytes: int) -> None:
    """Of every class, the same ones whatever their size, and none that fewer dimensions could say."""
    found = list(permutations.cases(nbytes))
    orders = [case.name.split(",")[0] for case in found]
    assert orders == [case.name.split(",")[0] for case in permutations.cases(1 << 20)]
    assert [sum(len(case.space) == count for case in found) for count in range(2, 7)] == [3, 9, 15, 15, 15]
    assert len([case for case in found if case.group == "fastest kept"]) == 18
    for case in found:
        (copy,) = case.copies()
        assert copy.nbytes == pytest.approx(nbytes, rel=0.1)
        assert len(copy.loops) == len(case.space) - (case.group == "fastest kept")
        assert (copy.run > 4) is (case.group == "fastest kept")
    middles = [case.space.sizes[1:-1] for case in found if len(case.space) > 2]
    assert sum(any(extent in permutations.MIDDLE for extent in middle) for middle in middles) > len(middles) / 3
    assert len(permutations.irreducible(3)) == 3
    assert permutations.irreducible(2) == [(1, 0)]


def test_peers_copy_runs_of_any_size() -> None:
    """PyTorch has elements, no runs: it gets these as a dimension of elements."""
    torch = layouts.torch()
    if torch is None:
        pytest.skip("PyTorch is not installed")
    copies = [StridedCopy(0, 0, 12, ((3, 12, 48), (4, 36, 12))), StridedCopy(144, 144, 7, ((3, 7, 14), (2, 21, 7)))]
    source, found, expected = np.arange(200, dtype=np.uint8), np.zeros(200, np.uint8), np.zeros(200, np.uint8)
    action = layouts._by_torch(torch, copies, source, found)
    assert action is not None
    action()
    apply(copies, source, expected)
    assert (found == expected).all()


def test_what_the_engine_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "engine", "--repeat", "1"]) == 0
    said = capsys.readouterr().out
    assert "copy, 4 KiB" in said and "Realm" in said and "a request, 3 hops" in said
    for size in ("8 B", "4 KiB"):
        assert f"copy, {size}" in said and f"submit, {size}" in said
    assert "÷ copy" in said


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


@pytest.mark.parametrize(
    ("two_threads", "words"), [(0.8, "memory gives them 0.80 of memcpy at most"), (1.4, "of the 1 conversions")]
)
def test_what_two_threads_are_said_to_gain(two_threads: float, words: str) -> None:
    """Also where no conversion leaves them anything."""
    row = {"case": "a", "share": 1.0, "numpy": 0.5, "torch": None, "opencv": None, "two_threads": two_threads}
    notes = list(layouts._notes([{**row, "group": group} for group in ("2-D", "random", "small")]))
    assert any(words in note for note in notes), notes
