"""4.P: the chunk and the slots of a pipeline from disk to GPU that is nearly as fast as its slowest hop, in little memory."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, Several
from isoviz.course.notebook_4.timelines import ShownMarkup, timeline_html
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.planner import Options, Plan, Transfer, plan_by_path
from isoviz.runtime import Trace, simulate
from isoviz.units import format_bytes, format_rate, format_seconds

SHARE = 0.95
"""The share of the slowest hop's bandwidth that the whole transfer has to reach."""
LIMIT = 8 << 20
"""The most bytes of the buffer."""
_MOST_SLOTS = 1024
"""More slots than that change nothing: no buffer within the limit has so many of a useful size."""
_SMALL, _MANY = 256 << 10, 32
_DRAWN = 12
"""The chunks whose timeline is drawn."""


def _draw(source: random.Random) -> dict[str, Any]:
    return {
        "bytes": source.randrange(4, 17) << 28,
        "disk_rate": source.randrange(15, 29) * 100_000_000, "disk_latency": source.randrange(40, 91),
        "gpu_rate": source.randrange(8, 17) * 1_000_000_000, "gpu_latency": source.randrange(6, 15),
        "setup": source.randrange(2, 7),
    }  # fmt: skip


def _machine(given: Given) -> Machine:
    disk, host, gpu = Memory("disk", MemoryKind.DSK), Memory("host", MemoryKind.SYS), Memory("gpu", MemoryKind.FBM)
    read = LatencyBandwidth(given["disk_latency"] * 1e-6, float(given["disk_rate"]))
    write = LatencyBandwidth(given["gpu_latency"] * 1e-6, float(given["gpu_rate"]))
    hops = (
        Channel("disk to host", ChannelKind.DISK_READ, "disk", "host", read, setup=given["setup"] * 1e-3),
        Channel("host to GPU", ChannelKind.GPU_WRITE, "host", "gpu", write),
    )
    return Machine("disk to GPU", (disk, host, gpu), hops)


@lru_cache(maxsize=1000)
def _plan(numbers: tuple[tuple[str, int], ...], nbytes: int, chunk: int, slots: int) -> Plan:
    machine = _machine(dict(numbers))
    space, fields = IndexSpace(x=nbytes), FieldSpace(value="uint8")
    transfer = Transfer.whole(space, fields, "disk", "<F, x>", "gpu", "<F, x>")
    chunk, options = min(chunk, nbytes), Options(slots=min(slots, _MOST_SLOTS))
    return plan_by_path(transfer, machine, "disk, host, gpu", ["<F, x>"], chunk=chunk, options=options, over_limits=True)


def _rate(given: Given, chunk: int, slots: int) -> float:
    """Bytes per second over the whole transfer."""
    return float(given["bytes"]) / _plan(tuple(given.items()), given["bytes"], chunk, slots).seconds


def _asked(given: Given) -> float:
    return SHARE * float(min(given["disk_rate"], given["gpu_rate"]))


def _holds(given: Given, chunk: int, slots: int) -> bool:
    return chunk * slots <= LIMIT and _rate(given, chunk, slots) >= _asked(given)


def _least_chunk(given: Given) -> int:
    """The least chunk that is fast enough with two slots, to a KiB; above half of the limit where there is none."""
    low, high = 1, LIMIT // 2 + 1024
    while high - low > 1024:
        middle = (low + high) // 2
        low, high = (low, middle) if _rate(given, middle, 2) >= _asked(given) else (middle, high)
    return high


def _judge(choice: dict[str, int], given: Given) -> Verdict:
    chunk, slots = choice["chunk"], choice["slots"]
    rate, buffer = _rate(given, chunk, slots), chunk * slots
    fits, fast = buffer <= LIMIT, rate >= _asked(given)
    words: dict[str, object] = {
        "chunk_size": format_bytes(chunk), "slot_count": f"{slots:,} slot{'s'[: slots > 1]}", "buffer": format_bytes(buffer),
        "rate": format_rate(rate), "share": f"{100 * SHARE * rate / _asked(given):.1f} %",
        "latency_share": f"{100 * _latency_share(given, chunk):.1f} %",
        "disk_chunk": format_seconds(_hop_seconds(given, chunk)[0]), "gpu_chunk": format_seconds(_hop_seconds(given, chunk)[1]),
    }  # fmt: skip
    says = DESIGNED_PIPELINE.text("says", _which(fits, fast), given=given, **words)
    cost = DESIGNED_PIPELINE.text("says", "cost", given=given, **words) if fits and fast else ""
    return Verdict(fits and fast, says, words, lambda: _picture(given, chunk, slots), cost)


