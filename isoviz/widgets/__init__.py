"""The explorer in a notebook: `isoviz.explore()`."""

from __future__ import annotations

from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.machine_choice import DescribedMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session
from isoviz.widgets.show_explorer import explore

__all__ = [
    "EXAMPLES",
    "DescribedMachine",
    "Explorer",
    "MachineChoice",
    "PresetMachine",
    "Session",
    "Settings",
    "explore",
]
