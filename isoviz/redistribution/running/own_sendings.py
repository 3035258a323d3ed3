"""What a rank carries out of a redistribution and no array changes: the channels, and the copies of every chunk."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz.backends.formats.records import Record, array_of
from isoviz.backends.host.host_memory import Memcpy
from isoviz.errors import DistributionError, FileError
from isoviz.runtime.device_bases import AsynchronousChannel
from isoviz.runtime.protocols import Bound
from isoviz.this_computer import usable_cpus

if TYPE_CHECKING:
    import numpy as np

    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel
    from isoviz.planner import Instance, Plan
    from isoviz.redistribution.redistribution_plan import RedistributionPlan
    from isoviz.runtime.protocols import RealChannel, RealMemory
    from isoviz.runtime.ranks.rank_engine import RankEngine


class DirectSending(NamedTuple):
    """A sending of a single hop: its number, the rank that receives it, its channel, and the copies of its chunks."""

    number: int
    receiver: int
    channel: RealChannel
    chunks: tuple[tuple[int, Sequence[StridedCopy]], ...]


class OwnSendings:
    """What the rank of an engine carries out of a plan. All ranks have equal plans.

    Its sendings of a single hop have no buffer: `started` go without a thread, `waiting` in a thread each, and the kernels move
    those that are `at_once`. `staged` are the numbers of all other sendings, of all ranks: the engines carry them out together.
    `processors` is the number of processors that the rank may use. `array_kind` is `array_kind_of` its part of the destination.

    Raises:
        DistributionError: there are too few ranks, or this one lacks a device.
    """

    def __init__(self, engine: RankEngine, plan: RedistributionPlan) -> None:
        self.plan = plan
        size = engine.transport.size
        need = 1 + max(plan.ranks)
        if need > size:
            raise DistributionError(f"redistribution: needs {need} ranks, and there are {size}; start {need}: mpiexec -n {need}")
        hosts = list(getattr(engine.transport, "hosts", None) or ("",) * size)
        self.processors = max(1, usable_cpus() // hosts.count(hosts[engine.rank]))
        part = plan.destination.part(engine.rank)
        self.array_kind = None if part is None else array_kind_of(part)
        self.started: list[DirectSending] = []
        self.waiting: list[DirectSending] = []
        self.at_once: list[DirectSending] = []
        self.staged: list[int] = []
        channels: dict[str, RealChannel] = {}
        for number, sending in enumerate(plan.sendings):
            if len(sending.plan.every_hop) > 1:
                self.staged.append(number)
            elif sending.sender == engine.rank:
                name = sending.plan.hops[0].channel
                if name not in channels:
                    channels[name] = _channel(engine, engine.machine.channel(name))
                    if isinstance(channels[name], Memcpy):
                        cast("Memcpy", channels[name]).prepare(plan.bytes)
                made = DirectSending(number, sending.receiver, channels[name], _chunks(sending.plan))
                self._those_like(channels[name]).append(made)

    def lying(self, rank: int, lies: Sequence[tuple[Instance | None, Instance | None]]) -> OwnSendings:
        """The same for ends that lie otherwise than planned: `lies` holds `OpenedEnds.lies` of every rank; this is `rank`."""
        if all(ends == (None, None) for ends in lies):
            return self
        found = copy.copy(self)
        for kind in ("started", "waiting", "at_once"):
            sendings: list[DirectSending] = getattr(self, kind)
            plans = [self.plan.sendings[each.number].plan.lying(lies[rank][0], lies[each.receiver][1]) for each in sendings]
            setattr(found, kind, [each._replace(chunks=_chunks(plan)) for each, plan in zip(sendings, plans, strict=True)])
        return found

    def _those_like(self, channel: RealChannel) -> list[DirectSending]:
        if isinstance(channel, AsynchronousChannel):
            return self.started
        return self.at_once if getattr(channel, "at_once", False) else self.waiting


def _chunks(plan: Plan) -> tuple[tuple[int, Sequence[StridedCopy]], ...]:
    """The copies of every chunk of a plan of one hop."""
    path = plan.only
    return tuple((chunk, path.copies(0, chunk)) for chunk in path.numbers)


def _channel(engine: RankEngine, channel: Channel) -> RealChannel:
    ends = []
    for name in (channel.source, channel.destination):
        memory = engine.machine.memory(name)
        ends.append(Bound(memory, cast("RealMemory", engine.devices.memory(memory))))  # None where another rank has it
    found = engine.devices.channel(channel, *ends)
    if found is None:
        raise DistributionError(f"channel {channel.name}: rank {engine.rank} has no device that is a {channel.kind}")
    return found


def array_kind_of(part: Instance) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """The dtype and the shape of the C-order array of a part's layout; None where no dtype describes its bytes.

    The axes are the digits of the layout, slowest first, as in files of `isoviz.convert`.
    """
    fields = part.fields
    record = Record(fields, fields.names, fields.dtypes, fields.dtype if len(fields) > 1 else None)
    try:
        dtype, shape = array_of(part.linearization.parts, record)
    except FileError:
        return None
    shape, dtype = (*shape, *dtype.shape), dtype.base
    return (dtype, shape) if math.prod(shape) * dtype.itemsize == part.linearization.nbytes else None
