"""Work of the caller on a stream of the caller ends before a transfer uses its arrays, whichever thread opens them."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import CurrentArray, FakeArray, FakeDlpack, FakeKernels, StreamlessArray
from fake_driver import FakeDriver
from gpu_cases import engine, machine
from run_cases import random_bytes

from isoviz import FieldSpace, IndexSpace, Transfer, cost
from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.cuda.enqueueing import Lane
from isoviz.backends.cuda.gpu import Gpu
from isoviz.errors import DeviceError, TransferError
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

    def array(
        self, late: np.ndarray[Any, Any], name: str, kind: Callable[..., FakeArray] = CurrentArray
    ) -> tuple[Any, Callable[[], None]]:
        """An array in a memory, and a function that queues the work that writes its bytes, which a host array has at once."""
        if not name.startswith("fbm"):
            return late.copy(), lambda: None
        device = int(name[-1])
        first, found = (kind(self.driver, data, device) for data in (late, np.zeros_like(late)))

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
@pytest.mark.parametrize("says", ["its stream", "its stream by DLPack", "no stream"])
def test_late_work_of_the_caller_comes_first(road: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    kind = StreamlessArray if says == "no stream" else CurrentArray
    ends = [(caller.array(late, path[0], kind), caller.array(random_bytes(rng, SIZE), path[-1], kind)) for late in data]
    gate, wait, waited = threading.Event(), driver.wait_stream, []
    monkeypatch.setattr(driver, "wait_stream", lambda stream: (waited.append(stream), wait(stream)))
    driver.hold = lambda: not gate.is_set()
    with engine(driver, made, tmp_path) as running:
        events = []
        for pair in ends:
            given = [FakeDlpack(end, 0) if "DLPack" in says and isinstance(end, FakeArray) else end for end, _ in pair]
            for _, begin in pair:
                begin()
            events.append(running.submit(chosen, *given))
        gate.set()
        for event in events:
            event.wait(120)
        assert not driver.late & set(waited), "no thread waits for the work of the caller"
        caller.end()
    for late, (_, (end, _)) in zip(data, ends, strict=True):
        assert np.array_equal(end.data if isinstance(end, FakeArray) else end, late)
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


class Conjugated(StreamlessArray):
    """A tensor of PyTorch whose values are not those of its bytes."""

    def __dlpack__(self, *, stream: int) -> object:
        raise BufferError("Can't export tensors with the conjugate bit set")


def test_an_array_whose_library_does_not_say_what_to_wait_for_is_refused(tmp_path: Path) -> None:
    driver, made = FakeDriver(3), machine()
    transfer = Transfer.whole(IndexSpace(x=SIZE), FieldSpace(a="u1"), "node0.fbm0", "<F, x>", "node0.sys", "<F, x>")
    chosen, room = cost(transfer, made, ["node0.fbm0", "node0.sys"]), np.zeros(SIZE, np.uint8)
    with engine(driver, made, tmp_path) as running:
        given = Conjugated(driver, random_bytes(random.Random(1), SIZE))
        with pytest.raises(TransferError, match=r"Conjugated: .* which work to wait for: .*conjugate bit"):
            running.run(chosen, given, room)
        assert not room.any()
        given.drop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_drops_a_stream_whose_thread_it_lacks() -> None:
    """A thread of the parent holds the lock while it forks. The child has no GPU: it calls no driver either."""
    driver = FakeDriver()
    lane = Lane(Gpu(driver, 0, FakeKernels()))
    lane.drop(lane.event())
    completions, held, go = lane.completions, threading.Event(), threading.Event()

    def hold() -> None:
        with completions._changed:
            held.set()
            go.wait(120)

    thread = threading.Thread(target=hold)
    completions._thread = thread
    thread.start()
    held.wait(120)
    before = driver.calls.copy()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        del lane
        os._exit(0 if driver.calls == before else 1)
    go.set()
    assert os.waitpid(child, 0)[1] == 0
    thread.join(120)
    completions._thread = None
    lane.close()
    assert not driver.events
