"""Plans that a client runs on ranks: arrays and files arrive, errors name the rank, and the ranks stay."""

from __future__ import annotations

import itertools
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rank_calls
from client_arrays import table, turned
from left_over import Belongings, descriptors
from mpi_jobs import needs_mpi
from waiting import until

import isoviz
from isoviz.errors import ArrayError, Cancelled, FileError, InputError, MachineError, RankError, RankLost, TransferError
from isoviz.machines import Channel, LatencyBandwidth

pytestmark = needs_mpi
FIELDS = isoviz.FieldSpace(a="float32", b="int64")


@pytest.fixture(scope="module")
def four() -> Iterator[isoviz.Ranks]:
    with isoviz.ranks(4) as ranks:
        ranks.machine = isoviz.machines.preset("ranks", ranks=4, measure="assumed")
        yield ranks


def plan_between(
    ranks: isoviz.Ranks,
    source: str,
    destination: str,
    size: int = 96,
    ends: tuple[Path | None, Path | None] = (None, None),
    machine: isoviz.Machine | None = None,
) -> isoviz.Plan:
    """A transposition that also turns structs into columns."""
    space = isoviz.IndexSpace(x=size, y=size)
    layouts = isoviz.Layout("<F, x, y>"), isoviz.Layout("<y, x, F>")
    instances = [
        isoviz.Instance(memory, space, FIELDS, layout, None if path is None else str(path))
        for memory, layout, path in zip((source, destination), layouts, ends, strict=True)
    ]
    return isoviz.plan(isoviz.Transfer(*instances), machine or ranks.machine, "simple")


ENDS = [
    ("node0.sys", "node3.sys"),
    pytest.param("node1.reg", "node2.reg", marks=pytest.mark.full),
    pytest.param("node2.sys", "node0.reg", marks=pytest.mark.full),
    pytest.param("node3.sys", "node3.sys", marks=pytest.mark.full),
]


@pytest.mark.parametrize(
    ("source", "destination"),
    ENDS,
)
def test_arrays_of_the_client_arrive(four: isoviz.Ranks, source: str, destination: str) -> None:
    given, room = table(96), np.zeros(96 * 96 * 12, np.uint8)
    report = four.run(plan_between(four, source, destination), given, room)
    assert report.verified and room.tobytes() == turned(given)
    assert report.seconds > 0 and all(hop.bytes for hop in report.hops)
    assert "every byte verified" in str(report)


@pytest.mark.parametrize(("source", "destination"), ENDS)
def test_structs_with_gaps_of_the_client_arrive(four: isoviz.Ranks, source: str, destination: str) -> None:
    """Run, and prepared: the fields of larger structs, in another order. What lies beside them stays."""
    larger = np.dtype([("x", "u1"), ("b", "<i8"), ("y", "<f8"), ("a", "<f4"), ("z", "u1")])
    given, whole = table(96), np.full((96, 96), b"\xa5" * larger.itemsize, f"V{larger.itemsize}").view(larger)
    sent = whole.copy()
    for name in ("a", "b"):
        sent[name] = given[name]
    layouts = isoviz.Layout("<F, x, y>"), isoviz.Layout("<F, y, x>")
    ends = [
        isoviz.Instance(memory, isoviz.IndexSpace(x=96, y=96), FIELDS, layout)
        for memory, layout in zip((source, destination), layouts, strict=True)
    ]
    plan = isoviz.plan(isoviz.Transfer(*ends), four.machine, "simple")
    room = whole.copy()
    assert four.run(plan, sent[["b", "a"]], room[["a", "b"]]).verified
    with four.prepare(plan, sent[["b", "a"]], np.zeros_like(whole)[["b", "a"]]) as prepared:
        prepared.run(2)
        fetched = prepared.destination()
    assert fetched is not None
    for name in ("a", "b"):
        assert np.array_equal(room[name], given[name].T) and np.array_equal(fetched[name], given[name].T)
    for name in ("x", "y", "z"):
        assert room[name].tobytes() == whole[name].tobytes()


def test_a_part_of_structs_with_gaps_of_the_client_is_redistributed(four: isoviz.Ranks) -> None:
    given = table(96)
    aligned = np.zeros(given.shape, np.dtype([("a", "<f4"), ("b", "<i8")], align=True))
    for name in ("a", "b"):
        aligned[name] = given[name]
    space = isoviz.IndexSpace(x=96, y=96)
    for memory in ("sys", "reg"):
        ends = [
            isoviz.DistributedInstance(space, FIELDS, isoviz.Distribution({dim: 4}), isoviz.Layout(layout), memory)
            for dim, layout in (("y", "<F, x, y>"), ("x", "<F, y, x>"))
        ]
        done = isoviz.redistribute(*ends, ranks=four, array=[aligned[24 * rank : 24 * rank + 24] for rank in range(4)])
        assert done.report.verified
        for rank in range(4):
            found = done.part(rank)
            assert found is not None and np.array_equal(found, given.T[24 * rank : 24 * rank + 24])


