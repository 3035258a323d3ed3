"""What a learner did with an exercise, and the points for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from isoviz.course.checking import judged_again
from isoviz.course.classroom import LearnersFolder
from isoviz.course.exercise import Exercise, NotAnAnswer
from isoviz.course.progress import Attempt, digest

MOST_ATTEMPTS = 50
"""The most attempts at an exercise that are judged besides those kept as right: the first ones, and the last."""
MOST_RIGHT = 200
"""The most attempts kept as right that are judged. Nobody has so many who has not written the file by hand."""


@dataclass(frozen=True)
class Outcome:
    """What a learner did with an exercise: whether each attempt was right, and the wrong models in their order.

    A prediction has a point where its first attempt was right, any other exercise where one was.
    """

    is_prediction: bool
    rights: tuple[bool, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def right_at(self) -> int:
        """The number of the first right attempt, 0 where there is none."""
        return self.rights.index(True) + 1 if any(self.rights) else 0

    @property
    def points(self) -> int:
        """1 or 0."""
        return int(self.right_at == 1 if self.is_prediction else self.right_at > 0)


def judged_of(own: Sequence[Attempt]) -> list[Attempt]:
    """Those of the attempts at a learner's own numbers that are judged again. No right one is lost among many others."""
    rights = islice((number for number, each in enumerate(own) if each.right), MOST_RIGHT)
    chosen = {*range(len(own))[: MOST_ATTEMPTS - 1], *range(len(own))[-1:], *rights}
    return [own[number] for number in sorted(chosen)]


def outcome_of(folder: LearnersFolder, exercise: Exercise) -> Outcome:
    """The attempts that are kept in a folder, judged again. Those at other numbers and those that cannot be read do not count.

    Raises:
        FileError: the progress cannot be read.
    """
    given = folder.given(exercise)
    numbers, rights, models = digest(given), [], []
    for attempt in judged_of([each for each in folder.progress.attempts(exercise.name) if each.numbers == numbers]):
        try:
            found = judged_again(exercise, attempt.answer, given)
        except NotAnAnswer:
            continue
        rights.append(found.verdict.right)
        models += [found.model] if found.model and not found.verdict.right else []
    return Outcome(exercise.is_prediction, tuple(rights), tuple(dict.fromkeys(models)))
