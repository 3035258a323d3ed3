"""One-sided calls between nodes: what the evaluation is about, its assumptions, and the protocols of the paper as plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from isoviz.document import share
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine
from isoviz.machines.presets.armci import GET, INFINIBAND, US, CallCosts, armci_cluster
from isoviz.planner import Instance, Plan, Transfer, plan_by_path
from isoviz.reproduce import Columns, Evaluation, assumed
from isoviz.reproduce.assumption import of_preset
from isoviz.units import format_bytes, format_rate, format_seconds

KIB, MIB = 1 << 10, 1 << 20
OVERLAPPED = 8 * US
"""What a nonblocking call takes of the program: to post it, and to find that it is done (from the paper, section 4.2)."""
MPI_LATENCY = 8.03 * US
"""A short message of MPI (from the paper, table 1)."""


def _flops(rate: float) -> str:
    return f"{rate / 1e6:,.0f} Mflop/s"


@dataclass(frozen=True)
class ArmciAssumptions:
    """Values that the paper does not give: those of the preset `armci-cluster` (`CallCosts`), and those of two applications."""

    left: float = assumed(0.4, "the share of its processor that a busy program leaves to the helper", "assumed", share)
    call: float = of_preset(CallCosts, "call", "a call of a copy", format_seconds)
    copy: float = of_preset(CallCosts, "copy", "what a processor copies", format_rate)
    copied_run: float = of_preset(CallCosts, "copied_run", "a run that a processor copies", format_seconds)
    read: float = of_preset(CallCosts, "read", "a further run that is read by a get of its own", format_seconds)
    register: float = of_preset(CallCosts, "register", "to register a buffer, and to end it", format_seconds)
    page: float = of_preset(CallCosts, "page", "a page of it, 4 KiB", format_seconds)
    helper: float = of_preset(CallCosts, "helper", "the share of a processor that a helper takes", share)
    eager: int = assumed(8 * KIB, "longer messages of MPI ask the receiver first", "assumed", format_bytes)
    waiting: float = assumed(
        0.1, "the part of the computation before an exchange for which MPI waits for the other end", "assumed", share
    )
    stencil: float = assumed(300e6, "what a processor of cluster-2 computes in NAS MG", "assumed", _flops)
    matrices: float = assumed(2.4e9, "what a processor of cluster-1 computes in products of matrices", "assumed", _flops)


EVALUATION = Evaluation(
    title="One-sided calls over InfiniBand again, in simulation",
    part="one-sided calls over InfiniBand, sections 4 to 6",
    citation="Tipparaju et al., Host-Assisted Zero-Copy Remote Memory Access Communication on InfiniBand, IPDPS 2004.",
    given=ArmciAssumptions(),
    quick=ArmciAssumptions(),
    remark="All figures are simulated; no such network was measured. The paper's text has few figures: its latencies and peak"
    " rates were put in and test nothing. What a copy, a registration and a program cost is assumed, so ratios are worth their"
    " direction; the last table says how far each moves.",
    models="""
Machine: the preset armci-cluster. A protocol is a path of its channels. Node 1 gets data from node 0, the owner.

Zero-copy: the network card reads registered memory, a call for each run. Buffered: a helper of the owner copies into registered
memory, the card moves that, and the receiver copies out of it, all in one chunk. Pipelined: the same path in the chunks that the
planner takes. On demand: both ends are registered first. Host-assisted: the receiver posts receives, and the owner's helper posts
sends, both for up to 60 runs; nobody copies.

A busy owner: a share of the processor on which its helper runs is taken, so its copies take longer. Nodes have two processors;
the other one has no part. Posting takes so little of a processor that it is not slowed.

Overlap: a nonblocking call leaves to the program all of its time but 8 µs, which the paper measured for posting and polling, a
microsecond for each further request that is posted, and the copies of the caller.

