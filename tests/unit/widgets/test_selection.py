"""The selection of a session: of views and of Python, and what becomes of it when things go away."""

from __future__ import annotations

from typing import Any

import pytest
import traitlets
from given.sessions import session_fixture

from isoviz.errors import InputError
from isoviz.widgets.chosen.selection import Selection, SelectionMade, valid_selection
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot

SMALL = settings_for(machine="two-node", space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"},
                     destination=("node1.fbm0", "<x, y, F>"))  # fmt: skip

session = session_fixture(SMALL, waits=True)


def command(**chosen: Any) -> dict[str, Any]:
    return {
        "kind": "select",
        "selection": {"entry": None, "chunk": None, "time": None, "stop": None, "hop": None, **chosen},
        "client": "view",
        "number": 7,
    }


def test_a_view_selects_and_python_reads(session: Session) -> None:
    session.send(command(hop=1, entry={"index": [["x", 3], ["y", 4]], "field": "b"}))
    state = session.wait()
    assert session.selection == Selection({"x": 3, "y": 4}, "b", hop=1)
    told = snapshot(state, 1)["selected"]
    assert (told["count"], told["client"], told["number"]) == (1, "view", 7)
    assert told["selection"]["entry"] == {"index": [("x", 3), ("y", 4)], "field": "b"}


def test_python_selects_and_views_hear_of_it(session: Session) -> None:
    session.selection = Selection(stop=0)
    told = snapshot(session.wait(), 1)["selected"]
    assert told["selection"]["stop"] == 0
    assert (told["count"], told["client"], told["number"]) == (1, None, None)
    session.selection = Selection(stop=0)
    assert session.wait().selected.count == 1, "nothing changed"
    with pytest.raises(traitlets.TraitError):
        session.selection = "stop 0"


def test_python_observes_the_selection(session: Session) -> None:
    seen: list[Selection] = []
    session.observe(lambda change: seen.append(change["new"]), names="selection")
    session.send(command(chunk=0))
    session.wait()
    assert seen == [Selection(chunk=0)]


def test_a_selection_is_no_edit(session: Session) -> None:
    before = session.state
    session.send(command(stop=1))
    state = session.wait()
    assert (state.past, state.edits, state.derived.plan) == ((), before.edits, before.derived.plan)
    session.send({"kind": "set", "field": "planner", "value": "simple"})
    session.undo()
    assert session.wait().selected.selection.stop == 1, "undo brings back settings and leaves the selection"


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"stop": 0, "hop": 0}, "a stop and a hop"),
        ({"chunk": -1}, "chunk: expected a whole number of at least 0, got -1"),
        ({"entry": {"index": [["x", -2]], "field": "a"}}, "x: expected a whole number"),
        ({"time": float("inf")}, "time: expected a number"),
    ],
)
def test_what_cannot_be_selected_is_refused_in_words(session: Session, chosen: dict[str, Any], words: str) -> None:
    session.send(command(**chosen))
    state = session.wait()
    assert state.refused is not None and words in state.refused.message
    assert session.selection == Selection()


def test_values_of_python_are_checked() -> None:
    with pytest.raises(InputError, match="an index together with a field"):
        Selection(index={"x": 1})
    with pytest.raises(InputError, match="stop: expected a whole number"):
        Selection(stop=True)


def test_what_is_gone_is_not_selected_any_more(session: Session) -> None:
    session.send(command(hop=2, entry={"index": [["x", 3], ["y", 4]], "field": "b"}))
    session.wait()
    session.send({"kind": "remove-dimension", "row": SMALL.dimensions[0].key})
    assert session.wait().selected.selection.index is None
    assert session.selection.hop == 2
    session.send({"kind": "set", "field": "destination-memory", "value": "node0.sys"})
    state = session.wait()
    assert len(session.plan.hops) == 2
    assert state.selected.selection == Selection()


def test_what_is_there_stays(session: Session) -> None:
    plan = session.plan
    whole = Selection({"x": 63, "y": 31}, "a", chunk=0, time=plan.seconds, stop=len(plan.hops))
    assert valid_selection(whole, session.state.derived.space, ("a", "b"), plan) == whole
    assert valid_selection(whole, None, (), None) == whole
    assert SelectionMade(whole).then(whole).count == 0
