"""4.1 and 4.3: how long does a pipeline take, with two slots in its buffers and with one?"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number
from isoviz.course.notebook_4.timelines import MS, Pipeline, answer_marks, at_work, pipeline_of, timeline_html
from isoviz.units import format_seconds

HOPS = 4
_KIND = Number("the time T", "s", relative=0.004, least=0)


def _draw(source: random.Random) -> dict[str, Any]:
    hops = [number / 2 for number in source.sample(range(2, 14), HOPS)]
    return {"hops": hops, "chunks": source.randrange(6, 14), "setup": source.randrange(3, 16)}


def _draw_apart(source: random.Random) -> dict[str, Any]:
    """Numbers on which the two slowest hops are not neighbours: one slot couples neighbours only."""
    while True:
        given = _draw(source)
        one, other = sorted(range(HOPS), key=given["hops"].__getitem__)[-2:]
        if abs(one - other) > 1:
            return given


def _given_words(given: Given) -> dict[str, object]:
    *hops, last = [f"{each:g} ms" for each in given["hops"]]
    return {"times": f"{', '.join(hops)} and {last}", "first": f"{given['hops'][0]:g} ms", "setup_time": f"{given['setup']} ms"}


def _verdict(exercise: Exercise, pipeline: Pipeline, answer: float, given: Given, buffers: bool) -> Verdict:
    end = pipeline.seconds
    is_right = exercise.kind.same(answer, end)
    words: dict[str, object] = {"answer": format_seconds(answer)}
    if is_right:
        says = exercise.text("says", "right", given=given, end=_ms(end))
    elif answer < end:
        says = exercise.text("says", "early", given=given, **words, doing=at_work(pipeline, answer))
    else:
        says = exercise.text("says", "late", given=given, **words, ahead=format_seconds(answer - end))
    marks = answer_marks(answer, end, is_right)
    return Verdict(
        is_right, says, words, lambda: timeline_html(("", pipeline.trace(), pipeline.setup), marks=marks, buffers=buffers)
    )


def _formula(time: Callable[[Pipeline], float]) -> Callable[[Given], float]:
    """A wrong model: the seconds that follow from a pipeline by this formula."""
    return lambda given: time(pipeline_of(given))


def _words(given: Given) -> dict[str, object]:
    pipeline = pipeline_of(given)
    return {
        **_given_words(given),
        "sum": _ms(sum(pipeline.hops)), "most": _ms(max(pipeline.hops)), "slowest": pipeline.slowest,
        "rest": pipeline.chunks - 1, "end": _ms(pipeline.seconds), "last": _ms(pipeline.hops[-1]),
        "arrives": _ms(pipeline.setup + sum(pipeline.hops)), "works": _ms(pipeline.chunks * max(pipeline.hops)),
        "mean": _ms(sum(pipeline.hops) / HOPS), "stored": _ms(pipeline.chunks * sum(pipeline.hops)),
    }  # fmt: skip


def _ms(seconds: float) -> str:
    return f"{seconds / MS:.4g} ms"


PREDICTED_TIME: Exercise = Exercise(
    "4.1",
    _KIND,
    _draw,
    lambda answer, given: _verdict(PREDICTED_TIME, pipeline_of(given), answer, given, buffers=False),
    (
        WrongModel("hops-add", _formula(lambda p: p.setup + p.chunks * sum(p.hops))),
        WrongModel("fill-forgotten", _formula(lambda p: p.setup + p.chunks * max(p.hops))),
        WrongModel("set-up-forgotten", _formula(lambda p: sum(p.hops) + (p.chunks - 1) * max(p.hops))),
        WrongModel("only-the-rate", _formula(lambda p: p.chunks * max(p.hops))),
        WrongModel("mean-of-hops", _formula(lambda p: p.setup + sum(p.hops) + (p.chunks - 1) * sum(p.hops) / HOPS)),
        WrongModel("one-chunk-twice", _formula(lambda p: p.setup + sum(p.hops) + p.chunks * max(p.hops))),
        WrongModel("last-hop-decides", _formula(lambda p: p.setup + sum(p.hops) + (p.chunks - 1) * p.hops[-1])),
    ),
    lambda given: pipeline_of(given).seconds,
    words=_words,
    is_prediction=True,
)


def _pair(pipeline: Pipeline) -> float:
    at = pipeline.longest_pair
    return sum(pipeline.hops[at : at + 2])


def _words_of_one_slot(given: Given) -> dict[str, object]:
    pipeline = pipeline_of(given, 1)
    at = pipeline.longest_pair
    one, other = sorted(range(HOPS), key=pipeline.hops.__getitem__)[-2:]
    return {
        **_words(given),
        "end": _ms(pipeline.seconds), "two": _ms(pipeline_of(given).seconds),
        "pair": _ms(_pair(pipeline)), "here": at, "there": at + 1,
        "slow": min(one, other), "slow_too": max(one, other),
    }  # fmt: skip


ONE_SLOT: Exercise = Exercise(
    "4.3",
    _KIND,
    _draw_apart,
    lambda answer, given: _verdict(ONE_SLOT, pipeline_of(given, 1), answer, given, buffers=True),
    (
        WrongModel("slots-do-nothing", _formula(lambda p: p.seconds)),
        WrongModel("hops-add", _formula(lambda p: p.setup + p.chunks * sum(p.hops))),
        WrongModel("half-as-fast", _formula(lambda p: p.setup + sum(p.hops) + (p.chunks - 1) * 2 * max(p.hops))),
        WrongModel("two-slowest-hops", _formula(lambda p: p.setup + sum(p.hops) + (p.chunks - 1) * sum(sorted(p.hops)[-2:]))),
        WrongModel("set-up-forgotten", _formula(lambda p: sum(p.hops) + (p.chunks - 1) * _pair(p))),
        WrongModel("fill-forgotten", _formula(lambda p: p.setup + p.chunks * _pair(p))),
    ),
    lambda given: pipeline_of(given, 1).seconds,
    words=_words_of_one_slot,
    is_prediction=True,
)
