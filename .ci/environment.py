"""Virtual environments of the checkout, made with nothing but the standard library.

This file is run by whatever `python3` is, and chooses the Python for everything else; so it keeps to the syntax of Python 3.8.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterable

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
OLDEST = (3, 11)
NEWEST = (3, 14)  # the constraints are resolved up to here; a newer Python is taken only where there is no other
MADE_BY = "isoviz-environment"
STAMP = "isoviz-ready.json"


class SetupError(Exception):
    """Setup cannot go on; the message says what to do about it."""


def say(text: str) -> None:
    print(f"isoviz: {text}", file=sys.stderr, flush=True)


def clean_environment(**changes: str) -> dict[str, str]:
    """The process environment without what would make one Python see the packages of another.

    Python keeps its bytecode: containers often say that it shall not, and then each of the hundreds of processes that tests start
    compiles all modules of the checkout again, which takes longer than everything else that it does.
    """
    elsewhere = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "__PYVENV_LAUNCHER__")
    environment = {key: value for key, value in os.environ.items() if key not in elsewhere and key != "PYTHONDONTWRITEBYTECODE"}
    if environment.get("BROWSER") in ("0", "1"):  # ours, of `make test BROWSER=0`; Python's webbrowser would start a program "0"
        del environment["BROWSER"]
    environment.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PYTHONNOUSERSITE="1", PYTHONUTF8="1", **changes)
    return environment


# ------------------------------------------------------------------------------------------------ which Python

_PROBE = """
import json, struct, sys, sysconfig
missing = []
for name in ("ensurepip", "venv", "ssl", "ctypes", "sqlite3"):
    try:
        __import__(name)
    except Exception:
        missing.append(name)
