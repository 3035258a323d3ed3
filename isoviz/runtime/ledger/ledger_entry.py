"""One run in the prediction ledger: the predictions of the model and of the trial, and the measurements.

An entry names memories and layouts, but no paths of files.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz._version import __version__
from isoviz.errors import InputError
from isoviz.machines.kinds import channel_kinds
from isoviz.planner.kept import kept_with_plan
from isoviz.runtime.ledger.prediction_errors import Outcome

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.trace.report import Report

FORMAT = "isoviz-run-1"
LONGEST_TEXT = checks.NAME_LIMIT
MOST_HOPS = 64
MOST_NOTES = 6
TOGETHER = "together"
"""The origin of runs beside other transfers."""
_FactsOfHop = tuple[str, str, str, str, float, float]
"""The members of a `LedgerHop` but the last one."""
_OWNER = "ledger entry"
_IN_ONE_LINE = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":")).encode


def _words(kind: str) -> str:
    """The words for a kind of channel; the name of one that this process does not know."""
    return next((known.words for known in channel_kinds() if known == kind), kind)


@dataclass(frozen=True)
class LedgerHop:
    """One hop of a run. `predicted` and `measured` are bytes per second while the hop is busy."""

    channel: str
    kind: str
    source: str
    destination: str
    request_bytes: float
    predicted: float
    measured: float


@dataclass(frozen=True)
class LedgerEntry:
    """One run. Times are in seconds, sizes in bytes.

    - `machine`, `digest`: the machine that the run was planned on.
    - `predicted`: the time after the trial if the run was `tried` just before, else the plan's.
    - `model`: the plan's time (None: the same as `predicted`).
    - `scatter`: how much the repeats of the trial differed (`isoviz.planner.time.spread.Prediction`; None: not known).
    - `interval`: the interval of the prediction (None: there was none).
    - `basis`: the source of the interval: `"model"`, `"trial"` or `"none"`.
    - `flush`: the part of `measured` spent waiting for a disk.
    - `emulated`: whether a memory of the path was held in another memory.
    - `origin`: `"run"` for a run by a user, `TOGETHER` for one beside other transfers, or the name of a benchmark.

    The predicted rates of the hops are the plan's.
    """

    date: str
    host: str
    version: str
    machine: str
    digest: str
    planner: str
    nbytes: int
    space: str
    fields: str
    source: str
    source_layout: str
    destination: str
    destination_layout: str
    chunk_bytes: int
    chunks: int
    predicted: float
    interval: tuple[float, float] | None
    basis: str
    measured: float
    flush: float
    verified: bool | None
    emulated: bool
    hops: tuple[LedgerHop, ...]
    notes: tuple[str, ...] = ()
    origin: str = "run"
    tried: bool = False
    model: float | None = None
    scatter: float | None = None

    @property
    def by_model(self) -> float:
        """The predicted time of the plan, without a trial."""
        return self.predicted if self.model is None else self.model

    @property
    def is_real(self) -> bool:
        """Whether the run is evidence about this computer and the current predictions.

        Runs in emulated memories are not, nor are runs beside other transfers, which waited for each other.
        """
        return not self.emulated and self.origin != TOGETHER

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its channels, in order."""
        return tuple(hop.kind for hop in self.hops)

    @property
    def converts(self) -> bool:
        """Whether the layout changed on the way."""
        return self.source_layout != self.destination_layout

    @cached_property
    def outcome(self) -> Outcome:
        """The expected time, from the trial if there was one, beside the measured time."""
        label = f"{self.date} {self.source} {self.source_layout} to {self.destination} {self.destination_layout}"
        return Outcome(" → ".join(map(_words, self.kinds)), label, self.nbytes, self.predicted, self.measured, self.interval)

    @property
    def model_outcome(self) -> Outcome:
        """The model's prediction beside the measured time. If there was a trial, the model's interval is not known."""
        return replace(self.outcome, predicted=self.by_model, interval=None) if self.tried else self.outcome

    @cached_property
    def key(self) -> str:
        """What tells the run from all others, in any process."""
        return hashlib.sha256(self.to_line()).hexdigest()[:24]

    def to_line(self) -> bytes:
        """One line of JSON, with its line break.

        Raises:
            ValueError: a number is not finite.
        """
        return _IN_ONE_LINE(self.to_json()).encode() + b"\n"

    def to_json(self) -> dict[str, Any]:
        """The JSON object of a line."""
        return {
            "format": FORMAT,
            "date": self.date,
            "host": self.host,
            "isoviz": self.version,
            "machine": {"name": self.machine, "digest": self.digest},
            "planner": self.planner,
            "bytes": self.nbytes,
            "space": self.space,
            "fields": self.fields,
            "source": {"memory": self.source, "layout": self.source_layout},
            "destination": {"memory": self.destination, "layout": self.destination_layout},
            "chunk_bytes": self.chunk_bytes,
            "chunks": self.chunks,
            "predicted": {
                "seconds": self.predicted,
                "interval": None if self.interval is None else list(self.interval),
                "basis": self.basis,
                "tried": self.tried,
                "model_seconds": self.by_model,
                "scatter": self.scatter,
            },
            "measured": {"seconds": self.measured, "flush_seconds": self.flush},
            "verified": self.verified,
            "emulated": self.emulated,
            "hops": [vars(hop) for hop in self.hops],
            "notes": list(self.notes),
            "origin": self.origin,
        }

    @classmethod
    def from_line(cls, line: bytes) -> LedgerEntry:
        """The entry of a line.

        Raises:
            InputError: the line holds no entry, or an incomplete one.
        """
        try:
            return cls.from_json(json.loads(line))
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{_OWNER}: {type(error).__name__}: {error}") from None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LedgerEntry:
        """The entry that `to_json` described. Fields that a later version has added are ignored.

        Raises:
            InputError, KeyError, TypeError: `data` is not such an object.
        """
        if data["format"] != FORMAT:
            raise InputError(f"{_OWNER}: expected format {FORMAT!r}")
        machine, here, there = data["machine"], data["source"], data["destination"]
        predicted, measured, interval = data["predicted"], data["measured"], data["predicted"]["interval"]
        scatter = predicted.get("scatter")
        return cls(
            date=_text(data, "date"),
            host=_text(data, "host"),
            version=_text(data, "isoviz"),
            machine=_text(machine, "name"),
            digest=_text(machine, "digest"),
            planner=_text(data, "planner"),
            nbytes=_whole(data, "bytes"),
            space=_text(data, "space"),
            fields=_text(data, "fields"),
            source=_text(here, "memory"),
            source_layout=_text(here, "layout"),
            destination=_text(there, "memory"),
            destination_layout=_text(there, "layout"),
            chunk_bytes=_whole(data, "chunk_bytes"),
            chunks=_whole(data, "chunks"),
            predicted=_positive(predicted, "seconds"),
            interval=None if interval is None else _pair(interval),
            basis=_text(predicted, "basis"),
            measured=_positive(measured, "seconds"),
            flush=checks.number(_OWNER, "flush_seconds", measured["flush_seconds"]),
            verified=None if data["verified"] is None else checks.flag(_OWNER, "verified", data["verified"]),
            emulated=checks.flag(_OWNER, "emulated", data["emulated"]),
            hops=tuple(_hop(hop) for hop in data["hops"][:MOST_HOPS]),
            notes=tuple(_short(str(note)) for note in data["notes"][:MOST_NOTES]),
            origin=_text(data, "origin"),
            tried=checks.flag(_OWNER, "tried", predicted.get("tried", False)),
            model=_positive(predicted, "model_seconds") if predicted.get("tried") else None,
            scatter=None if scatter is None else checks.number(_OWNER, "scatter", scatter),
        )


