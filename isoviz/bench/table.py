"""The table of a benchmark: rows for people and for programs, with the machine and the date; and how benchmarks measure."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isoviz.document import Document, Points, Told
from isoviz.document import Table as Cells

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


@dataclass(frozen=True, repr=False)
class Table(Told):
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

    def to_page(self) -> str:
        """The page of a benchmark that has one (`Suite.page`), as Markdown, or as HTML where it has plots."""
        return self.document().markdown()

    def check_place(self, path: str) -> None:
        """Refuse a file that must not hold this table (InputError). Most tables may be anywhere."""

    def written(self) -> Sequence[Row]:
        """The rows as the columns write them."""
        return self.rows

    def table(self, rows: Sequence[Row] | None = None, without: Collection[str] = ()) -> Cells:
        """The rows, or some of them, in the columns but those without which they are told."""
        columns = {key: column for key, column in self.columns.items() if key not in without}
        cells = [[write(row[key]) for key, (_, write) in columns.items()] for row in (self.written() if rows is None else rows)]
        return Cells([heading for heading, _ in columns.values()], cells, numbers=range(1, len(columns)))

    def known(self) -> str:
        """The machine and the date."""
        return ", ".join(f"{value} cores" if key == "cores" else f"{value}" for key, value in self.machine.items())

    def document(self) -> Document:
        """The rows, the machine and the notes."""
        notes = [Points([f"note: {note}" for note in self.notes])] if self.notes else []
        return Document(self.title, [Points([self.known()]), self.table(), *notes], self.title)


def seconds_of(action: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def comparison_rows(seconds: Mapping[str, float], nbytes: int, limit: float, ratio: str, **same: Any) -> list[dict[str, Any]]:
    """A row for each of several ways to move the same `nbytes`, with its rate and its share of a limit.

    `seconds` maps the name of a way to its time, `limit` is the time of the limit, `ratio` the key of `limit` ÷ time. `same` is
    equal in all rows.
    """
    return [
        {**same, "by": name, "seconds": found, "throughput": nbytes / found, ratio: limit / found}
        for name, found in seconds.items()
    ]


def two_digits(value: float) -> str:
    """A ratio as `0.97`."""
    return f"{value:.2f}"


def where_known(write: Callable[[Any], str], missing: str = "-") -> Callable[[Any], str]:
    """How to write a value that is None in some rows."""
    return lambda value: missing if value is None else write(value)


@contextmanager
def scratch_folder(directory: str | Path | None) -> Iterator[Path]:
    """A folder for the files of a benchmark, below `directory` (None: the system's temporary folder); removed at the end."""
    # A kernel that was just ended may still write its cache below the folder.
    with tempfile.TemporaryDirectory(prefix="isoviz-bench-", dir=directory, ignore_cleanup_errors=True) as name:
        yield Path(name)


def interleaved(actions: Mapping[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    """The median seconds of each action, all of them in turn, so that other work on the computer affects all alike.

    An action returns the seconds that it took.
    """
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeat):
        for name, action in actions.items():
            times[name].append(action())
    return {name: statistics.median(seconds) for name, seconds in times.items()}
