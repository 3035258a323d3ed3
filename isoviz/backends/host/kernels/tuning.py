"""The choices that differ between processors, measured once for each and kept beside the compiled kernels.

No manual says whether a transpose should prefetch its rows into the first-level cache, into the second-level cache or not at
all, how large tiles should be, or where non-temporal stores pay. With a prefetch into the second-level cache only, a Zen 5 ran
at half the speed, as its hardware prefetcher made wrong guesses; a Zen 4, whose first-level cache is smaller, ran at twice the
speed. So a few conversions are timed with each of the `OPTIONS`. A default stays unless another option is clearly faster twice.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import kernel_cache as cache
from isoviz.backends.host.kernels.choices import OPTIONS, Choices, checked
from isoviz.backends.pages import page_aligned
from isoviz.errors import FileError, RunError
from isoviz.regular_files import open_lock, read_own, write_text
from isoviz.this_computer import caches, processor

if TYPE_CHECKING:
    from isoviz.layouts.copies import Loop

    Prepare = Callable[[Choices, int, tuple[Loop, ...]], Callable[[int, int], object]]

SWITCH = "ISOVIZ_TUNING"
"""Environment variable: `off` takes the defaults and measures nothing, `again` measures again."""
ROUNDS = range(3, 8)
"""Rounds until the two fastest times of an option agree. The fastest time counts, as other work on the computer only adds
time."""
AGREE = 1.08
"""Largest ratio of two times that agree."""
CLEARLY = 1.06
"""An option replaces the default if it is faster by this factor."""
HOPELESS = 1.4
"""An option slower than the fastest by this factor is dropped after two rounds."""
MOST = 2.2
"""Seconds after which no further choice is measured; the rest keep their defaults."""
ATTEMPTS = 3
"""Processes that measure one after the other while times do not agree, as the computer was busy."""
_SOURCES = ("choices.py", "direct.py", "recipe.py", "tiles.py", "tuning.py")
"""The measured choices hold for these sources, which plan the copies."""
_LARGEST = 1 << 14
"""Largest file of choices that is read, in bytes; one takes a few hundred."""
_BYTES = 64 << 20
"""Bytes of each timed conversion, about: more than most caches hold."""


def _turned(run: int, side: int) -> tuple[int, tuple[Loop, ...]]:
    return run, ((side, run * side, run), (side, run, run * side))


def _trials() -> Mapping[str, tuple[int, tuple[Loop, ...]]]:
    """Choice → the conversion that is timed for it: bytes of a run, and loops. The most important choices come first."""
    block, run, long = 82 * 85 * 4, 84 * 4, 1163 * 4
    rows = _BYTES // (run * 83 * 85)
    # A permutation of three dimensions that keeps the fastest one.
    kept = run, ((rows, run * 83 * 85, run * 83 * 85), (83, run, run * 85), (85, run * 83, run))
    return {
        "aligned": _turned(4, 4128),
        "unaligned": _turned(4, 4129),
        "crowded": _turned(4, 4096),
        "buffer": kept,
        "first_level": (4, ((_BYTES // block, block, block), (82, 4, 340), (85, 328, 4))),
        "small_unaligned": _turned(1, 8257),
        "small_aligned": _turned(1, 8256),
        "small_crowded": _turned(1, 8192),
        "tiles_past": kept,
        "runs_past": (long, ((_BYTES // long // 34, long * 34, long), (34, long, _BYTES // long // 34 * long))),
    }


TRIALS = MappingProxyType(_trials())


def place() -> Path | None:
    """The file for this processor and version; None where nothing can be kept.

    Its folder is that of the compiled kernels. Its name depends on the sources that plan copies, on the model of the processor
    and on its caches.
    """
    sizes = [(each.level, each.size, each.shared_by) for each in caches()]
    folder = cache.folder()
    return None if folder is None else folder / f"tuned-{cache.hash_of(_SOURCES, processor(), str(sizes))}.json"


def switch() -> str:
    """The environment variable: `off`, `again` or an empty string."""
    said = os.environ.get(SWITCH, "").strip().lower()
    return said if said in ("off", "again") else ""


class Kept(NamedTuple):
    """The choices for this processor, how many processes have measured them, and whether all times agreed."""

    choices: Choices
    attempts: int
    settled: bool

    @property
    def stands(self) -> bool:
        """Whether no process measures again."""
        return self.settled or self.attempts >= ATTEMPTS


def kept() -> Kept | None:
    """The choices that were kept for this processor; None where there are none, or their file is damaged."""
    file = place()
    with contextlib.suppress(FileError, ValueError, TypeError, RecursionError):
        values = json.loads(read_own(file, _LARGEST)) if file is not None else None
        found = Kept(checked(values.pop("choices")), **values) if isinstance(values, dict) and "choices" in values else None
        if found is not None and type(found.attempts) is int and type(found.settled) is bool:
            return found
    return None


def tuned(prepared: Prepare) -> Choices:
    """The choices for this processor: from an earlier measurement, or measured now in one to three seconds.

    `prepared(choices, run, loops)` prepares a conversion and returns a function that carries it out between two addresses. One
    process at a time measures, and others wait for it. A later process measures again if the computer was busy.
    """
    said = switch()
    if said == "off":
        return Choices()
    before = kept() if said != "again" else None
    if before is not None and before.stands:
        return before.choices
    with _alone():
        now = kept() if said != "again" else None
        if now is not None and now != before:  # Another process has measured in the meantime.
            return now.choices
        try:
            choices, settled = _measured(prepared, before.choices if before is not None else Choices())
        except (RunError, MemoryError):  # There is no memory for a measurement.
            return Choices()
        attempts = 1 + (before.attempts if before is not None else 0)
        _keep(Kept(choices, attempts, settled))
        return choices


def _keep(found: Kept) -> None:
    """Write the file whole or not at all: other processes may read and write at the same time."""
    file = place()
    if file is None:
        return
    with contextlib.suppress(FileError):
        write_text(file, json.dumps({**found._asdict(), "choices": found.choices._asdict()}), private=True)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one process in at a time, where the system has file locks."""
    file = place()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            if file is not None:
                lock = open_lock(file.with_suffix(".lock"))
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _measured(prepared: Prepare, found: Choices) -> tuple[Choices, bool]:
    """The choices, and whether all were measured with times that agree.

    Choices of an earlier process stand in for the defaults, so that a busy moment does not undo them.
    """
    nbytes = max(run * math.prod(loop[0] for loop in loops) for run, loops in TRIALS.values())
    arrays: list[np.ndarray[Any, np.dtype[np.uint8]]] = [page_aligned(nbytes) for _ in range(2)]
    for array in arrays:
        array[:] = 1
    here, there = (array.ctypes.data for array in arrays)
    end = time.perf_counter() + MOST
    settled = True
    for name, (run, loops) in TRIALS.items():
        if time.perf_counter() > end:
            return found, False
        stands = getattr(found, name)
        options = (stands, *(option for option in OPTIONS[name] if option != stands))
        best, sure = _best(options, partial(_timed, prepared, found, name, run, loops, here, there))
        found, settled = found._replace(**{name: best}), settled and sure
    return found, settled


