"""Figure 11: layouts of applications beside other libraries (section V-D)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.planner import Transfer
from isoviz.planner.explanation.handshake import handshake
from isoviz.reproduce import Bars, Claim, Columns, Depends, Group, bars_of, experiment, under
from isoviz.reproduce.umr.assumptions import (
    BLOCKS,
    CONTIGUOUS,
    KIB,
    PACKED,
    UMR,
    UmrAssumptions,
    carried_out,
    layout,
    machine,
    seconds,
    vector,
)

LAYOUTS = (
    *[f"MILC {grid}" for grid in "ABCD"],
    *[f"NAS_MG_y {grid}" for grid in "ABC"],
    *[f"SPECFEM3D_mt {grid}" for grid in "ABC"],
)
_ONE = "one number, assumed, gives this and the two others like it: a copy of a block takes 6.67 µs"
_RECEIVER = "the receiver is contiguous, as in DDTBench, and unpacks nothing; if it were scattered, both would be larger"
_EXCLUDED = (
    "figures 2 and 11c exclude it: where packing is 40 % of pack-gdr, UMR gains 1.67 × at most, and large blocks are bound by the"
    " wire; the baseline of this figure must be another one than the pack-gdr of figure 10"
)


def _moved(name: str, given: UmrAssumptions) -> Transfer:
    """A layout; that of SPECFEM3D_mt with the receiver's end that is assumed."""
    transfer = layout(name)
    if "SPECFEM" in name and given.receiver != CONTIGUOUS:
        return vector(transfer.nbytes // (4 * KIB), 4 * KIB)
    return transfer


def gains(found: Any, application: str, over: str) -> list[float]:
    """By how much UMR is faster than a scheme, for the layouts of an application."""
    return [row[over] / row[UMR] for row in found if row["layout"].startswith(application)]


def _least(application: str, over: str) -> Any:
    return lambda found: min(gains(found, application, over))


def _most(application: str, over: str) -> Any:
    return lambda found: max(gains(found, application, over))


def _claim(letter: str, application: str, over: str, which: str, paper: str, bound: Any) -> Claim:
    what, ours = f"{application}: {over} over UMR, {which}", (_least if which == "least" else _most)(application, over)
    return Claim(what, paper, bound, ours, "times", where=f"V-D, figure 11{letter}")


def _bars(application: str) -> Any:
    def groups(found: Any) -> list[Group]:
        rows = [row for row in found if row["layout"].startswith(application)]
        return [
            Group(row["layout"], "", bars_of(row, {BLOCKS: "line", PACKED: "predicted", UMR: "measured"}, "seconds"))
            for row in rows
        ]

    return groups


def _depends(place: str, application: str, over: str, on: str, **few: Any) -> Depends:
    ours = _least(application, over)
    return Depends(
        f"figure {place}: {over} over UMR, least",
        "times",
        ours,
        on,
        layouts=[each for each in LAYOUTS if application in each],
        **few,
    )


_LEGEND = (("line", "a copy for every block (Open MPI with UCX)"), ("predicted", "pack-gdr (MVAPICH2-GDR)"), ("measured", "UMR"))


@experiment(
    "figure 11",
    "layouts of applications",
    section="V-D",
    claims=(
        _claim("a", "MILC", PACKED, "least", "at least 15 % better", (1.15, None)),
        _claim("a", "MILC", BLOCKS, "least", "at least 10 ×", (10, None)).because(_ONE),
        _claim("b", "NAS_MG", PACKED, "least", "at least 50 % better", (1.5, None)).because(_EXCLUDED),
        _claim("b", "NAS_MG", BLOCKS, "most", "about 30 ×", 30).because(_ONE),
        _claim("c", "SPECFEM3D", PACKED, "least", "nearly 20 % better", 1.2).because(_RECEIVER),
        _claim("c", "SPECFEM3D", BLOCKS, "most", "about 20 ×", 20).because(_RECEIVER),
    ),
    shows=(
        *[
            under(name, f"_{letter}", Bars(_LEGEND, _bars(name)))
            for letter, name in zip("abc", ("MILC", "NAS_MG_y", "SPECFEM3D_mt"), strict=True)
        ],
        Columns(
            (
                ("layout", "layout"),
                ("runs at the source", "runs", "count"),
                ("bytes of a run", "run", "bytes"),
                ("keys", "keys", "count"),
                (PACKED, PACKED, "seconds"),
                (BLOCKS, BLOCKS, "seconds"),
                (UMR, UMR, "seconds"),
            )
        ),
    ),
    depends=(
        _depends("11a", "MILC", PACKED, "launch pack handshake wire post gather runs_of_key"),
        _depends("11a", "MILC", BLOCKS, "block handshake wire"),
        _depends("11b", "NAS_MG", PACKED, "launch pack handshake wire post gather runs_of_key"),
        _depends("11c", "SPECFEM", PACKED, "launch pack handshake wire post gather runs_of_key receiver"),
        _depends("11c", "SPECFEM", BLOCKS, "block receiver"),
    ),
)
def figure11(given: UmrAssumptions, layouts: Sequence[str] = LAYOUTS) -> list[dict[str, Any]]:
    """Seconds of layouts by scheme, with what is kept there already."""
    rows = []
    for name in layouts:
        transfer = _moved(name, given)
        told = handshake(carried_out(UMR, transfer, given), machine=machine("theta-gpu", given), start=2)
        ours = {scheme: seconds(scheme, transfer, given) for scheme in (PACKED, BLOCKS, UMR)}
        runs = told.source_runs
        rows.append({"layout": name, "runs": runs, "run": transfer.nbytes // runs, "keys": told.keys, **ours})
    return rows
