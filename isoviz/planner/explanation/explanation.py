"""Why a plan is what it is: values only, for text, pages and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.plan import Plan
    from isoviz.planner.program.bisection import Bisection
    from isoviz.planner.program.path_bound import PathProgram, RowState, Solution
    from isoviz.planner.whole_program.solving import WholeSolution


CERTAIN = 1e-9
"""A relative gap that is none: rounding."""


@dataclass(frozen=True)
class Stage:
    """One row of Isometry's table 3: a memory of the path with its layout, and the hop that leaves it.

    `prefix` and `suffix` are the common parts with the next layout for people, `run_bytes` what PREFIX allows a request, at most
    a chunk, `shuffle_bytes` TOTAL / SUFFIX. `rows` are the constraints of the hop at the optimum of the program. `price` is the
    change of the predicted time, in seconds, for one byte per second more of this channel's throughput with everything else as
    it is (zero or negative). The last stage, the destination, has no hop: `channel` and what follows is empty.
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
class Rejected:
    """A path that was considered, the chosen one among them (`chosen`, first).

    `memories` and `kinds` are the path, `converting` the number of the hop that converts (None: none). `seconds` is the
    least time it can take (a plan may take a thousandth more, for larger chunks), with what its chunks cost an engine where the
    machine says that, None where it has no room; less than `bound` no layouts and blocks on it can take. `limit` says in words
    what holds it back, `limiting_channel` names the channel that does. `layouts` are those of its buffers at the best time.
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
        """Its time, or its bound where the time was not worked out."""
        return self.bound if self.seconds is None else self.seconds


@dataclass(frozen=True)
class Turn:
    """Where a rival overtakes: the value of a parameter at which it becomes the fastest path of all.

    `parameter` is "bandwidth" (of `channel`: its throughput function is scaled), "slot_limit" (TH, bytes) or "size" (of dimension
    `channel`); `now` its value in this plan, `value` where the winner changes (None: it never does within `tried`), `unit` "B/s",
    "B" or "". `rival` are the rival's channels, `converting` its hop that converts, `winner` the channels of the path that wins
    beyond.
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
    """The block sizes that sustain a throughput: a polygon in the plane of two block sizes, straight in the logarithms."""

    x: str
    y: str
    throughput: float
    corners: tuple[tuple[float, float], ...]
    chosen: tuple[float, float]


@dataclass(frozen=True)
class Explanation:
    """Everything that decided a plan. `candidates` are sorted by time, the chosen path first; `beaten` counts the paths that were
    left out because another path beats them whatever moves (None: paths are too many to list). No path, layouts or blocks are
    faster than the best by more than the share `gap` (None: that is not proved). `program`, `solution` and `bisection` are those
    of the chosen path. `whole` is the solution of the program of all paths, where that made the plan."""

    plan: Plan
    machine: Machine
    stages: tuple[Stage, ...]
    candidates: tuple[Rejected, ...]
    beaten: int | None
    gap: float | None
    program: PathProgram
    solution: Solution
    bisection: Bisection
    region: Region | None
    turns: tuple[Turn, ...] = ()
    whole: WholeSolution | None = None

    @property
    def proved(self) -> bool:
        """Whether no path, layouts or blocks that were left out can be faster."""
        return self.gap is not None and self.gap <= CERTAIN

    def __str__(self) -> str:
        path = " → ".join(self.candidates[0].memories)
        return f"explanation of {path}, {len(self.candidates)} paths compared; isoviz.planner.explanation_text(…) writes it out"


@dataclass(frozen=True)
class SweepPoint:
    """The best plan at one value of the parameter: predicted seconds, steady-state bytes per second, and its path."""

    value: float
    seconds: float
    throughput: float
    memories: tuple[str, ...]
    channels: tuple[str, ...]
    converting: int | None


@dataclass(frozen=True)
class Sweep:
    """Predicted time over "slot_limit" (TH, bytes) or "size" (bytes that move), everything else as it is.

    `points` by growing value; `now` is the value in the transfer as it is.
    """

    parameter: str
    unit: str
    now: float
    points: tuple[SweepPoint, ...]
