"""The probe: it measures this computer, or MPI ranks, and returns a machine to plan with (DESIGN, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.host import kernels
from isoviz.errors import FileError, InputError, show
from isoviz.machines import Machine
from isoviz.measure import kept_measurements as measurements
from isoviz.measure.channel_steps import Effort
from isoviz.measure.gpus.gpus_here import gpus_here
from isoviz.measure.host_probe import ProbeOrder, Tell, measured
from isoviz.measure.ranks.rank_probe import RunningRanks, probe_ranks

__all__ = ["ProbeProgress", "probe"]

QUICK = Effort(repeats=7, samples=11, seconds=0.02, limit=45.0)
THOROUGH = Effort(repeats=11, samples=19, seconds=0.06, limit=300.0)


@dataclass(frozen=True)
class ProbeProgress:
    """The progress of a probe: `done` of `steps` steps, and a text about the current measurement."""

    done: int
    steps: int
    what: str


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

    With `ranks` it measures MPI ranks instead: a number of ranks that it starts, or what `isoviz.ranks` has returned. The result
    is a machine as the preset `ranks` describes it, and that preset uses it for as many ranks on such hosts. The channels between
    ranks are measured once for all pairs that are alike: on one host, and on two. `disks` is then one directory at most, and
    `progress` is called in a thread.

    `disks` are directories, one per file system (None: the working directory). They become `node0.dsk`, `node0.dsk1` and so on. A
    nameless file of at least 128 MiB is written to each, so that no file is left behind in any case. A probe takes less than a
    minute, and about another one with GPUs. `thorough` takes several minutes, with more repetitions and samples. `progress` is
    called at every step. With `keep` the preset `local` uses the result for directories on these file systems.

    `gpus` selects NVIDIA GPUs: None those that CuPy finds, False none, True all (an error if there is none), or numbers. They
    become `node0.fbm0`, `node0.fbm1` and so on, with pinned memory `node0.zcm`. Where kvikio finds GPUDirect Storage, channels
    straight between files and GPUs are measured as well.

    The rates of the machine's channels are those that the engine reaches, with their spread. Its `measurement` has computer,
    GPUs, date and versions. An interrupted probe keeps nothing.

    If repeated measurements differ much (`measurement.checks` far from 1, wide ranges), the computer was busy: measure again.

    Raises:
        FileError: a directory is missing, not writable or has too little space.
        RunError: a disk failed, or there is not enough memory.
        InputError: `disks` is neither a directory nor a collection of directories, or `ranks` is neither a number nor ranks, or
            `gpus` selects nothing that can be, or goes with `ranks`.
        DeviceError: a GPU that `gpus` names is absent, or a GPU failed.
        MissingPartError, LaunchError, RankError: the ranks could not be started, or failed.
    """
    if ranks is not None:
        if gpus is not None and gpus is not False:
            raise InputError("probe, gpus: ranks are measured without GPUs")
        (place,) = _places(disks, 1)
        return probe_ranks(ranks, place, thorough=thorough, tell=_teller(progress), keep=keep)
    directories = {f"node0.dsk{k or ''}": place for k, place in enumerate(_places(disks))}
    tell = _teller(progress)
    tell(0, 1, "looking for GPUs")
    devices = Gpus()
    found = gpus_here(gpus, devices)
    tell(0, 1, "making the copy kernels ready")
    kernels.prepare(wait=True)  # Otherwise only the later copies would use them.
    order = ProbeOrder(directories, found, THOROUGH if thorough else QUICK, datetime.now(UTC).isoformat(timespec="seconds"))
    machine = measured(order, devices, tell)
    if keep:
        for memory, place in directories.items():
            measurements.keep_probe(machine, memory, place)
    return machine


def _places(disks: object, most: int | None = None) -> Sequence[Path]:
    if disks is None:
        return [Path.cwd()]
    given = [disks] if isinstance(disks, str | Path) else disks
    if not isinstance(given, Iterable):
        raise InputError(f"probe, disks: expected directories, got {show(disks)}")
    found: list[Path] = []
    for each in given:
        if not isinstance(each, str | Path):
            raise InputError(f"probe, disks: expected a directory, got {show(each)}")
        try:
            place = Path(each).resolve()
            if not place.is_dir():
                raise FileError(f"{each}: {'is no directory' if place.exists() else 'no such directory'}")
            if any(place.stat().st_dev == other.stat().st_dev for other in found):
                raise InputError(f"probe, disks: {each} is on the same file system as one before; name each once")
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise FileError(f"{str(each)!r}: {error}") from None
        found.append(place)
    if most is not None and len(found) != most:
        raise InputError(f"probe, disks: expected {most} directory for the files of all ranks, got {len(found)}")
    return found


def _teller(progress: Callable[[ProbeProgress], None] | None) -> Tell:
    def tell(done: int, steps: int, what: str) -> None:
        if progress is not None:
            progress(ProbeProgress(done, steps, what))

    return tell
