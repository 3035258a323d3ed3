"""The machine of a choice, made once in a process, and memories that take the place of those that it lacks.

This computer is measured in the background: until then its machine has assumed figures, which its provenance says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from isoviz.errors import IsovizError
from isoviz.forks import Lock
from isoviz.machines.presets import preset
from isoviz.widgets.chosen.machine_choice import DescribedMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine

NOT_YET = "assumed, until this computer has been measured"
"""The provenance of figures that are planned on while the first measurement is under way."""

_local_machines: dict[tuple[object, ...], Machine] = {}
"""This computer as measured, by its choice and the number of the measurement: explorers share it."""
MOST_DIRECTORIES = 8
"""The most directories for which this computer is kept."""
_lock = Lock()


class MachineVersion(NamedTuple):
    """One version of the chosen machine. Figures improve from version to version, as from assumed to measured ones.

    `step` names the work for the next version, "" for the last version. `machine` is None if the choice has a mistake.
    """

    machine: Machine | None
    step: str


def machine_versions(choice: MachineChoice, measurement: int, problems: dict[str, Problem]) -> Iterator[MachineVersion]:
    """The versions of the chosen machine. The explorer plans on each version and shows it while the next one is made.

    `measurement` counts the measurements of this computer that users have requested, in all sessions. If the latest one has not
    been made, it is made; 0 accepts earlier figures. Mistakes in the choice go into `problems`, by control.
    """
    if isinstance(choice, DescribedMachine):
        yield MachineVersion(choice.machine, "")
        return
    options = _options_of(choice, problems)
    try:
        if options is not None and choice.is_this_computer and (measurement or options.get("measure") != "assumed"):
            yield from _this_computer(choice, measurement, options)
        else:
            yield MachineVersion(None if options is None else preset(choice.name, **options), "")
    except IsovizError as error:
        named = [name for name, _ in choice.options if f", {name}: " in str(error)]
        problems[f"machine-option:{named[0]}" if named else "machine"] = Problem.of(error)
        yield MachineVersion(None, "")


def machine_at_once(choice: PresetMachine) -> Machine | None:
    """The machine of a choice without a wait: a preset is made, this computer is returned only if it has been measured.

    Raises:
        MachineError: there is no such preset, or an option cannot be.
    """
    with _lock:
        found = next((machine for key, machine in _local_machines.items() if key[: len(choice.key())] == choice.key()), None)
    if found is not None or choice.is_this_computer:
        return found
    options = _options_of(choice, {})
    return None if options is None else preset(choice.name, **options)


def with_joined_ends(settings: Settings, given: frozenset[str] = frozenset()) -> Settings:
    """The settings with ends between which their machine can move something, where the present ones are not.

    The ends in `given` ("source", "destination") stay. Of the others, the first memories of the machine are taken that a path
    joins; the settings stay as they are where there are none, and where the machine is not there yet.
    """
    ends = {side: settings.end(side).memory for side in get_args(Side)}
    try:
        choice = settings.machine
        machine = choice.machine if isinstance(choice, DescribedMachine) else machine_at_once(choice)
    except IsovizError:  # there is no such preset, which is told where it is planned
        return settings
    if machine is None or _joins(machine, ends["source"], ends["destination"]):
        return settings
    names = [memory.name for memory in machine.memories]
    kept = [{side: [ends[side]] if side in stays else names for side in ends} for stays in ({*given, "source"}, given)]
    pairs = ((source, destination) for each in kept for source in each["source"] for destination in each["destination"])
    found = next((pair for pair in pairs if pair[0] != pair[1] and _joins(machine, *pair)), None)
    for side, memory in zip(get_args(Side), found or (), strict=False):
        settings = settings.with_end(side, replace(settings.end(side), memory=memory))
    return settings


def _joins(machine: Machine, source: str, destination: str) -> bool:
    """Whether data can go from one memory of a machine to another."""
    from isoviz.machines import shortest_path

    try:
        return bool(shortest_path(machine, source, destination)) or source == destination
    except IsovizError:
        return False


def measure_again(progress: Callable[[str], None], directory: str | Path | None = None) -> Machine:
    """Measure this computer and wait for the end. `progress` gets the present step in words, such as "disk, 40 %".

    It joins a measurement under way. The figures are kept, and all later plans of this computer use them.

    Raises:
        MachineError: there is no such directory.
        RunError: it failed, or was cancelled (`cancel_measuring`).
    """
    from isoviz.errors import RunError
    from isoviz.measure.local_machine import checked_directory, measuring

    place = checked_directory(directory)
    run = measuring(place)
    for step in run.steps():
        progress(step)
    if run.found is None:
        raise RunError(run.error)
    return run.found


def cancel_measuring() -> bool:
    """Cancel what is being measured; whether there was something. Machines keep the figures that they had."""
    from isoviz.measure.local_machine import cancel_all

    return cancel_all()


def _this_computer(choice: PresetMachine, measurement: int, options: dict[str, Any]) -> Iterator[MachineVersion]:
    """The versions of this computer: with kept figures if there are any, else with assumed and then with measured ones."""
    from isoviz.measure.assumed_host import described
    from isoviz.measure.local_machine import MEASURE, checked_directory, kept_machine, measuring

    key = (*choice.key(), measurement)
    with _lock:
        made = _local_machines.get(key)
    if made is None and options.get("measure", MEASURE[0]) not in MEASURE:
        made = preset(choice.name, **options)  # raises: it knows the words
    if made is not None:
        yield MachineVersion(made, "")
        return
    place = checked_directory(options.get("directory"))
    kept = kept_machine(place)
    if kept is None or measurement or options.get("measure") == "fresh":
        until = described(place, NOT_YET) if kept is None else kept
        run = measuring(place)
        for step in run.steps():
            yield MachineVersion(until, f"Measuring this computer: {step}")
        if run.found is not None:
            kept = run.found
            with _lock:  # older figures of this computer are over for everybody
                for other in [other for other in _local_machines if other[0] == choice.name]:
                    del _local_machines[other]
        elif kept is None:
            kept = described(place, f"assumed: {run.error}")
    with _lock:
        _local_machines[key] = kept
        while len(_local_machines) > MOST_DIRECTORIES:
            del _local_machines[next(iter(_local_machines))]
    yield MachineVersion(kept, "")


def _options_of(choice: PresetMachine, problems: dict[str, Problem]) -> dict[str, Any] | None:
    """The options of the preset as it takes them: numbers where its defaults are numbers; left empty, they are the defaults."""
    from isoviz.machines import presets

    preset_info = presets().get(choice.name)
    options: dict[str, Any] = {}
    for name, text in choice.options:
        if not text.strip():
            continue
        default = preset_info.options[name].default if preset_info is not None and name in preset_info.options else None
        if isinstance(default, int) and not re.fullmatch("[0-9]{1,9}", text.strip()):
            problems[f"machine-option:{name}"] = Problem(f"{text!r} cannot be; expected a whole number such as {default}")
            return None
        options[name] = int(text) if isinstance(default, int) else text.strip()
    return options


def corrections(old: Machine | None, new: Machine, settings: Settings) -> dict[str, str]:
    """Memories to choose instead of those of any transfer that another preset does not have, by the name of the absent one.

    With a described machine nothing is changed: its author named the memories, and is told which of those chosen it lacks.
    """
    if old is None or old.name == new.name or isinstance(settings.machine, DescribedMachine):
        return {}
    memory_names = {memory.name for memory in new.memories}
    ends = [transfer.end(side).memory for transfer in (settings, *settings.beside) for side in get_args(Side)]
    return {name: nearest_memory(name, old, new) for name in dict.fromkeys(ends) if name not in memory_names}


def nearest_memory(name: str, old: Machine | None, new: Machine) -> str:
    """The memory of `new` that is most like a memory of `old`: of the same kind, else host memory, else the first."""
    kinds = {memory.name: memory.kind for memory in (old.memories if old is not None else ())}
    for kind in (kinds.get(name), "SYS"):
        for memory in new.memories:
            if kind is not None and str(memory.kind) == str(kind):
                return memory.name
    return new.memories[0].name
