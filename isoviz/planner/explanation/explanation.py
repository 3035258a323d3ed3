"""The explanation of a plan as plain values, for text, pages and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.document import Told
from isoviz.planner.options import BY_HAND
from isoviz.planner.program.program_rows import RowState  # a stage is read from JSON by its types
from isoviz.public_method import PublicMethod

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.explanation.paths_explanation import PathsExplanation
    from isoviz.planner.path_plan import Constraint
    from isoviz.planner.plan import Plan
    from isoviz.planner.program.bisection import Bisection
    from isoviz.planner.program.path_bound import PathProgram, Solution
    from isoviz.planner.whole_program.solving import WholeSolution


CERTAIN = 1e-9
"""A relative gap of at most this is rounding and counts as none."""


@dataclass(frozen=True)
class Stage:
    """One row of Isometry's table 3: a memory of the path with its layout, and the hop that leaves it.

    `prefix` and `suffix` are the common parts with the next layout, as text. `run_bytes` is the run of a request: PREFIX, at most
    a chunk. `shuffle_bytes` is TOTAL / SUFFIX. `throughput` is in bytes per second. `seconds` is the time of the hop per chunk,
    `share` its share of the period. `price` is the change of the predicted time, in seconds, if the throughput of this channel
    grows by one byte per second and nothing else changes; it is zero or negative. `rows` are the constraints of the hop at the
    optimum of the program. The last stage is the destination. It has no hop, so `channel` and all fields after it are empty.
    """

    memory: str
    layout: str
    channel: str = ""
    kind: str = ""
    prefix: str = ""
    suffix: str = ""
    run_bytes: float = 0.0
    shuffle_bytes: int = 0
    throughput: float = 0.0
    seconds: float = 0.0
    share: float = 0.0
    price: float = 0.0
    rows: tuple[RowState, ...] = ()


@dataclass(frozen=True)
class RankedPath:
    """A candidate: a path that was considered. The chosen path is the first candidate and has `chosen` set.

    `memories`, `channels` and `kinds` describe the path. `converting` is the number of the hop that converts; None if none does.
    `bound` is a lower bound on the time, in seconds, for all layouts and blocks on the path. `seconds` is the least time of the
    path; None if the time was not worked out or the limits leave no room. It includes the cost of its chunks to an engine, if the
    machine has one. The plan itself may take a thousandth more, for larger chunks. `throughput` is the rate in the steady state,
    in bytes per second. `layouts` are the layouts of its buffers at the least time. `limit` says in words what limits the path,
    and `limiting_channel` names the channel that does.
    """

    chosen: bool
    memories: tuple[str, ...]
    channels: tuple[str, ...]
    kinds: tuple[str, ...]
    converting: int | None
    bound: float
    seconds: float | None
    throughput: float | None
    layouts: tuple[str, ...]
    limit: str
    limiting_channel: str

    @property
    def least(self) -> float:
        """`seconds`, or `bound` if the time was not worked out."""
        return self.bound if self.seconds is None else self.seconds


@dataclass(frozen=True)
class Crossover:
    """The value of a parameter at which a rival becomes the fastest path of all.

    `parameter` is "bandwidth" (of the channel `channel`, whose throughput function is scaled), "slot_limit" (TH, bytes) or "size"
    (of the dimension `channel`). `now` is its value in this plan. `value` is the value at which the winner changes; None if it
    does not change within the range `tried`. `unit` is "B/s", "B" or "". `rival` holds the rival's channels, `converting` is the
    number of its hop that converts. `winner` holds the channels of the path that wins beyond `value`.
    """

    parameter: str
    channel: str
    now: float
    value: float | None
    unit: str
    rival: tuple[str, ...]
    converting: int | None
    winner: tuple[str, ...]
    tried: tuple[float, float]


@dataclass(frozen=True)
class Region:
    """The block sizes that sustain a throughput: a polygon in the plane of two block sizes, straight in the logarithms.

    `x` and `y` name the two sizes. `throughput` is in bytes per second. `chosen` is the plan's own pair of sizes.
    """

    x: str
    y: str
    throughput: float
    corners: tuple[tuple[float, float], ...]
    chosen: tuple[float, float]


@dataclass(frozen=True, repr=False)
class Explanation(Told):
    """A plan with everything that determined it.

    `candidates` holds the chosen path first, then the other paths by growing time. `beaten` is the number of dominated paths:
    another path is at least as fast for every transfer. It is None if the paths are too many to list. `gap` is the largest share
    by which the best time can lie above the optimum over all paths, layouts and blocks; None if nothing is proved. `program`,
    `solution` and `bisection` belong to the chosen path. `whole` is the solution of the program of all paths, if that program
    made the plan.

    If a plan of `multipath` has several paths, `several` explains the paths and their shares. Everything else then explains the
    path with the largest share, as a `plan` of its part alone.

    `explanation.to_json()` is a JSON object with everything, the plan and the machine included. `Explanation.from_json(data)`
    makes an equal explanation from that object or its text.

    `constraints` are those of the plan as it is, for the throughput `target`, in bytes per second.

    A plan by hand is its own only candidate, and nothing is proved. `program` and `solution` then say what its path sustains with
    the best blocks, whichever hop converts. The constraints are judged for that throughput unless another one was asked for.
    `reference` is the plan that the planner makes for the same transfer; if it makes none, `refusal` says why.
    """

    plan: Plan
    machine: Machine
    stages: tuple[Stage, ...]
    candidates: tuple[RankedPath, ...]
    beaten: int | None
    gap: float | None
    program: PathProgram
    solution: Solution
    bisection: Bisection
    region: Region | None
    constraints: tuple[Constraint, ...]
    target: float
    crossovers: tuple[Crossover, ...] = ()
    whole: WholeSolution | None = None
    several: PathsExplanation | None = None
    reference: Plan | None = None
    refusal: str = ""

    @property
    def turns(self) -> tuple[Crossover, ...]:
        """The earlier name of `crossovers`, until version 1.0."""
        return self.crossovers

    @property
    def is_by_hand(self) -> bool:
        """Whether the plan was made by hand."""
        return self.plan.planner == BY_HAND

    @property
    def proved(self) -> bool:
        """Whether the best time is proved to be the optimum over all paths, layouts and blocks."""
        return self.gap is not None and self.gap <= CERTAIN

    to_json = PublicMethod("isoviz.planner", "whole_explanation_to_json")
    from_json = PublicMethod("isoviz.planner", "explanation_from_json", of_class=True)

    document = PublicMethod("isoviz.planner.explanation.explanation_document", "explanation_document")
    __str__ = PublicMethod("isoviz.planner", "explanation_text")
