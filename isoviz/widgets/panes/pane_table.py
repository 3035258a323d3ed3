"""The table of panes: what each adds to the snapshot.

To add a pane on this side, write one module beside this one, and one entry here:

1. `panes/<name>_pane.py` has a typed dictionary with what the browser needs (numbers, not words) and a function
   `<name>_part(state)` that returns it, or None where there is nothing to show yet. The browser's types are generated from its
   return type. It must be quick, for it is called with every snapshot: cache what costs.
2. The entry `"<name>": <name>_part` below.

Then run `python widgets/generate.py`, and add the other half: one file and one entry in `widgets/src/panes/pane-table.tsx`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isoviz.widgets.panes.layout_pane import layout_part
from isoviz.widgets.panes.machine_pane import machine_part
from isoviz.widgets.panes.plan_pane import plan_part
from isoviz.widgets.panes.run_pane import run_part
from isoviz.widgets.panes.trace_pane import trace_part
from isoviz.widgets.panes.transfers_pane import transfers_part
from isoviz.widgets.panes.what_if_pane import what_if_part
from isoviz.widgets.panes.why_pane import hand_part, why_part
from isoviz.widgets.state import State

PANES: dict[str, Callable[[State], Mapping[str, object] | None]] = {
    "run": run_part,
    "layout": layout_part,
    "plan": plan_part,
    "machine": machine_part,
    "trace": trace_part,
    "why": why_part,
    "what_if": what_if_part,
    "hand": hand_part,
    "transfers": transfers_part,
}
"""Panes by name, in the order in which the whole explorer shows them."""
