"""Commands of a browser: what the contract knows is done, everything else is refused in words."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args, get_type_hints

import pytest
from given.sessions import session_fixture
from hypothesis import given
from hypothesis import strategies as st

from isoviz.errors import CommandError
from isoviz.schema import plain
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.commands.command import sender_of
from isoviz.widgets.commands.explorer_commands import Command, read_command
from isoviz.widgets.contract import WIRE
from isoviz.widgets.session import Session

SMALL = settings_for(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32}, fields={"a": "float32"})
ROW = SMALL.dimensions[0].key

GOOD: list[dict[str, Any]] = [
    {"kind": "set", "field": "planner", "value": "simple"},
    {"kind": "set", "field": "dimension-size", "row": 1, "value": "3"},
    {"kind": "set", "field": "machine-option", "name": "nodes", "value": "2"},
    {"kind": "describe-machine", "machine": {}},
    {"kind": "add-field"},
    {"kind": "remove-dimension", "row": 4},
    {"kind": "example", "value": "small"},
    {"kind": "undo"},
    {"kind": "export", "what": "python"},
    {
        "kind": "select",
        "selection": {"entry": {"index": [["x", 1]], "field": "a"}, "chunk": 3, "time": None, "stop": None, "hop": 1},
    },
    {"kind": "open-machine", "name": "m.json", "text": "{}"},
]


@pytest.mark.parametrize("command", GOOD)
def test_a_good_command_is_read_without_its_envelope(command: dict[str, Any]) -> None:
    assert plain(read_command({**command, "client": "a", "number": 3}), WIRE) == command


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "expected an object with a 'kind', got None"),
        ("run", "expected an object with a 'kind', got 'run'"),
        ({}, "command None: kind: None is not known; known are set, describe-machine"),
        ({"kind": ["run"]}, "command a list: kind: a list is not known"),
        ({"kind": "fly"}, "command 'fly': kind: 'fly' is not known"),
        ({"kind": "run", "fast": True}, "command 'run': unknown key 'fast'; known are kind"),
        ({"kind": "remove-field"}, "the key 'row' is missing; expected a whole number"),
        ({"kind": "remove-field", "row": "7"}, "row: expected a whole number, got '7'"),
        ({"kind": "remove-field", "row": True}, "row: expected a whole number, got True"),
        ({"kind": "set"}, "field: None is not known; known are machine, planner"),
        ({"kind": "set", "field": "colour", "value": "red"}, "field: 'colour' is not known"),
        ({"kind": "set", "field": "plannr", "value": "full"}, "field: 'plannr' is not known; did you mean 'planner'?"),
        ({"kind": "edit-machine", "edit": {"do": "conect"}}, "edit.do: 'conect' is not known; did you mean 'connect'?"),
        ({"kind": "set", "field": "planner", "value": 3}, "value: expected a text, got 3"),
        ({"kind": "set", "field": "dimension-size", "value": "3"}, "the key 'row' is missing"),
        ({"kind": "set", "field": "machine-option", "value": "3"}, "the key 'name' is missing; expected a text"),
        (
            {"kind": "export", "what": "film"},
            "or 'report' or 'trace' or 'page' or 'runs-json' or 'runs-csv', got 'film'",
        ),
        ({"kind": "select", "selection": {"stop": 1}}, "selection: the key 'entry' is missing"),
        ({"kind": "describe-machine", "machine": []}, "machine: expected an object, got a list"),
    ],
)
def test_a_malformed_command_is_refused_in_words(content: object, words: str) -> None:
    with pytest.raises(CommandError) as caught:
        read_command(content)
    assert words in str(caught.value)


def test_halves_of_characters_do_not_come_in() -> None:
    text = "\ud83d\ude00 and \ud800"
    read = read_command({"kind": "set", "field": "planner", "value": text})
    assert read.arguments == {"field": "planner", "value": "😀 and \ufffd"}
    described = read_command({"kind": "describe-machine", "machine": {"\udc00": ["\udc00"]}})
    assert described.arguments == {"machine": {"\ufffd": ["\ufffd"]}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KINDS = [kind for each in get_args(Command) for kind in get_args(get_type_hints(each)["kind"])]
KEYS = st.sampled_from(("field", "row", "value", "name", "what", "selection", "text", "machine", "client", "number"))


@given(
    st.one_of(
        JSON,
        st.builds(lambda kind, rest: {**rest, "kind": kind}, st.sampled_from(KINDS), st.dictionaries(KEYS, JSON)),
    )
)
def test_no_message_raises_anything_but_a_refusal(content: object) -> None:
    with suppress(CommandError):
        assert read_command(content).kind in KINDS
    client, number = sender_of(content)
    assert (client is None) == (number is None)


session = session_fixture(SMALL)


def test_the_session_says_what_it_refused_and_lives_on(session: Session) -> None:
    for content in (
        None,
        7,
        {"kind": "set", "field": "planner"},
        {"kind": "example", "value": "none"},
        {"kind": "remove-field", "row": 99},
    ):
        session.send(content)  # type: ignore[arg-type]
        state = session.wait()
        assert state.refused is not None and state.settings == SMALL
        assert state.defect == ""
    assert "row 99" in session.state.refused.message
    session.send({"kind": "set", "field": "planner", "value": "simple"})
    state = session.wait()
    assert state.refused is None
    assert state.settings.planner == "simple"


# ---- undo and redo


def layout(session: Session) -> str:
    return session.wait().settings.source.layout


def test_undo_goes_back_a_step_and_redo_forth(session: Session) -> None:
    session.send({"kind": "add-dimension"})
    session.send({"kind": "swap"})
    after = session.wait().settings
    session.undo()
    assert layout(session) == "<F, x, y, z>"
    session.undo()
    assert session.wait().settings == SMALL
    session.undo()  # there is nothing more
    assert session.wait().settings == SMALL
    session.redo()
    session.redo()
    session.redo()
    state = session.wait()
    assert state.settings == after
    assert session.plan is not None and str(session.plan.transfer.source.layout) == "<x, y, F, z>"


def test_letters_of_one_control_are_one_step(session: Session) -> None:
    for text in ("<", "<y", "<y, F", "<y, F, x>"):
        session.send({"kind": "set", "field": "source-layout", "value": text})
    session.send({"kind": "set", "field": "dimension-size", "row": ROW, "value": "12"})
    session.send({"kind": "set", "field": "dimension-size", "row": ROW, "value": "128"})
    session.undo()
    assert layout(session) == "<y, F, x>"
    session.undo()
    assert session.wait().settings == SMALL


def test_edits_of_one_control_with_a_pause_between_are_steps_of_their_own(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoviz.widgets.steps.PAUSE", 0.0)  # every moment is one
    for text in ("<x, F, y>", "<x, y, F>"):
        session.send({"kind": "set", "field": "source-layout", "value": text})
        session.wait()
    session.undo()
    assert layout(session) == "<x, F, y>"
    session.undo()
    assert session.wait().settings == SMALL


def test_every_choice_in_a_menu_is_a_step(session: Session) -> None:
    for name in ("simple", "direct"):
        session.send({"kind": "set", "field": "planner", "value": name})
    session.undo()
    assert session.wait().settings.planner == "simple"


def test_an_edit_after_undo_begins_anew(session: Session) -> None:
    session.send({"kind": "set", "field": "planner", "value": "simple"})
    session.undo()
    session.send({"kind": "set", "field": "planner", "value": "direct"})
    session.redo()
    state = session.wait()
    assert state.settings.planner == "direct"
    assert state.future == ()


def test_memories_that_follow_another_machine_belong_to_its_step(session: Session) -> None:
    session.wait()
    session.send({"kind": "set", "field": "machine", "value": "two-node"})
    session.send({"kind": "set", "field": "destination-memory", "value": "node1.fbm0"})
    session.wait()
    session.send({"kind": "set", "field": "machine", "value": "local"})
    assert session.wait().settings.destination.memory == "node0.sys"
    session.undo()
    settings_now = session.wait().settings
    assert (settings_now.machine.name, settings_now.destination.memory) == ("two-node", "node1.fbm0")


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf"), float("nan")])
def test_numbers_beyond_all_floats_are_refused(number: float) -> None:
    changes = {"bandwidths": [["a", number]], "slotLimit": None, "sizes": [], "reuse": None, "capacities": []}
    with pytest.raises(CommandError, match=r"whatIf\.bandwidths\[0\]\[1\]: expected a number"):
        read_command({"kind": "what-if", "moving": False, "whatIf": changes})
