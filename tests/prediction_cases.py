"""What tests of predictions share: ledger entries, outcomes, plans with a spread."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from isoviz import FieldSpace, IndexSpace, Machine, Transfer, plan
from isoviz.machines import Channel, ChannelKind, Memory, MemoryKind
from isoviz.machines.throughput import Sampled, ThroughputFunction
from isoviz.planner import Plan
from isoviz.runtime.ledger.ledger_entry import LedgerEntry, LedgerHop
from isoviz.runtime.ledger.prediction_errors import Outcome

HOP = LedgerHop("a->b", "Memcpy", "a", "b", 4096.0, 1e9, 0.9e9)
ENTRY = LedgerEntry(
    date="2026-11-21T12:00:00+00:00",
    host="here",
    version="0.1.0",
    machine="two",
    digest="0" * 64,
    planner="full",
    nbytes=1 << 20,
    space="x=1024",
    fields="f0: float64",
    source="a",
    source_layout="<F, x>",
    destination="b",
    destination_layout="<F, x>",
    chunk_bytes=1 << 16,
    chunks=16,
    predicted=0.010,
    interval=(0.009, 0.012),
    basis="spread",
    measured=0.011,
    flush=0.0,
    verified=True,
    emulated=False,
    hops=(HOP,),
    notes=("the source holds generated data",),
)


def entries(plan: Plan, ratios: list[float], **changes: Any) -> list[LedgerEntry]:
    """Runs of a plan that took these multiples of what was predicted."""
    hops = tuple(HOP.__class__(hop.channel, hop.kind, hop.source, hop.destination, 1.0, 1.0, 1.0) for hop in plan.hops)
    like = replace(ENTRY, digest=plan.machine_digest, hops=hops, nbytes=plan.bytes, predicted=plan.seconds)
    like = replace(like, **changes)
    return [replace(like, measured=plan.seconds * ratio) for ratio in ratios]


def two(throughput: ThroughputFunction, name: str = "two") -> Machine:
    """Two memories, joined by a channel of this speed."""
    memories = (Memory("a", MemoryKind.SYS), Memory("b", MemoryKind.SYS))
    return Machine(name, memories, (Channel("a->b", ChannelKind.MEMCPY, "a", "b", throughput),))


SPREAD = Sampled(((4.0, 1e8), (4096.0, 1e9)), spread=(0.4, 0.1))


def planned(machine: Machine, entries: int = 1 << 17) -> Plan:
    """A plan for a plain copy."""
    transfer = Transfer.whole(IndexSpace(x=entries), FieldSpace(value="float64"), "a", "<F, x>", "b", "<F, x>")
    return plan(transfer, machine, "full")


def outcomes(count: int, paths: int = 3, seed: int = 0, *, intervals: bool = True) -> list[Outcome]:
    """Random predictions and what came of them."""
    rng = random.Random(seed)
    found = []
    for k in range(count):
        predicted = 10 ** rng.uniform(-5, 0)
        interval = (predicted * 0.9, predicted * 1.2) if intervals else None
        label = f"transfer {k}"
        found.append(Outcome(f"path {k % paths}", label, 1 << 20, predicted, predicted * rng.lognormvariate(0, 0.2), interval))
    return found
