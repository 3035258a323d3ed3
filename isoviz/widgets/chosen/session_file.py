"""Settings in a file: what a session was when it was saved.

Version 2 is what `save_settings` writes. Version 1 is from before machines could be described: it is an object without a
version, in which `machine` is the name of a preset and `machineOptions` has its options.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from isoviz.errors import FileError, IsovizError, show
from isoviz.json_cursor import format_json
from isoviz.machines import machine_from_json, machine_to_json
from isoviz.regular_files import read_some, write_text
from isoviz.widgets.chosen.machine_choice import DescribedMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.settings import End, Row, Settings
from isoviz.widgets.contract import ShownChoice
from isoviz.widgets.matching import mismatch

VERSION = 2
MOST_BYTES = 64 << 20
"""A larger file is no session: a described machine of 100,000 channels has about 20 MB."""


class _KeptRow(TypedDict):
    name: str
    value: str
    kept: str


class _KeptPreset(TypedDict):
    preset: str
    options: dict[str, str]


class _KeptMachine(TypedDict):
    described: dict[str, object]


class _KeptSettings(TypedDict):
    machine: _KeptPreset | _KeptMachine
    dimensions: list[_KeptRow]
    fields: list[_KeptRow]
    source: ShownChoice
    destination: ShownChoice
    planner: str
    slotLimit: str
    memoryLimit: str


class _File(TypedDict):
    isoviz: Literal["session"]
    version: int
    settings: _KeptSettings


def save_settings(settings: Settings, path: str | Path) -> None:
    """Write settings into a file.

    Raises:
        FileError: it cannot be written.
    """
    file: _File = {"isoviz": "session", "version": VERSION, "settings": _kept(settings)}
    write_text(path, format_json(file) + "\n")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys differ: of two values under one key, nobody knows which was meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for k, (key, _) in enumerate(pairs) if any(key == earlier for earlier, _ in pairs[:k]))
        raise ValueError(f"the key {show(twice)} stands twice")
    return found


def load_settings(path: str | Path) -> Settings:
    """Read settings from a file.

    Raises:
        FileError: it cannot be read, or holds no session; the message names the place.
    """
    data = read_some(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise FileError(f"{path}: more than {MOST_BYTES >> 20} MiB; expected the session of an explorer")
    try:
        found = json.loads(data, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: not JSON ({error}); expected the session of an explorer") from None
    if isinstance(found, dict) and "version" not in found and isinstance(found.get("machine"), str):
        found = _of_version_1(found)
    version = found.get("version") if isinstance(found, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise FileError(f"{path}: version {version} of the format; this isoviz reads up to {VERSION}")
    if problem := mismatch(found, _File):
        raise FileError(f"{path}: {problem}")
    try:
        return _settings(cast("_File", found)["settings"])
    except IsovizError as error:
        raise FileError(f"{path}: settings.machine.described: {error}") from None


def _kept(settings: Settings) -> _KeptSettings:
    machine: _KeptPreset | _KeptMachine
    if isinstance(settings.machine, PresetMachine):
        machine = {"preset": settings.machine.name, "options": dict(settings.machine.options)}
    else:
        machine = {"described": machine_to_json(settings.machine.machine)}
    return {
        "machine": machine,
        "dimensions": _kept_rows(settings.dimensions),
        "fields": _kept_rows(settings.fields),
        "source": {"memory": settings.source.memory, "layout": settings.source.layout},
        "destination": {"memory": settings.destination.memory, "layout": settings.destination.layout},
        "planner": settings.planner,
        "slotLimit": settings.slot_limit,
        "memoryLimit": settings.memory_limit,
    }


def _kept_rows(rows: tuple[Row, ...]) -> list[_KeptRow]:
    return [{"name": row.name, "value": row.value, "kept": row.kept} for row in rows]


def _settings(kept: _KeptSettings) -> Settings:
    machine: MachineChoice
    if "preset" in kept["machine"]:
        preset = cast("_KeptPreset", kept["machine"])
        machine = PresetMachine(preset["preset"], tuple(preset["options"].items()))
    else:
        machine = DescribedMachine(machine_from_json(kept["machine"]["described"]))
    return Settings(
        machine=machine,
        dimensions=_rows(kept["dimensions"], 1),
        fields=_rows(kept["fields"], 1 + len(kept["dimensions"])),
        source=End(**kept["source"]),
        destination=End(**kept["destination"]),
        planner=kept["planner"],
        slot_limit=kept["slotLimit"],
        memory_limit=kept["memoryLimit"],
    )


def _rows(kept: list[_KeptRow], first_key: int) -> tuple[Row, ...]:
    return tuple(Row(first_key + place, **row) for place, row in enumerate(kept))


def _of_version_1(found: dict[str, Any]) -> dict[str, Any]:
    """The same session in version 2; what is wrong with it is told when that is read."""
    settings = {key: value for key, value in found.items() if key != "machineOptions"}
    settings["machine"] = {"preset": found["machine"], "options": found.get("machineOptions", {})}
    for name in ("dimensions", "fields"):
        if isinstance(found.get(name), list):
            settings[name] = [
                {"kept": "", **{key: value for key, value in row.items() if key != "key"}} if isinstance(row, dict) else row
                for row in found[name]
            ]
    return {"isoviz": "session", "version": VERSION, "settings": settings}
