"""Figure 12: the applications on more and more nodes, with the same work on each node (section 6.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from isoviz.document import Quantity, change, share
from isoviz.reproduce import Bar, Bars, Claim, Columns, Depends, Group, Row, Shown, experiment, under
from isoviz.reproduce.isometry.applications import APPLICATIONS, Application, isometry_seconds, realm_seconds
from isoviz.reproduce.isometry.assumptions import Assumptions
from isoviz.reproduce.plots import OTHER, OURS, THEIRS

CIRCUIT_NODES = 64
"""The largest run of Circuit, at which the paper gives the share of communication."""
_STEP = (
    "it depends on how Realm's threads fall into step: with as many threads as transfers, as on 4 nodes, they do all first hops,"
    " then all second ones"
)


@lru_cache(maxsize=64)
def application(name: str, given: Assumptions) -> Application:
    """An application with its compute time. That of Circuit follows from the share of communication that the paper gives."""
    app = APPLICATIONS[name](given)
    if name != "Circuit":
        return app
    communication = realm_seconds(app, CIRCUIT_NODES, given)
    return replace(app, compute=communication * (1 - given.circuit_share) / given.circuit_share)


def _saved(name: str, pick: Callable[[Any], float], why: str = "", first: int = 1) -> Claim:
    """The least or the most that is saved of the communication, from a number of nodes on."""

    def what(found: Any) -> str:
        nodes = [row["nodes"] for row in found[name] if row["nodes"] >= first]
        return f"{name} on {nodes[0]} to {nodes[-1]} nodes: communication, {'least' if pick is max else 'most'} saved"

    def ours(found: Any) -> float:
        return pick(row["communication"] for row in found[name] if row["nodes"] >= first)

    return Claim(what, "−40 to −80 %", (-0.80, -0.40), ours, "change").because(why)


def _run(found: Any, *names: str) -> float:
    return min(float(row["overall"]) for name in names for row in found[name])


def _computing(found: Any) -> str:
    vgg = found["VGG-16"]
    return (
        f"PageRank's; VGG-16's run gains {change(_run(found, 'VGG-16'))} at most, since an iteration of"
        f" {vgg[0]['compute']:.1f} s computing is assumed (communication: {share(vgg[-1]['realm_share'])} of Realm's run)"
    )


def _circuit(what: str, paper: float, key: str) -> Claim:
    what = f"Circuit on {CIRCUIT_NODES} nodes: {what}"
    unit, text = ("share", share(paper)) if paper > 0 else ("change", change(paper))
    return Claim(what, text, paper, ("Circuit", -1, key), unit, "6.5", full=True)


def _shown(name: str) -> Shown:
    def group(row: Row) -> Group:
        bars = [
            Bar(((OTHER, row["compute"]), (token, row[key])), str(Quantity(row["compute"] + row[key], "seconds")))
            for token, key in ((OURS, "isometry"), (THEIRS, "realm"))
        ]
        said = f"{change(row['communication'])} / {change(row['overall'])}"
        return Group(f"{row['nodes']} node{'s'[: row['nodes'] > 1]}", "", tuple(bars), said)

    legend = ((OTHER, "computing"), (OURS, "communication, Isometry"), (THEIRS, "Realm"))
    columns = (
        ("nodes", "nodes", "count"),
        ("computing", "compute", "seconds"),
        ("Isometry: communication", "isometry", "seconds"),
        ("Realm: communication", "realm", "seconds"),
        ("its share", "realm_share", "share"),
        ("communication", "communication", "change"),
        ("whole run", "overall", "change"),
    )
    bars = Bars(legend, lambda found: map(group, found[name]), "communication / run", f"{name}: an iteration")
    return under(name, f"-{name.lower()}", bars, Columns(columns, lambda found: found[name]))


def _depends(name: str, said: str, key: str, on: str, quick: str = "", **few: Any) -> Depends:
    nodes = "1 node" if few else "{given.nodes} nodes"
    few = few or {"only": True}
    return Depends(f"{name}, {nodes}: {said}", "change", (name, 0, key), on, quick=quick, names=(name,), **few)


@experiment(
    "figure 12",
    "applications on more and more nodes",
    section="6.5",
    quick={"most": 4},
    claims=(
        _saved("PageRank", max, _STEP, 2),
        _saved("PageRank", min, _STEP, 2),
        _saved("VGG-16", max),
        _saved("VGG-16", min),
        Claim(
            "PageRank and VGG-16: whole run, most saved",
            *("up to −60 %", -0.60, lambda found: _run(found, "PageRank", "VGG-16"), "change"),
        ).because(_computing),
        Claim(
            "VGG-16 on one node (direct transfers that convert): communication",
            *("−44 %", -0.44, ("VGG-16", 0, "communication"), "change", "6.5"),
        ).because(
            "Isometry converts on the way into ZCM while the GPU reads; Realm's model converts in SYS first and then copies. The"
            " bandwidths of Memcpy and GPUWrite on XStream, which decide it, are assumed."
        ),
        _circuit("communication in Realm's run", 0.36, "realm_share").put_in("the compute time was set so"),
        _circuit("communication", -0.43, "communication").because(
            "sizes and kinds of the master's transfers are assumed; it moves with the number of DMA threads and with the"
            " bandwidth of the GPUs' links, which are assumed as well (see the table of assumptions)"
        ),
        _circuit("whole run", -0.16, "overall").because("follows from the two figures above it"),
    ),
    shows=tuple(_shown(name) for name in APPLICATIONS),
    depends=(
        _depends(
            *("PageRank", "communication", "communication"),
            "threads worker temporaries page_rank_gpus page_rank_bytes latency gpu_link memcpy",
            "threads",
        ),
        _depends("PageRank", "whole run", "overall", "page_rank_bytes page_rank_compute"),
        _depends("VGG-16", "communication", "communication", "conversion vgg_batch gpu_link memcpy", most=1),
        _depends("VGG-16", "communication", "communication", "threads worker temporaries vgg_batch gpu_link", "threads"),
        _depends("VGG-16", "whole run", "overall", "vgg_batch vgg_rate"),
        _depends(
            *("Circuit", "communication", "communication"),
            "threads worker temporaries circuit_bytes circuit_ratio latency gpu_link",
            "threads circuit_bytes",
        ),
    ),
)
def figure12(
    given: Assumptions, names: Sequence[str] = tuple(APPLICATIONS), most: int = CIRCUIT_NODES, only: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """An iteration of applications on up to `most` nodes, or `only` on those of the table of assumptions, in seconds: computing,
    and communication by Isometry and by Realm. `communication` and `overall` are Isometry's against Realm's: −0.4 is 40 %
    less."""
    found = {}
    for name in names:
        app = application(name, given)
        found[name] = [_point(app, n, given) for n in ((given.nodes,) if only else app.sizes) if n <= most]
    return found


def _point(app: Application, nodes: int, given: Assumptions) -> dict[str, Any]:
    ours, realm = isometry_seconds(app, nodes, given), realm_seconds(app, nodes, given)
    return {
        "nodes": nodes,
        "compute": app.compute,
        "isometry": ours,
        "realm": realm,
        "communication": ours / realm - 1.0,
        "overall": (app.compute + ours) / (app.compute + realm) - 1.0,
        "realm_share": realm / (app.compute + realm),
    }