NAS MG: the messages of a V-cycle on 256³ points, put between processes of a grid, and the operations of its levels.
Classes A and B differ in their iterations alone. SUMMA: two processes on each of four nodes; each gets chunks of rows and columns
while it multiplies those before. MPI is modelled as copies at both ends for short messages, and a question and an answer before
long ones; it waits for a part of the computation, since both ends have to call. This part decides by how much it is slower.
""",
)

ZERO_COPY, ASSISTED, BUFFERED, PIPELINED, ON_DEMAND = "zero-copy", "host-assisted", "buffered", "pipelined", "on demand"
OWNER, CLIENT = 0, 1


@lru_cache(maxsize=64)
def machine(given: ArmciAssumptions, busy: bool = False, call: str = GET, network: str = INFINIBAND, nodes: int = 2) -> Machine:
    """The preset with the assumed costs; `busy`: with its node 0 so."""
    known = {each.name for each in fields(CallCosts)}
    costs = CallCosts(**{name: value for name, value in vars(given).items() if name in known})
    return armci_cluster(1 - given.left if busy else 0.0, nodes, call, network, costs)


@lru_cache(maxsize=1024)
def scattered(runs: int, run: int, end: str = "reg", here: int = OWNER, there: int = CLIENT) -> Transfer:
    """Runs of `run` bytes, twice as far apart; contiguous if there is one. `end` is the memory of both nodes."""
    space, values = IndexSpace(x=2 * run if runs > 1 else run, y=runs), FieldSpace(v="u1")
    source, destination = (Instance(f"node{node}.{end}", space, values, Layout("<F, x, y>")) for node in (here, there))
    return Transfer(source, destination, shape=(run, runs))


def carried_out(protocol: str, transfer: Transfer, on: Machine) -> Plan:
    """The plan of a transfer by a protocol. Buffered data of registered memory are copied within it."""
    return _carried_out(protocol, transfer, on)


@lru_cache(maxsize=4096)
def _carried_out(protocol: str, transfer: Transfer, on: Machine) -> Plan:
    source, destination = transfer.source.memory, transfer.destination.memory
    buffers = [f"{end.partition('.')[0]}.reg" for end in (source, destination)]
    wire = f"{buffers[0]}->{buffers[1]}"
    copied = [f"{source}->{buffers[0]}", wire, f"{buffers[1]}->{destination}"]
    through = {
        ZERO_COPY: [wire], ASSISTED: [f"{wire} assisted"], ON_DEMAND: [f"{source}->{destination} on demand"],
        BUFFERED: copied, PIPELINED: copied,
    }  # fmt: skip
    return plan_by_path(transfer, on, through[protocol], chunk=transfer.nbytes if protocol == BUFFERED else None)


def seconds(protocol: str, transfer: Transfer, on: Machine) -> float:
    """Seconds of the first start of a transfer by a protocol."""
    return carried_out(protocol, transfer, on).first


def overlap(found: Plan, own: float = 0.0) -> float:
    """The part of a get in which the program may compute. It posts, which takes 8 µs, has `own` seconds more, and copies."""
    return max(0.0, 1 - (OVERLAPPED + own + copies_of(found, -1)) / found.first)


def at_largest(protocol: str, size: str) -> Callable[[Any], float]:
    """From rows of figure 7, the overlap of a protocol at its largest `size`, a column."""
    return lambda found: float(max((row[size], row["overlap"]) for row in found if row["protocol"] == protocol)[1])


def overlaps(*sizes: tuple[str, str, str]) -> tuple[Columns]:
    """How figure 7 is shown, with the columns of its sizes."""
    return (Columns([("protocol", "protocol"), *sizes, ("time", "seconds", "seconds"), ("overlap", "overlap", "share")]),)


def copies_of(plan: Plan, end: int) -> float:
    """Seconds for which the processor of a node copies for a plan: of its first node (0), or of its last one (-1)."""
    path = plan.only
    full, last = path.chunk_seconds()[end]
    return (path.chunk_count - 1) * full + last if plan.hops[end].kind == "Memcpy" else 0.0
