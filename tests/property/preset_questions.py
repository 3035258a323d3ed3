"""Questions on every preset, answered one after the other: `python preset_questions.py FIRST COUNT`.

It prints a line for every question, as JSON: a digest of its plans, with their seconds and notes, or its error; the steps of
planning and the steps that the options allow; and the seconds of processor.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Sequence
from functools import cache

from isoviz.errors import IsovizError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, preset, presets
from isoviz.planner import Options, Plan, Transfer, plan, plan_to_json, plan_together
from isoviz.planner.cache import CACHE
from isoviz.planner.options import PLANNING_TIME
from isoviz.planner.planning_work import STEPS_PER_SECOND, Work

FIELDS = FieldSpace(a="f4", b="f4")
LAYOUTS = {
    1: ("<F, x>", "<x, F>", "<x_in=16, F, x_out>"),
    2: ("<F, x, y>", "<x, F, y>", "<F, y, x>", "<y, F, x>", "<F, x_in=8, y, x_out>"),
}
PLANNERS = ("multipath", "multipath", "auto", "full", "together")
TIMES = (None, None, 0.5, 0.1)
NAMES = tuple(name for name in presets() if name != "local")  # that one measures this computer


@cache
def machine_of(name: str) -> Machine:
    return preset(name)


def transfer_on(draw: random.Random, machine: Machine) -> Transfer:
    dims = "xy"[: draw.randint(1, 2)]
    space = IndexSpace.of({dim: draw.choice((16, 64, 300, 1000, 2048)) for dim in dims})
    names = [memory.name for memory in machine.memories]
    ends = draw.sample(names, 2) if len(names) > 1 else names * 2
    texts = [draw.choice(LAYOUTS[len(dims)]) for _ in ends]
    if draw.random() < 0.4:
        texts[1] = texts[0]
    return Transfer.whole(space, FIELDS, ends[0], texts[0], ends[1], texts[1])


def question(number: int) -> tuple[Sequence[Transfer], Machine, str, Options]:
    """Transfers on a preset, a planner and options; the same for the same number."""
    draw = random.Random(number)
    machine = machine_of(NAMES[number % len(NAMES)])
    planner = draw.choice(PLANNERS)
    transfers = [transfer_on(draw, machine) for _ in range(2 if planner == "together" else 1)]
    return transfers, machine, planner, Options(planning_time=draw.choice(TIMES))


def plans(number: int) -> Sequence[Plan]:
    """The plans of a question. Raises IsovizError where there are none."""
    transfers, machine, planner, options = question(number)
    if planner == "together":
        return plan_together(transfers, machine, options)
    return [plan(transfers[0], machine, planner, options)]


def answer(number: int) -> str:
    try:
        found = plans(number)
    except IsovizError as error:
        return f"{number} {type(error).__name__}: {error}"
    text = json.dumps([plan_to_json(each) for each in found], sort_keys=True)
    said = "; ".join(note for each in found for note in each.notes)
    return f"{number} {hashlib.sha256(text.encode()).hexdigest()[:16]} {[each.seconds for each in found]} {said}"


def works_made() -> list[Work]:
    """The works that are made from now on."""
    made: list[Work] = []
    before = Work.__init__

    def init(self: Work, seconds: float, *, sparing: bool = False, starts: int = 1) -> None:
        before(self, seconds, sparing=sparing, starts=starts)
        made.append(self)

    Work.__init__ = init  # type: ignore[method-assign]
    return made


def main(first: int, count: int) -> None:
    works = works_made()
    for number in range(first, first + count):
        CACHE.clear()
        works.clear()
        transfers, _, _, options = question(number)
        begin = time.process_time()
        told = {"answer": answer(number), "seconds": time.process_time() - begin}
        # The work of a question has the steps of its parts.
        steps = max((work.steps for work in works), default=0)
        allowed = len(transfers) * (options.planning_time or PLANNING_TIME) * STEPS_PER_SECOND
        print(json.dumps({**told, "steps": steps, "allowed": allowed}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
