"""The fastest path over two parameters, as plain values and in words: a map of run length and number of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from isoviz.document import Document, Listing, Picture, Points, Section, Table, Told, aligned
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.explanation_words import counted, path_text
from isoviz.units import format_bytes, format_seconds


@dataclass(frozen=True)
class Way:
    """A path that wins somewhere: its memories, its channels, their kinds, and the number of its converting hop, if any."""

    memories: tuple[str, ...]
    channels: tuple[str, ...]
    kinds: tuple[str, ...]
    converting: int | None = None

    @property
    def words(self) -> str:
        """The kinds of its channels, in words."""
        return " · ".join(map(ChannelKind.words_for, self.kinds))


@dataclass(frozen=True)
class MapPoint:
    """The best plan for `runs` runs of `run` bytes: T in seconds, and the number of its path among the ways."""

    run: int
    runs: int
    seconds: float
    way: int


@dataclass(frozen=True)
class MapTurn:
    """Along one axis, another path wins from `value` on.

    `axis` is "runs": runs of `fixed` bytes, and `value` counts them; or "run": `fixed` runs, and `value` is the bytes of each.
    """

    axis: Literal["run", "runs"]
    fixed: int
    value: int
    before: int
    after: int

    @property
    def text(self) -> str:
        """The value in words."""
        return f"{self.value:,}" if self.axis == "runs" else format_bytes(self.value)


@dataclass(frozen=True, repr=False)
class WinnerMap(Told):
    """The fastest path for vectors, by the length of their runs and by their number, between the ends of a transfer.

    A vector is `runs` runs of `run` bytes. `gaps` says at which ends a gap as long as a run follows each: "both ends",
    "the source" or "the destination". It moves between `memories` `reuse` times, and T is the mean of these starts.

    `columns` are the run lengths and `rows` the numbers of runs. A point is missing if such a vector has no plan, if planning was
    `stopped` before it, or if the map is not `whole` yet. `now` is the vector that resembles the transfer: with the same mean
    length of runs and the same number of bytes. `own` is the path of the transfer itself and `own_seconds` its T. `turns` are
    where the winner changes in the row and in the column of `now`.
    """

    memories: tuple[str, str]
    gaps: str
    reuse: int
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    ways: tuple[Way, ...]
    points: tuple[MapPoint, ...]
    now: MapPoint | None
    own: int
    own_seconds: float
    turns: tuple[MapTurn, ...] = ()
    stopped: bool = False
    whole: bool = True
    emulated: tuple[str, ...] = ()

    @cached_property
    def at(self) -> dict[tuple[int, int], MapPoint]:
        """The points by (bytes of a run, number of runs)."""
        return {(point.run, point.runs): point for point in self.points}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The paths in words. If two would have the same words, what distinguishes them follows: their memories, or some
        channels."""
        words = [way.words for way in self.ways]
        for number, way in enumerate(self.ways):
            apart = self._apart(way)
            if any(other.words == way.words and _stops(other) != _stops(way) for other in self.ways):
                apart.insert(0, path_text(*_stops(way)))
            words[number] += f" ({', '.join(apart)})" if apart else ""
        return tuple(words)

    def _apart(self, way: Way) -> list[str]:
        """The channels that tell a way from others with the same words and memories."""
        same = [other for other in self.ways if other.words == way.words and _stops(other) == _stops(way)]
        return [name for hop, name in enumerate(way.channels) if any(other.channels[hop] != name for other in same)]

    def label(self, way: int) -> str:
        """A path in words: its letter and the kinds of its channels."""
        return f"{letter(way)} ({self.ways[way].words})"

    @cached_property
    def regions(self) -> tuple[MapPoint, ...]:
        """A point in the middle of each region of neighbouring points with one winner: where its letter stands."""
        places = {(self.columns.index(point.run), self.rows.index(point.runs)): point for point in self.points}
        middles = []
        while places:
            begin = next(iter(places))
            region, new = {begin: places.pop(begin)}, [begin]
            while new:
                i, j = new.pop()
                for near in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                    if near in places and places[near].way == region[begin].way:
                        region[near] = places.pop(near)
                        new.append(near)
            x, y = (sum(place[axis] for place in region) / len(region) for axis in (0, 1))
            middles.append(region[min(region, key=lambda place: (place[0] - x) ** 2 + (place[1] - y) ** 2)])
        return tuple(middles)

    @property
    def title(self) -> str:
        """What is drawn, in a line."""
        again = f", each {self.reuse:,} times" if self.reuse > 1 else ""
        return f"Fastest path for runs of bytes, {' → '.join(self.memories)}{again}"

    @property
    def meaning(self) -> str:
        """What a point stands for, in sentences."""
        both = "both ends" if self.gaps == "both ends" else f"{self.gaps} alone"
        often = f" T is the mean of {self.reuse:,} starts." if self.reuse > 1 else ""
        return f"A point is a vector of bytes: runs of one length, at {both} with a gap as long behind each of them.{often}"

    def document(self) -> Document:
        """The map, what it says, the paths, and the winner for every vector; in HTML with its T."""
        ways = [
            (letter(number), way.words, path_text(*_stops(way)), ", ".join(self._apart(way)))
            for number, way in enumerate(self.ways)
        ]

        def cell(run: int, runs: int, *, timed: bool) -> str:
            point = self.at.get((run, runs))
            return "–" if point is None else letter(point.way) + (f" {format_seconds(point.seconds)}" if timed else "")

        def rows(*, timed: bool) -> list[tuple[str, ...]]:
            return [(format_bytes(run), *(cell(run, runs, timed=timed) for runs in self.rows)) for run in self.columns]

        short = Listing("\n".join(aligned([("run \\ runs", *map(_short, self.rows)), *rows(timed=False)], ())))
        whole = ("bytes of a run", *(counted(runs, "run") for runs in self.rows))
        timed = Table(whole, rows(timed=True), "The fastest path and T for every vector tried", numbers=(0,), is_folded=True)
        return Document(
            self.title,
            [
                Points([self.meaning]),
                Table(("path", "channels", "memories (⇒ changes the order)", "apart by"), ways),
                Picture("winner_map_figure", (self,)),
                short,
                Points(map_text(self)),
                Section("Every point", [timed]),
            ],
            self.title,
        )


