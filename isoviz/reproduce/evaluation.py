"""The evaluation of a paper: what it is, its assumptions, and the one runner of its experiments."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from isoviz.bench.table import Table as BenchTable
from isoviz.document import Document, Facts, Listing, Prose, Section, Table
from isoviz.errors import InputError, show
from isoviz.reproduce.assumption import Assumption, Sensitivity, described, sensitivities
from isoviz.reproduce.claim import Statement
from isoviz.reproduce.experiment import experiments_of
from isoviz.units import format_seconds

GROUP = "isoviz.evaluations"
"""The group of the entry points of evaluations. Each names a module, or a package, that has an `EVALUATION`."""
Progress = Callable[[str], None]
"""Called with the name of each step."""


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a paper, without its experiments: those are declared in the module or package that has this value.

    - `title`: the title of the page; `part`: which part of the paper it is; `citation`: the paper.
    - `given`: the assumptions; `quick`: those of a quick run.
    - `remark`: what a reader must know about all figures; `models`: how they were made, in paragraphs.
    - `facts`: further facts of a run under some assumptions.
    """

    title: str
    part: str
    citation: str
    given: Any
    quick: Any
    models: str
    remark: str = "All figures are simulated."
    facts: Callable[[Any], Mapping[str, str]] = lambda _: {}


@dataclass(frozen=True)
class Reproduction:
    """An evaluation that was carried out: figures of isoviz beside the statements of the paper.

    - `name`: its name as an argument of `isoviz reproduce`. `sections`: what the experiments show.
    - `computer`: where and when. `seconds`: how long it took.
    """

    name: str
    evaluation: Evaluation
    quick: bool
    given: Any
    statements: tuple[Statement, ...]
    sections: tuple[Section, ...]
    assumptions: tuple[Assumption, ...]
    sensitivities: tuple[Sensitivity, ...]
    computer: Mapping[str, Any]
    seconds: float

    @property
    def agreed(self) -> tuple[int, int]:
        """The number of figures that agree with the paper, and the number of figures that can be compared."""
        judged = [each.agrees for each in self.statements if each.agrees is not None]
        return sum(judged), len(judged)

    @property
    def document(self) -> Document:
        """The whole evaluation as a document."""
        paper, computer = self.evaluation, self.computer
        agreed, of = self.agreed
        facts = (
            ("figures that agree", f"{agreed} of {of}"),
            ("took", format_seconds(self.seconds)),
            ("date", str(computer["date"])[:10]),
            *paper.facts(self.given).items(),
            *([("run", "quick")] if self.quick else []),
        )
        where = f"{computer['processor']}, {computer['cores']} cores, Python {computer['python']}"
        models = [Prose(" ".join(each.split())) for each in paper.models.split("\n\n")]
        return Document(
            paper.title,
            (
                Prose(paper.citation),
                Facts(facts),
                Prose(f"{paper.remark} Made on {where}."),
                Listing(f"isoviz reproduce {self.name}{' --quick' if self.quick else ''}"),
                self._beside(),
                Section("How it is modelled", models),
                *self.sections,
                *self._assumed(),
            ),
        )

    def _beside(self) -> Section:
        words = "A figure agrees that lies within the paper's, give or take a tenth of it; more and less are of the effect."
        table = Table(
            ("where", "what", "paper", "ours", ""),
            [each.cells() for each in self.statements],
            remarks=[each.why for each in self.statements],
            remark="why, and what it is worth",
            name=1,
        )
        data = {"rows": [each.to_json() for each in self.statements]}
        return Section("Ours beside the paper's statements", (Prose(words), table), data)

    def _assumed(self) -> tuple[Section, Section]:
        rows = [(each.what, each.value, each.origin) for each in self.assumptions]
        turned = [each.cells() for each in self.sensitivities]
        for row, before in reversed(list(zip(turned[1:], turned, strict=False))):
            row[:2] = ("", "") if row[0] == before[0] else row[:2]
        caption = "Each assumption halved and doubled, or turned into its alternative"
        header = ("assumption", "value", "figure", "as it is", "halved", "doubled", "alternative")
        return (
            Section(
                "Assumptions",
                [Table(("what", "value", "where it comes from"), rows)],
                {"assumptions": [each._asdict() for each in self.assumptions]},
            ),
            Section(
                "What depends on them",
                [Table(header, turned, caption, (3, 4, 5, 6)) if turned else Prose("None was turned in this run.")],
                {"sensitivity": [each._asdict() for each in self.sensitivities]},
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """One JSON object: rates in bytes per second, times in seconds, ratios plain."""
        head = {
            "benchmark": f"reproduce {self.name}",
            "title": f"{self.evaluation.part}, in simulation: ours beside the paper's statements",
            "machine": dict(self.computer),
            "notes": [],
            "quick": self.quick,
            "seconds": self.seconds,
        }
        return head | self.document.to_json()

    def __str__(self) -> str:
        return str(self.document)


def evaluations() -> dict[str, str]:
    """The modules of all evaluations by name: the packages beside this module, and those of installed packages."""
    beside = pkgutil.iter_modules(sys.modules["isoviz.reproduce"].__path__)
    own = {each.name.replace("_", "-"): f"isoviz.reproduce.{each.name}" for each in beside if each.ispkg}
    return {each.name: each.value for each in entry_points(group=GROUP)} | own


def reproduce(name: str, *, quick: bool = False, progress: Progress | None = None) -> Reproduction:
    """Carry out an evaluation; `quick` with fewer sizes. `progress` is called with the name of each step.

    Raises:
        InputError: there is no such evaluation, or the entry point of this name is not an evaluation.
    """
    known = evaluations()
    if name not in known:
        raise InputError(f"reproduce: no evaluation {show(name)}; there are {', '.join(sorted(known))}")
    module = importlib.import_module(known[name])
    evaluation = getattr(module, "EVALUATION", None)
    if not isinstance(evaluation, Evaluation):
        raise InputError(f"{known[name]}: EVALUATION: expected an Evaluation, got {show(evaluation)}")
    given = evaluation.quick if quick else evaluation.given
    say = progress or (lambda _: None)
    began = time.perf_counter()
    every = experiments_of(module)
    statements: list[Statement] = []
    sections = []
    done: dict[Callable[..., Any], Any] = {}
    for each in every:
        say(f"{each.name}: {each.title}")
        if each.run not in done:
            done[each.run] = each(given, **(each.quick if quick else {}))
        found = done[each.run]
        statements += each.statements(found, quick=quick)
        sections.append(each.section(found))
    say("assumptions halved and doubled")
    changed = tuple(sensitivities(given, [(each, figure) for each in every for figure in each.depends], quick=quick))
    return Reproduction(
        name,
        evaluation,
        quick,
        given,
        tuple(statements),
        tuple(sections),
        described(given),
        changed,
        BenchTable("", "", {}, ()).machine,
        time.perf_counter() - began,
    )
