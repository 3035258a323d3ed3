"""What a class has done: every kept answer is judged again, and what does not fit is named.

Learners can edit the files of their folders. So only answers count: numbers are drawn again from the seed, and answers are judged
again. Attempts that were removed from the file are not noticed.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from isoviz.course.classroom import LearnersFolder, learner_seed, opened_folder
from isoviz.course.exercise import Exercise, Texts
from isoviz.course.judging import Answered, Asked, Found, judge_again
from isoviz.course.lessons import MOST_ATTEMPTS, Outcome, every_exercise, judged_of
from isoviz.course.progress import Attempt
from isoviz.document import Cell, Document, Facts, Mark, Part, Prose, Section, Table
from isoviz.errors import FileError, line

COLUMNS = ("learner", "folder", "exercise", "attempts", "first", "latest", "right at attempt", "points", "wrong models")
"""The columns of the CSV file: one row for each learner and exercise."""
_FAILURES = {"raised": "raises an error", "endless": "takes too long", "ended": "ends its process"}
"""What a function does that returns nothing, by the name of its problem."""


@dataclass
class Learner:
    """A learner's folder, and what was found in it by exercise."""

    folder: LearnersFolder
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name on one printable line. One who learns alone has that of the folder."""
        return line(self.folder.learner.strip() or self.folder.path.resolve().name, 60)

    @property
    def points(self) -> int:
        """Of all exercises."""
        return sum(each.points for each in self.outcomes.values())


@dataclass(frozen=True)
class Finding:
    """Something that a teacher should look at: whose folder it is, and what does not fit."""

    who: str
    what: str


class ClassReport:
    """The report on some folders.

    Raises:
        FileError: none of the folders is that of a learner.
    """

    def __init__(self, folders: Sequence[str | Path], class_seed: str = "") -> None:
        self.exercises = every_exercise()
        self.learners: list[Learner] = []
        self.findings: list[Finding] = []
        problems = []
        for folder in folders:
            try:
                self._open(folder)
            except FileError as error:
                problems.append(error)
                self.findings.append(Finding(line(str(folder), 60), str(error)))
        if not self.learners:
            raise problems[0] if problems else FileError("report: expected the folders of learners, got none")
        self._judge()
        self.findings += [*self._copies(), *self._names(class_seed)]

    def _open(self, folder: str | Path) -> None:
        learner = Learner(opened_folder(folder))
        self.learners.append(learner)
        for each in learner.folder.progress.attempts():
            if each.exercise in self.exercises:
                learner.attempts.setdefault(each.exercise, []).append(each)

    def _choose(self) -> None:
        """Of many attempts choose those that are judged. Which are at the own numbers is asked only there: to draw takes time."""
        crowded = [(each, name) for each in self.learners for name, those in each.attempts.items() if len(those) > MOST_ATTEMPTS]
        answered = judge_again([Asked(name, learner.folder.seed) for learner, name in crowded])
        for (learner, name), one in zip(crowded, answered, strict=True):
            own = [each for each in learner.attempts[name] if one.numbers in ("", each.numbers)]
            strange = [each for each in learner.attempts[name] if one.numbers not in ("", each.numbers)]
            chosen = judged_of(own)
            if len(chosen) < len(own):
                what = f"{len(own):,} attempts at {name}; {len(chosen)} are judged: the first, the last, those kept as right"
                self.findings.append(Finding(learner.name, what))
            learner.attempts[name] = chosen + strange[:MOST_ATTEMPTS]

    def _judge(self) -> None:
        """Judge all answers; equal ones to the same numbers once."""
        self._choose()
        wanted: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
        for learner in self.learners:
            for name, attempts in learner.attempts.items():
                wanted[name, learner.folder.seed] |= {_key(each): each.answer for each in attempts}
        answered = judge_again([Asked(name, seed, list(kept.values())) for (name, seed), kept in wanted.items()])
        found = {
            key: (each, dict(zip(kept, each.found, strict=True)))
            for (key, kept), each in zip(wanted.items(), answered, strict=True)
        }
        strange: list[tuple[Learner, str, str]] = []
        for learner in self.learners:
            for name, exercise in self.exercises.items():
                attempts = learner.attempts.get(name, [])
                one, by_answer = found.get((name, learner.folder.seed), (Answered("", []), {}))
                strange += [(learner, name, each.numbers) for each in attempts if one.numbers not in ("", each.numbers)]
                own = [(each, by_answer[_key(each)]) for each in attempts if one.numbers in ("", each.numbers)]
                learner.outcomes[name] = self._outcome(learner, exercise, own)
        self._foreign(strange)

    def _outcome(self, learner: Learner, exercise: Exercise, attempts: Sequence[tuple[Attempt, Found]]) -> Outcome:
        unread = {found.problem for _, found in attempts if found.problem}
        if unread:
            self.findings.append(Finding(learner.name, f"{exercise.name}: not judged: {line(min(unread), 200)}"))
        changed = {_changed(each, found) for each, found in attempts if not found.problem}
        self.findings += [Finding(learner.name, f"{exercise.name}: {what}") for what in sorted(changed - {""})]
        judged = [found for _, found in attempts if not found.problem]
        models = tuple(dict.fromkeys(found.model for found in judged if found.model and not found.right))
        return Outcome(exercise.is_prediction, tuple(found.right for found in judged), models)

    def _foreign(self, strange: Sequence[tuple[Learner, str, str]]) -> None:
        """Name whose numbers it were that a learner answered, where they were not the own ones."""
        names = sorted({name for _, name, _ in strange})
        asked = [(name, learner) for name in names for learner in self.learners]
        answered = judge_again([Asked(name, learner.folder.seed) for name, learner in asked])
        owners = {(name, each.numbers): learner for (name, learner), each in zip(asked, answered, strict=True)}
        for (learner, owner), count in Counter(
            (each.name, _owner(owners, name, numbers)) for each, name, numbers in strange
        ).items():
            attempts = "1 attempt" if count == 1 else f"{count} attempts"
            self.findings.append(Finding(learner, f"{attempts} at numbers of {owner or 'nobody here'}; not counted"))

    def _copies(self) -> Iterator[Finding]:
        yield from self._twice({id(each): each.folder.seed for each in self.learners}, "the same numbers: one folder is a copy")
        yield from self._twice({id(each): each.folder.learner for each in self.learners if each.folder.learner}, "the same name")

    def _twice(self, values: Mapping[int, str], what: str) -> Iterator[Finding]:
        shared = {value for value, count in Counter(values.values()).items() if count > 1}
        for value in sorted(shared):
            those = [each for each in self.learners if values.get(id(each)) == value]
            names = ", ".join(f"{each.name} ({line(str(each.folder.path), 60)})" for each in those)
            yield Finding(", ".join(each.name for each in those), f"{what}: {names}")

    def _names(self, class_seed: str) -> Iterator[Finding]:
        for each in self.learners if class_seed else ():
            if learner_seed(class_seed, each.folder.learner) != each.folder.seed:
                yield Finding(each.name, "the name does not fit the numbers: one of them was changed")

    @cached_property
    def document(self) -> Document:
        """The report: findings, learners, exercises, wrong models, verdicts."""
        learners = sorted(self.learners, key=lambda each: each.name.casefold())
        tried = sum(bool(each.rights) for one in learners for each in one.outcomes.values())
        head = Facts([("learners", str(len(learners))), ("exercises", str(len(self.exercises))), ("exercises tried", str(tried))])
        return Document(
            "The course: report on a class",
            [
                head,
                Prose("Every kept answer was judged again. A prediction has a point where its first attempt was right, any other "
                      "exercise where one attempt was."),
                Section("To look at", [self._found_table()]),
                Section("Learners", [_learners_table(learners, len(self.exercises))]),
                Section("Exercises", [_exercises_table(self.exercises, learners)]),
                Section("Wrong models", [_models_table(self.exercises, learners)]),
                Section("Verdicts", _verdict_tables(self.exercises, learners), {"verdicts": list(self._rows())}),
            ],
        )  # fmt: skip

    def _found_table(self) -> Part:
        if not self.findings:
            return Prose("Nothing: no folder is a copy, no name was changed, and every verdict is as it was kept.")
        return Table(("learner", "what"), [(each.who, each.what) for each in self.findings])

    def _rows(self) -> Iterator[dict[str, Any]]:
        for learner in self.learners:
            for name, each in learner.outcomes.items():
                first, latest = (_word(each.rights[at]) if each.rights else "" for at in (0, -1))
                folder, right_at = line(str(learner.folder.path), 200), each.right_at or ""
                values = (
                    learner.name,
                    folder,
                    name,
                    len(each.rights),
                    first,
                    latest,
                    right_at,
                    each.points,
                    "; ".join(each.models),
                )
                yield dict(zip(COLUMNS, values, strict=True))

    def csv(self) -> str:
        """One row for each learner and exercise. A text that a spreadsheet would calculate begins with an apostrophe."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _inert(value) for key, value in row.items()} for row in self._rows())
        return text.getvalue()


