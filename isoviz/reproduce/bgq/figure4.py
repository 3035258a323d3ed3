"""Figures 4 and 5: a message through one proxy, stored and forwarded or in windows, by MPI and by PAMI (sections 5.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.reproduce.bgq.assumptions import KIB, MIB, machine
from isoviz.reproduce.bgq.curves import Curve, crossing, throughput_figure
from isoviz.reproduce.bgq.messages import MESSAGES, one_path, throughput
from isoviz.reproduce.figure import Section
from isoviz.reproduce.statement import Statement, share

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions

NODES = 32
STOPS = (0, 1, 3)
"""Source, proxy, destination, in two dimensions. Any other three nodes on a route give the same."""


@dataclass(frozen=True)
class OneProxy:
    """Throughputs: direct by MPI; by MPI through the proxy, stored and forwarded as a whole and in the best windows; by PAMI in
    the best windows. `crossing` is the message size up to which PAMI through the proxy beats MPI, 0 if it never does."""

    direct: Curve
    stored: Curve
    windows: Curve
    pami: Curve
    crossing: int


def figure4(given: BgqAssumptions, sizes: Sequence[int] = MESSAGES) -> OneProxy:
    """All curves."""
    partition = machine(NODES, given)
    direct, stored, windows, pami = (
        {
            nbytes: throughput(one_path(partition, stops, nbytes, transport, nbytes if whole else None), partition)
            for nbytes in sizes
        }
        for stops, transport, whole in (
            (STOPS[::2], "mpi", True),
            (STOPS, "mpi", True),
            (STOPS, "mpi", False),
            (STOPS, "pami", False),
        )
    )
    wins = _gain(given, sizes[0]) > 0
    return OneProxy(direct, stored, windows, pami, crossing(lambda nbytes: _gain(given, nbytes), sizes) if wins else 0)


def _gain(given: BgqAssumptions, nbytes: int) -> float:
    """Bytes per second that PAMI through the proxy has over MPI without one."""
    partition = machine(NODES, given)
    pami, mpi = one_path(partition, STOPS, nbytes, "pami"), one_path(partition, STOPS[::2], nbytes, "mpi")
    return throughput(pami, partition) - throughput(mpi, partition)


def share_of_direct(given: BgqAssumptions, nbytes: int = MIB) -> float:
    """Throughput of windows through a proxy by MPI, as a share of a direct message."""
    found = figure4(given, (nbytes,))
    return found.windows[nbytes] / found.direct[nbytes]


def statements(found: OneProxy) -> tuple[Statement, ...]:
    """Beside the paper."""
    largest = max(found.direct)
    small = [nbytes for nbytes in found.direct if nbytes < 64 * KIB]
    gain = max(found.windows[nbytes] / found.stored[nbytes] for nbytes in small) - 1
    close = [nbytes for nbytes in found.direct if 32 * KIB <= nbytes <= 2 * MIB]
    shares = [found.pami[nbytes] / found.direct[nbytes] for nbytes in close]
    fitted = "one number, the 20 µs that a message by MPI costs, gives this figure and the two others"
    figure4 = (
        Statement(
            *("5.1, figure 4", "one proxy, stored and forwarded: share of direct", "50 %", 0.5, 0.5),
            found.stored[largest] / found.direct[largest],
            "share",
        ),
        Statement(
            *("5.1, figure 4", "gain of windows, messages below 64 KB", "none", 0.0, 0.0, gain, "change"),
            "the cost of a message by MPI follows from this size: below it two windows cost more than they save",
            given=True,
        ),
        *(
            Statement(
                *("5.1, figure 4", f"windows of the best size, {nbytes // MIB} MB: share of direct", f"{round(100 * part)} %"),
                *(part, part, found.windows[nbytes] / found.direct[nbytes]),
                "share",
                fitted,
            )
            for nbytes, part in ((MIB, 0.7), (2 * MIB, 0.8), (4 * MIB, 0.9))
            if nbytes in found.windows
        ),
        Statement(
            *("5.1, figure 4", "windows of the best size, largest messages: share of direct", "similar", 1.0, 1.0),
            found.windows[largest] / found.direct[largest],
            "share",
        ),
    )
    figure5 = (
        Statement(
            *("5.2, figure 5", "PAMI through a proxy beats MPI without one up to", "16 KB, not 32", 16 * KIB, 32 * KIB),
            float(found.crossing),
            "bytes",
            "the costs of MPI and PAMI follow from figures 4 and 8; this size follows from both",
        ),
        Statement(
            *("5.2, figure 5", "PAMI through a proxy, 32 KB to 2 MB: least share of direct MPI", "close", None, None),
            min(shares),
            "share",
            f"up to {share(max(shares))}: a proxy costs at least the time of a window",
        ),
        Statement(
            *("5.2, figure 5", "PAMI through a proxy: highest throughput", "1.7 GB/s", 1.7e9, 1.7e9),
            max(found.pami.values()),
            "rate",
            "1.7 GB/s is the rate of the preset's messages; what windows cost is left of it",
            given=True,
        ),
    )
    return (*figure4, *figure5)


def section(found: OneProxy) -> Section:
    """Both figures."""
    direct = {"direct, MPI": found.direct}
    first = {"proxy, stored and forwarded": found.stored, "proxy, windows, MPI": found.windows}
    second = {"proxy, windows, MPI": found.windows, "proxy, windows, PAMI": found.pami}
    return Section(
        "Figures 4 and 5: one proxy",
        (
            throughput_figure("figure4", "Figure 4: windows through a proxy", direct | first, heading="Figure 4: windows"),
            throughput_figure("figure5", "Figure 5: PAMI through a proxy", direct | second, heading="Figure 5: PAMI"),
        ),
    )