def test_files_of_ranks_are_read_and_written(four: isoviz.Ranks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths mean what they mean for the client, which has another working directory than the ranks."""
    monkeypatch.chdir(tmp_path)
    given = table(96)
    Path("in.bin").write_bytes(given.tobytes())
    report = four.run(plan_between(four, "node1.dsk", "node2.dsk", ends=(Path("in.bin"), Path("out.bin"))))
    assert report.verified and Path("out.bin").read_bytes() == turned(given)
    four.run(plan_between(four, "node1.dsk", "node2.dsk"), "in.bin", tmp_path / "again.bin")
    assert Path("again.bin").read_bytes() == turned(given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.bin", "in.bin", "out.bin"]


def test_a_relative_path_of_a_plan_means_the_working_directory_of_the_call(
    four: isoviz.Ranks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks keep a plan that is run again, and not where its files were."""
    plan, given = plan_between(four, "node1.sys", "node2.dsk", ends=(None, Path("out.bin"))), table(96)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        four.run(plan, given)
        assert [path.name for path in (tmp_path / name).iterdir()] == ["out.bin"]
        assert (tmp_path / name / "out.bin").read_bytes() == turned(given)


def test_an_array_of_python_objects_is_refused(four: isoviz.Ranks) -> None:
    plan = plan_between(four, "node0.sys", "node1.sys", 4)
    with pytest.raises(TransferError, match="Python objects"):
        four.run(plan, np.array([object()] * 4))
    assert four.run(plan).verified


def test_generated_data_and_repeats(four: isoviz.Ranks, report: Callable[[str, object], None]) -> None:
    plan = plan_between(four, "node0.sys", "node1.sys", 16)
    four.run(plan)
    took = []
    for _ in range(10):
        began = time.perf_counter()
        assert four.run(plan).verified
        took.append(time.perf_counter() - began)
    report("milliseconds of one more run of a small plan on 4 ranks (median)", round(1e3 * statistics.median(took), 1))
    assert four.run(plan, verify=False).verified is None


def test_several_plans_at_once(four: isoviz.Ranks) -> None:
    given, rooms = table(96), [np.zeros(96 * 96 * 12, np.uint8) for _ in range(8)]
    pairs = [(rank, (rank + step) % 4) for rank in range(4) for step in (1, 2)]
    plans = [plan_between(four, f"node{here}.sys", f"node{there}.reg") for here, there in pairs]
    submitted = four.submit(*((plan, given, room) for plan, room in zip(plans, rooms, strict=True)))
    later = four.submit(*plans, verify=False)
    assert [report.verified for report in submitted.reports(120)] == [True] * 8
    assert all(room.tobytes() == turned(given) for room in rooms)
    assert [report.plan for report in later.reports(120)] == plans and later.done
    assert submitted.progress is not None and submitted.progress.bytes_done == submitted.progress.bytes == 8 * plans[0].bytes
    assert [report.verified for report in submitted.reports()] == [True] * 8


def test_machines_take_turns(four: isoviz.Ranks) -> None:
    """Ranks change their engines at different moments: no message of one engine reaches another one."""
    machines = [isoviz.machines.preset("ranks", ranks=count, measure="assumed") for count in (2, 3, 4)]
    plans = [plan_between(four, "node1.sys", "node0.sys", 16, machine=machine) for machine in machines]
    for turn in range(6):
        assert four.run(plans[turn % 3], machine=machines[turn % 3]).verified
    submitted = [four.submit(plans[turn % 3], machine=machines[turn % 3]) for turn in range(6)]
    assert all(each.reports(120)[0].verified for each in submitted)


def test_machines_take_turns_while_rank_0_arbitrates_for_others(four: isoviz.Ranks) -> None:
    """Rank 0 has no part in the plans. It stays the arbiter until the other ranks need none, and then changes its engine."""
    machines = [isoviz.machines.preset("ranks", ranks=count, measure="assumed") for count in (3, 4)]
    plans = [plan_between(four, "node1.dsk", "node2.sys", 64, machine=machine) for machine in machines]
    assert all(path.memories[1:-1] for plan in plans for path in plan.paths), "buffers, which the arbiter grants"
    submitted = [four.submit(plans[turn % 2], machine=machines[turn % 2], verify=turn > 3) for turn in range(8)]
    assert [each.reports(120)[0].verified for each in submitted] == [None] * 4 + [True] * 4


def test_progress_is_the_sum_of_the_ranks(four: isoviz.Ranks) -> None:
    told: list[isoviz.runtime.Progress] = []
    plan = plan_between(four, "node2.sys", "node1.sys", 512)
    four.run(plan, progress=told.append)
    assert told[-1].bytes_done == told[-1].bytes == plan.bytes and told[-1].chunks_done == plan.chunk_count
    assert all(first.bytes_done <= second.bytes_done for first, second in itertools.pairwise(told))


def test_a_cancelled_plan_ends_on_all_ranks(four: isoviz.Ranks, tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    plan = plan_between(four, "node0.sys", "node1.dsk", 256, ends=(None, tmp_path / "out.bin"))
    submitted = [four.submit(plan_between(four, "node0.sys", "node1.sys", 256)) for _ in range(3)]
    with pytest.raises(Cancelled):
        four.run(plan, cancel=cancel)
    assert list(tmp_path.iterdir()) == []
    assert all(each.reports()[0].verified for each in submitted)
    with pytest.raises(Cancelled):  # idle ranks would end a plan as small as this before they hear of it
        four.run(plan_between(four, "node0.sys", "node1.sys", 4), cancel=cancel)
    submitted = [four.submit(plan_between(four, "node0.sys", "node1.sys", 512)) for _ in range(12)]
    submitted[-1].cancel()
    with pytest.raises(Cancelled):
        submitted[-1].reports()
    assert all(each.reports()[0].verified for each in submitted[:-1])


def test_ctrl_c_cancels_the_plan_and_the_ranks_stay(four: isoviz.Ranks) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        four.run(plan_between(four, "node0.sys", "node1.sys", 256), progress=interrupt)
    assert not four._group.client.is_busy
    assert four.run(plan_between(four, "node0.sys", "node1.sys")).verified


def test_arrays_are_taken_as_they_lie(four: isoviz.Ranks) -> None:
    """Permuted axes, structs with gaps at both ends, bytes; an array in another order is refused. Run, submitted, prepared."""
    space, fields = isoviz.IndexSpace(x=5, y=7), isoviz.FieldSpace(a="<u2", b="<f4")
    plan = isoviz.plan(isoviz.Transfer.whole(space, fields, "node1.sys", "<F, x, y>", "node2.reg", "<F, y, x>"), four.machine)
    aligned, packed = np.dtype([("a", "<u2"), ("b", "<f4")], align=True), np.dtype([("a", "<u2"), ("b", "<f4")])
    wanted = np.zeros((7, 5), packed)
    wanted["a"], wanted["b"] = np.arange(35).reshape(7, 5), np.arange(35).reshape(7, 5) / 3
    for source in (wanted, np.asfortranarray(wanted.T).transpose(), wanted.astype(aligned), wanted.tobytes()):
        for room in (np.zeros((5, 7), packed), np.zeros((5, 7), aligned), np.zeros((7, 5), packed).T):
            lies_right = room.flags.c_contiguous
            before = room.tobytes()
            for way in ("run", "submit", "prepare"):
                try:
                    if way == "run":
                        assert four.run(plan, source, room).verified
                    elif way == "submit":
                        assert four.submit((plan, source, room)).reports(60)[0].verified
                    else:
                        with four.prepare(plan, source, room) as prepared:
                            prepared.run()
                            found = prepared.destination()
                        assert found is not None and found.strides == room.strides and found.dtype == room.dtype
                        np.copyto(room, found)
                except ArrayError:
                    assert not lies_right and room.tobytes() == before
                    continue
                assert lies_right
                assert all(np.array_equal(room[name], wanted[name].T) for name in fields)
                room[...] = np.zeros((), packed)


def test_errors_name_the_rank_and_the_ranks_stay(four: isoviz.Ranks, tmp_path: Path) -> None:
    plan = plan_between(four, "node2.dsk", "node1.sys", ends=(tmp_path / "missing.bin", None))
    with pytest.raises(FileError, match=rf"rank 2 \(pid {four.processes[2].pid}\): .*missing\.bin"):
        four.run(plan)
    with pytest.raises(FileError, match=r"rank 2"):
        four.submit(plan_between(four, "node0.sys", "node1.sys"), plan).reports(120)
    with pytest.raises(ArrayError, match=r"source array for node0\.sys: its elements are float64"):
        four.run(plan_between(four, "node0.sys", "node1.sys"), np.zeros(5))
    five = isoviz.machines.preset("ranks", ranks=5, measure="assumed")
    with pytest.raises(TransferError, match="is for the machine 'ranks', and these ranks are another one"):
        four.run(plan_between(four, "node4.sys", "node1.sys", machine=five))
    with pytest.raises(TransferError, match=r"node4\.sys is on node 4, and there are 4 ranks"):
        four.run(plan_between(four, "node4.sys", "node1.sys", machine=five), machine=five)
    with pytest.raises(MachineError, match="has 5 nodes; expected at most 4, one for each rank"):
        four.machine = five
    assert four.run(plan_between(four, "node0.sys", "node1.sys")).verified


def test_plans_by_keys_of_network_cards_are_refused_in_words(four: isoviz.Ranks) -> None:
    ends = "node0.sys", "node1.sys"
    keyed = Channel("by keys", "UMR", *ends, LatencyBandwidth(1e-8, 1e10), descriptors=22)  # type: ignore[arg-type]
    machine = replace(four.machine, channels=(*four.machine.channels, keyed))
    transfer = isoviz.Transfer.whole(isoviz.IndexSpace(x=64, y=64), FIELDS, ends[0], "<F, x, y>", ends[1], "<F, y, x>")
    with pytest.raises(TransferError, match=r"channel by keys: .* keys \(UMR\), but drives none; expected a path that packs"):
        four.run(isoviz.cost(transfer, machine, ["by keys"]), machine=machine)
    assert four.run(plan_between(four, *ends)).verified


def test_a_rank_without_room_for_arrays_stops_no_other(four: isoviz.Ranks) -> None:
    four.call(rank_calls.limit_memory, 64 << 20, ranks=[1])
    try:
        with pytest.raises(RankError, match="rank 1 has no room for its arrays"):
            four.run(plan_between(four, "node0.sys", "node1.reg", 4096), None, np.zeros(4096 * 4096 * 12, np.uint8))
    finally:
        four.call(rank_calls.limit_memory, 0, ranks=[1])
    assert four.run(plan_between(four, "node0.sys", "node1.reg")).verified


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.full)])
@pytest.mark.usefixtures("no_leaked_threads")
def test_a_rank_lost_during_a_run_is_one_error(number: signal.Signals) -> None:
    open_before = descriptors()
    with isoviz.ranks(2) as ranks:
        ranks.machine = isoviz.machines.preset("ranks", ranks=2, measure="assumed")
        plan = plan_between(ranks, "node0.sys", "node1.sys", 512)
        ranks.run(plan)
        belongings = Belongings(ranks)
        submitted = [ranks.submit(plan) for _ in range(60)]
        submitted[0].reports(120)
        os.kill(ranks.processes[1].pid, number)
        with pytest.raises(RankLost, match=r"rank 1 \(pid [0-9]+\) was (killed by SIGKILL|stopped).*; the ranks were ended"):
            submitted[-1].reports(120)
        assert belongings.left() == []
        ranks.start_again()
        assert ranks.run(plan).verified
    assert until(lambda: descriptors() == open_before)


