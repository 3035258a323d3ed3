"""`isoviz bench vortex`: the compiled switch of a Data Vortex, beside one with an object for each packet in the same run.

The report also has what the switch carries, simulated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import isoviz.rma
from isoviz.bench.aims import COLUMNS, AimsTable, compared
from isoviz.document import Document, Facts, Prose, Section, share
from isoviz.document import Table as Cells
from isoviz.errors import InputError, InternalError
from isoviz.launch.ranks import ranks
from isoviz.measure.ranks.ranks_machine import mpi_here
from isoviz.vortex import Bursty, HotSpot, Packets, Switch, Transposition, Uniform, Vic, gups, on_ranks, simulated
from isoviz.vortex.packet import WORDS

# Figures of the switch of a Data Vortex as a whole, simulated: what it carries, what takes that down, what more ports
# change.

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
    return Section(title, [Prose(text), Cells(header, rows, numbers=range(len(header)))])


def _3(value: float) -> str:
    return f"{value:.3f}"


# Packets between VICs on four MPI ranks, beside NumPy's own scatter and beside a one-sided put.
#
# Ranks measure in turn, while the others are at a barrier: what is counted is processor time of the thread that sends,
# so that fewer processors than ranks do no harm.

RANKS = 4
PACKETS = 1 << 20
"""Packets of a batch, to drawn words of all VICs."""
ALONE = 10_000
"""Packets that are sent one at a time."""
RATE, SCATTER, PUT = 1e7, 0.3, 1 / 20
"""Aims: packets per second, and the least ratios to the peers."""
BATCH, NUMPY, ONE, OTHER = "a batch", "NumPy's scatter", "alone", "a put of 8 B"


def rows_on_ranks(repeat: int) -> list[dict[str, Any]]:
    """The rows of four ranks, which are started for them: medians of all rounds of all ranks.

    Raises:
        MissingPartError: there is no MPI in this Python's environment. LaunchError: the ranks did not start.
    """
    with ranks(RANKS) as started:
        return compare(started.call(measured, repeat)[0])


def measured(repeat: int, packets: int = PACKETS, alone: int = ALONE) -> dict[str, list[float]]:
    """Seconds of a packet, or of a put, of each way, round by round and rank by rank. All ranks call it."""
    with isoviz.rma.malloc(WORDS, "f8") as heap, on_ranks() as system:
        of_all = system.run(program, heap, repeat, packets, alone).results
    return {name: [seconds for each in of_all for seconds in each[name]] for name in of_all[0]}


def program(vic: Vic, heap: isoviz.rma.Heap, repeat: int, packets: int, alone: int) -> dict[str, list[float]]:
    """Each node sends in its turn, and has what NumPy scatters in memory of its own."""
    draw = np.random.default_rng(vic.rank)
    vics, addresses, values = draw.integers(0, vic.nodes, packets), draw.integers(0, WORDS, packets), draw.random(packets)
    local = [np.zeros(WORDS) for _ in range(vic.nodes)]
    places = [(here, vics == here) for here in range(vic.nodes)]
    split = [(local[here], addresses[which], values[which]) for here, which in places]
    to = (vic.rank + 1) % vic.nodes

    def scatter() -> None:
        for array, at, some in split:
            array[at] = some

    def send_alone() -> None:
        for _ in range(alone):
            vic.send(to, 5, 1.0, counter=3)

    def put() -> None:
        for _ in range(alone):
            heap.put(1.0, to=to, at=5)

    ways: dict[str, tuple[Callable[[], object], int]] = {
        BATCH: (lambda: vic.send(vics, addresses, values, counter=3), packets),
        NUMPY: (scatter, packets),
        ONE: (send_alone, alone),
        OTHER: (put, alone),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(vic.nodes):
        vic.barrier()
        for number in range(repeat + 1 if turn == vic.rank else 0):
            for name, (way, each) in ways.items():
                began = time.thread_time()
                way()
                if number:  # the first round touches all pages
                    times[name].append((time.thread_time() - began) / each)
    vic.barrier()
    return times


def compare(times: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Rows of what `measured` gives."""
    rate = f"{RATE:.0e} packets/s"
    beside = {**times, rate: [1 / RATE] * len(times[BATCH])}
    return [
        compared("on ranks", "4 ranks, a packet of a batch", beside, BATCH, NUMPY, SCATTER),
        compared("on ranks", "4 ranks, a packet of a batch", beside, BATCH, rate, 1),
        compared("on ranks", "4 ranks, a packet alone", beside, ONE, OTHER, PUT),
    ]


# The switch of a Data Vortex with an object for each packet, as one would write it down at first: the peer of the
# compiled one.
#
# It shares no code with `isoviz.vortex`: nodes have their places (cylinder, height, angle), and all packets move at
# once.


