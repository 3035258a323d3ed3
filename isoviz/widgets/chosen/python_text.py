"""The Python that recreates settings: `isoviz.explore(…)` with the arguments that differ from where it begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from isoviz.errors import InputError, IsovizError
from isoviz.machines import load, machine_to_json
from isoviz.schema import format_json
from isoviz.widgets.chosen.examples import EXAMPLES, OPENING
from isoviz.widgets.chosen.machine_choice import FileMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.session_file import session_text
from isoviz.widgets.chosen.settings import ByHand, PathShare, Settings, TextSettings, TransferSettings, settings_for

T = TypeVar("T", bound=TransferSettings)

WIDTH = 100
"""Characters of a line."""
_NUMBERS = ("machine_options", "space", "part")
"""Arguments whose texts may be numbers."""


def python_text(settings: Settings) -> str:
    """The shortest Python that shows an explorer with these settings.

    It begins from the defaults or from an example, whichever takes less. What no arguments can say, such as two dimensions of one
    name, is recreated from the text of a session file.
    """
    texts = [text for example in (None, *EXAMPLES) if (text := _from(example, settings)) is not None]
    return min(texts, key=len) if texts else _from_session(settings)


def same_settings(one: Settings, other: Settings) -> bool:
    """Whether two settings are equal but for the keys of their rows."""
    return _without_keys(one) == _without_keys(other)


def _same_rows(transfer: T) -> T:
    return replace(transfer.with_row_keys(range(len(transfer.dimensions)), range(len(transfer.fields))), key=0)


def _without_keys(settings: Settings) -> Settings:
    """The settings with places as keys of rows, and the options of the machine in order."""
    machine = settings.machine
    if isinstance(machine, PresetMachine):
        machine = replace(machine, options=tuple(sorted(machine.options)))
    return replace(_same_rows(settings), machine=machine, beside=tuple(map(_same_rows, settings.beside)))


def _from(example: str | None, settings: Settings) -> str | None:
    """The text that begins from an example (None: from the defaults); None where arguments cannot say it."""
    start = Settings() if example is None else EXAMPLES[example].settings
    given: dict[str, Any] = {
        "machine": settings.machine.name if isinstance(settings.machine, PresetMachine) else settings.machine,
        "machine_options": dict(settings.machine.options) if isinstance(settings.machine, PresetMachine) else {},
        "space": {row.name: row.value for row in settings.dimensions},
        "fields": {row.name: row.value for row in settings.fields},
        "source": (settings.source.memory, settings.source.layout),
        "destination": (settings.destination.memory, settings.destination.layout),
        "part": {
            row.name: (found.first, found.extent, found.to)
            for row in settings.dimensions
            if not (found := settings.part.range_of(row.key)).is_everything
        },
        "moved_fields": None
        if not settings.part.left_out
        else tuple(row.name for row in settings.fields if row.key not in settings.part.left_out),
        "by_hand": settings.by_hand,
        **{name: getattr(settings, name) for name in TextSettings.__annotations__},
    }
    if not isinstance(settings.machine, PresetMachine):
        del given["machine_options"]
    if example is None and same_settings(settings, OPENING):
        return "import isoviz\n\nexplorer = isoviz.explore()\n"
    if not _says(given, start, settings):
        return None
    for name in tuple(given):
        fewer = {other: value for other, value in given.items() if other != name}
        if _says(fewer, start, settings):
            given = fewer
    if example is None and not given:
        return None  # without arguments, the explorer begins with another example
    more, machine = _machine_text(settings.machine) if "machine" in given else ("", "")
    written = [] if example is None else [f"example={quoted(example)}"]
    written += [f"{name}={machine if name == 'machine' else _value(name, value)}" for name, value in given.items()]
    if isinstance(given.get("by_hand"), ByHand):
        kinds = "ByHand, PathShare" if given["by_hand"].paths else "ByHand"
        more = f"\nfrom isoviz.widgets import {kinds}\n{more}"
    return f"import isoviz\n{more}\n{_call('explorer = isoviz.explore', written)}\n"


def _says(given: dict[str, Any], start: Settings, settings: Settings) -> bool:
    """Whether arguments lead to these settings."""
    try:
        return same_settings(settings_for(**given, start=start), settings)
    except InputError:
        return False  # a part of a dimension that the other arguments do not have


def _machine_text(choice: MachineChoice) -> tuple[str, str]:
    """Lines that make a machine, and the expression that stands for it."""
    if isinstance(choice, PresetMachine):
        return "", quoted(choice.name)
    if isinstance(choice, FileMachine) and _is_in_file(choice):
        return "from pathlib import Path\n", f"Path({quoted(choice.path)})"
    described = f'"""{_in_triple_quotes(format_json(machine_to_json(choice.machine)))}"""'
    lines = f"import json\n\nmachine = isoviz.machines.machine_from_json(json.loads({described}))\n"
    if isinstance(choice, FileMachine):
        made = f"FileMachine(machine, {quoted(choice.path)})"
        return lines.replace("import json\n", "import json\n\nfrom isoviz.widgets import FileMachine\n"), made
    return lines, "machine"


def _is_in_file(choice: FileMachine) -> bool:
    """Whether the file is there and describes the same machine."""
    if str(Path(choice.path)) != choice.path:
        return False
    try:
        return load(choice.path) == choice.machine
    except (IsovizError, ValueError, UserWarning):
        return False


def _from_session(settings: Settings) -> str:
    """The text that recreates settings from the text of a session file."""
    text = _in_triple_quotes(session_text(settings))
    return (
        "from isoviz.widgets import Explorer, settings_in\n\n"
        f'explorer = Explorer(settings_in("""{text}""", "session"))\nexplorer.show()\n'
    )


def _in_triple_quotes(text: str) -> str:
    """Text that stands between triple quotes for itself."""
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def _value(name: str, value: Any) -> str:
    if isinstance(value, ByHand):
        return _by_hand_text(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{quoted(key)}: {_value(name, each)}' for key, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(_value(name, each) for each in value)}{',' * (len(value) == 1)})"
    return _number_or_text(value) if name in _NUMBERS else quoted(value)


def _by_hand_text(by_hand: ByHand) -> str:
    """A path by hand as Python writes it."""
    if by_hand.paths:
        name = f", name={quoted(by_hand.name)}" if by_hand.name else ""
        return f"ByHand(paths=({', '.join(map(_path_share_text, by_hand.paths))}{',' * (len(by_hand.paths) == 1)}){name})"
    arguments = [f"{_tuple_text(by_hand.path)}", f"{_tuple_text(by_hand.layouts)}"]
    arguments += [f"chunk={quoted(by_hand.chunk)}"] if by_hand.chunk else []
    arguments += [f"target={by_hand.target!r}"] if by_hand.target is not None else []
    arguments += [f"name={quoted(by_hand.name)}"] if by_hand.name else []
    return f"ByHand({', '.join(arguments)})"


def _path_share_text(path: PathShare) -> str:
    chunk = f", chunk={quoted(path.chunk)}" if path.chunk else ""
    return f"PathShare({path.share!r}, {_tuple_text(path.path)}, {_tuple_text(path.layouts)}{chunk})"


def _tuple_text(texts: tuple[str, ...]) -> str:
    return f"({', '.join(map(quoted, texts))}{',' if len(texts) == 1 else ''})"


def _number_or_text(text: str) -> str:
    """A size as a number where it is written as one."""
    return text if re.fullmatch("0|[1-9][0-9]{0,18}", text) else quoted(text)


def _call(function: str, written: list[str]) -> str:
    line = f"{function}({', '.join(written)})"
    return line if len(line) <= WIDTH else "\n".join([f"{function}(", *(f"    {argument}," for argument in written), ")"])


def quoted(text: str) -> str:
    """A text as Python writes it, in double quotes where it has none of its own."""
    return repr(text) if '"' in text else f'"{repr(chr(39) + text)[2:]}'
