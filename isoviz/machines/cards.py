"""What the card of a kind of channel says besides its ends and words: how it cuts chunks, how it is measured, what is assumed.

All of it is data. The planner, the simulator and `isoviz.measure` read it, which stand on higher floors.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal, NamedTuple

from isoviz import checks

KIB, MIB = 1 << 10, 1 << 20

Distance = Literal["same host", "other host"]
"""How far two ranks are apart. Pairs of ranks at one distance are alike."""
Way = tuple[str, int]
"""The shape of a job (`isoviz.measure.jobs.SHAPES`), and its run in bytes."""
Shapes = tuple[tuple[int, tuple[str, ...]], ...]
"""Shapes of jobs by the bytes of their runs. An entry holds from its number of bytes up to that of the next entry."""

COPIES_PAY, REQUESTS_PAY = 1.15, 1.05
"""The least gain that justifies more concurrent copies, and more disk requests in flight.

More copies slow other channels down. A waiting disk request does not, so a smaller gain is enough.
"""
SMALL_TRANSFERS = (70_000, 140_000, 280_000)
"""Bytes of transfers whose time is mostly set-up."""
LONG_FIELD = 4096
"""Longer fields of structs are measured with equal sizes only."""
WHOLE_COPIES = 4 * MIB
"""The run length from which plans use only whole chunks, for copies within a memory and between ranks."""


@dataclass(frozen=True)
class Ways:
    """How the channels of a kind are measured.

    - `shapes`: the shapes of jobs by their runs. They look like plans with such runs. `shapes_within` are those of a channel from
      a memory to itself, if they are others.
    - `first`: the runs in bytes at which the throughput function is always measured. There are more where it bends, unless
      `bends` is False.
    - `in_flight`: the numbers of requests in flight that are tried; empty if that of the channel stays. `tried_with` are the ways
      of the jobs that tell, and more requests `pays` from this gain on.
    - `setup`: the way of jobs of two sizes, whose times give the set-up for a start; None: the time of the smallest transfer.
    - `small`: bytes of transfers whose time is mostly set-up, from which it is found in the end.
    - `converting`: ways of conversions that may have a set-up of their own; empty if the channel converts nothing itself.
    - `in_parts`: whether the rates of layout changes and the seconds of a request are measured apart.
    - `relayed`: whether a copy on the other node takes chunks further on, so that each has to be told of.
    - `repeated`: how much more often the set-up is measured than anything else: short times spread.
    - `briefly`: the ways of a brief probe, if they are others.
    """

    shapes: Shapes
    first: tuple[int, ...]
    in_flight: tuple[int, ...]
    tried_with: tuple[Way, ...]
    setup: Way | None
    small: tuple[int, ...] = SMALL_TRANSFERS
    converting: tuple[Way, ...] = ()
    in_parts: bool = False
    relayed: bool = False
    repeated: int = 1
    pays: float = REQUESTS_PAY
    bends: bool = True
    briefly: Ways | None = None
    shapes_within: Shapes | None = None

    def shapes_of(self, run: int, *, within: bool) -> tuple[str, ...]:
        """The shapes of jobs with runs of `run` bytes, for a channel from a memory to itself if `within`."""
        steps = self.shapes_within if within and self.shapes_within is not None else self.shapes
        return steps[max(0, bisect_right(steps, run, key=lambda step: step[0]) - 1)][1]


@dataclass(frozen=True)
class AssumedFigures:
    """What is assumed of the channels of a kind at one distance between ranks, where nobody measured them.

    - `setup`, `in_flight`: seconds before the first byte moves, and the most requests in flight, as of a `Channel`.
    - `copied`: how many times as long as a copy within memory processors work on a byte, before or after it is sent; 0 if none
      does.
    - `sent`: the bytes per second at which it is sent besides; infinite if the copy itself brings it to the other rank.
    - `message`: seconds of each run besides those of its bytes, where no processor copies.
    - `at_most`: the most bytes per second.
    - `memory_copies`: how often a byte is read and written in the memory of the host, where it is more than once. Between hosts
      it is how often the memory of each of them is read or written.
    - `provenance`: the source of the figures.

    Raises:
        MachineError: a figure has the wrong type or is out of range.
    """

    setup: float
    in_flight: int = 1
    copied: float = 1.0
    sent: float = math.inf
    message: float = 0.0
    at_most: float = math.inf
    memory_copies: float = 1.0
    provenance: str = "assumed"

    def __post_init__(self) -> None:
        owner = "assumed figures"
        for field in ("setup", "copied", "message", "memory_copies"):
            checks.number(owner, field, getattr(self, field))
        for field in ("sent", "at_most"):
            if getattr(self, field) != math.inf:
                checks.number(owner, field, getattr(self, field), open_low=True)
        checks.whole(owner, "in_flight", self.in_flight, low=1)
        checks.text(owner, "provenance", self.provenance)


def conversions(whole: int, *, fields: bool = False) -> Shapes:
    """Short runs are parts of a chunk that is converted; those from `whole` bytes on are whole chunks.

    With `fields`, runs of the length of fields are those of structs.
    """
    parts: tuple[str, ...] = ("gather", "scatter", "transpose")
    structs: Shapes = ((4, ("split", "join", "transpose")), (LONG_FIELD + 1, parts)) if fields else ()
    return ((0, parts), *structs, (whole, ("stream",)))


def messages(whole: int) -> Shapes:
    """As `conversions`, but every short run is a message of its own, wherever it lies."""
    return ((0, ("gather",)), (LONG_FIELD, ("split", "join", "transpose")), *conversions(whole, fields=True)[2:])


@dataclass(frozen=True)
class Signal:
    """A message of a protocol that carries no data of the transfer: its name, the end that sends it, and what it says.

    `key_bytes` are its bytes for every request whose descriptors the other end has to know. `posted` is what its sender does by
    itself before, so that no data come too early; empty if there is nothing.
    """

    name: str
    sender: Literal["source", "destination"]
    words: str
    key_bytes: int = 0
    posted: str = ""


@dataclass(frozen=True)
class Protocol:
    """The messages of a kind of channels: those before the data, what a request is called, and those after the data.

    The set-up of a channel stands for all signals, in equal parts. `mapped` says what the one-time costs are, which each end pays
    before it answers; empty if there are none. `request` is what a request is where descriptors count at both ends.
    """

    before: tuple[Signal, ...]
    data: str
    after: tuple[Signal, ...] = ()
    mapped: str = ""
    request: str = "request"


# ---- requests

REQUEST_BYTES = 1 << 20
"""Bytes. Longer chunks are cut into several requests, so that a more urgent transfer can go first between two of them."""
SHORT_RUNS, SHORTER = 128 << 10, 3 / 4
"""On disks, a request holds many runs if they are shorter than `SHORT_RUNS` bytes. Such requests are shorter by the factor
`SHORTER`: with the rest of their pages, they fit the buffer of a thread, which has the size of a full request."""


class RequestRule(NamedTuple):
    """How a kind of channels cuts chunks into requests (`ChannelKind.requests`).

    The simulator uses these rules, and so does the default of real channels
    (`isoviz.runtime.device_bases.BaseChannel.requests_of_chunk`). So a simulated trace has the same requests as a real one, and a
    prediction counts the same requests where hops share a channel (`isoviz.planner.time.schedule`).

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
