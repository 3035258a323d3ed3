"""The plan of a redistribution: a plan for everything that a rank sends another one, and their time together. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz import checks
from isoviz.document import Document, Facts, Part, Points, Prose, Table, Told
from isoviz.errors import DistributionError
from isoviz.planner.time.together import seconds_together
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.redistribution.distributed_instance import DistributedInstance

MOST_SHOWN = 16
"""The text shows the matrix of bytes for at most this number of senders or receivers."""


class Sending(NamedTuple):
    """One transfer: the rank that sends, the rank that receives, the plan, and the number of the class whose search it shares."""

    sender: int
    receiver: int
    plan: Plan
    kind: int

    @property
    def bytes(self) -> int:
        """Bytes that move."""
        return self.plan.bytes


@dataclass(frozen=True, repr=False)
class RedistributionPlan(Told):
    """The result of `plan_redistribution`, for one machine (`machine_digest`).

    `sendings` holds every transfer, in the order in which ranks submit them: each rank begins with the rank after it. Together
    they move every byte of the destination once.
    """

    source: DistributedInstance
    destination: DistributedInstance
    machine_name: str
    machine_digest: str
    sendings: tuple[Sending, ...]

    @property
    def bytes(self) -> int:
        """Bytes that move, including those that stay on their rank."""
        return self.destination.nbytes

    @cached_property
    def bytes_between(self) -> int:
        """Bytes that move from one rank to another."""
        return sum(each.bytes for each in self.sendings if each.sender != each.receiver)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of all transfers, in order."""
        return tuple(each.plan for each in self.sendings)

    @property
    def classes(self) -> int:
        """The number of searches: transfers that are alike up to offsets and ranks share one."""
        return len({each.kind for each in self.sendings})

    @cached_property
    def seconds(self) -> float:
        """The predicted time until the last transfer ends, if all begin at once and share channels and resources fairly."""
        paths = [path for plan in self.plans for path in plan.paths]
        setup = max((plan.setup for plan in self.plans), default=0.0)
        return setup + seconds_together(paths, [path.seconds - path.setup for path in paths]) if paths else 0.0

    @property
    def throughput(self) -> float:
        """Bytes per second of all ranks together."""
        return self.bytes / self.seconds if self.seconds else 0.0

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that hold a part of the source or of the destination, in ascending order."""
        return tuple(sorted({rank for end in (self.source, self.destination) for rank in end.ranks}))

    @cached_property
    def matrix(self) -> dict[tuple[int, int], int]:
        """Bytes by (sender, receiver); pairs between which nothing moves are absent."""
        found: dict[tuple[int, int], int] = {}
        for each in self.sendings:
            found[each.sender, each.receiver] = found.get((each.sender, each.receiver), 0) + each.bytes
        return found

    def sent_by(self, rank: int) -> tuple[Sending, ...]:
        """What a rank sends, in its order."""
        rank = checks.count("redistribution", "rank", rank, error=DistributionError)
        return tuple(each for each in self.sendings if each.sender == rank)

    def document(self) -> Document:
        """The ends, the paths of the transfers, which rank sends how much to which rank, and in which order."""
        time, rate = format_seconds(self.seconds), format_rate(self.throughput)
        share = f"{format_bytes(self.bytes_between)} between ranks, {format_bytes(self.bytes - self.bytes_between)} within"
        searches = f"{self.classes} search{'es' if self.classes != 1 else ''}"
        ends = f"from {self.source}", f"to   {self.destination}"
        orders = _orders(self)
        parts: list[Part] = [
            Facts([("moves", format_bytes(self.bytes)), ("predicted time", time), ("rate", rate)]),
            Points([*ends, f"{len(self.sendings)} transfers, {searches}: {share}", *_kinds(self)]),
            _matrix(self),
            *([Points(orders)] if orders else []),
        ]
        line = f"redistribution on {self.machine_name}: {format_bytes(self.bytes)} in {time}, {rate}"
        return Document(f"Redistribution on {self.machine_name}", parts, line)


def _kinds(plan: RedistributionPlan) -> list[str]:
    """A line for every way that transfers take, with how many take it."""
    ways: dict[tuple[str, ...], list[Sending]] = {}
    for each in plan.sendings:
        way = tuple(hop.kind for path in each.plan.paths for hop in path.hops)
        ways.setdefault(way, []).append(each)
    lines = []
    for way, sendings in ways.items():
        slowest = max(each.plan.seconds for each in sendings)
        lines.append(
            f"{len(sendings)} by {', then '.join(way)}: {format_bytes(max(each.bytes for each in sendings))} or less,"
            f" {format_seconds(slowest)} or less alone"
        )
    return lines


def _matrix(plan: RedistributionPlan) -> Part:
    """Who sends what to whom, as a matrix of bytes."""
    senders, receivers = sorted(plan.source.ranks), sorted(plan.destination.ranks)
    if max(len(senders), len(receivers)) > MOST_SHOWN:
        return Prose(f"bytes by sender and receiver: {len(senders)} × {len(receivers)} ranks, see `matrix`")
    rows = []
    for sender in senders:
        row = [plan.matrix.get((sender, receiver)) for receiver in receivers]
        rows.append([f"rank {sender}", *("–" if each is None else format_bytes(each) for each in row)])
    return Table(["sends", *(f"to {rank}" for rank in receivers)], rows, numbers=range(1, 1 + len(receivers)))


def _orders(plan: RedistributionPlan) -> list[str]:
    """The order in which each rank serves its peers."""
    if len(plan.source.ranks) > MOST_SHOWN:
        return []
    lines = []
    for rank in sorted(plan.source.ranks):
        peers = list(dict.fromkeys(each.receiver for each in plan.sent_by(rank)))
        if peers:
            lines.append(f"rank {rank} serves {', '.join('itself' if peer == rank else str(peer) for peer in peers)}")
    return lines
