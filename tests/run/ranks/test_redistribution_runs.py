"""Redistributions by rank engines over queues between threads: bit for bit, with arrays of the callers, failures and cancels."""

from __future__ import annotations

import gc
import random
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from group import Group, broken, group
from run_cases import no_leaked_files

from isoviz import DistributedInstance, Distribution, FieldSpace, IndexSpace, Layout, Machine, machines
from isoviz.backends.mpi.thread import slots
from isoviz.errors import (
    ArrayError,
    Cancelled,
    DistributionError,
    InputError,
    RankError,
    RankLost,
    RunError,
    TransferError,
    VerificationError,
)
from isoviz.redistribution.running import meeting, on_rank, own_sendings, prepared
from isoviz.redistribution.running.on_rank import OnRank, prepare_on_rank, redistribute_on_rank
from isoviz.redistribution.running.prepared import PreparedRedistribution
from isoviz.runtime.ranks.rank_engine import RankEngine

sys.path.append(str(Path(__file__).parents[2] / "property"))
from redistribution_cases import gaps_of, keeps_entries, naive_content, random_ends, with_gaps, without_gaps

__all__ = ["no_leaked_files"]
Report = Callable[[str, object], None]


def machine_of(size: int, *, network: bool = False) -> Machine:
    """Ranks of one host; with `network`, those of a cluster, whose transfers need buffers."""
    return machines.preset("sapling", nodes=size, gpus=0) if network else machines.preset("ranks", ranks=size, measure="assumed")


@pytest.mark.parametrize("network", [False, True])
def test_random_redistributions_are_bit_exact(
    network: bool, tmp_path: Path, full: bool, report: Report, no_leaked_files: None
) -> None:
    """Of generated data and of arrays, checked by the ranks and by a naive loop."""
    staged = 0
    for seed in range(150 if full else 15):
        rng = random.Random(f"redistributions {seed} {network}")
        size = rng.randint(1, 4)
        source, destination = random_ends(rng, size, (rng.choice(("sys", "reg")), rng.choice(("sys", "reg"))))
        content, wanted = naive_content(source), naive_content(destination)
        given = rng.random() < 0.7
        with group(machine_of(size, network=network), tmp_path, size) as ranks:

            def run(
                engine: RankEngine,
                source: Any = source,
                destination: Any = destination,
                content: Any = content,
                given: Any = given,
            ) -> OnRank:
                return redistribute_on_rank(engine, source, destination, content.get(engine.rank) if given else None)

            found = ranks.together(run)
            for rank, done in enumerate(found):
                assert isinstance(done, OnRank), f"seed {seed}: {done}"
                assert done.report.verified
                assert done.report == found[0].report
                part = destination.part(rank)
                assert (done.array is None) == (part is None)
                if given and part is not None:
                    assert np.array_equal(done.array.reshape(-1).view(np.uint8), wanted[rank]), f"seed {seed}"
            staged += sum(len(each.plan.every_hop) > 1 for each in found[0].report.plan.sendings)
            assert len(found[0].report.trace.requests) >= len(found[0].report.plan.sendings)
    report("redistributions on ranks of one process", 150 if full else 15)
    assert bool(staged) == network


@pytest.mark.parametrize("network", [False, True])
def test_structs_with_gaps_at_both_ends(network: bool, tmp_path: Path, full: bool, report: Report) -> None:
    """Every rank has another struct, also where a transfer goes over buffers. The gaps of a destination keep what they hold."""
    done = 0
    for seed in range(400 if full else 40):
        rng = random.Random(f"gaps {seed} {network}")
        size = rng.randint(2, 4)
        source, destination = random_ends(rng, size, (rng.choice(("sys", "reg")), rng.choice(("sys", "reg"))))
        if not (keeps_entries(source) and keeps_entries(destination)):
            continue
        wanted = naive_content(destination)
        mine = {rank: with_gaps(rng, source, content) for rank, content in naive_content(source).items()}
        into = {rank: with_gaps(rng, destination, np.zeros_like(content)) for rank, content in wanted.items()}
        before = {rank: gaps_of(array) for rank, array in into.items()}
        with group(machine_of(size, network=network), tmp_path, size) as ranks:

            def run(engine: RankEngine, ends: Any = (source, destination), mine: Any = mine, into: Any = into) -> Any:
                with prepare_on_rank(engine, *ends, mine.get(engine.rank), into.get(engine.rank)) as ready:
                    reports = [ready.run(verify=True) for _ in range(2)]
                    return reports, ready.array

            found = ranks.together(run)
        for rank, outcome in enumerate(found):
            assert isinstance(outcome, tuple), f"seed {seed}: {outcome}"
            assert all(each.verified for each in outcome[0])
            if rank in wanted:
                assert outcome[1] is into[rank]
                assert np.array_equal(without_gaps(destination, into[rank]), wanted[rank]), f"seed {seed}"
                assert gaps_of(into[rank]) == before[rank], f"seed {seed}"
        done += 1
    assert done > (20 if full else 2)
    report("redistributions of structs with gaps", done)


