"""The tests of `tests/gpu` themselves, on GPUs that are played: none of their lines runs for the first time on a real device."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_cupy import play
from fake_driver import FakeDriver
from ptx_executor import Executor

TESTS = Path(__file__).parents[2]


@pytest.mark.full
def test_they_pass_on_played_gpus(executor: Executor, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """What needs a real device says so."""
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "XDG_CACHE_HOME": str(tmp_path), "ISOVIZ_FULL": "0"}
    chosen = ["--ignore", "tests/gpu/test_real_gpu_ranks.py"]  # GPUs are played in this process alone, and not in ranks
    # The timeout of pyproject.toml needs its plugin, where plugins are not loaded by themselves.
    plugins = ["-p", "pytest_timeout"] if "PYTEST_DISABLE_PLUGIN_AUTOLOAD" in os.environ else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, "-p", "play_gpu", "-p", "no:cacheprovider", "tests/gpu", *chosen],
        cwd=TESTS.parent,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    reasons = re.findall(r"SKIPPED \[\d+\] [^ ]+ (.*)", done.stdout)
    assert all("played by the driver of the tests" in reason or "PyTorch" in reason for reason in reasons), reasons
    passed = int(re.findall(r"(\d+) passed", done.stdout)[-1])
    assert passed >= 8
    report("tests of real GPUs that pass on played ones", passed)


@pytest.mark.full
def test_what_compute_sanitizer_watches(
    executor: Executor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plays = FakeDriver(4, executor=executor)
    play(plays, monkeypatch)
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(TESTS / "gpu" / "some_transfers.py"), run_name="__main__")
    assert "48 transfers, every byte verified" in capsys.readouterr().out
    assert not plays.violations, plays.violations
