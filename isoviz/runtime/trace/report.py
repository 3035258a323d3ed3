"""Reports: the measured results of a run beside the predicted ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoviz.document import Told
from isoviz.planner.kept import kept_with_plan
from isoviz.planner.plan_file import plan_to_json
from isoviz.public_method import PublicMethod

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


@dataclass(frozen=True, repr=False)
class Report(Told):
    """The report of a run of a plan.

    - `seconds`: the time from the first request until the last byte is in place; for files, until it is on the disk (fsync). It
      excludes planning, allocation, page faults of buffers, generating data, copying a file that is only partly overwritten, and
      verification.
    - `flush_seconds`: the part of `seconds` spent waiting for the disk.
    - `buffer_seconds`: the time before `seconds` in which the system gave memory for the buffers. On virtual computers this can
      take long.
    - `verified`: True after a bit-for-bit comparison; None if none was requested.
    - `trace`: the requests and transfers with their times.
    - `prediction`: the plan's prediction with its interval, if one is known.
    - `tried`: the plan with the rates that a trial just before the run measured for its hops, if there was a trial.
    - `route`: how the transfer was carried out (`Event.route`).
    - `record`: how close trials came in earlier runs of this kind, if there was a trial.
    """

    plan: Plan
    seconds: float
    flush_seconds: float
    hops: tuple[HopMeasurement, ...]
    verified: bool | None
    notes: tuple[str, ...] = ()
    trace: Trace | None = field(default=None, compare=False)
    prediction: Prediction | None = None
    tried: Plan | None = None
    record: TrialRecord | None = None
    buffer_seconds: float = 0.0
    route: str = field(default="scheduler", compare=False)

    document = PublicMethod("isoviz.runtime.report_document", "report_document")

    @property
    def waited_for_memory(self) -> bool:
        """Whether `buffer_seconds` exceed a hundredth of `seconds`, so that reports mention them."""
        return self.buffer_seconds > 0.01 * self.seconds

    @property
    def trial_leads(self) -> bool:
        """Whether the trial is the prediction: in most earlier runs of this kind it was nearer to the measured time than the
        plan."""
        return self.tried is not None and self.record is not None and self.record.leads

    @property
    def expected(self) -> Plan:
        """The prediction: `tried` if `trial_leads`, else the plan."""
        return self.tried if self.tried is not None and self.trial_leads else self.plan

    @property
    def basis_words(self) -> str:
        """The name of the predicted figures in tables: "planned" or "after the trial"."""
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

        These are `verified`, `route`, `measured` and, for each hop, `measured_throughput`. If there was a trial, each hop also
        has `trial_throughput`; `trial` has the seconds after it, and whether they are the prediction.
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
        found["route"] = self.route
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


@kept_with_plan
def notes_of(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The notes about a run of a plan that are known before it."""
    return (*_emulated(plan, machine), *_unmeasured(plan, machine))


def _emulated(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """A note for emulated memories: the measurements say nothing about the hardware that they stand in for."""
    found = [name for name in plan.every_memory if machine.memory(name).emulated]
    return (f"emulated in host memory: {', '.join(found)}",) if found else ()


def _unmeasured(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """A note for predictions without measurements: a deviation from them says little about the plan."""
    found = [f"{name} ({provenance})" for name, provenance in unmeasured_channels([plan], machine).items()]
    return (f"predicted without a measurement: {', '.join(found)}",) if found else ()


def unmeasured_channels(plans: Iterable[Plan], machine: Machine) -> dict[str, str]:
    """The channels of some plans that were not measured, each with its provenance."""
    channels = {hop.channel: machine.channel(hop.channel).provenance for plan in plans for hop in plan.every_hop}
    return {name: provenance for name, provenance in channels.items() if not provenance.startswith("measured")}
