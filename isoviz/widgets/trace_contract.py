"""The part of the contract that is about traces: how the browser asks for them, and what it gets (see `isoviz.widgets.contract`).

The requests of a trace go as columns of numbers: binary data beside the message.
"""

from __future__ import annotations

from typing import Literal, TypedDict

TraceKind = Literal["simulated", "stored", "measured", "given"]
"""Traces of a session: the plan simulated, the same stored and forwarded, the last run that ended well, and the one that a view
alone was given."""


class TraceColumn(TypedDict):
    """A column of the requests of a trace. `type` is that of NumPy, little-endian: "f8", "u1", "u2" or "u4"."""

    name: str
    type: str


class TraceLane(TypedDict):
    """A channel of a trace: `count` requests from number `first` on, by start. `title` says what it is, `detail` where."""

    channel: str
    title: str
    detail: str
    first: int
    count: int


class TraceDependency(TypedDict):
    """What chunk c of a hop waits for besides its channel: that the hop of row `row` has moved chunk c − `lead`, or its last
    chunk where `whole`. `reason` is "data", "slot" or "chunk".
    """

    reason: str
    row: int
    lead: int
    whole: bool


class TraceHop(TypedDict):
    """A hop of a transfer: a row of a trace. `transfer` and `lane` count from 0; `hop` is its number within its transfer, `place`
    that on its path.

    It moves `chunks` chunks in `requests` requests each: `bytes` in all, `chunkBytes` for each chunk but the last.
    """

    transfer: int
    hop: int
    path: int
    place: int
    lane: int
    chunks: int
    requests: int
    bytes: float
    chunkBytes: float
    waits: list[TraceDependency]


class TraceRing(TypedDict):
    """A buffer behind the hop of row `row`; the hop of the next row empties it."""

    row: int
    memory: str
    title: str
    detail: str
    slots: int
    slotBytes: int


class TraceTransfer(TypedDict):
    """A transfer of a trace; its hops are `hops` rows from `row` on. Times are in seconds from the begin of the trace.

    `admitted` is when it got its buffers, null if it never did. `alone` are the seconds that it takes on an idle machine, `key`
    is its key in the session; both are null if they are not known.
    """

    number: int
    label: str
    priority: int
    submitted: float
    admitted: float | None
    ended: float
    outcome: str
    reason: str
    bytes: float
    row: int
    hops: int
    alone: float | None
    key: int | None


class TraceHead(TypedDict):
    """What a trace is about: `count` requests in columns that go with it as buffers, in the order of `columns`.

    `id` names the trace, `where` its origin ("simulated", "measured"). `seconds` is from the first submission to the last end.
    """

    id: str
    where: str
    seconds: float
    count: int
    note: str
    columns: list[TraceColumn]
    lanes: list[TraceLane]
    hops: list[TraceHop]
    rings: list[TraceRing]
    transfers: list[TraceTransfer]


class ShownRequest(TypedDict):
    """A request of a trace by its row, its chunk, and its number within the chunk."""

    row: int
    chunk: int
    request: int


class TraceStep(TypedDict):
    """A step of a simulation: what happened at `seconds`, in words, and each answer of the scheduler.

    `ended` is the request that ended with it, null if none did; `begun` are the requests that the scheduler hands to channels.
    """

    seconds: float
    stimulus: str
    answers: list[str]
    ended: ShownRequest | None
    begun: list[ShownRequest]


class TraceMessage(TypedDict):
    """A trace, or the reason why it is missing. The buffers of the message are its columns."""

    kind: Literal["trace"]
    which: TraceKind
    number: int | None
    trace: TraceHead | None
    error: str


class StepsMessage(TypedDict):
    """Steps of the simulation with the trace `id`, from number `first` on. `more` says whether others follow."""

    kind: Literal["steps"]
    number: int | None
    id: str
    first: int
    steps: list[TraceStep]
    more: bool
    error: str
