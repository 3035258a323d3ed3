"""The prediction ledger: any number of writers, torn lines, files that cannot be; and what goes into it."""

from __future__ import annotations

import logging
import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_cases import ENTRY, planned, two

import isoviz
from isoviz.backends.devices import ThisComputer
from isoviz.backends.emulated import EmulatedMachine
from isoviz.cli import main
from isoviz.errors import FileError, InputError, RunError
from isoviz.machines import Constant
from isoviz.measure.local_engine import recorded
from isoviz.runtime.ledger.ledger import RECENT_RUNS, Ledger, ledger, unrecorded
from isoviz.runtime.ledger.ledger_entry import LedgerEntry

LINE = ENTRY.to_line()


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "cache" / "runs.jsonl")


def numbered(count: int, start: int = 0) -> list[LedgerEntry]:
    return [replace(ENTRY, nbytes=start + k + 1) for k in range(count)]


def sizes(entries: tuple[LedgerEntry, ...]) -> list[int]:
    return [each.nbytes for each in entries]


# ---- entries


def test_a_line_says_everything() -> None:
    assert LINE.endswith(b"\n") and LINE.count(b"\n") == 1
    assert LedgerEntry.from_line(LINE) == ENTRY
    bare = replace(ENTRY, interval=None, verified=None, notes=())
    assert LedgerEntry.from_line(bare.to_line()) == bare


def test_what_a_trial_said_is_in_it() -> None:
    tried = replace(ENTRY, basis="trial", tried=True, model=0.02, scatter=0.15)
    assert LedgerEntry.from_line(tried.to_line()) == tried
    assert tried.outcome.predicted == 0.010 and tried.model_outcome.predicted == 0.02 and tried.model_outcome.interval is None
    assert ENTRY.model_outcome is ENTRY.outcome


def test_what_a_later_version_adds_is_left_out() -> None:
    data = {**ENTRY.to_json(), "colour": "green"}
    assert LedgerEntry.from_json(data) == ENTRY


@pytest.mark.parametrize(
    "change",
    [
        {"format": "isoviz-run-99"},
        {"bytes": 0},
        {"bytes": "many"},
        {"predicted": None},
        {"predicted": {"seconds": -1, "interval": None, "basis": "none"}},
        {"predicted": {"seconds": 1, "interval": [1], "basis": "none"}},
        {"measured": {"seconds": "NaN", "flush_seconds": 0}},
        {"predicted": {"seconds": 1, "interval": None, "basis": "trial", "scatter": -0.1}},
        {"hops": 3},
        {"hops": [{}]},
        {"verified": "yes"},
        {"machine": []},
        {"source": {"memory": "a"}},
    ],
)
def test_what_is_no_entry_is_refused(change: dict[str, object]) -> None:
    import json

    with pytest.raises(InputError):
        LedgerEntry.from_line(json.dumps({**ENTRY.to_json(), **change}).encode())


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b"[" * 100_000, b'{"format": NaN}'])
def test_garbage_is_refused(line: bytes) -> None:
    with pytest.raises(InputError):
        LedgerEntry.from_line(line)


def test_figures_that_are_none_are_not_written(book: Ledger) -> None:
    assert not book.append(replace(ENTRY, measured=float("inf")))
    assert book.read() == ((), 0)


# ---- writing and reading


def test_runs_come_back_in_their_order(book: Ledger) -> None:
    assert book.read() == ((), 0) and book.recent() == ()
    for each in numbered(5):
        assert book.append(each)
    assert sizes(book.read().entries) == sizes(book.recent()) == [1, 2, 3, 4, 5]
    assert (book.path.stat().st_mode & 0o777) == 0o600


def test_many_processes_write_at_once(book: Ledger) -> None:
    """No line is lost, none is torn."""
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from isoviz.runtime.ledger.ledger import Ledger; from isoviz.runtime.ledger.ledger_entry import LedgerEntry\n"
        "book, entry = Ledger(Path(sys.argv[1])), LedgerEntry.from_line(sys.stdin.buffer.read())\n"
        "for k in range(200): assert book.append(replace(entry, nbytes=int(sys.argv[2]) + k))\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(book.path), str(1 + 1000 * k)], stdin=subprocess.PIPE) for k in range(4)
    ]
    for process in started:
        process.communicate(LINE)
    assert all(process.returncode == 0 for process in started)
    found = book.read()
    assert found.unreadable == 0
    assert sorted(sizes(found.entries)) == sorted(1 + 1000 * k + i for k in range(4) for i in range(200))


