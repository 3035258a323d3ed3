"""What a path with one conversion sustains, by arithmetic. Data are plain, as a learner's function has them.

`data` has `entry` (bytes of an entry), `slot` (bytes), `x` and `y` (sizes of the dimensions) and `hops`: `name`, `latency` in
seconds, `bandwidth` in bytes per second, and `run`, what a run of the hop is made of. The first hop moves runs of `entry` × x_in
bytes and the last one runs of `entry` × y_in bytes; the others work at their bandwidth. A block has to fit the slot:
`entry` × x_in × y_in ≤ `slot`.

This module imports nothing of isoviz, so a process that judges functions loads it quickly, and without the exercises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Data = Mapping[str, Any]
PERCENT = 1.01
"""The factor of one per cent more."""


def rate(hop: Data, run: float) -> float:
    """Bytes per second that a hop sustains with runs of so many bytes."""
    return float(run / (hop["latency"] + run / hop["bandwidth"]))


def run_for(hop: Data, throughput: float) -> float:
    """The run that a hop needs for a throughput; infinite from its bandwidth on."""
    if throughput >= hop["bandwidth"]:
        return math.inf
    return float(hop["latency"] / (1 / throughput - 1 / hop["bandwidth"]))


def bounds(data: Data) -> dict[str, float]:
    """What each of the reasons would allow alone, in bytes per second; the path sustains the least of them.

    `flat`: the hops whose rate no block changes. `x`, `y`: runs of a whole dimension. `slot`: the blocks that fit, at best. With
    u = 1/TP and the bandwidths b and latencies a of both ends, those have (u − 1/b₁)(u − 1/b₂) = a₁a₂ / (entry × slot).
    """
    first, *flat, last = data["hops"]
    entry = data["entry"]
    low, high = 1 / first["bandwidth"], 1 / last["bandwidth"]
    fitting = first["latency"] * last["latency"] / (entry * data["slot"])
    return {
        "flat": min(hop["bandwidth"] for hop in flat),
        "x": rate(first, entry * data["x"]),
        "y": rate(last, entry * data["y"]),
        "slot": 2 / (low + high + math.sqrt((low - high) ** 2 + 4 * fitting)),
    }


def sustained(data: Data) -> float:
    """The most that the path sustains, in bytes per second."""
    return min(bounds(data).values())


def best_blocks(data: Data) -> tuple[float, float]:
    """The least x_in and y_in that sustain the most, as real numbers."""
    most = sustained(data) * (1 - 1e-12)
    first, *_, last = data["hops"]
    return run_for(first, most) / data["entry"], run_for(last, most) / data["entry"]


def steepness(hop: Data, throughput: float) -> float:
    """By how many per cent its rate grows where the run of a hop that works at this rate grows by one per cent."""
    return float(1 - throughput / hop["bandwidth"])


def price_of_slot(data: Data) -> float:
    """D log TP / d log slot: by how many per cent the path gets faster where the slot grows by one per cent."""
    allowed = bounds(data)
    most = min(allowed.values())
    if allowed["slot"] > most:
        return 0.0
    first, *_, last = data["hops"]
    ends = steepness(first, most), steepness(last, most)
    return ends[0] * ends[1] / (ends[0] + ends[1])


def faster(data: Data, name: str, factor: float = PERCENT) -> Data:
    """The data with more of one thing: a hop whose rate is so many times as high for every run, or a larger slot ("slot")."""
    if name == "slot":
        return {**data, "slot": data["slot"] * factor}
    hops = [
        {**hop, "latency": hop["latency"] / factor, "bandwidth": hop["bandwidth"] * factor} if hop["name"] == name else hop
        for hop in data["hops"]
    ]
    return {**data, "hops": hops}


def gain(data: Data, name: str, factor: float = PERCENT) -> float:
    """By how many per cent the path gets faster with so much more of one thing."""
    return 100 * (sustained(faster(data, name, factor)) / sustained(data) - 1)


# ---- what functions with a wrong model return: throughput and price


def right_program(data: Data) -> list[float]:
    """The most that the path sustains, and the price of the slot."""
    return [sustained(data), price_of_slot(data)]


def network_forgotten(data: Data) -> list[float]:
    """No row for the hops in the middle."""
    first, *flat, last = data["hops"]
    endless = [{**hop, "bandwidth": math.inf} for hop in flat]
    return right_program({**data, "hops": [first, *endless, last]})


def entry_forgotten(data: Data) -> list[float]:
    """x_in × y_in ≤ slot: entries are counted as bytes."""
    return right_program({**data, "slot": data["slot"] * data["entry"]})


def extent_forgotten(data: Data) -> list[float]:
    """Blocks may be larger than the array."""
    return right_program({**data, "x": 1e15, "y": 1e15})


def slot_forgotten(data: Data) -> list[float]:
    """Blocks of any size."""
    return right_program({**data, "slot": 1e30})


def times_added(data: Data) -> list[float]:
    """Hops work one after the other: 1 / Σ 1/bandwidth."""
    return [1 / sum(1 / hop["bandwidth"] for hop in data["hops"]), 0.0]


def rates_averaged(data: Data) -> list[float]:
    """The path is as fast as its hops in the mean."""
    return [sum(hop["bandwidth"] for hop in data["hops"]) / len(data["hops"]), 0.0]


def latency_forgotten(data: Data) -> list[float]:
    """Every hop works at its bandwidth."""
    return [min(hop["bandwidth"] for hop in data["hops"]), 0.0]


def price_negative(data: Data) -> list[float]:
    """The sign of a dual taken the other way round."""
    return [sustained(data), -price_of_slot(data)]


def price_per_byte(data: Data) -> list[float]:
    """Bytes per second for each byte of the slot, instead of a share for a share."""
    return [sustained(data), price_of_slot(data) * sustained(data) / data["slot"]]
