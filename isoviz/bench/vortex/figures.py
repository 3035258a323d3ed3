"""Figures of the switch of a Data Vortex as a whole, simulated: what it carries, what takes that down, what more ports change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from isoviz.document import Prose, Section, Table, share
from isoviz.vortex import Bursty, HotSpot, Switch, Transposition, Uniform

WARM = 2000
"""Cycles before those that are counted."""
LIMIT = 2 / 9
"""What independent packets carry per port and cycle in a switch of any size (Iliadis et al., 2007)."""
HEIGHTS = (8, 16, 32, 64, 128, 256, 1024, 4096)
ONE_OF_FOUR = Switch(32, 4, [0])
HELD = (Switch(16), Switch(64), Switch(8, 4), ONE_OF_FOUR, Switch(32, 8, [0]))
"""Switches that are offered less and more than they carry."""
OFFERED = (0.96, 1.05, 1.5)
"""Loads, in parts of what a switch carries when it is saturated."""
HOT, LOAD, BURST = 7, 0.4, 8


def carried(switch: Switch, cycles: int) -> float:
    """Packets per port and cycle where one waits at every input, to all outputs alike."""
    return switch.saturate(cycles, warm=WARM, seed=3).throughput


def independent(heights: int) -> float:
    """Packets per port and cycle at one angle, if the places of packets did not depend on each other.

    In a cylinder, `stays` is the share of the nodes that get a packet from within. Of the packets that come from outside, half
    have the right bit at once; a packet with the right bit moves inwards unless the node there gets one from within. With a flow
    of x per node and cycle, 2x / (1 − stays inside) − 3x/2 stay; at the inputs, x = 1 − stays.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        flow = (low + high) / 2
        stays = 0.0
        for _ in range(heights.bit_length() - 1):
            stays = 2 * flow / (1 - stays) - 1.5 * flow
            if not 0 <= stays < 1:
                stays = 1.0
                break
        low, high = (flow, high) if flow < 1 - stays else (low, flow)
    return low


def held(switch: Switch, cycles: int) -> tuple[float, list[float]]:
    """What a switch carries when it is saturated, and when it is offered each part of `OFFERED` of that; backlogs may grow."""
    most = carried(switch, cycles)
    runs = [switch.run(Uniform(min(1, part * most)), cycles, warm=WARM, seed=2) for part in OFFERED]
    return most, [run.throughput for run in runs]


def to_others(part: float, cycles: int) -> float:
    """Packets that each other port gets per cycle where a part of the traffic goes to one of 32 ports."""
    run = ONE_OF_FOUR.run(HotSpot(LOAD, part, HOT), cycles, warm=3 * WARM, seed=11)
    return float(np.delete(run.at_outputs, HOT).mean()) / run.cycles


def empty(switch: Switch) -> float:
    """Cycles of a packet through a switch that is empty: the mean of all pairs of ports."""
    sources, destinations = np.divmod(np.arange(switch.outputs_count**2), switch.outputs_count)
    return float(switch.shortest(sources, destinations).mean()) + 1


def transposed(order: str, words: int) -> float:
    """Words per port and cycle where each of 32 nodes has this number of words for each."""
    return ONE_OF_FOUR.run(Transposition(words, order), seed=3).throughput


def out_of_turn(load: float, cycles: int) -> float:
    """The share of the packets of a pair of ports that leave before one which entered earlier."""
    switch = Switch(32, 4)
    packets = switch.run(Uniform(load), cycles, seed=2, backlog=1, record=True).packets
    assert packets is not None
    pairs = packets.inputs * switch.outputs_count + packets.outputs
    rows = np.lexsort((packets.entered, pairs))
    rows = rows[packets.delivered[rows]]
    same = np.diff(pairs[rows]) == 0
    return float((np.diff(packets.left[rows])[same] < 0).mean())


