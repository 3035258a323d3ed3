"""What a paper claims, and the figure of isoviz beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from isoviz.document import Mark, Quantity
from isoviz.reproduce.plots import Of, value_of

TOLERANCE = 0.1
"""A figure agrees that lies within the paper's, give or take a tenth of it."""
Given = Literal["", "put in", "fitted", "assumed"]
"""Why a claim tests nothing: a figure of the paper was put in, a value was fitted to it, or it follows from an assumption."""
Words = str | Callable[[Any], str]
"""Words on a claim, or a function that makes them of what its experiment found."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper about what an experiment finds.

    - `what`: the subject; `paper`: what the paper says, in words.
    - `bound`: the paper's figure, or (low, high), where None means no bound; None if the paper has no figure.
    - `ours`: the figure of isoviz in what was found (`plots.Of`). `unit` says how it is written (`isoviz.document.UNITS`).
    - `where`: its place in the paper, if not that of its experiment. `full`: it is about sizes that a quick run does not have.
    - `why` explains a difference, or the worth of an agreement. `given` says that the claim tests nothing.
    """

    what: Words
    paper: str
    bound: float | tuple[float | None, float | None] | None
    ours: Of
    unit: str
    where: str = ""
    full: bool = False
    why: Words = ""
    given: Given = ""

    def because(self, why: Words) -> Claim:
        """The claim with an explanation."""
        return replace(self, why=why)

    def put_in(self, why: Words) -> Claim:
        """The same claim, marked: the model was given the paper's figure."""
        return replace(self, why=why, given="put in")

    def fitted(self, why: Words) -> Claim:
        """The claim as one to whose figure a value was fitted."""
        return replace(self, why=why, given="fitted")

    def assumed(self, why: Words) -> Claim:
        """The claim as one that follows from an assumption."""
        return replace(self, why=why, given="assumed")

    def beside(self, found: Any, where: str) -> Statement:
        """The claim beside what an experiment found. `where` is the place of the experiment."""
        low, high = self.bound if isinstance(self.bound, tuple) else (self.bound, self.bound)
        what, why = (words if isinstance(words, str) else words(found) for words in (self.what, self.why))
        return Statement(self.where or where, what, self.paper, low, high, value_of(found, self.ours), self.unit, why, self.given)


@dataclass(frozen=True)
class Statement:
    """`ours` beside the paper's statement, which lies between `low` and `high` (None: no bound; both None: no figure).

    The other fields are those of `Claim`.
    """

    where: str
    what: str
    paper: str
    low: float | None
    high: float | None
    ours: float
    unit: str
    why: str = ""
    given: Given = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the figure of isoviz lies within the paper's figures, within `TOLERANCE`; None if there is nothing to compare
        with."""
        if self.given or (self.low is None and self.high is None):
            return None
        above = self.low is None or self.ours >= self.low - TOLERANCE * abs(self.low)
        return above and (self.high is None or self.ours <= self.high + TOLERANCE * abs(self.high))

    @property
    def verdict(self) -> str:
        """The verdict in one or two words. "more" and "less" refer to the effect: −90 % is more than −60 %."""
        if self.agrees is None:
            return self.given or "no figure"
        if self.agrees:
            return "agrees"
        bounds = [abs(bound) for bound in (self.low, self.high) if bound is not None]
        return "more" if abs(self.ours) > max(bounds) else "less"

    def cells(self) -> tuple[str, str, str, Quantity, Mark]:
        """Where, what, the paper's, ours, and the verdict."""
        tone: Literal["good", "bad", "none"] = "none" if self.agrees is None else "good" if self.agrees else "bad"
        return self.where, self.what, self.paper, Quantity(self.ours, self.unit), Mark(self.verdict, tone)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "where": self.where,
            "what": self.what,
            "paper": self.paper,
            "paper_low": self.low,
            "paper_high": self.high,
            "ours": self.ours,
            "unit": self.unit,
            "verdict": self.verdict,
            "why": self.why,
            "text": str(Quantity(self.ours, self.unit)),
        }
