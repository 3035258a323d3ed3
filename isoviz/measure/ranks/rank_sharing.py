"""What the ranks of a host share, measured with all of them at work.

**Processors.** n ranks that convert at once, in short runs, do the work of g ≤ n ranks alone: g is the number of processors that
they have, in effect. Every copy holds one while it works, so the processors are a held resource with capacity g.

**The memory bus.** n ranks that copy long runs at once move g′ times as much as one alone. Each byte is read and written, so the
capacity is 2 g′ times the rate of one copy. If n channels between ranks move T bytes per second together, each costs C / T bytes
of the capacity C per payload byte, if they slow each other down.

**The link of a host** carries what all ranks of the host send together to another host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from isoviz.machines import ChannelKind, Resource
from isoviz.machines.measurement import Pair
from isoviz.measure import tuning
from isoviz.measure.ranks.rank_hosts import RankHosts
from isoviz.measure.ranks.rank_jobs import channel_name

Together = Callable[[Sequence[str], str, int], list[float]]
"""Bytes per second of channels while all of them work on jobs of a shape and run."""

FREE = 0.93
"""The share of their own rate from which channels at work together slow each other down by no more than noise."""
LEAST_USE, MOST_USE = 2.0, 16.0
"""The least and the largest weight in the memory: every byte is read and written, and a channel that is slow for other reasons
than memory is not taken for one that floods it."""
LONG, SHORT = ("stream", 4 * tuning.MIB), ("transpose", 8)
"""The shape and run of copies that load the memory, and of conversions that load the processors."""


class Sharing:
    """The measurement for ranks on `hosts`; afterwards the resources, and `pairs`.

    `together` measures, `step` is called with a text before every step, and `origin` is the provenance.
    """

    STEPS = 4

    def __init__(self, hosts: RankHosts, together: Together, step: Callable[[str], None], origin: str) -> None:
        self.hosts, self._together, self._step, self._origin = hosts, together, step, origin
        self.memory: Resource | None = None
        self.processors: Resource | None = None
        self.link: tuple[float, str] | None = None
        self.pairs: list[Pair] = []
        self._rings: dict[ChannelKind, tuple[float, float]] = {}

    def measure(self, copy: float, kinds: Iterable[ChannelKind]) -> None:
        """Measure all of it. `copy` is the rate of a copy of one rank alone, `kinds` are those between ranks of one host."""
        hosts = self.hosts
        crowded = max(range(len(hosts.names)), key=lambda host: hosts.shared_by[host])
        ranks = [rank for rank in range(hosts.ranks) if hosts.of[rank] == crowded]
        copies = [f"node{rank}.sys->node{rank}.sys" for rank in ranks]
        self._step("all ranks of a host copy at once")
        gain = self._gain(copies, LONG)
        self.memory = Resource("node0.memory", _rounded(2 * copy * gain), self._origin)
        self._step("all ranks of a host convert at once")
        if len(ranks) > 1:
            self._two_copies(copies[:2])
            converted = self._gain(copies, SHORT)
            if converted < FREE * len(ranks):
                self.processors = Resource("node0.processors", _rounded(converted), self._origin, held=True)
        self._step("all ranks of a host send at once")
        if len(ranks) > 1:
            self._send_in_rings(ranks, kinds)
        self._step("all ranks of a host send to another host")
        if len(hosts.names) > 1:
            self._send_away(ranks)

    def use(self, kind: ChannelKind, peak: float) -> float | None:
        """The weight of a kind in the memory of a host; None if it was not seen."""
        if kind not in self._rings or self.memory is None:
            return None
        alone, total = self._rings[kind]
        if total >= FREE * alone:
            return LEAST_USE
        # A channel alone must not be bounded by what all together reach: its own peak stays possible.
        return _rounded(min(MOST_USE, max(LEAST_USE, self.memory.capacity / max(total, peak))))

    def _gain(self, channels: list[str], way: tuple[str, int]) -> float:
        """How much more the channels do together than one of them alone, between 1 and their number."""
        alone = self._together(channels[:1], *way)[0]
        together = sum(self._together(channels, *way)) if len(channels) > 1 else alone
        return min(max(1.0, together / alone), float(len(channels)))

    def _two_copies(self, channels: list[str]) -> None:
        a, b = (self._together([channel], *LONG)[0] for channel in channels)
        c, d = self._together(channels, *LONG)
        self.pairs.append(Pair(channels[0], channels[1], (_rounded(a), _rounded(b)), (_rounded(c), _rounded(d))))

    def _send_in_rings(self, ranks: list[int], kinds: Iterable[ChannelKind]) -> None:
        for kind in kinds:
            channels = [channel_name(kind, rank, ranks[(k + 1) % len(ranks)]) for k, rank in enumerate(ranks)]
            alone = self._together(channels[:1], *LONG)[0]
            self._rings[kind] = alone * len(ranks), sum(self._together(channels, *LONG))

    def _send_away(self, ranks: list[int]) -> None:
        hosts = self.hosts
        others = [rank for rank in range(hosts.ranks) if hosts.of[rank] != hosts.of[ranks[0]]]
        channels = [channel_name(ChannelKind.TWO_SIDED, rank, others[k % len(others)]) for k, rank in enumerate(ranks)]
        alone = self._together(channels[:1], *LONG)[0]
        total = sum(self._together(channels, *LONG)) if len(channels) > 1 else alone
        if total < FREE * alone * len(channels) or len(channels) == 1:
            self.link = _rounded(max(total, alone)), self._origin


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
