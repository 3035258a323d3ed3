"""What the requests of a hop are: the messages in order, and what its descriptors name at both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.explained_plan import FoundRequests, HopRequests
from isoviz.widgets.contract import Side
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.planner.explanation.handshake import Handshake
    from isoviz.planner.explanation.hop_descriptors import HopDescriptors, Pieces

MOST_SHOWN = 64
"""Requests or keys of a hop that are listed."""
MOST_PIECES = 2048
"""Pieces of an end that are listed."""


class ShownPieces(TypedDict):
    """Stretches of memory in the order of the data: the first byte and the length of each, and the number of whose it is."""

    starts: list[int]
    lengths: list[int]
    owners: list[int]


class ShownDescriptors(TypedDict):
    """The requests of a hop for its first chunk, of `chunks`; `name` is what one is called, such as "key".

    Each has at most `limit` runs. `window` is its bytes where both ends count its runs, else null. Of the `count` requests the
    first `shown` are listed, with their pieces at both ends.
    """

    name: str
    limit: int
    window: int | None
    count: int
    chunks: int
    shown: int
    source: ShownPieces
    destination: ShownPieces


class ShownMessage(TypedDict):
    """A message between the ends of a hop, or what one end does by itself, where `sender` is `receiver`: both are "source" or
    "destination".

    `start` and `end` are seconds from the beginning of the hop. `count` is the number of messages that it stands for.
    """

    name: str
    sender: Side
    receiver: Side
    start: float
    end: float
    bytes: int
    words: str
    count: int


class ShownHandshake(TypedDict):
    """The messages of a hop at one start of its transfer: the first, or (`again`) a later one, which finds what was kept."""

    again: bool
    seconds: float
    source: str
    destination: str
    messages: list[ShownMessage]


class ShownHopRequests(TypedDict):
    """The requests of hop `hop`: what its descriptors name (null: they have no limit), and its messages at the first start, and
    at a later one where that is another."""

    hop: int
    descriptors: ShownDescriptors | None
    handshakes: list[ShownHandshake]


class RequestsPart(TypedDict):
    """The requests of hops with descriptors or a protocol. `isOfPlan` says whether they are those of the plan on the screen."""

    hops: list[ShownHopRequests]
    isOfPlan: bool


_hops: Remembered[list[ShownHopRequests]] = Remembered(2)


@pane("requests", "the messages of hops, and what their descriptors name", {"requests": EVERYTHING | {"requests"}})
def requests_part(state: State) -> RequestsPart | None:
    """The requests of the plan; None before they are known."""
    found: FoundRequests | None = state.derived.later.get("requests")
    if found is None:
        return None
    hops = _hops.of(lambda: [_hop(hop, each) for hop, each in enumerate(found.hops) if any(each)], found)
    return {"hops": hops, "isOfPlan": found.plan is state.derived.plan}


def _hop(hop: int, each: HopRequests) -> ShownHopRequests:
    descriptors = each.descriptors
    return {
        "hop": hop,
        "descriptors": None if descriptors is None else _descriptors(descriptors),
        "handshakes": [_handshake(found) for found in each.handshakes],
    }


def _handshake(found: Handshake) -> ShownHandshake:
    def side(memory: str) -> Side:
        return "source" if memory == found.source else "destination"

    return {
        "again": found.start > 1,
        "seconds": found.seconds,
        "source": found.source,
        "destination": found.destination,
        "messages": [
            {
                "name": each.name,
                "sender": side(each.sender),
                "receiver": side(each.receiver),
                "start": each.start,
                "end": each.end,
                "bytes": each.nbytes,
                "words": each.words,
                "count": each.count,
            }
            for each in found.messages
        ],
    }


def _descriptors(each: HopDescriptors) -> ShownDescriptors:
    shown = min(each.count, MOST_SHOWN)
    while shown > 1 and max(len(each.source.of(shown)), len(each.destination.of(shown))) > MOST_PIECES:
        shown //= 2
    return {
        "name": each.name,
        "limit": each.limit,
        "window": each.window,
        "count": each.count,
        "chunks": each.chunks,
        "shown": shown,
        "source": shown_pieces(each.source.of(shown)),
        "destination": shown_pieces(each.destination.of(shown)),
    }


def shown_pieces(pieces: Pieces) -> ShownPieces:
    """Pieces as the browser gets them, the first ones where there are very many."""
    few = slice(MOST_PIECES)
    return {
        "starts": pieces.starts[few].tolist(),
        "lengths": pieces.nbytes[few].tolist(),
        "owners": pieces.owner[few].tolist(),
    }
