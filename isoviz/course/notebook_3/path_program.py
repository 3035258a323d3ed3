"""3.2: the program in the logarithms by the learner, judged on hidden paths."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from typing import Any

from isoviz.course import path_rates
from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.functions import Cases, Function, Source, calling
from isoviz.course.notebook_3.blocks_by_hand import MEMORIES, MIB, hops_of, machine
from isoviz.units import format_bytes, format_rate

REASONS = ("network", "slot", "dimension")
"""What bounds a path. Of the hidden ones, each bounds `EACH`."""
EACH = 2
PRECISE, PRICED = 1e-4, 2e-3
"""How near TP has to be, by the tangents of a learner, and the price."""
CLEARLY = 1.02
"""By how much the second bound of a case is above the first: nothing is asked at a kink."""
WRONG = {
    "network-forgotten": path_rates.network_forgotten,
    "entry-forgotten": path_rates.entry_forgotten,
    "extent-forgotten": path_rates.extent_forgotten,
    "slot-forgotten": path_rates.slot_forgotten,
    "times-added": path_rates.times_added,
    "rates-averaged": path_rates.rates_averaged,
    "latency-forgotten": path_rates.latency_forgotten,
    "price-negative": path_rates.price_negative,
    "price-per-byte": path_rates.price_per_byte,
}


def _bound_by(data: path_rates.Data) -> str:
    """What bounds the path; "" where two things nearly do."""
    allowed = path_rates.bounds(data)
    first, second, *_ = sorted(allowed, key=allowed.__getitem__)
    if allowed[second] < CLEARLY * allowed[first]:
        return ""
    return {"flat": "network", "x": "dimension", "y": "dimension"}.get(first, first)


def _path(source: random.Random) -> dict[str, Any]:
    """A path like that of 3.1 with figures of its own, rounded as one would write them."""
    hops = []
    for hop in hops_of(machine(), MEMORIES):
        latency = round(hop["latency"] * source.uniform(0.5, 2) * 1e6, 2) / 1e6
        wide = 0.7 if hop["name"] == "RemoteMemcpy" else 0.2
        bandwidth = round(hop["bandwidth"] * source.uniform(1 - wide, 1 + wide) / 1e7) * 1e7
        hops.append({**hop, "latency": latency, "bandwidth": bandwidth})
    return {
        "entry": source.choice((4, 8, 16)),
        "slot": source.choice((1, 2, 4, 8, 16, 32, 64)) * MIB,
        "x": source.choice((256, 512, 1024, 2048, 4096, 8192, 16384)),
        "y": source.choice((256, 512, 1024, 2048, 4096, 8192, 16384)),
        "hops": hops,
    }


def _draw(source: random.Random) -> dict[str, Any]:
    example = _path(source)
    while _bound_by(example) != "slot":
        example = _path(source)
    return {"seed": source.getrandbits(32), "example": example}


def hidden(given: Given) -> list[list[dict[str, Any]]]:
    """The paths on which a function is judged, as arguments."""
    return [[path] for path in _hidden(given["seed"])]


@lru_cache(maxsize=64)
def _hidden(seed: int) -> tuple[dict[str, Any], ...]:
    source, found = random.Random(seed), []  # noqa: S311  # no secret
    for reason in REASONS * EACH:
        path = _path(source)
        while _bound_by(path) != reason:
            path = _path(source)
        found.append(path)
    return tuple(found)


def _read(value: Any) -> list[float] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
        return None
    return [float(each) for each in value]


def _same_rate(one: list[float], other: list[float]) -> bool:
    return math.isclose(one[0], other[0], rel_tol=PRECISE)


def _same(one: list[float], other: list[float]) -> bool:
    return _same_rate(one, other) and math.isclose(one[1], other[1], rel_tol=1e-2, abs_tol=PRICED)


def _differs(value: list[float], right: list[float]) -> str:
    if _same_rate(value, right):
        return "price"
    return "too-much" if value[0] > right[0] else "too-little"


def _told(data: path_rates.Data) -> str:
    network = format_rate(data["hops"][2]["bandwidth"])
    return f"|F| = {data['entry']} B, slot {format_bytes(data['slot'])}, x = {data['x']}, y = {data['y']}, network {network}"


CASES = Cases("3.2", hidden, path_rates.right_program, _read, _same, WRONG, _told, differs=_differs)


def _judge(answer: Source, given: Given) -> Verdict:
    return CASES.judge(answer, given)


PATH_PROGRAM = Exercise(
    "3.2",
    Function("program(data)"),
    _draw,
    _judge,
    tuple(WrongModel(name, lambda _given, model=model: calling(model, "program")) for name, model in WRONG.items()),  # type: ignore[misc]
    lambda _given: calling(path_rates.right_program, "program"),
    apart=CASES.tells_apart,
    hidden=("seed",),
)
