"""What the course says: a few sentences, and a picture where one helps. Whatever a learner typed is text in it, never markup."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any, Literal

from isoviz.figures.charts.theme import colour, css

Tone = Literal["open", "unread", "wrong", "right", "statement"]
_MARKS: dict[Tone, tuple[str, str, str]] = {
    "open": ("…", "muted", "panel"),
    "unread": ("?", "dim1", "panel"),
    "wrong": ("✗", "bad", "bad-soft"),
    "right": ("✓", "good", "good-soft"),
    "statement": ("", "path", "path-soft"),
}
"""Each kind's sign, and the tokens of its colour and of what lies behind it: both come from one theme, on any page."""
_STYLE = f"<style>{css('.isoviz-course', sorted({token for _, *tokens in _MARKS.values() for token in tokens}))}</style>"


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
        sign, ink, behind = _MARKS[self.kind]
        badge = f"color:{_coloured(ink)};background:{_coloured(behind)};padding:1px 6px;border-radius:4px;white-space:nowrap"
        head = f'<strong style="{badge}">{html.escape(f"{sign} {self.name}".strip())}</strong> '
        first, *others = self.paragraphs or ("",)
        said = f"<p>{head}{_paragraph(first)}</p>" + "".join(f"<p>{_paragraph(each)}</p>" for each in others)
        drawn = self.picture
        picture = drawn._repr_html_() or "" if hasattr(drawn, "_repr_html_") else "" if drawn is None else str(drawn)
        box = f"border-left:4px solid {_coloured(ink)};padding:2px 12px;margin:4px 0;max-width:60em;line-height:1.5"
        return f'{_STYLE}<div class="isoviz-course" data-kind="{self.kind}" role="status" style="{box}">{said}</div>{picture}'


def _coloured(token: str) -> str:
    """A colour of the theme; where a page drops the rules, that of light pages."""
    return f"var(--iv-{token},{colour(token)})"


def _paragraph(text: str) -> str:
    """Text as HTML. What stands between backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text)).replace("\n", "<br>")
