"""`isoviz run --ranks N` and `mpiexec -n N isoviz run`: one report, one error, one exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mpi_jobs
import numpy as np
import pytest
from mpi_jobs import needs_mpi

from isoviz.cli import main

ISOVIZ = str(Path(sys.executable).parent / "isoviz")
FILE = """
[space]
x = 40
y = 30
[fields]
a = "float32"
b = "int64"
[source]
memory = "{source}"
layout = "<F, x, y>"
path = "in.npy"
[destination]
memory = "{destination}"
layout = "<y, x, F>"
path = "out.bin"
[machine]
{machine}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(source: str = "node0.dsk", destination: str = "node1.dsk", machine: str = "preset = 'local'") -> Path:
        given = np.zeros((30, 40), [("a", "<f4"), ("b", "<i8")])
        given["a"], given["b"] = np.arange(1200).reshape(30, 40), np.arange(1200).reshape(30, 40)[::-1]
        np.save(tmp_path / "in.npy", given)
        path = tmp_path / "transfer.toml"
        path.write_text(FILE.format(source=source, destination=destination, machine=machine + "\nmeasure = 'assumed'"))
        return path

    return written


def arrived(folder: Path) -> bool:
    given = np.load(folder / "in.npy")
    return (folder / "out.bin").read_bytes() == given["a"].T.tobytes() + given["b"].T.tobytes()


def alone(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ISOVIZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=240)


