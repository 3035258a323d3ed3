"""The folder of compiled kernels: one for each version of their sources, of Numba and of the processor.

A file in it lists the digests of all compiled files and says that they are complete. Without complete files, the first use
would take many seconds. The files are pickles: a damaged one is deleted and compiled again, never loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.user_cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_HERE = Path(__file__).parent
_SOURCES = (
    "kernel_cache.py",
    "many.py",  # It is not compiled, but its `MOST_LOOPS` is compiled in.
    *sorted(f"compiled/{path.name}" for path in (_HERE / "compiled").glob("*.py")),
)
_DONE = "complete"
_COMPILING = "compiling"
"""The file that the process which compiles holds locked."""
KEPT = 30 * 86400
"""Seconds for which unused kernels are kept."""


@cache
def folder() -> Path | None:
    """The folder for these sources, this Python and this processor; None where nothing can be kept."""
    above = cache_folder()
    if above is None:
        return None
    here = repr(os.fsencode(_HERE))  # Numba's own index names the path of the source.
    about = version("numba"), version("llvmlite"), sys.version, platform.machine(), _processor()
    return above / f"kernels-{hash_of(_SOURCES, here, *about)}"


def is_begun() -> bool:
    """Whether kernels of any version are kept. This loads neither Numba nor LLVM, which takes a second."""
    above = cache_folder()
    return above is not None and any(above.glob("kernels-*"))


def hash_of(sources: Sequence[str], *about: str) -> str:
    """A short hash of some source files of the kernels and of texts."""
    parts = [(_HERE / name).read_bytes() for name in sources] + [text.encode() for text in about]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]


def kept(function: Callable[..., Any]) -> Any:
    """Numba's `njit` without the GIL, for functions that Python calls; the compiled code is kept in `folder`."""
    from numba import njit
    from numba.core import config as numba_config

    config: Any = numba_config
    if not can_keep():
        return njit(nogil=True)(function)
    elsewhere, config.CACHE_DIR = config.CACHE_DIR, str(folder())  # Only for the functions compiled here.
    try:
        return njit(cache=True, nogil=True)(function)
    finally:
        config.CACHE_DIR = elsewhere


def _processor() -> str:
    """LLVM's name of the processor and Numba's settings for it: several computers may share a cache directory."""
    import llvmlite.binding as llvm
    from numba.core import config as numba_config

    config: Any = numba_config
    return f"{llvm.get_host_cpu_name()} {config.CPU_NAME} {config.CPU_FEATURES} {config.ENABLE_AVX}"


@contextlib.contextmanager
def only_one(*, wait: bool) -> Iterator[bool]:
    """While the block runs, no other process is in such a block. `wait` waits for another one; else the value is False.

    Where files cannot be locked, every process is let in: two that compile at the same time only waste time.
    """
    place = folder()
    try:
        import fcntl

        file = (place / _COMPILING).open("ab") if place is not None and can_keep() else None
    except (ImportError, OSError):
        file = None
    if file is None:
        yield True
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError:  # a file system without locks
            pass
        yield True


def is_complete() -> bool:
    """Whether all kernels are compiled and unchanged since. Changed files are deleted."""
    place = folder()
    if place is None:
        return False
    try:
        known = json.loads((place / _DONE).read_text(encoding="utf-8"))
        found = _digests(place)
        wrong = {name for name in {*known, *found} if known.get(name) != found.get(name)}
    except FileNotFoundError:  # It is not compiled yet, or being compiled.
        return False
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):  # Not a list from `mark_complete`.
        discard()
        return False
    if known and not wrong:
        return True
    functions = {name.partition(".py")[0] for name in wrong}
    _delete([place / _DONE, *(place / name for name in found if name.partition(".py")[0] in functions)])
    return False


def discard() -> bool:
    """Delete all compiled files; False where there were none."""
    place = folder()
    return place is not None and _delete([place / _DONE, *_files(place)])


def _delete(paths: list[Path]) -> bool:
    """Delete files; False where there were none. Folders stay, as another process may be about to write to them."""
    found = False
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
            found = True
    return found


def _files(place: Path) -> list[Path]:
    """Numba's files: an index (`.nbi`) for each function, and its compiled code (`.nbc`)."""
    return sorted(path for path in place.rglob("*.nb?") if path.suffix in (".nbi", ".nbc"))


def _digests(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(place)}


def can_keep() -> bool:
    """Whether compiled kernels can be kept."""
    place = folder()
    if place is None:
        return False
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return os.access(place, os.W_OK)


def mark_complete() -> bool:
    """Write down that everything is compiled, kept and in use; False where nothing can be kept.

    Kernels of other versions that were not used for long are removed.
    """
    place = folder()
    if place is None or not can_keep():
        return False
    try:
        done, beside = place / _DONE, place / f"{_DONE}.{os.getpid()}"
        beside.write_text(json.dumps(_digests(place)), encoding="utf-8")
        beside.replace(done)
    except OSError:
        return False
    for other in place.parent.glob("kernels-*"):
        with contextlib.suppress(OSError):
            last = (other / _DONE if (other / _DONE).exists() else other).stat().st_mtime
            if other != place and time.time() - last > KEPT:
                shutil.rmtree(other)
    return True
