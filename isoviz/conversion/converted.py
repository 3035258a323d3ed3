"""The result of a conversion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.errors import line, printable
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.conversion.passes import Passes
    from isoviz.layouts import Layout
    from isoviz.runtime import Report


@dataclass(frozen=True)
class Conversion:
    """The result of a conversion.

    `reports` has one report per pass, in order. It is empty for an array without elements: only a header was written.
    `decision` explains the number of passes. `verified` is True after a bit-for-bit comparison of both files, and None if no
    comparison was requested. `notes` are further remarks for the user.
    """

    source: Path
    destination: Path
    source_layout: Layout
    destination_layout: Layout
    dtype: str
    shape: tuple[int, ...]
    reports: tuple[Report, ...] = ()
    decision: Passes | None = None
    verified: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Report | None:
        """The report of the last pass; None for an array without elements."""
        return self.reports[-1] if self.reports else None

    @property
    def bytes(self) -> int:
        """Bytes of the array."""
        return self.reports[-1].bytes if self.reports else 0

    @property
    def seconds(self) -> float:
        """Seconds until all bytes were on the disk, summed over the passes."""
        return sum(report.seconds for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """A JSON object: that of the run, with the files added.

        With two passes the plan is that of the last pass, the figures are sums over both, and `passes` has one object per pass.
        """
        found: dict[str, Any] = {
            "source": str(self.source),
            "destination": str(self.destination),
            "source_layout": str(self.source_layout),
            "destination_layout": str(self.destination_layout),
            "dtype": self.dtype,
            "shape": list(self.shape),
            "verified": self.verified,
        }
        if self.report is None:
            return {"bytes": 0, **found}
        run = self.report.to_json()
        rate = self.bytes / self.seconds if self.seconds > 0 else 0.0
        waited = sum(report.buffer_seconds for report in self.reports)
        run["measured"] = {**run["measured"], "seconds": self.seconds, "throughput": rate, "buffer_seconds": waited}
        run["notes"] = [*run["notes"], *self.notes]
        if self.decision is not None:
            other = self.decision.other_seconds
            run["decision"] = {
                "passes": len(self.decision.plans),
                "seconds": self.decision.seconds,
                "other_seconds": None if other == float("inf") else other,
                "through": None if self.decision.through is None else str(self.decision.through),
                "temporary_bytes": self.decision.temporary_bytes,
                "reason": self.decision.reason,
            }
        if len(self.reports) > 1:
            run["seconds"] = sum(report.plan.seconds for report in self.reports)
            run["throughput"] = self.bytes / run["seconds"] if run["seconds"] > 0 else 0.0
            run["passes"] = [report.to_json() for report in self.reports]
        return {**run, **found}

    def __str__(self) -> str:
        shape = "" if self.dtype == "raw" else f", shape {self.shape} of {line(self.dtype)}"
        source, destination = (printable(str(path)) for path in (self.source, self.destination))
        lines = [f"{source} {self.source_layout} → {destination} {self.destination_layout}{shape}"]
        if self.decision is not None and self.decision.reason:
            lines.append(self.decision.reason)
        if len(self.reports) > 1:
            rate = format_rate(self.bytes / self.seconds if self.seconds > 0 else 0.0)
            checked = "every byte verified" if self.verified else "not verified (not asked for)"
            lines.append(f"{format_bytes(self.bytes)} in {format_seconds(self.seconds)}, {rate}: {checked}")
        for number, report in enumerate(self.reports, start=1):
            first, *rest = str(report).splitlines()
            ends = report.plan.transfer
            if len(self.reports) > 1:  # two passes are verified together, so a report's own headline would say "not verified"
                first = f"pass {number}: {ends.source.layout} to {ends.destination.layout}"
            lines += [first, *rest]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])
