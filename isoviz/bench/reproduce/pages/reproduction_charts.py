"""Bars for a reproduction: groups of horizontal bars from zero, in the style of `isoviz.figures.charts.bars`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.bench.reproduce.findings import change, times
from isoviz.bench.reproduce.results.figure8 import THREADS
from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import ThemeName
from isoviz.units import format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.reproduce.isometry import Reproduction
    from isoviz.bench.reproduce.results import figure7, figure8, figure9, figure11, figure12, figure13

MARGIN = 16.0
_LABEL, _BAR, _GAP, _VALUE = 210.0, 17.0, 14.0, 96.0
ISOMETRY, REALM, COMPUTE = "measured", "predicted", "line"
"""Colours of the two systems, and of compute time with either."""
_PLANNERS = {"full": ISOMETRY, "simple": "dim0", "spsl": "dim1", "spdl": "dim4"}


class Bar(NamedTuple):
    """A bar of one or more parts (colour, length), and the text at its end."""

    parts: tuple[tuple[str, float], ...]
    text: str


class Group(NamedTuple):
    """Bars that belong together; `full` is the length that fills the width (None: the longest of all groups), `right` a word on
    them."""

    label: str
    detail: str
    bars: tuple[Bar, ...]
    right: str = ""
    full: float | None = None


def bars(
    groups: Sequence[Group],
    legend: Sequence[tuple[str, str]],
    *,
    title: str,
    right: str = "",
    width: float = 1000,
    theme: ThemeName = "auto",
) -> str:
    """The picture; `legend` are (colour, text)."""
    said = "; ".join(
        f"{group.label} {group.detail}: {', '.join(bar.text for bar in group.bars)} {group.right}" for group in groups
    )
    drawing = Drawing(title, said, theme)
    longest = max((sum(value for _, value in bar.parts) for group in groups for bar in group.bars), default=0.0)
    left = MARGIN + _LABEL
    room = width - left - MARGIN - _VALUE - (116 if any(group.right for group in groups) else 0)
    x, y = left, MARGIN
    for token, text in legend:
        drawing.rect(x, y + 1, 12, 12, fill=token, radius=2)
        drawing.text(x + 18, y + 11.5, text, size=12, fill="muted")
        x += 36 + text_width(text, 12)
    drawing.text(width - MARGIN, y + 11.5, right, size=12, fill="muted", anchor="end")
    y += 30
    top = y
    for group in groups:
        high = max(_BAR * len(group.bars), 30.0 if group.detail else _BAR)
        middle = y + high / 2
        drawing.text(
            left - 14,
            middle - (2 if group.detail else -4.5),
            shorten(group.label, _LABEL - 16, 13, bold=True),
            size=13,
            anchor="end",
            bold=True,
        )
        drawing.text(left - 14, middle + 13, shorten(group.detail, _LABEL - 16, 11), size=11, fill="muted", anchor="end")
        full = group.full or longest
        at = y + (high - _BAR * len(group.bars)) / 2
        for bar in group.bars:
            start = left
            for token, value in bar.parts:
                length = min(room, room * value / full) if full > 0 else 0.0
                drawing.rect(start, at + 1, max(length, 1.5), 14, fill=token, radius=2, tip=bar.text)
                start += length
            drawing.text(max(start, left + 1.5) + 7, at + 12.2, bar.text, size=11.5)
            at += _BAR
        drawing.text(width - MARGIN, middle + 4.5, group.right, size=13, anchor="end", bold=True)
        y += high + _GAP
    drawing.line(left - 1, top - 6, left - 1, y - _GAP + 6, stroke="line")
    return drawing.render(width, y + 2)


def pipelining(rows: Sequence[figure7.Row]) -> str:
    """Figure 7: shares of the hardware limit."""
    groups = [
        Group(
            row.pair.label,
            f"limit {format_rate(row.limit)}",
            (Bar(((ISOMETRY, row.isometry),), format_rate(row.isometry)), Bar(((REALM, row.realm),), format_rate(row.realm))),
            times(row.speedup),
            row.limit,
        )
        for row in rows
    ]
    legend = ((ISOMETRY, "Isometry"), (REALM, "Realm; full width: the hardware limit"))
    return bars(groups, legend, title="Throughput of transfers of several hops", right="speedup")


def priorities(cases: Sequence[tuple[str, figure8.Priority]]) -> str:
    """Figure 8: completion time, 1 being Realm's with one DMA thread."""
    groups = []
    for name, found in cases:
        unit = found.realm[1]
        groups.append(
            Group(
                name,
                found.pair.label,
                (
                    Bar(((ISOMETRY, found.isometry / unit),), f"{found.isometry / unit:.2f}"),
                    *(
                        Bar(
                            ((REALM, found.realm[n] / unit),),
                            f"{found.realm[n] / unit:.2f} with {n} thread{'s'[: n > 1]} ({change(found.change(n))})",
                        )
                        for n in THREADS
                    ),
                ),
                full=1.35 * max(max(each.realm.values()) / each.realm[1] for _, each in cases),
            )
        )
    legend = ((ISOMETRY, "Isometry"), (REALM, "Realm by DMA threads (in brackets: Isometry against it)"))
    title = "Completion time of a transfer of high priority"
    return bars(groups, legend, title=title, right="1: Realm with one thread")


