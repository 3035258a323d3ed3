"""The probe on this computer: structure, cleanliness and errors; never how fast anything is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import isoviz
from isoviz.errors import FileError, InputError, RunError
from isoviz.launch.probe import ProbeProgress, probe
from isoviz.machines import Machine, Sampled, load, machine_from_json, machine_to_json, preset
from isoviz.measure import computer_probe, kept_measurements, tuning
from isoviz.measure.channel_timer import ChannelTimer
from isoviz.measure.jobs import Job
from isoviz.measure.ways import Effort

TINY = Effort(repeats=1, samples=7, seconds=0.002, limit=-1.0)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A probe that takes a second; the user's cache is a folder of the test's."""
    monkeypatch.setattr(computer_probe, "QUICK", TINY)
    monkeypatch.setattr(tuning, "PROBE_ROOM", 32 * tuning.MIB)
    monkeypatch.setattr(computer_probe, "working_set", lambda: 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    disk = tmp_path / "disk"
    disk.mkdir()
    return disk


def test_a_probe_of_this_computer(tiny: Path, no_leaked_threads: None) -> None:
    told: list[ProbeProgress] = []
    machine = isoviz.probe(tiny, progress=told.append)
    assert [memory.name for memory in machine.memories] == ["node0.sys", "node0.dsk"]
    assert [str(channel.kind) for channel in machine.channels] == ["Memcpy", "DiskRead", "DiskWrite"]
    for channel in machine.channels:
        function = channel.throughput
        assert isinstance(function, Sampled)
        assert function.ranges is not None and function.spread is not None and function.date is not None
        for k, (low, high) in enumerate(function.ranges):
            middle = (function.measured or function.samples)[k][1]
            assert low <= middle * 1.001 and middle <= high * 1.001
        assert channel.provenance.startswith("measured 20")
        assert 0 <= channel.setup < 60 and channel.max_in_flight in (1, 2, 4, 8)
    assert [memory.device for memory in machine.memories] == [None, str(tiny)]
    found = machine.measurement
    assert found is not None
    assert found.directories == (("node0.dsk", str(tiny)),)
    assert (found.pairs[0].first, found.pairs[0].second) == ("node0.sys->node0.sys",) * 2
    assert len(found.pairs) == 4 and len(found.checks) == 12
    assert {name for name, _ in found.versions} >= {"isoviz", "python", "numpy"}
    assert list(tiny.iterdir()) == [], "nothing is left on the disk"
    assert told[0].done == 0 and told[-1].done <= told[-1].steps
    assert any("DiskRead" in each.what for each in told)
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine

    used = preset("local", directory=tiny)
    assert used.channels == machine.channels and used.resources == machine.resources
    assert used.provenance.endswith("by a probe")


@pytest.mark.full
def test_long_runs_are_faster_than_short_ones(tiny: Path) -> None:
    """The one thing about speed that holds everywhere: a disk asked for 64 bytes at a time is slower than for 16 MiB."""
    machine = probe(tiny, keep=False)
    for channel in machine.channels:
        if "dsk" in channel.name:
            assert channel.rate(2**24) > channel.rate(64), channel.name
    assert kept_measurements.kept_probe(tiny) is None, "not kept"


def test_an_interrupted_probe_leaves_nothing(tiny: Path, no_leaked_threads: None) -> None:
    def interrupt(progress: ProbeProgress) -> None:
        if "DiskWrite" in progress.what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        probe(tiny, progress=interrupt)
    assert list(tiny.iterdir()) == []
    assert kept_measurements.kept_probe(tiny) is None


@pytest.mark.full
def test_ctrl_c_on_the_command_line(tmp_path: Path) -> None:
    """While bytes move: no machine file, no data file, and the exit status of an interrupted command."""
    code = f"""
import os, signal, sys, threading
from isoviz.measure import channel_timer as workbench, computer_probe, tuning
from isoviz.measure.ways import Effort
from isoviz.cli import main
computer_probe.QUICK, tuning.PROBE_ROOM = {TINY!r}, 32 * tuning.MIB
computer_probe.working_set = lambda: 0
moves = workbench.ChannelTimer.seconds
def seconds(self, machine, job):
    if job.channel.startswith("node0.sys->node0.dsk"):
        os.kill(os.getpid(), signal.SIGINT)
    return moves(self, machine, job)
workbench.ChannelTimer.seconds = seconds
raise SystemExit(main(["machine", "--measure", "--disk", {str(tmp_path)!r}, "-o", {str(tmp_path / "local.json")!r}]))
"""
    # Compiling the kernels for a new cache would take a minute.
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "ISOVIZ_KERNELS": "numpy"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 130, done.stderr
    assert done.stderr == "isoviz: error: interrupted; nothing was left behind\n"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "cache"] == []
    assert list((tmp_path / "cache").rglob("probe-*")) == []


