"""Tables I and II, and the number of keys of section III-C."""

from __future__ import annotations

from typing import Any

from isoviz.layouts.windows import agreed_window, windows
from isoviz.machines.channel_kinds.umr import KEY_BYTES
from isoviz.machines.presets.gpu_clusters import CLUSTERS, NIC
from isoviz.planner.explanation.handshake import handshake
from isoviz.reproduce import Claim, Columns, experiment
from isoviz.reproduce.umr.assumptions import KIB, UMR, UmrAssumptions, carried_out, layout, machine

BLOCKS, OF_A_KEY = 4096, 4


@experiment(
    "section III-C",
    "keys of a layout with 4,096 blocks",
    claims=(
        Claim("4,096 blocks, 4 for each key: keys", "1,024", 1024, "keys", "count"),
        Claim("4,096 blocks, 4 for each key: bytes of the keys", "4 KB", 4 * KIB, "bytes", "bytes").because(
            "a key of 4 bytes is read from this"
        ),
    ),
    shows=(
        Columns(
            (
                ("runs at the source", "source", "count"),
                ("runs at the destination", "destination", "count"),
                ("bytes of a window", "window", "bytes"),
                ("keys of each end", "keys", "count"),
            ),
            lambda found: found["rows"],
            "A key for at most 4 runs of either end. The window suits both: fewer runs at one end do not help",
        ),
    ),
)
def keys(given: UmrAssumptions) -> dict[str, Any]:  # noqa: ARG001  # nothing of it depends on costs
    """The keys of 4,096 blocks of 1 KB, and of the same data in other blocks at the other end."""
    rows = []
    blocks = [KIB] * BLOCKS
    for others in (1, BLOCKS // 4, BLOCKS, 4 * BLOCKS):
        there = [KIB * BLOCKS // others] * others
        window = agreed_window(blocks, there, OF_A_KEY)
        count = windows(blocks, window).keys
        rows.append({"source": BLOCKS, "destination": others, "window": window, "keys": count})
    same = next(row["keys"] for row in rows if row["destination"] == BLOCKS)
    return {"keys": same, "bytes": same * KEY_BYTES, "rows": rows}


APPLICATIONS = (
    ("NAS", "MPI_Type_Vector", "2D, 3D face exchange", "NAS_MG_y A"),
    ("MILC", "MPI_Type_Vector, MPI_Type_Contiguous", "4D face exchange", "MILC A"),
    ("Specfem3D", "MPI_Type_Vector, MPI_Type_Indexed", "unstructured exchange", "SPECFEM3D_mt A"),
)
"""Table I: applications, their datatypes and their exchanges; and a pattern of isoviz for each."""


@experiment(
    "table I",
    "datatypes of applications, and the same data as transfers",
    shows=(
        Columns(
            (
                ("application", "application"),
                ("MPI datatypes", "datatypes"),
                ("exchange", "exchange"),
                ("here", "pattern"),
                ("runs", "runs", "count"),
                ("bytes", "bytes", "bytes"),
                ("keys", "keys", "count"),
            )
        ),
    ),
)
def table1(given: UmrAssumptions) -> list[dict[str, Any]]:
    """Table I, with a pattern of each application as boxes of arrays. MPI_Type_Indexed would be a list of entries."""
    rows = []
    for application, datatypes, exchange, name in APPLICATIONS:
        transfer = layout(name)
        told = handshake(carried_out(UMR, transfer, given), machine=machine("theta-gpu", given))
        rows.append(
            {
                "application": application,
                "datatypes": datatypes,
                "exchange": exchange,
                "pattern": name,
                "runs": told.source_runs,
                "bytes": transfer.nbytes,
                "keys": told.keys,
            }
        )
    return rows


@experiment(
    "table II",
    "the clusters, as presets",
    section="V-A",
    shows=(
        Columns(
            (
                ("preset", "preset"),
                ("nodes", "nodes", "count"),
                ("GPUs of a node", "gpus", "count"),
                ("host memory", "dram", "bytes"),
                ("network cards of a node", "cards", "count"),
                ("each", "card", "rate"),
            )
        ),
    ),
)
def table2(given: UmrAssumptions) -> list[dict[str, Any]]:  # noqa: ARG001  # nothing of it depends on costs
    """Table II: what the presets take from it."""
    return [
        {
            "preset": name,
            "nodes": cluster.nodes,
            "gpus": cluster.gpus,
            "dram": cluster.dram,
            "cards": cluster.gpus if cluster.rails else 1,
            "card": NIC,
        }
        for name, cluster in CLUSTERS.items()
    ]
