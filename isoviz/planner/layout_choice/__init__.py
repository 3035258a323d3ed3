"""Finding the layout of an array that is used in several ways."""

from isoviz.planner.layout_choice.choice import LayoutChoice, RankedLayout, layout_choice_from_json, layout_choice_to_json
from isoviz.planner.layout_choice.find_layout import find_layout, layout_choices, ranked_layout
from isoviz.planner.layout_choice.use import Use

__all__ = [
    "LayoutChoice",
    "RankedLayout",
    "Use",
    "find_layout",
    "layout_choice_from_json",
    "layout_choice_to_json",
    "layout_choices",
    "ranked_layout",
]
