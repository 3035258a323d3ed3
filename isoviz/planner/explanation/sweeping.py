"""How the best plan changes with one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import InputError, LayoutError, LimitError, TransferError, show
from isoviz.planner.check_ends import check_arguments
from isoviz.planner.explanation.explanation import Sweep, SweepPoint
from isoviz.planner.explanation.scaling import resized
from isoviz.planner.full import search
from isoviz.planner.one_path.optimum import clock_of
from isoviz.planner.options import Options
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from isoviz.machines import MachineLike
    from isoviz.planner.transfer import Transfer

PARAMETERS = ("slot_limit", "size")


def sweep(
    transfer: Transfer,
    machine: MachineLike,
    parameter: str,
    values: Sequence[float] | None = None,
    options: Options | None = None,
) -> Sweep:
    """The predicted time of the best plan, and its path, over a parameter.

    `parameter` is "slot_limit" (TH) or "size" (bytes that move; the largest dimension grows or shrinks). `values` are in bytes.
    Without `values`, there are 49 steps over a factor of 4096 around the present value. A value is left out if no plan or no
    array of that size exists.

    Raises:
        InputError: an unknown parameter. MachineError, NoPathError: as `plan`.
    """
    machine = check_arguments("sweep", transfer, machine)
    if not checks.is_one_of(parameter, PARAMETERS):
        raise InputError(f"sweep over {show(parameter)}: expected one of {', '.join(PARAMETERS)}")
    options = Options.given(options)
    dim = max(transfer.space.dims, key=lambda dim: transfer.space[dim])
    per_step = transfer.nbytes // transfer.space[dim]
    now = float(options.slot_limit or machine.limits.slot_limit) if parameter == "slot_limit" else float(transfer.nbytes)
    unit = 1 if parameter == "slot_limit" else per_step
    points: dict[float, SweepPoint] = {}
    asked = [now * 2.0 ** (step / 4) for step in range(-32, 17)]
    if values is not None:
        given = checks.items("sweep, values", values, "numbers of bytes")
        asked = [checks.amount("sweep", "values", value, open_low=True, high=checks.BYTES_LIMIT) for value in given]
    for value in asked:
        wanted = float(max(1, round(value / unit)) * unit)
        try:
            if parameter == "slot_limit":
                problem = Problem(transfer, machine, replace(options, slot_limit=round(wanted)))
            else:
                problem = Problem(resized(transfer, dim, round(wanted / per_step)), machine, options)
            best = search(problem).best
        except (LimitError, LayoutError, TransferError):
            continue
        route = best.route
        memories = (route.channels[0].source, *(channel.destination for channel in route.channels))
        steady = clock_of(problem, route).timing(best.chunk, best.runs).throughput
        points[wanted] = SweepPoint(wanted, best.seconds, steady, memories, route.names, route.converting)
    found = tuple(points[value] for value in sorted(points))
    return Sweep(parameter, "B", now, found, machine.emulated(name for point in found for name in point.memories))
