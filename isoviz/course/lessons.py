"""The functions that the notebooks of the course call."""

from __future__ import annotations

import html
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from isoviz import checks
from isoviz.course.checking import Shown, checked, judged_again
from isoviz.course.classroom import FILE, LearnersFolder, anybodys_seed, new_folder, opened_folder
from isoviz.course.exercise import Exercise, NotAnAnswer, shared
from isoviz.course.progress import Attempt, digest
from isoviz.errors import FileError, InputError, show

# What a learner did with an exercise, and the points for it.

MOST_ATTEMPTS = 50
"""The most attempts at an exercise that are judged besides those kept as right: the first ones, and the last."""
MOST_RIGHT = 200
"""The number of right attempts that are judged at most. A file with more of them was written by hand."""


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


# The pane in which an exercise is answered, and below it the picture of the answer that was checked last.

_NOTHING = "<div></div>"


class AnswerPane:
    """A pane with its button *Check*. `make` makes it with the function that it calls; that is `check`, which also has a picture.

    It has the attributes of the pane. In a notebook the picture stands below it; a pane itself shows words alone.
    """

    def __init__(self, make: Callable[[Callable[[Any], Shown]], Any], check: Callable[[Any], Shown]) -> None:
        self._check = check
        self._display = uuid.uuid4().hex
        self._shown: str | None = None
        self.pane: Any = make(self._judged)

    def __getattr__(self, name: str) -> Any:
        if name == "pane":  # not made yet
            raise AttributeError(name)
        return getattr(self.pane, name)

    def __repr__(self) -> str:
        return repr(self.pane)

    def _ipython_display_(self) -> None:
        self.pane.show()
        self._publish(_NOTHING, update=False)

    def _judged(self, answer: Any) -> Shown:
        """What is said of an answer; the picture is replaced. It runs in the thread of the check."""
        shown = self._check(answer)
        picture = shown.picture
        drawn = _NOTHING if picture is None else picture._repr_html_()
        if self._shown not in (None, drawn):  # a page moves when an output is replaced
            self._publish(drawn, update=True)
        return shown

    def _publish(self, drawn: str, *, update: bool) -> None:
        from IPython.display import publish_display_data

        from isoviz.widgets.notebook.static_picture import is_in_kernel

        self._shown = drawn
        if is_in_kernel():
            publish: Any = publish_display_data
            publish({"text/plain": "", "text/html": drawn}, transient={"display_id": self._display}, update=update)


NOTEBOOKS = (1, 2, 3, 4)
"""The numbers of the notebooks that are there. The exercises of number 1 are in the package `isoviz.course.notebook_1`."""

_opened: LearnersFolder | None = None


@cache
def exercises_of(notebook: int) -> dict[str, Exercise]:
    """The exercises of a notebook by name, in their order."""
    module = import_module(f".notebook_{notebook}", __package__)
    return {each.name: each for each in module.EXERCISES}


def every_exercise() -> dict[str, Exercise]:
    """All exercises by name."""
    return {name: each for notebook in NOTEBOOKS for name, each in exercises_of(notebook).items()}


def exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        InputError: there is no such exercise.
    """
    checks.expect("exercise", name, str, "the name of one, such as '1.1'")
    number = name.partition(".")[0]
    notebook = int(number) if number.isascii() and number.isdigit() and len(number) < 3 else 0
    found = exercises_of(notebook) if notebook in NOTEBOOKS else {}
    if name not in found:
        expected = ", ".join(found) if found else ", ".join(f"{each}.1" for each in NOTEBOOKS)
        raise InputError(f"exercise {show(name)}: expected one such as {expected}")
    return found[name]


def start(folder: str | Path = ".") -> Shown:
    """Open the folder of a learner, or set it up. Returns how far the learner has come.

    If the folder cannot be written, exercises work as well, and the result says that nothing is kept.

    Raises:
        FileError: a file of the course in the folder cannot be read.
    """
    global _opened
    checks.expect("course.start", folder, (str, Path), "a folder")
    path = Path(folder)
    if (path / FILE).exists():
        _opened = opened_folder(path)
        return progress()
    try:
        _opened = new_folder(path)
    except (FileError, OSError) as error:
        _opened = LearnersFolder(path, anybodys_seed())
        return Shown("unread", "course", shared("no folder", problem=f"{str(error).rstrip('.')}."))
    return progress()


def learners_folder() -> LearnersFolder:
    """The folder that was opened last; without one, the working directory is opened."""
    if _opened is None:
        start()
    assert _opened is not None
    return _opened


def given(name: str) -> dict[str, Any]:
    """The numbers of an exercise, as drawn for this learner, without those that would give its answer away.

    Raises:
        InputError: there is no such exercise. FileError: see `start`.
    """
    task = exercise(name)
    return task.told(learners_folder().given(task))


def statement(name: str) -> Shown:
    """What an exercise gives, what it asks, and in which unit.

    Raises:
        InputError: there is no such exercise. FileError: see `start`.
    """
    task = exercise(name)
    numbers = learners_folder().given(task)
    lines = [shared(part, text=task.text(part, given=numbers)) for part in ("given", "asked", "unit")]
    draw = task.picture
    return Shown(
        "statement", name, task.text("title", given=numbers), *lines, picture=None if draw is None else lambda: draw(numbers)
    )


def check(name: str, answer: object = ...) -> Shown:
    """Check an answer: a number or its text with a unit, a text, a value of isoviz, a function, or a pane.

    A wrong answer gets a hint. `...` and answers that cannot be read are not counted.

    Raises:
        InputError: there is no such exercise. FileError: see `start`.
    """
    return checked(learners_folder(), exercise(name), answer.pane if type(answer) is AnswerPane else answer)


def pane(name: str) -> AnswerPane:
    """The pane in which an exercise is answered, with its button *Check*. Pictures of answers stand below it.

    Raises:
        InputError: there is no such exercise, or it is answered without a pane. MissingPartError: Jupyter's widgets are missing.
        FileError: see `start`.
    """
    task = exercise(name)
    make = task.pane
    if make is None:
        raise InputError(f"exercise {name}: it is answered without a pane; expected check({name!r}, …)")
    folder = learners_folder()
    numbers = folder.given(task)
    return AnswerPane(lambda check: make(numbers, check), lambda answer: checked(folder, task, answer))


def answered(name: str) -> bool:
    """Whether an exercise has been attempted. If not, this is printed: cells that would give an answer away wait for an attempt.

    Raises:
        InputError: there is no such exercise. FileError: see `start`.
    """
    folder = learners_folder()
    numbers = digest(folder.given(exercise(name)))
    if any(each.numbers == numbers for each in folder.progress.attempts(name)):
        return True
    print(shared("answer first", exercise=name))  # noqa: T201  the cell would be silent otherwise
    return False


def points(name: str) -> int:
    """1 if an exercise is right, else 0. The answers that are kept in the folder are judged again.

    For a prediction the first answer counts.

    Raises:
        InputError: there is no such exercise. FileError: see `start`.
    """
    return outcome_of(learners_folder(), exercise(name)).points


def progress() -> Shown:
    """How many exercises are right, according to the answers that are kept in the folder.

    Raises:
        FileError: the progress cannot be read.
    """
    attempts = learners_folder().progress.attempts()
    known = every_exercise()
    right = {each.exercise for each in attempts if each.right} & set(known)
    tried = {each.exercise for each in attempts} & set(known)
    return Shown("open", "course", shared("progress", right=len(right), all=len(known), tried=len(tried)))


class _Terms:
    def __init__(self, lines: dict[str, str]) -> None:
        self.lines = lines

    def __repr__(self) -> str:
        return "\n".join(f"{term}: {line}" for term, line in self.lines.items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<dt><strong>{html.escape(term)}</strong></dt><dd>{html.escape(line)}</dd>" for term, line in self.lines.items()
        )
        return f'<dl style="max-width:60em">{rows}</dl>'


def terms(*names: str) -> Any:
    """The glossary lines of these terms, as the explorer shows them.

    Raises:
        InputError: there is no such term.
    """
    from isoviz.widgets.glossary import GLOSSARY

    return _Terms({name: GLOSSARY[name] for name in _known(names, GLOSSARY)})


def _known(names: Iterable[str], glossary: Any) -> Iterable[str]:
    for name in names:
        if name not in glossary:
            raise InputError(f"term {show(name)}: the glossary has none of that name")
        yield name
