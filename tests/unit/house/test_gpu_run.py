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
        psutil.Process(child).wait(timeout=30)


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

    def run_all(*_: Any) -> list[dict[str, Any]]:
        if not reason:
            (tmp_path / "gpu.json").write_text("{}", encoding="utf-8")
            (tmp_path / "gpu.md").write_text("# The GPU\n", encoding="utf-8")
        return checks

    monkeypatch.setenv("OUT", str(tmp_path))
    monkeypatch.setattr(gpu_run, "make_environment", lambda wheels: Path(sys.executable))
    monkeypatch.setattr(gpu_run, "why_no_gpu", lambda python: reason)
    monkeypatch.setattr(gpu_run, "run_all", run_all)
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


def test_wheels_need_a_folder_and_known_pythons(gpu_run: Any) -> None:
    for arguments in ([], ["folder", "3.9"]):
        with pytest.raises(gpu_run.SetupError, match=r"gpu-wheels: expected a folder and any of the Pythons 3\.11"):
            gpu_run.gpu_wheels(arguments)
