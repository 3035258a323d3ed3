"""The steps of a probe of GPUs, on a machine whose host memory and disks were measured before.

One channel of every role (`isoviz.measure.gpus.gpu_parts.role_of`) is measured in full. The others of its role are compared with
it, and take its figures if they are alike: the channels of equal GPUs, or those of pinned memory and of main memory.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from isoviz.backends.direct_storage import is_unsupported
from isoviz.checks import NAME_LIMIT
from isoviz.errors import Cancelled, RunError, in_words, line
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Machine, Sampled
from isoviz.machines.cards import Way
from isoviz.machines.measurement import Pair
from isoviz.measure import tuning
from isoviz.measure.gpus.gpu_parts import DIRECT, SYS, ZCM, Role, memory_of, role_of, with_gpus
from isoviz.measure.sharing import GpuPairs, with_shared
from isoviz.measure.steps import Steps, Tell, Timer
from isoviz.measure.ways import Effort, ways_of
from isoviz.planner import Transfer
from isoviz.this_computer import GpuFacts

_LOG = logging.getLogger("isoviz")


class _Likeness(NamedTuple):
    """A channel takes the figures of `other`, with rates multiplied by `factor`; `how` says why, for people."""

    other: str
    factor: float
    how: str


class GpuSteps(Steps):
    """A probe of `gpus`, and with `direct` of the channels between them and files. `rooms` are those of memories of GPUs."""

    def __init__(
        self,
        timer: Timer,
        gpus: Sequence[GpuFacts],
        disks: Sequence[str],
        room: int,
        rooms: Mapping[str, int],
        effort: Effort,
        date: str,
        tell: Tell,
        clock: Callable[[], float] = time.perf_counter,
        *,
        direct: bool = False,
    ) -> None:
        super().__init__(timer, min([room, *rooms.values()]), effort, date, tell, clock)
        self.gpus, self.disks, self.direct, self.rooms = tuple(gpus), tuple(disks), direct, rooms
        count, models = len(self.gpus), len({gpu.name for gpu in gpus})
        likely = 7 * models + (count > 1)  # of each model: four channels with pinned memory, two with main memory, the copy
        likely += 2 * len(disks) * direct
        pairs = 8 * count + 3 * count * (count - 1)
        self.steps = likely * self.steps_of_channel + 3 + 2 * len(disks) + 6 * count + count**2 + pairs + len(self._transfers())
        self._like: dict[str, _Likeness] = {}
        self._alike: dict[Role, list[str]] = {}
        """The measured channels of every role."""
        self.remarks: list[str] = []
        """What could not be measured, and why."""

    def measure(self, host: Machine, copies: Pair) -> Machine:
        """The machine with its GPUs. `host` is the machine without them; `copies` are two copies in its main memory at once."""
        self._end = self._clock() + self.effort.limit
        machine = with_gpus(host, self.gpus, host.provenance, direct=self.direct)
        known = {channel.name for channel in host.channels}
        for channel in host.channels:
            self._alike.setdefault(role_of(machine, channel), []).append(channel.name)
        for channel in machine.channels:
            if channel.name not in known:
                machine = self._one(machine, channel) if channel.kind not in DIRECT else self._direct(machine, channel)
        own = [name for names in self._alike.values() for name in names if name not in known]
        machine = self._then(self._rounds(machine, own), own)
        for name, like in self._like.items():
            machine = self._with(machine, _as(machine.channel(like.other), machine.channel(name), like))
        pairs = GpuPairs(self._pair, lambda: self.is_over)
        machine = with_shared(machine, copies, pairs)
        self.pairs += pairs.found
        self._check(machine, self._transfers())
        return machine

    # ---- one channel

    def _room_of(self, channel: Channel) -> int:
        return min(self.rooms.get(end, self.room) for end in (channel.source, channel.destination))

    def _way_beside(self, channel: Channel) -> Way:
        if channel.kind is ChannelKind.GPU_COPY:
            return tuning.COPY_WITHIN
        return tuning.COPY_OVER_LINK if channel.kind.is_of_gpu else super()._way_beside(channel)

    def _candidates(self, channel: Channel) -> Sequence[int]:
        """Copies of pinned memory take as many requests as those of main memory, which were measured before."""
        return () if channel.kind is ChannelKind.MEMCPY else super()._candidates(channel)

    def _direct(self, machine: Machine, channel: Channel) -> Machine:
        """The machine after a channel between files and a GPU was measured, or without it, which a remark then says.

        A file system may not support what kvikio offers. After any other error, the channel is tried once more.
        """
        alike = self._alike.setdefault(role_of(machine, channel), [])
        others = tuple(alike)
        for is_last in (False, True):
            try:
                return self._one(machine, channel)
            except Cancelled:
                raise
            except RunError as error:
                alike[:] = others
                self._like.pop(channel.name, None)
                _LOG.debug("channel %s cannot be measured", channel.name, exc_info=True)
                refused = is_unsupported(error)
                if refused or is_last:
                    why = f"{'' if refused else 'failed twice; '}{in_words(_first_of(error))}"
                    said = line(f"{channel.name} ({channel.kind}) is left out: {why}")[:NAME_LIMIT].strip()
                    self.remarks.append(said)
                    self._tell(min(self._done, self.steps), self.steps, said)
                    break
        return replace(machine, channels=tuple(each for each in machine.channels if each.name != channel.name))

    def _one(self, machine: Machine, channel: Channel) -> Machine:
        """The machine after a channel was measured, or compared with the measured ones of its role."""
        alike = self._alike.setdefault(role_of(machine, channel), [])
        like = self._compared(machine, channel, alike) if alike else None
        if like is not None:
            self._like[channel.name] = like
            return self._with(machine, _as(machine.channel(like.other), channel, like))
        alike.append(channel.name)
        return self._first(machine, channel)

    def _compared(self, machine: Machine, channel: Channel, others: Sequence[str]) -> _Likeness | None:
        """The channel of `others` that is as fast; None if there is none. For a disk, the first one with a factor instead."""
        self._step(f"{self._words(channel)}: compared with {others[0]}")
        if self.is_over:
            return _Likeness(others[0], 1.0, f"as {others[0]}, not compared: the time was over")
        converts = bool(ways_of(channel, self.effort).converting)
        whole = self._way_beside(channel)
        ways = (whole, tuning.SHORT_COMPARED) if converts else (whole,)
        first = 1.0
        for k, name in enumerate(others):
            ratios = [self._ratio(machine, channel, machine.channel(name), way) for way in ways]
            if all(1 / tuning.ALIKE <= ratio <= tuning.ALIKE for ratio in ratios):
                return _Likeness(name, 1.0, f"as {name}, compared")
            first = ratios[0] if k == 0 else first
        return None if converts else _Likeness(others[0], first, f"{first:.2f} times as fast as {others[0]}, compared")

    def _ratio(self, machine: Machine, channel: Channel, other: Channel, way: tuple[str, int]) -> float:
        """The speed of a channel as a multiple of that of another one, for jobs of a shape and run."""
        job = self._job(machine, other, *way)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(min(self.effort.repeats, tuning.COMPARED)):
            for found, name in zip(times, (channel.name, other.name), strict=True):  # They alternate: slow moments affect both.
                found.append(max(self.timer.seconds(machine, job._replace(channel=name)), tuning.CLOCK_TICK))
        mine, theirs = map(median, times)
        return theirs / mine

    # ---- channels together

    def _pair(self, machine: Machine, first: Channel, second: Channel | None) -> Pair:
        """Two channels at once (None: two of the first), the faster one first for the timer."""
        other = first if second is None else second
        self._step(f"{self._words(first)} beside {'another one' if second is None else other.name}")
        if second is not None and other.peak > first.peak:
            pair = self._beside(machine, other, first, second_jobs=4)
            return Pair(pair.second, pair.first, pair.alone[::-1], pair.together[::-1])
        return self._beside(machine, first, second, second_jobs=4)

    # ---- whether predictions hold

    def _transfers(self) -> list[tuple[str, Transfer]]:
        pixels, points = FieldSpace(value="float32"), FieldSpace(re="float32", im="float32")
        gpu = memory_of(self.gpus[0])
        side = 1 << (self.room // 16).bit_length() // 2
        turned, line = IndexSpace(x=side, y=side), IndexSpace(x=self.room // 32)
        found = [
            (f"memory to {gpu}, structs to arrays", Transfer.whole(line, points, SYS, "<F, x>", gpu, "<x, F>")),
            (f"{gpu} to memory, arrays to structs", Transfer.whole(line, points, gpu, "<x, F>", SYS, "<F, x>")),
            (f"pinned memory to {gpu}", Transfer.whole(line, points, ZCM, "<F, x>", gpu, "<F, x>")),
            (f"a matrix transposed in {gpu}", Transfer.whole(turned, pixels, gpu, "<F, x, y>", gpu, "<F, y, x>")),
        ]
        return found + [
            (f"{disk} to {gpu}, structs to arrays", Transfer.whole(line, points, disk, "<F, x>", gpu, "<x, F>"))
            for disk in self.disks
        ]


def _first_of(error: BaseException) -> BaseException:
    """The error behind an error: what the library said, without the names of files around it."""
    return error if error.__cause__ is None else _first_of(error.__cause__)


def _as(other: Channel, channel: Channel, like: _Likeness) -> Channel:
    """The channel with the figures of another one."""
    function = other.throughput
    if like.factor != 1.0:
        assert isinstance(function, Sampled)
        function = _times(function, like.factor)
    return replace(
        other,
        name=channel.name,
        source=channel.source,
        destination=channel.destination,
        throughput=function,
        provenance=f"{other.provenance}, {like.how}",
    )


def _times(function: Sampled, factor: float) -> Sampled:
    """A measured function with all rates multiplied by a factor."""

    def scaled(pairs: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
        return tuple((run, _rounded(rate * factor)) for run, rate in pairs)

    return replace(
        function,
        samples=scaled(function.samples),
        measured=None if function.measured is None else scaled(function.measured),
        ranges=tuple((_rounded(low * factor), _rounded(high * factor)) for low, high in function.ranges or ()) or None,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}") if math.isfinite(value) else value
