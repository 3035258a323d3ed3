"""Notebook 3 judged independently: search over block sizes, pipelines played chunk by chunk. Nothing of isoviz is used."""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from typing import Any

# ---- paths: the best blocks by search over x_in


def rate(hop: Any, run: float) -> float:
    return run / (hop["latency"] + run / hop["bandwidth"])  # type: ignore[no-any-return]


def searched(data: Any) -> float:
    """The most that a path sustains: the crossing of both ends' rates over log x_in, found by halving."""
    first, *flat, last = data["hops"]
    entries = data["slot"] / data["entry"]

    def ends(log_x: float) -> tuple[float, float]:
        x = math.exp(log_x)
        y = max(1.0, min(data["y"], entries / x))
        return rate(first, data["entry"] * x), rate(last, data["entry"] * y)

    low, high = 0.0, math.log(min(data["x"], entries))
    for _ in range(80):
        middle = (low + high) / 2
        one, other = ends(middle)
        low, high = (middle, high) if one < other else (low, middle)
    best = max(min(ends(low)), min(ends(high)))
    return min([best, *(hop["bandwidth"] for hop in flat)])


def _blocks_are_right(given: Any, answer: Any) -> bool:
    (x, y), first, last = answer, given["hops"][0], given["hops"][-1]
    fits = given["entry"] * x * y <= given["slot"]
    flat = min(hop["bandwidth"] for hop in given["hops"][1:-1])
    sustained = min(rate(first, given["entry"] * x), rate(last, given["entry"] * y), flat)
    return bool(fits and sustained >= given["target"] * (1 - 1e-9))


def _some_blocks(given: Any, source: Any) -> tuple[int, int]:
    first, last = given["hops"][0], given["hops"][-1]
    least = [hop["latency"] / (1 / given["target"] - 1 / hop["bandwidth"]) / given["entry"] for hop in (first, last)]
    spread = 1.0 if source.random() < 0.3 else source.choice((0.05, 0.5))
    return tuple(  # type: ignore[return-value]
        max(1, min(given[dim], math.ceil(size * 2 ** (source.uniform(-spread, spread) if spread < 1 else 0.004))))
        for dim, size in zip("xy", least, strict=True)
    )


# ---- functions


def _a_path(source: Any) -> dict[str, Any]:
    def hop(latency: float, bandwidth: float) -> dict[str, Any]:
        figures = {"latency": latency * source.uniform(0.5, 2), "bandwidth": bandwidth * source.uniform(0.5, 1.5)}
        return {"name": "", "run": "", **figures}

    sizes = [2 ** source.randint(8, 14) for _ in range(2)]
    hops = [hop(5.8e-6, 6.4e9), hop(0.0, 7.7e9), hop(0.0, 3e9), hop(2.3e-6, 5e9)]
    return {"entry": source.choice((4, 8, 16)), "slot": 2 ** source.randint(20, 26), "x": sizes[0], "y": sizes[1], "hops": hops}


def _function_is_right(_given: Any, answer: Any) -> bool:
    source = random.Random(11)
    for _ in range(30):
        data = _a_path(source)
        throughput, price = answer(data)
        right = searched(data)
        more, less = (searched({**data, "slot": data["slot"] * by}) for by in (1.0001, 0.9999))
        slopes = [math.log(more / right) / math.log(1.0001), math.log(less / right) / math.log(0.9999)]
        if abs(slopes[0] - slopes[1]) > 1e-2:
            continue  # a kink: nothing is asked there
        if not math.isclose(throughput, right, rel_tol=1e-4) or not math.isclose(price, slopes[0], rel_tol=1e-2, abs_tol=2e-3):
            return False
    return True


