"""What the proofs of kernels share: the compiler of CUDA C++ and the executor of its PTX."""

from __future__ import annotations

import ptx_executor
import pytest
from ptx_executor import Executor

from isoviz.backends.cuda.kernels import nvrtc


@pytest.fixture(scope="session")
def needs_nvrtc() -> None:
    if not nvrtc.is_there():
        pytest.skip("NVRTC is not installed here (pip install nvidia-cuda-nvrtc): no kernel can be compiled")


@pytest.fixture(scope="session")
def executor(needs_nvrtc: None, tmp_path_factory: pytest.TempPathFactory) -> Executor:
    if not ptx_executor.has_compiler():
        pytest.skip("g++ is not installed here: the executor of PTX cannot be built")
    return ptx_executor.build(tmp_path_factory.mktemp("executor"))
