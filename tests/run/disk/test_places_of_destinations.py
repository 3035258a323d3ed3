"""Where `isoviz run` writes: a new file in the folder of the transfer file, unless `--overwrite` lets that file choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isoviz
from isoviz.backends.disk.disk_memory import FileTarget
from isoviz.backends.disk.file_access import NewFile
from isoviz.cli import main
from isoviz.errors import FileError, RunError
from isoviz.planner import load_transfer

TRANSFER = """
space = {{x = 100}}
fields = {{v = "u1"}}
source = {{memory = "node0.dsk", layout = "<F, x>", path = "payload.raw"}}
destination = {{memory = "node0.dsk", layout = "<F, x>", path = "{path}"}}
machine = {{preset = "local", measure = "assumed"{more}}}
{box}
"""
PAYLOAD = np.arange(100, dtype="u1").tobytes()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a user who was handed a folder with a transfer file, and has links and files of their own."""
    (tmp_path / ".bashrc").write_text("export PATH\n")
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "handed"
    (folder / "sub").mkdir(parents=True)
    (folder / "payload.raw").write_bytes(PAYLOAD)
    (folder / "out").symlink_to(tmp_path / "elsewhere")
    (folder / "link.raw").symlink_to(tmp_path / ".profile")
    (folder / "near.raw").symlink_to("sub/target.raw")
    return tmp_path


def written(home: Path, path: str, more: str = "", box: str = "") -> str:
    file = home / "handed" / "job.toml"
    file.write_text(TRANSFER.format(path=path, more=more, box=box))
    return str(file)


OUTSIDE = {
    "parent": "../new.raw",
    "absolute": "{home}/new.raw",
    "folder of a link": "out/new.raw",
    "link": "link.raw",
    "deep": "sub/../../new.raw",
    "exists": "../.bashrc",
    "directory": "new.raw",
}


@pytest.mark.parametrize("how", OUTSIDE)
def test_a_new_file_elsewhere(how: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = OUTSIDE[how].format(home=home)
    more = f', directory = "{home}/elsewhere"' if how == "directory" else ""
    file = written(home, path, more)
    if how == "directory":
        (home / "elsewhere" / "payload.raw").write_bytes(PAYLOAD)
    before = sorted(home.rglob("*"))
    shell = (home / ".bashrc").read_text()
    assert main(["run", file, "--no-trial"]) == 2
    error = capsys.readouterr().err
    assert f"is not in the folder of the transfer file, {home}/handed; expected a destination there, or --overwrite" in error
    assert sorted(home.rglob("*")) == before and (home / ".bashrc").read_text() == shell and error.count("\n") == 1
    assert main(["run", file, "--no-trial", "--overwrite"]) == 0
    new = set(home.rglob("*")) - set(before) or {home / ".bashrc"}
    assert [path.read_bytes() for path in new] == [PAYLOAD]


@pytest.mark.parametrize("path", ["new.raw", "sub/new.raw", "sub/../new.raw", "{home}/handed/new.raw", "near.raw"])
def test_a_new_file_in_the_folder(path: str, home: Path) -> None:
    path = path.format(home=home)
    where = home / "handed" / path
    if path == "near.raw":  # a link that exists, though its file does not
        assert main(["run", written(home, path), "--no-trial"]) == 2
        assert main(["run", written(home, path), "--no-trial", "--overwrite"]) == 0
        assert where.is_symlink()
    else:
        assert main(["run", written(home, path), "--no-trial"]) == 0
    assert where.read_bytes() == PAYLOAD


def test_by_any_name_of_the_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "name").symlink_to("handed")
    written(home, "new.raw")
    for place, name in ((home, "name/job.toml"), (home / "handed", "job.toml"), (home / "handed" / "sub", "../job.toml")):
        monkeypatch.chdir(place)
        assert main(["run", name, "--no-trial"]) == 0
        (home / "handed" / "new.raw").unlink()


@pytest.mark.parametrize(("path", "box"), [("old.raw", ""), ("near.raw", ""), ("old.raw", "box = {shape = {x = 10}}")])
def test_a_file_that_exists(path: str, box: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old.raw", "sub/target.raw"):
        (home / "handed" / name).write_bytes(bytes(100))
    file, target = written(home, path, box=box), home / "handed" / path
    before = target.read_bytes()
    assert main(["run", file, "--no-trial"]) == 2
    assert "exists already; choose another name, or overwrite it: --overwrite" in capsys.readouterr().err
    assert target.read_bytes() == before
    if not box:
        assert main(["run", file, "--no-trial", "--overwrite"]) == 0
        assert target.read_bytes() == PAYLOAD
        return
    assert main(["run", file, "--no-trial", "--overwrite"]) == 0
    assert target.read_bytes() == PAYLOAD[:10] + bytes(90)


def test_a_file_that_appears_meanwhile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.backends.disk.file_access import NewFile
    from isoviz.measure.run_file import run_file

    flush, new = NewFile.flush, home / "handed" / "new.raw"

    def somebody(file: NewFile) -> None:
        new.write_text("somebody's")
        flush(file)

    monkeypatch.setattr(NewFile, "flush", somebody)
    with pytest.raises(RunError, match="that file was kept"):
        run_file(written(home, "new.raw"), trial=False)
    assert new.read_text() == "somebody's"


def test_what_the_caller_names_is_the_callers(home: Path) -> None:
    """In Python, a path is an argument: it is replaced."""
    file = load_transfer(written(home, "new.raw"))
    plan = isoviz.plan(file.transfer, file.machine())
    for _ in range(2):
        isoviz.run(plan, str(home / "handed" / "payload.raw"), str(home / "elsewhere" / "mine.raw"))
    assert (home / "elsewhere" / "mine.raw").read_bytes() == PAYLOAD


def test_a_link_is_not_taken_for_a_folder_of_its_name(home: Path) -> None:
    """`/handed-2` begins as `/handed` does."""
    (home / "handed-2").mkdir()
    with pytest.raises(FileError, match="is not in the folder"):
        FileTarget(home / "handed" / ".." / "handed-2" / "new.raw", replace=False, below=home / "handed").check()


@pytest.mark.parametrize("swapped", ["sub", "handed"])
def test_a_folder_that_becomes_a_link_before_the_file_is_made(swapped: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked again as what was opened."""
    job = written(home, "sub/new.raw")
    check = FileTarget.check
    folder = home / "handed" if swapped == "handed" else home / "handed" / "sub"
    calls = 0

    def swap(self: FileTarget) -> None:
        nonlocal calls
        check(self)
        calls += 1
        if calls == 2:
            (home / "elsewhere" / "sub").mkdir()
            folder.rename(home / "moved")
            folder.symlink_to(home / "elsewhere")

    monkeypatch.setattr(FileTarget, "check", swap)
    assert main(["run", job]) != 0
    assert calls == 2
    assert not list((home / "elsewhere").rglob("*.raw"))


def test_a_folder_that_becomes_a_link_while_the_file_is_written(home: Path) -> None:
    """The file gets its name in the folder that was checked."""
    folder = home / "handed" / "sub"
    for replaces in (False, True):
        file = NewFile(folder / "new.raw", 100, replace=replaces)
        file.write_at(0, np.frombuffer(PAYLOAD, "u1"))
        folder.rename(home / "moved")
        folder.symlink_to(home / "elsewhere")
        file.publish()
        file.close()
        assert (home / "moved" / "new.raw").read_bytes() == PAYLOAD
        assert not list((home / "elsewhere").iterdir())
        folder.unlink()
        (home / "moved").rename(folder)