def by_search(data):  # type: ignore[no-untyped-def]
    """The search above, with all that it needs inside it."""
    import math

    def most(slot):  # type: ignore[no-untyped-def]
        first, *flat, last = data["hops"]

        def ends(log_x):  # type: ignore[no-untyped-def]
            runs = data["entry"] * math.exp(log_x), min(data["entry"] * data["y"], slot / math.exp(log_x))
            return [run / (hop["latency"] + run / hop["bandwidth"]) for hop, run in zip((first, last), runs, strict=True)]

        low, high = 0.0, math.log(data["x"])
        for _ in range(80):
            middle = (low + high) / 2
            one, other = ends(middle)
            low, high = (middle, high) if one < other else (low, middle)
        return min([max(min(ends(low)), min(ends(high))), *(hop["bandwidth"] for hop in flat)])

    here, more = most(data["slot"]), most(data["slot"] * 1.0001)
    return here, math.log(more / here) / math.log(1.0001)


def without_price(data):  # type: ignore[no-untyped-def]
    """A constant price."""
    hops = data["hops"]
    return min(hop["bandwidth"] for hop in hops), 0.25


def constant(_data):  # type: ignore[no-untyped-def]
    """The same for every path."""
    return 3e9, 0.0


def _some_function(_given: Any, source: Any) -> Any:
    return source.choice((by_search, without_price, constant))


# ---- prices


def _percent(given: Any, row: str) -> float:
    more = {**given, "hops": [dict(hop) for hop in given["hops"]]}
    if row == "slot":
        more["slot"] *= 1.01
    for hop in more["hops"]:
        if hop["name"] == row:
            hop["latency"], hop["bandwidth"] = hop["latency"] / 1.01, hop["bandwidth"] * 1.01
    return 100 * (searched(more) / searched(given) - 1)


def _row_is_right(given: Any, answer: Any) -> bool:
    row, percent = answer
    gains = {name: _percent(given, name) for name in [*(hop["name"] for hop in given["hops"]), "slot"]}
    return row == max(gains, key=gains.__getitem__) and abs(percent - gains[row]) <= max(0.03 * gains[row], 0.004)


def _some_row(given: Any, source: Any) -> tuple[str, float]:
    rows = ["GPURead", "GPUWrite"] if source.random() < 0.8 else ["Memcpy", "RemoteMemcpy", "slot"]
    row = source.choice(rows)
    return row, _percent(given, row) * source.choice((1.0, 1.01, 0.985, 1.2, 0.5))


# ---- fills: the pipeline played


def _played(of: Any) -> float:
    """The end of the last chunk: a hop begins a chunk when it has it and is through with the one before."""
    free = [of["setup"]] * len(of["seconds"])
    for _ in range(of["chunks"]):
        here = of["setup"]
        for number, seconds in enumerate(of["seconds"]):
            here = free[number] = max(here, free[number]) + seconds
    return float(free[-1])


def _fills_are_right(given: Any, answer: Any) -> bool:
    fills = [_played(given[name]) - given[name]["chunks"] * max(given[name]["seconds"]) for name in ("hand", "planner")]
    return all(abs(said - fill) <= 0.01 * fill for said, fill in zip(answer, fills, strict=True))


def _some_fills(given: Any, source: Any) -> tuple[float, ...]:
    by = source.choice((1.0, 1.005, 1.03, 0.9))
    return tuple(by * (of["setup"] + sum(of["seconds"]) - max(of["seconds"])) for of in (given["hand"], given["planner"]))


# ---- runs


def _run_is_right(given: Any, answer: Any) -> bool:
    hop = {"latency": given["microseconds"] / 1e6, "bandwidth": given["gigabytes"] * 1e9}
    wanted = (given["wanted"] * 1e9, hop["bandwidth"] / 2)
    return all(rate(hop, said / 1.01) <= each <= rate(hop, said / 0.99) for said, each in zip(answer, wanted, strict=True))


def _some_runs(given: Any, source: Any) -> tuple[float, float]:
    latency, bandwidth = given["microseconds"] * 1e-6, given["gigabytes"] * 1e9
    share = given["wanted"] / given["gigabytes"]
    by = [source.choice((1.0, 1.0, 1.004, 1.05)) for _ in range(2)]
    return by[0] * latency * bandwidth * share / (1 - share), by[1] * latency * bandwidth


# ---- the losing path


