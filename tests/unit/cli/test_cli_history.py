"""`isoviz history`: earlier runs for people, for programs, as a page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from html_cases import Outline, without_plots
from prediction_cases import ENTRY

from isoviz.cli import main
from isoviz.runtime.ledger.ledger import Ledger, ledger


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))
    found = ledger()
    assert found is not None
    return found


def filled(book: Ledger, count: int = 20) -> None:
    for k in range(count):
        book.append(replace(ENTRY, machine=f"m{k % 2}", measured=0.01 * (1 + k / 100), date=f"2026-11-21T12:{k:02}:00+00:00"))


def test_nothing_yet(book: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 0
    assert "No runs in" in capsys.readouterr().out
    assert main(["history", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "ledger": str(book.path),
        "unreadable_lines": 0,
        "summary": {"trial": [], "model": []},
        "channels": [],
        "runs": [],
    }


def test_for_people(book: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    filled(book)
    with book.path.open("ab") as file:
        file.write(b"torn\n")
    book.append(replace(ENTRY, emulated=True, measured=1.0, origin="bench predictions", interval=None, verified=None))
    assert main(["history"]) == 0
    lines = [line.removeprefix("  ") for line in capsys.readouterr().out.splitlines()]
    assert lines[2].startswith("21 runs, 2026-11-21, in ") and lines[3] == "one line could not be read"
    (path,) = (line for line in lines if line.startswith("memory copy"))
    assert path.split()[2:] == ["20", "8.7", "%", "15", "%", "1.1", "1.19", "100", "%"], "not the emulated one"
    (channel,) = (line for line in lines if line.startswith("a->b"))
    assert channel.split() == ["a->b", "20", "10", "%", "10", "%", "1.11", "1.11", "–"]
    last = lines[lines.index("The last runs") + 3 :]
    newest, before = last[:2]
    assert len(last) == 15 and newest.endswith("emulated, not verified, bench predictions") and " - " in newest
    assert (
        before.startswith("2026-11-21 12:19  1 MiB  a <F, x> → b <F, x>") and "9 to 12 ms" in before and before.endswith("16 %")
    )
    assert main(["history", "-n", "2"]) == 0
    assert "  2 runs" in capsys.readouterr().out


def test_for_programs(book: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    filled(book)
    assert main(["history", "--json", "--machine", "m1", "--last", "4"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [each["machine"]["name"] for each in data["runs"]] == ["m1"] * 4
    assert data["channels"][0]["path"] == "a->b" and data["channels"][0]["count"] == 4
    assert data["summary"]["trial"] == []
    assert data["summary"]["model"][-1]["path"] == "all" and data["summary"]["model"][-1]["count"] == 4


def test_what_came_true_of_trials_and_of_the_model(book: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    """The trial was right, the model wrong by a half."""
    tried = replace(ENTRY, basis="trial", tried=True, model=0.005, predicted=0.01, measured=0.01, scatter=0.1)
    for each in (tried, tried, replace(tried, measured=0.02), ENTRY):
        book.append(each)
    assert main(["history", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    trial, model = (data["summary"][way][-1] for way in ("trial", "model"))
    assert (trial["count"], trial["median_error"], trial["held"], trial["with_interval"]) == (3, 0.0, 2, 3)
    assert (model["count"], model["median_error"], model["held"], model["with_interval"]) == (4, 0.5, 1, 1)
    assert len(data["runs"]) == 4
    assert main(["history"]) == 0
    lines = capsys.readouterr().out.splitlines()
    places = [lines.index(title) for title in ("By a trial", "By the model alone", "Channels, by the model", "The last runs")]
    assert places == sorted(places)


def test_as_a_page(book: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(book)
    assert main(["history", "-o", str(tmp_path / "page.html")]) == 0
    shown, plots = without_plots((tmp_path / "page.html").read_text(encoding="utf-8"))
    outline = Outline(shown)
    assert "By the model alone" in outline.text and "By a trial" not in outline.text, "no run had a trial"
    assert "median error" in outline.text and outline.tags.count("tr") == 20 + 1 + 2 + 1 + 1 + 1 and len(plots) == 1
    out, error = capsys.readouterr()
    assert out == "" and "wrote" in error


def test_forgetting(book: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    filled(book)
    assert main(["history", "--clear"]) == 0
    assert book.read() == ((), 0) and not book.path.exists()


def test_what_cannot_be(book: Ledger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "-n", "0"]) == 2
    assert "expected 1 or more" in capsys.readouterr().err
    monkeypatch.setenv("ISOVIZ_LEDGER", "off")
    assert main(["history"]) == 2
    assert "ISOVIZ_LEDGER says off" in capsys.readouterr().err
