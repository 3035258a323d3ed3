"""`isoviz bench`: tables that people and programs can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz.bench import SUITES, layouts, permutations, pipeline, vortex
from isoviz.bench.table import interleaved
from isoviz.cli import main
from isoviz.layouts import StridedCopy, apply
from isoviz.runtime import simulate


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
    assert main(["bench", "priority", "--size", "64KiB", "--repeat", "1"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("  note: ")]
    assert lines[2].split()[0] == "path"
    assert len({len(line) for line in lines[2:]}) == 1


def test_options_a_suite_does_not_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "engine", "--size", "1MiB"]) == 2
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


def rounds_until(holds: Callable[..., bool], seconds: Callable[[], list[float]]) -> bool:
    """Whether something holds of the best times of some rounds. A round takes a tenth of a second: where another program has the
    processor meanwhile, it says nothing."""
    best = seconds()
    for _ in range(25):
        if holds(*best):
            return True
        best = list(map(min, best, seconds()))
    return holds(*best)


def test_pipelines_beside_their_slowest_hop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes move as ever, but a simulated clock says how long it took: nothing is faster than its bound, and pipelining is faster
    than storing."""
    run = pipeline.Engine.run

    def timed(self: Any, made: Any, *, pipelined: bool = True, **options: Any) -> Any:
        report = run(self, made, pipelined=pipelined, **options)
        return replace(report, seconds=simulate(made, self.machine, pipelined=pipelined, request_bytes=4 << 20).seconds)

    monkeypatch.setattr(pipeline.Engine, "run", timed)
    assert main(["bench", "pipeline", "--size", "8MiB", "--repeat", "3", "--directory", str(tmp_path), "--json"]) == 0
    piped, stored, *local = json.loads(capsys.readouterr().out)["rows"]
    assert 0.5 < piped["to_bound"] <= 1.01 and 0.5 < stored["to_bound"] <= 1.01
    assert piped["bound"] > 2 * stored["bound"] and piped["seconds"] < stored["seconds"]
    assert len(local) == 2 and all(row["throughput"] > 0 and row["bound"] > 0 for row in local)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_lists_beside_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "noncontiguous", "--parts", "lists", "--quick", "--repeat", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {each["beside"] for each in rows} == {"numpy.take", "d[j] = s", "d[j] = s[i]", "20 runs", "0.3 s"}
    assert len(rows) == 72 and all(each["figure"] > 0 and each["ratio"] > 0 for each in rows)


def test_the_switch_beside_a_naive_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both send the same packets; where they do not agree, there are no figures."""
    report = tmp_path / "vortex.md"
    assert main(["bench", "vortex", "--quick", "--repeat", "1", "--json", "-", "-o", str(report)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["aim"] for each in found["rows"]] == [50, 1, 1, 1, 1, 1, 1] and all(each["ratio"] > 0 for each in found["rows"])
    page, carried = report.read_text(encoding="utf-8"), found["figures"]["What a saturated switch carries"]
    assert [each["heights"] for each in carried] == ["8", "16", "32"]
    assert all(0.2 < float(each["packets per port and cycle"]) < float(each["independent packets"]) + 0.05 for each in carried)
    assert all(f"## {title}\n" in page for title in (*found["figures"], "Speed"))
    monkeypatch.setattr(vortex.NaiveSwitch, "enter", lambda *_: False)
    assert main(["bench", "vortex", "--quick", "--repeat", "1"]) == 1
    assert "do not agree" in capsys.readouterr().err


def test_an_urgent_transfer_among_others(capsys: pytest.CaptureFixture[str]) -> None:
    def seconds() -> list[float]:
        assert main(["bench", "priority", "--size", "1MiB", "--repeat", "1", "--json"]) == 0
        found: list[dict[str, float]] = json.loads(capsys.readouterr().out)["rows"]
        assert len(found) == 3 and all(row["allowed"] > 1.2 * row["alone"] for row in found)
        return [row[name] for row in found[:2] for name in ("by_priority", "first_come")]  # those of a set speed

    assert rounds_until(lambda one, of_one, two, of_two: one < of_one / 2 and two < of_two / 2, seconds)


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


@pytest.mark.full
def test_what_the_engine_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "engine", "--repeat", "1"]) == 0
    said = capsys.readouterr().out
    assert "copy, 4 KiB" in said and "Realm" in said and "a request, 3 hops" in said
    for size in ("8 B", "4 KiB"):
        assert f"copy, {size}" in said and f"submit, {size}" in said
    assert "÷ copy" in said


@pytest.mark.parametrize(
    ("two_threads", "words"), [(0.8, "memory gives them 0.80 of memcpy at most"), (1.4, "of the 1 conversions")]
)
def test_what_two_threads_are_said_to_gain(two_threads: float, words: str) -> None:
    """Also where no conversion leaves them anything."""
    row = {"case": "a", "share": 1.0, "numpy": 0.5, "torch": None, "opencv": None, "two_threads": two_threads}
    notes = list(layouts._notes([{**row, "group": group} for group in ("2-D", "random", "small")]))
    assert any(words in note for note in notes), notes
