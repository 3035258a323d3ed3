"""Whether the nodes of a machine can be MPI ranks of this computer."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.errors import IsovizError, installation
from isoviz.machines import ChannelKind, memory_kinds
from isoviz.this_computer import usable_cpus
from isoviz.widgets.chosen.machine_choice import MachineChoice, PresetMachine
from isoviz.widgets.consequences.run_places import RANKS
from isoviz.widgets.state import sentence

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan

RANKS_PER_CPU = 8
"""Ranks that share a processor do not run at once; with more of them, starting takes minutes and a run measures the waiting."""
FEW_RANKS = 16
"""Ranks that every computer may start."""
MISSING = f"MPI ranks need mpi4py and mpiexec beside this Python. Install them with: {installation('mpi')}"


@dataclass(frozen=True)
class LocalRanks:
    """The ranks of a machine on this computer: their number, and the reason why they cannot run here ("" if they can).

    `about` is a remark on runs of these ranks, or "".
    """

    count: int
    reason: str = ""
    about: str = ""


def has_mpi() -> bool:
    """Whether this Python can start ranks. MPI itself is not loaded."""
    return (Path(sys.executable).parent / "mpiexec").exists() and importlib.util.find_spec("mpi4py") is not None


def most_ranks() -> int:
    """The most ranks that the explorer starts on this computer."""
    return max(FEW_RANKS, RANKS_PER_CPU * usable_cpus())


def ranks_for(machine: Machine, choice: MachineChoice, plan: Plan | None = None) -> LocalRanks:
    """The ranks of a machine on this computer. With a plan, its channels have to be those of ranks."""
    nodes = sorted({memory.node for memory in machine.memories})
    count = len(nodes)
    if isinstance(choice, PresetMachine) and not choice.is_this_computer and choice.name != RANKS:
        return LocalRanks(count, f"{choice.name} is another computer.")
    other = next((memory for memory in machine.memories if not memory.kind.is_of_ranks), None)
    if other is not None:
        *most_words, last = (kind.words for kind in memory_kinds() if kind.is_of_ranks)
        return LocalRanks(count, f"A rank has {', '.join(most_words)} and {last}; {other.name} is {other.kind.words}.")
    if nodes != list(range(count)):
        node_list = ", ".join(map(str, nodes[:8])) + (", …" if count > 8 else "")
        return LocalRanks(count, f"Ranks are the nodes from 0 on, without a gap; the nodes of this machine are {node_list}.")
    kinds = () if plan is None else (ChannelKind(hop.kind) for hop in plan.every_hop)
    if (kind := next((kind for kind in kinds if not _is_carried_out(kind)), None)) is not None:
        return LocalRanks(count, f"Ranks do not carry out channels of the kind {kind.words}.")
    if count > (most := most_ranks()):
        return LocalRanks(count, f"The machine has {count} nodes; this computer should start at most {most} ranks.")
    if plan is not None and (problem := _missing_device(machine, plan)):
        return LocalRanks(count, problem)
    if not has_mpi():
        return LocalRanks(count, MISSING)
    return LocalRanks(count, "", _about(machine))


def _is_carried_out(kind: ChannelKind) -> bool:
    """Whether ranks carry out channels of a kind."""
    from isoviz.backends.kinds import halves
    from isoviz.backends.mpi.channels import carrying

    return kind in (carrying.CHANNELS if kind.crosses_nodes else halves.CHANNELS).read()


def _missing_device(machine: Machine, plan: Plan) -> str:
    """A sentence on a memory of the plan that is bound to a device which this computer lacks, "" if it has all of them."""
    from isoviz.backends.devices import ThisComputer

    try:
        for memory in map(machine.memory, plan.every_memory):
            ThisComputer().memory(replace(memory, name=f"node0.{memory.short_name}", node=0))
    except IsovizError as error:
        return f"{sentence(str(error))}."
    return ""


def _about(machine: Machine) -> str:
    hosts = {memory.label for memory in machine.memories}
    if len(hosts) > 1:
        about = "All its ranks run on this computer, where the figures between hosts do not hold."
        return f"The machine has {len(hosts)} hosts. {about}"
    return ""
