"""A run over time: the work of every channel, the waiting transfers, and the critical path."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, number, shorten, text_width
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.charts.time_axis import LABEL_WIDTH, TimeAxis, outline, sampled
from isoviz.figures.traces.timeline_bars import COLOURS, Bar, Lane, lanes, token, waiting_steps
from isoviz.machines.memory import emulated_text
from isoviz.runtime.trace.critical_path import critical_path
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoviz.figures.charts.theme import ThemeName
    from isoviz.runtime import Trace, TransferSpan

_RIGHT = 66.0
_ROW, _GAP = 24.0, 12.0
NAMED = 8
"""Most transfers whose rows have names."""
_DRAWN = 64
"""Most transfers with rows. For more transfers, the numbers of waiting and of running ones are drawn."""
_TIPPED = 60
"""Most bars with a tooltip and a number in a picture, those of the widest: they take most of its bytes."""
_JUMPS = 240
"""Most changes between channels that the drawn critical path shows. With more, only its parts along the channels are drawn."""
AXIS = "time since the first transfer was submitted"


def timeline_svg(trace: Trace, *, critical: bool = True, width: float = 1040, theme: ThemeName = "auto") -> str:
    """One row for each channel, with a bar for each request in the colour of its transfer.

    The transfers are above them, with the time in which they waited for their buffers. `critical` draws the critical path along
    the rows. Requests narrower than a few pixels are merged into chunks. Chunks narrower than a pixel become columns, whose
    height is the busy share of the channel.
    """
    return _draw([(trace, "")], critical, width, theme, f"Timeline of a {trace.where} run")


def compare_svg(
    first: Trace,
    second: Trace,
    *,
    names: tuple[str, str] | None = None,
    critical: bool = True,
    width: float = 1040,
    theme: ThemeName = "auto",
) -> str:
    """Two runs of the same plans, one above the other on the same time axis: simulated and real, or two variants.

    `names` are their labels; the default is where they ran.
    """
    chosen = names or (first.where, second.where)
    return _draw(
        [(first, chosen[0]), (second, chosen[1])], critical, width, theme, f"{chosen[0]} and {chosen[1]}, on one time axis"
    )


def _draw(panels: Sequence[tuple[Trace, str]], critical: bool, width: float, theme: ThemeName, title: str) -> str:
    description = " ".join(_description(trace, name) for trace, name in panels)
    remark = emulated_text(list(dict.fromkeys(name for trace, _ in panels for name in trace.emulated)))
    drawing = Drawing(title, description, theme, remark=remark)
    if not any(trace.transfers for trace, _ in panels):
        drawing.text(MARGIN, 34, "No transfer was submitted: nothing to draw.", size=13, fill="muted")
        return drawing.render(width, 54)
    left = MARGIN + LABEL_WIDTH
    axis = TimeAxis(max(trace.seconds for trace, _ in panels), left, width - left - MARGIN - _RIGHT)
    y, drawn = MARGIN, []
    for trace, name in panels:
        panel = _Panel(drawing, trace, axis, _TIPPED // len(panels))
        y = panel.draw(y, name, critical) + _GAP
        drawn.append(panel)
    y = axis.draw(drawing, y - _GAP + 4, AXIS)
    y = _legend(drawing, y + 4, width, drawn, critical and any(trace.requests for trace, _ in panels))
    y = _failures(drawing, y + 4, width, [transfer for trace, _ in panels for transfer in trace.transfers])
    return drawing.render(width, y + MARGIN - 4)


class _Panel:
    """One run in the figure, with at most `most` bars that have a tooltip.

    `low` tells whether there are columns lower than a row, `waits` whether a transfer waited, `numbered` whether bars have chunk
    numbers.
    """

    def __init__(self, drawing: Drawing, trace: Trace, axis: TimeAxis, most: int) -> None:
        self.drawing, self.trace, self.axis, self.most = drawing, trace, axis, most
        self.low = self.waits = self.numbered = False

    def draw(self, y: float, name: str, critical: bool) -> float:
        """Draw the panel from `y` on; returns its end."""
        drawing, axis, trace = self.drawing, self.axis, self.trace
        if name:
            duration = f"{format_seconds(trace.seconds)}, {format_rate(trace.throughput)}"
            drawing.text(MARGIN, y + 13, name, size=14, bold=True)
            drawing.text(axis.left, y + 13, duration, size=12.5, fill="muted")
            y += 26
        drawn = lanes(trace, axis)
        heights = {channel: max(_ROW, 9.0 * len(rows)) for channel, rows in drawn.items()}
        bottom = y + self._transfers_height() + sum(height + _GAP for height in heights.values())
        axis.grid(drawing, y, bottom)
        y = self._transfers(y)
        wide = sorted((bar.right - bar.left for rows in drawn.values() for lane in rows for bar in lane.bars), reverse=True)
        tipped = max(12.0, wide[self.most] * (1 + 1e-9) if len(wide) > self.most else 0.0)
        shares = {use.channel: use.share for use in trace.uses}
        floors = {}
        for channel, rows in drawn.items():
            height = heights[channel]
            label = shorten(channel, LABEL_WIDTH - 16, 12.5)
            drawing.text(axis.left - 12, y + height / 2 + 4.4, label, size=12.5, anchor="end", tip=channel)
            drawing.rect(axis.left, y, axis.width, height, fill="panel")
            for at, lane in enumerate(rows):
                self._lane(lane, y + at * height / len(rows), height / len(rows) - (1 if len(rows) > 1 else 0), tipped)
            share = f"{100 * shares[channel]:.3g} %" if shares[channel] < 0.9995 else "100 %"
            drawing.text(
                axis.right + 8, y + height / 2 + 4.4, share, size=12, fill="muted", tip=f"{channel}: {share} of the run at work"
            )
            floors[channel] = y + height + 3.5
            y += height + _GAP
        if critical:
            self._critical(floors)
        end = axis.at(trace.seconds)
        drawing.line(
            end, bottom - sum(height + _GAP for height in heights.values()), end, y - 4, stroke="ink", stroke_dasharray="3 3"
        )
        return y

    # ---- channels

    def _lane(self, lane: Lane, y: float, height: float, tipped: float) -> None:
        drawing = self.drawing
        columns: dict[int, _Boxes] = defaultdict(lambda: _Boxes(y + height))
        lines: dict[int, _Dashes] = defaultdict(lambda: _Dashes(y + height / 2))
        large: list[Bar] = []
        for strip in lane.strips:
            self.low = self.low or strip.share < 1
            columns[strip.colour].add(strip.left, strip.right, max(2.0, round(height * strip.share)))
        for bar in lane.bars:
            if bar.right - bar.left >= tipped:
                large.append(bar)
            else:
                lines[bar.span.transfer % COLOURS].add(bar.left, bar.right - min(0.8, (bar.right - bar.left) / 8))
        for colour, boxes in sorted(columns.items()):
            drawing.path(str(boxes), fill=token(colour))
        for colour, dashes in sorted(lines.items()):
            drawing.path(str(dashes), stroke=token(colour), width=height)
        for bar in large:
            self._bar(bar, y, height)
        for bar in large:
            self._number(bar, y, height)

    def _bar(self, bar: Bar, y: float, height: float) -> None:
        """A bar that is wide enough for a tooltip."""
        span, wide = bar.span, bar.right - bar.left - 0.8
        transfer = self.trace.of[span.transfer]
        requests = transfer.work.requests[span.hop]
        part = f", request {span.request + 1} of {requests}" if bar.merged == 1 and requests > 1 else ""
        nbytes = transfer.request_bytes(span.hop, span.chunk) * bar.merged
        tip = (
            f"{transfer.label}, hop {span.hop}, chunk {span.chunk}{part}: {format_bytes(nbytes)} in "
            f"{format_seconds(bar.end - span.start)}, from {format_seconds(span.start - self.trace.begin)} on"
        )
        self.drawing.rect(bar.left, y, wide, height, fill=token(span.transfer), radius=min(2.0, height / 4), tip=tip)

    def _number(self, bar: Bar, y: float, height: float) -> None:
        """The number of the chunk of a bar, if it fits."""
        text, wide = str(bar.span.chunk), bar.right - bar.left - 0.8
        size = next((size for size in (11.0, 9.5) if text_width(text, size) + 1.5 <= wide), None)
        if size is not None and height >= 14:
            self.numbered = True
            self.drawing.text(bar.left + wide / 2, y + height / 2 + size * 0.36, text, size=size, fill="paper", anchor="middle")

    # ---- transfers

    def _transfers_height(self) -> float:
        count = len(self.trace.transfers)
        if count <= NAMED:
            return 20.0 * count + 8
        return (count * self._thin() if count <= _DRAWN else 2 * 34.0) + _GAP

    def _thin(self) -> float:
        return max(3.0, min(8.0, 160.0 / len(self.trace.transfers)))

    def _transfers(self, y: float) -> float:
        """Draw the transfers; returns the beginning of the channels."""
        drawing, axis, transfers = self.drawing, self.axis, self.trace.transfers
        below = y + self._transfers_height()
        if len(transfers) > _DRAWN:
            self._counts(y)
            return below
        named = len(transfers) <= NAMED
        high = 20.0 if named else self._thin()
        if not named:
            self._title(y + (below - y - _GAP) / 2, f"{len(transfers)} transfers", f"colours repeat after {COLOURS}")
        for row, transfer in enumerate(transfers):
            top = y + row * high
            if named:
                label = shorten(transfer.label, LABEL_WIDTH - 36, 12.5)
                drawing.text(axis.left - 28, top + 13.4, label, size=12.5, anchor="end", tip=_transfer_text(transfer))
                drawing.rect(axis.left - 22, top + 4, 10, 10, fill=token(transfer.number), radius=2)
            self._transfer(transfer, top + (5.0 if named else 0.0), 8.0 if named else high - min(1.0, high / 4), named)
        return below

    def _title(self, y: float, text: str, detail: str) -> None:
        self.drawing.text(self.axis.left - 12, y, text, size=12.5, anchor="end")
        self.drawing.text(self.axis.left - 12, y + 15, detail, size=11, fill="muted", anchor="end")

    def _transfer(self, transfer: TransferSpan, y: float, height: float, named: bool) -> None:
        drawing, axis, begin = self.drawing, self.axis, self.trace.begin
        admitted = transfer.ended if transfer.admitted is None else transfer.admitted
        start, got, end = (axis.at(when - begin) for when in (transfer.submitted, admitted, transfer.ended))
        tip = _transfer_text(transfer)
        if got - start >= 0.5:
            self.waits = True
            drawing.rect(start, y, max(got - start, 1.0), height, fill="faint", stroke="line", tip=tip)
        if end > got or got - start < 0.5:
            drawing.rect(got, y, max(end - got, 1.0), height, fill=token(transfer.number), radius=min(2.0, height / 4), tip=tip)
        if transfer.outcome in ("done", "running"):
            return
        middle = y + height / 2
        drawing.path(f"M{end - 4:.1f} {middle - 4:.1f}l8 8m0 -8l-8 8", stroke="bad", width=2.2, tip=tip)
        if named:
            wide = text_width(transfer.outcome, 11.5)
            left = end + 9 if wide + 12 <= axis.right + _RIGHT - end else end - 11 - wide
            if left < end:
                drawing.rect(left - 4, y - 3, wide + 4, height + 6, fill="paper")
            drawing.text(left, middle + 4, transfer.outcome, size=11.5, fill="bad", tip=tip)

    def _counts(self, y: float) -> None:
        """The numbers of waiting and of running transfers, as two areas."""
        drawing, axis = self.drawing, self.axis
        waiting, running = waiting_steps(self.trace)
        for steps, fill, name in ((waiting, "predicted", "waiting for buffers"), (running, "dim0", "under way")):
            heights, most = sampled(steps, axis.seconds, int(axis.width))
            top = float(most.max())
            self.waits = self.waits or name.startswith("waiting")
            drawing.path(outline(heights, axis.left, axis.width / len(heights), y + 26, 24 / max(top, 1.0)), fill=fill)
            self._title(y + 12, name, f"at most {top:,.0f} of {len(self.trace.transfers):,} transfers")
            y += 34

    # ---- critical path

    def _critical(self, floors: Mapping[str, float]) -> None:
        """A line under the rows, which moves to another row with the critical path."""
        axis, begin = self.axis, self.trace.begin
        stretches: list[tuple[float, float, float]] = []  # row, left, right
        for step in critical_path(self.trace):
            floor = floors[self.trace.channel(step.span)]
            left, right = axis.at(step.span.start - begin), axis.at(step.span.end - begin)
            if len(stretches) > 1 and stretches[-2][0] == floor and stretches[-1][2] - stretches[-1][1] < 1:
                stretches.pop()  # This gap is too short to be visible.
            if stretches and stretches[-1][0] == floor and left - stretches[-1][2] < 1.5:
                left = stretches.pop()[1]
            stretches.append((floor, left, right))
        if len(stretches) <= _JUMPS:
            data = "".join(
                f"{'L' if k else 'M'}{left:.1f} {floor:.1f}H{right:.1f}" for k, (floor, left, right) in enumerate(stretches)
            )
        else:
            data = "".join(_joined(stretches))
        if data:
            self.drawing.path(data, stroke="ink", width=2.4, stroke_linejoin="round", tip="critical path: what held the run up")


def _joined(stretches: Sequence[tuple[float, float, float]]) -> list[str]:
    """Stretches of the critical path along the rows only. Those closer than a pixel and a half are joined."""
    rows: dict[float, list[list[float]]] = defaultdict(list)
    for floor, left, right in stretches:
        row = rows[floor]
        if row and left - row[-1][1] < 1.5:
            row[-1][1] = right
        else:
            row.append([left, right])
    return [f"M{left:.1f} {floor:.1f}H{max(right, left + 1):.1f}" for floor, row in rows.items() for left, right in row]


class _Dashes:
    """Boxes of one height, as the data of a line as wide as they are high: they are half as long as those of outlines."""

    def __init__(self, middle: float) -> None:
        self._data = ""
        self._middle = middle
        self._at = 0.0

    def add(self, left: float, right: float) -> None:
        """A further box, to the right of the one before."""
        left, right = round(left, 1), round(right, 1)
        self._data += f"m{number(left - self._at)} 0" if self._data else f"M{number(left)} {number(self._middle)}"
        self._data += f"h{number(right - left)}"
        self._at = right

    def __str__(self) -> str:
        return self._data


class _Boxes:
    """Boxes that stand on one line, as the data of a path in relative steps, which are short."""

    def __init__(self, base: float) -> None:
        self._base = base
        self._data = ""
        self._at = self._level = 0.0

    def add(self, left: float, right: float, height: float) -> None:
        """A further box. One that begins where the one before ends goes on with its outline."""
        left, right, height = round(left, 1), round(right, 1), round(height, 1)
        if not self._data:
            self._data = f"M{number(left)} {number(self._base)}"
        elif left != self._at:
            self._data += f"v{number(self._level)}m{number(left - self._at)} 0"
            self._level = 0.0
        if height != self._level:
            self._data += f"v{number(self._level - height)}"
        self._data += f"h{number(right - left)}"
        self._at, self._level = right, height

    def __str__(self) -> str:
        return f"{self._data}v{number(self._level)}"


def _legend(drawing: Drawing, y: float, width: float, panels: Sequence[_Panel], critical: bool) -> float:
    """Draw the legend of the marks; returns its end."""
    entries = []
    if any(panel.waits for panel in panels):
        entries.append(("box", "waits for its buffers, or for the set-up of its channels"))
    if critical:
        entries.append(("line", "critical path"))
    if any(panel.low for panel in panels):
        entries.append(("low", "requests too short to draw: the height is the share of time at work"))
    if any(panel.numbered for panel in panels):
        entries.append(("number", "numbers on bars: chunks"))
    entries.append(("percent", "at the right: share of the run at work"))
    x = MARGIN + LABEL_WIDTH
    for mark, text in entries:
        if x > MARGIN + LABEL_WIDTH and x + 26 + text_width(text, 11.5) > width - MARGIN:
            x, y = MARGIN + LABEL_WIDTH, y + 20
        indent = 24.0
        if mark == "box":
            drawing.rect(x, y + 3, 16, 8, fill="faint", stroke="line")
        elif mark == "line":
            drawing.line(x, y + 7, x + 16, y + 7, stroke="ink", width=2.4)
        elif mark == "low":
            for k, high in enumerate((3, 6, 10, 5)):
                drawing.rect(x + 4 * k, y + 12 - high, 4, high, fill="muted")
        else:
            indent = 0.0
        drawing.text(x + indent, y + 11, text, size=11.5, fill="muted")
        x += indent + text_width(text, 11.5) + 22
    return y + 18


def _failures(drawing: Drawing, y: float, width: float, transfers: Sequence[TransferSpan]) -> float:
    """Draw the reasons of failed transfers; returns the end."""
    failed = [transfer for transfer in transfers if transfer.outcome == "failed"]
    left = MARGIN + LABEL_WIDTH
    for transfer in failed[:NAMED]:
        text = f"✗ {transfer.label} failed: {transfer.reason or 'no reason given'}"
        drawing.text(left, y + 11, shorten(text, width - MARGIN - left, 11.5), size=11.5, fill="bad", tip=text)
        y += 18
    if len(failed) > NAMED:
        drawing.text(left, y + 11, f"and {len(failed) - NAMED} more failed", size=11.5, fill="bad")
        y += 18
    return y


def _transfer_text(transfer: TransferSpan) -> str:
    """A transfer as a sentence."""
    admitted = transfer.ended if transfer.admitted is None else transfer.admitted
    waited = admitted - transfer.submitted
    outcome = transfer.outcome + (f" ({transfer.reason})" if transfer.reason else "")
    return f"{transfer.label}: {format_bytes(transfer.nbytes)} in {format_seconds(transfer.seconds)}, {outcome}" + (
        f", waited {format_seconds(waited)} before it began" if waited > 0 else ""
    )


def _description(trace: Trace, name: str) -> str:
    sentences = [f"{name or trace.where}: {len(trace.transfers)} transfers in {format_seconds(trace.seconds)}."]
    sentences += [f"{use.channel} is at work {100 * use.share:.0f} % of the time." for use in trace.uses]
    sentences += [f"{_transfer_text(transfer)}." for transfer in trace.transfers[:NAMED]]
    return " ".join(sentences)
