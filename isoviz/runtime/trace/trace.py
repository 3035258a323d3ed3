"""Traces: the requests and transfers of a run, simulated or real, with their times.

All other figures (hops, chunks, waiting times, buffer fill levels, the critical path) follow from these two lists. So the same
figures show simulated and real runs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz import checks
from isoviz.document import Told
from isoviz.errors import InputError, MissingPartError, show
from isoviz.public_method import PublicMethod
from isoviz.scheduling.work import Work
from isoviz.schema import parse, read
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class RequestSpan(NamedTuple):
    """A request: part `request` of a chunk of a hop. `start` and `end` are when its channel began and finished it, in seconds."""

    transfer: int
    hop: int
    chunk: int
    request: int
    start: float
    end: float


class TransferSpan(NamedTuple):
    """A transfer. `submitted`, `admitted` (it got its buffers; None: it never did) and `ended` are times in seconds.

    `nbytes` are the bytes of all chunks, `chunk_bytes` those of a full chunk; the last chunk has the rest. For several paths,
    `shares` has for each path (bytes of all its chunks, bytes of a full chunk). `emulated` names its emulated memories.
    """

    number: int
    label: str
    work: Work
    nbytes: float
    chunk_bytes: float
    submitted: float
    admitted: float | None
    ended: float
    outcome: str = "done"
    reason: str = ""
    shares: tuple[tuple[float, float], ...] = ()
    emulated: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds from submission to end."""
        return self.ended - self.submitted

    @property
    def began(self) -> float:
        """When it got its buffers, so that its first request could start. The submission if that time is not known."""
        return self.submitted if self.admitted is None else self.admitted

    def payload(self, hop: int, chunk: int) -> float:
        """Bytes of a chunk of a hop."""
        if type(hop) is not int or not 0 <= hop < len(self.work.channels) or type(chunk) is not int or chunk >> 63:
            hop = checks.count("trace", "hop", hop, high=len(self.work.channels) - 1)
            chunk = checks.count("trace", "chunk", chunk)
        nbytes, full = self.shares[self.work.places[hop][0]] if self.shares else (self.nbytes, self.chunk_bytes)
        return min(full, nbytes - chunk * full)

    def request_bytes(self, hop: int, chunk: int) -> float:
        """Bytes of a request of a chunk."""
        return self.payload(hop, chunk) / self.work.requests[hop]


class Span(NamedTuple):
    """An interval of a run. `kind` is "transfer", "hop", "chunk", "request" or "wait".

    `hop`, `chunk` and `request` are −1 if the interval does not belong to a single one. `channel` is empty for transfers.
    """

    kind: str
    transfer: int
    hop: int
    chunk: int
    request: int
    channel: str
    start: float
    end: float
    nbytes: float


def _no_request(span: object) -> InputError:
    return InputError(f"trace: expected a request of one of its transfers, got {show(span)}")


class Use(NamedTuple):
    """The use of a channel: busy seconds, bytes moved and requests. `share` is the busy part of the whole run."""

    channel: str
    seconds: float
    nbytes: float
    requests: int
    share: float

    @property
    def idle(self) -> float:
        """The part of the run in which the channel was idle."""
        return 1.0 - self.share


