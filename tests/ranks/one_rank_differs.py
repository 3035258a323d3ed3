"""`isoviz run FILE` on all ranks of a job, where one rank has something else: `one_rank_differs.py WHAT FILE`."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from isoviz.cli import main
from isoviz.launch import guardian, same_program
from isoviz.launch.hello import Hello

(what, _, rank), file = sys.argv[1].partition(" on rank "), Path(sys.argv[2])
usual = same_program.plan_on_ranks


class UnsentError(Exception):
    def __reduce__(self) -> str:
        return "nothing of this name"


def planned(path: Any, *arguments: Any) -> Any:
    if what == "crash":
        raise ZeroDivisionError("of this rank alone")
    if what == "unsent":
        raise UnsentError("of this rank alone")
    if what == "another plan":
        plan, *others = usual(path, *arguments)
        return (replace(plan, notes=("made elsewhere",)), *others)
    if what == "killed":
        guardian.remove([], guardian.mapped_files([os.getpid()]))  # MPICH leaves them when a rank is killed.
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(file.with_name("another.toml"), *arguments)


if Hello.of_this_process().rank == int(rank):
    same_program.plan_on_ranks = planned  # type: ignore[assignment]
sys.exit(main(["run", str(file)]))
