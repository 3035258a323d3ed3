"""Kernels are compiled before the time of a transfer is measured: several at once, until a cancel, and never in a request."""

from __future__ import annotations

import random
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from fake_arrays import FakeArray, FakeKernel, FakeKernels
from fake_driver import FakeDriver
from gpu_cases import engine, machine
from run_cases import no_leaked_files, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Options, Transfer, plan
from isoviz.backends.cuda import gpus, layout_kernels, staging
from isoviz.errors import Cancelled, DeviceError, TransferError
from isoviz.planner import Plan, cost

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

PAIR = FieldSpace(a="f4", b="f8", c="i2")


def to_arrays() -> Plan:
    """A plan with three kernels."""
    return plan(Transfer.whole(IndexSpace(x=3000), PAIR, "node0.fbm0", "<F, x>", "node0.fbm0", "<x, F>"), machine(), "direct")


@pytest.mark.parametrize("piece", [1024, 1 << 20])
@pytest.mark.few(1)
def test_no_request_waits_for_a_kernel(tmp_path: Path, full: bool, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where pageable memory is staged, where chunks are cut into requests, and where the last chunk is short."""
    monkeypatch.setattr(staging, "PIECE", piece)
    rng = random.Random(piece)
    late = loads = 0
    for _ in range(200 if full else 8):
        driver, made = FakeDriver(rng.randrange(1 << 30)), machine(rng)
        space, fields = random_spaces(rng, largest=20)
        here, there = random_layout(rng, space), random_layout(rng, space)
        near, far = rng.choices([memory.name for memory in made.memories if memory.kind.name != "DSK"], k=2)
        try:
            nbytes = here.on(space, fields).nbytes
            options = Options(slot_limit=max(64, nbytes // rng.choice((1, 3, 6))))
            chosen = plan(Transfer.whole(space, fields, near, here, far, there), made, options=options)
        except TransferError:
            continue
        few = all(path.chunk_count <= 9 for path in chosen.paths)
        before: list[int] = []
        record = driver.record

        def recorded(event: int, stream: int, driver=driver, before=before, record=record) -> None:
            before.append(driver.calls["load"])  # a request ends with its event
            record(event, stream)

        driver.record = recorded  # type: ignore[method-assign]
        with engine(driver, made, tmp_path, request_bytes=rng.choice((512, 1 << 20))) as running:
            assert running.run(chosen).verified
        loads += driver.calls["load"]
        if few and before:
            late += before[0] != driver.calls["load"]
    assert loads and not late


def test_several_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_kernels, "_AT_ONCE", 3)
    together = threading.Barrier(3, timeout=250)

    class Waiting(FakeKernels):
        def compile(self, source: FakeKernel, architecture: str) -> bytes:
            together.wait()
            return super().compile(source, architecture)

    kernels, driver = Waiting(), FakeDriver()
    with engine(driver, machine(), tmp_path, kernels) as running:
        assert running.run(to_arrays()).verified
    assert len(kernels.compiled) == 3 == driver.calls["load"]


def test_a_cancel_ends_the_wait_for_kernels(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    class Slow(FakeKernels):
        def compile(self, source: FakeKernel, architecture: str) -> bytes:
            begun.set()
            assert go.wait(120)
            return super().compile(source, architecture)

    stop = threading.Event()
    errors: list[BaseException | None] = []
    with engine(FakeDriver(), machine(), tmp_path, Slow()) as running:
        # The thread that submits a transfer opens its stores.
        thread = threading.Thread(target=lambda: errors.append(running.submit(to_arrays(), cancel=stop).error(timeout=250)))
        thread.start()
        assert begun.wait(120)
        stop.set()
        thread.join(120)  # although the compiler is still at work
        go.set()
        assert isinstance(errors[0], Cancelled) and running.held_bytes == 0
        assert running.run(to_arrays()).verified


SAID = (
    r"GPU 0 \(fake\): kernel fake cannot be used, so the copy engines moved its copy \(23\.4 KiB in runs of 8 bytes, "
    r"loops \[\(3000, \d+, 8\)\]\) and 2 beside it: "
)
WHY = {
    "compile": "a kernel does not compile for sm_90: ptxas error   : uses too much shared data",
    "load": "fake: no such image",
    "function": "fake: no such image",
}


class Broken(FakeKernels):
    """Its compiler fails for the kernels of 4-byte elements."""

    def compile(self, source: FakeKernel, architecture: str) -> bytes:
        if '"run": 4' in source.code:
            raise RuntimeError(f"{WHY['compile']}\nmore of it")
        return super().compile(source, architecture)


@pytest.mark.parametrize("what", WHY)
@pytest.mark.parametrize("near", ["fbm0", "zcm"])
def test_where_a_kernel_cannot_be_had_the_copy_engines_do_its_copy(what: str, near: str, tmp_path: Path) -> None:
    """Every byte is right, and the report says which copy it was, and what the compiler or the driver said."""
    driver = FakeDriver()
    if what != "compile":
        driver.fail = lambda name, number: DeviceError("fake: no such image") if name == what else None
    whole = Transfer.whole(IndexSpace(x=3000), PAIR, f"node0.{near}", "<F, x>", "node0.fbm0", "<x, F>")
    chosen = cost(whole, machine(), (f"node0.{near}", "node0.fbm0"))
    data = np.random.default_rng(1).integers(256, size=3000 * PAIR.nbytes, dtype="u1")
    pinned = driver.allocate_pinned(len(data)).array
    assert pinned is not None
    pinned[:] = data
    source = FakeArray(driver, data) if near == "fbm0" else pinned
    destination = FakeArray(driver, np.zeros_like(data))
    with engine(driver, machine(), tmp_path, Broken() if what == "compile" else None) as running:
        for _ in range(2):  # the report of a later transfer says so, too
            report = running.run(chosen, source, destination)
            assert report.verified
            said = "\n".join(report.notes)
            assert re.search(f"{SAID}{WHY[what]}$", said, re.MULTILINE), said
    assert not driver.calls["launch"] and driver.calls["copy_2d"]
    cells = data.reshape(3000, 14)
    assert np.array_equal(destination.data, np.concatenate([cells[:, a:b].ravel() for a, b in ((0, 4), (4, 12), (12, 14))]))


def test_a_kernel_that_runs_is_no_note(tmp_path: Path) -> None:
    with engine(FakeDriver(), machine(), tmp_path) as running:
        assert not any("cannot be used" in note for note in running.run(to_arrays()).notes)


def test_a_report_says_when_kernels_took_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_LONG", 0.0)
    with engine(FakeDriver(), machine(), tmp_path) as running:
        first = running.run(to_arrays())
        told = re.compile(r"GPU 0 \(fake\): 3 kernels took \d+\.\d s to load or compile")
        assert any(told.match(note) for note in first.notes), first.notes
    monkeypatch.setattr(gpus, "_LONG", 1e9)
    with engine(FakeDriver(), machine(), tmp_path) as running:
        assert not any("kernels took" in note for note in running.run(to_arrays()).notes)
