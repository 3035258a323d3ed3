"""The preset `local`: measured once, then remembered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from isoviz import user_cache
from isoviz.backends.host import kernels
from isoviz.errors import Cancelled, FileError, RunError
from isoviz.machines import Machine, Sampled, machine_from_json, machine_to_json, preset
from isoviz.machines.measurement import Measurement
from isoviz.measure import computer_probe as probing
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import local_machine, tuning
from isoviz.measure.assumed_host import described
from isoviz.this_computer import this_computer, versions

Tell = Callable[[str, float], None] | None


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "isoviz"


def made_up(directory: Path, copies: str = "compiled kernels") -> Machine:
    """What a probe might have found."""
    facts = this_computer()
    measurement = Measurement(facts, "2026-01-01T00:00:00+00:00", 1.0, (*versions(), ("copies", copies)))
    return replace(described(directory, f"measured 2026-01-01 on {facts.host}"), measurement=measurement)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Replaces the brief probe by made-up figures; lists the directories measured."""
    calls: list[Path] = []

    def probe(directory: Path, _tell: Tell = None) -> Machine:
        calls.append(directory)
        return made_up(directory)

    monkeypatch.setattr(probing, "probe_briefly", probe)
    return calls


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """A brief probe that is briefer still."""
    monkeypatch.setattr(probing, "BRIEF", replace(probing.BRIEF, repeats=1, seconds=0.0005, limit=-1.0))
    monkeypatch.setattr(tuning, "BRIEF_ROOM", 16 * tuning.MIB)
    monkeypatch.setattr(probing, "working_set", lambda: 0)


def test_really_measured(tiny: None, tmp_path: Path, no_leaked_threads: None) -> None:
    told: list[tuple[str, float]] = []
    machine = local_machine.measured_machine(tmp_path, lambda *each: told.append(each))
    assert [m.name for m in machine.memories] == ["node0.sys", "node0.dsk"]
    kinds = {str(c.kind): c for c in machine.channels}
    assert set(kinds) == {"Memcpy", "DiskRead", "DiskWrite"}
    assert kinds["Memcpy"].is_self_loop
    assert (machine.limits.slots, machine.limits.overlap) == (2, True), "as the bundled engine moves chunks"
    assert machine.provenance.startswith("measured 20") and "briefly" in machine.provenance
    for channel in machine.channels:
        assert channel.provenance.startswith("measured 20")
        assert isinstance(channel.throughput, Sampled)
        assert channel.throughput.date is not None
        assert channel.throughput.ranges is not None
    runs = [run for run, _ in kinds["Memcpy"].throughput.samples]
    assert {1, 16, 256, 4096} <= set(runs)
    assert max(runs) >= 1 << 20
    requests = [run for run, _ in kinds["DiskRead"].throughput.samples]
    assert min(requests) == 4096
    assert max(requests) == 4 << 20
    assert machine.measurement is not None
    assert {check.slowest for check in machine.measurement.checks} <= {channel.name for channel in machine.channels}
    assert {what for what, _ in told} == {"memory", "disk"}
    assert [share for _, share in told] == sorted(share for _, share in told) and 0 <= told[0][1] <= told[-1][1] <= 1
    assert [entry for entry in tmp_path.iterdir() if entry.name != "cache"] == [], "nothing is left of the measurement"
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine
    if kernels.is_ready():
        assert preset("local", directory=tmp_path) == machine, "the second time it is remembered"


def test_whoever_listens_may_stop_it(tiny: None, tmp_path: Path, no_leaked_threads: None) -> None:
    def stop(what: str, _share: float) -> None:
        if what == "disk":
            raise Cancelled("enough")

    with pytest.raises(Cancelled, match="enough"):
        local_machine.measured_machine(tmp_path, stop)
    assert [entry for entry in tmp_path.iterdir() if entry.name != "cache"] == []
    assert measurements.kept_probe(tmp_path) is None


