"""The texts of the course: statements, hints, reasons, by key. Each notebook has a file, so that it can be translated.

`1.toml` has a table for each exercise, such as `["1.1"]` with `title`, `given`, `asked`, `unit`, `reason`, `solution`; what is
said of an answer in `["1.1".says]`; and for each wrong model `["1.1".models.order-reversed]` with `belief` and three `hints`.
Places such as `{nx}` are filled in.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Self

from isoviz.errors import InternalError

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
    """A text with a full stop, where it has no end of its own."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
