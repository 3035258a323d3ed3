"""What differs from processor to processor, measured once for each and kept beside the compiled kernels.

Whether rows of a transposition are better fetched into the first level of the caches, into the second, or not at all, how large
tiles are, and whether writing past the caches pays, no manual says. One EPYC processor (Zen 5) turned half as fast with what lay
in the second level only, for it guessed wrong what would be read next; another one (Zen 4), whose first level is smaller, twice
as fast. So a few conversions are tried with each of the few `OPTIONS`; a default stays unless another one is clearly faster, and
that twice.
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
from isoviz.regular_files import read_some
from isoviz.this_computer import caches, processor

if TYPE_CHECKING:
    from isoviz.layouts.geometry import Loop

    Prepared = Callable[[Choices, int, tuple[Loop, ...]], Callable[[int, int], object]]

SWITCH = "ISOVIZ_TUNING"
"""Environment variable: `off` takes the defaults and measures nothing, `again` measures though it has been done."""
ROUNDS = range(3, 8)
"""As many as it takes until the two fastest times of an option agree. The fastest one counts: whatever else the computer does, it
does not make anything faster."""
AGREE = 1.08
"""The longer one of times that agree, by the shorter one, at most."""
CLEARLY = 1.06
"""So much faster than the default another choice has to be, ..."""
HOPELESS = 1.4
"""... and so much slower than the fastest one that is not tried again after two rounds."""
MOST = 2.2
"""Seconds after which nothing more is tried; what has not been tried stays as it is by default."""
ATTEMPTS = 3
"""Processes that measure, one after the other, where the computer was too busy for times that agree."""
_SOURCES = ("choices.py", "direct.py", "recipe.py", "tiles.py", "tuning.py")
"""What is measured goes by how copies are planned."""
_LARGEST = 1 << 14
"""Bytes of the file of what was measured; it takes some hundreds."""
_BYTES = 64 << 20
"""Bytes of the conversions that are tried, about: more than most caches hold."""


def _turned(run: int, side: int) -> tuple[int, tuple[Loop, ...]]:
    return run, ((side, run * side, run), (side, run, run * side))


def _trials() -> Mapping[str, tuple[int, tuple[Loop, ...]]]:
    """Choice → the conversion it is tried with: bytes of a run, and loops. What matters most comes first."""
    block, run, long = 82 * 85 * 4, 84 * 4, 1163 * 4
    rows = _BYTES // (run * 83 * 85)
    # Runs that change places with others: three dimensions, the fastest of which stays.
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
    """The file for this processor and version; None where nothing can be kept. Its folder goes by what is compiled, its name by
    what plans copies, by the model of the processor and by its caches."""
    sizes = [(each.level, each.size, each.shared_by) for each in caches()]
    folder = cache.folder()
    return None if folder is None else folder / f"tuned-{cache.hash_of(_SOURCES, processor(), str(sizes))}.json"


def switch() -> str:
    """What the environment variable says: `off`, `again` or nothing."""
    said = os.environ.get(SWITCH, "").strip().lower()
    return said if said in ("off", "again") else ""


class Kept(NamedTuple):
    """What was measured for this processor: by how many processes so far, and whether all times agreed."""

    choices: Choices
    attempts: int
    settled: bool

    @property
    def stands(self) -> bool:
        """Whether it is not measured again."""
        return self.settled or self.attempts >= ATTEMPTS


def kept() -> Kept | None:
    """What was measured before for this processor; None where nothing was, or it is damaged."""
    file = place()
    with contextlib.suppress(FileError, ValueError, TypeError, RecursionError):
        values = json.loads(read_some(file, _LARGEST)) if file is not None else None
        found = Kept(checked(values.pop("choices")), **values) if isinstance(values, dict) and "choices" in values else None
        if found is not None and type(found.attempts) is int and type(found.settled) is bool:
            return found
    return None


def tuned(prepared: Prepared) -> Choices:
    """What suits this processor: as it was measured before, or measured now (in one to three seconds).

    `prepared` makes a conversion ready, given choices, the bytes of a run and loops: what it returns carries it out from one
    address to another. One process at a time measures; others wait for it. Where the computer was busy, a later process measures
    again.
    """
    said = switch()
    if said == "off":
        return Choices()
    before = kept() if said != "again" else None
    if before is not None and before.stands:
        return before.choices
    with _alone():
        now = kept() if said != "again" else None
        if now is not None and now != before:  # another process has measured meanwhile
            return now.choices
        try:
            choices, settled = _measured(prepared, before.choices if before is not None else Choices())
        except (RunError, MemoryError):  # no room: then nothing is known
            return Choices()
        attempts = 1 + (before.attempts if before is not None else 0)
        _keep(Kept(choices, attempts, settled))
        return choices


def _keep(found: Kept) -> None:
    """Written whole or not at all; other processes may read and write at the same time."""
    file = place()
    if file is None:
        return
    with contextlib.suppress(OSError):
        beside = file.with_suffix(f".{os.getpid()}.{time.time_ns()}")
        beside.write_text(json.dumps({**found._asdict(), "choices": found.choices._asdict()}), encoding="ascii")
        beside.replace(file)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One process at a time, where the system can see to that."""
    file = place()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            if file is not None:
                lock = stack.enter_context(file.with_suffix(".lock").open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _measured(prepared: Prepared, found: Choices) -> tuple[Choices, bool]:
    """The choices, and whether all have been tried and all times agreed. What an earlier process found takes the place of the
    defaults: a busy moment does not undo it."""
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
    prepared: Prepared, so_far: Choices, name: str, run: int, loops: tuple[Loop, ...], here: int, there: int, option: Any
) -> float:
    """Seconds of a conversion with an option."""
    carry_out = prepared(so_far._replace(**{name: option}), run, loops)
    began = time.perf_counter()
    carry_out(here, there)
    return time.perf_counter() - began


def _best(options: tuple[Any, ...], timed: Callable[[Any], float]) -> tuple[Any, bool]:
    """The fastest option, if it is clearly faster than the first one, and so again in rounds of these two alone; and whether
    the times agreed."""
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
    """Seconds of every option, in turn; after two rounds without those that are hopeless, after some without those that agree."""
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