def hop_outcomes(entries: Iterable[LedgerEntry]) -> list[Outcome]:
    """Every hop of some runs as an outcome with the name of its channel.

    Its times are the seconds at the predicted and at the measured rate.
    """
    return [
        Outcome(hop.channel, each.outcome.label, each.nbytes, each.nbytes / hop.predicted, each.nbytes / hop.measured)
        for each in entries
        for hop in each.hops
        if hop.predicted > 0 and hop.measured > 0
    ]


def entry_of(report: Report, machine: Machine, origin: str = "run") -> LedgerEntry:
    """The entry of a run on a machine."""
    plan, prediction = report.plan, report.prediction
    hops, facts = _facts_of(plan, machine)
    return LedgerEntry(
        **facts,
        date=datetime.now(UTC).isoformat(timespec="milliseconds"),
        host=_short(socket.gethostname()),
        predicted=(report.tried or plan).seconds,
        interval=None if prediction is None else (prediction.low, prediction.high),
        basis="none" if prediction is None else prediction.basis,
        measured=report.seconds,
        flush=report.flush_seconds,
        verified=report.verified,
        hops=tuple([LedgerHop(*hop, float(found.throughput)) for hop, found in zip(hops, report.hops[:MOST_HOPS], strict=True)]),
        notes=tuple(map(_short, report.notes[:MOST_NOTES])),
        origin=origin,
        tried=report.tried is not None,
        model=None if report.tried is None else plan.seconds,
        scatter=None if prediction is None else prediction.scatter,
    )


