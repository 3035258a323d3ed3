"""`make gpu`: time limits, the exit status, and the checks in the report."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def gpu_run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import gpu_run

    return gpu_run


def test_a_step_that_takes_too_long_is_ended_with_all_that_it_started(gpu_run: Any, tmp_path: Path) -> None:
    waits = "import threading; threading.Event().wait()"
    started = tmp_path / "started"
    os.mkfifo(started)
    program = (
        f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {waits!r}]);"
        f"open({str(started)!r}, 'w').write(str(p.pid)); {waits}"
    )
    step = gpu_run.Step("a step", [sys.executable, "-c", program], dict(os.environ), tmp_path, 600)
    child = int(started.read_text())  # once it has started its own program
    step.until = 0.0
    found = step.wait()
    assert found["result"] == "took too long"
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(child).wait(timeout=250)


def test_a_step_reads_the_counts_of_pytest(gpu_run: Any, tmp_path: Path) -> None:
    program = "print('1 failed, 20 passed, 3 skipped in 2.1s'); raise SystemExit(1)"
    found = gpu_run.Step("tests", [sys.executable, "-c", program], dict(os.environ), tmp_path, 60).wait()
    assert found["result"] == "failed (1)"
    assert (found["failed"], found["passed"], found["skipped"]) == (1, 20, 3)


@pytest.mark.parametrize(
    ("reason", "results", "status"),
    [
        ("CuPy finds no GPU", ["left out: no GPU", "passed"], 3),
        ("", ["passed", "left out: there is no compute-sanitizer", "passed"], 0),
        ("", ["passed", "failed (1)", "passed"], 1),
        ("", ["passed", "took too long"], 1),
        ("", ["failed: no test ran on the GPU", "passed"], 1),
    ],
)
def test_the_exit_status(
    gpu_run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reason: str,
    results: list[str],
    status: int,
) -> None:
    checks = [{"check": f"check {number}", "result": result, "seconds": 1.0} for number, result in enumerate(results)]

    def run(runner: Any, arguments: list[str]) -> None:
        for check in checks:
            runner.report.add(check)

    monkeypatch.setenv("OUT", str(tmp_path))
    monkeypatch.setattr(gpu_run, "make_environment", lambda wheels: Path(sys.executable))
    monkeypatch.setattr(gpu_run, "why_no_gpu", lambda python: reason)
    monkeypatch.setattr(gpu_run, "run_first", run)
    assert gpu_run.gpu([]) == status
    said = capsys.readouterr().err
    if reason:
        assert "nothing was tested or measured on a GPU" in said
        assert json.loads((tmp_path / "gpu-checks.json").read_text())["checks"] == checks
        assert not (tmp_path / "gpu.json").exists()
    else:
        assert json.loads((tmp_path / "gpu.json").read_text())["checks"] == checks
        assert all(f"| check {number} | {result} |" in (tmp_path / "gpu.md").read_text() for number, result in enumerate(results))
    assert ("FAILED" in said) == (status == 1)


class Played:
    """Steps that take their whole time by a clock of their own, and write what they are told to."""

    def __init__(self, gpu_run: Any, monkeypatch: pytest.MonkeyPatch, out: Path) -> None:
        self.now, self.out = 0.0, out
        self.order: list[Any] = []
        self.said: dict[str, tuple[int, str]] = {}
        self.stops_at = ""
        self.missing: list[str] = []
        played = self

        class Step:
            def __init__(self, name: str, command: list[str], variables: dict[str, str], folder: Path, seconds: float) -> None:
                self.name, self.command, self.until = name, command, played.now + seconds
                self.output = folder / f"gpu-{name}.log"
                played.order.append(self)

            def wait(self) -> dict[str, Any]:
                if self.name == played.stops_at:
                    raise KeyboardInterrupt
                played.now = max(played.now, self.until)
                status, text = played.said.get(self.name, (0, "5 passed"))
                self.output.write_text(text, encoding="utf-8")
                if "--json" in self.command:
                    row = {"part": self.name, "figure": 1.0}
                    table = json.dumps({"machine": {"gpu": "played"}, "rows": [row], "missing": played.missing})
                    Path(self.command[self.command.index("--json") + 1]).write_text(table, encoding="utf-8")
                    page = f"# The GPU\n\n## {self.name}\n"
                    Path(self.command[self.command.index("-o") + 1]).write_text(page, encoding="utf-8")
                return {"check": self.name, "result": f"failed ({status})" if status else "passed", "seconds": 1.0, "passed": 5}

            def stop(self) -> None:
                pass

        monkeypatch.setenv("OUT", str(out))
        monkeypatch.setattr(gpu_run, "Step", Step)
        monkeypatch.setattr(gpu_run, "make_environment", lambda wheels: Path(sys.executable))
        monkeypatch.setattr(gpu_run, "why_no_gpu", lambda python: "")
        monkeypatch.setattr(gpu_run, "find_sanitizer", lambda: "compute-sanitizer")

    def written(self, name: str = "gpu") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / f"{name}.json").read_text())
        return found


@pytest.fixture
def played(gpu_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    return Played(gpu_run, monkeypatch, tmp_path)


def test_both_calls_end_in_time_even_if_every_step_takes_all_of_its_own(gpu_run: Any, played: Played) -> None:
    """Ten minutes a call. 45 seconds of them are for the environment and the ends of programs."""
    assert gpu_run.gpu([]) == 0
    assert [step.name for step in played.order] == [
        *("kernels of the processor", "first transfers", "tests on the GPU", "memcheck", "racecheck", "conversions", "links"),
    ]
    assert played.now <= 555
    limits = {step.name: gpu_run.SECONDS[step.name] for step in played.order}
    assert limits["first transfers"] <= 60 and limits["tests on the GPU"] <= 150 and limits["memcheck"] <= 60
    assert limits["conversions"] + limits["links"] <= 120
    played.order.clear()
    played.now = 0.0
    assert gpu_run.gpu(["rest", "--repeat", "3"]) == 0
    assert [step.name for step in played.order] == ["kernels of the processor", "random transfers", *gpu_run.REST]
    assert played.now <= 555 and played.order[-1].command[-2:] == ["--repeat", "3"]
    assert [row["part"] for row in played.written("gpu-rest")["rows"]] == list(gpu_run.REST)


def test_a_call_that_is_cut_off_keeps_what_it_found(gpu_run: Any, played: Played) -> None:
    played.stops_at = "links"
    with pytest.raises(KeyboardInterrupt):
        gpu_run.gpu([])
    found = played.written()
    assert [row["part"] for row in found["rows"]] == ["conversions"] and found["machine"] == {"gpu": "played"}
    assert [check["check"] for check in found["checks"]][-1] == "conversions" and len(found["checks"]) == 6
    page = (played.out / "gpu.md").read_text()
    assert page.startswith("# The GPU\n\n## conversions\n") and "| racecheck | passed |" in page
    assert not list(played.out.glob("*.part"))


@pytest.mark.parametrize(
    ("said", "result", "status"),
    [
        (
            "Error: Device not supported. Please refer to the documentation",
            "left out: compute-sanitizer: Device not supported",
            0,
        ),
        ("========= Invalid __global__ write of size 4 bytes", "failed (9)", 1),
    ],
)
def test_compute_sanitizer_may_be_of_no_use(gpu_run: Any, played: Played, said: str, result: str, status: int) -> None:
    played.said["memcheck"] = 9, said
    assert gpu_run.gpu([]) == status
    checks = {check["check"]: check["result"] for check in played.written()["checks"]}
    assert checks["memcheck"] == result and checks["racecheck"] == "passed"
    command = next(step.command for step in played.order if step.name == "memcheck")
    assert command[command.index("--report-api-errors") + 1] == "no"


def test_figures_that_are_missing_fail(gpu_run: Any, played: Played) -> None:
    played.missing = ["1 of 76 conversions: left out: no time"]
    assert gpu_run.gpu([]) == 1
    checks = {check["check"]: check["result"] for check in played.written()["checks"]}
    assert checks["links"] == checks["conversions"] == "failed: 1 figures are missing" and checks["memcheck"] == "passed"


def test_wheels_need_a_folder_and_known_pythons(gpu_run: Any) -> None:
    for arguments in ([], ["folder", "3.9"]):
        with pytest.raises(gpu_run.SetupError, match=r"gpu-wheels: expected a folder and any of the Pythons 3\.11"):
            gpu_run.gpu_wheels(arguments)
