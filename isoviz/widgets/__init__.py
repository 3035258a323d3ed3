"""The explorer in a notebook, `isoviz.explore()`, and its panes alone.

Every name is loaded where it is first used: pages (`isoviz.widgets.pages`) are written without the packages of a notebook.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.widgets.chosen.examples import EXAMPLES as EXAMPLES
    from isoviz.widgets.chosen.machine_choice import DescribedMachine as DescribedMachine
    from isoviz.widgets.chosen.machine_choice import FileMachine as FileMachine
    from isoviz.widgets.chosen.machine_choice import MachineChoice as MachineChoice
    from isoviz.widgets.chosen.machine_choice import PresetMachine as PresetMachine
    from isoviz.widgets.chosen.selection import Selection as Selection
    from isoviz.widgets.chosen.session_file import settings_in as settings_in
    from isoviz.widgets.chosen.settings import ByHand as ByHand
    from isoviz.widgets.chosen.settings import PathShare as PathShare
    from isoviz.widgets.chosen.settings import Settings as Settings
    from isoviz.widgets.explorer import Explorer as Explorer
    from isoviz.widgets.session import Session as Session
    from isoviz.widgets.show_explorer import explore as explore
    from isoviz.widgets.views.layout_views import Entry as Entry
    from isoviz.widgets.views.layout_views import LayoutEditor as LayoutEditor
    from isoviz.widgets.views.layout_views import LinearizationView as LinearizationView
    from isoviz.widgets.views.machine_editor import MachineEditor as MachineEditor
    from isoviz.widgets.views.plan_view import PlanView as PlanView
    from isoviz.widgets.views.run_panel import RunPanel as RunPanel
    from isoviz.widgets.views.switch_view import SwitchView as SwitchView
    from isoviz.widgets.views.trace_view import TraceView as TraceView

# name → the module that holds it
_HOMES = {
    "EXAMPLES": "isoviz.widgets.chosen.examples",
    "ByHand": "isoviz.widgets.chosen.settings",
    "DescribedMachine": "isoviz.widgets.chosen.machine_choice",
    "Entry": "isoviz.widgets.views.layout_views",
    "Explorer": "isoviz.widgets.explorer",
    "FileMachine": "isoviz.widgets.chosen.machine_choice",
    "LayoutEditor": "isoviz.widgets.views.layout_views",
    "LinearizationView": "isoviz.widgets.views.layout_views",
    "MachineChoice": "isoviz.widgets.chosen.machine_choice",
    "MachineEditor": "isoviz.widgets.views.machine_editor",
    "PlanView": "isoviz.widgets.views.plan_view",
    "PathShare": "isoviz.widgets.chosen.settings",
    "PresetMachine": "isoviz.widgets.chosen.machine_choice",
    "RunPanel": "isoviz.widgets.views.run_panel",
    "Selection": "isoviz.widgets.chosen.selection",
    "Session": "isoviz.widgets.session",
    "Settings": "isoviz.widgets.chosen.settings",
    "SwitchView": "isoviz.widgets.views.switch_view",
    "TraceView": "isoviz.widgets.views.trace_view",
    "explore": "isoviz.widgets.show_explorer",
    "settings_in": "isoviz.widgets.chosen.session_file",
}

__all__ = [
    "EXAMPLES",
    "ByHand",
    "DescribedMachine",
    "Entry",
    "Explorer",
    "FileMachine",
    "LayoutEditor",
    "LinearizationView",
    "MachineChoice",
    "MachineEditor",
    "PathShare",
    "PlanView",
    "PresetMachine",
    "RunPanel",
    "Selection",
    "Session",
    "Settings",
    "SwitchView",
    "TraceView",
    "explore",
    "settings_in",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
