"""All places that start a process, open a connection, unpickle, load code, or write, replace or remove a file.

The guide has a table of them, `docs/guide/security.md`, with what protects each one. A place that is not in the table fails this
test: first make it safe, then say in the table what protects it.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import ROOT, tree_of

GUIDE = ROOT / "docs/guide/security.md"
WRITING = re.compile("[wax+]")
"""Letters of a mode with which a file is opened for writing."""

CALLS = {
    "Processes": r"(?:subprocess|multiprocessing|pty)\.\w+|os\.(?:exec|spawn|posix_spawn)\w*|os\.(?:fork|forkpty|system|popen)",
    "Connections": r"socket\.(?:socket|socketpair|create_server|create_connection|fromfd)|urllib\.request\.\w+|http\.\w+\.\w+"
    r"|asyncio\.(?:open|start)_\w+|\w+\.create_(?:datagram_endpoint|unix_connection)",
    "Pickles": r"(?:pickle|marshal|cloudpickle|dill|shelve)\.(?:loads?|Unpickler|open)",
    "Code": r"eval|exec|compile|__import__|importlib\.(?:import_module|util\.module_from_spec)|runpy\.\w+"
    r"|.*\.(CDLL|PyDLL|LoadLibrary|RawModule|RawKernel|loadFile)|(?:entry|.*driver)\.load",
    "Files": r"os\.(?:replace|renames?|link|symlink|unlink|remove|rmdir|removedirs|truncate|chmod|chown|mkdir|makedirs)"
    r"|shutil\.(?:copy\w*|move|rmtree|make_archive|unpack_archive)|tempfile\.[mMNTS]\w+"
    r"|.*\.(?:write_text|write_bytes|unlink|rename|rmdir|symlink_to|hardlink_to|chmod|tofile|open_memmap)|(?:np|numpy)\.save\w*",
}
"""What is looked for, by the heading of the guide. A method counts by its name, whatever it belongs to."""
WORDS = (
    r"\b(?:subprocess|multiprocessing|os|pty|socket|urllib|http|asyncio|pickle|marshal|cloudpickle|dill|shelve|importlib|runpy|ctypes"
    r"|shutil|tempfile)\.|(?:open|load|loadFile|eval|exec|compile|replace|touch|tofile|unlink|rename|rmdir|chmod)\(|__import__|Library"
    r"|DLL|Raw|_to\(|memmap|write_|save|create_|allow_pickle|jit"
)
"""A module without any of these has no such call."""
KNOWN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in CALLS.items()))


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return "?"


def opens_for_writing(call: ast.Call, name: str) -> bool:
    """Whether a call opens a file for more than reading, or says only when it runs whether it does."""
    named = [each.value for each in call.keywords if each.arg in ("mode", "flags")]
    if name == "os.open":
        flags = ast.unparse([*call.args[1:2], *named][0])
        return not flags.startswith("os.O_RDONLY") or "os.O_CREAT" in flags
    if name in ("open", "os.fdopen", "io.open"):
        modes = [*call.args[1:2], *named]
    elif name.endswith(".memmap"):
        modes = named or [ast.Constant("r+")]
    elif name.endswith(".open"):  # of a path; other things that open take no mode
        modes = [each for each in call.args[:1] if isinstance(each, ast.Constant)] + named
    else:
        return False
    return any(not isinstance(mode, ast.Constant) or WRITING.search(str(mode.value)) for mode in modes)


def kind_of(call: ast.Call) -> str | None:
    """The heading of the guide that a call belongs to; None if it is of no kind that is looked for."""
    name = name_of(call.func)
    known = KNOWN.fullmatch(name)
    if known is not None:
        return known.lastgroup
    if name.endswith(".touch") and not call.args:  # that of a path
        return "Files"
    if name.endswith(".replace") and len(call.args) == 1 and not call.keywords:  # of a path; that of a text takes two
        return "Files"
    if any(each.arg == "allow_pickle" and getattr(each.value, "value", True) for each in call.keywords):
        return "Pickles"
    if any(each.arg == "cache" and getattr(each.value, "value", True) for each in call.keywords) and "jit" in name:
        return "Code"  # Numba loads what it has kept
    return "Files" if opens_for_writing(call, name) else None


def places(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The places of a module: a heading of the guide, and the function or class around the call (empty: none)."""

    def walk(node: ast.AST, around: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            inside = around
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{around}.{child.name}" if around else child.name
            elif isinstance(child, ast.Call) and (kind := kind_of(child)):
                yield kind, around
            yield from walk(child, inside)

    yield from walk(tree, "")


def modules(folder: str, words: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules below a folder that have some words in them, by their paths. To read all of them takes five times as long."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(words, text):
            yield path.relative_to(ROOT).as_posix(), tree_of(path)


@functools.cache
def found() -> set[tuple[str, str, str]]:
    """All places of the package: heading, module, function."""
    return {(kind, path, function or "(module)") for path, tree in modules("isoviz", WORDS) for kind, function in places(tree)}


def listed() -> set[tuple[str, str, str]]:
    """The places of the guide's tables."""
    rows = set()
    for section in re.split(r"(?m)^### ", GUIDE.read_text(encoding="utf-8").split("\n## Every place\n")[1]):
        for line in section.splitlines():
            if line.startswith("| `"):
                module, functions, protection = (cell.strip() for cell in line.strip("|\n").split(" | "))
                assert len(protection) > 10, line
                rows |= {(section.split("\n")[0], module.strip("` "), name) for name in re.findall(r"`([^`]+)`", functions)}
    return rows


def test_every_place_is_in_the_guide_with_what_protects_it() -> None:
    new = sorted(found() - listed())
    assert not new, (
        "places that start a process, open a connection, unpickle, load code, or write, replace or remove a file, and that are"
        f" not in the tables of {GUIDE.relative_to(ROOT)}: {new}. Whose is what it starts, reads or"
        " replaces (isoviz/whose.py)? May it widen a mode, follow a link, import from the working directory? Make"
        " it safe, then say in a row what protects it."
    )
    gone = sorted(listed() - found())
    assert not gone, f"places of {GUIDE.relative_to(ROOT)} that are no more: {gone}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import subprocess\ndef f():\n    subprocess.run(['x'])", {("Processes", "f")}),
        ("class A:\n    def g(self):\n        os.execv(a, b)\n        x.replace(y)\n", {("Processes", "A.g"), ("Files", "A.g")}),
        ("text.replace('a', 'b'); replace(value, a=1); open(x); path.open('rb'); os.open(x, os.O_RDONLY | os.O_CLOEXEC)", set()),
        ("path.open('ab')", {("Files", "")}),
        ("open(x, mode=how)", {("Files", "")}),
        ("os.open(x, flags)", {("Files", "")}),
        ("np.memmap(x, mode='r'); ends.open(array)", set()),
        ("def f():\n    def g():\n        pickle.loads(x)", {("Pickles", "f.g")}),
        ("np.load(x, allow_pickle=True)", {("Pickles", "")}),
        ("exec(x); socket.create_server(a)", {("Code", ""), ("Connections", "")}),
        ("njit(cache=True)(f)", {("Code", "")}),
    ],
)
def test_what_counts_as_a_place(source: str, expected: set[tuple[str, str]]) -> None:
    assert set(places(ast.parse(source))) == expected


