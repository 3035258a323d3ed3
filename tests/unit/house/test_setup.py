"""The setup script: which Python it takes, and when an environment counts as ready."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import environment

    return environment


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An otherwise empty PATH, and a way to put a Python on it that answers the probe as told."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, version: tuple[int, int, int] | None, missing: tuple[str, ...] = (), **facts: object) -> None:
        told = {"version": version, "executable": f"/{name}", "missing": missing, "implementation": "cpython", "bits": 64}
        answer = json.dumps({**told, "free_threaded": False, **facts})
        script = "exit 127" if version is None else f"echo '{answer}'"
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)

    return add


def test_newest_suitable_python(environment, programs) -> None:
    programs("python3.14", None)  # a stub that does not start, as pyenv leaves them
    programs("python3.13", (3, 13, 1), free_threaded=True)
    programs("python3.12", (3, 12, 4), missing=("ensurepip",))
    programs("python3.11", (3, 11, 2))
    programs("python3", (3, 9, 2))
    assert environment.choose_python() == "/python3.11"


def test_constrained_versions_come_before_newer_ones(environment, programs) -> None:
    programs("python3", (3, 15, 0))
    assert environment.choose_python() == "/python3"
    programs("python3.12", (3, 12, 0))
    assert environment.choose_python() == "/python3.12"


def test_missing_venv_names_the_package(environment, programs, monkeypatch: pytest.MonkeyPatch) -> None:
    programs("python3", (3, 11, 2), missing=("ensurepip",))
    monkeypatch.setattr(environment.sys, "platform", "linux")
    with pytest.raises(environment.SetupError, match=r"lacks ensurepip; .*python3"):
        environment.choose_python()
    monkeypatch.setattr(environment, "install_hint", lambda debian, version: f"sudo apt-get install {debian}")
    with pytest.raises(environment.SetupError, match=r"apt-get install python3\.11-venv"):
        environment.choose_python()


def test_too_old(environment, programs) -> None:
    programs("python3", (3, 9, 2))
    with pytest.raises(environment.SetupError, match=r"needs CPython 3\.11 .*found: 3\.9\.2"):
        environment.choose_python()


def test_ready_only_with_the_same_files_and_extras(environment, tmp_path: Path) -> None:
    made = environment.Environment(tmp_path / "venv", ("lab",))
    assert not made.is_ready()
    made.bin.mkdir(parents=True)
    made.python.symlink_to(sys.executable)
    stamp = made.folder / environment.STAMP
    stamp.write_text(json.dumps({"digest": made.digest(), "extras": ["lab"]}), encoding="utf-8")
    assert made.is_ready()
    assert not environment.Environment(tmp_path / "venv", ("lab", "test")).is_ready()
    assert not environment.Environment(tmp_path / "venv", ("lab",), ("ipykernel==6.31.*",)).is_ready()
    stamp.write_text("{", encoding="utf-8")
    assert not made.is_ready()


def test_foreign_environment_is_never_removed(environment, tmp_path: Path) -> None:
    foreign = tmp_path / "venv"
    foreign.mkdir()
    with pytest.raises(environment.SetupError, match="was not made by this command"):
        environment.Environment(foreign, ("lab",))._create()
    assert list(foreign.iterdir()) == []


def test_environment_made_by_hand_is_used(environment, tmp_path: Path) -> None:
    venv = ["venv", "--without-pip", "--system-site-packages", str(tmp_path / "venv")]  # pip is found where it is
    subprocess.run([getattr(sys, "_base_executable", sys.executable), "-m", *venv], check=True)
    before = sorted((tmp_path / "venv").iterdir())
    environment.Environment(tmp_path / "venv", ("lab",))._create()
    assert sorted((tmp_path / "venv").iterdir()) == before


def test_half_made_environment_is_made_anew(environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `python3 -m venv` that failed leaves a bin/python without pip."""
    made = environment.Environment(tmp_path / "venv", ("lab",))
    made.bin.mkdir(parents=True)
    (made.folder / environment.MADE_BY).touch()
    made.python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    made.python.chmod(0o755)
    monkeypatch.setenv("ISOVIZ_PYTHON", sys.executable)
    monkeypatch.setattr(environment.Environment, "run_quietly", lambda self, command, problem: calls.append(command))
    calls: list[list[str]] = []
    made._create()
    assert calls and calls[0][1:4] == ["-P", "-m", "venv"]
    assert not made.python.exists()


def test_failed_installation_leaves_no_stamp(environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = environment.Environment(tmp_path / "venv", ("lab",))
    made.folder.mkdir()
    (made.folder / environment.STAMP).write_text(json.dumps({"digest": "old", "extras": ["lab"]}), encoding="utf-8")
    monkeypatch.setattr(environment.Environment, "_create", lambda self: None)

    def fail(self, *arguments: str) -> None:
        raise environment.SetupError("pip could not install")

    monkeypatch.setattr(environment.Environment, "_pip", fail)
    with pytest.raises(environment.SetupError):
        made._install()
    assert not (made.folder / environment.STAMP).exists()


def test_replaced_versions_leave_the_constraints(environment) -> None:
    with environment.loosened(("ipykernel==6.31.*",)) as path:
        left = path.read_text(encoding="utf-8")
    whole = environment.CONSTRAINTS.read_text(encoding="utf-8")
    assert "ipykernel==" in whole and "ipykernel==" not in left
    assert len(left.splitlines()) == len(whole.splitlines()) - 1


def test_other_pythons_packages_stay_out(environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("VIRTUAL_ENV", "/elsewhere")
    monkeypatch.setenv("BROWSER", "0")
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "BROWSER"} & environment.clean_environment().keys()
    monkeypatch.setenv("BROWSER", "firefox")
    assert environment.clean_environment()["BROWSER"] == "firefox"


def test_bytecode_is_kept(environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in environment.clean_environment()