def _which(fits: bool, fast: bool) -> str:
    if fits:
        return "right" if fast else "slow"
    return "large" if fast else "neither"


def _latency_share(given: Given, chunk: int) -> float:
    return float(given["disk_latency"]) * 1e-6 / _hop_seconds(given, chunk)[0]


def _hop_seconds(given: Given, chunk: int) -> tuple[float, float]:
    chunk = min(chunk, given["bytes"])
    return (
        given["disk_latency"] * 1e-6 + chunk / given["disk_rate"],
        given["gpu_latency"] * 1e-6 + chunk / given["gpu_rate"],
    )


def _first_chunks(given: Given, chunk: int, slots: int) -> Trace:
    chunk = min(chunk, given["bytes"] // _DRAWN)
    ready = {**given, "setup": 0}
    plan = _plan(tuple(ready.items()), chunk * _DRAWN, chunk, slots)
    return simulate(plan, _machine(ready), request_bytes=chunk)


def _picture(given: Given, chunk: int, slots: int) -> ShownMarkup:
    title = f"After the set-up, the first {_DRAWN} chunks of {format_bytes(chunk)} in {slots:,} slot{'s'[: slots > 1]}"
    return timeline_html((title, _first_chunks(given, chunk, slots), 0.0), buffers=True, title=title)


def _told_chunk(given: Given) -> str:
    """The least chunk in MiB with two decimals, rounded up to one that is fast enough: shorter last chunks make rates jump."""
    hundredths = math.ceil(_least_chunk(given) / (1 << 20) * 100)
    while _rate(given, math.floor(hundredths / 100 * (1 << 20)), 2) < _asked(given):
        hundredths += 1
    return f"{hundredths / 100:g} MiB"


def _words(given: Given) -> dict[str, object]:
    least = _least_chunk(given)
    return {
        "payload": format_bytes(given["bytes"]), "disk": format_rate(given["disk_rate"]), "gpu": format_rate(given["gpu_rate"]),
        "setup_time": f"{given['setup']} ms", "asked_rate": format_rate(_asked(given)), "limit": format_bytes(LIMIT),
        "share_asked": f"{100 * SHARE:.0f} %", "least_chunk": _told_chunk(given), "least_buffer": format_bytes(2 * least),
        "half_limit": format_bytes(LIMIT // 2),
    }  # fmt: skip


def _right(given: Given) -> dict[str, int]:
    """In the middle of what is fast enough."""
    return {"chunk": (_least_chunk(given) + LIMIT // 2) // 2, "slots": 2}


def _is_slow(choice: dict[str, int], given: Given) -> bool:
    return _rate(given, choice["chunk"], choice["slots"]) < _asked(given)


def _is_slot_counted_once(choice: dict[str, int], _given: Given) -> bool:
    return choice["slots"] > 1 and choice["chunk"] <= LIMIT < choice["chunk"] * choice["slots"]


def _is_one_slot(choice: dict[str, int], given: Given) -> bool:
    return choice["slots"] == 1 and choice["chunk"] <= LIMIT and _is_slow(choice, given)


def _is_many_slots(choice: dict[str, int], given: Given) -> bool:
    return choice["slots"] > 2 and choice["chunk"] * choice["slots"] <= LIMIT and _is_slow(choice, given)


def _is_small_chunk(choice: dict[str, int], given: Given) -> bool:
    return choice["slots"] == 2 and choice["chunk"] * 2 <= LIMIT and _is_slow(choice, given)


def _is_apart(given: Given) -> bool:
    """Whether there is room for an answer, and none for one slot or for many."""
    room = _least_chunk(given) < 0.9 * LIMIT / 2
    return room and not any(_holds(given, LIMIT // slots, slots) for slots in (1, 8))


DESIGNED_PIPELINE = Exercise(
    "4.P",
    Several(
        {
            "chunk": Number("the chunk", "B", whole=True, least=1, floors=True),
            "slots": Number("the slots", whole=True, least=1),
        }
    ),
    _draw,
    _judge,
    (
        WrongModel(
            "memory-forgotten", lambda _given: {"chunk": 64 << 20, "slots": 2}, lambda choice, _given: choice["chunk"] > LIMIT
        ),
        WrongModel("slot-counted-once", lambda _given: {"chunk": LIMIT, "slots": 2}, _is_slot_counted_once),
        WrongModel("one-slot", lambda _given: {"chunk": LIMIT, "slots": 1}, _is_one_slot),
        WrongModel("many-slots", lambda _given: {"chunk": _SMALL, "slots": _MANY}, _is_many_slots),
        WrongModel("small-chunks", lambda _given: {"chunk": _SMALL, "slots": 2}, _is_small_chunk),
    ),
    _right,
    words=_words,
    apart=_is_apart,
)
