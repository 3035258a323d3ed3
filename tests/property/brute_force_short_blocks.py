"""Where brute force counts what no plan can do: chunks of several blocks, where some are short."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from brute_force import Best

Problem = dict[str, Any]
FIELDS = ("F", 0, 0)


def counts_short_blocks_as_whole(problem: Problem, best: Best) -> bool:
    """Whether the chunks of brute force hold fewer elements than it says: it multiplies the first block, and some blocks that
    follow it in a chunk are short (y cut at 2 of 3). No plan can do what it says."""
    if not best.layouts:
        return False
    sizes = problem["sizes"]
    steps: dict[str, set[int]] = {dim: set() for dim in sizes}
    for layout in best.layouts:
        for dim, step, _ in (part for part in layout if part != "F"):
            steps[dim].add(step)
    refined = [[each for part in layout for each in _refined(part, steps, sizes)] for layout in best.layouts]
    shared = 0
    while all(len(each) > shared and each[-1 - shared] == refined[0][-1 - shared] != FIELDS for each in refined):
        shared += 1
    outer = refined[0][len(refined[0]) - shared :]
    counts: dict[tuple[int, ...], int] = {}
    for entry in itertools.product(*(range(size) for size in sizes.values())):
        at = dict(zip(sizes, entry, strict=True))
        block = tuple(at[dim] // step % extent for dim, step, extent in reversed(outer))
        counts[block] = counts.get(block, 0) + len(problem["fields"])
    blocks = [counts[key] for key in sorted(counts)]
    number, rest = divmod(best.payload, blocks[0])
    return len(set(blocks)) > 1 and not rest and number > 1 and sum(blocks[:number]) < best.payload


def _refined(part: Any, steps: dict[str, set[int]], sizes: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """A digit cut where any layout cuts its dimension."""
    if part == "F":
        yield FIELDS
        return
    dim, step, extent = part
    end = sizes[dim] if extent is None else min(sizes[dim], step * extent)
    cuts = [cut for cut in sorted(steps[dim]) if step <= cut < end]
    for low, high in itertools.pairwise([*cuts, end]):
        yield dim, low, -(-high // low)
