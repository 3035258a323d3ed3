"""`examples/nhwc_to_gpu_nchw.py`: without a GPU, with emulated memory, and on a GPU that is played."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import fake_torch
import pytest
from fake_cupy import play
from fake_driver import FakeDriver
from ptx_executor import Executor

from isoviz.backends.cuda import cupy_driver

EXAMPLE = Path(__file__).parents[3] / "examples" / "nhwc_to_gpu_nchw.py"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(EXAMPLE), *words], capture_output=True, text=True, check=False, timeout=250)


def test_without_a_gpu_it_says_so() -> None:
    if cupy_driver.loaded().driver is not None:
        pytest.skip("there is a GPU")
    done = run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("This example needs a GPU: CuPy ") and "With --emulated" in done.stderr


@pytest.mark.full
def test_emulated_memory_is_labelled() -> None:
    done = run("--emulated", "--pinned", "--batch", "1", "--repeat", "1")
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines = done.stdout.splitlines()
    assert first == "GPU memory is emulated in host memory: these figures say nothing about a GPU."
    assert len(lines) == 5 and all("isoviz " in line and "; NumPy " in line for line in lines)


@pytest.mark.parametrize("words", [[], ["--pinned"]], ids=["pageable", "pinned"])
def test_it_runs_on_a_played_gpu(
    words: list[str], executor: Executor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plays = FakeDriver(9, executor=executor)
    play(plays, monkeypatch)
    monkeypatch.setitem(sys.modules, "torch", fake_torch.make())
    spec = importlib.util.spec_from_file_location("nhwc_to_gpu_nchw", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "loaded", cupy_driver.loaded)
    monkeypatch.setattr(example, "LAYERS", ((64, 10), (3, 12)))
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--batch", "2", "--repeat", "1", *words])
    example.main()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"fake, {'pinned' if words else 'pageable'}" and len(lines) == 2
    assert all("CuPy" in line and "PyTorch" in line for line in lines)
    assert not plays.violations, plays.violations
