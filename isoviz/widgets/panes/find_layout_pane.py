"""Find a layout: the question, the ranked layouts, and the trade-offs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from isoviz.schema import plain
from isoviz.widgets.chosen.layout_question import LayoutQuestion
from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.layout_stages import FoundLayouts, PresentLayout, is_measuring_layouts, question_of, times_of
from isoviz.widgets.contract import WIRE, ShownProblem
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.planner import LayoutChoice, RankedLayout


class ShownLayoutRun(TypedDict):
    """The contiguous bytes of a layout along a dimension."""

    dim: str
    bytes: float


class ShownRankedLayout(TypedDict):
    """A layout with the weighted time of all uses and the time of each use, in seconds. `padding` is a share of the array.

    `inFront`: no other layout that was planned is faster in every use. `measured` is the measured weighted time, null where it
    was not run. `alike` counts further layouts with equal times and runs.
    """

    layout: str
    weighted: float
    times: list[float]
    padding: float
    runs: list[ShownLayoutRun]
    inFront: bool
    measured: float | None
    alike: int


class FindLayoutPart(TypedDict):
    """The question and what was found so far.

    `problems` has what is wrong with the question, by control: `use-0` is the transfer itself, `use-1` the first of the other
    uses. `problem` says why no layout was found. `candidates` are ranked; `others` are those of the picture that are no
    candidates. `present` is the layout that the end has now. `isDone`: no others follow. `reason` says why the layouts cannot be
    run here. `isMeasuring`: they are being run; `measureProblem` says why some could not be.
    """

    question: LayoutQuestion
    problems: dict[str, ShownProblem]
    problem: str
    candidates: list[ShownRankedLayout]
    others: list[ShownRankedLayout]
    present: ShownRankedLayout | None
    considered: int
    plans: int
    stopped: bool
    isDone: bool
    emulated: list[str]
    reason: str
    isMeasuring: bool
    measureProblem: str


_shown: Remembered[tuple[list[ShownRankedLayout], list[ShownRankedLayout]]] = Remembered(4)


@pane(
    "find_layout",
    "layouts for an array that is used in several ways",
    {"find-layout": EVERYTHING | {"layout_choice", "layout_times", "present_layout"}},
)
def find_layout_part(state: State) -> FindLayoutPart | None:
    """The question and what was found; None where no view asks for it."""
    if "layout_choice" not in state.demanded:
        return None
    later = state.derived.later
    found: FoundLayouts | None = later.get("layout_choice")
    present: PresentLayout | None = later.get("present_layout")
    times = times_of(later)
    choice = None if found is None else found.choice
    measured = {} if times is None else {each.candidate.layout: each.weighted for each in times.measured}
    candidates, others = ([], []) if found is None or choice is None else _shown.of(lambda: _layouts(choice, found.alike), choice)
    if measured and choice is not None:
        pairs = zip(candidates, choice.candidates, strict=True)
        candidates = [{**shown, "measured": measured.get(each.layout)} for shown, each in pairs]
    now = None if present is None or found is None or present.request != found.request else present.ranked
    return {
        "question": plain(question_of(state.settings, state.derived.machine), WIRE),
        "problems": {} if found is None else {
            name: {"message": problem.message, "text": problem.text, "position": problem.position}
            for name, problem in found.request.problems
        },
        "problem": "" if found is None else found.problem,
        "candidates": candidates,
        "others": others,
        "present": None if now is None or choice is None else _layout(now, _payload(choice), False),
        "considered": 0 if choice is None else choice.considered,
        "plans": 0 if choice is None else choice.plans,
        "stopped": choice is not None and choice.stopped,
        "isDone": found is not None and found.done and state.settled,
        "emulated": [] if choice is None else list(choice.emulated),
        "reason": "" if found is None else found.reason,
        "isMeasuring": is_measuring_layouts(state),
        "measureProblem": "" if times is None else times.problem,
    }  # fmt: skip


def _layouts(choice: LayoutChoice, alike: Sequence[int]) -> tuple[list[ShownRankedLayout], list[ShownRankedLayout]]:
    front = {each.layout for each in choice.front}
    ranked = {each.layout for each in choice.candidates}
    payload = _payload(choice)
    candidates = [
        _layout(each, payload, each.layout in front, count) for each, count in zip(choice.candidates, alike, strict=True)
    ]
    return candidates, [_layout(each, payload, True) for each in choice.front if each.layout not in ranked]


def _payload(choice: LayoutChoice) -> int:
    return choice.array.space.volume * choice.array.fields.nbytes


def _layout(ranked: RankedLayout, payload: int, in_front: bool, alike: int = 0) -> ShownRankedLayout:
    return {
        "layout": str(ranked.layout),
        "weighted": ranked.weighted,
        "times": list(ranked.times),
        "padding": ranked.padding / payload,
        "runs": [{"dim": dim, "bytes": nbytes} for dim, nbytes in ranked.runs],
        "inFront": in_front,
        "measured": None,
        "alike": alike,
    }
