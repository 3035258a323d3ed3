"""The explorer in a notebook, `isoviz.explore()`, and its panes alone."""

from __future__ import annotations

from isoviz.widgets.alone import Entry, LayoutEditor, LinearizationView
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.machine_choice import DescribedMachine, FileMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.selection import Selection
from isoviz.widgets.chosen.session_file import settings_in
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session
from isoviz.widgets.show_explorer import explore

__all__ = [
    "EXAMPLES",
    "DescribedMachine",
    "Entry",
    "Explorer",
    "FileMachine",
    "LayoutEditor",
    "LinearizationView",
    "MachineChoice",
    "PresetMachine",
    "Selection",
    "Session",
    "Settings",
    "explore",
    "settings_in",
]
