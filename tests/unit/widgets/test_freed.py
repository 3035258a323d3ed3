"""Views and explorers that were closed are collected, and so are their sessions."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import isoviz
from isoviz.widgets import Explorer

SPACE, FIELDS = isoviz.IndexSpace(x=10, y=6), isoviz.FieldSpace(v="f4")
TRANSFER = isoviz.Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x, y>", "node0.sys", "<F, y, x>")


def explored() -> Explorer:
    return settled(isoviz.explore(np.zeros((8, 8))))


def ran() -> Explorer:
    explorer = isoviz.explore(space={"x": 64, "y": 32}, machine_options={"measure": "assumed"})
    explorer.session.wait()
    explorer.session.run()
    settled(explorer)
    assert explorer.session.report is not None
    return explorer


def with_views() -> Explorer:
    explorer = isoviz.explore(np.zeros((8, 8)))
    views: list[Explorer] = [
        isoviz.LayoutEditor(session=explorer),
        isoviz.LinearizationView(session=explorer),
        isoviz.MachineEditor(session=explorer),
        isoviz.PlanView(explorer),
        isoviz.RunPanel(explorer),
        isoviz.TraceView(explorer),
    ]
    settled(explorer)
    for view in views:
        view.close()
    explorer.before_close(lambda: views.clear())
    return explorer


def selected() -> Explorer:
    view = isoviz.LinearizationView("<F, x, y>", space={"x": 8, "y": 6}, fields={"v": "f4"})
    view.observe(lambda _: view, names="selection")
    view.selection = {"x": 1, "y": 2}, "v"
    return settled(view)


def settled(view: Explorer) -> Explorer:
    view.session.wait()
    return view


MAKERS: dict[str, Callable[[], Explorer]] = {
    "explore": explored,
    "a run": ran,
    "an explorer with views": with_views,
    "LayoutEditor": lambda: isoviz.LayoutEditor("<F, x>", space={"x": 10}, fields={"v": "f4"}),
    "LinearizationView": selected,
    "MachineEditor": lambda: settled(isoviz.MachineEditor(isoviz.preset("laptop"))),
    "PlanView": lambda: settled(isoviz.PlanView(TRANSFER, isoviz.preset("two-node"))),
    "RunPanel": lambda: settled(isoviz.RunPanel(TRANSFER, machine="two-node")),
    "TraceView": lambda: settled(isoviz.TraceView(isoviz.simulate(isoviz.plan(TRANSFER, "two-node"), isoviz.preset("two-node")))),
}


@contextmanager
def threads_ended() -> Iterator[None]:
    """What is being computed when a session is closed ends at its next result: until then its thread keeps the session."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(120)


@pytest.mark.parametrize("name", MAKERS)
def test_closed_views_and_their_sessions_are_collected(name: str, full: bool) -> None:
    kept: list[weakref.ref[object]] = []
    with threads_ended():
        for _ in range(31 if full else 2):
            view = MAKERS[name]()
            kept += [weakref.ref(view), weakref.ref(view.session)]
            view.close()
            del view
    gc.collect()
    assert sum(each() is not None for each in kept) == 0
