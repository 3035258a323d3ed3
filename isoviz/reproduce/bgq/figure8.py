"""Figure 8: sizes of windows through a proxy, by PAMI (section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.reproduce.bgq.assumptions import KIB, MIB, machine
from isoviz.reproduce.bgq.curves import Curve, crossing, throughput_figure
from isoviz.reproduce.bgq.figure4 import NODES, STOPS
from isoviz.reproduce.bgq.messages import WINDOWS, one_path, throughput
from isoviz.reproduce.figure import Section
from isoviz.reproduce.statement import Statement
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions

SIZES = tuple(16 * KIB << power for power in range(12))
"""Sizes of messages: 16 KiB to 32 MiB."""
QUICK_SIZES = 16 * KIB, 256 * KIB, 2 * MIB


@dataclass(frozen=True)
class Windows:
    """Throughput by the size of windows, for each size of message. `crossing` is the size of message from which windows gain."""

    curves: dict[int, Curve]
    crossing: int

    def best(self, nbytes: int) -> int:
        """The best window of a message."""
        return max(self.curves[nbytes], key=lambda window: self.curves[nbytes][window])


def figure8(given: BgqAssumptions, sizes: Sequence[int] = SIZES) -> Windows:
    """All sizes."""
    curves = {nbytes: {window: _throughput(given, nbytes, window) for window in WINDOWS if window <= nbytes} for nbytes in sizes}
    small = [KIB << power for power in range(9)]
    return Windows(
        curves, crossing(lambda nbytes: _throughput(given, nbytes, nbytes // 2) - _throughput(given, nbytes, nbytes), small)
    )


def best_window(given: BgqAssumptions, nbytes: int = 2 * MIB) -> float:
    """The best window of a message."""
    return float(figure8(given, (nbytes,)).best(nbytes))


def windows_from(given: BgqAssumptions) -> float:
    """The size of message from which windows gain."""
    return float(figure8(given, ()).crossing)


def _throughput(given: BgqAssumptions, nbytes: int, window: int) -> float:
    partition = machine(NODES, given)
    return throughput(one_path(partition, STOPS, nbytes, "pami", window), partition)


def statements(found: Windows) -> tuple[Statement, ...]:
    """Beside the paper."""
    two = found.curves[2 * MIB]
    return (
        Statement(
            *("5.4, figure 8", "best window for 2 MB", "128 KB", 128 * KIB, 128 * KIB, float(found.best(2 * MIB)), "bytes"),
            "the cost of a message by PAMI follows from it",
            given=True,
        ),
        Statement(
            *("5.4, figure 8", "windows gain from messages of", "16 KB", 16 * KIB, 16 * KIB, float(found.crossing), "bytes"),
            "the paper has direct transfer ahead below 16 KB, which is read as one message to the proxy in place of several: by"
            " figure 5 a proxy beats direct MPI there",
        ),
        Statement(
            *("5.4, figure 8", "2 MB in windows of 512 bytes: share of the best", "drops significantly", None, None),
            two[WINDOWS[0]] / max(two.values()),
            "share",
        ),
    )


def section(found: Windows) -> Section:
    """The figure."""
    curves = {format_bytes(nbytes): curve for nbytes, curve in found.curves.items()}
    return Section("Figure 8: windows", (throughput_figure("figure8", "Figure 8: throughput by window", curves, "window"),))
