"""Layout conversions inside the GPU, over the suite of `isoviz bench layouts`.

The limit is a device-to-device copy of as many bytes. The peers are CuPy and PyTorch with the same strided elements.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from isoviz.bench.aims import compared, quickest, row
from isoviz.bench.gpu.bench import ANY, FBM, left_out, medians
from isoviz.bench.gpu.peers import cupy_views
from isoviz.bench.layouts import Case, cases
from isoviz.planner import Transfer, plan_by_path

if TYPE_CHECKING:
    from isoviz.bench.gpu.bench import GpuBench
    from isoviz.layouts import StridedCopy

SHARE_AIM, NEVER_SLOWER = 0.85, 1.0
COPY = "device-to-device copy"
OF_EACH_GROUP = 2
"""Conversions of each group that the engine carries out."""
MOST_VIEWS = 64
"""Strided copies of a case, at most, that peers carry out one by one."""


def gpu_conversions(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """One row for each conversion, in seconds of the GPU; then how they do all together."""
    suite = [(case, case.copies()) for case in cases(bench.sizes.conversions)]
    reach = max(_reach(copies, end) for _, copies in suite for end in (1, 2))
    source, mine, theirs = (bench.device(reach) for _ in range(3))
    lane = bench.lane()
    found: list[dict[str, Any]] = []
    try:
        with bench.gpu.current():  # Kernels are compiled several at once, before the time of this part begins.
            lane.stream  # noqa: B018  # makes it, and with it the kernels are kept
            jobs = [job for _, copies in suite for job in lane.expected(copies, source.data.ptr, mine.data.ptr)]
            bench.gpu.kernels.prepare(jobs)
        bench.allow_again()
        for case, copies in suite:
            if not bench.has_time:
                break
            found.append(_converted(bench, lane, case, copies, source, mine, theirs))
            yield found[-1]
    finally:
        lane.close()
    yield from _together(found, len(suite))


def _converted(
    bench: GpuBench, lane: Any, case: Case, copies: Sequence[StridedCopy], source: Any, mine: Any, theirs: Any
) -> dict[str, Any]:
    total = sum(copy.nbytes for copy in copies)
    runtime, cupy = bench.runtime, bench.cupy
    for array in (mine, theirs):
        array.fill(0)
    runtime.deviceSynchronize()

    def by_cupy() -> None:
        with bench.stream:
            for to, at in pairs:
                cupy.copyto(to, at)

    with bench.gpu.current():
        stream = lane.stream
        queues: dict[str, tuple[int, Callable[[], object]]] = {
            "isoviz": (stream, partial(lane.queue, copies, source.data.ptr, mine.data.ptr)),
            COPY: (stream, partial(runtime.memcpyAsync, theirs.data.ptr, source.data.ptr, total, ANY, stream)),
        }
        if len(copies) <= MOST_VIEWS:
            pairs = [cupy_views(cupy, copy, source, theirs) for copy in copies]
            queues["CuPy"] = (bench.stream.ptr, by_cupy)
            if bench.torch is not None:
                queues["PyTorch"] = (bench.stream.ptr, bench.torch.copies(copies, source, theirs, bench.stream.ptr))
        ways = {name: partial(bench.on_gpu, *queue) for name, queue in queues.items()}
        times = bench.in_turn(ways)
        if "CuPy" in queues:  # `theirs` holds what the plain copy left there
            theirs.fill(0)
            runtime.deviceSynchronize()  # CuPy fills on the null stream, which the other one does not wait for
            by_cupy()
            runtime.deviceSynchronize()
            bench.check_equal(case.name, mine, theirs)
    what = f"{case.group}: {case.name}"
    share = statistics.median(limit / one for limit, one in zip(times[COPY], times["isoviz"], strict=True))
    more = {"share": share, "bytes": total, "group": case.group, "ways": medians(times)}
    peers = [name for name in ("CuPy", "PyTorch") if name in times]
    if not peers:
        return {**compared("conversions", what, times, "isoviz", COPY), **more}
    return {**compared("conversions", what, times, "isoviz", quickest(times, peers), NEVER_SLOWER), **more}


def _together(found: Sequence[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    converting = [each for each in found if each["group"] != "identical"]
    if converting:
        mean = statistics.geometric_mean([each["share"] for each in converting])
        what = f"{len(converting)} conversions: geometric mean of the shares of a {COPY}"
        yield row("conversions", what, mean, COPY, 1.0, SHARE_AIM, ratio=mean, unit="share")
    if len(found) < count:
        yield {
            **row("conversions", f"{count - len(found)} of {count} conversions", 0.0),
            "error": "left out: no time",
            "met": False,
        }


def engine_conversions(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Some conversions of every group by the engine: from `submit` to the end, beside a copy and a wait for it."""
    suite = cases(bench.sizes.engine_conversions)
    some = [case for _, group in groupby(suite, lambda case: case.group) for case in list(group)[:OF_EACH_GROUP]]
    shares: list[float] = []
    for case in some:
        if not bench.has_time:
            yield left_out("engine", f"{len(some) - len(shares)} of {len(some)} conversions")
            break
        transfer = Transfer.whole(case.space, case.fields, FBM, case.source, FBM, case.destination)
        made = plan_by_path(transfer, bench.machine, (FBM, FBM))
        near, far = (end.linearization.nbytes for end in (transfer.source, transfer.destination))
        source, destination = bench.device(near)[:near], bench.device(far)[:far]
        other = bench.device(made.bytes)
        ways: dict[str, Callable[[], float]] = {
            "isoviz": bench.submitted(made, source, destination),
            COPY: partial(bench.bare, other.data.ptr, source.data.ptr, min(made.bytes, near)),
        }
        times = bench.in_turn(ways)
        shares.append(statistics.median(limit / mine for limit, mine in zip(times[COPY], times["isoviz"], strict=True)))
        yield {**compared("engine", f"{case.group}: {case.name}", times, "isoviz", COPY), "ways": medians(times)}
    if shares:
        mean = statistics.geometric_mean(shares)
        what = f"{len(shares)} conversions by the engine: geometric mean of the shares of a {COPY}"
        yield row("engine", what, mean, COPY, 1.0, SHARE_AIM, ratio=mean, unit="share")


def _reach(copies: Sequence[StridedCopy], end: int) -> int:
    return max(
        (copy.source_offset, copy.destination_offset)[end - 1] + copy.run + sum((loop[0] - 1) * loop[end] for loop in copy.loops)
        for copy in copies
    )
