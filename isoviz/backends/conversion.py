"""Array files from one layout to another, out of core: a file, a few buffers, another file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends import Engine
from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk import NewFile
from isoviz.backends.files import FileTarget
from isoviz.backends.npy import NpyHeader, header_bytes, is_npy, read_header
from isoviz.backends.stored import Stored, empty_array, stored_array, stored_raw
from isoviz.errors import FileError, InputError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.planner import Instance, Options, Transfer
from isoviz.planner import plan as make_plan
from isoviz.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.runtime import CancelToken, Report
    from isoviz.runtime.watching import ProgressCallback

MEMORY_LIMIT = 256 << 20
"""Bytes of buffers where nothing is said: enough for long runs on both sides."""

_SMALLEST_LIMIT = 64 << 10


@dataclass(frozen=True)
class Conversion:
    """What a conversion did. `report` is None for an array without elements, where only a header was written."""

    source: Path
    destination: Path
    source_layout: Layout
    destination_layout: Layout
    dtype: str
    shape: tuple[int, ...]
    report: Report | None

    def to_json(self) -> dict[str, Any]:
        """One JSON object: the run's, with the files."""
        found: dict[str, Any] = {
            "source": str(self.source),
            "destination": str(self.destination),
            "source_layout": str(self.source_layout),
            "destination_layout": str(self.destination_layout),
            "dtype": self.dtype,
            "shape": list(self.shape),
        }
        run = {"bytes": 0, "verified": None} if self.report is None else self.report.to_json()
        return {**run, **found}

    def __str__(self) -> str:
        shape = "" if self.dtype == "raw" else f", shape {self.shape} of {self.dtype}"
        first = f"{self.source} {self.source_layout} → {self.destination} {self.destination_layout}{shape}"
        return first if self.report is None else f"{first}\n{self.report}"


def convert(
    source: str | Path,
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
) -> Conversion:
    """Write the array in the file `source` to the file `destination` in another layout.

    Names ending in `.npy` are NumPy files, all others raw bytes. `from_layout` names the dimensions in the order of storage,
    fastest first; None takes a `.npy` as it is, its last axis called x, the one before y, and so on. `space` and `fields` are
    needed for raw files, and for a `.npy` where they do not follow: fields that are an axis of their own (else called f0, f1,
    …), blocks whose last one is short. The written `.npy` is in C order; its axes are the digits of `to_layout`, slowest first
    (`isoviz.backends.records.array_of`). Gaps between the fields of an aligned struct are left out.

    `memory_limit` bounds the buffers, in bytes or as "64MiB"; `verify` compares all of it afterwards, within the same limit.
    `destination` appears when it is complete; a file of that name is an error unless `overwrite`, which replaces it.

    Raises:
        FileError, LayoutError, SpaceError: the file does not fit what is said about it, or the result cannot be stored.
        TransferError: source and destination are the same file. LimitError: not even one block fits the limit.
        RunError: reading or writing failed; Cancelled: `cancel` was set. The destination is as it was.
    """
    source, destination = Path(source), Path(destination)
    limit = MEMORY_LIMIT if memory_limit is None else parse_bytes(memory_limit)
    if limit < _SMALLEST_LIMIT:
        raise InputError(f"memory limit {format_bytes(limit)}: expected at least {format_bytes(_SMALLEST_LIMIT)}")
    layout = None if from_layout is None else Layout(from_layout)
    target = Layout(to_layout)
    chosen = None if space is None else IndexSpace.of(dict(space.as_dict() if isinstance(space, IndexSpace) else space))
    wanted = fields if fields is None or isinstance(fields, FieldSpace) else FieldSpace.of(fields)
    header, stored = _stored(source, layout, chosen, wanted)
    if _same_file(source, destination):
        raise TransferError(f"{destination}: is the source itself; give the result another name")
    if not overwrite and os.path.lexists(destination):
        raise FileError(f"{destination}: exists already; choose another name, or ask to overwrite it")
    if header is not None and 0 in header.shape:
        return _empty(header, stored, destination, target, overwrite)
    record = replace(stored.record, stored=stored.record.fields)
    transfer = Transfer(
        Instance("node0.dsk", stored.space, stored.record.stored, stored.layout),
        Instance("node0.dsk", stored.space, record.stored, target),
        field_names=record.names,
    )
    machine = _machine(destination)
    # The bounce buffers of both files and the page that a slot may be shifted by are in the limit too.
    plan = make_plan(transfer, machine, "auto", Options(memory_limit=max(limit - 2 * _slack(limit), limit // 4)))
    engine = Engine(machine, ThisComputer(directory=destination.parent, verify_budget=limit))
    report = engine.run(plan, source, FileTarget(destination, record, overwrite), verify=verify, progress=progress, cancel=cancel)
    return _done(source, destination, stored.layout, target, report)


def _same_file(a: Path, b: Path) -> bool:
    """Whether two paths lead to one file, through links too."""
    try:
        return a.samefile(b)
    except (OSError, ValueError):  # ValueError: a NUL in a name
        return False


def _slack(limit: int) -> int:
    return min(1 << 20, limit // 8)


def _stored(
    source: Path, layout: Layout | None, space: IndexSpace | None, fields: FieldSpace | None
) -> tuple[NpyHeader | None, Stored]:
    if is_npy(source):
        header = read_header(source)
        if 0 in header.shape:
            ones = replace(header, shape=tuple(max(extent, 1) for extent in header.shape))
            return header, stored_array(source, layout, space, fields, ones)
        return header, stored_array(source, layout, space, fields, header)
    for what, given, option in (
        ("its layout", layout, "--from"),
        ("its index space", space, "--space"),
        ("its fields", fields, "--fields"),
    ):
        if given is None:
            raise FileError(f"{source}: a raw file does not say {what}; give {option} (files named .npy say it)")
    assert layout is not None and space is not None and fields is not None
    return None, stored_raw(source, layout, space, fields)


def _machine(destination: Path) -> Machine:
    """This computer, as measured earlier, else with assumed figures: a conversion does not wait for a measurement."""
    from isoviz.machines import preset
    from isoviz.machines.measurements import cached

    directory = destination.parent
    if not directory.is_dir():
        raise FileError(f"{directory}: no such directory")
    return preset("local", directory=directory, measure="assumed" if cached(directory) is None else "cached")


def _empty(header: NpyHeader, stored: Stored, destination: Path, target: Layout, overwrite: bool) -> Conversion:
    """An array without elements: a header, or an empty raw file."""
    dtype, shape = empty_array(header, stored, target)
    content = header_bytes(dtype, shape) if is_npy(destination) else b""
    file = NewFile(destination, len(content), replace=overwrite)
    try:
        file.write_at(0, np.frombuffer(content, np.uint8))
        file.flush()
        file.publish()
    finally:
        file.close()
    return Conversion(stored.path, destination, stored.layout, target, str(dtype), shape, None)


def _done(source: Path, destination: Path, layout: Layout, target: Layout, report: Report) -> Conversion:
    if is_npy(destination):
        header = read_header(destination)
        return Conversion(source, destination, layout, target, str(header.dtype), header.shape, report)
    return Conversion(source, destination, layout, target, "raw", (), report)
