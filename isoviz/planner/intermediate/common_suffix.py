"""The common suffix of several layouts. It numbers the blocks of a chunk sequence (DESIGN, section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.layouts import Linearization, Mode
from isoviz.layouts.modes import without_ones
from isoviz.planner.intermediate.part_layouts import layout_of

if TYPE_CHECKING:
    from isoviz.layouts.modes import NormalPart


def ending_alike(orders: Sequence[Linearization]) -> tuple[list[Linearization], int]:
    """The orders, written such that all end with the same components, and the number of these components.

    The number is 0 where they have no common suffix. A component may have to be split: `<F, x>` ends like `<x_in=4, F, x_out>`
    once it is written as `<F, x_in=4, x_out>`, which is the same order. A digit of extent 1 (`x_in=1`) is left out: `<F, y, x>`
    ends like `<y, x_in=1, F, x_out>`.
    """
    if len({order.parts for order in orders}) == 1:
        return list(orders), len(orders[0].parts)
    parts = [without_ones(order.parts) for order in orders]
    outer = 0
    while all(len(each) > outer for each in parts) and len({each[-1 - outer] for each in parts}) == 1:
        outer += 1
    if split := _split([each[-1 - outer] for each in parts if len(each) > outer], len(parts), orders[0].space.as_dict()):
        for each, pieces in zip(parts, split, strict=True):
            each[len(each) - 1 - outer : len(each) - outer] = pieces
        outer += 1
    if not outer:
        return list(orders), 0
    return [
        order if len(order.parts) == len(each) and not split else _written(order, each)
        for order, each in zip(orders, parts, strict=True)
    ], outer


def _split(last: Sequence[NormalPart], count: int, sizes: dict[str, int]) -> list[list[NormalPart]]:
    """Digits of one dimension that end alike, cut where all of them repeat: the faster part of each, then the digit that all
    share.

    Empty where they do not end alike.
    """
    modes = [part for part in last if isinstance(part, Mode)]
    if len(modes) != count or len({(mode.dim, mode.step * mode.extent, mode.top) for mode in modes}) != 1:
        return []
    whole, step = modes[0].step * modes[0].extent, math.lcm(*(mode.step for mode in modes))
    if step >= min(whole, sizes[modes[0].dim]) or whole % step:
        return []
    above = Mode(modes[0].dim, whole // step, step, modes[0].top)
    return [[Mode(mode.dim, step // mode.step, mode.step, False), above] if mode.step < step else [above] for mode in modes]


def _written(order: Linearization, parts: Sequence[NormalPart]) -> Linearization:
    named = {part.dim for part in parts if isinstance(part, Mode)}
    lone = [Mode(dim, 1, 1, True) for dim in order.space if dim not in named]
    return layout_of([*lone, *parts]).on(order.space, order.fields)
