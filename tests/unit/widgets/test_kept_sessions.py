"""Settings kept for the cells of notebooks: real files, several processes, damage, and directories that take nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from given.sessions import session_fixture

from isoviz.errors import FileError
from isoviz.widgets import show_explorer
from isoviz.widgets.chosen import kept_sessions
from isoviz.widgets.chosen.kept_sessions import CellPlace, Kept, forget, keep, kept
from isoviz.widgets.chosen.session_file import session_text
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.notebook import keeper as keepers
from isoviz.widgets.notebook.keeper import Keeper, flush_all
from isoviz.widgets.session import Session

START = settings_for(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32})
OTHER = replace(START, planner="simple")
PLACE = CellPlace("/home/me/notebook.ipynb", "cell-1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "state" / "isoviz" / "sessions"


def same(found: Settings | None, settings: Settings) -> bool:
    return found is not None and session_text(found) == session_text(settings)


# ---- files


def test_what_is_kept_is_there_for_the_same_cell_and_start_only(folder: Path) -> None:
    assert kept(PLACE, START) == Kept(None)
    assert keep(PLACE, START, OTHER) == ""
    assert same(kept(PLACE, START).settings, OTHER)
    assert kept(PLACE._replace(cell="cell-2"), START) == Kept(None)
    assert kept(PLACE._replace(notebook="/home/me/other.ipynb"), START) == Kept(None)
    assert kept(PLACE._replace(number=1), START) == Kept(None)
    assert kept(PLACE, replace(START, slot_limit="1MiB")) == Kept(None), "the code asks for something else: it wins"
    assert same(kept(PLACE, START).settings, OTHER), "and does so without losing what was there"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [0o700, 0o700]


def test_what_the_code_asks_for_needs_no_file(folder: Path) -> None:
    keep(PLACE, START, OTHER)
    assert keep(PLACE, START, START) == ""
    assert list(folder.iterdir()) == []
    assert kept(PLACE, START) == Kept(None)


def test_forgotten(folder: Path) -> None:
    keep(PLACE, START, OTHER)
    forget(PLACE)
    forget(PLACE)
    assert list(folder.iterdir()) == []


def test_names_of_every_kind_are_kept() -> None:
    for name in ("ä/ö ü.ipynb", "a\nb", "/" * 4000, "\udc80", "日本"):
        place = CellPlace(name, "<script>")
        odd = replace(OTHER, source=replace(OTHER.source, layout="<F, \N{SNOWMAN}, \ud83d"))
        said = keep(place, START, odd)
        assert same(kept(place, START).settings, odd) if not said else kept(place, START) == Kept(None)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b"\0\xff", b'{"isoviz": "kept session"}', b"[" * 100_000, b'{"isoviz": "session", "version": 3}'],
)
def test_a_damaged_file_is_ignored_with_words_and_replaced(folder: Path, damage: bytes) -> None:
    keep(PLACE, START, OTHER)
    (path,) = folder.iterdir()
    path.write_bytes(damage)
    found = kept(PLACE, START)
    assert found.settings is None
    assert str(path) in found.problem
    assert keep(PLACE, START, OTHER) == ""
    assert same(kept(PLACE, START).settings, OTHER)


@pytest.mark.parametrize("key", ["version", "start", "settings", "cell", "number"])
def test_a_file_with_a_wrong_part_is_ignored_with_words(folder: Path, key: str) -> None:
    keep(PLACE, START, OTHER)
    (path,) = folder.iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), key: "?"}))
    assert kept(PLACE, START).settings is None
    assert str(path) in kept(PLACE, START).problem


def test_a_pipe_in_its_place_does_not_keep_anybody_waiting(folder: Path) -> None:
    keep(PLACE, START, OTHER)
    (path,) = folder.iterdir()
    path.unlink()
    os.mkfifo(path)
    assert "pipe" in kept(PLACE, START).problem
    assert "pipe" in keep(PLACE, START, OTHER)


def test_the_oldest_are_pruned_and_what_is_used_is_not_old(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_sessions, "MOST_FILES", 5)
    places = [PLACE._replace(cell=f"cell-{number}") for number in range(8)]
    for age, place in enumerate(places[:5]):
        keep(place, START, OTHER)
        os.utime(folder / place.file_name, (1000.0 + age, 1000.0 + age))
    (folder / ".x.0011.part").write_text("left by a process that was killed")
    os.utime(folder / ".x.0011.part", (1000.0, 1000.0))
    assert kept(places[0], START).settings is not None
    for place in places[5:]:
        keep(place, START, OTHER)
    assert [kept(place, START).settings is not None for place in places] == [True, *[False] * 3, *[True] * 4]
    assert len(list(folder.iterdir())) == 5


def test_a_directory_that_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for name in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    assert keep(PLACE, START, OTHER) == "there is no directory for it"
    assert kept(PLACE, START) == Kept(None)
    forget(PLACE)


def test_a_read_only_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user who is not root: root writes everywhere."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        other = 65534 if user == 0 else user
        os.chown(name, other, -1)
        Path(name).chmod(0o700)
        monkeypatch.setenv("XDG_STATE_HOME", name)
        os.seteuid(other)
        try:
            assert keep(PLACE, START, OTHER) == ""
            sessions = Path(name) / "isoviz" / "sessions"
            sessions.chmod(0o500)
            assert "cannot be" in keep(PLACE, START, replace(OTHER, planner="simple"))
            assert "cannot be" in keep(PLACE, START, START)
            assert same(kept(PLACE, START).settings, OTHER)
            sessions.chmod(0o700)
        finally:
            os.seteuid(user)


def test_a_disk_that_is_full_leaves_the_last_file(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    keep(PLACE, START, OTHER)

    def full(_path: object, _text: str, **_: object) -> None:
        raise FileError("cannot be written: no space left on device")

    monkeypatch.setattr(kept_sessions, "write_text", full)
    assert "no space left" in keep(PLACE, START, replace(OTHER, planner="simple"))
    assert same(kept(PLACE, START).settings, OTHER)


def test_what_is_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(PLACE, START, OTHER)
    monkeypatch.setattr(kept_sessions, "MOST_BYTES", 100)
    assert "more than" in keep(PLACE, START, replace(OTHER, planner="simple"))
    assert kept(PLACE, START).settings is None, "what is older than what was there is not restored"


def _write(number: int, times: int, begin: object) -> None:
    begin.wait()  # type: ignore[attr-defined]
    for time in range(times):
        assert keep(PLACE, START, replace(OTHER, slot_limit=f"{number}{time:04}")) == ""


@pytest.mark.full
def test_processes_that_write_at_once_leave_the_file_of_one_of_them(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    begin = context.Event()
    writers = [context.Process(target=_write, args=(number, 40, begin)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    begin.set()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        found = kept(PLACE, START)
        assert found.problem == ""
        seen += found.settings is not None
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    last = kept(PLACE, START).settings
    assert last is not None and last.slot_limit in ("10039", "20039")
    assert [path.suffix for path in folder.iterdir()] == [".json"]


# ---- sessions

session = session_fixture(START)


def put(session: Session, value: str) -> None:
    session.send({"kind": "set", "field": "slot-limit", "value": value})


def test_a_session_is_kept_after_changes_and_at_the_end(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    first = threading.Event()

    def noted(place: CellPlace, start: Settings, settings: Settings) -> str:
        written.append(settings.slot_limit)
        first.set()
        return keep(place, start, settings)

    monkeypatch.setattr(keepers, "keep", noted)
    keeper = Keeper(session, PLACE, START)
    put(session, "1MiB")
    assert first.wait(120)
    for number in range(2, 40):
        put(session, f"{number}MiB")
    session.wait()
    keeper.close()
    keeper.close()
    assert written[-1] == "39MiB"
    assert len(written) < 10, "not every letter is written"
    assert same(kept(PLACE, START).settings, session.settings)
    put(session, "77MiB")
    session.wait()
    flush_all(PLACE)
    assert written[-1] == "39MiB", "it is closed"


def test_a_session_that_did_not_change_is_not_kept(session: Session, folder: Path) -> None:
    keeper = Keeper(session, PLACE, START)
    session.wait()
    keeper.close()
    assert not folder.exists()


# ---- cells


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A cell of a notebook; the number is that of its execution."""
    execution = [1]
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/me/notebook.ipynb")
    monkeypatch.setattr("isoviz.widgets.explorer._cell", lambda: "cell-1")
    monkeypatch.setattr("isoviz.widgets.explorer._execution_count", lambda: execution[0])
    monkeypatch.setattr("IPython.display.display", lambda *_shown, **_more: None)
    return execution


