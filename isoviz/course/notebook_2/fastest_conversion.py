"""2.P: six conversions of a tensor in the order of their predicted times, and by how much the runs matter."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, Order, Several, linear_of
from isoviz.course.notebook_2.runs_in_order import is_sorted, sorted_by
from isoviz.course.notebook_2.two_layouts import PicturesBelow, plain_number, row_bytes
from isoviz.layouts import Comparison, compare
from isoviz.machines import LatencyBandwidth
from isoviz.units import format_rate, format_seconds

SOURCE = "<F, c, w, h, n>"
"""NHWC: channels fastest, then width, height and images."""
TARGETS = {
    "NCHW": "<F, w, h, c, n>",
    "NHCW": "<F, w, c, h, n>",
    "CHWN": "<F, n, w, h, c>",
    "NCHW4c": "<F, c_in=4, w, h, c_out, n>",
    "NCHW8c": "<F, c_in=8, w, h, c_out, n>",
    "NCHW16c": "<F, c_in=16, w, h, c_out, n>",
    "NWHC": "<F, c, h, w, n>",
    "HWNC": "<F, c, n, w, h>",
    "HNWC": "<F, c, w, n, h>",
}
COUNT = 6
_LEAST_TIMES = 4
"""Different times among the six, at least."""
_RATIO = 0.02
"""How near a ratio has to be."""


def _draw(source: random.Random) -> dict[str, Any]:
    side = source.choice((28, 40, 56))
    sizes = {"w": side, "h": side, "c": source.choice((32, 48, 64, 96)), "n": source.choice((8, 12, 16, 24))}
    names = source.sample(list(TARGETS), COUNT)
    slow, fast = source.sample(names, 2)
    latency, bandwidth = source.choice((2, 3, 4, 5, 6, 8)), source.choice((5, 6, 8, 10, 12))
    return {
        "sizes": sizes, "fields": {"v": "float32"}, "names": names, "slow": slow, "fast": fast,
        "latency": latency, "bandwidth": bandwidth,
    }  # fmt: skip


def _compared(given: Given, name: str) -> Comparison:
    return compare(linear_of(given, SOURCE), linear_of(given, TARGETS[name]))


def _rate(given: Given, run: float) -> float:
    return LatencyBandwidth(latency=given["latency"] * 1e-9, bandwidth=given["bandwidth"] * 1e9)(run)


def _by_name(given: Given, figure: Callable[[str], float]) -> dict[str, float]:
    return {name: figure(name) for name in given["names"]}


def _runs(given: Given) -> dict[str, float]:
    return _by_name(given, lambda name: _compared(given, name).run_bytes)


def predicted_seconds(given: Given) -> dict[str, float]:
    """The predicted time of each conversion."""
    nbytes = linear_of(given, SOURCE).nbytes
    return {name: nbytes / _rate(given, run) for name, run in _runs(given).items()}


def _ratio(given: Given) -> float:
    seconds = predicted_seconds(given)
    return seconds[given["slow"]] / seconds[given["fast"]]


_FIGURES: Mapping[str, Callable[[Given], dict[str, float]]] = {
    "small-shuffle-first": lambda given: _by_name(given, lambda name: -_compared(given, name).shuffle_bytes),
    "long-rows-first": lambda given: _by_name(given, lambda name: row_bytes(linear_of(given, TARGETS[name]))),
    "slowest-first": lambda given: predicted_seconds(given),
}
"""By wrong model of the order: what somebody who has it sorts by, the largest first."""
_RATIOS: Mapping[str, Callable[[Given], float]] = {
    "ratio-of-runs": lambda given: _runs(given)[given["fast"]] / _runs(given)[given["slow"]],
    "same-bytes-same-time": lambda _given: 1.0,
    "ratio-upside-down": lambda given: 1 / _ratio(given),
}
"""By wrong model of the ratio: what somebody who has it answers."""


def _right(given: Given) -> dict[str, Any]:
    return {"order": sorted_by(_runs(given)), "ratio": _ratio(given)}


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= _RATIO * other


def _order_model(name: str) -> WrongModel:
    figures = _FIGURES[name]
    return WrongModel(
        name,
        lambda given: {**_right(given), "order": sorted_by(figures(given))},
        lambda read, given: not is_sorted(read["order"], _runs(given)) and is_sorted(read["order"], figures(given)),
    )


def _ratio_model(name: str) -> WrongModel:
    ratio = _RATIOS[name]
    return WrongModel(
        name,
        lambda given: {**_right(given), "ratio": ratio(given)},
        lambda read, given: is_sorted(read["order"], _runs(given)) and _is_near(read["ratio"], ratio(given)),
    )


def _apart(given: Given) -> bool:
    runs, ratio = _runs(given), _ratio(given)
    if len(set(runs.values())) < _LEAST_TIMES or ratio < 2:
        return False
    orders = [runs, *(figures(given) for figures in _FIGURES.values())]
    ratios = sorted([ratio, *(each(given) for each in _RATIOS.values())])
    return not any(is_sorted(sorted_by(one), other) for one, other in itertools.permutations(orders, 2)) and all(
        large > (1 + 4 * _RATIO) * small for small, large in itertools.pairwise(ratios)
    )


def _judge(read: dict[str, Any], given: Given) -> Verdict:
    order, runs, seconds = read["order"], _runs(given), predicted_seconds(given)
    wrong = next(((one, other) for one, other in itertools.pairwise(order) if runs[one] < runs[other]), None)
    one, other = wrong or (order[0], order[-1])
    words = {
        "one": one, "other": other, "one_layout": TARGETS[one], "other_layout": TARGETS[other],
        "one_run": plain_number(runs[one]), "other_run": plain_number(runs[other]), "answer": f"{read['ratio']:.3g}",
    }  # fmt: skip
    is_near = _is_near(read["ratio"], _ratio(given))
    keys = ("order right" if wrong is None else "order wrong", "ratio right" if is_near else "ratio wrong")
    says = " ".join(FASTEST_CONVERSION.text("says", key, given=given, **words) for key in keys)
    return Verdict(wrong is None and is_near, says, words, lambda: _picture(order, seconds, given))


def _picture(order: list[str], seconds: Mapping[str, float], given: Given) -> PicturesBelow:
    """The predicted times in the learner's order. A bar that is shorter than the one above it stands out."""
    from isoviz.figures.charts.bars import NamedBar, bars_svg

    above = [0.0, *(seconds[name] for name in order)]
    bars = [
        NamedBar(
            f"{name} {TARGETS[name]}", ((seconds[name], format_seconds(seconds[name])),), seconds[name] < before * (1 - 1e-9)
        )
        for name, before in zip(order, above, strict=False)
    ]
    title = FASTEST_CONVERSION.text("says", "picture", given=given)
    return PicturesBelow(("", lambda: bars_svg(bars, title)))


