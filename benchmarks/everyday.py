"""Fifteen everyday transfers: the plans of `full` and `auto` beside the plan of an expert (`everyday_transfers`).

The plan of the expert is priced with isoviz's model (`isoviz.cost`), so that all times are comparable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from benchmarks.everyday_transfers import EVERYDAY, Everyday
from isoviz.bench.table import Row, Table, where_known
from isoviz.document import Document, Points, Prose
from isoviz.machines import Machine, preset
from isoviz.planner import CACHE, Options, Plan, plan, plan_by_path
from isoviz.planner.explanation.explanation_words import path_text
from isoviz.planner.full import forget_machines, search
from isoviz.planner.planning_work import Work
from isoviz.planner.problem import Problem
from isoviz.units import format_bytes, format_seconds, format_share

PLANNING_TIME = 2.0
"""Seconds in counted steps within which `full` has to prove its plan."""
PROVED = 1e-9
"""A gap of rounding errors."""
WORST_TO_EXPERT, WORST_AUTO = 1.01, 1.2
"""T of `full` is at most this factor above T of the expert's plan, and T of `auto` above T of `full`."""


class EverydayTable(Table):
    """The table of the everyday transfers, with the reasons of the expert on its page."""

    def to_page(self) -> str:
        """Markdown: the table, then a section for each transfer."""
        said = Prose(f"python -m benchmarks everyday: {self.title}.")
        head = Document("Everyday transfers", [said, self.table(), Points(self.notes)]).markdown()
        return "\n\n".join([head.rstrip(), *(_section(number, each) for number, each in enumerate(self.rows, start=1))]) + "\n"


def measure() -> EverydayTable:
    """Plan every transfer with `full` and `auto`, with nothing known of its machine, and price the plan of the expert."""
    machines = {(each.preset, *each.options.items()): preset(each.preset, **each.options) for each in EVERYDAY.values()}
    rows = [_row(number, each, machines[each.preset, *each.options.items()]) for number, each in enumerate(EVERYDAY.values(), 1)]
    return EverydayTable(
        "everyday",
        "plans of `full` and `auto` beside the plan that an expert makes, on presets of today",
        {
            "number": ("", str),
            "what": ("transfer", str),
            "machine": ("machine", str),
            "bytes": ("size", format_bytes),
            "by_hand": ("calculated by hand", format_seconds),
            "expert": ("expert's plan", format_seconds),
            "full": ("full", format_seconds),
            "to_expert": ("full ÷ expert", lambda value: f"{value:.3f}"),
            "auto": ("auto", format_seconds),
            "to_full": ("auto ÷ full", lambda value: f"{value:.2f}"),
            "gap": ("full proved", where_known(_proof, "no proof")),
            "steps": ("steps of full", lambda value: f"{value:,.0f}"),
            "seconds": ("planning by full", format_seconds),
            "auto_seconds": ("by auto", format_seconds),
        },
        rows,
        (
            "calculated by hand: from the sources below, without isoviz's model and before any planner had planned the transfer",
            "expert's plan, full, auto: T of the model (`isoviz.cost`, `isoviz.plan`)",
            f"steps: counted work; the search may take {PLANNING_TIME:g} s of it, a step is about a microsecond",
            "planning: processor time of this run with nothing known of the machine before",
        ),
    )


def planned(each: Everyday, machine: Machine, planner: str) -> Plan:
    """The plan of a planner, within `PLANNING_TIME`."""
    return plan(each.transfer, machine, planner, Options(planning_time=PLANNING_TIME))


def by_hand(each: Everyday, machine: Machine) -> Plan:
    """The plan of the expert."""
    return plan_by_path(each.transfer, machine, each.path, each.layouts, chunk=each.chunk)


def path_of(made: Plan) -> str:
    """The path of a plan in words, with ⇒ for its converting hop, and the kinds of its channels."""
    converting = next((hop.index for hop in made.hops if hop.converts), None)
    memories = path_text([made.hops[0].source, *(hop.destination for hop in made.hops)], converting)
    return f"{memories} ({', '.join(hop.kind for hop in made.hops)})"


def _row(number: int, each: Everyday, machine: Machine) -> Row:
    expert = by_hand(each, machine)
    full, seconds = _timed(each, machine, "full")
    auto, auto_seconds = _timed(each, machine, "auto")
    work = Work(PLANNING_TIME)
    _forget()
    search(Problem(each.transfer, machine, Options()), work=work)
    return {
        "number": number,
        "what": each.name,
        "machine": machine.name,
        "bytes": each.transfer.nbytes,
        "by_hand": each.expected,
        "expert": expert.objective,
        "full": full.objective,
        "to_expert": full.objective / expert.objective,
        "auto": auto.objective,
        "to_full": auto.objective / full.objective,
        "gap": full.gap,
        "steps": work.steps,
        "seconds": seconds,
        "auto_seconds": auto_seconds,
        "expert_path": path_of(expert),
        "full_path": path_of(full),
        "auto_path": path_of(auto),
        "layouts": f"{each.source[1]} → {each.destination[1]}",
        "why": each.why,
        "sources": each.sources,
        "differs": each.differs,
    }


def _timed(each: Everyday, machine: Machine, planner: str) -> tuple[Plan, float]:
    """The first plan on a machine, and the processor time that it took."""
    _forget()
    began = time.process_time()
    made = planned(each, machine, planner)
    return made, time.process_time() - began


def _forget() -> None:
    CACHE.clear()
    forget_machines()


def _proof(gap: float) -> str:
    return "yes" if gap <= PROVED else f"to {format_share(gap)}"


def _section(number: int, row: Row) -> str:
    paths = {"expert": row["expert_path"], "full": row["full_path"], "auto": row["auto_path"]}
    lines = [f"- {name}: {path}" for name, path in paths.items()]
    said: Iterable[str] = (row["why"], f"Sources: {row['sources']}.", row["differs"])
    return f"## {number}. {row['what']}\n\n`{row['layouts']}`\n\n" + "\n\n".join((*filter(None, said), "\n".join(lines)))
