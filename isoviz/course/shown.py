"""What the course says: a few sentences, and a picture where one helps. Whatever a learner typed is text in it, never markup."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, Literal

Tone = Literal["open", "unread", "wrong", "right", "statement"]
_MARKS: dict[Tone, tuple[str, str]] = {
    "open": ("…", "#6b7280"),
    "unread": ("?", "#8a6d00"),
    "wrong": ("✗", "#b3261e"),
    "right": ("✓", "#1a7f37"),
    "statement": ("", "#0b5fa5"),
}
"""Each kind's sign and colour. The colours are legible beside the text on light and on dark pages."""


class Shown:
    """What a cell shows. `kind` is "open" (no answer yet), "unread" (not counted), "wrong", "right", or "statement"."""

    def __init__(
        self, kind: Tone, name: str, *paragraphs: str, picture: Callable[[], Any] | None = None, model: str = ""
    ) -> None:
        self.kind, self.name, self.model = kind, name, model
        self.paragraphs = tuple(filter(None, paragraphs))
        self._picture = picture

    @property
    def right(self) -> bool:
        """Whether it says that an answer is right."""
        return self.kind == "right"

    @property
    def picture(self) -> Any:
        """What is drawn beside the words, or None."""
        return None if self._picture is None else self._picture()

    def __str__(self) -> str:
        return f"{self.name}: " + "\n".join(self.paragraphs)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sign, colour = _MARKS[self.kind]
        head = f'<strong style="color:{colour}">{html.escape(f"{sign} {self.name}".strip())}</strong> '
        first, *others = self.paragraphs or ("",)
        said = f"<p>{head}{_paragraph(first)}</p>" + "".join(f"<p>{_paragraph(each)}</p>" for each in others)
        drawn = self.picture
        picture = drawn._repr_html_() or "" if hasattr(drawn, "_repr_html_") else "" if drawn is None else str(drawn)
        box = f"border-left:4px solid {colour};padding:2px 12px;margin:4px 0;max-width:60em;line-height:1.5"
        return f'<div class="isoviz-course" data-kind="{self.kind}" role="status" style="{box}">{said}</div>{picture}'


def _paragraph(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
