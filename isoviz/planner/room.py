"""Whether the two ends of a transfer can be where it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.errors import TransferError
from isoviz.machines import MemoryKind
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.transfer import Transfer


def check_ends(transfer: Transfer, machine: Machine) -> None:
    """See that the instances fit their memories, and that only file systems hold files.

    Raises:
        MachineError: an unknown memory. TransferError: an instance is larger than its memory, or names a file elsewhere.
    """
    for end, instance in (("source", transfer.source), ("destination", transfer.destination)):
        memory = machine.memory(instance.memory)
        need = instance.linearization.nbytes
        if memory.capacity is not None and need > memory.capacity:
            room = format_bytes(memory.capacity)
            raise TransferError(f"transfer: the {end} needs {format_bytes(need)}, {memory.name} has {room}")
        if instance.path is not None and memory.kind is not MemoryKind.DSK:
            raise TransferError(
                f"transfer: the {end} names the file {instance.path!r}, but {memory.name} is no file system (DSK)"
            )
    if transfer.source.memory == transfer.destination.memory:
        name = transfer.source.memory
        need = sum(end.linearization.nbytes for end in {transfer.source, transfer.destination})
        capacity = machine.memory(name).capacity
        if capacity is not None and need > capacity:
            raise TransferError(f"transfer: both ends need {format_bytes(need)}, {name} has {format_bytes(capacity)}")
