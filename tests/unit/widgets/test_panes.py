"""Panes register themselves: one module, and the widget has the trait, the view and the type for the browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isoviz.errors import InternalError
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.panes.pane_table import PANES

DEMO = """
from typing import TypedDict
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State

class DemoPart(TypedDict):
    dimensions: int

@pane("demo", "how many dimensions there are", {"demo-view": LAYOUTS})
def demo_part(state: State) -> DemoPart:
    return {"dimensions": len(state.settings.dimensions)}
"""
LOOK = """
import sys
from isoviz.widgets import panes
panes.__path__.append(sys.argv[1])
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.chosen.settings import Settings
explorer = Explorer(Settings(), pane="demo-view")
explorer.session.wait()
print(explorer.part_demo, explorer.has_trait("part_demo"), explorer.trait_metadata("part_demo", "sync"))
explorer.close()
"""


def test_a_module_beside_the_others_is_a_pane(tmp_path: Path) -> None:
    (tmp_path / "demo_pane.py").write_text(DEMO)
    done = subprocess.run([sys.executable, "-c", LOOK, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "{'dimensions': 2} True True\n", done.stderr


def test_two_panes_or_views_of_one_name_are_a_mistake() -> None:
    assert "plan" in PANES
    with pytest.raises(InternalError, match="another pane or view called 'plan'"):
        pane("plan", "")(lambda _: None)
    with pytest.raises(InternalError, match="another pane or view called 'timeline'"):
        pane("other", "", {"timeline": ()})(lambda _: None)
