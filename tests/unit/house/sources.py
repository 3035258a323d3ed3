"""The modules of the package as trees. Several tests look at all of them, and to parse and walk them takes seconds."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATHS = tuple(sorted((ROOT / "isoviz").rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    gc.freeze()  # the garbage collector would walk it again and again
    return tree


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module, outer ones first."""
    return tuple(ast.walk(tree_of(path)))