def _stops(way: Way) -> tuple[tuple[str, ...], int | None]:
    return way.memories, way.converting


def letter(number: int) -> str:
    """The mark of a way by its number: A, B, … Z, then Z1, Z2, …"""
    return chr(ord("A") + number) if number < 26 else f"Z{number - 25}"


def map_text(found: WinnerMap) -> list[str]:
    """What a map says: the transfer in it, the boundaries in its row and its column, and what is missing."""
    said = [] if found.now is None else [_now_text(found, found.now)]
    lines = ([turn for turn in found.turns if turn.axis == axis] for axis in ("runs", "run"))
    said += [_turns_text(found, turns) for turns in lines if turns]
    missing = len(found.columns) * len(found.rows) - len(found.points)
    if found.stopped:
        said.append("The planning time did not suffice for the other points.")
    elif missing and found.whole:
        has = "has" if missing == 1 else "have"
        said.append(f"{counted(missing, 'point').capitalize()} {has} no plan: the vector or its buffers do not fit.")
    if found.emulated:
        said.append(emulated_text(found.emulated))
    return said


def _now_text(found: WinnerMap, now: MapPoint) -> str:
    said = f"Moved run by run, the transfer is like {size_text(now.run, now.runs)}: {found.label(now.way)} wins"
    said += f", T = {format_seconds(now.seconds)}."
    if found.own == now.way:
        return said
    return f"{said} The transfer itself takes {found.label(found.own)}, T = {format_seconds(found.own_seconds)}."


def _turns_text(found: WinnerMap, turns: Sequence[MapTurn]) -> str:
    """`Runs of 1 KiB: A (GPUDirect) wins for few of them, B (UMR) from 13, C (GPU copy) from 4,097.`"""
    first = turns[0]
    counts = first.axis == "runs"
    head = f"Runs of {format_bytes(first.fixed)}" if counts else counted(first.fixed, "run").capitalize()
    rest = [f"{found.label(turn.after)} from {turn.text}" for turn in turns]
    return f"{head}: {found.label(first.before)} wins for {'few of them' if counts else 'short ones'}, {', '.join(rest)}."


def size_text(run: int, runs: int) -> str:
    """A vector in words: `64 runs of 1 KiB`."""
    return f"{counted(runs, 'run')} of {format_bytes(run)}"


def _short(count: int) -> str:
    return f"{count >> 20}M" if count >= 1 << 20 else f"{count >> 10}K" if count >= 1 << 10 else str(count)
