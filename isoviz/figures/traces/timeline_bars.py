"""The bars of a timeline, made from the requests of a trace, at most as many as the figure has room for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.figures.charts.theme import DIMENSION_COLOURS

if TYPE_CHECKING:
    from isoviz.figures.charts.time_axis import TimeAxis
    from isoviz.runtime import RequestSpan, Trace

COLOURS = len(DIMENSION_COLOURS)
LANES = 4
"""Most concurrent requests of a channel that are drawn in separate lanes; further ones share the last lane."""
_SINGLE, _THIN, _LIKE = 4.0, 1.2, 0.12


class Bar(NamedTuple):
    """A request, or consecutive requests of one chunk, in pixels; `merged` is their number."""

    left: float
    right: float
    span: RequestSpan
    end: float
    merged: int


class Strip(NamedTuple):
    """A column of requests that are too short to draw.

    `share` is the busy share of the channel. The colour is that of the transfer with the most work.
    """

    left: float
    right: float
    colour: int
    share: float


class Lane(NamedTuple):
    """The bars and columns of one row."""

    bars: tuple[Bar, ...]
    strips: tuple[Strip, ...]


def token(transfer: int) -> str:
    """The colour of a transfer, equal in all figures. The colours repeat after `COLOURS` transfers."""
    return DIMENSION_COLOURS[transfer % COLOURS]


def lanes(trace: Trace, axis: TimeAxis) -> dict[str, tuple[Lane, ...]]:
    """The lanes of each channel."""
    by_channel: dict[str, list[RequestSpan]] = {name: [] for name in trace.channels}
    for span in trace.requests:
        by_channel[trace.channel(span)].append(span)
    return {name: tuple(_lane(row, trace.begin, axis) for row in _apart(spans)) for name, spans in by_channel.items()}


def _apart(spans: list[RequestSpan]) -> list[list[RequestSpan]]:
    """Split overlapping requests into rows; one row if none overlap."""
    rows: list[list[RequestSpan]] = [[]]
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        for row in rows:
            if not row or row[-1].end <= span.start * (1 + 1e-12):
                row.append(span)
                break
        else:
            if len(rows) < LANES:
                rows.append([])
            rows[-1].append(span)
    return rows


def _lane(spans: list[RequestSpan], begin: float, axis: TimeAxis) -> Lane:
    """Bars for requests of a few pixels, for chunks of shorter requests, and columns for still narrower ones."""
    bars: list[Bar] = []
    for span in spans:
        left, right = axis.at(span.start - begin), axis.at(span.end - begin)
        last = bars[-1] if bars else None
        if (
            last is not None
            and right - left < _SINGLE
            and last.span[:3] == span[:3]
            and left - last.right < 0.5
            and last.right - last.left < _SINGLE * last.merged
        ):
            bars[-1] = Bar(last.left, right, last.span, span.end, last.merged + 1)
        else:
            bars.append(Bar(left, right, span, span.end, 1))
    narrow = [bar for bar in bars if bar.right - bar.left < _THIN]
    return Lane(tuple(bar for bar in bars if bar.right - bar.left >= _THIN), _strips(narrow, axis))


def _strips(bars: list[Bar], axis: TimeAxis) -> tuple[Strip, ...]:
    """Narrow bars as columns of a pixel: the covered share of each, and its main colour."""
    if not bars:
        return ()
    columns = int(axis.width) + 1
    cover = np.zeros((COLOURS, columns + 1))
    left = np.array([bar.left for bar in bars]) - axis.left
    right = np.array([bar.right for bar in bars]) - axis.left
    colour = np.array([bar.span.transfer for bar in bars]) % COLOURS
    first = np.clip(left.astype(int), 0, columns - 1)
    # A bar of little more than a pixel lies in at most two columns.
    split = np.minimum(right, first + 1.0)
    np.add.at(cover, (colour, first), split - left)
    np.add.at(cover, (colour, first + 1), right - split)
    total = np.clip(cover.sum(axis=0)[:columns], 0.0, 1.0).tolist()
    main = cover[:, :columns].argmax(axis=0).tolist()
    found: list[Strip] = []
    for i, share in enumerate(total):
        if share < 1e-6:
            continue
        last = found[-1] if found else None
        at = axis.left + i
        end = min(at + 1, axis.right)
        # Similar columns are joined: steady work would look ragged otherwise.
        if last is not None and last.right == at and last.colour == main[i] and abs(last.share - share) <= _LIKE:
            wide = at - last.left
            found[-1] = last._replace(right=end, share=(last.share * wide + share) / (wide + 1))
        else:
            found.append(Strip(at, end, main[i], share))
    return tuple(found)


def waiting_steps(trace: Trace) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The numbers of transfers that waited for their buffers and of running transfers, over time."""
    waiting: dict[float, int] = defaultdict(int)
    running: dict[float, int] = defaultdict(int)
    for transfer in trace.transfers:
        admitted = transfer.ended if transfer.admitted is None else transfer.admitted
        waiting[transfer.submitted - trace.begin] += 1
        waiting[admitted - trace.begin] -= 1
        running[admitted - trace.begin] += 1
        running[transfer.ended - trace.begin] -= 1
    return _summed(waiting), _summed(running)


def _summed(changes: dict[float, int]) -> list[tuple[float, float]]:
    level, found = 0.0, []
    for when in sorted(changes):
        level += changes[when]
        found.append((when, level))
    return found