def test_many_threads_write_while_others_set_the_file_aside(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "runs.jsonl", most_bytes=40 * len(LINE))

    def write(start: int) -> None:
        mine = Ledger(book.path, book.most_bytes)
        for each in numbered(30, start):
            assert mine.append(each)

    threads = [threading.Thread(target=write, args=(1000 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = book.read()
    assert found.unreadable == 0 and len(set(sizes(found.entries))) == len(found.entries)
    assert 40 <= len(found.entries) <= 120
    assert book.path.stat().st_size + book.older.stat().st_size <= 2 * book.most_bytes + 8 * len(LINE)


def test_a_file_that_is_too_large_is_set_aside(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "runs.jsonl", most_bytes=10 * len(LINE))
    for each in numbered(35):
        assert book.append(each)
    found = sizes(book.read().entries)
    assert found == list(range(found[0], 36)) and 10 <= len(found) <= 23
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.1.jsonl", "runs.jsonl", "runs.lock"]
    book.clear()
    assert list(tmp_path.iterdir()) == [] and book.read() == ((), 0) == (book.recent(), 0)


@given(st.lists(st.one_of(st.just(LINE), st.integers(1, len(LINE) - 2), st.binary(max_size=40)), max_size=12))
def test_what_is_torn_takes_nothing_else_with_it(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes | int]) -> None:
    """Whatever has been left in the file: whole lines are read, the rest is counted or blank, and the next line is whole."""
    book = Ledger(tmp_path_factory.mktemp("torn") / "runs.jsonl")
    whole = torn = 0
    for part in parts:
        if part == LINE:
            assert book.append(ENTRY)
            whole += 1
        else:
            rest = LINE[:part] if isinstance(part, int) else part.replace(b"\n", b"")
            before = book.path.read_bytes() if book.path.exists() else b""
            book.path.write_bytes(before + rest)
            torn += bool(rest.strip()) and (not before or before.endswith(b"\n") or not before.rsplit(b"\n", 1)[-1].strip())
    assert book.append(ENTRY)
    found = book.read()
    assert found.entries == (ENTRY,) * (whole + 1)
    assert found.unreadable == torn
    assert book.recent() == found.entries


def test_the_last_runs_are_read_once(book: Ledger) -> None:
    assert book.recent() == ()
    everything = numbered(RECENT_RUNS + 50)
    for k, each in enumerate(everything, start=1):
        book.append(each)
        if k % 100 == 0:
            assert sizes(book.recent())[-1] == k
    found = book.recent()
    assert sizes(found) == sizes(tuple(everything[-RECENT_RUNS:]))
    assert book.recent()[0] is found[0]  # the same object: nothing was read again
    fresh = Ledger(book.path).recent()
    assert fresh[-1] == everything[-1] and 0 < len(fresh) <= RECENT_RUNS  # from the end of the file only
    half = everything[-1].to_line()
    with book.path.open("ab") as file:
        file.write(half[:50])
    assert book.recent() == found  # being written
    with book.path.open("ab") as file:
        file.write(half[50:])
    assert len(book.recent()) == RECENT_RUNS and book.recent()[-2] == everything[-1]
    book.path.write_bytes(LINE)
    assert book.recent() == (ENTRY,)  # another file


# ---- where no ledger can be


@pytest.mark.parametrize("kind", ["directory", "pipe", "device", "below a file"])
def test_what_cannot_be_written_to_is_no_reason_to_fail(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "runs.jsonl"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/full")
    else:
        path.write_bytes(b"")
        path = path / "runs.jsonl"
    book = Ledger(path)
    assert not book.append(ENTRY)
    assert book.recent() == ()
    if kind != "below a file":
        with pytest.raises(FileError, match=f"is a {kind}"):
            book.read()
    if kind == "directory":
        with pytest.raises(FileError, match="cannot be removed"):
            book.clear()


def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for word in ("off", "OFF", "0", " no "):
        monkeypatch.setenv("ISOVIZ_LEDGER", word)
        assert ledger() is None
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "mine.jsonl"))
    assert ledger().path == tmp_path / "mine.jsonl" and ledger() is ledger()
    monkeypatch.delenv("ISOVIZ_LEDGER")
    assert ledger().path == tmp_path / "isoviz" / "runs.jsonl"


# ---- what goes into it

LOCAL = isoviz.machines.preset("local", measure="assumed")


def small() -> isoviz.Transfer:
    space, fields = isoviz.IndexSpace(x=1000), isoviz.FieldSpace(a="float32", b="int16")
    return isoviz.Transfer.whole(space, fields, "node0.sys", "<F, x>", "node0.sys", "<x, F>")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))
    found = ledger()
    assert found is not None
    return found


