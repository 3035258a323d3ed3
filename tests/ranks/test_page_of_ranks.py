"""The page of ranks: what it says for one computer is run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_jobs import MPIEXEC, PATIENCE, ROOT, environment, needs_mpi

PAGE = (ROOT / "examples/ranks.md").read_text()


def blocks(kind: str) -> list[str]:
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)
    assert found, f"no block of {kind}"
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    for name, text in zip(("between.toml", "between_gpus.toml"), blocks("toml"), strict=True):
        (tmp_path / name).write_text(text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def run(folder: Path, *command: str) -> str:
    variables = environment()
    variables["PATH"] = f"{MPIEXEC.parent}:{variables['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120 * PATIENCE, start_new_session=True
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@needs_mpi
@pytest.mark.full
def test_the_python_of_the_page(folder: Path) -> None:
    """Blocks for this computer, as one program. Those with an address are for other hosts: `test_several_hosts`, `test_slurm`."""
    here = [block for block in blocks("python") if "address=" not in block]
    assert len(here) == 3
    program = folder / "page.py"
    program.write_text("\n".join(here))
    said = run(folder, sys.executable, str(program))
    assert said.count("verified") >= 2, said


@needs_mpi
@pytest.mark.full
def test_the_commands_of_the_page(folder: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    variables = [line for line in lines if line.startswith("export ")]
    commands = [line for line in lines if line not in variables]
    assert (len(variables), len(commands)) == (2, 7)
    for command in commands:
        said = run(folder, "sh", "-c", "\n".join([*variables, command]))
        runs = "machine" not in command and "isoviz plan" not in command
        assert ("verified" in said) == runs, (command, said)
        assert ("emulated" in said) == ("gpus" in command), (command, said)
