"""The preset `local`: measured once, then remembered."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from isoviz import user_cache
from isoviz.errors import FileError
from isoviz.machines import Sampled, machine_from_json, machine_to_json, preset
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import quick_disk as measure_disk
from isoviz.measure import quick_memory as measure_memory
from isoviz.measure import tuning
from isoviz.measure.quick_disk import DiskMeasurement, Triples


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "isoviz"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Replaces the measurement by quick made-up samples; lists the directories measured."""
    calls: list[Path] = []
    triples: Triples = [(4096.0, 1e8 + 1, 0.1), (65536.0, 9e8, 0.2), (1048576.0, 8e8, 0.3)]

    def disk(directory: Path, **_more: object) -> DiskMeasurement:
        calls.append(directory)
        return DiskMeasurement(triples, triples, unbuffered=True)

    monkeypatch.setattr(measure_disk, "measure_disk", disk)
    monkeypatch.setattr(measure_memory, "measure_memcpy", lambda **_more: [(4.0, 1e9, 0.0), (4096.0, 1e10, 0.0)])
    return calls


def test_really_measured(cache: Path, tmp_path: Path) -> None:
    machine = preset("local", directory=tmp_path)
    assert [m.name for m in machine.memories] == ["node0.sys", "node0.dsk"]
    kinds = {str(c.kind): c for c in machine.channels}
    assert set(kinds) == {"Memcpy", "DiskRead", "DiskWrite"}
    assert kinds["Memcpy"].is_self_loop
    assert (machine.limits.slots, machine.limits.overlap) == (2, True), "as the bundled engine moves chunks"
    assert machine.provenance.startswith("measured 20")
    for channel in machine.channels:
        assert channel.provenance.startswith("measured 20")
        assert isinstance(channel.throughput, Sampled)
        assert channel.throughput.date is not None
        assert channel.throughput.spread is not None
    runs = [run for run, _ in kinds["Memcpy"].throughput.samples]
    assert {4, 64, 4096} <= set(runs)
    assert max(runs) >= 1 << 20
    requests = [run for run, _ in kinds["DiskRead"].throughput.samples]
    assert min(requests) == 4096
    assert max(requests) == 16 << 20
    assert [entry for entry in tmp_path.iterdir() if entry.name != "cache"] == [], "nothing is left of the measurement"
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine
    assert preset("local", directory=tmp_path) == machine, "the second time it is remembered"


def test_measured_once_then_remembered(cache: Path, counted: list[Path], tmp_path: Path) -> None:
    first = preset("local", directory=tmp_path)
    assert preset("local", directory=tmp_path) == first
    assert len(counted) == 1
    assert len(list(cache.iterdir())) == 1
    preset("local", directory=tmp_path, measure="fresh")
    assert len(counted) == 2


def test_samples_are_made_monotone_and_what_was_measured_is_kept(cache: Path, counted: list[Path], tmp_path: Path) -> None:
    read = preset("local", directory=tmp_path).channel("node0.dsk->node0.sys").throughput
    assert isinstance(read, Sampled)
    assert read.samples[-1] == (1048576, 9e8)
    assert read.measured is not None
    assert read.measured[-1] == (1048576, 8e8)
    assert read.spread == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", '{"format": "isoviz local measurement"}', "\0\xff", "[" * 100_000, '{"a": NaN, "a": 1e999}'],
)
def test_damaged_cache_is_measured_again(damage: str, cache: Path, counted: list[Path], tmp_path: Path) -> None:
    first = preset("local", directory=tmp_path)
    (entry,) = cache.iterdir()
    entry.write_bytes(damage.encode("latin-1"))
    again = preset("local", directory=tmp_path)
    assert len(counted) == 2
    assert [c.peak for c in again.channels] == [c.peak for c in first.channels]
    assert preset("local", directory=tmp_path) == again
    assert len(counted) == 2, "and it is repaired"


def test_hostile_samples_in_the_cache_are_measured_again(cache: Path, counted: list[Path], tmp_path: Path) -> None:
    preset("local", directory=tmp_path)
    (entry,) = cache.iterdir()
    content = json.loads(entry.read_text())
    content["measurement"]["memcpy"]["samples"][0][1] = -1
    entry.write_text(json.dumps(content))
    preset("local", directory=tmp_path)
    assert len(counted) == 2


