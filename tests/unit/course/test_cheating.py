"""What a learner may try without knowing the answer. None of it is right, and the judges survive it."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from course_cases import FULL, solutions

from isoviz.course import lessons
from isoviz.course.checking import judged, judged_again
from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.exercise import Exercise, NotAnAnswer
from isoviz.course.functions import Function, Source
from isoviz.course.kinds import LayoutAnswer
from isoviz.course.lessons import NOTEBOOKS, every_exercise
from isoviz.course.notebook_3.blocks_by_hand import PlanAnswer
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import LatencyBandwidth

EXERCISES = every_exercise()
SOLUTIONS = {name: each for notebook in NOTEBOOKS for name, each in solutions(notebook).items()}
SEEDS = 5 if FULL else 1


def of_kind(kind: type) -> Any:
    return pytest.mark.parametrize("name", [name for name, each in EXERCISES.items() if isinstance(each.kind, kind)])


def numbers(name: str) -> list[dict[str, Any]]:
    return [drawn(EXERCISES[name], learner_seed("cheating", f"{name} {number}")) for number in range(SEEDS)]


def is_right(exercise: Exercise, answer: object, given: Any) -> bool:
    """Whether an answer is taken for right. What cannot be read is not."""
    try:
        return judged(exercise, answer, given).verdict.right
    except NotAnAnswer:
        return False


def equal_to_everything(base: type) -> type:
    """A class of values that say of everything that it is the same, before it and after it."""
    says = {name: lambda *_: True for name in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "startswith")}
    says |= {name: (lambda self, *_: self) for name in ("strip", "casefold", "lower", "__sub__", "__rsub__", "__abs__")}
    return type(f"Equal{base.__name__}", (base,), {**says, "__ne__": lambda *_: False, "__hash__": lambda _: 0})


@pytest.mark.parametrize("name", EXERCISES)
def test_values_that_are_equal_to_everything_are_not_right(name: str) -> None:
    exercise, (given, *_) = EXERCISES[name], numbers(name)
    for value in (-7, 0.123, "no such thing", [], {}, (), frozenset(), b"x"):
        answer = equal_to_everything(type(value))(value)
        assert not is_right(exercise, answer, given)
        assert not is_right(exercise, [answer, answer], given)


@pytest.mark.parametrize("name", EXERCISES)
def test_several_answers_at_once_are_no_answer(name: str) -> None:
    """Neither all that could be right in one list, nor an array of them."""
    exercise, (given, *_) = EXERCISES[name], numbers(name)
    wrong = [model.answer(given) for model in exercise.models if model.answer(given) is not None]
    right = SOLUTIONS[name](given)[0]
    both = np.empty((1, 2), object)
    both[0, 0] = both[0, 1] = right
    for answer in ([right, *wrong], [[right]], {"right": right}, both, iter([right])):
        assert not is_right(exercise, answer, given), answer


@of_kind(Function)
def test_a_constant_function_is_not_right(name: str) -> None:
    """Not even one that returns for every case what is right for the first."""
    exercise = EXERCISES[name]
    for given in numbers(name):
        source = exercise.kind.read(SOLUTIONS[name](given)[0], given)
        inside = textwrap.indent(source.text, "    ")
        first = (
            f"def {source.name}(*given):\n    import builtins\n{inside}\n    kept = builtins.__dict__.setdefault('kept', [])\n"
        )
        first += f"    if not kept:\n        kept.append({source.name}(*given))\n    return kept[0]\n"
        bodies = [f"def {source.name}(*given):\n    return {value}\n" for value in ("0", "None", "[]", "1e9", "given[0]")]
        for text in (first, *bodies):
            assert not exercise.judge(Source(text, source.name), given).right, text


@of_kind(Function)
def test_a_function_that_fails_is_not_right(name: str) -> None:
    exercise, (given, *_) = EXERCISES[name], numbers(name)
    called = exercise.kind.read(SOLUTIONS[name](given)[0], given).name
    for body in ("raise SystemExit(0)", "import os; os._exit(0)", "for each in given: each.clear()", "return given"):
        verdict = exercise.judge(Source(f"def {called}(*given):\n    {body}\n", called), given)
        assert not verdict.right and verdict.says


@of_kind(PlanAnswer)
def test_what_a_plan_says_of_itself_is_not_read(name: str) -> None:
    exercise, (given, *_) = EXERCISES[name], numbers(name)
    kind: Any = exercise.kind
    for model in exercise.models:
        choices = model.answer(given)
        if choices is None:
            continue
        plan = kind.computed(choices, given)
        forged = replace(plan, paths=tuple(replace(each, throughput=9e18) for each in plan.paths))
        assert not is_right(exercise, forged, given)
        return
    pytest.fail("no wrong model has a plan")


@of_kind(PlanAnswer)
def test_a_faster_machine_is_another_machine(name: str) -> None:
    exercise, (given, *_) = EXERCISES[name], numbers(name)
    kind: Any = exercise.kind
    machine = kind.machine(given)
    faster = replace(
        machine, channels=tuple(replace(each, throughput=LatencyBandwidth(1e-12, 1e15)) for each in machine.channels)
    )
    right = judged_again(exercise, kind.keep(exercise.right(given)), given).read
    forged = replace(kind, machine=lambda _: faster).computed(right, given)
    with pytest.raises(NotAnAnswer, match="another machine"):
        judged(exercise, forged, given)


@of_kind(LayoutAnswer)
def test_a_pane_with_another_array_is_not_read(name: str) -> None:
    from isoviz.widgets import LayoutEditor

    exercise, (given, *_) = EXERCISES[name], numbers(name)
    layout = str(exercise.kind.keep(exercise.right(given)))
    array: Any = exercise.kind.array  # type: ignore[attr-defined]
    space, fields = array(given)
    larger = IndexSpace({dim: size * 2 for dim, size in space.as_dict().items()})
    others = FieldSpace(dict.fromkeys(fields.names, "complex128"))
    for changed in ({"space": larger, "fields": fields}, {"space": space, "fields": others}):
        editor = LayoutEditor(layout, **changed)
        try:
            with pytest.raises(NotAnAnswer, match="array"):
                judged(exercise, editor, given)
        finally:
            editor.close()


def test_a_line_written_by_hand_changes_no_verdict(folder: Any) -> None:
    """Nor does it spare the hints: attempts at numbers of another are not counted."""
    given = lessons.given("1.1")
    wrong = EXERCISES["1.1"].models[0].answer(given)
    (folder / "progress.jsonl").write_text(
        f'{{"v": 1, "exercise": "1.1", "answer": {wrong}, "right": true, "numbers": "none of mine"}}\n'
    )
    assert not lessons.answered("1.1")
    assert lessons.check("1.1", wrong).kind == "wrong" and lessons.answered("1.1")
