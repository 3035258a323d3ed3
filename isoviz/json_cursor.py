"""JSON and TOML from outside: every complaint is one line that names the place (`channels[3].throughput.samples[2]`).

Machine files, plans, transfer files and kept measurements are read through the cursor here, `Node`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from isoviz import checks
from isoviz.errors import InputError, MachineError
from isoviz.units import parse_bytes

T = TypeVar("T")


class Repeated(dict[str, Any]):
    """A JSON object in which a key stood twice; which of the two was meant cannot be known."""

    key: str = ""


@dataclass(frozen=True)
class Document:
    """What a cursor reads: `what` it should be, the `error` to raise where it is not, the `title` that begins every complaint
    (empty for none), and what the format calls an `object`."""

    what: str
    error: type[InputError]
    title: str = ""
    object: str = "an object"


MACHINE = Document("a description of a machine", MachineError)
"""A machine file, or a part of one."""


def parse(text: str, document: Document = MACHINE) -> Any:
    """The value of a JSON text. What JSON does not allow, or nobody can mean, is kept visible for the checks that follow.

    Raises:
        InputError: the document's error: not JSON, nested too deeply, or a number of thousands of digits.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise document.error(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise document.error(f"not {document.what}: nested too deeply") from None
    except ValueError:
        raise document.error(f"not {document.what}: it holds a number of thousands of digits") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    repeated = Repeated(result)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            repeated.key = key
            break
        seen.add(key)
    return repeated


@dataclass(frozen=True)
class Node:
    """A value inside a document together with its place, e.g. `memories[0].capacity` (empty for the whole)."""

    value: Any
    path: str = ""
    document: Document = MACHINE

    def fail(self, problem: str) -> NoReturn:
        """Complains about this place.

        Raises:
            InputError: always, as the document's error.
        """
        raise self.document.error(": ".join(part for part in (self.document.title, self.path, problem) if part))

    def child(self, key: str) -> str:
        """The place of a part of this object."""
        return f"{self.path}.{key}" if self.path else key

    # ---- objects and lists

    def table(self) -> Mapping[str, Any]:
        """The values of an object by key, as they stand there."""
        value = self.value
        if not isinstance(value, Mapping):
            self.fail(f"expected {self.document.object}, got {checks.show(value)}")
        if isinstance(value, Repeated):
            self.fail(f"the key {checks.show(value.key)} stands twice")
        for key in value:
            if not isinstance(key, str):
                self.fail(f"expected text as key, got {checks.show(key)}")
        return value

    def members(self, required: Sequence[str], optional: Sequence[str] = (), *, others: bool = False) -> dict[str, Node]:
        """The parts of an object that has all `required` keys. Besides these and the `optional` ones it has none, or, with
        `others`, any, which are left out."""
        value = self.table()
        known = (*required, *optional)
        for key in value:
            if key not in known and not others:
                close = get_close_matches(key[:80], known, n=1)
                hint = f"did you mean {close[0]!r}? Known are" if close else "known are"
                self.fail(f"unknown key {checks.show(key)}; {hint} {', '.join(known)}")
        for key in required:
            if key not in value:
                self.fail(f"the key '{key}' is missing; expected {', '.join(required)}")
        return {key: Node(value[key], self.child(key), self.document) for key in known if key in value}

    def items(self) -> list[Node]:
        """The parts of a list."""
        if not isinstance(self.value, list | tuple):
            self.fail(f"expected a list, got {checks.show(self.value)}")
        return [Node(part, f"{self.path}[{k}]", self.document) for k, part in enumerate(self.value)]

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        """The text under `key` of an object, one of those `allowed`."""
        table = self.table()
        if key not in table:
            self.fail(f"the key '{key}' is missing; expected one of {', '.join(allowed)}")
        value = table[key]
        if not isinstance(value, str) or value not in allowed:
            problem = f"expected one of {', '.join(allowed)}, got {checks.show(value)}"
            Node(value, self.child(key), self.document).fail(problem)
        return value

    # ---- values

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.fail(f"expected text, got {checks.show(self.value)}")
        return self.value

    def whole(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"expected a whole number, got {checks.show(self.value)}")
        return self.value

    def number(self) -> float:
        """A finite number of at least 0."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
            self.fail(f"expected a number of at least 0, got {checks.show(value)}")
        return float(value)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.fail(f"expected true or false, got {checks.show(self.value)}")
        return self.value

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
            Node(None, self.child(error.field), self.document).fail(error.problem)


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
