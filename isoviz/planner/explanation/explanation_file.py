"""Explanations as JSON objects, in bytes, seconds and bytes per second, and back.

`explanation_to_json` has the figures of an explanation. `whole_explanation_to_json` has the plan, the machine and all rows of the
program besides, so that an equal explanation is made from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError
from isoviz.machines import machine_from_json, machine_to_json, throughput_from_json
from isoviz.planner.explanation.explanation import Crossover, Explanation, RankedPath, Region, Stage
from isoviz.planner.explanation.paths_explanation import LinkPrice, PathsExplanation
from isoviz.planner.path_plan import Constraint
from isoviz.planner.plan_file import plan_from_json, plan_to_json
from isoviz.planner.program.bisection import Bisection, Step
from isoviz.planner.program.certificate import Certificate
from isoviz.planner.program.path_bound import LinearRow, Solution
from isoviz.planner.program.program_rows import Monomial, PathProgram, ResourceRow, RowState, SpaceRow, ThroughputRow, Variable
from isoviz.planner.whole_program.program_planner import program_from_json, program_json
from isoviz.schema import BY_NAME, Node, plain, read, read_document

FORMAT = "isoviz-explanation-1"
"""Name and version of the JSON form of a whole explanation."""


def explanation_to_json(explanation: Explanation, candidates: int | None = None) -> dict[str, Any]:
    """An explanation as a JSON object, without the plan itself and with at most `candidates` rejected paths (None: all)."""
    expect("explanation", explanation, Explanation, "an explanation")
    if candidates is not None:
        candidates = checks.count("explanation", "candidates", candidates)
    solution, bisection = explanation.solution, explanation.bisection
    chosen, *rejected = explanation.candidates
    shown = rejected if candidates is None else rejected[:candidates]
    return {
        "stages": [{**vars(stage), "rows": [row_to_json(row) for row in stage.rows]} for stage in explanation.stages],
        "program": {
            "text": solution.text,
            "throughput": solution.throughput,
            "bound": solution.bound,
            "exact": solution.exact,
            "sizes": solution.sizes,
            "rows": [row_to_json(row) for row in solution.rows],
            "programs": solution.programs,
            "solver_seconds": solution.solver_seconds,
        },
        "bisection": {
            "throughput": bisection.throughput,
            "sizes": bisection.sizes,
            "steps": [asdict(step) for step in bisection.steps],
            "programs": 0,  # a bisection needs no linear program; both names stay until version 1.0
            "solver_seconds": 0.0,
        },
        "region": None if explanation.region is None else asdict(explanation.region),
        "candidates": [asdict(candidate) for candidate in (chosen, *shown)],
        "candidates_left_out": len(rejected) - len(shown),
        "beaten": explanation.beaten,
        "proved": explanation.proved,
        "gap": explanation.gap,
        "turns": [asdict(crossover) for crossover in explanation.crossovers],
        "several_paths": None if explanation.several is None else _several_to_json(explanation.several),
        "whole_program": None if explanation.whole is None else program_json(explanation.whole),
    }


def _several_to_json(explained: PathsExplanation) -> dict[str, Any]:
    return {
        "one_path": explained.one_path,
        "links": [asdict(link) for link in explained.links],
        "by_paths": list(explained.by_paths),
        "considered": explained.considered,
    }


def certificate_to_json(known: Certificate) -> dict[str, Any]:
    """The bound that the program gives for a plan's path, in bytes and bytes per second.

    A price is in bytes per second per unit of the row's bound.
    """
    expect("certificate", known, Certificate, "a certificate")
    return {
        "bound": known.bound,
        "sizes": known.solution.sizes,
        "binding": [row_to_json(row) for row in known.binding],
    }


def whole_explanation_to_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as a JSON object, with its plan and its machine. `explanation_from_json` makes an equal explanation from
    it."""
    found = explanation_to_json(explanation)
    solution, several, reference = explanation.solution, explanation.several, explanation.reference
    program = explanation.program
    found["program"] |= {
        "variables": plain(program.variables),
        "hop_rows": [{**vars(row), "throughput": row.throughput.to_json(), "run": plain(row.run)} for row in program.throughput],
        "space_rows": plain(program.space),
        "resource_rows": plain(program.resources),
        "linear": plain(solution.linear, BY_NAME),
        "limits": [list(limit) for limit in solution.limits],
    }
    found["bisection"]["rows"] = [row_to_json(row) for row in explanation.bisection.rows]
    if several is not None:
        found["several_paths"]["plan"] = plan_to_json(several.plan)
    made: dict[str, Any] = plain(
        {
            "format": FORMAT,
            "plan": plan_to_json(explanation.plan),
            "machine": machine_to_json(explanation.machine),
            **found,
            "constraints": plain(explanation.constraints),
            "target": explanation.target,
            "reference": None if reference is None else plan_to_json(reference),
            "refusal": explanation.refusal,
        }
    )
    return made


def explanation_from_json(data: Mapping[str, Any] | str) -> Explanation:
    """The explanation of a JSON object that `whole_explanation_to_json` made, or of its text.

    Raises:
        InputError: the object is invalid; the message names the place.
    """
    return read_document(data, "an explanation", "explanation", InputError, _explanation)


