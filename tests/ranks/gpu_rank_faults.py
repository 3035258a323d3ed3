"""Run under mpiexec: what fails on the GPU of one rank ends the transfer on all ranks, and nothing is left.

`gpu_rank_faults.py SEED CASES`
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from typing import Any, cast

from given.rank_program import begin
from rank_gpu_cases import PlayedGpus, engine_of, machine_of, only

from isoviz import FieldSpace, IndexSpace, Machine, Options, Plan, Transfer, plan
from isoviz.backends.cuda import staging
from isoviz.errors import Cancelled, DeviceError, DeviceMemoryError, RankError, RunError, TransferError
from isoviz.runtime.ranks.joint_run import TICK
from isoviz.runtime.ranks.merging import RankPart
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

SPACE, PAIR = IndexSpace(x=60, y=50), FieldSpace(re="f4", im="f2")
CALLS = (
    *("allocate", "fill", "new_stream", "wait_stream", "new_event", "record", "is_over", "wait_event", "copy", "copy_2d"),
    *("load", "function", "launch", "allocate_pinned", "architecture"),
)
ROADS = {
    "registered": ("fbm0", "reg", "fbm0"),
    "pinned": ("fbm0", "zcm", "fbm0"),
    "pageable": ("fbm0", "sys", "fbm0"),
    "to a file": ("fbm0", "reg", "dsk"),
    "from a file": ("dsk", "reg", "fbm0"),
}


KINDS = ("no device memory", "call", "dead", "cancel", "no pinned memory", "call", "dead", "cancel")


class Case:
    """One fault on one rank, and a transfer between rank 0 and rank 1 with a change of the layout that meets it."""

    def __init__(self, number: int, seed: str, whole: Machine) -> None:
        self.kind = KINDS[number % len(KINDS)]
        self.rng = rng = random.Random(f"{seed} {number}")
        self.road = rng.choice(("pinned", "pageable")) if self.kind == "no pinned memory" else rng.choice(tuple(ROADS))
        near, middle, far = ROADS[self.road]
        a, b = rng.choice(((0, 1), (1, 0)))
        self.rank = rng.choice([rank for rank, end in ((a, near), (b, far)) if end == "fbm0"])
        names = [f"node{a}.{near}", f"node{a}.{middle}", f"node{b}.{middle}", f"node{b}.{far}"]
        window = middle == "reg" and rng.random() < 0.5
        self.machine = only(whole, *names, kinds=("Window",) if window else ("Packed", "TwoSided"))
        layout = rng.choice(("<y, x, F>", "<F, x, y>", "<x, F, y>"))
        self.transfer = Transfer.whole(SPACE, PAIR, names[0], "<F, x, y>", names[-1], layout)

    def plan(self) -> Plan:
        return plan(self.transfer, self.machine, "simple", Options(slot_limit=self.rng.choice((4096, 1 << 20))))

    def __str__(self) -> str:
        return f"{self.kind} on rank {self.rank}, {self.road}"


class Fault:
    """One fault on one rank: what happens there, and what the ranks may see of it."""

    def __init__(self, case: Case) -> None:
        self.kind, self.rank, rng = case.kind, case.rank, case.rng
        self._call, self._number = rng.choice(CALLS), rng.choice((1, 1, 2, 4))
        self._dies = rng.choice(("copy", "launch", "is_over", "copy_2d"))
        self.cancel = threading.Event()
        self.has_happened, self.until = False, 0.0

    def plant(self, gpus: PlayedGpus) -> None:
        """Make it happen in the next run of this rank."""
        driver = gpus.driver
        if self.kind == "no device memory":
            driver.capacity = 2500
        elif self.kind == "no pinned memory":
            driver.pinned_capacity = 700
        elif self.kind == "cancel":

            def hold() -> bool:
                """Keep what is in flight until the engine has seen the cancel."""
                if driver.in_flight and not self.has_happened:
                    self.has_happened, self.until = True, time.monotonic() + 3 * TICK
                    self.cancel.set()
                return self.has_happened and time.monotonic() < self.until

            driver.hold = hold
        else:
            is_dead, call = self.kind == "dead", self._dies if self.kind == "dead" else self._call
            first = driver.calls[call] + self._number

            def fail(name: str, count: int) -> Exception | None:
                if name != call or count < first or self.has_happened:
                    return None
                self.has_happened = True
                driver.dead = is_dead
                return DeviceError(f"planted in {call}")

            driver.fail = fail

    def lift(self, gpus: PlayedGpus) -> None:
        """Let all be well again."""
        driver = gpus.driver
        driver.capacity = driver.pinned_capacity = 1 << 30
        driver.fail, driver.hold = (lambda name, number: None), (lambda: False)
        if driver.dead:  # as if the process had been started again
            driver.dead = False
            for kept in (driver.streams, driver.events, driver.modules):
                kept.clear()

    def require(self, errors: list[BaseException | None]) -> str:
        """The errors of all ranks are of the right types. Returns what came of it."""
        mine = errors[self.rank]
        for rank, error in enumerate(errors):
            assert error is None or isinstance(error, RunError | TransferError), errors
            assert (error is None) == (mine is None), f"one rank failed, the other one did not: {errors}"
            if rank != self.rank and error is not None:  # what fails while it is verified, the rank of the destination passes on
                assert isinstance(error, RankError | Cancelled) or str(error) == str(mine), errors
        if self.kind.startswith("no ") and mine is not None:
            assert isinstance(mine, DeviceMemoryError), errors
            assert "no room" in str(mine) or "out of" in str(mine), errors
        if self.kind == "call" and mine is not None:
            assert "planted in" in str(mine), errors
        if self.kind == "cancel" and mine is not None:
            assert isinstance(mine, Cancelled), errors
        if self.kind != "cancel" and mine is not None:
            other = errors[1 - self.rank]
            assert f"rank {self.rank}" in str(other) or str(other) == str(mine), errors
        return "went well" if mine is None else type(mine).__name__


def part_of(engine: RankEngine, made: Plan, **options: Any) -> RankPart:
    return engine.run_parts([Item(made)], **options)[0]


def main() -> None:
    begin(580)
    seed, cases = sys.argv[1], int(sys.argv[2])
    gpus = PlayedGpus(random.Random(seed).randrange(1 << 30))
    staging.PIECE = 1024  # type: ignore[misc]
    outcomes: Counter[str] = Counter()
    longest = 0.0
    with gpus.world(limit=60) as world:
        whole = machine_of(None, world.hosts, 1)
        for number in range(cases):
            case = Case(number, seed, whole)
            fault, is_mine = Fault(case), case.rank == world.rank
            asked = case.rng.choice((256, 4096))
            with engine_of(gpus, world, case.machine, dead=case.kind == "dead", request_bytes=asked) as engine:
                made = cast("Plan", engine.gather(case.plan() if world.rank == 0 else None)[0])
                if case.kind != "dead" and number % 3 == 0:
                    assert part_of(engine, made).error is None
                engine.barrier()
                if is_mine:
                    fault.plant(gpus)
                began = time.perf_counter()
                part = part_of(engine, made, cancel=fault.cancel if is_mine else None)
                took = time.perf_counter() - began
                every = cast("list[Any]", engine.gather((part.error, took, gpus.driver.dead)))
                try:
                    outcome = fault.require([error for error, _, _ in every])
                except AssertionError as error:
                    raise AssertionError(f"case {number}: {case}: {error}") from None
                outcomes[f"{case.kind}: {outcome}"] += 1
                longest = max(longest, *(seconds for _, seconds, _ in every))
                assert engine.held_bytes == 0
                if not any(dead for _, _, dead in every):
                    fault.lift(gpus)
                    assert part_of(engine, made).error is None, "the same plan, after the fault"
                engine.barrier()
            fault.lift(gpus)
        here = world.rank
    gpus.calls_at_end()
    if here == 0:
        print(json.dumps({"outcomes": outcomes, "longest": longest}))


if __name__ == "__main__":
    main()
