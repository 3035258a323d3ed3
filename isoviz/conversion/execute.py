"""Carrying a conversion out: one transfer from file to file, or two by way of a temporary file without a name."""

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
from isoviz.backends.host.bounce import BOUNCE
from isoviz.backends.host.host_memory import Memcpy
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
"""Requests that each of the disk's channels works on at a time, where the machine does not say more and memory allows."""
TOGETHER = 4
"""The same where each of them stands for many short ones that are handed to the system together."""
WORTH_KERNELS = 1 << 30
"""Bytes from which a conversion without a memory limit loads compiled kernels."""
_THREAD = 128 << 10
"""Bytes of stack and the like that a thread touches."""
_SHARED = 64
"""The share of a memory limit, 1 in so many, that pages of the new file may take that wait to be whole; tiles have none."""
_PLANNING = 6 << 20
"""Bytes that comparing one pass with two leaves behind in the planner's caches."""


def in_flight(limit: int) -> int:
    """How many requests each way go well with a memory limit: their buffers for what lies across pages are at most a quarter."""
    return min(TOGETHER if aio.is_available() else IN_FLIGHT, _fitting(limit))


def _fitting(limit: int) -> int:
    """How many a memory limit has room for."""
    return max(1, limit // (8 * (BOUNCE + _THREAD)))


def _to_compare(limit: int) -> int:
    """What of a memory limit is left for comparing both ends, whatever copying leaves behind: that depends on the plan."""
    return limit // 2


def buffer_limit(limit: int, machine: Machine) -> int:
    """What of a memory limit is left for the buffers of a plan: at least half, whatever threads and planning need."""
    threads = sum(channel.max_in_flight for channel in machine.channels if channel.kind in _DISK) * (BOUNCE + _THREAD)
    return max(limit - threads - min(_PLANNING, limit // 8), limit // 2)


def disk_machine(directory: Path, limit: int) -> Machine:
    """This computer, as probed or measured earlier, else with assumed figures: a conversion does not wait for a measurement.

    A probe knows how many requests in flight pay; without one there are `in_flight`. The memory limit bounds both.

    Raises:
        FileError: no such directory.
    """
    from isoviz.machines import preset
    from isoviz.measure.kept_measurements import cached, kept_probe

    if not directory.is_dir():
        raise FileError(f"{directory}: no such directory")
    least = 1
    if kept_probe(directory) is not None:
        machine = preset("local", directory=directory)
    else:
        machine = preset("local", directory=directory, measure="assumed" if cached(directory) is None else "cached")
        least = in_flight(limit)
    channels = tuple(
        replace(channel, max_in_flight=min(max(channel.max_in_flight, least), _fitting(limit)))
        if channel.kind in _DISK
        else channel
        for channel in machine.channels
    )
    # The source may be on another file system than the result, and who opens the result sees whether there is room.
    memories = (replace(memory, capacity=None) if memory.is_file_system else memory for memory in machine.memories)
    return replace(machine, memories=tuple(memories), channels=channels)


def folder_of(path: Path) -> Path:
    """Where a file of this name really is or will be: beyond symbolic links. A name that can be none stays as it is."""
    try:
        return Path(os.path.realpath(path)).parent
    except (OSError, ValueError):
        return path.parent


def decided(transfer: Transfer, machine: Machine, limit: int, number: int | None, directory: Path) -> tuple[Passes, list[str]]:
    """One pass or two, and what to say of it: two need room for a temporary file as well."""
    room = buffer_limit(limit, machine)
    # Nothing but the memory limit bounds a slot: what is larger than a cache makes runs on the disk longer.
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
    """Copies in host memory that load no compiler. Loading one takes a second and a hundred mebibytes, and most disks are slower
    than NumPy."""

    def prepare(self, nbytes: int) -> None:
        """Nothing is loaded."""

    @property
    def notes(self) -> tuple[str, ...]:
        """None: kernels were not wanted."""
        return ()


class _Frugal(ThisComputer):
    """The devices of a conversion whose memory was limited by the user."""

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        found = super().channel(channel, source, destination)
        return _WithoutCompiledKernels() if isinstance(found, Memcpy) else found


class Conversions:
    """Carries out what was decided. `limit` bounds the memory, where `strict` together with all code that it takes; `checking`
    asks for a comparison before the file gets its name."""

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
        """Move everything; the reports of the passes.

        Raises:
            RunError: reading or writing failed, or the source was changed meanwhile. Cancelled. VerificationError.
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
        # An engine of its own: one that stays would keep the buffers of the pass before.
        with Engine(self.machine, devices) as engine:
            report = engine.run(
                plan, source, target, verify=verify, progress=self._progress(number) if self._tell else None, cancel=self._cancel
            )
        return replace(report, trace=None)

    def _progress(self, number: int) -> ProgressCallback:
        """How far all passes are, in bytes of the array: half of it after the first of two."""
        tell, count = self._tell, len(self.decision.plans)
        assert tell is not None

        def told(now: Progress) -> None:
            done = (now.bytes * number + now.bytes_done) // count
            chunks = sum(plan.chunk_count for plan in self.decision.plans)
            before = sum(plan.chunk_count for plan in self.decision.plans[:number])
            tell(Progress(now.stage, before + now.chunks_done, chunks, done, now.bytes))

        return told

    def _compare(self, transfer: Transfer, source: FileSource, written: FileStore) -> None:
        """The two ends of two passes: neither of them knows both."""
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
