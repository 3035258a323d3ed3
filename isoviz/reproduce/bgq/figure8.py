"""Figure 8: sizes of windows through a proxy, by PAMI (section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.reproduce import Claim, Curves, Depends, experiment
from isoviz.reproduce.bgq.assumptions import KIB, MIB, BgqAssumptions, machine
from isoviz.reproduce.bgq.figure4 import NODES, STOPS
from isoviz.reproduce.bgq.messages import WINDOWS, crossing, one_path, throughput
from isoviz.units import format_bytes

SIZES = tuple(16 * KIB << power for power in range(12))
"""Sizes of messages: 16 KiB to 32 MiB."""


def best(found: Any) -> float:
    """The best window for 2 MB."""
    curve: dict[int, float] = found["curves"][2 * MIB]
    return float(max(curve, key=curve.__getitem__))


def _smallest(found: Any) -> float:
    curve = found["curves"][2 * MIB]
    return float(curve[WINDOWS[0]] / max(curve.values()))


@experiment(
    "figure 8",
    "throughput by the size of windows",
    section="5.4",
    quick={"sizes": (16 * KIB, 256 * KIB, 2 * MIB)},
    claims=(
        Claim("best window for 2 MB", "128 KB", 128 * KIB, best, "bytes").put_in("the cost of a message by PAMI follows from it"),
        Claim("windows gain from messages of", "16 KB", 16 * KIB, "crossing", "bytes").because(
            "the paper has direct transfer ahead below 16 KB, which is read as one message to the proxy in place of several: by"
            " figure 5 a proxy beats direct MPI there"
        ),
        Claim("2 MB in windows of 512 bytes: share of the best", "drops significantly", None, _smallest, "share"),
    ),
    shows=(
        Curves(
            lambda found: {format_bytes(nbytes): curve for nbytes, curve in found["curves"].items()},
            ("size of a window", "bytes"),
        ),
    ),
    depends=(
        Depends("figure 8: best window for 2 MB", "bytes", best, "pami_message", sizes=(2 * MIB,)),
        Depends("figure 8: windows gain from messages of", "bytes", "crossing", "pami_message", sizes=()),
    ),
)
def figure8(given: BgqAssumptions, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Throughput by the size of windows, for each size of message. `crossing` is the size of message from which windows gain."""
    partition = machine(NODES, given)

    def rate(nbytes: int, window: int) -> float:
        return throughput(one_path(partition, STOPS, nbytes, "pami", window), partition)

    curves = {nbytes: {window: rate(nbytes, window) for window in WINDOWS if window <= nbytes} for nbytes in sizes}
    small = [KIB << power for power in range(9)]
    return {"curves": curves, "crossing": crossing(lambda nbytes: rate(nbytes, nbytes // 2) - rate(nbytes, nbytes), small)}