def sections(quick: bool = False) -> Iterator[Section]:
    """All figures, each group when it is simulated. With `quick` there are few cycles: it only shows that everything runs."""
    cycles, words = (100, 4) if quick else (20_000, 512)
    heights = HEIGHTS[:3] if quick else HEIGHTS

    def length(ports: int) -> int:
        """Cycles of a saturated switch: fewer where there are more packets in each."""
        return cycles if quick else max(3000, cycles * 64 // ports)

    yield _section(
        "What a saturated switch carries",
        ("heights", "packets per port and cycle", "independent packets"),
        [(f"{size:,}", _3(carried(Switch(size), length(size))), _3(independent(size))) for size in heights],
        f"A = 1. The more heights, the nearer come independent packets to 2/9 = {LIMIT:.3f}, from above; the switch falls below.",
    )
    yield _section(
        "More angles",
        ("angles", "H = 64, all with ports", "H = 32, one with ports"),
        [
            (f"{angles}", *(_3(carried(each, cycles)) for each in (Switch(64, angles), Switch(32, angles, [0]))))
            for angles in (range(1, 3) if quick else range(1, 9))
        ],
        "Every angle with ports takes from what each port has. Angles without ports give room.",
    )
    yield _section(
        "Beyond saturation",
        ("ports", "angles", "saturated", *(f"offered {part:g} × that" for part in OFFERED)),
        [
            (f"{switch.inputs_count}", f"{len(switch.inputs)} of {switch.angles}", *map(_3, (most, *found)))
            for switch in HELD[: 1 if quick else None]
            for most, found in [held(switch, cycles)]
        ],
        "Packets per port and cycle. What is carried at saturation is held beyond it: nothing collapses.",
    )
    bursts = [ONE_OF_FOUR.run(kind, cycles, warm=WARM, seed=5) for kind in (Uniform(LOAD), Bursty(LOAD, BURST))]
    yield _section(
        "Uneven traffic",
        ("share of one port", "each other port gets"),
        [(share(part), _3(to_others(part, cycles))) for part in (0, 0.02, 0.05, 0.1, 0.2)],
        f"32 ports (A = 4, H = 32, one angle), offered {LOAD} packets per port and cycle. In bursts of {BURST} packets the"
        f" mean latency is {bursts[1].latencies.mean:.1f} cycles instead of {bursts[0].latencies.mean:.1f}, and a packet waits"
        f" {bursts[1].waits.mean:.1f} cycles at its input instead of {bursts[0].waits.mean:.1f}.",
    )
    sizes = [Switch(size, 4, [0]) for size in ((8, 16) if quick else (8, 16, 32, 64, 128, 256, 512))]
    found = [carried(switch, length(switch.inputs_count)) for switch in sizes]
    less = ["", *(f"{100 - 100 * large / small:.1f} %" for small, large in pairwise(found))]
    yield _section(
        "Twice the ports",
        ("ports", "cylinders", "cycles when empty", "so with A = 1", "packets per port and cycle", "less than half the ports"),
        [
            (
                *(
                    f"{switch.inputs_count}",
                    f"{switch.cylinders}",
                    f"{empty(switch):.1f}",
                    f"{empty(Switch(switch.heights)):.1f}",
                ),
                *(_3(most), fewer),
            )
            for switch, most, fewer in zip(sizes, found, less, strict=True)
        ],
        "A = 4, one angle with ports. The paper expects one cylinder more, and no loss per node (section IX). With A = 1 a"
        " cylinder more takes 1.5 cycles; with more angles a packet also goes round to its angle.",
    )
    yield _section(
        "The order of delivery",
        ("order", "words per port and cycle"),
        [(order, _3(transposed(order, words))) for order in ("word by word", "node by node", "from node 0", "random")],
        f"A matrix is transposed between 32 nodes (A = 4, H = 32, one angle), {words} words for each node from each."
        " The helper isoviz.vortex.transposed sends word by word.",
    )
    yield _section(
        "Out of turn",
        ("load", "packets of a pair"),
        [(f"{load:g}", f"{100 * out_of_turn(load, max(1000, cycles // 5)):.2f} %") for load in (0.01, 0.1, 1)],
        "128 ports (A = 4, H = 32): the share of packets that leave before one which entered earlier for the same output.",
    )


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], text: str) -> Section:
    return Section(title, [Prose(text), Table(header, rows, numbers=range(len(header)))])


def _3(value: float) -> str:
    return f"{value:.3f}"
