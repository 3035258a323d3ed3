"""No order of the package depends on a set: sets of texts have another order in every process."""

from __future__ import annotations

import ast

from sources import PATHS, ROOT, tree_of

MAKERS = {"set", "frozenset"}
COMBINED = {"union", "intersection", "difference", "symmetric_difference"}
SETS = ("set", "frozenset", "AbstractSet")
ORDERED = {
    "list",
    "tuple",
    "iter",
    "next",
    "enumerate",
    "zip",
    "map",
    "filter",
    "fromkeys",
    "join",
    "extend",
    "chain",
    "sum",
    "fsum",
}
"""Calls whose result depends on the order of what they are given."""
ANY_ORDER = {"set", "frozenset", "sorted", "any", "all", "len", "min", "max", "update", "union", "isdisjoint", "issubset"}
"""Calls for which a generator may have any order."""


def is_set_type(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).strip("'\"").partition("[")[0] in SETS


class Sets(ast.NodeVisitor):
    """The places of one module where the order of a set is used, as far as its text says what is a set."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[int, str]] = []
        self.names: list[dict[str, bool]] = [{}]
        self.attributes: set[str] = set()
        self.functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and is_set_type(node.returns)}
        self.visit(tree)

    def is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name in MAKERS or name in self.functions
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in self.functions:
                return True
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                return name in COMBINED and self.is_set(value)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.Sub() | ast.BitXor(), right=right):
                return any(self.is_set(each) or ast.unparse(each).endswith((".keys()", ".items()")) for each in (left, right))
            case ast.Name(id=name):
                return next((scope[name] for scope in reversed(self.names) if name in scope), False)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return name in self.attributes
            case ast.IfExp(body=body, orelse=other):
                return self.is_set(body) or self.is_set(other)
        return False

    def use(self, node: ast.expr, where: ast.AST) -> None:
        if self.is_set(node):
            self.found.append((node.lineno, ast.unparse(where)))

    # ---- what is a set

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self.attributes = self.attributes, set()
        for each in ast.walk(node):
            if isinstance(each, ast.AnnAssign) and is_set_type(each.annotation):
                target = each.target
                self.attributes |= {target.attr} if isinstance(target, ast.Attribute) else set()
                self.attributes |= {target.id} if isinstance(target, ast.Name) and each in node.body else set()
            if isinstance(each, ast.Assign) and self.is_set(each.value):
                self.attributes |= {target.attr for target in each.targets if isinstance(target, ast.Attribute)}
            if isinstance(each, ast.FunctionDef) and is_set_type(each.returns):
                self.attributes |= {each.name} if any("property" in ast.unparse(how) for how in each.decorator_list) else set()
        self.generic_visit(node)
        self.attributes = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = [*node.args.args, *node.args.kwonlyargs]
        self.names.append({each.arg: is_set_type(each.annotation) for each in arguments})
        self.generic_visit(node)
        self.names.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # the name that `ast` asks for

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            self.names[-1].update({name.id: self.is_set(value) for name, value in pairs if isinstance(name, ast.Name)})

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.names[-1][node.target.id] = is_set_type(node.annotation)

    # ---- where its order is used

    def visit_For(self, node: ast.For) -> None:
        self.use(node.iter, node.iter)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp | ast.DictComp) -> None:
        for part in node.generators:
            self.use(part.iter, node)
        self.generic_visit(node)

    visit_DictComp = visit_ListComp  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        keyed = name in ("min", "max") and any(each.arg == "key" for each in node.keywords)
        for argument in node.args:
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            if name in ORDERED or keyed or (isinstance(argument, ast.Starred) and name not in ANY_ORDER):
                self.use(inner, node)
            if isinstance(inner, ast.GeneratorExp) and (name not in ANY_ORDER or keyed):
                for part in inner.generators:
                    self.use(part.iter, node)
        if name == "pop" and isinstance(node.func, ast.Attribute) and not node.args:
            self.use(node.func.value, node)
        self.generic_visit(node)

    def visit_List(self, node: ast.List | ast.Tuple) -> None:
        for each in node.elts:
            if isinstance(each, ast.Starred):
                self.use(each.value, node)
        self.generic_visit(node)

    visit_Tuple = visit_List  # noqa: N815


def uses(text: str) -> list[tuple[int, str]]:
    return Sets(ast.parse(text)).found


def test_no_module_uses_the_order_of_a_set() -> None:
    found = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in PATHS for line, text in Sets(tree_of(path)).found]
    assert not found, "\n".join(found)


def test_it_sees_a_set_whose_order_is_used() -> None:
    for text in (
        "stops = {name for name in names}\nfor name in stops: pass",
        "def f(names: frozenset[str]) -> list[str]: return [*names]",
        "first = next(iter(set(names)))",
        "class A:\n    def f(self): self.a = set()\n    def g(self): return dict.fromkeys(self.a)",
        "total = sum(x for x in set(xs))",
        "order = list(a.keys() & b.keys())",
    ):
        assert uses(text), text
    for text in ("sorted(set(names))", "all(x for x in set(xs))", "{x for x in set(xs)}", "for x in dict.fromkeys(xs): pass"):
        assert not uses(text), text