def test_of_another_computer_is_not_used(
    cache: Path, counted: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset("local", directory=tmp_path)
    monkeypatch.setattr(measurements, "host_name", lambda: "another")
    assert "on another" in preset("local", directory=tmp_path).provenance
    assert len(counted) == 2


def test_works_without_a_place_to_remember(counted: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    preset("local", directory=tmp_path)
    preset("local", directory=tmp_path)
    assert len(counted) == 2


def test_assumed_measures_nothing_and_says_so(cache: Path, counted: list[Path], tmp_path: Path) -> None:
    machine = preset("local", directory=tmp_path, measure="assumed")
    assert not counted
    assert not cache.exists()
    assert {c.provenance for c in machine.channels} == {machine.provenance} == {"assumed"}


def test_a_directory_that_takes_no_files_gets_an_assumed_disk(
    cache: Path, counted: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(directory: Path, **_more: object) -> DiskMeasurement:
        raise FileError(f"{directory}: cannot be measured")

    monkeypatch.setattr(measure_disk, "measure_disk", refuse)
    machine = preset("local", directory=tmp_path)
    assert machine.channel("node0.dsk->node0.sys").provenance.startswith("assumed: the directory could not be written to")
    assert machine.channel("node0.sys->node0.sys").provenance.startswith("measured")


def test_the_disk_is_bound_to_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    for directory, device in ((None, tmp_path), ("data", tmp_path / "data"), (tmp_path / "data", tmp_path / "data")):
        assert preset("local", measure="assumed", directory=directory).memory("node0.dsk").device == str(device)


def test_what_is_assumed_of_disks(tmp_path: Path) -> None:
    """In whole pages, and nothing to set up that was not measured."""
    for channel in preset("local", directory=tmp_path, measure="assumed").channels:
        assert channel.alignment == (1 if channel.kind == "Memcpy" or "buffered" in channel.provenance else 4096)
        assert channel.setup == channel.conversion_setup == 0


def test_buffered_is_said(cache: Path, counted: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        measure_disk,
        "measure_disk",
        lambda d, **_more: DiskMeasurement([(4096.0, 1e8, 0.0)], [(4096.0, 1e8, 0.0)], unbuffered=False),
    )
    for channel in preset("local", directory=tmp_path).channels:
        if channel.kind != "Memcpy":
            assert "buffered" in channel.provenance
            assert channel.alignment == 1


def test_disk_is_measured_buffered_where_unbuffered_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_disk, "_bypass_cache", lambda descriptor: False)
    result = measure_disk.measure_disk(tmp_path, seconds=0.05)
    assert not result.unbuffered
    assert [size for size, _, _ in result.reads] == [size for size, _, _ in result.writes] == list(tuning.QUICK_REQUESTS)
    assert all(rate > 0 and spread >= 0 for _, rate, spread in (*result.reads, *result.writes))
    assert list(tmp_path.iterdir()) == []


def test_disk_that_cannot_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="cannot be measured"):
        measure_disk.measure_disk(tmp_path / "missing")
    monkeypatch.setattr(os, "pwritev", lambda *_: 5)
    with pytest.raises(FileError, match="no room"):
        measure_disk.measure_disk(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_kernel_measured_really_converts() -> None:
    """AOS → SOA of eight fields, through every path of the default kernel."""
    import numpy as np

    from isoviz.layouts import StridedCopy

    for run, entries in ((1, 20_000), (4, 9_000), (64, 8_192), (4096, 7)):
        source = np.random.default_rng(run).integers(0, 256, 8 * run * entries, np.uint8)
        destination = np.zeros_like(source)
        job = StridedCopy(0, 0, run, ((8, run, entries * run), (entries, 8 * run, run)))
        measure_memory.convert(job, source, destination)
        expected = source.reshape(entries, 8, run).transpose(1, 0, 2).reshape(-1)
        assert np.array_equal(destination, expected)


def test_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache.cache_folder() == tmp_path / ".cache" / "isoviz"
