"""The plan with changes that are tried: a stage that answers at once from the paths it knows, then plans anew."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.errors import IsovizError
from isoviz.widgets.chosen.settings import ByHand, PathShare
from isoviz.widgets.chosen.what_if import WhatIf, changed_machine
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import Problem, sentence

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Options, Plan, Transfer

RouteKey = tuple[tuple[str, ...], int | None]
SEARCHED = "full"
"""The planner that compares paths: its answer at once is the best of the paths that it compared for the present plan."""
ONE_PATH = ("simple", "spsl", "spdl", "direct")
"""Planners that look at one path: they are quick enough to be asked at once."""
FAR = 16.0
"""Paths are looked for that win where a channel is slower or faster by this factor."""
MOVING_SECONDS = 0.015
"""The planning time for which paths are compared while a slider is dragged."""
_COMPARED, _WINNER, _HELD = " compared", " winner", " held"
_known: Remembered[dict[str, tuple[RouteKey, ...]]] = Remembered()
"""By plan: the paths that were compared for it, the last winner, and by channel or held resource those with less or more."""


@dataclass(frozen=True)
class WhatIfPlan:
    """The plan beside the present one (`base`) with the changes of `question`.

    `plan` is None where there is none, and `problem` says why. `is_final` says that it is what the planner makes of the changes;
    else it is the best of the paths that are known.
    """

    question: WhatIf
    base: Plan
    plan: Plan | None = None
    machine: Machine | None = None
    problem: str = ""
    is_final: bool = False


def what_if_plans(
    _problems: dict[str, Problem],
    question: WhatIf,
    plan: Plan,
    machine: Machine,
    options: Options,
    typed_by_hand: ByHand | None,
) -> Generator[WhatIfPlan, None, WhatIfPlan]:
    """Plans with the changes of a question, the quickest to find first; the last one is the planner's own."""
    answer = WhatIfPlan(question, plan)
    if question.changes_nothing:
        return replace(answer, is_final=True)
    try:
        changed = changed_machine(machine, question)
        transfer = resized(plan.transfer, question)
        limited = question.options(options)
    except IsovizError as error:
        return replace(answer, problem=sentence(str(error)), is_final=True)
    answer = replace(answer, machine=changed)
    if typed_by_hand is None:
        quick = None
        for quick in _at_once(_Known(plan, machine, options), question, transfer, changed, limited):
            yield replace(answer, plan=quick)
        if quick is not None and question.moving:
            return replace(answer, plan=quick)
    try:
        return replace(answer, plan=planned(transfer, changed, limited, typed_by_hand), is_final=True)
    except IsovizError as error:
        return replace(answer, problem=sentence(str(error)), is_final=True)


def planned(transfer: Transfer, machine: Machine, options: Options, by_hand: ByHand | None) -> Plan:
    """The plan of a planner, or the path by hand.

    Raises:
        IsovizError: there is none; the message says why.
    """
    from isoviz.planner import plan, plan_by_path

    if by_hand is None:
        return plan(transfer, machine, options=options)
    if by_hand.paths:
        return _several(transfer, machine, options, by_hand.paths)
    return plan_by_path(
        transfer, machine, by_hand.path, by_hand.layouts, chunk=by_hand.chunk.strip() or None, options=options, over_limits=True
    )


def _several(transfer: Transfer, machine: Machine, options: Options, paths: Sequence[PathShare]) -> Plan:
    """The plan of several paths by hand, which divide the transfer along its slowest dimension; those with no share are left out.

    Raises:
        IsovizError: there is none; the message names the path by its number.
    """
    from isoviz.errors import TransferError
    from isoviz.planner import PathByHand, plan_of_paths
    from isoviz.planner.multipath.split import cut, cut_dims

    dims = cut_dims(transfer)
    if not dims or not any(path.share > 0 for path in paths):
        raise TransferError("paths by hand: expected something to divide, and a share above 0")
    boxes = cut(transfer, dims[0], [path.share for path in paths])
    given = [
        PathByHand(box, path.path, path.layouts, path.chunk.strip() or None)
        for box, path in zip(boxes, paths, strict=True)
        if box is not None
    ]
    return plan_of_paths(transfer, machine, given, options=options)


def resized(transfer: Transfer, question: WhatIf) -> Transfer:
    """The transfer with other sizes.

    Raises:
        InputError, LayoutError: a size that cannot be, or that is smaller than a block.
    """
    from isoviz.planner.explanation.curves.scaling import resized as with_size

    for dim, size in question.sizes:
        if dim in transfer.space:
            transfer = with_size(transfer, dim, size)
    return transfer


class _Known:
    """The paths that are known for a plan without planning anew: its own, those that were compared with it, the last winner."""

    def __init__(self, base: Plan, machine: Machine, options: Options) -> None:
        self._base, self._machine, self._options = base, machine, options
        self.planner = base.planner
        self._ready = base.planner == SEARCHED and len(base.paths) == 1
        self._kept: dict[str, tuple[RouteKey, ...]] = _known.of(dict, base, machine, options)

    def paths(self, question: WhatIf) -> Iterator[tuple[RouteKey, ...]]:
        """The paths to try, then the same with paths that only win where a channel is much slower or much faster."""
        if not self._ready:
            return
        from isoviz.planner.explanation.known_paths import compared_paths

        kept, base, options = self._kept, self._base, self._options
        if _COMPARED not in kept:
            kept[_COMPARED] = compared_paths(base, self._machine, options)
        far = dict(self._far(question))
        names = list(far)
        yield self._of(names)
        for name in [name for name in names if name not in kept]:
            rival_paths: tuple[RouteKey, ...] = ()
            for changed in far[name]:
                rival_paths = (*rival_paths, *compared_paths(base, changed_machine(self._machine, changed), options))
                yield tuple(dict.fromkeys((*self._of(names), *rival_paths)))
            kept[name] = rival_paths

    def _far(self, question: WhatIf) -> Iterator[tuple[str, list[WhatIf]]]:
        """For everything of the machine that is tried, a name, and the questions in which there is much less or more of it."""
        for name, _ in question.bandwidths:
            peak = self._machine.channel(name).peak
            yield name, [WhatIf(bandwidths=((name, peak * factor),)) for factor in (1 / FAR, FAR)]
        for name, _ in question.capacities:
            there = self._machine.resource(name).capacity
            yield f"{name}{_HELD}", [WhatIf(capacities=((name, there * factor),)) for factor in (1 / FAR, FAR)]

    def _of(self, names: list[str]) -> tuple[RouteKey, ...]:
        return tuple(dict.fromkeys(key for name in (_WINNER, _COMPARED, *names) for key in self._kept.get(name, ())))

    def won(self, path: RouteKey) -> None:
        """This path is the first to try next time: neighbouring values have the same winner most of the time."""
        self._kept[_WINNER] = (path,)


def _at_once(known: _Known, question: WhatIf, transfer: Transfer, machine: Machine, options: Options) -> Iterator[Plan]:
    """The best plan on the paths that are known, then on a few more; nothing where none is known."""
    from isoviz.planner import plan
    from isoviz.planner.explanation.known_paths import best_of_paths, path_of
    from isoviz.planner.planning_work import Work
    from isoviz.planner.problem import Problem as Planning

    problem = Planning(transfer, machine, options)
    with contextlib.suppress(IsovizError):  # the planner itself will say what is wrong
        if known.planner in ONE_PATH:
            yield plan(transfer, machine, known.planner, options)
        for paths in known.paths(question):
            found = best_of_paths(problem, paths, Work(MOVING_SECONDS if question.moving else math.inf))
            if found is not None:
                known.won(path_of(found))
                yield found