def test_files_of_structs_with_gaps_are_read_where_their_fields_are(three: Group, tmp_path: Path) -> None:
    fields = FieldSpace(a="<f8", b="<i4")
    ends = [
        DistributedInstance(SPACE, fields, Distribution({dim: 3}), Layout(layout), memory)
        for dim, layout, memory in (("y", "<F, x, y>", "dsk"), ("x", "<x, y, F>", "sys"))
    ]
    values = np.random.default_rng(3).random((40, 48))
    mixed = np.dtype({"names": ["b", "a"], "formats": ["<i4", "<f8"], "offsets": [2, 9], "itemsize": 20})
    for rank, rows in enumerate((slice(0, 14), slice(14, 28), slice(28, 40))):
        held = np.zeros(values[rows].shape, mixed)
        held["a"], held["b"] = values[rows], 1000 * values[rows]
        np.save(tmp_path / f"{rank}.npy", held)
    done = three.together(lambda engine: redistribute_on_rank(engine, *ends, tmp_path / f"{engine.rank}.npy"))
    for rank, found in enumerate(done):
        assert isinstance(found, OnRank) and found.report.verified, found
        mine = values[:, 16 * rank : 16 * rank + 16]
        assert np.array_equal(found.array["a"], mine) and np.array_equal(found.array["b"], (1000 * mine).astype("<i4"))


def test_a_struct_without_a_field_is_refused_by_all_ranks(three: Group) -> None:
    fields = FieldSpace(a="<f8", b="<i4")
    ends = [
        DistributedInstance(SPACE, fields, Distribution({dim: 3}), Layout("<F, x, y>"), memory)
        for dim, memory in (("y", "sys"), ("x", "reg"))
    ]
    arrays = [np.zeros((rows, 48), [("a", "<f8"), ("c" if rank == 1 else "b", "<i4")]) for rank, rows in enumerate((14, 14, 12))]
    found = three.together(lambda engine: redistribute_on_rank(engine, *ends, arrays[engine.rank]))
    assert isinstance(found[1], ArrayError) and "c" in str(found[1])
    chosen = [array[["a"]] for array in arrays]
    found = three.together(lambda engine: redistribute_on_rank(engine, *ends, chosen[engine.rank]))
    assert all(isinstance(error, TransferError | DistributionError) for error in found)
    assert all("field 'b' is not in the source (a)" in str(error) for error in found)


SPACE, FIELDS = IndexSpace(x=48, y=40), FieldSpace(a="<f8")


def ends(size: int = 3, over: str = "x", memory: str = "reg") -> tuple[DistributedInstance, DistributedInstance]:
    return (
        DistributedInstance(SPACE, FIELDS, Distribution({"y": size}), Layout("<F, x, y>")),
        DistributedInstance(SPACE, FIELDS, Distribution({over: size}), Layout("<F, y, x>"), memory),
    )


@pytest.fixture
def three(tmp_path: Path, no_leaked_files: None) -> Any:
    with group(machine_of(3), tmp_path, 3) as found:
        yield found


def test_the_report(three: Group) -> None:
    source, destination = ends()
    done = three.together(lambda engine: redistribute_on_rank(engine, source, destination))
    report = done[0].report
    assert done[1].array.shape == (16, 40)
    assert done[1].array.dtype == np.float64
    assert report.verified
    assert report.seconds > 0
    assert len(report.runs) == 3
    assert "every byte verified" in str(report)
    assert "rank 2 moved 4.5 KiB" in str(report)
    assert "the source holds generated data" in str(report)
    data = report.to_json()
    assert data["verified"] is True
    assert data["measured"]["seconds"] == report.seconds
    trace = report.trace
    assert len(trace.transfers) == 9
    assert {transfer.label for transfer in trace.transfers} >= {"rank 0 → rank 1", "rank 2 → rank 2"}
    assert trace.begin >= 0
    assert max(span.end for span in trace.requests) - min(span.start for span in trace.requests) == pytest.approx(report.seconds)