@dataclass(frozen=True, repr=False)
class Trace(Told):
    """A run: its transfers by number, and its requests in the order in which they ended. `where` names the driver that ran it."""

    document = PublicMethod("isoviz.runtime.trace.trace_document", "trace_document")

    transfers: tuple[TransferSpan, ...]
    requests: tuple[RequestSpan, ...]
    where: str = "simulated"

    @cached_property
    def of(self) -> Mapping[int, TransferSpan]:
        """Transfers by number."""
        return {transfer.number: transfer for transfer in self.transfers}

    @cached_property
    def begin(self) -> float:
        """When the first transfer was submitted."""
        return min((transfer.submitted for transfer in self.transfers), default=0.0)

    @cached_property
    def end(self) -> float:
        """When the last transfer ended."""
        return max((transfer.ended for transfer in self.transfers), default=0.0)

    @property
    def seconds(self) -> float:
        """Seconds from the first submission to the last end."""
        return self.end - self.begin

    @cached_property
    def nbytes(self) -> float:
        """Bytes of all transfers that were done."""
        return sum(transfer.nbytes for transfer in self.transfers if transfer.outcome == "done")

    @property
    def throughput(self) -> float:
        """Bytes per second over the whole run."""
        return self.nbytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def emulated(self) -> tuple[str, ...]:
        """The emulated memories of all transfers, each once."""
        return tuple(dict.fromkeys(name for transfer in self.transfers for name in transfer.emulated))

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """The channels in the order in which they appear on the paths."""
        return tuple(dict.fromkeys(name for transfer in self.transfers for name in transfer.work.channels))

    def channel(self, span: RequestSpan) -> str:
        """The channel of a request."""
        try:
            return self.of[span.transfer].work.channels[span.hop]
        except (AttributeError, KeyError, IndexError, TypeError):
            raise _no_request(span) from None

    # ---- spans

    def spans(self) -> Iterator[Span]:
        """All intervals: transfers with their wait for buffers, hops, chunks, and requests with their wait for the channel."""
        for transfer in self.transfers:
            number, nbytes = transfer.number, transfer.nbytes
            yield Span("transfer", number, -1, -1, -1, "", transfer.submitted, transfer.ended, nbytes)
            got = transfer.ended if transfer.admitted is None else transfer.admitted
            if got > transfer.submitted:
                yield Span("wait", number, -1, -1, -1, "", transfer.submitted, got, nbytes)
        yield from self._joined("hop", lambda span: (span.transfer, span.hop, -1))
        yield from self._joined("chunk", lambda span: (span.transfer, span.hop, span.chunk))
        for span in self.requests:
            channel, nbytes = self.channel(span), self.of[span.transfer].request_bytes(span.hop, span.chunk)
            ready = self.ready(span)
            if span.start > ready:
                yield Span("wait", span.transfer, span.hop, span.chunk, span.request, channel, ready, span.start, nbytes)
            yield Span("request", *span[:4], channel, span.start, span.end, nbytes)

    def _joined(self, kind: str, key: Any) -> Iterator[Span]:
        found: dict[tuple[int, int, int], list[float]] = {}
        for span in self.requests:
            nbytes = self.of[span.transfer].request_bytes(span.hop, span.chunk)
            entry = found.setdefault(key(span), [span.start, span.end, 0.0])
            entry[0], entry[1] = min(entry[0], span.start), max(entry[1], span.end)
            entry[2] += nbytes
        for (transfer, hop, chunk), (start, end, nbytes) in found.items():
            yield Span(kind, transfer, hop, chunk, -1, self.of[transfer].work.channels[hop], start, end, nbytes)

    @cached_property
    def chunk_ends(self) -> Mapping[tuple[int, int, int], float]:
        """When a hop had moved a chunk, by (transfer, hop, chunk)."""
        found: dict[tuple[int, int, int], float] = {}
        for span in self.requests:
            key = span[:3]
            found[key] = max(found.get(key, span.end), span.end)
        return found

    def ready(self, span: RequestSpan) -> float:
        """When a request was ready: from then on it waited only for its channel."""
        try:
            admitted = self.of[span.transfer].began
        except (AttributeError, KeyError, TypeError):
            raise _no_request(span) from None
        return max((self.chunk_ends.get(key, admitted) for _, key in self.waits(span)), default=admitted)

    def waits(self, span: RequestSpan) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """The dependencies of a request besides its buffers and its channel.

        Each is a reason and the (transfer, hop, chunk) that the request waited for.
        """
        try:
            number, hop, chunk = span[:3]
            work = self.of[number].work
            at, place = work.places[hop]
            if type(chunk) is not int:
                raise TypeError
        except (KeyError, IndexError, TypeError, ValueError):
            raise _no_request(span) from None
        path = work.paths[at]
        for reason, other, lead in path.dependencies(place):
            before = path.chunks - 1 if reason == "data" and not path.pipelined else chunk - lead
            if before >= 0:
                yield reason, (number, hop - place + other, before)

    # ---- channels and buffers

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """The use of every channel. A channel that takes several requests at a time is busy while it has any."""
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        moved: dict[str, float] = defaultdict(float)
        for span in self.requests:
            name = self.channel(span)
            found[name].append((span.start, span.end))
            moved[name] += self.of[span.transfer].request_bytes(span.hop, span.chunk)
        whole = self.seconds or 1.0
        return tuple(
            Use(name, (busy := _union(found[name])), moved[name], len(found[name]), busy / whole) for name in self.channels
        )

    @cached_property
    def overlap(self) -> float:
        """The average number of busy channels while any channel is busy. 1 means that channels took turns."""
        any_busy = _union([(span.start, span.end) for span in self.requests])
        return sum(use.seconds for use in self.uses) / any_busy if any_busy else 0.0

    def fill(self, transfer: int, ring: int) -> tuple[tuple[float, float], ...]:
        """The fill level of the ring buffer behind hop `ring`, as pairs (time, slots in use from then on).

        A slot is in use from the start of the first request that writes it to the end of the last request that reads it.
        """
        where = checks.count("trace", "transfer", transfer), checks.count("trace", "ring", ring)
        return self._fills.get(where, ())

    @cached_property
    def _fills(self) -> Mapping[tuple[int, int], tuple[tuple[float, float], ...]]:
        """The fill levels of all ring buffers, by (transfer, hop before it). If a transfer ended early, its slots end with it."""
        begun: dict[tuple[int, int, int], float] = {}
        moved: dict[tuple[int, int, int], int] = defaultdict(int)
        for span in self.requests:
            key = span[:3]
            begun[key] = min(begun.get(key, span.start), span.start)
            moved[key] += 1
        changes: dict[tuple[int, int], dict[float, int]] = {}
        for (number, hop, chunk), start in begun.items():
            transfer = self.of[number]
            path, place = transfer.work.places[hop]
            if place == len(transfer.work.paths[path].rings):
                continue
            onwards = number, hop + 1, chunk
            whole = moved[onwards] >= transfer.work.requests[hop + 1]
            steps = changes.setdefault((number, hop), defaultdict(int))
            steps[start] += 1
            steps[self.chunk_ends[onwards] if whole else transfer.ended] -= 1
        found = {}
        for ring, steps in changes.items():
            level, points = 0.0, []
            for when in sorted(steps):
                level += steps[when]
                points.append((when, level))
            found[ring] = tuple(points)
        return found

    # ---- other forms

    def to_chrome(self) -> dict[str, Any]:
        """The trace in the Chrome trace format, which Perfetto (ui.perfetto.dev) opens.

        The channels are one group of tracks. Every transfer is another group, with a track for each hop.
        """
        events = [_meta("process_name", 1, 0, "channels")]
        for each in self.transfers:
            events += [
                _meta("process_name", 2 + each.number, 0, each.label),
                _meta("thread_name", 2 + each.number, 0, "transfer"),
            ]
            for hop, channel in enumerate(each.work.channels):
                events.append(_meta("thread_name", 2 + each.number, hop + 1, f"hop {hop} {channel}"))
        lanes: dict[str, list[float]] = {name: [] for name in self.channels}  # for each track of a channel, when it is free
        first = {name: number * MOST_LANES for number, name in enumerate(self.channels)}
        for span in sorted(self.spans(), key=lambda span: span.start):
            if span.kind == "chunk" or (span.kind == "wait" and span.hop >= 0):
                continue  # they overlap, which tracks cannot show
            pid, tid, name = 2 + span.transfer, span.hop + 1, span.kind if span.hop < 0 else f"hop {span.hop} {span.channel}"
            if span.kind == "request":
                free = lanes[span.channel]
                lane = next((i for i, when in enumerate(free) if when <= span.start), len(free))
                free[lane : lane + 1] = [span.end]
                pid, tid, name = 1, first[span.channel] + lane, f"{self.of[span.transfer].label} chunk {span.chunk}"
            args = {"hop": span.hop, "chunk": span.chunk, "request": span.request, "bytes": span.nbytes}
            times = {"ts": (span.start - self.begin) * 1e6, "dur": (span.end - span.start) * 1e6}
            events.append({"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": span.kind, **times, "args": args})
        said = {"emulated": ", ".join(self.emulated)} if self.emulated else {}
        for name, free in lanes.items():
            events += [_meta("thread_name", 1, first[name] + lane, name) for lane in range(len(free))]
        return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"where": self.where, **said}}

    def columns(self) -> dict[str, Any]:
        """All spans as NumPy arrays, one for each field of `Span`, as `pandas.DataFrame` and `polars.DataFrame` accept them."""
        import numpy as np

        rows = list(self.spans())
        kinds: dict[str, Any] = {"kind": str, "channel": str, "start": float, "end": float, "nbytes": float}
        return {name: np.array([row[at] for row in rows], kinds.get(name, np.int64)) for at, name in enumerate(Span._fields)}

    def to_frame(self) -> Any:
        """All spans as a pandas data frame, one column for each field of `Span`. `columns` needs no pandas.

        Raises:
            MissingPartError: pandas is not installed; no extra brings it.
        """
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            raise MissingPartError("pandas") from None
        return DataFrame(self.columns())

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal trace."""
        return {
            "format": FORMAT,
            "where": self.where,
            "transfers": [_transfer_json(each) for each in self.transfers],
            "requests": [list(span) for span in self.requests],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str) -> Trace:
        """The trace that `to_json` described, from its object or the text of it.

        Raises:
            InputError: `data` is not such an object.
        """
        try:
            if isinstance(data, str):
                data = parse(data, "a trace", InputError)
            if not isinstance(data, dict) or data.get("format") != FORMAT:
                raise InputError(f"expected an object of format {FORMAT!r}, got {show(data)}")
            json.dumps(data, allow_nan=False)  # raises where something is no JSON
            transfers = tuple(map(_transfer_span, read(data["transfers"], list[dict[str, object]], place="transfers")))
            requests = tuple(RequestSpan(*span) for span in read(data["requests"], list[list[float]], place="requests"))
            hash(transfers)  # raises where a list stands in the place of a number or a name of the work
            return cls(transfers, requests, read(data["where"], str, place="where"))
        except KeyError as error:
            raise InputError(f"trace: the key {error} is missing") from None
        except (TypeError, ValueError, InputError) as error:
            raise InputError(f"trace: {error}") from None

    def headline(self) -> str:
        """The key figures in one line."""
        done = sum(transfer.outcome == "done" for transfer in self.transfers)
        moved = f"{format_bytes(round(self.nbytes))} in {format_seconds(self.seconds)}, {format_rate(self.throughput)}"
        return f"{self.where}: {done} of {len(self.transfers)} transfers, {moved}; {self.overlap:.2f} channels at a time"


FORMAT = "isoviz-trace-1"
MOST_LANES = 1000
"""The largest number of tracks for the concurrent requests of one channel."""


def _transfer_json(transfer: TransferSpan) -> dict[str, Any]:
    found = {**transfer._asdict(), "work": transfer.work.to_json()}
    for optional in ("shares", "emulated"):
        if not found[optional]:
            del found[optional]
    return found


_TRANSFER: dict[str, Any] = {
    **dict.fromkeys(("label", "outcome", "reason"), str),
    **dict.fromkeys(("nbytes", "chunk_bytes", "submitted", "ended"), float),
    "number": int,
    "work": dict[str, object],
    "admitted": float | None,
    "shares": tuple[tuple[float, ...], ...],
    "emulated": tuple[str, ...],
}
"""How the fields of a `TransferSpan` stand in JSON."""


def _transfer_span(data: dict[str, Any]) -> TransferSpan:
    fields = {name: read(value, _TRANSFER.get(name, object), place=name) for name, value in data.items()}
    return TransferSpan(**{**fields, "work": Work.from_json(fields["work"])})


def _meta(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}


def _union(spans: Iterable[tuple[float, float]]) -> float:
    """The total length of the union of the spans, in seconds."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
