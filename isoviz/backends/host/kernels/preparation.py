"""Preparation of the compiled kernels, and texts about their state.

They are compiled once and kept. Until they are ready, and where Numba is missing, NumPy makes the same copies more slowly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.host.kernels import in_use, tuning
from isoviz.backends.host.kernels import kernel_cache as cache
from isoviz.backends.host.kernels.choices import Choices, choose, chosen
from isoviz.backends.host.kernels.dispatch import Way, calls_of, way_of
from isoviz.backends.host.kernels.pattern import pattern_of
from isoviz.backends.host.kernels.recipe import recipe_of
from isoviz.forks import held_over_forks
from isoviz.runtime.opening import can_be_cancelled, check_opening

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from isoviz.layouts.copies import Loop


def warm_up(compiled: ModuleType) -> None:
    """Compile the kernels of a module, or load them; each call moves a few bytes between scratch arrays."""
    none, zeros = np.zeros(0, np.int64), np.zeros((1, 8), np.int64)
    one = np.ones(1, np.int64)
    data = np.zeros(64, np.uint8)
    address = data.ctypes.data
    zeros[0, 2] = 1
    zeros[0, 4:6] = -1
    compiled.walk(address, address, address, one, one, zeros, np.zeros((0, 5), np.int64), -1, one, False, False)
    compiled.stream_rows(address, address, none, none, none, 1, False, 0)
    jobs, outs = np.array([[0, 0, 1, 1, 1, 0]]), np.zeros((0, 5), np.int64)
    compiled.copy_tiles(address, address, address, one, one, jobs, outs, -1, np.zeros(1, np.int64), 1, 1, 1, False)
    compiled.copy_many(address, address, np.array([[0, 0, 1, 0, 1]]), np.array([[1, 1, 1]]))
    parts = np.zeros((1, 5), np.int64), one, zeros[:0, :5], zeros[:0, :3], zeros[:2, :1], one, 0, np.zeros(4, np.int64), 0
    compiled.move_parts(*parts, np.zeros((0, 4), np.int64))
    compiled.copy_listed(address, address, zeros[0], none, (1, 1), 1, 1, np.ones((1, 3), np.int64), 1)
    compiled.copy_runs(address, address, none, none, none)
    if hasattr(compiled, "shuffle_lines"):
        found = pattern_of(((0, 0, 3, ((1 << 20, 6, 3), (2, 3, 3 << 20))),), 0)
        assert found is not None
        compiled.shuffle_lines(address, address, *found._replace(pieces=found.pieces[:0], repeats=0))
    room, order = np.zeros(4096, np.uint8), np.zeros((16, 64), np.uint8)
    at = room.ctypes.data
    compiled.turn_squares(at, at, none, none, none, 16, 4, 64, none, 4, 64, none, 1, 0, False, False, False, order, at + 1024)
    if hasattr(compiled, "permute_blocks"):
        two = np.ones(2, np.int64)
        compiled.turn_lines(address, address, none, none, none, 0, two, two, 2, False)
        compiled.gather_lines(address, address, none, none, none, 0, two, 0, two, 1, 32, np.ones(4, np.int64))
        compiled.permute_blocks(address, address, np.zeros(1, np.int64), one, one, 2, 0, np.zeros(32, np.int32), False)


SWITCH = "ISOVIZ_KERNELS"
"""Environment variable: `numpy` switches compiled kernels off."""

_TICK = 0.02
"""Seconds between two looks at a cancel."""
_lock = threading.Lock()
held_over_forks(_lock)  # A forked child would wait for ever for the modules that another thread was importing.
_reason = "they have not been needed yet"
_asked = False
_compiling: subprocess.Popen[bytes] | None = None


def prepare(*, wait: bool = False) -> bool:
    """Make the kernels ready; False while NumPy makes the copies.

    Kernels that were compiled before are loaded in about a second. Otherwise another process compiles them in the background, or,
    with `wait`, this one does: half a minute to a minute, once for each computer and version. The choices that suit this
    processor are measured once, in one to three seconds (`isoviz.backends.host.kernels.tuning`).
    """
    global _reason, _asked  # There is one set of kernels for the process.
    _asked = True
    if is_ready():
        return True
    with _lock:
        if is_ready():
            return True
        if os.environ.get(SWITCH, "").lower() == "numpy":
            _reason = f"{SWITCH}=numpy"
            return False
        try:
            if cache.is_complete():
                if not _loaded(wait):
                    return _left_to_another()
            elif not wait:
                return _left_to_another()
            else:
                with cache.only_one(wait=True):  # what another process has compiled meanwhile is loaded
                    _loaded(wait)
        except KeyboardInterrupt:
            in_use.compiled = None
            raise
        except ImportError as error:
            in_use.compiled, _reason = None, f"Numba cannot be loaded: {error}"
            return False
        except Exception as error:  # noqa: BLE001  # A kernel that does not compile here must not prevent a copy.
            in_use.compiled, _reason = None, f"Numba cannot compile them: {type(error).__name__}: {error}"
            return False
        _reason = ""
    return True


def prepare_unless_cancelled() -> bool:
    """As `prepare`, where a cancel ends the wait: another thread loads the kernels meanwhile, and they serve the next transfer.

    Raises:
        Cancelled: the transfer that waits for them has to stop (`isoviz.runtime.opening`).
    """
    if is_ready() or not can_be_cancelled():
        return prepare()
    loading = threading.Thread(target=prepare, name="isoviz kernels", daemon=True)
    loading.start()
    while loading.is_alive():
        check_opening()
        loading.join(_TICK)
    check_opening()
    return is_ready()


def is_ready() -> bool:
    """Whether compiled kernels are loaded."""
    return in_use.compiled is not None


def is_compiled() -> bool:
    """Whether the kernels are loaded, or have been compiled and could be loaded."""
    if is_ready():
        return True
    try:
        return os.environ.get(SWITCH, "").lower() != "numpy" and cache.is_begun() and cache.is_complete()
    except Exception:  # noqa: BLE001  # Numba is missing or cannot be loaded: there are none.
        return False


def was_wanted() -> bool:
    """Whether `prepare` was called in this process."""
    return _asked


def state() -> str:
    """The code that makes copies in host memory and the reason, as text."""
    if in_use.compiled is not None:
        return f"compiled kernels, vectors of {8 * in_use.compiled.vector} bits"
    return f"NumPy instead of compiled kernels: {_reason}"


def suiting() -> str:
    """The choices for this processor, and the environment variable that set them, as text."""
    said = os.environ.get(tuning.SWITCH, "")
    if said and not tuning.switch():
        return f"for this processor: {chosen()} ({tuning.SWITCH}={said} means nothing: expected off or again)"
    return f"for this processor: {chosen()}{f' ({tuning.SWITCH}=off)' if tuning.switch() == 'off' else ''}"


def _loaded(wait: bool) -> bool:
    """Load or compile the kernels. False where what was kept is damaged, so that they have to be compiled, without `wait`."""
    try:
        _load()
    except Exception:
        in_use.compiled = None
        if not cache.discard():
            raise
        if not wait:
            return False
        _load()  # The files that were kept are probably damaged.
    cache.mark_complete()  # Last: a process that finds the mark does not measure at the same time.
    return True


def _load() -> None:
    """Compile or load the kernels, take them into use, and choose what suits this processor."""
    from isoviz.backends.host.kernels.compiled import compiled
    from isoviz.backends.host.kernels.compiled.vectors import BYTEWISE, WIDE

    warm_up(compiled)
    in_use.compiled = in_use.CompiledKernels(compiled, WIDE, BYTEWISE)
    _tune()


def _tune() -> None:
    """Choose what suits this processor."""

    def prepared(choices: Choices, run: int, loops: tuple[Loop, ...]) -> Callable[[int, int], object]:
        choose(choices)
        recipe_of(run, loops)  # The recipe is cached now, so that making it is not measured.
        way = way_of(run, loops, 0, False) or Way()
        return lambda here, there: [call() for call in calls_of(way, run, loops, here, there, large=False)]

    best = Choices()
    try:
        best = tuning.tuned(prepared)
    finally:  # An interrupt leaves the defaults, not the choices under trial.
        choose(best)


def is_compiled_elsewhere() -> bool:
    """Whether another process is compiling the kernels now, or all of them are there."""
    with cache.only_one(wait=False) as alone:
        return not alone or cache.is_complete()


def _left_to_another() -> bool:
    """Start a process that compiles the kernels for later processes. Returns False: this process continues with NumPy."""
    global _reason, _compiling  # There is one set of kernels for the process.
    if not cache.can_keep():  # Each run would compile them again in vain.
        _reason = "nothing can be kept of what is compiled"
        return False
    _reason = "they are being compiled in the background"
    if _compiling is None and not is_compiled_elsewhere():
        _compiling = _in_background()
    return False


def _in_background() -> subprocess.Popen[bytes] | None:
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-P", "-m", "isoviz.backends.host.kernels"]  # -P: nothing is imported from the working directory
    try:
        # Our own module in our own interpreter.
        return subprocess.Popen(  # noqa: S603
            command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:
        return None
