"""The check of a pane, called in a separate thread, and its verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from isoviz import checks
from isoviz.errors import show
from isoviz.widgets.chosen.what_if import NOTHING
from isoviz.widgets.commands.command import OnScreen
from isoviz.widgets.consequences.derive import derive
from isoviz.widgets.contract import ShownEntry, ShownVerdict, VerdictKind
from isoviz.widgets.state import whole_sentence
from isoviz.widgets.worker import Worker

if TYPE_CHECKING:
    from isoviz.widgets.state import Derived


class Found(NamedTuple):
    """The value that a pane shows; where there is none, `problem` says why in words."""

    value: Any
    problem: str = ""


class ToJudge(NamedTuple):
    """What is to be judged, by its number: what follows from `seen.settings`. `before` was derived last."""

    number: int
    seen: OnScreen
    before: Derived


class Judged(NamedTuple):
    """The last verdict, and what it is about; None where there was none."""

    kind: VerdictKind = "open"
    text: str = ""
    seen: OnScreen | None = None


class Judging:
    """Asks `check` about values, one after the other. Of what waits, only the newest is judged.

    `value_of` finds the value in what a person saw, with what follows from it as far as `stages` say. `news` is called after
    every verdict, in the thread of the check. `last` is the last one.
    """

    def __init__(
        self,
        check: Callable[[Any], object],
        value_of: Callable[[Derived, ShownEntry | None], Found],
        stages: frozenset[str],
        news: Callable[[], None],
    ) -> None:
        self.last = Judged()
        self._check = check
        self._value_of = value_of
        self._stages = stages
        self._news = news
        self._newest = 0
        self._done = 0
        self._worker: Worker[ToJudge] = Worker(self._judge, self._failed, "isoviz-check")

    def ask(self, seen: OnScreen, before: Derived) -> None:
        """Judge this next; from one thread. `before` is what was derived last: what still holds is not computed again."""
        self._newest += 1
        self._worker.put(ToJudge(self._newest, seen, before))

    def shown(self, is_now: Callable[[OnScreen], bool]) -> ShownVerdict:
        """What the browser gets. `is_now` tells whether the value on screen is still the one that was seen."""
        busy = self._done < self._newest  # before the verdict: one that comes meanwhile is told once more
        kind, text, seen = self.last
        return {"busy": busy, "kind": kind, "text": text, "fresh": seen is not None and is_now(seen)}

    def close(self) -> None:
        """Ask nothing more. A check that is under way ends by itself, unheard."""
        self._worker.close(0.2)

    # ---- in the thread of the check

    def _judge(self, waiting: list[ToJudge]) -> None:
        number, seen, before = waiting[-1]
        try:
            *_, last = derive(replace(before, settings=seen.settings, demanded=self._stages, what_if=NOTHING))
            found = self._value_of(last, seen.entry)
        except Exception as error:  # noqa: BLE001 - a defect: it is told in the place of the verdict
            words = f"isoviz could not read what is on screen, by a mistake of its own: {_named(error)}."
            self.last = Judged("unread", words, seen)
        else:
            kind, text = _said(self._check, found)
            self.last = Judged(kind, text, seen)
        self._done = number
        self._news()

    def _failed(self, _error: Exception) -> None:
        """Nothing is left to tell: `news` found the session at its end."""


def _said(check: Callable[[Any], object], found: Found) -> tuple[VerdictKind, str]:
    """What a check says of a value, or why there is none.

    A check that fails, or gives no verdict, is a mistake of its author: it judges nobody.
    """
    if found.problem:
        return "unread", whole_sentence(found.problem)
    try:
        verdict = check(found.value)
        kind, text = getattr(verdict, "kind", None), str(verdict)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the check is code of the caller
        return "unread", f"The check could not judge this, by a mistake of its own: {_named(error)}."
    if not checks.is_one_of(kind, get_args(VerdictKind)) or not text.strip():
        kinds = ", ".join(get_args(VerdictKind))
        return "unread", f"The check gave no verdict: expected something with a kind ({kinds}) and a text, got {show(verdict)}."
    return kind, text  # type: ignore[return-value]  # it is one of them


def _named(error: BaseException) -> str:
    words = str(error)
    return f"{type(error).__name__}: {words}".removesuffix(".") if words else type(error).__name__
