"""What is no regular file is refused at once, wherever a file is named; a pipe without a name is read."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.errors import FileError
from isoviz.machines import Machine, load, machine_to_json, preset, save
from isoviz.planner import load_transfer
from isoviz.regular_files import final_path, open_for_reading, read_some
from isoviz.runtime.ledger.ledger import Ledger
from isoviz.runtime.recording import Recording

ROOT = Path(__file__).parents[3]
TRANSFER = """
space = {x = 100}
fields = {a = "u1"}
source = {memory = "node0.dsk", layout = "<F, x>", path = "in.npy"}
destination = {memory = "node0.sys", layout = "<F, x>"}
machine = {preset = "local", measure = "assumed"}
"""


@pytest.fixture(params=["pipe", "socket", "directory", "device"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """Something that is no file, and what it is."""
    path, kind = tmp_path / "thing", str(request.param)
    with socket.socket(socket.AF_UNIX) as bound:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "directory":
            path.mkdir()
        elif kind == "device":
            path = Path("/dev/zero")
        else:
            monkeypatch.chdir(tmp_path)
            bound.bind("thing")  # paths of sockets are short
        yield path, kind


def test_what_is_no_file_is_refused_at_once(no_file: tuple[Path, str]) -> None:
    path, kind = no_file
    for read in (
        open_for_reading,
        lambda path: read_some(path, 10),
        load_transfer,
        load,
        Recording.load,
        lambda path: Ledger(path).read(),
    ):
        with pytest.raises(FileError, match=f"is a {kind}"):
            read(path)  # type: ignore[operator]
    assert Ledger(path).recent() == ()


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "P"),
        ("run", "P"),
        ("show", "P"),
        ("simulate", "P"),
        ("machine", "P"),
        ("convert", "P.npy", "out.npy", "--to", "<F, x>"),
    ],
)
@pytest.mark.few(1)
def test_a_pipe_that_nobody_writes_to_holds_no_command_up(arguments: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("P", "P.npy"):
        os.mkfifo(tmp_path / name)
    code = "import sys; from isoviz.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 2
    assert f"{arguments[1]}: is a pipe; expected a regular file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pipe_in_the_place_of_a_cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.backends.host.kernels import kernel_cache as cache
    from isoviz.backends.host.kernels import tuning
    from isoviz.measure import kept_measurements as measurements

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = measurements._file("probe", measurements._probe_key(tmp_path))
    place.parent.mkdir(exist_ok=True)
    os.mkfifo(place)
    assert measurements.kept_probe(tmp_path) is None
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    place = tuning.place()
    assert place is not None
    os.mkfifo(place)
    assert tuning.kept() is None


def test_pipes_of_a_shell_are_read(tmp_path: Path) -> None:
    """`isoviz plan <(…)`: the other end is open already, and what it writes may come late and in pieces."""
    machine = json.dumps(machine_to_json(preset("local", measure="assumed")))
    for text, read in ((TRANSFER, load_transfer), (machine, load)):
        reading, writing = os.pipe()

        def write(text: str = text, writing: int = writing) -> None:
            with os.fdopen(writing, "w") as file:
                for start in range(0, len(text), 100):
                    file.write(text[start : start + 100])
                    file.flush()

        writer = threading.Thread(target=write)
        writer.start()
        found = read(Path(f"/dev/fd/{reading}"))  # type: ignore[operator]
        writer.join()
        os.close(reading)
        if isinstance(found, Machine):
            assert found == preset("local", measure="assumed")
        else:
            assert found.transfer.source.path == "in.npy"  # a pipe has no folder


def test_names_that_can_be_no_file(tmp_path: Path, no_file: tuple[Path, str]) -> None:
    path, kind = no_file
    with pytest.raises(FileError, match=f"is a {kind}; expected the name of a file"):
        final_path(path)
    with pytest.raises(FileError, match="ends in '/', as a directory does"):
        final_path(f"{tmp_path}/new/")
    if kind != "device":  # of which this computer has no other one
        with pytest.raises(FileError, match=f"is a {kind}"):
            save(preset("laptop"), path)
        assert not path.is_file()
