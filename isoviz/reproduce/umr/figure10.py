"""Figures 9 and 10: vectors and a stencil, by UMR and by packing (sections V-B and V-C)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from isoviz.reproduce import Claim, Columns, Curves, Depends, by_column, experiment, under
from isoviz.reproduce.umr.assumptions import HOST, KIB, PACKED, STAGED, UMR, UmrAssumptions, layout, seconds, vector

SIZES, BLOCKS = (KIB, 2 * KIB, 4 * KIB), (16, 32, 64, 128)
COLOURS = {UMR: "measured", PACKED: "predicted", STAGED: "dim0", HOST: "dim1"}
"""The schemes, and their colours in the plots."""


def most(found: Any, scheme: str) -> float:
    """The largest factor by which UMR is faster than a scheme."""
    return float(max(row["seconds"] / fastest for row, fastest in _beside(found, scheme)))


def least(found: Any, scheme: str) -> float:
    """The smallest factor."""
    return float(min(row["seconds"] / fastest for row, fastest in _beside(found, scheme)))


def _beside(found: Iterable[Any], scheme: str) -> list[tuple[Any, float]]:
    rows = list(found)
    keyed = {(row["size"], row["blocks"]): row["seconds"] for row in rows if row["scheme"] == UMR}
    return [(row, keyed[row["size"], row["blocks"]]) for row in rows if row["scheme"] == scheme]


def _up_to(scheme: str, times: int) -> Claim:
    what, ours = f"{scheme} over UMR, most", lambda found: most(found, scheme)
    return Claim(what, f"up to {times} ×", times, ours, "times").fitted(
        "what a kernel and a copy cost follow from these two figures"
    )


def _curves(size: int) -> Callable[[Any], Any]:
    return lambda found: by_column("blocks", "seconds", by="scheme")([row for row in found if row["size"] == size])


@experiment(
    "figure 10",
    "vectors, beside schemes that pack",
    section="V-B",
    claims=(
        _up_to(PACKED, 2),
        _up_to(STAGED, 3),
        Claim("pack-gdr over UMR, least", "UMR is faster", (1.0, None), lambda found: least(found, PACKED), "times").because(
            "the paper says up to; with many large blocks the wire decides, which both use"
        ),
    ),
    shows=tuple(
        under(
            f"blocks of {size // KIB} KB",
            f"_{size // KIB}k",
            Curves(_curves(size), ("blocks", "number"), ("time of a message", "seconds"), COLOURS.__getitem__),
        )
        for size in SIZES
    ),
    depends=(
        Depends(
            "figure 10: pack-gdr over UMR, most",
            "times",
            lambda found: most(found, PACKED),
            "launch pack handshake wire post gather runs_of_key",
            quick="launch",
        ),
        Depends(
            "figure 10: pack-stage over UMR, most",
            "times",
            lambda found: most(found, STAGED),
            "launch handshake copy pcie network row message",
        ),
        Depends(
            "figure 10: pack-host over UMR, most", "times", lambda found: most(found, HOST), "launch handshake host_pack network"
        ),
    ),
)
def figure10(given: UmrAssumptions, sizes: Sequence[int] = SIZES, blocks: Sequence[int] = BLOCKS) -> list[dict[str, Any]]:
    """Seconds of vectors by scheme, size and number of their blocks."""
    return [
        {"scheme": scheme, "size": size, "blocks": count, "seconds": seconds(scheme, vector(count, size), given, "mri")}
        for size in sizes
        for count in blocks
        for scheme in COLOURS
    ]


NEIGHBOURS = 2
"""Faces of each direction that a process in the middle sends."""


def exchange(found: Any, scheme: str) -> float:
    """Seconds of all faces by a scheme, one after the other."""
    return float(NEIGHBOURS * sum(row[scheme] for row in found))


def _by_keys(found: Any) -> float:
    return exchange(found, PACKED) / exchange(found, UMR)


def _by_the_better(found: Any) -> float:
    return exchange(found, PACKED) / float(NEIGHBOURS * sum(min(row[PACKED], row[UMR]) for row in found))


_RUNS = "the X faces are 16,384 runs of 8 bytes: no set of costs that fits figures 8 and 10 moves them faster by keys"


@experiment(
    "figure 9",
    "faces of a stencil of 128³ doubles",
    section="V-C",
    claims=(
        Claim("all faces by UMR: pack-gdr over UMR", "2 ×", 2.0, _by_keys, "times").because(_RUNS),
        Claim("each face by the better scheme: pack-gdr over it", "2 ×", 2.0, _by_the_better, "times").because(
            "only the Y faces gain then: their runs have 1 KB; Z faces are contiguous"
        ),
    ),
    shows=(
        Columns(
            (
                ("face", "face"),
                ("runs", "runs", "count"),
                ("bytes of a run", "run", "bytes"),
                (PACKED, PACKED, "seconds"),
                (UMR, UMR, "seconds"),
            )
        ),
    ),
    depends=(
        Depends("figure 9: all faces by UMR", "times", _by_keys, "launch handshake wire post gather runs_of_key sector"),
        Depends(
            "figure 9: each face by the better scheme", "times", _by_the_better, "launch handshake wire post gather runs_of_key"
        ),
    ),
)
def figure9(given: UmrAssumptions) -> list[dict[str, Any]]:
    """Seconds of the faces of a stencil by pack-gdr and by UMR."""
    rows = []
    for face, runs in (("x", 128 * 128), ("y", 128), ("z", 1)):
        transfer = layout(f"stencil 128³, face {face}")
        ours = {scheme: seconds(scheme, transfer, given) for scheme in (PACKED, UMR)}
        rows.append({"face": face.upper(), "runs": runs, "run": transfer.nbytes // runs, **ours})
    return rows
