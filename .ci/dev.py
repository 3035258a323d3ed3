"""What the Makefile calls: the same commands for people, for tests and for continuous integration.

    python3 .ci/dev.py lab [options of `isoviz lab`]
    python3 .ci/dev.py install [extras of isoviz]
    python3 .ci/dev.py test [options of pytest]

Variables: BROWSER=0 leaves out the tests that need Chromium; ISOVIZ_PYTHON names the Python to build the environment with;
ISOVIZ_VENV names the environment's folder (.venv); ISOVIZ_WITH lists requirements that replace constrained versions in it, such
as "ipykernel==6.31.*"; ISOVIZ_CHROMIUM names the browser.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from environment import MADE_BY, ROOT, Environment, SetupError, say
from gpu_run import gpu, gpu_wheels
from lanes import Counts, at_a_time
from lanes import run as run_lanes
from locking import constraints

WIDGETS = ROOT / "widgets"

TESTING = ("lab", "mpi", "test")
"""Extras that the tests need."""
BROWSER = ("tests/browser",)
RANKS = ("tests/ranks", "tests/notebook", "tests/wheel")
RUNS = ("tests/run", "tests/property")
"""Folders of tests, each group in a lane of its own."""
ELSEWHERE: tuple[str, ...] = ()
"""The lane of the tests outside of all groups."""

PATIENCE = 900
"""Seconds for a test of `make test-full`: it has more cases, and the machine may be busy."""


class Other(NamedTuple):
    """An environment that `make test-full` adds to the constrained one.

    `replaced` is what replaces constrained versions. Its tests are those of `folders`, with every count only in `counted`.
    """

    name: str
    replaced: str
    folders: tuple[str, ...]
    counted: tuple[str, ...] = ()


OLDER_KERNELS = tuple(
    Other(f"ipykernel-{version}", f"ipykernel=={version}.*", ("tests/notebook", "tests/browser")) for version in ("6.31", "7.3")
)
RANDOM = ("rank_channels", "rank_lanes", "rank_redistributions", "rank_runs", "scattered", "windows")
"""Tests of ranks with many random transfers."""
ONE_SIDED = ("random_calls", "words")
"""The same of one-sided calls."""
COUNTED = (*(f"tests/ranks/test_{name}.py" for name in RANDOM), *(f"tests/ranks/rma/test_{name}.py" for name in ONE_SIDED))
SECOND_MPI = Other("mpich", "mpich", ("tests/ranks",), COUNTED)


def environment(*extras: str) -> Environment:
    """The environment of the checkout with these extras, ready for use."""
    replaced = tuple(os.environ.get("ISOVIZ_WITH", "").split())
    if any(requirement.startswith("mpich") for requirement in replaced):  # never two MPI wheels in one environment
        extras, replaced = tuple(extra for extra in extras if extra != "mpi"), (*replaced, "mpi4py")
    made = Environment(os.environ.get("ISOVIZ_VENV", ".venv"), extras, replaced)
    made.ensure()
    return made


def install(arguments: list[str]) -> int:
    """Adds extras of isoviz to the environment, such as `mpi` or `gpu-cuda13`."""
    environment("lab", *arguments)
    return 0


def testing_environment() -> Environment:
    return environment(*TESTING)


class Steps:
    """Runs one check after the other, goes on after a failure, and says at the end what failed."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.failed: list[str] = []

    def __call__(self, name: str, *command: str, cwd: Path = ROOT, **variables: str) -> bool:
        say(f"{name} …")
        started = time.monotonic()
        code = subprocess.run(command, cwd=cwd, env=self.env.variables(**variables), check=False).returncode
        return self.ended(name, code, time.monotonic() - started)

    def ended(self, name: str, code: int, seconds: float) -> bool:
        say(f"{name}: {'passed' if code == 0 else f'FAILED ({code})'} after {seconds:.1f} s")
        if code != 0:
            self.failed.append(name)
        return code == 0

    def tool(self, name: str) -> str:
        return str(self.env.bin / name)

    def result(self) -> int:
        if self.failed:
            say(f"FAILED: {', '.join(self.failed)}")
        return 1 if self.failed else 0


