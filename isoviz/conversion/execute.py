"""Execution of a conversion: one transfer from file to file, or two transfers through an unnamed temporary file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk import aio
from isoviz.backends.disk.disk_memory import FileSource, FileStore, FileTarget, LentFile, Scratch
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.disk.file_system import free_bytes
from isoviz.backends.host.host_memory import Memcpy
from isoviz.backends.pages import BOUNCE
from isoviz.backends.verify import verify
from isoviz.conversion.passes import Passes, passes
from isoviz.errors import Cancelled, FileError
from isoviz.machines import ChannelKind
from isoviz.measure.local_engine import Engine
from isoviz.planner import Options
from isoviz.runtime.engine.progress import Progress
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.planner import Transfer
    from isoviz.runtime import CancelToken, Report
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.protocols import Bound, RealChannel

_DISK = (ChannelKind.DISK_READ, ChannelKind.DISK_WRITE)
IN_FLIGHT = 8
"""Default number of requests in flight per disk channel. A machine may set more; the memory limit may allow fewer."""
TOGETHER = 4
"""Default number of requests in flight per disk channel with asynchronous I/O, where a request is a batch of short ones."""
WORTH_KERNELS = 1 << 30
"""Size in bytes from which a conversion without a memory limit loads compiled kernels."""
_THREAD = 128 << 10
"""Bytes that a thread touches: mainly its stack."""
_SHARED = 64
"""Divisor of the memory limit: limit / _SHARED bytes may hold incomplete pages of the new file. Tiles have no such pages."""
_PLANNING = 6 << 20
"""Bytes that stay in the planner's caches after the comparison of one pass with two."""


def in_flight(limit: int) -> int:
    """Requests in flight per direction under a memory limit. Their bounce buffers take at most a quarter of the limit."""
    return min(TOGETHER if aio.is_available() else IN_FLIGHT, _fitting(limit))


