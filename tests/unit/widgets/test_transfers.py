"""Parts of an array and several transfers of a session: planned, kept in files, told where they cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from given.sessions import session_fixture

import isoviz.widgets.show_explorer as show_explorer
from isoviz.errors import FileError, InputError
from isoviz.widgets.chosen.python_text import python_text, same_settings
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import EVERYTHING, Part, Range, Settings, settings_for
from isoviz.widgets.chosen.transfers import MOST_TRANSFERS, chosen, duplicated, every_transfer, removed
from isoviz.widgets.session import Session
from isoviz.widgets.state import control_of_transfer

SMALL = settings_for(
    space={"x": 12, "y": 8}, fields={"a": "float32", "b": "float64"}, source=("node0.sys", "<F, x, y>"), machine="two-node"
)
X, Y = (row.key for row in SMALL.dimensions)
A, B = (row.key for row in SMALL.fields)

session = session_fixture(SMALL, "explorer")


def choose(session: Session, *ranges: Range, left_out: tuple[int, ...] = (), control: str = "box") -> Any:
    told = [{"row": each.row, "first": each.first, "extent": each.extent, "to": each.to} for each in ranges]
    session.send({"kind": "part", "part": {"ranges": told, "leftOut": list(left_out)}, "control": control})
    return session.wait()


def test_a_part_is_planned(session: Session) -> None:
    state = choose(session, Range(X, "2", "4", "8"), Range(Y, "", "3"), left_out=(A,))
    transfer = state.derived.transfer
    assert state.derived.problems == {}
    assert (transfer.shape, transfer.source_origin, transfer.destination_origin) == ((4, 3), (2, 0), (8, 0))
    assert transfer.field_names == ("b",)
    assert state.derived.plan.bytes == 4 * 3 * 8
    session.undo()
    assert session.wait().derived.transfer.is_whole


@pytest.mark.parametrize(
    ("given", "left_out", "control", "words"),
    [
        (Range(1, "12"), (), "part-first", "the indices of x are 0 to 11"),
        (Range(1, "two"), (), "part-first", "not an index"),
        (Range(1, "4", "9"), (), "part-extent", "from index 4 on, x has 8"),
        (Range(1, "", "0"), (), "part-extent", "at least one index"),
        (Range(1, "2", "4", "9"), (), "part-to", "from index 8 on at the latest"),
        (Range(1), (1, 2), "part-fields", "No field moves"),
    ],
)
def test_a_part_that_cannot_be_is_told_at_its_control(
    session: Session, given: Range, left_out: tuple[int, ...], control: str, words: str
) -> None:
    fields = tuple((A, B)[place - 1] for place in left_out)
    state = choose(session, Range(X, given.first, given.extent, given.to), left_out=fields)
    name = control if control == "part-fields" else f"{control}:{X}"
    assert words.lower() in state.derived.problems[name].message.lower()
    assert "plan" in state.derived.stale
    assert state.settings.part.range_of(X).first == given.first, "what was typed stays"


def test_what_is_said_of_a_row_goes_with_it(session: Session) -> None:
    choose(session, Range(X, "2"), Range(Y, "1"), left_out=(A,))
    session.send({"kind": "set", "field": "dimension-name", "row": X, "value": "column"})
    session.send({"kind": "remove-dimension", "row": Y})
    session.send({"kind": "remove-field", "row": A})
    assert session.wait().settings.part == Part((Range(X, "2"),))


def test_parts_are_equal_where_they_say_the_same() -> None:
    assert Part.of([Range(2, "1"), Range(1, " ")], [4, 3, 4]) == Part((Range(2, "1"),), (3, 4))
    assert Part.of([], []) == EVERYTHING
    assert settings_for(start=SMALL, part={"x": (2, 4)}, moved_fields=["b"]).part == Part((Range(X, "2", "4"),), (A,))
    for wrong in ({"part": {"z": (0, 1)}}, {"part": {"x": (1,)}}, {"moved_fields": ["c"]}):
        with pytest.raises(InputError):
            settings_for(start=SMALL, **wrong)  # type: ignore[arg-type]


def several() -> Settings:
    one = settings_for(start=SMALL, part={"x": (2, 4, 6)}, moved_fields=["b"])
    return duplicated(duplicated(one, one.key), one.key)


def test_transfers_keep_their_order_while_another_one_is_edited() -> None:
    settings = several()
    assert [each.name for each in every_transfer(settings)] == ["Transfer 1", "Transfer 3", "Transfer 2"]
    assert settings.name == "Transfer 3"
    for each in every_transfer(settings):
        other = chosen(settings, each.key)
        assert other.name == each.name
        assert other.machine == settings.machine
        assert every_transfer(other) == every_transfer(settings)
    last = removed(chosen(settings, 2), 2)
    assert [each.key for each in every_transfer(last)] == [1, 3]
    assert last.key == 3
    with pytest.raises(InputError, match="only transfer"):
        removed(removed(last, 1), 3)
    with pytest.raises(InputError, match="not there"):
        chosen(settings, 9)
    while len(every_transfer(settings)) < MOST_TRANSFERS:
        settings = duplicated(settings, settings.key)
    with pytest.raises(InputError, match="as many as a session has"):
        duplicated(settings, settings.key)


class Shown(Exception):  # noqa: N818  # what happened, not a mistake
    """An explorer would be shown now. KeyboardInterrupt out of `exec` would end the run of tests by a signal at its very end."""


def test_session_files_and_python_keep_parts_and_transfers(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = several()
    again = settings_in(session_text(settings), "s")
    assert same_settings(again, settings)
    assert again.name == settings.name
    assert "settings_in" in python_text(settings), "several transfers are more than arguments can say"
    part = settings_for(start=SMALL, part={"x": (2, 4, 6)}, moved_fields=["b"])
    text = python_text(part)
    assert 'part={"x": (2, 4, 6)}' in text
    assert 'moved_fields=("b",)' in text
    found: list[Settings] = []

    def caught(settings: Settings, pane: str) -> Any:
        found.append(settings)
        raise Shown

    monkeypatch.setattr(show_explorer, "Explorer", caught)
    with pytest.raises(Shown):
        exec(text, {})
    assert same_settings(found[0], part)


@pytest.mark.parametrize(("part", "value"), [("place", -1), ("place", 1), ("version", 0), ("version", True), ("version", None)])
def test_a_file_says_a_place_that_is_there_and_a_known_version(part: str, value: object) -> None:
    data = json.loads(session_text(SMALL))
    (data["settings"] if part == "place" else data)[part] = value
    with pytest.raises(FileError, match=part):
        settings_in(json.dumps(data), "s")


@pytest.mark.parametrize("count", [0, MOST_TRANSFERS + 1])
def test_a_file_with_no_or_too_many_transfers_is_none(count: int) -> None:
    data = json.loads(session_text(SMALL))
    data["settings"]["transfers"] *= count
    with pytest.raises(FileError, match="expected 1 to"):
        settings_in(json.dumps(data), "s")


def test_a_part_of_a_row_that_a_file_lacks_is_ignored() -> None:
    data = json.loads(session_text(SMALL))
    data["settings"]["transfers"][0]["part"] = {
        "ranges": [{"dimension": 7, "first": "1", "extent": "", "to": ""}],
        "leftOut": [9],
    }
    assert settings_in(json.dumps(data), "s").part == EVERYTHING


def test_transfers_beside_are_planned_on_the_same_machine(session: Session) -> None:
    session.send({"kind": "add-transfer"})
    session.send({"kind": "set", "field": "transfer-priority", "transfer": 1, "value": "3"})
    session.send({"kind": "set", "field": "transfer-begin", "transfer": 1, "value": "0.25"})
    session.send({"kind": "set", "field": "transfer-begin", "transfer": 2, "value": "0.5"})
    session.send({"kind": "set", "field": "dimension-size", "row": X, "value": "16"})
    derived = session.wait().derived
    (beside,) = derived.beside
    assert (beside.key, beside.name, beside.begin) == (1, "Transfer 1", 0.25)
    assert beside.plan is not None and beside.plan.transfer.priority == 3
    assert beside.plan.transfer.source.space["x"] == 12
    assert beside.plan.machine_digest == derived.plan.machine_digest
    assert derived.begin == 0.5
    assert derived.plan.transfer.source.space["x"] == 16


def test_a_transfer_beside_that_cannot_be_planned_is_told_and_bars_the_run(session: Session) -> None:
    session.send({"kind": "set", "field": "source-layout", "value": "<F, x"})
    session.send({"kind": "add-transfer"})
    session.send({"kind": "set", "field": "source-layout", "value": "<F, x, y>"})
    state = session.wait()
    assert state.derived.plan is not None and "plan" not in state.derived.stale
    assert "Transfer 1" in state.derived.problems[control_of_transfer(1)].message
    session.run()
    assert "Transfer 1 runs with this one" in session.wait().notice


def test_another_machine_moves_the_ends_of_all_transfers(session: Session) -> None:
    for side, memory in (("source", "node0.fbm0"), ("destination", "node1.fbm0")):
        session.send({"kind": "set", "field": f"{side}-memory", "value": memory})
    session.send({"kind": "add-transfer"})
    session.wait()
    session.send({"kind": "set", "field": "machine", "value": "laptop"})
    state = session.wait()
    names = {memory.name for memory in state.derived.machine.memories}  # type: ignore[union-attr]
    for transfer in (state.settings, *state.settings.beside):
        assert {transfer.source.memory, transfer.destination.memory} <= names
    assert not state.derived.problems
    assert "other transfers" in state.notice
    session.undo()
    assert session.wait().settings.beside[0].destination.memory == "node1.fbm0"


@pytest.mark.parametrize(("field", "value"), [("priority", "urgent"), ("priority", "1" * 9), ("begin", "-1"), ("begin", "nan")])
def test_a_turn_that_cannot_be_is_told(session: Session, field: str, value: str) -> None:
    session.send({"kind": "set", "field": f"transfer-{field}", "transfer": 1, "value": value})
    assert f"transfer-{field}" in session.wait().derived.problems