# ------------------------------------------------------------------------------------------------ commands


def lab(arguments: list[str]) -> int:
    """JupyterLab on a working copy of the explorer. Takes the place of this process, so that Ctrl-C reaches the server."""
    env = environment("lab")
    os.chdir(ROOT)
    os.execve(env.bin / "isoviz", [str(env.bin / "isoviz"), "lab", *arguments], env.variables())


def lint_steps(steps: Steps) -> None:
    steps("ruff check", steps.tool("ruff"), "check", "--quiet")
    steps("ruff format", steps.tool("ruff"), "format", "--check", "--quiet")
    steps("mypy --strict", steps.tool("mypy"), "--no-error-summary")
    steps("import linter", steps.tool("lint-imports"), "--no-cache")
    if node_modules(steps):
        steps("browser half: style and floors", steps.tool("npm"), "run", "--silent", "lint", cwd=WIDGETS)


def lint(arguments: list[str]) -> int:
    """Style, types, and the floors of the house."""
    steps = Steps(testing_environment())
    lint_steps(steps)
    return steps.result()


def checks(arguments: list[str]) -> int:
    """Style, types, the floors of the house, and all of the browser half: what is no test of pytest."""
    steps = Steps(testing_environment())
    lint_steps(steps)
    widget_steps(steps)
    return steps.result()


def format_code(arguments: list[str]) -> int:
    """The formatters of both halves and their safe repairs, on everything."""
    steps = Steps(testing_environment())
    steps("ruff check --fix", steps.tool("ruff"), "check", "--fix", "--quiet")
    steps("ruff format", steps.tool("ruff"), "format", "--quiet")
    if node_modules(steps):
        steps("browser half: format", steps.tool("npm"), "run", "--silent", "format", cwd=WIDGETS)
    return steps.result()