def _fitting(limit: int) -> int:
    """The number of requests per direction that fit the memory limit."""
    return max(1, limit // (8 * (BOUNCE + _THREAD)))


def _to_compare(limit: int) -> int:
    """The part of a memory limit for the comparison of both files. A third is safe: what the copy keeps depends on the plan."""
    return limit // 3


def buffer_limit(limit: int, machine: Machine) -> int:
    """The part of a memory limit that the buffers of a plan may use: the limit less threads and planning, but at least half."""
    threads = sum(channel.max_in_flight for channel in machine.channels if channel.kind in _DISK) * (BOUNCE + _THREAD)
    return max(limit - threads - min(_PLANNING, limit // 8), limit // 2)


def disk_machine(directory: Path, limit: int) -> Machine:
    """This computer as probed or measured earlier, else with assumed figures. A conversion never starts a measurement.

    The number of requests in flight comes from the probe, or from `in_flight` without one. The memory limit bounds both.

    Raises:
        FileError: the directory does not exist.
    """
    from isoviz.measure import local_machine
    from isoviz.measure.assumed_host import described
    from isoviz.measure.gpus.gpu_parts import without_gpus

    if not directory.is_dir():
        raise FileError(f"{directory}: no such directory")
    kept = local_machine.kept_machine(local_machine.checked_directory(directory), outdated=True)
    machine = described(directory) if kept is None else without_gpus(kept)
    least = 1 if kept is not None else in_flight(limit)
    channels = tuple(
        replace(channel, max_in_flight=min(max(channel.max_in_flight, least), _fitting(limit)))
        if channel.kind in _DISK
        else channel
        for channel in machine.channels
    )
    # No capacity: the source may be on another file system, and opening the destination checks its free space.
    memories = (replace(memory, capacity=None) if memory.is_file_system else memory for memory in machine.memories)
    return replace(machine, memories=tuple(memories), channels=channels)


def folder_of(path: Path) -> Path:
    """The directory of a file after symbolic links are resolved. The file need not exist; an invalid path stays unresolved."""
    try:
        return Path(os.path.realpath(path)).parent
    except (OSError, ValueError):
        return path.parent


def decided(transfer: Transfer, machine: Machine, limit: int, number: int | None, directory: Path) -> tuple[Passes, list[str]]:
    """The passes to run, and notes for the user. Two passes are rejected if the disk has no room for the temporary file."""
    room = buffer_limit(limit, machine)
    # Only the memory limit bounds a slot: slots larger than a cache make the runs on the disk longer.
    options = Options(memory_limit=room, slot_limit=room)
    found = passes(transfer, machine, options, number)
    need, free = transfer.destination.linearization.nbytes + found.temporary_bytes, free_bytes(directory)
    if found.through is None or number == 2 or need <= free:
        return found, []
    once = passes(transfer, machine, options, 1)
    note = (
        f"one pass, although two would be faster: with a temporary file {format_bytes(need)} are needed in {directory},"
        f" {format_bytes(free)} are free"
    )
    return once, [note]


class _WithoutCompiledKernels(Memcpy):
    """Copies in host memory without compiled kernels.

    Loading the compiler takes a second and 100 MiB, and most disks are slower than NumPy.
    """

    def prepare(self, nbytes: int) -> None:
        """Do nothing: there are no kernels to load."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Empty: the missing kernels are intended."""
        return ()


class _Frugal(ThisComputer):
    """Devices that copy without compiled kernels: for memory limits set by the user, and for small conversions."""

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        found = super().channel(channel, source, destination)
        return _WithoutCompiledKernels() if isinstance(found, Memcpy) else found


class Conversions:
    """Runs the passes of a decision.

    `limit` bounds the memory. With `strict` the bound includes the memory of loaded code. With `checking` both files are
    compared before the destination gets its name.
    """

    def __init__(
        self,
        decision: Passes,
        machine: Machine,
        limit: int,
        strict: bool,
        checking: bool,
        progress: ProgressCallback | None,
        cancel: CancelToken | None,
    ) -> None:
        self.decision, self.machine, self.limit, self.checking = decision, machine, limit, checking
        frugal = strict or decision.plans[0].bytes < WORTH_KERNELS
        self._devices = _Frugal if frugal else ThisComputer
        self._tell, self._cancel = progress, cancel

    def run(self, source: FileSource, target: FileTarget, transfer: Transfer) -> tuple[Report, ...]:
        """Run all passes and return their reports.

        Raises:
            RunError: reading or writing failed, the source changed during the run, or the disk has no room for both files.
            Cancelled: the cancel token was set.
            VerificationError: the files differ.
        """
        more = len(self.decision.plans) > 1

        def accept(written: FileStore) -> None:
            if more and self.checking:
                self._compare(transfer, source, written)
            source.file.check_unchanged()

        target = replace(target, accept=accept)
        if not more:
            return (self._pass(0, source, target, verify=self.checking),)
        directory = folder_of(target.path)
        room = self.decision.temporary_bytes
        with_both = room + transfer.destination.linearization.nbytes
        if free_bytes(directory) < with_both:
            raise _too_full(target.path, with_both, free_bytes(directory))
        scratch = Scratch(NewFile(None, room, directory, shared=self.limit // _SHARED))
        try:
            return (
                self._pass(0, source, scratch, verify=False),
                self._pass(1, scratch, target, verify=False),
            )
        finally:
            scratch.file.close()

    def _pass(self, number: int, source: FileSource | Scratch, target: FileTarget | Scratch, verify: bool) -> Report:
        plan = self.decision.plans[number]
        devices = self._devices(verify_budget=_to_compare(self.limit), shared_pages=self.limit // _SHARED)
        # A new engine per pass: a shared one would keep the buffers of the previous pass.
        with Engine(self.machine, devices) as engine:
            report = engine.run(
                plan, source, target, verify=verify, progress=self._progress(number) if self._tell else None, cancel=self._cancel
            )
        return replace(report, trace=None)

    def _progress(self, number: int) -> ProgressCallback:
        """A callback that reports progress over all passes, in bytes of the array: half after the first of two passes."""
        tell, count = self._tell, len(self.decision.plans)
        assert tell is not None

        def told(now: Progress) -> None:
            done = (now.bytes * number + now.bytes_done) // count
            chunks = sum(plan.chunk_count for plan in self.decision.plans)
            before = sum(plan.chunk_count for plan in self.decision.plans[:number])
            tell(Progress(now.stage, before + now.chunks_done, chunks, done, now.bytes))

        return told

    def _compare(self, transfer: Transfer, source: FileSource, written: FileStore) -> None:
        """Compare source and destination of two passes. Neither pass can: each has the temporary file at one end."""
        if self._tell is not None:
            chunks = sum(plan.chunk_count for plan in self.decision.plans)
            self._tell(Progress("verify", chunks, chunks, transfer.nbytes, transfer.nbytes))
        here = LentFile(source.file, source.data_offset, transfer.source.linearization.nbytes)
        verify(transfer, here, written, _to_compare(self.limit), self._check)

    def _check(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled("cancelled; no destination file was left")


def _too_full(path: Path, need: int, free: int) -> Exception:
    from isoviz.errors import RunError

    return RunError(f"{path}: needs {format_bytes(need)} with its temporary file, the disk has {format_bytes(free)} free")
