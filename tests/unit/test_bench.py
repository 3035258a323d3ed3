"""`isoviz bench`: tables that people and programs can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoviz.bench import SUITES
from isoviz.bench.table import interleaved
from isoviz.cli import main


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
