"""The same program on every rank (SPMD): `mpiexec -n 4 isoviz run FILE`.

Every rank plans for itself. The ranks compare their plans before a byte moves, and all of them end in the same way.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from isoviz.errors import InternalError, IsovizError, RankError, line
from isoviz.launch.rank_files import plan_on_ranks
from isoviz.machines import Machine, Memory, MemoryKind
from isoviz.planner.plan_file import plan_to_json

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.planner import Plan, TransferFile
    from isoviz.runtime import CancelToken, Report

T = TypeVar("T")


class Shared(NamedTuple):
    """What all ranks have in the end: the report, the machine of the plan, the transfer file, and the number of this rank."""

    report: Report
    machine: Machine
    file: TransferFile
    rank: int


class _Said(NamedTuple):
    """What a rank tells the others of its preparation: a digest of what it made, or its error and the error in words."""

    digest: str
    error: bytes | None
    words: str


def run_together(
    path: str | Path,
    *,
    planner: str | None = None,
    verify: bool = True,
    cancel: CancelToken | None = None,
    check: Callable[[], None] = lambda: None,
) -> Shared:
    """Run a transfer file together with all ranks of the job that this process belongs to. Every rank calls it.

    `check` is called before anything moves; its error ends the run on all ranks.

    Raises:
        InputError, RunError: the error of the first rank that failed, on all ranks.
        RankError: the ranks do not plan alike.
    """
    from isoviz.backends.mpi.world import World
    from isoviz.runtime.ranks.rank_engine import RankEngine

    shared: Shared | None = None
    failed: Exception | None = None
    # An error that all ranks know of is raised after they have left together. Any other makes them count this rank as lost.
    with World() as world:
        try:
            check_and_plan = _checked(check, lambda: plan_on_ranks(path, world.hosts, planner))
            plan, machine, file = _agreed(world, check_and_plan, lambda found: _digest(found[0], found[1]))
        except Exception as error:  # noqa: BLE001  # raised below
            failed = error
        else:
            engine = RankEngine(machine, world.devices, world.transport)
            with engine:
                try:
                    shared = Shared(engine.run(plan, verify=verify, cancel=cancel), machine, file, world.rank)
                except Exception as error:  # noqa: BLE001  # raised below
                    failed = error
    if failed is not None:
        raise failed
    if shared is None:
        raise InternalError("a run on ranks ended with neither a report nor an error")
    return shared


def _checked(check: Callable[[], None], make: Callable[[], T]) -> Callable[[], T]:
    def both() -> T:
        check()
        return make()

    return both


def _agreed(world: World, make: Callable[[], T], digest: Callable[[T], str]) -> T:
    """What every rank makes, once all of them have made the same.

    Raises:
        Exception: the error of the first rank that failed, on all ranks.
        RankError: a rank made something else than rank 0.
    """
    from isoviz.runtime.ranks.rank_engine import RankEngine

    made: T | None = None
    try:
        made = make()
        said = _Said(digest(made), None, "")
    except Exception as error:  # noqa: BLE001  # every rank has to hear of it
        said = _Said("", _pickled(error), line(f"{type(error).__name__}: {error}"))
    # An engine without channels: it carries what the ranks tell each other, which no plan is needed for.
    nothing = Machine("ranks", tuple(Memory(f"node{rank}.sys", MemoryKind.SYS, rank) for rank in range(world.size)), ())
    engine = RankEngine(nothing, world.devices, world.transport)
    with engine:
        every = cast("list[_Said]", engine.gather(said))
    failed = [(rank, each) for rank, each in enumerate(every) if each.words]
    if failed:
        raise _error(*failed[0], everywhere=len({each.words for each in every}) == 1)
    other = [rank for rank, each in enumerate(every) if each.digest != every[0].digest]
    if other:
        raise RankError(
            f"rank {other[0]} plans otherwise than rank 0; expected the same transfer file, machine and isoviz on every rank",
            rank=other[0],
        )
    return cast("T", made)


def _digest(plan: Plan, machine: Machine) -> str:
    text = json.dumps(plan_to_json(plan), sort_keys=True)
    return hashlib.sha256(f"{machine.digest} {text}".encode()).hexdigest()


def _pickled(error: Exception) -> bytes | None:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # pickle raises errors of many types
        return None
    return data


def _error(rank: int, said: _Said, *, everywhere: bool) -> Exception:
    """The error of a rank, which it names unless all ranks have the same one."""
    error: Any = None if said.error is None else pickle.loads(said.error)  # noqa: S301  # the ranks of a job trust each other
    if not isinstance(error, Exception) or not (everywhere or isinstance(error, IsovizError)):
        return RankError(f"rank {rank}: {said.words}", rank=rank)
    if not everywhere:
        error.args = (line(f"rank {rank}: {error}"),)
    return error