def together(ranks: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command on every rank of a job; what all of them print."""
    return mpi_jobs.run(ranks, "-m", "isoviz", *map(str, arguments))


def test_of_is_refused_before_ranks_start(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write())
    assert main(["run", file, "--ranks", "2", "--of", "3"]) == 2
    found = capsys.readouterr()
    assert found.out == "" and "plans on ranks are not tried before" in found.err
    for wrong, words in (("none", "'none' is not a whole number"), ("0", "expected a whole number of ranks")):
        assert main(["run", file, "--ranks", wrong]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(("machine", "nodes"), [("preset = 'ranks'\nranks = 3", 3), ("preset = 'ranks'\nranks = 2", 2)])
def test_a_file_for_ranks_asks_for_them(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], machine: str, nodes: int
) -> None:
    file = write(machine=machine)
    assert main(["run", str(file)]) == 2
    said = capsys.readouterr().err
    assert f"has {nodes} nodes" in said and f"--ranks {nodes}\n" in said


@needs_mpi
@pytest.mark.full
def test_ranks_are_started_for_a_file(write: Callable[..., Path], tmp_path: Path) -> None:
    (file := write()).with_name("in.npy").chmod(0o600)
    (tmp_path / "out.bin").write_text("as before")
    done = alone("run", file, "--ranks", "2")
    assert done.returncode == 2 and "out.bin: exists already" in done.stderr
    assert (tmp_path / "out.bin").read_text() == "as before"
    done = alone("run", file, "--ranks", "2", "--json", "--overwrite")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verified"] is True and arrived(tmp_path)
    assert (tmp_path / "out.bin").stat().st_mode & 0o777 == 0o600, "as private as its source, on another rank"
    assert {hop["source"].partition(".")[0] for hop in found["hops"]} == {"node0", "node1"}


@needs_mpi
def test_a_machine_with_too_many_nodes_is_refused(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(write(machine="preset = 'ranks'\nranks = 3")), "--ranks", "2"]) == 2
    assert "has 3 nodes, and there are 2 ranks; expected 3 ranks" in capsys.readouterr().err


@needs_mpi
@pytest.mark.parametrize("machine", ["preset = 'local'", pytest.param("preset = 'ranks'\nranks = 2", marks=pytest.mark.full)])
def test_ranks_run_a_file_together(write: Callable[..., Path], tmp_path: Path, machine: str) -> None:
    done = together(2, "run", write(machine=machine), "--json", "--chrome", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)  # one object: only rank 0 prints
    assert found["verified"] is True and arrived(tmp_path)
    spans = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    hops = {span["args"]["hop"] for span in spans if span.get("cat") == "request"}
    assert hops == set(range(len(found["hops"])))  # of both ranks


@needs_mpi
@pytest.mark.parametrize("more", [(), ("--no-verify",)])
@pytest.mark.few(1)
def test_what_ranks_write_is_as_private_as_its_source(write: Callable[..., Path], tmp_path: Path, more: tuple[str, ...]) -> None:
    file = write()
    (tmp_path / "in.npy").chmod(0o600)
    done = together(2, "run", file, *more)
    assert done.returncode == 0, done.stderr
    assert arrived(tmp_path) and (tmp_path / "out.bin").stat().st_mode & 0o777 == 0o600
    done = together(2, "run", file, *more)
    assert done.returncode == 2 and done.stderr.count("out.bin: exists already") == 1


@needs_mpi
def test_an_error_that_all_ranks_have_is_told_once(write: Callable[..., Path], tmp_path: Path) -> None:
    file = write()
    (tmp_path / "in.npy").unlink()
    done = together(2, "run", file)
    assert done.returncode == 2 and done.stdout.strip() == ""
    assert done.stderr.count("isoviz: error:") == 1 and "in.npy: no such file" in done.stderr and "rank 0:" not in said(done)


@needs_mpi
@pytest.mark.parametrize(
    ("what", "words", "status"),
    [
        ("no file on rank 0", "transfer file {folder}/another.toml: no such file", 2),
        pytest.param("crash on rank 0", "internal error, ZeroDivisionError: of this rank alone", 1, marks=pytest.mark.full),
        ("unsent on rank 0", "rank 0: UnsentError: of this rank alone", 1),
    ],
)
def test_what_goes_wrong_on_rank_0_ends_all(
    write: Callable[..., Path], tmp_path: Path, what: str, words: str, status: int
) -> None:
    """Rank 0 tells it; no rank waits for another one."""
    write()
    done = mpi_jobs.run(2, str(Path(__file__).with_name("one_rank_differs.py")), what, str(tmp_path / "transfer.toml"))
    assert done.returncode == status, done.stderr
    assert said(done).startswith(f"isoviz: error: {words.format(folder=tmp_path)}") and done.stdout.strip() == ""
    assert not (tmp_path / "out.bin").exists()


@needs_mpi
@pytest.mark.parametrize(
    "what",
    [
        "another plan on rank 1",
        pytest.param("no file on rank 1", marks=pytest.mark.full),
        pytest.param("crash on rank 1", marks=pytest.mark.full),
    ],
)
def test_ranks_carry_out_the_plan_of_rank_0(write: Callable[..., Path], tmp_path: Path, what: str) -> None:
    """What the planner of another rank would answer does not count."""
    write()
    done = mpi_jobs.run(2, str(Path(__file__).with_name("one_rank_differs.py")), what, str(tmp_path / "transfer.toml"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("every byte verified") == 1 and arrived(tmp_path)


@needs_mpi
def test_a_rank_that_is_killed_ends_all(write: Callable[..., Path], tmp_path: Path) -> None:
    write()
    done = mpi_jobs.run(
        2, str(Path(__file__).with_name("one_rank_differs.py")), "killed on rank 0", str(tmp_path / "transfer.toml")
    )
    assert done.returncode != 0 and not (tmp_path / "out.bin").exists()


def said(done: subprocess.CompletedProcess[str]) -> str:
    """The line with isoviz's error, which MPI's own words may surround."""
    found = [line for line in done.stderr.splitlines() if line.startswith("isoviz: error:")]
    assert len(found) == 1, done.stderr
    return found[0]


@needs_mpi
def test_a_job_of_one_rank_is_this_computer(write: Callable[..., Path], tmp_path: Path) -> None:
    done = together(1, "run", write(destination="node0.dsk"), "--no-trial")
    assert done.returncode == 0 and arrived(tmp_path), done.stderr
