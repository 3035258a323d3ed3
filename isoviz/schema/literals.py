"""Python literals in text of unknown origin: the headers of array files, and dtypes of structs.

`ast.literal_eval` builds a tree of a hundred bytes for each character, and cannot read what Python 2 and NumPy 2 wrote: `3L` and
`np.int64(3)`. This reader takes texts, whole numbers, True, False, None, tuples, lists and dictionaries, in linear time.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

_DEEPEST = 64
"""Levels of brackets: deeper nesting could exhaust the stack."""
_TOKEN = re.compile(
    r"\s*(?:[uU]?(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")|(?P<number>[-+]?[0-9]{1,20})[lL]?(?!\w)"
    r"|(?P<word>[A-Za-z_][\w.]*)|(?P<mark>[()\[\]{},:])|(?P<end>\Z))",
    re.DOTALL,
)
_WORDS = {"True": True, "False": False, "None": None, "np.True_": True, "np.False_": False}
_SCALAR = re.compile(r"(?:np|numpy)\.[a-z]+[0-9]*_?")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def parse_literal(text: str) -> Any:
    """The value of a Python literal. Nothing is evaluated.

    Raises:
        ValueError: the text is not such a literal; the message says where.
    """
    reader = _Reader(text)
    value = reader.value(0)
    if not reader.takes(""):
        raise reader.error("the end")
    return value


class _Reader:
    """The tokens of a text, from the first to the last."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._next()

    def _next(self) -> None:
        """Look at the next token."""
        self.start = self.at
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise self.error("a literal")
        assert found.lastgroup is not None
        self.kind, self.lexeme, self.at = found.lastgroup, found[found.lastgroup], found.end()

    def error(self, expected: str) -> ValueError:
        return ValueError(f"expected {expected} at character {self.start}, found {self.text[self.start :][:20]!r}")

    def takes(self, mark: str) -> bool:
        """Whether the next token is this mark, which then is passed; "" is the end of the text."""
        if self.kind not in ("mark", "end") or self.lexeme != mark:
            return False
        if mark:
            self._next()
        return True

    def value(self, depth: int) -> Any:
        kind, lexeme = self.kind, self.lexeme
        if kind == "mark" and lexeme in _CLOSING and depth < _DEEPEST:
            self._next()
            return self._dictionary(depth) if lexeme == "{" else self._sequence(lexeme, depth)
        if kind not in ("text", "number", "word"):
            raise self.error("a value")
        if kind == "word" and lexeme not in _WORDS and not _SCALAR.fullmatch(lexeme):
            raise self.error("a literal")
        self._next()
        if kind == "text":
            return _text(lexeme)
        if kind == "number":
            return int(lexeme)
        if lexeme in _WORDS:
            return _WORDS[lexeme]
        if not self.takes("("):  # The repr of a NumPy scalar, such as np.int64(3): its value stands in brackets.
            raise self.error("'('")
        value = self.value(depth + 1)
        if not self.takes(")"):
            raise self.error("')'")
        return value

    def _sequence(self, opening: str, depth: int) -> Any:
        found, closing, comma = [], _CLOSING[opening], True
        while not self.takes(closing):
            if not comma:
                raise self.error(f"',' or {closing!r}")
            found.append(self.value(depth + 1))
            comma = self.takes(",")
        if opening == "[":
            return found
        return found[0] if len(found) == 1 and not comma else tuple(found)

    def _dictionary(self, depth: int) -> dict[Any, Any]:
        found, comma = {}, True
        while not self.takes("}"):
            key = self.value(depth + 1) if comma and self.kind in ("text", "number") else None
            if key is None or not self.takes(":"):
                raise self.error("a key with ':'" if comma else "',' or '}'")
            found[key] = self.value(depth + 1)
            comma = self.takes(",")
        return found


def _text(lexeme: str) -> str:
    if "\\" not in lexeme:
        return lexeme[1:-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unknown escape stays as it is
        try:
            return str(ast.literal_eval(lexeme))
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"not a text: {lexeme[:20]}") from error
