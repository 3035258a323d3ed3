"""Explanations as JSON objects, in bytes, seconds and bytes per second."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from isoviz import checks
from isoviz.checks import expect
from isoviz.planner.explanation.explanation import Explanation
from isoviz.planner.explanation.paths_explanation import PathsExplanation
from isoviz.planner.program.certificate import Certificate
from isoviz.planner.program.program_text import row_to_json
from isoviz.planner.whole_program.wording import program_json


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
            "programs": bisection.programs,
            "solver_seconds": bisection.solver_seconds,
        },
        "region": None if explanation.region is None else asdict(explanation.region),
        "candidates": [asdict(candidate) for candidate in (chosen, *shown)],
        "candidates_left_out": len(rejected) - len(shown),
        "beaten": explanation.beaten,
        "proved": explanation.proved,
        "gap": explanation.gap,
        "turns": [asdict(turn) for turn in explanation.turns],
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