def test_messages_wait_for_the_start_that_they_are_for(four: isoviz.Ranks) -> None:
    """Rank 1 is two starts ahead of rank 0: what it sends reaches the start of the same number, not the one before."""
    found = four.call(rank_calls.start_ahead)
    assert found[0] == [["first of 1"], ["second of 1"], ["third of 1"]]


def test_an_end_that_is_neither_array_nor_path_is_told(four: isoviz.Ranks) -> None:
    plan = plan_between(four, "node0.sys", "node1.sys", 16)
    with pytest.raises(InputError, match="expected an array or a path"):
        four.run(plan, four.machine)


@pytest.mark.parametrize(
    ("source", "destination"),
    ENDS,
)
def test_a_prepared_plan_is_carried_out_many_times(four: isoviz.Ranks, source: str, destination: str) -> None:
    """It may have one hop or several, within a rank and between two."""
    given = table(96)
    with four.prepare(plan_between(four, source, destination), given) as prepared:
        seconds = prepared.run(50)
        assert len(seconds) == 50 and min(seconds) > 0
        found = prepared.destination()
        assert found is not None and found.tobytes() == turned(given)


def test_a_prepared_plan_is_cancelled_and_closed(four: isoviz.Ranks) -> None:
    plan = plan_between(four, "node0.reg", "node1.reg")
    cancel = threading.Event()
    cancel.set()
    with four.prepare(plan) as prepared:
        with pytest.raises(Cancelled, match="of 5000000 transfers"):
            prepared.run(5_000_000, cancel=cancel)
        assert len(prepared.run()) == 1
        with pytest.raises(InputError, match="run, count"):
            prepared.run(0)
    with pytest.raises(InputError, match="it is closed"):
        prepared.run()
    with pytest.raises(ArrayError, match=r"source array for node0\.reg: has 3 bytes"):
        four.prepare(plan, np.zeros(3, np.uint8))
    assert four.run(plan).verified
