"""Large array files for benchmarks, and the time of a program that writes one from another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def generated(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Path:
    """A `.npy` file of this shape whose bytes compress badly, written in pieces."""
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    words = array.reshape(-1).view(np.uint32)
    for start in range(0, len(words), 1 << 22):
        part = np.arange(start, min(start + (1 << 22), len(words)), dtype=np.uint32)
        words[start : start + len(part)] = (part * np.uint32(2654435761)) & np.uint32(0xBFFFFFFF)
    array.flush()
    return path


def timed(action: Callable[[Path], object], source: Path, target: Path) -> float:
    """Seconds until the target is on the disk. The source is out of the page cache at first, and the target is removed at the
    end."""
    forget(source)
    start = time.perf_counter()
    action(target)
    with target.open("rb") as file:
        os.fsync(file.fileno())
    seconds = time.perf_counter() - start
    target.unlink()
    return seconds


def forget(path: Path) -> None:
    """Drop a file from the page cache if the system can, so that every reader starts alike."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
