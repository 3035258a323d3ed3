"""In how many requests a chunk goes over a channel: the rule of each described kind of channels.

The simulator and the default of real channels (`isoviz.runtime.device_bases.BaseChannel.requests_of_chunk`) both use it, so a
simulated trace has the requests of a real one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from isoviz.machines import ChannelKind

if TYPE_CHECKING:
    from isoviz.planner.path_plan import Hop, PathPlan

SHORT_RUNS, SHORTER = 128 << 10, 3 / 4
"""Runs of a disk below `SHORT_RUNS` bytes are handed over many at once. Their requests are shorter by the factor `SHORTER`: with
the rest of their pages they fit the buffer that a thread has for a whole request."""


class RequestRule(NamedTuple):
    """How a kind of channels cuts chunks.

    - `longer`: requests may be this many times as long as asked, because each costs some work of its own.
    - `at_least`: a chunk has at least this many requests, where it would have them at the length that was asked for: as many
      threads can work on it.
    - `by_runs`: whether the two apply only where single runs are as long as a request, and runs below `SHORT_RUNS` bytes have
      shorter requests: so of disks.
    """

    longer: int = 1
    at_least: int = 1
    by_runs: bool = False

    def requests(self, chunk_bytes: float, run_bytes: float, request_bytes: int) -> int:
        """In how many requests a chunk of `chunk_bytes` bytes in runs of `run_bytes` goes."""
        is_short = self.by_runs and run_bytes < min(SHORT_RUNS, chunk_bytes)
        count = max(1, math.ceil(chunk_bytes / (request_bytes * (SHORTER if is_short else 1))))
        if self.by_runs and (is_short or run_bytes < request_bytes):
            return count
        return max(min(count, self.at_least), math.ceil(count / self.longer))


PLAIN = RequestRule()
IN_MEMORY = RequestRule(longer=4, at_least=4)
ON_DISK = RequestRule(longer=4, at_least=4, by_runs=True)


def rule_of(name: str) -> RequestRule:
    """The rule of a kind of channels, by its name as plans have it.

    Raises:
        MachineError: no kind of that name is registered.
    """
    kind = ChannelKind(name)
    if kind.is_host_copy:
        return IN_MEMORY
    if any(end.is_file_system for end in (*kind.sources, *kind.destinations)):
        return ON_DISK
    return PLAIN


def requests_of_chunk(path: PathPlan, hop: Hop, request_bytes: int) -> int:
    """In how many requests a chunk of a path goes over the channel of a hop, by the rule of its kind."""
    return rule_of(hop.kind).requests(path.chunk_payload, hop.request_bytes, request_bytes)
