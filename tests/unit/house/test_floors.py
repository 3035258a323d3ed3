"""The floors of the package hold for imports by name, too: no module of isoviz is named in code by a lower floor."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

from sources import PATHS, ROOT, nodes_of

LAYERS = next(
    contract["layers"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    if contract["name"].startswith("Floors")
)
FLOORS = {name.strip(): len(LAYERS) - k for k, layer in enumerate(LAYERS) for name in layer.split("|")}
"""The height of every floor: a higher number is a higher floor."""
BY_NAME = {"isoviz", "isoviz.widgets"}
"""Packages that load their names, and the command line its commands, where they are first used."""
NAMED = re.compile(r"\bisoviz\.([a-z_]+)\b")


def modules() -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    """Modules by name, with their nodes."""
    for path in PATHS:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name not in BY_NAME and not name.startswith("isoviz.cli."):
            yield name, nodes_of(path)


def texts(nodes: tuple[ast.AST, ...]) -> Iterator[ast.Constant]:
    """The texts in code: all but docstrings, which may speak of any floor."""
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said)


def test_no_module_of_isoviz_is_imported_by_name() -> None:
    found = []
    for module, nodes in modules():
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called not in ("import_module", "__import__", "find_spec", "resolve_name"):
                continue
            named = [text.value for argument in node.args for text in ast.walk(argument) if isinstance(text, ast.Constant)]
            if any(str(text).startswith("isoviz") for text in named):
                found.append(f"{module}, line {node.lineno}")
    assert found == []


def test_no_floor_names_a_higher_one_in_a_text() -> None:
    found = [
        f"{module}, line {text.lineno}: isoviz.{named}"
        for module, nodes in modules()
        for text in texts(nodes)
        for named in NAMED.findall(str(text.value))
        if FLOORS.get(named, 0) > FLOORS.get(module.split(".")[1], 0)
    ]
    assert found == []


def test_the_floors_are_read() -> None:
    assert FLOORS["cli"] > FLOORS["measure"] > FLOORS["machines"] > FLOORS["errors"]
    assert FLOORS["figures"] == FLOORS["conversion"]
