"""3.1: the path of the Isometry paper's section 4.3 by hand: block sizes that sustain nearly the most."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from isoviz.course import path_rates
from isoviz.course.exercise import Exercise, Given, Kind, NotAnAnswer, Verdict, WrongModel
from isoviz.course.kinds import Number, Several
from isoviz.course.notebook_3.pictures import Axis, Drawn, Plane, framed, rate_text, rows_table
from isoviz.errors import IsovizError, show
from isoviz.figures.charts.html_parts import paragraph
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import ChannelKind, LatencyBandwidth, Machine, preset
from isoviz.machines.edits.channel_edits import with_channel
from isoviz.planner import Options, Plan, Transfer, explain, plan_by_path
from isoviz.units import format_bytes, format_rate, format_seconds, format_share

# Answers that are plans by hand. What was chosen is read: memories, layouts, chunk. The plan is computed again from
# them.


@dataclass(frozen=True)
class ByHand:
    """What a learner chose: the memories of the path, the layouts between its ends, and the bytes of a chunk (None: the best)."""

    memories: tuple[str, ...]
    layouts: tuple[str, ...]
    chunk: int | None = None
    slots: int = 2


@dataclass(frozen=True)
class PlanAnswer(Kind):
    """A plan for `transfer` on `machine`: a pane, a plan, or a short form that `shorthand` turns into a `ByHand`.

    What a plan says of its own time and rate is not read. `has_chunk`: whether the chunk belongs to the answer. `path`: the
    memories of the path that is asked for; without it, any path is an answer.
    """

    transfer: Callable[[Given], Transfer]
    machine: Callable[[Given], Machine]
    shorthand: Callable[[object, Given], ByHand | None] = lambda _answer, _given: None
    expected: str = "the pane, or a plan"
    has_chunk: bool = False
    path: Callable[[Given], Sequence[str]] | None = None

    def read(self, answer: object, given: Given) -> ByHand:
        """The choices of the plan."""
        short = self.shorthand(answer, given)
        if short is not None:
            return short
        views = sys.modules.get("isoviz.widgets.views.plan_view")
        if views is not None and isinstance(answer, views.PlanView):
            answer = answer.answer()
        if not isinstance(answer, Plan):
            raise NotAnAnswer(f"expected {self.expected}, got {show(answer)}")
        if answer.transfer != self.transfer(given):
            raise NotAnAnswer("that is a plan of another transfer; expected the one of the exercise")
        if answer.machine_digest != self.machine(given).digest:
            raise NotAnAnswer("that is a plan for another machine; expected the one of the exercise, unchanged")
        if len(answer.paths) != 1:
            raise NotAnAnswer(f"expected a plan with one path, got {len(answer.paths)}")
        layouts = tuple(str(each.layout) for each in answer.orders[1:-1])
        chunk = answer.chunk_bytes if self.has_chunk else None
        return self._on_path(ByHand(tuple(answer.memories), layouts, chunk), given)

    def _on_path(self, choices: ByHand, given: Given) -> ByHand:
        path = choices.memories if self.path is None else tuple(self.path(given))
        if choices.memories != path:
            raise NotAnAnswer(f"expected a plan on the path {', '.join(path)}; this one takes {', '.join(choices.memories)}")
        return choices

    def keep(self, read: Any) -> Any:
        """The choices."""
        return {"memories": list(read.memories), "layouts": list(read.layouts), "chunk": read.chunk, "slots": read.slots}

    def again(self, kept: Any, given: Given) -> ByHand:
        """The choices that were kept."""
        if not isinstance(kept, Mapping) or set(kept) != {"memories", "layouts", "chunk", "slots"}:
            raise NotAnAnswer("expected the choices of a plan")
        texts = [*kept["memories"], *kept["layouts"]]
        numbers = [each for each in (kept["chunk"], kept["slots"]) if each is not None]
        if not all(isinstance(each, str) for each in texts) or not all(type(each) is int for each in numbers):
            raise NotAnAnswer("expected memories and layouts as texts, and whole numbers")
        choices = ByHand(tuple(kept["memories"]), tuple(kept["layouts"]), kept["chunk"], kept["slots"])
        return self._on_path(choices, given)

    def computed(self, choices: ByHand, given: Given, **options: Any) -> Plan:
        """The plan that follows from the choices, also where it breaks limits: `Plan.violations` says which.

        Raises:
            InputError: the path cannot be used like that; the message says why.
        """
        return plan_by_path(
            self.transfer(given),
            self.machine(given),
            ", ".join(choices.memories),
            list(choices.layouts),
            **({} if choices.chunk is None else {"chunk": choices.chunk}),
            options=Options(slots=choices.slots, **options),
            over_limits=True,
        )


MEMORIES = ("node0.fbm0", "node0.zcm", "node0.reg", "node1.reg", "node1.fbm0")
SHARE = 0.97
"""What is asked for, as a share of the most: at 100 % hardly any block sizes are left."""
ENTRIES = {"complex128": 16, "float64": 8, "complex64": 8}
MIB = 1 << 20


@cache
def machine() -> Machine:
    """The machine of the exercise."""
    return preset("two-node")


ROUNDING = 1e-9
"""The relative error of a rate as it is computed, at most."""


def hops_of(on: Machine, memories: tuple[str, ...]) -> list[dict[str, Any]]:
    """The hops of a path that converts between its second and third memory, as plain data."""
    runs = ("|F| × x_in", "|F|", "chunk", "|F| × y_in")
    channels = (on.between(here, there)[0] for here, there in pairwise(memories))
    return [
        {
            "name": str(each.kind),
            "latency": float(getattr(each.throughput, "latency", 0.0)),
            "bandwidth": float(each.throughput.peak),
            "run": run,
        }
        for each, run in zip(channels, runs, strict=True)
    ]


def transfer_of(given: Given) -> Transfer:
    """The transposition that is planned."""
    space, fields = IndexSpace(x=given["x"], y=given["y"]), FieldSpace(value=given["dtype"])
    return Transfer.whole(space, fields, MEMORIES[0], "<F, x, y>", MEMORIES[-1], "<F, y, x>")


def buffer_layouts(x_in: int, y_in: int) -> tuple[str, ...]:
    """The layouts of the three buffers with these blocks: rows first, columns first after the conversion."""
    rows, columns = f"<F, x_in={x_in}, y_in={y_in}, x_out, y_out>", f"<F, y_in={y_in}, x_in={x_in}, x_out, y_out>"
    return rows, columns, columns


def machine_of(given: Given) -> Machine:
    """The machine with the figures of this learner at both ends of the path."""
    return _with_ends(*((hop["latency"], hop["bandwidth"]) for hop in (given["hops"][0], given["hops"][-1])))


@lru_cache(maxsize=64)
def _with_ends(first: tuple[float, float], last: tuple[float, float]) -> Machine:
    made = machine()
    for here, there, figures in ((*MEMORIES[:2], first), (*MEMORIES[-2:], last)):
        channel = made.between(here, there)[0]
        made = with_channel(made, channel.name, throughput=LatencyBandwidth(*figures))
    return made


def _draw(source: random.Random) -> dict[str, Any]:
    """Figures with which a pair of blocks that the sliders of the pane have is good enough, and a square one is not."""
    while True:
        dtype = source.choice(tuple(ENTRIES))
        x_in, y_in = (source.choice((2, 3)) * 2 ** source.randint(7, 10) for _ in "xy")
        slot = math.ceil(ENTRIES[dtype] * x_in * y_in / MIB) * MIB
        first, *flat, last = hops_of(machine(), MEMORIES)
        ends = [
            {**hop, "latency": source.randint(*tenths) / 10 / 1e6, "bandwidth": source.randint(45, 90) * 1e8}
            for hop, tenths in ((first, (20, 120)), (last, (8, 60)))
        ]
        drawn: dict[str, Any] = {
            "dtype": dtype,
            "entry": ENTRIES[dtype],
            "x": 512 * source.randint(8, 20),
            "y": 512 * source.randint(8, 20),
            "slot": slot,
            "hops": [ends[0], *flat, ends[1]],
        }
        allowed = path_rates.bounds(drawn)
        target = math.ceil(SHARE * min(allowed.values()) / 1e7) * 10**7
        if not 8 * MIB <= slot <= 32 * MIB or allowed["slot"] > 0.98 * allowed["flat"]:
            continue
        square = (slot / ENTRIES[dtype]) ** 0.5
        if _rate(drawn, x_in, y_in) >= 1.003 * target and _rate(drawn, square, square) < 0.99 * target:
            return {**drawn, "target": target}


def enough(given: Given) -> float:
    """The rate from which a hop is fast enough: the target, but for what rounding takes from it."""
    return float(given["target"]) * (1 - ROUNDING)


def _rate(given: Given, x_in: float, y_in: float) -> float:
    """What both ends sustain with these blocks."""
    first, *_, last = given["hops"]
    return min(path_rates.rate(first, given["entry"] * x_in), path_rates.rate(last, given["entry"] * y_in))


def _blocks(answer: object, given: Given) -> ByHand | None:
    """The plan that a pair of block sizes stands for."""
    if not isinstance(answer, tuple | list | dict | str | np.ndarray):
        return None
    sizes = {f"{name}_in": Number(f"{name}_in", whole=True, least=1, most=given[name]) for name in "xy"}
    return ByHand(MEMORIES, buffer_layouts(**Several(sizes).read(answer, given)))


KIND = PlanAnswer(
    transfer_of,
    machine_of,
    _blocks,
    "the pane, a plan, or (x_in, y_in) such as (64, 64)",
    has_chunk=True,
    path=lambda _given: MEMORIES,
)


def _judge(answer: ByHand, given: Given) -> Verdict:
    try:
        plan = KIND.computed(answer, given, slot_limit=given["slot"])
    except IsovizError as error:
        return Verdict(False, str(error))
    short = [hop for hop in plan.hops if hop.throughput < enough(given)]
    slow = min(plan.hops, key=lambda hop: hop.throughput)
    words: dict[str, object] = {
        "rate": rate_text(plan.throughput),
        "kind": slow.kind,
        "run": format_bytes(slow.request_bytes),
    }

    def verdict(says: str, model: str = "") -> Verdict:
        text = BLOCKS_BY_HAND.text("says", says, given=given, **words)
        return Verdict(not model, text, words, lambda: _picture(plan, given), _cost(plan, given) if not model else "", model)

    for broken in plan.violations:
        words |= {"needed": format_bytes(broken.needed), "allowed": format_bytes(broken.allowed)}
        is_chunk = broken.constraint == "shuffle"
        return verdict("chunk" if is_chunk else "slot", "chunk-below-block" if is_chunk else "slot-forgotten")
    if not short:
        return verdict("right")
    ends = plan.hops[0].request_bytes, plan.hops[-1].request_bytes
    block = _block_bytes(plan)
    words["block"], words["part"] = format_bytes(block), format_share(block / given["slot"])
    if block < given["slot"] / 2:
        return verdict("slow", "both-runs-short")
    return verdict("slow", "square-block" if ends[0] == ends[1] else "one-run-only")


def _block_bytes(plan: Plan) -> int:
    """The bytes of a block: what the hops between two buffers have to hold to convert."""
    return max(plan.shuffles[1:-1])


def _cost(plan: Plan, given: Given) -> str:
    most = path_rates.sustained(given)
    return BLOCKS_BY_HAND.text(
        "cost",
        given=given,
        share=f"{100 * plan.throughput / most:.1f} %",
        most=rate_text(most),
        buffers=format_bytes(plan.buffer_bytes),
    )


def hops_picture(given: Given) -> Any:
    """The figures of a path's hops."""
    rows = []
    for hop in given["hops"]:
        latency = format_seconds(hop["latency"]) if hop["latency"] else "0"
        rows.append((hop["name"], ChannelKind.words_for(hop["name"]), hop["run"], latency, format_rate(hop["bandwidth"])))
    header = ("hop", "in panes", "run", "latency a", "bandwidth b")
    return Drawn(lambda: framed(rows_table("The hops of the path", header, rows)))


