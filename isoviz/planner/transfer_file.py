"""Transfer files: a transfer, its machine and its options as TOML (DESIGN, section 3)."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoviz import machines
from isoviz.errors import FileError, MachineError, TransferError, show
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine, preset
from isoviz.planner.options import Options
from isoviz.planner.reading import needed, table, text, whole
from isoviz.planner.transfer import Instance, Transfer
from isoviz.regular_files import base_of, read_some
from isoviz.units import format_bytes

LARGEST_FILE = 16 * 1024 * 1024
"""Bytes; a transfer file takes a few hundred, a mistaken data file more."""

_TABLES = ("space", "fields", "source", "destination", "box", "machine", "options")
_END = ("memory", "layout", "path", "origin", "space", "fields")
_OPTIONS = ("planner", "slot_limit", "memory_limit", "slots", "planning_time", "priority")


@dataclass(frozen=True)
class TransferFile:
    """What a transfer file says. `machine_options` name a preset or a machine file; `folder` is the one that holds the transfer
    file. `origins` say for ends with a relative path what that is relative to: pairs of a directory and what it is, in words."""

    transfer: Transfer
    options: Options
    machine_options: Mapping[str, Any]
    folder: Path
    origins: Mapping[str, tuple[Path, str]] = field(default_factory=dict)

    def machine(self) -> Machine:
        """The machine it names.

        Raises:
            MachineError: no such preset, or one that does not take these options. FileError: no such machine file.
        """
        return _machine(self.machine_options, self.folder)

    def check_source(self) -> None:
        """See that the file to be read is there.

        Raises:
            FileError: it is not; the message says where a relative path was looked for.
        """
        path = self.transfer.source.path
        if path is None or os.path.lexists(path):
            return
        place, what = self.origins.get("source", (None, ""))
        raise FileError(f"{path}: no such file" + (f"; the path is relative to {what}, {place.absolute()}" if place else ""))


def load_transfer(source: str | Path | Mapping[str, Any]) -> TransferFile:
    """Reads a transfer file (a path), or the same as nested dictionaries.

    Besides the tables of DESIGN, section 3, `[box]` with `shape` (a table by dimension) and `fields` (a list) moves a part;
    `origin` in `[source]` and `[destination]` says where the box begins, and `space` and `fields` there override the common ones.
    A relative path of a file with data begins at the directory that its memory is bound to: `directory` in `[machine]`, or the
    `device` of that memory in a machine file. Where there is none, and for machine files and `directory` itself, paths are
    relative to the transfer file, or to the working directory where that is a pipe.

    Raises:
        FileError: it cannot be read. TransferError: it is no TOML, or a key is missing, unknown or of another type.
        SpaceError, NotationError, LayoutError, InputError: what a value says makes no sense.
    """
    if isinstance(source, Mapping):
        return _parse(source, "transfer", Path())
    path = Path(source)
    try:
        content = read_some(path, LARGEST_FILE + 1)
    except FileError as error:
        raise FileError(f"transfer file {error}") from None
    try:
        if len(content) > LARGEST_FILE:
            raise ValueError(f"larger than {format_bytes(LARGEST_FILE)}")
        data = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # ValueError: also text that is no UTF-8, or a number of thousands of digits
        reason = str(error).splitlines()[0] if not isinstance(error, RecursionError) else "nested too deeply"
        raise TransferError(f"transfer file {str(path)!r}: is no TOML: {reason}") from None
    return _parse(data, f"transfer file {str(path)!r}", base_of(path))


def _parse(data: Mapping[str, Any], where: str, folder: Path) -> TransferFile:
    entry = table(data, where, _TABLES)
    space = IndexSpace.of(table(needed(entry, "space", where), f"{where}: space"))
    fields = FieldSpace.of(table(needed(entry, "fields", where), f"{where}: fields"))
    ends = {name: table(needed(entry, name, where), f"{where}: {name}", _END) for name in ("source", "destination")}
    machine = _machine_table(entry, where)
    origins = {
        name: _origin(machine, text(end, "memory", f"{where}: {name}"), folder)
        for name, end in ends.items()
        if "path" in end and not Path(text(end, "path", f"{where}: {name}")).is_absolute()
    }
    begins = {name: origins.get(name, (folder, ""))[0] for name in ends}
    instances = {name: _instance(end, space, fields, f"{where}: {name}", begins[name]) for name, end in ends.items()}
    box = table(entry.get("box", {}), f"{where}: box", ("shape", "fields"))
    options = table(entry.get("options", {}), f"{where}: options", _OPTIONS)
    names = box.get("fields", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TransferError(f"{where}: box.fields: expected a list of names, got {show(names)}")
    transfer = Transfer(
        instances["source"],
        instances["destination"],
        shape=_numbers(box, "shape", instances["source"].space, f"{where}: box"),
        source_origin=_numbers(ends["source"], "origin", instances["source"].space, f"{where}: source"),
        destination_origin=_numbers(ends["destination"], "origin", instances["destination"].space, f"{where}: destination"),
        field_names=tuple(names),
        priority=whole(options, "priority", f"{where}: options", 0),
    )
    chosen = Options(**{key: value for key, value in options.items() if key != "priority"})
    return TransferFile(transfer, chosen, dict(machine), folder, origins)


def _machine_table(entry: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    machine = table(entry.get("machine", {"preset": "local"}), f"{where}: machine")
    if ("preset" in machine) == ("file" in machine):
        raise TransferError(f"{where}: machine: expected either 'preset' or 'file'")
    text(machine, "preset" if "preset" in machine else "file", f"{where}: machine")
    if "file" in machine and len(machine) > 1:
        raise TransferError(f"{where}: machine: a file takes no further options")
    return machine


def _machine(options: Mapping[str, Any], folder: Path) -> Machine:
    given = dict(options)
    if "file" in given:
        return machines.load(folder / str(given["file"]))
    if isinstance(given.get("directory"), str):
        given["directory"] = folder / given["directory"]
    return preset(given.pop("preset"), **given)


def _origin(options: Mapping[str, Any], memory: str, folder: Path) -> tuple[Path, str]:
    """Where relative paths to files in a memory begin, and what that is."""
    if isinstance(options.get("directory"), str):
        return folder / options["directory"], f"the directory of {memory}"
    if "file" in options:
        with contextlib.suppress(FileError, MachineError):  # which `TransferFile.machine` tells
            device = _machine(options, folder).memory(memory).device
            if isinstance(device, str):
                return Path(device), f"the directory of {memory}"
    return folder, "the transfer file"


def _instance(end: Mapping[str, Any], space: IndexSpace, fields: FieldSpace, where: str, folder: Path) -> Instance:
    if "space" in end:
        space = IndexSpace.of(table(end["space"], f"{where}.space"))
    if "fields" in end:
        fields = FieldSpace.of(table(end["fields"], f"{where}.fields"))
    path = str(folder / _file_name(text(end, "path", where), where)) if "path" in end else None
    return Instance(text(end, "memory", where), space, fields, Layout(text(end, "layout", where)), path)


def _file_name(path: str, where: str) -> str:
    if not path or path.endswith("/"):
        raise TransferError(f"{where}.path: expected the name of a file, got {show(path)}")
    return path


def _numbers(entry: Mapping[str, Any], key: str, space: IndexSpace, where: str) -> tuple[int, ...]:
    if key not in entry:
        return ()
    given = table(entry[key], f"{where}.{key}", space.dims)
    return tuple(whole(given, dim, f"{where}.{key}", 0 if key == "origin" else space[dim]) for dim in space)
