"""This computer as a machine: its host memory and one file system."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import Cancelled, IsovizError, MachineError
from isoviz.forks import Lock, in_child
from isoviz.machines.machine import Machine
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import local_machine
from isoviz.measure.assumed_host import described
from isoviz.measure.gpus.gpu_parts import with_gpus_of
from isoviz.measure.kept_measurements import DISK

if TYPE_CHECKING:
    from collections.abc import Callable


# The brief probe of this computer in the background: once at a time for a directory, with progress, and cancellable.

_LOG = logging.getLogger("isoviz")

_under_way: dict[Path, Measuring] = {}
_lock = Lock()
in_child(_under_way.clear)  # the threads stayed in the parent


class Measuring:
    """A measurement in a separate thread, and its result: the machine `found`, or `error`, which says why there is none.

    What was found is kept for later (`isoviz.measure.kept_measurements`).
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.found: Machine | None = None
        self.error = ""
        self._step = "memory, 0 %"
        self.is_cancelled = False
        self._over = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="isoviz-measuring", daemon=True)
        self._thread.start()

    def steps(self) -> Iterator[str]:
        """What is being measured, with the share that is done, as often as it changes; ends with the measurement.

        Any number of threads may follow a measurement.
        """
        told = None
        while True:
            with self._change:
                while not self._over and told == self._step:
                    self._change.wait()
                if self._over:
                    return
                told = self._step
            yield told

    def cancel(self) -> None:
        """End it after the sample in hand."""
        self.is_cancelled = True

    def _tell(self, what: str, share: float) -> None:
        if self.is_cancelled:
            raise Cancelled("measuring was cancelled")
        step = f"{what}, {share:.0%}".replace("%", " %")
        if step != self._step:
            with self._change:
                self._step = step
                self._change.notify_all()

    def _work(self) -> None:
        try:
            self.found = local_machine.measured_machine(self.directory, self._tell)
        except IsovizError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - those who wait have to hear of it
            _LOG.exception("measuring %s failed", self.directory)
            self.error = f"{type(error).__name__}: {error}"
        with _lock:
            if _under_way.get(self.directory) is self:
                del _under_way[self.directory]
        with self._change:
            self._over = True
            self._change.notify_all()


def measuring(directory: Path) -> Measuring:
    """The measurement of a directory and of the memory that is under way, or a new one."""
    with _lock:
        found = _under_way.get(directory)
        if found is None or found.is_cancelled:
            found = _under_way[directory] = Measuring(directory)
        return found


def cancel_all() -> bool:
    """Cancel every measurement under way; whether there was one."""
    with _lock:
        found = list(_under_way.values())
    for each in found:
        each.cancel()
    return bool(found)


MEASURE = ("cached", "fresh", "assumed")

BY_NUMPY = "NumPy"
"""How `isoviz.backends.host.kernels.state` begins where there are no compiled kernels."""


def local(directory: str | Path | None = None, measure: str = "cached") -> Machine:
    """This computer: `node0.sys`, `node0.dsk` (the file system of `directory`), and the channels Memcpy, DiskRead and DiskWrite.

    `measure` selects the source of the rates:

    - `"cached"`: the latest results of `isoviz.probe` for this file system, from the user's cache directory. Without them, or
      where copies have become faster since because their kernels have been compiled, a brief probe, which is kept.
    - `"fresh"`: a new brief probe, which takes one or two seconds and is kept.
    - `"assumed"`: round figures, without a measurement.

    The disk is bound to `directory` (None: the working directory). If it is not writable, its disk has assumed rates and a label
    that says so. The provenance names the source of the rates.

    Raises:
        MachineError: there is no such directory, or `measure` has another value.
    """
    chosen: object = measure
    if not isinstance(chosen, str) or chosen not in MEASURE:
        raise MachineError(f"preset 'local', measure: expected one of {', '.join(MEASURE)}, got {checks.show(measure)}")
    place = checked_directory(directory)
    if measure == "assumed":
        return described(place)
    kept = kept_machine(place) if measure == "cached" else None
    return measured_machine(place) if kept is None else kept


def kept_machine(place: Path, *, outdated: bool = False) -> Machine | None:
    """This computer with the figures that are kept of it; None where it has yet to be measured.

    Figures of copies by NumPy are outdated once their kernels have been compiled.
    """
    probed = measurements.kept_probe(place)
    return None if probed is None or (not outdated and _is_outdated(probed)) else _here(probed, place)


def measured_machine(place: Path, tell: Callable[[str, float], None] | None = None) -> Machine:
    """This computer, measured by `isoviz.measure.computer_probe.probe_briefly`, with the GPUs of an earlier probe. It is kept.

    `tell` is called often with what is being measured ("memory", "disk") and the share of the whole that is done. It may raise to
    stop.
    """
    from isoviz.measure.computer_probe import probe_briefly

    found, earlier = probe_briefly(place, tell), measurements.kept_probe(place)
    if earlier is not None:
        found = with_gpus_of(found, earlier)
    measurements.keep_probe(found, DISK, place)
    return _here(found, place)


def _here(probed: Machine, place: Path) -> Machine:
    """The results of a probe as the preset `local`, its disk bound to a directory."""
    memories = tuple(replace(each, device=str(place)) if each.name == DISK else each for each in probed.memories)
    return replace(probed, name="local", memories=memories, provenance=f"{probed.provenance}, by a probe")


def _is_outdated(probed: Machine) -> bool:
    """Whether copies were made by NumPy, and kernels would make them now."""
    made = dict(probed.measurement.versions).get("copies", "") if probed.measurement is not None else ""
    if not made.startswith(BY_NUMPY):
        return False
    from isoviz.backends.host import kernels

    return kernels.is_compiled()


def checked_directory(directory: object, name: str = "local") -> Path:
    """The directory that the disk is bound to (None: the working directory). `name` is the preset that asks.

    Raises:
        MachineError: there is no such directory.
    """
    if directory is not None and not isinstance(directory, str | os.PathLike):
        raise MachineError(f"preset {name!r}, directory: expected a path, got {checks.show(directory)}")
    try:
        place = Path.cwd() if directory is None else Path.cwd() / directory
        found = place.is_dir()
    except (OSError, ValueError) as error:
        raise MachineError(f"preset {name!r}, directory: {error}") from None
    if not found:
        raise MachineError(f"preset {name!r}, directory: {checks.show(str(place))} is no directory")
    return place
