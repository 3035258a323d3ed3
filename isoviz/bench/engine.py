"""The cost of the engine itself: a small copy or a small plan from call to end, and a request among many.

The same run measures NumPy's own copy of these bytes, and a job that a thread carries out (`concurrent.futures`). Realm 25.06
takes 19 to 37 µs for a copy of 4 KiB on a similar machine.
"""

from __future__ import annotations

import gc
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.table import Table, seconds_of, where_known
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Limits, Machine, Memory, MemoryKind, preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import Plan, Transfer, plan, plan_by_path
from isoviz.runtime.device_bases import BaseChannel
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoviz.layouts import StridedCopy
    from isoviz.runtime.engine.prepared_transfer import PreparedTransfer
    from isoviz.runtime.protocols import Bound, Check, Store

SMALL = 4096
TINY = 8
REALM = "19 to 37 µs"
REQUESTS = 4096
HOPS = 3
LONG, CHUNK = 64 << 20, 256 << 10
"""Bytes of a transfer over three hops, and of its chunks."""
ROUNDS = 15


class _Nothing(BaseChannel):
    """A channel that moves nothing: what is left is the engine."""

    at_once = True

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:  # noqa: ARG002
        return 1


def measure(repeat: int = 2000) -> Table:
    """Medians of `repeat` small copies, and the cost of a request in a transfer of thousands."""
    machine = preset("local", measure="assumed")
    here, there = np.arange(SMALL // 8, dtype="f8"), np.zeros(SMALL // 8)
    one, other = np.arange(1, dtype="f8"), np.zeros(1)
    plans = [_plan(machine, nbytes) for nbytes in (TINY, SMALL)]
    struct = np.zeros(SMALL // 8, [("re", "f4"), ("im", "f4")])
    split = np.zeros((2, SMALL // 8), "f4")
    rows = []
    with Engine(machine) as engine, ThreadPoolExecutor(1) as pool:
        actions: dict[str, Callable[[], Any]] = {
            "copy, 4 KiB": lambda: engine.copy(here, "<F, x>", there, "<F, x>").wait(),
            "copy, 4 KiB, AOS → SOA": lambda: engine.copy(struct, "<F, x>", split, "<x, F>").wait(),
            "copy, 8 B": lambda: engine.copy(one, "<F, x>", other, "<F, x>").wait(),
            "submit, 4 KiB": lambda: engine.submit(plans[1], here, there).wait(),
            "submit, 8 B": lambda: engine.submit(plans[0], one, other).wait(),
            "NumPy copyto, 4 KiB": lambda: np.copyto(there, here),
            "NumPy copyto in a thread, waited for": lambda: pool.submit(np.copyto, there, here).result(),
        }
        for text, made, ends in (("4 KiB", plans[1], (here, there)), ("8 B", plans[0], (one, other))):
            prepared = engine.prepare(made, *ends)
            actions[f"prepared, {text}"] = partial(_carry_out, prepared)
        for action in actions.values():
            action()
        times: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(repeat):
            for name, action in actions.items():
                times[name].append(seconds_of(action))
        medians = {name: statistics.median(seconds) for name, seconds in times.items()}
        for name, seconds in medians.items():
            what, size = name.split(", ")[:2]
            rows.append(_row(name, seconds, REALM if what == "copy" and size == "4 KiB" else None))
            if size == "4 KiB":
                rows[-1]["to_numpy"] = seconds / medians["NumPy copyto, 4 KiB"]
            if what in ("submit", "prepared"):
                rows[-1]["to_copy"] = seconds / medians[f"copy, {size}"]
    said = "a request, {} hop{}, channels that move nothing"
    rows += [_row(said.format(hops, "s"[: hops > 1]), _per_request(hops)) for hops in (1, 3)]
    rows += _lane_rows()
    return Table(
        "engine",
        f"what the engine costs: medians of {repeat}",
        {
            "what": ("what", str),
            "seconds": ("time", format_seconds),
            "to_numpy": ("÷ NumPy", where_known(lambda ratio: f"{ratio:.1f}")),
            "to_copy": ("÷ copy", where_known(lambda ratio: f"{ratio:.1f}")),
            "realm": ("Realm 25.06", lambda text: text or "-"),
        },
        rows,
        (
            "a small copy is carried out by the caller's own thread while its channel is free; so is a small plan",
            f"a request: {REQUESTS} chunks of {format_bytes(SMALL)}; all of it is scheduling, threads and copy geometry",
            "requests of a few KiB stay in the thread that made them ready: handing them over costs more",
            f"over {HOPS} hops: a compiled loop moves the parts of a transfer that has its channels for itself",
            "an urgent transfer recalls the channels from a long one; its time is that beside the long one",
            "Realm's figure was measured on a like machine, not in this run",
        ),
    )


def _carry_out(prepared: PreparedTransfer) -> None:
    prepared.start().wait()


def _row(what: str, seconds: float, realm: str | None = None) -> dict[str, Any]:
    return {"what": what, "seconds": seconds, "to_numpy": None, "to_copy": None, "realm": realm}


def _plan(machine: Machine, nbytes: int) -> Plan:
    """A plan that moves numbers within the host memory, as the copies do."""
    memory = next(memory.name for memory in machine.memories if memory.kind == MemoryKind.SYS)
    return plan(Transfer.whole(IndexSpace(x=nbytes // 8), FieldSpace(value="f8"), memory, "<F, x>", memory, "<F, x>"), machine)


def _per_request(hops: int) -> float:
    """Seconds that a request takes on channels that move nothing."""
    from isoviz.backends.devices import ThisComputer

    class Idle(ThisComputer):
        def channel(self, channel: Channel, source: Bound, destination: Bound) -> _Nothing:  # noqa: ARG002
            return _Nothing()

    machine = _row_of_memories(hops)
    made = _along(machine, REQUESTS * SMALL, SMALL)
    found = []
    with Engine(machine, Idle()) as engine:
        for _ in range(5):
            gc.collect()
            report = engine.run(made, verify=False)
            found.append(report.seconds / (made.chunk_count * hops))
    return statistics.median(found)


def _row_of_memories(hops: int) -> Machine:
    """Host memories in a row, with a channel between each two."""
    memories = tuple(Memory(f"m{i}", MemoryKind.SYS) for i in range(hops + 1))
    channels = tuple(Channel("", ChannelKind.MEMCPY, f"m{i}", f"m{i + 1}", Constant(1e9)) for i in range(hops))
    return Machine("row", memories, channels, limits=Limits(slot_limit=CHUNK))


def _along(machine: Machine, nbytes: int, chunk: int, priority: int = 0) -> Plan:
    """A plan that moves bytes over all hops of such a machine."""
    names = [memory.name for memory in machine.memories]
    whole = Transfer.whole(IndexSpace(x=nbytes), FieldSpace(value="u1"), names[0], "<F, x>", names[-1], "<F, x>")
    return plan_by_path(replace(whole, priority=priority), machine, names, chunk=chunk)


def _lane_rows() -> list[dict[str, Any]]:
    """Transfers over three hops in memory, beside NumPy's copy of the bytes, and an urgent one beside a long one."""
    from isoviz.backends.host import kernels

    kernels.prepare(wait=True)
    machine, rows = _row_of_memories(HOPS), []
    source, destination = np.ones(LONG, "u1"), np.zeros(LONG, "u1")
    with Engine(machine) as engine:
        few, long = _along(machine, REQUESTS * SMALL, SMALL), _along(machine, LONG, CHUNK)
        here, there = source[: few.bytes], destination[: few.bytes]
        actions = {
            "a part": lambda: engine.submit(few, here, there).wait(),
            "long": lambda: engine.submit(long, source, destination).wait(),
            "copyto": lambda: np.copyto(destination, source),
        }
        times = {name: [seconds_of(action) for _ in range(ROUNDS)] for name, action in actions.items()}
        part, whole, plain = (statistics.median(each) for each in times.values())
        rows.append(_row(f"a part of {format_bytes(SMALL)}, {HOPS} hops", part / (few.chunk_count * HOPS)))
        what = f"submit, {format_bytes(LONG)} over {HOPS} hops in chunks of {format_bytes(CHUNK)}"
        rows.append({**_row(what, whole), "to_numpy": whole / plain})
        rows.append({**_row(f"NumPy copyto, {format_bytes(LONG)}", plain), "to_numpy": 1.0})
        urgent = _along(machine, CHUNK, CHUNK, priority=1)
        alone, beside = ([_urgent(engine, background, urgent) for _ in range(ROUNDS)] for background in (None, long))
        what = f"urgent {format_bytes(CHUNK)} over {HOPS} hops"
        rows += [_row(f"{what}, alone", statistics.median(alone)), _row(f"{what}, beside a long one", statistics.median(beside))]
    return rows


def _urgent(engine: Engine, long: Plan | None, urgent: Plan) -> float:
    """Seconds of an urgent transfer, while a long one is under way."""
    event = None
    if long is not None:
        event = engine.submit(long, np.ones(LONG, "u1"), np.zeros(LONG, "u1"))
        time.sleep(0.003)
    here, there = np.ones(CHUNK, "u1"), np.zeros(CHUNK, "u1")
    seconds = seconds_of(lambda: engine.submit(urgent, here, there).wait())
    if event is not None:
        event.wait()
    return seconds