def test_every_rank_begins_with_the_next_one(three: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_sendings, "usable_cpus", lambda: 1)
    source, destination = ends()
    (done, *_) = three.together(lambda engine: redistribute_on_rank(engine, source, destination))
    for run in done.report.runs:
        receivers = [done.report.plan.sendings[span.sending].receiver for span in run.spans]
        assert receivers == [(run.rank + turn) % 3 for turn in (1, 2, 3)]


def test_with_several_processors(three: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads of a rank serve its peers: each of them once."""
    monkeypatch.setattr(own_sendings, "usable_cpus", lambda: 6)
    source, destination = ends()
    (done, *_) = three.together(lambda engine: redistribute_on_rank(engine, source, destination))
    assert done.report.verified
    for run in done.report.runs:
        assert sorted(done.report.plan.sendings[span.sending].receiver for span in run.spans) == [0, 1, 2]


def test_run_many_times_into_the_same_array(three: Group) -> None:
    """A prepared redistribution runs again with what the source holds then."""
    source, destination = ends()
    numbers = np.arange(48 * 40, dtype=np.float64).reshape(40, 48)

    def work(engine: RankEngine) -> list[bool]:
        mine = source.coordinates(engine.rank)["y"]
        array = np.zeros((len(mine), 48))
        into = np.zeros((16, 40))
        found = []
        with prepare_on_rank(engine, source, destination, array, into) as ready:
            for turn in range(5):
                array[:] = numbers[mine] * turn
                ready.run()
                held = destination.coordinates(engine.rank)["x"]
                found.append(np.array_equal(into, numbers.T[held] * turn))
                ready.wait()
        return found

    assert three.together(work) == [[True] * 5] * 3


def test_from_files(three: Group, tmp_path: Path) -> None:
    """Each rank reads its part from a file of its own. The destination has to lie in memory."""
    _, columns = ends()
    stored = DistributedInstance(SPACE, FIELDS, columns.distribution, columns.layout, "dsk")
    rows, _ = ends()
    numbers = np.arange(48 * 40, dtype=np.float64).reshape(40, 48)
    paths = [str(tmp_path / f"part{rank}.bin") for rank in range(3)]
    for rank, path in enumerate(paths):
        numbers.T[stored.coordinates(rank)["x"]].tofile(path)
    found = three.together(lambda engine: redistribute_on_rank(engine, stored, rows, paths[engine.rank]))
    for rank, done in enumerate(found):
        assert done.report.verified
        assert np.array_equal(done.array, numbers[rows.coordinates(rank)["y"]])
    refused = three.together(lambda engine: redistribute_on_rank(engine, rows, stored))
    assert all("not into files" in str(error) for error in refused)
    nothing = three.together(lambda engine: redistribute_on_rank(engine, stored, rows))
    assert all("need host memory" in str(error) for error in nothing)


def test_what_the_ranks_disagree_about(three: Group) -> None:
    one, other = ends(), ends(over="y")
    found = three.together(lambda engine: redistribute_on_rank(engine, *(other if engine.rank == 1 else one)))
    assert all(isinstance(error, DistributionError) for error in found)
    assert "ask for different ones" in str(found[0])


def test_an_array_of_another_size(three: Group) -> None:
    """The rank says what is wrong with its array, and the others do not wait."""
    source, destination = ends()
    arrays = [np.zeros((14, 48)), np.zeros((14, 47)), np.zeros((12, 48))]
    found = three.together(lambda engine: redistribute_on_rank(engine, source, destination, arrays[engine.rank]))
    assert isinstance(found[1], TransferError)
    assert isinstance(found[0], DistributionError)
    assert "rank 1: source array for node1.sys: shape (14, 47) does not fit" in str(found[0])
    nothing = three.together(
        lambda engine: redistribute_on_rank(engine, source, destination, arrays[0] if engine.rank == 0 else None)
    )
    assert all("gave no array" in str(error) for error in nothing)


def test_more_ranks_than_there_are(tmp_path: Path) -> None:
    source, destination = ends(3)
    with group(machine_of(3), tmp_path, 2) as two:
        found = two.together(lambda engine: redistribute_on_rank(engine, source, destination))
    assert all("needs 3 ranks, and there are 2" in str(error) for error in found)


def test_a_cancel_on_one_rank_ends_it_on_all(three: Group) -> None:
    source, destination = ends()
    token = threading.Event()
    token.set()
    found = three.together(
        lambda engine: redistribute_on_rank(engine, source, destination, cancel=token if engine.rank == 2 else None)
    )
    assert all(isinstance(error, Cancelled) for error in found)
    done = three.together(lambda engine: redistribute_on_rank(engine, source, destination))
    assert all(each.report.verified for each in done)


def test_a_channel_that_breaks(tmp_path: Path, no_leaked_files: None) -> None:
    """The rank raises the error of its channel, the others say whose it was; the engines stay usable."""
    source, destination = ends()
    with group(machine_of(3, network=True), tmp_path, 3) as ranks:
        ranks.devices[1].broken = broken
        found = ranks.together(lambda engine: redistribute_on_rank(engine, source, destination))
        assert all(isinstance(error, Exception) for error in found)
        assert all("the cable is cut" in str(error) for error in found)
        ranks.devices[1].broken = lambda: None
        done = ranks.together(lambda engine: redistribute_on_rank(engine, source, destination))
        assert all(each.report.verified for each in done)


def test_wrong_bytes_are_found(three: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that writes one byte wrongly is found by the rank that received it; all ranks hear of it."""
    source, destination = ends()
    move = PreparedRedistribution._carry_out

    def spoil(self: Any, sending: Any, spans: Any, check: Any) -> None:
        move(self, sending, spans, check)
        if self._engine.rank == 0 and sending.receiver == 2:
            self._store("destination", 2).array[17] ^= 4

    monkeypatch.setattr(prepared.PreparedRedistribution, "_carry_out", spoil)
    for arrays in (None, [np.random.default_rng(rank).random((rows, 48)) for rank, rows in enumerate((14, 14, 12))]):
        found = three.together(
            lambda engine, arrays=arrays: redistribute_on_rank(engine, source, destination, arrays and arrays[engine.rank])
        )
        assert isinstance(found[2], VerificationError)
        assert isinstance(found[0], RankError)
        assert "rank 2, field 'a' at y=2, x=32 is" in str(found[2]) or "at x=32, y=2 is" in str(found[2])


def test_a_lost_rank_ends_the_meeting(three: Group) -> None:
    source, destination = ends()
    begun = threading.Event()

    def work(engine: RankEngine) -> Any:
        ready = prepare_on_rank(engine, source, destination)
        if engine.rank == 1:
            begun.wait(120)
            three.lose(1)
            ready.close()
            return None
        begun.set()
        with ready:
            return ready.run()

    found = three.together(work)
    assert all("rank 1 no longer answers" in str(found[rank]) for rank in (0, 2))


# ---- the same again


NUMBERS = np.arange(48 * 40, dtype=np.float64).reshape(40, 48)


class Calls:
    """Redistributions of three ranks: which are planned, and with which arrays each rank called last."""

    def __init__(self, three: Group, monkeypatch: pytest.MonkeyPatch) -> None:
        self.three = three
        self.planned = 0
        plan = on_rank.plan_redistribution

        def counted(*given: Any) -> Any:
            self.planned += 1
            return plan(*given)

        monkeypatch.setattr(on_rank, "plan_redistribution", counted)
        source, destination = ends()
        self.mine = [source.coordinates(rank)["y"] for rank in range(3)]
        self.theirs = [destination.coordinates(rank)["x"] for rank in range(3)]
        self.arrays = [NUMBERS[each].copy() for each in self.mine]
        self.into = [np.zeros((len(each), 40)) for each in self.theirs]

    def call(self, **by_rank: list[Any]) -> list[Any]:
        """Call on all ranks, with the latest arrays or with others `by_rank`."""
        given: dict[str, list[Any]] = {"ends": [ends()] * 3, "array": self.arrays, "into": self.into, **by_rank}

        def work(engine: RankEngine) -> OnRank:
            found = {name: values[engine.rank] for name, values in given.items()}
            source, destination = found.pop("ends")
            return redistribute_on_rank(engine, source, destination, **{"verify": False, **found})

        return self.three.together(work)

    def check(self, factor: float = 1.0) -> None:
        """Call, and compare all destinations."""
        for array, mine in zip(self.arrays, self.mine, strict=True):
            array[:] = NUMBERS[mine] * factor
        for into in self.into:
            into[:] = -1
        found = self.call()
        for rank, each in enumerate(found):
            assert isinstance(each, OnRank), each
            assert np.array_equal(self.into[rank], NUMBERS.T[self.theirs[rank]] * factor)


@pytest.fixture
def calls(three: Group, monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(three, monkeypatch)


def test_the_same_again_plans_nothing_and_needs_no_message(calls: Calls) -> None:
    """With new contents, and with new arrays; an array is not kept."""
    calls.check()
    for transport in calls.three.transports:
        transport.seen.clear()
    calls.check(2)
    gone = [weakref.ref(array) for array in (*calls.arrays, *calls.into)]
    calls.arrays = [array.copy() for array in calls.arrays]
    calls.into = [into.copy() for into in calls.into]
    gc.collect()
    assert not any(each() is not None for each in gone)
    calls.check(3)
    assert calls.planned == 1
    assert not any(transport.seen for transport in calls.three.transports)


def test_arrays_that_isoviz_provides_belong_to_the_caller(calls: Calls) -> None:
    first = calls.call(into=[None] * 3)
    held = [done.array.copy() for done in first]
    for array in calls.arrays:
        array *= 2
    second = calls.call(into=[None] * 3)
    for done, again, before in zip(first, second, held, strict=True):
        assert np.array_equal(done.array, before)
        assert np.array_equal(again.array, 2 * before)


def test_what_differs_between_ranks_later(calls: Calls) -> None:
    """Ends, `verify`, arrays: all ranks hear of it, and go on."""
    calls.check()
    others = [ends(), ends(over="y"), ends()]
    assert all("ask for different ones" in str(error) for error in calls.call(ends=others))
    assert all("asks for verify" in str(error) for error in calls.call(verify=[True, False, False]))
    assert all("rank 1 gave no array" in str(error) for error in calls.call(array=[calls.arrays[0], None, calls.arrays[2]]))
    wrong = calls.call(into=[calls.into[0], np.zeros(3), calls.into[2]])
    assert isinstance(wrong[1], TransferError)
    assert all("rank 1: destination array for node1.reg: has 24 bytes" in str(wrong[rank]) for rank in (0, 2))
    calls.check(2)
    assert calls.planned == 1


def test_a_rank_that_has_come_to_another_call(calls: Calls) -> None:
    calls.check()

    def work(engine: RankEngine) -> object:
        array, into = calls.arrays[engine.rank], calls.into[engine.rank]
        if engine.rank != 1:
            return redistribute_on_rank(engine, *ends(), array, into, verify=False)
        with prepare_on_rank(engine, *ends(), array, into) as prepared:
            return prepared.run()

    found = calls.three.together(work)
    assert all(isinstance(error, RankError) for error in found)
    assert "rank 1 has come to 'wait', rank 0 to 'run'" in str(found[0])
    calls.check(2)


def test_a_cancel_of_a_later_call(calls: Calls) -> None:
    calls.check()
    token = threading.Event()
    token.set()
    assert all(isinstance(error, Cancelled) for error in calls.call(cancel=[None, token, None]))
    calls.check(2)


def test_a_rank_that_fails_or_is_interrupted_later(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other ranks hear of it, and the next call is right."""
    calls.check()
    move = PreparedRedistribution._carry_out
    stops: list[BaseException] = [RunError("the copy fails"), KeyboardInterrupt()]

    def fail(self: Any, *given: Any) -> None:
        if self._engine.rank == 1 and stops:
            raise stops.pop(0)
        move(self, *given)

    monkeypatch.setattr(PreparedRedistribution, "_carry_out", fail)
    found = calls.call()
    assert all("the copy fails" in str(error) for error in found)
    assert isinstance(found[0], RankError)

    def work(engine: RankEngine) -> object:
        try:
            return redistribute_on_rank(engine, *ends(), calls.arrays[engine.rank], calls.into[engine.rank], verify=False)
        except KeyboardInterrupt:
            return "interrupted"

    found = calls.three.together(work)
    assert found[1] == "interrupted"
    assert all("rank 1 was interrupted" in str(found[rank]) for rank in (0, 2))
    calls.check(2)


def test_ranks_that_hear_late_of_an_interrupt_begin_anew_with_all(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank may leave before the others look whether it has come, or after that."""
    calls.check()
    move, meet = PreparedRedistribution._carry_out, meeting.Meeting._meet
    interrupts: list[BaseException] = []
    looked = threading.Barrier(3)

    def interrupted(self: Any, *given: Any) -> None:
        if self._engine.rank == 1 and interrupts:
            raise interrupts.pop()
        move(self, *given)

    def all_have_looked(self: Any, slots: Any, interruptible: bool) -> None:
        meet(self, slots, interruptible)
        looked.wait(120)  # nobody leaves before the others have seen it here

    def work(engine: RankEngine) -> object:
        try:
            return redistribute_on_rank(engine, *ends(), calls.arrays[engine.rank], calls.into[engine.rank], verify=False)
        except KeyboardInterrupt:
            return "interrupted"

    monkeypatch.setattr(PreparedRedistribution, "_carry_out", interrupted)
    with monkeypatch.context() as patch:
        patch.setattr(meeting.Meeting, "_meet", all_have_looked)
        interrupts.append(KeyboardInterrupt())
        found = calls.three.together(work)
    assert found[1] == "interrupted"
    assert all("rank 1 was interrupted" in str(found[rank]) for rank in (0, 2))
    calls.check(3)


def test_a_rank_that_is_interrupted_before_a_meeting(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others do not wait for it, even if they come later. Then all make another meeting."""
    calls.check()
    found_plan = on_rank.Redistributions._found
    stops: list[BaseException] = [KeyboardInterrupt()]

    def interrupted(self: Any, asked: Any) -> Any:
        if self._engine.rank == 1 and stops:
            raise stops.pop()
        return found_plan(self, asked)

    monkeypatch.setattr(on_rank.Redistributions, "_found", interrupted)

    has_left = threading.Event()

    def work(engine: RankEngine) -> object:
        if engine.rank == 2:
            has_left.wait(120)
        try:
            return redistribute_on_rank(engine, *ends(), calls.arrays[engine.rank], calls.into[engine.rank], verify=False)
        except KeyboardInterrupt:
            has_left.set()
            return "interrupted"

    found = calls.three.together(work)
    assert found[1] == "interrupted"
    assert all("rank 1 was interrupted" in str(found[rank]) for rank in (0, 2))
    calls.check(2)


def test_few_plans_are_kept(calls: Calls) -> None:
    """The one that was used longest ago is forgotten."""
    blocks = range(1, 1 + on_rank.MOST_KEPT)
    for block in blocks:
        source, _ = ends()
        destination = DistributedInstance(SPACE, FIELDS, Distribution({"x": 3}, {"x": block}), Layout("<F, y, x>"), "reg")
        found = calls.call(ends=[(source, destination)] * 3, into=[None] * 3)
        assert all(isinstance(each, OnRank) for each in found), found
        calls.check()
    assert calls.planned == 1 + len(blocks)
    for engine in calls.three.engines:
        assert len(engine.attached(on_rank.Redistributions)._kept) == on_rank.MOST_KEPT


def test_values_too_large_for_shared_memory(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "ROOM", 8)
    calls.check()
    calls.check(2)


def test_a_rank_that_is_lost_later(calls: Calls) -> None:
    calls.check()
    calls.three.lose(1)

    def work(engine: RankEngine) -> object:
        return None if engine.rank == 1 else redistribute_on_rank(engine, *ends(), calls.arrays[engine.rank], verify=False)

    found = calls.three.together(work)
    assert all(isinstance(found[rank], RankLost) for rank in (0, 2))


def test_a_prepared_one_is_closed(calls: Calls) -> None:
    def work(engine: RankEngine) -> str:
        prepared = prepare_on_rank(engine, *ends(), calls.arrays[engine.rank], calls.into[engine.rank])
        assert prepared.run(verify=True).verified
        assert np.shares_memory(prepared.array, calls.into[engine.rank])
        prepared.close()
        prepared.close()
        with pytest.raises(InputError, match="it is closed"):
            prepared.run()
        return repr(prepared)

    assert all("closed" in each for each in calls.three.together(work))