def _picture(plan: Plan, given: Given) -> Any:
    return Drawn(lambda: framed(_hops(plan, given), _region(plan, given)))


def _hops(plan: Plan, given: Given) -> str:
    target = given["target"]
    rows = [
        (
            hop.kind,
            format_bytes(hop.request_bytes),
            rate_text(hop.throughput),
            "" if hop.throughput >= enough(given) else f"{100 * (1 - hop.throughput / target):.1f} %",
        )
        for hop in plan.hops
    ]
    slow = [hop.index for hop in plan.hops if hop.throughput < enough(given)]
    return rows_table(
        f"Your plan: what each hop sustains, of {rate_text(target)} asked", ("hop", "run", "rate", "missing"), rows, slow
    )


def _region(plan: Plan, given: Given) -> str:
    found = explain(plan, machine_of(given), options=Options(slot_limit=given["slot"]), target=given["target"]).region
    if found is None:
        return ""
    (x, y), corners = found.chosen, found.corners
    axes = []
    for name, chosen, along in (("x_in", x, [corner[0] for corner in corners]), ("y_in", y, [corner[1] for corner in corners])):
        axes.append(Axis(name, max(1, min([chosen, *along]) / 2), 2 * max([chosen, *along]), lambda size: f"{size:,.0f}"))
    plane = Plane("Block sizes: yours, and those that are asked for", *axes)
    entries = given["slot"] / given["entry"]
    plane.area(corners)
    low, high = axes[0].low, axes[0].high
    sizes = [low * (high / low) ** (k / 200) for k in range(201)]
    plane.line([(size, entries / size) for size in sizes], "bad", dashed=True)
    plane.point(x, y, "yours", below=True)
    asked = format_rate(given["target"])
    return plane.svg() + paragraph(f"Green: blocks that sustain {asked} and fit. Dashed: a block takes the whole slot.")


