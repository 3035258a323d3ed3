"""What sets the pace of a path: one hop, or several that share a channel or a resource."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from isoviz.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence


class PaceSetters(NamedTuple):
    """Hops that set the pace of a path together: those of one channel, or those that use one shared resource.

    `seconds` is how long a byte keeps the channel or the resource busy. `resource` is the name of the resource, "" for a channel.
    `takes_turns` says whether only one of the hops works at a time; else they slow each other down.
    """

    hops: tuple[int, ...]
    seconds: float
    resource: str = ""
    takes_turns: bool = True

    @property
    def rate(self) -> float:
        """The bytes per second that all of its hops sustain."""
        return 1 / self.seconds if self.seconds else math.inf

    def words(self, first: int = 0) -> str:
        """What the hops share, as a sentence without a full stop; "" for one hop that shares nothing with another.

        `first` is the number of the path's first hop among those of all paths.
        """
        together = format_rate(self.rate)
        if len(self.hops) == 1:
            return f"It is as fast as {self.resource} allows" if self.resource else ""
        if not self.resource:
            what = "one channel"
        elif found := re.fullmatch(r"(.+)\.(reading|writing)", self.resource):
            what = f"{'one' if self.takes_turns else 'the'} {found[2].replace('ing', 'er')} of {found[1]}"
        else:
            what = self.resource
        numbers = [f"hop {first + hop}" for hop in self.hops]
        named = f"{', '.join(numbers[:-1])} and {numbers[-1]}".replace("hop", "Hop", 1)
        if self.takes_turns:
            return f"{named} take turns ({what}): together {together}"
        return f"{named} slow each other down (they share {what}): together {together}"


_SAME_PACE = 1e-9
_SHARED = 1e-6
"""A resource sets the pace where it is busy for longer than every channel, by more than this share."""


def paces(
    channels: Sequence[str], rates: Sequence[float], resources: Sequence[str] = (), shares: Sequence[Sequence[float]] = ()
) -> tuple[PaceSetters, ...]:
    """What sets the pace of a path whose hops work at the same time; several where they tie.

    Hop i moves `rates[i]` bytes per second on its channel, and hops of one channel take turns there. A byte costs the shared
    resource r `shares[r][i]` seconds on hop i.
    """
    seconds = [1 / rate if rate else math.inf for rate in rates]
    found = []
    for channel in dict.fromkeys(channels):
        hops = tuple(hop for hop, name in enumerate(channels) if name == channel)
        found.append(PaceSetters(hops, sum(seconds[hop] for hop in hops)))
    alone = max((each.seconds for each in found), default=0.0)
    for name, share in zip(resources, shares, strict=True):
        hops = tuple(hop for hop, each in enumerate(share) if each)
        if sum(share) > alone * (1 + _SHARED):
            turns = all(share[hop] >= seconds[hop] * (1 - _SHARED) for hop in hops)
            found.append(PaceSetters(hops, sum(share), name, turns))
    most = max((each.seconds for each in found), default=0.0)
    return tuple(each for each in found if each.seconds >= most * (1 - _SAME_PACE))
