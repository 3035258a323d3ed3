"""`plan()`: from a transfer and a machine to a plan, by one of the registered planners.

All planners choose blocks and chunk with the same time model, so their predictions are comparable.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import FileError, InputError, TransferError
from isoviz.machines import Machine, MachineLike, machine_argument, machine_to_json, preset, presets
from isoviz.planner.cache import CACHE
from isoviz.planner.options import Options
from isoviz.planner.plan import Plan
from isoviz.planner.plan_file import MACHINE, plan_from_json, plan_to_json
from isoviz.planner.planner_registry import find_planner, register_planner
from isoviz.planner.planners.auto_planner import auto
from isoviz.planner.planners.full_planner import direct, full, simple, spdl, spsl
from isoviz.planner.planners.multipath_planner import multipath
from isoviz.planner.problem import Problem
from isoviz.planner.program.certificate import check_machine
from isoviz.planner.transfer import check_arguments, check_ends
from isoviz.planner.whole_program.program_planner import program
from isoviz.regular_files import read_some, write_text
from isoviz.schema import format_json
from isoviz.schema.formats import misplaced
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.planner.transfer import Transfer


register_planner(
    "auto",
    auto,
    about="plans while that costs less than it can save: a shortest path, good paths of a first look, then full",
    meaning="Plans while that costs less than it can save, from a shortest path to full.",
)
register_planner(
    "full",
    full,
    about="every path, layout and block size: the fastest there is (Isometry, section 4.2), or the best within planning_time",
    meaning="Considers every path, layout and block size: the least predicted time, or the best found when time runs out.",
)
register_planner(
    "simple",
    simple,
    about="shortest path; one Memcpy channel converts (Isometry, section 4.4)",
    meaning="The shortest path. One memory copy on it converts the layout.",
)
register_planner(
    "spsl",
    spsl,
    about="shortest path; the last hop converts (Isometry, section 6.3)",
    meaning="The shortest path. The last hop converts the layout.",
)
register_planner(
    "spdl",
    spdl,
    about="shortest path; the first hop converts (Isometry, section 6.3)",
    meaning="The shortest path. The first hop converts the layout.",
)
register_planner(
    "direct",
    direct,
    about="one channel, no intermediate buffer",
    meaning="One channel from source to destination, without a buffer between.",
)
register_planner(
    "program",
    program,
    about="the path with the highest throughput, by one mixed-integer program (Isometry, section 4.2)",
    meaning="The path with the highest throughput, from one mixed-integer linear program.",
)
register_planner(
    "multipath",
    multipath,
    about="several disjoint paths at once, each with its share of the bytes (Bui et al., section 4)",
    meaning="Several disjoint paths at once. A linear program splits the bytes among them.",
)


def plan(transfer: Transfer, machine: MachineLike, planner: str | None = None, options: Options | None = None) -> Plan:
    """The plan of a transfer on a machine: a `Machine`, the name of a preset, or the path of a machine file. Planning is
    deterministic.

    `planner` (a name in `PLANNERS`) overrides the one in `options`. A repeated call returns the same object
    (`isoviz.planner.cache`).

    Raises:
        InputError: the planner is unknown, or an argument is not a transfer or a machine. MachineError: an unknown memory or
            preset.
        NoPathError: no channels lead to the destination. LimitError: no buffer within the limits is large enough.
        TransferError: an instance is larger than its memory.
    """
    chosen = None if planner is None else find_planner(planner)
    machine = check_arguments("plan", transfer, machine)
    options = Options.given(options)
    chosen = chosen or find_planner(options.planner)
    key = (transfer, machine, chosen, options)
    made = CACHE.plan(key)
    if made is None:
        check_ends(transfer, machine)
        made = min(
            [chosen.make(Problem(each, machine, options)) for each in transfer.orders],
            key=lambda found: getattr(found, "objective", 0.0),
        )
        expect(f"planner {chosen.name!r}", made, Plan, "a plan as its result")
        CACHE.keep(key, made)
    return made


def machine_of(plan: Plan, machine: MachineLike | None = None) -> Machine:
    """The machine that a plan was made for: `machine` if given, else the machine with which this process planned, loaded or saved
    it, else the preset of that name.

    Raises:
        InputError: `machine` is None and this process does not know the machine of the plan.
        MachineError, FileError: as `isoviz.machines.machine_argument`.
    """
    expect("machine_of", plan, Plan, "a plan")
    if machine is not None:
        return machine_argument("machine_of", machine)
    found = CACHE.machine(plan.machine_digest)
    if found is None and plan.machine_name in presets() and plan.machine_name != "local":  # the preset `local` would measure
        made = preset(plan.machine_name)
        found = made if made.digest == plan.machine_digest else None
    if found is None:
        raise InputError(
            f"machine {plan.machine_name!r} of this plan is not known in this process; give the one that it was made for, as in"
            " plan.run(machine=isoviz.machines.load('machine.json'))"
        )
    return found


# Plans in files, each with its machine, so that a plan runs, simulates and explains itself wherever it is read.

LARGEST_FILE = 128 << 20
"""The largest file of a plan that is read, in bytes. A machine of 100,000 channels has about 20 MB."""


def save_plan(plan: Plan, path: str | Path, machine: MachineLike | None = None) -> None:
    """Write a plan and its machine into a file, which `load_plan` reads here or elsewhere.

    The file is JSON: the object of `plan_to_json`, with the machine under "machine_file". `machine` may be left out if this
    process knows the machine of the plan (`machine_of`).

    Raises:
        InputError: this process does not know the machine. TransferError: the plan was made for another machine.
        FileError: the file cannot be written.
    """
    machine = machine_of(plan, machine)
    check_machine(plan, machine)
    write_text(path, format_json({**plan_to_json(plan), MACHINE: machine_to_json(machine)}) + "\n")


def load_plan(path: str | Path) -> Plan:
    """Read a plan from a file of `save_plan`; this process then knows its machine.

    A file with a plan alone, such as `isoviz plan --json` prints, is read, too. Such a plan needs its machine to run:
    `plan.run(machine=…)`.

    Raises:
        FileError: the file cannot be read. TransferError: it holds no plan, or the machine of another plan. The message names the
            file and the place.
    """
    content = read_some(path, LARGEST_FILE + 1)
    where = os.fsdecode(path)
    if len(content) > LARGEST_FILE:
        raise FileError(f"{where}: larger than {format_bytes(LARGEST_FILE)}, so no plan")
    try:
        return plan_from_json(content.decode(errors="replace"))
    except InputError as error:
        raise TransferError(f"{where}: {misplaced(content, 'a plan') or error}") from None
