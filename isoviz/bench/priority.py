"""One urgent transfer among many others on the same channels (Isometry, section 6.2).

Over channels of a set speed (`isoviz.backends.emulated`), direct and over three hops, and between two arrays of this computer's
memory. The urgent transfer alone, among the others by priority, and among them first come first served.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.devices import ThisComputer
from isoviz.backends.emulated import EmulatedMachine
from isoviz.bench.pipeline import PAIR, RATES, chain
from isoviz.bench.table import Table, two_digits
from isoviz.layouts import IndexSpace
from isoviz.machines import Machine, preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import Plan, Transfer, plan
from isoviz.runtime import first_come_first_served, highest_priority_first
from isoviz.units import format_bytes, format_seconds, parse_bytes

if TYPE_CHECKING:
    from isoviz.runtime import Devices
    from isoviz.scheduling.pool import Policy

OTHERS = 16
"""Transfers of low priority."""
REQUEST = 256 << 10
"""Bytes of a request. On each hop, the urgent transfer waits for one request at most. Requests within memory are larger, and the
allowed time is the same."""
PAPER = {"direct": "up to 62 % less than Realm", "three hops": "up to 95 % less than Realm"}


def measure(size: int | str = "16MiB", repeat: int = 5) -> Table:
    """Completion times of an urgent transfer of `size` bytes among 16 others as large; medians of `repeat` rounds in turn."""
    nbytes = parse_bytes(size)
    line = chain(RATES)
    cases: list[tuple[str, Machine, Devices, str, str, str]] = [
        ("direct", line, EmulatedMachine(), "m0", "m1", "<F, x>"),
        ("three hops", line, EmulatedMachine(), "m0", f"m{len(RATES)}", "<F, x>"),
        (
            "this computer's memory, AOS → SOA",
            preset("local", measure="assumed"),
            ThisComputer(),
            "node0.sys",
            "node0.sys",
            "<x, F>",
        ),
    ]
    rows = [row for case in cases for row in _rows(nbytes, repeat, *case)]
    return Table(
        "priority",
        f"an urgent transfer of {format_bytes(nbytes)} among {OTHERS} others: medians of {repeat}",
        {
            "case": ("path", str),
            "alone": ("alone", format_seconds),
            "allowed": ("1.2 × alone + a request per hop", format_seconds),
            "by_priority": ("by priority", format_seconds),
            "first_come": ("first come first served", format_seconds),
            "to_alone": ("priority ÷ alone", two_digits),
            "saved": ("saved", lambda share: f"{100 * share:.0f} %"),
        },
        rows,
        (
            f"requests of {format_bytes(REQUEST)}, within memory up to {format_bytes(4 * REQUEST)}",
            "the others were submitted before and are under way",
            "saved: against first come first served, which finishes what came before",
            "this computer's memory: the others' requests that are under way compete for memory and cores",
        ),
    )


def _rows(
    nbytes: int, repeat: int, case: str, machine: Machine, devices: Devices, source: str, destination: str, layout: str
) -> list[dict[str, Any]]:
    space = IndexSpace(x=nbytes // PAIR.nbytes)
    made = plan(Transfer.whole(space, PAIR, source, "<F, x>", destination, layout), machine, "full")
    found: dict[str, list[float]] = {"alone": [], "by_priority": [], "first_come": []}
    for _ in range(repeat):
        found["alone"].append(_urgent(machine, devices, made, 0, highest_priority_first))
        found["by_priority"].append(_urgent(machine, devices, made, OTHERS, highest_priority_first))
        found["first_come"].append(_urgent(machine, devices, made, OTHERS, first_come_first_served))
    times = {name: statistics.median(seconds) for name, seconds in found.items()}
    request = sum(min(REQUEST, made.chunk_bytes) / hop.throughput for hop in made.hops)
    return [
        {
            "case": case,
            **times,
            "allowed": 1.2 * times["alone"] + request,
            "to_alone": times["by_priority"] / times["alone"],
            "saved": 1 - times["by_priority"] / times["first_come"],
            "within": times["by_priority"] <= 1.2 * times["alone"] + request,
        }
    ]


def _urgent(machine: Machine, devices: Devices, made: Plan, others: int, policy: Policy) -> float:
    """Seconds from submission to end of an urgent transfer, others being under way."""
    ends = [(np.ones(made.bytes, np.uint8), np.ones(made.bytes, np.uint8)) for _ in range(2)]
    with Engine(machine, devices, policy=policy, request_bytes=REQUEST) as engine:
        low = [engine.submit(made, *ends[0]) for _ in range(others)]
        while others and not low[0].bytes_done and not low[0].done:
            time.sleep(0.0005)
        began = time.perf_counter()
        engine.submit(made, *ends[1], priority=10).wait()
        seconds = time.perf_counter() - began
        for event in low:
            event.cancel()
    return seconds
