"""`isoviz bench gpu` on the driver of the tests: every part runs, and what it reports is no report of a GPU."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_torch
import pytest
from fake_arrays import FakeKernels
from fake_cupy import install
from fake_driver import FakeDriver

from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.bench.gpu import conversions, predictions, suite
from isoviz.bench.gpu.bench import FAKE, BenchedGpu, GpuBench, GpuTable
from isoviz.bench.layouts import Case, cases
from isoviz.cli import main
from isoviz.errors import InputError


def is_short(case: Case) -> bool:
    """Images have the sizes of VGG-16, however small the others are."""
    return math.prod(case.space.sizes) * case.fields.nbytes < 1 << 18


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch, full: bool) -> Iterator[FakeDriver]:
    """The driver of the tests as the GPU of this computer, with CuPy and PyTorch."""
    driver = FakeDriver(7)
    gpu = BenchedGpu(install(monkeypatch, driver), FakeKernels(), is_real=False)
    monkeypatch.setitem(sys.modules, "torch", fake_torch.make())
    monkeypatch.setattr(suite, "gpu_of_this_computer", lambda: gpu)
    monkeypatch.setattr(predictions, "measured_machine", lambda bench: bench.machine)
    monkeypatch.setattr(conversions, "cases", lambda nbytes: list(filter(is_short, cases(nbytes)))[:: 1 if full else 3])
    yield driver
    assert not driver.violations, driver.violations


@pytest.mark.full
def test_every_part_runs_on_the_fake_driver(plays: FakeDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written, page = tmp_path / "gpu.json", tmp_path / "gpu.md"
    words = ["bench", "gpu", "--quick", "--repeat", "1", "--directory", str(tmp_path)]
    assert main([*words, "--json", str(written), "-o", str(page)]) == 0
    found: dict[str, Any] = json.loads(written.read_text())
    (absent,) = found["missing"]
    assert absent.startswith("ranks: failed: RunError: ranks use the real GPUs"), absent
    assert found["measured_on"] == FAKE and FAKE in page.read_text() and FAKE in capsys.readouterr().out
    assert {row["part"] for row in found["rows"]} >= {part.name for part in suite.PARTS}
    beside = {row["beside"] for row in found["rows"]}
    assert {"cudaMemcpyAsync", "cudaMemcpy, pageable", "contiguous bytes by isoviz", "CuPy", "PyTorch", "10 %"} <= beside
    ways = {way for row in found["rows"] for way in row.get("ways", ())}
    assert {"CuPy", "PyTorch", "device-to-device copy", "disk", "link"} <= ways
    assert "conversions: geometric mean of the shares" in page.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {written.name, page.name}
    assert plays.used == (0, 0) and not plays.streams and not plays.events


@pytest.mark.full
def test_a_fake_report_is_never_that_of_a_gpu(
    plays: FakeDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "PARTS", suite.PARTS[1:2])
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for option in ("--json", "-o"):
        assert main(["bench", "gpu", "--quick", "--repeat", "1", option, str(folder / "gpu")]) == 2
        assert f"{FAKE}; expected a file outside benchmarks" in capsys.readouterr().err
    assert not list(folder.iterdir())


@pytest.mark.full
def test_a_part_that_fails_is_a_row(plays: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(here: Any) -> Iterator[dict[str, Any]]:
        raise RuntimeError("no such luck")
        yield {}

    def stops(here: Any) -> Iterator[dict[str, Any]]:
        raise KeyboardInterrupt
        yield {}

    kept: list[Any] = []

    def keeps(here: Any) -> Iterator[dict[str, Any]]:
        kept.append(here.device(64))
        yield from ()

    small = suite.PARTS[1]
    parts = [suite.Part(name, part, 0.1) for name, part in (("a", fails), ("k", keeps), ("c", stops), ("d", fails))]
    monkeypatch.setattr(suite, "PARTS", [parts[0], small, *parts[1:]])
    table = suite.measure(repeat=1, quick=True)
    assert isinstance(table, GpuTable)
    said = {row["part"]: row["error"] for row in table.rows}
    assert said["a"] == "RuntimeError: no such luck" and said["small"] is None and "KeyboardInterrupt" in said["c"]
    assert "64 bytes of the pool of the GPU are still in use" in said["k"]
    assert "d" not in said and len(table.to_json()["missing"]) == 3 and "Missing:" in table.to_page()
    assert not any(row["met"] for row in table.rows if row["error"])


@pytest.mark.full
def test_what_has_no_time_is_named(plays: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    timed = [part for part in suite.PARTS if part.name not in ("small", "files", "urgent", "ranks")]
    monkeypatch.setattr(suite, "PARTS", timed)
    table = suite.measure(repeat=1, quick=True, minutes=1e-9)
    assert {row["error"] for row in table.rows if row["unit"] != "share"} == {"left out: no time"}
    assert {row["part"] for row in table.rows} == {"links", "conversions", "structs", "engine", "predictions"}


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    if loaded().driver is not None:
        pytest.skip("there is a GPU")
    assert main(["bench", "gpu"]) == 2
    assert "bench gpu: needs a GPU: CuPy" in capsys.readouterr().err
    assert main(["bench", "gpu", "--repeat", "0"]) == 2


@pytest.mark.full
def test_some_parts_only(plays: FakeDriver) -> None:
    table = suite.measure(repeat=1, quick=True, parts="small, conversions", minutes=10)
    assert {row["part"] for row in table.rows} == {"small", "conversions"} and not table.to_json()["missing"]


def test_a_part_that_does_not_exist() -> None:
    with pytest.raises(InputError, match=r"there is no part 'large'; expected some of links, small, "):
        suite.measure(parts="links,large")


@pytest.mark.full
def test_kernels_are_ready_before_conversions_are_timed(plays: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all cases, before the first one; and the engine keeps its threads from one transfer to the next."""
    entered: list[bool] = []
    loaded_before: list[int] = []
    timed = GpuBench.in_turn

    def in_turn(bench: Any, *arguments: Any) -> Any:
        entered.append(bench.engine._driver._is_entered)
        loaded_before.append(plays.calls["load"])
        return timed(bench, *arguments)

    monkeypatch.setattr(GpuBench, "in_turn", in_turn)
    suite.measure(repeat=1, quick=True, parts="conversions", minutes=10)
    assert loaded_before and loaded_before[0] == loaded_before[-1] > 0, "no kernel is compiled while conversions are timed"
    assert all(entered)