def explore(**more: object) -> Explorer:
    return show_explorer.explore(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32}, **more)  # type: ignore[arg-type]


def test_a_cell_that_runs_again_shows_what_was_there(cell: list[int]) -> None:
    first = explore()
    assert first.session.wait().notice == ""
    put(first.session, "3MiB")
    first.session.wait()
    cell[0] += 1
    second = explore()
    try:
        state = second.session.wait()
        assert first.comm is None, "the first one is closed"
        assert state.settings.slot_limit == "3MiB"
        assert state.notice == show_explorer.RESTORED
        second.session.undo()
        state = second.session.wait()
        assert session_text(state.settings) == session_text(first.session.state.past[0])
        assert not state.past
        second.session.redo()
        assert second.session.wait().settings.slot_limit == "3MiB"
    finally:
        second.close()


def test_a_cell_begins_afresh_where_it_says_so(cell: list[int], folder: Path) -> None:
    first = explore()
    put(first.session, "3MiB")
    first.session.wait()
    cell[0] += 1
    second = explore(restore=False)
    state = second.session.wait()
    second.close()
    assert (state.settings.slot_limit, state.notice) == ("", "")
    assert list(folder.iterdir()) == []


def test_the_code_of_a_cell_wins_where_it_asks_for_something_else(cell: list[int]) -> None:
    first = explore()
    put(first.session, "3MiB")
    first.session.wait()
    cell[0] += 1
    second = explore(planner="simple")
    state = second.session.wait()
    second.close()
    assert (state.settings.slot_limit, state.settings.planner, state.notice) == ("", "simple", "")


