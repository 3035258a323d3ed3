"""3.3 and 3.5: what a little more of one thing brings, and which run a rate needs."""

from __future__ import annotations

import math
import random
from typing import Any

from isoviz.course import path_rates
from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Choice, Number, Several
from isoviz.course.notebook_3.blocks_by_hand import MEMORIES, MIB, hops_of, hops_picture, machine
from isoviz.course.notebook_3.pictures import Axis, Drawn, Plane, curve, framed, rate_text, rows_table
from isoviz.figures.charts.html_parts import paragraph
from isoviz.units import format_bytes, format_rate

SLOT = "slot"

# ---- 3.3: the price of a row


def _draw_rows(source: random.Random) -> dict[str, Any]:
    """A path that its slot bounds, so that both ends and the slot bind; one of the ends clearly more than the other."""
    wanted = source.uniform(0.56, 0.8)  # else nearly all prices would lie just above a half
    while True:
        hops = [
            {
                **hop,
                "latency": round(hop["latency"] * source.uniform(0.3, 2.0) * 1e6, 1) / 1e6,
                "bandwidth": round(hop["bandwidth"] * source.uniform(0.4, 1.8) / 1e8) * 1e8,
            }
            for hop in hops_of(machine(), MEMORIES)
        ]
        slot = source.choice((4, 8, 16, 32, 64)) * MIB
        drawn = {"entry": source.choice((4, 8, 16)), "slot": slot, "x": 65536, "y": 65536, "hops": hops}
        allowed = path_rates.bounds(drawn)
        if allowed["slot"] * 1.05 > min(value for name, value in allowed.items() if name != "slot"):
            continue
        if abs(max(path_rates.gain(drawn, hop["name"]) for hop in hops) - wanted) < 0.02:
            return drawn


def _rows(given: Given) -> list[str]:
    return [*(hop["name"] for hop in given["hops"]), SLOT]


def _percent(given: Given, row: str) -> float:
    return path_rates.gain(given, row)


def _best_row(given: Given) -> str:
    return max(_rows(given), key=lambda row: _percent(given, row))


def _answer(given: Given, row: str, percent: float | None = None) -> dict[str, Any]:
    return {"row": row, "percent": _percent(given, row) if percent is None else percent}


def _other_end(given: Given) -> dict[str, Any]:
    ends = [given["hops"][0]["name"], given["hops"][-1]["name"]]
    return _answer(given, next(name for name in ends if name != _best_row(given)))


def _narrowest(given: Given) -> dict[str, Any]:
    """The hop of the least bandwidth among those with slack, taken for what holds the path back."""
    return _answer(given, min(given["hops"][1:-1], key=lambda hop: hop["bandwidth"])["name"], 1.0)


def _judge_row(answer: dict[str, Any], given: Given) -> Verdict:
    row, brings = answer["row"], _percent(given, answer["row"])
    right = row == _best_row(given) and PERCENT.same(answer["percent"], brings)
    key = "right" if right else "slack" if brings < 1e-6 else "less" if row != _best_row(given) else "percent"
    words = {
        "row": "the slot" if row == SLOT else row,
        "percent": f"{answer['percent']:.3g}",
        "brings": f"{brings:.2f}",
        "slack": f"{_slack(given, row):.0f}",
    }
    return Verdict(right, ROW_PRICE.text("says", key, given=given, **words), words, lambda: _rows_picture(given, answer))


def _slack(given: Given, row: str) -> float:
    """The unused part of the bound of a row, in per cent, with the best blocks."""
    hop = next((hop for hop in given["hops"][1:-1] if hop["name"] == row), None)
    return 0.0 if hop is None else 100 * (1 - path_rates.sustained(given) / hop["bandwidth"])


def _rows_picture(given: Given, answer: dict[str, Any]) -> Any:
    most = path_rates.sustained(given)
    rows = [
        (
            hop["name"],
            rate_text(most),
            rate_text(hop["bandwidth"]) if not hop["latency"] else rate_text(most),
            f"{_slack(given, hop['name']):.0f} %",
            f"{_percent(given, hop['name']):.2f} %",
        )
        for hop in given["hops"]
    ]
    slot = format_bytes(given["slot"])
    rows.append(("slot", slot, slot, "0 %", f"{_percent(given, SLOT):.2f} %"))
    caption = f"The rows with the best blocks, at TP = {rate_text(most)}; marked: your row"
    header = ("row", "left side", "bound", "slack", "1 % more brings")
    return Drawn(lambda: framed(rows_table(caption, header, rows, [_rows(given).index(answer["row"])])))


def _row_words(given: Given) -> dict[str, object]:
    most, best = path_rates.sustained(given), _best_row(given)
    first, *_, last = given["hops"]
    steep = [path_rates.steepness(hop, most) for hop in (first, last)]
    x, y = path_rates.best_blocks(given)
    return {
        "most": rate_text(most),
        "slot_text": format_bytes(given["slot"]),
        "sizes": f"x_in = {x:,.0f} and y_in = {y:,.0f}",
        "best": best,
        "best_percent": f"{_percent(given, best):.2f}",
        "first": first["name"],
        "last": last["name"],
        "steep_first": f"{steep[0]:.3f}",
        "steep_last": f"{steep[1]:.3f}",
    }


