"""The measurement of a machine: where and when it was taken, and how well predictions agree with it.

It is stored with the machine. Loading a machine that was measured on another computer gives a warning, since its predictions do
not apply to this computer.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from isoviz import checks
from isoviz.errors import line
from isoviz.json_cursor import Node
from isoviz.this_computer import ComputerFacts, GpuFacts, this_computer
from isoviz.units import format_rate, format_seconds

_OWNER = "measurement"


@dataclass(frozen=True)
class Pair:
    """The rates of two channels in bytes per second: each `alone`, and both `together`, working at the same time.

    `first` and `second` are the names of the channels. Equal names mean two equal channels.
    """

    first: str
    second: str
    alone: tuple[float, float]
    together: tuple[float, float]

    @property
    def shares(self) -> tuple[float, float]:
        """For each channel: its rate together with the other channel, relative to its rate alone."""
        return self.together[0] / self.alone[0], self.together[1] / self.alone[1]

    @property
    def gain(self) -> float:
        """The work of both channels together, relative to one channel alone: 1 if they take turns, 2 if they are independent."""
        return sum(self.shares)

    def __str__(self) -> str:
        a, b = self.alone
        c, d = self.together
        return (
            f"{self.first} {format_rate(a)} alone, {format_rate(c)} beside {self.second};"
            f" that {format_rate(b)} alone, {format_rate(d)} beside it"
        )


@dataclass(frozen=True)
class Check:
    """A transfer that was run to check predictions: its description, predicted seconds and measured seconds (the median).

    `slowest` is the channel of the slowest hop of its plan; empty where it is not known.
    """

    transfer: str
    predicted: float
    measured: float
    slowest: str = ""

    @property
    def ratio(self) -> float:
        """Measured / predicted: above 1 the transfer took longer than predicted."""
        return self.measured / self.predicted

    def __str__(self) -> str:
        predicted, measured = format_seconds(self.predicted), format_seconds(self.measured)
        return f"{self.transfer}: {measured} where {predicted} were predicted, {self.ratio:.2f}×"


@dataclass(frozen=True)
class Measurement:
    """A measurement of a computer.

    - `computer`: the computer that was measured.
    - `date`: the start of the measurement (ISO 8601, UTC).
    - `seconds`: its duration.
    - `versions`: the versions of the software used, as pairs (name, version).
    - `directories`: the disks measured, as pairs (memory, path).
    - `pairs`: pairs of channels measured at the same time.
    - `checks`: checks of predictions at the end of the measurement.
    - `gpus`: the GPUs that were measured.
    - `remarks`: what could not be measured, and why.
    """

    computer: ComputerFacts
    date: str
    seconds: float
    versions: tuple[tuple[str, str], ...]
    directories: tuple[tuple[str, str], ...] = ()
    pairs: tuple[Pair, ...] = ()
    checks: tuple[Check, ...] = ()
    gpus: tuple[GpuFacts, ...] = ()
    remarks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The measurement as a JSON object. `from_json` returns an equal measurement."""
        return {
            "computer": self.computer.to_json(),
            **({"gpus": [gpu.to_json() for gpu in self.gpus]} if self.gpus else {}),
            "date": self.date,
            "seconds": self.seconds,
            "versions": dict(self.versions),
            "directories": dict(self.directories),
            "pairs": [
                {"first": p.first, "second": p.second, "alone": list(p.alone), "together": list(p.together)} for p in self.pairs
            ],
            "checks": [_check_to_json(check) for check in self.checks],
            **({"remarks": list(self.remarks)} if self.remarks else {}),
        }

    @classmethod
    def from_json(cls, node: Node) -> Measurement:
        """The measurement from a JSON object of `to_json`.

        Raises:
            MachineError: the object is invalid. The message names the place.
        """
        parts = node.members(("computer", "date", "seconds", "versions"), ("directories", "pairs", "checks", "gpus", "remarks"))
        pairs = tuple(_read_pair(part) for part in parts["pairs"].items()) if "pairs" in parts else ()
        found = tuple(_read_check(part) for part in parts["checks"].items()) if "checks" in parts else ()
        computer = ComputerFacts.from_json(parts["computer"])
        gpus = tuple(GpuFacts.from_json(part) for part in parts["gpus"].items()) if "gpus" in parts else ()
        remarks = parts["remarks"].items() if "remarks" in parts else ()
        return node.build(
            lambda: cls(
                computer,
                checks.text(_OWNER, "date", parts["date"].value),
                checks.number(_OWNER, "seconds", parts["seconds"].value),
                _texts("versions", parts["versions"].value),
                _texts("directories", parts["directories"].value) if "directories" in parts else (),
                pairs,
                found,
                gpus,
                tuple(checks.text(_OWNER, "remarks", part.value) for part in remarks),
            )
        )

    def error(self, channel: str) -> float | None:
        """The error of predictions that nine of ten transfers should stay within, as a natural logarithm; None without checks.

        The checks whose slowest hop is on `channel` count, or all if there are none. Their errors, log(measured / predicted),
        are taken as normal with mean 0. So the bound is their root mean square times the 95 % quantile of Student's t
        distribution: the fewer checks, the wider.
        """
        alike = [check for check in self.checks if check.slowest == channel] or self.checks
        if not alike:
            return None
        squares = [math.log(check.ratio) ** 2 for check in alike]
        return student_quantile(len(squares)) * math.sqrt(math.fsum(squares) / len(squares))

    def __str__(self) -> str:
        lines = [
            (
                f"measured {self.date} on {self.computer.host} ({self.computer.cpus} × {self.computer.processor or 'processor'}),"
                f" {format_seconds(self.seconds)}, with {', '.join(' '.join(version) for version in self.versions)}"
            )
        ]
        lines += [f"  {gpu}" for gpu in self.gpus]
        lines += [f"  {memory}: {path}" for memory, path in self.directories]
        lines += [f"  {pair}" for pair in self.pairs]
        lines += [f"  {check}" for check in self.checks]
        lines += [f"  {remark}" for remark in self.remarks]
        return "\n".join(lines)

    def elsewhere(self, here: ComputerFacts) -> str:
        """The difference between the computer `here` and the one that was measured, in words; empty if they are the same."""
        there = self.computer
        if there.host != here.host:
            return f"measured on {there.host}, and this is {here.host}"
        if (there.processor, there.cpus) != (here.processor, here.cpus):
            return (
                f"measured on {there.host} with {there.cpus} × {there.processor or 'an unknown processor'},"
                f" which now has {here.cpus} × {here.processor or 'an unknown processor'}"
            )
        return ""