def test_runs_of_this_computer_are_recorded(mine: Ledger) -> None:
    made = isoviz.plan(small(), LOCAL)
    report = isoviz.Engine(LOCAL).run(made)
    (entry,) = mine.read().entries
    assert (entry.nbytes, entry.predicted, entry.measured) == (6000, made.seconds, report.seconds)
    assert (entry.machine, entry.digest, entry.planner) == ("local", LOCAL.digest, made.planner)
    assert entry.verified is True and not entry.emulated and entry.origin == "run"
    assert (entry.source, entry.source_layout) == ("node0.sys", "<F, x>")
    assert [(hop.channel, hop.predicted, hop.measured) for hop in entry.hops] == [
        (hop.channel, hop.throughput, ran.throughput) for hop, ran in zip(made.hops, report.hops, strict=True)
    ]


def test_runs_of_the_shell_and_of_the_explorer_are_recorded(mine: Ledger, tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    from isoviz.widgets.chosen.settings import settings_for
    from isoviz.widgets.session import Session

    session = Session(
        settings_for(
            space={"x": 1000},
            fields={"a": "float32", "b": "int16"},
            source=("node0.sys", "<F, x>"),
            destination=("node0.sys", "<x, F>"),
        )
    )
    session.run()
    session.wait()
    session.close()
    file = tmp_path / "transfer.toml"
    file.write_text(
        'space = { x = 100 }\nfields = { v = "u1" }\nmachine = { preset = "local", measure = "assumed" }\n'
        'source = { memory = "node0.sys", layout = "<F, x>" }\ndestination = { memory = "node0.sys", layout = "<F, x>" }\n'
    )
    assert main(["run", str(file), "--json"]) == 0
    assert sizes(mine.read().entries) == [6000, 100]


def test_what_says_nothing_about_a_user_is_not_recorded(mine: Ledger) -> None:
    made = isoviz.plan(small(), LOCAL)
    with unrecorded():
        isoviz.Engine(LOCAL).run(made)
    isoviz.Engine(LOCAL).run(made, pipelined=False)  # predicted was another way of running

    class Other(ThisComputer):
        pass

    isoviz.Engine(LOCAL, Other()).run(made)
    there = two(Constant(1e9))
    isoviz.Engine(there, EmulatedMachine()).run(planned(there, 10))
    with pytest.raises(InputError):
        isoviz.Engine(LOCAL).run(planned(there, 10))
    assert mine.read() == ((), 0)


def test_an_engine_with_a_ledger_of_its_own(book: Ledger) -> None:
    there = two(Constant(1e9))
    isoviz.Engine(there, EmulatedMachine(), ledger=book).run(planned(there, 10))
    assert [each.machine for each in book.read().entries] == ["two"]


def test_a_ledger_that_breaks_does_not_break_the_run(
    monkeypatch: pytest.MonkeyPatch, mine: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Ledger, "append", broken)
    report = isoviz.Engine(LOCAL).run(isoviz.plan(small(), LOCAL))
    assert report.verified is True
    assert "the run was not added to the ledger: RuntimeError: broken" in report.notes
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["the run was not added to the ledger"]


def test_a_ledger_that_cannot_be_written_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "isoviz")
    (tmp_path / "file").touch()
    book = Ledger(tmp_path / "file" / "runs.jsonl")
    report = isoviz.Engine(LOCAL, ledger=book).run(isoviz.plan(small(), LOCAL))
    assert f"the run was not added to the ledger: {book.path} cannot be written" in report.notes
    assert any(record.exc_info and str(book.path) in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("error", [RuntimeError("broken"), RunError("broken")])
def test_a_trial_that_breaks_does_not_break_the_run(
    monkeypatch: pytest.MonkeyPatch, mine: Ledger, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    caplog.set_level(logging.DEBUG, "isoviz")
    monkeypatch.setattr("isoviz.measure.trial.trial", broken)
    report = isoviz.Engine(LOCAL).run(isoviz.plan(small(), LOCAL), trial=True)
    assert report.verified is True and report.tried is None
    assert f"the prediction is without a trial, which failed: {type(error).__name__}: broken" in report.notes
    (record,) = [record for record in caplog.records if "the trial of" in record.getMessage()]
    assert record.exc_info and record.levelno == (logging.DEBUG if isinstance(error, RunError) else logging.WARNING)


def test_what_recording_costs(mine: Ledger, report) -> None:
    made = isoviz.plan(small(), LOCAL)
    ran = isoviz.Engine(LOCAL).run(made)
    times = []
    for _ in range(200):
        began = time.perf_counter()
        recorded(ran, LOCAL, mine)
        times.append(time.perf_counter() - began)
    assert len(mine.read().entries) == 201
    report("recording a run in the ledger (median of 200, µs)", f"{1e6 * statistics.median(times):.0f}")
