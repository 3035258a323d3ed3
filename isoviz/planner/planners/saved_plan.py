"""Plans in files, each with its machine, so that a plan runs, simulates and explains itself wherever it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.errors import FileError, InputError, TransferError
from isoviz.machines import machine_to_json
from isoviz.planner.plan_file import MACHINE, plan_from_json, plan_to_json
from isoviz.planner.planners.planner_call import machine_of
from isoviz.planner.program.certificate import check_machine
from isoviz.regular_files import read_some, write_text
from isoviz.schema import format_json
from isoviz.schema.formats import misplaced
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.machines import MachineLike
    from isoviz.planner.plan import Plan

LARGEST_FILE = 128 << 20
"""The largest file of a plan that is read, in bytes. A machine of 100,000 channels has about 20 MB."""


def save_plan(plan: Plan, path: str | Path, machine: MachineLike | None = None) -> None:
    """Write a plan and its machine into a file, which `load_plan` reads here or elsewhere.

    The file is JSON: what `plan_to_json` gives, and the machine under "machine_file". `machine` may be left out where this
    process knows the machine of the plan (`machine_of`).

    Raises:
        InputError: this process does not know the machine. TransferError: the plan was made for another one.
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
        FileError: the file cannot be read. TransferError: it holds no plan, or the machine of another one. The message names the
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
