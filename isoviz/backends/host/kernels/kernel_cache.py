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

from isoviz.errors import FileError
from isoviz.regular_files import write_text
from isoviz.user_cache import cache_folder, own_folder, warn_once
from isoviz.whose import is_own

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
_APART = "apart"
"""The folder of what is kept apart from the kernels."""
KEPT = 30 * 86400
"""Seconds for which unused kernels are kept."""


def folder() -> Path | None:
    """The folder for these sources, this Python and this processor; None where nothing can be kept.

    Each call looks whose the folder is: loading a kernel runs its code.
    """
    above = cache_folder()
    return None if above is None else above / _name()


@cache
def _name() -> str:
    here = repr(os.fsencode(_HERE))  # Numba's own index names the path of the source.
    about = version("numba"), version("llvmlite"), sys.version, platform.machine(), _processor()
    return f"kernels-{hash_of(_SOURCES, here, *about)}"


def is_begun() -> bool:
    """Whether kernels of any version are kept. This loads neither Numba nor LLVM, which takes a second."""
    above = cache_folder()
    return above is not None and any(above.glob("kernels-*"))


def hash_of(sources: Sequence[str], *about: str) -> str:
    """A short hash of some source files of the kernels and of texts."""
    parts = [(_HERE / name).read_bytes() for name in sources] + [text.encode() for text in about]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]


def kept(function: Callable[..., Any], apart: str = "") -> Any:
    """Numba's `njit` without the GIL, for functions that Python calls; the compiled code is kept in `folder`.

    A function that is not a copy kernel is kept `apart` from them, in a folder of that name in there, and is complete by itself.
    """
    from numba import njit
    from numba.core import config as numba_config

    config: Any = numba_config
    place = folder()
    if place is None or not can_keep():
        return njit(nogil=True)(function)
    elsewhere, config.CACHE_DIR = config.CACHE_DIR, str(place / _APART / apart if apart else place)  # Only for these functions.
    try:
        return njit(cache=True, nogil=True)(function)
    finally:
        config.CACHE_DIR = elsewhere


def made_ready(apart: str, once: Callable[[], object]) -> None:
    """Call `once`, which compiles or loads what is kept `apart`. Where the files are damaged, or missing, it is compiled by one
    process at a time."""
    if is_complete(apart):
        try:
            once()
        except Exception:  # noqa: BLE001  # what was kept is probably damaged
            discard(apart)
        else:
            return
    with only_one(wait=True, apart=apart):
        once()
        mark_complete(apart)


def _processor() -> str:
    """LLVM's name of the processor and Numba's settings for it: several computers may share a cache directory."""
    import llvmlite.binding as llvm
    from numba.core import config as numba_config

    config: Any = numba_config
    return f"{llvm.get_host_cpu_name()} {config.CPU_NAME} {config.CPU_FEATURES} {config.ENABLE_AVX}"


@contextlib.contextmanager
def only_one(*, wait: bool, apart: str = "") -> Iterator[bool]:
    """While the block runs, no other process is in such a block. `wait` waits for another one; else the value is False.

    Where files cannot be locked, every process is let in: two that compile at the same time only waste time.
    """
    place = _place(apart)
    try:
        import fcntl

        if place is not None and apart and can_keep():
            place.mkdir(parents=True, exist_ok=True)
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


def is_complete(apart: str = "") -> bool:
    """Whether all kernels, or what is kept `apart`, are compiled and unchanged since. Changed files are deleted."""
    place = _place(apart)
    if place is None or not _is_own(place):
        return False
    try:
        known = json.loads((place / _DONE).read_text(encoding="utf-8"))
        found = _digests(place)
        wrong = {name for name in {*known, *found} if known.get(name) != found.get(name)}
    except FileNotFoundError:  # It is not compiled yet, or being compiled.
        return False
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):  # Not a list from `mark_complete`.
        discard(apart)
        return False
    if known and not wrong:
        return True
    functions = {name.partition(".py")[0] for name in wrong}
    _delete([place / _DONE, *(place / name for name in found if name.partition(".py")[0] in functions)])
    return False


def discard(apart: str = "") -> bool:
    """Delete all compiled files; False where there were none."""
    place = _place(apart)
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
    found = (path for path in place.rglob("*.nb?") if path.suffix in (".nbi", ".nbc"))
    return sorted(path for path in found if _APART not in path.relative_to(place).parts)


def _place(apart: str) -> Path | None:
    place = folder()
    return place / _APART / apart if place is not None and apart else place


def _digests(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(place)}


def can_keep() -> bool:
    """Whether compiled kernels can be kept."""
    place = folder()
    return place is not None and own_folder(place) is not None and _is_own(place)


def _is_own(place: Path) -> bool:
    """Whether nothing in the folder is another user's. Others may have had access before, and Numba loads what it finds."""
    inside = [f"{at}/{name}" for at, folders, files in os.walk(place) for name in (*folders, *files)]
    for path in (str(place), *inside):
        with contextlib.suppress(FileNotFoundError):  # Another process may be compiling.
            if not is_own(os.lstat(path)):
                warn_once(f"isoviz: {path} belongs to another user, so no kernels are kept; remove {place}")
                return False
    return True


def mark_complete(apart: str = "") -> bool:
    """Write down that everything is compiled, kept and in use; False where nothing can be kept.

    Kernels of other versions that were not used for long are removed.
    """
    place = _place(apart)
    if place is None or not can_keep():
        return False
    try:
        write_text(place / _DONE, json.dumps(_digests(place)), private=True)
    except (OSError, FileError):
        return False
    for other in () if apart else place.parent.glob("kernels-*"):
        with contextlib.suppress(OSError):
            last = (other / _DONE if (other / _DONE).exists() else other).stat().st_mtime
            if other != place and time.time() - last > KEPT:
                shutil.rmtree(other)
    return True
