"""Transfer files on ranks: the machine that they mean there, and their run on ranks that a client has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.errors import TransferError
from isoviz.measure.run_file import plan_transfer_file
from isoviz.planner import TransferFile, load_transfer

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan

_OF_RANKS = ("ranks", "hosts", "gpus", "gpu_memory", "directory", "measure")


def plan_on_ranks(
    path: str | Path | TransferFile, hosts: Sequence[str], planner: str | None = None
) -> tuple[Plan, Machine, TransferFile]:
    """The plan of a transfer file for ranks, the machine, and the file. `hosts` names the host of every rank.

    A file that names this computer as its machine (`preset = "local"`, or nothing) means the ranks (`preset = "ranks"`). With
    that preset, the number of ranks and their hosts are the given ones unless the file has its own.

    Raises:
        InputError: the file, the machine or the data are wrong.
        TransferError: the machine has more nodes than there are ranks.
    """
    file = path if isinstance(path, TransferFile) else load_transfer(path)
    file.check_source()
    options = dict(file.machine_options)
    if options.get("preset") in ("local", "ranks"):
        kept = {name: value for name, value in options.items() if name in _OF_RANKS and value != "fresh"}
        if "ranks" not in kept:
            kept |= {"ranks": len(hosts), "hosts": kept.get("hosts", list(hosts))}
        file = replace(file, machine_options={"preset": "ranks", **kept})
    machine = file.machine()
    nodes = max(memory.node for memory in machine.memories) + 1
    if nodes > len(hosts):
        raise TransferError(
            f"the machine {machine.name!r} of the transfer file has {nodes} nodes, and there are {len(hosts)} ranks; expected"
            f" {nodes} ranks, one for each node"
        )
    return plan_transfer_file(file, machine, planner), machine, file
