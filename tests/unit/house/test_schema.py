"""What crosses a border: declarations read and written, places in complaints, JSON for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from isoviz import checks
from isoviz.errors import InputError, MachineError, TransferError
from isoviz.schema import (
    BY_NAME,
    As,
    Call,
    MismatchError,
    Named,
    Node,
    call_type,
    errors_as,
    format_json,
    member,
    named,
    parse,
    plain,
    read,
)


@dataclass(frozen=True)
class Part:
    full_name: str
    size: int = member(0, by_name=As(read=lambda size: 1024 if size == "1KiB" else size))
    marks: tuple[int, ...] = member((), brief=True)

    def __post_init__(self) -> None:
        checks.whole("part", "size", self.size)


@dataclass(frozen=True)
class File:
    parts: tuple[Part, ...]
    twice: float = 0.0

    def build(self) -> list[str]:
        for k, part in enumerate(self.parts):
            if not part.full_name:
                raise checks.FieldError("file", f"parts[{k}].full_name", "expected a name, got nothing")
        return [part.full_name for part in self.parts]


def test_files_have_the_names_of_python_and_leave_out_what_is_brief() -> None:
    assert plain(Part("a"), BY_NAME) == {"full_name": "a", "size": 0}
    assert plain(Part("a", 3, (1,)), BY_NAME) == {"full_name": "a", "size": 3, "marks": [1]}
    assert plain(Part("a")) == {"fullName": "a", "size": 0}
    assert read({"full_name": "a", "size": "1KiB"}, Part, BY_NAME) == Part("a", 1024)


def test_a_class_with_build_stands_for_what_it_makes() -> None:
    assert read({"parts": [{"full_name": "a"}, {"full_name": "b"}]}, File, BY_NAME) == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "f: top: expected a table, got a list"),
        ({}, "f: top: the key 'parts' is missing; expected a list"),
        ({"part": []}, "f: top: unknown key 'part'; did you mean 'parts'? Known are parts, twice"),
        ({"parts": 3}, "f: top.parts: expected a list, got 3"),
        ({"parts": [{"full_name": "a", "size": -1}]}, "f: top.parts[0].size: expected a whole number from 0"),
        ({"parts": [{"full_name": ""}]}, "f: top.parts[0].full_name: expected a name"),
        ({"parts": [{"full_name": "a", "marks": None}]}, "f: top.parts[0].marks: expected a list, got None"),
        (parse('{"parts": [], "parts": []}'), "f: top: the key 'parts' stands twice"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_as_the_error_of_the_document(value: Any, problem: str) -> None:
    with pytest.raises(TransferError) as caught, errors_as(TransferError, "top", "f", "a table"):
        read(value, File, BY_NAME)
    assert str(caught.value).startswith(problem)


def moved(part: Part, /, place: str, *, by_how_much: int, kind: str, quickly: bool = False) -> tuple[object, ...]:
    """Move a part.

    Raises:
        InputError: never.
    """
    return part, place, by_how_much, kind, quickly


def test_a_function_is_called_from_a_document() -> None:
    kind = call_type(moved, "kind", ("move", "push"), Call)
    assert (kind.__name__, kind.__doc__) == ("Moved", "Move a part.")
    call = read({"kind": "push", "place": "here", "byHowMuch": 3}, kind)
    assert call.arguments == {"place": "here", "by_how_much": 3, "kind": "push", "quickly": False}
    assert call(part=Part("a"), whole="what it has no parameter for") == (Part("a"), "here", 3, "push", False)
    assert plain(call) == {"kind": "push", "place": "here", "byHowMuch": 3, "quickly": False}
    with pytest.raises(MismatchError, match="the key 'byHowMuch' is missing; expected a whole number"):
        read({"kind": "move", "place": "here"}, kind)
    with pytest.raises(MismatchError, match="unknown key 'part'; known are kind, place, byHowMuch, quickly"):
        read({"kind": "move", "place": "here", "byHowMuch": 3, "part": {}}, kind)
    with pytest.raises(MismatchError, match="kind: expected 'move' or 'push', got 'pull'"):
        read({"kind": "pull"}, kind)


COMPLAINTS: list[tuple[Callable[[Node], object], Any, str]] = [
    (lambda node: node.members(("a",)), {}, "the key 'a' is missing; expected a"),
    (lambda node: node.members(("colour",)), {"color": 1}, "unknown key 'color'; did you mean 'colour'? Known are colour"),
    (lambda node: node.members(("a",), ("b",)), {"a": 1, "zzz": 1}, "unknown key 'zzz'; known are a, b"),
    (lambda node: node.table(), {3: 1}, "expected texts as keys, got 3"),
    (lambda node: node.table(), parse('{"a": 1, "a": 2}'), "the key 'a' stands twice"),
    (lambda node: node.check_format("x"), {"format": "z"}, "format: expected 'x', got 'z'"),
    (lambda node: node.check_format("x"), {}, "the key 'format' is missing"),
    (lambda node: node.items(), "ab", "expected a list, got 'ab'"),
    (lambda node: node.items()[1].read(str), [0, 3], "[1]: expected a text, got 3"),
    (lambda node: node.read(int), True, "expected a whole number, got True"),
    (lambda node: node.number(), float("nan"), "expected a number of at least 0, got nan"),
    (lambda node: node.number(), -1, "expected a number of at least 0, got -1"),
    (lambda node: node.number(), 10**400, "expected a number of at least 0"),
]


@pytest.mark.parametrize(("check", "value", "problem"), COMPLAINTS)
def test_a_node_names_its_place(check: Callable[[Node], object], value: Any, problem: str) -> None:
    with pytest.raises(MismatchError) as caught:
        check(Node(value, "here"))
    assert str(caught.value).removeprefix("here").lstrip(".: ").startswith(problem)


def test_the_parts_of_a_node_are_given_back() -> None:
    parts = Node({"a": "x", "b": 3, "c": [1.5], "more": None}).members(("a", "b"), ("c", "d"), others=True)
    assert list(parts) == ["a", "b", "c"]
    assert (parts["a"].read(str), parts["b"].read(int), parts["b"].number()) == ("x", 3, 3.0)
    assert [(item.number(), item.path) for item in parts["c"].items()] == [(1.5, "c[0]")]


def test_text_that_is_no_json_is_the_error_of_its_document() -> None:
    with pytest.raises(TransferError, match="not a plan: nested too deeply"):
        parse("[" * 200_000, "a plan", TransferError)
    with pytest.raises(MachineError, match=r"not JSON: .* at line 1, column 2"):
        parse("{")
    with pytest.raises(InputError, match="thousands of digits"):
        parse("1" * 5000)


def test_json_for_people_reads_back() -> None:
    value = {"a": [[1, 2], [3, 4]], "b": {"c": [{"d": "é\ud800"}], "e": {}}, "f": []}
    assert parse(format_json(value)) == value
    assert '"a": [[1, 2], [3, 4]]' in format_json(value)


def test_pairs_have_a_type_for_each_of_both() -> None:
    assert read([["__proto__", 1], ["x", 2.5]], Named[float]) == [("__proto__", 1), ("x", 2.5)]
    assert named({"toString": 1}) == [("toString", 1)]
    for wrong, problem in (
        ([["x", "1"]], r"\[0\]\[1\]: expected a number"),
        ([["x", 1, 2]], r"\[0\]: expected a list of 2"),
        ([[1, 1]], r"\[0\]\[0\]: expected a text"),
        ({"x": 1}, "expected a list"),
    ):
        with pytest.raises(MismatchError, match=problem):
            read(wrong, Named[float])
