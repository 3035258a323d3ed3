"""A pipelined path of several hops, beside its slowest hop and beside the same path stored and forwarded.

The first part runs over channels of a set speed (`isoviz.backends.emulated`), whose limits are known: the slowest hop for a
pipeline, the harmonic sum of all hops for storing and forwarding. The second part runs on this computer, from a disk through a
conversion in memory to a disk. Its limit is the slowest hop while all three hops are busy, measured in the same run, as they
share memory and cores.
"""

from __future__ import annotations

import statistics
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from isoviz.backends.devices import ThisComputer
from isoviz.backends.emulated import EmulatedMachine
from isoviz.bench.table import Table, scratch_folder
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import Options, Plan, Transfer, plan
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.execution import Execution
from isoviz.runtime.engine.open_devices import OpenedDevices
from isoviz.runtime.pipeline import work_of
from isoviz.scheduling.work import Issue
from isoviz.units import format_bytes, format_rate, format_seconds, parse_bytes

MB = 1e6
RATES = (400 * MB, 300 * MB, 500 * MB)
"""Bytes per second of the three hops: slow enough for any computer to keep up."""
LATENCY = 100e-6
"""Seconds per run on these channels: without them, chunks would be so small that only threads are measured."""
PAIR = FieldSpace(re="float32", im="float32")


def measure(size: int | str = "256MiB", repeat: int = 5, directory: str | Path | None = None) -> Table:
    """Throughputs of `size` bytes, medians of `repeat` rounds in turn; files are written below `directory`."""
    nbytes = parse_bytes(size)
    with scratch_folder(directory) as folder:
        rows = [*_limited(nbytes, repeat), *_local(nbytes, repeat, str(folder))]
    return Table(
        "pipeline",
        f"{format_bytes(nbytes)} over a path of three hops: medians of {repeat}",
        {
            "what": ("what", str),
            "bound": ("bound", format_rate),
            "throughput": ("measured", format_rate),
            "to_bound": ("measured ÷ bound", lambda ratio: f"{100 * ratio:.1f} %"),
            "seconds": ("time", format_seconds),
            "predicted": ("predicted", format_seconds),
        },
        rows,
        (
            f"channels of a set speed: {', '.join(map(format_rate, RATES))} after {format_seconds(LATENCY)} per run; real bytes",
            "bound: of the pipeline the slowest hop, stored and forwarded the harmonic sum of all hops",
            "this computer: the bound is the slowest hop as measured in this run with all three busy at once, each on its own",
        ),
    )


def chain(rates: tuple[float, ...]) -> Machine:
    """Memories in a row, joined by channels of these speeds that take two requests at a time."""
    memories = tuple(Memory(f"m{i}", MemoryKind.SYS) for i in range(len(rates) + 1))
    channels = tuple(
        Channel("", ChannelKind.MEMCPY, f"m{i}", f"m{i + 1}", LatencyBandwidth(LATENCY, rate), max_in_flight=2)
        for i, rate in enumerate(rates)
    )
    return Machine("chain", memories, channels, limits=Limits(slot_limit=4 << 20))


def _row(what: str, bound: float, seconds: float, made: Plan) -> dict[str, Any]:
    throughput = made.bytes / seconds
    return {
        "what": what,
        "bound": bound,
        "throughput": throughput,
        "to_bound": throughput / bound,
        "seconds": seconds,
        "predicted": made.seconds,
    }


def _limited(nbytes: int, repeat: int) -> list[dict[str, Any]]:
    machine = chain(RATES)
    space = IndexSpace(x=nbytes // PAIR.nbytes)
    made = plan(Transfer.whole(space, PAIR, "m0", "<F, x>", f"m{len(RATES)}", "<F, x>"), machine, "full")
    piped, forwarded = [], []
    with Engine(machine, EmulatedMachine(), request_bytes=4 << 20) as engine:
        for _ in range(repeat):
            piped.append(engine.run(made, verify=False).seconds)
            forwarded.append(engine.run(made, verify=False, pipelined=False).seconds)
    rates = [hop.throughput for hop in made.hops]
    slowest, harmonic = min(rates), 1 / sum(1 / rate for rate in rates)
    return [
        _row("channels of a set speed, pipelined", slowest, statistics.median(piped), made),
        _row("channels of a set speed, stored and forwarded", harmonic, statistics.median(forwarded), made),
    ]


def _local(nbytes: int, repeat: int, folder: str) -> list[dict[str, Any]]:
    machine = preset("local", directory=folder)
    space = IndexSpace(x=nbytes // PAIR.nbytes)
    made = plan(Transfer.whole(space, PAIR, "node0.dsk", "<F, x>", "node0.dsk", "<x, F>"), machine, "full", Options())
    bounds, piped, forwarded = [], [], []
    with Engine(machine, ThisComputer(folder)) as engine:
        for _ in range(repeat):
            bounds.append(_busy_at_once(ThisComputer(folder), made, machine))
            piped.append(engine.run(made, verify=False).seconds)
            forwarded.append(engine.run(made, verify=False, pipelined=False).seconds)
    bound = statistics.median(bounds)
    path = " → ".join(name.rsplit(".", 1)[-1].upper() for name in made.memories)
    return [
        _row(f"{path}, pipelined", bound, statistics.median(piped), made),
        _row(f"{path}, stored and forwarded", bound, statistics.median(forwarded), made),
    ]


def _busy_at_once(devices: ThisComputer, made: Plan, machine: Machine) -> float:
    """Bytes per second of the slowest hop while all hops of a plan are at work, each on chunks of its own."""
    work = work_of(made)
    opened = OpenedDevices(machine, devices)
    memories, channels = opened.memories(made), [opened.channel(hop.channel) for hop in made.hops]
    passes: list[float | None] = [None] * len(made.hops)

    def loop(hop: int, execution: Execution) -> None:
        began = time.perf_counter()
        while None in passes:  # faster hops go on: all are busy until the slowest has moved everything
            for chunk in range(work.chunks):
                if hop:
                    execution.parts_of(hop - 1, chunk)  # puts the slot where the hop before would
                for request in range(work.requests[hop]):
                    execution.move(Issue(0, hop, chunk, request))
                if None not in passes:
                    return
            if passes[hop] is None:
                passes[hop] = time.perf_counter() - began

    with ExitStack() as stack:
        executions = []
        for _ in made.hops:
            execution = Execution(0, made, work, Event(made), (None, None), memories, channels, None, lambda _: None)
            stack.callback(execution.stack.close)
            stack.callback(execution.release)
            execution.open()
            executions.append(execution)
        threads = [threading.Thread(target=loop, args=each) for each in enumerate(executions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return made.bytes / max(seconds for seconds in passes if seconds is not None)
