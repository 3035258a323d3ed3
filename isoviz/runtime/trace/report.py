"""Reports: the measured results of a run beside the predicted ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoviz.planner.plan_file import plan_to_json
from isoviz.units import format_bytes, format_rate, format_ratio, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.planner.time.spread import Prediction, TrialRecord
    from isoviz.runtime.trace.trace import Trace


@dataclass(frozen=True)
class HopMeasurement:
    """The measurement of one hop: busy seconds, bytes moved and requests issued.

    `index` is its position on its path. `path` is the number of that path.
    """

    index: int
    seconds: float
    bytes: int
    requests: int
    path: int = 0

    @property
    def throughput(self) -> float:
        """Bytes per second while the hop was busy."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Report:
    """The report of a run of a plan.

    - `seconds`: the time from the first request until the last byte is in place; for files, until it is on the disk (fsync). It
      excludes planning, allocation, page faults of buffers, generating data, copying a file that is only partly overwritten, and
      verification.
    - `flush_seconds`: the part of `seconds` spent waiting for the disk.
    - `buffer_seconds`: the time before `seconds` in which the system gave memory for the buffers. Virtual computers give it late.
    - `verified`: True after a bit-for-bit comparison; None if none was requested.
    - `trace`: the requests and transfers with their times.
    - `prediction`: the plan's prediction with its interval, if one is known.
    - `tried`: the plan with the rates that a trial just before the run measured for its hops, if there was a trial.
    - `record`: how trials did in earlier runs of this kind, if there was a trial.
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
    record: TrialRecord | None = None
    buffer_seconds: float = 0.0

    @property
    def waited_for_memory(self) -> bool:
        """Whether `buffer_seconds` are worth a word beside `seconds`: more than a hundredth of them."""
        return self.buffer_seconds > 0.01 * self.seconds

    @property
    def trial_leads(self) -> bool:
        """Whether the trial is the prediction: it came nearer than the plan in most earlier runs of this kind."""
        return self.tried is not None and self.record is not None and self.record.leads

    @property
    def expected(self) -> Plan:
        """The prediction: the plan, or what is `tried` where the trial leads."""
        return self.tried if self.tried is not None and self.trial_leads else self.plan

    @property
    def basis_words(self) -> str:
        """The name of the prediction's figures: those that measured ones are compared with."""
        return "after the trial" if self.trial_leads else "planned"

    @property
    def bytes(self) -> int:
        """Bytes that moved from source to destination."""
        return self.plan.bytes

    @property
    def throughput(self) -> float:
        """Bytes per second over the whole transfer."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The plan's JSON object with the results added.

        These are `verified`, `measured` and, for each hop, `measured_throughput`. If there was a trial, each hop also has
        `trial_throughput`; `trial` has the seconds after it, and whether they are the prediction.
        """
        found = plan_to_json(self.plan)
        inside = [entry for path in found["paths"] for entry in path["hops"]]
        for entry, hop, tried in zip(inside, self.hops, (self.tried or self.plan).every_hop, strict=True):
            if self.tried is not None:
                entry["trial_throughput"] = tried.throughput
            entry["measured_throughput"] = hop.throughput
            entry["measured_seconds"] = hop.seconds
            entry["requests"] = hop.requests
        found["hops"] = [{"path": hop.path, **entry} for entry, hop in zip(inside, self.hops, strict=True)]
        found["verified"] = self.verified
        found["measured"] = {
            "seconds": self.seconds,
            "throughput": self.throughput,
            "flush_seconds": self.flush_seconds,
            "buffer_seconds": self.buffer_seconds,
        }
        if self.tried is not None:
            found["trial"] = {"seconds": self.tried.seconds, "is_prediction": self.trial_leads}
            if self.prediction is not None:
                found["trial"] |= {"interval": [self.prediction.low, self.prediction.high]}
        found["notes"] = [*self.plan.notes, *self.notes]
        if self.prediction is not None and self.prediction.tried == self.trial_leads:
            found |= self.prediction.to_json()
        return found

    def __str__(self) -> str:
        plan, said = self.plan, self.expected
        shown = [plan] if self.tried is None else [plan, self.tried]
        verified = {True: "every byte verified", False: "NOT VERIFIED", None: "not verified (not asked for)"}[self.verified]
        names = ["planned", "after the trial"][: len(shown)]
        rows = [("", *names, "measured", f"measured / {self.basis_words}")]
        times = [format_seconds(each.seconds) for each in shown]
        rows.append(("time", *times, format_seconds(self.seconds), format_ratio(self.seconds, said.seconds)))
        rates = [_rate_of(each) for each in shown]
        rows.append(
            ("rate", *map(format_rate, rates), format_rate(self.throughput), format_ratio(self.throughput, _rate_of(said)))
        )
        for number, (hop, found) in enumerate(zip(plan.every_hop, self.hops, strict=True)):
            path = f"path {found.path} " if len(plan.paths) > 1 else ""
            name = f"{path}hop {hop.index} {hop.kind} {hop.source} → {hop.destination}"
            reached, rates = found.throughput, [each.every_rate[number] for each in shown]
            rows.append((name, *map(format_rate, rates), format_rate(reached), format_ratio(reached, said.every_rate[number])))
        if plan.emulated:  # how near measured is to planned says nothing there
            rows = [(*row[:-1], "") for row in rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [f"{format_bytes(self.bytes)} from {plan.transfer.source} to {plan.transfer.destination}: {verified}"]
        for row in rows:
            cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            lines.append(("  " + "  ".join(cells)).rstrip())
        if self.flush_seconds > 0.01 * self.seconds:
            lines.append(f"  part of it spent waiting for the disk (fsync): {format_seconds(self.flush_seconds)}")
        if self.waited_for_memory:
            lines.append(
                f"  buffers: {format_seconds(self.buffer_seconds)} until the system had given their memory, before that time"
            )
        if self.prediction is not None:
            lines.append(f"  {self.prediction}")
        if self.tried is not None and self.record is not None:
            lines.append(f"  {self.record.words}")
        lines += [f"  note: {note}" for note in (*plan.notes, *self.notes)]
        return "\n".join(lines)


def _rate_of(plan: Plan) -> float:
    """Bytes per second over the whole transfer, as predicted."""
    return plan.bytes / plan.seconds if plan.seconds > 0 else 0.0


def emulated(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """A note for emulated memories: the measurements say nothing about the hardware that they stand in for."""
    found = [name for name in plan.every_memory if machine.memory(name).emulated]
    return (f"emulated in host memory: {', '.join(found)}",) if found else ()


def unmeasured(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """A note for predictions without measurements: a deviation from them says little about the plan."""
    found = [f"{name} ({provenance})" for name, provenance in unmeasured_channels([plan], machine).items()]
    return (f"predicted without a measurement: {', '.join(found)}",) if found else ()


def unmeasured_channels(plans: Iterable[Plan], machine: Machine) -> dict[str, str]:
    """The channels of some plans that were not measured, each with its provenance."""
    channels = {hop.channel: machine.channel(hop.channel).provenance for plan in plans for hop in plan.every_hop}
    return {name: provenance for name, provenance in channels.items() if not provenance.startswith("measured")}
