"""All panes of the explorer and all of its views: every module of this folder called `<name>_pane` is loaded."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import MappingProxyType

from isoviz.widgets import panes
from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.panes.pane import registered_panes, registered_views

for _module in pkgutil.iter_modules(panes.__path__):
    if _module.name.endswith("_pane"):
        import_module(f"{panes.__name__}.{_module.name}")

PANES = MappingProxyType(dict(sorted(registered_panes.items())))
"""Panes by name."""
VIEWS = MappingProxyType({"explorer": EVERYTHING, **dict(sorted(registered_views.items()))})
"""The stages that a view demands, by the name of the view; "explorer" is the whole of it."""
