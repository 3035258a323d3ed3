"""Exports: what a session gives away as files, and the Python that recreates it."""

from __future__ import annotations

import json
import string
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from given.questions import answer_to, is_due
from given.sessions import session_fixture
from html_cases import check_saved_page
from hypothesis import example, given, settings
from hypothesis import strategies as st

import isoviz
import isoviz.widgets as widgets
import isoviz.widgets.show_explorer as show_explorer
from isoviz.machines import machine_from_json, machine_to_json, preset, save
from isoviz.planner import plan_from_json
from isoviz.widgets.chosen.examples import EXAMPLES, OPENING
from isoviz.widgets.chosen.machine_choice import DescribedMachine, FileMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.python_text import python_text, quoted, same_settings
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import End, Row, Settings, settings_for
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session

MOST = min(500, settings().max_examples)
"""Settings of each kind: they take longer to make than to try."""
SMALL = settings_for(machine="two-node", space={"x": 64, "y": 32}, fields={"a": "float32"})
TWO_NODE = preset("two-node")
ODD = replace(TWO_NODE, name='a "drawn" \\ machine\n'.strip() + " ''' \"\"\" {x}")


class Caught:
    """In place of the explorer: it keeps what it is given."""

    settings: Settings

    def __init__(self, chosen: Settings, **_: object) -> None:
        Caught.settings = chosen

    def show(self) -> None:
        """Show nothing."""


def recreated(text: str) -> Settings:
    """The settings of the explorer that a text shows."""
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(show_explorer, "Explorer", Caught)
        patched.setattr(widgets, "Explorer", Caught)
        exec(compile(text, "exported", "exec"), {})
    return Caught.settings


names = st.one_of(st.sampled_from(["x", "y", "z", "rows", "F", "x_in"]), st.text(max_size=4))
texts = st.one_of(st.text(max_size=8), st.text(string.printable, max_size=6), st.integers(0, 2**70).map(str))
choices: st.SearchStrategy[MachineChoice] = st.one_of(
    st.builds(
        PresetMachine,
        st.sampled_from(["local", "sapling", "two-node", "nowhere"]),
        st.dictionaries(st.sampled_from(["nodes", "gpus", "measure", "directory"]), texts, max_size=2).map(
            lambda found: tuple(found.items())
        ),
    ),
    st.sampled_from([DescribedMachine(TWO_NODE), DescribedMachine(ODD), FileMachine(ODD, "no such file.json")]),
)
row_lists = st.lists(
    st.tuples(names, st.one_of(st.integers(0, 10**6).map(str), texts), st.sampled_from(["", "", "", "x"])), max_size=4
)


def rows(found: list[tuple[str, str, str]], first: int) -> tuple[Row, ...]:
    return tuple(Row(first + place, *each) for place, each in enumerate(found))


ends = st.builds(End, st.one_of(st.just("node0.sys"), texts), st.one_of(st.sampled_from(["<F, x, y>", "<x, y, F>"]), texts))
random_settings = st.builds(
    lambda machine, dimensions, fields, source, destination, planner, slot_limit, memory_limit: Settings(
        machine=machine, dimensions=rows(dimensions, 1), fields=rows(fields, 10), source=source, destination=destination,
        planner=planner, slot_limit=slot_limit, memory_limit=memory_limit,
    ),
    choices, row_lists, row_lists, ends, ends, st.one_of(st.sampled_from(["auto", "full", ""]), texts),
    st.one_of(st.just(""), texts), st.one_of(st.just(""), texts),
)  # fmt: skip


@settings(max_examples=MOST)
@given(random_settings)
@example(Settings())
@example(replace(Settings(), slot_limit='"""\\', planner="'\""))
@example(replace(Settings(), dimensions=(Row(1, "x", "2"), Row(2, "x", "\ud800"))))
def test_the_python_text_recreates_any_settings(chosen: Settings) -> None:
    text = python_text(chosen)
    assert same_settings(recreated(text), chosen), text


@settings(max_examples=MOST)
@given(random_settings)
def test_the_session_text_recreates_any_settings(chosen: Settings) -> None:
    assert same_settings(settings_in(session_text(chosen), "session"), chosen)


