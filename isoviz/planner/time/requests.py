"""The number of requests of a chunk on a channel: a rule for each described kind of channels.

The simulator uses these rules, and so does the default of real channels
(`isoviz.runtime.device_bases.BaseChannel.requests_of_chunk`). So a simulated trace has the same requests as a real one, and a
prediction counts the same requests where hops share a channel (`isoviz.planner.time.schedule`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from isoviz.errors import MachineError
from isoviz.machines import ChannelKind

REQUEST_BYTES = 1 << 20
"""Bytes. Longer chunks are cut into several requests, so that a more urgent transfer can go first between two of them."""
SHORT_RUNS, SHORTER = 128 << 10, 3 / 4
"""On disks, a request holds many runs if they are shorter than `SHORT_RUNS` bytes. Such requests are shorter by the factor
`SHORTER`: with the rest of their pages, they fit the buffer of a thread, which has the size of a full request."""


class RequestRule(NamedTuple):
    """How a kind of channels cuts chunks into requests.

    - `longer`: requests may be this many times as long as the length asked for, because each request costs some work of its own.
    - `seconds`: if `REQUEST_BYTES` are asked for, requests may also last this long at the rate of their channel. Other lengths
      change this time in proportion.
    - `at_least`: a chunk has at least this many requests, so that as many threads can work on it, if the length asked for gives
      that many.
    - `by_runs`: `longer` and `at_least` apply only if single runs are as long as a request, and requests of runs below
      `SHORT_RUNS` bytes are shorter. This is so for disks.
    """

    longer: int = 1
    at_least: int = 1
    by_runs: bool = False
    seconds: float = 0.0

    def requests(self, chunk_bytes: float, run_bytes: float, request_bytes: int, rate: float = 0.0) -> int:
        """The number of requests for a chunk of `chunk_bytes` bytes, in runs of `run_bytes` bytes.

        `rate` is that of the channel with such runs, in bytes per second; 0 if it is not known.
        """
        is_short = self.by_runs and run_bytes < min(SHORT_RUNS, chunk_bytes)
        count = max(1, math.ceil(chunk_bytes / (request_bytes * (SHORTER if is_short else 1))))
        if self.by_runs and (is_short or run_bytes < request_bytes):
            return count
        longer = max(self.longer, self.seconds * rate / REQUEST_BYTES)
        return max(min(count, self.at_least), math.ceil(count / longer))


PLAIN = RequestRule()
IN_MEMORY = RequestRule(longer=4, at_least=4)
ON_DISK = RequestRule(longer=4, at_least=4, by_runs=True)
ON_GPU = RequestRule(longer=16, seconds=3e-4)
"""Requests that last 0.15 to 0.3 ms where 1 MiB is asked for, or of 8 to 16 MiB if those last longer. A request costs some tens
of microseconds of Python, in which a GPU copies as much as 100 MB, and short copies do not reach the rate of a link. An urgent
transfer waits for all that is queued: a copy engine works in the order of the calls (measured on an H200)."""


_OF_GPUS = (
    *(ChannelKind.GPU_READ, ChannelKind.GPU_WRITE, ChannelKind.GPU_COPY),
    *(ChannelKind.ZERO_COPY_READ, ChannelKind.ZERO_COPY_WRITE),
)


def rule_of(name: str) -> RequestRule:
    """The rule of a kind of channels, by its name in plans. A name that this process does not know has no rule of its own."""
    try:
        kind = ChannelKind(name)
    except MachineError:
        return PLAIN
    if kind.is_host_copy:
        return IN_MEMORY
    if any(end.is_file_system for end in (*kind.sources, *kind.destinations)):
        return ON_DISK
    return ON_GPU if kind in _OF_GPUS else PLAIN
