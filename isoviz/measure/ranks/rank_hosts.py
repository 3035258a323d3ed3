"""Which host carries which rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from isoviz import checks
from isoviz.machines.cards import Distance
from isoviz.machines.kinds import ChannelKind, assumed_at, channel_kinds

MOST_RANKS = 128


@dataclass(frozen=True)
class RankHosts:
    """The host of every rank: `of[r]` is the number of the host of rank r, `names` are the names of the hosts.

    Hosts are numbered from 0 in the order of their first rank.
    """

    of: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.of)

    @cached_property
    def shared_by(self) -> tuple[int, ...]:
        """The number of ranks on every host."""
        return tuple(self.of.count(host) for host in range(len(self.names)))

    def distance(self, here: int, there: int) -> Distance:
        """How far two ranks are apart."""
        return "same host" if self.of[here] == self.of[there] else "other host"

    def pairs(self, distance: Distance) -> tuple[tuple[int, int], ...]:
        """The ordered pairs of different ranks at this distance."""
        every = range(self.ranks)
        return tuple((a, b) for a in every for b in every if a != b and self.distance(a, b) == distance)


def kinds_between(*, usual: bool = True) -> dict[Distance, tuple[ChannelKind, ...]]:
    """The kinds of channels between two ranks by their distance: those that machines always have, or those to compare with."""
    return {
        distance: tuple(kind for kind in channel_kinds() if assumed_at(kind, distance) is not None and kind.is_usual == usual)
        for distance in get_args(Distance)
    }


PREPARED = "same host, prepared"
"""Where the other rank of a prepared transfer is, among the starts of a `Measurement`."""


def rank_hosts(owner: str, ranks: object, hosts: object) -> RankHosts:
    """The hosts of `ranks` ranks. `hosts` is the number of hosts, or the host of every rank by name or number.

    A number of hosts spreads the ranks evenly: consecutive ranks are on one host. A text is a number, or names with commas.
    `owner` begins the messages of errors.

    Raises:
        MachineError: `ranks` is no whole number from 1 to 128, there are more hosts than ranks, or not one host for every rank.
    """
    count = checks.whole(owner, "ranks", ranks, low=1, high=MOST_RANKS)
    if isinstance(hosts, str):
        hosts = int(hosts) if hosts.strip().isdecimal() and len(hosts) < 10 else [name.strip() for name in hosts.split(",")]
    if (names := checks.parts(hosts)) is not None:
        return _named(owner, count, list(names))
    number = checks.whole(owner, "hosts", hosts, low=1, high=count)
    return RankHosts(tuple(rank * number // count for rank in range(count)), tuple(f"host{k}" for k in range(number)))


def _named(owner: str, ranks: int, hosts: list[object]) -> RankHosts:
    if len(hosts) != ranks:
        problem = f"expected a number of hosts, or the host of each of {ranks} ranks, got {len(hosts)} hosts"
        raise checks.FieldError(owner, "hosts", problem)
    numbers: dict[str, int] = {}
    of = []
    for rank, host in enumerate(hosts):
        place = f"hosts[{rank}]"
        is_number = isinstance(host, int) and not isinstance(host, bool)
        name = f"host{host}" if is_number else checks.text(owner, place, host)
        of.append(numbers.setdefault(name, len(numbers)))
    return RankHosts(tuple(of), tuple(numbers))
