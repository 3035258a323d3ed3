"""DSK: instances in files, and the channels between files and host memory."""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.disk import listed_runs as sieve
from isoviz.backends.disk.file_access import NewFile, ReadFile
from isoviz.backends.disk.listed_runs import are_close, lists_apart, read_listed, write_listed
from isoviz.backends.disk.run_requests import read_runs, write_runs
from isoviz.backends.disk.shared_pages import SHARED
from isoviz.backends.formats.records import Record
from isoviz.backends.formats.stored import Stored, file_instance, new_header, stored_as
from isoviz.backends.generate import fill_file
from isoviz.backends.host.copying import copy_strided
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.pages import PAGE, Bytes, bounce
from isoviz.errors import FileError, RunError, TransferError, printable
from isoviz.layouts import StridedCopy
from isoviz.layouts.copies import ListedCopy
from isoviz.regular_files import final_path, reason
from isoviz.runtime.device_bases import BaseChannel, BaseEndpoint, BaseMemory
from isoviz.runtime.protocols import Holds

if TYPE_CHECKING:
    from isoviz.backends.disk.aio import Numbers
    from isoviz.file_rights import Rights
    from isoviz.layouts import Layout
    from isoviz.planner import Instance
    from isoviz.runtime.protocols import Check, Store

_BATCH = 1 << 14  # The number of runs whose offsets are computed together.


@dataclass(frozen=True)
class FileSource:
    """An open file whose instance begins at byte `data_offset`. The caller closes it."""

    file: ReadFile
    data_offset: int


@dataclass(frozen=True)
class FileTarget:
    """A file to write, and the record for its `.npy` header (nested structs and sub-arrays as in the source; None: plain fields).

    Without `replace`, a file that has the name is kept, and the new one has to lie in the folder `below`: a path without links
    (None: anywhere).
    `accept` is called before the file gets its name; it refuses the file by raising.
    """

    path: Path
    record: Record | None = None
    replace: bool = True
    below: Path | None = None
    accept: Callable[[FileStore], None] | None = None

    def check(self) -> None:
        """Check that the file may be written.

        Raises:
            FileError: it exists, or lies in another folder.
        """
        if self.replace:
            return
        self.check_folder(final_path(self.path).parent)
        if os.path.lexists(self.path):
            raise FileError(f"{self.path}: exists already; choose another name, or overwrite it: --overwrite, overwrite=True")

    def check_folder(self, folder: Path) -> None:
        """Check that the file may be written in a folder.

        Raises:
            FileError: it is another one than `below`, and not in it.
        """
        if self.replace or self.below is None:
            return
        if not Path(os.path.realpath(folder)).is_relative_to(self.below):
            raise FileError(
                f"{self.path}: is not in the folder of the transfer file, {self.below}; expected a destination there, or"
                " --overwrite, with which the file may write anywhere"
            )


@dataclass(frozen=True)
class Scratch:
    """A nameless file that one transfer writes and the next one reads. The caller closes it."""

    file: NewFile


