"""Sections about a plan and, if it ran, its run, without scripts; and the frame of pages that hold nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from isoviz._version import __version__
from isoviz.figures.charts.html_parts import facts, folded, heading, paragraph, pre, styles, verified_badge
from isoviz.figures.charts.svg import escape
from isoviz.figures.machines.curves import channels_of
from isoviz.figures.machines.machine_html import channel_table, memory_table, rate_table
from isoviz.figures.machines.path_picture import path_svg
from isoviz.figures.plans.explanation_html import explanation_sections
from isoviz.figures.plans.plan_html import decisions, ends, hop_table, plan_facts, plan_throughput_svg, plan_title, report_parts
from isoviz.figures.traces.trace_html import trace_facts, trace_sections
from isoviz.machines import Machine
from isoviz.planner import ChunkCurve, Explanation, Plan
from isoviz.planner.explanation.explanation_words import summary
from isoviz.runtime import Report, Trace

_PAGE_STYLE = (
    "html{color-scheme:light dark}body{margin:0;background:var(--iv-paper)}"
    "#isoviz{max-width:1080px!important;margin:0 auto;padding:28px 24px 60px!important;font-size:16px!important}"
    "#isoviz h1{font-size:1.7em;line-height:1.25;margin:0 0 .3em}#isoviz h2{font-size:1.3em;margin:1.6em 0 .4em}"
    "#isoviz .facts dd{font-size:20px}#isoviz .facts dt{font-size:13px}#isoviz table{font-size:14.5px}"
    "#isoviz footer{color:var(--iv-muted);font-size:13px;margin-top:2.5em}"
    "@media print{#isoviz section{break-inside:avoid}}"
)


def plan_sections(
    plan: Plan,
    machine: Machine,
    report: Report | None = None,
    explanation: Explanation | None = None,
    *,
    trace: Trace | None = None,
    stored: Trace | None = None,
    curve: ChunkCurve | None = None,
) -> list[str]:
    """Sections of HTML, without scripts or anything to load: path, hops, layouts of both ends, throughput functions; with
    `report` the figures of a run, with `explanation` why the plan is what it is, with `trace` what happened when (`stored`: the
    same stored and forwarded; `curve`: other sizes of chunks). They follow the colour scheme of the system.

    Raises:
        MachineError: the plan was made for a machine with other memories or channels.
    """
    title = plan_title(plan)
    source_plot, destination_plot, both = ends(plan.transfer, emulated=plan.emulated)
    sections = [
        f"<header><h1>{escape(title)}</h1>{plan_facts(plan)}</header>",
    ]
    if report is not None:
        badge = heading("Run", 2, after=verified_badge(report.verified))
        sections.append(_section(badge, *report_parts(report, machine)))
    if trace is not None:
        said = trace_facts(trace)
        for name, content in trace_sections(trace, stored=stored, curve=curve):
            sections.append(_section(heading(name, 2), said, content))
            said = ""
    sections += [
        _section(heading("Path", 2), *_path(plan, machine, explanation)),
    ]
    if explanation is not None:
        sections += [_section(heading(name, 2), content) for name, content in explanation_sections(explanation)]
    sections += [
        _section(heading("Layouts of both ends", 2), source_plot, destination_plot, both),
        _section(
            heading("Throughput functions", 2),
            paragraph("Discs mark where each hop works: the run length its layouts allow, and the rate that gives."),
            plan_throughput_svg(machine, plan),
            rate_table(channels_of(machine, plan)),
        ),
        _section(heading("Decisions", 2), decisions(plan, opened=True)),
        _section(
            heading("Machine", 2),
            facts([("name", machine.name), ("memories", len(machine.memories)), ("channels", len(machine.channels))]),
            folded("Memories", memory_table(machine)),
            folded("Channels", channel_table(machine)),
        ),
    ]
    if report is not None:
        sections.append(_section(folded("The run as text", pre(report))))
    if trace is not None:
        sections.append(_section(folded(f"The {trace.where} run as text", pre(trace))))
    return sections


def html_document(title: str, sections: Iterable[str]) -> str:
    """A complete HTML page of sections, styled, without scripts or anything to load."""
    root = styles("#isoviz").replace("#isoviz{--iv", ":root{--iv")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{root}{_PAGE_STYLE}</style></head>"
        f'<body><main id="isoviz" class="isoviz" data-isoviz="page">{"".join(sections)}'
        f"<footer>isoviz {escape(__version__)}</footer></main></body></html>"
    )


def _path(plan: Plan, machine: Machine, explanation: Explanation | None) -> tuple[str, ...]:
    """The path, drawn; its hops as a table where no table of constraints follows."""
    if explanation is None:
        return path_svg(machine, plan), hop_table(plan)
    return *map(paragraph, summary(explanation)), path_svg(machine, plan)


def _section(*parts: str) -> str:
    return f"<section>{''.join(parts)}</section>"
