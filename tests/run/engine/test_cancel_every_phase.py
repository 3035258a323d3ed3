"""A cancel is seen soon in every phase of a run: counted in checks and pieces, not in seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz import IndexSpace, Layout, Machine
from isoviz.backends.devices import ThisComputer
from isoviz.backends.generate import fill, fill_file
from isoviz.backends.host import kernels
from isoviz.backends.pages import page_aligned, touch
from isoviz.backends.verify import verify
from isoviz.errors import Cancelled
from isoviz.layouts import FieldSpace
from isoviz.machines import preset
from isoviz.measure.local_engine import Engine
from isoviz.measure.trial import try_out
from isoviz.planner import Plan, Transfer, plan
from isoviz.runtime.opening import check_opening, opening

MIB = 1 << 20


class After:
    """A token that is set after it has been asked `count` times; it says how often it was asked."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > self.count

    def check(self) -> None:
        if self.is_set():
            raise Cancelled("cancelled")


def machine(tmp_path: Path) -> Machine:
    return preset("local", directory=str(tmp_path), measure="assumed")


def planned(here: Machine, source: str, destination: str, rows: int = 2048) -> Plan:
    transfer = Transfer.whole(
        IndexSpace(x=2048, y=rows), FieldSpace(a="float32", b="float64"),
        f"node0.{source}", Layout("<F, x, y>"), f"node0.{destination}", Layout("<x, y, F>"),
    )  # fmt: skip
    return plan(transfer, here)


def test_nothing_is_checked_where_nobody_can_cancel() -> None:
    check_opening()


def test_generating_data_ends_within_a_few_mib() -> None:
    array, token = page_aligned(64 * MIB), After(3)
    with opening(token.check), pytest.raises(Cancelled):
        fill(array, 0)
    assert not array[16 * MIB :].any()


def test_touching_pages_ends_within_a_few_pieces() -> None:
    array, token = np.ones(256 * MIB, np.uint8), After(1)
    with opening(token.check), pytest.raises(Cancelled):
        touch(array)
    assert array[64 * MIB :].all()


def test_generating_a_file_ends_within_a_few_pieces() -> None:
    class Counted:
        nbytes = 0

        def write_at(self, offset: int, data: Any) -> None:
            self.nbytes += len(data)

    file, token = Counted(), After(5)
    with opening(token.check), pytest.raises(Cancelled):
        fill_file(file, 0, 1 << 30)
    assert file.nbytes <= 5 * 4 * MIB


def test_loading_the_kernels_does_not_keep_a_cancelled_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    loading = threading.Event()
    monkeypatch.setattr("isoviz.backends.host.kernels.preparation.prepare", loading.wait)
    monkeypatch.setattr("isoviz.backends.host.kernels.preparation.is_ready", lambda: False)
    try:
        with opening(After(2).check), pytest.raises(Cancelled):
            kernels.prepare_unless_cancelled()
        assert not loading.is_set()
    finally:
        loading.set()


@pytest.mark.parametrize("ends", [("sys", "sys"), ("dsk", "sys"), ("sys", "dsk"), ("dsk", "dsk")])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 13, 21, 34])
@pytest.mark.few(6)
@pytest.mark.few(2)
def test_a_run_asks_a_bounded_number_of_times_more(tmp_path: Path, ends: tuple[str, str], count: int) -> None:
    here = machine(tmp_path)
    token = After(count)
    with pytest.raises(Cancelled):
        Engine(here).run(planned(here, *ends), cancel=token, trial=True)
    # Each request in flight may ask once more; the waiting thread asks on until they have ended.
    assert token.asked < count + 64
    assert list(tmp_path.iterdir()) == []


def test_a_cancel_before_the_run_allocates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine(tmp_path)
    made = planned(here, "sys", "sys")
    generated: list[int] = []
    token = threading.Event()
    token.set()
    monkeypatch.setattr("isoviz.backends.generate.np.add", lambda *_args, **_more: generated.append(1))
    with pytest.raises(Cancelled):
        Engine(here).run(made, cancel=token, trial=True)
    assert generated == []


def test_a_cancelled_trial_is_none(tmp_path: Path) -> None:
    here = machine(tmp_path)
    token = threading.Event()
    token.set()
    assert try_out(planned(here, "dsk", "sys"), here, cancel=token) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ends", [("sys", "sys"), ("dsk", "sys"), ("dsk", "dsk")])
def test_verification_stops_within_a_tile(tmp_path: Path, ends: tuple[str, str]) -> None:
    here = machine(tmp_path)
    made = planned(here, *ends)
    asked: list[int] = []

    class Devices(ThisComputer):
        def verify(self, plan: Plan, source: Any, destination: Any, check: Callable[[], None]) -> None:
            def counted() -> None:
                asked.append(1)
                if len(asked) > 2:
                    raise Cancelled("cancelled")

            verify(plan.transfer, source, destination, 4 * MIB, counted)

    with pytest.raises(Cancelled):
        Engine(here, Devices()).run(made)
    assert len(asked) == 3
