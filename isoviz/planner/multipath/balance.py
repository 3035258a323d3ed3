"""The bytes of paths that end together, from what is known of their ends."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isoviz.planner.multipath.tuning import SHIFT_GAIN

if TYPE_CHECKING:
    from isoviz.planner.path_plan import PathPlan


def are_steady(paths: Sequence[PathPlan]) -> bool:
    """Whether no path with buffers has one chunk: then the program knows their times nearly."""
    return all(len(path.hops) == 1 or path.chunk_count > 1 for path in paths)


def bytes_to_end_together(
    known: Mapping[int, Sequence[tuple[float, float]]], nbytes: float, latest: float
) -> tuple[float, dict[int, float]]:
    """The time at which paths end together that move some bytes, `latest` at most, and the bytes of each.

    `known` holds, for each path, its ends by its bytes, the fewest first; between them and after them they lie on lines.
    """
    low, high = 0.0, latest
    for _ in range(60):
        end = (low + high) / 2
        sizes = {k: _bytes_until(points, end) for k, points in known.items()}
        if sum(sizes.values()) < nbytes:
            low = end
        else:
            high = end
    total = sum(sizes.values()) or 1.0
    return high, {k: size * nbytes / total for k, size in sizes.items()}


def _bytes_until(points: Sequence[tuple[float, float]], end: float) -> float:
    """The bytes of a path that ends at a time; `points` are as in `bytes_to_end_together`."""
    for (size, begin), (more, later) in itertools.pairwise(points):
        if end < later or more == points[-1][0]:
            return max(0.0, size + (end - begin) * (more - size) / max(later - begin, SHIFT_GAIN * later))
    return 0.0
