"""`isoviz run FILE` on all ranks of a job, where rank 1 has something else: `one_rank_differs.py WHAT FILE`."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from isoviz.cli import main
from isoviz.launch import guardian, rank_files, same_program
from isoviz.launch.hello import Hello

what, file = sys.argv[1], Path(sys.argv[2])
usual = rank_files.plan_on_ranks


def planned(path: Any, *arguments: Any) -> Any:
    if what == "crash":
        raise ZeroDivisionError("of this rank alone")
    if what == "plan":
        plan, *others = usual(path, *arguments)
        return (replace(plan, notes=("made elsewhere",)), *others)
    if what == "killed":
        guardian.remove([], guardian.mapped_files([os.getpid()]))  # MPICH leaves them when a rank is killed.
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(file.with_name("another.toml"), *arguments)


if Hello.of_this_process().rank == 1:
    same_program.plan_on_ranks = planned  # type: ignore[assignment]
sys.exit(main(["run", str(file)]))
