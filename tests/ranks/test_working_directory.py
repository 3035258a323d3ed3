"""Processes that isoviz starts import nothing from the working directory, which may be another user's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import servers
from mpi_jobs import MPIEXEC, needs_mpi
from second_user import ROOT, TwoUsers

PROOF = "import os; os.close(os.open({proof!r}, os.O_CREAT | os.O_WRONLY, 0o666))\n"
MODULES = ("hmac", "json", "random", "ipykernel_launcher")
PACKAGES = ("isoviz", "numpy", "mpi4py", "jupyterlab", "numba")

COMPILES = """
import contextlib, subprocess
from pathlib import Path
from isoviz.backends.host.kernels import preparation
assert not preparation.prepare()
compiling = preparation._compiling
assert compiling is not None, preparation.state()
while compiling.poll() is None and "llvmlite" not in Path(f"/proc/{compiling.pid}/maps").read_text():
    with contextlib.suppress(subprocess.TimeoutExpired):
        compiling.wait(0.01)
print("ended" if compiling.poll() is not None else "compiles")
compiling.kill()
"""
CALLS = """
import os, isoviz
with isoviz.ranks(1) as ranks:
    print(ranks.call(os.getuid))
"""
PROGRAM = "import os; from isoviz.launch.this_rank import rank_session; rank_session(); print(os.getcwd())"


def planted(users: TwoUsers, folder: Path) -> Path:
    """Have the attacker put modules into a folder, and settings of UCX, on which MPIs are built.

    The file whose name is given appears once one of them has been read.
    """
    proof = users.shared / "proof"
    for name in MODULES:
        users.attacker.writes(folder / f"{name}.py", PROOF.format(proof=str(proof)))
    for name in PACKAGES:
        users.attacker.writes(folder / name / "__init__.py", PROOF.format(proof=str(proof)))
    users.attacker.writes(folder / "ucx.conf", f"UCX_LOG_LEVEL=info\nUCX_LOG_FILE={proof}\n")
    return proof


def test_planted_modules_would_run(users: TwoUsers) -> None:
    proof = planted(users, users.shared / "data")
    assert users.victim.run(sys.executable, "-c", "import hmac", cwd=users.shared / "data").returncode == 0
    assert proof.exists() and proof.stat().st_uid == users.victim.uid


def test_kernels_are_compiled_without_the_working_directory(users: TwoUsers) -> None:
    proof = planted(users, users.shared / "data")
    done = users.victim.python(COMPILES, cwd=users.shared / "data", ISOVIZ_KERNELS="")
    assert not proof.exists()
    assert done.stdout.split() == ["compiles"], done.stderr


@needs_mpi
def test_ranks_start_without_the_working_directory(users: TwoUsers) -> None:
    proof = planted(users, users.shared / "data")
    done = users.victim.python(CALLS, cwd=users.shared / "data")
    assert not proof.exists()
    assert done.stdout.split() == [f"[{users.victim.uid}]"], done.stderr


@needs_mpi
def test_programs_of_ranks_start_without_the_working_directory(users: TwoUsers) -> None:
    proof = planted(users, users.shared / "data")
    command = (MPIEXEC, "-n", "1", sys.executable, "-P", "-c", PROGRAM)
    done = users.victim.run(*command, cwd=users.shared / "data")
    assert not proof.exists()
    assert done.stdout.split() == [str(users.shared / "data")], done.stderr


@needs_mpi
def test_functions_of_own_modules_reach_the_ranks(users: TwoUsers) -> None:
    """Those of the folder of a notebook too: it is on the path of the client, and comes last on that of the ranks."""
    users.victim.writes(users.victim.home / "mine.py", "def answer():\n    return 42\n")
    users.victim.writes(users.victim.home / "hmac.py", "raise SystemExit('of the working directory')")
    program = "import isoviz, mine\nwith isoviz.ranks(1) as ranks:\n    print(ranks.call(mine.answer))\n"
    for start in (["-c", f"import sys; sys.path.append('')\n{program}"], [users.victim.home / "program.py"]):
        users.victim.writes(users.victim.home / "program.py", f"import sys; sys.path.append(sys.path.pop(0))\n{program}")
        done = users.victim.run(sys.executable, "-P" if start[0] == "-c" else "-B", *start)
        assert done.stdout.split() == ["[42]"], done.stderr


def test_jupyterlab_starts_without_the_working_directory(users: TwoUsers) -> None:
    pytest.importorskip("jupyterlab")
    proof = planted(users, users.shared / "data")
    words = ("-m", "isoviz", "lab", "--no-browser", "--port", "0", "--dir", users.victim.home)
    command = users.victim.command(sys.executable, "-P", *words, cwd=users.shared / "data")
    with servers.serving(command, cwd=Path("/"), env=users.victim.environment(), patience=240) as (url, _):
        assert "/lab/tree/isoviz-lab/explorer.ipynb" in url
    assert not proof.exists()


@pytest.mark.parametrize("owner", ["attacker", "link", "mode"])
def test_notebooks_are_opened_in_a_folder_of_ones_own(users: TwoUsers, owner: str) -> None:
    """A kernel imports from the folder of its notebook, so this folder is not another user's."""
    pytest.importorskip("jupyterlab")
    folder, mine = users.shared / "isoviz-lab", users.victim.home / "public"
    if owner == "attacker":
        planted(users, folder)
        assert users.attacker.run("chmod", "777", folder).returncode == 0
    elif owner == "link":
        users.victim.writes(mine / "notes", "mine")
        assert users.attacker.run("ln", "-s", mine, folder).returncode == 0
    else:
        users.victim.writes(folder / "notes", "mine")
        assert users.victim.run("chmod", "777", folder).returncode == 0
    done = users.victim.isoviz("lab", "--no-browser", "--dir", users.shared, cwd=users.shared)
    assert done.returncode == 2, done.stderr
    words = "can be changed by others" if owner == "mode" else "belongs to another user"
    assert words in done.stderr and "--dir" in done.stderr
    assert not any(path.suffix == ".ipynb" for path in (folder if owner != "link" else mine).iterdir())


def test_a_folder_that_others_can_rename_is_served_only_if_it_is_named(users: TwoUsers) -> None:
    pytest.importorskip("jupyterlab")
    assert users.attacker.run("mkdir", "-m", "777", users.shared / "open").returncode == 0
    done = users.victim.isoviz("lab", "--no-browser", cwd=users.shared / "open")
    assert done.returncode == 2 and "--dir" in done.stderr, done.stderr
    assert list((users.shared / "open").iterdir()) == []


def test_the_setup_looks_for_pythons_without_the_working_directory(tmp_path: Path) -> None:
    """`python3 …/.ci/dev.py` may be typed in any folder."""
    (tmp_path / "json.py").write_text(PROOF.format(proof=str(tmp_path / "proof")), encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(ROOT / '.ci')!r}); import environment; print(environment.choose_python())"
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "proof").exists()
