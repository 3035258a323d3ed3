"""Which machine was chosen: a preset with options, or a machine that somebody described."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.errors import InputError, show

if TYPE_CHECKING:
    from isoviz.machines import Machine


@dataclass(frozen=True)
class PresetMachine:
    """A preset (`isoviz.machines.presets()`) with its options as they were typed."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def with_option(self, name: str, text: str) -> PresetMachine:
        """The same preset with one option changed."""
        return replace(self, options=tuple((dict(self.options) | {name: text}).items()))

    def key(self) -> tuple[object, ...]:
        """Equal for choices that mean the same machine, in any order of the options."""
        return self.name, tuple(sorted(self.options))


THIS_COMPUTER = PresetMachine("local")
"""What was measured of the computer that the kernel runs on."""


@dataclass(frozen=True)
class DescribedMachine:
    """A machine that is there already: made in Python, drawn, or read from a file."""

    machine: Machine

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.machine.name


MachineChoice = PresetMachine | DescribedMachine
"""The machine of the explorer. Settings, sessions, their files and the cache of machines carry this value and nothing else."""


def machine_choice(machine: object) -> MachineChoice:
    """The choice that a caller means by the name of a preset, by a machine, or by a choice.

    Raises:
        InputError: it is none of these.
    """
    from isoviz.machines import Machine

    if isinstance(machine, PresetMachine | DescribedMachine):
        return machine
    if isinstance(machine, Machine):
        return DescribedMachine(machine)
    if isinstance(machine, str):
        return PresetMachine(machine)
    raise InputError(f"machine {show(machine)}: expected the name of a preset or a Machine")
