"""Checks that constructors share, with one form of error.

Each value is checked where it is made, by the name of its field. A `FieldError` keeps that name, so that a reader of a file can
name the place in the file (`channels[3].throughput.samples[2]`).
"""

from __future__ import annotations

import math
import numbers
import operator
import signal
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from typing import Any

from isoviz.errors import InputError, IsovizError, MachineError, in_words
from isoviz.errors import show as show

BYTES_LIMIT = 2**63 - 1
"""The largest size in bytes that any part of isoviz handles."""

NAME_LIMIT = 200
"""The longest name or remark, in characters."""

PATH_LIMIT = 4096
"""The longest path, in characters."""


class FieldError(MachineError):
    """One field of a value is wrong: `owner` names the value, `field` the field, `problem` says what is wrong."""

    def __init__(self, owner: str, field: str, problem: str) -> None:
        self.owner = owner
        self.field = field
        self.problem = problem
        super().__init__(f"{owner}, {field}: {problem}")

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str, str]]:
        return type(self), (self.owner, self.field, self.problem)


def expect(call: str, value: object, kind: type | tuple[type, ...], words: str) -> None:
    """Check that an argument of a call has a type; `words` name what it should be: "a machine".

    Raises:
        InputError: it has another type.
    """
    if not isinstance(value, kind):
        raise InputError(f"{call}: expected {words}, got {show(value)}")


def expect_call(call: str, value: object, words: str, *, may_be_class: bool = False) -> None:
    """Check that an argument of a call can be called; `words` name what it should be: "a scheduling policy".

    Raises:
        InputError: it cannot, or is a class where none is meant.
    """
    if not callable(value) or (isinstance(value, type) and not may_be_class):
        raise InputError(f"{call}: expected {words}, got {show(value)}")


def expect_token(call: str, value: object) -> None:
    """Check that an argument of a call is a token of cancellation or None.

    Raises:
        InputError: it has no method `is_set`.
    """
    if value is not None and not callable(getattr(value, "is_set", None)):
        raise InputError(f"{call}, cancel: expected an object with is_set(), such as a threading.Event, got {show(value)}")


def count(
    call: str, name: str, value: object, *, low: int = 0, high: int = BYTES_LIMIT, error: type[InputError] = InputError
) -> int:
    """The argument `name` of a call as an int in `[low, high]`.

    Raises:
        InputError: it is none; as `error`.
    """
    if type(value) is int and low <= value <= high:
        return value
    try:
        return whole(call, name, value, low=low, high=high)
    except FieldError as found:
        raise error(str(found)) from None


def amount(call: str, name: str, value: object, *, low: float = 0.0, high: float = math.inf, open_low: bool = False) -> float:
    """The argument `name` of a call as a finite float in `[low, high]`, or in `(low, high]` where `open_low`.

    Raises:
        InputError: it is none.
    """
    try:
        return number(call, name, value, low=low, high=high, open_low=open_low)
    except FieldError as found:
        raise InputError(str(found)) from None


def timeout(value: object) -> float | None:
    """The longest time to wait that a caller gave, in seconds: None for ever, below 0 as 0.

    Raises:
        InputError: it is not such a number.
    """
    if value is None:
        return None
    return max(0.0, amount("wait", "timeout", value, low=-math.inf, high=threading.TIMEOUT_MAX))


def tell(call: str, callback: Callable[[Any], object], news: object) -> None:
    """Call a function of the caller that hears of progress.

    Raises:
        InputError: it raised an error. Errors of isoviz, such as Cancelled, and those of a signal's handler pass as they are.
    """
    try:
        callback(news)
    except IsovizError:
        raise
    except Exception as error:
        if _is_of_handler(error):
            raise
        raise InputError(f"{call}, progress: the function raised {in_words(error)}") from error


def _is_of_handler(error: BaseException) -> bool:
    """Whether the handler of a signal raised an error: it may run within any function."""
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()} - {None}
    place = error.__traceback__
    while place is not None:
        if place.tb_frame.f_code in handlers:
            return True
        place = place.tb_next
    return False


def is_one_of(value: object, known: Container[str]) -> bool:
    """Whether a value is one of some names; also for values that no dictionary can hold."""
    return isinstance(value, str) and value in known


def items(call: str, value: object, words: str, error: type[InputError] = InputError) -> tuple[Any, ...]:
    """The parts of an argument of a call that is a collection; `words` name what it should be: "whole numbers".

    Raises:
        InputError: it is not a collection, or a text or a mapping; as `error`.
    """
    found = parts(value)
    if found is None:
        raise error(f"{call}: expected {words}, got {show(value)}")
    return found


