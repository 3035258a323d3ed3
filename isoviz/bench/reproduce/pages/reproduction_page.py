"""A reproduction as one self-contained HTML page: no scripts, nothing to load, both colour schemes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isoviz._version import __version__
from isoviz.bench.reproduce.pages import grids
from isoviz.bench.reproduce.pages import reproduction_charts as charts
from isoviz.bench.reproduce.pages.grids import Grid
from isoviz.figures.charts.html_parts import Markup, facts, folded, heading, items, paragraph, styles, table
from isoviz.figures.charts.svg import escape
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.bench.reproduce.findings import Finding
    from isoviz.bench.reproduce.isometry import Reproduction

_STYLE = (
    "html{color-scheme:light dark}body{margin:0;background:var(--iv-paper)}"
    "#isoviz{max-width:1080px!important;margin:0 auto;padding:28px 24px 60px!important;font-size:16px!important}"
    "#isoviz h1{font-size:1.7em;line-height:1.25;margin:0 0 .3em}#isoviz h2{font-size:1.3em;margin:1.8em 0 .4em}"
    "#isoviz h3{margin-top:1.3em}#isoviz .facts dd{font-size:20px}#isoviz .facts dt{font-size:13px}#isoviz table{font-size:14px}"
    "#isoviz td .badge{font-size:12.5px;white-space:nowrap}#isoviz .why{color:var(--iv-muted);font-size:13px;min-width:26ch}"
    "#isoviz td:first-child{min-width:7.5em}#isoviz td:nth-child(2){min-width:10em}"
    "#isoviz footer{color:var(--iv-muted);font-size:13px;margin-top:2.5em}"
    "@media print{#isoviz section{break-inside:avoid}}"
)
_BADGES = {"agrees": "good", "more": "bad", "less": "bad"}

_MODELS = """
Isometry: isoviz plans every transfer and its scheduler carries it out in virtual time, on presets that were fixed beforehand.
Bandwidths of Sapling are those of table 5; XStream's and Moonlight's are published or assumed.

Realm: every transfer is a series of single hops along a shortest path, through temporary instances of its whole size. Each node
has DMA threads; one takes the copy of the highest priority that waits and does it whole. Threads on one channel share it.

MVAPICH2-GPU: blocks go through a pipeline of GPURead, network and GPUWrite; entries that are not contiguous are packed by strided
copies, row by row.

Applications: in an iteration all transfers are launched together, then every node computes. Channels are one of a kind per node,
or per GPU, so the transfers of a node share its network card. Sizes, where the paper gives none, are assumed.
"""
MODELS = tuple(" ".join(each.split()) for each in _MODELS.split("\n\n"))
"""The simulated models, in words."""


def page(found: Reproduction) -> str:
    """The page."""
    agreed, of = found.agreed
    title = "Isometry's evaluation again, in simulation"
    machine, drawn = found.table.machine, charts.everything(found)
    sections = [
        f"<header><h1>{escape(title)}</h1>"
        + paragraph("Jia et al., Isometry: A Path-Based Distributed Data Transfer System, ICS '18, section 6.")
        + facts(
            (
                ("figures that agree", f"{agreed} of {of}"),
                ("took", format_seconds(found.seconds)),
                ("date", str(machine["date"])[:10]),
                ("instances", f"{found.given.instances}{' (quick)' if found.quick else ''}"),
            )
        )
        + "</header>",
        _section(
            "Ours beside the paper's statements",
            paragraph(
                "A figure agrees that lies within the paper's, give or take a tenth of it; more and less are of the effect."
            ),
            _beside(found.findings),
        ),
        _section("How it is modelled", items(MODELS)),
        _section(
            "Figure 7: several hops, pipelined",
            drawn["figure7"],
            _folded(grids.pipelining(found.pipelining, f"{found.given.instances} instances of 128 MiB")),
            _folded(grids.pipelining(found.direct, "Direct transfers: both are equal")),
        ),
        _section(
            "Figure 8: priorities",
            drawn["figure8"],
            _folded(grids.priorities(found)),
        ),
        _section(
            "Figure 9: planners",
            heading("Without a conversion"),
            drawn["figure9a"],
            _folded(grids.planners(found.plain, converting=False)),
            heading("AOS to SOA"),
            drawn["figure9b"],
            _folded(grids.planners(found.converting, converting=True)),
        ),
        _section("Figure 11: beside an MPI that packs", drawn["figure11"], _folded(grids.packing(found))),
        _section(
            "Figure 12: applications on more and more nodes",
            *(
                part
                for name, points in found.scaling.items()
                for part in (heading(name), drawn[f"figure12-{name.lower()}"], _folded(grids.scaling(name, points)))
            ),
        ),
        _section("Figure 13: optimisations switched off in turn", drawn["figure13"], _folded(grids.ladder(found))),
        _section("Table 6: paths planned", _table(grids.paths(found))),
        _section("Assumptions", _table(grids.assumptions(found))),
        _section("What hangs on them", _table(grids.turned(found))),
    ]
    root = styles("#isoviz").replace("#isoviz{--iv", ":root{--iv")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{root}{_STYLE}</style></head>"
        f'<body><main id="isoviz" class="isoviz" data-isoviz="reproduction">{"".join(sections)}'
        f"<footer>isoviz {escape(__version__)}</footer></main></body></html>"
    )


def _beside(findings: Iterable[Finding]) -> str:
    """The table, with the reasons."""
    rows = [
        (
            each.where,
            each.what,
            _kept_together(each.paper),
            each.text,
            Markup(f'<span class="badge {_BADGES.get(each.verdict, "none")}">{escape(each.verdict)}</span>'),
            Markup(f'<div class="why">{escape(_kept_together(each.why))}</div>'),
        )
        for each in findings
    ]
    return table("", ("where", "what", "paper", "ours", "", "why, and what it is worth"), rows, numbers=(3,))


def _kept_together(text: str) -> str:
    """Text with non-breaking spaces between figures and units."""
    return text.replace(" %", "\u00a0%").replace(" ×", "\u00a0×")


def _section(title: str, *parts: str) -> str:
    return f"<section>{heading(title, 2)}{''.join(parts)}</section>"


def _folded(grid: Grid) -> str:
    return folded(f"{grid.title}: the figures", _table(grid))


def _table(grid: Grid) -> str:
    return table(grid.title, grid.header, grid.rows, numbers=range(grid.words, len(grid.header)))
