"""The machine of a choice, made once in a process, and memories that take the place of those that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from isoviz.errors import IsovizError
from isoviz.forks import Lock, in_child
from isoviz.widgets.chosen.machine_choice import LOCAL, DescribedMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine

_made: dict[tuple[object, ...], Future[Machine]] = {}
"""Presets by their choice: this computer is measured once, even where several explorers ask."""
_lock = Lock()
in_child(_made.clear)  # those in the making would never be made there


class Making(NamedTuple):
    """A machine on the way to that of a choice.

    `step` says in words what is being done for a better one; "" where this is the last. `machine` is None where there is none yet,
    or, with the last, where there is none at all: a problem says why.
    """

    machine: Machine | None
    step: str


def makings(choice: MachineChoice, measurement: int, problems: dict[str, Problem]) -> Iterator[Making]:
    """The machine of a choice, better and better: each one is planned on and shown while the next is being made.

    `measurement` is the measurement of this computer that was asked for last: it is taken afresh where it has not been yet (0: what
    was measured earlier will do). Problems of the last machine are noted at their controls.
    """
    if isinstance(choice, DescribedMachine):
        yield Making(choice.machine, "")
        return
    if is_slow(choice, measurement):
        yield Making(None, "Measuring this computer")
    yield Making(_preset_machine(choice, measurement, problems), "")


def is_slow(choice: PresetMachine, measurement: int) -> bool:
    """Whether the machine has yet to be measured."""
    if not choice.is_this_computer:
        return False
    with _lock:
        found = _made.get((*choice.key(), measurement))
    return found is None or not found.done()


def _preset_machine(choice: PresetMachine, measurement: int, problems: dict[str, Problem]) -> Machine | None:
    """A preset is made once: a thread that asks while it is being made waits for the same one."""
    from isoviz.machines import preset

    options = _options_of(choice, problems)
    if options is None:
        return None
    if measurement and choice.is_this_computer:
        options["measure"] = "fresh"
    key = (*choice.key(), measurement if choice.is_this_computer else 0)
    with _lock:
        is_first = key not in _made
        future = _made.setdefault(key, Future())
    if is_first:
        try:
            future.set_result(preset(choice.name, **options))
        except Exception as error:  # noqa: BLE001 - a thread that waits for the same machine has to hear of it too
            with _lock:
                del _made[key]
            future.set_exception(error)
    try:
        return future.result()
    except IsovizError as error:
        named = [name for name, _ in choice.options if f", {name}: " in str(error)]
        problems[f"machine-option:{named[0]}" if named else "machine"] = Problem.of(error)
        return None


def _options_of(choice: PresetMachine, problems: dict[str, Problem]) -> dict[str, Any] | None:
    """The options of the preset as it takes them: numbers where its defaults are numbers; left empty, they are the defaults."""
    from isoviz.machines import presets

    known = presets().get(choice.name)
    options: dict[str, Any] = {}
    for name, text in choice.options:
        if not text.strip():
            continue
        default = known.options[name].default if known is not None and name in known.options else None
        if isinstance(default, int) and not re.fullmatch("[0-9]{1,9}", text.strip()):
            problems[f"machine-option:{name}"] = Problem(f"{text!r} cannot be; expected a whole number such as {default}")
            return None
        options[name] = int(text) if isinstance(default, int) else text.strip()
    return options


def corrections(old: Machine | None, new: Machine, settings: Settings) -> dict[str, str]:
    """Memories to choose instead of those that another preset does not have, by control.

    With a described machine nothing is changed: its author named the memories, and is told which of those chosen it lacks.
    """
    if old is None or old.name == new.name or isinstance(settings.machine, DescribedMachine):
        return {}
    found = {}
    for side in get_args(Side):
        name = settings.end(side).memory
        if name not in {memory.name for memory in new.memories}:
            found[f"{side}-memory"] = nearest_memory(name, old, new)
    return found


def nearest_memory(name: str, old: Machine | None, new: Machine) -> str:
    """The memory of `new` that is most like a memory of `old`: of the same kind, else host memory, else the first."""
    kinds = {memory.name: memory.kind for memory in (old.memories if old is not None else ())}
    for kind in (kinds.get(name), "SYS"):
        for memory in new.memories:
            if kind is not None and str(memory.kind) == str(kind):
                return memory.name
    return new.memories[0].name
