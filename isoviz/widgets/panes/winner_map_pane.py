"""Which path wins for which length and number of runs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.explained_plan import FoundMap
from isoviz.widgets.contract import ShownColour
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.planner import WinnerMap
    from isoviz.planner.explanation.curves.winner_map import MapPoint


class ShownWay(TypedDict):
    """A path on the map: `letter` stands for it, `key` names it on every map, `words` are the kinds of its channels and `name`
    the same made unique."""

    key: str
    letter: str
    words: str
    name: str


class ShownMapPoint(TypedDict):
    """`runs` runs of `run` bytes: T in seconds, and the number of the path that wins."""

    run: int
    runs: int
    seconds: float
    way: int


class ShownMapTurn(TypedDict):
    """On the line of `fixed` along an axis, another path wins from `value` on, which is `text` in words."""

    axis: Literal["run", "runs"]
    fixed: int
    value: int
    text: str
    before: int
    after: int


class ShownMap(TypedDict):
    """The fastest paths over the bytes of a run (`columns`) and the number of runs (`rows`).

    `winners` and `seconds` have a list for each row, with null where no plan is known. `now` is the vector that is like the
    transfer, `regions` are points in the middle of each region, `turns` the boundaries in the row and the column of `now`. `said`
    has all of that in sentences.
    """

    title: str
    meaning: str
    columns: list[int]
    rows: list[int]
    ways: list[ShownWay]
    winners: list[list[int | None]]
    seconds: list[list[float | None]]
    now: ShownMapPoint | None
    regions: list[ShownMapPoint]
    turns: list[ShownMapTurn]
    said: list[str]


class WinnerMapPart(TypedDict):
    """The map as far as it is known. `problem` says why there is none.

    `isOfPlan` says whether it is that of the plan on the screen, `isDone` that nothing follows. `colours` are those of paths, in
    the order in which they are given out.
    """

    map: ShownMap | None
    isOfPlan: bool
    isDone: bool
    problem: str
    colours: list[ShownColour]


_maps: Remembered[ShownMap] = Remembered(2)


@pane("winner_map", "which path wins for which runs", {"map": EVERYTHING | {"winner_map"}})
def winner_map_part(state: State) -> WinnerMapPart | None:
    """The map as far as it is known; None before the first."""
    derived = state.derived
    shown: FoundMap | None = derived.later.get("winner_map")
    if shown is None:
        return None
    found, kept, reuse = shown.found, derived.kept.get("options"), state.what_if.reuse
    options = None if kept is None or kept.value is None else kept.value
    if options is not None and reuse is not None:
        options = replace(options, reuse=reuse)
    return {
        "map": None if found is None else _maps.of(lambda: _map(found), found),
        "isOfPlan": shown.transfer is derived.transfer and options in (None, shown.options),
        "isDone": shown.done,
        "problem": shown.problem,
        "colours": way_colours(),
    }


@cache
def way_colours() -> list[ShownColour]:
    """The colours of paths on a map."""
    from isoviz.figures.charts.theme import colour
    from isoviz.figures.plots.winner_map import WAY_COLOURS

    return [{"light": colour(token, "light"), "dark": colour(token, "dark")} for token in WAY_COLOURS]


def _map(found: WinnerMap) -> ShownMap:
    from isoviz.planner.explanation.curves.winner_map import letter, map_text

    grid = [[found.at.get((run, runs)) for run in found.columns] for runs in found.rows]
    return {
        "title": found.title,
        "meaning": found.meaning,
        "columns": list(found.columns),
        "rows": list(found.rows),
        "ways": [
            {"key": json.dumps([way.channels, way.converting]), "letter": letter(number), "words": way.words, "name": name}
            for number, (way, name) in enumerate(zip(found.ways, found.names, strict=True))
        ],
        "winners": [[None if point is None else point.way for point in row] for row in grid],
        "seconds": [[None if point is None else point.seconds for point in row] for row in grid],
        "now": None if found.now is None else _point(found.now),
        "regions": [_point(point) for point in found.regions],
        "turns": [
            {"axis": turn.axis, "fixed": turn.fixed, "value": turn.value, "text": turn.text, "before": turn.before,
             "after": turn.after}
            for turn in found.turns
        ],
        "said": map_text(found),
    }  # fmt: skip


def _point(point: MapPoint) -> ShownMapPoint:
    return {"run": point.run, "runs": point.runs, "seconds": point.seconds, "way": point.way}
