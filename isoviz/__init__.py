"""Plan, show and run data transfers between the memories of a machine and between data layouts.

    >>> import isoviz
    >>> isoviz.relayout(array, "<F, x, y>", "<F, y, x>")  # an array in memory
    >>> space, fields = isoviz.IndexSpace(x=4096, y=4096), isoviz.FieldSpace(re="float32", im="float32")
    >>> transfer = isoviz.Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    >>> plan = isoviz.plan(transfer, "two-node")
    >>> plan.explain(), plan.simulate()
    >>> isoviz.PlanView(plan)

Every name is loaded where it is first used: `import isoviz` itself loads nothing but this file.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from isoviz._version import __version__

if TYPE_CHECKING:
    from isoviz import errors as errors
    from isoviz import machines as machines
    from isoviz import rma as rma
    from isoviz import vortex as vortex
    from isoviz.conversion.convert import convert as convert
    from isoviz.conversion.relayout import relayout as relayout
    from isoviz.launch.probe import probe as probe
    from isoviz.launch.ranks import Ranks as Ranks
    from isoviz.launch.ranks import ranks as ranks
    from isoviz.layouts import Box as Box
    from isoviz.layouts import FieldSpace as FieldSpace
    from isoviz.layouts import IndexSpace as IndexSpace
    from isoviz.layouts import Layout as Layout
    from isoviz.machines import Machine as Machine
    from isoviz.machines.presets import preset as preset
    from isoviz.machines.presets import presets as presets
    from isoviz.measure.local_engine import Engine as Engine
    from isoviz.measure.local_engine import measure_layouts as measure_layouts
    from isoviz.measure.local_engine import run as run
    from isoviz.measure.trial import trial as trial
    from isoviz.measure.trial import try_out as try_out
    from isoviz.planner import Bundle as Bundle
    from isoviz.planner import Instance as Instance
    from isoviz.planner import Options as Options
    from isoviz.planner import Plan as Plan
    from isoviz.planner import Transfer as Transfer
    from isoviz.planner import Use as Use
    from isoviz.planner import bundle as bundle
    from isoviz.planner import cost as cost
    from isoviz.planner import explain as explain
    from isoviz.planner import find_layout as find_layout
    from isoviz.planner import plan_by_path as plan_by_path
    from isoviz.planner import rest as rest
    from isoviz.planner import sweep as sweep
    from isoviz.planner.planners import plan as plan
    from isoviz.redistribution import DistributedInstance as DistributedInstance
    from isoviz.redistribution import Distribution as Distribution
    from isoviz.redistribution import plan_redistribution as plan_redistribution
    from isoviz.redistribution.redistribute import prepare_redistribution as prepare_redistribution
    from isoviz.redistribution.redistribute import redistribute as redistribute
    from isoviz.runtime import Report as Report
    from isoviz.runtime import Simulator as Simulator
    from isoviz.runtime import Trace as Trace
    from isoviz.runtime import simulate as simulate
    from isoviz.widgets import LayoutEditor as LayoutEditor
    from isoviz.widgets import LinearizationView as LinearizationView
    from isoviz.widgets import MachineEditor as MachineEditor
    from isoviz.widgets import PlanView as PlanView
    from isoviz.widgets import RunPanel as RunPanel
    from isoviz.widgets import SwitchView as SwitchView
    from isoviz.widgets import TraceView as TraceView
    from isoviz.widgets import explore as explore

# name → the module that holds it; None: the name is a module of its own
_HOMES: dict[str, str | None] = {
    "Box": "isoviz.layouts",
    "Bundle": "isoviz.planner",
    "DistributedInstance": "isoviz.redistribution",
    "Distribution": "isoviz.redistribution",
    "Engine": "isoviz.measure.local_engine",
    "FieldSpace": "isoviz.layouts",
    "IndexSpace": "isoviz.layouts",
    "Instance": "isoviz.planner",
    "Layout": "isoviz.layouts",
    "LayoutEditor": "isoviz.widgets",
    "LinearizationView": "isoviz.widgets",
    "Machine": "isoviz.machines",
    "MachineEditor": "isoviz.widgets",
    "PlanView": "isoviz.widgets",
    "Options": "isoviz.planner",
    "Plan": "isoviz.planner",
    "Ranks": "isoviz.launch.ranks",
    "Report": "isoviz.runtime",
    "RunPanel": "isoviz.widgets",
    "Simulator": "isoviz.runtime",
    "SwitchView": "isoviz.widgets",
    "Trace": "isoviz.runtime",
    "TraceView": "isoviz.widgets",
    "Transfer": "isoviz.planner",
    "Use": "isoviz.planner",
    "bundle": "isoviz.planner",
    "convert": "isoviz.conversion.convert",
    "cost": "isoviz.planner",
    "errors": None,
    "explain": "isoviz.planner",
    "explore": "isoviz.widgets",
    "find_layout": "isoviz.planner",
    "machines": None,
    "measure_layouts": "isoviz.measure.local_engine",
    "plan": "isoviz.planner",
    "plan_by_path": "isoviz.planner",
    "plan_redistribution": "isoviz.redistribution",
    "prepare_redistribution": "isoviz.redistribution.redistribute",
    "preset": "isoviz.machines",
    "presets": "isoviz.machines",
    "probe": "isoviz.launch.probe",
    "redistribute": "isoviz.redistribution.redistribute",
    "ranks": "isoviz.launch.ranks",
    "relayout": "isoviz.conversion.relayout",
    "rest": "isoviz.planner",
    "rma": None,
    "run": "isoviz.measure.local_engine",
    "simulate": "isoviz.runtime",
    "sweep": "isoviz.planner",
    "trial": "isoviz.measure.trial",
    "try_out": "isoviz.measure.trial",
    "vortex": None,
}

__all__ = [
    "Box",
    "Bundle",
    "DistributedInstance",
    "Distribution",
    "Engine",
    "FieldSpace",
    "IndexSpace",
    "Instance",
    "Layout",
    "LayoutEditor",
    "LinearizationView",
    "Machine",
    "MachineEditor",
    "Options",
    "Plan",
    "PlanView",
    "Ranks",
    "Report",
    "RunPanel",
    "Simulator",
    "SwitchView",
    "Trace",
    "TraceView",
    "Transfer",
    "Use",
    "__version__",
    "bundle",
    "convert",
    "cost",
    "errors",
    "explain",
    "explore",
    "find_layout",
    "machines",
    "measure_layouts",
    "plan",
    "plan_by_path",
    "plan_redistribution",
    "prepare_redistribution",
    "preset",
    "presets",
    "probe",
    "ranks",
    "redistribute",
    "relayout",
    "rest",
    "rma",
    "run",
    "simulate",
    "sweep",
    "trial",
    "try_out",
    "vortex",
]


def __getattr__(name: str) -> object:
    """Load a public name where it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'isoviz' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    home = _HOMES[name]
    try:
        module = importlib.import_module(home or f"isoviz.{name}")
        value: object = module if home is None else getattr(module, name)
    except ModuleNotFoundError as error:
        if home != "isoviz.widgets" or (error.name or "").startswith("isoviz"):
            raise
        from isoviz.errors import MissingPartError

        raise MissingPartError("the explorer", "lab") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _show_pictures() -> None:
    """Inside IPython, have layouts, machines, plans and reports show themselves as HTML.

    The classes cannot do so themselves (`_repr_html_`), since the figures lie above them; the names are enough for IPython.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and shell.display_formatter is not None:
        from isoviz.figures import PICTURES, notebook_html

        formatter = shell.display_formatter.formatters["text/html"]
        for pictured in PICTURES:
            module, _, name = pictured.rpartition(".")
            formatter.for_type_by_name(module, name, notebook_html)
        # Its packets move where there is a page for them; else it has the picture of all others.
        shows = shell.display_formatter.ipython_display_formatter
        shows.for_type_by_name("isoviz.vortex.switch", "Switch", _show_switch)


def _show_switch(switch: vortex.Switch) -> None:
    if not hasattr(sys.modules["IPython"].get_ipython(), "kernel"):
        raise NotImplementedError  # which says to IPython: show it in another way
    from isoviz.errors import InputError

    try:
        from isoviz.widgets import SwitchView

        view = SwitchView(switch)
    except (ModuleNotFoundError, InputError):  # no widgets here, or a switch that is too large for them
        raise NotImplementedError from None
    view.show()


_show_pictures()
