"""Jobs: transfers that measure a channel, of a kind and with runs of a length. They are the same on every timer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine, MemoryKind
from isoviz.measure import tuning
from isoviz.planner import Instance, Options, Transfer, plan_by_path
from isoviz.planner import plan as make_plan
from isoviz.planner.explanation.curves.chunk_curve import rechunked

if TYPE_CHECKING:
    from isoviz.machines import Channel
    from isoviz.planner import Plan

_BYTE = FieldSpace(v="uint8")
_FIELDS = 4
_THERE, _BACK = "<F, x, y, z>", "<F, x, z, y>"
_LAYOUTS = {
    "gather": (_THERE, _BACK),
    "scatter": (_BACK, _THERE),
    "transpose": (_THERE, _BACK),
    "piped": (_THERE, _BACK),
    "split": ("<F, x>", "<x, F>"),
    "join": ("<x, F>", "<F, x>"),
}
SHAPES = ("stream", "relayed", "piped", "copied", "gather", "scatter", "sparse", "parts", "split", "join", "transpose")
"""The kinds of jobs.

- `stream`: contiguous chunks of one run.
- `relayed`: the same into a buffer of another node, where a copy takes every chunk to pageable memory.
- `gather`: structs of four fields, each a run long, become four arrays. `scatter` is the inverse.
- `split` and `join`: the same with fields of a quarter, a half, one and 9/4 of a run, whose mean is the run.
- `transpose`: rows of a matrix become columns; an element is a run.
- `sparse`: one field of structs, with gaps so large that a disk does not read through them.
- `parts`: one of two equal fields of structs, so that runs with gaps are copied as they are.
- `piped`: chunks of a run go through a buffer in host memory, and a copy converts them there. Most plans for disks are such
  pipelines.
- `copied`: `piped` from a disk to itself.
"""


class Job(NamedTuple):
    """A job: move `nbytes` bytes over a channel in runs of `run` bytes, in one of the `SHAPES`."""

    channel: str
    shape: str
    run: int
    nbytes: int


def job_plan(machine: Machine, job: Job) -> Plan:
    """The plan of a job on a machine."""
    channel = machine.channel(job.channel)
    ends = channel.source, channel.destination
    if job.shape == "stream":
        transfer = _transfer(IndexSpace(x=job.nbytes), *ends, "<F, x>", "<F, x>")
        return plan_by_path(transfer, machine, [channel.name], chunk=job.run)
    if job.shape == "relayed":
        end = f"node{machine.memory(channel.destination).node}.sys"
        copy = next(each for each in machine.between(channel.destination, end) if each.kind.is_host_copy)
        transfer = _transfer(IndexSpace(x=job.nbytes), channel.source, end, "<F, x>", "<F, x>")
        return plan_by_path(transfer, machine, [channel.name, copy.name], chunk=job.run)
    if job.shape in ("piped", "copied"):
        rows = max(1, job.nbytes // (_FIELDS * tuning.PIPED_RUN))
        space = IndexSpace(x=tuning.PIPED_RUN, y=_FIELDS, z=rows)
        if job.shape == "copied":
            disk = next(end for end in ends if machine.memory(end).kind is MemoryKind.DSK)
            transfer = _transfer(space, disk, disk, _THERE, _THERE)
        else:
            transfer = _transfer(space, *ends, *_LAYOUTS["piped"])
        plan = make_plan(transfer, machine, None, Options("simple", slot_limit=max(job.run, tuning.MIB)))
        return rechunked(plan, min(max(1, round(job.run * plan.chunks.blocks / plan.bytes)), plan.chunks.blocks), machine)
    if job.shape in ("split", "join"):
        fields = FieldSpace.of({f"f{part}": f"V{max(1, job.run * part // 4)}" for part in (1, 2, 4, 9)})
        space = IndexSpace(x=max(1, job.nbytes // fields.nbytes))
        source, destination = _LAYOUTS[job.shape]
        transfer = Transfer.whole(space, fields, ends[0], source, ends[1], destination)
        return _on_channel(transfer, machine, channel)
    if job.shape in ("sparse", "parts"):
        fields = FieldSpace(a=f"V{job.run}", b=f"V{tuning.APART if job.shape == 'sparse' else job.run}")
        space = IndexSpace(x=max(1, job.nbytes // job.run))
        here = Instance(ends[0], space, fields, Layout("<F, x>"))
        there = Instance(ends[1], space, fields.subset(("a",)), Layout("<F, x>"))
        transfer = Transfer(here, there, field_names=("a",))
        return _on_channel(transfer, machine, channel)
    elements = max(1, job.nbytes // job.run)
    rows = _FIELDS if job.shape != "transpose" else max(2, math.isqrt(elements))
    space = IndexSpace(x=job.run, y=rows, z=max(1, elements // rows))
    transfer = _transfer(space, *ends, *_LAYOUTS[job.shape])
    return _on_channel(transfer, machine, channel)


def _transfer(space: IndexSpace, source: str, destination: str, here: str, there: str) -> Transfer:
    return Transfer.whole(space, _BYTE, source, here, destination, there)


def _on_channel(transfer: Transfer, machine: Machine, channel: Channel) -> Plan:
    """The plan of one hop over a channel, which may have others beside it."""
    if not channel.kind.crosses_nodes:
        found = make_plan(transfer, machine, None, Options("direct"))
        if found.hops[0].channel == channel.name:
            return found
    return plan_by_path(transfer, machine, [channel.name])
