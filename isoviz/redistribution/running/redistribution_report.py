"""The report of a redistribution: what all ranks measured, on one clock, beside the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoviz.document import Document, Facts, Part, Picture, Points, Table, Told
from isoviz.redistribution.files import redistribution_to_json
from isoviz.runtime.pipeline import work_of
from isoviz.runtime.report_document import verified_mark
from isoviz.runtime.trace.trace import RequestSpan, Trace, TransferSpan
from isoviz.units import format_bytes, format_rate, format_ratio, format_seconds

if TYPE_CHECKING:
    from isoviz.redistribution.redistribution_plan import RedistributionPlan
    from isoviz.redistribution.running.run_on_rank import RankRun


@dataclass(frozen=True, repr=False)
class RedistributionReport(Told):
    """What a redistribution did.

    - `seconds`: the time from the first byte that any rank moved to the last one. Planning, allocating, generating data,
      exchanging handles and verifying are not in it.
    - `verified`: True after a bit-for-bit comparison on every rank; None if none was requested.
    - `runs`: what each rank measured, by rank, on one clock that begins when the ranks had met.
    """

    plan: RedistributionPlan
    seconds: float
    verified: bool | None
    runs: tuple[RankRun, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        plan: RedistributionPlan,
        runs: Sequence[RankRun],
        verified: bool | None,
        notes: Sequence[str] = (),
        *,
        one_clock: bool = True,
    ) -> RedistributionReport:
        """The report of the runs of all ranks. Without `one_clock`, the ranks' clocks are set to 0 where the ranks had met."""
        first = min(run.met for run in runs)
        shifted = tuple(run.since(first if one_clock else run.met) for run in runs)
        busy = [run for run in shifted if run.packed]
        seconds = max(run.ended for run in busy) - min(run.began for run in busy) if busy else 0.0
        return cls(plan, seconds, verified, shifted, tuple(dict.fromkeys(notes)))

    @property
    def bytes(self) -> int:
        """Bytes that moved, those that stayed on their rank included."""
        return self.plan.bytes

    @property
    def throughput(self) -> float:
        """Bytes per second of all ranks together."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    @cached_property
    def trace(self) -> Trace:
        """The transfers, one for each pair of ranks, and their requests, on one clock."""
        spans = sorted((span for run in self.runs for span in run.spans), key=lambda span: span.end)
        requests = tuple(RequestSpan(span.sending, span.hop, span.chunk, 0, span.start, span.end) for span in spans)
        ends: dict[int, float] = {}
        for span in spans:
            ends[span.sending] = max(ends.get(span.sending, 0.0), span.end)
        met_by = {run.rank: run.met for run in self.runs}
        transfers = []
        for number, each in enumerate(self.plan.sendings):
            path, met = each.plan.only, met_by[each.sender]
            work = work_of(each.plan)
            paths = tuple(one._replace(requests=(1,) * len(one.channels)) for one in work.paths)
            label = f"rank {each.sender} → rank {each.receiver}"
            transfers.append(
                TransferSpan(
                    number,
                    label,
                    work._replace(paths=paths),
                    path.bytes,
                    path.chunk_payload,
                    met,
                    met,  # nothing waits for buffers: the transfers of a rank take turns
                    ends.get(number, met),
                    emulated=each.plan.emulated,
                )
            )
        return Trace(tuple(transfers), requests, "measured")

    def to_json(self) -> dict[str, Any]:
        """The plan's JSON object with `verified`, `measured` and, by rank, the seconds from first to last byte."""
        measured = {
            "seconds": self.seconds,
            "throughput": self.throughput,
            "rank_seconds": [run.ended - run.began for run in self.runs],
        }
        return {**redistribution_to_json(self.plan), "verified": self.verified, "measured": measured, "notes": list(self.notes)}

    def document(self) -> Document:
        """Whether every byte was verified, predicted beside measured, and what each rank moved."""
        plan, verified = self.plan, verified_mark(self.verified)
        rows = [
            ("time", format_seconds(plan.seconds), format_seconds(self.seconds), format_ratio(self.seconds, plan.seconds)),
            ("rate", format_rate(plan.throughput), format_rate(self.throughput), ""),
        ]
        lines = []
        busy = [run for run in self.runs if run.packed]
        for run in busy if len(busy) <= MOST_RANKS else ():
            sent = sum(each.bytes for each in plan.sent_by(run.rank))
            took = run.ended - run.began
            rate = f", {format_rate(sent / took)}" if took > 0 else ""
            lines.append(f"rank {run.rank} moved {format_bytes(sent)} in {format_seconds(took)}{rate}")
        lines += [f"note: {note}" for note in self.notes]
        parts: list[Part] = [
            Facts([("compared bit for bit", verified), ("moved", format_bytes(self.bytes)), ("time", rows[0][2])]),
            Picture("timeline_svg", (self.trace,)),
            Table(("", "predicted", "measured", "measured / predicted"), rows, numbers=(1, 2, 3)),
            *([Points(lines)] if lines else []),
        ]
        line = f"{format_bytes(self.bytes)} from {plan.source} to {plan.destination}: {verified}"
        return Document("Run of a redistribution", parts, line)


MOST_RANKS = 16
"""The largest number of ranks that the text tells one by one."""
