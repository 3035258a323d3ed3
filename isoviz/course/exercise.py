"""Exercises: what is drawn for a learner, how an answer is read and judged, and which wrong models there are.

A wrong model is a function, as a right answer is one: from the numbers of an exercise to the answer that somebody with this
belief gives. So a hint can refer to the answer that was given, and no list of wrong answers is kept.
"""

from __future__ import annotations

import random
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Self

from isoviz.errors import InternalError, IsovizError

# The texts of the course: statements, hints, reasons, by key. Each notebook has a file, so that it can be translated.
#
# `1.toml` has a table for each exercise, such as `["1.1"]` with `title`, `given`, `asked`, `unit`, `reason`,
# `solution`; what is said of an answer in `["1.1".says]`; and for each wrong model `["1.1".models.order-reversed]`
# with `belief` and three `hints`. Places such as `{nx}` are filled in.

_LONG_NUMBER = re.compile(r"(?<![\w.,])([0-9]{13,}|[1-9][0-9]{0,2}(,[0-9]{3}){4,})(\.[0-9]+)?")
"""Only what a learner made up is as long as that: it is told short, such as 1e+30."""
SHARED = "course"
"""The file of texts that belong to no notebook."""


class Texts:
    """The texts of one notebook, or those that all share."""

    def __init__(self, name: str, tree: dict[str, Any]) -> None:
        self.name, self.tree = name, tree

    @classmethod
    @cache
    def of(cls, notebook: int | str) -> Self:
        """The texts of a notebook, by its number; or those that all share."""
        file = resources.files("isoviz.course") / "texts" / f"{notebook}.toml"
        return cls(str(notebook), tomllib.loads(file.read_text(encoding="utf-8")))

    def find(self, *key: str) -> Any:
        """What stands at a key, or None."""
        found: Any = self.tree
        for part in key:
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def text(self, *key: str, **words: object) -> str:
        """The text at a key with its places filled.

        Raises:
            InternalError: there is no such text, or nothing that fills one of its places.
        """
        found = self.find(*key)
        if not isinstance(found, str):
            raise InternalError(f"texts of {self.name}: there is none at {' / '.join(key)}")
        return self._filled(found, key, words)

    def hints(self, exercise: str, model: str, **words: object) -> list[str]:
        """The three hints for a wrong model: a question, a counterexample, the rule."""
        key = (exercise, "models", model, "hints")
        found = self.find(*key)
        if not isinstance(found, list) or len(found) != 3:
            raise InternalError(f"texts of {self.name}: expected three hints at {' / '.join(key)}")
        return [self._filled(each, key, words) for each in found]

    def _filled(self, text: str, key: tuple[str, ...], words: dict[str, object]) -> str:
        try:
            return _LONG_NUMBER.sub(lambda found: f"{float(found[0].replace(',', '')):.3g}", text.format_map(words))
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            raise InternalError(f"texts of {self.name}: {' / '.join(key)} cannot be filled: {error!r}") from error


def shared(*key: str, **words: object) -> str:
    """A text that all notebooks share."""
    return Texts.of(SHARED).text(*key, **words)


def sentence(text: str) -> str:
    """A text with a full stop, if it has no final mark."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


Given = Mapping[str, Any]
"""The numbers of an exercise as they were drawn: whole numbers, floats, texts, and lists of them."""
Words = Mapping[str, object]
"""What fills the places of a text."""


class NotAnAnswer(IsovizError, ValueError):  # noqa: N818  what happened, not a mistake
    """An answer that cannot be read. The message says what was expected. It is not counted."""


@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    `says` is about this very answer. `words` fill the hints besides the numbers of the exercise. `picture` makes what is drawn
    beside it, when it is shown: something with `_repr_html_`. `cost` stands beside a right answer. `model` names the wrong model
    where the judge knows it; "" leaves that to the models.
    """

    right: bool
    says: str
    words: Words = field(default_factory=dict)
    picture: Callable[[], Any] | None = None
    cost: str = ""
    model: str = ""