_KEYS = ("plan", "machine", "stages", "program", "bisection", "region", "candidates", "beaten", "gap", "turns", "several_paths",
         "whole_program", "constraints", "target", "reference", "refusal")  # fmt: skip
_OPTIMUM = ("throughput", "sizes", "rows")
_SOLVER = ("programs", "solver_seconds")
_PROGRAM = ("variables", "hop_rows", "space_rows", "resource_rows")


def _explanation(root: Node) -> Explanation:
    root.check_format(FORMAT)
    parts = root.members(("format", *_KEYS), ("candidates_left_out", "proved"))
    candidates = tuple(_declared(each, RankedPath) for each in parts["candidates"].items())
    if not candidates:
        parts["candidates"].fail("expected a list of at least one path, got none")
    program = parts["program"].members((*_OPTIMUM, *_SOLVER, *_PROGRAM, "bound", "exact", "text", "linear", "limits"))
    rows = (program["space_rows"].read(tuple[SpaceRow, ...]), program["resource_rows"].read(tuple[ResourceRow, ...]))
    hop_rows = tuple(map(_hop_row, program["hop_rows"].items()))
    bisection = parts["bisection"].members((*_OPTIMUM, "steps"), _SOLVER)
    region, whole, several = parts["region"], parts["whole_program"], parts["several_paths"]
    return Explanation(
        plan=parts["plan"].made(plan_from_json, parts["plan"].value),
        machine=parts["machine"].made(machine_from_json, parts["machine"].value),
        stages=tuple(_stage(each) for each in parts["stages"].items()),
        candidates=candidates,
        beaten=parts["beaten"].read(int | None),
        gap=parts["gap"].read(float | None),
        program=parts["program"].made(PathProgram, program["variables"].read(tuple[Variable, ...]), hop_rows, *rows),
        solution=Solution(
            *_optimum(program),
            program["programs"].read(int),
            program["solver_seconds"].number(),
            program["bound"].number(),
            program["exact"].read(bool),
            program["text"].read(str),
            _declared(program["linear"], tuple[LinearRow, ...]),
            program["limits"].read(tuple[tuple[str, float], ...]),
        ),
        bisection=Bisection(*_optimum(bisection), _declared(bisection["steps"], tuple[Step, ...])),
        region=None if region.value is None else _declared(region, Region),
        constraints=parts["constraints"].read(tuple[Constraint, ...]),
        target=parts["target"].number(),
        crossovers=_declared(parts["turns"], tuple[Crossover, ...]),
        whole=None if whole.value is None else whole.made(program_from_json, whole),
        several=None if several.value is None else _several(several),
        reference=None if parts["reference"].value is None else parts["reference"].made(plan_from_json, parts["reference"].value),
        refusal=parts["refusal"].read(str),
    )


def _hop_row(node: Node) -> ThroughputRow:
    parts = node.members([field.name for field in fields(ThroughputRow)])
    function = parts["throughput"].made(throughput_from_json, parts["throughput"].value)
    return ThroughputRow(parts["hop"].read(int), parts["channel"].read(str), function, parts["run"].read(Monomial))


def _declared(node: Node, kind: Any) -> Any:
    """The value of a declared type that stands there by the names of its fields."""
    return read(node.value, kind, BY_NAME, node.path)


def _optimum(parts: Mapping[str, Node]) -> tuple[float, tuple[tuple[str, float], ...], tuple[RowState, ...]]:
    return (
        parts["throughput"].number(),
        tuple((name, size.number()) for name, size in parts["sizes"].entries()),
        tuple(_row(each) for each in parts["rows"].items()),
    )


def row_to_json(row: RowState) -> dict[str, Any]:
    """A row of a program at its optimum as a JSON object; infinite and unknown numbers are null."""
    found = {**vars(row), "slack": row.slack, "binding": row.binding}
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in found.items()}


def _row(node: Node) -> RowState:
    """A row of a program. A price is null where it was not asked for; that of less of its bound also where less is infeasible."""
    names = [field.name for field in fields(RowState)]
    parts = node.members(names, ("slack", "binding"))
    up, down = (parts[name].read(float | None) for name in ("price_up", "price_down"))
    prices = {"price_up": math.nan if up is None else up, "price_down": down}
    if down is None:
        prices["price_down"] = math.nan if up is None else math.inf
    shown = {name: parts[name].value for name in names} | {"price_up": 0.0, "price_down": 0.0}
    found: RowState = read(shown, RowState, BY_NAME, node.path)
    return RowState(**{**vars(found), **prices})


def _stage(node: Node) -> Stage:
    rows = tuple(_row(each) for each in node.members(("rows",), others=True)["rows"].items())
    found: Stage = read({**node.table(), "rows": []}, Stage, BY_NAME, node.path)
    return Stage(**{**vars(found), "rows": rows})


def _several(node: Node) -> PathsExplanation:
    parts = node.members(("plan", "one_path", "links", "by_paths", "considered"))
    return PathsExplanation(
        parts["plan"].made(plan_from_json, parts["plan"].value),
        parts["one_path"].number(),
        _declared(parts["links"], tuple[LinkPrice, ...]),
        parts["by_paths"].read(tuple[float, ...]),
        parts["considered"].read(int),
    )
