"""Disks keep files in the directory that they are bound to, from the machine's description to the run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import assumed_machine, names_in, no_leaked_files

from isoviz import Engine, FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.file_access import NewFile
from isoviz.cli import main
from isoviz.errors import FileError, TransferError
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, preset, save
from isoviz.measure.run_file import run_file
from isoviz.planner import load_transfer

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

SPACE, FIELDS = IndexSpace(x=1000), FieldSpace(a="f4", b="f4")


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[Path]:
    """The directories in which files were written, and a working directory that should not be one of them."""
    found: set[Path] = set()
    create = NewFile._create

    def noted(file: NewFile) -> Any:
        found.add(file.directory)
        return create(file)

    monkeypatch.setattr(NewFile, "_create", noted)
    for name in ("one", "two", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return found


def with_disks(**directories: str | Path | None) -> Machine:
    """This computer with several disks."""
    memories = [Memory("node0.sys", MemoryKind.SYS)]
    channels = [Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(1e10))]
    for name, device in directories.items():
        disk = f"node0.{name}"
        memories.append(Memory(disk, MemoryKind.DSK, device=None if device is None else str(device)))
        channels += [
            Channel("", ChannelKind.DISK_READ, disk, "node0.sys", Constant(1e9)),
            Channel("", ChannelKind.DISK_WRITE, "node0.sys", disk, Constant(1e9)),
        ]
    return Machine("disks", memories, channels)


@pytest.mark.full
def test_every_disk_has_a_directory_of_its_own(used: set[Path], tmp_path: Path) -> None:
    machine = with_disks(dsk=tmp_path / "one", dsk1=tmp_path / "two")
    for ends, places in (
        (("node0.dsk", "node0.dsk1"), {"one", "two"}),
        (("node0.dsk1", "node0.sys"), {"two"}),
        (("node0.sys", "node0.dsk"), {"one"}),
    ):
        for trial in (False, True):
            used.clear()
            chosen = plan(Transfer.whole(SPACE, FIELDS, ends[0], "<F, x>", ends[1], "<x, F>"), machine)
            assert Engine(machine).run(chosen, trial=trial).verified
            assert used == {tmp_path / place for place in places}
    assert all(names_in(tmp_path / name) == [] for name in ("one", "two", "elsewhere"))


def test_what_a_caller_says_goes_before_what_a_machine_says(used: set[Path], tmp_path: Path) -> None:
    chosen = Transfer.whole(SPACE, FIELDS, "node0.dsk", "<F, x>", "node0.sys", "<x, F>")
    machine = with_disks(dsk=tmp_path / "one")
    Engine(machine, ThisComputer(tmp_path / "two")).run(plan(chosen, machine))
    machine = with_disks(dsk=None)
    Engine(machine).run(plan(chosen, machine))
    assert used == {tmp_path / "two", tmp_path / "elsewhere"}


TRANSFER = """
space = {x = 1000}
fields = {a = "float32", b = "float32"}
source = {memory = "node0.dsk", layout = "<F, x>"SOURCE}
destination = {memory = "node0.dsk", layout = "<x, F>"DESTINATION}
machine = MACHINE
"""


def described(folder: Path, machine: str, source: str = "", destination: str = "") -> Path:
    path, text = folder / "transfer.toml", TRANSFER.replace("MACHINE", machine)
    for end, name in (("SOURCE", source), ("DESTINATION", destination)):
        text = text.replace(end, f', path = "{name}"' if name else "")
    path.write_text(text)
    return path


def test_the_directory_of_a_transfer_file_is_where_its_data_are(used: set[Path], tmp_path: Path) -> None:
    """Named relatively or not at all; with a directory, with a machine file that says it, and without either."""
    save(preset("local", measure="assumed", directory=tmp_path / "two"), tmp_path / "machine.json")
    save(with_disks(dsk=None), tmp_path / "bare.json")
    data = np.zeros(1000, [("a", "f4"), ("b", "f4")])
    for k, (machine, place) in enumerate(
        (
            ('{preset = "local", measure = "assumed", directory = "one"}', tmp_path / "one"),
            ('{file = "machine.json"}', tmp_path / "two"),
            ('{file = "bare.json"}', tmp_path),
            ('{preset = "local", measure = "assumed"}', tmp_path),
        )
    ):
        used.clear()
        run_file(described(tmp_path, machine), trial=False)
        assert used == {place if place != tmp_path else tmp_path / "elsewhere"}  # of data without a name
        data["a"] = k
        np.save(place / "in.npy", data)
        assert run_file(described(tmp_path, machine, "in.npy", "out.npy"), trial=False, overwrite=True).verified
        assert (np.load(place / "out.npy")[0] == k).all()
        there = described(tmp_path, machine, str(place / "in.npy"), str(tmp_path / "absolute.npy"))
        assert run_file(there, trial=False, overwrite=True).verified


def test_a_file_that_is_not_there_says_where_it_was_looked_for(
    used: set[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, nowhere = '{preset = "local", measure = "assumed", directory = "one"}', '{preset = "local"}'
    for machine, name, path, origin in (
        (here, "in.npy", f"{tmp_path}/one/in.npy", f"; the path is relative to the directory of node0.dsk, {tmp_path}/one"),
        (here, f"{tmp_path}/in.npy", f"{tmp_path}/in.npy", ""),
        (nowhere, "in.npy", f"{tmp_path}/in.npy", f"; the path is relative to the transfer file, {tmp_path}"),
    ):
        assert main(["run", str(described(tmp_path, machine, name))]) == 2
        assert capsys.readouterr().err == f"isoviz: error: {path}: no such file{origin}\n"


@pytest.mark.parametrize("name", ["out/", "/"])
def test_a_path_in_a_transfer_names_a_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match=f"destination.path: expected the name of a file, got '{name}'"):
        load_transfer(described(tmp_path, '{preset = "local"}', destination=name))


def test_a_directory_of_another_computer_is_no_reason_to_write_elsewhere(used: set[Path], tmp_path: Path) -> None:
    machine = with_disks(dsk=tmp_path / "not here")
    chosen = plan(Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x>", "node0.dsk", "<x, F>"), machine)
    with pytest.raises(FileError, match=r"node0\.dsk: is bound to the directory .*not here, which is not on this computer"):
        Engine(machine).run(chosen)
    assert not used
    assert Engine(machine).run(chosen, destination=tmp_path / "out.npy").verified  # a path of one's own is one's own


def test_a_directory_that_cannot_be_written_to_is_said(used: set[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: Path(path) != tmp_path / "one" and access(path, mode, **more))
    machine = with_disks(dsk=tmp_path / "one")
    report = Engine(machine).run(plan(Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x>", "node0.dsk", "<x, F>"), machine))
    assert any(f"{tmp_path}/one cannot be written to" in note for note in report.notes)
    assert used and tmp_path / "one" not in used


def test_a_copy_of_a_file_uses_the_disk_it_is_on(tmp_path: Path) -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system here")
    machine = with_disks(dsk=shm, dsk1=tmp_path)
    np.save(tmp_path / "in.npy", np.zeros(100, "f4"))
    with Engine(machine) as engine:
        event = engine.copy(tmp_path / "in.npy", "<F, x>", np.empty(100, "f4"), "<F, x>")
        event.wait()
    assert event.plan.transfer.source.memory == "node0.dsk1"


def test_plans_for_a_machine_run_on_it_elsewhere(used: set[Path], tmp_path: Path) -> None:
    here = with_disks(dsk=tmp_path / "one")
    there = replace(here, memories=tuple(replace(each, device=None) for each in here.memories))
    chosen = plan(Transfer.whole(SPACE, FIELDS, "node0.dsk", "<F, x>", "node0.sys", "<x, F>"), there)
    assert Engine(here).run(chosen).verified
    assert used == {tmp_path / "one"}
    assert assumed_machine().memory("node0.dsk").device == str(tmp_path / "elsewhere")
