"""Figures 4 and 5: a message through one proxy, stored and forwarded or in windows, by MPI and by PAMI (sections 5.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.document import share
from isoviz.reproduce import Claim, Curves, Depends, experiment, named
from isoviz.reproduce.bgq.assumptions import KIB, MIB, BgqAssumptions, machine
from isoviz.reproduce.bgq.messages import MESSAGES, QUICK, crossing, one_path, throughput

NODES = 32
STOPS = (0, 1, 3)
"""Source, proxy, destination, in two dimensions. Any other three nodes on a route give the same."""
_BEST = "windows of the best size"
_ONE_NUMBER = "one number, the 20 µs that a message by MPI costs, gives this figure and the two others"


def of_direct(found: Any, way: str, nbytes: int = 0) -> float:
    """Throughput of a way as a share of a direct message; of the largest ones by default."""
    nbytes = nbytes or max(found["direct"])
    return float(found[way][nbytes] / found["direct"][nbytes])


def _gain(found: Any) -> float:
    gains = [found["windows"][nbytes] / rate - 1 for nbytes, rate in found["stored"].items() if nbytes < 64 * KIB]
    return float(max(gains))


def _close(found: Any) -> list[float]:
    return [of_direct(found, "pami", nbytes) for nbytes in found["direct"] if 32 * KIB <= nbytes <= 2 * MIB]


def _windows(size: str, paper: float, nbytes: int) -> Claim:
    what, ours = f"{_BEST}, {size}: share of direct", lambda found: of_direct(found, "windows", nbytes)
    return Claim(what, share(paper), paper, ours, "share").because(_ONE_NUMBER)


@experiment(
    "figure 4",
    "windows through a proxy",
    section="5.1",
    quick=QUICK,
    claims=(
        Claim("one proxy, stored and forwarded: share of direct", "50 %", 0.5, lambda found: of_direct(found, "stored"), "share"),
        Claim("gain of windows, messages below 64 KB", "none", 0.0, _gain, "change").put_in(
            "the cost of a message by MPI follows from this size: below it two windows cost more than they save"
        ),
        _windows("1 MB", 0.7, MIB),
        _windows("2 MB", 0.8, 2 * MIB),
        _windows("4 MB", 0.9, 4 * MIB),
        Claim(f"{_BEST}, largest messages: share of direct", "similar", 1.0, lambda found: of_direct(found, "windows"), "share"),
    ),
    shows=(Curves(named(direct="direct, MPI", stored="proxy, stored and forwarded", windows="proxy, windows, MPI")),),
    depends=(
        Depends(
            "figure 4: windows through a proxy, 1 MB, share of direct",
            "share",
            lambda found: of_direct(found, "windows"),
            "mpi_message",
            quick="mpi_message",
            sizes=(MIB,),
        ),
    ),
)
def figure4(given: BgqAssumptions, sizes: Sequence[int] = MESSAGES) -> dict[str, Any]:
    """Throughputs: direct by MPI; by MPI through the proxy, stored and forwarded as a whole and in the best windows; by PAMI in
    the best windows. `crossing` is the message size up to which PAMI through the proxy beats MPI, 0 if it never does."""
    partition = machine(NODES, given)

    def rate(nbytes: int, stops: Sequence[int], transport: str, window: int | None = None) -> float:
        return throughput(one_path(partition, tuple(stops), nbytes, transport, window), partition)

    def gain(nbytes: int) -> float:
        return rate(nbytes, STOPS, "pami") - rate(nbytes, STOPS[::2], "mpi")

    return {
        "direct": {nbytes: rate(nbytes, STOPS[::2], "mpi", nbytes) for nbytes in sizes},
        "stored": {nbytes: rate(nbytes, STOPS, "mpi", nbytes) for nbytes in sizes},
        "windows": {nbytes: rate(nbytes, STOPS, "mpi") for nbytes in sizes},
        "pami": {nbytes: rate(nbytes, STOPS, "pami") for nbytes in sizes},
        "crossing": crossing(gain, sizes) if gain(sizes[0]) > 0 else 0,
    }


figure5 = figure4.further(
    "figure 5",
    "PAMI through a proxy",
    section="5.2",
    claims=(
        Claim(
            "PAMI through a proxy beats MPI without one up to", "16 KB, not 32", (16 * KIB, 32 * KIB), "crossing", "bytes"
        ).because("the costs of MPI and PAMI follow from figures 4 and 8; this size follows from both"),
        Claim(
            "PAMI through a proxy, 32 KB to 2 MB: least share of direct MPI", "close", None, lambda f: min(_close(f)), "share"
        ).because(lambda found: f"up to {share(max(_close(found)))}: a proxy costs at least the time of a window"),
        Claim(
            "PAMI through a proxy: highest throughput", "1.7 GB/s", 1.7e9, lambda found: max(found["pami"].values()), "rate"
        ).put_in("1.7 GB/s is the rate of the preset's messages; what windows cost is left of it"),
    ),
    shows=(Curves(named(direct="direct, MPI", windows="proxy, windows, MPI", pami="proxy, windows, PAMI")),),
    depends=(
        Depends(
            "figure 5: PAMI through a proxy beats MPI up to",
            "bytes",
            "crossing",
            "mpi_message pami_message",
            sizes=tuple(KIB << power for power in range(0, 10, 2)),
        ),
    ),
)
