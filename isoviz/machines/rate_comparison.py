"""A comparison of the rates of two machines, such as a preset and a measured computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoviz.document import Cell, Document, Points, Table, Told
from isoviz.machines.machine import Machine
from isoviz.machines.machine_file import MachineLike, machine_argument
from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.machines.channel import Channel

RUNS = 64, 4096, 64 << 10, 1 << 20, 16 << 20
"""Bytes of the runs at which rates are compared."""

Family = tuple[str, str, str, bool]
"""Channels that are compared: their kind, the kinds of the memories at their ends, and whether these are one memory."""


@dataclass(frozen=True)
class ComparedChannels:
    """The fastest channels of one family in two machines, by name: `here` and `there`.

    `rates` has, for each of `RUNS`, their bytes per second; `setup` their set-up in seconds.
    """

    family: Family
    here: str
    there: str
    rates: tuple[tuple[float, float], ...]
    setup: tuple[float, float]

    @property
    def ratios(self) -> tuple[float, ...]:
        """For each of `RUNS`, the rate there as a multiple of the rate here."""
        return tuple(there / here if here else float("inf") for here, there in self.rates)


@dataclass(frozen=True, repr=False)
class RateComparison(Told):
    """Two machines by name, the origins of their figures, and their channels in common.

    `emulated` names the emulated memories of each machine. `only_here` and `only_there` are the families that only one of them
    has.
    """

    here: str
    there: str
    origins: tuple[str, str]
    emulated: tuple[tuple[str, ...], tuple[str, ...]]
    channels: tuple[ComparedChannels, ...]
    only_here: tuple[Family, ...]
    only_there: tuple[Family, ...]

    def to_json(self) -> dict[str, Any]:
        """A JSON object: for every family the channels, and by run their rates and the ratio."""
        return {
            "machine": self.here,
            "beside": self.there,
            "origins": list(self.origins),
            "emulated": [list(names) for names in self.emulated],
            "channels": [
                {
                    "family": family_text(each.family),
                    "channels": [each.here, each.there],
                    "setup": list(each.setup),
                    "rates": [
                        {"run": run, "machine": here, "beside": there, "ratio": ratio}
                        for run, (here, there), ratio in zip(RUNS, each.rates, each.ratios, strict=True)
                    ],
                }
                for each in self.channels
            ],
            "only_machine": [family_text(family) for family in self.only_here],
            "only_beside": [family_text(family) for family in self.only_there],
        }

    def document(self) -> Document:
        """The rates of both machines, and where their figures come from."""
        rows: list[tuple[Cell, ...]] = []
        for each in self.channels:
            name = family_text(each.family)
            for run, (here, there), ratio in zip(RUNS, each.rates, each.ratios, strict=True):
                rows.append((name, format_bytes(run), format_rate(here), format_rate(there), f"{ratio:.2f}×"))
                name = ""
            rows.append(("", "set-up", *map(format_seconds, each.setup), ""))
        said = [
            f"{name}: {'; '.join(about)}"
            for name, origin, emulated in zip((self.here, self.there), self.origins, self.emulated, strict=True)
            if (about := list(filter(None, (origin, emulated_text(emulated)))))
        ]
        said += [
            f"only in {name}: {', '.join(map(family_text, families))}"
            for name, families in ((self.here, self.only_here), (self.there, self.only_there))
            if families
        ]
        title = f"Rates of {self.here} beside those of {self.there}"
        table = Table(("", "run", self.here, self.there, "ratio"), rows, numbers=range(1, 5))
        return Document(title, [table, Points(said)], title)


def rates_beside(machine: MachineLike, measured: MachineLike) -> RateComparison:
    """The rates of a machine's channels beside those of another machine, usually one that was measured.

    Channels are compared by family. A family with several channels is compared by the fastest of each machine.
    """
    machine, measured = machine_argument("rates", machine), machine_argument("rates", measured)
    here, there = _families(machine), _families(measured)
    compared = []
    for family, names in here.items():
        if family not in there:
            continue
        a, b = _fastest(names), _fastest(there[family])
        rates = tuple((a.rate(run), b.rate(run)) for run in RUNS)
        compared.append(ComparedChannels(family, a.name, b.name, rates, (a.setup, b.setup)))
    return RateComparison(
        machine.name,
        measured.name if measured.name != machine.name else f"{measured.name} (second)",
        (machine.provenance, measured.provenance),
        (_emulated(machine), _emulated(measured)),
        tuple(compared),
        tuple(family for family in here if family not in there),
        tuple(family for family in there if family not in here),
    )


def family_text(family: Family) -> str:
    """A family in words: `GPUWrite ZCM → FBM`."""
    kind, source, destination, is_within = family
    return f"{kind} within {source}" if is_within else f"{kind} {source} → {destination}"


def _emulated(machine: Machine) -> tuple[str, ...]:
    return machine.emulated(memory.name for memory in machine.memories)


def _families(machine: Machine) -> dict[Family, list[Channel]]:
    found: dict[Family, list[Channel]] = {}
    for channel in machine.channels:
        ends = [machine.memory(end).kind.name for end in (channel.source, channel.destination)]
        found.setdefault((channel.kind.name, ends[0], ends[1], channel.is_self_loop), []).append(channel)
    return found


def _fastest(channels: Sequence[Channel]) -> Channel:
    return max(channels, key=lambda channel: channel.rate(RUNS[-1]))
