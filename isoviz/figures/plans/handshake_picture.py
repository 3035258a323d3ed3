"""The messages of a hop as a sequence picture."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing
from isoviz.figures.charts.theme import MARGIN
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner.explanation.handshake import Handshake, Message

_APART, _LEAST, _MOST = 18.0, 180.0, 560.0
"""Pixels from one name to the next, and of the whole time at least and at most."""
_TOP = 40.0
_DENSE = 7.0
"""Messages with fewer pixels each are drawn as one band."""


def handshake_svg(shown: Handshake, *, width: float = 620, theme: ThemeName = "auto") -> str:
    """Both ends of a hop as lines, time downwards: an arrow for each message, from when it is sent to when it has arrived.

    A bar on a line is what this end does by itself. Where arrows are dense, not all have names; the tooltips have them.
    """
    said = (
        f"{len(shown.messages)} messages between {shown.source} and {shown.destination}, {format_seconds(shown.seconds)} in all."
    )
    drawing = Drawing(f"Messages of {shown.channel}", said, theme)
    height = min(_MOST, max(_LEAST, _APART * len(shown.messages)))
    lines = {shown.source: MARGIN + 130, shown.destination: width - MARGIN - 130}

    def at(seconds: float) -> float:
        return _TOP + (height * seconds / shown.seconds if shown.seconds else 0.0)

    for name, x in lines.items():
        drawing.text(x, MARGIN + 8, name, size=13, anchor="middle", bold=True)
        drawing.line(x, _TOP - 10, x, _TOP + height + 6, stroke="line", width=1.5)
    drawn = [_Drawn(group, at) for group in _groups(shown.messages, at)]
    named = _named(drawn)
    for number, each in enumerate(drawn):
        each.draw(drawing, lines, named=number in named)
    drawing.text(width / 2, _TOP + height + 24, f"{format_seconds(shown.seconds)} in all", anchor="middle", fill="muted")
    return drawing.render(width, _TOP + height + 34)


def _groups(messages: Sequence[Message], at: Callable[[float], float]) -> list[list[Message]]:
    """The messages, with those together whose arrows would lie on each other: they are one band."""
    found: list[list[Message]] = []
    for _, same in itertools.groupby(messages, key=lambda each: (each.name, each.sender, each.receiver)):
        group = list(same)
        dense = at(group[-1].end) - at(group[0].start) < _DENSE * len(group)
        found += [group] if dense else [[each] for each in group]
    return found


class _Drawn:
    """A message, or a band of messages of one name, from `start` to `end` in pixels."""

    def __init__(self, group: Sequence[Message], at: Callable[[float], float]) -> None:
        self.first, self.last = group[0], group[-1]
        self.count = sum(each.count for each in group)
        self.nbytes = sum(each.nbytes for each in group)
        self.sent = at(self.first.start), at(self.last.start)
        self.arrived = at(self.first.end), at(self.last.end)
        self.is_band = len(group) > 1
        self.is_work = self.first.sender == self.first.receiver
        self.middle = (self.sent[0] + self.arrived[1]) / 2
        self.name = f"{self.count:,} × {self.first.name}" if self.count > 1 else self.first.name

    def draw(self, drawing: Drawing, lines: Mapping[str, float], *, named: bool) -> None:
        sender, receiver = lines[self.first.sender], lines[self.first.receiver]
        seconds = format_seconds(self.last.end - self.first.start)
        words = self.first.words if not self.is_band else f"{self.name}, {format_bytes(self.nbytes)}"
        tip = f"{self.name}, {format_seconds(self.first.start)} to {format_seconds(self.last.end)}: {words}"
        (sent, last_sent), (arrived, last_arrived) = self.sent, self.arrived
        if self.is_work:
            drawing.rect(sender - 5, sent, 10, max(2.0, last_arrived - sent), fill="turn", radius=2, tip=tip)
            if named:
                side, anchor = (-12, "end") if sender == min(lines.values()) else (12, "start")
                took = f" {seconds}" if self.last.end > self.first.start else ""
                drawing.text(sender + side, self.middle + 4, f"{self.name}{took}", anchor=anchor)
            return
        is_data = self.first.words.startswith(self.first.name)
        tone = "path" if is_data else "muted"
        if self.is_band:
            corners = (sender, sent), (receiver, arrived), (receiver, last_arrived), (sender, last_sent)
            outline = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
            drawing.path(f"M{outline}z", fill="path-soft", stroke=tone, width=1.5, tip=tip)
        else:
            style = {"stroke": tone, "width": 1.5, "stroke_dasharray": None if is_data else "5 4"}
            drawing.line(sender, sent, receiver, arrived, marker_end=drawing.arrow(tone), tip=tip, **style)  # type: ignore[arg-type]
        if named:
            text = f"{self.name} {seconds}" + (f", {format_bytes(self.nbytes)}" if self.nbytes else "")
            drawing.text(
                (sender + receiver) / 2, self.middle + 4, text, anchor="middle", halo="path-soft" if self.is_band else "paper"
            )


def _named(drawn: Sequence[_Drawn]) -> set[int]:
    """Those whose names do not touch another one; those that are rare come first. Those of bars stand beside both lines."""
    often = Counter(each.first.name for each in drawn)
    found: set[int] = set()
    for number in sorted(range(len(drawn)), key=lambda k: (often[drawn[k].first.name] > 2, k)):
        here = drawn[number]
        if all(here.is_work != drawn[k].is_work or abs(here.middle - drawn[k].middle) >= _APART - 3 for k in found):
            found.add(number)
    return found
