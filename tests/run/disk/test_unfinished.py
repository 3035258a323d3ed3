"""New files until they have their name: it is never taken from another file unasked; what a killed process left is removed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import environment, isoviz, names_in, no_leaked_files

from isoviz.backends.disk.file_access import NewFile
from isoviz.errors import RunError

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]


def written(path: Path, replace: bool = True) -> NewFile:
    file = NewFile(path, 5, replace=replace)
    file.write_at(0, np.frombuffer(b"after", "u1"))
    return file


def refused(number: int) -> Any:
    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


def restrict(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take from the file system what it need not have."""
    if way == "nameless":
        return
    monkeypatch.delattr(os, "O_TMPFILE")
    if way in ("no links", "neither"):
        monkeypatch.setattr(os, "link", refused(errno.EPERM))
    if way == "neither":
        monkeypatch.setattr("isoviz.backends.disk.unfinished._rename", refused(errno.EINVAL))


WAYS = ["nameless", "links", "no links", "neither"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("replace", [True, False])
def test_a_name_that_is_free(way: str, replace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict(way, monkeypatch)
    file = written(tmp_path / "a", replace)
    file.publish()
    file.close()
    assert (tmp_path / "a").read_bytes() == b"after"
    assert names_in(tmp_path) == ["a"]


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_appears_at_the_last_moment_is_left_alone(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It appears just before the call that gives the new file its name, after anything that could be looked at."""
    restrict(way, monkeypatch)
    path = tmp_path / "a"

    def late(real: Any) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            path.write_text("before")
            return real(*arguments, **more)

        return call

    for name in ("link", "rename", "replace"):
        monkeypatch.setattr(os, name, late(getattr(os, name)))
    file = written(path, replace=False)
    with pytest.raises(RunError, match="in the meantime"):
        file.publish()
    file.close()
    assert path.read_text() == "before"
    assert names_in(tmp_path) == ["a"]


KILLED = """
import os, pathlib, signal
def killed(*_): os.kill(os.getpid(), signal.SIGKILL)
pathlib.Path.replace = killed
"""
HELD = """
import os, sys
import numpy as np
from isoviz.backends.disk.file_access import NewFile
del os.O_TMPFILE
file = NewFile("held", 5)
print("ready", flush=True)
sys.stdin.readline()
file.write_at(0, np.frombuffer(b"after", "u1"))
file.publish()
file.close()
"""
CONVERT = ("convert", "in.npy", "out.npy", "--from", "<F, x, y>", "--to", "<F, y, x>", "--overwrite")


@pytest.mark.full
def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    array = np.arange(35, dtype="f4").reshape(5, 7)
    np.save(tmp_path / "in.npy", array)
    (tmp_path / "out.npy").write_text("before")
    for name in (".isoviz-00000000-0123456789abcdef.part", ".isoviz.part", "isoviz.part", ".a.0123abcd.part"):
        (tmp_path / name).write_text("somebody else's")
    others = names_in(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HELD],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "ready\n"
        assert len(names_in(tmp_path)) == len(others) + 1
        assert isoviz(*CONVERT, cwd=tmp_path, code=KILLED).returncode == -signal.SIGKILL
        assert (tmp_path / "out.npy").read_text() == "before"
        assert len(names_in(tmp_path)) == len(others) + 2
        done = isoviz(*CONVERT, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(names_in(tmp_path)) == len(others) + 1  # what the other process is writing stays
        holder.communicate("go on\n", timeout=250)
    assert names_in(tmp_path) == sorted([*others, "held"])
    assert (tmp_path / "held").read_bytes() == b"after"
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)


def test_what_this_process_is_writing_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    files = [written(tmp_path / name) for name in "abc"]
    for file in files:
        file.publish()
        file.close()
    assert names_in(tmp_path) == ["a", "b", "c"]


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isoviz(*CONVERT, cwd=prepared(tmp_path), code=KILLED).returncode == -signal.SIGKILL
    before = names_in(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("fcntl.flock", refused(errno.ENOLCK))
        file = written(tmp_path / "a")
        file.publish()
        file.close()
        assert names_in(tmp_path) == sorted([*before, "a"])
    written(tmp_path / "b").close()
    assert names_in(tmp_path) == ["a", "in.npy", "out.npy"]


def prepared(folder: Path) -> Path:
    np.save(folder / "in.npy", np.zeros((5, 7), "f4"))
    (folder / "out.npy").write_text("before")
    return folder


def test_long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    name = "ü" * 125  # 250 bytes, of the 255 that a name may have
    file = written(tmp_path / name)
    file.publish()
    file.close()
    assert names_in(tmp_path) == [name]
