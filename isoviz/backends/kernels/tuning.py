"""What differs from processor to processor, measured once and kept beside the compiled kernels.

Transpositions fetch rows some time before they read them: into the first level of the caches or into the second only. Which is
faster no manual says. One EPYC processor (Zen 5) turned half as fast with what lay in the second level only, for it guessed wrong
what would be read next; another one (Zen 4), whose first level is smaller, twice as fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.kernels import cache
from isoviz.errors import FileError, RunError
from isoviz.regular_files import read_some

if TYPE_CHECKING:
    from collections.abc import Callable

    Turn = Callable[[int, int, int, bool], object]

ROUNDS = 5
"""Of these the fastest counts: whatever else the computer does, it does not make anything faster."""
CLEARLY = 1.1
"""So much faster the other way has to be."""
_SIDE = 4128
"""Rows and columns of a matrix of 4 bytes that is tried: far more than caches hold, no power of two, whole lines."""
_FILE = "tuned.json"
_MOST = 1 << 10
"""Bytes of that file; it takes about fifty."""


class Tuned(NamedTuple):
    """Whether rows are fetched into the second level only, where columns begin with lines and where they do not."""

    far_aligned: bool
    far_unaligned: bool


def tuned(turn: Turn) -> Tuned:
    """What suits this processor: as it was measured before, or measured now (half a second). `turn` turns a square of so
    many rows of 4 bytes over from one address to another, fetching far or not."""
    folder = cache.folder()
    place = None if folder is None else folder / _FILE
    with contextlib.suppress(FileError, ValueError, TypeError):
        found = Tuned(**json.loads(read_some(place, _MOST) if place is not None else ""))
        if all(type(each) is bool for each in found):
            return found
    try:
        found = Tuned(*(_is_far_faster(turn, side) for side in (_SIDE, _SIDE + 1)))
    except (RunError, MemoryError):  # no room: then nothing is known
        return Tuned(False, False)
    if place is None:
        return found
    with contextlib.suppress(OSError):
        beside = place.with_suffix(f".{time.time_ns()}")
        beside.write_text(json.dumps(found._asdict()), encoding="ascii")
        beside.replace(place)
    return found


def _is_far_faster(turn: Turn, side: int) -> bool:
    from isoviz.backends.host import page_aligned

    nbytes = 4 * side * side
    arrays: list[np.ndarray[Any, np.dtype[np.uint8]]] = [page_aligned(nbytes) for _ in range(2)]
    for array in arrays:
        array[:] = 1
    here, there = (array.ctypes.data for array in arrays)
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for far, found in times.items():
            ctypes.memmove(there, here, nbytes)  # each begins with what lies in the caches, and the processor expects, alike
            began = time.perf_counter()
            turn(here, there, side, far)
            found.append(time.perf_counter() - began)
    return min(times[False]) > CLEARLY * min(times[True])
