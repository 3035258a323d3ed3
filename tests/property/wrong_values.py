"""Calls with wrong arguments: how a right call is made wrong, how it is carried out, and what may come of it."""

from __future__ import annotations

import copy
import json
import math
import queue
import random
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from isoviz.errors import InternalError, IsovizError

PATIENCE = 120.0
"""Seconds after which a call counts as hanging. The slowest takes less than a second."""

_BINDING = re.compile(r"unexpected keyword|missing \d+ required|positional arguments? but|multiple values for|positional-only")


class _Text(str):
    """A subclass of a type that is right."""

    __slots__ = ()


WRONG: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf,
    lambda: -1,
    lambda: 0,
    lambda: 1,
    lambda: 3,
    lambda: 1.5,
    lambda: True,
    lambda: False,
    lambda: 2**70,
    lambda: -(2**70),
    lambda: 10**400,
    lambda: "",
    lambda: "high",
    lambda: " x",
    lambda: "x",
    lambda: "<F, x>",
    lambda: "0",
    lambda: "a\0b",
    lambda: "é\ud800",
    lambda: _Text("x"),
    lambda: b"x",
    lambda: bytearray(8),
    list,
    lambda: [1],
    lambda: [None],
    lambda: ["x", "x"],
    lambda: (),
    lambda: (0, 1),
    lambda: (1, 2, 3),
    dict,
    lambda: {"x": 1},
    lambda: {"x": None},
    lambda: {1: "x"},
    lambda: {"x"},
    lambda: iter(()),
    lambda: (each for each in (1, 2)),
    lambda: range(2),
    object,
    lambda: object,
    lambda: int,
    lambda: print,
    lambda: lambda *_, **__: None,
    lambda: ...,
    lambda: 1j,
    lambda: Decimal("1.5"),
    lambda: Fraction(1, 3),
    lambda: Path("x"),
    lambda: np.int64(2),
    lambda: np.int8(-1),
    lambda: np.uint64(2**64 - 1),
    lambda: np.float64("nan"),
    lambda: np.float32(1.5),
    lambda: np.bool_(True),
    lambda: np.str_("x"),
    lambda: np.array([1, 2]),
    lambda: np.array(3),
    lambda: np.zeros((2, 3), "f4"),
    lambda: np.zeros((4, 6), ">f8")[::-1, ::2],
    lambda: np.zeros(0),
    lambda: np.array([object()], dtype=object),
    lambda: np.dtype("f4"),
    lambda: threading.Event(),
    lambda: ValueError("x"),
)

JSON_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 3, 1.5, 2**70, -(2**70), 1e308, math.nan, math.inf, "", "x", "high", "é\ud800", "<F, x>"),
    *([], [1], [None], ["x", "x"], [[]], {}, {"x": 1}, {"x": None}, {"": ""}),
)
WORDS = (
    *(
        "",
        "-1",
        "0",
        "1.5",
        "nan",
        "inf",
        "high",
        "x",
        "x=1",
        "x=0",
        "x=-1",
        "x=",
        "=",
        "x=1,x=2",
        "<",
        "<F, x>",
        "<x, F, x>",
        "é",
    ),
    *("99999999999999999999999", "1e400", "--", "-", "--no-such", "/no/such", ".", "a\tb", "10%", "1KiB", "node0.sys", "null"),
)
TOML_VALUES = ("-1", "0", "nan", "1.5", "true", "[]", "{}", '""', '"x"', "99999999999999999999", "[1]", "1979-05-27")


@dataclass
class Call:
    """A call that is right: a function, its arguments, and those that have to stay as they are, by place or name."""

    function: Callable[..., Any]
    arguments: list[Any]
    keywords: dict[str, Any] = field(default_factory=dict)
    kept: frozenset[int | str] = frozenset()
    is_json: bool = False
    """Whether arguments hold values of JSON: only such values replace those inside."""
    is_text: bool = False
    """Whether its only argument is the text of a file."""
    is_words: bool = False
    """Whether its only argument is a list of words of a command line."""

    def __str__(self) -> str:
        shown = [_short(each) for each in self.arguments] + [f"{name}={_short(each)}" for name, each in self.keywords.items()]
        return f"{getattr(self.function, '__qualname__', self.function)}({', '.join(shown)})"


def call(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Call:
    """A call with these arguments."""
    return Call(function, list(arguments), keywords)


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  anything may come from a wrong value
        text = f"<repr raised {type(error).__name__}>"
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) < 300 else f"{text[:290]}…"


def made_wrong(right: Call, chance: random.Random) -> Call:
    """A call that has one or two wrong arguments, or lacks one, or has one too many."""
    if right.is_words:
        return _wrong_words(right, chance)
    if right.is_text:
        return Call(right.function, [wrong_text(right.arguments[0], chance)], is_text=True)
    found = Call(right.function, list(right.arguments), dict(right.keywords), right.kept, right.is_json)
    for _ in range(1 if chance.random() < 0.8 else 2):
        places: list[int | str] = [*range(len(found.arguments)), *found.keywords]
        places = [place for place in places if place not in found.kept]
        kind = chance.random()
        if not places or kind < 0.02:
            found.keywords["no_such_word"] = 1
        elif kind < 0.03 and not found.kept:
            found.arguments.append(chance.choice(WRONG)())
        elif kind < 0.06 and not found.kept:
            place = chance.choice(places)
            if isinstance(place, int):
                del found.arguments[place:]
            else:
                del found.keywords[place]
        else:
            place = chance.choice(places)
            where: Any = found.arguments if isinstance(place, int) else found.keywords
            where[place] = _wrong(where[place], chance, [*found.arguments, *found.keywords.values()], found.is_json)
    return found


