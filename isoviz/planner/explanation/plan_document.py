"""A plan as a document: its figures, its path as in Isometry's table 3, and the reasons for its throughput in sentences."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from isoviz.document import Cell, Code, Document, Facts, Part, Picture, Points, Prose, Section, Table
from isoviz.layouts import Layout, OrderChange
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
from isoviz.planner.bundled.bundle import Bundle
from isoviz.planner.listed_transfer import ListedTransfer
from isoviz.planner.shares import share_text
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Collection

    from isoviz.machines import Machine
    from isoviz.planner.path_plan import Hop, PathPlan
    from isoviz.planner.plan import Plan
    from isoviz.planner.transfer import Instance, Transfer

MOST_MEMBERS = 40
"""Rows of the table of a bundle at most."""
_HEADER = ("", "memory", "layout", "channel", "run", "shuffle", "rate", "order")
_WORDS = (
    "Run: contiguous bytes of a request, from the common prefix of both layouts. Shuffle: bytes before the common suffix, which"
    " must be held to convert."
)


def plan_document(plan: Plan, machine: Machine | None = None) -> Document:
    """A plan: its path (in the machine's graph, if the machine is given), its hops as a table, and the reasons for it."""
    figures = f"{format_bytes(plan.bytes)} in {format_seconds(plan.seconds)}, {format_rate(plan.throughput)}"
    over = f", over {len(plan.paths)} paths" if len(plan.paths) > 1 else ""
    beside = [said for said in (starts_text(plan), plan.transfer.members_text) if said]
    pictures = [
        Picture(name, (plan,) if machine is None else (machine, plan))
        for name in (("cards_svg",) if machine is None else ("network_svg", "path_svg"))
    ]
    said = emulated_text(plan.emulated)
    parts: list[Part] = [
        _facts(plan),
        *(Prose(each) for each in beside),
        *pictures,
        *(part for number in range(len(plan.paths)) for part in _path(plan, number)),
        *([Prose(said)] if said else []),
        *(Prose(f"note: {note}") for note in plan.notes),
        Section("Why it is as fast", [Points(reasons(plan)), Prose(_WORDS)]),
        *_members(plan.transfer),
    ]
    return Document(plan_title(plan), parts, f"{plan.planner} plan for {plan.machine_name}: {figures}{over}")


def plan_title(plan: Plan) -> str:
    """`simple plan, node0.dsk → node0.sys`."""
    transfer = plan.transfer
    return f"{plan.planner} plan, {transfer.source.memory} → {transfer.destination.memory}"


def starts_text(plan: Plan) -> str:
    """What the starts of a plan take, in words; empty where it is for one."""
    if plan.reuse == 1:
        return ""
    first, again, mean = map(format_seconds, (plan.first, plan.again, plan.mean))
    return f"{plan.reuse:,} starts: {first} the first, {again} every later one, {mean} in the mean"


def marked(names: Collection[str], emulated: Collection[str]) -> list[str]:
    """The names of memories, with a word behind those that are emulated."""
    return [f"{name} (emulated)" if name in emulated else name for name in names]


def _facts(plan: Plan) -> Facts:
    """Key figures of a plan."""
    pairs: list[tuple[str, Cell]] = [
        ("moves", format_bytes(plan.bytes)),
        ("predicted time", format_seconds(plan.seconds)),
        ("steady rate", format_rate(plan.throughput)),
        ("machine", plan.machine_name),
    ]
    if len(plan.paths) > 1:
        pairs.insert(1, ("paths", str(len(plan.paths))))
    return Facts(pairs)


def _path(plan: Plan, number: int) -> list[Part]:
    """A path as in Isometry's table 3: a row for each memory, with the hop that leaves it."""
    path = plan.paths[number]
    buffers = f"; buffers: {format_bytes(path.buffer_bytes)}, {path.slots} slot{'s'[: path.slots > 1]} each"
    caption = f"chunks: {path.chunk_count} of {format_bytes(path.chunk_bytes)}" + (buffers if path.buffers else "")
    names = marked(path.memories, plan.emulated)
    rows: list[list[Cell]] = []
    for hop, name, shuffle, change in zip(path.hops, names, path.shuffles, path.order_changes, strict=False):
        held = format_bytes(shuffle) if hop.converts else "–"
        work = hop.kind, format_bytes(hop.request_bytes), held, format_rate(hop.throughput), change
        rows.append([str(hop.index), name, Code(Layout(hop.source_layout).pretty), *work])
    rows.append(["", names[-1], Code(Layout(path.hops[-1].destination_layout).pretty), *[""] * 5])
    slow = [at for at, hop in enumerate(path.hops) if hop.index in plan.slowest[number]]
    table = Table(_HEADER, rows, caption, marked=slow)
    if len(plan.paths) == 1:
        return [table]
    share = f"{share_text(plan.transfer.space, plan.share(number))}, {format_bytes(path.bytes)}"
    return [Prose(f"path {number}: {share}; alone {format_seconds(path.seconds)}, {format_rate(path.throughput)}"), table]


def reasons(plan: Plan) -> list[str]:
    """The reasons for the throughput of the plan, as sentences."""
    if len(plan.paths) > 1:
        return [_share(plan, number, path) for number, path in enumerate(plan.paths)]
    found = [_pace(plan.only)]
    if len(plan.hops) > 1 and plan.chunk_count == 1:
        found.append("Everything moves as one chunk, so the hops follow each other and their times add up.")
    elif len(plan.hops) > 1:
        how = (
            "The hops work on different chunks at the same time, which gives"
            if plan.overlap
            else "The hops take turns on each chunk, so their times add up:"
        )
        found.append(f"{how} {format_rate(plan.throughput)} in the steady state.")
    changes = [each for each in zip(plan.hops, plan.only.order_changes, strict=True) if each[1] is not OrderChange.KEEPS]
    found += [f"Hop {hop.index} ({ChannelKind.words_for(hop.kind)}) {change}: {layouts_of(hop)}." for hop, change in changes] or [
        "Both ends have the same order: every hop keeps it."
    ]
    if plan.chunk_count > 1:
        through = ""
        if plan.buffers:
            count = f"{len(plan.buffers)} buffers" if len(plan.buffers) > 1 else "one buffer"
            through = f", through {count} of {format_bytes(plan.buffer_bytes)} in all"
        found.append(f"It moves as {plan.chunk_count:,} chunks of {format_bytes(plan.chunk_bytes)}{through}.")
    return found


def layouts_of(hop: Hop) -> str:
    """The layouts at both ends of a hop."""
    return f"{Layout(hop.source_layout).pretty} to {Layout(hop.destination_layout).pretty}"


def _pace(path: PathPlan) -> str:
    """The hop that sets the pace of a path, or the hops that do so together."""
    if together := next((pace.words() for pace in path.paces if len(pace.hops) > 1), ""):
        return f"{together}."
    hop = path.hops[min(path.slowest, default=0)]
    said = f"Slowest is hop {hop.index} ({ChannelKind.words_for(hop.kind)}): with runs of {format_bytes(hop.request_bytes)}"
    return f"{said} it sustains {format_rate(hop.throughput)}."


def _share(plan: Plan, number: int, path: PathPlan) -> str:
    share = share_text(plan.transfer.space, plan.share(number))
    alone = f"{format_seconds(path.seconds)} on its own, {format_rate(path.throughput)} in the steady state"
    return f"Path {number}, {' → '.join(path.memories)}, moves {share}: {format_bytes(path.bytes)}, {alone}."


def _members(transfer: Transfer) -> list[Part]:
    """The members of a bundle, with neighbours that are equal in one row; nothing of other transfers."""
    table = member_table(transfer)
    return [] if table is None else [Section("Transfers of the bundle", [table])]


def member_table(transfer: Transfer) -> Table | None:
    """The members of a bundle, with neighbours that are equal in one row; None for other transfers."""
    if not isinstance(transfer, Bundle):
        return None
    groups = [[number for number, _ in found] for _, found in groupby(enumerate(transfer.members), lambda each: each[1])]
    rows: list[list[Cell]] = []
    for group in groups[:MOST_MEMBERS]:
        member = transfer.members[group[0]]
        ends = member.source, member.destination
        numbers = f"{group[0]}" if len(group) == 1 else f"{group[0]} to {group[-1]}"
        what = f"({member.space})", f"({member.fields})", format_bytes(member.nbytes)
        moved = [moved_part(member, end) or "all" for end in ends]
        rows.append([numbers, *(Code(end.layout.pretty) for end in ends), *what, *moved])
    left = len(groups) - len(rows)
    title = f"{len(transfer.members)} transfers" + (f"; {left} further kinds are not shown" if left else "")
    layouts = "source layout", "destination layout"
    header = ("transfer", *layouts, "index space", "fields", "bytes", "of the source", "in the destination")
    return Table(header, rows, title, numbers=(5,))


def moved_part(transfer: Transfer, end: Instance) -> str:
    """The part of an instance that moves, in its own coordinates; "" where all of it does."""
    shape = dict(zip(transfer.source.space.dims, transfer.shape, strict=True))
    origin = transfer.source_origin if end is transfer.source else transfer.destination_origin
    lists = (transfer.entries, transfer.to) if isinstance(transfer, ListedTransfer) else (None, None)
    found, listed = lists[end is not transfer.source], getattr(transfer, "dim", "")
    ranges = [
        f"{dim} {start:,} to {start + shape[dim] - 1:,}"
        for dim, start in zip(end.space.dims, origin, strict=True)
        if shape[dim] != end.space[dim] and (found is None or dim != listed)
    ]
    if found is not None:
        ranges.insert(0, f"{listed}: {found}")
    if set(transfer.field_names) != set(end.fields.names):
        ranges.append(f"fields {', '.join(transfer.field_names)}")
    return "; ".join(ranges)