# ---- rules that need no table


def test_every_python_that_is_started_leaves_out_the_working_directory() -> None:
    """`python -m` and `python -c` import from the working directory unless `-P` or `-I` says otherwise."""
    wrong = []
    for path, tree in (
        each for folder in ("isoviz", ".ci", "benchmarks", "examples") for each in modules(folder, "['\"]-[mc]['\"]")
    ):
        for node in ast.walk(tree):
            if not isinstance(node, ast.List | ast.Tuple | ast.Call):
                continue
            words = node.args if isinstance(node, ast.Call) else node.elts
            texts = [word.value if isinstance(word, ast.Constant) else None for word in words]
            for switch in ("-m", "-c"):
                python = texts[: texts.index(switch)] if switch in texts else []
                if python and not {"-P", "-I"} & set(python) and texts[0] not in ("sh", "pytest", "-m", "-c"):
                    wrong.append(f"{path}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert wrong == []


def test_commands_of_documents_leave_out_the_working_directory() -> None:
    """Where they name a module of isoviz, or start ranks."""
    wrong = []
    for path in _documents():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"python3? -m isoviz|(mpiexec|mpirun|srun)\b[^`\n]*\bpython3? (?!-P)", line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert wrong == []


def test_nothing_says_that_isoviz_is_installed_by_its_name() -> None:
    """What has the name on a package index is not known to come from here."""
    by_name = re.compile(
        r"(pip|uv|conda|pipx)3? (install|add|download) (--?\S+ |'\S+' )*['\"]?isoviz(?![\w/….-])"
        r"|['\"]isoviz\[|^\s*dependencies = \[[^\]]*['\"]isoviz['\"]"
    )
    assert (
        by_name.search("pip install isoviz") and by_name.search("pip install 'isoviz[mpi]'") and by_name.search("uv add isoviz")
    )
    assert not by_name.search("pip install 'isoviz-….whl[mpi]' with the path of the wheel of isoviz")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in _documents()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if by_name.search(line)
    ]
    assert wrong == []


def _documents() -> list[Path]:
    """What people read: documents, notebooks, sources with their docstrings and messages of both halves."""
    kinds = {".md", ".ipynb", ".py", ".ts", ".tsx", ".toml"}
    folders = ("isoviz", ".ci", "docs", "notebooks", "examples", "benchmarks", "widgets/src")
    below = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in kinds and path.is_file()]
    return [
        *(
            path
            for path in below
            if "_build" not in path.parts and "node_modules" not in path.parts and path.name != "_CHANGELOG.md"
        ),
        *(path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"),
    ]
