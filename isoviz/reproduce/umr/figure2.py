"""Figures 2 and 3: the share of packing, and of mapping keys, for layouts of MILC (sections III-A and III-B)."""

from __future__ import annotations

from typing import Any

from isoviz.document import share
from isoviz.planner.explanation.handshake import handshake
from isoviz.reproduce import Bars, Claim, Columns, Depends, Group, bars_of, experiment
from isoviz.reproduce.umr.assumptions import PACKED, UMR, UmrAssumptions, carried_out, layout, machine


def most(found: Any, of: str) -> float:
    """The largest share over the grids."""
    return float(max(row[of] for row in found))


def _shares(found: Any, of: str, legend: str) -> list[Group]:
    return [Group(f"MILC {row['grid']}", "", bars_of(row, {of: legend}, "share"), full=1.0) for row in found]


def _said(found: Any, of: str) -> str:
    return f"the least of the three is {share(min(row[of] for row in found))}; the costs were fitted to other figures"


@experiment(
    "figure 2",
    "the share of packing and unpacking",
    section="III-A",
    claims=(
        Claim(
            "MILC by pack-gdr: largest share of packing and unpacking",
            "as high as 40 %",
            0.4,
            lambda f: most(f, "packing"),
            "share",
        ).because(lambda found: _said(found, "packing")),
    ),
    shows=(
        Bars((("measured", "packing and unpacking"),), lambda found: _shares(found, "packing", "measured")),
        Columns(
            (
                ("grid of MILC", "grid"),
                ("bytes", "bytes", "bytes"),
                ("keys", "keys", "count"),
                (PACKED, "packed", "seconds"),
                (UMR, "keyed", "seconds"),
                ("packing and unpacking", "packing", "share"),
                ("mapping", "mapping", "share"),
            )
        ),
    ),
    depends=(
        Depends(
            "figure 2: largest share of packing",
            "share",
            lambda found: most(found, "packing"),
            "launch pack handshake wire post sector grids",
            quick="launch",
        ),
    ),
)
def figure2(given: UmrAssumptions) -> list[dict[str, Any]]:
    """For layouts of MILC, what part of their time packing and unpacking takes, and mapping keys at one end takes."""
    rows = []
    for grid in given.grids:
        transfer = layout(f"MILC {grid}")
        packed = carried_out(PACKED, transfer, given)
        kernels = [full for hop, (full, _) in zip(packed.hops, packed.only.chunk_seconds(), strict=True) if hop.kind == "GPUCopy"]
        keyed = carried_out(UMR, transfer, given)
        told = handshake(keyed, machine=machine("theta-gpu", given))
        mapped = next(each.end - each.start for each in told.messages if each.sender == each.receiver)
        rows.append(
            {
                "grid": grid,
                "bytes": transfer.nbytes,
                "packing": sum(kernels) / packed.seconds,
                "mapping": mapped / (keyed.again + mapped),
                "keys": told.keys,
                "packed": packed.seconds,
                "keyed": keyed.again,
            }
        )
    return rows


figure3 = figure2.further(
    "figure 3",
    "the share of mapping keys",
    section="III-B",
    claims=(
        Claim(
            "MILC by UMR: largest share of mapping, at one end", "similar: 40 %", 0.4, lambda f: most(f, "mapping"), "share"
        ).because(lambda found: _said(found, "mapping")),
    ),
    shows=(Bars((("predicted", "mapping keys"),), lambda found: _shares(found, "mapping", "predicted")),),
    depends=(
        Depends(
            "figure 3: largest share of mapping",
            "share",
            lambda found: most(found, "mapping"),
            "handshake wire post gather runs_of_key map_key map_run grids",
        ),
    ),
)
