"""HTML of transfers and plans."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from itertools import groupby, pairwise

from isoviz.figures.charts.html_parts import (
    Markup,
    cell,
    code,
    facts,
    folded,
    heading,
    paragraph,
    pre,
    representation,
    table,
)
from isoviz.figures.charts.svg import Drawing
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.layouts.order_plot import linearization_svg
from isoviz.figures.layouts.order_view import default_axes
from isoviz.figures.machines.hop_cards import draw_cards, order_sentence
from isoviz.figures.machines.network_picture import network_svg
from isoviz.figures.machines.path_picture import path_svg
from isoviz.layouts import Layout, OrderChange, compare
from isoviz.machines import ChannelKind, Machine
from isoviz.machines.memory import emulated_text
from isoviz.planner import Bundle, Instance, ListedTransfer, PathPlan, Plan, Transfer
from isoviz.planner.shares import share_text
from isoviz.units import format_bytes, format_rate, format_seconds


def transfer_html(transfer: Transfer, *, theme: ThemeName = "auto") -> str:
    """The data to move: both ends with their storage orders, drawn along the same dimensions."""
    parts = _transfer_facts(transfer), *ends(transfer, theme=theme), member_table(transfer)
    return representation("transfer", heading("Transfer"), *parts)


def ends(transfer: Transfer, *, emulated: Collection[str] = (), theme: ThemeName = "auto") -> tuple[str, str, str]:
    """The linearization plots of source and destination, and a table of both. `emulated` memories are marked."""
    marks = {name: f"{name} (emulated)" for name in emulated}
    source, destination = transfer.source, transfer.destination
    axes = default_axes(source.linearization, destination.linearization)
    if any(dim not in destination.space for dim in axes):
        axes = ()
    pictures = [
        linearization_svg(instance.linearization, axes=axes or None, heading=f"{name}: {memory}", theme=theme)
        for name, instance in (("Source", source), ("Destination", destination))
        for memory in (marks.get(instance.memory, instance.memory),)
    ]
    rows = [
        (
            name,
            marks.get(each.memory, each.memory),
            code(each.layout.pretty),
            f"({each.space})",
            f"({each.fields})",
            format_bytes(each.linearization.nbytes),
            moved_part(transfer, each) or "all",
        )
        for name, each in (("source", source), ("destination", destination))
    ]
    both = table("Both ends", ("", "memory", "layout", "index space", "fields", "bytes", "moved"), rows, numbers=(5,))
    return pictures[0], pictures[1], both


def plan_html(plan: Plan, machine: Machine | None = None, *, theme: ThemeName = "auto") -> str:
    """A plan: its path (in the machine's graph, if the machine is given), its hops as a table, and the reasons for it."""
    picture = path_svg(machine, plan, theme=theme) if machine is not None else cards_svg(plan, theme=theme)
    network = network_svg(machine, plan, theme=theme) if machine is not None else ""
    parts = plan_facts(plan), network, picture, hop_table(plan), member_table(plan.transfer), decisions(plan)
    return representation("plan", heading(plan_title(plan)), *parts)


def plan_title(plan: Plan) -> str:
    """`simple plan, node0.dsk → node0.sys`."""
    transfer = plan.transfer
    return f"{plan.planner} plan, {transfer.source.memory} → {transfer.destination.memory}"


def plan_facts(plan: Plan) -> str:
    """Key figures of a plan."""
    key: list[tuple[str, object]] = [
        ("moves", format_bytes(plan.bytes)),
        ("predicted time", format_seconds(plan.seconds)),
        ("steady rate", format_rate(plan.throughput)),
        ("chunks", f"{plan.chunk_count:,} × {format_bytes(plan.chunk_bytes)}"),
    ]
    if plan.reuse > 1:
        key.insert(2, ("starts", f"{plan.reuse:,}: later ones {format_seconds(plan.again)}, mean {format_seconds(plan.mean)}"))
    if len(plan.paths) > 1:
        key.insert(1, ("paths", len(plan.paths)))
    if plan.emulated:
        key.append(("emulated", ", ".join(plan.emulated)))
    if plan.buffers:
        slots = " or ".join(str(count) for count in sorted({path.slots for path in plan.paths}))
        key.append(("buffers", f"{format_bytes(plan.buffer_bytes)}, {slots} slot{'' if slots == '1' else 's'} each"))
    key.append(("machine", plan.machine_name))
    return facts(key)


def hop_table(plan: Plan) -> str:
    """The path as in Isometry's table 3: memory, layout, and for each hop its run (PREFIX), shuffle size and rate."""
    rows: list[Sequence[object]] = []
    marked: list[int] = []
    for number, path in enumerate(plan.paths):
        limits = plan.slowest[number]
        marked += [len(rows) + at for at, hop in enumerate(path.hops) if hop.index in limits]
        rows += _hop_rows(path, limits, f"{number}." if len(plan.paths) > 1 else "", plan.emulated)
    return table(
        "Hops in order. Run: contiguous bytes of a request, from the common prefix of both layouts; "
        "shuffle size: bytes before the common suffix, which must be held to convert",
        ("hop", "memories", "channel", "layout", "order", "run (prefix)", "shuffle size", "rate", ""),
        rows,
        numbers=(0, 6, 7),
        marked=marked,
    )


def _hop_rows(path: PathPlan, limiting: Container[int], path_number: str, emulated: Collection[str]) -> list[Sequence[object]]:
    marks = {name: f"{name} (emulated)" for name in emulated}
    rows: list[Sequence[object]] = []
    for hop, change, ends in zip(path.hops, path.order_changes, pairwise(path.orders), strict=True):
        here, there = Layout(hop.source_layout), Layout(hop.destination_layout)
        prefix = compare(*ends).prefix_text
        both = [code(here.pretty)] + ([Markup("<br>→ " + cell(code(there.pretty)))] if here != there else [])
        rows.append(
            (
                f"{path_number}{hop.index}",
                Markup("<br>→&#160;".join(cell(marks.get(end, end)) for end in (hop.source, hop.destination))),
                hop.kind,
                Markup("".join(map(cell, both))),
                change,
                Markup(f"{cell(format_bytes(hop.request_bytes))}<br>{cell(code(prefix))}"),
                format_bytes(path.shuffles[hop.index]) if hop.converts else "–",
                format_rate(hop.throughput),
                "slowest" if hop.index in limiting else "",
            )
        )
    return rows


def decisions(plan: Plan, *, opened: bool = False) -> str:
    """The plan as text: its limits, its conversions, the data in flight, its notes, and the text card."""
    said = "".join(paragraph(sentence) for sentence in (*reasons(plan), *plan.notes))
    return said + folded("As text", pre(plan), opened=opened)


def reasons(plan: Plan) -> list[str]:
    """The reasons for the throughput of the plan, as sentences."""
    if len(plan.paths) > 1:
        return [sentence for number, path in enumerate(plan.paths) for sentence in _shares(plan, number, path)]
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
    found += [order_sentence(*each) for each in changes]
    if not changes:
        found.append("Both ends have the same order: every hop keeps it.")
    if plan.chunk_count > 1:
        through = ""
        if plan.buffers:
            count = f"{len(plan.buffers)} buffers" if len(plan.buffers) > 1 else "one buffer"
            through = f", through {count} of {format_bytes(plan.buffer_bytes)} in all"
        found.append(f"It moves as {plan.chunk_count:,} chunks of {format_bytes(plan.chunk_bytes)}{through}.")
    return found


def _pace(path: PathPlan) -> str:
    """The hop that sets the pace of a path, or the hops that do so together."""
    if together := next((pace.words() for pace in path.paces if len(pace.hops) > 1), ""):
        return f"{together}."
    hop = path.hops[min(path.slowest, default=0)]
    said = f"Slowest is hop {hop.index} ({ChannelKind.words_for(hop.kind)}): with runs of {format_bytes(hop.request_bytes)}"
    return f"{said} it sustains {format_rate(hop.throughput)}."


def _shares(plan: Plan, number: int, path: PathPlan) -> list[str]:
    share = share_text(plan.transfer.space, plan.share(number))
    alone = f"{format_seconds(path.seconds)} on its own, {format_rate(path.throughput)} in the steady state"
    return [f"Path {number}, {' → '.join(path.memories)}, moves {share}: {format_bytes(path.bytes)}, {alone}."]


def cards_svg(plan: Plan, *, width: float = 860, theme: ThemeName = "auto") -> str:
    """The hops of a plan as cards only, without the machine."""
    said = "; ".join(" → ".join(path.memories) for path in plan.paths)
    drawing = Drawing(plan_title(plan), said, theme, remark=emulated_text(plan.emulated))
    bottom = 0.0
    for path in plan.paths:
        bottom = draw_cards(drawing, [path], MARGIN, bottom + MARGIN, width - 2 * MARGIN)
    return drawing.render(width, bottom + MARGIN)


def member_table(transfer: Transfer) -> str:
    """The members of a bundle, with neighbours that are equal in one row; "" for other transfers."""
    if not isinstance(transfer, Bundle):
        return ""
    groups = [[number for number, _ in found] for _, found in groupby(enumerate(transfer.members), lambda each: each[1])]
    rows = []
    for group in groups[:MOST_MEMBERS]:
        member = transfer.members[group[0]]
        numbers = f"{group[0]}" if len(group) == 1 else f"{group[0]} to {group[-1]}"
        layouts = [code(end.layout.pretty) for end in (member.source, member.destination)]
        moved = [moved_part(member, end) or "all" for end in (member.source, member.destination)]
        what = f"({member.space})", f"({member.fields})", format_bytes(member.nbytes)
        rows.append((numbers, *layouts, *what, moved[0], moved[1]))
    left = len(groups) - len(rows)
    title = f"{len(transfer.members)} transfers" + (f"; {left} further kinds are not shown" if left else "")
    heads = (
        "transfer",
        "source layout",
        "destination layout",
        "index space",
        "fields",
        "bytes",
        "of the source",
        "in the destination",
    )
    return table(title, heads, rows, numbers=(5,))


MOST_MEMBERS = 40
"""Rows of the table of a bundle at most."""


def _transfer_facts(transfer: Transfer) -> str:
    key: list[tuple[str, object]] = [
        ("from", transfer.source.memory),
        ("to", transfer.destination.memory),
        ("moves", format_bytes(transfer.nbytes)),
    ]
    if transfer.priority:
        key.append(("priority", transfer.priority))
    return facts(key)


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
