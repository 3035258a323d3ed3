"""The block sizes with which a path reaches a throughput (Isometry, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from isoviz.errors import InputError
from isoviz.planner.program.bisection import least_sizes
from isoviz.planner.program.program_rows import PathProgram
from isoviz.planner.program.tuning import ROUNDING, SAME_CORNER


def feasible_region(
    program: PathProgram, throughput: float, x: str, y: str, samples: int = 1, at: Mapping[str, float] | None = None
) -> tuple[tuple[float, float], ...]:
    """The sizes (x, y) with which a path reaches a throughput (bytes per second): the vertices of a polygon, in order.

    The polygon has straight edges in the logarithms of the sizes. On linear axes the edges are curves, so every edge gets
    `samples` points, its first vertex among them. The result is empty where no sizes reach the throughput; it may be a point or a
    line. Other variables of the program have the sizes in `at`.

    Raises:
        InputError: x or y is not a variable of the program, x equals y, or another variable has no size in `at`.
    """
    highs = program.highs
    fixed = {name: size for name, size in (at or {}).items() if name not in (x, y)}
    for name in (x, y):
        if name not in highs:
            raise InputError(f"feasible region: unknown variable {name}; known are {', '.join(highs) or 'none'}")
    missing = [name for name in highs if name not in (x, y) and name not in fixed]
    if x == y or missing:
        wrong = f"{x} stands for both axes" if x == y else f"no size for {', '.join(missing)}"
        raise InputError(f"feasible region: {wrong}; expected two variables and a size for every other")
    if throughput > program.upper_bound * (1 + ROUNDING):
        return ()
    least = least_sizes(program, throughput)
    if any(size < least.get(name, 0.0) * (1 - ROUNDING) for name, size in fixed.items()):
        return ()
    (left, right), (low, high) = ((max(0.0, math.log(least[name]) - ROUNDING), math.log(highs[name])) for name in (x, y))
    corners = [(left, low), (right, low), (right, high), (left, high)]
    for row in program.space:
        factors = row.shuffle.factors
        room = math.log(row.limit / row.shuffle.value({**fixed, x: 1.0, y: 1.0}))
        corners = _clipped(corners, (factors.count(x), factors.count(y), room + ROUNDING))
    distinct = [here for k, here in enumerate(corners) if k == 0 or math.dist(here, corners[k - 1]) > SAME_CORNER]
    if len(distinct) > 1 and math.dist(distinct[0], distinct[-1]) <= SAME_CORNER:
        distinct.pop()
    shares = [sample / max(1, samples) for sample in range(max(1, samples) if len(distinct) > 1 else 1)]
    return tuple(
        (math.exp(here[0] + share * (there[0] - here[0])), math.exp(here[1] + share * (there[1] - here[1])))
        for here, there in zip(distinct, distinct[1:] + distinct[:1], strict=True)
        for share in shares
    )


def _clipped(corners: list[tuple[float, float]], plane: tuple[float, float, float]) -> list[tuple[float, float]]:
    """The part of a convex polygon where a·x + b·y ≤ c."""
    a, b, c = plane
    excess = [a * px + b * py - c for px, py in corners]
    kept: list[tuple[float, float]] = []
    for k, (here, there) in enumerate(zip(corners, corners[1:] + corners[:1], strict=True)):
        e0, e1 = excess[k], excess[(k + 1) % len(corners)]
        if e0 <= 0:
            kept.append(here)
        if (e0 < 0 < e1) or (e1 < 0 < e0):
            share = e0 / (e0 - e1)
            kept.append((here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1])))
    return kept
