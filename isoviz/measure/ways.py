"""How channels are measured: what the cards of their kinds say (`Ways`), and how much effort a probe makes.

The ways are the same for this computer, its GPUs and ranks. What is measured of a channel besides its throughput function is a
list of its own (`isoviz.measure.steps.MEASUREMENTS`).
"""

from __future__ import annotations

from dataclasses import dataclass

from isoviz.errors import MachineError
from isoviz.machines import Channel
from isoviz.machines.cards import Ways


@dataclass(frozen=True)
class Effort:
    """The amount of measuring: `repeats` of everything, up to `samples` per function, about `seconds` each.

    After `limit` seconds no function is refined and no round begins. Some repeats of a sample follow each other, to find where a
    function bends. The others, more than half, are taken in rounds over all samples of all channels. The speed of a computer
    changes within seconds, so the median of one moment may be off by half.

    A probe that `is_brief` leaves out what changes predictions least: the shortest runs of disks, samples where their functions
    bend, most jobs that compare numbers of requests in flight, and conversions beside other channels.
    """

    repeats: int
    samples: int
    seconds: float
    limit: float
    is_brief: bool = False


def ways_of(channel: Channel, effort: Effort) -> Ways:
    """How a channel is measured.

    Raises:
        MachineError: the card of its kind does not say.
    """
    ways = _ways(channel)
    return ways.briefly if effort.is_brief and ways.briefly is not None else ways


def shapes(channel: Channel, run: int) -> tuple[str, ...]:
    """The shapes of jobs that measure a channel with runs of `run` bytes.

    Raises:
        MachineError: the card of its kind does not say.
    """
    return _ways(channel).shapes_of(run, within=channel.is_self_loop)


def _ways(channel: Channel) -> Ways:
    if channel.kind.ways is None:
        raise MachineError(f"channel {channel.name}: the card of {channel.kind} says no ways to measure it; expected `ways`")
    return channel.kind.ways
