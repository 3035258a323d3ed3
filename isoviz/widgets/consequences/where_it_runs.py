"""Where a plan runs: here, in ranks on this computer, or nowhere; what earlier runs tell; the same transfer on this computer."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from isoviz.errors import IsovizError, installation
from isoviz.machines import ChannelKind, memory_kinds
from isoviz.this_computer import usable_cpus
from isoviz.units import format_bytes
from isoviz.widgets.chosen.machine_choice import THIS_COMPUTER, MachineChoice, PresetMachine
from isoviz.widgets.chosen.settings import Settings, TransferSettings
from isoviz.widgets.consequences.run_places import PROCESS, RANKS, RunPlace, Where
from isoviz.widgets.state import Problem, State, is_of_other_transfer, sentence, whole_sentence

if TYPE_CHECKING:
    from isoviz.backends.devices import ThisComputer
    from isoviz.machines import Machine, Memory
    from isoviz.planner import Plan
    from isoviz.runtime.ledger.trial_interval import ModelInterval

T = TypeVar("T", bound=TransferSettings)


def where_of(
    _problems: dict[str, Problem], plan: Plan, machine: Machine, typed_machine: MachineChoice, typed_runs_in: str
) -> Where:
    """Where a plan runs: in the place that was chosen, if it can, else in the first place that can."""
    ranks = ranks_for(machine, typed_machine, plan)
    lacks = _lacking(plan, machine)
    process = RunPlace(PROCESS, _elsewhere(lacks, typed_machine))
    places = (process, RunPlace(RANKS, ranks.reason, ranks.count, ranks.about))
    place = min((each for each in places if not each.reason), key=lambda each: each.name != typed_runs_in, default=None)
    if place is None:
        reason = ranks.reason if isinstance(typed_machine, PresetMachine) and typed_machine.name == RANKS else process.reason
        return Where(False, reason, None, places, () if _is_of_ranks(typed_machine) else lacks.emulable)
    ends = (plan.transfer.source, plan.transfer.destination)
    needed = sum(end.linearization.nbytes for end in ends if not machine.memory(end.memory).is_file_system)
    free = available_memory()
    if free is not None and needed > free // 2:
        return Where(
            True,
            f"A run needs {format_bytes(needed)} of main memory. It may take half of what is free, {format_bytes(free // 2)}: "
            "choose smaller sizes.",
            place,
            places,
        )
    return Where(True, "", place, places)


class _Lacking(NamedTuple):
    """The memories of a plan that this computer lacks, those of them that main memory could stand in for, and what it lacks for
    them, in words; `problem` is the end of a sentence or "".

    Nothing is `emulable` unless all of them are.
    """

    absent: tuple[str, ...]
    emulable: tuple[str, ...]
    problem: str


def _lacking(plan: Plan, machine: Machine) -> _Lacking:
    from isoviz.backends.devices import ThisComputer

    devices = ThisComputer()
    absent, problem = [], ""
    for name in plan.every_memory:
        memory = machine.memory(name)
        try:
            if devices.memory(memory) is not None:
                continue
            problem = problem or devices.absence(memory)
        except IsovizError as error:  # the device that a memory is bound to is missing
            problem = problem or str(error).removeprefix(f"memory {name}: ")
        absent.append(name)
    emulable = all(machine.memory(name).holds_buffers for name in absent)
    return _Lacking(tuple(absent), tuple(absent) if emulable else (), problem)


def _is_of_ranks(choice: MachineChoice) -> bool:
    return isinstance(choice, PresetMachine) and choice.name == RANKS


def _elsewhere(lacks: _Lacking, choice: MachineChoice) -> str:
    """Why the plan's memories are not those of this computer; "" where they are."""
    if _is_of_ranks(choice):
        return "The memories of this machine belong to ranks."
    count = len(lacks.absent)
    if isinstance(choice, PresetMachine) and not choice.is_this_computer:
        if not lacks.emulable:
            return f"{choice.name} is another computer: a plan for it cannot run here."
        # Many memories are counted, not named: the explorer has one line for this.
        others = lacks.absent[0] if count == 1 else f"{count} of its memories"
        return f"{choice.name} is another computer. Main memory can stand in for {others}."
    if not lacks.absent:
        return ""
    # What can be done comes first: where there is little room, the end is cut off.
    sentences = [f"This computer lacks {lacks.absent[0] if count == 1 else f'{count} memories of the path'}."]
    sentences += [f"Main memory can stand in for {'it' if count == 1 else 'them'}."] if lacks.emulable else []
    sentences += [whole_sentence(lacks.problem)] if lacks.problem else []
    return " ".join(sentences)


