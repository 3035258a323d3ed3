"""Random plans over two GPUs, pinned and pageable memory and a disk, on a driver that runs queued work late and out of order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import FakeArray, FakeDlpack, FakeKernels
from fake_driver import FakeDriver
from gpu_cases import DSK, FBM, SYS, engine, machine
from run_cases import elements, no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import Options, Transfer, plan
from isoviz.backends.cuda import staging
from isoviz.errors import MissingPartError, TransferError
from isoviz.machines import Memory

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

Report = Callable[[str, object], None]


def held(rng: random.Random, driver: FakeDriver, memory: Memory, data: np.ndarray[Any, Any], path: Path) -> Any:
    """Some bytes as a caller passes them, in a memory."""
    if memory.kind is FBM:
        device = int(memory.name[-1])
        array = FakeArray(driver, data, device, stream=rng.choice((None, 1)))
        return FakeDlpack(array, device) if rng.random() < 0.3 else array
    if memory.kind is DSK:
        data.tofile(path)
        return path
    return data.copy()


def taken(given: Any) -> np.ndarray[Any, Any]:
    if isinstance(given, FakeDlpack):
        given = given.array
    if isinstance(given, FakeArray):
        data = given.data.copy()
        given.drop()
        return data
    return np.fromfile(given, np.uint8) if isinstance(given, Path) else given


def test_random_plans_move_every_element(tmp_path: Path, full: bool, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(30)
    calls: Counter[str] = Counter()
    done = 0
    while done < (300 if full else 25):
        monkeypatch.setattr(staging, "PIECE", rng.choice((4096, 16384, 1 << 20)))
        driver = FakeDriver(rng.randrange(1 << 30))
        driver.slow = rng.random() < 0.1
        driver.can_reach = rng.random() < 0.5
        kernels = FakeKernels(MissingPartError("NVRTC", "gpu-cuda13") if rng.random() < 0.3 else None)
        made = machine(rng)
        space, fields = random_spaces(rng, largest=rng.choice((5, 12, 24)))
        here, there = random_layout(rng, space), random_layout(rng, space)
        near, far = rng.choice(made.memories), rng.choice(made.memories)
        a, b = here.on(space, fields), there.on(space, fields)
        transfer = Transfer.whole(space, fields, near.name, here, far.name, there)
        options = Options(slot_limit=max(64, a.nbytes // rng.choice((1, 2, 6))), planner=rng.choice(("full", "simple", "direct")))
        try:
            chosen = plan(transfer, made, options=options)
        except TransferError:  # no path, or no slots as small as that
            continue
        data = random_bytes(rng, a.nbytes)
        source, destination = tmp_path / f"{done}.in", tmp_path / f"{done}.out"
        given: list[Any] = [None, None]
        if rng.random() < 0.8:
            given[0] = held(rng, driver, near, data, source)
            given[1] = destination if far.kind is DSK else held(rng, driver, far, np.zeros(b.nbytes, "u1"), destination)
        with engine(driver, made, tmp_path, kernels, request_bytes=rng.choice((64, 4096, 1 << 20))) as running:
            found = running.run(chosen, *given)
        assert found.verified
        if given[0] is not None:
            taken(given[0])
            assert elements(a, data) == elements(b, taken(given[1])[: b.nbytes]), chosen
        calls += driver.calls
        done += 1
    for call in ("copy", "copy_2d", "copy_peer", "launch", "wait_event", "is_over", "from_dlpack", "allocate_pinned"):
        assert calls[call], f"no {call} in {done} plans"
    report("random plans over a driver that plays GPUs, equal element by element", done)


def test_many_at_once(tmp_path: Path, full: bool, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transfers of all pairs of memories in one engine at a time, with priorities and several requests in flight."""
    monkeypatch.setattr(staging, "PIECE", 4096)
    rng = random.Random(7)
    done = 0
    for _ in range(20 if full else 3):
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
                event.wait(60)
                taken(given[0])
                assert elements(a, data) == elements(b, taken(given[1]))
                done += 1
            assert running.held_bytes == 0
    report("transfers at once over a driver that plays GPUs", done)
