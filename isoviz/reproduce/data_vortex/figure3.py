"""Figure 3: messages of 1 to 256 k words between two nodes (section V)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isoviz.document import change, share
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines.presets.vortex import VortexFigures, message_curve
from isoviz.planner import Transfer, plan, plan_by_path
from isoviz.reproduce import Claim, Curves, Depends, experiment, under
from isoviz.reproduce.data_vortex.assumptions import MPI, WORD, VortexAssumptions, figures_of, machines, vics
from isoviz.vortex.workloads import ping_pong

SIZES = tuple(1 << power for power in range(19))
"""Words of a message."""
PINGED = SIZES[::3]
"""And of one between simulated VICs."""
DIRECT, CACHED, DMA, PLANNED, SIMULATED = "DWr/NoCached", "DWr/Cached", "DMA/Cached", "as isoviz plans it", "simulated VICs"
WAYS = (DIRECT, CACHED, DMA)
COLOURS = {DIRECT: "dim0", CACHED: "dim1", DMA: "measured", PLANNED: "dim3", SIMULATED: "dim5", MPI: "predicted"}
PEAK, NOMINAL = VortexFigures.peak, VortexFigures.link
_HOPS = {"direct": ("node0.sys->node0.dv", "node1.dv->node1.sys"), "DMA": ("node0.sys->node0.dv DMA", "node1.dv->node1.sys DMA")}
DMA_ALONE = 1 << 12
"""Words from which direct writes are not simulated: DMA is far ahead."""
_NETWORK = "node0.dv->node1.dv vortex"


Rates = dict[str, dict[int, float]]
"""By way and bytes of a message."""


def _message(words: int) -> Transfer:
    return Transfer.whole(IndexSpace(x=words), FieldSpace(v="i8"), "node0.sys", "<F, x>", "node1.sys", "<F, x>")


def _best(found: Any, words: int) -> float:
    return max(float(found[way][words * WORD]) for way in WAYS)


def lead(found: Any, words: int) -> float:
    """The throughput of InfiniBand over that of the best way of the Data Vortex."""
    return float(found[MPI][words * WORD]) / _best(found, words)


def _sizes(found: Any) -> list[int]:
    return [nbytes // WORD for nbytes in found[DMA]]


def ahead_from(found: Any) -> int:
    """The fewest words of a message with which InfiniBand is ahead."""
    return min((words for words in _sizes(found) if lead(found, words) > 1), default=0)


def again(found: Any) -> int:
    """The most words with which the Data Vortex is ahead."""
    return max((words for words in _sizes(found) if lead(found, words) < 1), default=0)


def least_lead(found: Any) -> float:
    """The least throughput of InfiniBand over that of the Data Vortex, with 32 to 128 words."""
    return min(lead(found, words) for words in _sizes(found) if 32 <= words <= 128)


def _gap(found: Any) -> int:
    """The words from which DMA is better than direct writes."""
    return min(words for words in _sizes(found) if found[DMA][words * WORD] > found[CACHED][words * WORD])


def _share(way: str, peak: float) -> Callable[[Any], float]:
    return lambda found: float(max(found[way].values()) / peak)


def _curves(*ways: str) -> Curves:
    return Curves(lambda found: {way: found[way] for way in ways}, colours=COLOURS.__getitem__)


@experiment(
    "figure 3",
    "messages between two nodes",
    section="V",
    quick={"sizes": SIZES[:12] + SIZES[-1:], "pinged": (8,)},
    claims=(
        Claim("3a, direct writes, 256 k words", "500 MB/s", 0.5e9, lambda found: max(found[DIRECT].values()), "rate").put_in(
            "one lane of PCI Express; the preset has the rate that the paper measured"
        ),
        Claim(
            "3a, cached headers over none, 256 k words",
            "a little higher",
            (1.0, 1.25),
            lambda f: max(f[CACHED].values()) / max(f[DIRECT].values()),
            "times",
        ).assumed("half of the traffic over PCI Express would be twice as fast; the paper says a little, and 1.2 × is assumed"),
        Claim("3b, DMA, 256 k words: share of 4.4 GB/s", share(0.994), 0.994, _share(DMA, PEAK), "share").fitted(
            "0.6 % of the time of 256 k words are 2.9 µs: so long takes the first word, and all others follow at the peak"
        ),
        Claim(
            "3b, ping-pong on simulated VICs, 256 k words: part of the peak that is left",
            change(0.006),
            0.006,
            lambda found: 1 - max(found[SIMULATED].values()) / PEAK,
            "change",
            full=True,
        ).because(
            lambda found: (
                "words arrive in 56 parts, and a part is read out once it has come whole, each by a transaction;"
                f" as isoviz plans it, in chunks, {change(1 - max(found[PLANNED].values()) / PEAK)} are left. The paper's cards"
                " lose next to nothing of this"
            )
        ),
        Claim("3b, InfiniBand, 256 k words: share of 6.8 GB/s", "72 %", 0.72, _share(MPI, NOMINAL), "share").fitted(
            "the rate of MPI follows from this figure"
        ),
        Claim("3b, InfiniBand is ahead from, words", "32", 32, ahead_from, "count").because(
            "a word takes 1 µs by direct writes and 1.3 µs by MPI (both assumed), and each further word 13 ns, by MPI 1.6 ns"
        ),
        Claim(
            "3b, 32 to 128 words: InfiniBand over the best way of the Data Vortex, least",
            "InfiniBand is ahead",
            (1.0, None),
            least_lead,
            "times",
        ).because(
            lambda found: f"two ways meet: direct writes are at their peak, and DMA is better from {_gap(found)} words on only"
        ),
        Claim(
            "3b, ping-pong on simulated VICs, 8 words: InfiniBand over the Data Vortex",
            "not ahead",
            (None, 1.0),
            lambda found: found[MPI][8 * WORD] / found[SIMULATED][8 * WORD],
            "times",
        ).because(
            "a program hears of its words, and then reads them over PCI Express, there and back: a word takes 2 µs. The 1 µs of"
            " the preset has the reader look at the card all the time"
        ),
        Claim("3b, the Data Vortex is ahead again up to, words", "512", 512, again, "count").assumed(
            "MPI asks first from 1 KiB on, which takes 1.7 to 1.8 µs: both assumed; without it InfiniBand stays ahead"
        ),
    ),
    shows=(
        under("3a and 3b, by way", "ab", _curves(MPI, DMA, CACHED, DIRECT)),
        under("as isoviz plans them, and on simulated VICs", "plans", _curves(MPI, DMA, PLANNED, SIMULATED)),
    ),
    depends=(
        Depends(
            "figure 3b: InfiniBand is ahead from, words",
            "count",
            ahead_from,
            "switch cycle write read dma cached mpi_latency message",
            quick="write",
            pinged=(),
        ),
        Depends(
            "figure 3b: 32 to 128 words, InfiniBand over the Data Vortex, least",
            "times",
            least_lead,
            "write read dma cached mpi_latency message",
            pinged=(),
        ),
        Depends(
            "figure 3b: the Data Vortex is ahead again up to, words",
            "count",
            again,
            "dma mpi_latency message rendezvous eager",
            quick="rendezvous",
            pinged=(),
        ),
    ),
)
def figure3(
    given: VortexAssumptions, sizes: Sequence[int] = SIZES, pinged: Sequence[int] = PINGED
) -> dict[str, dict[int, float]]:
    """Throughputs by way and bytes of a message; on simulated VICs of the sizes `pinged`."""
    vortex, _ = machines(given)
    figures = figures_of(given)
    found: Rates = {}
    for way, rate in ((DIRECT, figures.direct_write), (CACHED, given.cached), (DMA, figures.peak)):
        begin, end = _HOPS["DMA" if way == DMA else "direct"]
        first = plan_by_path(_message(1), vortex, [begin, _NETWORK, end]).seconds
        found[way] = {words * WORD: words * WORD / (first + (words - 1) * WORD / rate) for words in sizes}
    messages = message_curve(figures)
    one = dict(messages.measured or messages.samples)  # what a single message reaches
    found[MPI] = {n * WORD: n * WORD / (figures.latency + n * WORD / one[n * WORD]) for n in sizes}
    plans = {words * WORD: plan(_message(words), vortex, "full").seconds for words in sizes}
    for words in pinged:
        rates = [ping_pong(vics(given, 2), words, 1, way).rate for way in ("cached", "DMA") if way == "DMA" or words < DMA_ALONE]
        found.setdefault(SIMULATED, {})[words * WORD] = max(rates)
    return found | {PLANNED: {nbytes: nbytes / seconds for nbytes, seconds in plans.items()}}
