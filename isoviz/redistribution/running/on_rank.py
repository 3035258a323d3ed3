"""A whole redistribution on one rank: planned, prepared, run, verified and reported, together with all ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import Cancelled, DistributionError, FileError, RankError
from isoviz.redistribution.planning import plan_redistribution
from isoviz.redistribution.running.content import generate
from isoviz.redistribution.running.prepared import Prepared
from isoviz.redistribution.running.redistribution_report import RedistributionReport

if TYPE_CHECKING:
    from isoviz.backends.host.host_memory import HostStore
    from isoviz.planner import Instance, Options
    from isoviz.redistribution.distributed_instance import DistributedInstance
    from isoviz.redistribution.redistribution_plan import RedistributionPlan
    from isoviz.redistribution.running.run_on_rank import RankRun
    from isoviz.runtime.protocols import CancelToken, Store
    from isoviz.runtime.ranks.rank_engine import RankEngine

Array = np.ndarray[Any, Any]


class OnRank(NamedTuple):
    """A redistribution that is done, as one rank sees it: the report on all ranks, and this rank's part of the destination.

    `array` has the shape and dtype of `as_array`; None where the rank has no part, or the part is a file.
    """

    report: RedistributionReport
    array: Array | None


def redistribute_on_rank(
    engine: RankEngine,
    source: DistributedInstance,
    destination: DistributedInstance,
    array: Any | None = None,
    into: Any | None = None,
    options: Options | None = None,
    *,
    verify: bool = True,
    cancel: CancelToken | None = None,
) -> OnRank:
    """Redistribute together with all ranks of an engine; see `isoviz.redistribute`."""
    plan = planned_alike(engine, source, destination, options)
    return run_on_rank(engine, plan, array, into, verify=verify, cancel=cancel)


def run_on_rank(
    engine: RankEngine,
    plan: RedistributionPlan,
    array: Any | None = None,
    into: Any | None = None,
    *,
    verify: bool = True,
    cancel: CancelToken | None = None,
) -> OnRank:
    """Carry out a plan that all ranks have; see `isoviz.redistribute`."""
    source = plan.source
    given = any(engine.gather(array is not None))

    def fill(store: Store) -> None:
        if given:
            raise DistributionError(f"redistribution: rank {engine.rank} gave no array for its part, and another rank gave one")
        generate(source, engine.rank, cast("HostStore", store).array)

    with Prepared(engine, plan, array, into, fill) as prepared:
        report = run_and_report(prepared, generated=not given, verify=verify, cancel=cancel)
        part = plan.destination.part(engine.rank)
        held = getattr(prepared.destination, "array", None)
        return OnRank(report, None if part is None or held is None else as_array(held, part))


def planned_alike(
    engine: RankEngine, source: DistributedInstance, destination: DistributedInstance, options: Options | None
) -> RedistributionPlan:
    """The plan, if all ranks ask for the same. Rank 0 makes it.

    Raises:
        DistributionError: they do not ask for the same.
        Exception: what `plan_redistribution` raises, on all ranks.
    """
    asked = str((source.to_json(), destination.to_json(), None if options is None else options.as_dict()))
    for rank, other in enumerate(cast("list[str]", engine.gather(asked))):
        if other != asked:
            raise DistributionError(
                f"redistribution: rank {engine.rank} and rank {rank} ask for different ones; expected the same on all ranks"
            )
    return engine.agreed(lambda: plan_redistribution(source, destination, engine.machine, options))


def run_and_report(
    prepared: Prepared, *, generated: bool, verify: bool = True, cancel: CancelToken | None = None
) -> RedistributionReport:
    """Run once and verify, together with all ranks. All ranks return equal reports.

    Raises:
        Cancelled: it was cancelled on some rank. VerificationError: a byte is wrong on some rank.
        RunError: it failed on this rank. RankError: it failed on another rank. RankLost: a rank no longer answers.
    """
    engine = prepared.engine
    run = prepared.run(cancel)
    ends = (prepared.source, prepared.destination)
    notes = [note for store in ends for note in (store.notes if store is not None else ())]
    answers = cast("list[tuple[RankRun, list[str]]]", engine.gather((run._replace(error=_picklable(run.error)), notes)))
    runs = [each for each, _ in answers]
    raise_first([each.error for each in runs], run.error)
    verified = None
    if verify:

        def check() -> None:
            if cancel is not None and cancel.is_set():
                raise Cancelled("the redistribution was cancelled while it was verified")

        error = prepared.verify(generated=generated, check=check)
        raise_first(cast("list[Exception | None]", engine.gather(_picklable(error))), error)
        verified = True
    said = ["the source holds generated data"] if generated else []
    said += [note for _, found in answers for note in found]
    one_host = len(set(getattr(engine.transport, "hosts", ()))) <= 1
    return RedistributionReport.of(prepared.plan, runs, verified, said, one_clock=one_host)


def raise_first(errors: list[Exception | None], own: Exception | None) -> None:
    """Raise this rank's own error, or that of the first rank that has one.

    Raises:
        RankError: it failed on another rank, for a reason that this rank does not know better.
    """
    if own is not None:
        raise own
    for other, error in enumerate(errors):
        if error is not None:
            if isinstance(error, RankError | Cancelled):
                raise error
            raise RankError(f"rank {other}: {error}", rank=other) from error


def _picklable(error: Exception | None) -> Exception | None:
    """The error without what it came from, which may not be picklable."""
    if error is None:
        return None
    found = error.with_traceback(None)
    found.__cause__ = found.__context__ = None
    return found


def as_array(held: Any, part: Instance) -> Array:
    """The bytes of a part as the C-order array of its layout; plain bytes where no dtype describes them.

    The axes are the digits of the layout, slowest first, as in files of `isoviz.convert`.
    """
    fields = part.fields
    record = Record(fields, fields.names, fields.dtypes, fields.dtype if len(fields) > 1 else None)
    try:
        dtype, shape = array_of(part.linearization.parts, record)
    except FileError:
        return cast("Array", held)
    shape, dtype = (*shape, *dtype.shape), dtype.base
    if math.prod(shape) * dtype.itemsize != len(held):
        return cast("Array", held)
    return cast("Array", held.view(dtype).reshape(shape))
