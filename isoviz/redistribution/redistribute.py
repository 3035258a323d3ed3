"""`isoviz.redistribute`: an array moves from one distribution over ranks to another one."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.backends.formats.arrays import sent_array
from isoviz.checks import expect
from isoviz.errors import DistributionError, InputError, IsovizError, in_words, show
from isoviz.launch.this_rank import is_rank_program, rank_session, this_rank
from isoviz.launch.worker.plan_runs import check_room, in_window
from isoviz.machines import MemoryKind
from isoviz.planner import Options
from isoviz.redistribution.distributed_instance import DistributedInstance
from isoviz.redistribution.planning import plan_redistribution
from isoviz.redistribution.running.on_rank import prepare_on_rank, redistribute_on_rank, run_on_rank

if TYPE_CHECKING:
    import numpy as np

    from isoviz.launch.ranks import Ranks
    from isoviz.machines import Machine
    from isoviz.planner import Instance
    from isoviz.redistribution.redistribution_plan import RedistributionPlan
    from isoviz.redistribution.running.prepared import PreparedRedistribution
    from isoviz.redistribution.running.redistribution_report import RedistributionReport
    from isoviz.runtime.protocols import CancelToken
    from isoviz.runtime.ranks.rank_engine import RankEngine

_numbers = itertools.count(1)
_held: dict[str, Any] = {}
"""On a rank: what notebooks have left here, by key."""
_done: weakref.WeakKeyDictionary[Ranks, list[str]] = weakref.WeakKeyDictionary()
"""In a notebook: the keys that ranks may forget. They hear of it at the next call: a garbage collector must not wait for them."""


class Redistributed:
    """A redistribution that is done. `report` tells what all ranks measured.

    In a program that every rank runs, `array` is this rank's part of the destination. In a notebook the parts stay on their
    ranks as long as this object lives, and until the next redistribution there; `part(rank)` fetches one.
    """

    def __init__(self, report: RedistributionReport, array: Any | None, ranks: Ranks | None = None, key: str = "") -> None:
        self.report = report
        self.array = array
        self._ranks, self._key = ranks, key
        if ranks is not None:
            weakref.finalize(self, _done.setdefault(ranks, []).append, key)

    def part(self, rank: int) -> np.ndarray[Any, Any] | None:
        """The part of the destination that a rank holds: the array of its layout; None where it holds nothing.

        Raises:
            InputError: in a program that every rank runs, the rank is another one.
            RankLost, RanksClosed: the ranks have ended.
        """
        if self._ranks is not None:
            found: np.ndarray[Any, Any] | None = self._ranks.call(_fetch, self._key, ranks=[rank])[0]
            return found
        here = rank_session().engine.rank
        if rank != here:
            raise InputError(f"part({show(rank)}): this is rank {here}, which holds its own part only")
        return self.array

    def __str__(self) -> str:
        return str(self.report)

    def __repr__(self) -> str:
        return f"<Redistributed: {self.report.headline()}>"


def redistribute(
    source: DistributedInstance,
    destination: DistributedInstance,
    *,
    ranks: Ranks | None = None,
    array: Any | None = None,
    into: Any | None = None,
    options: Options | None = None,
    verify: bool = True,
    cancel: CancelToken | None = None,
) -> Redistributed:
    """Move an array from one distribution, layout and memory to another one.

    In a notebook, `ranks` are those of `isoviz.ranks`:

        with isoviz.ranks(4) as ranks:
            done = isoviz.redistribute(source, destination, ranks=ranks)

    In a program that every rank runs (`mpiexec -n 4 python -P program.py`), all ranks call it together without `ranks`. The
    latest plans are kept: a further call with equal ends and options reuses its plan, also with other arrays.

    - `array`: the data. In a program of ranks: this rank's part of the source, an array that lies as its layout says, or for the
      memory `dsk` the path of a file of the rank's host. In a notebook: such arrays or paths by rank, in a list or a mapping.
      None: the data are generated. A rank that holds no part gives None or an empty array.
    - `into`: in a program of ranks, such an array for this rank's part of the destination. None: isoviz provides it. An array
      that you pass for the memory `reg` is copied before or after the run, because other ranks cannot reach it; the report says
      so.
    - `options`: those of every transfer.
    - `verify`: whether every rank compares its part of the destination bit for bit with the parts of its peers, or with the
      generated data. No rank gathers the array.
    - `cancel`: in a program of ranks, a token whose `is_set()` stops the redistribution.

    Raises:
        DistributionError: the two ends do not suit each other, need more ranks than there are, or the ranks disagree; or the
            destination is in files.
        NoPathError, LimitError: there is no plan. ArrayError: an array does not lie as its layout says.
        VerificationError: a byte is wrong. RankError: it failed on a rank. RankLost: a rank no longer answers.
        Cancelled: it was cancelled.
    """
    checks.flag_argument("redistribute", "verify", verify)
    checks.expect_token("redistribute", cancel)
    options = Options.given(options)
    _check_ends("redistribute", source, destination)
    if ranks is None:
        engine = _engine_here("redistribute", source, destination, ", or give ranks=isoviz.ranks({})")
        done = redistribute_on_rank(engine, source, destination, array, into, options, verify=verify, cancel=cancel)
        return Redistributed(done.report, done.array)
    from isoviz.launch.ranks import Ranks

    expect("redistribute", ranks, Ranks, "the ranks that isoviz.ranks has returned")
    if into is not None or cancel is not None:
        raise InputError("redistribute: with ranks, leave out into and cancel: parts stay on the ranks, and Ctrl-C cancels")
    plan = plan_redistribution(source, destination, ranks.machine, options)
    key = f"redistribution {next(_numbers)}"
    old = _done.setdefault(ranks, [])
    try:
        for rank, part in _by_rank(array, len(ranks), source):
            ranks.call(_keep, f"{key} source", part, ranks=[rank])
        ended = [old.pop() for _ in range(len(old))]
        report = ranks.call(_on_rank, ranks.machine, plan, key, verify, ended)[0]
    except BaseException:
        old.append(key)
        raise
    return Redistributed(report, None, ranks, key)


def prepare_redistribution(
    source: DistributedInstance,
    destination: DistributedInstance,
    *,
    array: Any | None = None,
    into: Any | None = None,
    options: Options | None = None,
) -> PreparedRedistribution:
    """Prepare a redistribution that runs repeatedly between the same arrays, in a program that every rank runs.

        with isoviz.prepare_redistribution(rows, columns, array=mine, into=other) as prepared:
            for step in simulation:
                prepared.run()

    All ranks call it together. The arguments are those of `redistribute`; `prepared.array` is this rank's part of the
    destination.

    Raises:
        DistributionError: the two ends do not suit each other, need more ranks than there are, or the ranks disagree; or the
            destination is in files.
        NoPathError, LimitError: there is no plan. ArrayError: an array does not lie as its layout says.
        RankLost: a rank no longer answers.
    """
    options = Options.given(options)
    _check_ends("prepare_redistribution", source, destination)
    engine = _engine_here("prepare_redistribution", source, destination)
    return prepare_on_rank(engine, source, destination, array, into, options)


def _check_ends(name: str, *ends: DistributedInstance) -> None:
    for end in ends:
        expect(name, end, DistributedInstance, "a distributed instance at each end")


def _engine_here(name: str, source: DistributedInstance, destination: DistributedInstance, other_way: str = "") -> RankEngine:
    """The engine of this rank. `other_way` says what can be done instead where this is not a program of ranks."""
    needed = 1 + max((*source.ranks, *destination.ranks))
    if needed > 1 and not is_rank_program():
        ways = f"start this program with mpiexec -n {needed}{other_way.format(needed)}"
        raise DistributionError(f"{name}: needs {needed} ranks; {ways}")
    return rank_session().engine


def _by_rank(given: Any | None, count: int, source: DistributedInstance) -> list[tuple[int, Any]]:
    """The bytes of the arrays of a notebook, or paths, with their ranks."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        found = list(given.items())
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        found = list(enumerate(given))
    else:
        raise InputError(f"redistribute: array: expected arrays by rank, in a list or a mapping, got {show(given)}")
    for rank, _ in found:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < count:
            raise DistributionError(f"redistribute: array: there is no rank {show(rank)}; expected 0 to {count - 1}")
    return [(rank, _sent(part, source.part(rank))) for rank, part in found if part is not None]


