"""3.4: a plan by hand and the planner's, with two hops more or less: what filling the pipeline takes."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from isoviz.course import path_rates
from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, Several
from isoviz.course.notebook_3.blocks_by_hand import ENTRIES, MEMORIES, MIB, buffer_layouts, hops_of, machine, transfer_of
from isoviz.course.notebook_3.pictures import Drawn, framed, rows_table
from isoviz.figures.charts.svg import Drawing
from isoviz.planner import Options, Plan, plan, plan_by_path
from isoviz.units import format_bytes, format_seconds

PLANS = ("hand", "planner")
NAMES = {"hand": "by hand", "planner": "of the planner"}


def _draw(source: random.Random) -> dict[str, Any]:
    dtype = source.choice(tuple(ENTRIES))
    drawn: dict[str, Any] = {
        "dtype": dtype,
        "entry": ENTRIES[dtype],
        "x": 1024 * source.randint(4, 10),
        "y": 1024 * source.randint(4, 10),
        "slot": 4 * source.randint(3, 8) * MIB,
    }
    transfer, options = transfer_of(drawn), Options(slot_limit=drawn["slot"])
    x, y = (int(size) for size in path_rates.best_blocks({**drawn, "hops": hops_of(machine(), MEMORIES)}))
    by_hand = plan_by_path(transfer, machine(), ", ".join(MEMORIES), buffer_layouts(x, y), options=options)
    return {**drawn, "hand": _figures(by_hand), "planner": _figures(plan(transfer, machine(), options=options))}


def _figures(made: Plan) -> dict[str, Any]:
    """What a pipeline takes: its hops with the seconds per chunk, its chunks and its set-up. Seconds have four digits."""
    path = made.paths[0]
    seconds = [float(f"{full:.4g}") for full, _last in path.chunk_seconds()]
    return {
        "hops": [hop.kind for hop in path.hops],
        "seconds": seconds,
        "chunks": path.chunk_count,
        "setup": float(f"{path.setup:.4g}"),
        "buffers": path.buffer_bytes,
    }


def _fill(of: Given) -> float:
    return float(of["setup"] + sum(of["seconds"]) - max(of["seconds"]))


def _total(of: Given) -> float:
    return float(_fill(of) + of["chunks"] * max(of["seconds"]))


def _both(given: Given, fill: Callable[[Given], float]) -> dict[str, float]:
    return {name: fill(given[name]) for name in PLANS}


def _swapped(given: Given) -> dict[str, float]:
    right = _both(given, _fill)
    return {"hand": right["planner"], "planner": right["hand"]}


def _judge(answer: dict[str, float], given: Given) -> Verdict:
    right = _both(given, _fill)
    wrong = [name for name in PLANS if not FILL.same(answer[name], right[name])]
    words: dict[str, object] = {f"{name}_text": format_seconds(answer[name]) for name in PLANS}
    key = "both" if len(wrong) == 2 else wrong[0] if wrong else "right"
    return Verdict(not wrong, FILLS.text("says", key, given=given, **words), words, lambda: _picture(given, answer))


def _picture(given: Given, answer: dict[str, float]) -> Any:
    return Drawn(lambda: framed(*(_beginning(given[name], NAMES[name], answer[name]) for name in PLANS)))


def _beginning(of: Given, name: str, said: float) -> str:
    """How a pipeline begins: each hop waits until the first chunk comes, then it works. The answer is marked."""
    fill = _fill(of)
    end: float = 2 * max(fill, *of["seconds"])
    width, left, row, top = 620.0, 120.0, 22.0, 40.0
    drawing = Drawing(
        f"How the plan {name} begins", f"Its fill is {format_seconds(fill)}; your answer is {format_seconds(said)}."
    )
    drawing.text(8, 18, f"The beginning, {name}", bold=True)

    def at(seconds: float) -> float:
        return left + (width - left - 40) * min(seconds / end, 1.0)

    begins = list(accumulate(of["seconds"], initial=of["setup"]))
    slowest = of["seconds"].index(max(of["seconds"]))
    for number, (hop, seconds, begin) in enumerate(zip(of["hops"], of["seconds"], begins, strict=False)):
        y = top + number * row
        drawing.text(left - 8, y + 14, hop, size=12, anchor="end", bold=number == slowest)
        drawing.rect(at(0), y + 3, at(begin) - at(0), row - 6, fill="faint", tip="waits for the first chunk")
        drawing.rect(
            at(begin), y + 3, at(end) - at(begin), row - 6, fill="dim0" if number == slowest else "predicted", tip="works"
        )
        drawing.rect(at(begin), y + 3, at(begin + seconds) - at(begin), row - 6, stroke="ink", tip="the first chunk")
    floor = top + len(of["hops"]) * row
    drawing.line(at(said), top - 8, at(said), floor, stroke="bad", width=2, stroke_dasharray="5 3")
    is_right = at(said) > width / 2
    drawing.text(at(said) + (-4 if is_right else 4), top - 10, f"your fill: {format_seconds(said)}", size=12, fill="bad",
                 anchor="end" if is_right else "start")  # fmt: skip
    for share in (0.0, 0.5, 1.0):
        drawing.text(
            at(share * end), floor + 16, format_seconds(share * end) if share else "0", size=11, fill="muted", anchor="middle"
        )
    return drawing.render(width, floor + 26)


def _words(given: Given) -> dict[str, object]:
    words: dict[str, object] = {
        "slot_text": format_bytes(given["slot"]),
        "size_text": format_bytes(given["x"] * given["y"] * given["entry"]),
    }
    for name in PLANS:
        of = given[name]
        terms = " + ".join(format_seconds(each) for each in of["seconds"])
        words |= {
            f"{name}_fill": format_seconds(_fill(of)),
            f"{name}_total": format_seconds(_total(of)),
            f"{name}_sum": f"{format_seconds(of['setup'])} + {terms} − {format_seconds(max(of['seconds']))}",
            f"{name}_setup": format_seconds(of["setup"]),
            f"{name}_chunks": of["chunks"],
            f"{name}_slowest": format_seconds(max(of["seconds"])),
            f"{name}_hops": len(of["hops"]),
            f"{name}_buffers": format_bytes(of["buffers"]),
            f"{name}_stored": format_seconds(of["setup"] + of["chunks"] * sum(of["seconds"])),
        }
    return words


def _table(given: Given) -> Any:
    return Drawn(lambda: framed(*(_times(given[name], NAMES[name]) for name in PLANS)))


def _times(of: Given, name: str) -> str:
    rows = [(hop, f"{1e3 * seconds:.4g} ms") for hop, seconds in zip(of["hops"], of["seconds"], strict=True)]
    caption = f"The plan {name}: {of['chunks']:,} chunks, buffers of {format_bytes(of['buffers'])} in all"
    return rows_table(caption, ("hop", "time for a chunk"), [("set-up, once", f"{1e3 * of['setup']:.4g} ms"), *rows])


FILL = Number("the fill", "s", relative=0.01, least=0)
FILLS = Exercise(
    "3.4",
    Several({"hand": FILL, "planner": FILL}),
    _draw,
    _judge,
    (
        WrongModel("setup-forgotten", lambda given: _both(given, lambda of: _fill(of) - of["setup"])),
        WrongModel("slowest-counted", lambda given: _both(given, lambda of: of["setup"] + sum(of["seconds"]))),
        WrongModel("stored-and-forwarded", lambda given: _both(given, lambda of: of["chunks"] * sum(of["seconds"]))),
        WrongModel("setup-alone", lambda given: _both(given, lambda of: of["setup"])),
        WrongModel("more-hops-slower", _swapped),
        WrongModel("milliseconds", lambda given: _both(given, lambda of: 1e3 * _fill(of))),
    ),
    lambda given: _both(given, _fill),
    words=_words,
    picture=_table,
)
