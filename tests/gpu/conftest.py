"""What the tests on a real GPU share: the reason why they are skipped, and pools that are as they were afterwards."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.backends.cuda import cupy_driver

sys.path.append(str(Path(__file__).parents[1] / "run" / "cuda"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What CuPy and PyTorch find missing on a machine, such as a toolkit, is no matter of these tests."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            for library in ("cupy", "torch"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore:::{library}"))


@pytest.fixture(autouse=True)
def needs_a_gpu() -> None:
    found = cupy_driver.loaded()
    if found.driver is None:
        pytest.skip(f"needs a GPU: {found.reason}")


@pytest.fixture(autouse=True)
def pools_are_as_they_were(needs_a_gpu: None) -> Iterator[None]:
    """Fails a test after which CuPy's pools hold more used memory than before, or pinned memory did not come back."""
    import cupy

    pool, pinned = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
    gc.collect()
    used, free = pool.used_bytes(), pinned.n_free_blocks()
    yield
    gc.collect()
    assert pool.used_bytes() == used, "memory of the GPU is left in use"
    assert pinned.n_free_blocks() >= free, "pinned memory is left in use"


@pytest.fixture
def needs_a_real_device() -> None:
    """For what a driver that plays GPUs cannot do."""
    import cupy

    if getattr(cupy, "__file__", None) is None:
        pytest.skip("needs a real GPU: this one is played by the driver of the tests")
