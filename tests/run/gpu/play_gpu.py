"""A plugin of pytest: the tests of `tests/gpu` run on a CuPy and GPUs that are played, with real kernels executed as PTX."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "cuda"), str(Path(__file__).parents[2])]
import ptx_executor  # beside this file
from fake_cupy import play
from fake_driver import FakeDriver


@pytest.fixture(autouse=True, scope="session")
def played_gpus(tmp_path_factory: pytest.TempPathFactory) -> object:
    executor = ptx_executor.build(tmp_path_factory.mktemp("executor"))
    plays = FakeDriver(3, executor=executor)
    with pytest.MonkeyPatch.context() as patch:
        play(plays, patch)
        yield plays
    assert not plays.violations, plays.violations
