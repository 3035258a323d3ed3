"""Notebook 4 judged independently: loops over all chunks, and all sequences of steps. Nothing of isoviz is used."""

from __future__ import annotations

import functools
import math
from typing import Any


def ends(hops: list[float], chunks: int, slots: int, last: list[float] | None = None) -> float:
    """When the last hop has moved the last chunk: every hop waits for its chunk, for itself, and for a free slot."""
    done = [[0.0] * chunks for _ in hops]
    for chunk in range(chunks):
        for hop, full in enumerate(hops):
            ready = done[hop - 1][chunk] if hop else 0.0
            free = done[hop][chunk - 1] if chunk else 0.0
            read = done[hop + 1][chunk - slots] if hop + 1 < len(hops) and chunk >= slots else 0.0
            takes = last[hop] if last is not None and chunk == chunks - 1 else full
            done[hop][chunk] = max(ready, free, read) + takes
    return done[-1][-1]


def _time(given: Any, slots: int) -> float:
    return (given["setup"] + ends(given["hops"], given["chunks"], slots)) / 1000


def _is_time(given: Any, answer: Any, slots: int) -> bool:
    return abs(answer - _time(given, slots)) <= 0.004 * _time(given, slots)


def _some_time(given: Any, source: Any, slots: int) -> float:
    return _time(given, slots) * (1 if source.random() < 0.3 else source.uniform(0.5, 1.5))


# ---- 4.2

LATENCY = 100e-6
SETUP = 115e-6


def _steady(nbytes: int, chunk: float) -> float:
    """T of the path from disk to GPU. The slowest hop is searched for each size anew."""
    chunk = min(chunk, nbytes)
    hops = [LATENCY + chunk / 280e6, max(1.5e-6, chunk / 3e9), 2.25e-6 + chunk / 5.139e9]
    return SETUP + sum(hops) + (nbytes / chunk - 1) * max(hops)


@functools.cache
def _least(nbytes: int) -> float:
    return min(_steady(nbytes, 4096 * 1.002**step) for step in range(7000))


def _are_chunks(given: Any, answer: Any) -> bool:
    return all(
        _steady(given[part], chunk) <= 1.01 * _least(given[part]) for part, chunk in zip(("small", "large"), answer, strict=True)
    )


def _some_chunks(given: Any, source: Any) -> Any:
    if source.random() < 0.4:
        return [round(given["small"] * source.uniform(0.2, 0.5)), round(source.uniform(4, 30) * 1e6)]
    return [round(2 ** source.uniform(10, 21)), round(2 ** source.uniform(14, 31))]


# ---- 4.4

CHANGES = ["larger chunks", "one more slot", "a faster hop", "no set-up"]


def _hops(given: Any, chunk: float, rates: Any) -> list[float]:
    return [late * 1e-6 + chunk / (rate * 1e9) for late, rate in zip(given["latencies"], rates, strict=True)]


def _best_change(given: Any) -> str:
    setup, chunk, slots = given["setup"] * 1e-6, given["chunk"], given["slots"]
    hops = _hops(given, chunk, given["rates"])
    faster = list(given["rates"])
    faster[hops.index(max(hops))] *= 2
    times = [
        setup + ends(_hops(given, 4 * chunk, given["rates"]), given["chunks"] // 4, slots),
        setup + ends(hops, given["chunks"], slots + 1),
        setup + ends(_hops(given, chunk, faster), given["chunks"], slots),
        ends(hops, given["chunks"], slots),
    ]
    return CHANGES[times.index(min(times))]


# ---- 4.5


def _can_stop(orders: Any) -> bool:
    """Whether some sequence of steps stops: all sequences are tried, buffer by buffer."""

    @functools.cache
    def stops(places: tuple[int, ...]) -> bool:
        if all(place > len(order) for place, order in zip(places, orders, strict=True)):
            return False
        taken = {name for place, order in zip(places, orders, strict=True) if place <= len(order) for name in order[:place]}
        moves = [
            who
            for who, (place, order) in enumerate(zip(places, orders, strict=True))
            if place == len(order) or (place < len(order) and order[place] not in taken)
        ]
        return not moves or any(stops((*places[:who], places[who] + 1, *places[who + 1 :])) for who in moves)

    return stops((0,) * len(orders))


def _never_stops(given: Any, answer: Any) -> bool:
    for needs in given["systems"]:
        orders = answer([list(each) for each in needs])
        if [sorted(each) for each in orders] != [sorted(each) for each in needs] or _can_stop(orders):
            return False
    return True


def by_name(needs: Any) -> Any:
    return [sorted(each) for each in needs]


def by_name_backwards(needs: Any) -> Any:
    return [sorted(each)[::-1] for each in needs]


def last_by_name(needs: Any) -> Any:
    return [[*(name for name in each if name != max(each)), max(each)] for each in needs]


def every_second_sorted(needs: Any) -> Any:
    return [sorted(each) if number % 2 else each for number, each in enumerate(needs)]


def one_left_out(needs: Any) -> Any:
    return [sorted(each)[1:] for each in needs]


def all_empty(needs: Any) -> Any:
    return [[] for _ in needs]


ORDERS = (by_name, by_name_backwards, last_by_name, every_second_sorted, one_left_out, all_empty)


# ---- 4.P


def _moves(given: Any, chunk: int, slots: int) -> float:
    """Bytes per second. Far more chunks than slots move at the pace of what sets it, so that two loops tell the rest."""
    chunks = math.ceil(given["bytes"] / chunk)
    full, last = ([given[f"{name}_latency"] * 1e-6 + size / given[f"{name}_rate"] for name in ("disk", "gpu")]
                  for size in (chunk, given["bytes"] - (chunks - 1) * chunk))  # fmt: skip
    few = min(chunks, 40)
    steady = ends(full, few, slots) - ends(full, few - 1, slots) if few > 1 else 0.0
    seconds = ends(full, few, slots, last) + (chunks - few) * steady
    return float(given["bytes"] / (given["setup"] * 1e-3 + seconds))


def _is_design(given: Any, answer: Any) -> bool:
    chunk, slots = answer
    slower = min(given["disk_rate"], given["gpu_rate"])
    return bool(chunk * slots <= 8 * 2**20 and _moves(given, chunk, slots) >= 0.95 * slower)


def _some_design(_given: Any, source: Any) -> Any:
    if source.random() < 0.4:
        return [round(source.uniform(3.2, 4) * 2**20), 2]
    return [round(2 ** source.uniform(16, 24)), source.choice((1, 2, 2, 3, 4, 8))]


JUDGES = {
    "4.1": lambda given, answer: _is_time(given, answer, 2),
    "4.2": _are_chunks,
    "4.3": lambda given, answer: _is_time(given, answer, 1),
    "4.4": lambda given, answer: answer == _best_change(given),
    "4.5": _never_stops,
    "4.P": _is_design,
}
"""Whether an answer is right."""
ANSWERS = {
    "4.1": lambda given, source: _some_time(given, source, 2),
    "4.2": _some_chunks,
    "4.3": lambda given, source: _some_time(given, source, 1),
    "4.4": lambda _given, source: source.choice(CHANGES),
    "4.5": lambda _given, source: source.choice(ORDERS),
    "4.P": _some_design,
}
"""Random answers, about a third of them right."""