def planners(rows: Sequence[figure9.Row], title: str) -> str:
    """Figure 9: throughput by planner, full's being the full width."""
    groups = [
        Group(
            row.pair.label,
            "",
            tuple(Bar(((_PLANNERS[name], rate),), f"{format_rate(rate)}") for name, rate in row.throughput.items()),
            times(row.throughput["full"] / row.throughput["simple"]),
            row.throughput["full"],
        )
        for row in rows
    ]
    legend = [(_PLANNERS[name], name) for name in rows[0].throughput]
    return bars(groups, legend, title=title, right="full ÷ simple")


def packing(found: figure11.Comparison) -> str:
    """Figure 11."""
    groups = [
        Group(
            label,
            detail,
            (Bar(((ISOMETRY, ours),), format_rate(ours)), Bar(((REALM, mpi),), format_rate(mpi))),
            times(ours / mpi),
        )
        for label, detail, ours, mpi in (
            ("no conversion", "", found.isometry, found.mpi),
            ("AOS to SOA", "packs within the GPU", found.isometry_converting, found.mpi_packing),
            ("AOS to SOA", "packs on the way out", found.isometry_converting, found.mpi_packing_on_the_way),
        )
    ]
    return bars(groups, ((ISOMETRY, "Isometry"), (REALM, "MVAPICH2-GPU")), title="FBM → FBM*, beside an MPI", right="ratio")


def scaling(name: str, points: Sequence[figure12.Point]) -> str:
    """Figure 12: an iteration, computing and communicating."""
    groups = [
        Group(
            f"{each.nodes} node{'s'[: each.nodes > 1]}",
            "",
            tuple(
                Bar(((COMPUTE, each.compute), (token, seconds)), format_seconds(each.compute + seconds))
                for token, seconds in ((ISOMETRY, each.isometry), (REALM, each.realm))
            ),
            f"{change(each.communication)} / {change(each.overall)}",
        )
        for each in points
    ]
    legend = ((COMPUTE, "computing"), (ISOMETRY, "communication, Isometry"), (REALM, "Realm"))
    return bars(groups, legend, title=f"{name}: an iteration", right="communication / run")


def ladder(found: figure13.Ladder) -> str:
    """Figure 13: both ladders, each in units of its first step."""
    groups = []
    for label, seconds in (("all transfers", found.together), ("one transfer", found.alone)):
        for k, name in enumerate(found.names):
            token = ISOMETRY if k == 0 else REALM if k == len(found.names) - 1 else "dim0"
            factor = seconds[k] / seconds[0]
            step = times(seconds[k] / seconds[k - 1]) if k else ""
            groups.append(Group(name, label, (Bar(((token, factor),), f"{format_seconds(seconds[k])} ({times(factor)})"),), step))
    legend = ((ISOMETRY, "Isometry"), ("dim0", "switched off, cumulatively"), (REALM, "Realm"))
    return bars(groups, legend, title="PageRank's transfers on 16 nodes", right="÷ before")


def everything(found: Reproduction) -> dict[str, str]:
    """All figures by their names in the paper; each follows the colour scheme of its page."""
    cases = (("one hop", found.one_hop), ("several hops", found.several_hops), ("others spread", found.spread))
    return {
        "figure7": pipelining(found.pipelining),
        "figure8": priorities(cases),
        "figure9a": planners(found.plain, "Throughput by planner, no conversion"),
        "figure9b": planners(found.converting, "Throughput by planner, AOS to SOA"),
        "figure11": packing(found.mpi),
        **{f"figure12-{name.lower()}": scaling(name, points) for name, points in found.scaling.items()},
        "figure13": ladder(found.ladder),
    }