def node_modules(steps: Steps) -> bool:
    """The browser half's packages, exactly those of its lock file; the network is used only when that file changes."""
    digest = hashlib.sha256((WIDGETS / "package-lock.json").read_bytes()).hexdigest()
    stamp = WIDGETS / "node_modules" / ".isoviz-ready"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return True
    if steps("npm ci", steps.tool("npm"), "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=WIDGETS):
        stamp.write_text(digest, encoding="utf-8")
        return True
    return False


def widget_steps(steps: Steps) -> None:
    if node_modules(steps):
        npm = (steps.tool("npm"), "run", "--silent")
        steps("browser half: generated files", str(steps.env.python), "generate.py", "--check", cwd=WIDGETS)
        steps("browser half: types", *npm, "check", cwd=WIDGETS)
        steps("browser half: tests", *npm, "test", cwd=WIDGETS)
        steps("browser half: the committed bundle is a fresh build", *npm, "verify", cwd=WIDGETS)


def bundle(arguments: list[str]) -> int:
    """Builds the browser half into isoviz/widgets/static."""
    steps = Steps(testing_environment())
    if node_modules(steps):
        steps("browser half: generate", str(steps.env.python), "generate.py", cwd=WIDGETS)
        steps("browser half: build", steps.tool("npm"), "run", "--silent", "build", cwd=WIDGETS)
    return steps.result()


def chromium(env: Environment) -> str:
    """The path of a Chromium for the browser tests, made available where it can be without root.

    Raises:
        SetupError: there is none.
    """
    finder = [str(env.python), str(ROOT / "tests" / "browser" / "chromium.py")]
    done = subprocess.run(finder, stdout=subprocess.PIPE, text=True, env=env.variables(), cwd=ROOT, check=False)
    if done.returncode != 0:
        raise SetupError("no Chromium for the browser tests (`make test BROWSER=0` leaves them out)")
    return done.stdout.strip()


def pytest(steps: Steps, arguments: list[str], **variables: str) -> None:
    """The Python tests; pytest's summary is the last thing that they print."""
    selection = []
    if not with_browser():
        selection = ["-m", "not browser"]
    elif "ISOVIZ_CHROMIUM" not in variables:
        variables["ISOVIZ_CHROMIUM"] = chromium(steps.env)
    steps("pytest", *pytest_command(steps), *selection, *arguments, **variables)


def pytest_command(steps: Steps) -> list[str]:
    return [str(steps.env.python), "-P", "-m", "pytest"]


def finish(steps: Steps) -> int:
    code = steps.result()
    if not with_browser():
        say("the browser tests were left out (BROWSER=0)")
    return code


def with_browser() -> bool:
    return os.environ.get("BROWSER", "1") != "0"


def test(arguments: list[str]) -> int:
    """Everything, with seeded and reduced counts.

    Checks and groups of tests run in lanes, as many at a time as there are processors; with options of one's own, all run one
    after the other.
    """
    steps = Steps(testing_environment())
    if arguments:
        lint_steps(steps)
        widget_steps(steps)
        pytest(steps, arguments)
    else:
        # The checks, which keep a processor busy, run beside the ranks, which wait most.
        in_lanes(steps, {"rank-tests": RANKS, "browser-tests": BROWSER, "other-tests": ELSEWHERE, "run-tests": RUNS})
    return finish(steps)


def test_full(arguments: list[str]) -> int:
    """Everything, with every count, and the environments with other versions, each in a folder of its own.

    Checks, groups of tests, and those of the browser and of ranks with their other environments run in lanes, as many at a time
    as there are processors; with options of one's own, one after the other.
    """
    steps = Steps(environment(*TESTING, "docs"))
    os.environ["PYTEST_ADDOPTS"] = f"-o timeout={PATIENCE}"
    if arguments or not with_browser():
        lint_steps(steps)
        widget_steps(steps)
        docs_steps(steps)
        for other in (*OLDER_KERNELS, SECOND_MPI):
            other_steps(steps, other)
        pytest(steps, arguments, ISOVIZ_FULL="1")
    else:
        os.environ["ISOVIZ_FULL"] = "1"
        lanes = {
            "other-tests": ELSEWHERE,
            "browser-environments": (*BROWSER, "tests/notebook"),
            "rank-environments": ("tests/ranks",),
            "run-tests": ("tests/run",),
            "property-tests": ("tests/property",),
        }
        in_lanes(steps, lanes)
    return finish(steps)


def in_lanes(steps: Steps, groups: dict[str, tuple[str, ...]]) -> None:
    """Style and types, and the commands that run the tests of some folders, group by group, in this order.

    What takes longest comes first, so that no lane is alone at the end.
    """
    node_modules(steps)  # several lanes need them
    if with_browser():
        os.environ["ISOVIZ_CHROMIUM"] = chromium(steps.env)
    else:
        groups = {name: folders for name, folders in groups.items() if folders != BROWSER}
    elsewhere = [f"--ignore={folder}" for folders in (BROWSER, *groups.values()) for folder in folders]
    with tempfile.TemporaryDirectory() as folder:
        counts = Counts(Path(folder))
        this_file = [sys.executable, str(Path(__file__))]
        lanes = {"checks": [*this_file, "checks"]}
        for name, folders in groups.items():
            # A cache of its own: each notes the failed tests of its last run in it.
            own = ["--junit-xml", counts.file(name), "-o", f"cache_dir=.pytest_cache/{name}"]
            lanes[name] = [*this_file, name, *(folders or elsewhere), *own]
        say(f"{', '.join(lanes)}: {at_a_time()} at a time; what one prints is shown in one piece")
        run_lanes(lanes, ROOT, dict(os.environ), steps.ended, at_a_time())
        say(f"all tests: {counts.words()}")


def other_steps(steps: Steps, other: Other) -> None:
    """The tests that depend on versions, in an environment with other ones."""
    own = {"ISOVIZ_VENV": f".venv-{other.name}", "ISOVIZ_WITH": other.replaced}
    command = [sys.executable, str(Path(__file__)), "pytest"]
    rest = [*other.folders, *(f"--ignore={each}" for each in other.counted)]
    steps(f"tests with {other.name}", *command, *rest, **own, ISOVIZ_FULL="0")
    if other.counted:
        steps(f"tests with {other.name}, every count", *command, *other.counted, **own, ISOVIZ_FULL="1")


def browser_environments(arguments: list[str]) -> int:
    """The named tests, those of the browser, with every count; the site; and these tests with older kernels."""
    steps = Steps(testing_environment())
    found = {"ISOVIZ_CHROMIUM": chromium(steps.env), "ISOVIZ_FULL": "1"}
    steps("browser tests", *pytest_command(steps), *arguments, **found)
    docs_steps(steps)
    for other in OLDER_KERNELS:
        other_steps(steps, other)
    return steps.result()


def rank_environments(arguments: list[str]) -> int:
    """The named tests, those of ranks, with every count; and these tests with the second MPI."""
    steps = Steps(testing_environment())
    steps("ranks", *pytest_command(steps), *arguments, ISOVIZ_FULL="1")
    other_steps(steps, SECOND_MPI)
    return steps.result()


def only_pytest(arguments: list[str]) -> int:
    """The Python tests alone, in the environment that ISOVIZ_VENV and ISOVIZ_WITH describe."""
    steps = Steps(testing_environment())
    pytest(steps, arguments)
    return finish(steps)


def tests_of_a_lane(arguments: list[str]) -> int:
    """The tests that the arguments name. Takes the place of this process, so that Ctrl-C reaches them."""
    steps = Steps(testing_environment())
    os.chdir(ROOT)
    command = [*pytest_command(steps), *arguments]
    os.execve(command[0], command, steps.env.variables())


def bench(arguments: list[str]) -> int:
    """Measured ratios against peers: two benchmarks, or the one named with its options, of isoviz itself or of `isoviz bench`."""
    steps = Steps(environment("lab", "mpi", "bench"))
    for words in [arguments] if arguments else [["import"], ["convert"]]:
        steps(f"bench {words[0]}", str(steps.env.python), "-P", "-m", "benchmarks", *words)
    return steps.result()


def docs(arguments: list[str]) -> int:
    """The site of the documentation. Its examples and notebooks are executed; a warning is an error."""
    steps = Steps(environment("lab", "mpi", "docs"))
    docs_steps(steps, *arguments)
    return steps.result()


def docs_steps(steps: Steps, *arguments: str) -> None:
    site = ROOT / "docs" / "_build" / "site"
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--doctree-dir", str(site.parent / "doctrees"), *arguments]
    if steps("docs", str(steps.env.python), "-P", "-m", "sphinx", "--builder", "html", *options, str(ROOT / "docs"), str(site)):
        say(f"the site is in {site.relative_to(ROOT)}: open {(site / 'index.html').relative_to(ROOT)}")


def clean(arguments: list[str]) -> int:
    """Removes the environments that these commands made, and nothing else."""
    for folder in ROOT.glob(".venv*"):
        if (folder / MADE_BY).exists():
            say(f"removing {folder.name}")
            shutil.rmtree(folder)
    return 0


COMMANDS = {
    "lab": lab,
    "install": install,
    "test": test,
    "test-full": test_full,
    "pytest": only_pytest,
    "checks": checks,
    "browser-tests": tests_of_a_lane,
    "rank-tests": tests_of_a_lane,
    "run-tests": tests_of_a_lane,
    "property-tests": tests_of_a_lane,
    "other-tests": tests_of_a_lane,
    "browser-environments": browser_environments,
    "rank-environments": rank_environments,
    "bench": bench,
    "gpu": gpu,
    "gpu-wheels": gpu_wheels,
    "lint": lint,
    "format": format_code,
    "bundle": bundle,
    "docs": docs,
    "constraints": constraints,
    "clean": clean,
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS:
        print(__doc__, f"commands: {', '.join(COMMANDS)}", sep="\n", file=sys.stderr)
        return 2
    try:
        return COMMANDS[arguments[0]](arguments[1:])
    except SetupError as problem:
        say(str(problem))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
