"""*Find a layout* in the explorer: the question in the settings, what was found against `find_layout`, taking and measuring."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from given.sessions import session_fixture

import isoviz
from isoviz import FieldSpace, IndexSpace, Use
from isoviz.schema import plain
from isoviz.widgets.chosen.layout_question import LayoutQuestion, TypedUse
from isoviz.widgets.chosen.python_text import python_text, same_settings
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot

SETTINGS = settings_for(
    machine="local", machine_options={"measure": "assumed"}, space={"x": 64, "y": 48}, fields={"a": "f4", "b": "f4"},
    source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<F, x, y>"),
)  # fmt: skip
QUESTION = LayoutQuestion("destination", uses=(TypedUse("to", "node0.sys", "<F, y, x>", "50"), TypedUse("along", "", "y")))

session = session_fixture(SETTINGS, "find-layout")


def part_when(session: Session, holds: Callable[[Any], bool], seconds: float = 120) -> Any:
    """The part of the pane once something holds of it."""
    changed = threading.Event()
    stop = session.listen(lambda _finished: changed.set())
    try:
        session.wait()
        while not holds(part := snapshot(session.state, 1)["panes"]["find_layout"]):
            assert changed.wait(seconds), part
            changed.clear()
        return part
    finally:
        stop()


def ask(session: Session, question: LayoutQuestion) -> None:
    session.send({"kind": "find-layout", "question": plain(question, "wire"), "control": ""})


def test_the_pane_shows_what_find_layout_finds(session: Session) -> None:
    ask(session, QUESTION)
    part = part_when(session, lambda part: part["isDone"] and part["question"]["uses"])
    uses = [Use.from_("node0.dsk", "<F, x, y>"), Use.to("node0.sys", "<F, y, x>", weight=50), Use.along("y")]
    machine = session.state.derived.machine
    choice = isoviz.find_layout(IndexSpace(x=64, y=48), FieldSpace(a="f4", b="f4"), "node0.sys", uses, machine, count=30)
    times = {str(each.layout): list(each.times) for each in choice.candidates}
    assert part["candidates"][0]["layout"] == str(choice.best.layout)
    assert all(times[each["layout"]] == each["times"] for each in part["candidates"])
    assert len(times) == len(part["candidates"]) + sum(each["alike"] for each in part["candidates"])
    for one, other in itertools.combinations(part["candidates"], 2):
        assert one["runs"] != other["runs"] or one["times"] != pytest.approx(other["times"], rel=5e-3), "no two look the same"
    assert part["present"]["layout"] == "<F, x, y>" and part["present"]["weighted"] >= part["candidates"][0]["weighted"]


def test_a_layout_is_taken_undone_and_kept_in_files(session: Session) -> None:
    session.send({"kind": "take-layout", "layout": "<F, y, x>", "question": plain(QUESTION, "wire")})
    session.wait()
    assert (session.settings.destination.layout, session.settings.layout_question) == ("<F, y, x>", QUESTION)
    assert same_settings(settings_in(session_text(session.settings), "file"), session.settings)
    assert "find" in python_text(session.settings) or "along" in python_text(session.settings)
    session.undo()
    session.wait()
    assert session.settings == SETTINGS


def test_a_renamed_dimension_is_renamed_in_the_question(session: Session) -> None:
    ask(session, QUESTION)
    session.wait()
    row = session.settings.dimensions[1].key
    session.send({"kind": "set", "field": "dimension-name", "row": row, "value": "column"})
    session.wait()
    asked = session.settings.layout_question
    assert asked is not None and [use.what for use in asked.uses] == ["<F, column, x>", "column"]


def test_the_best_layouts_are_measured(session: Session) -> None:
    part_when(session, lambda part: part["isDone"])
    session.send({"kind": "measure-layouts"})
    part = part_when(session, lambda part: not part["isMeasuring"] and part["candidates"][0]["measured"] is not None)
    assert all(each["measured"] > 0 for each in part["candidates"][:5]) and part["measureProblem"] == ""
    assert all(each["measured"] is None for each in part["candidates"][5:])
    ask(session, LayoutQuestion("source"))  # other layouts: the measured times are not theirs
    part = part_when(session, lambda part: part["isDone"] and part["question"]["side"] == "source")
    assert all(each["measured"] is None for each in part["candidates"])


@pytest.mark.parametrize(
    ("change", "control", "words"),
    [
        ({"weight": "-1"}, "use-0-weight", "not a weight"),
        ({"uses": (TypedUse("to", "node0.nix", "<F, y, x>"),)}, "use-1-memory", "no memory"),
        ({"uses": (TypedUse("to", "node0.sys", "<F, y, q>"),)}, "use-1-what", "'q' is not a dimension"),
        ({"uses": (TypedUse("along", "", "q"),)}, "use-1-what", "'q' is not a dimension"),
        ({"least_run": "64 bananas"}, "least-run", "unit"),
        ({"most_padding": "much"}, "most-padding", "not a share"),
    ],
)
def test_what_is_wrong_is_told_at_its_control(session: Session, change: dict[str, Any], control: str, words: str) -> None:
    ask(session, LayoutQuestion(**{"side": "destination", **change}))
    part = part_when(session, lambda part: part["problems"])
    assert words in part["problems"][control]["message"] and not part["candidates"]
    assert session.state.derived.problems == {}, "the transfer itself is right"
    session.send({"kind": "measure-layouts"})
    session.wait()
    assert session.state.refused is not None


def test_demands_that_no_layout_meets(session: Session) -> None:
    ask(session, LayoutQuestion("destination", least_run="1MiB"))
    assert "no layout has runs" in part_when(session, lambda part: part["isDone"] and part["problem"])["problem"].lower()
