"""What `isoviz bench gpu` found, as a table, as JSON, and as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from isoviz.bench.aims import COLUMNS, AimsTable, row
from isoviz.bench.gpu.bench import FAKE
from isoviz.bench.table import Row, two_digits, where_known
from isoviz.errors import InputError

REPORTS = "benchmarks"
"""The folder of measured reports."""
GPU_COLUMNS = {**COLUMNS, "share": ("of a copy", where_known(two_digits)), "error": ("error", where_known(str, ""))}
NOTES = (
    "ratio: figure of the peer ÷ figure of isoviz, the median of all rounds; above 1, isoviz is faster",
    "links, structs, small, urgent, engine: seconds of the clock, from `submit` to the end; peers until their stream is empty",
    "conversions: seconds between two events of the GPU; all work is queued while it is busy, so the processor does not count",
    "every conversion was compared with CuPy's, byte by byte, and every other transfer with its source",
)
UNSHOWN = (
    "The tests without a GPU execute the PTX of the kernels on the processor. They cannot show what depends on the weak memory"
    " order of a GPU, on what happens inside a warp, or on speed. The figures here, `tests/gpu` and `compute-sanitizer` show it."
)


@dataclass(frozen=True)
class GpuTable(AimsTable):
    """Rows of all parts. `is_real` is false on the driver of the tests, whose figures say nothing."""

    is_real: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"measured_on": "a GPU" if self.is_real else FAKE, **super().to_json(), "missing": missing(self.rows)}

    def check_place(self, path: str) -> None:
        """A table of the fake driver is no report of a GPU.

        Raises:
            InputError: it would be one of the measured reports.
        """
        if not self.is_real and REPORTS in Path(path).resolve().parts:
            raise InputError(f"{path}: {FAKE}; expected a file outside {REPORTS}")

    def to_page(self) -> str:
        """Markdown: the device, the aims and what is missing, then a table for each part."""
        machine = "\n".join(f"| {name} | {value} |" for name, value in self.machine.items())
        aimed = [each for each in self.rows if each["met"] is not None]
        met = sum(each["met"] for each in aimed)
        parts = [f"# The GPU\n\n`isoviz bench gpu`: {self.title}."]
        if not self.is_real:
            parts.append(f"**{FAKE}.**")
        parts.append(f"| | |\n| --- | --- |\n{machine}")
        parts.append(f"{met} of {len(aimed)} aims are met. {UNSHOWN}")
        if absent := missing(self.rows):
            parts.append("Missing:\n\n" + "\n".join(f"- {each}" for each in absent))
        for part, rows in groupby(self.written(), lambda each: each["part"]):
            parts.append(f"## {part[0].upper()}{part[1:]}\n\n{self._part(list(rows))}")
        parts.append("## How it was measured\n\n" + "\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def _part(self, rows: Sequence[Row]) -> str:
        keys = [key for key in self.columns if key != "part" and any(each[key] not in (None, "-") for each in rows)]
        lines = [" | ".join(self.columns[key][0] for key in keys), " | ".join("---" for _ in keys)]
        lines += [" | ".join(self.columns[key][1](each[key]).replace("|", "\\|") for key in keys) for each in rows]
        return "\n".join(f"| {line} |" for line in lines)


def completed(found: Row) -> Row:
    """A row with every column."""
    return {"error": None, "share": None, **found}


def failed(part: str, error: BaseException) -> Row:
    """The row of a part that failed."""
    said = f"{type(error).__name__}: {error}"
    return completed({**row(part, "failed", 0.0), "figure": None, "met": False, "error": said})


def left_out(part: str, what: str) -> dict[str, Any]:
    """The row of what was not measured because the time of its part was over."""
    return {**row(part, what, 0.0), "figure": None, "met": False, "error": "left out: no time"}


def missing(rows: Sequence[Row]) -> list[str]:
    """The figures that are not there, each as a sentence."""
    return [f"{each['part']}: {each['what']}: {each['error']}" for each in rows if each["error"]]
