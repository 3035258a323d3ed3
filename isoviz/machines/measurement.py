"""The measurement of a machine: where and when it was taken, and how well predictions agree with it.

It is stored with the machine. Loading a machine that was measured on another computer gives a warning, since its predictions do
not apply to this computer.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from statistics import NormalDist

from isoviz import checks
from isoviz.document import Cell, Document, Part, Points, Quantity, Table, Told
from isoviz.errors import line
from isoviz.schema import As, member
from isoviz.this_computer import ComputerFacts, GpuFacts, this_computer
from isoviz.units import format_rate, format_seconds

_OWNER = "measurement"


def _pairs(texts: dict[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(
        [(checks.text(_OWNER, "name", name), checks.text(_OWNER, name, text, empty=True)) for name, text in texts.items()]
    )


def _seconds(found: dict[str, object]) -> tuple[tuple[str, float], ...]:
    return tuple([(checks.text(_OWNER, "name", name), checks.number(_OWNER, name, each)) for name, each in found.items()])


_TEXTS = As(kind=dict[str, object], write=dict, read=_pairs)
"""Pairs (name, text), which are an object in files."""
_SECONDS = As(kind=dict[str, object], write=dict, read=_seconds)
"""Pairs (name, seconds), which are an object in files."""


@dataclass(frozen=True)
class Pair:
    """The rates of two channels in bytes per second: each `alone`, and both `together`, working at the same time.

    `first` and `second` are the names of the channels. Equal names mean two equal channels.
    """

    first: str
    second: str
    alone: tuple[float, float]
    together: tuple[float, float]

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            checks.text(_OWNER, name, getattr(self, name))
        for name in ("alone", "together"):
            object.__setattr__(self, name, _two_rates(name, getattr(self, name)))

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
    slowest: str = member("", brief=True)

    def __post_init__(self) -> None:
        checks.text(_OWNER, "transfer", self.transfer)
        checks.text(_OWNER, "slowest", self.slowest, empty=True)
        for name in ("predicted", "measured"):
            object.__setattr__(self, name, checks.number(_OWNER, name, getattr(self, name), open_low=True))

    @property
    def ratio(self) -> float:
        """Measured / predicted: above 1 the transfer took longer than predicted."""
        return self.measured / self.predicted

    def __str__(self) -> str:
        predicted, measured = format_seconds(self.predicted), format_seconds(self.measured)
        return f"{self.transfer}: {measured} where {predicted} were predicted, {self.ratio:.2f}×"


@dataclass(frozen=True, repr=False)
class Measurement(Told):
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
    - `starts`: pairs (where the other rank is, seconds): what a transfer between two ranks takes from its submission until both
      know of its end, besides the time that its report says. "same host, prepared" is what a prepared transfer takes that moves
      hardly any bytes.
    """

    computer: ComputerFacts
    gpus: tuple[GpuFacts, ...] = field(default=(), kw_only=True, metadata={"brief": True})
    date: str
    seconds: float
    versions: tuple[tuple[str, str], ...] = member(by_name=_TEXTS)
    directories: tuple[tuple[str, str], ...] = member((), by_name=_TEXTS)
    pairs: tuple[Pair, ...] = ()
    checks: tuple[Check, ...] = ()
    remarks: tuple[str, ...] = member((), brief=True)
    starts: tuple[tuple[str, float], ...] = member((), brief=True, by_name=_SECONDS)

    def __post_init__(self) -> None:
        checks.text(_OWNER, "date", self.date)
        object.__setattr__(self, "seconds", checks.number(_OWNER, "seconds", self.seconds))
        object.__setattr__(self, "remarks", tuple([checks.text(_OWNER, "remarks", remark) for remark in self.remarks]))

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

    @property
    def line(self) -> str:
        """When, where and with what it was taken."""
        return (
            f"measured {self.date} on {self.computer.host} ({self.computer.cpus} × {self.computer.processor or 'processor'}),"
            f" {format_seconds(self.seconds)}, with {', '.join(' '.join(version) for version in self.versions)}"
        )

    def parts(self) -> list[Part]:
        """The parts of its document below the headline."""
        said = [str(gpu) for gpu in self.gpus] + [f"{memory}: {path}" for memory, path in self.directories]
        said += [f"a transfer to a rank ({where}) begins and ends in {format_seconds(each)}" for where, each in self.starts]
        beside: list[tuple[Cell, ...]] = [
            (each.first, "a second one" if each.second == each.first else each.second,
             *(Quantity(rate, "rate") for rate in (*each.alone, *each.together)), f"{each.gain:.2f}")
            for each in self.pairs
        ]  # fmt: skip
        checked = [
            (each.transfer, Quantity(each.predicted, "seconds"), Quantity(each.measured, "seconds"), f"{each.ratio:.2f}×")
            for each in self.checks
        ]
        at_once = ("channel", "beside", "alone", "the other alone", "together", "the other", "channels' worth")
        transfers = ("transfer", "predicted", "measured", "measured / predicted")
        found: list[Part] = [Points([*said, *self.remarks])] if said or self.remarks else []
        found += [Table(at_once, beside, "Two channels at once", numbers=(6,), is_folded=True)] if beside else []
        caption = "Predictions checked when it was measured"
        return [*found, *([Table(transfers, checked, caption, numbers=(3,), is_folded=True)] if checked else [])]

    def document(self) -> Document:
        """When, where and with what it was taken, and what was found."""
        return Document(self.line, self.parts(), self.line)

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


def _two_rates(name: str, rates: tuple[float, ...]) -> tuple[float, ...]:
    if len(rates) != 2:
        raise checks.FieldError(_OWNER, name, f"expected two rates in bytes per second, got {len(rates)}")
    return tuple([checks.number(_OWNER, f"{name}[{k}]", rate, open_low=True) for k, rate in enumerate(rates)])
