"""Checking an answer: it is read, judged, compared with the wrong models, and kept, and the verdict is shown. Hints grow with
each wrong answer."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from isoviz.course.classroom import LearnersFolder
from isoviz.course.exercise import Exercise, Given, NotAnAnswer, Texts, Verdict, sentence, shared
from isoviz.course.progress import Attempt, Progress, digest
from isoviz.errors import FileError, IsovizError, in_words
from isoviz.figures.charts.theme import colour, css

# What the course says: a few sentences, and a picture where one helps. Whatever a learner typed is text in it, never
# markup.

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


HINTS = 3
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judged:
    """An answer as it was read, the verdict on it, and the name of the wrong model that it betrays ("" where none does)."""

    read: Any
    verdict: Verdict
    model: str


def judged(exercise: Exercise, answer: object, given: Given) -> Judged:
    """Read an answer and judge it.

    Raises:
        NotAnAnswer: it cannot be read.
    """
    return _verdict(exercise, _read(exercise, answer, given), given)


def judged_again(exercise: Exercise, kept: Any, given: Given) -> Judged:
    """Judge an answer that was kept. What was said of it then plays no part.

    Raises:
        NotAnAnswer: it cannot be read, or cannot be judged again.
    """
    try:
        read = exercise.kind.again(kept, given)
    except NotAnAnswer:
        raise
    except Exception as error:  # what stands in a file may be anything
        raise NotAnAnswer(f"the kept answer cannot be read: {error}") from error
    return _verdict(exercise, read, given)


def _read(exercise: Exercise, answer: object, given: Given) -> Any:
    try:
        return exercise.kind.read(_plain(answer), given)
    except NotAnAnswer:
        raise
    except IsovizError as error:
        raise NotAnAnswer(str(error)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an object of the learner's may raise what it likes, SystemExit as well
        raise NotAnAnswer(f"this {_class_name(answer)} cannot be read: it raises {_class_name(error)}") from error


def _class_name(value: object) -> str:
    """The name of a class as Python has it: its metaclass may say what it likes."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def _plain(answer: object, depth: int = 4) -> object:
    """Numbers, texts and containers of classes that derive from Python's own, as Python's own: theirs may say what they like."""
    if isinstance(answer, str):
        return str.__str__(answer)
    if isinstance(answer, float):
        return float.__float__(answer)
    if isinstance(answer, int) and not isinstance(answer, bool):
        return int.__int__(answer)
    if depth and isinstance(answer, list):
        return [_plain(each, depth - 1) for each in list.__iter__(answer)]
    if depth and isinstance(answer, tuple):
        return tuple(_plain(each, depth - 1) for each in tuple.__iter__(answer))
    if depth and isinstance(answer, dict):
        return {_plain(key, depth - 1): _plain(value, depth - 1) for key, value in dict.items(answer)}
    return answer


def _verdict(exercise: Exercise, read: Any, given: Given) -> Judged:
    verdict = exercise.judge(read, given)
    if verdict.right or verdict.model:
        return Judged(read, verdict, verdict.model)
    model = exercise.model_of(read, given)
    return Judged(read, verdict, model.name if model else "")


def checked(folder: LearnersFolder, exercise: Exercise, answer: object) -> Shown:
    """The answer to an exercise checked, kept and shown. If it cannot be kept, a note beside the verdict says so."""
    name = exercise.name
    if answer is ...:
        return Shown("open", name, shared("open"))
    given = folder.given(exercise)
    try:
        found = judged(exercise, answer, given)
    except NotAnAnswer as error:
        return Shown("unread", name, shared("unread", problem=sentence(str(error))))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a learner never sees a traceback of ours
        _log.exception("exercise %s could not be judged", name)
        return Shown("unread", name, shared("defect", problem=in_words(error)))
    attempt = Attempt(name, exercise.kind.keep(found.read), found.verdict.right, found.model, digest(given))

    def is_same(kept: Attempt) -> bool:
        return _is_same(exercise, given, found.read, attempt, kept)

    attempts, lost = _with_earlier(attempt, is_same, folder.progress)
    if found.verdict.right:
        return _praise(exercise, given, found, is_same(attempts[0]), lost)
    return _hinted(exercise, given, found, attempts, folder.solutions, lost)


def _is_same(exercise: Exercise, given: Given, read: Any, attempt: Attempt, kept: Attempt) -> bool:
    """Whether an answer was kept before, also in another form. Two answers with different verdicts are never the same."""
    if kept.answer == attempt.answer:
        return True
    if (kept.right, kept.model) != (attempt.right, attempt.model):
        return False
    try:
        return exercise.kind.same(read, exercise.kind.again(kept.answer, given))
    except Exception:  # noqa: BLE001  what stands in a file may be anything
        return False


def _with_earlier(attempt: Attempt, is_same: Callable[[Attempt], bool], progress: Progress) -> tuple[list[Attempt], str]:
    """The attempts at these numbers with this one, which is kept; and what is told where it cannot be."""
    earlier: list[Attempt] = []
    try:
        earlier = [each for each in progress.attempts(attempt.exercise) if each.numbers == attempt.numbers]
        if any(map(is_same, earlier)):  # the same answer once more is no attempt
            return earlier, ""
        progress.add(attempt)
    except FileError as error:
        return [*earlier, attempt], shared("lost", problem=sentence(str(error)))
    return [*earlier, attempt], ""


def _praise(exercise: Exercise, given: Given, found: Judged, is_first: bool, lost: str) -> Shown:
    parts = [shared("right first" if is_first else "right"), found.verdict.says, _reason(exercise, given), found.verdict.cost]
    return Shown("right", exercise.name, " ".join(filter(None, parts)), lost, picture=found.verdict.picture)


def _reason(exercise: Exercise, given: Given) -> str:
    """Why the right answer is right, where the texts say it."""
    return exercise.text("reason", given=given) if Texts.of(exercise.notebook).find(exercise.name, "reason") else ""


def _hinted(exercise: Exercise, given: Given, found: Judged, attempts: list[Attempt], solutions: bool, lost: str) -> Shown:
    wrong = [each for each in attempts if not each.right]
    texts, name = Texts.of(exercise.notebook), exercise.name
    hint, step = "", 0
    if exercise.model(found.model) is not None:
        step = min(sum(each.model == found.model for each in wrong), HINTS)
        words = {**given, **exercise.words(given), **found.verdict.words}
        hint = texts.hints(name, found.model, **words)[max(step, 1) - 1]
    # No solution for somebody who was right before.
    is_told = solutions and len(wrong) > HINTS and len(wrong) == len(attempts)
    solution = exercise.text("solution", given=given) if is_told else ""
    # A prediction is made once: what is true is shown after it. Elsewhere a picture is the second hint.
    is_shown = exercise.is_prediction or step > 1 or bool(solution)
    return Shown(
        "wrong",
        name,
        " ".join(filter(None, (shared("wrong"), found.verdict.says))),
        hint,
        solution and shared("solution", text=solution),
        lost,
        picture=found.verdict.picture if is_shown else None,
        model=found.model,
    )
