"""A value in a document and its place, for documents whose value depends on more than their own members: plans, transfers.

Values and errors are those of `isoviz.schema.read`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from isoviz.errors import InputError, show
from isoviz.schema.json_text import parse
from isoviz.schema.reading import MismatchError, check_keys, check_known, child, errors_as, fail, mismatch, read

Value = TypeVar("Value")


@dataclass(frozen=True)
class Node:
    """A value inside a document together with its place, e.g. `paths[0].hops` (empty for the whole).

    Raises:
        MismatchError: in each method, if the value has another type.
    """

    value: Any
    path: str = ""

    def fail(self, problem: str) -> NoReturn:
        """Complains about this place."""
        fail(self.path, problem)

    def child(self, key: str) -> str:
        """The place of a part of this object."""
        return child(self.path, key)

    def read(self, kind: Any) -> Any:
        """The value, which is of a declared type."""
        return read(self.value, kind, place=self.path)

    def made(self, make: Callable[..., Value], *given: Any) -> Value:
        """The result of `make` for the given values, which are from this place. Its errors get this place."""
        try:
            return make(*given)
        except MismatchError:
            raise
        except InputError as error:
            self.fail(str(error).removeprefix(f"{self.path.rpartition('.')[2]}: "))

    def number(self) -> float:
        """A finite number of at least 0."""
        if mismatch(self.value, float) or self.value < 0:
            self.fail(f"expected a number of at least 0, got {show(self.value)}")
        return float(self.value)

    def table(self) -> Mapping[str, Any]:
        """The values of an object by key, as they stand there."""
        check_keys(self.value, self.path)
        table: Mapping[str, Any] = self.value
        return table

    def entries(self) -> list[tuple[str, Node]]:
        """The parts of an object, each with its key."""
        return [(key, Node(part, self.child(key))) for key, part in self.table().items()]

    def members(self, required: Sequence[str], optional: Sequence[str] = (), *, others: bool = False) -> dict[str, Node]:
        """The parts of an object that has all `required` keys. Besides these and the `optional` ones it has none, or, with
        `others`, any, which are left out."""
        table, known = self.table(), (*required, *optional)
        if not others:
            check_known(table, known, self.path)
        for key in required:
            if key not in table:
                self.fail(f"the key {key!r} is missing; expected {', '.join(required)}")
        return {key: Node(table[key], self.child(key)) for key in known if key in table}

    def items(self) -> list[Node]:
        """The parts of a list."""
        return [Node(part, f"{self.path}[{k}]") for k, part in enumerate(self.read(list))]

    def check_format(self, name: str) -> None:
        """Checks that an object has the `name` of its format under the key "format"."""
        given = self.members(("format",), others=True)["format"]
        if given.value != name:
            given.fail(f"expected {name!r}, got {show(given.value)}")


def read_document(given: Any, what: str, place: str, error: type[InputError], make: Callable[[Node], Value]) -> Value:
    """The result of `make` for a JSON document, given as a value or as its text.

    `what` names the document in errors about text that is not JSON, such as "a plan". `place` begins all other messages.

    Raises:
        InputError (or `error`): the document is invalid. The message names the place.
    """
    try:
        with errors_as(error):
            return make(Node(parse(given, what, error) if isinstance(given, str) else given, place))
    except error:
        raise
    except InputError as found:
        raise error(f"{place}: {found}") from None
    except RecursionError:
        raise error(f"{place}: nested too deeply") from None
