"""Answers that are numbers, texts, an order, a layout: how they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from isoviz.course.exercise import Given, Kind, NotAnAnswer
from isoviz.errors import TextError, show
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
from isoviz.units import format_bytes, parse_bytes, parse_rate, parse_seconds

LARGEST = 1e30
LONGEST_TEXT = 400
_SPELT_OUT = re.compile(r"(?<![A-Za-z])\s*bytes?$", re.IGNORECASE)
_FRACTION = re.compile(r"(?P<number>[0-9]+\.[0-9]+)\s*(?P<unit>[A-Za-z]*)")
_PER_CENT = re.compile(r"\s*(%|per\s?cent)$", re.IGNORECASE)
_TIMES = re.compile(r"(?<=[0-9])\s*[×x]$")
_POWER = re.compile(r"[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]{1,2}(?![0-9])")
_SIGNED = re.compile(r"\s*(?P<sign>[+-]?)\s*(?P<number>[^+\s-].*?)\s*\.?\s*")
"""A number with its unit, and the full stop of a sentence."""
_DIGITS = re.compile(r"[0-9][0-9.,_ ]*[0-9]")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?P<mark>[,_ ])[0-9]{3}((?P=mark)[0-9]{3})*(\.[0-9]+)?")
_DIVIDERS = (r"\s*;\s*|,\s+(?![^<>]*>)", r"\s*,\s*(?![^<>]*>)", r"\s+and\s+")
"""Between the parts of an answer: a comma in a layout, or in "1,296, 8", divides nothing."""
_BETWEEN_NAMES = re.compile(r"(?:[,;>→&\s]|\band\b)+")
_UNITS: dict[str, tuple[Callable[[str], float], str]] = {
    "B": (parse_bytes, "24 or '24 B'"),
    "s": (parse_seconds, "0.012 or '12 ms'"),
    "B/s": (parse_rate, "3e9 or '3 GB/s'"),
}


@dataclass(frozen=True)
class Number(Kind):
    """A number: itself, or its text with a unit. `what` names it in messages.

    `unit` is "B", "s", "B/s", "%" or "". Two numbers are the same where they differ by at most `relative` of the second, or
    by `absolute`.
    """

    what: str
    unit: str = ""
    whole: bool = False
    relative: float = 0.0
    absolute: float = 0.0
    least: float = -LARGEST
    most: float = LARGEST
    floors: bool = False  # a size that is computed is rounded down to whole bytes

    def read(self, answer: object, given: Given) -> float | int:  # noqa: ARG002  no number says how it is read
        """The number in bytes, seconds, bytes per second, per cent, or without a unit."""
        number = self._number(answer)
        if math.isnan(number):
            raise NotAnAnswer(f"expected {self._expected()}, got {show(answer)}")
        if abs(number) > LARGEST:
            raise NotAnAnswer(f"expected {self._expected()}; this number is too large")
        if number < self.least:
            raise NotAnAnswer(f"expected {self._expected()}: at least {self._told(self.least)}, got {show(answer)}")
        if number > self.most:
            raise NotAnAnswer(f"expected {self._expected()}: at most {self._told(self.most)}, got {show(answer)}")
        if not self.whole:
            return float(number)
        if number != int(number) and not self.floors:
            raise NotAnAnswer(f"expected {self._expected()}, got {show(answer)}")
        return int(number)

    def same(self, one: Any, other: Any) -> bool:
        """Whether they are as near as an answer has to be."""
        return bool(abs(one - other) <= max(self.relative * abs(other), self.absolute))

    def _number(self, answer: object) -> float | int:
        if isinstance(answer, bool | np.bool_):
            raise NotAnAnswer(f"expected {self._expected()}; True and False are no numbers")
        if isinstance(answer, int | np.integer):
            return int(answer) if abs(int(answer)) < LARGEST else math.inf
        if isinstance(answer, float | np.floating):
            return float(answer)
        if isinstance(answer, Decimal | Fraction):
            try:
                return float(answer)
            except (ValueError, OverflowError):
                raise NotAnAnswer(f"expected {self._expected()}; this number is none that a float can hold") from None
        if isinstance(answer, str):
            return self._parsed(str(answer))
        raise NotAnAnswer(f"expected {self._expected()}, got {show(answer)}")

    def _parsed(self, text: str) -> float:
        if len(text) > 60:
            raise NotAnAnswer(f"expected {self._expected()}, got a longer text")
        found = _SIGNED.fullmatch(text.replace("−", "-"))
        if found is None:
            raise NotAnAnswer(f"expected {self._expected()}, got {show(text)}")
        try:
            number = self._unsigned(_DIGITS.sub(self._without_marks, found["number"]))
        except TextError as error:  # it speaks of characters
            why = f": {error.problem}" if error.problem.endswith("is no unit") else ""
            raise NotAnAnswer(f"expected {self._expected()}, got {show(text)}{why}") from error
        return -number if found["sign"] == "-" else number

    def _unsigned(self, text: str) -> float:
        """The number in a text without a sign, as an error of a text where there is none."""
        if self.unit == "B":
            text = _SPELT_OUT.sub(" B", text)  # statements say "bytes"
            text = _POWER.sub(lambda found: f"{Decimal(found[0]):f}", text)
            fraction = None if self.whole and not self.floors else _FRACTION.fullmatch(text)
            if fraction is not None:  # a mean of runs, a run for a rate, a chunk: '426.1 KiB'
                return float(fraction["number"]) * parse_bytes(f"1{fraction['unit']}")
            return parse_bytes(text)  # says itself where it is no whole number of bytes
        try:
            if self.unit in _UNITS:
                return _UNITS[self.unit][0](text)
            ending = _PER_CENT if self.unit == "%" else _TIMES
            return float(text if self.whole else ending.sub("", text))
        except ValueError as error:
            raise TextError("number", text, 0, "no number", "a number") from error

    def _without_marks(self, found: re.Match[str]) -> str:
        """Digits without the marks of thousands. A comma anywhere else may mean a point, and is not guessed."""
        digits = found[0]
        if _THOUSANDS.fullmatch(digits):
            return re.sub("[,_ ]", "", digits)
        if re.search("[,_ ]", digits):
            raise NotAnAnswer(f"{show(digits)} can be read in two ways; write a point before decimals, such as 0.053, or 1,296")
        return digits

    def _told(self, bound: float) -> str:
        return format_bytes(bound) if self.unit == "B" else f"{bound:g}"

    def _expected(self) -> str:
        sort = "a whole number" if self.whole else "a number"
        example = _UNITS[self.unit][1] if self.unit in _UNITS else f"12 or '12 {self.unit}'" if self.unit else "12"
        return f"{self.what}, {sort} such as {example}"


def _listed(text: str, count: int) -> list[str]:
    """The parts of a tuple that was written as a text, such as "(6, 3)"; none where these are not as many."""
    text = _unenclosed(text)
    if len(text) > LONGEST_TEXT or _THOUSANDS.fullmatch(text):
        return []
    every = ([each.strip().strip("'\"") for each in re.split(divider, text)] for divider in _DIVIDERS)
    return next((parts for parts in every if len(parts) == count), [])


def _unenclosed(text: str) -> str:
    """What stands in the brackets of a text; all of it without them."""
    text = text.strip()
    return text[1:-1].strip() if text[:1] + text[-1:] in ("()", "[]") else text


def _bare(text: str) -> str:
    """A text as it is compared: without capitals, further spaces and the full stop of a sentence."""
    return " ".join(text.split()).removesuffix(".").rstrip().casefold()


@dataclass(frozen=True)
class Several(Kind):
    """Several answers by name: a dictionary, a sequence in the order of the names, or its text."""

    kinds: Mapping[str, Kind]

    def read(self, answer: object, given: Given) -> dict[str, Any]:
        """Each by its name."""
        names = list(self.kinds)
        if isinstance(answer, Mapping):
            parts: Mapping[Any, Any] = dict(answer)
        elif isinstance(answer, str) and (listed := _listed(answer, len(names))):
            parts = dict(zip(names, listed, strict=True))
        elif isinstance(answer, list | tuple) or (isinstance(answer, np.ndarray) and answer.ndim):
            if len(answer) != len(names):
                raise NotAnAnswer(f"expected {len(names)} parts ({', '.join(names)}), got {len(answer)}")
            parts = dict(zip(names, answer, strict=True))
        else:
            raise NotAnAnswer(f"expected ({', '.join(names)}), got {show(answer)}")
        if set(parts) != set(names):
            raise NotAnAnswer(f"expected the names {', '.join(names)}, got {', '.join(map(str, parts))[:80] or 'none'}")
        if any(parts[name] is ... for name in names):
            raise NotAnAnswer(f"expected all of {', '.join(names)}; one is still '...'")
        return {name: kind.read(parts[name], given) for name, kind in self.kinds.items()}

    def keep(self, read: Any) -> Any:
        """Each as its kind keeps it."""
        return {name: kind.keep(read[name]) for name, kind in self.kinds.items()}

    def again(self, kept: Any, given: Given) -> Any:
        """Each as its kind reads it again."""
        if not isinstance(kept, Mapping) or set(kept) != set(self.kinds):
            raise NotAnAnswer(f"expected the names {', '.join(self.kinds)}")
        return {name: kind.again(kept[name], given) for name, kind in self.kinds.items()}

    def same(self, one: Any, other: Any) -> bool:
        """Whether each part is the same."""
        return all(kind.same(one[name], other[name]) for name, kind in self.kinds.items())


@dataclass(frozen=True)
class Choice(Kind):
    """One of several options, by its text or by how many stand before it, counted from 1 as in the statement."""

    options: Callable[[Given], Sequence[str]]
    what: str = ""  # what the options are, where their texts stand without numbers in the statement

    def read(self, answer: object, given: Given) -> str:
        """The text of the option."""
        options = list(self.options(given))
        numbers = int | float | np.integer | np.floating
        if isinstance(answer, numbers) and not isinstance(answer, bool) and answer in range(1, len(options) + 1):
            return options[int(answer) - 1]
        if isinstance(answer, str):
            text = _bare(answer)
            found = [option for option in options if _bare(option) == text]
            if found:
                return found[0]
            if text.isdecimal() and 1 <= int(text[:9]) <= len(options):
                return options[int(text) - 1]
        if self.what and isinstance(answer, str):
            raise NotAnAnswer(f"there is no {self.what} {show(answer)}; expected {' or '.join(options)}")
        listed = "; ".join(f"{number} {option}" for number, option in enumerate(options, 1))
        raise NotAnAnswer(f"expected one of: {listed}; got {show(answer)}")


@dataclass(frozen=True)
class Order(Kind):
    """Items in an order: a list of their names, or a text such as "B, A", "B > A" or "BA".

    `size` says how many are asked for; all without it.
    """

    items: Callable[[Given], Sequence[str]]
    size: int | None = None
    sorted: bool = False  # whether the order of what is chosen says nothing

    def read(self, answer: object, given: Given) -> list[str]:
        """The names as they are written in the statement."""
        items = {each.casefold(): each for each in self.items(given)}
        size = len(items) if self.size is None else self.size
        parts = self._written(answer, list(items)) if isinstance(answer, str) else answer
        if self.sorted and isinstance(parts, set | frozenset):
            parts = list(parts)
        if not isinstance(parts, list | tuple) or not all(isinstance(each, str) for each in parts):
            example = ", ".join(list(items.values())[:size])
            raise NotAnAnswer(f"expected {size} of {', '.join(items.values())}, such as '{example}', got {show(answer)}")
        found = []
        for each in parts:
            name = items.get(each.strip().casefold())
            if name is None:
                raise NotAnAnswer(f"{show(each.strip())} is none of {', '.join(items.values())}")
            if name in found:
                raise NotAnAnswer(f"{name} stands there twice")
            found.append(name)
        if len(found) != size:
            raise NotAnAnswer(f"expected {size} of {', '.join(items.values())}, got {len(found)}")
        return sorted(found) if self.sorted else found

    def _written(self, text: str, items: list[str]) -> list[str]:
        """The names in a text. Where all are letters, nothing has to stand between them."""
        text = _bare(_unenclosed(text))
        if text.isalpha() and text not in items and all(len(each) == 1 for each in items) and set(text) <= set(items):
            return list(text)
        return [each.strip("'\"") for each in _BETWEEN_NAMES.split(text)]


def array_of(given: Given) -> tuple[IndexSpace, FieldSpace]:
    """The array of an exercise: `sizes` by dimension, and `fields` by name."""
    return IndexSpace(given["sizes"]), FieldSpace(given["fields"])


def linear_of(given: Given, layout: str | None = None) -> Linearization:
    """A layout on the array of an exercise; without one, that of the exercise."""
    return Layout(given["layout"] if layout is None else layout).on(*array_of(given))


@dataclass(frozen=True)
class LayoutAnswer(Kind):
    """A layout of the array that `array` says: a pane, an `isoviz.Layout`, or its text."""

    array: Callable[[Given], tuple[IndexSpace, FieldSpace]] = array_of

    def read(self, answer: object, given: Given) -> Linearization:
        """The layout on the array of the exercise. Of a pane, what is on screen once its last gesture is taken in."""
        space, fields = self.array(given)
        pane = _pane(answer)
        if pane is not None:
            linear = pane.linearization if pane.answer() is not None else None
            if not isinstance(linear, Linearization) or linear.space != space or linear.fields != fields:
                raise NotAnAnswer("the array of the pane was changed; expected the one of the exercise")
            return linear
        if isinstance(answer, Linearization):
            answer = answer.layout
        if not isinstance(answer, str | Layout):
            raise NotAnAnswer(f"expected the pane, a layout such as '<F, x>', or an isoviz.Layout, got {show(answer)}")
        if isinstance(answer, str) and len(answer) > LONGEST_TEXT:
            raise NotAnAnswer("expected a layout; this text is too long for one")
        return Layout(answer).on(space, fields)

    def keep(self, read: Any) -> Any:
        """The text of the layout."""
        return str(read.layout)

    def same(self, one: Any, other: Any) -> bool:
        """Whether every element lies at the same byte."""
        return bool(one.same_as(other))


def _pane(answer: object) -> Any:
    """The answer where it is a pane with a layout, else None. It loads no widgets: whoever has a pane has loaded them."""
    import sys

    views = sys.modules.get("isoviz.widgets.views.layout_views")
    return answer if views is not None and isinstance(answer, views.LayoutEditor | views.LinearizationView) else None