def test_the_python_text_is_short() -> None:
    assert python_text(OPENING) == "import isoviz\n\nexplorer = isoviz.explore()\n"
    assert python_text(Settings()) == 'import isoviz\n\nexplorer = isoviz.explore(example="file-to-memory")\n'
    assert python_text(EXAMPLES["tensor"].settings) == 'import isoviz\n\nexplorer = isoviz.explore(example="tensor")\n'
    changed = replace(EXAMPLES["tile"].settings, slot_limit="1MiB")
    assert python_text(changed) == 'import isoviz\n\nexplorer = isoviz.explore(example="tile", slot_limit="1MiB")\n'
    spaced = settings_for(machine="sapling", machine_options={"nodes": 3}, space={"x": 5})
    assert python_text(spaced) == (
        'import isoviz\n\nexplorer = isoviz.explore(machine="sapling", machine_options={"nodes": 3}, space={"x": 5})\n'
    )


def test_a_machine_file_that_is_still_there_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    save(TWO_NODE, path)
    chosen = settings_for(machine=path)
    assert chosen.machine == FileMachine(TWO_NODE, str(path))
    text = python_text(chosen)
    assert f"Path({quoted(str(path))})" in text
    assert recreated(text).machine == chosen.machine
    path.write_text("{}")
    text = python_text(chosen)
    assert "FileMachine(machine" in text
    assert recreated(text).machine == chosen.machine


def test_a_drawn_machine_runs_as_written() -> None:
    chosen = settings_for(start=SMALL, machine=ODD)
    text = python_text(chosen)
    assert "machine_from_json" in text and "FileMachine" not in text
    assert recreated(text).machine == DescribedMachine(ODD)


@pytest.mark.parametrize("text", ["plain", "it's", 'a "quote"', "both ' and \"", "\\", "\n", "\ud800", "😀", ""])
def test_texts_are_written_as_python_reads_them(text: str) -> None:
    assert eval(quoted(text)) == text


# ---- exports on demand

session = session_fixture(SMALL, waits=True)


def export(what: str, session: Session) -> Any:
    return answer_to({"kind": "export", "what": what, "client": "a", "number": 5}, session.wait()).message


def test_every_kind_of_export(session: Session) -> None:
    found = {what: export(what, session) for what in ("session", "python", "plan", "machine", "page")}
    assert all(each["error"] == "" and each["number"] == 5 for each in found.values())
    assert same_settings(settings_in(found["session"]["text"], "session"), SMALL)
    assert recreated(found["python"]["text"]).machine == SMALL.machine
    assert plan_from_json(json.loads(found["plan"]["text"])) == session.plan
    assert machine_from_json(json.loads(found["machine"]["text"])) == session.machine
    assert found["machine"]["name"] == "two-node.json"
    saved = check_saved_page(found["page"]["text"])
    assert saved.content["traits"]["part_plan"]["seconds"] == session.plan.seconds
    told = [each["message"] for each in saved.answers.values()]
    assert {each["what"] for each in told if each["kind"] == "export"} == {"session", "python", "plan", "machine"}
    assert {Path(each["name"]).suffix for each in found.values()} == {".json", ".py", ".html"}


def test_what_is_not_there_is_told(session: Session) -> None:
    session.send({"kind": "set", "field": "source-layout", "value": "<F, x"})
    assert export("plan", session)["error"] == "There is no plan to export."
    assert export("page", session)["error"] == "There is no plan to export."
    assert export("python", session)["error"] == ""
    bare = Session(SMALL)
    release = bare.demand("layout-editor")
    assert export("machine", bare)["error"] == "There is no machine to export."
    release()
    bare.close()


def test_an_export_waits_for_what_was_asked_for_before_it(session: Session) -> None:
    asked = {"kind": "export", "what": "plan", "client": "a", "number": 2}
    assert not is_due(asked, session.state)
    session.send({"kind": "set", "field": "planner", "value": "simple", "client": "a", "number": 1})
    session.send(asked)
    assert is_due(asked, session.wait())
    assert is_due({"kind": "export", "what": "session"}, session.state), "who does not say who asks does not wait"


