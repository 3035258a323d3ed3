"""Work of the caller on a stream of the caller ends before a transfer uses its arrays, whichever thread opens them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import CurrentArray, FakeDlpack
from fake_driver import FakeDriver
from gpu_cases import engine, machine
from run_cases import random_bytes

from isoviz import FieldSpace, IndexSpace, Transfer, cost
from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.errors import DeviceError
from isoviz.machines import MemoryKind

SIZE = 3000
ROADS = {
    "pageable up": ("sys", "fbm0"),
    "pageable down": ("fbm0", "sys"),
    "pinned up": ("sys", "zcm", "fbm0"),
    "pinned down": ("fbm0", "zcm", "sys"),
    "within": ("fbm0", "zcm", "fbm0"),
    "to a peer": ("fbm0", "zcm", "fbm1"),
    "peer": ("fbm0", "fbm1"),
}


class Caller:
    """A thread with streams of its own, whose work is late: nothing but who waits for it makes it run."""

    def __init__(self, driver: FakeDriver) -> None:
        self.driver = driver
        for device in (1, 0):
            driver.use(device)
            driver.current = driver.new_stream()
            driver.late.add(driver.current)

    def array(self, late: np.ndarray[Any, Any], name: str) -> tuple[Any, Callable[[], None]]:
        """An array in a memory, and a function that queues the work that writes its bytes, which a host array has at once."""
        if not name.startswith("fbm"):
            return late.copy(), lambda: None
        device = int(name[-1])
        first, found = (CurrentArray(self.driver, data, device) for data in (late, np.zeros_like(late)))

        def begin() -> None:
            self.driver.use(device)
            self.driver.copy(found._pointer, first._pointer, len(late), self.driver.current)
            self.driver.use(0)

        return found, begin

    def end(self) -> None:
        for stream in self.driver.late:
            self.driver.wait_stream(stream)
            self.driver.destroy_stream(stream)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("dlpack", [False, True])
def test_late_work_of_the_caller_comes_first(road: str, dlpack: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transfer that waits for the buffers of an earlier one has its arrays opened by another thread."""
    rng, driver, path = random.Random(road), FakeDriver(3), ROADS[road]
    opened: list[bool] = []
    for name in ("source", "destination"):
        method = getattr(DeviceMemory, name)

        def noting(*given: Any, method: Any = method) -> Any:
            opened.append(threading.current_thread() is threading.main_thread())
            return method(*given)

        monkeypatch.setattr(DeviceMemory, name, noting)
    whole = machine()
    memories = [replace(each, capacity=SIZE) if each.kind is MemoryKind.ZCM else each for each in whole.memories]
    made = replace(whole, memories=tuple(memories))
    names = [f"node0.{name}" for name in path]
    transfer = Transfer.whole(IndexSpace(x=SIZE), FieldSpace(a="u1"), names[0], "<F, x>", names[-1], "<F, x>")
    chosen, caller, data = cost(transfer, made, names), Caller(driver), [random_bytes(rng, SIZE) for _ in range(3)]
    ends = [(caller.array(late, path[0]), caller.array(random_bytes(rng, SIZE), path[-1])) for late in data]
    gate, wait, waited = threading.Event(), driver.wait_stream, []
    monkeypatch.setattr(driver, "wait_stream", lambda stream: (waited.append(stream), wait(stream)))
    driver.hold = lambda: not gate.is_set()
    with engine(driver, made, tmp_path) as running:
        events = []
        for pair in ends:
            given = [FakeDlpack(end, 0) if dlpack and isinstance(end, CurrentArray) else end for end, _ in pair]
            for _, begin in pair:
                begin()
            events.append(running.submit(chosen, *given))
        gate.set()
        for event in events:
            event.wait(60)
        assert not driver.late & set(waited), "no thread waits for the work of the caller"
        caller.end()
    for late, (_, (end, _)) in zip(data, ends, strict=True):
        assert np.array_equal(end.data if isinstance(end, CurrentArray) else end, late)
    assert False in opened or "zcm" not in path


def test_a_stream_that_cannot_follow_the_caller_fails_the_transfer(tmp_path: Path) -> None:
    driver, made = FakeDriver(3), machine()
    transfer = Transfer.whole(IndexSpace(x=SIZE), FieldSpace(a="u1"), "node0.fbm0", "<F, x>", "node0.sys", "<F, x>")
    chosen, caller = cost(transfer, made, ["node0.fbm0", "node0.sys"]), Caller(driver)
    array, begin = caller.array(random_bytes(random.Random(1), SIZE), "fbm0")
    driver.fail = lambda name, number: DeviceError("planted") if name == "follow" else None
    with engine(driver, made, tmp_path) as running:
        begin()
        with pytest.raises(DeviceError, match="planted"):
            running.run(chosen, array, np.zeros(SIZE, np.uint8))
        caller.end()