def _wrong(value: Any, chance: random.Random, neighbours: list[Any], is_json: bool) -> Any:
    """Another value in the place of a right one, or the right one with a wrong value inside."""
    if is_json or (isinstance(value, dict | list | tuple) and value and chance.random() < 0.6):
        return _wrong_inside(value, chance, is_json)
    if chance.random() < 0.08:
        return chance.choice(neighbours)
    return chance.choice(WRONG)()


def _wrong_inside(value: Any, chance: random.Random, is_json: bool) -> Any:
    """A copy with one wrong value, key or length at a random depth."""
    if not isinstance(value, dict | list | tuple) or not value or chance.random() < 0.08:
        return copy.deepcopy(chance.choice(JSON_VALUES)) if is_json else chance.choice(WRONG)()
    if isinstance(value, dict):
        found = dict(value)
        key = chance.choice(list(found))
        kind = chance.random()
        if kind < 0.12:
            del found[key]
        elif kind < 0.2:
            found[chance.choice(["x", "no_such_word", ""]) if is_json else chance.choice(["x", 1, None])] = found[key]
        else:
            found[key] = _wrong_inside(found[key], chance, is_json)
        return found
    items = list(value)
    place = chance.randrange(len(items))
    kind = chance.random()
    if kind < 0.12:
        del items[place]
    elif kind < 0.2:
        items.append(items[place])
    else:
        items[place] = _wrong_inside(items[place], chance, is_json)
    if isinstance(value, list):
        return items
    return tuple(items) if type(value) is tuple or len(items) != len(value) else type(value)(*items)


def _wrong_words(right: Call, chance: random.Random) -> Call:
    words = list(right.arguments[0])
    for _ in range(1 if chance.random() < 0.8 else 2):
        place = chance.randrange(len(words))
        kind = chance.random()
        if kind < 0.1:
            del words[place]
        elif kind < 0.2:
            words.insert(place, chance.choice(WORDS))
        elif "=" in words[place] and kind < 0.6:
            words[place] = f"{words[place].split('=')[0]}={chance.choice(WORDS)}"
        else:
            words[place] = chance.choice(WORDS)
        if not words:
            break
    return Call(right.function, [words], is_words=True)


def wrong_text(text: str, chance: random.Random) -> str:
    """The text of a file with a wrong value, key or character."""
    kind = chance.random()
    if kind < 0.7:
        try:
            return json.dumps(_wrong_inside(json.loads(text), chance, is_json=True))
        except ValueError:  # TOML
            lines = text.split("\n")
            place = chance.choice([number for number, line in enumerate(lines) if "=" in line])
            lines[place] = f"{lines[place].split('=')[0]}= {chance.choice(TOML_VALUES)}"
            return "\n".join(lines)
    place = chance.randrange(len(text))
    if kind < 0.8:
        return text[:place]
    if kind < 0.9:
        return text[:place] + chance.choice("\0{}[]\"',0é\n-") + text[place + 1 :]
    return text[:place] + text[place : place + 20] * 2 + text[place + 20 :]


# ---- what comes of a call


@dataclass(frozen=True)
class Outcome:
    """What came of a call: `kind` is `refused` (a typed error), `unbound` (Python refused the arguments), `answered`, or a fault:
    `raised`, `hung`, `misbehaved` (an answer that cannot be shown or read back)."""

    kind: str
    said: str = ""

    @property
    def is_fault(self) -> bool:
        return self.kind in ("raised", "hung", "misbehaved")


class Caller:
    """Carries out calls in a thread of its own, so that a call that hangs is found. A thread that hangs is left behind."""

    def __init__(self, looked_at: Callable[[Any], None]) -> None:
        self._looked_at = looked_at
        self._start()

    def _start(self) -> None:
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(self._calls, self._outcomes), daemon=True).start()

    def __call__(self, wrong: Call) -> Outcome:
        self._calls.put(wrong)
        try:
            return self._outcomes.get(timeout=PATIENCE)
        except queue.Empty:
            self._start()
            return Outcome("hung", f"no answer within {PATIENCE:g} s")

    def close(self) -> None:
        self._calls.put(None)

    def _work(self, calls: queue.SimpleQueue[Call | None], outcomes: queue.SimpleQueue[Outcome]) -> None:
        while (wrong := calls.get()) is not None:
            outcomes.put(self._outcome(wrong))

    def _outcome(self, wrong: Call) -> Outcome:
        try:
            answer = wrong.function(*wrong.arguments, **wrong.keywords)
        except BaseException as error:  # noqa: BLE001  everything but a typed error is a fault
            return _refusal(error)
        try:
            self._looked_at(answer)
        except BaseException as error:  # noqa: BLE001  everything but a typed error is a fault
            refusal = _refusal(error)
            return refusal if refusal.kind == "refused" else Outcome("misbehaved", refusal.said)
        return Outcome("answered")


def _refusal(error: BaseException) -> Outcome:
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, IsovizError) and not isinstance(error, InternalError):
        return Outcome("refused", said)
    frames = _frames(error.__traceback__)
    if isinstance(error, IndexError) and frames[-1].endswith(" __getitem__"):
        return Outcome("refused", said)  # what Python asks of a sequence
    if isinstance(error, TypeError) and len(frames) <= 3 and _BINDING.search(str(error)):
        return Outcome("unbound", said)
    return Outcome("raised", f"{said}  [{' < '.join(frames[::-1][:4])}]")


def _frames(traceback: TracebackType | None) -> list[str]:
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append(f"{Path(code.co_filename).name}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return found
