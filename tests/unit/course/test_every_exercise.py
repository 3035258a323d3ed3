"""Every exercise: right answers are taken, each wrong model is named, absurd ones are not counted, independent judges agree."""

from __future__ import annotations

import html
import math
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from course_cases import FULL, judges, solutions

from isoviz.course.checking import judged, judged_again
from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.exercise import NotAnAnswer, Texts
from isoviz.course.lessons import NOTEBOOKS, every_exercise
from isoviz.course.progress import digest

SEEDS = 50 if FULL else 3
RANDOM = 200 if FULL else 6
EXERCISES = every_exercise()
SOLUTIONS = {name: each for notebook in NOTEBOOKS for name, each in solutions(notebook).items()}
JUDGES = {
    name: (each, judges(notebook).ANSWERS[name]) for notebook in NOTEBOOKS for name, each in judges(notebook).JUDGES.items()
}


class EqualToEverything:
    """An answer that says of everything that it is the same."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


class Raising:
    """An answer that raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


ABSURD = (
    None,
    True,
    math.nan,
    10**400,
    "no such thing",
    [[]],
    object(),
    EqualToEverything(),
    Raising(),
    dict,
    lambda *_: 3,
    "x" * 10_000,
)


def seeds(name: str) -> list[str]:
    return [learner_seed("a class", f"{name} {number}") for number in range(SEEDS)]


@pytest.fixture(params=sorted(EXERCISES))
def exercise(request: pytest.FixtureRequest) -> Any:
    """Each exercise."""
    return EXERCISES[request.param]


def test_right_answers_are_taken(exercise: Any) -> None:
    for seed in seeds(exercise.name):
        given = drawn(exercise, seed)
        answers = SOLUTIONS[exercise.name](given)
        assert len(answers) >= 3
        for answer in answers:
            found = judged(exercise, answer, given)
            assert found.verdict.right, (given, answer, found.verdict.says)
            again = judged_again(exercise, exercise.kind.keep(found.read), given)
            assert again.verdict.right, (given, answer, again.verdict.says)


def test_each_wrong_model_is_refused_and_named(exercise: Any) -> None:
    texts, spoken = Texts.of(exercise.notebook), set()
    for seed in seeds(exercise.name):
        given = drawn(exercise, seed)
        assert exercise.tells_apart(given)
        for model in exercise.models:
            like, answer = model.like(given), model.answer(given)
            if answer is None:
                assert not like
                continue
            found = judged_again(exercise, exercise.kind.keep(answer), given)
            assert not found.verdict.right, (given, model.name, found.verdict.says)
            assert found.model == (like or model.name), (given, model.name, found.verdict.says)
            if not like:
                spoken.add(model.name)
            words = {**given, **exercise.words(given), **found.verdict.words}
            assert all(texts.hints(exercise.name, found.model, **words))
            assert exercise.text("solution", given=given)
    assert spoken == {model.name for model in exercise.models}


def test_learners_have_different_numbers(exercise: Any) -> None:
    numbers = {digest(drawn(exercise, seed)) for seed in seeds(exercise.name)}
    assert len(numbers) >= 0.9 * SEEDS


ELSEWHERE = {
    "1.4": {"arrays"},  # the code in the statement makes them
    "3.0": {"channels"},  # listed in the statement, with an arrow of their own
    "3.2": {"example"},  # data to try a function with; the statement names it
    "3.4": {"dtype"},  # its bytes are |F|
}
"""Numbers whose texts stand in the statement in another form."""


def parts(value: Any) -> Iterator[Any]:
    """A value and all that stands in it."""
    yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(each)


def test_the_numbers_of_an_exercise_do_not_give_its_answer_away(exercise: Any) -> None:
    """What a learner is told has no part of the right answer, and no text, that the statement has not as well."""
    for seed in seeds(exercise.name):
        given = drawn(exercise, seed)
        text = " ".join(exercise.text(part, given=given) for part in ("given", "asked", "unit"))
        picture = exercise.picture(given) if exercise.picture else None
        seen = text + html.unescape(picture._repr_html_() if picture else "")
        said = set(re.findall(r"[\d.]+", text.replace(",", "")))
        right = [part for part in parts(exercise.kind.keep(exercise.right(given))) if not isinstance(part, bool | None)]
        told = exercise.told(given)
        assert set(exercise.hidden) == set(given) - set(told), "what is hidden is a number of the exercise"
        for name, value in told.items():
            for part in parts(value):
                if isinstance(part, str):
                    assert part in seen or name in ELSEWHERE.get(exercise.name, ()), (name, part)
                elif part in right and not isinstance(part, bool):
                    assert f"{part:g}" in said if isinstance(part, float) else str(part) in said, (name, part)


def test_absurd_answers_are_not_counted(exercise: Any) -> None:
    given = drawn(exercise, seeds(exercise.name)[0])
    for answer in ABSURD:
        with pytest.raises(NotAnAnswer) as told:
            judged(exercise, answer, given)
        assert len(str(told.value)) > 10


def test_an_independent_judge_agrees(exercise: Any) -> None:
    judge, answers = JUDGES[exercise.name]
    source = random.Random(7)
    said = set()
    for number in range(RANDOM):
        given = drawn(exercise, learner_seed("judges", f"{exercise.name} {number % 20}"))
        answer = answers(given, source)
        found = judged(exercise, answer, given)
        assert found.verdict.right == judge(given, answer), (given, answer, found.verdict.says)
        said.add(found.verdict.right)
    assert not FULL or said == {True, False}
