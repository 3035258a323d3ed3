"""The parser of layout texts such as `<x_in=4, F, x_out>`: components fastest first, in `<…>`, `⟨…⟩` or without brackets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from isoviz.errors import LayoutError, NotationError, SpaceError, show
from isoviz.layouts.modes import FIELDS, Component, FieldsComponent, Part
from isoviz.layouts.spaces import check_dimension

_Refusal = Callable[[int, str, str], Exception]
"""A function from (position, problem, expected) to the exception to raise."""

_BRACKETS = {"<": ">", "⟨": "⟩"}
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"[0-9]+")
_RANK = re.compile(r"0|[1-9][0-9]{0,5}")
_DIGIT = re.compile(r"(?P<dim>.+)_(?P<label>in|out|\d+)")


@lru_cache(maxsize=1024)
def parse(text: str) -> tuple[Part, ...]:
    """The components of the layout that a text describes.

    Raises:
        NotationError: the text is not a layout. The message points at the invalid character and says what was expected.
    """
    return _Parser(text).layout()


def named_dimensions(text: str) -> list[tuple[str, int]]:
    """The dimensions that a text names, each with its position, as far as the text is names with commas between them.

    The text need not be a layout. `x_in=4` and `x` both name `x`; `F` names no dimension.
    """
    return _Parser(text).names()


def end_of(text: str) -> int:
    """The position at which a further component would stand: before the spaces and closing brackets at the end."""
    return len(text.rstrip().rstrip("".join(_BRACKETS.values())))


class _Parser:
    """One pass over the text; `at` is the position of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.close = ""
        self.found: list[tuple[Part, int]] = []

    def layout(self) -> tuple[Part, ...]:
        self._open()
        while True:
            self._skip()
            start = self.at
            self.found.append((self._component(), start))
            self._skip()
            if self._peek() != ",":
                break
            self.at += 1
        self._end()
        _check(self.found, lambda position, problem, expected: NotationError(self.text, position, problem, expected))
        return tuple(part for part, _ in self.found)

    def names(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        self._open()
        while True:
            self._skip()
            name = _NAME.match(self.text, self.at)
            if name is None:
                return found
            if name[0] != "F":
                digit = _DIGIT.fullmatch(name[0])
                found.append((name[0] if digit is None else digit["dim"], self.at))
            self.at = name.end()
            self._skip()
            if self._peek() == "=":
                self.at += 1
                self._skip()
                number = _NUMBER.match(self.text, self.at)
                self.at = self.at if number is None else number.end()
                self._skip()
            if self._peek() != ",":
                return found
            self.at += 1

    def _open(self) -> None:
        self._skip()
        if self._peek() in _BRACKETS:
            self.close = _BRACKETS[self._peek()]
            self.at += 1

    def _component(self) -> Part:
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise self._error(self._here(), "a component: F, a dimension such as x, or a digit such as x_in=4")
        start = self.at
        self.at = name.end()
        extent = self._extent()
        if name[0] == "F":
            if extent is not None:
                raise self._error("F takes no size", "F alone", start)
            return FIELDS
        digit = _DIGIT.fullmatch(name[0])
        if digit is None:
            if extent is not None:
                raise self._error(
                    f"{name[0]!r} is a whole dimension, whose size the index space gives",
                    f"'{name[0]}' alone, or the digits '{name[0]}_in={extent}' and '{name[0]}_out'",
                    start,
                )
            return Component(name[0])
        label = digit["label"]
        if label == "out" and extent is not None:
            raise self._error(f"{name[0]!r} follows from the size of {digit['dim']!r}", f"'{name[0]}' alone", start)
        if label == "in" and extent is None:
            raise self._error(f"{name[0]!r} has no block size", f"a size, such as '{name[0]}=4'", self.at)
        if label.isdigit() and not _RANK.fullmatch(label):
            raise self._error(
                f"{show(name[0])} does not number a digit", f"0, 1, … without leading zeros, such as '{digit['dim']}_0'", start
            )
        rank = {"in": 0, "out": 1}.get(label)
        return Component(digit["dim"], label, int(label) if rank is None else rank, extent)

    def _extent(self) -> int | None:
        mark = self.at
        self._skip()
        if self._peek() != "=":
            self.at = mark
            return None
        self.at += 1
        self._skip()
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise self._error(self._here(), "a block size of at least 1, such as 4")
        value = int(number[0]) if len(number[0]) < 20 else 2**63
        if not 1 <= value < 2**63:
            raise self._error(f"block size {number[0]} cannot be", "a block size of at least 1 and below 2^63")
        self.at = number.end()
        return value

    def _end(self) -> None:
        if self.close:
            if self._peek() != self.close:
                raise self._error(self._here(), f"',' or '{self.close}'")
            self.at += 1
            self._skip()
        if self.at < len(self.text):
            raise self._error(self._here(), "the end of the layout" if self.close else "',' or the end of the layout")

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _here(self) -> str:
        return f"found {self._peek()!r}" if self._peek() else "the text ends"

    def _error(self, problem: str, expected: str, position: int | None = None) -> NotationError:
        return NotationError(self.text, self.at if position is None else position, problem, expected)


def check_components(components: Sequence[Part]) -> None:
    """Check that components form a layout: `F` appears once, and the digits of every dimension cover it once.

    Raises:
        LayoutError: a component is missing, duplicated or not allowed.
    """
    text = f"<{', '.join(map(str, components))}>"
    for part in components:
        if not isinstance(part, Component | FieldsComponent):
            raise LayoutError(f"layout component {part!r}: expected FIELDS or a Component")
        if isinstance(part, Component):
            _check_component(part, text)
    _check(
        [(part, 0) for part in components],
        lambda _position, problem, expected: LayoutError(f"layout {text}: {problem}; expected {expected}"),
    )


def _check_component(part: Component, text: str) -> None:
    try:
        check_dimension(part.dim)
    except SpaceError as error:
        raise LayoutError(f"layout {text}: {error}") from None
    if part.rank != {"": 0, "in": 0, "out": 1}.get(part.label, int(part.label) if _RANK.fullmatch(part.label) else None):
        raise LayoutError(f"layout {text}: {part.name} as digit {part.rank}; expected {part.dim}, …_in, …_out or …_0, …_1, …")
    extent: object = part.extent
    if extent is None:
        return
    if isinstance(extent, bool) or not isinstance(extent, int) or not 1 <= extent < 2**63:
        raise LayoutError(f"layout {text}: {part.name}={show(extent)}; expected a block size of at least 1 and below 2^63")


def _check(found: list[tuple[Part, int]], error: _Refusal) -> None:
    """Check the rules for several components. `error(position, problem, expected)` returns the exception."""
    fields = [position for part, position in found if isinstance(part, FieldsComponent)]
    if len(fields) > 1:
        raise error(fields[1], "F appears twice", "F exactly once")
    by_dim: dict[str, list[tuple[Component, int]]] = {}
    seen: dict[str, int] = {}
    for part, position in found:
        if isinstance(part, Component):
            if part.name in seen:
                raise error(position, f"{part.name!r} appears twice", "every component once")
            seen[part.name] = position
            by_dim.setdefault(part.dim, []).append((part, position))
    for dim, parts in by_dim.items():
        _check_dimension(dim, parts, error)
    if not fields:
        end = found[-1][1] + len(str(found[-1][0])) if found else 0
        raise error(end, "F is missing", "F exactly once, also where there is one field")


def _check_dimension(dim: str, parts: list[tuple[Component, int]], error: _Refusal) -> None:
    labels = {part.label for part, _ in parts}
    last = parts[-1][1]
    if "" in labels and len(labels) > 1:
        raise error(last, f"{dim!r} appears whole and in digits", f"either '{dim}' or its digits")
    if labels == {"in"}:
        raise error(last, f"'{dim}_in' without '{dim}_out'", f"'{dim}_out' as well")
    if labels == {"out"}:
        raise error(last, f"'{dim}_out' without '{dim}_in'", f"'{dim}_in=…' as well")
    if labels & {"in", "out"} and labels - {"in", "out"}:
        raise error(last, f"{dim!r} mixes _in/_out with numbered digits", f"'{dim}_in', '{dim}_out' or '{dim}_0', '{dim}_1', …")
    ranks = sorted(part.rank for part, _ in parts)
    if ranks != list(range(len(ranks))):
        raise error(last, f"the digits of {dim!r} are numbered {ranks}", f"'{dim}_0' to '{dim}_{len(ranks) - 1}'")
    for part, position in parts:
        top = part.rank == len(parts) - 1
        if part.label and not top and part.extent is None:
            raise error(position, f"{part.name!r} has no extent", f"an extent, such as '{part.name}=4'")
        if top and part.extent is not None:
            raise error(position, f"{part.name!r} follows from the size of {dim!r}", f"'{part.name}' without an extent")