@dataclass(frozen=True)
class WrongModel:
    """What somebody believes: the answer that follows from it on these numbers, or None where it says nothing.

    `explains` tells whether an answer betrays the belief, where more answers do than its own. `like` names another model of the
    exercise that gives the same answer on these numbers, or "": the two are then told apart by nothing, and the other is named.
    Hints stand in the texts, at `models` and the name.
    """

    name: str
    answer: Callable[[Given], Any]
    explains: Callable[[Any, Given], bool] | None = None
    like: Callable[[Given], str] = lambda _given: ""


class Kind(ABC):
    """How an answer is given: what it is read from, what is kept of it, and when two of them are the same."""

    @abstractmethod
    def read(self, answer: object, given: Given) -> Any:
        """The answer as judges take it. Of `answer` nothing is asked but its type before that is known: not even `==`.

        Raises:
            NotAnAnswer: it cannot be read. Other errors of isoviz are told as that.
        """

    def keep(self, read: Any) -> Any:
        """What is written of an answer: a value that JSON has."""
        return read

    def again(self, kept: Any, given: Given) -> Any:
        """The answer that was kept, to be judged once more.

        Raises:
            NotAnAnswer: it cannot be read, or cannot be judged again.
        """
        return self.read(kept, given)

    def same(self, one: Any, other: Any) -> bool:
        """Whether two answers count as one."""
        return bool(self.keep(one) == self.keep(other))


@dataclass(frozen=True)
class Exercise:
    """One exercise. Its texts stand in the file of its notebook.

    - `draw`: numbers from a source of chance. They are drawn until `Exercise.tells_apart`.
    - `judge`: the verdict on an answer that was read.
    - `right`: an answer that is right, from which the solution is told; draws are compared with it.
    - `words`: what fills the texts besides the numbers themselves, such as a size in GiB.
    - `picture`: what the statement shows, or None.
    - `pane`: the pane in which it is answered, made with the function that checks what it shows.
    - `is_prediction`: the first answer counts; what is true is shown after it, right or not.
    - `hidden`: the names of numbers that a learner is not told: they have the answer, or what it follows from at once.
    - `apart`: whether numbers tell right answer and wrong models apart, where comparing their answers does not say it.
    """

    name: str
    kind: Kind
    draw: Callable[[random.Random], dict[str, Any]]
    judge: Callable[[Any, Given], Verdict]
    models: tuple[WrongModel, ...]
    right: Callable[[Given], Any]
    words: Callable[[Given], Words] = lambda _given: {}
    picture: Callable[[Given], Any] | None = None
    pane: Callable[[Given, Callable[[Any], Any]], Any] | None = None
    is_prediction: bool = False
    hidden: tuple[str, ...] = ()
    apart: Callable[[Given], bool] | None = None

    @property
    def notebook(self) -> int:
        """The number of its notebook."""
        return int(self.name.partition(".")[0])

    def told(self, given: Given) -> dict[str, Any]:
        """The numbers without those that are hidden from a learner."""
        return {name: value for name, value in given.items() if name not in self.hidden}

    def text(self, *key: str, given: Given, **words: object) -> str:
        """A text of this exercise with its places filled."""
        return Texts.of(self.notebook).text(self.name, *key, **{**given, **self.words(given), **words})

    def tells_apart(self, given: Given) -> bool:
        """Whether no wrong model gives the right answer on these numbers, or that of another one."""
        if self.apart is not None:
            return self.apart(given)
        answers = [self.right(given)]
        for model in self.models:
            answer = None if model.like(given) else model.answer(given)
            if answer is None:
                continue
            if any(self.kind.same(answer, other) for other in answers):
                return False
            answers.append(answer)
        return True

    def model_of(self, read: Any, given: Given) -> WrongModel | None:
        """The first wrong model that explains a wrong answer."""
        for model in self.models:
            if model.explains is not None:
                if model.explains(read, given):
                    return model
                continue
            answer = None if model.like(given) else model.answer(given)
            if answer is not None and self.kind.same(answer, read):
                return model
        return None

    def model(self, name: str) -> WrongModel | None:
        """The wrong model of that name, or None."""
        return next((each for each in self.models if each.name == name), None)
