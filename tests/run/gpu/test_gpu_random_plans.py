"""Random plans over two GPUs, pinned and pageable memory and a disk, on a driver that runs queued work late and out of order."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fake_arrays import FakeKernels, RealKernels
from fake_driver import FakeDriver
from gpu_cases import FBM, SYS, engine, held, machine, random_plan_moves_every_element, taken
from ptx_executor import Executor
from run_cases import elements, no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Instance, Transfer, plan
from isoviz.backends.cuda import staging
from isoviz.backends.cuda.kernels.choose_kernels import SMALL
from isoviz.errors import MissingPartError, RunError

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

Report = Callable[[str, object], None]


def test_random_plans_move_every_element(tmp_path: Path, full: bool, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(32)
    calls: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    done = 0
    while done < (300 if full else 25):
        monkeypatch.setattr(staging, "PIECE", rng.choice((4096, 16384, 1 << 20)))
        driver = FakeDriver(rng.randrange(1 << 30))
        driver.slow = rng.random() < 0.1
        driver.can_reach = rng.random() < 0.5
        kernels = FakeKernels(MissingPartError("NVRTC", "gpu-cuda13") if rng.random() < 0.3 else None)
        chosen = random_plan_moves_every_element(rng, driver, kernels, tmp_path, done, largest=rng.choice((5, 12, 24)))
        kinds.update(hop.kind for hop in chosen.every_hop)
        calls += driver.calls
        done += 1
    assert set(kinds) >= {"GPURead", "GPUWrite", "GPUCopy", "ZeroCopyRead", "ZeroCopyWrite"}, kinds
    for call in ("copy", "copy_2d", "copy_peer", "launch", "wait_event", "is_over", "from_dlpack", "allocate_pinned"):
        assert calls[call], f"no {call} in {done} plans"
    report("random plans over a driver that plays GPUs, equal element by element", done)


def test_random_plans_through_real_kernels(
    executor: Executor, tmp_path: Path, full: bool, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels, their launches and the runtime together: NVRTC compiles what a plan needs, and the processor executes its PTX."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rng = random.Random(32)
    loaded: Counter[str] = Counter()
    launched = done = 0
    while launched < (100 if full else 4):
        monkeypatch.setattr(staging, "PIECE", rng.choice((4096, 16384, 1 << 20)))
        driver = FakeDriver(rng.randrange(1 << 30), executor=executor)
        kernels = RealKernels(small=rng.choice((0, 2000, SMALL)))
        random_plan_moves_every_element(rng, driver, kernels, tmp_path, done, largest=rng.choice((12, 24)))
        loaded += driver.loaded
        launched += driver.calls["launch"] > 0
        done += 1
    kinds = {name.split("_")[1] for name in loaded}
    assert kinds == {"any", "units", "slots", "tiles"} if full else kinds, loaded
    report("random plans through real GPU kernels, executed on the processor", launched)
    report("different kernels of these plans", len(loaded))


def test_a_kernel_that_is_launched_wrongly_is_found(executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few blocks do the same work; an offset that is 4 bytes too large does not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    space, fields = IndexSpace(x=40, y=30), FieldSpace(f="f4")
    chosen = plan(Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node0.fbm0", "<F, y, x>"), machine())
    launch = FakeDriver.launch
    for grid, shift in ((1, 0), (None, 4)):
        driver = FakeDriver(executor=executor)

        def other(self, function, blocks, block, shared, arguments, stream, grid=grid, shift=shift) -> None:
            source, *rest = arguments
            launch(self, function, (grid or blocks[0], 1, 1), block, shared, (source + shift, *rest), stream)

        monkeypatch.setattr(FakeDriver, "launch", other)
        wrong = pytest.raises((RunError, AssertionError)) if shift else contextlib.nullcontext()
        with wrong, engine(driver, machine(), tmp_path, RealKernels(0)) as running:
            assert running.run(chosen).verified


def test_many_at_once(tmp_path: Path, full: bool, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transfers of all pairs of memories in one engine at a time, with priorities and several requests in flight."""
    monkeypatch.setattr(staging, "PIECE", 4096)
    rng = random.Random(7)
    done = 0
    for _ in range(20 if full else 1):
        driver, made = FakeDriver(rng.randrange(1 << 30)), machine()
        with engine(driver, made, tmp_path, request_bytes=rng.choice((64, 256))) as running:
            jobs = []
            for _ in range(16):
                space, fields = random_spaces(rng)
                here, there = random_layout(rng, space), random_layout(rng, space)
                near, far = rng.sample([memory for memory in made.memories if memory.kind in (FBM, SYS)], 2)
                a, b = here.on(space, fields), there.on(space, fields)
                data = random_bytes(rng, a.nbytes)
                chosen = plan(Transfer.whole(space, fields, near.name, here, far.name, there), made)
                given = held(rng, driver, near, data, tmp_path), held(rng, driver, far, np.zeros(b.nbytes, "u1"), tmp_path)
                jobs.append((running.submit(chosen, *given, priority=rng.randrange(3)), a, b, data, given))
            for event, a, b, data, given in jobs:
                event.wait(120)
                taken(given[0])
                assert elements(a, data) == elements(b, taken(given[1]))
                done += 1
            assert running.held_bytes == 0
    report("transfers at once over a driver that plays GPUs", done)


def test_lists_move_run_by_run(tmp_path: Path, full: bool, report: Report) -> None:
    """Entries that lists name, from, to and between GPUs: a device that knows no tables gets a copy for each run."""
    rng = random.Random(5)
    kinds: Counter[str] = Counter()
    for _ in range(60 if full else 6):
        made = machine()
        space, fields = IndexSpace(x=rng.randint(4, 60), y=rng.randint(1, 4)), FieldSpace(a="f4", b="f8")
        count = rng.randint(1, space["x"])
        lists = [{"x": np.array(rng.sample(range(space["x"]), count))} for _ in range(2)]
        near, far = (rng.choice(("fbm0", "fbm1")), rng.choice(("fbm0", "fbm1", "zcm", "sys")))
        names = [near, far] if rng.random() < 0.5 else [far, near]
        ends = [Instance(f"node0.{name}", space, fields, random_layout(rng, space)) for name in names]
        chosen = plan(Transfer.listed(*ends, entries=lists[0], to=lists[1]), made)
        with engine(FakeDriver(rng.randrange(1 << 30)), made, tmp_path) as running:
            assert running.run(chosen).verified, chosen
        kinds.update(str(hop.kind) for hop in chosen.every_hop)
    report("lists on a driver that plays GPUs", dict(kinds))
