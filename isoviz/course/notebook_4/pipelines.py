"""Pipelines as the exercises draw them: a chain of hops that moves chunks through buffers."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from isoviz.course.exercise import Given
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.planner.time.makespan import makespan
from isoviz.runtime import Simulator, Trace
from isoviz.scheduling.work import Ring, Work

MS = 1e-3


class Pipeline(NamedTuple):
    """The seconds that each hop takes for a chunk, the number of chunks, the seconds of the set-up, and the slots of a buffer."""

    hops: tuple[float, ...]
    chunks: int
    setup: float
    slots: int = 2

    @property
    def seconds(self) -> float:
        """From the start to the last byte."""
        return self.setup + makespan(self.hops, self.chunks, self.hops, slots=self.slots)

    @property
    def slowest(self) -> int:
        """The hop that takes the longest for a chunk."""
        return self.hops.index(max(self.hops))

    @property
    def longest_pair(self) -> int:
        """The first of the two neighbouring hops that take the longest together."""
        pairs = [one + other for one, other in pairwise(self.hops)]
        return pairs.index(max(pairs))

    def trace(self) -> Trace:
        """What isoviz's scheduler makes of it, in virtual time."""
        names = tuple(f"hop {number}" for number in range(len(self.hops)))
        memories = tuple(Memory(f"m{number}", MemoryKind.SYS) for number in range(len(self.hops) + 1))
        channels = tuple(
            Channel(name, ChannelKind.MEMCPY, one.name, other.name, Constant(1.0))
            for name, (one, other) in zip(names, pairwise(memories), strict=True)
        )
        rings = tuple(Ring(each.name, 1, self.slots) for each in memories[1:-1])
        simulator = Simulator(Machine("pipeline", memories, channels))
        times = [(each, each) for each in self.hops]
        simulator.submit_work(Work.one_path(names, self.chunks, rings), times, self.chunks, 1.0, setup=self.setup)
        return simulator.run()


def pipeline_of(given: Given, slots: int = 2) -> Pipeline:
    """The pipeline of an exercise: `hops` and `setup` in milliseconds, and `chunks`."""
    return Pipeline(tuple(each * MS for each in given["hops"]), given["chunks"], given["setup"] * MS, slots)


def at_work(pipeline: Pipeline, seconds: float) -> str:
    """What goes on in a pipeline at a time before its end, in words."""
    if seconds < pipeline.setup:
        return "the set-up is still under way"
    working = [each for each in pipeline.trace().requests if each.start <= seconds < each.end]
    working.sort(key=lambda each: each.hop)
    said = [f"hop {each.hop} moves chunk {each.chunk}" for each in working]
    return f"{' and '.join(said) or 'no hop works'}; the last chunk, chunk {pipeline.chunks - 1}, is not there yet"
