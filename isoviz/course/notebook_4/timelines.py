"""Pictures of pipelines: a timeline with the answer on its axis, times over the size of a chunk, and who waits for whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.course.exercise import Given
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.planner.time.makespan import makespan
from isoviz.runtime import Simulator, Trace
from isoviz.scheduling.work import Ring, Work
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.figures.charts.svg import Drawing
    from isoviz.figures.charts.time_axis import TimeAxis


# Pipelines as the exercises draw them: a chain of hops that moves chunks through buffers.

MS = 1e-3


class Pipeline(NamedTuple):
    """The seconds that each hop takes for a chunk, the number of chunks, the seconds of the set-up, and the slots of a buffer."""

    hops: tuple[float, ...]
    chunks: int
    setup: float
    slots: int = 2

    @property
    def seconds(self) -> float:
        """From the start to the last byte."""
        return self.setup + makespan(self.hops, self.chunks, self.hops, slots=self.slots)

    @property
    def slowest(self) -> int:
        """The hop that takes the longest for a chunk."""
        return self.hops.index(max(self.hops))

    @property
    def longest_pair(self) -> int:
        """The first of the two neighbouring hops that take the longest together."""
        pairs = [one + other for one, other in pairwise(self.hops)]
        return pairs.index(max(pairs))

    def trace(self) -> Trace:
        """What isoviz's scheduler makes of it, in virtual time."""
        names = tuple(f"hop {number}" for number in range(len(self.hops)))
        memories = tuple(Memory(f"m{number}", MemoryKind.SYS) for number in range(len(self.hops) + 1))
        channels = tuple(
            Channel(name, ChannelKind.MEMCPY, one.name, other.name, Constant(1.0))
            for name, (one, other) in zip(names, pairwise(memories), strict=True)
        )
        rings = tuple(Ring(each.name, 1, self.slots) for each in memories[1:-1])
        simulator = Simulator(Machine("pipeline", memories, channels))
        times = [(each, each) for each in self.hops]
        simulator.submit_work(Work.one_path(names, self.chunks, rings), times, self.chunks, 1.0, setup=self.setup)
        return simulator.run()


def pipeline_of(given: Given, slots: int = 2) -> Pipeline:
    """The pipeline of an exercise: `hops` and `setup` in milliseconds, and `chunks`."""
    return Pipeline(tuple(each * MS for each in given["hops"]), given["chunks"], given["setup"] * MS, slots)


def at_work(pipeline: Pipeline, seconds: float) -> str:
    """What goes on in a pipeline at a time before its end, in words."""
    if seconds < pipeline.setup:
        return "the set-up is still under way"
    working = [each for each in pipeline.trace().requests if each.start <= seconds < each.end]
    working.sort(key=lambda each: each.hop)
    said = [f"hop {each.hop} moves chunk {each.chunk}" for each in working]
    return f"{' and '.join(said) or 'no hop works'}; the last chunk, chunk {pipeline.chunks - 1}, is not there yet"