def student_quantile(degrees: int) -> float:
    """The 95 % quantile of Student's t distribution with these `degrees` of freedom.

    The expansion is that of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5, to its second term: 2 % too small
    for 3 degrees, 0.1 % for 10.
    """
    z = NormalDist().inv_cdf(0.95)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def warn_elsewhere(measurement: Measurement, what: str) -> None:
    """Warn (UserWarning) if a machine was measured on another computer. `what` describes the machine."""
    difference = measurement.elsewhere(this_computer())
    if difference:
        message = f"{what}: {difference}; its predictions hold there (isoviz.probe() measures this computer)"
        warnings.warn(line(message), UserWarning, stacklevel=3)


def _texts(field: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise checks.FieldError(_OWNER, field, f"expected an object, got {checks.show(value)}")
    return tuple((checks.text(_OWNER, field, name), checks.text(_OWNER, field, text, empty=True)) for name, text in value.items())


def _read_pair(node: Node) -> Pair:
    parts = node.members(("first", "second", "alone", "together"))
    names = [checks.text(_OWNER, key, parts[key].value) for key in ("first", "second")]
    return Pair(names[0], names[1], _two(parts["alone"]), _two(parts["together"]))


def _two(node: Node) -> tuple[float, float]:
    items = node.items()
    if len(items) != 2:
        node.fail(f"expected two rates in bytes per second, got {len(items)}")
    first, second = (
        item.build(lambda item=item: checks.number(_OWNER, "rate", item.value, open_low=True))  # type: ignore[misc]
        for item in items
    )
    return first, second


def _check_to_json(check: Check) -> dict[str, Any]:
    found = {"transfer": check.transfer, "predicted": check.predicted, "measured": check.measured}
    return found | ({"slowest": check.slowest} if check.slowest else {})


def _read_check(node: Node) -> Check:
    parts = node.members(("transfer", "predicted", "measured"), ("slowest",))
    return node.build(
        lambda: Check(
            checks.text(_OWNER, "transfer", parts["transfer"].value),
            checks.number(_OWNER, "predicted", parts["predicted"].value, open_low=True),
            checks.number(_OWNER, "measured", parts["measured"].value, open_low=True),
            checks.text(_OWNER, "slowest", parts["slowest"].value) if "slowest" in parts else "",
        )
    )