def test_two_explorers_of_a_cell_are_kept_apart(cell: list[int]) -> None:
    for number, explorer in enumerate([explore(), explore()]):
        put(explorer.session, f"{number + 1}MiB")
        explorer.session.wait()
        explorer.close()
    cell[0] += 1
    again = [explore(), explore()]
    assert [each.session.wait().settings.slot_limit for each in again] == ["1MiB", "2MiB"]
    for each in again:
        each.close()


def test_what_is_damaged_is_told(cell: list[int], folder: Path) -> None:
    first = explore()
    put(first.session, "3MiB")
    first.session.wait()
    first.close()
    (path,) = folder.iterdir()
    path.write_text("{")
    cell[0] += 1
    second = explore()
    state = second.session.wait()
    second.close()
    assert state.settings.slot_limit == ""
    assert "ignored" in state.notice and "not JSON" in state.notice


def test_nothing_is_kept_where_no_notebook_is_named(cell: list[int], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME")
    explorer = explore()
    put(explorer.session, "3MiB")
    explorer.session.wait()
    explorer.close()
    assert not folder.exists()


KERNEL = """
import sys
import IPython.display
IPython.display.display = lambda *shown, **more: None
import isoviz, isoviz.widgets.explorer as module
module._cell, module._execution_count = lambda: "cell-1", lambda: 1
explorer = isoviz.explore(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32})
state = explorer.session.wait()
print(state.settings.slot_limit, "|", state.notice)
explorer.session.send({"kind": "set", "field": "slot-limit", "value": sys.argv[1]})
explorer.session.wait()
"""


def test_a_kernel_that_is_restarted_finds_what_was_there(tmp_path: Path) -> None:
    """The process ends without closing the explorer, as a kernel does."""
    said = []
    for value in ("3MiB", "4MiB"):
        done = subprocess.run(
            [sys.executable, "-c", KERNEL, value],
            env={**os.environ, "JPY_SESSION_NAME": "/home/me/notebook.ipynb", "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path, capture_output=True, text=True, timeout=250, check=True,
        )  # fmt: skip
        said.append(done.stdout.strip())
    assert said == ["|", f"3MiB | {show_explorer.RESTORED}"]
