"""The same program on every rank (SPMD): `mpiexec -n 4 isoviz run FILE`.

Rank 0 reads the file and plans, and all ranks carry out its plan. All of them end in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import InternalError, TransferError
from isoviz.machines import Machine, Memory, MemoryKind
from isoviz.measure.run_file import plan_transfer_file, target_of
from isoviz.planner import TransferFile, load_transfer

if TYPE_CHECKING:
    from isoviz.backends.disk.disk_memory import FileTarget
    from isoviz.backends.mpi.world import World
    from isoviz.planner import Plan
    from isoviz.runtime import CancelToken, Report


# Transfer files on ranks: the machine that they mean there, and their run on ranks that a client has.

_OF_RANKS = ("ranks", "hosts", "gpus", "gpu_memory", "directory", "measure")


def plan_on_ranks(
    path: str | Path | TransferFile, hosts: Sequence[str], planner: str | None = None
) -> tuple[Plan, Machine, TransferFile]:
    """The plan of a transfer file for ranks, the machine, and the file. `hosts` names the host of every rank.

    A file that names this computer as its machine (`preset = "local"`, or nothing) means the ranks (`preset = "ranks"`). With
    that preset, the number of ranks and their hosts are the given ones unless the file has its own.

    Raises:
        InputError: the file, the machine or the data are wrong.
        TransferError: the machine has more nodes than there are ranks.
    """
    file = path if isinstance(path, TransferFile) else load_transfer(path)
    file.check_source()
    options = dict(file.machine_options)
    if options.get("preset") in ("local", "ranks"):
        kept = {name: value for name, value in options.items() if name in _OF_RANKS and value != "fresh"}
        if "ranks" not in kept:
            kept |= {"ranks": len(hosts), "hosts": kept.get("hosts", list(hosts))}
        file = replace(file, machine_options={"preset": "ranks", **kept})
    machine = file.machine()
    nodes = max(memory.node for memory in machine.memories) + 1
    if nodes > len(hosts):
        raise TransferError(
            f"the machine {machine.name!r} of the transfer file has {nodes} nodes, and there are {len(hosts)} ranks; expected"
            f" {nodes} ranks, one for each node"
        )
    return plan_transfer_file(file, machine, planner), machine, file


class Shared(NamedTuple):
    """What all ranks have in the end: the report, the machine of the plan, the transfer file, and the number of this rank."""

    report: Report
    machine: Machine
    file: TransferFile
    rank: int


class _Agreed(NamedTuple):
    """What rank 0 has decided for all ranks."""

    plan: Plan
    machine: Machine
    file: TransferFile
    verify: bool
    target: FileTarget | None


def run_together(
    path: str | Path,
    *,
    planner: str | None = None,
    reuse: int | None = None,
    verify: bool = True,
    overwrite: bool = False,
    cancel: CancelToken | None = None,
    check: Callable[[], None] = lambda: None,
) -> Shared:
    """Run a transfer file together with all ranks of the job that this process belongs to. Every rank calls it.

    The file and the options of rank 0 count; for `overwrite` see `isoviz.measure.run_file.run_file`. `check` is called there
    before anything moves; its error ends the run on all ranks.

    Raises:
        InputError, RunError: the error of rank 0 or of the rank that failed, on all ranks.
    """
    from isoviz.backends.mpi.world import World
    from isoviz.runtime.ranks.rank_engine import RankEngine

    def decide() -> _Agreed:
        check()
        plan, machine, file = plan_on_ranks(load_transfer(path).for_runs(reuse), world.hosts, planner)
        return _Agreed(plan, machine, file, verify, target_of(file, machine, overwrite))

    shared: Shared | None = None
    failed: Exception | None = None
    # An error that all ranks know of is raised after they have left together. Any other makes them count this rank as lost.
    with World() as world:
        try:
            plan, machine, file, verify, target = _agreed(world, decide)
        except Exception as error:  # noqa: BLE001  # raised below
            failed = error
        else:
            engine = RankEngine(machine, world.devices, world.transport)
            with engine:
                try:
                    shared = Shared(engine.run(plan, None, target, verify=verify, cancel=cancel), machine, file, world.rank)
                except Exception as error:  # noqa: BLE001  # raised below
                    failed = error
    if failed is not None:
        raise failed
    if shared is None:
        raise InternalError("a run on ranks ended with neither a report nor an error")
    return shared


def _agreed(world: World, decide: Callable[[], _Agreed]) -> _Agreed:
    """What rank 0 decides, on all ranks."""
    from isoviz.runtime.ranks.rank_engine import RankEngine

    # An engine without channels: it carries what the ranks tell each other, which no plan is needed for.
    nothing = Machine("ranks", tuple(Memory(f"node{rank}.sys", MemoryKind.SYS, rank) for rank in range(world.size)), ())
    engine = RankEngine(nothing, world.devices, world.transport)
    with engine:
        return engine.agreed(decide)
