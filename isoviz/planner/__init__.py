"""Planning: transfers, planners, plans and their explanations."""

from isoviz.planner.bundled.bundle import Bundle, bundle
from isoviz.planner.by_hand.path_by_hand import cost, plan_by_path
from isoviz.planner.by_hand.several_paths import PathByHand, plan_of_paths
from isoviz.planner.cache import CACHE, CacheStatistics
from isoviz.planner.explanation.curves.chunk_curve import ChunkCurve, ChunkPoint, chunk_curve, rechunked
from isoviz.planner.explanation.curves.sweeping import Sweep, sweep
from isoviz.planner.explanation.curves.winner_map import WinnerMap
from isoviz.planner.explanation.explain_plan import explain
from isoviz.planner.explanation.explanation import Explanation
from isoviz.planner.explanation.explanation_document import explanation_text
from isoviz.planner.explanation.explanation_file import (
    certificate_to_json,
    explanation_from_json,
    explanation_to_json,
    whole_explanation_to_json,
)
from isoviz.planner.layout_choice import (
    LayoutChoice,
    RankedLayout,
    Use,
    find_layout,
    layout_choice_from_json,
    layout_choice_to_json,
)
from isoviz.planner.listed_transfer import ListedTransfer, listed_transfer, rest
from isoviz.planner.options import Options
from isoviz.planner.path_plan import Buffer, Hop, PathPlan
from isoviz.planner.plan import Plan
from isoviz.planner.plan_file import plan_from_json, plan_to_json, transfer_from_json, transfer_to_json
from isoviz.planner.planner_registry import PLANNERS, Planner, register_planner, registered_planners
from isoviz.planner.planners import machine_of, plan, plan_together
from isoviz.planner.planners.planner_call import load_plan, save_plan
from isoviz.planner.problem import Problem
from isoviz.planner.program.certificate import Certificate, certificate
from isoviz.planner.transfer import Instance, Transfer
from isoviz.planner.transfer_file import TransferFile, load_transfer
from isoviz.planner.whole_program.program_planner import whole_solution
from isoviz.planner.whole_program.solving import WholeSolution

__all__ = [
    "CACHE",
    "PLANNERS",
    "Buffer",
    "Bundle",
    "CacheStatistics",
    "Certificate",
    "ChunkCurve",
    "ChunkPoint",
    "Explanation",
    "Hop",
    "Instance",
    "LayoutChoice",
    "ListedTransfer",
    "Options",
    "PathByHand",
    "PathPlan",
    "Plan",
    "Planner",
    "Problem",
    "RankedLayout",
    "Sweep",
    "Transfer",
    "TransferFile",
    "Use",
    "WholeSolution",
    "WinnerMap",
    "bundle",
    "certificate",
    "certificate_to_json",
    "chunk_curve",
    "cost",
    "explain",
    "explanation_from_json",
    "explanation_text",
    "explanation_to_json",
    "find_layout",
    "layout_choice_from_json",
    "layout_choice_to_json",
    "listed_transfer",
    "load_plan",
    "load_transfer",
    "machine_of",
    "plan",
    "plan_by_path",
    "plan_from_json",
    "plan_of_paths",
    "plan_to_json",
    "plan_together",
    "rechunked",
    "register_planner",
    "registered_planners",
    "rest",
    "save_plan",
    "sweep",
    "transfer_from_json",
    "transfer_to_json",
    "whole_explanation_to_json",
    "whole_solution",
]
