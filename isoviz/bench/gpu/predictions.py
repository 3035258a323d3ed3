"""Predicted against measured: transfers over the GPU on the machine that the probe measures in this run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from isoviz.bench.aims import row
from isoviz.bench.gpu.bench import left_out
from isoviz.errors import RunError
from isoviz.launch.probe import probe
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, Memory, MemoryKind
from isoviz.measure.local_engine import Engine
from isoviz.planner import Transfer, plan
from isoviz.runtime import Report
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.gpu.bench import GpuBench

AIM = 0.1
"""The median error that is wanted."""
MOST_RUNS = 3
"""Runs of a transfer, each with data generated anew and a trial."""
PAIR = FieldSpace(re="f4", im="f4")
ROADS = (
    (MemoryKind.ZCM, MemoryKind.FBM),
    (MemoryKind.FBM, MemoryKind.ZCM),
    (MemoryKind.SYS, MemoryKind.FBM),
    (MemoryKind.FBM, MemoryKind.SYS),
    (MemoryKind.FBM, MemoryKind.FBM),
    (MemoryKind.DSK, MemoryKind.FBM),
)


def measured_machine(bench: GpuBench) -> Machine:
    """This computer with its GPU, measured now.

    Raises:
        RunError: the probe found no GPU.
    """
    machine = probe(bench.folder, gpus=[0], keep=False)
    if not any(memory.kind is MemoryKind.FBM and not memory.emulated for memory in machine.memories):
        raise RunError("the probe measured no channel of a GPU")
    return machine


def gpu_predictions(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """One row for each transfer, then the median errors of the model and of trials just before the runs."""
    machine = measured_machine(bench)
    bench.allow_again()
    left = 0
    errors: dict[str, list[float]] = {"model": [], "trial": []}
    engine = Engine(machine, bench.devices())
    with closing(engine):
        for near, far in _roads(machine):
            for layout in ("<F, x>", "<x, F>"):
                for nbytes in bench.sizes.predictions:
                    if not bench.has_time:
                        left += 1
                        continue
                    space = IndexSpace(x=nbytes // PAIR.nbytes)
                    made = plan(Transfer.whole(space, PAIR, near.name, "<F, x>", far.name, layout), machine)
                    reports = [engine.run(made, verify=False, trial=True) for _ in range(min(MOST_RUNS, bench.repeat))]
                    seconds = statistics.median(report.seconds for report in reports)
                    tried = statistics.median(_expected(report) for report in reports)
                    errors["model"].append(abs(made.seconds / seconds - 1))
                    errors["trial"].append(abs(tried / seconds - 1))
                    change = "as it is" if layout == "<F, x>" else "AOS → SOA"
                    what = f"{format_bytes(nbytes)}, {near.kind.name} → {far.kind.name}, {change}"
                    found = row("predictions", what, seconds, "predicted after a trial", tried, predicted=made.seconds)
                    yield {**found, "path": [hop.channel for hop in made.hops]}
            bench.tidy()
    if left:
        yield left_out("predictions", f"{left} transfers")
    for way, words in (("model", "by the model alone"), ("trial", "after a trial")):
        if errors[way]:
            error = statistics.median(errors[way])
            what = f"median error {words}, {len(errors[way])} transfers"
            yield row("predictions", what, error, "10 %", AIM, 1.0, ratio=AIM / error if error else None, unit="share")


def _expected(report: Report) -> float:
    return report.plan.seconds if report.prediction is None else report.prediction.seconds


def _roads(machine: Machine) -> Iterator[tuple[Memory, Memory]]:
    """Pairs of the first memories of each kind."""
    first: dict[MemoryKind, Memory] = {}
    for memory in machine.memories:
        first.setdefault(memory.kind, memory)
    yield from ((first[near], first[far]) for near, far in ROADS if near in first and far in first)