class NaivePacket:
    """A packet: the input node it waits at and the output it goes to as (height, angle), and what becomes of it."""

    def __init__(self, number: int, at: tuple[int, int], to: tuple[int, int], arrives: int) -> None:
        self.number, self.at, self.to, self.arrives = number, at, to, arrives
        self.entered = self.left = -1
        self.hops = self.deflections = 0


class NaiveSwitch:
    """Nodes as a dictionary from places to packets."""

    def __init__(self, heights: int, angles: int) -> None:
        self.angles, self.bits = angles, heights.bit_length() - 1
        self.nodes: dict[tuple[int, int, int], NaivePacket] = {}

    def move(self, cycle: int) -> None:
        """All packets move once; those that are at their output leave."""
        after: dict[tuple[int, int, int], NaivePacket] = {}
        for (cylinder, height, angle), packet in sorted(self.nodes.items(), key=lambda node: -node[0][0]):  # the innermost first
            further = (angle + 1) % self.angles
            if cylinder == self.bits:
                if (height, angle) == packet.to:
                    packet.left = cycle
                    continue
                place = (cylinder, height, further)
            else:
                bit = 1 << (self.bits - 1 - cylinder)
                is_right = height & bit == packet.to[0] & bit
                place = (cylinder + 1, height, further)
                if not is_right or place in after:
                    packet.deflections += is_right
                    place = (cylinder, height ^ bit, further)
            if place in after:
                raise AssertionError(f"two packets at {place}")
            packet.hops += 1
            after[place] = packet
        self.nodes = after

    def enter(self, packet: NaivePacket, cycle: int) -> bool:
        """Put a packet into the outermost cylinder, where its place is free."""
        place = (0, *packet.at)
        if place in self.nodes:
            return False
        self.nodes[place] = packet
        packet.entered = cycle
        return True

    def run(self, packets: Sequence[NaivePacket], cycles: int, backlog: int | None = None) -> None:
        """Send packets; at most `backlog` wait at an input. Those of an input stand in the order of their arrival."""
        to_come: dict[tuple[int, int], deque[NaivePacket]] = {}
        for packet in packets:
            to_come.setdefault(packet.at, deque()).append(packet)
        waiting: dict[tuple[int, int], deque[NaivePacket]] = {port: deque() for port in to_come}
        for cycle in range(cycles):
            self.move(cycle)
            for port, coming in to_come.items():
                while coming and coming[0].arrives <= cycle:
                    packet = coming.popleft()
                    if backlog is None or len(waiting[port]) < backlog:
                        waiting[port].append(packet)
                if waiting[port] and self.enter(waiting[port][0], cycle):
                    waiting[port].popleft()


PORTS = {64: Switch(16, 4), 2048: Switch(256, 8)}
"""Switches by their ports, with input at every angle."""
CYCLES, QUICK_CYCLES, NAIVE_CYCLES = {64: 100_000, 2048: 2000}, {64: 500, 2048: 20}, 400
AIMS = {64: 3e7, 2048: 1e8}
"""Hops per second."""
UPDATES, QUICK_UPDATES, UPDATES_AIM = 1 << 15, 1 << 8, 2e5
"""Random updates of each of 32 nodes, and how many a second there should be together."""
RECORDED_AIM, TIMES_NAIVE, LONG, SECONDS = 1e7, 50, 10_000, 0.5
NOTES = (
    "ratio: figure of the peer ÷ figure of isoviz, the median of all rounds; above 1, isoviz is faster",
    "times are processor time of one thread; the cycle has no other thread; the clock would count other work of this computer",
    "saturated: a packet waits at every input, to all outputs alike; a hop is a move of a packet, with its share of all the rest",
    "naive: the same packets, an object for each, in dictionaries of Python; all packets enter and leave in the same cycles",
    "few ports: entering and leaving limits the rate, which is done packet by packet; many ports: moving does, several at once",
    "GUPS: programs on simulated VICs, packet by packet through the switch; verifying against NumPy is within the time",
    "on ranks: packets to drawn words of four VICs; each rank sends in its turn, while the others are at a barrier",
    "NumPy's scatter: the same words, split by VIC beforehand, into four local arrays; a put: isoviz.rma, to mapped memory",
    "recorded: a row of every packet is written as well, and the table grows while the switch runs",
)


@dataclass(frozen=True, repr=False)
class VortexTable(AimsTable):
    """Rows of speed, and sections with figures of the switch."""

    figures: Sequence[Section] = ()

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "figures": Document("", self.figures).to_json()}

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{Document('the switch, simulated', self.figures)}"

    def to_page(self) -> str:
        facts = Facts([(str(key), str(value)) for key, value in self.machine.items()])
        notes = [Prose(f"{note[0].upper()}{note[1:]}.") for note in self.notes]
        head = Prose("Figures of the switch are simulated, and the same on every computer: seeds decide them. Speed is measured.")
        said = Prose(f"{self.title[0].upper()}{self.title[1:]}.")
        measured = Section("Speed", [said, facts, self.table(without=("predicted",)), *notes])
        return Document("The switch of a Data Vortex", [head, *self.figures, measured]).markdown()


