"""Trials: what hops take now counts, whatever a machine says; nothing of the user's is touched, and nothing is left behind."""

from __future__ import annotations

import functools
import itertools
import json
import math
import statistics
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz import Engine, FieldSpace, IndexSpace, Options, Transfer, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.emulated import EmulatedMachine
from isoviz.cli import main
from isoviz.errors import Cancelled, InputError, RunError, TransferError
from isoviz.figures.document_html import told_html
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, Resource, preset, save
from isoviz.measure import trial, trial_runs, tuning
from isoviz.measure.run_file import run_file
from isoviz.measure.trial import Trial, try_out
from isoviz.planner import Instance, Plan
from isoviz.planner.explanation.alternatives import alternatives, identity
from isoviz.planner.time.spread import Prediction
from isoviz.runtime.ledger.ledger import Ledger, unrecorded
from isoviz.runtime.ledger.ledger_entry import LedgerEntry
from isoviz.units import format_seconds

PAIR = FieldSpace(re="float32", im="float32")
MIB = 1 << 20
SYS, DSK = "node0.sys", "node0.dsk"
DISK_RATE = 1e9


@pytest.fixture(autouse=True)
def _in_no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy this computer is, trials are not given up."""
    monkeypatch.setattr(tuning, "TRIAL_SECONDS", 1e9)


def machine(copy: float = 1e10, *, disk: float = DISK_RATE, shared: bool = False) -> Machine:
    """Host memory and a disk; copies, and the disk, are said to be as fast as this."""
    uses = (("memory", 1.0),) if shared else ()
    return Machine(
        "here",
        (Memory(SYS, MemoryKind.SYS), Memory(DSK, MemoryKind.DSK)),
        (
            Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-13, copy), resources=uses),
            Channel("", ChannelKind.DISK_READ, DSK, SYS, LatencyBandwidth(1e-6, disk), 1e-4, resources=uses),
            Channel("", ChannelKind.DISK_WRITE, SYS, DSK, LatencyBandwidth(1e-6, disk), 1e-4, resources=uses),
        ),
        (Resource("memory", 1.0, held=True),) if shared else (),
    )


def transfer(here: str, there: str, nbytes: int = 8 * MIB, layouts: tuple[str, str] = ("<F, x>", "<x, F>")) -> Transfer:
    return Transfer.whole(IndexSpace(x=nbytes // PAIR.nbytes), PAIR, here, layouts[0], there, layouts[1])


def played(monkeypatch: pytest.MonkeyPatch, copies: float = 5e9, disks: float = 1e9) -> None:
    """Bytes move as ever, but a played clock says how long it took: hops move these bytes per second, chunks are pipelined."""
    begun = trial_runs.BaseEngine.run
    monkeypatch.setattr(tuning, "MOST_REPEATS", 25)  # Every repeat takes as long as the first.

    @functools.cache
    def bytes_of(made: Plan, chunks: int | None) -> list[int]:
        return [chunk.payload_bytes for chunk in itertools.islice(made.chunks, chunks)]

    def run(self: Any, made: Plan, *args: Any, chunks: int | None = None, **options: Any) -> Any:
        report = begun(self, made, *args, chunks=chunks, **options)
        payloads = bytes_of(made, chunks)
        rates = [
            (copies if hop.kind == ChannelKind.MEMCPY else disks) / moved
            for hop, moved in zip(made.hops, made.moved, strict=True)
        ]
        hops = tuple(replace(hop, seconds=sum(payloads) / rate) for hop, rate in zip(report.hops, rates, strict=True))
        seconds = sum(payloads[1:]) / min(rates) + math.fsum(payloads[0] / rate for rate in rates)
        return replace(report, seconds=seconds, flush_seconds=0.0, hops=hops)

    monkeypatch.setattr(trial_runs.BaseEngine, "run", run)


def compared(made: Plan, here: Machine, within: float) -> tuple[Trial, float]:
    """A trial, and seconds that were measured beside it, which it says within a factor; tried again where others use the computer
    meanwhile."""
    ratios: list[float] = []
    while len(ratios) < 5:
        found = try_out(made, here)
        assert found is not None
        with Engine(here) as engine, unrecorded():
            measured = statistics.median(engine.run(made, verify=False).seconds for _ in range(9))
        ratios.append(found.prediction.seconds / measured)
        if 1 / within < ratios[-1] < within:
            return found, measured
    pytest.fail(f"said / measured: {ratios}")


@pytest.mark.parametrize("nbytes", [100_000, 8 * MIB, 100 * MIB])
@pytest.mark.parametrize("said", [1e7, 1e12])
def test_what_a_machine_says_wrongly_does_not_matter(said: float, nbytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch)
    here = machine(said)
    made = plan(transfer(SYS, SYS, nbytes), here)
    found = try_out(made, here)
    assert found is not None
    assert found.prediction.seconds == pytest.approx(nbytes / 5e9, rel=0.2), "the machine says 500 times as long, or a 200th"
    assert found.plan is made and found.tried.hops[0].throughput != made.hops[0].throughput
    said_now = found.prediction
    assert said_now.low < said_now.seconds < said_now.high
    assert said_now.to_json()["interval_basis"]["from"] == "trial"
    assert str(said_now).startswith("after the trial")
    assert found.spent > 0


@pytest.mark.full
@pytest.mark.parametrize("nbytes", [100_000, 8 * MIB, 100 * MIB])
@pytest.mark.parametrize("said", [1e7, 1e12])
def test_what_a_trial_says_is_what_a_run_takes(said: float, nbytes: int) -> None:
    here = machine(said)
    made = plan(transfer(SYS, SYS, nbytes), here)
    _, measured = compared(made, here, 2)
    assert not 0.2 < made.seconds / measured < 5, "what the machine says is wrong by much more"


@pytest.mark.parametrize("shared", [False, True])
def test_disks_stand_still(shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that does not exist is not missed, nothing is written; disks are predicted by the machine as before."""
    monkeypatch.chdir(tmp_path)
    played(monkeypatch)
    here = machine(1e7, shared=shared)
    space = IndexSpace(x=16 * MIB // PAIR.nbytes)
    source = Instance(DSK, space, PAIR, "<F, x>", path=tmp_path / "missing.raw")
    made = plan(Transfer(source, Instance(DSK, space, PAIR, "<x, F>", path=tmp_path / "new.raw")), here)
    assert [hop.kind for hop in made.hops] == ["DiskRead", "Memcpy", "DiskWrite"]
    found = isoviz.try_out(made, here)
    assert found is not None and list(tmp_path.iterdir()) == []
    rates = [hop.throughput for hop in found.tried.hops]
    assert rates[::2] == [hop.throughput for hop in made.hops][::2]
    assert rates[1] > 10 * made.hops[1].throughput
    reading = made.bytes / DISK_RATE
    assert reading < found.prediction.seconds < made.seconds / 2
    said = found.prediction
    assert said.low < 0.99 * said.seconds < 1.01 * said.seconds < said.high
    if shared:  # held by one hop at a time: reading, copying and writing follow each other
        assert found.prediction.seconds > 2 * reading


def on_disk(folder: Path, nbytes: int = MIB // 4) -> Transfer:
    """From a file that is there to one that is there, too."""
    data = np.random.default_rng(1).integers(0, 256, nbytes, dtype=np.uint8)
    (folder / "source.raw").write_bytes(data.tobytes())
    (folder / "destination.raw").write_bytes(b"as before")
    space = IndexSpace(x=nbytes // PAIR.nbytes)
    ends = (("source.raw", "<x, F>"), ("destination.raw", "<F, x>"))
    return Transfer(*(Instance(DSK, space, PAIR, layout, path=folder / name) for name, layout in ends))


def test_a_chunk_goes_all_the_way_where_its_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is said to be slower than any: the trial does not believe it, and leaves everything as it was."""
    played(monkeypatch)
    here = machine(disk=5e5)
    made = plan(on_disk(tmp_path), here)
    assert [hop.kind for hop in made.hops] == ["DiskRead", "Memcpy", "DiskWrite"]
    found = try_out(made, here)
    assert found is not None and set(found.ranges) == {0, 1, 2}
    for tried, said in zip(found.tried.hops[::2], made.hops[::2], strict=True):
        assert tried.throughput > 1.5 * said.throughput
    assert found.tried.hops[1].throughput != made.hops[1].throughput
    assert found.prediction.seconds < made.seconds / 1.5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["destination.raw", "source.raw"]
    assert (tmp_path / "destination.raw").read_bytes() == b"as before"


@pytest.mark.full
def test_a_run_over_disks_goes_by_a_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch)
    here = machine(disk=5e5)
    given = on_disk(tmp_path)
    nowhere = Transfer.whole(given.space, PAIR, DSK, "<x, F>", DSK, "<F, x>")
    for transfer_of, source in ((given, None), (nowhere, tmp_path / "source.raw"), (nowhere, None)):
        with Engine(here) as engine:
            report = engine.run(plan(transfer_of, here), source, trial=True)
        assert report.tried is not None and report.verified
        assert report.tried.hops[0].throughput > 1e6 and report.tried.seconds < report.plan.seconds / 1.5
    assert (tmp_path / "destination.raw").stat().st_size == MIB // 4


@pytest.mark.parametrize("why", ["slow", "partial", "scattered"])
def test_what_takes_long_or_changes_a_file_is_not_tried(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the copies are, on their own."""
    here, given = machine(disk=2e6), on_disk(tmp_path)
    if why == "slow":
        monkeypatch.setattr(tuning, "CHUNK_SECONDS_MOST", 0.0)
    elif why == "scattered":  # to both fields' halves of the file
        here = replace(here, limits=Limits(slot_limit=MIB // 16))
        layouts = [replace(end, layout=layout) for end, layout in zip(given.ends, ("<F, x>", "<x, F>"), strict=True)]
        given = Transfer(*layouts)
    else:
        given = replace(given, shape=(given.space["x"] // 2,))
        assert given.is_partial
    made = plan(given, here)
    found = try_out(made, here)
    assert found is not None and set(found.ranges) == {1}
    assert (tmp_path / "destination.raw").read_bytes() == b"as before"


def test_runs_scattered_over_a_new_file_are_tried_by_some_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To both fields' halves of the file."""
    here, given = replace(machine(disk=2e8), limits=Limits(slot_limit=MIB)), on_disk(tmp_path, 8 * MIB)
    layouts = [replace(end, layout=layout) for end, layout in zip(given.ends, ("<F, x>", "<x, F>"), strict=True)]
    made = plan(Transfer(*layouts), here)
    assert made.chunk_count > tuning.TOGETHER and tuning.SCATTERED_RUN <= made.hops[-1].request_bytes < made.chunk_bytes
    found = try_out(made, here)
    assert found is not None and set(found.ranges) == set(range(len(made.hops)))
    monkeypatch.setattr(tuning, "SCATTERED_RUN", tuning.LONG_RUN)
    found = try_out(made, here)
    assert found is None or set(found.ranges) == set(made.converting)
    assert (tmp_path / "destination.raw").read_bytes() == b"as before"


def test_one_long_repeat_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine()
    made = plan(transfer(SYS, SYS), here)
    runs: list[int] = []
    begun = trial_runs.BaseEngine.run

    def run(self: Any, *args: Any, **options: Any) -> Any:
        runs.append(1)
        return replace(begun(self, *args, **options), seconds=seconds.pop(0))

    monkeypatch.setattr(trial_runs.BaseEngine, "run", run)
    monkeypatch.setattr(tuning, "PULL", 0.0)
    seconds = [2.0]
    found = try_out(made, here)
    assert found is not None and len(runs) == 1
    assert found.prediction.seconds == pytest.approx(2.0, rel=0.01)
    seconds = [0.5, 0.5, *[0.02] * 30]  # it stopped for a moment
    found = try_out(made, here)
    assert found is not None and found.prediction.seconds == pytest.approx(0.02, rel=0.01)


def test_who_cancels_has_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine(disk=2e6)
    made = plan(on_disk(tmp_path), here)
    token = threading.Event()
    token.set()
    assert try_out(made, here, cancel=token) is None
    with Engine(here) as engine, pytest.raises(Cancelled):
        engine.run(made, trial=True, cancel=token)
    monkeypatch.setattr(tuning, "TRIAL_SECONDS", -1.0)
    assert try_out(made, here) is None
    with Engine(here) as engine:
        report = engine.run(made, trial=True)
    assert report.verified and report.tried is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["destination.raw", "source.raw"]


def test_the_disk_of_the_destination_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its path was given; and no more of it is taken than some chunks need."""
    here = machine(disk=2e8)
    large = replace(here, limits=Limits(slot_limit=MIB))
    nowhere = Transfer.whole(IndexSpace(x=8 * MIB // PAIR.nbytes), PAIR, SYS, "<x, F>", DSK, "<F, x>")
    made = plan(nowhere, large)
    files: list[tuple[Path, int]] = []
    begun = trial_runs.NewFile

    def new(final: None, size: int, directory: Path) -> Any:
        assert final is None
        files.append((directory, size))
        return begun(None, size, directory)

    monkeypatch.setattr(trial_runs, "NewFile", new)
    (tmp_path / "there").mkdir()
    with Engine(large, ThisComputer(tmp_path)) as engine:
        first = engine.run(made, None, tmp_path / "there" / "new.raw", trial=True)
        assert {folder for folder, _ in files} == {tmp_path / "there"}
        assert made.chunk_count > tuning.TOGETHER and {size for _, size in files} == {tuning.TOGETHER * made.chunk_bytes}
        with monkeypatch.context() as limited:  # room for one of them only
            limited.setattr(tuning, "TRIAL_ROOM", 2 * trial_runs.HUGE)
            limited.setattr(tuning, "TOGETHER", made.chunk_count)
            files.clear()
            assert try_out(made, large) is not None
            assert {size for _, size in files} == {made.chunk_bytes}
        files.clear()
        engine.run(made, trial=True)
    assert first.tried is not None and first.tried.hops[-1].throughput != made.hops[-1].throughput
    assert {folder for folder, _ in files} == {tmp_path}
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["new.raw"]


def test_a_plan_for_another_machine_is_told_so() -> None:
    here = machine()
    other = replace(here, memories=(*here.memories, Memory("node0.more", MemoryKind.SYS)), channels=here.channels)
    with Engine(here) as engine, pytest.raises(TransferError):
        engine.run(plan(transfer(SYS, SYS), other), trial=True)


def test_what_is_said_to_take_long_to_set_up_need_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two disks take 0.1 s each to set up, by the machine alone."""
    played(monkeypatch)
    here = machine()
    channels = tuple(each if each.is_self_loop else replace(each, setup=0.1) for each in here.channels)
    slow = replace(here, channels=channels)
    found = try_out(plan(on_disk(tmp_path), slow), slow)
    assert found is not None and set(found.ranges) == {0, 1, 2}
    assert found.prediction.seconds < 0.1


def test_one_moment_is_not_believed_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is predicted lies between what was tried and what the machine says, nearer to the trial."""
    for said in (0.8, 1.2):
        tried = trial_runs.between(1e9, said * 1e9)
        assert 1e9 < tried < 1.05e9 if said > 1 else 0.95e9 < tried < 1e9
    assert trial_runs.between(1e9, 1e13) == trial_runs.between(1e9, 2e9) < 1.1e9, "it knows nothing of this"
    assert trial_runs.between(1e9, 1e9) == trial_runs.between(1e9, 0.0) == 1e9
    here = machine(1e9)
    made = plan(transfer(SYS, SYS), here)
    monkeypatch.setattr(tuning, "PULL", 1.0)
    monkeypatch.setattr(tuning, "MOST_PULL", 1e9)
    found = try_out(made, here)
    assert found is not None
    assert found.prediction.seconds == pytest.approx(made.seconds, rel=0.1), "all of the way, but for what lies between requests"


@pytest.mark.parametrize("layouts", [("<x, F>", "<F, x>"), ("<F, x>", "<x, F>")])
def test_hops_that_hold_each_other_up_are_seen_together(
    layouts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hops that take as long as others for a byte when they are alone, and some times as long together; chunks may differ."""
    monkeypatch.chdir(tmp_path)
    here = replace(machine(), limits=Limits(slot_limit=MIB))
    mixed = FieldSpace(a="V13", b="V2", c="V8")
    given = Transfer.whole(IndexSpace(x=8 * MIB // mixed.nbytes), mixed, SYS, layouts[0], DSK, layouts[1])
    made = plan(given, here)
    payloads = [chunk.payload_bytes for chunk in made.chunks]
    assert len(made.hops) == 2 and len(payloads) > tuning.TOGETHER
    assert (max(payloads[:-1]) > 2 * min(payloads[:-1])) == (layouts[0] == "<F, x>")
    monkeypatch.setattr(tuning, "PULL", 0.0)
    begun, together = trial_runs.BaseEngine.run, 1.0

    def run(self: Any, *args: Any, chunks: int, **options: Any) -> Any:
        report = begun(self, *args, chunks=chunks, **options)
        seconds = [nbytes / 1e8 for nbytes in payloads[:chunks]]
        hops = [replace(hop, seconds=math.fsum(seconds)) for hop in report.hops]
        whole = math.fsum(seconds) + max(seconds)  # one hop follows the other
        if chunks > 1:
            whole = together * whole
        setup = here.channel(made.hops[-1].channel).setup
        hops[-1] = replace(hops[-1], seconds=hops[-1].seconds + setup)
        return replace(report, seconds=whole + setup, flush_seconds=0.0, hops=tuple(hops))

    monkeypatch.setattr(trial_runs.BaseEngine, "run", run)
    found = {}
    for together in (1.0, 1.3, 10.0):
        tried = try_out(made, here)
        assert tried is not None and set(tried.ranges) == {0, 1}
        found[together] = tried.prediction.seconds
    assert found[1.0] == pytest.approx((sum(payloads) + max(payloads)) / 1e8, rel=0.1)
    assert found[1.3] == pytest.approx(1.3 * found[1.0], rel=0.05)
    assert found[10.0] == pytest.approx(tuning.CROWDING * found[1.0], rel=0.05), "no more than can be believed"


def test_one_run_of_many_that_stopped_is_not_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine()
    made = plan(transfer(SYS, SYS, MIB // 4), here)
    begun, number = trial_runs.BaseEngine.run, itertools.count()

    def run(self: Any, *args: Any, **options: Any) -> Any:
        report = begun(self, *args, **options)
        return replace(report, seconds=0.001 * (100 if next(number) == 7 else 1 + next(number) % 3 / 10))

    monkeypatch.setattr(trial_runs.BaseEngine, "run", run)
    found = try_out(made, here)
    assert found is not None and next(number) > 40
    assert found.prediction.high < 2 * found.prediction.seconds


def test_nothing_of_the_users_is_touched() -> None:
    here = machine()
    made = plan(transfer(SYS, SYS, 4 * MIB), here)
    source = np.arange(4 * MIB // 4, dtype=np.uint32).view(np.float32)
    before, room = source.copy(), np.zeros(4 * MIB, np.uint8)
    found = try_out(made, here, source, room=room)
    assert found is not None
    assert np.array_equal(source, before)
    expected = source.view(np.uint32).reshape(-1, 2).T.copy().view(np.uint8).reshape(-1)
    assert np.array_equal(room, expected), "it was this room that was written to, with these data"


def test_where_nothing_is_copied_nor_to_be_read_nothing_is_tried(tmp_path: Path) -> None:
    here = machine()
    given = transfer(DSK, SYS, layouts=("<F, x>", "<F, x>"))
    missing = replace(given, source=replace(given.source, path=tmp_path / "missing.raw"))
    assert try_out(plan(missing, here), here) is None
    assert try_out(plan(given, here), here, tmp_path / "missing.raw") is None
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_nobody_names_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of it as the first chunks read, in a file that has no name and is given up."""
    monkeypatch.chdir(tmp_path)
    here = replace(machine(disk=2e8), limits=Limits(slot_limit=MIB))
    files: list[int] = []
    begun = trial_runs.NewFile

    def new(final: None, size: int, directory: Path) -> Any:
        assert final is None and directory == tmp_path
        files.append(size)
        return begun(None, size, directory)

    monkeypatch.setattr(trial_runs, "NewFile", new)
    made = plan(transfer(DSK, SYS, 8 * MIB, ("<x, F>", "<F, x>")), here)
    found = try_out(made, here)
    assert found is not None and set(found.ranges) == set(range(len(made.hops)))
    assert found.tried.hops[0].throughput != made.hops[0].throughput
    assert files == [tuning.TOGETHER * made.chunk_bytes] and list(tmp_path.iterdir()) == []
    for limit in ("TRIAL_FILE", "GENERATED_BYTES"):
        with monkeypatch.context() as limited:
            limited.setattr(tuning, limit, made.chunk_bytes - 1)
            found = try_out(made, here)
        assert found is None or 0 not in found.ranges, "the disk is not tried"
        assert len(files) == 1


def test_a_small_file_is_written_as_a_whole(tmp_path: Path) -> None:
    """However short the runs in it are: the chunk leaves no gaps."""
    here = machine(1e3, disk=2e8)  # copies take for ever
    made = plan(transfer(SYS, DSK, MIB // 4), here)
    assert [hop.kind for hop in made.hops if hop.converts] == ["DiskWrite"] and made.chunk_count == 1
    assert made.hops[-1].request_bytes < 4096
    with Engine(here, ThisComputer(tmp_path)) as engine:
        report = engine.run(made, trial=True)
    assert report.tried is not None and report.verified
    assert report.tried.hops[-1].throughput != made.hops[-1].throughput


def test_what_lies_too_far_apart_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first chunk of a large transposition reads from all of the source: to try it would take as much memory."""
    here = machine()
    made = plan(Transfer.whole(IndexSpace(x=2048, y=4096), FieldSpace(v="float32"), SYS, "<F, x, y>", SYS, "<F, y, x>"), here)
    assert try_out(made, here) is not None
    monkeypatch.setattr(tuning, "TRIAL_ROOM", 16 * MIB)
    got: list[int] = []
    monkeypatch.setattr(trial_runs, "page_aligned", lambda nbytes: got.append(nbytes) or np.empty(nbytes, np.uint8))
    assert try_out(made, here) is None
    assert len(got) <= 1, "no more than what still had room"
    arrays = np.ones(32 * MIB, np.uint8), np.ones(32 * MIB, np.uint8)
    assert try_out(made, here, arrays[0], room=arrays[1]) is not None, "of given arrays any part may be tried"


def test_padding_that_moves_along_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial in which copies move about 5 GB/s, padding among them, says the time of all bytes at that rate."""
    played(monkeypatch, copies=5e9)
    here = machine()
    space = IndexSpace(x=522, y=6000)
    layout = "<x_in=256, F, x_out, y>"
    made = plan(Transfer.whole(space, PAIR, SYS, layout, SYS, layout), here)
    assert made.moved == (768 / 522,)
    found = try_out(made, here)
    assert found is not None
    assert found.tried.hops[0].throughput == pytest.approx(5e9, rel=0.2), "what was moved besides is in the rate"
    assert found.tried.seconds == pytest.approx(made.bytes * made.moved[0] / 5e9, rel=0.2), "and in the time"


@pytest.mark.parametrize("end", [0, 1])
def test_what_a_copy_touches_is_told_apart(end: int) -> None:
    """Each byte that it reads or writes lies in a part, and the parts are little more than that."""
    offsets = [(70, 1000), (1000, 70)][end]
    copies = [
        StridedCopy(*offsets, 8, ((16, *[(8, 1 << 20), (1 << 20, 8)][end]), (5, 200, 300), (3, 1 << 22, 1 << 23))),
        StridedCopy(*offsets, 8, ((16, *[(8, 1 << 20), (1 << 20, 8)][end]),)),
    ]
    size = 1 << 25
    touched = np.zeros(size, bool)
    for copy in copies:
        first = (copy.source_offset, copy.destination_offset)[end]
        for steps in itertools.product(*(range(loop[0]) for loop in copy.loops)):
            at = first + sum(step * loop[1 + end] for step, loop in zip(steps, copy.loops, strict=True))
            touched[at : at + copy.run] = True
    parts = trial_runs.union([part for copy in copies for part in trial_runs.parts_of(copy, end)])
    covered = np.zeros(size, bool)
    for start, stop in parts:
        assert not covered[start:stop].any(), "every byte once"
        covered[start:stop] = True
    assert not (touched & ~covered).any()
    assert covered.sum() < touched.sum() + 4096 * len(parts)


def test_what_a_first_chunk_needs_of_a_large_array_is_little() -> None:
    """Two fields of 256 MiB each, of which the first chunk writes the beginnings."""
    here = machine()
    made = plan(transfer(DSK, SYS, 512 * MIB), here)
    assert any(hop.kind == ChannelKind.MEMCPY for hop in made.hops)
    assert try_out(made, here) is not None


def test_an_array_that_has_no_room_is_not_tried() -> None:
    here = machine()
    made = plan(transfer(SYS, SYS, 1 << 46), here)
    assert try_out(made, here) is None


def test_another_machine_is_refused() -> None:
    here = machine()
    made = plan(transfer(SYS, SYS), here)
    with pytest.raises(TransferError, match="plan again"):
        try_out(made, machine(2e10))


def test_long_chunks_are_tried_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "COPIED_BYTES", 8 * MIB)
    here = machine()
    made = plan(transfer(SYS, SYS, 400 * MIB, ("<F, x>", "<x_in=1024, F, x_out>")), here)
    assert made.chunk_bytes > tuning.COPIED_BYTES
    found = try_out(made, here)
    assert found is not None
    assert trial_runs._in_pieces(made, here, tuning.COPIED_BYTES).chunk_bytes <= tuning.COPIED_BYTES


def described(there: str, layout: str, machine_is: str = 'preset = "local"') -> str:
    return f"""
machine = {{ {machine_is} }}
space = {{ x = 262144 }}
fields = {{ re = "float32", im = "float32" }}
source = {{ memory = "{SYS}", layout = "<F, x>" }}
destination = {{ memory = "{there}", layout = "{layout}" }}
"""


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "transfer.toml"
    file.write_text(described(SYS, "<x, F>"))
    assert main(["plan", str(file), "--trial"]) == 0
    assert "after the trial" in capsys.readouterr().out
    assert main(["plan", str(file), "--trial", "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert data["interval_basis"]["from"] == "trial"
    assert data["interval"][0] < data["expected_seconds"] < data["interval"][1]
    assert main(["plan", str(file), "--trial", "--explain"]) == 0
    assert "after the trial" in capsys.readouterr().out.splitlines()[-1]
    here, missing = (f'memory = "{memory}", layout = "<F, x>"' for memory in (SYS, DSK))
    file.write_text(described(SYS, "<F, x>").replace(here, f'{missing}, path = "missing.raw"', 1))
    assert main(["plan", str(file), "--trial"]) == 0
    assert "nothing was tried" in capsys.readouterr().err  # the file that would be read is not there


# ---- the quickest of several plans


def over_disks(folder: Path) -> tuple[Plan, Machine]:
    """A plan from file to file, which has alternatives in other chunks and over other hops."""
    here = replace(machine(), limits=Limits(slot_limit=MIB))
    return plan(on_disk(folder, 8 * MIB), here), here


def test_of_several_the_quickest_comes_back_with_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, here = over_disks(tmp_path)
    tried: list[Plan] = []

    def once(given: Plan, *_: Any) -> Trial:
        tried.append(given)
        seconds = (4.0, 5.0, 2.0, 3.0)[len(tried) - 1]
        return Trial(given, given, {}, Prediction(seconds, seconds / 2, seconds * 2, "trial", scatter=0.1), 0.01)

    monkeypatch.setattr(trial, "_tried_once", once)
    best = isoviz.try_out(made, here, of=4)
    assert (
        best is not None
        and tried[0] is made
        and [identity(each) for each in tried] == [identity(each) for each in alternatives(made, here, 4)]
    )
    assert best.plan is tried[2] and best.prediction.seconds == 2.0
    assert [each.prediction.seconds for each in best.others] == [4.0, 5.0, 3.0]
    assert all(each.others == () for each in best.others)


def test_trials_of_several_plans_leave_nothing_behind(tmp_path: Path) -> None:
    made, here = over_disks(tmp_path)
    best = try_out(made, here, of=4)
    assert best is not None and len(best.others) <= 3
    assert all(best.prediction.seconds <= each.prediction.seconds for each in best.others)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["destination.raw", "source.raw"]
    assert (tmp_path / "destination.raw").read_bytes() == b"as before"


def test_what_cannot_be_tried_is_no_rival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, here = over_disks(tmp_path)
    begun = trial._tried_once

    def once(given: Plan, *args: Any) -> Trial | None:
        if given is made:
            return begun(given, *args)
        if len(given.hops) == len(made.hops):
            raise RunError("no room")
        return None

    monkeypatch.setattr(trial, "_tried_once", once)
    found = try_out(made, here, of=5)
    assert found is not None and found.plan is made and found.others == ()
    with pytest.raises(InputError, match="from 1 to"):
        try_out(made, here, of=0)


def test_a_run_takes_a_trial_that_was_made(tmp_path: Path) -> None:
    here, book = machine(1e7), Ledger(tmp_path / "runs.jsonl")
    made = plan(transfer(SYS, SYS, MIB), here)
    found = try_out(made, here)
    assert found is not None
    with Engine(here, ledger=book) as engine:
        report = engine.run(made, trial=found)
        with pytest.raises(InputError, match="another plan"):
            engine.run(plan(transfer(SYS, SYS), here), trial=found)
    assert report.prediction == found.prediction and report.tried is found.tried
    (entry,) = book.read().entries
    assert (entry.predicted, entry.scatter) == (found.prediction.seconds, found.prediction.scatter)


def test_several_plans_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "transfer.toml"
    file.write_text(described(DSK, "<x, F>"))
    assert main(["plan", str(file), "--of", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "by the trial" in lines[0] and any("after the trial" in line for line in lines)
    assert main(["plan", str(file), "--trial", "--of", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["interval_basis"]["from"] == "trial"
    assert main(["plan", str(file), "--of", "0"]) == 2
    assert "from 1 to" in capsys.readouterr().err
    assert main(["run", str(file), "--of", "3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["verified"] is True and len(data["trial"]["interval"]) == 2
    assert main(["run", str(file), "--of", "3", "--no-trial"]) == 2
    assert "not allowed with" in capsys.readouterr().err
    assert main(["run", str(file), "--of", "0"]) == 2
    assert "from 1 to" in capsys.readouterr().err
    with pytest.raises(InputError, match="found by trials"):
        run_file(file, trial=False, of=3)
    assert [path.name for path in tmp_path.iterdir()] == ["transfer.toml"]


def test_alternatives() -> None:
    here = preset("local", measure="assumed")
    given = Transfer.whole(IndexSpace(x=2048, y=2048), PAIR, "node0.dsk", "<F, x, y>", "node0.dsk", "<F, y, x>")
    options = Options(memory_limit=8 << 20)
    chosen = plan(given, here, "full", options)
    found = alternatives(chosen, here, 5, options)
    assert found[0] is chosen
    assert len(found) == len({identity(each) for each in found}) == 5
    assert [each.seconds for each in found[1:]] == sorted(each.seconds for each in found[1:])
    assert all(each.buffer_bytes <= 8 << 20 for each in found)
    assert all(hop.destination != "node0.dsk" for each in found for hop in each.hops[:-1])


def test_the_first_chunks_alone() -> None:
    here = machine()
    made = plan(transfer(SYS, SYS), here)
    with Engine(here) as engine:
        assert engine.run(made, chunks=1).verified is None
        with pytest.raises(InputError, match="from 1 to"):
            engine.run(made, chunks=0)


# ---- runs


def test_a_run_goes_by_what_was_tried_just_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine says copies were 500 times slower than they are: what is predicted of a run does not believe it."""
    played(monkeypatch)
    here, book = machine(1e7), Ledger(tmp_path / "runs.jsonl")
    made = plan(transfer(SYS, SYS), here)
    with Engine(here, ledger=book) as engine:
        report = engine.run(made, trial=True)
        plain = engine.run(made)
        again = engine.run(made, trial=True)
    assert report.tried is not None and report.plan == plain.plan == made and report.verified
    assert report.expected is made and report.tried.seconds < made.seconds / 20  # no earlier run says that trials come nearer
    assert report.prediction is not None and report.prediction.tried
    assert report.prediction.seconds == report.tried.seconds
    assert again.expected is again.tried  # the first run does
    assert plain.tried is None and plain.expected is made
    shown, data = str(report), report.to_json()
    for seconds in (made.seconds, report.tried.seconds):
        assert format_seconds(seconds) in shown
    assert "after the trial" in shown and "trial" not in str(plain)
    assert data["seconds"] == made.seconds and data["trial"]["seconds"] == report.tried.seconds
    assert again.to_json()["expected_seconds"] == again.tried.seconds
    assert data["hops"][0]["trial_throughput"] > 20 * data["hops"][0]["throughput"]
    assert "trial_throughput" not in plain.to_json()["hops"][0]
    for representation in (told_html(report), told_html(report, here)):
        assert "after the trial" in representation and format_seconds(report.tried.seconds) in representation
    first, second, _ = book.read().entries
    assert first.tried and not second.tried and first.basis == "trial"
    assert first.predicted == report.tried.seconds and second.predicted == made.seconds
    assert first.by_model == second.by_model == made.seconds
    assert first.hops[0].predicted == made.rates[0], "what is known of a channel goes by its machine"
    assert LedgerEntry.from_line(first.to_line()) == first


@pytest.mark.parametrize("how", [{"pipelined": False}, {"chunks": 1}])
def test_what_was_not_predicted_is_not_tried(how: dict[str, Any]) -> None:
    here = machine()
    with Engine(here) as engine:
        assert engine.run(plan(transfer(SYS, SYS), here), trial=True, **how).tried is None


def test_other_devices_and_memories_held_elsewhere_are_not_tried() -> None:
    here = machine()
    made = plan(transfer(SYS, SYS), here)
    with Engine(here, EmulatedMachine()) as engine:
        assert engine.run(made, trial=True).tried is None
    held = replace(here, memories=tuple(replace(memory, emulated=memory.name == SYS) for memory in here.memories))
    with Engine(held) as engine:
        assert engine.run(plan(transfer(SYS, SYS), held), trial=True).tried is None


def test_a_trial_that_fails_is_no_reason_not_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RunError("no room")

    here = machine()
    monkeypatch.setattr(trial, "trial", fails)
    with Engine(here) as engine:
        report = engine.run(plan(transfer(SYS, SYS), here), trial=True)
    assert report.verified and report.tried is None


def test_isoviz_run_tries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(machine(1e7), tmp_path / "machine.json")
    file = tmp_path / "transfer.toml"
    file.write_text(described(SYS, "<x, F>", f'file = "{tmp_path / "machine.json"}"'))
    assert main(["run", str(file)]) == 0
    assert "after the trial" in capsys.readouterr().out
    assert main(["run", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trial"]["interval"]
    assert main(["run", str(file), "--no-trial", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert "interval_basis" not in data and "trial" not in data
