"""Data for transfers without a source: fast to generate, reproducible, and different wherever elements could be confused.

Word n of eight bytes is (n + 1) × an odd constant, modulo 2⁶⁴. Multiplication by an odd number is a bijection, so words and their
aligned halves do not repeat within 32 GiB. The bytes look random and include NaN payloads and denormal numbers.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from isoviz.backends.pages import Bytes, page_aligned
from isoviz.runtime.opening import check_opening

ODD = 0x9E3779B97F4A7C15
"""2⁶⁴ / golden ratio: it spreads consecutive numbers over all bytes."""
_STEP = 1 << 16  # words at a time: they stay in the cache
_PIECE = 4 << 20
_CHECKED = 8 * _STEP  # words between two looks at a cancel: a millisecond or two


def fill(array: Bytes, start: int) -> None:
    """Fill an array with the sequence from byte `start` on; `start` is a multiple of 8.

    Raises:
        Cancelled: the transfer that needs the data has to stop.
    """
    whole = len(array) // 8
    words = array[: whole * 8].view(np.uint64)
    pattern = np.arange(1, _STEP + 1, dtype=np.uint64) * np.uint64(ODD)
    first = start // 8
    for at in range(0, whole, _STEP):
        if at % _CHECKED == 0:
            check_opening()
        piece = words[at : at + _STEP]
        np.add(pattern[: len(piece)], _times(first + at), out=piece)
    if whole * 8 < len(array):
        last = np.array([_times(first + whole + 1)], np.uint64).view(np.uint8)
        array[whole * 8 :] = last[: len(array) - whole * 8]


def _times(n: int) -> np.uint64:
    return np.uint64(n * ODD % 2**64)


class Writable(Protocol):
    """A file that can be written at any offset."""

    def write_at(self, offset: int, data: Bytes) -> object: ...


def fill_file(file: Writable, offset: int, nbytes: int) -> None:
    """Fill a part of a file in pieces of a few MiB.

    Raises:
        RunError: the disk is full or fails.
        Cancelled: the transfer that needs the data has to stop.
    """
    room = page_aligned(min(_PIECE, nbytes))
    for at in range(0, nbytes, _PIECE):
        piece = room[: min(_PIECE, nbytes - at)]
        fill(piece, at)
        file.write_at(offset + at, piece)
