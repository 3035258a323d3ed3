"""Transfer files: a transfer, its machine and its options as TOML."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from isoviz import machines
from isoviz.checks import expect
from isoviz.errors import FileError, MachineError, TransferError, show
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine, preset
from isoviz.planner.bundled.bundle import bundle
from isoviz.planner.listed_transfer import list_at, listed_transfer
from isoviz.planner.options import Options
from isoviz.planner.transfer import Instance, Transfer
from isoviz.regular_files import base_of, read_some
from isoviz.schema import Node, errors_as
from isoviz.schema.formats import LARGEST_TOML, misplaced, parse_toml

_TABLES = ("space", "fields", "source", "destination"), ("box", "machine", "options")
_END = ("memory", "layout"), ("path", "offset", "origin", "space", "fields")
_LISTS = {"source": "entries", "destination": "to"}
"""The key of the list at each end."""
_OPTIONS = ("planner", "slot_limit", "memory_limit", "slots", "planning_time", "paths", "proxies", "reuse", "priority")


@dataclass(frozen=True)
class TransferFile:
    """The contents of a transfer file.

    `machine_options` names a preset or a machine file. `folder` is the directory of the transfer file. `origins` has an entry for
    every end with a relative path: the directory that the path is relative to, and a description of that directory.
    """

    transfer: Transfer
    options: Options
    machine_options: Mapping[str, Any]
    folder: Path
    origins: Mapping[str, tuple[Path, str]] = field(default_factory=dict)

    def machine(self) -> Machine:
        """The machine that the transfer file names.

        Raises:
            MachineError: the preset does not exist or does not take these options. FileError: the machine file does not exist.
        """
        return _machine(self.machine_options, self.folder)

    def for_runs(self, reuse: int | None) -> TransferFile:
        """The file with another number of runs of its transfer (`Options.reuse`); None: with its own number.

        Raises:
            InputError: `reuse` is not a number of runs.
        """
        return self if reuse is None else replace(self, options=replace(self.options, reuse=reuse))

    def check_source(self) -> None:
        """Check that the source file exists.

        Raises:
            FileError: the file does not exist; the message names the directory that a relative path starts from.
        """
        path = self.transfer.source.path
        if path is None or os.path.lexists(path):
            return
        place, what = self.origins.get("source", (None, ""))
        raise FileError(f"{path}: no such file" + (f"; the path is relative to {what}, {place.absolute()}" if place else ""))


def load_transfer(source: str | Path | Mapping[str, Any]) -> TransferFile:
    """Read a transfer file (a path), or the same contents as nested dictionaries.

    `docs/guide/running.md` describes the tables. `[box]` selects a part of the data, with `shape` (a table by dimension) and
    `fields` (a list). `origin` in `[source]` and `[destination]` is the first coordinate of the box; `space` and `fields` there
    override the common ones, and `offset` is the byte at which the data of a raw file begin.

    A file with tables `[[bundle]]` is a bundle (`isoviz.bundle`). Each of them has the tables of a transfer, such as
    `[bundle.space]`, and takes missing ones from the file. `count` is the number of equal transfers that it stands for.

    `entries` in `[source]` and `to` in `[destination]` list what moves (`Transfer.listed`): the name of a `.npy` file beside the
    transfer file, numbers, or `{random = 3062, of = 3534, seed = 1}` (`in_order = true` sorts them); for an instance with several
    dimensions `{y = …}`.

    A relative path of a data file starts from the directory that its memory is bound to: `directory` in `[machine]`, or the
    `device` of that memory in a machine file. If there is none, it is relative to the transfer file. Paths of machine files and
    `directory` itself are relative to the transfer file as well. If the transfer file is a pipe, these paths are relative to the
    working directory.

    Raises:
        FileError: the file cannot be read. TransferError: it is not TOML, or a key is missing, unknown or of another type.
        SpaceError, NotationError, LayoutError, InputError: a value is invalid.
    """
    if isinstance(source, Mapping):
        return _parse(source, "transfer", Path())
    expect("transfer file", source, (str, os.PathLike), "a path, or the contents as nested dictionaries")
    path = Path(source)
    try:
        content = read_some(path, LARGEST_TOML + 1)
    except FileError as error:
        raise FileError(f"transfer file {error}") from None
    try:
        data = parse_toml(content)
    except (ValueError, RecursionError) as error:  # ValueError: also invalid UTF-8, or a number with thousands of digits
        reason = str(error).splitlines()[0] if not isinstance(error, RecursionError) else "nested too deeply"
        problem = misplaced(content, "a transfer") or f"is no TOML: {reason}"
        raise TransferError(f"transfer file {str(path)!r}: {problem}") from None
    return _parse(data, f"transfer file {str(path)!r}", base_of(path))


def _parse(data: Mapping[str, Any], where: str, folder: Path) -> TransferFile:
    with errors_as(TransferError, title=where, objects="a table"):
        return _transfer_file(Node(data), folder)


def _transfer_file(root: Node, folder: Path) -> TransferFile:
    is_bundle = "bundle" in root.table()
    parts = root.members(("bundle",), (*_TABLES[0], *_TABLES[1])) if is_bundle else root.members(*_TABLES)
    machine = _machine_table(parts["machine"]) if "machine" in parts else {"preset": "local"}
    options = parts["options"].members((), _OPTIONS) if "options" in parts else {}
    priority = options["priority"].read(int) if "priority" in options else 0
    if is_bundle:
        members = [each for node in parts["bundle"].items() for each in _members(node, parts, machine, folder, priority)]
        transfer, origins = parts["bundle"].made(bundle, [each for each, _ in members]), members[0][1] if members else {}
    else:
        transfer, origins = _one_transfer(parts, machine, folder, priority)
    chosen = Options(**{key: part.value for key, part in options.items() if key != "priority"})
    return TransferFile(transfer, chosen, dict(machine), folder, origins)


def _members(
    node: Node, common: Mapping[str, Node], machine: Mapping[str, Any], folder: Path, priority: int
) -> list[tuple[Transfer, Mapping[str, tuple[Path, str]]]]:
    """A table of a bundle: one transfer, or `count` equal ones. What it does not say is what the tables of the file say."""
    count = 1
    own = node.members((), (*_TABLES[0], "box", "count"))
    if "count" in own and (count := own["count"].read(int)) < 1:
        own["count"].fail(f"expected at least 1, got {count}")
    tables: dict[str, Any] = {}
    for name in (*_TABLES[0], "box"):
        both = [each[name].table() for each in (common, own) if name in each]
        if both:  # a space or the fields of a member replace those of the file; of an end it says what differs
            tables[name] = (
                both[-1] if name in ("space", "fields") else {key: value for each in both for key, value in each.items()}
            )
    made = _one_transfer(Node(tables, node.path).members(_TABLES[0], ("box",)), machine, folder, priority)
    return [made] * count


def _one_transfer(
    parts: Mapping[str, Node], machine: Mapping[str, Any], folder: Path, priority: int
) -> tuple[Transfer, Mapping[str, tuple[Path, str]]]:
    space, fields = IndexSpace.of(parts["space"].table()), FieldSpace.of(parts["fields"].table())
    ends = {name: parts[name].members(_END[0], (*_END[1], key)) for name, key in _LISTS.items()}
    origins = {
        name: _origin(machine, end["memory"].read(str), folder)
        for name, end in ends.items()
        if "path" in end and not Path(end["path"].read(str)).is_absolute()
    }
    begins = {name: origins.get(name, (folder, ""))[0] for name in ends}
    instances = {name: _instance(end, space, fields, begins[name]) for name, end in ends.items()}
    box = parts["box"].members((), ("shape", "fields")) if "box" in parts else {}
    if "fields" in box and not (isinstance(box["fields"].value, list) and all(isinstance(n, str) for n in box["fields"].value)):
        box["fields"].fail(f"expected a list of names, got {show(box['fields'].value)}")
    names = tuple(box["fields"].value) if "fields" in box else ()
    lists = {key: list_at(ends[name][key], folder) for name, key in _LISTS.items() if key in ends[name]}
    if lists:
        for node in [box[key] for key in box if key == "shape"] + [end["origin"] for end in ends.values() if "origin" in end]:
            node.fail("a transfer with lists moves all that they name; expected no box")
        return listed_transfer(
            instances["source"], instances["destination"], **lists, field_names=names, priority=priority
        ), origins
    transfer = Transfer(
        instances["source"],
        instances["destination"],
        shape=_numbers(box, "shape", instances["source"].space),
        source_origin=_numbers(ends["source"], "origin", instances["source"].space),
        destination_origin=_numbers(ends["destination"], "origin", instances["destination"].space),
        field_names=names,
        priority=priority,
    )
    return transfer, origins


def _machine_table(node: Node) -> Mapping[str, Any]:
    machine = node.table()
    if ("preset" in machine) == ("file" in machine):
        node.fail("expected either 'preset' or 'file'")
    named = "preset" if "preset" in machine else "file"
    node.members((named,), others=True)[named].read(str)
    if named == "file" and len(machine) > 1:
        node.fail("a file takes no further options")
    return machine


def _machine(options: Mapping[str, Any], folder: Path) -> Machine:
    given = dict(options)
    if "file" in given:
        return machines.load(folder / str(given["file"]))
    if isinstance(given.get("directory"), str):
        given["directory"] = folder / given["directory"]
    return preset(given.pop("preset"), **given)


def _origin(options: Mapping[str, Any], memory: str, folder: Path) -> tuple[Path, str]:
    """The directory that relative paths in a memory start from, and a description of it."""
    if isinstance(options.get("directory"), str):
        return folder / options["directory"], f"the directory of {memory}"
    if "file" in options:
        with contextlib.suppress(FileError, MachineError):  # `TransferFile.machine` raises these
            device = _machine(options, folder).memory(memory).device
            if isinstance(device, str):
                return Path(device), f"the directory of {memory}"
    return folder, "the transfer file"


def _instance(end: Mapping[str, Node], space: IndexSpace, fields: FieldSpace, folder: Path) -> Instance:
    if "space" in end:
        space = IndexSpace.of(end["space"].table())
    if "fields" in end:
        fields = FieldSpace.of(end["fields"].table())
    path = str(folder / _file_name(end["path"])) if "path" in end else None
    offset = end["offset"].read(int) if "offset" in end else None
    if offset is not None and path is None:
        end["offset"].fail("expected a path beside it: the offset is the byte of the file at which the data begin")
    return Instance(end["memory"].read(str), space, fields, Layout(end["layout"].read(str)), path, offset)


def _file_name(node: Node) -> str:
    path: str = node.read(str)
    if not path or path.endswith("/"):
        node.fail(f"expected the name of a file, got {show(path)}")
    return path


def _numbers(parts: Mapping[str, Node], key: str, space: IndexSpace) -> tuple[int, ...]:
    if key not in parts:
        return ()
    given = parts[key].members((), space.dims)
    return tuple(given[dim].read(int) if dim in given else (0 if key == "origin" else space[dim]) for dim in space)
