"""What came out of a run: measured beside predicted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoviz.planner.plan_file import plan_to_json
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.planner.time.spread import Prediction
    from isoviz.runtime.trace.trace import Trace


@dataclass(frozen=True)
class HopMeasurement:
    """One hop as it ran: seconds spent in it over all chunks, bytes moved, requests issued. `index` is its number on its path,
    `path` the number of that."""

    index: int
    seconds: float
    bytes: int
    requests: int
    path: int = 0

    @property
    def throughput(self) -> float:
        """Bytes per second while the hop was at work."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Report:
    """A run of a plan.

    `seconds` is what the transfer took: from the first request until the last byte was where it belongs, for files until the disk
    has it (fsync). Planning, allocation, page faults of buffers, generated data, the copy that a partly written file begins as,
    and verification are not in it. `flush_seconds` is the part that waiting for the disk took. `verified` is True after a
    bit-for-bit comparison, None where it was not asked for. `trace` says what happened when. `prediction` is the plan's with
    its interval, where one is known; `tried` the plan with the rates that its hops had in a trial just before, where one was
    made.
    """

    plan: Plan
    seconds: float
    flush_seconds: float
    hops: tuple[HopMeasurement, ...]
    verified: bool | None
    notes: tuple[str, ...] = ()
    trace: Trace | None = field(default=None, compare=False, repr=False)
    prediction: Prediction | None = None
    tried: Plan | None = field(default=None, repr=False)

    @property
    def expected(self) -> Plan:
        """The plan with what was expected of it: seconds and rates, by a trial where there was one."""
        return self.tried or self.plan

    @property
    def bytes(self) -> int:
        """Bytes that moved from source to destination."""
        return self.plan.bytes

    @property
    def throughput(self) -> float:
        """Bytes per second over the whole transfer."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The plan's JSON object with `verified`, `measured` and, per hop, `measured_throughput` added; with
        `expected_throughput`, too, where it was tried."""
        found = plan_to_json(self.plan)
        inside = [entry for path in found["paths"] for entry in path["hops"]]
        for entry, hop, expected in zip(inside, self.hops, self.expected.every_hop, strict=True):
            if self.tried is not None:
                entry["expected_throughput"] = expected.throughput
            entry["measured_throughput"] = hop.throughput
            entry["measured_seconds"] = hop.seconds
            entry["requests"] = hop.requests
        found["hops"] = [{"path": hop.path, **entry} for entry, hop in zip(inside, self.hops, strict=True)]
        found["verified"] = self.verified
        found["measured"] = {"seconds": self.seconds, "throughput": self.throughput, "flush_seconds": self.flush_seconds}
        found["notes"] = [*self.plan.notes, *self.notes]
        if self.prediction is not None:
            found |= self.prediction.to_json()
        return found

    def __str__(self) -> str:
        plan, expected = self.plan, self.expected
        verified = {True: "every byte verified", False: "NOT VERIFIED", None: "not verified (not asked for)"}[self.verified]
        rows = [("", "predicted", "measured", "measured / predicted")]
        said = expected.seconds
        rows.append(("time", format_seconds(said), format_seconds(self.seconds), _ratio(self.seconds, said)))
        predicted = plan.bytes / said if said > 0 else 0.0
        rows.append(("rate", format_rate(predicted), format_rate(self.throughput), _ratio(self.throughput, predicted)))
        for hop, rate, found in zip(plan.every_hop, expected.every_rate, self.hops, strict=True):
            path = f"path {found.path} " if len(plan.paths) > 1 else ""
            name = f"{path}hop {hop.index} {hop.kind} {hop.source} → {hop.destination}"
            reached = found.throughput
            rows.append((name, format_rate(rate), format_rate(reached), _ratio(reached, rate)))
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = [f"{format_bytes(self.bytes)} from {plan.transfer.source} to {plan.transfer.destination}: {verified}"]
        for row in rows:
            cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            lines.append("  " + "  ".join(cells))
        if self.flush_seconds > 0.01 * self.seconds:
            lines.append(f"  of which waiting for the disk to have everything (fsync): {format_seconds(self.flush_seconds)}")
        if self.prediction is not None:
            lines.append(f"  {self.prediction}")
        if self.tried is not None:
            lines.append(f"  by the model alone: {format_seconds(plan.seconds)}")
        lines += [f"  note: {note}" for note in (*plan.notes, *self.notes)]
        return "\n".join(lines)


def _ratio(measured: float, predicted: float) -> str:
    return f"{measured / predicted:.2f}×" if predicted > 0 else "–"


def emulated(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """A note for memories that stand in for hardware that is not there: what was measured says nothing about that."""
    found = [name for name in plan.every_memory if machine.memory(name).emulated]
    return (f"emulated in host memory: {', '.join(found)}",) if found else ()


def unmeasured(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """A note for predictions that do not come from measurements: what differs from them says little about the plan."""
    channels = {hop.channel: machine.channel(hop.channel).provenance for hop in plan.every_hop}
    found = [f"{name} ({provenance})" for name, provenance in channels.items() if not provenance.startswith("measured")]
    return (f"predicted without a measurement: {', '.join(found)}",) if found else ()
