"""The registry of presets: `preset(name, **options)` creates a machine, `presets()` lists them.

The other modules of this package register the presets that are made of figures. The presets of installed packages are entry
points of the group `isoviz.presets`: the name of an entry point is that of its preset, and its object is a `PresetInfo`. This
computer and its ranks, which are measured, are such entry points of isoviz itself. The module of an entry point is imported when
presets are listed, so its import should be fast.

A machine is a frozen value, so a preset with the same options is made once.
"""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, NoReturn

from isoviz import checks
from isoviz.errors import MachineError, in_words
from isoviz.forks import Lock
from isoviz.machines.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger("isoviz")

GROUP = "isoviz.presets"
"""The group of the entry points of presets."""
MOST_KEPT = 32
"""The most machines of presets that are kept, those asked for last."""
MOST_CHANNELS = 100_000
"""The most channels of kept machines together, some 40 MB. The machine that was asked for last is always kept."""


@dataclass(frozen=True)
class PresetOption:
    """An option of a preset: its default value, a description in one line, and the allowed values if they are fixed."""

    default: object
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class PresetInfo:
    """A preset: its name, a description in one line, its options, and the function that creates it.

    `problem` says why the preset of an installed package cannot be loaded; empty for all others. `is_measured` says that the
    machine depends on more than the options, because it is measured or read from a file. Such a machine is made at every call;
    any other is made once for the same options. `str` gives the description and the options in one line.
    """

    name: str
    description: str
    options: dict[str, PresetOption]
    make: Callable[..., Machine]
    problem: str = ""
    is_measured: bool = False

    def __str__(self) -> str:
        if not self.options:
            return self.description
        options = ", ".join(f"{name}={option.default}" for name, option in self.options.items())
        return f"{self.description} (options: {options})"


_registered: dict[str, PresetInfo] = {}
_kept: OrderedDict[tuple[object, ...], tuple[PresetInfo, Machine]] = OrderedDict()
"""The machines that were made, by the name of the preset and its options, each with the preset that made it."""
_lock = Lock()


def register_preset(info: PresetInfo) -> PresetInfo:
    """Add a preset for this process, and return it. It hides a preset of an installed package that has the same name.

    A package that is installed adds its presets by entry points instead (see the module).

    Raises:
        MachineError: another preset with this name is registered.
        InputError: `info` is not a `PresetInfo`, or one of its fields is invalid.
    """
    checks.expect("register_preset", info, PresetInfo, "a PresetInfo")
    checks.text("preset", "name", info.name, spaces=False)
    checks.text("preset", "description", info.description)
    checks.expect(f"preset {info.name!r}, options", info.options, dict, "PresetOptions by name")
    for name, option in info.options.items():
        checks.expect(f"preset {info.name!r}, option {checks.show(name)}", option, PresetOption, "a PresetOption")
    checks.expect_call(f"preset {info.name!r}", info.make, "a function that returns a machine")
    if _registered.setdefault(info.name, info) != info:
        raise MachineError(f"preset {info.name!r} is registered already; expected another name")
    return info


def presets() -> dict[str, PresetInfo]:
    """The presets by name: those of installed packages, isoviz first, then the registered ones.

    A preset that cannot be loaded is in the list, too. Its description and the error of `preset` say why.
    """
    return {**_installed(tuple(sys.path)), **_registered}


def find_preset(name: object) -> PresetInfo | None:
    """The preset of this name; None if there is none."""
    if not isinstance(name, str):
        return None
    found = _registered.get(name)
    return _installed(tuple(sys.path)).get(name) if found is None else found


