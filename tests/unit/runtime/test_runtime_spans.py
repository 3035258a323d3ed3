"""Requests of a transfer: sums of all, the first ones as they were."""

from __future__ import annotations

import random

import pytest

from isoviz.runtime.trace.spans import MOST, Spans
from isoviz.runtime.trace.trace import RequestSpan


def span(hop: int, start: float, end: float) -> RequestSpan:
    return RequestSpan(0, hop, 0, 0, start, end)


def test_several_in_flight_count_once() -> None:
    spans = Spans(2)
    for each in (span(0, 1.0, 3.0), span(0, 2.0, 4.0), span(1, 2.5, 3.0), span(0, 6.0, 7.0), span(1, 2.5, 2.75)):
        spans.append(each)
    assert spans.busy() == [4.0, 0.5]
    assert spans.busy() == [4.0, 0.5], "asking changes nothing"
    assert (spans.first, spans.last, len(spans)) == (1.0, 7.0, 5)
    assert len(list(spans)) == 5


def test_no_more_is_kept_than_so_many() -> None:
    """A terabyte in requests of a mebibyte; what ran is summed all the same."""
    rng = random.Random(1)
    spans, at, busy = Spans(1), 0.0, 0.0
    for _ in range(3 * MOST):
        length = rng.random()
        spans.append(span(0, at, at + length))
        spans.append(span(0, at + length / 2, at + length))
        busy += length
        at += length + rng.random()
    assert len(list(spans)) == MOST
    assert len(spans) == 6 * MOST
    assert spans.busy() == [pytest.approx(busy)]


def test_none() -> None:
    spans = Spans(3)
    assert (spans.busy(), len(spans), list(spans)) == ([0.0] * 3, 0, [])
    assert spans.last < spans.first