def _key(attempt: Attempt) -> str:
    return json.dumps(attempt.answer, sort_keys=True)


def _changed(kept: Attempt, found: Found) -> str:
    """What a teacher should know of a verdict that differs from the one that was kept; "" where none does."""
    if kept.right == found.right:
        return ""
    if found.right:
        return "kept as not yet, and judged right: the verdict was changed, or is of another isoviz"
    if found.model in _FAILURES:
        return f"kept as right, and its function now {_FAILURES[found.model]}: see whether it would do so again"
    return "kept as right, and judged wrong: the verdict is forged, or of another isoviz"


def _owner(owners: Mapping[tuple[str, str], Learner], name: str, numbers: str) -> str:
    found = owners.get((name, numbers))
    return found.name if found is not None else ""


def _word(right: bool) -> str:
    return "right" if right else "not yet"


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _learners_table(learners: Sequence[Learner], exercises: int) -> Table:
    rows = []
    for each in learners:
        outcomes = each.outcomes.values()
        numbers = (sum(map(bool, (one.right_at for one in outcomes))), sum(one.right_at == 1 for one in outcomes))
        attempts = sum(len(one.rights) for one in outcomes)
        rows.append((each.name, f"{each.points} of {exercises}", *map(str, numbers), str(attempts)))
    return Table(("learner", "points", "right", "right at first", "attempts"), rows, numbers=(1, 2, 3, 4))


