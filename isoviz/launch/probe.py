"""The probe: it measures this computer, or MPI ranks, and returns a machine to plan with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from isoviz import checks
from isoviz.errors import InputError, IsovizError, show
from isoviz.launch import ranks as launcher
from isoviz.launch.this_rank import this_rank
from isoviz.machines import Machine
from isoviz.measure.computer_probe import places_of, probe_computer
from isoviz.measure.ranks.rank_probe import RankOrder, probe_in_rank, probe_ranks

__all__ = ["ProbeProgress", "probe"]


@dataclass(frozen=True)
class ProbeProgress:
    """The progress of a probe: `done` of `steps` steps, and a text about the current measurement."""

    done: int
    steps: int
    what: str


class RunningRanks(Protocol):
    """What a probe asks of ranks that run already: `isoviz.ranks` makes them."""

    def __len__(self) -> int: ...

    def call(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> list[Any]:
        """Call a function on all ranks; see `isoviz.launch.ranks.Ranks.call`."""


def probe(
    disks: str | Path | Iterable[str | Path] | None = None,
    *,
    ranks: int | RunningRanks | None = None,
    gpus: bool | Iterable[int] | None = None,
    thorough: bool = False,
    progress: Callable[[ProbeProgress], None] | None = None,
    keep: bool = True,
) -> Machine:
    """Measure this computer: its host memory, its GPUs and the file systems of some directories, as a machine to plan with.

    With `ranks` it measures MPI ranks instead: a number of ranks to start, or the ranks that `isoviz.ranks` has returned. The
    result is a machine like that of the preset `ranks`, and the preset uses it for the same number of ranks on such hosts. The
    channels between ranks are measured for one pair on the same host and for one pair on two hosts; all other pairs take these
    figures. `disks` is then at most one directory, and `progress` is called in a separate thread.

    `disks` are directories, one per file system (None: the working directory). They become `node0.dsk`, `node0.dsk1` and so on. A
    nameless file of at least 128 MiB is written to each, so that no file is ever left behind. A probe takes less than a minute,
    with GPUs about two. `thorough` takes several minutes, with more repetitions and samples. `progress` is called at every step.
    With `keep` the preset `local` uses the result for directories on these file systems.

    `gpus` selects NVIDIA GPUs: None takes those that CuPy finds, False none, True all (an error if there is none), and numbers
    take these GPUs. They become `node0.fbm0`, `node0.fbm1` and so on, with pinned memory `node0.zcm`. If kvikio finds GPUDirect
    Storage, channels directly between files and GPUs are measured as well.

    The channels of the machine have the rates that the engine reaches, with their spread. Its `measurement` has computer, GPUs,
    date and versions. An interrupted probe keeps nothing.

    If repeated measurements differ much (`measurement.checks` far from 1, wide ranges), the computer was busy: measure again.

    Raises:
        FileError: a directory is missing, not writable or has too little space.
        RunError: a disk failed, or there is not enough memory.
        InputError: `disks` is neither a directory nor a collection of directories, or `ranks` is neither a number nor ranks, or
            `gpus` is invalid or is given together with `ranks`.
        DeviceError: a GPU that `gpus` names is absent, or a GPU failed.
        MissingPartError, LaunchError, RankError: the ranks could not be started, or failed.
    """

    def tell(done: int, steps: int, what: str) -> None:
        if progress is not None:
            checks.tell("probe", progress, ProbeProgress(done, steps, what))

    if ranks is None:
        return probe_computer(disks, gpus, thorough=thorough, tell=tell, keep=keep)
    if gpus is not None and gpus is not False:
        raise InputError("probe, gpus: ranks are measured without GPUs")
    if not isinstance(ranks, int) and not callable(getattr(ranks, "call", None)):
        raise InputError(f"probe, ranks: expected a number of ranks or what isoviz.ranks returned, got {show(ranks)}")
    (place,) = places_of(disks, 1)
    return probe_ranks(partial(_measured_by, ranks), place, thorough=thorough, tell=tell, keep=keep)


def _measured_by(
    ranks: int | RunningRanks,
    order: RankOrder,
    tell: Callable[[int, int, str], None],
    cancel: threading.Event,
) -> object:
    """What rank 0 of these ranks, which are started if need be, answers to an order."""
    with ExitStack() as stack:
        if isinstance(ranks, int):
            tell(0, 1, f"starting {ranks} ranks")
            if cancel.is_set():
                return None
            ranks = stack.enter_context(launcher.ranks(ranks))
        return ranks.call(probe_on_rank, order, tell=lambda _, value: tell(*value), cancel=cancel)[0]


def probe_on_rank(order: RankOrder) -> Machine | None:
    """Measure together with all ranks of this job, in a call of what `isoviz.ranks` returned; see `probe_in_rank`."""
    from isoviz.backends.mpi.world import World

    rank = this_rank()
    failed: IsovizError | None = None
    with World() as world:
        try:
            found = probe_in_rank(world, order, rank.tell, rank.cancel)
        except IsovizError as error:  # All ranks have left the measurement, so that they leave the world in order.
            if world.rank:
                raise
            failed, found = error, None
    if failed is not None:
        raise failed
    return found
