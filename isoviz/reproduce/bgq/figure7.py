"""Figure 7: the routing policy in the search for paths saves proxies (section 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isoviz.document import Part, Table, change
from isoviz.reproduce import Claim, Curves, Depends, experiment
from isoviz.reproduce.bgq.assumptions import KIB, MIB, BgqAssumptions, machine, torus_of
from isoviz.reproduce.bgq.messages import MESSAGES, QUICK, paths_between, several_paths, throughput

NODES = 512
PAIR = 0, "2.2.1.3.0"
"""Two nodes with up to four proxies on the longest path, as in the paper, where the search knows no policy."""
ORDERS = {"any": "any order", "reverse": "reverse of the routing", "routing": "order of the routing"}


def gains(found: Any) -> dict[int, float]:
    """What the order of the routing gains over any order, by the size of messages."""
    return {nbytes: rate / found["curves"]["any"][nbytes] - 1 for nbytes, rate in found["curves"]["routing"].items()}


def _medium(found: Any) -> list[float]:
    return [gain for nbytes, gain in gains(found).items() if 64 * KIB <= nbytes <= 4 * MIB]


def longest(order: str) -> Callable[[Any], int]:
    """The proxies on the longest path."""
    return lambda found: int(max(found["proxies"][order]))


def _proxies(found: Any, *_: str) -> list[Part]:
    rows = [(ORDERS[order], *map(str, each)) for order, each in found["proxies"].items()]
    header = ("links are followed in", *(f"path {k}" for k in range(1, 1 + max(map(len, found["proxies"].values())))))
    return [Table(header, rows, "Proxies of the nine paths", range(1, len(header)))]


@experiment(
    "figure 7",
    "nine paths by the order of the search",
    section="5.3",
    quick={"sizes": QUICK["sizes"][-4:]},
    claims=(
        Claim("proxies on the longest path, no policy in the search", "4", 4, longest("any"), "count").put_in(
            "the pair is chosen by it: the paper names none"
        ),
        Claim("proxies on the longest path, with the routing policy", "3", 3, longest("routing"), "count").because(
            lambda found: (
                "links are followed in the order of the routing. In reverse order, which section 4.4 asks for, a breadth-first"
                f" search comes to {longest('reverse')(found)}: a router is then reached by the dimension of lowest priority"
                " first, after which each further dimension needs a proxy. Only the order of the routing finds the direct path as"
                " well"
            )
        ),
        Claim(
            "gain by the policy, 64 KB to 4 MB, largest", "about 10 %", 0.1, lambda found: max(_medium(found)), "change"
        ).because(
            lambda found: (
                f"at least {change(min(_medium(found)))} in these sizes; the longest path ends last in equal parts, and all paths"
                " are shorter here, not only the longest"
            )
        ),
        Claim("gain by the policy, largest message", "negligible", None, lambda found: gains(found)[max(gains(found))], "change"),
    ),
    shows=(Curves(lambda found: {ORDERS[order]: curve for order, curve in found["curves"].items()}), _proxies),
    depends=(
        Depends("figure 7: gain by the policy, 1 MB", "change", lambda found: gains(found)[MIB], "pami_message", sizes=(MIB,)),
    ),
)
def figure7(given: BgqAssumptions, sizes: Sequence[int] = MESSAGES) -> dict[str, Any]:
    """For each order in which the search follows links: the throughput of nine paths, and the proxies of each path."""
    partition = machine(NODES, given)
    torus = torus_of(partition)
    pair = PAIR[0], torus.topology.router(PAIR[1])
    curves, proxies = {}, {}
    for order in ORDERS:
        (paths,) = paths_between(torus, [pair], order)
        curves[order] = {nbytes: throughput(several_paths(partition, paths, nbytes), partition) for nbytes in sizes}
        proxies[order] = [len(path) - 2 for path in paths]
    return {"curves": curves, "proxies": proxies}
