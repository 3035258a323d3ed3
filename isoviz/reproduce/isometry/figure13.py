"""Figure 13: PageRank's transfers with Isometry's optimisations switched off one after the other (section 6.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isoviz.document import Quantity, times
from isoviz.reproduce import Bar, Bars, Claim, Columns, Group, Row, experiment
from isoviz.reproduce.isometry.applications import Features, isometry_seconds, realm_seconds
from isoviz.reproduce.isometry.assumptions import Assumptions, cluster
from isoviz.reproduce.isometry.figure12 import application
from isoviz.reproduce.plots import OURS, THEIRS

NODES = 16
STEPS = (
    ("Isometry", Features()),
    ("Realm's paths", Features(paths=False)),
    ("and no pipelining", Features(paths=False, pipelined=False)),
    ("and one in flight", Features(paths=False, pipelined=False, in_flight=False)),
)
"""Parts that are switched off, cumulatively as in the paper; the last step is Realm itself."""


def factor(found: Any, step: int, which: str = "together") -> float:
    """The cost of a step: its seconds divided by those of the step before."""
    return float(found[which][step] / found[which][step - 1])


def _pipelining(found: Any) -> str:
    return (
        "the sum of all hops by the slowest of them. With all transfers of a node at once it is"
        f" {times(factor(found, 2))} as long as each channel has its own worker, since different transfers then overlap; Realm's"
        f" threads, which take whole copies in order of arrival, undo that: another {times(factor(found, 4))} (last step)."
    )


def _groups(found: Any) -> list[Group]:
    groups, last = [], len(found["names"]) - 1
    for label, which in (("all transfers", "together"), ("one transfer", "alone")):
        for k, (name, seconds) in enumerate(zip(found["names"], found[which], strict=True)):
            token, ratio = OURS if k == 0 else THEIRS if k == last else "dim0", seconds / found[which][0]
            bar = Bar(((token, ratio),), f"{Quantity(seconds, 'seconds')} ({times(ratio)})")
            groups.append(Group(name, label, (bar,), times(factor(found, k, which)) if k else ""))
    return groups


def _rows(found: Any) -> list[Row]:
    return [
        {"name": name, **{which: found[which][k] for which in ("together", "alone")}}
        | {f"{which} step": times(factor(found, k, which)) if k else "" for which in ("together", "alone")}
        for k, name in enumerate(found["names"])
    ]


@experiment(
    "figure 13",
    "optimisations switched off in turn",
    section="6.5",
    claims=(
        Claim("PageRank: speedup by paths, one transfer", "1.6 ×", 1.6, lambda found: factor(found, 1, "alone"), "times").because(
            lambda found: (
                f"all at once: {times(factor(found, 1))}. While pipelined, a path is as fast as its slowest hop, the network; out"
                f" of REG that is {times(found['network'])} as fast as out of Realm's temporary instances, as on Sapling (assumed"
                " of XStream)."
            )
        ),
        Claim(
            "PageRank: speedup by pipelining, one transfer", "2.2 ×", 2.2, lambda found: factor(found, 2, "alone"), "times"
        ).because(_pipelining),
        Claim(
            "PageRank: speedup by requests in flight, all transfers",
            *("the remainder, no figure", None, lambda found: factor(found, 3), "times"),
        ).because("the latency that one request at a time leaves open, on the network only"),
        Claim(
            "PageRank: Isometry over Realm, all transfers",
            *("more than 1.6 × 2.2", (3.52, None), lambda found: found["together"][-1] / found["together"][0], "times"),
        ).because(
            lambda found: (
                f"the steps multiply: {' · '.join(times(factor(found, step)) for step in range(1, len(found['names'])))};"
                " it is what figure 12 has on 16 nodes"
            )
        ),
    ),
    shows=(
        Bars(
            ((OURS, "Isometry"), ("dim0", "switched off, cumulatively"), (THEIRS, "Realm")),
            _groups,
            "÷ before",
            "PageRank's transfers on 16 nodes",
        ),
        Columns(
            (
                ("switched off", "name"),
                ("all transfers", "together", "seconds"),
                ("÷ before", "together step", "set right"),
                ("one transfer", "alone", "seconds"),
                ("÷ before", "alone step", "set right"),
            ),
            _rows,
            "PageRank's transfers on 16 nodes",
        ),
    ),
)
def figure13(given: Assumptions) -> dict[str, Any]:
    """Seconds of PageRank's transfers, by the parts that are switched off: all transfers of an iteration on 16 nodes, and one
    transfer between two GPUs on its own. `network`: how much faster it is out of REG than out of Realm's temporary instances."""
    whole = application("PageRank", given)
    first = next(move for move in whole.phases(NODES)[0] if (move.here, move.there) == (0, 1))
    single = replace(whole, phases=lambda _: ((first,),), alike=False)
    machine = cluster(whole.cluster, given)
    registered, plain = (machine.between(f"node0.{kind}", "node1.sys")[0] for kind in ("reg", given.temporaries))
    together = [isometry_seconds(whole, NODES, given, features) for _, features in STEPS]
    alone = [isometry_seconds(single, 2, given, features) for _, features in STEPS]
    return {
        "names": [*(name for name, _ in STEPS), "Realm"],
        "network": registered.peak / plain.peak,
        "together": [*together, realm_seconds(whole, NODES, given)],
        "alone": [*alone, realm_seconds(single, 2, given)],
    }
