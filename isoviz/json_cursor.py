"""JSON that somebody else wrote: every complaint is one line that names the place (`channels[3].throughput.samples[2]`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from isoviz import checks
from isoviz.errors import InputError, MachineError
from isoviz.units import parse_bytes

T = TypeVar("T")


class _Repeated(dict[str, Any]):
    """A JSON object in which a key stood twice; which of the two was meant cannot be known."""

    key: str = ""


def parse(text: str) -> Any:
    """The value of a JSON text. What JSON does not allow, or nobody can mean, is kept visible for the checks that follow.

    Raises:
        MachineError: not JSON, nested too deeply, or a number of thousands of digits.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise MachineError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise MachineError("not a description of a machine: nested too deeply") from None
    except ValueError:
        raise MachineError("not a description of a machine: it holds a number of thousands of digits") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    repeated = _Repeated(result)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            repeated.key = key
            break
        seen.add(key)
    return repeated


@dataclass(frozen=True)
class Node:
    """A value inside a JSON document together with its place, e.g. `memories[0].capacity` (empty for the whole)."""

    value: Any
    path: str = ""

    def fail(self, problem: str) -> NoReturn:
        """Complains about this place."""
        raise MachineError(f"{self.path}: {problem}" if self.path else problem)

    def child(self, key: str) -> str:
        """The place of a part of this object."""
        return f"{self.path}.{key}" if self.path else key

    def members(self, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Node]:
        """The parts of an object that has all `required` keys and no keys but these and the `optional` ones."""
        value = self.value
        if not isinstance(value, Mapping):
            self.fail(f"expected an object, got {checks.show(value)}")
        if isinstance(value, _Repeated):
            self.fail(f"the key {checks.show(value.key)} stands twice")
        for key in required:
            if key not in value:
                self.fail(f"the key '{key}' is missing; expected {', '.join(required)}")
        known = (*required, *optional)
        for key in value:
            if key not in known:
                self.fail(f"unknown key {checks.show(key)}; known are {', '.join(known)}")
        return {key: Node(value[key], self.child(key)) for key in known if key in value}

    def items(self) -> list[Node]:
        """The parts of a list."""
        if not isinstance(self.value, list | tuple):
            self.fail(f"expected a list, got {checks.show(self.value)}")
        return [Node(part, f"{self.path}[{k}]") for k, part in enumerate(self.value)]

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        """The text under `key` of an object, one of those `allowed`."""
        if not isinstance(self.value, Mapping):
            self.fail(f"expected an object, got {checks.show(self.value)}")
        if isinstance(self.value, _Repeated):
            self.fail(f"the key {checks.show(self.value.key)} stands twice")
        if key not in self.value:
            self.fail(f"the key '{key}' is missing; expected one of {', '.join(allowed)}")
        value = self.value[key]
        if not isinstance(value, str) or value not in allowed:
            Node(value, self.child(key)).fail(f"expected one of {', '.join(allowed)}, got {checks.show(value)}")
        return value

    def size(self) -> Any:
        """A size for people to write: a number of bytes, `"48GiB"`, or null."""
        if not isinstance(self.value, str):
            return self.value
        if len(self.value) > 40:
            self.fail(f"expected a size such as '48GiB', got {checks.show(self.value)}")
        try:
            return parse_bytes(self.value)
        except InputError as error:
            self.fail(str(error))

    def build(self, make: Callable[[], T]) -> T:
        """`make()`, whose complaint about a field is given this place."""
        try:
            return make()
        except checks.FieldError as error:
            raise MachineError(f"{self.child(error.field)}: {error.problem}") from None


def format_json(value: Any, indent: str = "") -> str:
    """JSON for people to read and compare: objects over several lines, lists of numbers and of pairs on one."""
    inner = indent + "  "
    if isinstance(value, dict) and value and not _is_flat(value.values()):
        parts = [f"{inner}{json.dumps(key)}: {format_json(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list) and value and any(isinstance(part, dict) for part in value):
        return "[\n" + ",\n".join(inner + format_json(part, inner) for part in value) + f"\n{indent}]"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Names of files may be no text. JSON can say such bytes, UTF-8 cannot.
    return text if text.isascii() or _is_text(text) else json.dumps(value, allow_nan=False)


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_flat(parts: Any) -> bool:
    return not any(isinstance(part, dict | list) for part in parts)
