"""`find_layout` against every layout: all orders of dimensions and fields, with all divisor blocks of two dimensions."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from planner_problems import DTYPES, build, random_problem

import isoviz
from isoviz import FieldSpace, IndexSpace, Layout, Machine, Options, Use
from isoviz.errors import LimitError, NoPathError

FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
COUNT = 200 if FULL else 3
MOST_LAYOUTS = 10_000 if FULL else 130
SHAPES = ((8, 6), (12, 4), (6, 6), (9, 4), (16, 3), (4, 3, 2), (4, 4, 2), (6, 2, 2))
BEST = 1.001
"""A layout within a thousandth counts as the best: plans are no closer to their optimum."""


def every_layout(sizes: dict[str, int], fields: int) -> Iterator[str]:
    """All layouts without padding in which at most two dimensions are cut, each at one divisor."""
    for blocked in itertools.chain(*(itertools.combinations(sizes, count) for count in range(3))):
        choices = [[size for size in range(2, sizes[dim]) if sizes[dim] % size == 0] for dim in blocked]
        for blocks in itertools.product(*choices):
            cut = dict(zip(blocked, blocks, strict=True))
            digits = [
                *(dim for dim in sizes if dim not in cut),
                *(f"{dim}_in={size}" for dim, size in cut.items()),
                *(f"{dim}_out" for dim in cut),
            ]
            for order in itertools.permutations([*digits, "F"] if fields > 1 else digits):
                yield f"<{', '.join(order if fields > 1 else ('F', *order))}>"


def some_problem(seed: int) -> tuple[IndexSpace, FieldSpace, str, list[Use], Machine, Options]:
    """A random machine with an array in one memory, which is copied from or to another in given layouts, and read along
    dimensions."""
    draw = random.Random(f"layouts {seed}")
    problem: dict[str, Any] = random_problem(seed)
    sizes = dict(zip("xyz", draw.choice(SHAPES), strict=False))
    count = draw.choice((1, 1, 2))
    problem["sizes"], problem["fields"] = sizes, (draw.choice(tuple(DTYPES)),) * count
    for end in ("source", "destination"):
        problem[end] = (problem[end][0], ("F", *((dim, 1) for dim in sizes)))
    for memory in problem["memories"].values():
        memory["capacity"] = None  # it was made for other sizes
    transfer, machine, options = build(problem)
    here, there = transfer.source.memory, transfer.destination.memory
    layouts = [draw.choice(list(every_layout(sizes, count))) for _ in range(2)]
    uses = [Use.to(there, layout, weight=draw.choice((1, 2, 5))) for layout in layouts]
    if draw.random() < 0.5:
        uses[1] = Use.along(draw.choice(tuple(sizes)), memory=there, weight=draw.choice((1, 3)))
    return transfer.space, transfer.fields, here, uses, machine, options


def weighted_seconds(
    layout: str, space: IndexSpace, fields: FieldSpace, memory: str, uses: Sequence[Use], machine: Machine, options: Options
) -> float:
    """Σ weight × seconds of the plans of all uses."""
    array = isoviz.Instance(memory, space, fields, Layout(layout))
    return sum(use.weight * isoviz.plan(use.transfer(array), machine, "full", options).seconds for use in uses)


@pytest.mark.timeout(3600)
def test_the_best_of_all_layouts_is_found() -> None:
    ratios: list[float] = []
    for seed in itertools.count():
        if len(ratios) == COUNT:
            break
        space, fields, memory, uses, machine, options = some_problem(seed)
        kinds = {Layout(text).on(space, fields).normal: text for text in every_layout(space.as_dict(), len(fields))}
        if len(kinds) > MOST_LAYOUTS:
            continue
        try:
            found = isoviz.find_layout(space, fields, memory, uses, machine, options=options)
        except (LimitError, NoPathError):
            continue
        times: list[float] = []
        for text in kinds.values():
            try:
                times.append(weighted_seconds(text, space, fields, memory, uses, machine, options))
            except LimitError:
                continue
        own = weighted_seconds(str(found.best.layout), space, fields, memory, uses, machine, options)
        assert abs(own - found.best.weighted) <= 1e-3 * own, (seed, own, found.best)
        ratios.append(own / min(times))
        # A search that its counted work ended has not come to every layout.
        assert ratios[-1] <= (1.1 if found.stopped else 1.05), (seed, own, min(times), str(found))
    assert sum(ratio <= BEST for ratio in ratios) >= 0.95 * len(ratios), sorted(ratios)[-12:]
