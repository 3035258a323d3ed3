"""The reader of JSON and TOML from outside: places in complaints, the error of each kind of document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from isoviz import checks
from isoviz.errors import InputError, MachineError, TransferError
from isoviz.json_cursor import Document, Node, format_json, parse

PLAN = Document("a plan", TransferError, title="plan 'p.json'")


def test_each_document_has_its_own_error_and_title() -> None:
    with pytest.raises(MachineError, match=r"^a: expected text, got 3$"):
        Node(3, "a").text()
    with pytest.raises(TransferError, match=r"^plan 'p.json': a\[1\]\.b: expected text, got 3$"):
        Node([0, {"b": 3}], "a", PLAN).items()[1].members(("b",))["b"].text()
    with pytest.raises(TransferError, match=r"^plan 'p.json': expected an object, got a list$"):
        Node([], document=PLAN).table()
    with pytest.raises(TransferError, match="not a plan: nested too deeply"):
        parse("[" * 200_000, PLAN)
    with pytest.raises(InputError, match=r"t\.toml: expected a table, got 3"):
        Node(3, document=Document("a transfer", InputError, "t.toml", object="a table")).table()


COMPLAINTS: list[tuple[Callable[[Node], object], Any, str]] = [
    (lambda node: node.members(("a",)), {}, "the key 'a' is missing; expected a"),
    (lambda node: node.members(("colour",)), {"color": 1}, "unknown key 'color'; did you mean 'colour'? Known are colour"),
    (lambda node: node.members(("a",), ("b",)), {"a": 1, "zzz": 1}, "unknown key 'zzz'; known are a, b"),
    (lambda node: node.table(), {3: 1}, "expected text as key, got 3"),
    (lambda node: node.table(), parse('{"a": 1, "a": 2}'), "the key 'a' stands twice"),
    (lambda node: node.choice("a", ("x", "y")), {"a": "z"}, "a: expected one of x, y, got 'z'"),
    (lambda node: node.choice("a", ("x", "y")), {}, "the key 'a' is missing; expected one of x, y"),
    (lambda node: node.items(), "ab", "expected a list, got 'ab'"),
    (lambda node: node.whole(), True, "expected a whole number, got True"),
    (lambda node: node.whole(), 1.0, "expected a whole number, got 1.0"),
    (lambda node: node.number(), float("nan"), "expected a number of at least 0, got nan"),
    (lambda node: node.number(), -1, "expected a number of at least 0, got -1"),
    (lambda node: node.number(), 10**400, "expected a number of at least 0"),
    (lambda node: node.flag(), 1, "expected true or false, got 1"),
    (lambda node: node.size(), "9" * 50, "expected a size such as '48GiB'"),
    (lambda node: node.build(lambda: checks.whole("thing", "a", -1)), {}, "a: expected a whole number from 0"),
]


@pytest.mark.parametrize(("read", "value", "problem"), COMPLAINTS)
def test_complaints_name_the_place_and_what_would_be_right(read: Callable[[Node], object], value: Any, problem: str) -> None:
    with pytest.raises(TransferError) as caught:
        read(Node(value, document=PLAN))
    assert str(caught.value).startswith(f"plan 'p.json': {problem}")
    with pytest.raises(MachineError) as caught:
        read(Node(value, "here"))
    assert problem in str(caught.value)
    assert str(caught.value).startswith("here")


def test_what_is_right_is_given_back() -> None:
    node = Node({"a": "x", "b": 3, "c": [1.5, False], "more": None})
    parts = node.members(("a", "b"), ("c", "d"), others=True)
    assert list(parts) == ["a", "b", "c"]
    assert (parts["a"].text(), parts["b"].whole(), parts["b"].number()) == ("x", 3, 3.0)
    number, flag = parts["c"].items()
    assert (number.number(), flag.flag(), flag.path) == (1.5, False, "c[1]")
    assert (Node("2KiB").size(), Node(None).size(), node.choice("a", ("x",))) == (2048, None, "x")


def test_json_for_people_reads_back() -> None:
    value = {"a": [[1, 2], [3, 4]], "b": {"c": [{"d": "é\ud800"}], "e": {}}, "f": []}
    assert parse(format_json(value)) == value
    assert '"a": [[1, 2], [3, 4]]' in format_json(value)
