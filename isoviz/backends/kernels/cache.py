"""Where compiled kernels are kept: a folder for every version of their source, of Numba and of the processor.

A file in it says that everything has been compiled; without it the first use would take many seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.machines.measurements import cache_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SOURCES = (
    "cache.py",
    "compiled.py",
    "elements.py",
    "lines.py",
    "many.py",  # not compiled; the most loops of its tables are compiled in
    "planes.py",
    "rows.py",
    "shuffle.py",
    "shuffled_lines.py",
    "squares.py",
    "tall_squares.py",
    "turned.py",
    "vectors.py",
    "walk.py",
)
_DONE = "complete"
KEPT = 30 * 86400
"""Seconds for which kernels are kept that nobody uses."""


@cache
def folder() -> Path:
    """The folder for this source, this Python and this processor."""
    about = version("numba"), version("llvmlite"), sys.version, platform.machine(), _processor()
    return cache_directory() / f"kernels-{hash_of(_SOURCES, *about)}"


def hash_of(sources: Sequence[str], *about: str) -> str:
    """A name for some of the kernels' source files, and whatever else is said."""
    here = Path(__file__).parent
    parts = [(here / name).read_bytes() for name in sources] + [text.encode() for text in about]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]


def kept(function: Callable[..., Any]) -> Any:
    """Numba's `njit`, without the GIL, for what is called from Python: what is compiled of it is kept in `folder`."""
    from numba import njit
    from numba.core import config as numba_config

    config: Any = numba_config

    elsewhere, config.CACHE_DIR = config.CACHE_DIR, str(folder())  # only for what is compiled here
    try:
        return njit(cache=True, nogil=True)(function)
    finally:
        config.CACHE_DIR = elsewhere


def _processor() -> str:
    """What LLVM calls the processor, and what Numba makes of it: a cache directory may be shared between computers."""
    import llvmlite.binding as llvm
    from numba.core import config as numba_config

    config: Any = numba_config
    return f"{llvm.get_host_cpu_name()} {config.CPU_NAME} {config.CPU_FEATURES} {config.ENABLE_AVX}"


def is_complete() -> bool:
    """Whether everything has been compiled."""
    return (folder() / _DONE).exists()


def can_keep() -> bool:
    """Whether what is compiled can be kept."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder(), os.W_OK)


def mark_complete() -> bool:
    """Everything has been compiled and kept, and is in use; False where nothing can be kept. What other versions left, and nobody
    has used for long, is removed."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        (folder() / _DONE).touch()
    except OSError:
        return False
    for other in folder().parent.glob("kernels-*"):
        with contextlib.suppress(OSError):
            last = (other / _DONE if (other / _DONE).exists() else other).stat().st_mtime
            if other != folder() and time.time() - last > KEPT:
                shutil.rmtree(other)
    return True
