"""Runs of plans for one transfer, its data made once and its destination's room held ready."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill, fill_file
from isoviz.backends.host.host_memory import HostMemory
from isoviz.backends.pages import page_aligned, touch
from isoviz.errors import Cancelled
from isoviz.measure.trials.trial import try_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from isoviz.measure.trials.trial import Trial
    from isoviz.planner import Instance, Plan, Transfer
    from isoviz.runtime import BaseEngine, Devices, Progress, Report
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry


class Deadline:
    """A cancel token that is set once a run has taken too long. Verification is not counted, unless all of it takes longer than
    `most` seconds."""

    def __init__(self, seconds: float, most: float = math.inf) -> None:
        self._end = time.monotonic() + min(seconds, most)
        self._last = time.monotonic() + most

    def is_set(self) -> bool:
        return time.monotonic() > self._end

    def told(self, progress: Progress) -> None:
        """Nothing moves any more."""
        if progress.stage == "verify":
            self._end = self._last


class TimedRuns:
    """Runs of one transfer: `with TimedRuns(engine, devices, transfer, folder) as runs: runs.seconds(plan)`.

    The source is generated once, in an array or in a file in `folder`, which is nobody else's; the destination is an array whose
    pages are there, or a new nameless file every time. Leaving it takes everything away.
    """

    def __init__(self, engine: BaseEngine, devices: Devices, transfer: Transfer, folder: str | Path) -> None:
        self._engine = engine
        self._devices = devices
        self._transfer = transfer
        self._folder = Path(folder)
        self._file: Path | None = None
        self._source: Any = None
        self._destination: Any = None

    def __enter__(self) -> TimedRuns:
        try:
            self._source, self._destination = self._made(self._transfer.source), self._room(self._transfer.destination)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file and let go of the arrays."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._source = self._destination = None

    def _made(self, instance: Instance) -> Any:
        """Source data; None where these devices have to make them."""
        memory, nbytes = self._memory(instance), instance.linearization.nbytes
        if isinstance(memory, HostMemory):
            array = page_aligned(nbytes)
            fill(array, 0)
            return array
        if not isinstance(memory, DiskMemory):
            return None
        self._file = self._folder / "source.raw"
        new = NewFile(self._file, nbytes)
        try:
            fill_file(new, 0, nbytes)
            new.flush()
            new.publish()
        finally:
            new.close()
        return self._file

    def _room(self, instance: Instance) -> Any:
        if not isinstance(self._memory(instance), HostMemory):
            return None
        array = page_aligned(instance.linearization.nbytes)
        touch(array)
        return array

    def _memory(self, instance: Instance) -> object:
        return self._devices.memory(self._engine.machine.memory(instance.memory))

    def run(self, plan: Plan, limit: float, *, verify: bool = False, most: float = math.inf) -> Report | None:
        """One run; None where it was given up after `limit` seconds, or after `most` with its verification.

        Raises:
            VerificationError: the bytes are not right. RunError: it failed.
        """
        if self._file is not None:
            _forget_pages(self._file)
        deadline = Deadline(limit, most)
        told = deadline.told if verify else None
        try:
            return self._engine.run(plan, self._source, self._destination, verify=verify, progress=told, cancel=deadline)
        except Cancelled:
            return None

    def tried(self, plan: Plan, entries: Sequence[LedgerEntry] = (), of: int = 1) -> Trial | None:
        """The trial of a plan, or of the quickest `of` its alternatives; `entries` are earlier runs.

        None where nothing can be tried, or these devices are not this computer's.
        """
        if type(self._devices) is not ThisComputer:
            return None
        if self._file is not None:
            _forget_pages(self._file)
        ends = {"room": self._destination, "devices": self._devices}
        return try_out(plan, self._engine.machine, self._source, of=of, entries=entries, **ends)

    def seconds(self, plan: Plan, limit: float) -> float | None:
        """Seconds of one run that nobody verifies; None where it was given up."""
        report = self.run(plan, limit)
        return None if report is None else report.seconds


def _forget_pages(path: Path) -> None:
    """Have a file read from the disk again, where it was read through the page cache."""
    if not hasattr(os, "posix_fadvise"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
