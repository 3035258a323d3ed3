"""The messages of a hop in order: what its ends tell each other before, between and after the data.

The kind of a channel says which these are (`ChannelKind.protocol`). Their times are those of the plan: together they take what
the hop pays for being set up, for what is made ready, and for its chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz import checks
from isoviz.checks import expect
from isoviz.document import Cell, Document, Facts, Picture, Table, Told
from isoviz.errors import InputError
from isoviz.machines import ChannelKind, CopyShape
from isoviz.machines.kinds import channel_kinds
from isoviz.planner.one_path.hop_facts import NEARLY, hop_keys, stored_bytes
from isoviz.planner.plan import Plan
from isoviz.planner.planners import machine_of
from isoviz.planner.time.one_time import SizedCosts, one_time_seconds
from isoviz.schema import BY_NAME, plain
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.layouts.windows import Keyed
    from isoviz.machines import Channel, MachineLike
    from isoviz.machines.cards import Protocol, Signal
    from isoviz.planner.path_plan import Hop, PathPlan

MOST_DATA = 64
"""The most messages with data that are told one by one. Of more, those in the middle are told as one."""


@dataclass(frozen=True)
class Message:
    """A message from one memory to another, or what one end does by itself, if `sender` is `receiver`.

    `start` and `end` are in seconds from the beginning of the hop. `nbytes` are those of the message, apart from its own header.
    `count` is the number of messages that it stands for.
    """

    name: str
    sender: str
    receiver: str
    start: float
    end: float
    nbytes: int
    words: str
    count: int = 1


@dataclass(frozen=True, repr=False)
class Handshake(Told):
    """The messages of a hop at one start of its transfer.

    `window` is the bytes of a request where both ends count the runs of one (`isoviz.layouts.windows`), `keys` the number of such
    requests, and `source_runs` and `destination_runs` are the runs of each end; all are 0 for other channels.
    """

    channel: str
    kind: str
    source: str
    destination: str
    start: int
    window: int
    keys: int
    source_runs: int
    destination_runs: int
    messages: tuple[Message, ...]

    @property
    def seconds(self) -> float:
        """Seconds until the last message has arrived."""
        return self.messages[-1].end

    def document(self) -> Document:
        """The messages: the picture, and a table with times, bytes and what each says."""
        rows = [
            (
                f"{each.count:,} × {each.name}" if each.count > 1 else each.name,
                each.sender,
                "itself" if each.sender == each.receiver else each.receiver,
                format_seconds(each.start),
                format_seconds(each.end),
                format_bytes(each.nbytes),
                each.words,
            )
            for each in self.messages
        ]
        known: list[tuple[str, Cell]] = [("channel", ChannelKind.words_for(self.kind)), ("time", format_seconds(self.seconds))]
        if self.keys:
            protocol = ChannelKind(self.kind).protocol
            known.append(
                ("keys" if protocol is None else f"{protocol.request}s", f"{self.keys:,} of {format_bytes(self.window)}")
            )
            known.append(("runs", f"{self.source_runs:,} → {self.destination_runs:,}"))
        header = ("message", "from", "to", "begins", "ends", "bytes", "what it says")
        start = "the first start" if self.start == 1 else f"start {self.start:,}"
        return Document(
            f"Messages of {self.channel} at {start}",
            [Facts(known), Picture("handshake_svg", (self,)), Table(header, rows, numbers=(3, 4, 5))],
            f"messages of {self.channel}, start {self.start:,}: {format_seconds(self.seconds)} in all",
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {**plain(self, BY_NAME), "seconds": self.seconds}


def handshake(plan: Plan, hop: int = 0, *, path: int = 0, start: int = 1, machine: MachineLike | None = None) -> Handshake:
    """The messages of a hop of a plan, at the first start of the transfer or at a later one.

    At a later start nothing is made ready again that is kept (`OneTimeCost.kept`), and no key is told again. The messages follow
    each other as if no other hop kept the chunks back. For a plan of one hop they take `plan.first` or `plan.again`, if hops of
    other transfers leave its resources alone. `machine` may be left out where this process knows it (`machine_of`).

    Raises:
        InputError: there is no such path or hop, or its kind of channel has no known protocol.
    """
    expect("handshake", plan, Plan, "a plan")
    chosen = plan.paths[checks.count("handshake", "path", path, high=len(plan.paths) - 1)]
    step = chosen.hops[checks.count("handshake", "hop", hop, high=len(chosen.hops) - 1)]
    start = checks.count("handshake", "start", start, low=1)
    channel = machine_of(plan, machine).channel(step.channel)
    protocol = channel.kind.protocol
    if protocol is None:
        known = ", ".join(str(kind) for kind in channel_kinds() if kind.protocol is not None)
        raise InputError(f"handshake: the messages of {channel.kind} ({channel.name}) are not known; those of {known} are")
    ends = _Ends(chosen, step, channel, start)
    messages = tuple(_messages(ends, protocol))
    known_keys = ends.keys
    return Handshake(
        channel.name,
        str(channel.kind),
        channel.source,
        channel.destination,
        start,
        0 if known_keys is None else int(min(known_keys.window, chosen.bytes)),
        0 if known_keys is None else sum(ends.requests(nbytes) for nbytes, _ in ends.chunks),
        0 if known_keys is None else known_keys.source_runs,
        0 if known_keys is None else known_keys.destination_runs,
        messages,
    )


class _Chunk(NamedTuple):
    nbytes: float
    seconds: float


class _Ends:
    """A hop with its chunks, and what is made ready for it at one start."""

    def __init__(self, path: PathPlan, hop: Hop, channel: Channel, start: int) -> None:
        self.channel, self.run, self.start = channel, hop.request_bytes, start
        self.keys: Keyed | None = hop_keys(path.transfer, channel, path.orders, hop.index)
        full, last = path.chunk_seconds()[hop.index]
        count = path.chunk_count
        self.chunks = [_Chunk(path.chunk_payload, full)] * (count - 1) + [_Chunk(path.last_payload, last)]
        self.signals = channel.setup + (channel.conversion_setup if hop.converts else 0.0)
        slots = path.slots * path.chunk_payload
        stored = stored_bytes(path.transfer)
        place = (stored[0] if hop.index == 0 else slots, stored[1] if hop.index == len(path.hops) - 1 else slots)
        orders = path.orders[hop.index : hop.index + 2]
        sized = SizedCosts((channel,), (0,) if hop.converts else (), path.slots, (int(place[0]), int(place[1])))

        def paid(*, kept: bool) -> float:
            fixed = one_time_seconds((channel,), (hop.converts,), orders, kept=kept)
            return fixed + sized.seconds(path.bytes, path.chunk_payload, (self.run,), (math.inf,), (self.keys,), kept=kept)

        kept = paid(kept=True)
        self.is_told = start == 1 or not kept
        ready = paid(kept=False) - self.signals - (0.0 if start == 1 else kept)
        self.ready = ready if ready > NEARLY * kept else 0.0
        """Seconds for what is made ready, at both ends together."""

    def requests(self, nbytes: float) -> int:
        """The number of requests of a chunk."""
        window = 0.0 if self.keys is None else self.keys.window
        return self.channel.requests(CopyShape(nbytes, min(self.run, nbytes), window))

    def data(self) -> list[tuple[float, float]]:
        """The bytes and the seconds of every message with data."""
        found: list[tuple[float, float]] = []
        for nbytes, seconds in self.chunks:
            count = self.requests(nbytes)
            each = min(self.keys.window, nbytes) if self.keys is not None else nbytes / count
            posted = min(self.channel.request_seconds, seconds / count)
            moving = seconds - count * posted
            sizes = [each] * (count - 1) + [nbytes - (count - 1) * each]
            found += [(size, posted + moving * size / nbytes) for size in sizes]
        return found


def _messages(ends: _Ends, protocol: Protocol) -> Iterator[Message]:
    channel, now = ends.channel, 0.0
    places = {"source": channel.source, "destination": channel.destination}
    signals = (*protocol.before, *protocol.after)
    keys = sum(ends.requests(nbytes) for nbytes, _ in ends.chunks)

    def signal(each: Signal) -> Message:
        other = "destination" if each.sender == "source" else "source"
        nbytes = each.key_bytes * keys if ends.is_told else 0
        words = f"{each.words} ({keys:,})" if nbytes else each.words
        return Message(each.name, places[each.sender], places[other], now, now + ends.signals / len(signals), nbytes, words)

    def readied(end: str, seconds: float, posted: str = "") -> Message:
        runs = 0 if ends.keys is None else ends.keys.destination_runs if end == "destination" else ends.keys.source_runs
        words = ", ".join(filter(None, (posted, protocol.mapped if seconds else "")))
        words += f": {_counted(runs, 'run')}, {_counted(keys, protocol.request)}" if runs else ""
        return Message("posted" if posted else "ready", places[end], places[end], now, now + seconds, 0, words)

    answers = {"destination": ends.ready / 2, "source": ends.ready / 2} if ends.ready > 0 else {}
    for each in protocol.before:
        seconds = answers.pop(each.sender, 0.0) if each.posted or each is not protocol.before[0] else 0.0
        if seconds > 0 or each.posted:
            yield (made := readied(each.sender, seconds, each.posted))
            now = made.end
        yield (made := signal(each))
        now = made.end
    for end, seconds in answers.items():
        yield (made := readied(end, seconds))
        now = made.end
    for nbytes, seconds, count, words in _told(ends.data(), protocol.data):
        yield Message(protocol.data, channel.source, channel.destination, now, now + seconds, round(nbytes), words, count)
        now += seconds
    for each in protocol.after:
        yield (made := signal(each))
        now = made.end


def _told(data: Sequence[tuple[float, float]], name: str) -> Iterator[tuple[float, float, int, str]]:
    """The messages with data that are told: bytes, seconds, how many they are, and words."""
    kept = len(data) if len(data) <= MOST_DATA else MOST_DATA - 2
    for number, (nbytes, seconds) in enumerate(data[:kept]):
        yield nbytes, seconds, 1, f"{name} {number + 1} of {len(data):,}: {format_bytes(round(nbytes))}"
    if kept < len(data):
        middle = data[kept:-1]
        words = f"{name}s {kept + 1:,} to {len(data) - 1:,} of {len(data):,}"
        yield sum(nbytes for nbytes, _ in middle), sum(seconds for _, seconds in middle), len(middle), words
        yield (*data[-1], 1, f"{name} {len(data):,} of {len(data):,}: {format_bytes(round(data[-1][0]))}")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'s'[: count != 1]}"
