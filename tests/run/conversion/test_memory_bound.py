"""`convert` needs the memory it was allowed, whatever the size of the file."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from run_cases import environment

from isoviz.units import format_bytes, parse_bytes

# The peak of this process alone; `ru_maxrss` also knows the peak of whatever started it, and is reported beside it.
PEAK = """
import re, resource, sys
from isoviz.cli import main
status = main(sys.argv[1:])
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
sys.stderr.write(f"peak {peak * 1024} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}\\n")
sys.exit(status)
"""
PAIR = np.dtype([("re", "f4"), ("im", "f4")])
CASES = {
    "structs to arrays": ("<F, x>", "<x, F>", lambda count: (count,)),
    "transposition": ("<F, x, y>", "<F, y, x>", lambda count: (math.isqrt(count),) * 2),
}


def write(path: Path, shape: tuple[int, ...]) -> None:
    """An array file, written a piece at a time."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_2_0(file, {"descr": PAIR.descr, "fortran_order": False, "shape": shape})
        count = math.prod(shape)
        for at in range(0, count, 1 << 19):
            file.write(np.arange(at, min(at + (1 << 19), count), dtype="u8").tobytes())


def peak(folder: Path, name: str, here: str, there: str, limit: str, *more: str) -> tuple[int, int]:
    """Bytes that `convert` has needed at most, without and with what started it. The time limit is that of the test."""
    arguments = ["convert", name, "out.npy", "--from", here, "--to", there, "--memory-limit", limit, "--overwrite", *more]
    command = [sys.executable, "-c", PEAK, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, own, ru = done.stderr.splitlines()[-1].split()
    return int(own), int(ru)


def bounded(
    folder: Path, case: str, size: int, limit: str, verify: bool, slack: int, report: Callable[[str, object], None]
) -> None:
    here, there, shape = CASES[case]
    write(folder / "small.npy", shape((1 << 20) // 8))
    write(folder / "large.npy", shape(size // 8))
    more = ["--verify"] if verify else []
    small, large = (peak(folder, name, here, there, limit, *more) for name in ("small.npy", "large.npy"))
    word = f"memory of convert, {case}, {format_bytes(size)} with limit {limit}{' and --verify' if verify else ''}"
    report(word, f"{format_bytes(large[0] - small[0])} more than for 1 MiB")
    assert large[0] - small[0] <= parse_bytes(limit) + slack
    a = np.load(folder / "large.npy", mmap_mode="r")
    b = np.load(folder / "out.npy", mmap_mode="r")
    if case == "transposition":
        assert (b[::97, ::89] == a[::89, ::97].T).all()
    else:
        assert (b[1, ::997] == a["im"][::997]).all()
    del a, b
    for name in ("large.npy", "out.npy"):  # pytest keeps folders of earlier runs
        (folder / name).unlink()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.few(1)
def test_memory_is_bounded_by_the_limit(case: str, verify: bool, tmp_path: Path, report: Callable[[str, object], None]) -> None:
    bounded(tmp_path, case, 64 << 20, "8MiB", verify, 8 << 20, report)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("verify", [False, True])
def test_four_gigabytes_in_64_mebibytes(case: str, verify: bool, tmp_path: Path, report: Callable[[str, object], None]) -> None:
    bounded(tmp_path, case, 4 << 30, "64MiB", verify, 0, report)
