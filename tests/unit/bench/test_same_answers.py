"""Answers that change are found, and nothing else is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import same_answers

BEFORE = {"seconds": 1.0, "hops": [{"rate": 2e9, "name": "a"}], "empty": None}


def changed(**change: object) -> list[str]:
    return list(same_answers.differences(BEFORE, {**BEFORE, **change}))


def test_rounding_and_what_is_new_are_no_differences() -> None:
    assert changed(seconds=1.0 + 1e-12, more=5) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"seconds": 1.0 + 1e-8}, ".seconds: 1.0 → 1.00000001"),
        ({"hops": [{"rate": 2e9, "name": "b"}]}, ".hops[0].name: 'a' → 'b'"),
        ({"hops": []}, ".hops: [{'rate': 2000000000.0, 'name': 'a'}] → []"),
        ({"seconds": None}, ".seconds: 1.0 → None"),
    ],
)
def test_each_change_is_named(change: dict[str, object], line: str) -> None:
    assert changed(**change) == [line]


def test_figures_that_a_second_run_does_not_repeat_are_no_answers() -> None:
    first = {"measured": 1.0, "rows": [{"rate": 2.0, "time": 3.0}]}
    second = {"measured": 1.5, "rows": [{"rate": 2.0, "time": 4.0}]}
    assert same_answers.common(first, second) == {"rows": [{"rate": 2.0}]}


def test_saved_answers_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(same_answers, "REPRODUCTIONS", ())
    monkeypatch.setattr(same_answers, "presets", lambda: ("laptop", "two-node"))
    file = tmp_path / "answers.gz"
    asked = [str(file), "--questions", "1"]
    assert same_answers.main(["save", *asked]) == 0
    assert same_answers.main(["compare", *asked]) == 0
    known = json.loads(gzip.decompress(file.read_bytes()))
    known["machine laptop"]["name"] = "another"
    file.write_bytes(gzip.compress(json.dumps(known).encode()))
    assert same_answers.main(["compare", *asked]) == 1
    assert "machine laptop\n  .name: 'another' → 'laptop'" in capsys.readouterr().out
