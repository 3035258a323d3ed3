"""The choices of the menus of the explorer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.contract import MachineOption, MenuEntry, Menus
from isoviz.widgets.remembered import Remembered

if TYPE_CHECKING:
    from isoviz.machines import Machine, PresetOption

DTYPES = (
    "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "complex64", "complex128", "bool", "S8", "datetime64[ns]",
)  # fmt: skip


NO_MENUS: Menus = {"machines": [], "memories": [], "dtypes": [], "planners": [], "examples": []}
"""For views of layouts alone, which offer none."""
_remembered: Remembered[Menus] = Remembered()


def menus(machine: Machine | None) -> Menus:
    """What can be chosen, by control; memories are those of the machine."""
    from isoviz.machines import presets
    from isoviz.planner import PLANNERS

    fixed, planners = _fixed(tuple(presets())), _planners(tuple(PLANNERS.items()))
    return _remembered.of(lambda: _menus(machine, fixed, planners), machine, fixed, planners)


def _menus(machine: Machine | None, fixed: Menus, planners: list[MenuEntry]) -> Menus:
    memories: list[MenuEntry] = [] if machine is None else [
        {
            "name": memory.name,
            "title": memory.name,
            "about": memory.kind.words + (", emulated" if memory.emulated else ""),
        }
        for memory in machine.memories
    ]  # fmt: skip
    return {**fixed, "memories": memories, "planners": planners}


@lru_cache(maxsize=1)
def _planners(known: tuple[tuple[str, str], ...]) -> list[MenuEntry]:
    return [{"name": name, "title": name, "about": about} for name, about in known]


@lru_cache(maxsize=1)
def _fixed(names: tuple[str, ...]) -> Menus:
    """What can be chosen on any machine. `names` are those of all presets: packages and notebooks add some at any time."""
    from isoviz.machines import presets

    known = presets()
    return {
        "machines": [
            {
                "name": name,
                "title": name,
                "about": info.description,
                "options": [_option(option_name, option) for option_name, option in info.options.items()],
            }
            for name, info in ((name, known[name]) for name in names)
        ],
        "memories": [],
        "dtypes": list(DTYPES),
        "planners": [],
        "examples": [{"name": name, "title": example.title, "about": ""} for name, example in EXAMPLES.items()],
    }


def _option(name: str, option: PresetOption) -> MachineOption:
    number = isinstance(option.default, int) and not isinstance(option.default, bool)
    return {
        "name": name,
        "value": "" if option.default is None else str(option.default),
        "title": option.description,
        "kind": "choice" if option.choices else "number" if number else "text",
        "choices": list(option.choices),
    }
