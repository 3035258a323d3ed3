"""What the README shows of ranks is what isoviz does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi

import isoviz
from isoviz.backends.mpi.mpi_transport import LIMIT
from isoviz.cli import main
from isoviz.launch.same_program import run_together
from isoviz.launch.this_rank import rank_session

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


class NoWorldError(Exception):
    pass


def test_the_silence_that_examples_promise_is_that_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def world(**options: object) -> None:
        asked.append(options.get("limit", LIMIT))
        raise NoWorldError

    monkeypatch.setattr("isoviz.backends.mpi.world.World", world)
    for begin in (rank_session, lambda: run_together("any.toml")):
        with pytest.raises(NoWorldError):
            begin()
    assert len(asked) == 2 and len(set(asked)) == 1
    text = " ".join((ROOT / "examples/ranks.md").read_text(encoding="utf-8").split())
    assert f"A program of ranks: after {asked[0]:g} seconds of silence" in text


@needs_mpi
@pytest.mark.full
def test_python_of_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = (each for each in blocks(TEXT, "python") if "isoviz.ranks(" in each)
    exec(block, {"isoviz": isoviz})
    assert "every byte verified" in capsys.readouterr().out


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@needs_mpi
@pytest.mark.full
def test_commands_of_the_example_run_as_printed(tmp_path: Path) -> None:
    """With either MPI, as root or not, with fewer processors than ranks; nothing is left in the folder."""
    text = (ROOT / "examples/ranks.md").read_text(encoding="utf-8").split("## From the shell")[1].split("\n## ")[0]
    (tmp_path / "between.toml").write_text(blocks(text, "toml")[0], encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PRTE_", "PMI"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = "set -e\n" + "".join(blocks(text, "sh")).replace("--size 512", "--size 64")
    assert commands.count("mpiexec -n 4") == 2
    environment = {**kept, "PATH": path, "ISOVIZ_KERNELS": "numpy"}  # The example would wait until kernels are compiled.
    done = subprocess.run(
        ["sh", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    assert done.stdout.count("every byte verified") >= 3 and "all ways give the same bytes" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["between.toml", "examples"]


@needs_mpi
@pytest.mark.full
def test_commands_of_ranks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"`isoviz (run [^`]*--ranks [^`]*)`", TEXT)
    assert main(command.split()) == 0
    assert "every byte verified" in capsys.readouterr().out
