"""Settings in a file: what a session was when it was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from isoviz.checks import expect
from isoviz.errors import FileError, IsovizError, show
from isoviz.json_cursor import format_json
from isoviz.machines import machine_from_json, machine_to_json
from isoviz.regular_files import read_some, write_text
from isoviz.widgets.chosen.by_hand import ByHand
from isoviz.widgets.chosen.machine_choice import LOCAL, DescribedMachine, FileMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.part import Part, Range
from isoviz.widgets.chosen.settings import End, Row, Settings
from isoviz.widgets.chosen.transfers import MOST_TRANSFERS, every_transfer, of_transfers
from isoviz.widgets.contract import ShownByHand, ShownChoice
from isoviz.widgets.matching import mismatch

VERSION = 5
MOST_BYTES = 64 << 20
"""A larger file is no session: a described machine of 100,000 channels has about 20 MB."""


class _KeptRow(TypedDict):
    name: str
    value: str
    kept: str


class _KeptPreset(TypedDict):
    kind: Literal["preset"]
    name: str
    options: dict[str, str]


class _KeptMeasured(TypedDict):
    kind: Literal["measured"]
    options: dict[str, str]


class _KeptFile(TypedDict):
    kind: Literal["file"]
    path: str
    machine: dict[str, object]


class _KeptDrawn(TypedDict):
    kind: Literal["drawn"]
    machine: dict[str, object]


_KeptMachine = _KeptPreset | _KeptMeasured | _KeptFile | _KeptDrawn


class _KeptRange(TypedDict):
    """The range of a dimension, by the place of the dimension."""

    dimension: int
    first: str
    extent: str
    to: str


class _KeptPart(TypedDict):
    """What moves; fields that stay by their places."""

    ranges: list[_KeptRange]
    leftOut: list[int]


class _KeptTransfer(TypedDict):
    name: str
    priority: str
    begin: str
    dimensions: list[_KeptRow]
    fields: list[_KeptRow]
    source: ShownChoice
    destination: ShownChoice
    part: _KeptPart
    planner: str
    slotLimit: str
    memoryLimit: str
    byHand: ShownByHand | None


class _KeptSettings(TypedDict):
    """The machine, where the plan runs, the transfers in their order, and the place of the one that is edited."""

    machine: _KeptMachine
    runsIn: Literal["", "process", "ranks"]
    transfers: list[_KeptTransfer]
    place: int


class _File(TypedDict):
    isoviz: Literal["session"]
    version: int
    settings: _KeptSettings


def save_settings(settings: Settings, path: str | Path) -> None:
    """Write settings into a file.

    Raises:
        FileError: it cannot be written.
    """
    write_text(path, session_text(settings))


def session_text(settings: Settings) -> str:
    """The text of a session file."""
    file: _File = {"isoviz": "session", "version": VERSION, "settings": _kept(settings)}
    return format_json(file) + "\n"


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
    return settings_in(read_some(path, MOST_BYTES + 1), path)


def settings_in(text: str | bytes, name: object) -> Settings:
    """The settings in the text of a session file; `name` is that of the file, for errors.

    Raises:
        FileError: the text holds no session; the message names the place.
    """
    expect("session", text, (str, bytes), "the text of a session file")
    if len(text) > MOST_BYTES:
        raise FileError(f"{name}: more than {MOST_BYTES >> 20} MiB; expected the session of an explorer")
    try:
        found = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{name}: not JSON ({error}); expected the session of an explorer") from None
    if isinstance(found, dict) and found.get("isoviz") == "session":
        version = found.get("version")
        if type(version) is not int or version != VERSION:
            raise FileError(f"{name}: version {show(version)} of the format; this isoviz reads version {VERSION}")
    if problem := mismatch(found, _File):
        raise FileError(f"{name}: {problem}")
    try:
        return _settings(cast("_File", found)["settings"])
    except FileError as error:
        raise FileError(f"{name}: {error}") from None
    except IsovizError as error:
        raise FileError(f"{name}: settings.machine.machine: {error}") from None


def _kept(settings: Settings) -> _KeptSettings:
    choice = settings.machine
    machine: _KeptMachine
    if isinstance(choice, PresetMachine):
        options = dict(choice.options)
        machine = (
            {"kind": "measured", "options": options}
            if choice.is_this_computer
            else {"kind": "preset", "name": choice.name, "options": options}
        )
    elif isinstance(choice, FileMachine):
        machine = {"kind": "file", "path": choice.path, "machine": machine_to_json(choice.machine)}
    else:
        machine = {"kind": "drawn", "machine": machine_to_json(choice.machine)}
    transfers = [_kept_transfer(each) for each in every_transfer(settings)]
    return cast(
        "_KeptSettings", {"machine": machine, "runsIn": settings.runs_in, "transfers": transfers, "place": settings.place}
    )


def _kept_transfer(settings: Settings) -> _KeptTransfer:
    return {
        "name": settings.name,
        "priority": settings.priority,
        "begin": settings.begin,
        "dimensions": _kept_rows(settings.dimensions),
        "fields": _kept_rows(settings.fields),
        "source": {"memory": settings.source.memory, "layout": settings.source.layout},
        "destination": {"memory": settings.destination.memory, "layout": settings.destination.layout},
        "part": _kept_part(settings),
        "planner": settings.planner,
        "slotLimit": settings.slot_limit,
        "memoryLimit": settings.memory_limit,
        "byHand": shown_by_hand(settings.by_hand),
    }


def _kept_part(settings: Settings) -> _KeptPart:
    ranges = [
        {"dimension": place, "first": found.first, "extent": found.extent, "to": found.to}
        for place, row in enumerate(settings.dimensions)
        if not (found := settings.part.range_of(row.key)).is_everything
    ]
    left = [place for place, row in enumerate(settings.fields) if row.key in settings.part.left_out]
    return cast("_KeptPart", {"ranges": ranges, "leftOut": left})


def _kept_rows(rows: tuple[Row, ...]) -> list[_KeptRow]:
    return [{"name": row.name, "value": row.value, "kept": row.kept} for row in rows]


def _settings(kept: _KeptSettings) -> Settings:
    transfers = tuple(_transfer(each) for each in kept["transfers"])
    if not 1 <= len(transfers) <= MOST_TRANSFERS:
        raise FileError(f"settings.transfers: {len(transfers)} transfers; expected 1 to {MOST_TRANSFERS}")
    if not 0 <= kept["place"] < len(transfers):
        raise FileError(f"settings.place: {kept['place']}; expected 0 to {len(transfers) - 1}, the place of a transfer")
    return of_transfers(transfers, kept["place"], Settings(machine=_machine(kept["machine"]), runs_in=kept["runsIn"]))


def _transfer(kept: _KeptTransfer) -> Settings:
    dimensions, fields = _rows(kept["dimensions"], 1), _rows(kept["fields"], 1 + len(kept["dimensions"]))
    return Settings(
        name=kept["name"],
        priority=kept["priority"],
        begin=kept["begin"],
        dimensions=dimensions,
        fields=fields,
        source=End(**kept["source"]),
        destination=End(**kept["destination"]),
        part=_part(kept["part"], dimensions, fields),
        planner=kept["planner"],
        slot_limit=kept["slotLimit"],
        memory_limit=kept["memoryLimit"],
        by_hand=by_hand_of(kept["byHand"]),
    )


def _part(kept: _KeptPart, dimensions: tuple[Row, ...], fields: tuple[Row, ...]) -> Part:
    ranges = [
        Range(dimensions[each["dimension"]].key, each["first"], each["extent"], each["to"])
        for each in kept["ranges"]
        if 0 <= each["dimension"] < len(dimensions)
    ]
    return Part.of(ranges, [fields[place].key for place in kept["leftOut"] if 0 <= place < len(fields)])


def shown_by_hand(by_hand: ByHand | None) -> ShownByHand | None:
    """A path by hand as the browser and files have it."""
    if by_hand is None:
        return None
    return {"path": list(by_hand.path), "layouts": list(by_hand.layouts), "chunk": by_hand.chunk, "target": by_hand.target}


def by_hand_of(shown: ShownByHand | None) -> ByHand | None:
    """The path by hand that `shown_by_hand` wrote."""
    return None if shown is None else ByHand(tuple(shown["path"]), tuple(shown["layouts"]), shown["chunk"], shown["target"])


def _machine(kept: _KeptMachine) -> MachineChoice:
    if kept["kind"] == "preset":
        return PresetMachine(kept["name"], tuple(kept["options"].items()))
    if kept["kind"] == "measured":
        return PresetMachine(LOCAL, tuple(kept["options"].items()))
    machine = machine_from_json(kept["machine"])
    return FileMachine(machine, kept["path"]) if kept["kind"] == "file" else DescribedMachine(machine)


def _rows(kept: list[_KeptRow], first_key: int) -> tuple[Row, ...]:
    return tuple(Row(first_key + place, **row) for place, row in enumerate(kept))
