"""The jobs that measure channels of ranks, and the machine that they run on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Machine
from isoviz.measure import tuning
from isoviz.measure.channel_timer import Job
from isoviz.measure.ranks.rank_hosts import RankHosts
from isoviz.measure.ranks.ranks_machine import assumed_between_ranks, ranks_machine
from isoviz.planner import Plan, Transfer, cost

IN_FLIGHT = (1, 2, 4)
"""The numbers of requests in flight that are tried."""
_LAYOUTS = {
    "gather": ("<F, x, y, z>", "<F, x, z, y>"),
    "scatter": ("<F, x, z, y>", "<F, x, y, z>"),
    "transpose": ("<F, x, y, z>", "<F, x, z, y>"),
    "split": ("<F, x>", "<x, F>"),
    "join": ("<x, F>", "<F, x>"),
}
_FIELDS = 4
_BYTE = FieldSpace(v="uint8")


class RankJobTimer(Protocol):
    """Times jobs on ranks: for real (`isoviz.measure.ranks.rank_timer.RankTimer`), or in virtual time in tests."""

    def seconds(self, plans: Sequence[Plan]) -> list[float]:
        """The seconds of each plan, one after the other."""

    def together(self, plans: Sequence[Plan]) -> list[float]:
        """The seconds of each plan, all at the same time."""


def trial_machine(hosts: RankHosts, local: Machine) -> Machine:
    """The machine of the trials: as assumed, and with variants of each channel for numbers of requests in flight."""
    machine = ranks_machine(hosts, assumed_between_ranks(local))
    variants = [
        replace(channel, name=variant(channel.name, count), max_in_flight=count)
        for channel in machine.channels
        if is_tried_in_flight(channel.kind)
        for count in IN_FLIGHT
    ]
    return replace(machine, channels=(*machine.channels, *variants), provenance="assumed")


def is_tried_in_flight(kind: ChannelKind) -> bool:
    """Whether several requests in flight may make a channel of this kind faster: those between ranks."""
    return kind.crosses_nodes


def variant(channel: str, in_flight: int) -> str:
    """The name of the channel with a number of requests in flight, on the machine of the trials."""
    return f"{channel} x{in_flight}"


def channel_name(kind: ChannelKind, here: int, there: int) -> str:
    """The channel of a kind between two ranks that is measured: between pageable memories where the kind takes them."""
    memory = "reg" if kind in (ChannelKind.WINDOW, ChannelKind.PUT) else "sys"
    return f"node{here}.{'reg' if kind is ChannelKind.PUT else 'sys'}->node{there}.{memory} {kind}"


def shapes(channel: Channel, run: int) -> tuple[str, ...]:
    """The shapes of jobs that measure a channel with runs of `run` bytes; plans with such runs look like them."""
    if run >= tuning.WHOLE_CHUNKS_COPY:
        return ("stream",)
    if channel.kind in (ChannelKind.TWO_SIDED, ChannelKind.PUT) and run < tuning.LONG_FIELD:
        return ("gather",)  # Every run is a call of MPI, wherever it lies.
    return ("split", "join", "transpose") if 4 <= run <= tuning.LONG_FIELD else ("gather", "scatter", "transpose")


def job_plan(machine: Machine, job: Job) -> Plan:
    """The plan of a job: one hop over its channel."""
    channel = machine.channel(job.channel)
    ends = channel.source, channel.destination
    if job.shape == "stream":
        return cost(_transfer(IndexSpace(x=job.nbytes), *ends, "<F, x>", "<F, x>"), machine, [channel.name])
    here, there = _LAYOUTS[job.shape]
    if job.shape in ("split", "join"):
        fields = FieldSpace.of({f"f{part}": f"V{max(1, job.run * part // 4)}" for part in (1, 2, 4, 9)})
        space = IndexSpace(x=max(1, job.nbytes // fields.nbytes))
        return cost(Transfer.whole(space, fields, ends[0], here, ends[1], there), machine, [channel.name])
    elements = max(1, job.nbytes // job.run)
    rows = _FIELDS if job.shape != "transpose" else max(2, math.isqrt(elements))
    space = IndexSpace(x=job.run, y=rows, z=max(1, elements // rows))
    return cost(_transfer(space, *ends, here, there), machine, [channel.name])


def _transfer(space: IndexSpace, source: str, destination: str, here: str, there: str) -> Transfer:
    return Transfer.whole(space, _BYTE, source, here, destination, there)
