"""`find_layout()`: layouts for an array that is used in several ways, ranked by the planned time of the uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.errors import Cancelled, InputError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.planner.layout_choice.choice import LayoutChoice, RankedLayout
from isoviz.planner.layout_choice.layout_search import LEAST_GAIN, Demands, LayoutSearch, Timed, run_along
from isoviz.planner.layout_choice.use import Use
from isoviz.planner.options import Options
from isoviz.planner.planner_registry import find_planner
from isoviz.planner.planners.planner_call import plan
from isoviz.planner.transfer import Instance
from isoviz.units import parse_bytes

if TYPE_CHECKING:
    from typing import Protocol

    class _Token(Protocol):
        def is_set(self) -> bool: ...


PLANS = 200
"""The plans that `find_layout` makes unless `most_plans` says otherwise."""
PLANNING_TIME = 0.01
"""The planning time of each of these plans, in seconds, unless the options say otherwise. It bounds searches only: a machine
whose paths are listed needs no search."""


def find_layout(
    space: IndexSpace | Mapping[str, int],
    fields: FieldSpace | Mapping[str, Any],
    memory: str,
    uses: Use | Sequence[Use],
    machine: MachineLike,
    *,
    least_runs: Mapping[str, int | str] | None = None,
    most_padding: float = 0.0,
    fields_together: bool = False,
    order: Sequence[str] = (),
    count: int = 10,
    planner: str = "full",
    options: Options | None = None,
    most_plans: int = PLANS,
    progress: Callable[[LayoutChoice], None] | None = None,
    cancel: _Token | None = None,
) -> LayoutChoice:
    """The best layouts for an array in a memory that is used in several ways.

        >>> uses = [Use.from_("node0.dsk", "<F, x, y>"), Use.to("node0.fbm0", "<x, y, F>", weight=3), Use.along("y", weight=10)]
        >>> find_layout(space, fields, "node0.sys", uses, "two-node").best.layout

    Layouts are ranked by Σ weight × seconds over the uses, where seconds are those of the plan that `planner` makes. Candidates
    are orders of the dimensions and fields, with blocks in two dimensions. The search is deterministic: `most_plans` bounds it,
    not a clock. The best layout is the best of those that the search reached; nothing is proved about others. The search goes
    from one layout to its neighbours, but never on from a layout that breaks a demand. So demands can keep it from reaching some
    layouts that meet them.

    `least_runs` are bytes that must be contiguous along a dimension, such as {"x": "64B"}. `most_padding` is the share of the
    array's bytes that blocks may add; with 0 blocks divide their dimension. `fields_together` keeps the fields of an entry
    adjacent. `order` keeps the dimensions in this order, fastest first, both inside blocks and among blocks. `count` is the
    number of candidates in the result.

    `progress` is called with the result so far: for the first layout, and whenever a better one is found. When `cancel` is set,
    the search stops and returns the result so far.

    Raises:
        InputError: there is no use, the planner is unknown, or no layout meets the demands. LayoutError, SpaceError,
            TransferError: a use does not fit the array. MachineError, NoPathError: as `plan`. Cancelled: `cancel` was set before
            the first layout was planned.
    """
    if progress is not None:
        checks.expect_call("find_layout, progress", progress, "a function or None")
    checks.expect_token("find_layout", cancel)
    if cancel is not None and cancel.is_set():
        raise Cancelled("find_layout: cancelled before a layout was planned")
    best: LayoutChoice | None = None
    for step in layout_choices(
        space,
        fields,
        memory,
        uses,
        machine,
        least_runs=least_runs,
        most_padding=most_padding,
        fields_together=fields_together,
        order=order,
        count=count,
        planner=planner,
        options=options,
        most_plans=most_plans,
    ):
        is_better = step is not None and (best is None or step.best.weighted < best.best.weighted)
        best = best if step is None else step
        if progress is not None and is_better and best is not None:
            checks.tell("find_layout", progress, best)
        if cancel is not None and cancel.is_set():
            break
    assert best is not None  # else the search raised an error
    return best


def layout_choices(
    space: IndexSpace | Mapping[str, int],
    fields: FieldSpace | Mapping[str, Any],
    memory: str,
    uses: Use | Sequence[Use],
    machine: MachineLike,
    *,
    least_runs: Mapping[str, int | str] | None = None,
    most_padding: float = 0.0,
    fields_together: bool = False,
    order: Sequence[str] = (),
    count: int = 10,
    planner: str = "full",
    options: Options | None = None,
    most_plans: int = PLANS,
) -> Iterator[LayoutChoice | None]:
    """The steps of `find_layout`, for callers that show what was found so far or give up in between.

    It yields after every layout that was planned: the result so far where that layout is the best one, else None. The last step
    is the result.

    Raises:
        As `find_layout`.
    """
    space, fields = IndexSpace.of(space), FieldSpace.of(fields)
    machine = machine_argument("find_layout", machine)
    given = checks.items("find_layout, uses", [uses] if isinstance(uses, Use) else uses, "isoviz.Use, in a sequence")
    for use in given:
        checks.expect("find_layout, uses", use, Use, "isoviz.Use, in a sequence")
    if not given:
        raise InputError("find_layout: expected at least one use")
    array = Instance(memory, space, fields, Layout.aos(*space))
    machine.memory(memory)
    demands = _demands(space, least_runs, most_padding, fields_together, order)
    most_plans = checks.count("find_layout", "most_plans", most_plans, low=1)
    count = checks.count("find_layout", "count", count, low=1)
    options = replace(Options.given(options), planner=planner)
    each_plan = replace(options, planning_time=options.planning_time or PLANNING_TIME)
    search = LayoutSearch(array, given, machine, find_planner(planner), each_plan, demands, count)

    def result() -> LayoutChoice:
        ranked = sorted(search.timed, key=_rank)
        return LayoutChoice(
            Instance(memory, space, fields, ranked[0].layout),
            given,
            machine.name,
            machine.digest,
            options,
            tuple(_ranked(each) for each in ranked[:count]),
            tuple(_ranked(each) for each in sorted(search.front, key=_rank)),
            search.considered,
            search.plans,
            not search.exhausted,
            machine.emulated({memory, *(use.memory for use in given if use.memory)}),
        )

    least = math.inf
    for timed in search.run(most_plans):
        yield result() if timed.weighted < least else None
        least = min(least, timed.weighted)
    if not search.timed:
        raise search.refusal or _unmet(demands)
    search.settle()
    yield result()


def ranked_layout(
    order: Linearization, memory: str, uses: Sequence[Use], machine: Machine, options: Options | None = None
) -> RankedLayout:
    """One layout of an array in a memory with the times of the uses, planned as `find_layout` plans them.

    Raises:
        LayoutError, SpaceError, TransferError: a use does not fit the array. MachineError, NoPathError: as `plan`.
    """
    options = Options.given(options)
    each_plan = replace(options, planning_time=options.planning_time or PLANNING_TIME)
    array = Instance(memory, order.space, order.fields, order.layout)
    times = tuple(plan(use.transfer(array), machine, options=each_plan).seconds for use in uses)
    weighted = sum(use.weight * seconds for use, seconds in zip(uses, times, strict=True))
    return _ranked(Timed(order.layout, order, times, weighted))


def _demands(
    space: IndexSpace,
    least_runs: Mapping[str, int | str] | None,
    most_padding: float,
    fields_together: bool,
    order: Sequence[str],
) -> Demands:
    runs: list[tuple[str, int]] = []
    if least_runs is not None:
        checks.expect("find_layout, least_runs", least_runs, Mapping, "bytes for each dimension, such as {'x': '64B'}")
        for dim, size in least_runs.items():
            space[dim]
            runs.append((dim, checks.count("find_layout", f"least_runs {dim}", parse_bytes(size))))
    checks.flag_argument("find_layout", "fields_together", fields_together)
    dims = checks.names("find_layout, order", order, "names of dimensions")
    if dims and sorted(dims) != sorted(space):
        raise InputError(f"find_layout: order ({', '.join(dims)}): expected all of ({', '.join(space)}), once each")
    padding = checks.amount("find_layout", "most_padding", most_padding, high=1e6)
    return Demands(tuple(runs), padding, fields_together, dims)


def _unmet(demands: Demands) -> InputError:
    asked = [f"runs of {least} bytes along {dim}" for dim, least in demands.least_runs]
    asked += [f"the order {', '.join(demands.order)}"] if demands.order else []
    asked += ["fields together"] if demands.fields_together else []
    return InputError(f"find_layout: no layout has {' and '.join(asked)}; at most one dimension can have long runs")


def _rank(timed: Timed) -> tuple[object, ...]:
    """Of times within about a thousandth the simpler layout comes first."""
    steps = round(math.log(timed.weighted) / LEAST_GAIN) if 0 < timed.weighted < math.inf else timed.weighted
    return steps, len(timed.layout.components), timed.order.nbytes, timed.weighted, str(timed.layout)


def _ranked(timed: Timed) -> RankedLayout:
    order = timed.order
    runs = tuple((dim, run_along(order, dim)) for dim in order.space)
    return RankedLayout(timed.layout, timed.weighted, timed.times, order.nbytes - order.payload, runs)
