"""Adaptive sampling of a throughput function, and the monotone curve that planning uses.

Between its samples a throughput function is a straight line in log-log (`isoviz.machines.throughput`). More samples help only
where the real function is not straight. A sample half-way between two others is compared with the line. If it differs, both
halves are refined, the worst first. Straight parts get few samples, bends get many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from isoviz.machines.throughput import Sampled
from isoviz.measure import tuning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Sample:
    """Rates with runs of `run` bytes, in bytes per second: one tuple of repetitions for every job shape (`shapes`)."""

    run: int
    shapes: tuple[tuple[float, ...], ...]

    @property
    def middle(self) -> float:
        """The rate to plan with: the median over the shapes of the medians of their repetitions, in logarithms."""
        logs = [math.log(median(rates)) for rates in self.shapes]
        return math.exp(median(logs))

    def without(self, seconds: float, nbytes: Sequence[int], most: float) -> Sample:
        """The sample without the seconds that a request costs besides its bytes; at most half of the time of a request.

        `nbytes` are the bytes of a request, for every job shape. `most` is the highest rate that the channel reached: it stays
        the limit. A channel that works on while its next request is prepared hides the seconds of all but short requests.
        """
        return Sample(
            self.run,
            tuple(
                tuple(max(rate, min(most, size / max(size / rate - seconds, size / rate / 2))) for rate in rates)
                for size, rates in zip(nbytes, self.shapes, strict=True)
            ),
        )

    @property
    def lowest(self) -> float:
        """The lowest of all rates."""
        return min(min(rates) for rates in self.shapes)

    @property
    def highest(self) -> float:
        """The highest of all rates."""
        return max(max(rates) for rates in self.shapes)

    @property
    def noise(self) -> float:
        """The random error of the middle: half the relative spread of the repetitions, the median over the shapes."""
        return median((max(rates) - min(rates)) / median(rates) for rates in self.shapes) / 2


def sample_adaptively(
    measure: Callable[[int], Sample],
    first: Sequence[int],
    most: int,
    between: Callable[[int, int], int | None],
    tolerance: float = tuning.BEND,
    enough: Callable[[], bool] = lambda: False,
) -> tuple[Sample, ...]:
    """Samples in ascending order of run: all of `first`, then up to `most` in total where the curve bends.

    The curve bends where it deviates by more than `tolerance` and by more than noise explains. `between` returns the run to
    measure between two others, or None. Once `enough` returns true, only the remaining runs of `first` are measured.
    """
    found = {run: measure(run) for run in sorted(set(first))}
    planned = _planned(found)
    # The priority of each interval, initially from the change of the slope at its ends.
    worth = _bends(planned)
    while worth and len(found) < most and not enough():
        (a, b), doubt = max(worth.items(), key=lambda item: (item[1], -item[0][0]))
        if doubt <= tolerance:
            break
        del worth[a, b]
        middle = between(a, b)
        if middle is None or not a < middle < b:
            continue
        expected = _line(planned, a, b, middle)
        sample = found[middle] = measure(middle)
        planned = _planned(found)
        error = abs(math.log(planned[middle] / expected))
        # An error in the middle means that one of the two halves bends by about as much.
        worth[a, middle] = worth[middle, b] = error if error > max(sample.noise / 2, tolerance / 2) else 0.0
    return tuple(found[run] for run in sorted(found))


def halfway(a: int, b: int) -> int | None:
    """The power of two half-way between two runs; None if there is none between them."""
    middle = 1 << round(math.log2(a * b) / 2)
    return middle if a < middle < b else None


def _planned(found: Mapping[int, Sample]) -> dict[int, float]:
    """The rates that planning would use, by run. Where they are flat, details of the channel do not matter."""
    ordered = [found[run] for run in sorted(found)]
    return {sample.run: rate for sample, rate in zip(ordered, never_falling(ordered), strict=True)}


def _line(rates: Mapping[int, float], a: int, b: int, run: int) -> float:
    """The rate on the straight line between two samples, in log-log."""
    share = math.log(run / a) / math.log(b / a)
    return math.exp((1 - share) * math.log(rates[a]) + share * math.log(rates[b]))


def _bends(rates: Mapping[int, float]) -> dict[tuple[int, int], float]:
    """The possible error of the line in every interval, from the change of the slope at its ends."""
    pairs = list(pairwise(sorted(rates)))
    slopes = [math.log(rates[b] / rates[a]) / math.log(b / a) for a, b in pairs]
    found = {}
    for i, (a, b) in enumerate(pairs):
        beside = [slopes[k] for k in (i - 1, i + 1) if 0 <= k < len(slopes)]
        found[a, b] = max((abs(slope - slopes[i]) for slope in beside), default=math.inf) * math.log(b / a) / 4
    return found


def never_falling(samples: Iterable[Sample], evened_out: float = tuning.EVENED_OUT) -> tuple[float, ...]:
    """Rates to plan with, which never decrease as runs grow.

    A decrease by at most the factor `evened_out`, or one within the noise, is replaced by the geometric mean (isotonic
    regression, pool adjacent violators), so that predictions are right on average. After a larger decrease, longer runs are
    really slower, and the lower rate also replaces the higher ones before it. A sample counts as no less noisy than half of the
    samples are: two or three repetitions may agree by chance.
    """
    ordered = list(samples)
    usual = median(sample.noise for sample in ordered)
    blocks: list[tuple[list[float], float]] = []  # Logarithms of the rates, and the largest noise among them.
    for sample in ordered:
        logs, noise = [math.log(sample.middle)], max(sample.noise, usual)
        while blocks and _level(*blocks[-1], evened_out) > _level(logs, noise, evened_out):
            before, more = blocks.pop()
            logs, noise = before + logs, max(noise, more)
        blocks.append((logs, noise))
    return tuple(math.exp(_level(logs, noise, evened_out)) for logs, noise in blocks for _ in logs)


def _level(logs: Sequence[float], noise: float, evened_out: float) -> float:
    """The common rate of several decreasing rates, in logarithms."""
    if max(logs) - min(logs) <= max(2 * noise, math.log(evened_out)):
        return math.fsum(logs) / len(logs)
    return min(logs)


def sampled(samples: Sequence[Sample], date: str | None = None, evened_out: float = tuning.EVENED_OUT) -> Sampled:
    """The throughput function of a measurement: the rates to plan with, and also the measured rates and their spread.

    Decreases by at most the factor `evened_out` are averaged.
    """
    hull = [_rounded(rate) for rate in never_falling(samples, evened_out)]
    measured = tuple((float(sample.run), _rounded(sample.middle)) for sample in samples)
    planned = tuple((float(sample.run), rate) for sample, rate in zip(samples, hull, strict=True))
    return Sampled(
        planned,
        spread=tuple(_rounded((sample.highest - sample.lowest) / sample.middle) for sample in samples),
        date=date,
        measured=None if measured == planned else measured,
        ranges=tuple((_rounded(sample.lowest), _rounded(sample.highest)) for sample in samples),
    )


def _rounded(value: float) -> float:
    """Round to four digits: this exceeds the precision of a measurement and is short to read."""
    return float(f"{value:.4g}")