class FileStore(BaseEndpoint):
    """An instance in an open file, at one end of a transfer."""

    durable = True

    def __init__(
        self,
        file: ReadFile | NewFile,
        base: int,
        nbytes: int,
        notes: tuple[str, ...] = (),
        identity: object = None,
        accept: Callable[[FileStore], None] | None = None,
        lies: Instance | None = None,
    ) -> None:
        self.file = file
        self.lies = lies
        self._accept = accept
        self.base = base
        self.nbytes = nbytes
        self._notes = notes
        self._identity = file.identity if identity is None else identity

    @property
    def identity(self) -> object:
        """Device and inode of the file, or the identity that was given."""
        return self._identity

    @property
    def alignment(self) -> int:  # type: ignore[override]  # An open file may fall back from direct I/O.
        return PAGE if self.file.is_direct else 1

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # The notes depend on how the transfer went.
        if self.file.is_direct:
            if self.file.cached_bytes * 8 <= self.file.moved_bytes:
                return self._notes
            share = self.file.cached_bytes / self.file.moved_bytes
            return (*self._notes, f"{printable(str(self.file.path))}: {share:.0%} went through the page cache (short runs)")
        return (*self._notes, f"{printable(str(self.file.path))}: buffered (the file system takes no unbuffered access)")

    @property
    def sources(self) -> tuple[Rights, ...]:  # type: ignore[override]  # those of the file
        return self.file.sources

    def comes_from(self, sources: tuple[Rights, ...]) -> None:
        self.file.sources = sources

    def read(self, offset: int, nbytes: int) -> Bytes:
        """Read bytes of the file through the page cache."""
        into = np.empty(nbytes, np.uint8)
        self.read_into(offset, into)
        return into

    def read_into(self, offset: int, into: Bytes) -> None:
        """Fill `into` with the bytes of the file from `offset` on, through the page cache."""
        done = 0
        while done < len(into):
            try:
                got = os.preadv(self.file.descriptor, [into[done:].data], self.base + offset + done)
            except OSError as error:
                raise RunError(f"{self.file.path}: cannot be read back: {reason(error)}") from None
            if got == 0:
                raise RunError(f"{self.file.path}: ends before the instance does")
            done += got

    def flush(self) -> None:
        if isinstance(self.file, NewFile):
            self.file.flush()

    def publish(self) -> None:
        if self._accept is not None:
            self._accept(self)
        if isinstance(self.file, NewFile):
            self.file.publish()

    def close(self) -> None:
        self.file.close()


class LentFile(FileStore):
    """An instance in a file that the caller opened and closes. The file is temporary: it is neither flushed nor named."""

    durable = False

    def flush(self) -> None:
        """Write the partly known pages; the next read uses the same file."""
        if isinstance(self.file, NewFile):
            self.file.write_shared()

    def publish(self) -> None:
        """Do nothing: the file has no name."""

    def close(self) -> None:
        """Do nothing: the caller closes the file."""


