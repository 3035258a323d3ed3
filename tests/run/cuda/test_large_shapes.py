"""Kernels of large copies fit into a multiprocessor: shared memory by their text, and what the assembler says for real GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from large_shapes import LONG_ROWS, Large, large_shapes

from isoviz.backends.cuda.kernels import KernelSource, kernels_of, nvrtc
from isoviz.backends.cuda.kernels.compile_kernels import resources

SEED = 20261125
IMAGE = 36 << 10
"""Bytes of shared memory of a block at most. A kernel that needs more than 48 KiB does not compile."""
REGISTERS = 96
"""Of a thread: two blocks of 256 threads and more fit into a multiprocessor."""
Report = Callable[[str, object], None]


def image(kernel: KernelSource) -> int:
    found = re.search(r"__shared__ .* image\[(\d+)\]", kernel.code)
    return int(found[1]) if found else 0


def check_images(cases: list[Large]) -> list[KernelSource]:
    kernels = [(case, kernel) for case in cases for kernel in kernels_of(case.copies, 256, 256)]
    for case, kernel in kernels:
        assert image(kernel) <= IMAGE, (case.what, image(kernel))
    return [kernel for _, kernel in kernels]


@pytest.mark.full
def test_every_image_is_small(full: bool, report: Report) -> None:
    kernels = check_images([LONG_ROWS, *large_shapes(800 if full else 16, SEED)])
    assert any(image(kernel) > IMAGE // 2 for kernel in kernels)
    report("kernels of large copies", f"{len(kernels)}, with images of at most {max(map(image, kernels))} bytes")


@pytest.mark.parametrize("architecture", ["sm_90", *(pytest.param(name, marks=pytest.mark.full) for name in ("sm_80", "sm_100"))])
@pytest.mark.full
def test_they_compile_for_real_gpus(needs_nvrtc: None, architecture: str, full: bool, report: Report) -> None:
    """As machine code and not as PTX only: the assembler refuses too much shared memory, and tells what spills."""
    cases = [LONG_ROWS, *large_shapes(60 if full else 4, SEED)]
    kernels = {kernel.name: kernel for case in cases for kernel in kernels_of(case.copies, 256, 256)}
    found = {}
    for kernel in kernels.values():
        code, log = nvrtc.compiled(kernel.code, architecture, ("--ptxas-options=-v",))
        assert code[:4] == b"\x7fELF"
        shared = re.search(r"(\d+) bytes smem", log)
        assert (int(shared[1]) if shared else 0) <= IMAGE, kernel.name
        found |= resources(log)
    assert found.keys() == kernels.keys()
    bad = {name: each for name, each in found.items() if each.spills or each.stack or each.registers > REGISTERS}
    # The assembler of sm_100 spills where a kernel has many loops. More registers would cost the other kernels blocks.
    most_bad = len(found) // 20 if architecture == "sm_100" else 0
    assert len(bad) <= most_bad, bad
    most = max(each.registers for each in found.values())
    report(
        f"kernels of large copies compiled for {architecture} without spills (most registers)",
        f"{len(found) - len(bad)} of {len(found)} ({most})",
    )
