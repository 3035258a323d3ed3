"""2.3: six pairs of layouts in the order of their runs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Order, linear_of
from isoviz.course.notebook_2.two_layouts import PicturesBelow, plain_number, row_bytes, suffix_bytes
from isoviz.layouts import Comparison, Linearization, compare

_NAMES = "ABCDEF"
_DTYPES = ("uint8", "uint16", "float32", "float64")
_PAIRS = (
    ("<F, x, y>", "<F, y, x>"),
    ("<F, x, y>", "<x, y, F>"),
    ("<F, x, y>", "<F, x_in={n}, y, x_out>"),
    ("<F, x, y>", "<x, F, y>"),
    ("<x, F, y>", "<x, y, F>"),
    ("<x, F, y>", "<x_in={n}, F, x_out, y>"),
    ("<x, F, y>", "<F, x_in={n}, y, x_out>"),
    ("<y, F, x>", "<y, x, F>"),
    ("<y, F, x>", "<F, y, x>"),
    ("<F, y, x>", "<F, y_in={m}, x, y_out>"),
    ("<F, y, x>", "<F, x_in={n}, y, x_out>"),
    ("<F, x_in={n}, y, x_out>", "<F, x_in={twice}, y, x_out>"),
    ("<F, x_in={n}, y, x_out>", "<F, x_in={n}, x_out, y>"),
    ("<x_in={n}, F, x_out, y>", "<x_in={twice}, y, F, x_out>"),
    ("<x_in={n}, y, F, x_out>", "<x_in={n}, F, x_out, y>"),
    ("<y, x, F>", "<y_in={m}, F, y_out, x>"),
)
_LEAST_RUNS = 4
"""Different runs among the six pairs, at least."""


def _draw(source: random.Random) -> dict[str, Any]:
    n, m = source.choice((2, 4, 8)), source.choice((3, 6))
    pairs = [[each.format(n=n, m=m, twice=2 * n) for each in pair] for pair in source.sample(_PAIRS, len(_NAMES))]
    sizes = {"x": 2 * n * source.choice((2, 3, 4)), "y": m * source.choice((2, 4, 5))}
    fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
    return {"sizes": sizes, "fields": fields, "pairs": dict(zip(_NAMES, pairs, strict=True))}


def _by_name(given: Given, figure: Callable[[Linearization, Linearization, Comparison], float]) -> dict[str, float]:
    """A figure of each pair."""
    found = {}
    for name, pair in given["pairs"].items():
        here, there = (linear_of(given, each) for each in pair)
        found[name] = figure(here, there, compare(here, there))
    return found


def _runs(given: Given) -> dict[str, float]:
    return _by_name(given, lambda _here, _there, compared: compared.run_bytes)


_FIGURES: Mapping[str, Callable[[Given], dict[str, float]]] = {
    "rows-of-the-source": lambda given: _by_name(given, lambda here, _there, _compared: row_bytes(here)),
    "rows-of-the-destination": lambda given: _by_name(given, lambda _here, there, _compared: row_bytes(there)),
    "longer-of-both-rows": lambda given: _by_name(given, lambda here, there, _: max(row_bytes(here), row_bytes(there))),
    "slow-ends": lambda given: _by_name(given, lambda here, _there, compared: suffix_bytes(here, compared)),
    "shortest-first": lambda given: {name: -run for name, run in _runs(given).items()},
}
"""By wrong model: what somebody who has it sorts by."""


def sorted_by(figures: Mapping[str, float]) -> list[str]:
    """Names, that of the largest figure first."""
    return sorted(figures, key=lambda name: (-figures[name], name))


def is_sorted(order: list[str], figures: Mapping[str, float]) -> bool:
    """Whether no name has a larger figure than the one before it."""
    return all(figures[one] >= figures[other] for one, other in itertools.pairwise(order))


def _model(name: str) -> WrongModel:
    figures = _FIGURES[name]
    return WrongModel(name, lambda given: sorted_by(figures(given)), lambda order, given: is_sorted(order, figures(given)))


def _apart(given: Given) -> bool:
    every = [_runs(given), *(figures(given) for figures in _FIGURES.values())]
    if len(set(every[0].values())) < _LEAST_RUNS:
        return False
    return not any(is_sorted(sorted_by(one), other) for one, other in itertools.permutations(every, 2))


def _judge(order: list[str], given: Given) -> Verdict:
    runs = _runs(given)
    wrong = next(((one, other) for one, other in itertools.pairwise(order) if runs[one] < runs[other]), None)
    words = {} if wrong is None else dict(zip(("one", "other"), wrong, strict=True))
    for which, name in list(words.items()):
        words |= dict(zip((f"{which}_source", f"{which}_destination"), given["pairs"][name], strict=True))
    says = RUNS_IN_ORDER.text("says", "right" if wrong is None else "other", given=given, **words)
    return Verdict(wrong is None, says, words, lambda: _picture(order, runs, given))


def _picture(order: list[str], runs: Mapping[str, float], given: Given) -> Any:
    """The runs in the learner's order. A bar that is longer than the one above it stands out."""
    from isoviz.figures.charts.bars import NamedBar, bars_svg

    above = [math.inf, *(runs[name] for name in order)]
    bars = [
        NamedBar(
            f"{name}: {' → '.join(given['pairs'][name])}", ((runs[name], f"{plain_number(runs[name])} B"),), runs[name] > before
        )
        for name, before in zip(order, above, strict=False)
    ]
    title = RUNS_IN_ORDER.text("says", "picture", given=given)
    return PicturesBelow(("", lambda: bars_svg(bars, title)))


def _words(given: Given) -> dict[str, object]:
    runs = _runs(given)
    (a, b), (size_a, size_b) = given["fields"].values(), linear_of(given, "<F, x, y>").fields.sizes
    listed = "\n".join(f"{name}: {here} to {there}" for name, (here, there) in given["pairs"].items())
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"], "a": a, "b": b, "size_a": size_a, "size_b": size_b,
        "listed": listed, "right": ", ".join(sorted_by(runs)),
        "right_runs": ", ".join(f"{plain_number(runs[name])} B" for name in sorted_by(runs)),
    }  # fmt: skip


RUNS_IN_ORDER = Exercise(
    "2.3",
    Order(lambda _given: tuple(_NAMES)),
    _draw,
    _judge,
    tuple(map(_model, _FIGURES)),
    lambda given: sorted_by(_runs(given)),
    words=_words,
    apart=_apart,
)
