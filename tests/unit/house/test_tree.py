"""The tree of the package: small folders, types with names of their own, no circles, `__init__` without logic."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import networkx as nx
from sources import PATHS, ROOT, nodes_of, tree_of

MOST_MODULES = 16
"""Modules of a folder, its `__init__` not counted."""
LAZY = {"isoviz", "isoviz.figures", "isoviz.widgets"}
"""Packages whose `__init__` loads names where they are first used."""
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in PATHS}


def imported(module: str, nodes: Iterable[ast.AST]) -> set[str]:
    """The modules of isoviz that a module imports anywhere: at its top, inside functions, and for the type checker alone."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names if name.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for name in node.names:
                full = f"{node.module}.{name.name}"
                found.add(full if full in MODULES else node.module)
    return found - {module}


def test_no_module_imports_itself_in_a_circle() -> None:
    """Neither at the top, nor inside functions, nor for the type checker. `isoviz/__init__` loads its names late."""
    graph = nx.DiGraph()
    for module, path in MODULES.items():
        if module not in LAZY:
            graph.add_edges_from((module, other) for other in imported(module, nodes_of(path)) if other not in LAZY)
    circles = [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1]
    assert circles == []


def test_folders_are_small() -> None:
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in MODULES.values() if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def types_of(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """The public classes at the top of a module, and its aliases of types: `Rate = float | Sampled`, `Path = tuple[str, ...]`."""
    for node in nodes:
        name = ""
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        elif isinstance(node, ast.If):  # for the type checker alone
            yield from types_of(node.body)
        if re.match("[A-Z].*[a-z]", name):
            yield name


def test_types_are_found() -> None:
    lines = [
        "class A1b: ...",
        "Other = A1b | int",
        "if TYPE_CHECKING:",
        "    Path = tuple[str, ...]",
        "Like: TypeAlias = str | Path",
    ]
    others = ["MOST = TABLE[0]", "_Own = list[int]", "x = y[0]", "class _Small: ..."]
    assert [*types_of(ast.parse("\n".join(lines + others)).body)] == ["A1b", "Other", "Path", "Like"]


def test_public_types_have_names_of_their_own() -> None:
    """Classes and aliases, within a floor. Modules may share a name: their folders tell them apart."""
    places: dict[tuple[str, str], list[str]] = {}
    for module, path in MODULES.items():
        floor = module.split(".")[1] if "." in module else module
        for name in types_of(tree_of(path).body):
            places.setdefault((floor, name), []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_packages_hold_no_logic() -> None:
    """An `__init__` says what its package is, and which names it offers."""
    allowed = (ast.Import, ast.ImportFrom)
    with_logic = []
    for module, path in MODULES.items():
        if path.name != "__init__.py" or module in LAZY:
            continue
        for node in tree_of(path).body:
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            named = [getattr(target, "id", "") for target in node.targets] if isinstance(node, ast.Assign) else []
            if not (is_docstring or named in (["__all__"], ["EXERCISES"]) or isinstance(node, allowed)):
                with_logic.append(f"{module}: line {node.lineno}")
    assert with_logic == []