def _timed(
    prepared: Prepare, so_far: Choices, name: str, run: int, loops: tuple[Loop, ...], here: int, there: int, option: Any
) -> float:
    """Seconds that a conversion takes with an option."""
    carry_out = prepared(so_far._replace(**{name: option}), run, loops)
    began = time.perf_counter()
    carry_out(here, there)
    return time.perf_counter() - began


def _best(options: tuple[Any, ...], timed: Callable[[Any], float]) -> tuple[Any, bool]:
    """The fastest option, and whether times agreed.

    It has to be clearly faster than the first option, and again in rounds of these two alone; otherwise the first one stays.
    """
    default = options[0]
    times = _rounds(options, timed)
    best = min(times, key=lambda option: min(times[option]))
    sure = _agree(times[default]) and _agree(times[best])
    if min(times[default]) > CLEARLY * min(times[best]):
        times = _rounds((default, best), timed)
        if min(times[default]) > CLEARLY * min(times[best]):
            return best, sure and _agree(times[default]) and _agree(times[best])
    return default, sure


def _agree(times: list[float]) -> bool:
    first, second = sorted(times)[:2]
    return second <= AGREE * first


def _rounds(options: tuple[Any, ...], timed: Callable[[Any], float]) -> dict[Any, list[float]]:
    """Seconds of each option, in turn. Hopeless options end after two rounds, options whose times agree after three."""
    times: dict[Any, list[float]] = {option: [] for option in options}
    left = options
    for done in range(1, ROUNDS.stop):
        for option in left:
            times[option].append(timed(option))
        if done >= 2:
            least = min(map(min, times.values()))
            left = tuple(option for option in options if option == options[0] or min(times[option]) <= HOPELESS * least)
        if done >= ROUNDS.start:
            left = tuple(option for option in left if not _agree(times[option]))
    return times
