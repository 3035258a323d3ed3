"""A probe of real ranks: it measures every kind of channel, and what it found is planned with, kept, and told apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from left_over import Belongings
from mpi_jobs import needs_mpi

import isoviz
from isoviz.errors import InputError
from isoviz.launch.probe import ProbeProgress
from isoviz.machines import Machine, machine_from_json, machine_to_json, preset
from isoviz.measure import kept_measurements
from isoviz.measure.ranks import rank_probe
from isoviz.measure.ranks.ranks_machine import PREPARED
from isoviz.measure.ways import Effort

SHORT = Effort(repeats=1, samples=6, seconds=0.002, limit=0.0)
KINDS = {"Memcpy", "DiskRead", "DiskWrite", "Window", "ProcessWrite", "TwoSided", "Packed"}


@pytest.fixture(scope="module", autouse=True)
def _short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_probe, "QUICK", SHORT)
        patch.setattr(rank_probe, "MOST_ROOM", rank_probe.tuning.PROBE_ROOM // 2)
        patch.setattr(rank_probe.tuning, "PROBE_ROOM", rank_probe.tuning.PROBE_ROOM // 2)
        patch.setattr(rank_probe, "_local", lambda place, tell: preset("local", directory=place, measure="assumed"))
        cache = tmp_path_factory.mktemp("cache")  # of measurements only: the compiled kernels of this computer are used
        patch.setattr(kept_measurements, "cache_folder", lambda: cache)
        yield


@pytest.fixture(scope="module")
def two() -> Iterator[isoviz.Ranks]:
    with isoviz.ranks(2) as ranks:
        yield ranks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def probed(two: isoviz.Ranks, folder: Path) -> tuple[Machine, list[ProbeProgress]]:
    told: list[ProbeProgress] = []
    return isoviz.probe(folder, ranks=two, progress=told.append), told


@needs_mpi
@pytest.mark.full
def test_every_kind_is_measured(probed: tuple[Machine, list[ProbeProgress]], report: Callable[[str, object], None]) -> None:
    machine, told = probed
    assert {str(channel.kind) for channel in machine.channels} == KINDS
    assert machine.nodes == (0, 1)
    assert machine.measurement is not None
    assert len(machine.measurement.checks) == 3
    versions, starts = dict(machine.measurement.versions), dict(machine.measurement.starts)
    assert "MPI" in versions
    assert set(starts) == {"same host", PREPARED} and starts[PREPARED] > 0
    for channel in machine.channels:
        origin = "assumed" if channel.kind.startswith("Disk") else "measured"
        assert channel.provenance.startswith(origin), channel
    assert [each.done for each in told if each.steps > 1] == sorted(each.done for each in told if each.steps > 1)
    rates = {str(c.kind): c for c in machine.channels if c.kind.crosses_nodes or c.kind == "Memcpy"}
    report("ranks, GB/s at runs of 8 B, 1 KiB, 4 MiB", {
        kind: [float(f"{c.rate(run) / 1e9:.2g}") for run in (8, 1024, 4 << 20)] for kind, c in rates.items()
    })  # fmt: skip
    assert all(channel.rate(run) > 0 for channel in rates.values() for run in (8, 1024, 4 << 20))
    assert all(0 <= channel.setup < 1 for channel in rates.values())


@needs_mpi
@pytest.mark.full
def test_it_is_saved_kept_and_told_apart(probed: tuple[Machine, list[ProbeProgress]], folder: Path, tmp_path: Path) -> None:
    machine, _ = probed
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine
    kept = preset("ranks", ranks=2, directory=folder)
    assert kept.channels == machine.channels
    assert kept.measurement == machine.measurement
    assert kept.provenance == f"{machine.provenance}, by a probe"
    for options in ({"ranks": 3}, {"ranks": 2, "hosts": 2}, {"ranks": 2, "measure": "assumed"}):
        other = preset("ranks", directory=folder, **options)
        assert other.measurement is None
        assert {c.provenance.split(":")[0] for c in other.channels if c.kind.crosses_nodes} == {"assumed"}


@needs_mpi
def test_it_is_cancelled_and_the_ranks_stay(two: isoviz.Ranks, folder: Path) -> None:
    class EnoughError(Exception):
        pass

    def stop(progress: ProbeProgress) -> None:
        if progress.done >= 3:
            raise EnoughError

    with pytest.raises(InputError, match="the function raised EnoughError"):
        isoviz.probe(folder, ranks=two, progress=stop, keep=False)
    assert two.is_alive
    assert two.ping() < 60


@needs_mpi
@pytest.mark.full
def test_ranks_of_its_own_are_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Belongings] = []
    start = isoviz.ranks

    def noted(count: int) -> isoviz.Ranks:
        ranks = start(count)
        started.append(Belongings(ranks))
        return ranks

    monkeypatch.setattr("isoviz.launch.ranks.ranks", noted)
    machine = isoviz.probe(folder, ranks=1, keep=False)
    assert {str(channel.kind) for channel in machine.channels} == {"Memcpy", "DiskRead", "DiskWrite"}
    (belongings,) = started
    assert belongings.left() == []


@pytest.mark.parametrize(("ranks", "disks"), [("4", None), (2.5, None), (2, [".", "/proc"])])
def test_what_it_cannot_measure(ranks: object, disks: object) -> None:
    with pytest.raises(InputError):
        isoviz.probe(disks, ranks=ranks)  # type: ignore[arg-type]
