"""A page about the throughput of a machine, as `isoviz machine --figure` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.document import Document, Part, Picture, Points, Prose, Section
from isoviz.figures.machines.curves import few, rates
from isoviz.figures.page import document_page
from isoviz.figures.plots.throughput import measured_samples
from isoviz.machines.memory import emulated_text
from isoviz.units import format_rate, format_share

if TYPE_CHECKING:
    from isoviz.machines import Machine


def throughput_page(machine: Machine) -> str:
    """A page with the throughput functions of a machine, measured ones with their samples, and its shared resources."""
    measurement = machine.measurement
    about = machine.provenance if measurement is None else f"{measurement.line}."
    emulated = emulated_text(machine.emulated(memory.name for memory in machine.memories))
    parts: list[Part] = [Prose(said) for said in (about, emulated) if said]
    parts.append(Picture("machine_throughput_figure", (machine,)))
    if any(measured_samples(channel) for channel in machine.channels):
        parts.append(
            Prose("Bars: lowest to highest rate. Points: the middle, hollow where planning takes another rate. Lines: planning.")
        )
    parts += [rates(machine.channels), Points(_resources(machine))]
    parts += [Section("Measurement", measurement.parts())] if measurement is not None else []
    return document_page(Document(f"{machine.name}: throughput functions", parts))


def _resources(machine: Machine) -> list[str]:
    """What channels share, in words: one line for all resources that are shared in the same way."""
    alike: dict[str, list[str]] = {}
    for resource in machine.resources:
        weights = {channel: dict(channel.resources).get(resource.name, 0.0) for channel in machine.channels}
        users = {channel: weight for channel, weight in weights.items() if weight}
        if resource.held and len(set(users.values())) > 1:
            parts = [f"{format_share(weight / resource.capacity)} by {channel.kind.words}" for channel, weight in users.items()]
            words = f"held while at work: {', '.join(dict.fromkeys(parts))}"
        else:
            kinds = ", ".join(sorted({channel.kind.words for channel in users})) or "nobody"
            much = f"as much as {resource.capacity:.3g} at once" if resource.held else f"{format_rate(resource.capacity)} in all"
            words = f"shared by {kinds}: {much}"
        alike.setdefault(words, []).append(resource.name)
    return [f"{few(names)}, {'each ' * (len(names) > 1)}{words}" for words, names in alike.items()]
