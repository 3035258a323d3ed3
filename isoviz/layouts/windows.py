"""Windows over scattered data: what one key of a network card maps (UMR; Suresh et al., sections IV-C and IV-D).

Both ends list their contiguous runs in the order of the data. A window of some bytes moves over these bytes, never over the gaps
between runs, and a key stands for the runs under it. So a window may begin and end inside a run, and the last one is short. With
one window size both ends have equally many keys, each for the same bytes. A card takes a limited number of runs for a key, at
either end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz import checks
from isoviz.errors import LayoutError
from isoviz.layouts.copies import ListedCopy, StridedCopy
from isoviz.layouts.geometry import View, copies_at_origin, kept_by_views

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Ints = NDArray[np.int64]

MOST_RUNS = 1 << 20
"""Of copies with more runs a part is listed: they repeat themselves."""

MOST_PIECES = 1 << 28
"""The most pieces into which windows cut runs: all of them are listed."""


class Windows(NamedTuple):
    """The pieces into which windows cut runs, in the order of the data.

    For every piece: the number of its run, where it begins in it, its bytes, and the number of its window.
    """

    run: Ints
    offset: Ints
    nbytes: Ints
    window: Ints

    @property
    def keys(self) -> int:
        """The number of windows: of keys at either end."""
        return int(self.window[-1]) + 1 if len(self.window) else 0

    @property
    def most(self) -> int:
        """The most runs under one window."""
        return int(np.bincount(self.window).max()) if len(self.window) else 0


def windows(runs: ArrayLike, window: int) -> Windows:
    """The windows of `window` bytes over runs of these lengths in bytes.

    Raises:
        LayoutError: a run is not a positive whole number of bytes, `window` is below 1, or there are more than `MOST_PIECES`
            pieces.
    """
    lengths = _lengths(runs)
    window = checks.count("windows", "window", window, low=1, error=LayoutError)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    first = starts // window
    counts = (ends - 1) // window - first + 1
    if counts.sum(dtype=float) > MOST_PIECES:
        raise LayoutError(
            f"windows: {counts.sum():,} pieces of runs; expected at most {MOST_PIECES:,}: larger windows or less data"
        )
    run = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts) + first[run]
    begins = np.maximum(starts[run], number * window)
    nbytes = np.minimum(ends[run], (number + 1) * window) - begins
    return Windows(run, begins - starts[run], nbytes, number)


def agreed_window(source: ArrayLike, destination: ArrayLike, limit: int) -> int:
    """The bytes of a window on which both ends agree, so that it holds at most `limit` runs of either: 1 or more.

    `source` and `destination` are the lengths of their runs in bytes. The sender proposes the largest window that fits its own
    runs wherever it begins. Such a window never holds `limit` - 1 whole runs and parts of two more. Windows are multiples of
    the number of bytes that divides all runs. The receiver keeps the proposal if its own runs fit as well, or lowers it.

    Raises:
        LayoutError: a run is not a positive whole number of bytes, the ends have different numbers of bytes, or `limit` is below
            1.
    """
    limit = checks.count("windows", "limit", limit, low=1, error=LayoutError)
    own, theirs = _lengths(source), _lengths(destination)
    total = int(own.sum())
    if total != int(theirs.sum()):
        raise LayoutError(f"windows: the source has {total} bytes, the destination {int(theirs.sum())}; expected as many")
    proposed = _fitting(own, limit)
    if proposed >= total and len(theirs) <= limit:
        return max(total, 1)
    if _holds(theirs, proposed, limit):
        return proposed
    step = _step(own)
    lower = min(proposed, _fitting(theirs, limit)) // step * step
    if lower and _holds(theirs, lower, limit):
        return lower
    step = math.gcd(step, _step(theirs))
    return min(_inside(own, limit), _inside(theirs, limit)) + step


def _lengths(runs: ArrayLike) -> Ints:
    expected = "windows: expected the lengths of runs, whole numbers of bytes from 1 on, as a list or an array"
    try:
        found = np.asarray(runs)
    except Exception as error:  # an object of the caller may raise anything
        raise LayoutError(expected) from error
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu") or (found.size and found.min() < 1):
        raise LayoutError(expected)
    if found.sum(dtype=float) >= checks.BYTES_LIMIT:
        raise LayoutError("windows: the runs have more than 2⁶³ − 1 bytes")
    return found.astype(np.int64, copy=False)


def _step(lengths: Ints) -> int:
    """The number of bytes that divides all places at which a run begins."""
    return int(np.gcd.reduce(lengths[:-1])) if len(lengths) > 1 else int(lengths.sum()) or 1


def _inside(lengths: Ints, limit: int) -> int:
    """The bytes of the shortest `limit` − 1 neighbouring runs, without the first and the last run of all."""
    inner = np.concatenate(([0], np.cumsum(lengths[1:-1])))
    return int((inner[limit - 1 :] - inner[: len(inner) - limit + 1]).min()) if len(inner) >= limit else int(lengths.sum())


def _fitting(lengths: Ints, limit: int) -> int:
    """A window that holds at most `limit` runs, if it moves in multiples of its own length."""
    return max(1, int(lengths.sum())) if len(lengths) <= limit else _inside(lengths, limit) + _step(lengths)


def _holds(lengths: Ints, window: int, limit: int) -> bool:
    """Whether no window has more than `limit` runs."""
    ends = np.cumsum(lengths)
    begins = np.arange(0, int(ends[-1]) if len(ends) else 0, window)
    last = np.searchsorted(ends, np.minimum(begins + window, ends[-1:]) - 1, side="right")
    return not len(begins) or int((last - np.searchsorted(ends, begins, side="right")).max()) < limit


# ---- the runs of copies


class EndRuns(NamedTuple):
    """The lengths in bytes of the contiguous runs at both ends of copies, in the order of their data."""

    source: Ints
    destination: Ints


class PlacedRuns(NamedTuple):
    """The contiguous runs at one end of copies, in the order of their data: where each begins, and its length, in bytes."""

    starts: Ints
    nbytes: Ints


def end_runs(copies: Iterable[StridedCopy], most: int | None = None) -> EndRuns:
    """The lengths of `placed_runs`."""
    return EndRuns(*[runs.nbytes for runs in placed_runs(copies, most)])


def placed_runs(copies: Iterable[StridedCopy], most: int | None = None) -> tuple[PlacedRuns, PlacedRuns]:
    """The contiguous runs at both ends of copies, each end for itself: neighbours in memory that follow each other are one run.

    The order of the data is that of the copies. With `most`, copies of more runs are listed in part.
    """
    given = list(copies)
    parts = [_listed(copy, None if most is None else max(1, most // len(given))) for copy in given]
    if not parts:
        none = np.zeros(0, np.int64)
        return PlacedRuns(none, none), PlacedRuns(none, none)
    lengths = np.concatenate([np.full(len(here), copy.run) for copy, (here, _) in zip(given, parts, strict=True)])
    here, there = (_joined(np.concatenate([part[end] for part in parts]), lengths) for end in (0, 1))
    return here, there


def _listed(copy: StridedCopy, most: int | None) -> tuple[Ints, Ints]:
    """The offsets of the runs of a copy at both ends, the first ones where there are more than `most`."""
    extents = [extent for extent, _, _ in copy.loops]
    for at in range(len(extents)):
        inner = math.prod(extents[at + 1 :])
        if most is not None and extents[at] * inner > most:
            extents[at] = max(2, min(extents[at], most // inner))
    here, there = np.array([copy.source_offset]), np.array([copy.destination_offset])
    if isinstance(copy, ListedCopy):
        here, there = copy.part(0, copy.entries if most is None else max(2, most // math.prod(extents))).offsets
    for extent, (_, source, destination) in zip(extents, copy.loops, strict=True):
        steps = np.arange(extent)
        here = (here[:, None] + steps * source).ravel()
        there = (there[:, None] + steps * destination).ravel()
    return here, there


def _joined(offsets: Ints, lengths: Ints) -> PlacedRuns:
    """The runs that are left once neighbours are joined."""
    begins = np.flatnonzero(np.concatenate(([True], offsets[1:] != offsets[:-1] + lengths[:-1])))
    return PlacedRuns(offsets[begins], np.add.reduceat(lengths, begins))


class Keyed(NamedTuple):
    """What keys map at both ends of a copy: the bytes of a window (infinite: all of them), and the number of runs of each end."""

    window: float
    source_runs: int
    destination_runs: int

    def runs(self, share: float = 1.0) -> int:
        """The number of runs at both ends together, for a share of the bytes."""
        return sum([max(1, math.ceil(count * share * (1 - 1e-12))) for count in (self.source_runs, self.destination_runs)])

    def keys(self, nbytes: float) -> int:
        """The number of keys, at either end, for a chunk of `nbytes` bytes."""
        return max(1, math.ceil(nbytes / self.window * (1 - 1e-12)))


@kept_by_views
def keyed(source: View, destination: View, shape: tuple[int, ...], fields: tuple[str, ...], limit: int) -> Keyed:
    """What keys of at most `limit` runs map where a box moves, at its origin in both views. Of a very large box a part counts.

    Raises:
        LayoutError: as `strided_copies`.
    """
    return keyed_in_parts([runs_at_origin(source, destination, shape, fields)], limit)


def runs_at_origin(source: View, destination: View, shape: tuple[int, ...], fields: tuple[str, ...]) -> tuple[EndRuns, float]:
    """The runs of both ends where a box moves, or those of a part of it, and the share of the box that this is."""
    copies, share = copies_at_origin(source, destination, shape, fields)
    found = end_runs(copies, MOST_RUNS)
    return found, share * int(found.source.sum()) / max(1, sum([copy.nbytes for copy in copies]))


def keyed_in_parts(parts: Sequence[tuple[EndRuns, float]], limit: int) -> Keyed:
    """What keys of at most `limit` runs map, whose data are those of some parts, one after the other (`runs_at_origin`)."""
    here, there = [np.concatenate([runs[end] for runs, _ in parts]) for end in (0, 1)]
    counts = [sum([max(1, round(len(runs[end]) / share)) for runs, share in parts if share]) for end in (0, 1)]
    whole = all(share == 1 for _, share in parts) and max(counts) <= limit
    return Keyed(math.inf if whole else agreed_window(here, there, limit), *counts)
