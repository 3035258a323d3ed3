"""The speed of the simulator: requests per second of real time, for one transfer, for many on one path, and on a large cluster.

SimPy, the general discrete-event library, runs the same pipelines beside it if it is installed: a process for each hop, a store
for each ring. That has no priorities, buffers or shared resources, so it is the least that such a simulation costs in Python.
"""

from __future__ import annotations

import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from isoviz.bench.pipeline import PAIR, RATES, chain
from isoviz.bench.table import Table, seconds_of, two_digits, where_known
from isoviz.layouts import IndexSpace
from isoviz.machines import Machine, preset
from isoviz.planner import Plan, Transfer, plan, plan_by_path
from isoviz.runtime.simulator import Simulator
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNK = 64 << 10
CHUNKS = 4096
"""Chunks of a transfer of the small cases."""
MANY = 64
NODES, TRANSFERS, NBYTES = 64, 1000, 16 << 20
"""The cluster: its nodes, the transfers between random memories of it, and the bytes of each."""
SEED = 7


def measure(repeat: int = 3) -> Table:
    """Medians of `repeat` simulations; the cluster is planned and simulated once."""
    rows = [_pipeline(hops, count, repeat) for hops, count in ((1, 1), (len(RATES), 1), (len(RATES), MANY))]
    rows.append(_cluster())
    return Table(
        "simulator",
        f"the simulator in real time: medians of {repeat}, the cluster once",
        {
            "what": ("what", str),
            "requests": ("requests", _count),
            "planning": ("planning", where_known(format_seconds)),
            "seconds": ("simulating", format_seconds),
            "per_second": ("requests per second", _count),
            "to_simpy": ("SimPy's time ÷ ours", where_known(two_digits)),
        },
        rows,
        (
            f"chunks of {format_bytes(CHUNK)}; on the cluster {format_bytes(NBYTES)} per transfer, chunks as planned",
            "SimPy: a process for every hop, a store for every ring; no priorities, buffers or shared resources",
        ),
    )


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _row(what: str, requests: int, seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "what": what,
        "requests": requests,
        "planning": None,
        "seconds": seconds,
        "per_second": requests / seconds,
        "to_simpy": None,
        **more,
    }


def _simulated(machine: Machine, plans: Sequence[Plan]) -> int:
    """Simulate plans that are submitted together; how many requests that took."""
    simulator = Simulator(machine)
    for made in plans:
        simulator.submit(made)
    return len(simulator.run().requests)


def _pipeline(hops: int, count: int, repeat: int) -> dict[str, Any]:
    machine = chain(RATES[:hops])
    each = -(-CHUNKS // count)
    transfer = Transfer.whole(IndexSpace(x=each * CHUNK // PAIR.nbytes), PAIR, "m0", "<F, x>", f"m{hops}", "<F, x>")
    plans = [plan_by_path(transfer, machine, [f"m{k}" for k in range(hops + 1)], chunk=CHUNK)] * count
    requests = 0
    ours, theirs = [], []
    simpy = _simpy()
    for _ in range(repeat):
        began = time.perf_counter()
        requests = _simulated(machine, plans)
        ours.append(time.perf_counter() - began)
        if simpy is not None:
            theirs.append(seconds_of(lambda: _by_simpy(simpy, plans)))
    seconds = statistics.median(ours)
    what = f"{count} transfer{'s'[: count > 1]}, {hops} hop{'s'[: hops > 1]}"
    return _row(what, requests, seconds, to_simpy=statistics.median(theirs) / seconds if theirs else None)


def _cluster() -> dict[str, Any]:
    """Transfers between random memories of a cluster, planned and simulated."""
    rng = random.Random(SEED)  # noqa: S311  # drawn again alike
    machine = preset("sapling", nodes=NODES)
    space = IndexSpace(x=NBYTES // PAIR.nbytes)
    names = [memory.name for memory in machine.memories if memory.kind.name in {"SYS", "FBM"}]
    pairs = [rng.sample(names, 2) for _ in range(TRANSFERS)]
    plans: list[Plan] = []
    planning = seconds_of(
        lambda: plans.extend(
            plan(Transfer.whole(space, PAIR, here, "<F, x>", there, rng.choice(("<F, x>", "<x, F>"))), machine, "full")
            for here, there in pairs
        )
    )
    began = time.perf_counter()
    requests = _simulated(machine, plans)
    seconds = time.perf_counter() - began
    return _row(f"{TRANSFERS:,} transfers among {NODES} nodes", requests, seconds, planning=planning)


def _simpy() -> Any:
    try:
        import simpy
    except ImportError:
        return None
    return simpy


def _by_simpy(simpy: Any, plans: Sequence[Plan]) -> None:
    """The same pipelines: every channel a resource, every ring a store of its slots."""
    env = simpy.Environment()
    channels: dict[str, Any] = {}

    def hop(channel: Any, seconds: float, chunks: int, behind: Any, ahead: Any) -> Iterator[Any]:
        for _ in range(chunks):
            if behind is not None:
                yield behind.get()
            with channel.request() as turn:
                yield turn
                yield env.timeout(seconds)
            if ahead is not None:
                yield ahead.put(1)

    for made in plans:
        rings = [simpy.Store(env, made.slots) for _ in made.hops[1:]]
        for i, each in enumerate(made.hops):
            channel = channels.setdefault(each.channel, simpy.Resource(env))
            behind, ahead = rings[i - 1] if i else None, rings[i] if i < len(rings) else None
            env.process(hop(channel, made.chunk_payload / each.throughput, made.chunk_count, behind, ahead))
    env.run()
