"""A reproduction as a report in Markdown, to be kept beside the figures in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.bench.reproduce.pages import grids
from isoviz.bench.reproduce.pages.reproduction_page import MODELS
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.bench.reproduce.isometry import Reproduction


def markdown(found: Reproduction) -> str:
    """The report."""
    agreed, of = found.agreed
    machine = found.table.machine
    where = f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}"
    beside, *rest = grids.everything(found)
    parts = [
        f"# {str(machine['date'])[:10]}: Isometry's evaluation again, in simulation",
        f"`isoviz reproduce isometry`, {format_seconds(found.seconds)} on {where}. All figures but planning times are simulated.",
        f"{agreed} of {of} figures lie within the paper's, give or take a tenth; more and less are of the effect.",
        beside.markdown(),
        "## Why, and what it is worth",
        "\n".join(f"- {what}: {why}" for what, why in grids.reasons(found)),
        "## How it is modelled",
        "\n".join(f"- {each}" for each in MODELS),
    ]
    for grid in rest:
        parts += [f"## {grid.title}", grid.markdown()]
    return "\n\n".join(parts) + "\n"
