"""3.P: a path that loses, and the least change with which it wins."""

from __future__ import annotations

import math
import random
from typing import Any

from isoviz.course import path_rates
from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, Several
from isoviz.course.notebook_3.blocks_by_hand import MEMORIES, MIB, hops_of, machine
from isoviz.course.notebook_3.pictures import Axis, Drawn, Plane, framed, rate_text, rows_table
from isoviz.figures.charts.html_parts import paragraph
from isoviz.units import format_bytes, format_rate, format_seconds

LOSER = ("node0.fbm0", "node0.reg", "node0.zcm", "node1.zcm", "node1.fbm0")
"""The path through registered memory first; that of 3.1 goes through pinned memory first."""
SLOTS = tuple((1 << power) * MIB for power in range(7))
MOST = SLOTS[-1]
NEAR = 1.01
"""A factor is the least within this."""
LARGEST_FACTOR = 4.0


def _data(given: Given, path: str, slot: float, factor: float = 1.0) -> dict[str, Any]:
    changed = given["changed"] if path == "loser" else ""
    hops = [{**hop, "bandwidth": hop["bandwidth"] * factor} if hop["name"] == changed else hop for hop in given[path]]
    return {"entry": given["entry"], "x": given["x"], "y": given["y"], "slot": slot, "hops": hops}


def _least_at(given: Given, slot: float) -> float | None:
    """The least factor with which the loser sustains as much as the winner at this slot; None where none does.

    With u = 1/TP of the winner, both ends of the loser have to fit the slot: (u − 1/(f b))(u − 1/b₂) = a a₂ / (entry × slot).
    """
    per_byte = 1 / path_rates.sustained(_data(given, "winner", slot))
    first, *_, last = given["loser"]
    changed, other = (first, last) if first["name"] == given["changed"] else (last, first)
    room = per_byte - 1 / other["bandwidth"]
    if room <= 0:
        return None
    left = per_byte - first["latency"] * last["latency"] / (given["entry"] * slot) / room
    if left <= 0:
        return None
    factor = max(1.0, 1 / (changed["bandwidth"] * left)) * (1 + 1e-9)
    return factor if _wins(given, factor, slot) else None


def _wins(given: Given, factor: float, slot: float) -> bool:
    loser = path_rates.sustained(_data(given, "loser", slot, factor))
    return loser >= path_rates.sustained(_data(given, "winner", slot)) * (1 - 1e-12)


def _factors(given: Given) -> dict[int, float]:
    """The least factor at each slot where there is one."""
    found = {slot: _least_at(given, slot) for slot in SLOTS}
    return {slot: factor for slot, factor in found.items() if factor is not None}


def _draw(source: random.Random) -> dict[str, Any]:
    while True:
        paths = {
            name: [
                {**hop, "bandwidth": round(hop["bandwidth"] * source.uniform(0.75, 1.35) / 1e8) * 1e8}
                for hop in hops_of(machine(), memories)
            ]
            for name, memories in (("winner", MEMORIES), ("loser", LOSER))
        }
        drawn: dict[str, Any] = {
            "entry": source.choice((4, 8, 16)),
            "x": 16384,
            "y": 16384,
            "slot": source.choice((4, 8, 16)) * MIB,
            "changed": source.choice(("GPURead", "GPUWrite")),
            **paths,
        }
        if any(_wins(drawn, 1.02, slot) for slot in SLOTS):
            continue
        factors = _factors(drawn)
        kept = factors.get(drawn["slot"])
        if kept is None or kept < 1.05 * min(factors.values()):
            continue
        if (
            1.1 < min(factors.values()) < LARGEST_FACTOR
            and 1.05 < _like_the_other(drawn)["factor"] < min(factors.values()) / 1.02
        ):
            return drawn


def _best(given: Given) -> dict[str, float]:
    factors = _factors(given)
    slot = min(factors, key=factors.__getitem__)
    return {"factor": factors[slot], "slot": slot}


def _in_proportion(given: Given) -> dict[str, float]:
    """As if the path grew in step with the bandwidth of one hop."""
    slot = _best(given)["slot"]
    ratio = path_rates.sustained(_data(given, "winner", slot)) / path_rates.sustained(_data(given, "loser", slot))
    return {"factor": max(1.0, ratio), "slot": slot}


def _like_the_other(given: Given) -> dict[str, float]:
    """The bandwidth that the same hop has on the winning path."""
    winner, loser = (next(hop for hop in given[path] if hop["name"] == given["changed"]) for path in ("winner", "loser"))
    return {"factor": winner["bandwidth"] / loser["bandwidth"], "slot": _best(given)["slot"]}