@kept_with_plan
def _facts_of(plan: Plan, machine: Machine) -> tuple[list[_FactsOfHop], dict[str, Any]]:
    """What the entries of all runs of a plan have in common: of the hops, and of the whole."""
    transfer = plan.transfer
    hops = [
        (hop.channel, hop.kind, hop.source, hop.destination, float(hop.request_bytes), float(rate))
        for hop, rate in zip(plan.every_hop, plan.every_rate, strict=True)
    ]
    return hops[:MOST_HOPS], {
        "version": __version__,
        "machine": _short(plan.machine_name),
        "digest": plan.machine_digest,
        "planner": plan.planner,
        "nbytes": plan.bytes,
        "space": _short(str(transfer.space)),
        "fields": _short(str(transfer.fields)),
        "source": transfer.source.memory,
        "source_layout": _short(str(transfer.source.layout)),
        "destination": transfer.destination.memory,
        "destination_layout": _short(str(transfer.destination.layout)),
        "chunk_bytes": plan.chunk_bytes,
        "chunks": plan.chunk_count,
        "emulated": any(machine.memory(name).emulated for name in plan.every_memory),
    }


def _short(text: str) -> str:
    """Text as one line of at most `LONGEST_TEXT` characters."""
    plain = text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)
    line = plain.strip() or "-"
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def _text(data: Mapping[str, Any], key: str) -> str:
    return checks.text(_OWNER, key, data[key])


def _whole(data: Mapping[str, Any], key: str) -> int:
    return checks.whole(_OWNER, key, data[key], low=1)


def _positive(data: Mapping[str, Any], key: str) -> float:
    return checks.number(_OWNER, key, data[key], open_low=True)


def _pair(found: Any) -> tuple[float, float]:
    low, high = found
    return checks.number(_OWNER, "interval", low), checks.number(_OWNER, "interval", high)


def _hop(found: Mapping[str, Any]) -> LedgerHop:
    return LedgerHop(
        channel=_text(found, "channel"),
        kind=_text(found, "kind"),
        source=_text(found, "source"),
        destination=_text(found, "destination"),
        request_bytes=checks.number(_OWNER, "request_bytes", found["request_bytes"]),
        predicted=checks.number(_OWNER, "predicted", found["predicted"]),
        measured=checks.number(_OWNER, "measured", found["measured"]),
    )
