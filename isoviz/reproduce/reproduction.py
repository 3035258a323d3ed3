"""The evaluation of a paper again: its statements beside isoviz's figures, its figures, and what was assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from isoviz.bench.table import Table
from isoviz.reproduce.assumption import Assumption, Sensitivity
from isoviz.reproduce.figure import Figure, Grid, Section
from isoviz.reproduce.statement import Statement

Progress = Callable[[str], None]
"""Called with the name of each step."""


@dataclass(frozen=True)
class Reproduction:
    """What a paper's package gives.

    - `paper`: its name as an argument of `isoviz reproduce`. `evaluation`: which part of the paper it is; `citation`: the paper.
    - `title`: of the page. `remark`: what a reader must know of all figures; `models`: how they were made, a text each.
    - `facts`: further facts of the run, each a name and a value.
    - `data`: the figures as JSON values, by name.
    - `quick`: whether it is a reduced run. `seconds`: how long it took.
    """

    paper: str
    evaluation: str
    citation: str
    title: str
    remark: str
    models: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    sections: tuple[Section, ...]
    assumptions: tuple[Assumption, ...]
    sensitivities: tuple[Sensitivity, ...]
    data: Mapping[str, Any]
    quick: bool
    seconds: float

    @property
    def agreed(self) -> tuple[int, int]:
        """The number of figures that agree with the paper, and of figures that could."""
        judged = [each.agrees for each in self.statements if each.agrees is not None]
        return sum(judged), len(judged)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in the order of the paper."""
        return tuple(part for section in self.sections for part in section.parts if isinstance(part, Figure))

    @property
    def grids(self) -> tuple[Grid, ...]:
        """All tables: the statements, those of the sections, the assumptions and what depends on them."""
        parts = [part for section in self.sections for part in section.parts]
        numbers = [grid for part in parts for grid in (part.grids if isinstance(part, Figure) else (part,))]
        return (self.statements_grid, *numbers, self.assumptions_grid, self.sensitivities_grid)

    @property
    def statements_grid(self) -> Grid:
        """The figures of isoviz beside the paper's, without reasons."""
        rows = [(each.where, each.what, each.paper, each.text, each.verdict) for each in self.statements]
        return Grid("Ours beside the paper's statements", ("where", "what", "paper", "ours", ""), rows, 5)

    @property
    def assumptions_grid(self) -> Grid:
        """The assumptions."""
        rows = [(each.what, each.value, each.origin) for each in self.assumptions]
        return Grid("Assumptions", ("what", "value", "where it comes from"), rows, 3)

    @property
    def sensitivities_grid(self) -> Grid:
        """The figures that depend on assumptions."""
        before = ("", *(each.assumption for each in self.sensitivities))
        return Grid(
            "Each assumption halved and doubled, or turned into its alternative",
            ("assumption", "value", "figure", "as it is", "halved", "doubled", "alternative"),
            [
                (
                    *(("", "") if row.assumption == name else (row.assumption, row.value)),
                    row.metric,
                    *(row.text(which) for which in ("base", "halved", "doubled", "alternative")),
                )
                for name, row in zip(before, self.sensitivities, strict=False)
            ],
            3,
        )

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """The figures with reasons, and the reasons."""
        figures: dict[str, list[str]] = {}
        for each in self.statements:
            if each.why:
                figures.setdefault(each.why, []).append(f"{each.what} ({each.verdict})")
        return tuple(("; ".join(names), why) for why, names in figures.items())

    @property
    def table(self) -> Table:
        """Ours beside the paper's, with this computer and the date."""
        return Table(
            f"reproduce {self.paper}",
            f"{self.evaluation}, in simulation: ours beside the paper's statements",
            {
                "what": ("what", str),
                "where": ("where", str),
                "paper": ("paper", str),
                "text": ("ours", str),
                "verdict": ("", str),
            },
            [{**each.to_json(), "text": each.text} for each in self.statements],
        )

    def to_json(self) -> dict[str, Any]:
        """One JSON object: rates in bytes per second, times in seconds, ratios plain."""
        return {
            **self.table.to_json(),
            "quick": self.quick,
            "seconds": self.seconds,
            "assumptions": [each._asdict() for each in self.assumptions],
            **self.data,
            "sensitivity": [each._asdict() for each in self.sensitivities],
        }

    def __str__(self) -> str:
        grids = "\n\n".join(grid.text() for grid in self.grids)
        return f"{grids}\n\n" + "\n".join(f"note: {what}: {why}" for what, why in self.reasons)
