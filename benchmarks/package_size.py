"""How large isoviz is, by package: `python -m benchmarks.package_size [COMMIT …]`, without a commit as the folder stands.

Lines of code are lines with code: no blanks, comments, docstrings and strings below constants. The size of the wheel is that of
all files of the package, compressed as a wheel is.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tokenize
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from isoviz.document import Cell, Document, Quantity, Section, Table

ROOT = Path(__file__).resolve().parents[1]
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING),
}
COLUMNS = ("modules", "lines of code", "functions", "classes", "isinstance", "constants")


def git(*arguments: str) -> bytes:
    """What git prints at the root of the repository."""
    program = shutil.which("git") or "git"
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603


def files_of(commit: str | None) -> Mapping[str, bytes]:
    """The files of the package by their paths: those of a commit, or those that git knows or would add."""
    if commit is not None:
        packed = git("archive", commit, "isoviz")
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            return {each.name: file.read() for each in tar if (file := tar.extractfile(each)) is not None}
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "isoviz")
    names = listed.decode().split("\0")
    return {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}


def lines_of_code(text: str) -> int:
    """Lines of a module that hold code."""
    prose = {line for each in _prose(ast.parse(text)) for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len({line for each in tokens if each.type not in NO_CODE for line in range(each.start[0], each.end[0] + 1)} - prose)


def _prose(tree: ast.AST) -> Iterator[ast.Expr]:
    """Strings that are statements: docstrings, and those below constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def counted(text: str) -> Counter[str]:
    """The figures of one module, by `COLUMNS`."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    names = [
        target.id
        for each in tree.body
        if isinstance(each, ast.Assign | ast.AnnAssign)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        if isinstance(target, ast.Name)
    ]
    return Counter(
        {
            "modules": 1,
            "lines of code": lines_of_code(text),
            "functions": sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in nodes),
            "classes": sum(isinstance(each, ast.ClassDef) for each in nodes),
            "isinstance": sum(
                isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "isinstance" for each in nodes
            ),
            "constants": sum(re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name) is not None for name in names),
        }
    )


def measured(files: Mapping[str, bytes]) -> tuple[dict[str, Counter[str]], int]:
    """The figures of every package, and bytes of the wheel."""
    packages: dict[str, Counter[str]] = {}
    for name, content in sorted(files.items()):
        if name.endswith(".py"):
            _, *folders, _ = name.split("/")
            packages.setdefault(folders[0] if folders else "isoviz itself", Counter()).update(counted(content.decode()))
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return packages, len(wheel.getvalue())


def section(title: str, files: Mapping[str, bytes]) -> Section:
    """The table of one version."""
    packages, wheel = measured(files)
    total = sum(packages.values(), Counter[str]())
    rows: list[list[Cell]] = [
        [name, *(Quantity(each[column], "count") for column in COLUMNS)] for name, each in [*packages.items(), ("all", total)]
    ]
    return Section(title, [Table(("package", *COLUMNS), rows, caption=f"The wheel has {wheel / 1e6:.2f} MB.")])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.package_size", description="How large isoviz is, by package.")
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="versions to count; without one, the folder as it stands")
    versions: list[str | None] = [*parser.parse_args(arguments).commits] or [None]
    document = Document("How large isoviz is", [section(each or "as it stands", files_of(each)) for each in versions])
    sys.stdout.write(f"{document}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
