"""4.2: chunks of which size take the least time, for few bytes and for many?"""

from __future__ import annotations

import math
import random
from functools import cache, lru_cache, partial
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, Several
from isoviz.course.notebook_4.timelines import Curve, ShownMarkup, curves_html, sampled_curve
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, LatencyBandwidth, preset
from isoviz.planner import Plan, Transfer, plan_by_path
from isoviz.units import format_bytes, format_rate, format_seconds

PATH = ("node0.dsk", "node0.reg", "node1.reg", "node1.fbm0")
WITHIN = 0.01
"""A chunk is good where T is at most this share above the least."""
_PARTS = ("small", "large")
_SMALLEST = 4096


def _draw(source: random.Random) -> dict[str, Any]:
    return {"small": source.randrange(3, 13) << 18, "large": source.randrange(16, 81) * 25 << 20}


@lru_cache(maxsize=1000)
def _plan(nbytes: int, chunk: int) -> Plan:
    space, fields = IndexSpace(x=nbytes), FieldSpace(value="uint8")
    transfer = Transfer.whole(space, fields, PATH[0], "<F, x>", PATH[-1], "<F, x>")
    chunk = min(max(chunk, 1), nbytes)
    return plan_by_path(transfer, preset("two-node"), ", ".join(PATH), ["<F, x>"] * 2, chunk=chunk, over_limits=True)


def _seconds(nbytes: int, chunk: float) -> float:
    """T, in which a last chunk that is shorter counts as a fraction."""
    return _plan(nbytes, round(chunk)).objective


@cache
def _channels() -> tuple[Channel, ...]:
    return tuple(preset("two-node").channel(hop.channel) for hop in _plan(1 << 20, 1 << 18).hops)


def _latency() -> float:
    """The latency of the first hop, which is the slowest for chunks of every size."""
    function = _channels()[0].throughput
    assert isinstance(function, LatencyBandwidth)
    return function.latency


@cache
def best_chunk(nbytes: int) -> int:
    """The chunk of the least T: the latencies of the slowest hop grow as bytes / chunk, the fill grows as the chunk."""
    per_byte = sum(1 / channel.peak for channel in _channels()[1:])
    return round(math.sqrt(nbytes * _latency() / per_byte))


def _is_good(nbytes: int, chunk: int) -> bool:
    return _seconds(nbytes, chunk) <= (1 + WITHIN) * _seconds(nbytes, best_chunk(nbytes))


def _judge(chunks: dict[str, int], given: Given) -> Verdict:
    good = {part: _is_good(given[part], chunks[part]) for part in _PARTS}
    says = []
    for part in _PARTS:
        facts = _facts(given[part], chunks[part])
        says.append(CHUNK_SIZES.text("says", "good" if good[part] else "other", given=given, **facts))
    part = next((each for each in _PARTS if not good[each]), "large")  # a hint speaks of the first that is not right
    words = {**_facts(given[part], chunks[part]), "chosen": format_bytes(chunks[part])}
    return Verdict(all(good.values()), " ".join(says), words, lambda: _picture(chunks, given))


def _mebibytes(nbytes: int) -> str:
    return f"{nbytes / 2**20:,g} MiB"


def _facts(nbytes: int, chunk: int) -> dict[str, object]:
    """What T is made of for chunks of some size."""
    plan = _plan(nbytes, chunk)
    hops = [full for full, _ in plan.only.chunk_seconds()]
    count = round(nbytes / plan.chunk_bytes, 1)  # T counts a shorter last chunk as a fraction
    return {
        "bytes": _mebibytes(nbytes),
        "chunk": format_bytes(plan.chunk_bytes),
        "count": f"{f'{count:,.1f}'.removesuffix('.0')} chunk{'s'[: count > 1]}",
        "latencies": format_seconds(nbytes / plan.chunk_bytes * _latency()),
        "behind": format_seconds(sum(hops[1:])),
        "time": format_seconds(plan.objective),
        "least": format_seconds(_seconds(nbytes, best_chunk(nbytes))),
    }


def _picture(chunks: dict[str, int], given: Given) -> ShownMarkup:
    curves = []
    for part in _PARTS:
        nbytes, chunk = given[part], min(max(chunks[part], 1), given[part])
        token = "good" if _is_good(nbytes, chunk) else "bad"
        time = _seconds(nbytes, chunk)
        mark = (chunk, time, f"your chunk: {format_bytes(chunk)}, {format_seconds(time)}", token)
        points = sampled_curve(partial(_seconds, nbytes), min(_SMALLEST, chunk), nbytes)
        least = _seconds(nbytes, best_chunk(nbytes))
        curves.append(Curve(f"{_mebibytes(nbytes)}: the time T over the size of a chunk", points, least, mark))
    return curves_html(curves, WITHIN)


def _words(given: Given) -> dict[str, object]:
    hops = []
    for number, channel in enumerate(_channels()):
        function, rate = channel.throughput, f"its bytes / ({format_rate(channel.peak)})"
        latency = f"{format_seconds(function.latency)} + " if isinstance(function, LatencyBandwidth) else ""
        hops.append(f"hop {number} takes {latency}{rate}")
    best = {part: best_chunk(given[part]) for part in _PARTS}
    return {
        "small_bytes": _mebibytes(given["small"]), "large_bytes": _mebibytes(given["large"]),
        "hops": ", ".join(hops), "setup_time": format_seconds(_plan(1 << 20, 1 << 18).setup), "within": f"{100 * WITHIN:g} %",
        "small_best": format_bytes(best["small"]), "large_best": format_bytes(best["large"]),
        "latency": format_seconds(_latency()), "times_bytes": f"{given['large'] / given['small']:,.0f}",
        "times_chunk": f"{best['large'] / best['small']:,.0f}",
    }  # fmt: skip


def _is_one_size(chunks: dict[str, int], given: Given) -> bool:
    return chunks["small"] == chunks["large"] and any(_is_good(given[part], chunks[part]) for part in _PARTS)


def _is_in_proportion(chunks: dict[str, int], given: Given) -> bool:
    if not chunks["small"] or not any(_is_good(given[part], chunks[part]) for part in _PARTS):
        return False
    grown: float = chunks["large"] / chunks["small"] * given["small"] / given["large"]
    return 0.8 < grown < 1.25


def _wrong_ones(chunks: dict[str, int], given: Given) -> list[bool]:
    """For each chunk that is not good: whether it is too large."""
    wrong = [part for part in _PARTS if not _is_good(given[part], chunks[part])]
    return [chunks[part] > best_chunk(given[part]) for part in wrong]


_CHUNK = Number("a chunk", "B", whole=True, least=1, floors=True)
CHUNK_SIZES = Exercise(
    "4.2",
    Several({"small": _CHUNK, "large": _CHUNK}),
    _draw,
    _judge,
    (
        WrongModel("one-size", lambda given: dict.fromkeys(_PARTS, best_chunk(given["large"])), _is_one_size),
        WrongModel(
            "in-proportion",
            lambda given: {"small": (best := best_chunk(given["small"])), "large": best * given["large"] // given["small"]},
            _is_in_proportion,
        ),
        WrongModel(
            "large-is-best",
            lambda given: {part: given[part] for part in _PARTS},
            lambda chunks, given: all(_wrong_ones(chunks, given)),
        ),
        WrongModel(
            "small-is-best",
            lambda _given: dict.fromkeys(_PARTS, _SMALLEST),
            lambda chunks, given: not any(_wrong_ones(chunks, given)),
        ),
    ),
    lambda given: {part: best_chunk(given[part]) for part in _PARTS},
    words=_words,
)
