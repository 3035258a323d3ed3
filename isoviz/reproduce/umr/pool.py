"""Section IV-E: the pool of keys. They are made beforehand, and a separate thread makes new ones when half of them are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from isoviz import checks
from isoviz.machines.presets.gpu_clusters import KEY_SECONDS
from isoviz.reproduce import Claim, Columns, Depends, experiment
from isoviz.reproduce.umr.assumptions import UmrAssumptions

BURSTS = ((1, 64), (10, 64), (50, 64), (1, 4096))
"""New layouts that come one after the other, and the blocks of each."""


class Served(NamedTuple):
    """A request for keys: when it was made and when it had all of them, in seconds, and how many keys the pool then had left."""

    asked: float
    served: float
    left: int

    @property
    def waited(self) -> float:
        """Seconds until it had its keys."""
        return self.served - self.asked


@dataclass(frozen=True)
class KeyPool:
    """A pool of keys of a network card. It is full at first.

    Once at most half of `size` keys are left, a thread makes `refill` more, one after the other, each in `seconds`. Who finds too
    few keys takes what there is, and each further key as soon as it is made.

    Raises:
        InputError: `size` or `refill` is below 1, or `seconds` is negative.
    """

    size: int
    refill: int
    seconds: float = KEY_SECONDS

    def __post_init__(self) -> None:
        checks.count("pool of keys", "size", self.size, low=1)
        checks.count("pool of keys", "refill", self.refill, low=1)
        checks.amount("pool of keys", "seconds", self.seconds)

    def serve(self, requests: Iterable[tuple[float, int]]) -> list[Served]:
        """What becomes of requests (second, number of keys) in their order. Each waits for the one before."""
        free, made, now, found = self.size, deque[float](), 0.0, []
        for asked, wanted in requests:
            now, missing = max(now, asked), wanted
            while made and made[0] <= now:
                made.popleft()
                free += 1
            while True:
                taken = min(free, missing)
                free, missing = free - taken, missing - taken
                if not made and free <= self.size / 2:
                    made.extend(now + self.seconds * (number + 1) for number in range(self.refill))
                if not missing:
                    break
                now, free = made.popleft(), free + 1
            found.append(Served(asked, now, free))
        return found


def _rows(found: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found
    return rows


@experiment(
    "section IV-E",
    "a burst of new layouts, and the pool of keys",
    claims=(
        Claim(
            "a key that is made while a transfer waits for it",
            "about 200 µs",
            KEY_SECONDS,
            lambda found: found[-1]["waited"] / found[-1]["missing"],
            "seconds",
            where="III-B",
        ).put_in("200 µs for each key belong to the pool, which is filled beforehand; no other figure here contains them"),
        Claim(
            "a layout of 64 blocks finds its keys in the pool: it waits",
            "not at all",
            None,
            lambda found: found[0]["waited"],
            "seconds",
        ),
    ),
    depends=(
        Depends(
            "section IV-E: 50 new layouts of 64 blocks wait",
            "seconds",
            lambda found: found[0]["waited"],
            "pool runs_of_key",
            quick="pool",
            bursts=((50, 64),),
        ),
    ),
    shows=(
        Columns(
            (
                ("new layouts, one after the other", "layouts", "count"),
                ("keys of each", "keys", "count"),
                ("keys in the pool", "pool", "count"),
                ("keys missing", "missing", "count"),
                ("all transfers wait", "waited", "seconds"),
            ),
            _rows,
        ),
    ),
)
def burst(given: UmrAssumptions, bursts: Sequence[tuple[int, int]] = BURSTS) -> list[dict[str, Any]]:
    """How long transfers wait for keys when several new layouts come at once: (layouts, blocks of each)."""
    pool = KeyPool(given.pool, given.pool // 2)
    rows = []
    for layouts, blocks in bursts:
        keys = -(-blocks // given.runs_of_key)
        served = pool.serve([(0.0, keys)] * layouts)
        missing = max(0, layouts * keys - pool.size)
        rows.append({"layouts": layouts, "keys": keys, "pool": pool.size, "missing": missing, "waited": served[-1].served})
    return rows