@pytest.mark.parametrize(
    ("disks", "error", "words"),
    [
        ("missing", FileError, "missing: no such directory"),
        ("file", FileError, "file: is no directory"),
        (5, InputError, "disks: expected directories, got 5"),
        ([5], InputError, "disks: expected a directory, got 5"),
        ("a\0b", FileError, "embedded null"),
    ],
)
def test_what_is_no_disk(disks: object, error: type[Exception], words: str, tiny: Path) -> None:
    (tiny / "file").write_text("")
    given = tiny / disks if isinstance(disks, str) else disks
    with pytest.raises(error, match=words):
        probe(given)  # type: ignore[arg-type]


def test_two_directories_of_one_file_system(tiny: Path) -> None:
    (tiny / "inner").mkdir()
    with pytest.raises(InputError, match="inner is on the same file system as one before"):
        probe([tiny, tiny / "inner"])


def test_a_directory_that_cannot_be_written_to(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.backends.disk import file_access as disk

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(disk.os, "open", refuse)
    with pytest.raises(FileError, match="permission denied"):
        probe(tiny)


def test_a_full_disk(tiny: Path, monkeypatch: pytest.MonkeyPatch, no_leaked_threads: None) -> None:
    from isoviz.backends.disk import file_access as disk

    monkeypatch.setattr(disk.os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
    with pytest.raises(RunError, match="needs 32 MiB, the disk has 4 KiB free"):
        probe(tiny)
    assert list(tiny.iterdir()) == []


@pytest.mark.full
def test_buffered_file_systems_are_measured_and_said_so(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.backends.disk import file_access as disk

    monkeypatch.setattr(disk, "_direct", lambda *_: None)
    machine = probe(tiny, keep=False)
    for channel in machine.channels[1:]:
        assert channel.alignment == 1
        assert "buffered: this file system takes no unbuffered access" in channel.provenance


def test_two_jobs_at_once(tiny: Path, no_leaked_threads: None) -> None:
    from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind

    guess = LatencyBandwidth(1e-5, 1e9)
    machine = Machine(
        "m",
        (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK)),
        (
            Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", guess),
            Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", guess),
        ),
    )
    names = [channel.name for channel in machine.channels]
    with ChannelTimer({"node0.dsk": tiny}, 16 * tuning.MIB) as timer:
        rates = timer.together(machine, [Job(name, "stream", tuning.MIB, 8 * tuning.MIB) for name in names])
        with pytest.raises(RunError, match="expected at most"):
            timer.seconds(machine, Job(names[0], "stream", tuning.MIB, 32 * tuning.MIB))
    assert set(rates) == set(names) and all(rate > 0 for rate in rates.values())


@pytest.mark.full
def test_on_the_command_line(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from isoviz.cli import main

    out, figure = tmp_path / "local.json", tmp_path / "local.html"
    assert main(["machine", "--measure", "--disk", str(tiny), "-o", str(out), "--figure", str(figure)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{out}\n"
    machine = load(out)
    assert machine.measurement is not None
    page = figure.read_text(encoding="utf-8")
    assert page.count('class="plot" data-plot') == 1 and "file write" in page and machine.measurement.computer.host in page
    assert main(["machine", str(out)]) == 0
    shown = capsys.readouterr().out
    assert machine.measurement.checks and all(each.transfer in shown for each in machine.measurement.checks)
    assert threading.active_count() < 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--thorough"], "--thorough, --disk and --no-gpus belong to --measure"),
        (["--measure", "--preset", "sapling"], "measures this computer"),
        (["x.json", "--measure"], "takes no preset"),
        (["--measure", "-o", "a.html", "--figure", "a.html"], "named twice"),
    ],
)
def test_options_that_do_not_go_together(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from isoviz.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["machine", *arguments]) == 2
    assert words in capsys.readouterr().err