def _exercises_table(exercises: Mapping[str, Exercise], learners: Sequence[Learner]) -> Table:
    rows = []
    for name in exercises:
        outcomes = [one.outcomes[name] for one in learners if one.outcomes[name].rights]
        right = sum(each.right_at > 0 for each in outcomes)
        first = sum(each.right_at == 1 for each in outcomes)
        attempts = sum(len(each.rights) for each in outcomes)
        title = Texts.of(exercises[name].notebook).find(name, "title") or ""
        rows.append((name, str(title), *map(str, (len(outcomes), right, first, attempts))))
    return Table(("exercise", "title", "tried", "right", "right at first", "attempts"), rows, numbers=(2, 3, 4, 5))


def _models_table(exercises: Mapping[str, Exercise], learners: Sequence[Learner]) -> Part:
    counts = Counter((name, model) for one in learners for name, each in one.outcomes.items() for model in each.models)
    if not counts:
        return Prose("No answer shows one.")
    order = {name: number for number, name in enumerate(exercises)}
    rows = []
    for (name, model), count in sorted(counts.items(), key=lambda each: (order[each[0][0]], -each[1], each[0][1])):
        belief = Texts.of(exercises[name].notebook).find(name, "models", model, "belief") or ""
        rows.append((name, model, str(belief), str(count)))
    return Table(("exercise", "wrong model", "what is believed", "learners"), rows, numbers=(3,))


def _verdict_tables(exercises: Mapping[str, Exercise], learners: Sequence[Learner]) -> list[Part]:
    parts: list[Part] = [Prose("✓ 3: right at the third attempt. ✗ 2: two attempts, none of them right. Empty: not tried.")]
    for notebook in sorted({each.notebook for each in exercises.values()}):
        names = [name for name, each in exercises.items() if each.notebook == notebook]
        rows = [(one.name, *(_mark(one.outcomes[name]) for name in names)) for one in learners]
        parts.append(Table(("learner", *names), rows, caption=f"Notebook {notebook}"))
    return parts


def _mark(outcome: Outcome) -> Cell:
    if not outcome.rights:
        return ""
    if not outcome.right_at:
        return Mark(f"✗ {len(outcome.rights)}", "bad")
    return Mark(f"✓ {outcome.right_at}", "good" if outcome.points else "none")
