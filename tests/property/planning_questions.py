"""Many planning questions, answered one after the other: `python planning_questions.py COUNT [jumping] [backwards]`.

It prints a line for every question, in the order of their numbers: a digest of its plan, or its error, and the plan's notes. With
`jumping` every clock of `time` shows an hour more at every look. With `backwards` the last question is asked first, so that what
was planned before differs.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import sys
import time

from dense_machines import medium, transposed
from planner_problems import build, random_problem

from benchmarks.machines import ring
from isoviz.errors import IsovizError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, preset
from isoviz.planner import Options, Transfer, plan, plan_to_json

PRESETS = ("two-node", "sapling", "laptop", "xstream", "moonlight", "dgx-h100-pair")
FIELDS = FieldSpace(re="float32", im="float64")
LAYOUTS = {1: ("<F, x>", "<x, F>", "<x_in=16, F, x_out>"), 2: ("<F, x, y>", "<y, F, x>", "<x, F, y>", "<F, x_in=8, y, x_out>")}


def question(number: int) -> tuple[Transfer, Machine, str, Options]:
    """A transfer on a machine, a planner and options; the same for the same number."""
    draw = random.Random(number)
    planner = draw.choice(("auto", "auto", "full", "full", "simple", "program"))
    time_given = draw.choice((None, None, 0.002, 0.01, 0.05))
    kind = draw.choice(("random", "medium", "preset", "dense", "dense"))
    if kind == "random":
        transfer, machine, options = build(random_problem(number))
        return transfer, machine, planner, options
    if kind == "medium":
        machine, transfer = medium(number)
    elif kind == "preset":
        machine = preset(draw.choice(PRESETS))
        space = IndexSpace.of({dim: draw.randrange(16, 3000) for dim in "xy"[: draw.randint(1, 2)]})
        ends = draw.sample([memory.name for memory in machine.memories], 2)
        texts = [draw.choice(LAYOUTS[len(space)]) for _ in ends]
        transfer = Transfer.whole(space, FIELDS, ends[0], texts[0], ends[1], texts[1])
    else:
        count = draw.choice((9, 10, 12))
        machine, transfer = ring(count, count - 1), transposed("m0", f"m{draw.randrange(1, count)}")
        if planner == "program":
            planner = "auto"
        if draw.random() < 0.5:  # larger or smaller: planning may save more or less
            space = IndexSpace(x=draw.randrange(64, 8192), y=draw.randrange(64, 8192))
            transfer = Transfer.whole(space, FIELDS, "m0", "<F, x, y>", f"m{count - 1}", "<y, F, x>")
    return transfer, machine, planner, Options(planning_time=time_given)


def answer(number: int) -> str:
    transfer, machine, planner, options = question(number)
    try:
        found = plan(transfer, machine, planner, options)
    except IsovizError as error:
        return f"{number} {type(error).__name__}: {error}"
    text = json.dumps(plan_to_json(found), sort_keys=True)
    return f"{number} {planner} {found.planner} {hashlib.sha256(text.encode()).hexdigest()[:16]} {'; '.join(found.notes)}"


def main(count: int, *how: str) -> None:
    if "jumping" in how:
        hours = itertools.count(step=3600)
        for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
            setattr(time, name, lambda: float(next(hours)))
    numbers = range(count)[:: -1 if "backwards" in how else 1]
    found = {number: answer(number) for number in numbers}
    for number in range(count):
        print(found[number])


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
