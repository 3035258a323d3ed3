"""A transposing read of an array from a disk: the staged path beside the one hop.

A planner that adds up the times of hops prefers the one hop, and cannot place a layout change between two hops (realm issue 404).
That hop reads runs of one entry. Two rows show its cost: with a request for each run, as the prediction assumes, on a part of the
array; and with isoviz's own DiskRead, which reads across the gaps and picks the entries out (data sieving).
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.file_access import ReadFile
from isoviz.backends.pages import PAGE, page_aligned
from isoviz.bench.table import Table, interleaved, scratch_folder
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import Plan, Transfer, plan
from isoviz.units import format_bytes, format_seconds, parse_bytes

MOST_REQUESTS = 5_000
"""Requests of one entry that are issued; the time of the rest is extrapolated."""


def measure(size: int | str = "64MiB", repeat: int = 5, directory: str | Path | None = None) -> Table:
    """Times of a transposing read of a square of float32 of about `size`; medians of `repeat` rounds, everything in turn."""
    side = max(64, int((parse_bytes(size) // 4) ** 0.5))
    with scratch_folder(directory) as folder:
        machine = preset("local", directory=folder)
        path = folder / "square.npy"
        np.save(path, np.random.default_rng(0).random((side, side), dtype=np.float32))
        space, fields = IndexSpace(x=side, y=side), FieldSpace(value="float32")
        transfer = Transfer.whole(space, fields, "node0.dsk", "<F, x, y>", "node0.sys", "<F, y, x>")
        transfer = replace(transfer, source=replace(transfer.source, path=str(path)))
        engine = Engine(machine, ThisComputer())
        result = np.empty((side, side), np.float32)
        staged, one_hop = plan(transfer, machine, "full"), plan(transfer, machine, "direct")

        def run(made: Plan) -> float:
            return engine.run(made, destination=result, verify=False).seconds

        seconds = interleaved(
            {
                "staged": lambda: run(staged),
                "one hop, isoviz reading across gaps": lambda: run(one_hop),
                "one hop, a request for every run": lambda: _by_requests(path, side),
            },
            repeat,
        )
    predicted = {"staged": staged.seconds}
    rows = [
        {
            "by": name,
            "seconds": found,
            "predicted": predicted.get(name, one_hop.seconds),
            "to_staged": found / seconds["staged"],
            "predicted_to_staged": predicted.get(name, one_hop.seconds) / staged.seconds,
        }
        for name, found in seconds.items()
    ]
    return Table(
        "staging",
        f"reading a square of {format_bytes(side * side * 4)} from a disk, transposed: medians of {repeat}",
        {
            "by": ("plan", str),
            "predicted": ("predicted", format_seconds),
            "seconds": ("measured", format_seconds),
            "predicted_to_staged": ("predicted ÷ staged", lambda ratio: f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"),
            "to_staged": ("measured ÷ staged", lambda ratio: f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"),
        },
        rows,
        (f"a request for every run: {min(MOST_REQUESTS, side * side):,} of {side * side:,} issued, the rest counted like them",),
    )


def _by_requests(path: Path, side: int) -> float:
    """Seconds for reading the columns entry by entry, as far as `MOST_REQUESTS` go, scaled to the whole."""
    count = min(MOST_REQUESTS, side * side)
    size = path.stat().st_size
    header, last = size - side * side * 4, (size // PAGE - 1) * PAGE
    file = ReadFile(path)
    entry = page_aligned(PAGE)
    try:
        began = time.perf_counter()
        for number in range(count):
            x, y = divmod(number, side)
            at = header + 4 * (y * side + x)
            file.read_at(min(at // PAGE * PAGE, last), entry)  # unbuffered, a disk reads whole pages
        return (time.perf_counter() - began) / count * side * side
    finally:
        file.close()
