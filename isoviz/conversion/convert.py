"""`convert` writes an array file in another layout, out of core: memory holds only the buffers of the transfer."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.backends.disk.disk_memory import FileSource, FileTarget
from isoviz.backends.disk.file_access import NewFile, ReadFile
from isoviz.backends.formats.arrays import Axes, Lying, empty_array, lying, lying_empty
from isoviz.backends.formats.known_files import check_ending, is_npy
from isoviz.backends.formats.npy import NUMPY_READS, header_bytes, header_of, read_header
from isoviz.backends.formats.stored import Stored, axes_of, holds_npy_at, new_header, stored_raw
from isoviz.checks import expect
from isoviz.conversion.execute import Conversions, decided, disk_machine, folder_of
from isoviz.errors import FileError, InputError, TransferError, line, printable
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.layouts.given_arrays import form_of
from isoviz.planner import Instance, Transfer
from isoviz.regular_files import final_path
from isoviz.units import format_bytes, format_rate, format_seconds, parse_bytes

if TYPE_CHECKING:
    from isoviz.conversion.passes import Passes
    from isoviz.runtime import CancelToken, Report
    from isoviz.runtime.engine.progress import ProgressCallback


# The result of a conversion.


@dataclass(frozen=True)
class Conversion:
    """The result of a conversion.

    `reports` has one report per pass, in order. It is empty for an array without elements: only a header was written.
    `decision` explains the number of passes. `verified` is True after a bit-for-bit comparison of both files, and None if no
    comparison was requested. `notes` are further remarks for the user.
    """

    source: Path
    destination: Path
    source_layout: Layout
    destination_layout: Layout
    dtype: str
    shape: tuple[int, ...]
    reports: tuple[Report, ...] = ()
    decision: Passes | None = None
    verified: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Report | None:
        """The report of the last pass; None for an array without elements."""
        return self.reports[-1] if self.reports else None

    @property
    def bytes(self) -> int:
        """Bytes of the array."""
        return self.reports[-1].bytes if self.reports else 0

    @property
    def seconds(self) -> float:
        """Seconds until all bytes were on the disk, summed over the passes."""
        return sum(report.seconds for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """A JSON object: that of the run, with the files added.

        With two passes the plan is that of the last pass, the figures are sums over both, and `passes` has one object per pass.
        """
        found: dict[str, Any] = {
            "source": str(self.source),
            "destination": str(self.destination),
            "source_layout": str(self.source_layout),
            "destination_layout": str(self.destination_layout),
            "dtype": self.dtype,
            "shape": list(self.shape),
            "verified": self.verified,
        }
        if self.report is None:
            return {"bytes": 0, **found}
        run = self.report.to_json()
        rate = self.bytes / self.seconds if self.seconds > 0 else 0.0
        waited = sum(report.buffer_seconds for report in self.reports)
        run["measured"] = {**run["measured"], "seconds": self.seconds, "throughput": rate, "buffer_seconds": waited}
        run["notes"] = [*run["notes"], *self.notes]
        if self.decision is not None:
            other = self.decision.other_seconds
            run["decision"] = {
                "passes": len(self.decision.plans),
                "seconds": self.decision.seconds,
                "other_seconds": None if other == float("inf") else other,
                "through": None if self.decision.through is None else str(self.decision.through),
                "temporary_bytes": self.decision.temporary_bytes,
                "reason": self.decision.reason,
            }
        if len(self.reports) > 1:
            run["seconds"] = sum(report.plan.seconds for report in self.reports)
            run["throughput"] = self.bytes / run["seconds"] if run["seconds"] > 0 else 0.0
            run["passes"] = [report.to_json() for report in self.reports]
        return {**run, **found}

    def __str__(self) -> str:
        shape = "" if self.dtype == "raw" else f", shape {self.shape} of {line(self.dtype)}"
        source, destination = (printable(str(path)) for path in (self.source, self.destination))
        lines = [f"{source} {self.source_layout} → {destination} {self.destination_layout}{shape}"]
        if self.decision is not None and self.decision.reason:
            lines.append(self.decision.reason)
        if len(self.reports) > 1:
            rate = format_rate(self.bytes / self.seconds if self.seconds > 0 else 0.0)
            checked = "every byte verified" if self.verified else "not verified (not asked for)"
            lines.append(f"{format_bytes(self.bytes)} in {format_seconds(self.seconds)}, {rate}: {checked}")
        for number, report in enumerate(self.reports, start=1):
            first, *rest = str(report).splitlines()
            ends = report.plan.transfer
            if len(self.reports) > 1:  # two passes are verified together, so a report's own headline would say "not verified"
                first = f"pass {number}: {ends.source.layout} to {ends.destination.layout}"
            lines += [first, *rest]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def mapped_file(array: np.memmap[Any, Any]) -> tuple[Path, Axes, int]:
    """The file of a mapped array, its axes, and its offset in the file.

    Changes of the array that are not yet in the file are written first.

    Raises:
        FileError: the array is no longer mapped or has no file. Or it was mapped copy-on-write, so that the file may differ from
            the array.
        ArrayError: it is not dense, or holds Python objects.
    """
    name, mapping = array.filename, array._mmap  # type: ignore[attr-defined]  # noqa: SLF001  # no public attribute has the map
    if name is None or not isinstance(mapping, mmap.mmap):
        raise FileError("mapped array: not a view of a file (an operation on a mapped array gives an array in memory)")
    if array.mode == "c":
        raise FileError(f"{name}: is mapped copy-on-write, so that the file may differ from the array; map it with mode 'r'")
    axes = Axes.of(form_of(array, str(name)), str(name))
    if array.mode in ("r+", "w+"):
        mapping.flush()
    first = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    here = array.__array_interface__["data"][0]
    began = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY  # the file offset of the map
    return Path(name), axes, began + here - first


MEMORY_LIMIT = 256 << 20
"""The default bound on the buffers, in bytes. It allows long runs in both files."""

_SMALLEST_LIMIT = 64 << 10


def convert(
    source: str | Path | np.memmap[Any, Any],
    destination: str | Path,
    from_layout: str | Layout | None,
    to_layout: str | Layout,
    space: IndexSpace | Mapping[str, int] | None = None,
    fields: FieldSpace | Mapping[str, Any] | None = None,
    memory_limit: int | str | None = None,
    verify: bool = False,
    overwrite: bool = False,
    progress: ProgressCallback | None = None,
    cancel: CancelToken | None = None,
    passes: int | None = None,
    offset: int | str | None = None,
) -> Conversion:
    """Write the array in the file `source` to the file `destination` in another layout.

    A memory-mapped array stands for its file. The first bytes of a source decide whether it is a `.npy`, not its name. Other
    known formats, such as `.npz` and HDF5, are refused; every other file is raw. The name of a destination decides whether it is
    a `.npy`.

    `from_layout` names the dimensions of the source, fastest first. For a `.npy` it may be None, which takes the order of the
    file: the last axis is x, the axis before it y, and so on. Raw files need `space` and `fields`. A `.npy` needs them in two
    cases: if its fields are an axis (the default names are f0, f1, …), or if the last block of a dimension is short. `offset` is
    the byte at which the data of a raw file begin, such as after a header; they end with the file. With an offset, even 0, a file
    of a known format is taken as raw bytes.

    A `.npy` is written in C order. Its axes are the digits of `to_layout`, slowest first
    (`isoviz.backends.formats.records.array_of`). Gaps between the fields of an aligned struct are not written.

    `memory_limit` bounds the buffers: a number of bytes, or text such as "64MiB". `verify` compares source and destination
    after the copy, within the same limit. `destination` gets its name when the file is complete. An existing file of that name
    is an error unless `overwrite` is True; then it is replaced. `passes` is 1 or 2: two passes go through an unnamed temporary
    file in the directory of `destination`. None takes the number with the shorter predicted time (`isoviz.conversion.passes`).

    Raises:
        FileError, LayoutError, SpaceError: the file does not match the arguments, the result cannot be stored, or `destination`
            is a directory, a pipe or a device, or ends in a slash.
        TransferError: source and destination are the same file.
        LimitError: not even one block fits the limit.
        RunError: reading or writing failed, or the source changed during the conversion. The destination is unchanged.
        Cancelled: `cancel` was set. The destination is unchanged.
    """
    mapped: tuple[Axes, int] | None = None
    for end in (source, destination):
        expect("convert", end, (str, os.PathLike, np.memmap), "the path of a file")
    for name, flag in (("verify", verify), ("overwrite", overwrite)):
        checks.flag_argument("convert", name, flag)
    if progress is not None:
        checks.expect_call("convert, progress", progress, "a function or None")
    checks.expect_token("convert", cancel)
    if isinstance(source, np.memmap):
        source, axes_here, start = mapped_file(source)
        mapped = axes_here, start
    final_path(destination)  # refuses an impossible name before any other check
    source, destination = Path(source), Path(destination)
    limit = MEMORY_LIMIT if memory_limit is None else parse_bytes(memory_limit)
    if limit < _SMALLEST_LIMIT:
        raise InputError(f"memory limit {format_bytes(limit)}: expected at least {format_bytes(_SMALLEST_LIMIT)}")
    layout = None if from_layout is None else Layout(from_layout)
    target = Layout(to_layout)
    chosen = space if space is None or isinstance(space, IndexSpace) else IndexSpace.of(space)
    wanted = fields if fields is None or isinstance(fields, FieldSpace) else FieldSpace.of(fields)
    begin = None if offset is None else parse_bytes(offset)
    if begin is not None and mapped is not None:
        raise InputError("convert, offset: a mapped array knows where it begins in its file; expected none")
    axes, stored = _stored(source, layout, chosen, wanted, mapped, begin)
    if _same_file(source, destination):
        raise TransferError(f"{destination}: is the source itself; give the result another name")
    FileTarget(destination, replace=overwrite).check()
    if axes is not None and axes.is_empty:
        return _empty(axes, stored, destination, target, overwrite)
    record = replace(stored.record, stored=stored.record.fields)
    transfer = Transfer(
        Instance("node0.dsk", stored.space, stored.record.stored, stored.layout),
        Instance("node0.dsk", stored.space, record.stored, target),
        field_names=record.names,
    )
    dtype, shape, notes = _said(destination, new_header(destination, transfer.destination.linearization, record))
    folder = folder_of(destination)
    machine = disk_machine(folder, limit)
    decision, more_notes = decided(transfer, machine, limit, passes, folder)
    file = ReadFile(source)
    try:
        target_file = FileTarget(destination, record, overwrite)
        work = Conversions(decision, machine, limit, memory_limit is not None, verify, progress, cancel)
        reports = work.run(FileSource(file, stored.data_offset), target_file, transfer)
    finally:
        file.close()
    verified = True if verify else None
    return Conversion(
        source, destination, stored.layout, target, dtype, shape, reports, decision, verified, (*notes, *more_notes)
    )


def _said(destination: Path, header: bytes) -> tuple[str, tuple[int, ...], list[str]]:
    """Dtype and shape of the file that begins with a header, and notes; `"raw"` and () for a raw file.

    The header is read before anything is written, so that no file is left that cannot be read.
    """
    if not header:
        return "raw", (), []
    found = header_of(destination, header)
    hint = f"numpy.load needs max_header_size={found.data_offset} to read so long a header"
    return str(found.dtype), found.shape, [hint] if found.data_offset - 10 > NUMPY_READS else []


def _same_file(a: Path, b: Path) -> bool:
    """Whether two paths lead to the same file, directly or through links."""
    try:
        return a.samefile(b)
    except (OSError, ValueError):  # ValueError: a NUL in a name
        return False


def _stored(
    source: Path,
    layout: Layout | None,
    space: IndexSpace | None,
    fields: FieldSpace | None,
    mapped: tuple[Axes, int] | None,
    offset: int | None,
) -> tuple[Axes | None, Stored]:
    if mapped is not None or holds_npy_at(source, offset):
        if mapped is None:
            header = read_header(source)
            mapped = axes_of(source, header), header.data_offset
        axes, begin = mapped
        found = (lying_empty if axes.is_empty else lying)(axes, layout, space, fields)
        return axes, Stored(source, found.space, found.record, found.layout, begin)
    for what, given, option in (
        ("its layout", layout, "--from"),
        ("its index space", space, "--space"),
        ("its fields", fields, "--fields"),
    ):
        if given is None:
            raise FileError(f"{source}: a raw file does not say {what}; give {option} (.npy files say it)")
    assert layout is not None and space is not None and fields is not None
    return None, stored_raw(source, layout, space, fields, offset or 0)


def _empty(axes: Axes, stored: Stored, destination: Path, target: Layout, overwrite: bool) -> Conversion:
    """Write an array without elements: a header, or an empty raw file."""
    found = Lying(stored.space, stored.record, stored.layout)
    dtype, shape = empty_array(axes, found, target)
    check_ending(destination)
    content = header_bytes(dtype, shape) if is_npy(destination) else b""
    file = NewFile(destination, len(content), replace=overwrite)
    try:
        file.write_at(0, np.frombuffer(content, np.uint8))
        file.flush()
        file.publish()
    finally:
        file.close()
    return Conversion(stored.path, destination, stored.layout, target, str(dtype), shape)
