"""This computer as a machine: its host memory and one file system."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.machine import Machine
from isoviz.measure import kept_measurements as measurements
from isoviz.measure.assumed_host import described
from isoviz.measure.gpus.gpu_parts import with_gpus_of
from isoviz.measure.kept_measurements import DISK

if TYPE_CHECKING:
    from collections.abc import Callable

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