def _sent(given: Any, part: Instance | None) -> Any:
    """What a rank gets: an array as `sent_array` gives it, or a path as it is.

    Raises:
        ArrayError: the array does not lie as its layout says.
    """
    if part is None or isinstance(given, str | PathLike):
        return given
    return sent_array(given, part, "source")[0]


# ---- on the ranks of a notebook


def _keep(key: str, value: Any) -> None:
    _held[key] = value


def _fetch(key: str) -> Any:
    return _held.get(key)


def _on_rank(
    machine: Machine, plan: RedistributionPlan, key: str, verify: bool, old: Sequence[str]
) -> RedistributionReport | None:
    for each in old:
        _held.pop(each, None)
        _held.pop(f"{each} source", None)
    here = this_rank()
    engine = here.station.engine(machine)
    given = _held.pop(f"{key} source", None)
    part = plan.source.part(here.rank)
    problem = None
    if given is not None and part is not None and machine.memory(part.memory).kind is MemoryKind.REG:
        try:
            given = in_window(here.station.world(), given)
        except (MemoryError, IsovizError) as error:  # The other ranks must not wait for this one.
            problem = f"has no room for its part: {in_words(error)}"
    check_room(engine, problem)
    done = run_on_rank(engine, plan, given, verify=verify, cancel=here.cancel)
    _held[key] = done.array
    return done.report if here.rank == 0 else None