def _by_sizes(given: Given, x_in: float, y_in: float) -> ByHand:
    x, y = (max(1, min(given[dim], round(size))) for dim, size in (("x", x_in), ("y", y_in)))
    return ByHand(MEMORIES, buffer_layouts(x, y))


def _best(given: Given) -> ByHand:
    """Blocks in the middle of those that sustain what is asked."""
    first, *_, last = given["hops"]
    x, y = (path_rates.run_for(hop, given["target"]) / given["entry"] for hop in (first, last))
    room = (given["slot"] / given["entry"] / (x * y)) ** 0.5
    stretched = min(room, given["x"] / x, given["y"] / y)
    return _by_sizes(given, x * stretched**0.5, y * stretched**0.5)


def _long_rows(given: Given) -> ByHand:
    """Blocks three times as long in x as the best ones, and in y what is left of the slot."""
    x_in = min(given["x"], round(3 * path_rates.best_blocks(given)[0]))
    return _by_sizes(given, x_in, given["slot"] // given["entry"] // x_in)


def _square(given: Given) -> ByHand:
    side = (given["slot"] / given["entry"]) ** 0.5
    return _by_sizes(given, int(side), int(side))


def _chunk_below_block(given: Given) -> ByHand:
    best = _best(given)
    plan = plan_by_path(
        transfer_of(given), machine_of(given), ", ".join(MEMORIES), best.layouts, options=Options(slot_limit=given["slot"])
    )
    return replace(best, chunk=_block_bytes(plan) // 4)


def _words(given: Given) -> dict[str, object]:
    first, *_, last = given["hops"]
    runs = [path_rates.run_for(hop, given["target"]) for hop in (first, last)]
    blocks = KIND.again(KIND.keep(_best(given)), given)
    sizes = [part.split("=")[1] for part in blocks.layouts[0].split(", ") if "=" in part]
    return {
        "target_text": format_rate(given["target"]),
        "slot_text": format_bytes(given["slot"]),
        "runs": f"{runs[0]:,.0f} B at {first['name']} and {runs[1]:,.0f} B at {last['name']}",
        "latencies": f"{first['latency'] / last['latency']:.1f}",
        "least_x": f"{runs[0] / given['entry']:,.0f}",
        "least_y": f"{runs[1] / given['entry']:,.0f}",
        "good_x": sizes[0],
        "good_y": sizes[1],
    }


def _pane(given: Given, check: Callable[[Any], Any]) -> Any:
    from isoviz.widgets import PlanView

    options = Options(slot_limit=given["slot"])
    on, path = machine_of(given), ", ".join(MEMORIES)
    plan = plan_by_path(transfer_of(given), on, path, buffer_layouts(64, 64), options=options, over_limits=True)
    view = PlanView(plan, on, options=options, check=check, fixed=True)
    settings = view.session.settings
    assert settings.by_hand is not None
    # The chunk of the least time follows the blocks; the constraints are judged for what is asked.
    view.session.choose(replace(settings, by_hand=replace(settings.by_hand, chunk="", target=float(given["target"]))))
    return view


BLOCKS_BY_HAND = Exercise(
    "3.1",
    KIND,
    _draw,
    _judge,
    (
        WrongModel("both-runs-short", lambda given: _by_sizes(given, 64, 64)),
        WrongModel("one-run-only", _long_rows),
        WrongModel("square-block", _square),
        WrongModel("slot-forgotten", lambda given: _by_sizes(given, given["x"], given["y"])),
        WrongModel("chunk-below-block", _chunk_below_block),
    ),
    _best,
    words=_words,
    picture=hops_picture,
    pane=_pane,
)
