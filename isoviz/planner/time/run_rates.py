"""Rates of a channel for one copy, and of a throughput function for many runs at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoviz.machines import CopyShape
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoviz.machines import Channel
    from isoviz.machines.throughput import ThroughputFunction

    Floats = NDArray[np.float64]

SHORTEST_RUN = 1e-9
"""A run in bytes, shorter than every real run: it stands for the left end of a sampled function."""


def rate_of(channel: Channel, nbytes: float, run: float, gap: float = math.inf, window: float = 0.0) -> float:
    """Bytes per second of a channel that moves `nbytes` bytes per copy, its requests included.

    The layouts at both ends have runs of `run` bytes in common; infinite where they are equal. Gaps of a part cut its bytes into
    stretches of `gap` bytes. Where `gap` bounds the runs, the layouts do not matter. `window` is as in `CopyShape`. The rate is 0
    if the channel moves nothing in such runs.
    """
    shape = CopyShape(nbytes, min(run, gap, nbytes), window)
    if channel.is_plain:
        return channel.throughput(shape.run_bytes)
    return nbytes / channel.seconds(shape, stretch=gap if run < gap else None) if shape.run_bytes > 0 else 0.0


def rates_of(function: ThroughputFunction, runs: Floats) -> Floats:
    """Bytes per second for runs of the given bytes (above 0, or infinite), equal to the function itself up to rounding."""
    if isinstance(function, LatencyBandwidth):
        return function.bandwidth / (1.0 + function.latency * function.bandwidth / runs)
    if isinstance(function, Constant):
        return function.bandwidth * np.minimum(1.0, runs)
    if not isinstance(function, Sampled):
        return np.array([function(run) for run in runs.tolist()])
    known = np.array(function.samples, float)
    # Below the first sample a function has slope 1.
    at = np.log(np.append(SHORTEST_RUN, known[:, 0]))
    values = np.log(np.append(known[0, 1] * (SHORTEST_RUN / known[0, 0]), known[:, 1]))
    found: Floats = np.exp(np.interp(np.log(runs), at, values))
    return found
