"""What a benchmark measured: rows for people and for programs, with the machine and the date."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def _machine() -> dict[str, Any]:
    import numpy as np

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Table:
    """Rows of one benchmark. `columns` maps keys of the rows to (heading, how to write a value)."""

    name: str
    title: str
    columns: Mapping[str, tuple[str, Callable[[Any], str]]]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    machine: Mapping[str, Any] = field(default_factory=_machine)

    def to_json(self) -> dict[str, Any]:
        """One JSON object; rates in bytes per second, times in seconds, ratios plain."""
        return {
            "benchmark": self.name,
            "title": self.title,
            "machine": dict(self.machine),
            "rows": [dict(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def to_html(self) -> str:
        """A page, where a benchmark has one (`Suite.page`)."""
        raise NotImplementedError

    def __str__(self) -> str:
        cells = [[heading for heading, _ in self.columns.values()]]
        cells += [[write(row[key]) for key, (_, write) in self.columns.items()] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self.title, ", ".join(f"{value}" if key != "cores" else f"{value} cores" for key, value in self.machine.items())]
        for row in cells:
            first, *rest = row
            padded = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
            lines.append("  ".join(padded).rstrip())
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def interleaved(actions: Mapping[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    """The median time of each action in seconds, all of them in turn, so that what else the computer does hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeat):
        for name, action in actions.items():
            times[name].append(action())
    return {name: statistics.median(seconds) for name, seconds in times.items()}