def measure(repeat: int = 5, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> VortexTable:
    """Medians of `repeat` rounds in turn, and the figures of the switch; also rows of four ranks where this Python has an MPI.
    With `quick` there are few cycles, and no ranks: it only shows that the rest runs.

    Raises:
        InputError: `repeat` is less than 1. MissingPartError: Numba is not installed. LaunchError: the ranks did not start.
        InternalError: the switches do not agree about a packet.
    """
    if repeat < 1:
        raise InputError(f"bench vortex: repeat={repeat}; expected at least 1")
    cycles = QUICK_CYCLES if quick else CYCLES
    PORTS[64].saturate(1)  # compiles or loads the cycle
    times: dict[str, list[float]] = {}
    for number in range(repeat):
        progress(f"round {number + 1} of {repeat}")
        for ports, switch in PORTS.items():
            times.setdefault(f"{ports}", []).append(_seconds_per_hop(switch, cycles[ports], number, record=False))
            times.setdefault(f"{ports}, recorded", []).append(_seconds_per_hop(switch, cycles[ports], number, record=True))
        times.setdefault("naive", []).append(
            _naive_seconds_per_hop(PORTS[64], QUICK_CYCLES[64] if quick else NAIVE_CYCLES, number)
        )
        times.setdefault("gups", []).append(_seconds_per_update(QUICK_UPDATES if quick else UPDATES, number))
        began = time.thread_time()
        PORTS[64].saturate(LONG)
        times.setdefault("long", []).append(time.thread_time() - began)
    rows = [compared("saturated", "64 ports, a hop", times, "64", "naive", TIMES_NAIVE)]
    for ports, aim in AIMS.items():
        rows.append(_beside("saturated", f"{ports:,} ports, a hop", times[f"{ports}"], f"{aim:.0e} hops/s", 1 / aim))
        text = f"{ports:,} ports, a hop"
        rows.append(_beside("recorded", text, times[f"{ports}, recorded"], f"{RECORDED_AIM:.0e} hops/s", 1 / RECORDED_AIM))
    rows.append(_beside("saturated", f"64 ports, {LONG:,} cycles", times["long"], f"{SECONDS} s", SECONDS))
    rows.append(_beside("GUPS", "32 nodes, an update", times["gups"], f"{UPDATES_AIM:.0e} updates/s", 1 / UPDATES_AIM))
    if mpi_here() and not quick:
        progress("four ranks")
        rows += rows_on_ranks(repeat)
    found = []
    for section in sections(quick):
        progress(section.title)
        found.append(section)
    return VortexTable("vortex", f"the switch of a Data Vortex: medians of {repeat}", COLUMNS, rows, NOTES, figures=found)


def _beside(part: str, what: str, seconds: list[float], beside: str, limit: float) -> dict[str, Any]:
    found: dict[str, Any] = compared(part, what, {"own": seconds, beside: [limit] * len(seconds)}, "own", beside, 1)
    return found


def _seconds_per_hop(switch: Switch, cycles: int, seed: int, *, record: bool) -> float:
    began = time.thread_time()
    run = switch.saturate(cycles, seed=seed, record=record)
    return (time.thread_time() - began) / run.hops


def _seconds_per_update(updates: int, seed: int) -> float:
    """Of a program on 32 nodes, whose threads run one at a time."""
    began = time.process_time()
    with simulated(32, seed) as system:
        found = gups(system, updates)
    return (time.process_time() - began) / found.updates


def _naive_seconds_per_hop(switch: Switch, cycles: int, seed: int) -> float:
    """Of the naive switch, with the packets of a saturated run."""
    packets = switch.saturate(cycles, seed=seed, record=True).packets
    assert packets is not None
    sent = [_naive_packet(switch, packets, number) for number in range(len(packets))]
    naive = NaiveSwitch(switch.heights, switch.angles)
    began = time.thread_time()
    naive.run(sent, cycles)
    seconds = time.thread_time() - began
    found = [(each.entered, each.left, each.deflections) for each in sent]
    if found != list(zip(packets.entered.tolist(), packets.left.tolist(), packets.deflections.tolist(), strict=True)):
        raise InternalError("bench vortex: the switches do not agree about the packets")
    return seconds / sum(each.hops for each in sent)


def _naive_packet(switch: Switch, packets: Packets, number: int) -> NaivePacket:
    (source, at), (output, to) = (divmod(int(ports[number]), switch.heights) for ports in (packets.inputs, packets.outputs))
    return NaivePacket(number, (at, switch.inputs[source]), (to, switch.outputs[output]), int(packets.arrived[number]))