def _words(given: Given) -> dict[str, object]:
    runs, sizes, right = _runs(given), given["sizes"], _right(given)
    slow, fast = given["slow"], given["fast"]
    return {
        "nn": sizes["n"], "nh": sizes["h"], "nw": sizes["w"], "nc": sizes["c"], "source": SOURCE,
        "listed": "\n".join(f"{name}: {TARGETS[name]}" for name in given["names"]),
        "names_in_order": ", ".join(given["names"]), "right": " > ".join(right["order"]), "ratio": f"{right['ratio']:.3g}",
        "slow_run": plain_number(runs[slow]), "fast_run": plain_number(runs[fast]),
        "slow_rate": format_rate(_rate(given, runs[slow])), "fast_rate": format_rate(_rate(given, runs[fast])),
        "half": plain_number(given["latency"] * given["bandwidth"]), "run_ratio": plain_number(runs[fast] / runs[slow]),
    }  # fmt: skip


FASTEST_CONVERSION = Exercise(
    "2.P",
    Several(
        {
            "order": Order(lambda given: given["names"]),
            "ratio": Number("how many times as long", relative=_RATIO, least=0),
        }
    ),
    _draw,
    _judge,
    (*map(_order_model, _FIGURES), *map(_ratio_model, _RATIOS)),
    _right,
    words=_words,
    apart=_apart,
)
