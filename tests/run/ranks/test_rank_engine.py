"""Rank engines that carry out plans together, over queues between threads: bit for bit, with failures and lost ranks."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from group import Group, broken, group, random_machine, three_ranks
from run_cases import no_leaked_files, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Instance, Machine, Options, Plan, Report, Transfer, plan
from isoviz.errors import Cancelled, LimitError, RankError, RankLost, RunError
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

__all__ = ["no_leaked_files"]


def random_plan(rng: random.Random, machine: Machine, size: int, folder: Path) -> Plan:
    """A plan between memories of any two ranks; of files, those that the ends name."""
    space, fields = random_spaces(rng)
    ends = []
    for side in ("source", "destination"):
        memory = (
            f"node{rng.randrange(size)}.{rng.choice(('sys', 'reg', 'dsk') if side == 'source' else ('sys', 'sys', 'reg', 'dsk'))}"
        )
        path = str(folder / f"{side}{rng.random()}.bin") if memory.endswith("dsk") and side == "destination" else None
        ends.append(Instance(memory, space, fields, random_layout(rng, space), path))
    limits: dict[str, Any] = {"slot_limit": rng.choice((256, 4096, 1 << 20)), "slots": rng.choice((1, 2, 3))}
    return plan(Transfer(*ends), machine, rng.choice(("full", "simple")), Options(**limits))


def test_random_plans_are_bit_exact(
    tmp_path: Path, full: bool, report: Callable[[str, object], None], no_leaked_files: None
) -> None:
    """Every plan of a random machine runs on two to four ranks and is verified by the rank of its destination."""
    cases, several, seed = (300, 0, 0) if full else (12, 0, 1)  # that of 0 is planned for seconds
    while cases:
        rng = random.Random(f"ranks {seed}")
        seed += 1
        size = rng.randint(2, 4)
        machine = random_machine(rng, size)
        plans = []
        for _ in range(6):
            try:
                plans.append(random_plan(rng, machine, size, tmp_path))
            except LimitError:
                continue
        with group(machine, tmp_path, size, request_bytes=rng.choice((64, 1024, 1 << 20))) as ranks:
            for each in plans:
                found = ranks.together(lambda engine, each=each: engine.run(each, pipelined=each.chunk_count % 4 > 0))
                for result in found:
                    assert isinstance(result, Report), f"seed {seed}: {each}\n{found}"
                    assert result.verified
                    assert result.trace is not None and result.trace.seconds == pytest.approx(result.seconds, abs=1e-9)
                    assert len(result.hops) == len(each.every_hop)
                several += len({machine.memory(name).node for name in each.every_memory}) > 1
                cases = max(0, cases - 1)
            items = [Item(each) for each in plans]
            parts = ranks.together(lambda engine, items=items: engine.run_parts(items))  # type: ignore[misc]
            assert all(part.error is None for rank in parts for part in rank)
    report("plans on ranks of one process that cross ranks", several)
    assert several > (100 if full else 4)


def sizes(count: int) -> dict[str, Any]:
    return {"space": IndexSpace(x=count, y=16), "fields": FieldSpace(a="<f8", b="<i4")}


def across(machine: Machine, source: str = "node0.sys", destination: str = "node1.sys", count: int = 512, **options: Any) -> Plan:
    here = Instance(source, layout="<F, x, y>", **sizes(count))
    there = Instance(destination, layout="<y, x, F>", **sizes(count))
    return plan(Transfer(here, there), machine, "full", Options(**{"slot_limit": 4096, **options}))


@pytest.fixture
def machine() -> Machine:
    """No path between two ranks leads through the third."""
    return three_ranks("failures", others=0.0)


@pytest.fixture
def three(machine: Machine, tmp_path: Path, no_leaked_files: None) -> Any:
    with group(machine, tmp_path, 3, request_bytes=512) as found:
        yield found


def test_arrays_of_the_callers(three: Group, machine: Machine) -> None:
    """The rank of an end gives its array; the other rank gives nothing."""
    found = across(machine)
    transfer = found.transfer
    source = np.random.default_rng(1).integers(0, 255, transfer.source.linearization.nbytes, np.uint8)
    destination = np.zeros(transfer.destination.linearization.nbytes, np.uint8)

    def run(engine: RankEngine) -> None:
        engine.submit(found, source if engine.rank == 0 else None, destination if engine.rank == 1 else None).wait(120)

    assert three.together(run) == [None] * 3
    here, there = transfer.source.linearization, transfer.destination.linearization
    for x, y in ((0, 0), (511, 15), (17, 3)):
        for name, size in (("a", 8), ("b", 4)):
            at, to = here.offset((x, y), name), there.offset((x, y), name)
            assert source[at : at + size].tobytes() == destination[to : to + size].tobytes()


def test_an_error_of_one_rank_reaches_all_and_leaves_others_alone(three: Group, machine: Machine) -> None:
    three.devices[0].broken = broken
    items = [Item(across(machine)), Item(across(machine, "node1.sys", "node2.sys"))]
    found = three.together(lambda engine: engine.run_parts(items))
    for rank, (first, second) in enumerate(found):
        assert second.error is None
        assert (first.error is None) == (rank == 2)
    assert isinstance(found[0][0].error, RunError) and "the cable is cut" in str(found[0][0].error)
    assert isinstance(found[1][0].error, RankError) and "rank 0" in str(found[1][0].error)
    three.devices[0].broken = lambda: None
    assert all(isinstance(result, Report) for result in three.together(lambda engine: engine.run(across(machine))))


def test_plans_begin_at_their_own_times(three: Group, machine: Machine) -> None:
    items = [Item(across(machine), begin=0.3), Item(across(machine, "node1.sys", "node2.sys"), begin=0.1)]
    before = time.perf_counter()
    parts = three.together(lambda engine: engine.run_parts(items))
    assert all(part.error is None for both in parts for part in both)
    later, sooner = parts[1]
    assert before + 0.1 <= sooner.submitted < later.submitted
    assert before + 0.3 <= later.submitted


def test_a_cancel_ends_the_waiting_for_a_begin(three: Group, machine: Machine) -> None:
    cancel = threading.Event()
    cancel.set()
    items = [Item(across(machine)), Item(across(machine), begin=600.0)]
    for both in three.together(lambda engine: engine.run_parts(items, cancel=cancel))[:2]:
        assert all(isinstance(part.error, Cancelled) for part in both)


def test_every_rank_raises_the_error_of_the_one_that_failed(three: Group, machine: Machine) -> None:
    three.devices[0].broken = broken
    for error in three.together(lambda engine: engine.run(across(machine))):
        assert isinstance(error, RunError) and "the cable is cut" in str(error)
        assert error.hop is not None and error.channel is not None


def test_a_plan_that_differs_is_refused_before_a_byte_moves(three: Group, machine: Machine) -> None:
    moved: list[int] = []
    three.devices[0].broken = lambda: moved.append(1)
    plans = [across(machine), across(machine, count=256), across(machine)]
    found = three.together(lambda engine: engine.run_part(plans[engine.rank]))
    for part in found[:2]:
        assert isinstance(part.error, RankError) and "another plan" in str(part.error)
    assert not moved


def test_a_cancel_on_any_rank_ends_the_transfer_on_all(three: Group, machine: Machine) -> None:
    begun, cancel = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert cancel.wait(120)

    three.devices[0].broken = wait
    found = across(machine)

    def at_once(engine: RankEngine) -> Any:
        if engine.rank == 1:
            threading.Thread(target=lambda: (begun.wait(120), cancel.set())).start()
            return engine.run_part(found, cancel=cancel)
        return engine.run_part(found)

    parts = three.together(at_once)
    assert isinstance(parts[1].error, Cancelled)
    assert isinstance(parts[0].error, Cancelled)


def test_a_lost_rank_ends_its_transfers_only(three: Group, machine: Machine) -> None:
    """The bytes of rank 0 wait while rank 1 is lost; rank 2 goes on with rank 0."""
    begun, go = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go.wait(120)

    three.devices[0].broken = wait
    found = across(machine)

    def lose() -> None:
        assert begun.wait(120)
        three.lose(1)
        go.set()

    loser = threading.Thread(target=lose)
    loser.start()
    others = ThreadedCall(lambda: three.engines[0].run_part(found))
    three.engines[1].submit(found)
    part = others.result()
    loser.join()
    assert isinstance(part.error, RankLost) and part.error.rank == 1
    three.devices[0].broken = lambda: None
    three.engines[2].skip(found)
    pair = across(machine, "node2.sys", "node0.sys")
    results = [ThreadedCall(lambda rank=rank: three.engines[rank].run_part(pair)) for rank in (0, 2)]
    assert [each.result().error for each in results] == [None, None]
    with pytest.raises(RankLost, match="rank 1"):
        three.engines[0].submit(found)
    three.engines[1].transport.lost(0, "cut off")  # type: ignore[attr-defined]
    three.engines[1].transport.lost(2, "cut off")  # type: ignore[attr-defined]


class ThreadedCall:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        self._result = self._call()

    def result(self) -> Any:
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self._result


def test_without_rank_0_all_transfers_end(three: Group, machine: Machine) -> None:
    begun, go = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go.wait(120)

    three.devices[1].broken = wait
    found = across(machine, "node1.sys", "node2.sys")
    events = [engine.submit(found) for engine in three.engines]
    assert begun.wait(120)
    three.lose(0)
    go.set()
    for event in events[1:]:
        with pytest.raises(RankLost, match="rank 0"):
            event.wait(120)
    three.engines[0].transport.lost(1, "cut off")  # type: ignore[attr-defined]
    three.engines[0].transport.lost(2, "cut off")  # type: ignore[attr-defined]


def test_a_rank_without_the_device_declines_for_all(three: Group, machine: Machine) -> None:
    three.devices[1].memory = lambda _: None  # type: ignore[method-assign]
    found = three.together(lambda engine: engine.run_part(across(machine)))
    assert "no such device" in str(found[1].error)
    assert isinstance(found[0].error, RankError) and "rank 1" in str(found[0].error)


def test_values_are_gathered_on_all_ranks(three: Group) -> None:
    for _ in range(3):
        assert three.together(lambda engine: engine.gather(engine.rank**2)) == [[0, 1, 4]] * 3


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_interrupted_when_all_has_moved_leaves_nobody_waiting(three: Group, machine: Machine, rank: int) -> None:
    """The other rank waits for its source, or for its last word."""
    found = across(machine)

    def interrupted(engine: RankEngine) -> Any:
        def told(_: Any) -> None:
            while engine._driver.executions:  # bytes still move
                threading.Event().wait(0.01)
            raise ValueError("interrupted")

        return engine.run_part(found, progress=told if engine.rank == rank else None)

    results = three.together(interrupted)
    assert isinstance(results[rank], ValueError)
    assert isinstance(results[1 - rank].error, Cancelled | ValueError)
    assert all(isinstance(result, Report) for result in three.together(lambda engine: engine.run(across(machine))))
