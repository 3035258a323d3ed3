"""The probe of GPUs on a driver that plays them: it runs to its end, and its machine is kept, planned and run.

The rates say nothing: they are those of a host that copies in place of a GPU. So nothing here looks at them.
"""

from __future__ import annotations

import gc
import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_arrays import FakeKernels
from fake_driver import FakeDriver
from fake_kvikio import FakeKvikio, installs

import isoviz
from isoviz.backends.cuda import gpus
from isoviz.backends.cuda.cupy_driver import Loaded
from isoviz.backends.direct_storage import why_not_direct
from isoviz.errors import DeviceError, InputError, MissingPartError
from isoviz.launch.probe import ProbeProgress
from isoviz.machines import (
    Channel,
    ChannelKind,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    Sampled,
    load,
    machine_from_json,
    machine_to_json,
    preset,
    save,
)
from isoviz.machines.cards import Ways
from isoviz.machines.measurement import Pair
from isoviz.measure import computer_probe, kept_measurements, steps, tuning
from isoviz.measure.computer_probe import ComputerSteps
from isoviz.measure.gpus.gpu_parts import gpus_here
from isoviz.measure.ways import Effort, ways_of
from isoviz.this_computer import GpuFacts

TINY = Effort(repeats=1, samples=7, seconds=0.001, limit=-1.0)
SPACE, PAIR = isoviz.IndexSpace(x=300), isoviz.FieldSpace(re="f4", im="f8")
SYS, DSK, GPU = "node0.sys", "node0.dsk", "node0.fbm0"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A computer with two GPUs that a driver plays. Afterwards nothing is left in use."""
    found = FakeDriver(devices=2)
    monkeypatch.setattr(gpus, "loaded", lambda: Loaded(found, ""))
    monkeypatch.setattr(gpus, "DefaultMaker", FakeKernels)
    yield found
    gc.collect()
    assert not found.violations, found.violations
    assert found.used == (0, 0), "memory is left in use"
    assert not found.streams and not found.events and not found.modules, "streams, events or modules are left"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A probe that takes seconds; the user's cache is a folder of the test's."""
    monkeypatch.setattr(computer_probe, "QUICK", TINY)
    for room in ("PROBE_ROOM", "GPU_ROOM", "PINNED_ROOM"):
        monkeypatch.setattr(tuning, room, 16 * tuning.MIB)
    monkeypatch.setattr(computer_probe, "working_set", lambda: 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ISOVIZ_KERNELS", "numpy")  # Compiling the kernels for a new cache would take a minute.
    place = tmp_path / "disk"
    place.mkdir()
    return place


@pytest.fixture
def known_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host memory and disk are known, so that a probe measures the GPUs only: at two runs, as nothing looks at rates."""

    def measured(steps: ComputerSteps) -> Machine:
        function = Sampled(((64.0, 1e8), (1e6, 1e9)))
        channels = (
            Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-9, 5e9)),
            Channel("", ChannelKind.DISK_READ, DSK, SYS, function, alignment=4096),
            Channel("", ChannelKind.DISK_WRITE, SYS, DSK, function, alignment=4096),
        )
        steps.pairs.append(Pair(channels[0].name, channels[0].name, (5e9, 5e9), (3e9, 3e9)))
        place = str(steps.directories[DSK])
        memories = Memory(SYS, MemoryKind.SYS), Memory(DSK, MemoryKind.DSK, device=place)
        return Machine("local", memories, channels, provenance="measured 2026-01-01 on here")

    monkeypatch.setattr(ComputerSteps, "measure", measured)
    monkeypatch.setattr(steps, "SMALL_TRANSFERS", (70_000,))
    monkeypatch.setattr(tuning, "PLAIN_RUNS", (64,))

    def few_ways(channel: Channel, effort: Effort) -> Ways:
        ways = ways_of(channel, effort)
        direct = (ChannelKind.DIRECT_READ, ChannelKind.DIRECT_WRITE)
        if not channel.kind.is_of_gpu and channel.kind not in direct:
            return ways
        return replace(ways, first=(4096, tuning.MIB), in_flight=(2,), small=(70_000,))

    monkeypatch.setattr(steps, "ways_of", few_ways)


@pytest.mark.full
def test_a_probe_with_two_gpus(driver: FakeDriver, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "PROBE_ROOM", 32 * tuning.MIB)
    told: list[tuple[float, str]] = []
    machine = isoviz.probe(disk, progress=lambda p: told.append((p.done / p.steps, p.what)))
    assert [memory.name for memory in machine.memories] == [SYS, DSK, "node0.zcm", GPU, "node0.fbm1"]
    assert len(machine.channels) == 3 + 3 + 2 + 2 * 6 + 4
    for channel in machine.channels:
        function = channel.throughput
        assert isinstance(function, Sampled) and function.ranges is not None and function.date is not None
        assert channel.provenance.startswith("measured 20")
        assert not channel.kind.startswith("GPU") or channel.max_in_flight == 8
    found = machine.measurement
    assert found is not None
    assert found.gpus == (GpuFacts(0, "fake", "9.0", 1 << 30), GpuFacts(1, "fake", "9.0", 1 << 30))
    assert ("cupy", "none: a fake driver") in found.versions
    assert "GPU 0: fake, 1 GiB, compute capability 9.0" in str(found)
    assert {pair.first for pair in found.pairs} | {pair.second for pair in found.pairs} <= {c.name for c in machine.channels}
    assert (f"node0.zcm->{GPU}", f"{GPU}->node0.zcm") in {(pair.first, pair.second) for pair in found.pairs}
    assert [check.transfer for check in found.checks if "fbm0" in check.transfer] == [
        "memory to node0.fbm0, structs to arrays",
        "node0.fbm0 to memory, arrays to structs",
        "pinned memory to node0.fbm0",
        "a matrix transposed in node0.fbm0",
        "node0.dsk to node0.fbm0, structs to arrays",
    ]
    shares = [share for share, _ in told if share]
    assert shares == sorted(shares) and shares[-1] <= 1, "progress never goes back"
    assert list(disk.iterdir()) == [], "nothing is left on the disk"
    assert not [thread.name for thread in threading.enumerate() if "GPU" in thread.name or "staging" in thread.name]

    save(machine, tmp_path / "local.json")
    assert load(tmp_path / "local.json") == machine
    used = preset("local", directory=disk)
    assert used.channels == machine.channels and used.measurement == found

    for source, destination in ((SYS, GPU), (GPU, "node0.fbm1"), ("node0.fbm1", DSK), (DSK, GPU), (GPU, "node0.zcm")):
        made = isoviz.plan(isoviz.Transfer.whole(SPACE, PAIR, source, "<F, x>", destination, "<x, F>"), used)
        with isoviz.Engine(used) as engine:
            report = engine.run(made)
        assert report.verified and not any("emulated" in note for note in report.notes)


found_kvikio = pytest.fixture(installs)


@pytest.mark.full
def test_files_straight_to_a_gpu_are_measured_where_the_system_can(
    driver: FakeDriver, disk: Path, known_host: None, found_kvikio: Callable[..., FakeKvikio]
) -> None:
    module = found_kvikio(driver)
    machine = isoviz.probe(disk, gpus=[0], keep=False)
    straight = [channel for channel in machine.channels if channel.kind.startswith("GPUDirect")]
    assert [(each.kind, each.source, each.destination) for each in straight] == [
        ("GPUDirectRead", DSK, GPU),
        ("GPUDirectWrite", GPU, DSK),
    ]
    for channel in straight:
        assert isinstance(channel.throughput, Sampled) and channel.provenance.startswith("measured 20")
        assert channel.alignment == 4096
    assert module.opened and all(file.closed for file in module.opened)
    made = isoviz.cost(isoviz.Transfer.whole(SPACE, PAIR, DSK, "<F, x>", GPU, "<F, x>"), machine, [straight[0].name])
    with isoviz.Engine(machine) as engine:
        assert engine.run(made).verified


@pytest.mark.full
def test_files_that_do_not_go_straight_stop_no_probe(
    driver: FakeDriver, disk: Path, known_host: None, found_kvikio: Callable[..., FakeKvikio]
) -> None:
    def refuses(number: int) -> int | None:
        raise RuntimeError("cuFile: this file system is not supported")

    found_kvikio(driver).fail = refuses
    told: list[str] = []
    machine = isoviz.probe(disk, gpus=[0], keep=False, progress=lambda step: told.append(step.what))
    kinds = {str(channel.kind) for channel in machine.channels}
    assert {"GPURead", "GPUWrite", "GPUCopy"} <= kinds and not {"GPUDirectRead", "GPUDirectWrite"} & kinds
    assert machine.measurement is not None
    remarks = machine.measurement.remarks
    assert [remark.split(" is left out")[0] for remark in remarks] == [
        f"node0.dsk->{GPU} (GPUDirectRead)",
        f"{GPU}->node0.dsk (GPUDirectWrite)",
    ]
    assert all("this file system is not supported" in remark and remark in told for remark in remarks)
    assert all(remark in str(machine.measurement) for remark in remarks)
    assert machine_from_json(machine_to_json(machine)) == machine


@pytest.mark.parametrize("failures", [1, pytest.param(10**9, marks=pytest.mark.full)])
@pytest.mark.full
def test_a_direct_channel_that_fails_once_is_measured_again(
    driver: FakeDriver,
    disk: Path,
    known_host: None,
    found_kvikio: Callable[..., FakeKvikio],
    failures: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failed: list[int] = []

    def fails(number: int) -> int | None:
        if len(failed) < failures:
            failed.append(number)
            raise RuntimeError("cuFile: input/output error")
        return None

    found_kvikio(driver).fail = fails
    caplog.set_level(logging.DEBUG, "isoviz")
    machine = isoviz.probe(disk, gpus=[0], keep=False)
    kinds = {str(channel.kind) for channel in machine.channels}
    assert machine.measurement is not None
    assert ({"GPUDirectRead", "GPUDirectWrite"} <= kinds) == (failures == 1)
    remarks = machine.measurement.remarks
    assert len(remarks) == (0 if failures == 1 else 2)
    assert all("failed twice" in remark and "input/output error" in remark for remark in remarks)
    records = [record for record in caplog.records if "cannot be measured" in record.message]
    assert len(records) == (1 if failures == 1 else 4) and all(record.exc_info for record in records)


def test_where_kvikio_goes_through_host_memory_files_do_not_go_straight(found_kvikio: Callable[..., FakeKvikio]) -> None:
    found_kvikio(FakeDriver(), compat_mode=True)
    assert why_not_direct() == "kvikio finds no GPUDirect Storage"
    module = found_kvikio(FakeDriver())
    assert why_not_direct() == ""
    del module.defaults.is_compat_mode_preferred  # another version
    assert "does not tell" in why_not_direct()


@pytest.mark.full
def test_gpus_can_be_left_out_and_chosen(driver: FakeDriver, disk: Path, known_host: None) -> None:
    machine = isoviz.probe(disk, gpus=False, keep=False)
    assert [memory.name for memory in machine.memories] == [SYS, DSK]
    assert not driver.calls
    machine = isoviz.probe(disk, gpus=[1], keep=False)
    assert [memory.name for memory in machine.memories] == [SYS, DSK, "node0.zcm", "node0.fbm1"]
    assert machine.memory("node0.fbm1").device == 1
    assert kept_measurements.kept_probe(disk) is None


def test_a_failing_gpu_ends_the_probe_and_nothing_is_kept(driver: FakeDriver, disk: Path, known_host: None) -> None:
    driver.fail = lambda name, count: DeviceError("planted") if (name, count) == ("copy", 30) else None
    with pytest.raises(DeviceError, match="planted"):
        isoviz.probe(disk)
    assert list(disk.iterdir()) == []
    assert kept_measurements.kept_probe(disk) is None


def test_an_interrupted_probe_leaves_nothing(driver: FakeDriver, disk: Path, known_host: None) -> None:
    def interrupt(progress: ProbeProgress) -> None:  # type: ignore[name-defined]
        if "GPURead" in progress.what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        isoviz.probe(disk, progress=interrupt)
    assert kept_measurements.kept_probe(disk) is None


def test_a_gpu_with_little_room(driver: FakeDriver, disk: Path, known_host: None) -> None:
    driver.capacity = 20 << 20
    with pytest.raises(DeviceError, match=r"memory node0\.fbm0: no room for 16 MiB on GPU 0"):
        isoviz.probe(disk)


@pytest.mark.full
def test_without_kernels_the_channels_say_so(
    driver: FakeDriver, disk: Path, known_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpus, "DefaultMaker", lambda: FakeKernels(MissingPartError("NVRTC", "gpu-cuda13")))
    machine = isoviz.probe(disk, gpus=[0], keep=False)
    said = [channel.provenance for channel in machine.channels if channel.kind.startswith("GPU")]
    assert said and all(", without layout kernels: " in each and "NVRTC" in each for each in said)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ([2], DeviceError, "there is no GPU 2; this computer has GPUs 0 to 1"),
        ("0", InputError, "expected true, false or numbers of GPUs, got '0'"),
        (3, InputError, "expected true, false or numbers of GPUs, got 3"),
        ([True], InputError, "expected numbers of GPUs from 0, got True"),
        ([-1], InputError, "expected numbers of GPUs from 0, got -1"),
    ],
)
@pytest.mark.few(2)
def test_what_is_no_choice_of_gpus(driver: FakeDriver, disk: Path, asked: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        isoviz.probe(disk, gpus=asked)  # type: ignore[arg-type]


def test_ranks_are_measured_without_gpus(disk: Path) -> None:
    with pytest.raises(InputError, match="ranks are measured without GPUs"):
        isoviz.probe(disk, ranks=2, gpus=True)


def test_a_choice_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "loaded", lambda: Loaded(None, "CuPy finds no GPU here"))
    assert gpus_here(None, gpus.Gpus()) == gpus_here(False, gpus.Gpus()) == gpus_here([], gpus.Gpus()) == ()
    for asked in (True, [0]):
        with pytest.raises(DeviceError, match="probe, gpus: CuPy finds no GPU here"):
            gpus_here(asked, gpus.Gpus())


@pytest.mark.full
def test_what_is_kept_belongs_to_the_gpus_of_the_computer(
    driver: FakeDriver, disk: Path, known_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_measurements, "nvidia_gpus", lambda: ("Maker M1",))
    kept = isoviz.probe(disk, gpus=[0])
    assert json.dumps(isoviz.machines.machine_to_json(kept)).count('"fake"') == 1  # type: ignore[attr-defined]
    assert preset("local", directory=disk).memory(GPU).kind is MemoryKind.FBM
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert kept_measurements.kept_probe(disk) is None
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(kept_measurements, "nvidia_gpus", lambda: ("Maker M2",))
    assert kept_measurements.kept_probe(disk) is None


@pytest.mark.full
def test_a_brief_probe_later_keeps_the_gpus(driver: FakeDriver, disk: Path, known_host: None) -> None:
    probed = isoviz.probe(disk, gpus=[0])
    later = preset("local", directory=disk, measure="fresh")
    assert [memory.name for memory in later.memories] == [SYS, DSK, "node0.zcm", GPU]
    assert later.channel(f"{GPU}->{GPU}") == probed.channel(f"{GPU}->{GPU}")
    assert "briefly" in later.provenance and "briefly" not in probed.provenance
    assert preset("local", directory=disk) == later


@pytest.mark.full
def test_ranks_and_conversions_use_the_host_only(driver: FakeDriver, disk: Path, known_host: None) -> None:
    from isoviz.conversion.execute import disk_machine

    isoviz.probe(disk, gpus=[0])
    ranks = preset("ranks", ranks=2, directory=disk)
    assert {memory.kind.name for memory in ranks.memories} == {"SYS", "REG", "DSK"}
    machine = disk_machine(disk, 1 << 26)
    assert {memory.kind.name for memory in machine.memories} == {"SYS", "DSK"}
    assert machine.provenance.startswith("measured 2026-01-01 on here")


def test_on_the_command_line(
    driver: FakeDriver,
    disk: Path,
    known_host: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from isoviz.cli import main
    from isoviz.measure.gpus import gpu_parts as looking

    out = tmp_path / "local.json"
    assert main(["machine", "--measure", "--no-gpus", "--disk", str(disk), "-o", str(out)]) == 0
    assert [memory.name for memory in load(out).memories] == [SYS, DSK] and not driver.calls
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(gpus, "loaded", lambda: Loaded(None, "CuPy is not installed here"))
    monkeypatch.setattr(looking, "nvidia_gpus", lambda: ("Maker M1",))
    assert main(["machine", "--measure", "--disk", str(disk), "-o", str(out)]) == 0
    assert capsys.readouterr().err == "no GPU was measured: CuPy is not installed here\n"
    assert main(["machine", "--no-gpus"]) == 2
    assert "--thorough, --disk and --no-gpus belong to --measure" in capsys.readouterr().err