def _judge(answer: dict[str, float], given: Given) -> Verdict:
    factor, slot, best = answer["factor"], answer["slot"], _best(given)
    words: dict[str, object] = {"factor": f"{factor:.4g}", "slot_text": format_bytes(slot)}
    winner, loser = (path_rates.sustained(_data(given, path, slot, factor)) for path in ("winner", "loser"))
    words |= {"winner_rate": rate_text(winner), "loser_rate": rate_text(loser), "share": f"{100 * loser / winner:.4g} %"}
    words["one_rate"] = rate_text(path_rates.sustained(_data(given, "loser", slot)))
    wins = _wins(given, factor * (1 + 1e-9), slot)
    right = wins and factor <= NEAR * best["factor"]
    key = "right" if right else "too-much" if wins else "loses"
    cost = LOSING_PATH.text("cost", given=given, **words) if right else ""
    return Verdict(right, LOSING_PATH.text("says", key, given=given, **words), words, lambda: _picture(given, answer), cost)


def _picture(given: Given, answer: dict[str, float]) -> Any:
    def share(slot: float, factor: float) -> float:
        """What the losing path sustains, in per cent of the winning one."""
        winner, loser = (path_rates.sustained(_data(given, path, slot, factor)) for path in ("winner", "loser"))
        return 100 * loser / winner

    def drawn() -> str:
        slot, factor = answer["slot"], answer["factor"]
        sizes = [SLOTS[0] * 2 ** (k / 8) for k in range(8 * (len(SLOTS) - 1) + 1)]
        shares = [share(size, by) for by in (1.0, factor) for size in sizes]
        low, high = min([96, *shares]) * 0.99, max([102, *shares]) * 1.01
        up = Axis("losing path, in % of the winning one", low, high, lambda value: f"{value:.0f} %", step=_step(low, high))
        plane = Plane("How near the losing path comes", Axis("slot", SLOTS[0], MOST, format_bytes), up)
        plane.line([(SLOTS[0], 100), (MOST, 100)], "good", dashed=True)
        plane.line([(size, share(size, 1.0)) for size in sizes], "predicted")
        plane.line([(size, share(size, factor)) for size in sizes], "path")
        plane.point(slot, share(slot, factor), "your answer")
        said = f"Grey: as it is. Blue: with {given['changed']} {factor:.4g} times as fast. It wins from the dashed line on."
        return framed(plane.svg(), paragraph(said))

    return Drawn(drawn)


def _step(low: float, high: float) -> float:
    """The distance of ticks: about six of them."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if (high - low) / step <= 8 or step == 500)


def _table(given: Given) -> Any:
    rows = [
        (
            hop["name"],
            hop["run"],
            format_seconds(hop["latency"]) if hop["latency"] else "0",
            format_rate(hop["bandwidth"]),
            format_rate(other["bandwidth"]),
        )
        for hop, other in zip(given["winner"], given["loser"], strict=True)
    ]
    header = ("hop", "run", "latency a", "bandwidth b, winning path", "losing path")
    return Drawn(lambda: framed(rows_table("The hops of both paths", header, rows)))


def _words(given: Given) -> dict[str, object]:
    best = _best(given)
    winner, loser = (path_rates.sustained(_data(given, path, given["slot"])) for path in ("winner", "loser"))
    factors = _factors(given)
    return {
        "slot_text": format_bytes(given["slot"]),
        "winner_now": rate_text(winner),
        "loser_now": rate_text(loser),
        "best_factor": f"{math.ceil(best['factor'] * 1000) / 1000:.3f}",
        "best_slot": format_bytes(best["slot"]),
        "kept_factor": f"{factors[given['slot']]:.3f}",
        "best_rate": rate_text(path_rates.sustained(_data(given, "winner", best["slot"]))),
    }


FACTOR = Number("a factor", relative=0.004, least=1)
LOSING_PATH = Exercise(
    "3.P",
    Several({"factor": FACTOR, "slot": Number("a slot", "B", least=SLOTS[0], most=MOST)}),
    _draw,
    _judge,
    (
        WrongModel("in-proportion", _in_proportion),
        WrongModel(
            "like-the-other",
            _like_the_other,
            lambda read, given: FACTOR.same(read["factor"], _like_the_other(given)["factor"]),
        ),
        WrongModel(
            "slot-kept",
            lambda given: {"factor": _factors(given)[given["slot"]] * 1.0005, "slot": given["slot"]},
            lambda read, given: read["slot"] != _best(given)["slot"] and _wins(given, read["factor"], read["slot"]),
        ),
    ),
    lambda given: {**_best(given), "factor": _best(given)["factor"] * 1.0005},
    words=_words,
    picture=_table,
)