def parts(value: object) -> tuple[Any, ...] | None:
    """The parts of a collection; None for text, a mapping, and what has no parts, such as an array without axes."""
    if type(value) is tuple:
        return value
    if isinstance(value, set | frozenset):  # the order of its parts differs from process to process
        return tuple(sorted(value, key=repr))
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
        with suppress(TypeError):
            return tuple(value)
    return None


def names(call: str, value: object, words: str) -> tuple[str, ...]:
    """The parts of an argument of a call that is a collection of names; `words` name what it should be: "names of fields".

    Raises:
        InputError: it is one text or no collection, or holds something other than text.
    """
    found = items(call, value, words)
    if not all(isinstance(each, str) for each in found):
        raise InputError(f"{call}: expected {words}, got {show(value)}")
    return found


def counts(call: str, value: object, *, low: int = 0) -> dict[str, int]:
    """An argument of a call that maps names to whole numbers of at least `low`; empty for None.

    Raises:
        InputError: it is not such a mapping.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{call}: expected a whole number for each name, got {show(value)}")
    return {name: count(call, name, number, low=low) for name, number in value.items()}


def flag_argument(call: str, name: str, value: object) -> None:
    """Check that the argument `name` of a call is True or False.

    Raises:
        InputError: it is neither.
    """
    if value is not True and value is not False:
        raise InputError(f"{call}, {name}: expected True or False, got {show(value)}")


def priority(value: object) -> int:
    """The priority of a transfer: a whole number, also below 0.

    Raises:
        InputError: it is none.
    """
    return count("transfer", "priority", value, low=-BYTES_LIMIT)


def number(owner: str, field: str, value: object, *, low: float = 0.0, high: float = math.inf, open_low: bool = False) -> float:
    """`value` as a float in `[low, high]`, or in `(low, high]` where `open_low`; never NaN, never infinite, never -0.0."""
    converted = value if type(value) is float else _as_float(value)
    if (
        converted is None
        or not math.isfinite(converted)
        or converted < low
        or converted > high
        or (open_low and converted <= low)
    ):
        expected = f"a finite number {'>' if open_low else '≥'} {low:g}"
        if math.isfinite(high):
            expected += f" and ≤ {high:g}"
        raise FieldError(owner, field, f"expected {expected}, got {show(value)}")
    return converted + 0.0  # -0.0 becomes 0.0, as equal values must have equal digests.


def whole(owner: str, field: str, value: object, *, low: int = 0, high: int = BYTES_LIMIT) -> int:
    """`value` as an int in `[low, high]`."""
    if type(value) is int and low <= value <= high:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        converted = operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer for everything else
    except TypeError:
        converted = low - 1
    if not low <= converted <= high:
        least, most = ("−(2⁶³ − 1)" if low == -BYTES_LIMIT else str(low)), ("2⁶³ − 1" if high == BYTES_LIMIT else str(high))
        raise FieldError(owner, field, f"expected a whole number from {least} to {most}, got {show(value)}")
    return converted


def text(owner: str, field: str, value: object, *, empty: bool = False, spaces: bool = True) -> str:
    """`value` as one printable line without blanks at its ends; with `spaces=False` also without blanks inside."""
    if not isinstance(value, str):
        raise FieldError(owner, field, f"expected text, got {show(value)}")
    if not value and not empty:
        raise FieldError(owner, field, "expected a name, got nothing")
    if len(value) > NAME_LIMIT:
        raise FieldError(owner, field, f"expected at most {NAME_LIMIT} characters, got {len(value)}")
    # The only blank that is printable is the space.
    if not value.isprintable() or value != value.strip() or (not spaces and " " in value):
        kind = "one printable line" if spaces else "one printable word"
        raise FieldError(owner, field, f"expected {kind} without blanks around it, got {show(value)}")
    return value


def directory(owner: str, field: str, value: object) -> str:
    """`value` as the name of a directory, with any characters that the system allows."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise FieldError(owner, field, f"expected the path of a directory, got {show(value)}")
    if len(value) > PATH_LIMIT:
        raise FieldError(owner, field, f"expected a path of at most {PATH_LIMIT} characters, got {len(value)}")
    return value


def flag(owner: str, field: str, value: object) -> bool:
    """`value`, which must be True or False."""
    if not isinstance(value, bool):
        raise FieldError(owner, field, f"expected true or false, got {show(value)}")
    return value


def _as_float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
