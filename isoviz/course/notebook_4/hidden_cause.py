"""4.4: what holds a pipeline back? Of four changes one helps most, and the timeline says which."""

from __future__ import annotations

import random
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Choice
from isoviz.course.notebook_4.timelines import Pipeline, ShownMarkup, timeline_html
from isoviz.units import format_bytes, format_rate, format_seconds

US = 1e-6
LARGER, SLOT, FASTER, READY = "larger chunks", "one more slot", "a faster hop", "no set-up"
CHANGES = (LARGER, SLOT, FASTER, READY)
TIMES = 4
"""How often a chunk goes into a larger one."""
CLEARLY = 1.5
"""The best change gains so many times what the next one gains."""


def _draw(source: random.Random) -> dict[str, Any]:
    rates = [source.randrange(28, 44) / 10 for _ in range(3)]
    cause = source.choice(CHANGES)
    chunk = source.choice((4, 6, 8) if cause == LARGER else (256, 384, 512)) << 10
    latencies = [source.randrange(25, 35) if cause == LARGER else source.randrange(1, 4) for _ in rates]
    if cause == FASTER:
        rates[source.randrange(3)] = source.randrange(9, 13) / 10
    moving = max(late * US + chunk / (rate * 1e9) for late, rate in zip(latencies, rates, strict=True))
    chunks = 4 * source.randrange(4, 7)
    setup = moving * (chunks * source.uniform(0.9, 1.4) if cause == READY else source.uniform(0.5, 1.5))
    return {
        "rates": rates, "latencies": latencies, "chunk": chunk, "chunks": chunks, "setup": round(setup / US),
        "slots": 1 if cause == SLOT else 2,
    }  # fmt: skip


def changed(given: Given, change: str = "") -> Pipeline:
    """The pipeline of the exercise, as it is or with one change. `rates` are GB/s, times are microseconds."""
    times = TIMES if change == LARGER else 1
    rates = list(given["rates"])
    if change == FASTER:
        rates[changed(given).slowest] *= 2
    pairs = zip(given["latencies"], rates, strict=True)
    hops = tuple(late * US + times * given["chunk"] / (rate * 1e9) for late, rate in pairs)
    setup = 0.0 if change == READY else given["setup"] * US
    return Pipeline(hops, given["chunks"] // times, setup, given["slots"] + (change == SLOT))


def _gains(given: Given) -> dict[str, float]:
    now = changed(given).seconds
    return {change: now - changed(given, change).seconds for change in CHANGES}


def _right(given: Given) -> str:
    gains = _gains(given)
    return max(gains, key=gains.__getitem__)


def _is_clear(given: Given) -> bool:
    first, second = sorted(_gains(given).values())[:-3:-1]
    return first > 0.25 * changed(given).seconds and first > CLEARLY * second


def _judge(change: str, given: Given) -> Verdict:
    best = _right(given)
    now, then = changed(given), changed(given, change)
    words = {
        "change": change,
        "now": format_seconds(now.seconds),
        "then": format_seconds(then.seconds),
        "effect": _effect(now, then),
    }
    says = HIDDEN_CAUSE.text("says", "right" if change == best else "other", given=given, **words)
    return Verdict(change == best, says, words, lambda: _picture(given, change))


def _effect(now: Pipeline, then: Pipeline) -> str:
    gain = 1 - then.seconds / now.seconds
    if abs(gain) < 0.005:
        return "it changes nothing that can be seen"
    return f"it gains {100 * gain:.0f} %" if gain > 0 else f"it takes {-100 * gain:.0f} % longer"


def _picture(given: Given, change: str) -> ShownMarkup:
    now, then = changed(given), changed(given, change)
    panels = ("as it is", now.trace(), now.setup), (f"with {change}", then.trace(), then.setup)
    return timeline_html(*panels, buffers=True, title=f"The pipeline as it is, and with {change}")


def _words(given: Given) -> dict[str, object]:
    now = changed(given)
    slowest, gains = now.slowest, _gains(given)
    *rates, last = [format_rate(each * 1e9) for each in given["rates"]]
    bare = given["chunk"] / (given["rates"][slowest] * 1e9)
    return {
        "bytes": format_bytes(given["chunk"]), "all_rates": f"{', '.join(rates)} and {last}", "options": "; ".join(CHANGES),
        "slot_count": "one slot" if given["slots"] == 1 else f"{given['slots']} slots",
        "slowest": slowest, "takes": format_seconds(now.hops[slowest]), "bare": format_seconds(bare),
        "setup_time": format_seconds(now.setup), "setup_share": f"{100 * now.setup / now.seconds:.0f} %",
        "busy": f"{100 * now.chunks * now.hops[slowest] / (now.seconds - now.setup):.0f} %",
        "best": _right(given), "best_time": format_seconds(now.seconds - max(gains.values())),
        "gains": ", ".join(f"{change} {format_seconds(now.seconds - gain)}" for change, gain in gains.items()),
        "now_time": format_seconds(now.seconds), "times": TIMES,
    }  # fmt: skip


def _named(change: str) -> WrongModel:
    return WrongModel(change.replace(" ", "-"), lambda given: None if _right(given) == change else change)


HIDDEN_CAUSE = Exercise(
    "4.4",
    Choice(lambda _given: CHANGES),
    _draw,
    _judge,
    tuple(_named(change) for change in CHANGES),
    _right,
    words=_words,
    picture=lambda given: timeline_html(("", changed(given).trace(), changed(given).setup), buffers=True),
    is_prediction=True,
    apart=_is_clear,
    hidden=("latencies", "setup"),
)
