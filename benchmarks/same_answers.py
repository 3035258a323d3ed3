"""The answers of one version of isoviz beside those of another: machines, plans, simulations and reproductions.

`python -m benchmarks.same_answers save FILE` asks the questions and keeps the answers. With `compare`, another version is
asked the same. What differs is printed, and the command ends with 1 if something does. Figures are compared to 1e-9 of their
value, words exactly. What is new in an answer is not a difference.

The questions are every preset, as it is saved; transfers, each drawn from its number, on presets and random machines, with every
planner, planned and simulated; and the reproductions.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from isoviz import errors, layouts, machines, planner, simulate
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, preset, presets
from isoviz.planner import Options, Transfer

DIGITS = 1e-9
PLANNERS = ("auto", "auto", "full", "simple", "multipath", "program", "together")
REPRODUCTIONS = ("isometry", "bgq", "umr")
IN_ANY_ORDER = (("rows", ("where", "what")), ("sensitivity", ("assumption", "metric")))
"""Lists of a reproduction whose order is no answer, and the words that name one of their rows."""
LAYOUTS = {
    1: ("<F, x>", "<x, F>", "<x_in=16, F, x_out>"),
    2: ("<F, x, y>", "<x, F, y>", "<F, y, x>", "<y, F, x>", "<F, x_in=8, y, x_out>", "<F, x_in=4, y_in=4, x_out, y_out>"),
    3: ("<F, x, y, z>", "<z, F, y, x>", "<F, z, x_in=8, y, x_out>"),
}
FIELDS = ({"a": "f4"}, {"a": "f4", "b": "f4"}, {"re": "f4", "im": "f8"}, {"r": "u1", "g": "u1", "b": "u1"})
MEMORIES = tuple(map(MemoryKind, ("SYS", "REG", "ZCM", "FBM", "DSK")))
CHANNELS = (  # by name: kinds that are registered later ask nothing else
    *("Memcpy", "GPURead", "GPUWrite", "GPUCopy", "ZeroCopyRead", "ZeroCopyWrite", "DiskRead", "DiskWrite", "GPUDirectRead"),
    *("GPUDirectWrite", "RemoteMemcpy", "Window", "ProcessWrite", "TwoSided", "Packed", "Derived", "Put", "GPUDirectRemote"),
)
MEASURES = ("local", "ranks")
"""Presets that ask this computer."""

MACHINE = "machine "
"""What the names of answers begin with that are presets."""


def random_machine(draw: random.Random) -> Machine:
    """Memories of all kinds on two nodes. Channels join what their kinds allow and chance leaves."""
    kinds = draw.sample(MEMORIES, 3)
    memories = [Memory(f"node{node}.{kind}", kind, node=node) for node in (0, 1) for kind in kinds]
    channels = []
    for here, there, name in itertools.product(memories, memories, CHANNELS):
        kind = ChannelKind(name)
        fits = here.kind in kind.sources and there.kind in kind.destinations and (here.node != there.node) == kind.crosses_nodes
        if fits and draw.random() < 0.6:
            rate = draw.uniform(1e9, 8e10)
            throughput = Constant(rate) if draw.random() < 0.5 else LatencyBandwidth(10 ** draw.uniform(-8, -5.5), rate)
            described = f"{name} {here.name} {there.name}"
            channels.append(Channel(described, kind, here.name, there.name, throughput, setup=draw.choice((0.0, 1e-6, 2e-5))))
    limits = Limits(
        slot_limit=draw.choice((1 << 25, 1 << 18)), memory_limit=draw.choice((None, 1 << 22)), slots=draw.choice((2, 3))
    )
    return Machine("random", tuple(memories), tuple(channels), limits=limits)


@cache
def named(name: str) -> Machine:
    """A preset, made once."""
    return preset(name)


def transfer_on(draw: random.Random, machine: Machine) -> Transfer:
    """Fields and a space of random sizes between two memories, in two layouts."""
    dims = "xyz"[: draw.choice((1, 2, 2, 2, 3))]
    space = layouts.IndexSpace.of(
        {dim: draw.choice((16, 64, 300, 1000)) if len(dims) < 3 else draw.choice((8, 40, 96)) for dim in dims}
    )
    ends = [draw.choice(machine.memories).name for _ in range(2)]
    texts = [draw.choice(LAYOUTS[len(dims)]) for _ in ends]
    return Transfer.whole(space, layouts.FieldSpace.of(draw.choice(FIELDS)), ends[0], texts[0], ends[1], texts[1])


def answer(number: int, names: Sequence[str]) -> Any:
    """The plans of a question with their notes, and how they end when they are simulated; or the error.

    `names` are the presets that it may be about.
    """
    draw = random.Random(number)  # noqa: S311  # nothing secret
    machine = named(names[number % len(names)]) if draw.random() < 0.6 else random_machine(draw)
    asked = draw.choice(PLANNERS)
    options = Options(planning_time=draw.choice((None, None, 0.05, 0.01)))
    try:
        transfers = [transfer_on(draw, machine) for _ in range(2 if asked == "together" else 1)]
        if asked == "together":
            plans = list(planner.plan_together(transfers, machine, options))
        else:
            plans = [planner.plan(transfers[0], machine, asked, options)]
        trace = simulate(plans, machine, pipelined=draw.random() < 0.8)
    except errors.IsovizError as error:
        return {"error": type(error).__name__, "words": str(error)}
    return {"plans": [planner.plan_to_json(each) for each in plans], "simulated": trace.seconds}


def reproduced(name: str, full: bool) -> Any:
    """The figures of a reproduction: what two runs of it have in common, for some of them are measured times."""
    command = [sys.executable, "-P", "-m", "isoviz", "reproduce", name, "--json", *(() if full else ("--quick",))]
    here = {**os.environ, "PYTHONPATH": str(Path(machines.__file__).parents[2])}  # the isoviz that answers here
    runs = (subprocess.run(command, capture_output=True, text=True, check=True, env=here) for _ in range(2))  # noqa: S603
    first, second = (json.loads(run.stdout) for run in runs)
    shared = common(first, second)
    return shared | {name: {" / ".join(row[word] for word in words): row for row in shared[name]} for name, words in IN_ANY_ORDER}


def common(first: Any, second: Any) -> Any:
    """What is equal in two JSON values. A value that differs is left out of its object, and null in its list."""
    if isinstance(first, dict) and isinstance(second, dict):
        shared = {key: common(first[key], second[key]) for key in first if key in second}
        return {key: value for key, value in shared.items() if value is not None}
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [common(*pair) for pair in zip(first, second, strict=True)]
    return first if first == second else None


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Where an answer is no longer what it was."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from differences(value, after.get(key), f"{where}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{where}[{number}]")
    elif isinstance(before, int | float) and isinstance(after, int | float):
        if not math.isclose(before, after, rel_tol=DIGITS, abs_tol=0.0):
            yield f"{where}: {before!r} → {after!r}"
    elif before is not None and before != after:
        yield f"{where}: {before!r} → {after!r}"


def answers(count: int, full: bool, names: Sequence[str]) -> dict[str, Any]:
    """The answers by the names of their questions, as JSON values; `names` are the presets that they are about."""
    found: dict[str, Any] = {}
    for name in names:
        found[f"{MACHINE}{name}"] = machines.machine_to_json(preset(name))
    for number in range(count):
        found[f"question {number}"] = answer(number, names)
    for name in REPRODUCTIONS:
        found[f"reproduce {name}"] = reproduced(name, full)
    return dict(json.loads(json.dumps(found)))


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Save or compare. Return 1 if answers differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_answers", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("what", choices=("save", "compare"))
    parser.add_argument("file", type=Path, help="where the answers are, as JSON in gzip")
    parser.add_argument("--questions", type=int, default=2000, help="how many transfers (2000)")
    parser.add_argument("--full", action="store_true", help="the reproductions in full")
    given = parser.parse_args(arguments)
    if given.what == "save":
        found = answers(given.questions, given.full, sorted(set(presets()) - set(MEASURES)))
        given.file.write_bytes(gzip.compress(json.dumps(found).encode()))
        say(f"{len(found)} answers are in {given.file}")
        return 0
    before = json.loads(gzip.decompress(given.file.read_bytes()))
    count = sum(name.startswith("question ") for name in before)
    names = [name.removeprefix(MACHINE) for name in before if name.startswith(MACHINE)]  # there may be more presets by now
    after = answers(count, given.full, names)
    wrong = {name: list(differences(value, after.get(name))) for name, value in before.items()}
    wrong = {name: lines for name, lines in wrong.items() if lines}
    for name, lines in wrong.items():
        say("\n  ".join((name, *lines[:20], *([f"and {len(lines) - 20} more"] if len(lines) > 20 else ()))))
    say(f"{len(before) - len(wrong)} of {len(before)} answers are what they were")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
