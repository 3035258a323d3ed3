"""`isoviz simulate`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from html_cases import check_saved_page
from test_cli_commands import call, names_in, transfer

from isoviz.runtime import Trace

FAR = ("node0.fbm0", "node1.fbm0", "sapling", "nodes = 2")
"""Another machine than this computer: it can be simulated all the same."""


def test_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path, *FAR)
    status, out, error = call(capsys, "simulate", path)
    assert (status, error) == (0, "")
    for words in (
        "predicted by the plan",
        "simulated",
        "stored and forwarded",
        "busy",
        "share of the run",
        "channels at a time",
        "critical path",
    ):
        assert words in out
    status, out, _ = call(capsys, "simulate", path, "--store-and-forward")
    assert status == 0
    assert "\n  simulated" not in out and "1.00 ×" in out
    status, out, _ = call(capsys, "simulate", path, "--repeat", "3", "--planner", "simple")
    assert status == 0
    assert out.startswith("3 transfers at once, each simple plan")


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path, *FAR)
    status, out, error = call(capsys, "simulate", path, "--json", "--repeat", "2", "--trace", str(tmp_path / "trace.json"))
    assert status == 0
    assert error == f"wrote {tmp_path / 'trace.json'}\n"
    data = json.loads(out)
    assert data["transfers"] == 2
    assert data["predicted"]["seconds"] <= data["simulated"]["seconds"] <= data["stored_and_forwarded"]["seconds"]
    assert all(0 < use["share"] <= 1 + 1e-9 for use in data["channels"])
    parts = data["critical_path"]["parts"]
    total = data["critical_path"]["before"] + data["critical_path"]["gaps"] + sum(part["seconds"] for part in parts)
    assert total == pytest.approx(data["critical_path"]["seconds"])
    trace = Trace.from_json(json.loads((tmp_path / "trace.json").read_text()))
    assert trace.seconds == pytest.approx(data["simulated"]["seconds"])
    assert sum(use["requests"] for use in data["channels"]) == len(trace.requests)


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path, *FAR)
    page, chrome = tmp_path / "page.html", tmp_path / "chrome.json"
    status, _, error = call(capsys, "simulate", path, "-o", str(page), "--chrome", str(chrome))
    assert status == 0
    assert error == f"wrote {chrome}\nwrote {page}\n"
    saved = check_saved_page(page.read_text(encoding="utf-8"))
    assert [line["name"] for line in saved.content["page"]["lines"]] == [
        "predicted by the plan",
        "simulated",
        "stored and forwarded",
    ]
    outline = saved.static
    for words in ("Timeline", "Pipelined and stored and forwarded", "Buffers", "Predicted time over the chunk size"):
        assert words in outline.text
    assert json.loads(chrome.read_text())["traceEvents"]
    assert names_in(tmp_path) == ["chrome.json", "page.html", "transfer.toml"]


def test_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path, *FAR)
    status, out, _ = call(capsys, "simulate", path, "--steps", "2")
    assert status == 0
    first = out.split("\n\n", 1)[0].splitlines()
    assert "transfer 0 is submitted" in first[0]
    assert [line[:2] for line in first if not line.startswith(" ")] == ["1.", "2."]
    assert any("hand to" in line for line in first)
    # Looking at the first steps changes nothing about the rest.
    assert out.split("\n\n", 1)[1] == call(capsys, "simulate", path)[1]


def test_without_room_to_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pipelined it fits; stored and forwarded it would need buffers larger than a memory, and only that is left out."""
    path = Path(transfer(tmp_path, "node0.fbm0", "node1.fbm0", "two-node", ""))
    path.write_text(path.read_text().replace("x = 300", "x = 20000").replace("y = 20", "y = 20000"))
    status, out, error = call(capsys, "simulate", str(path), "-o", str(tmp_path / "page.html"))
    assert status == 0, error
    assert "stored and forwarded: no room" in out
    assert "Pipelined and" not in check_saved_page((tmp_path / "page.html").read_text(encoding="utf-8")).static.text
    assert json.loads(call(capsys, "simulate", str(path), "--json")[1])["stored_and_forwarded"] is None
    status, out, error = call(capsys, "simulate", str(path), "--store-and-forward")
    assert (status, out) == (2, "") and "it has" in error


def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path, *FAR)
    for words, said in (
        (("--repeat", "0"), "--repeat 0; expected 1 to 100000"),
        (("--steps", "-1"), "--steps -1; expected 0 or more"),
        (("--steps", "1", "--json"), "without --json"),
        (("-o", path), "is the transfer file itself"),
        (("-o", str(tmp_path / "x"), "--chrome", str(tmp_path / "x")), "named twice"),
        (("--planner", "fastest"), "fastest"),
    ):
        status, out, error = call(capsys, "simulate", path, *words)
        assert (status, out) == (2, "")
        assert said in error and error.count("\n") == 1
    assert names_in(tmp_path) == ["transfer.toml"]