print(json.dumps({
    "version": sys.version_info[:3], "executable": sys.executable, "missing": missing, "implementation": sys.implementation.name,
    "bits": struct.calcsize("P") * 8, "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""


def probe(command: str) -> dict | None:
    """What the Python called `command` is and lacks, or None where it does not even start (a stub of pyenv, say)."""
    try:
        done = subprocess.run(
            [command, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=60, env=clean_environment(), check=False
        )
        return json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def choose_python(asked: str | None = None) -> str:
    """The newest Python on PATH that has wheels for everything and can make a virtual environment.

    `asked` (the variable ISOVIZ_PYTHON) overrules the choice.
    """
    names = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    found = []
    for name in [asked] if asked else [*names, "python3", "python"]:
        facts = probe(name) if shutil.which(name) else None
        if facts is not None and facts["implementation"] == "cpython" and facts["bits"] == 64 and not facts["free_threaded"]:
            found.append(facts)
    recent = [facts for facts in found if tuple(facts["version"]) >= OLDEST]
    whole = [facts for facts in recent if not facts["missing"]]
    if whole:
        best = max(whole, key=lambda facts: (tuple(facts["version"][:2]) <= NEWEST, tuple(facts["version"])))
        return str(best["executable"])
    if recent:
        version = "{}.{}".format(*recent[0]["version"][:2])
        missing = ", ".join(recent[0]["missing"])
        raise SetupError(f"Python {version} is here but lacks {missing}; {install_hint(f'python{version}-venv', version)}")
    seen = ", ".join(sorted({"{}.{}.{}".format(*facts["version"]) for facts in found})) or "none"
    raise SetupError(
        f"needs CPython {OLDEST[0]}.{OLDEST[1]} or newer, 64 bits (found: {seen}); {install_hint('python3 python3-venv', '3')}"
    )


def install_hint(debian: str, version: str = "3") -> str:
    """The command that installs a system package here, for a person to run: setup itself never does."""
    if sys.platform == "darwin":
        return "install it with: brew install python" + ("" if version == "3" else f"@{version}")
    kinds = ""
    with contextlib.suppress(OSError):
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        kinds = " ".join(line.split("=", 1)[1].strip('"') for line in lines if line.startswith(("ID=", "ID_LIKE=")))
    plain = "python3" if version == "3" else f"python{version}"
    for kind, command in (
        ("debian", f"sudo apt-get install {debian}"),
        ("fedora", f"sudo dnf install {plain}"),
        ("rhel", f"sudo dnf install {plain}"),
        ("suse", f"sudo zypper install {plain}"),
        ("arch", "sudo pacman -S python"),
        ("alpine", "sudo apk add python3"),
    ):
        if kind in kinds:
            return f"install it with: {command}"
    return f"on Debian and Ubuntu: sudo apt-get install {debian}"


# ------------------------------------------------------------------------------------------------ environments


class Environment:
    """A virtual environment in the checkout, with isoviz installed in it (editable) and some of its extras.

    `replaced` names requirements that take the place of constrained versions, for the tests with other versions.
    """

    def __init__(self, folder: str | Path, extras: tuple[str, ...], replaced: tuple[str, ...] = ()) -> None:
        self.folder = ROOT / folder
        self.extras = extras
        self.replaced = replaced

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def python(self) -> Path:
        return self.bin / "python"

    def variables(self, **changes: str) -> dict[str, str]:
        """The process environment of a command that runs in this virtual environment."""
        path = f"{self.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return clean_environment(VIRTUAL_ENV=str(self.folder), PATH=path, **changes)

    def digest(self) -> str:
        """What the environment is made from: any change here means that it must be brought up to date."""
        content = hashlib.sha256()
        for path in (ROOT / "pyproject.toml", CONSTRAINTS):
            content.update(path.read_bytes())
        content.update(repr((str(self.folder), self.replaced)).encode())
        return content.hexdigest()

    def is_ready(self) -> bool:
        """Whether the last installation was whole, from these files, and has the extras: then no network is needed."""
        try:
            stamp = json.loads((self.folder / STAMP).read_text(encoding="utf-8"))
            return stamp["digest"] == self.digest() and set(self.extras) <= set(stamp["extras"]) and self.python.exists()
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def ensure(self) -> None:
        """Make the environment, or bring it up to date, unless it is ready already.

        Raises:
            SetupError: with the words that help, and without the ready stamp.
        """
        if self.is_ready():
            return
        lock_path = ROOT / ".venv.lock"
        with lock_path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # `make lab` and `make test` at once: the second waits and finds it done
            if not self.is_ready():
                self._install()

    def _install(self) -> None:
        started = time.monotonic()
        kept: list[str] = []
        stamp = self.folder / STAMP
        with contextlib.suppress(OSError, ValueError, KeyError):
            kept = json.loads(stamp.read_text(encoding="utf-8"))["extras"]
        stamp.unlink(missing_ok=True)
        self._create()
        extras = sorted({*kept, *self.extras})
        say(f"installing isoviz with {', '.join(extras)} into {self.folder.name} (once; takes a minute or more)")
        self._install_packages({"base", "build", *extras})
        # Building isoviz here downloads nothing: the build backend is there.
        self._pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        self.run_quietly([str(self.python), "-P", "-c", "import isoviz.cli"], "the installed isoviz does not start")
        say("compiling the copy kernels (once; half a minute)")
        kernels = [str(self.python), "-P", "-m", "isoviz.backends.host.kernels"]
        done = subprocess.run(kernels, env=clean_environment(), cwd=ROOT, capture_output=True, text=True, check=False)
        say(done.stdout.strip() or done.stderr.strip()[-200:])  # without them copies are made with NumPy
        stamp.write_text(json.dumps({"digest": self.digest(), "extras": extras}), encoding="utf-8")
        say(f"{self.folder.name} is ready after {time.monotonic() - started:.0f} s")

    def _install_packages(self, extras: set[str]) -> None:
        """Install what extras need, in the versions of the constraints, from wheels with their digests alone.

        A version that `replaced` names has no digest here; what it needs is constrained.
        """
        known = packages(CONSTRAINTS.read_text(encoding="utf-8"))
        others = [requirement for requirement in self.replaced if requirement not in known]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "requirements.txt"
            path.write_text(locked(extras, set(self.replaced), without=names_of(others)), encoding="utf-8")
            self._pip("--require-hashes", "--no-deps", "--requirement", str(path))
            if others:
                path.write_text(plain(locked(None, without=names_of(others))), encoding="utf-8")
                self._pip(*others, "--constraint", str(path))

    def _create(self) -> None:
        marker = self.folder / MADE_BY
        if self.folder.exists():
            if self._works():  # also one that was made by hand, as the README says for people without make
                return
            if not marker.exists():
                raise SetupError(
                    f"{self.folder.name} does not work and was not made by this command; move it away, "
                    "or name another folder: ISOVIZ_VENV=.venv-isoviz make lab"
                )
            say(f"{self.folder.name} is incomplete: making it anew")
            shutil.rmtree(self.folder)
        python = choose_python(os.environ.get("ISOVIZ_PYTHON"))
        self.folder.mkdir(parents=True)
        marker.write_text("made by .ci/dev.py, which may remove it\n", encoding="utf-8")
        say(f"making {self.folder.name} with {python}")
        version = "{}.{}".format(*(probe(python) or {"version": (3, "x")})["version"][:2])
        self.run_quietly(
            [python, "-P", "-m", "venv", str(self.folder)],
            f"{python} cannot make a virtual environment; {install_hint(f'python{version}-venv', version)}",
        )

    def _works(self) -> bool:
        """Whether this is a whole environment: a failed `python3 -m venv` leaves a bin/python without pip."""
        facts = probe(str(self.python)) if self.python.exists() else None
        if facts is None or facts["missing"] or tuple(facts["version"]) < OLDEST:
            return False
        pip = [str(self.python), "-P", "-m", "pip", "--version"]
        return subprocess.run(pip, capture_output=True, env=clean_environment(), check=False).returncode == 0

    def _pip(self, *arguments: str) -> None:
        pip = [str(self.python), "-P", "-m", "pip", "install", "--quiet", "--no-input", "--progress-bar", "off"]
        command = [*pip, "--only-binary", ":all:", *arguments]  # an archive of sources would run its own code here
        if subprocess.run(command, env=self.variables(), cwd=ROOT, check=False).returncode != 0:
            raise SetupError(NOT_INSTALLED)

    def run_quietly(self, command: list[str], problem: str) -> None:
        """Run a command; where it fails, show what it said and raise SetupError(problem)."""
        done = subprocess.run(
            command, env=clean_environment(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            sys.stderr.write(done.stdout)
            raise SetupError(problem)


# ------------------------------------------------------------------------------------------------ what is installed

NOT_INSTALLED = """pip could not install what isoviz needs (its words are above).
Only wheels with a digest in .ci/constraints.txt are installed, nothing that would have to be built here.
- No network, or a time-out: run the same command again, and it goes on.
- "No matching distribution": there is no such wheel for this Python or this kind of computer. Another Python may have one:
  ISOVIZ_PYTHON=python3.12 make lab, after removing the environment (make clean).
- "do not match the hashes": the package index that pip asks here serves another file than the one that was checked. Do not
  install it by hand; ask another index."""


def packages(text: str) -> dict[str, list[str]]:
    """The blocks of a file of constraints by the names of their packages: a line with the version, and the lines that follow it.

    A package has several blocks where its version depends on Python's.
    """
    found: dict[str, list[str]] = {}
    for block in re.findall(r"(?m)^[A-Za-z0-9].*\n(?:^[ \t].*\n)*", text):
        found.setdefault(re.split(r"[^A-Za-z0-9._-]", block)[0].lower(), []).append(block)
    return found


def names_of(requirements: Iterable[str]) -> set[str]:
    """The names of packages in requirements such as `ipykernel==6.31.*`."""
    return {re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower() for requirement in requirements}


def locked(extras: set[str] | None, names: set[str] = frozenset(), without: set[str] = frozenset()) -> str:
    """The constraints, with digests, of what some extras need (None: of everything), and of `names`, `without` some packages."""
    return "".join(
        block
        for name, blocks in packages(CONSTRAINTS.read_text(encoding="utf-8")).items()
        for block in blocks
        if name not in without and (extras is None or name in names or extras & set(block.splitlines()[-1].split("#")[1].split()))
    )


def plain(text: str) -> str:
    """Constraints without digests and comments."""
    return "".join(line.rstrip(" \\\n") + "\n" for line in text.splitlines() if re.match(r"[A-Za-z0-9]", line))


def extras_of(project: Path) -> list[str]:
    """The names of the extras in a pyproject.toml. Not every Python that runs this file can read TOML."""
    section = project.read_text(encoding="utf-8").split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    return re.findall(r"(?m)^([a-z0-9-]+) = \[", section)
