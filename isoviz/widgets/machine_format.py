"""Machines as JSON, as text and in files: the one place in which the explorer asks `isoviz.machines` for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoviz.machines import Machine


def as_json(machine: Machine) -> dict[str, Any]:
    """The JSON object that machine files hold."""
    return machine.to_json()


def from_json(data: Mapping[str, Any]) -> Machine:
    """The machine of such an object.

    Raises:
        MachineError: not such an object; the message names the place.
    """
    from isoviz.machines import Machine

    return Machine.from_json(data)


def drawing(machine: Machine) -> str:
    """The machine as text of at most 120 columns."""
    return str(machine)


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON as machine files are written: for people to read, whole or not at all.

    Raises:
        FileError: it cannot be written.
    """
    from isoviz.machines.machine_file import format_json, write_text

    write_text(path, format_json(value) + "\n")
