"""The switch of a Data Vortex with an object for each packet, as one would write it down at first: the peer of the compiled one.

It shares no code with `isoviz.vortex`: nodes have their places (cylinder, height, angle), and all packets move at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


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
