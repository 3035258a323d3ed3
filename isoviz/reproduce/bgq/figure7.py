"""Figure 7: the routing policy in the search for paths saves proxies (section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.reproduce.bgq.assumptions import KIB, MIB, machine, torus_of
from isoviz.reproduce.bgq.curves import Curve, throughput_figure
from isoviz.reproduce.bgq.messages import MESSAGES, several_paths, throughput
from isoviz.reproduce.bgq.paths import paths_between
from isoviz.reproduce.figure import Grid, Section
from isoviz.reproduce.statement import Statement, change

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions

NODES = 512
PAIR = 0, "2.2.1.3.0"
"""Two nodes with up to four proxies on the longest path, as in the paper, where the search knows no policy."""
ORDERS = {"any": "any order", "reverse": "reverse of the routing", "routing": "order of the routing"}


@dataclass(frozen=True)
class Orders:
    """For each order in which the search follows links: the throughput of nine paths, and the proxies of each path."""

    curves: dict[str, Curve]
    proxies: dict[str, tuple[int, ...]]

    def gain(self, nbytes: int) -> float:
        """What the order of the routing gains over any order."""
        return self.curves["routing"][nbytes] / self.curves["any"][nbytes] - 1


def figure7(given: BgqAssumptions, sizes: Sequence[int] = MESSAGES) -> Orders:
    """All orders."""
    partition = machine(NODES, given)
    torus = torus_of(partition)
    pair = PAIR[0], torus.topology.router(PAIR[1])
    curves, proxies = {}, {}
    for order in ORDERS:
        (paths,) = paths_between(torus, [pair], order)
        curves[order] = {nbytes: throughput(several_paths(partition, paths, nbytes), partition) for nbytes in sizes}
        proxies[order] = tuple(len(path) - 2 for path in paths)
    return Orders(curves, proxies)


def medium_gain(given: BgqAssumptions) -> float:
    """The gain for messages of 1 MiB."""
    return figure7(given, (MIB,)).gain(MIB)


def statements(found: Orders) -> tuple[Statement, ...]:
    """Beside the paper."""
    sizes = sorted(found.curves["any"])
    medium = [nbytes for nbytes in sizes if 64 * KIB <= nbytes <= 4 * MIB]
    gains = [found.gain(nbytes) for nbytes in medium]
    counts = {order: max(each) for order, each in found.proxies.items()}
    return (
        Statement(
            *("5.3, figure 7", "proxies on the longest path, no policy in the search", "4", 4, 4, counts["any"], "count"),
            "the pair is chosen by it: the paper names none",
            given=True,
        ),
        Statement(
            *("5.3, figure 7", "proxies on the longest path, with the routing policy", "3", 3, 3, counts["routing"], "count"),
            "links are followed in the order of the routing. In reverse order, which section 4.4 asks for, a breadth-first search"
            f" comes to {counts['reverse']}: a router is then reached by the dimension of lowest priority first, after which each"
            " further dimension needs a proxy. Only the order of the routing finds the direct path as well",
        ),
        Statement(
            *("5.3, figure 7", "gain by the policy, 64 KB to 4 MB, largest", "about 10 %", 0.1, 0.1, max(gains), "change"),
            f"at least {change(min(gains))} in these sizes; the longest path ends last in equal parts, and all paths are shorter"
            " here, not only the longest",
        ),
        Statement(
            *("5.3, figure 7", "gain by the policy, largest message", "negligible", None, None, found.gain(sizes[-1]), "change"),
        ),
    )


def section(found: Orders) -> Section:
    """The figure, and the proxies."""
    figure = throughput_figure(
        "figure7", "Figure 7: nine paths by the order of the search", {ORDERS[order]: found.curves[order] for order in ORDERS}
    )
    rows = [(ORDERS[order], *map(str, each)) for order, each in found.proxies.items()]
    header = ("links are followed in", *(f"path {k}" for k in range(1, 1 + max(map(len, found.proxies.values())))))
    return Section("Figure 7: fewer proxies", (figure, Grid("Proxies of the nine paths", header, rows)))