class DiskMemory(BaseMemory):
    """DSK: instances in files.

    Data without a path go to a nameless file in `directory` (None: the working directory). If `directory` is not writable, they
    go to the system's temporary directory. `shared` as in `NewFile`.
    """

    takes = "the path of a file"

    def __init__(self, name: str, directory: str | Path | None = None, shared: int = SHARED) -> None:
        super().__init__(name)
        self.shared = shared
        self._asked = Path.cwd() if directory is None else Path(directory)

    @property
    def directory(self) -> Path:
        """The directory of files without a name.

        Raises:
            FileError: this computer has no such directory.
        """
        if not self._asked.is_dir():
            raise FileError(f"{self.name}: is bound to the directory {self._asked}, which is not on this computer")
        return self._asked if self._is_writable else Path(tempfile.gettempdir())

    @property
    def _is_writable(self) -> bool:
        return os.access(self._asked, os.W_OK | os.X_OK)

    def holds(self, given: Any) -> Holds:
        """Whether this memory holds the path: YES on the file system of the directory, else PERHAPS."""
        if not isinstance(given, str | os.PathLike):
            return Holds.NO
        here = _file_system(Path(os.fspath(given)).parent)
        return Holds.YES if here is not None and here == _file_system(self._asked) else Holds.PERHAPS

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        return file_instance(self.name, Path(os.fspath(given)), layout, like)

    @property
    def _of_nameless(self) -> tuple[str, ...]:
        """The notes about a file without a name."""
        if self._is_writable:
            return ()
        return (f"{self.name}: {self._asked} cannot be written to; data without a path were stored in {tempfile.gettempdir()}",)

    def source(self, instance: Instance, given: Any | None) -> FileStore:
        if isinstance(given, FileSource):
            return LentFile(given.file, given.data_offset, instance.linearization.nbytes)
        if isinstance(given, Scratch):
            return LentFile(given.file, 0, instance.linearization.nbytes)
        path = _path(given, instance, "source")
        if path is None:
            return self._generated(instance)
        stored, lies = _stored(path, instance)
        return FileStore(ReadFile(path), stored.data_offset, stored.linearization.nbytes, lies=lies)

    def _generated(self, instance: Instance) -> FileStore:
        nbytes = instance.linearization.nbytes
        file = NewFile(None, nbytes, self.directory)
        try:
            fill_file(file, 0, nbytes)
            file.flush()
            # A measured read must come from the disk: drop these pages from the page cache.
            os.posix_fadvise(file.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except BaseException:
            file.close()
            raise
        return FileStore(file, 0, nbytes, ("the source holds generated data", *self._of_nameless))

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> FileStore:
        lin = instance.linearization
        if isinstance(given, Scratch):
            given.file.write_shared()  # An earlier transfer that was cancelled may have left partly known pages.
            return LentFile(given.file, 0, lin.nbytes)
        target = given if isinstance(given, FileTarget) else None
        path = target.path if target else _path(given, instance, "destination")
        if path is None:
            return FileStore(NewFile(None, lin.nbytes, self.directory, shared=self.shared), 0, lin.nbytes, self._of_nameless)
        if target is not None:
            target.check()
        record = target.record if target and target.record else Record.of_fields(instance.fields)
        if partial and os.path.lexists(path):
            return self._copied(path, instance)
        if instance.offset is not None:
            raise TransferError(f"destination {path}: is a new file, which has no bytes in front of its data; expected no offset")
        header = new_header(path, lin, record)
        file = NewFile(path, len(header) + lin.nbytes, replace=target is None or target.replace, shared=self.shared)
        try:
            if target is not None:
                target.check_folder(file.place)  # Somebody may have replaced the folder by a link since the check.
            file.write_at(0, np.frombuffer(header, np.uint8))
        except BaseException:
            file.close()
            raise
        return FileStore(file, len(header), lin.nbytes, identity=_identity(path), accept=target.accept if target else None)

    def _copied(self, path: Path, instance: Instance) -> FileStore:
        """Create the new file as a copy of the existing one. The existing file is unchanged until the new one replaces it."""
        stored, lies = _stored(path, instance)
        existing = ReadFile(path)
        try:
            file = NewFile(path, existing.size, shared=self.shared)
            try:
                file.copy_of(existing)
                file.flush()  # Without this flush the measured transfer would wait for the copy.
            except BaseException:
                file.close()
                raise
        finally:
            existing.close()
        note = f"{printable(str(path))}: the rest of it was copied from the file as it was, which is not in the measured time"
        return FileStore(file, stored.data_offset, stored.linearization.nbytes, (note,), _identity(path), lies=lies)


def _stored(path: Path, instance: Instance) -> tuple[Stored, Instance | None]:
    """The instance as it is stored in the file at `path`, and the instance with its fields there, if they lie otherwise."""
    stored = stored_as(path, instance.layout, instance.space, instance.fields, instance.offset)
    lies = instance.lying_as(stored.record.stored, stored.layout)
    return stored, None if lies is instance else lies


def _file_system(directory: Path) -> int | None:
    try:
        return directory.stat().st_dev
    except (OSError, ValueError):
        return None


def _identity(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _path(given: Any | None, instance: Instance, end: str) -> Path | None:
    if given is None:
        given = instance.path
    if given is None:
        return None
    if not isinstance(given, str | os.PathLike):
        raise TransferError(f"{end} in {instance.memory}: expected the path of a file, not {type(given).__name__}")
    return Path(os.fspath(given))


def runs_in_order(copy: StridedCopy, disk: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Source and destination offsets of all runs, in batches, in the order of the disk's end (1: source, 2: destination)."""
    loops = sorted(copy.loops, key=lambda loop: -loop[disk])
    inner: list[tuple[int, int, int]] = []
    while loops and math.prod(loop[0] for loop in inner) * loops[-1][0] <= _BATCH:
        inner.insert(0, loops.pop())
    cuts = [(0, 0, tuple(inner))]
    if loops:  # Split the next loop into batches as well.
        extent, here, there = loops.pop()
        piece = max(1, _BATCH // math.prod(loop[0] for loop in inner))
        cuts = [
            (start * here, start * there, ((min(piece, extent - start), here, there), *inner))
            for start in range(0, extent, piece)
        ]
    for counters in itertools.product(*(range(loop[0]) for loop in loops)):
        at = copy.source_offset + sum(k * loop[1] for k, loop in zip(counters, loops, strict=True))
        to = copy.destination_offset + sum(k * loop[2] for k, loop in zip(counters, loops, strict=True))
        for more_at, more_to, cut in cuts:
            yield _offsets(at + more_at, cut, 1), _offsets(to + more_to, cut, 2)


def _offsets(base: int, loops: Sequence[tuple[int, int, int]], end: int) -> Numbers:
    found = np.array([base], np.int64)
    for loop in loops:
        found = (found[:, None] + np.arange(loop[0], dtype=np.int64) * loop[end]).ravel()
    return found


class DiskRead(BaseChannel):
    """The channel from a file to host memory.

    Long runs take several requests. Short runs close together share one request (data sieving).
    """

    takes_lists = True

    def kept_together(self, copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
        """Split copies into those read by data sieving and the others."""
        lists, copies = lists_apart(copies)
        groups = sieve.groups(copies)
        near = [sieve.is_close(group) for group in groups]
        close, others = (
            [copy for group, each in zip(groups, near, strict=True) if each == which for copy in group] for which in (1, 0)
        )
        for copy in lists:
            (close if are_close(copy, disk=1) else others).append(copy)
        return close, others

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        assert isinstance(source, FileStore) and isinstance(destination, HostStore)
        memory, base = destination.array, source.base
        lists, copies = lists_apart(copies)
        requests = sum([read_listed(source.file, base, copy, memory, check) for copy in lists])
        for group in sieve.groups(copies):
            if sieve.is_close(group):
                requests += self._sieved(group, source, memory, check)
                continue
            for copy in group:
                for at, to in runs_in_order(copy, disk=1):
                    requests += read_runs(source.file, base + at, to, copy.run, memory, check)
        return requests

    def _sieved(self, group: list[StridedCopy], source: FileStore, memory: Bytes, check: Check) -> int:
        """Read a group by data sieving: the unwanted bytes are read too and not copied."""
        requests = 0
        for piece in sieve.pieces(group):
            lo, hi = sieve.span(piece)
            # Whole pages take one request. A page that the end of the file cuts short is no extra request.
            lead = (source.base + lo) % PAGE
            wanted = lead + hi - lo
            room = bounce()[: -(-wanted // PAGE) * PAGE]
            requests += source.file.read_pages(source.base + lo - lead, room, wanted, check)
            for copy in piece:
                copy_strided(copy._replace(source_offset=copy.source_offset - lo + lead), room, memory)
        return requests


class DiskWrite(BaseChannel):
    """The channel from host memory to a file."""

    takes_lists = True

    def kept_together(self, copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
        """Split copies into lists whose entries lie one behind the other in the file, in any order, and the others."""
        near = [isinstance(copy, ListedCopy) and are_close(copy, disk=2) for copy in copies]
        close, others = ([copy for copy, each in zip(copies, near, strict=True) if each == which] for which in (True, False))
        return close, others

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        assert isinstance(source, HostStore) and isinstance(destination, FileStore)
        file = destination.file
        assert isinstance(file, NewFile), "the destination was opened for reading"
        memory, base = source.array, destination.base
        lists, copies = lists_apart(copies)
        requests = sum([write_listed(file, base, copy, memory, check) for copy in lists])
        for copy in copies:
            for at, to in runs_in_order(copy, disk=2):
                requests += write_runs(file, at, base + to, copy.run, memory, check)
        return requests
