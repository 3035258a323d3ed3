"""The switch: what a deflection costs, what it carries, and how it grows (sections II and IX)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isoviz.reproduce import Claim, Columns, Curves, Depends, by_column, experiment
from isoviz.reproduce.data_vortex.assumptions import VortexAssumptions, switch_of
from isoviz.vortex import Bursty, HotSpot, Switch, Transposition, Uniform
from isoviz.vortex.traffic import ORDERS

LOAD, HOT, BURST = 0.4, 0.1, 8
"""Offered load, the share of a hot spot, and the mean length of bursts."""
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_UNIFORM, HOT_SPOT, _BURSTS = "uniform", "a tenth to one port, the others", f"bursts of {BURST}"
TRAFFIC = (_UNIFORM, _BURSTS, HOT_SPOT)


def _throughput(found: Any, kind: str, load: float = LOAD) -> float:
    return next(float(row["throughput"]) for row in found["loads"] if (row["traffic"], row["load"]) == (kind, load))


def kept(found: Any, kind: str) -> float:
    """What a kind of traffic gets of what is offered to it, beside uniform traffic at the same load."""
    return _throughput(found, kind) / _throughput(found, _UNIFORM) / (1 - HOT if kind == HOT_SPOT else 1)


def _held(found: Any) -> float:
    return _throughput(found, _UNIFORM, 1.0) / max(
        float(row["throughput"]) for row in found["loads"] if row["traffic"] == _UNIFORM
    )


def _order(found: Any, order: str) -> float:
    return next(float(row["throughput"]) for row in found["orders"] if row["order"] == order)


@experiment(
    "figure 1",
    "the switch, packet by packet",
    section="II",
    quick={"cycles": 3000, "loads": (0.2, LOAD, 0.6, 1.0)},
    claims=(
        Claim("packets to which each deflection adds two hops to the right height", "two hops", 1.0, "exact", "share").because(
            "hops = (C − 1) + bits that differ + 2 × deflections + the way round to the angle, for each of them"
        ),
        Claim(
            "hops that a deflection adds with the way round to the angle, mean", "statistically two", 2.0, "added", "times"
        ).because("with one angle of four, all hops are a multiple of four, and two more of them often take a whole turn more"),
        Claim("packets lost", "none", 0.0, "lost", "count").because("what does not fit is deflected, and no place has a buffer"),
        Claim(
            "offered 1 word per port and cycle: throughput over the most of all loads", "robust", (1.0, None), _held, "times"
        ).because("what is saturated is held: nothing collapses"),
        Claim(
            f"bursts: throughput over that of uniform traffic, load {LOAD}", "robust", 1.0, lambda f: kept(f, _BURSTS), "times"
        ),
        Claim(
            f"a tenth of all packets to one port: throughput of the others over uniform, load {LOAD}",
            "congestion-free",
            1.0,
            lambda found: kept(found, HOT_SPOT),
            "times",
        ).because(
            "not as said: nothing is lost and nothing collapses, but packets that circle before the port to which too many go"
            " hold up those to others, and so do inputs, whose first packet has to enter before the next one"
        ),
        Claim("transposition, a word to each node in turn", "no figure", None, lambda f: _order(f, ORDERS[0]), "share"),
        Claim("transposition, all begin with node 0", "no figure", None, lambda f: _order(f, ORDERS[2]), "share").because(
            "the order in which nodes send decides: another kind of congestion"
        ),
    ),
    shows=(
        Curves(
            lambda found: by_column("load", "throughput", by="traffic")(found["loads"]),
            ("words offered per port and cycle", "number"),
            ("words delivered", "share"),
            dict(zip(TRAFFIC, ("measured", "dim1", "dim3"), strict=True)).__getitem__,
        ),
        Columns(
            (("a transposition, in which order", "order"), ("words per port and cycle", "throughput", "share")),
            lambda found: found["orders"],
        ),
    ),
    depends=(
        Depends(
            "figure 1: a tenth to one port, the others over uniform",
            "times",
            lambda found: kept(found, HOT_SPOT),
            "switch",
            loads=(LOAD,),
            cycles=4000,
        ),
        Depends("figure 1: hops that a deflection adds", "times", "added", "switch", loads=(LOAD,), cycles=4000),
    ),
)
def figure1(given: VortexAssumptions, loads: Sequence[float] = LOADS, cycles: int = 20_000) -> dict[str, Any]:
    """Packets at a load of 0.4: the share of those whose hops are `exact`, `added` hops per deflection, and how many were `lost`;
    words delivered by `loads` and traffic; and a transposition by the order of its words."""
    switch = switch_of(given)
    run = switch.run(Uniform(LOAD), cycles, seed=1, record=True)
    packets = run.packets
    assert packets is not None
    rows = np.flatnonzero(packets.delivered)
    ends, hops, deflections = (packets.inputs[rows], packets.outputs[rows]), packets.hops[rows], packets.deflections[rows]
    exact = float((hops == switch.shortest(*ends, deflections)).mean())
    added = float((hops - switch.shortest(*ends)).sum() / deflections.sum())
    delivered = []
    for load in loads:
        for kind, traffic in ((_UNIFORM, Uniform(load)), (_BURSTS, Bursty(load, BURST)), (HOT_SPOT, HotSpot(load, HOT))):
            ran = switch.run(traffic, cycles, seed=1, warm=2000)
            ports = ran.at_outputs[1:] if kind == HOT_SPOT else ran.at_outputs
            delivered.append({"traffic": kind, "load": load, "throughput": float(ports.mean()) / ran.cycles})
    orders = [{"order": order, "throughput": switch.run(Transposition(512, order)).throughput} for order in ORDERS]
    lost = run.offered - run.refused - run.delivered - run.waiting - run.in_flight
    return {"exact": exact, "added": added, "lost": lost, "loads": delivered, "orders": orders}


PORTS = (8, 16, 32, 64, 128, 256, 512)


def grown(found: Any, low: int, high: int, of: str = "throughput") -> float:
    """What a switch of `high` ports has of a figure, over one of `low` ports."""
    value = {row["ports"]: row[of] for row in found}
    return float(value[high] / value[low])


def _worst(found: Any) -> float:
    return min(grown(found, row["ports"] // 2, row["ports"]) for row in found[1:])


@experiment(
    "section IX",
    "twice the ports",
    quick={"cycles": 2000},
    claims=(
        Claim(
            "twice the ports, 32 to 64: latency without load",
            "minimally more",
            (1.0, 1.25),
            lambda f: grown(f, 32, 64, "empty"),
            "times",
        ).because(
            "a cylinder more: one hop inwards, and a bit more that differs half of the time. A quarter is taken as minimal"
        ),
        Claim("twice the ports, at worst: throughput of a port", "no change", 1.0, _worst, "times").because(
            "each doubling takes 3 % to 7 %: less than a tenth, and always down"
        ),
        Claim(
            f"{PORTS[0]} to {PORTS[-1]} ports: throughput of a port",
            "no change",
            1.0,
            lambda f: grown(f, PORTS[0], PORTS[-1]),
            "times",
        ).because("what doublings take adds up; a larger switch of this kind carries less for each of its ports"),
    ),
    shows=(
        Columns(
            (
                ("ports", "ports", "count"),
                ("cylinders", "cylinders", "count"),
                ("saturated: words per port and cycle", "throughput", "share"),
                ("cycles without load", "empty", "count"),
            )
        ),
    ),
)
def section9(given: VortexAssumptions, ports: Sequence[int] = PORTS, cycles: int = 10_000) -> list[dict[str, Any]]:
    """Switches with as many angles as the assumed one, by their ports: saturated, and their latency without load in cycles."""
    rows = []
    for number in ports:
        switch = switch_of(given, number)
        every = np.arange(number)
        empty = switch.shortest(*(each.ravel() for each in np.meshgrid(every, every)))
        run = switch.saturate(max(cycles, 40 * cycles // number), seed=1, warm=1000)
        rows.append(
            {"ports": number, "cylinders": switch.cylinders, "throughput": run.throughput, "empty": float(empty.mean()) + 1}
        )
    return rows


HEIGHTS = (8, 32, 128, 512, 2048)


@experiment(
    "reference 15",
    "saturation at one angle",
    section="II",
    quick={"cycles": 1000},
    claims=(
        Claim(
            f"one angle, H = {HEIGHTS[-1]:,}: words per port and cycle",
            "2/9 at least",
            (2 / 9, None),
            lambda f: f[-1]["throughput"],
            "share",
        ).because(
            "2/9 is what the reference derives for packets that do not depend on each other (its abstract alone was read);"
            " here they do, and the switch falls through it between H = 128 and 256"
        ),
    ),
    shows=(Columns((("H", "heights", "count"), ("words per port and cycle", "throughput", "share"))),),
)
def reference15(_: VortexAssumptions, cycles: int = 5000) -> list[dict[str, Any]]:
    """What saturated switches with one angle deliver, by their heights."""
    return [
        {
            "heights": heights,
            "throughput": Switch(heights).saturate(max(cycles, 64 * cycles // heights), seed=1, warm=1000).throughput,
        }
        for heights in HEIGHTS
    ]