_WIDTH, _LEFT, _RIGHT = 860.0, 110.0, 30.0
_ROW, _BUFFER, _GAP = 22.0, 14.0, 6.0
_HIGHEST, _SHARES = 0.25, (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
"""A curve is drawn up to this share above its least time. What lies above stands at the upper end."""
_LATEST = 2.5
"""The axis ends at this multiple of the true time, at most. An answer behind it stands at the end of the axis."""


class ShownMarkup(str):
    """HTML that shows itself in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


class Mark(NamedTuple):
    """A time to be marked on the axis: its seconds, what is written at it, and the token of its colour."""

    seconds: float
    text: str
    token: str


def answer_marks(answer: float, right: float, is_right: bool) -> list[Mark]:
    """The learner's time and the true one."""
    if is_right:
        return [Mark(right, f"the end: {format_seconds(right)}", "good")]
    return [
        Mark(answer, f"your answer: {format_seconds(answer)}", "bad"),
        Mark(right, f"the end: {format_seconds(right)}", "good"),
    ]


def timeline_html(
    *panels: tuple[str, Trace, float], marks: Sequence[Mark] = (), buffers: bool = False, title: str = "Timeline"
) -> ShownMarkup:
    """Pipelines on one time axis, each with a name, its trace and the seconds of its set-up.

    A hop has a row with a bar for each chunk. With `buffers` each buffer has one, with a bar for as long as a slot holds a chunk.
    """
    from isoviz.figures.charts.html_parts import representation
    from isoviz.figures.charts.svg import Drawing
    from isoviz.figures.charts.theme import MARGIN
    from isoviz.figures.charts.time_axis import TimeAxis

    latest = max(trace.seconds for _, trace, _ in panels)
    end = min(max([latest, *(mark.seconds for mark in marks)]), _LATEST * latest)
    said = [f"{name or 'the pipeline'} ends after {format_seconds(trace.seconds)}" for name, trace, _ in panels]
    drawing = Drawing(title, ". ".join([*said, *(mark.text for mark in marks)]) + ".")
    axis = TimeAxis(end, _LEFT, _WIDTH - _LEFT - _RIGHT)
    y = MARGIN + 17.0 * len(marks)
    top = y
    bottom = top + sum(_height(trace, name, buffers) for name, trace, _ in panels)
    axis.grid(drawing, top, bottom)
    for name, trace, setup in panels:
        y = _panel(drawing, axis, y, name, trace, setup, buffers)
    for number, mark in enumerate(marks):
        _mark(drawing, axis, mark, MARGIN + 17.0 * number, bottom)
    y = axis.draw(drawing, bottom, "time since the start")
    if any(setup > 0 for _, _, setup in panels):
        drawing.rect(axis.left, y + 1, 22, 11, fill="faint", stroke="line")
        drawing.text(axis.left + 30, y + 11, "set-up", size=11.5, fill="muted")
    if buffers:
        drawing.rect(axis.left + 90, y + 4, 22, _BUFFER / 2 - 1, fill="predicted")
        drawing.text(axis.left + 120, y + 11, "a slot of the buffer holds a chunk", size=11.5, fill="muted")
    y += 18
    return ShownMarkup(representation("pipeline", drawing.render(_WIDTH, y + MARGIN - 8)))


def _height(trace: Trace, name: str, buffers: bool) -> float:
    hops = len(trace.channels)
    return (22.0 if name else 0.0) + hops * (_ROW + _GAP) + (hops - 1) * (_BUFFER + _GAP) * buffers + 6.0


def _panel(drawing: Drawing, axis: TimeAxis, y: float, name: str, trace: Trace, setup: float, buffers: bool) -> float:
    if name:
        drawing.text(12, y + 14, f"{name}: {format_seconds(trace.seconds)}", size=12.5, bold=True)
        y += 22
    begun = {(each.hop, each.chunk): each.start for each in trace.requests}
    ended = {(each.hop, each.chunk): each.end for each in trace.requests}
    hops = len(trace.channels)
    height = hops * (_ROW + _GAP) + (hops - 1) * (_BUFFER + _GAP) * buffers - _GAP
    if setup > 0:
        wide = axis.at(setup) - axis.left
        drawing.rect(axis.left, y, wide, height, fill="faint", stroke="line", tip=f"set-up: {format_seconds(setup)}")
        if wide > 44:
            drawing.text(axis.left + wide / 2, y + height / 2 + 4, "set-up", size=11.5, fill="muted", anchor="middle")
    for hop, channel in enumerate(trace.channels):
        drawing.text(_LEFT - 10, y + _ROW / 2 + 4, channel, size=12, anchor="end")
        for (at, chunk), start in begun.items():
            if at == hop:
                says = f"{channel}: chunk {chunk}, {format_seconds(ended[at, chunk] - start)}"
                _bar(drawing, axis, y, _ROW, (start, ended[at, chunk]), f"{chunk}", f"dim{chunk % 2}", says)
        y += _ROW + _GAP
        if not buffers or hop == hops - 1:
            continue
        drawing.text(_LEFT - 10, y + _BUFFER / 2 + 4, f"buffer {hop}→{hop + 1}", size=11, fill="muted", anchor="end")
        for (at, chunk), start in begun.items():
            if at == hop:
                over = ended[hop + 1, chunk]
                half = _BUFFER / 2
                says = f"buffer {hop}→{hop + 1}: a slot holds chunk {chunk}"
                _bar(drawing, axis, y + chunk % 2 * half, half - 1, (start, over), "", "predicted", says)
        y += _BUFFER + _GAP
    return y + 6.0


def _bar(
    drawing: Drawing, axis: TimeAxis, y: float, height: float, times: tuple[float, float], text: str, token: str, tip: str
) -> None:
    left, right = axis.at(times[0]), axis.at(times[1])
    if left > axis.right:
        return
    drawing.rect(left, y, max(min(right, axis.right) - left, 0.5), height, fill=token, stroke="paper", tip=tip)
    if text and right - left > 9 + 7 * len(text):
        drawing.text((left + right) / 2, y + height / 2 + 4, text, size=11, fill="on-path", anchor="middle")


def _mark(drawing: Drawing, axis: TimeAxis, mark: Mark, y: float, bottom: float) -> None:
    is_behind = mark.seconds > axis.seconds * (1 + 1e-9)
    x = axis.right if is_behind else axis.at(mark.seconds)
    drawing.line(x, y + 14, x, bottom, stroke=mark.token, width=2, stroke_dasharray="5 3")
    at_right = x > axis.left + axis.width / 2
    text = f"{mark.text} →" if is_behind else mark.text
    anchor = "end" if at_right else "start"
    drawing.text(x, y + 10, text, size=12, fill=mark.token, anchor=anchor, bold=True, halo="paper")


class Curve(NamedTuple):
    """Seconds over bytes of a chunk: its name, the curve, the least seconds, and a point: its bytes, its text and its colour."""

    name: str
    points: Sequence[tuple[float, float]]
    least: float
    mark: tuple[float, float, str, str]


def curves_html(curves: Sequence[Curve], within: float) -> ShownMarkup:
    """A picture for each curve. The part of it that is within a share of the least lies on green."""
    from isoviz.figures.charts.html_parts import representation

    return ShownMarkup(representation("chunk-curves", *[_curve_svg(each, within) for each in curves]))


def _curve_svg(curve: Curve, within: float) -> str:
    from isoviz.figures.charts.svg import Drawing
    from isoviz.figures.charts.theme import MARGIN

    width, left, top, room = 560.0, 110.0, 56.0, (420.0, 150.0)
    (size, seconds, text, token), floor = curve.mark, top + room[1]
    drawing = Drawing(curve.name, f"Least time {format_seconds(curve.least)}. {text}.")
    first, last = math.log(curve.points[0][0]), math.log(curve.points[-1][0])

    def across(size: float) -> float:
        return left + room[0] * (math.log(size) - first) / (last - first)

    def up(seconds: float) -> float:
        return floor - room[1] * min(seconds / curve.least - 1, _HIGHEST) / _HIGHEST

    drawing.text(MARGIN, 22, curve.name, size=13.5, bold=True)
    good = [across(size) for size, seconds in curve.points if seconds <= curve.least * (1 + within)]
    if good:
        drawing.rect(good[0], top, good[-1] - good[0], room[1], fill="good-soft")
    for share in _SHARES:
        y = up(curve.least * (1 + share))
        said = f"+{100 * share:.0f} %" if share else f"least: {format_seconds(curve.least)}"
        drawing.line(left, y, left + room[0], y, stroke="faint" if share else "line")
        drawing.text(left - 8, y + 4, said, size=11, fill="muted", anchor="end")
    for power in _round_sizes(curve.points[0][0], curve.points[-1][0]):
        drawing.line(across(power), floor, across(power), floor + 5, stroke="line")
        drawing.text(across(power), floor + 18, format_bytes(power), size=11, fill="muted", anchor="middle")
    drawn = [(across(size), up(seconds)) for size, seconds in curve.points if seconds < curve.least * (1 + _HIGHEST)]
    drawing.path("".join(f"{'L' if k else 'M'}{x:.1f} {y:.1f}" for k, (x, y) in enumerate(drawn)), stroke="dim0", width=2.2)
    x, y = across(size), up(seconds)
    drawing.element("circle", cx=x, cy=y, r=6, fill=token, stroke="paper", tip=text)
    anchor = "end" if x > left + room[0] / 2 else "start"
    drawing.text(x + (-10 if anchor == "end" else 10), y - 9, text, size=12, fill=token, anchor=anchor, bold=True, halo="paper")
    drawing.text(left + room[0] / 2, floor + 36, "bytes of a chunk", size=12, fill="muted", anchor="middle")
    return drawing.render(width, floor + 48)


def _round_sizes(low: float, high: float) -> list[float]:
    """About six powers of two between two sizes."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, math.ceil((last - first) / 6))
    return [2.0**power for power in range(first, last + 1, step)]


def waiting_html(holds: Mapping[str, Sequence[str]], waits: Mapping[str, str], title: str) -> ShownMarkup:
    """Who holds what, and who waits for what: transfers on the left, buffers on the right.

    `holds` has the buffers of every transfer, `waits` the one that a transfer waits for. A thick arrow leads from a buffer to the
    transfer that holds it, a dashed one from a transfer to the buffer that it waits for: on a ring of arrows all stand still.
    """
    from isoviz.figures.charts.html_parts import representation
    from isoviz.figures.charts.svg import Drawing

    buffers = sorted({each for held in holds.values() for each in held} | set(waits.values()))
    said = [f"{who} holds {', '.join(held) or 'nothing'}" for who, held in holds.items()]
    said += [f"{who} waits for {what}" for who, what in waits.items()]
    drawing = Drawing(title, "; ".join(said) + ".")
    width, left, right, step = 560.0, 150.0, 400.0, 58.0
    rows = max(len(holds), len(buffers))
    places = _placed(list(holds), left, step, rows) | _placed(buffers, right, step, rows)
    drawing.text(16, 24, title, size=13.5, bold=True)
    for who, held in holds.items():
        for what in held:
            _arrow(drawing, (right - 34, places[what][1] - 6), (left + 64, places[who][1] - 6), "dim0", f"{who} holds {what}")
    for who, what in waits.items():
        ends = (left + 64, places[who][1] + 6), (right - 34, places[what][1] + 6)
        _arrow(drawing, *ends, "bad", f"{who} waits for {what}", dashes="6 4")
    for who in holds:
        x, y = places[who]
        drawing.rect(x - 64, y - 17, 128, 34, fill="panel", stroke="ink", radius=5)
        drawing.text(x, y + 4.5, who, size=12.5, anchor="middle")
    for what in buffers:
        x, y = places[what]
        drawing.rect(x - 34, y - 17, 68, 34, fill="raised", stroke="ink", radius=17)
        drawing.text(x, y + 4.5, what, size=12.5, anchor="middle")
    y = 66 + rows * step
    drawing.line(60, y, 92, y, stroke="dim0", width=2.4)
    drawing.text(100, y + 4, "is held by", size=12, fill="muted")
    drawing.line(220, y, 252, y, stroke="bad", width=2.4, stroke_dasharray="6 4")
    drawing.text(260, y + 4, "waits for", size=12, fill="muted")
    return ShownMarkup(representation("waiting", drawing.render(width, y + 24)))


def _placed(names: Sequence[str], x: float, step: float, rows: int) -> dict[str, tuple[float, float]]:
    above = (rows - len(names)) * step / 2
    return {name: (x, 70 + above + number * step) for number, name in enumerate(names)}


def _arrow(
    drawing: Drawing, begin: tuple[float, float], end: tuple[float, float], token: str, tip: str, dashes: str | None = None
) -> None:
    drawing.line(*begin, *end, stroke=token, width=2.4, marker_end=drawing.arrow(token), tip=tip, stroke_dasharray=dashes)


Seconds = Callable[[float], float]


def sampled_curve(seconds: Seconds, least: float, most: float, points: int = 60) -> list[tuple[float, float]]:
    """A function of the bytes of a chunk at sizes that grow by the same factor."""
    factor = (most / least) ** (1 / (points - 1))
    return [(size, seconds(size)) for size in (least * factor**step for step in range(points))]