def test_nothing_is_compiled_for_it(tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes a processor for a minute: copies are measured as they are made until then, and measured again after it."""

    def prepare(**_: object) -> bool:
        raise AssertionError("kernels were asked for")

    monkeypatch.setattr(kernels, "is_compiled", lambda: False)
    monkeypatch.setattr(kernels, "prepare", prepare)
    monkeypatch.setattr(kernels, "prepare_unless_cancelled", prepare)
    assert local_machine.measured_machine(tmp_path).provenance.startswith("measured")


@pytest.mark.parametrize("error", [FileError("no such place"), RunError("no room")])
def test_a_directory_that_takes_no_files_gets_an_assumed_disk(
    tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from isoviz.measure import channel_timer

    def refuse(*_: object) -> object:
        raise error

    monkeypatch.setattr(channel_timer, "NewFile", refuse)
    machine = preset("local", directory=tmp_path)
    assert machine.channel("node0.dsk->node0.sys").provenance.startswith("assumed: the directory could not be written to")
    assert machine.channel("node0.sys->node0.sys").provenance.startswith("measured")
    assert machine.memory("node0.dsk").device == str(tmp_path)


def test_measured_once_then_remembered(cache: Path, counted: list[Path], tmp_path: Path) -> None:
    first = preset("local", directory=tmp_path)
    assert preset("local", directory=tmp_path) == first
    assert len(counted) == 1
    assert len(list(cache.iterdir())) == 1
    preset("local", directory=tmp_path, measure="fresh")
    assert len(counted) == 2


@pytest.mark.parametrize(("is_compiled", "times"), [(False, 1), (True, 2)])
def test_copies_by_numpy_are_measured_until_there_are_kernels(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_compiled: bool, times: int
) -> None:
    calls: list[Path] = []

    def probe(directory: Path, _tell: Tell = None) -> Machine:
        calls.append(directory)
        return made_up(directory, kernels.state() if calls[1:] else "NumPy instead of compiled kernels: not yet")

    monkeypatch.setattr(probing, "probe_briefly", probe)
    monkeypatch.setattr(kernels, "state", lambda: "compiled kernels")
    preset("local", directory=tmp_path)
    monkeypatch.setattr(kernels, "is_compiled", lambda: is_compiled)
    assert local_machine.kept_machine(tmp_path, outdated=True) is not None
    for _ in range(2):
        preset("local", directory=tmp_path)
    assert len(calls) == times


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", '{"format": "isoviz kept probe"}', "\0\xff", "[" * 100_000, '{"a": NaN, "a": 1e999}'],
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


def test_hostile_figures_in_the_cache_are_measured_again(cache: Path, counted: list[Path], tmp_path: Path) -> None:
    preset("local", directory=tmp_path)
    (entry,) = cache.iterdir()
    content = json.loads(entry.read_text())
    content["machine"]["channels"][0]["throughput"]["bandwidth"] = -1
    entry.write_text(json.dumps(content))
    preset("local", directory=tmp_path)
    assert len(counted) == 2


def test_of_another_computer_is_not_used(
    cache: Path, counted: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset("local", directory=tmp_path)
    monkeypatch.setattr(measurements, "host_name", lambda: "another")
    preset("local", directory=tmp_path)
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


def test_the_disk_is_bound_to_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    for directory, device in ((None, tmp_path), ("data", tmp_path / "data"), (tmp_path / "data", tmp_path / "data")):
        assert preset("local", measure="assumed", directory=directory).memory("node0.dsk").device == str(device)


def test_what_is_assumed_of_disks(tmp_path: Path) -> None:
    """In whole pages, and nothing to set up that was not measured."""
    for channel in preset("local", directory=tmp_path, measure="assumed").channels:
        assert channel.alignment == (1 if channel.kind == "Memcpy" else 4096)
        assert channel.setup == channel.conversion_setup == 0


def test_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache.cache_folder() == tmp_path / ".cache" / "isoviz"
