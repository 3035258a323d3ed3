"""All panes of the explorer and all of its views: every module of this folder called `<name>_pane` is loaded."""

from __future__ import annotations

from types import MappingProxyType

from isoviz.found_modules import modules_of
from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.panes.pane import registered_panes, registered_views

modules_of("isoviz.widgets.panes", ending="_pane")

PANES = MappingProxyType(dict(sorted(registered_panes.items())))
"""Panes by name."""
VIEWS = MappingProxyType({"explorer": EVERYTHING, **dict(sorted(registered_views.items()))})
"""The stages that a view demands, by the name of the view; "explorer" is the whole of it."""
