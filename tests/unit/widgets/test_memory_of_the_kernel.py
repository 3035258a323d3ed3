"""What a session keeps does not grow with what has been done in it: objects are counted, at the same settings each time.

Caches hold what is asked again. Each has a bound, so they are emptied before the count: it would take hours to fill them.
"""

from __future__ import annotations

import functools
import gc
import random

import pytest

from isoviz.planner import cache
from isoviz.planner.intermediate import intermediate_layouts
from isoviz.planner.search.links import forget_links
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot

LAYOUTS = ("<F, x, y>", "<F, y, x>", "<x_in=16, F, x_out, y>", "<F, x_in=64, y, x_out>", "<y_in=32, F, y_out, x>")
VIEWS = ("why", "timeline")


def test_objects_stay_as_many_however_much_is_done(monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    """After some changes nothing is added any more but a few layouts."""
    monkeypatch.setattr(cache, "MOST_PLANS", 8)
    step, chosen = 300 if full else 40, random.Random(19)
    session = Session(EXAMPLES["two-node"].settings)
    start = session.settings
    for view in ("explorer", *VIEWS):
        session.demand(view)
    counts = []
    try:
        for number in range(1, 3 * step + 1):
            _change(session, chosen, number)
            snapshot(session.wait(), number)
            if number % step == 0:
                session.choose(start)
                session.wait()
                counts.append(_kept())
    finally:
        session.close()
    first, second, third = counts
    # The explanation of what is shown has some hundred objects more or fewer. One plan kept in ten changes would be more.
    assert third <= 1.5 * max(first, second), counts


def _kept() -> int:
    """Machines, plans, layouts and what belongs to them; traces come and go with what is shown."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and each.cache_info().maxsize and each.__module__.startswith("isoviz"):
            each.cache_clear()
    cache.CACHE.clear()
    forget_links()
    intermediate_layouts._LAYOUTS.clear()
    gc.collect()
    kinds = ("isoviz.layouts", "isoviz.machines", "isoviz.planner", "isoviz.widgets")
    return sum(str(type(each).__module__).startswith(kinds) for each in gc.get_objects())


def _change(session: Session, chosen: random.Random, number: int) -> None:
    """What somebody does: another layout, a limit, a planner, a bandwidth that is tried, undo."""
    what = chosen.choice(
        ("source-layout", "destination-layout", "planner", "slot-limit", "what-if", "what-if", "what-if", "undo")
    )
    if what == "undo":
        session.send({"kind": "undo"})
    elif what == "what-if":
        plan = session.wait().derived.plan
        tried = [] if plan is None else [[plan.every_hop[0].channel, 1e9 * (1 + number / 50)]]
        changes = {"bandwidths": tried, "slotLimit": None, "sizes": [], "reuse": None, "capacities": []}
        session.send({"kind": "what-if", "whatIf": changes, "moving": False})
    else:
        values = {"planner": ("full", "simple", "direct", "spsl"), "slot-limit": tuple(f"{k}MiB" for k in range(1, 60))}
        session.send({"kind": "set", "field": what, "value": chosen.choice(values.get(what, LAYOUTS))})