def absent_memories(machine: Machine) -> tuple[str, ...]:
    """The memories of a machine that this computer neither has nor emulates, by name."""
    from isoviz.backends.devices import ThisComputer

    devices = ThisComputer()
    return tuple(memory.name for memory in machine.memories if not _is_here(devices, memory))


def _is_here(devices: ThisComputer, memory: Memory) -> bool:
    try:
        return devices.memory(memory) is not None
    except IsovizError:  # the device that it is bound to is missing
        return False


def reason_not_to_run(state: State) -> str:
    """Why *Run* does nothing, in words; "" where it runs."""
    derived = state.derived
    wrong = [problem.message for control, problem in derived.problems.items() if not is_of_other_transfer(control)]
    if wrong or derived.plan is None or "plan" in derived.stale:
        return f"There is no plan to run. {whole_sentence(wrong[0]) if wrong else ''}".strip()
    place = "" if derived.where is None or derived.where.place is None else derived.where.place.name
    for other in derived.beside:
        if reason := other.reason or ("" if other.where is None else other.where.reason_at(place) or other.where.reason):
            return f"{other.name} runs with this one, and it cannot: {reason}"
    return "" if derived.where is None else derived.where.reason


def ranks_of(state: State) -> RunPlace | None:
    """The ranks as a place for the runs of a state; None where there is no plan."""
    where = state.derived.where
    return None if where is None else next((place for place in where.places if place.name == RANKS), None)


def available_memory() -> int | None:
    """Bytes of main memory that programs can still have; None where the system does not tell."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def local_settings(settings: Settings, machine: Machine | None) -> Settings:
    """The same transfer on this computer: files stay files, every other memory becomes main memory."""
    kinds = {memory.name: str(memory.kind) for memory in (machine.memories if machine is not None else ())}

    def here(name: str) -> str:
        return "node0.dsk" if kinds.get(name) == "DSK" else "node0.sys"

    def moved(each: T) -> T:
        ends = {side: replace(each.end(side), memory=here(each.end(side).memory)) for side in ("source", "destination")}
        return replace(each, source=ends["source"], destination=ends["destination"])

    return replace(moved(settings), machine=THIS_COMPUTER, runs_in="", beside=tuple(map(moved, settings.beside)))


def ledger_state() -> tuple[int, ...]:
    """Identifies the present content of the ledger, which grows with every run of any process."""
    from isoviz.runtime.ledger.ledger import ledger

    book = ledger()
    try:
        status = None if book is None else book.path.stat()
    except OSError:
        status = None
    return () if status is None else (status.st_ino, status.st_size)


def interval_of(
    _problems: dict[str, Problem], plan: Plan, _machine: Machine, where: Where, _runs: tuple[int, ...]
) -> ModelInterval | None:
    """The seconds that nine of ten runs of a plan should take.

    None where the plan does not run on this computer, or nothing is known of the errors of its predictions. It depends on the
    ledger as well; `_runs` differs where the ledger does (`ledger_state`).
    """
    from isoviz.runtime.ledger.ledger import ledger
    from isoviz.runtime.ledger.trial_interval import model_interval

    book = ledger() if where.is_here else None
    return None if book is None else model_interval(plan, book.recent())


RANKS_PER_CPU = 8
"""Ranks that share a processor do not run at once; with more of them, starting takes minutes and a run measures the waiting."""
FEW_RANKS = 16
"""Ranks that every computer may start."""
MISSING = f"MPI ranks need mpi4py and mpiexec beside this Python. Install them with: {installation('mpi')}"


# ---- the ranks on this computer


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
