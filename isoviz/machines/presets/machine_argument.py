"""The machine that a caller names: a machine, or the name of a preset."""

from __future__ import annotations

from isoviz.checks import expect
from isoviz.machines.machine import Machine
from isoviz.machines.presets.preset_table import preset


def machine_argument(call: str, machine: Machine | str) -> Machine:
    """The machine of an argument of a call: the machine itself, or the preset of that name with its default options.

    Raises:
        InputError: it is neither a machine nor text. MachineError: there is no preset of that name.
    """
    if isinstance(machine, str):
        return preset(machine)
    expect(call, machine, Machine, "a machine or the name of a preset")
    return machine
