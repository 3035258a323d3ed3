"""Room for results: every end counts on the file system that it is on, and what does not fit is named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from run_cases import environment, names_in, no_leaked_files

from isoviz import FieldSpace, IndexSpace, Layout, Machine
from isoviz.conversion.convert import convert
from isoviz.errors import RunError, TransferError
from isoviz.machines import Memory, preset
from isoviz.measure import assumed_host
from isoviz.measure.run_file import run_file
from isoviz.planner import Instance, Transfer, plan

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]


def small_disk(nbytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The preset `local` describes a disk of so many bytes, whatever is really there."""
    monkeypatch.setattr(assumed_host, "disk_space", lambda _: nbytes)


@pytest.mark.parametrize("passes", [1, 2])
def test_the_disk_of_the_result_need_not_hold_the_source(passes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_disk(400_000, monkeypatch)
    array = np.arange(250 * 300, dtype="f4").reshape(250, 300)
    np.save(tmp_path / "in.npy", array)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>", memory_limit="64KiB", passes=passes, verify=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)


def test_a_result_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.backends.disk.file_access.free_bytes", lambda _: 100 << 10)
    np.save(tmp_path / "in.npy", np.zeros((250, 300), "f4"))
    with pytest.raises(RunError, match=r"out\.npy: needs 297 KiB, the disk has 100 KiB free"):
        convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>", passes=1)
    assert names_in(tmp_path) == ["in.npy"]


ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=4m none small
"$@" convert in.npy small/out.npy --to '<F, y, x>' --verify --quiet
tail -c 2600000 small/out.npy | cmp - expected.raw
"$@" convert large.npy small/large.npy --to '<F, y, x>' --quiet || echo "status $?"
ls small
"""


@pytest.mark.full
def test_a_small_disk_beside_a_large_one(tmp_path: Path) -> None:
    """The real thing: a file system in memory that only this test sees."""
    (tmp_path / "small").mkdir()
    try:
        mounting = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(tmp_path / "small")]
        subprocess.run(mounting, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    array = np.arange(650_000, dtype="f4").reshape(650, 1000)  # two of them are larger than the small disk
    np.save(tmp_path / "in.npy", array)
    (tmp_path / "expected.raw").write_bytes(array.T.tobytes())
    np.save(tmp_path / "large.npy", np.zeros((1024, 2048), "f4"))
    code = "import sys; from isoviz.cli import main; sys.exit(main())"
    done = subprocess.run(
        ["unshare", "-rm", str(shutil.which("sh")), "-c", ON_A_SMALL_DISK, "sh", sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "status 1\nout.npy\n", done.stderr
    assert done.stderr == "isoviz: error: " + done.stderr.removeprefix("isoviz: error: ").splitlines()[0] + "\n"
    assert "small/large.npy: needs 8 MiB, the disk has 1.5" in done.stderr


def test_transfers_between_files_count_where_the_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_disk(400_000, monkeypatch)
    array = np.arange(75_000, dtype="f4")
    np.save(tmp_path / "in.npy", array)
    transfer = """
    space = {x = 75000}
    fields = {value = "float32"}
    source = {memory = "node0.dsk", layout = "<F, x>", path = "in.npy"}
    destination = {memory = "node0.dsk", layout = "<F, x>", path = "out.npy"}
    machine = {preset = "local", measure = "assumed"}
    """
    (tmp_path / "transfer.toml").write_text(transfer)
    assert run_file(tmp_path / "transfer.toml", trial=False).verified
    assert np.load(tmp_path / "out.npy").tobytes() == array.tobytes()


def test_data_without_a_file_count_in_the_memory() -> None:
    machine = preset("local", measure="assumed")
    memories = [Memory(each.name, each.kind, capacity=1000) if each.name == "node0.dsk" else each for each in machine.memories]
    small = Machine("small", memories, machine.channels)
    space, fields = IndexSpace(x=200), FieldSpace(a="f4")
    here, there = (Instance("node0.dsk", space, fields, Layout("<F, x>"), path) for path in (None, "out.npy"))
    assert plan(Transfer(here, there), small).bytes == 800
    larger = Instance("node0.dsk", IndexSpace(x=251), fields, Layout("<F, x>"))
    with pytest.raises(TransferError, match=r"the source needs 1,004 B, node0\.dsk has 1,000 B"):
        plan(Transfer(larger, Instance("node0.dsk", larger.space, fields, larger.layout, "out.npy")), small)
    soa = Instance("node0.dsk", space, FieldSpace(a="f2", b="f2"), Layout("<x, F>"))
    with pytest.raises(TransferError, match=r"both ends need 1\.56 KiB, node0\.dsk has 1,000 B"):
        plan(Transfer(Instance("node0.dsk", space, soa.fields, Layout("<F, x>")), soa), small)
