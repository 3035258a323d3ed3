"""What Python costs between the copies of a GPU: transfers on a GPU that takes the time of a real one and moves nothing.

The bare time is that of one copy of all bytes, queued and waited for by hand. A row has the share of it that isoviz reaches, and
the processor time of all threads for each request.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.timed_gpu import GAP, LINK, WITHIN, Kernels, TimedArray, TimedDriver
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.devices import ThisComputer
from isoviz.bench.table import Table, two_digits, where_known
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.planner import Plan, Transfer, plan_by_path
from isoviz.runtime import BaseEngine
from isoviz.units import format_bytes, format_seconds

MIB, GIB = 1 << 20, 1 << 30
_FBM, _ZCM = Memory("node0.fbm0", MemoryKind.FBM), Memory("node0.zcm", MemoryKind.ZCM)


class Case(NamedTuple):
    """A transfer of `nbytes` bytes: the names of its memories, the layout at its end, and whether it is prepared."""

    name: str
    nbytes: int
    source: str
    destination: str
    layout: str = "<F, x, y>"
    is_prepared: bool = False


CASES = (
    Case("within the GPU", GIB, _FBM.name, _FBM.name),
    Case("within the GPU", 16 * GIB, _FBM.name, _FBM.name),
    Case("transposed within the GPU", 16 * GIB, _FBM.name, _FBM.name, "<F, y, x>"),
    Case("pinned memory to the GPU", MIB, _ZCM.name, _FBM.name),
    Case("pinned memory to the GPU", 64 * MIB, _ZCM.name, _FBM.name),
    Case("pinned memory to the GPU", 256 * MIB, _ZCM.name, _FBM.name),
    Case("pinned memory to the GPU", 4 * GIB, _ZCM.name, _FBM.name),
    Case("pinned memory to the GPU, prepared", MIB, _ZCM.name, _FBM.name, is_prepared=True),
    Case("pinned memory to the GPU, prepared", 64 * MIB, _ZCM.name, _FBM.name, is_prepared=True),
    Case("the GPU to pinned memory", 64 * MIB, _FBM.name, _ZCM.name),
)


def machine(link: float = LINK, within: float = WITHIN) -> Machine:
    """One GPU and pinned memory, with the rates of the played GPU."""
    rates = {
        (_ZCM.name, _FBM.name, ChannelKind.GPU_WRITE): link,
        (_FBM.name, _ZCM.name, ChannelKind.GPU_READ): link,
        (_FBM.name, _FBM.name, ChannelKind.GPU_COPY): within,
    }
    channels = tuple(Channel("", kind, here, there, Constant(rate)) for (here, there, kind), rate in rates.items())
    return Machine("one GPU", (_FBM, _ZCM), channels)


def planned(case: Case, made: Machine) -> Plan:
    """The plan of a case: one hop."""
    rows = 1 << (case.nbytes.bit_length() // 2)
    space, fields = IndexSpace(x=rows, y=case.nbytes // rows // 4), FieldSpace(value="float32")
    transfer = Transfer.whole(space, fields, case.source, "<F, x, y>", case.destination, case.layout)
    return plan_by_path(transfer, made, [case.source, case.destination])


def end(driver: TimedDriver, memory: str, nbytes: int) -> Any:
    """An array of a caller in a memory."""
    return TimedArray(driver, nbytes) if memory == _FBM.name else driver.allocate_pinned(nbytes).array


def engine(driver: TimedDriver, made: Machine, **options: Any) -> BaseEngine:
    """An engine on the played GPU."""
    return BaseEngine(made, ThisComputer(gpus=Gpus(driver, Kernels())), **options)


def measure(repeat: int = 7) -> Table:
    """Medians of `repeat` rounds."""
    rows = [_case(case, repeat) for case in CASES]
    rows.append(_urgent(repeat))
    return Table(
        "gpu-requests",
        f"requests of a GPU that takes the time of a real one and moves nothing: medians of {repeat}",
        {
            "what": ("what", str),
            "requests": ("requests", str),
            "cpu": ("Python per request", where_known(format_seconds)),
            "seconds": ("measured", format_seconds),
            "share": ("bare ÷ measured", two_digits),
        },
        rows,
        (f"link {LINK / 1e9:.0f} GB/s, copies within the GPU {WITHIN / 1e9:,.0f} GB/s, {GAP * 1e6:.0f} µs between two of them",),
    )


def _case(case: Case, repeat: int) -> dict[str, Any]:
    driver, made = TimedDriver(), machine()
    chosen = planned(case, made)
    ends = end(driver, case.source, case.nbytes), end(driver, case.destination, case.nbytes)
    seconds, cpu = [], []
    with engine(driver, made) as running:
        start = running.prepare(chosen, *ends).start if case.is_prepared else partial(running.submit, chosen, *ends)
        for _ in range(repeat + 1):
            used, began = time.process_time(), driver.now()
            start().wait()
            seconds.append(driver.now() - began)
            cpu.append(time.process_time() - used)
        requests = sum(hop.requests for hop in running.run(chosen, *ends, verify=False).hops)
    bare = GAP + case.nbytes / (WITHIN if case.source == case.destination else LINK)
    return _row(f"{format_bytes(case.nbytes)}, {case.name}", requests, bare, seconds[1:], cpu[1:])


def _row(what: str, requests: int, bare: float, seconds: list[float], cpu: list[float]) -> dict[str, Any]:
    median = statistics.median(seconds)
    return {
        "what": what,
        "requests": requests,
        "cpu": statistics.median(cpu) / requests if cpu else None,
        "seconds": median,
        "share": bare / median,
    }


def _urgent(repeat: int) -> dict[str, Any]:
    """An urgent transfer of 1 MiB while a long one is under way, beside its time alone and one request of the other."""
    driver, made = TimedDriver(), machine()
    long, urgent = (planned(Case("", nbytes, _ZCM.name, _FBM.name), made) for nbytes in (4 * GIB, MIB))
    ends = {plan.bytes: (end(driver, _ZCM.name, plan.bytes), end(driver, _FBM.name, plan.bytes)) for plan in (long, urgent)}
    alone: list[float] = []
    among: list[float] = []
    with engine(driver, made) as running:
        requests = sum(hop.requests for hop in running.run(long, *ends[long.bytes], verify=False).hops)

        def timed(found: list[float]) -> None:
            began = driver.now()
            running.submit(urgent, *ends[urgent.bytes], priority=1).wait()
            found.append(driver.now() - began)

        for _ in range(repeat):
            timed(alone)
            event = running.submit(long, *ends[long.bytes])
            _until(lambda: event.bytes_done > 0)  # noqa: B023  # called at once
            timed(among)
            event.cancel()
            event.error()
    bare = statistics.median(alone) + GAP + long.bytes / requests / LINK
    return _row("1 MiB, urgent, beside 4 GiB; bare: alone and one request", 1, bare, among, [])


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(1e-4)
