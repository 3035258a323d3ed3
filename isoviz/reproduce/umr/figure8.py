"""Figure 8: UMR with and without its caches (section IV-F)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.reproduce import Claim, Curves, Depends, experiment, named
from isoviz.reproduce.umr.assumptions import KIB, UMR, UmrAssumptions, carried_out, vector

BLOCKS = (16, 32, 64, 128)


def slower(found: Any, blocks: int) -> float:
    """How many times as long UMR takes without its caches."""
    return float(found["default"][blocks] / found["cached"][blocks])


def _claim(blocks: int, times: int) -> Claim:
    what, ours = f"{blocks} blocks: default over cached", lambda found: slower(found, blocks)
    return Claim(what, f"{times} ×", times, ours, "times").fitted("what mapping costs follows from these two figures")


def _depends(blocks: int, on: str) -> Depends:
    def ours(found: Any) -> float:
        return slower(found, blocks)

    return Depends(f"figure 8: {blocks} blocks, default over cached", "times", ours, on, blocks=(blocks,))


@experiment(
    "figure 8",
    "blocks of 1 KB, with and without the caches of UMR",
    section="IV-F",
    claims=(_claim(16, 2), _claim(64, 3)),
    shows=(
        Curves(
            named(default="UMR-default", cached="UMR-cache"),
            ("blocks", "number"),
            ("time of a message", "seconds"),
            lambda name: "measured" if name == "UMR-cache" else "predicted",
        ),
    ),
    depends=(
        _depends(16, "handshake post runs_of_key map_key map_run exchange"),
        _depends(64, "handshake post gather runs_of_key map_key map_run exchange"),
    ),
)
def figure8(given: UmrAssumptions, blocks: Sequence[int] = BLOCKS) -> dict[str, dict[int, float]]:
    """Seconds of a vector with blocks of 1 KB, by their number: the first start, and each later one."""
    plans = {count: carried_out(UMR, vector(count, KIB), given, "mri") for count in blocks}
    return {
        "default": {count: plan.first for count, plan in plans.items()},
        "cached": {count: plan.again for count, plan in plans.items()},
    }
