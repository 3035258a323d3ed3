"""`isoviz bench vortex`: the compiled switch of a Data Vortex, beside one with an object for each packet in the same run.

The report also has what the switch carries, simulated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isoviz.bench.aims import COLUMNS, AimsTable, compared
from isoviz.bench.table import Table
from isoviz.bench.vortex import on_ranks
from isoviz.bench.vortex.figures import sections
from isoviz.bench.vortex.naive_switch import NaivePacket, NaiveSwitch
from isoviz.document import Document, Facts, Prose, Section
from isoviz.document import Table as Cells
from isoviz.errors import InputError, InternalError
from isoviz.measure.ranks.ranks_machine import mpi_here
from isoviz.vortex import Packets, Switch, gups, simulated

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


@dataclass(frozen=True)
class VortexTable(AimsTable):
    """Rows of speed, and sections with figures of the switch."""

    figures: Sequence[Section] = ()

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "figures": Document("", self.figures).to_json()}

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{Document('the switch, simulated', self.figures)}"

    def to_page(self) -> str:
        headings, *rows = Table(self.name, "", self.columns, self.written()).cells()
        kept = [k for k, heading in enumerate(headings) if heading != "predicted"]
        speed = Cells([headings[k] for k in kept], [[row[k] for k in kept] for row in rows], numbers=range(2, len(kept)))
        facts = Facts([(str(key), str(value)) for key, value in self.machine.items()])
        notes = [Prose(f"{note[0].upper()}{note[1:]}.") for note in self.notes]
        head = Prose("Figures of the switch are simulated, and the same on every computer: seeds decide them. Speed is measured.")
        measured = Section("Speed", [Prose(f"{self.title[0].upper()}{self.title[1:]}."), facts, speed, *notes])
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
        rows += on_ranks.rows(repeat)
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