def test_the_publisher_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    told = threading.Event()

    def send(_self: Explorer, content: Any, _buffers: Any = None) -> None:
        sent.append(content)
        told.set()

    monkeypatch.setattr(Explorer, "send", send)
    explorer = Explorer(SMALL)
    explorer._receive(explorer, {"kind": "set", "field": "planner", "value": "simple", "client": "a", "number": 1}, [])
    explorer._receive(explorer, {"kind": "export", "what": "plan", "client": "a", "number": 2}, [])
    explorer._receive(explorer, {"kind": "export", "what": "film", "client": "a", "number": 3}, [])
    explorer.session.wait()
    explorer._publish()
    assert told.wait(120)
    assert [(each["what"], each["number"], each["error"]) for each in sent] == [("plan", 2, "")]
    assert json.loads(sent[0]["text"])["planner"] == "simple"
    explorer.close()


def test_the_state_is_told_while_an_answer_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page takes seconds: nothing else may wait for it."""
    begun, may_end, told = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: Any) -> tuple[str, str]:
        begun.set()
        assert may_end.wait(120)
        return "isoviz-session.json", ""

    monkeypatch.setattr("isoviz.widgets.commands.explorer_commands.exported_file", slow)
    monkeypatch.setattr(Explorer, "send", lambda *_: told.set())
    explorer = Explorer(SMALL)
    try:
        explorer._receive(explorer, {"kind": "export", "what": "session", "client": "a", "number": 1}, [])
        assert begun.wait(120)
        explorer._receive(explorer, {"kind": "set", "field": "planner", "value": "simple", "client": "a", "number": 2}, [])
        explorer.session.wait()
        explorer._publish()
        assert explorer.settings["planner"] == "simple"
        assert not told.is_set()
        may_end.set()
        assert told.wait(120)
    finally:
        may_end.set()
        explorer.close()


# ---- files that are opened


def test_a_machine_file_is_opened_and_undone(session: Session) -> None:
    text = json.dumps(machine_to_json(ODD))
    session.send({"kind": "open-machine", "name": "odd.json", "text": text})
    state = session.wait()
    assert state.settings.machine == FileMachine(ODD, "odd.json")
    assert state.derived.machine == ODD
    session.undo()
    assert session.wait().settings == SMALL


@pytest.mark.parametrize(("kind", "words"), [("open-machine", "mine.json"), ("open-session", "mine.json: not JSON")])
def test_a_file_that_holds_something_else_is_refused(session: Session, kind: str, words: str) -> None:
    session.send({"kind": kind, "name": "mine.json", "text": "<html>"})
    state = session.wait()
    assert state.refused is not None and words in state.refused.message
    assert state.settings == SMALL


def test_a_session_file_is_opened_and_undone(session: Session) -> None:
    other = EXAMPLES["two-node"].settings
    session.send({"kind": "open-session", "name": "s.json", "text": session_text(other)})
    assert same_settings(session.wait().settings, other)
    session.undo()
    assert session.wait().settings == SMALL


@pytest.mark.parametrize(
    "machine",
    [PresetMachine("sapling", (("nodes", "3"),)), PresetMachine("local"), FileMachine(TWO_NODE, "f.json"), DescribedMachine(ODD)],
)
def test_session_files_keep_every_kind_of_machine(machine: MachineChoice) -> None:
    found = settings_in(session_text(replace(SMALL, machine=machine)), "s")
    assert found.machine == machine
    assert found.machine.kind == machine.kind


def test_isoviz_explores_a_machine_file(tmp_path: Path) -> None:
    save(TWO_NODE, tmp_path / "m.json")
    assert recreated(f"import isoviz\nfrom pathlib import Path\nisoviz.explore(machine=Path({str(tmp_path / 'm.json')!r}))")
    assert Caught.settings.machine.name == "two-node"
    assert isoviz.explore is not None


def test_what_cannot_be_sent_is_told_and_the_publisher_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = Explorer(SMALL)
    explorer._publisher.close()
    explorer.session.wait()
    explorer._publish()
    sent: list[Any] = []

    def send_state(_self: Explorer, key: Any = None) -> None:
        if key is not None and "settings" in key:
            raise ValueError("no such character")
        sent.append(key)

    monkeypatch.setattr(Explorer, "send_state", send_state)
    explorer.session.send({"kind": "set", "field": "planner", "value": "simple"})
    explorer.session.wait()
    explorer._publish()
    assert "no such character" in explorer.frame["defect"]
    monkeypatch.undo()
    explorer.session.send({"kind": "set", "field": "planner", "value": "full"})
    explorer.session.wait()
    explorer._publish()
    assert explorer.frame["defect"] == ""
    assert explorer.settings["planner"] == "full"
    explorer.close()
