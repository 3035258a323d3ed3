"""Running a transfer file: its plan for the real files, the run, and the report."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import FileTarget
from isoviz.backends.formats.npy import read_header
from isoviz.backends.formats.stored import holds_npy_at, stored_array
from isoviz.errors import InputError
from isoviz.measure.local_engine import Engine
from isoviz.measure.trial import Trial
from isoviz.measure.trial import trial as measured_trial
from isoviz.planner import Transfer, TransferFile, load_transfer
from isoviz.planner import plan as make_plan

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Instance, Plan
    from isoviz.runtime import CancelToken, Report
    from isoviz.runtime.engine.progress import ProgressCallback


def run_file(
    path: str | Path | TransferFile,
    *,
    planner: str | None = None,
    verify: bool = True,
    trial: bool = True,
    of: int = 1,
    overwrite: bool = False,
    progress: ProgressCallback | None = None,
    cancel: CancelToken | None = None,
) -> Report:
    """Plan the transfer of a transfer file for its machine, and run it on this computer.

    With `trial` a few MiB are tried just before, and the prediction uses the result. With `of` above 1 the plan and its best
    alternatives are tried, `of` plans in all, and the fastest one runs (`isoviz.trial`).

    Without a source `path` in the file the source is generated. Without a destination `path` the destination is discarded after
    its verification. With `overwrite` an existing destination is replaced once the new file is complete, and the destination may
    lie anywhere; otherwise it is a new file in the folder of the transfer file.

    Raises:
        InputError: the file, the machine or the data are wrong, or `of` is not 1 without a trial.
        RunError: the run failed.
    """
    file = path if isinstance(path, TransferFile) else load_transfer(path)
    file.check_source()
    machine = file.machine()
    target = target_of(file, machine, overwrite)
    plan = plan_transfer_file(file, machine, planner)
    tried: Trial | bool = trial
    if of != 1:
        if not trial:
            raise InputError(f"run: the quickest of {of} plans is found by trials; expected them to be allowed")
        found = measured_trial(plan, machine, of=of, options=file.options, cancel=cancel)
        plan, tried = (plan, False) if found is None else (found.plan, found)
    engine = Engine(machine, ThisComputer())
    return engine.run(plan, None, target, verify=verify, progress=progress, cancel=cancel, trial=tried)


def target_of(file: TransferFile, machine: Machine, overwrite: bool) -> FileTarget | None:
    """The file that the transfer writes; None if it writes none.

    Raises:
        FileError: without `overwrite`, it exists already, or is not in the folder of the transfer file.
    """
    end = file.transfer.destination
    if end.path is None or not machine.memory(end.memory).is_file_system:
        return None
    below = Path(os.path.realpath(file.folder))  # a link may take its name later
    target = FileTarget(Path(end.path), replace=overwrite, below=below)
    target.check()
    return target


def plan_transfer_file(file: TransferFile, machine: Machine, planner: str | None = None) -> Plan:
    """The plan of a transfer file, for its data as they are stored on the disk."""
    options = file.options if planner is None else replace(file.options, planner=planner)
    return make_plan(as_stored(file.transfer), machine, options.planner, options)


def as_stored(transfer: Transfer) -> Transfer:
    """The transfer with its `.npy` ends as they are stored on the disk: structs may have gaps, or their fields in another order.

    Raises:
        FileError: a file differs from the transfer.
    """
    destination = _as_stored(transfer.destination) if transfer.is_partial else transfer.destination  # else a new file
    return replace(transfer, source=_as_stored(transfer.source), destination=destination)


def _as_stored(instance: Instance) -> Instance:
    path = instance.path
    if path is None or not Path(path).exists() or not holds_npy_at(path, instance.offset):
        return instance
    if read_header(path).dtype.names is None:
        return instance
    stored = stored_array(path, instance.layout, instance.space, instance.fields)
    return instance.lying_as(stored.record.stored, stored.layout)
