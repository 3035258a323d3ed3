"""A plan of several paths given by hand, each with its share of the data."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz import checks
from isoviz.errors import InputError, LayoutError, LimitError, MachineError, NoPathError, TransferError, show
from isoviz.layouts import Box
from isoviz.planner.by_hand.limits import broken_limits, limit_text
from isoviz.planner.by_hand.path_by_hand import costed
from isoviz.planner.cache import CACHE
from isoviz.planner.one_path.hop_facts import chunk_bytes, first_setup, path_clock, path_orders
from isoviz.planner.options import BY_HAND, Options
from isoviz.planner.plan import Plan
from isoviz.planner.problem import Problem, channels_in_mean
from isoviz.planner.shares import Share, check_boxes, check_holds_entries, check_numbers
from isoviz.planner.transfer import check_arguments, check_ends

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.machines import Machine, MachineLike
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.transfer import Transfer


class PathByHand(NamedTuple):
    """A path with its share.

    `share` is a sub-box of the transfer, or a run of chunks. A box is a `Box` or a mapping from each dimension to its first
    coordinate and its end: `{"x": (0, 512)}`. A dimension without an entry is whole. A run of chunks is a range of their numbers.
    `path`, `layouts`, `chunk` and `blocks` are as in `isoviz.plan_by_path`.
    """

    share: Share | Mapping[str, tuple[int, int]]
    path: str | Sequence[str]
    layouts: Sequence[Layout | str] | Mapping[str, Layout | str] = ()
    chunk: int | str | None = None
    blocks: int | None = None


def plan_of_paths(
    transfer: Transfer,
    machine: MachineLike,
    paths: Sequence[PathByHand | tuple[Any, ...]],
    *,
    options: Options | None = None,
) -> Plan:
    """The plan of a transfer over several paths at once: `plan_of_paths(transfer, machine, [(share, path), …])`.

    Each of `paths` is a `PathByHand`, or a tuple with the same entries. All shares are sub-boxes, or all are runs of chunks of
    one common sequence. The shares cover the transfer without overlap. The first path with buffers determines the common
    sequence, and its `chunk` or `blocks` determines the size of the chunks. All other paths use that sequence, so the layouts of
    their buffers have to end with the same components. `options` gives slots and limits. The memory limit and the capacity of
    memories bound the buffers of all paths together.

    Raises:
        TransferError: the shares leave a gap or overlap (the message names it), the shares are of two kinds, or the layouts do
            not end with the same components. LimitError: the buffers exceed a limit. Others as `isoviz.plan_by_path`, with the
            number of the path in the message.
    """
    machine = check_arguments("plan of paths", transfer, machine)
    options = Options.given(options)
    check_ends(transfer, machine)
    entries = checks.items("plan of paths", paths, "(share, path) for each path")
    given = [_checked(number, entry) for number, entry in enumerate(entries)]
    runs = [isinstance(each.share, range) for each in given]
    if not given or any(runs) != all(runs):
        raise TransferError(
            "plan: expected at least one path" if not given else "plan: expected shares of one kind, boxes or runs of chunks"
        )
    made = _of_chunks(transfer, machine, given, options) if runs[0] else _of_boxes(transfer, machine, given, options)
    if broken := broken_limits(Problem(transfer, machine, options), made):
        raise LimitError("plan: " + "; ".join(dict.fromkeys(limit_text(each, machine) for each in broken)))
    CACHE.keep_machine(machine)
    emulated = machine.emulated(name for path in made for name in path.memories)
    return Plan(transfer, machine.name, machine.digest, BY_HAND, tuple(made), emulated=emulated)


def _checked(number: int, entry: object) -> PathByHand:
    if not isinstance(entry, tuple) or not 2 <= len(entry) <= len(PathByHand._fields):
        raise InputError(f"path {number}: expected (share, path) or a PathByHand, got {show(entry)}")
    found = PathByHand(*entry)
    if not isinstance(found.share, Box | range | Mapping):
        raise InputError(
            f"path {number}: expected a share that is a Box, a mapping like {{'x': (0, 8)}} or a range of chunks, got"
            f" {show(found.share)}"
        )
    return found


def _of_boxes(transfer: Transfer, machine: Machine, given: Sequence[PathByHand], options: Options) -> list[PathPlan]:
    boxes = [_box(number, transfer, each.share) for number, each in enumerate(given)]
    check_boxes(transfer.space, boxes)
    found = []
    for number, (box, each) in enumerate(zip(boxes, given, strict=True)):
        found.append(_made(number, Problem(transfer.part(box), machine, options), each))
    return found


def _of_chunks(transfer: Transfer, machine: Machine, given: Sequence[PathByHand], options: Options) -> list[PathPlan]:
    problem = Problem(transfer, machine, options)
    made: dict[int, PathPlan] = {}
    lead = 0
    for number, each in enumerate(given):
        made[number] = _made(number, problem, each)
        if made[number].buffers:
            lead = number
            break
    common = made[lead].chunks
    for number, each in enumerate(given):
        if number != lead:
            if each.chunk is not None or each.blocks is not None:
                raise InputError(f"path {number}: the size of the chunks is that of path {lead}; expected it there only")
            made[number] = _made(number, problem, each, like=common)
    check_numbers([each.share for each in given if isinstance(each.share, range)], len(common))
    return [
        _with_run(problem, number, made[number], each.share) for number, each in enumerate(given) if isinstance(each.share, range)
    ]


def _made(number: int, problem: Problem, each: PathByHand, like: Any = None) -> PathPlan:
    try:
        path, found = costed(problem, each.path, each.layouts, each.chunk, each.blocks, like)
    except InputError as error:
        # Some errors take more than a message: the nearest class that does not carries the text.
        plain: tuple[type[InputError], ...] = LayoutError, NoPathError, LimitError, TransferError, MachineError
        kind = next((kind for kind in plain if isinstance(error, kind)), InputError)
        raise kind(f"path {number}: {error}") from error
    if found:
        raise LimitError(f"path {number}: {limit_text(found[0], problem.machine)}")
    return path


def _with_run(problem: Problem, number: int, path: PathPlan, run: range) -> PathPlan:
    """A path that moves only a run of the chunks, with T for that run.

    Raises:
        TransferError: the chunks hold only padding.
    """
    found = replace(path, run=(run.start, run.stop))
    check_holds_entries(number, found)
    way = path_orders(path.transfer, path.orders)
    channels = channels_in_mean(problem, [hop.channel for hop in path.hops])
    clock = path_clock(path.transfer, problem.machine, channels, way, path.slots, nbytes=found.bytes)
    chunk = chunk_bytes(path.chunks)
    setup, kept = first_setup(clock, way, chunk, problem.reuse)
    return replace(found, objective=clock.seconds(chunk, way.runs), setup=setup, kept=kept)


def _box(number: int, transfer: Transfer, share: Share | Mapping[str, tuple[int, int]]) -> Box:
    """A share as a box within the transfer.

    Raises:
        TransferError: an unknown dimension, or a box that is empty or not within the transfer.
    """
    space = transfer.space
    if isinstance(share, Mapping):
        if unknown := [dim for dim in share if dim not in space]:
            raise TransferError(f"path {number}: share: no dimension {show(unknown[0])}; expected some of {', '.join(space)}")
        try:
            given = [share.get(dim, (0, space[dim])) for dim in space]
            ranges = [(operator.index(low), operator.index(high)) for low, high in given]
        except (TypeError, ValueError):
            raise InputError(f"path {number}: share: expected (first, end) of each dimension, got {show(dict(share))}") from None
        bad = [dim for dim, (low, high) in zip(space, ranges, strict=True) if not 0 <= low < high <= space[dim]]
        if bad:
            raise TransferError(
                f"path {number}: share: {bad[0]} from {share[bad[0]][0]} to {share[bad[0]][1]}; expected a part of 0 to"
                f" {space[bad[0]]} that is not empty"
            )
        share = Box(tuple([low for low, _ in ranges]), tuple([high for _, high in ranges]))
    assert isinstance(share, Box)
    transfer.part(share)  # raises if the box is invalid
    return share