PERCENT = Number("what 1 % more brings", "%", relative=0.03, absolute=0.004)
ROW_PRICE = Exercise(
    "3.3",
    Several({"row": Choice(_rows), "percent": PERCENT}),
    _draw_rows,
    _judge_row,
    (
        WrongModel("slack-row", _narrowest, lambda read, given: _percent(given, read["row"]) < 1e-6),
        WrongModel("slot-alone", lambda given: _answer(given, SLOT), lambda read, _given: read["row"] == SLOT),
        WrongModel("other-end", _other_end, lambda read, given: read["row"] == _other_end(given)["row"]),
        WrongModel("in-proportion", lambda given: _answer(given, _best_row(given), 1.0)),
        WrongModel("share-for-percent", lambda given: _answer(given, _best_row(given), _percent(given, _best_row(given)) / 100)),
    ),
    lambda given: _answer(given, _best_row(given)),
    words=_row_words,
    picture=hops_picture,
    is_prediction=True,
)


# ---- 3.5: the run that a rate needs


def _draw_run(source: random.Random) -> dict[str, Any]:
    latency, bandwidth = source.randint(5, 200) / 10, source.randint(20, 200) / 10
    return {"microseconds": latency, "gigabytes": bandwidth, "wanted": round(bandwidth * source.uniform(0.3, 0.9), 2)}


def _hop(given: Given, giga: float = 1e9) -> dict[str, Any]:
    return {"name": "hop", "latency": given["microseconds"] / 1e6, "bandwidth": given["gigabytes"] * giga}


def _runs(given: Given, giga: float = 1e9) -> dict[str, float]:
    """The run for the wanted rate, and that for half the bandwidth."""
    hop = _hop(given, giga)
    return {"run": path_rates.run_for(hop, given["wanted"] * giga), "half": hop["latency"] * hop["bandwidth"]}


def _plus_for_minus(given: Given) -> dict[str, float]:
    hop = _hop(given)
    return {**_runs(given), "run": hop["latency"] / (1 / (given["wanted"] * 1e9) + 1 / hop["bandwidth"])}


def _judge_run(answer: dict[str, float], given: Given) -> Verdict:
    right, hop = _runs(given), _hop(given)
    parts = [name for name in ("run", "half") if not RUN.same(answer[name], right[name])]
    rates = {name: format_rate(path_rates.rate(hop, answer[name])) if answer[name] > 0 else "nothing" for name in answer}
    words: dict[str, object] = {
        "run_text": format_bytes(answer["run"]), "half_text": format_bytes(answer["half"]),
        "run_rate": rates["run"], "half_rate": rates["half"],
    }  # fmt: skip
    key = "both" if len(parts) == 2 else parts[0] if parts else "right"
    return Verdict(not parts, RUN_FOR_RATE.text("says", key, given=given, **words), words, lambda: _curve_picture(answer, given))


def _curve_picture(answer: dict[str, float], given: Given) -> Any:
    hop, wanted = _hop(given), given["wanted"] * 1e9
    half = hop["latency"] * hop["bandwidth"]

    def drawn() -> str:
        low, high = half / 64, half * 64
        floor = path_rates.rate(hop, low)
        axes = Axis("run", low, high, format_bytes), Axis("rate", floor, 1.2 * hop["bandwidth"], format_rate, decimal=True)
        plane = Plane("The throughput function of the hop, and your runs", *axes)
        plane.line([(low, wanted), (high, wanted)], "bad", dashed=True)
        plane.line([(low, hop["bandwidth"] / 2), (high, hop["bandwidth"] / 2)], "measured", dashed=True)
        plane.line(curve(hop, low, high), "path")
        for name, text, colour in (("run", "your run", "bad"), ("half", "your n½", "measured")):
            run = min(max(answer[name], low), high)
            plane.point(run, path_rates.rate(hop, run), text, colour, below=name == "half")
        said = f"Dashed: the {format_rate(wanted)} that are wanted, and half of the bandwidth."
        return framed(plane.svg(), paragraph(said))

    return Drawn(drawn)


def _run_words(given: Given) -> dict[str, object]:
    right, hop = _runs(given), _hop(given)
    return {
        "run": f"{right['run']:,.0f}", "half": f"{right['half']:,.0f}",
        "doubled": format_rate(path_rates.rate(hop, 2 * right["half"])),
        "peak": f"{given['gigabytes']:g} GB/s", "wanted_text": f"{given['wanted']:g} GB/s",
        "least": f"{1 / given['wanted'] - 1 / given['gigabytes']:.4g}",
    }  # fmt: skip


RUN = Number("a run", "B", relative=0.01, least=0)
RUN_FOR_RATE = Exercise(
    "3.5",
    Several({"run": RUN, "half": RUN}),
    _draw_run,
    _judge_run,
    (
        WrongModel("twice-the-run", lambda given: {**_runs(given), "run": 2 * given["microseconds"] * given["wanted"] * 1e3}),
        WrongModel("bandwidth-endless", lambda given: {**_runs(given), "run": given["microseconds"] * given["wanted"] * 1e3}),
        WrongModel("plus-for-minus", _plus_for_minus),
        WrongModel("binary-giga", lambda given: _runs(given, 2.0**30)),
        WrongModel("half-of-product", lambda given: {**_runs(given), "half": _runs(given)["half"] / 2}),
    ),
    lambda given: {name: float(math.ceil(run)) for name, run in _runs(given).items()},
    words=_run_words,
)
