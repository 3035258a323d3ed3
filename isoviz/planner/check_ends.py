"""Checks of the arguments of planning calls, and that the ends of a transfer can lie where the transfer says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import TransferError
from isoviz.machines import machine_argument
from isoviz.planner.transfer import Transfer
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine, MachineLike, Memory


def check_arguments(call: str, transfer: object, machine: MachineLike) -> Machine:
    """Check that a call got a transfer and a machine; returns the machine.

    Raises:
        InputError: it got something else. As `machine_argument`.
    """
    expect(call, transfer, Transfer, "a transfer")
    return machine_argument(call, machine)


def check_ends(transfer: Transfer, machine: Machine) -> None:
    """Check that the instances fit their memories, and that only file systems hold files.

    An end that names a file may lie on any file system, so it does not count against the capacity of its memory. The backend that
    opens the file checks the free space.

    Raises:
        MachineError: an unknown memory.
        TransferError: an instance is larger than its memory, or names a file in a memory that is no file system.
    """
    for end, instance in (("source", transfer.source), ("destination", transfer.destination)):
        memory = machine.memory(instance.memory)
        if instance.path is None:
            _check_room(f"the {end} needs", instance.linearization.nbytes, memory)
        elif not memory.is_file_system:
            raise TransferError(
                f"transfer: the {end} names the file {instance.path!r}, but {memory.name} is no file system ({memory.kind})"
            )
    if transfer.source.memory == transfer.destination.memory:
        unnamed = [end for end in dict.fromkeys(transfer.ends) if end.path is None]
        need = sum(end.linearization.nbytes for end in unnamed)
        _check_room("both ends need", need, machine.memory(transfer.source.memory))


def _check_room(who_needs: str, need: int, memory: Memory) -> None:
    if memory.capacity is not None and need > memory.capacity:
        raise TransferError(f"transfer: {who_needs} {format_bytes(need)}, {memory.name} has {format_bytes(memory.capacity)}")