def _of(given: Any, path: str, slot: float, factor: float = 1.0) -> float:
    hops = [dict(hop) for hop in given[path]]
    for hop in hops:
        if path == "loser" and hop["name"] == given["changed"]:
            hop["bandwidth"] *= factor
    return searched({**given, "slot": slot, "hops": hops})


def _least(given: Any, slot: float) -> float:
    """The least factor at a slot, by halving; infinite where none up to 64 is enough."""
    target, low, high = _of(given, "winner", slot), 1.0, 64.0
    if _of(given, "loser", slot, high) < target:
        return math.inf
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if _of(given, "loser", slot, middle) >= target else (middle, high)
    return high


def _change_is_right(given: Any, answer: Any) -> bool:
    factor, slot = answer
    least = min(_least(given, 2**power * 2**20) for power in range(7))
    return bool(_of(given, "loser", slot, factor) >= _of(given, "winner", slot) * (1 - 1e-9) and factor <= 1.01 * least)


def _some_change(given: Any, source: Any) -> tuple[float, int]:
    slots = [2**power * 2**20 for power in range(7)]
    factors = [_least(given, slot) for slot in slots]
    best = slots[factors.index(min(factors))]
    slot = best if source.random() < 0.7 else source.choice(slots)
    least = factors[slots.index(slot)]
    return (3.0 if math.isinf(least) else max(1.0, least * source.choice((0.98, 1.003, 1.005, 1.05)))), slot


# ---- channels


def _chain(given: Any) -> tuple[str, str]:
    here, there = given["ends"]
    return (f"{here}.fbm0", f"{there}.dsk") if given["to_disk"] else (f"{here}.dsk", f"{there}.fbm0")


def _may(source: str, destination: str) -> bool:
    kinds = {source[6:], destination[6:]}
    if source[:5] != destination[:5]:
        return kinds == {"reg"}
    return kinds == {"fbm0", "zcm"} if "fbm0" in kinds else "zcm" not in kinds or "dsk" not in kinds


def _channels_are_right(given: Any, answer: Any) -> bool:
    pairs = [tuple(name.split("->")) for name in given["channels"]] + [tuple(pair) for pair in answer]
    if not all(_may(*pair) for pair in answer):
        return False
    begin, end = _chain(given)
    hops, waiting = {begin: 0}, deque([begin])
    while waiting:
        at = waiting.popleft()
        if at.endswith("dsk") and at != begin:
            continue  # files hold no buffers
        for here, there in pairs:
            if here == at and there not in hops:
                hops[there] = hops[at] + 1
                waiting.append(there)
    return hops.get(end) == 4


def _some_channels(given: Any, source: Any) -> list[tuple[str, str]]:
    here, there = given["ends"]
    path = [f"{here}.fbm0", f"{here}.zcm", f"{here}.reg", f"{there}.reg", f"{there}.dsk"]
    if not given["to_disk"]:
        path = [f"{here}.dsk", f"{here}.reg", f"{there}.reg", f"{there}.zcm", f"{there}.fbm0"]
    if source.random() < 0.3:
        path.insert(-1, f"{there}.sys" if given["to_disk"] else f"{there}.zcm")
    there = set(given["channels"])
    pairs = [pair for pair in itertools.pairwise(path) if pair[0] != pair[1] and "->".join(pair) not in there]
    if source.random() < 0.3:
        pairs.pop()
    if source.random() < 0.3:
        extra = (f"{here}.sys", f"{here}.zcm")
        pairs += [extra] if "->".join(extra) not in there else []
    return pairs or [(f"{here}.sys", f"{here}.zcm")]


JUDGES = {
    "3.0": _channels_are_right,
    "3.1": _blocks_are_right,
    "3.2": _function_is_right,
    "3.3": _row_is_right,
    "3.4": _fills_are_right,
    "3.5": _run_is_right,
    "3.P": _change_is_right,
}
"""Whether an answer is right."""
ANSWERS = {
    "3.0": _some_channels,
    "3.1": _some_blocks,
    "3.2": _some_function,
    "3.3": _some_row,
    "3.4": _some_fills,
    "3.5": _some_runs,
    "3.P": _some_change,
}
"""Random answers, about a third of them right."""