def preset(name: str, /, **options: Any) -> Machine:
    """The machine of this name. `presets()` lists the names and their options.

    Raises:
        MachineError: there is no such preset, it cannot be loaded, it has no such option, or a value is out of range.
        InputError: its function returns no machine.
    """
    info = find_preset(name)
    if info is None:
        _installed.cache_clear()  # its package may have been installed meanwhile
        info = find_preset(name)
    if info is None:
        raise MachineError(_unknown(name))
    if info.problem:
        raise MachineError(f"preset {name!r} {info.problem}")
    key = None if info.is_measured else _key(name, options)
    if key is not None and (made := _known(key, info)) is not None:
        return made
    for option in options:
        if option not in info.options:
            takes = f"it takes {', '.join(info.options)}" if info.options else "it takes none"
            raise MachineError(f"preset {name!r} has no option {checks.show(option)}; {takes}")
    found = info.make(**options)
    checks.expect(f"preset {name!r}", found, Machine, "a machine of its function")
    return found if key is None else _keep(key, info, found)


def _unknown(name: object) -> str:
    """That there is no such preset, and which one could be meant."""
    known = presets()
    close = get_close_matches(str(name)[: checks.NAME_LIMIT], known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    if str(name).endswith(".json"):
        hint = f"; for a machine file: isoviz.machines.load({checks.show(name)})"
    if not _installed(tuple(sys.path)):  # a folder on the path, or an installation older than these sources
        hint += "; those that are measured need isoviz installed as it is now: pip install -e ."
    return f"no preset {checks.show(name)}; there are {', '.join(known)}{hint}"


# ---- machines that were made


def _key(name: str, options: dict[str, Any]) -> tuple[object, ...] | None:
    """What a machine is kept by; None where an option is not a plain value, which may change or not be comparable.

    The types belong to it: `nodes=True` is not `nodes=1`, and is refused.
    """
    if not options:
        return (name,)
    if not all(type(value) in (str, int, bool, float, type(None)) for value in options.values()):
        return None
    return name, *[(option, type(options[option]), options[option]) for option in sorted(options)]


def _known(key: tuple[object, ...], info: PresetInfo) -> Machine | None:
    """The machine that this preset made; a preset that was registered since then under the same name makes its own."""
    with _lock:
        found = _kept.get(key)
        if found is None or found[0] is not info:
            return None
        _kept.move_to_end(key)
        return found[1]


def _keep(key: tuple[object, ...], info: PresetInfo, made: Machine) -> Machine:
    """Keep a machine, and return it; the one of another thread, if that was faster."""
    with _lock:
        found = _kept.get(key)
        if found is not None and found[0] is info:
            return found[1]
        _kept[key] = info, made
        _kept.move_to_end(key)
        channels = sum(len(machine.channels) for _, machine in _kept.values())
        while len(_kept) > MOST_KEPT or (channels > MOST_CHANNELS and len(_kept) > 1):
            _, (_, oldest) = _kept.popitem(last=False)
            channels -= len(oldest.channels)
        return made


# ---- presets of installed packages


@lru_cache(maxsize=4)
def _installed(path: tuple[str, ...]) -> dict[str, PresetInfo]:  # noqa: ARG001  # what Python imports from decides
    """The presets of installed packages. Those of isoviz come first; of two with one name, the first counts."""
    found: dict[str, PresetInfo] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: not entry.value.startswith("isoviz.")):
        if entry.name in found or entry.name in _registered:
            _LOG.warning("the preset %r of %s is left out: another one has its name", entry.name, _package(entry))
        else:
            found[entry.name] = _loaded(entry)
    return found


def _loaded(entry: EntryPoint) -> PresetInfo:
    try:
        info = entry.load()
    except Exception as error:  # noqa: BLE001  # code of other packages: it must not hide all other presets
        _LOG.debug("the preset %r cannot be loaded", entry.name, exc_info=True)
        problem = in_words(error)
    else:
        if isinstance(info, PresetInfo) and info.name == entry.name:
            return info
        found = f"one with the name {checks.show(info.name)}" if isinstance(info, PresetInfo) else checks.show(info)
        problem = f"expected a PresetInfo with this name, got {found}"
    problem = f"of {_package(entry)} ({entry.value}) cannot be loaded: {problem}"
    return PresetInfo(entry.name, problem, {}, _nothing, problem)


def _nothing() -> NoReturn:
    raise AssertionError("a preset with a problem is never made")


def _package(entry: EntryPoint) -> str:
    return "a package" if entry.dist is None else f"the package {entry.dist.name} {entry.dist.version}"
