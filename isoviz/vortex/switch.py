"""The switch of a Data Vortex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isoviz.checks import count, flag_argument, items
from isoviz.errors import InputError, show
from isoviz.vortex.moving import Moving
from isoviz.vortex.run import SwitchRun
from isoviz.vortex.traffic import Traffic, Uniform, Whole, whole_numbers, within

MOST_HEIGHTS, MOST_ANGLES, MOST_NODES = 1 << 16, 256, 1 << 23
MOST_CYCLES = 1 << 40


@dataclass(frozen=True)
class Switch:
    """A switch of log₂ `heights` + 1 nested cylinders with `heights` × `angles` nodes each.

    - `inputs`: the angles at which packets enter the outermost cylinder, at every height; by default all.
    - `outputs`: the angles at which they leave the innermost cylinder; by default those of `inputs`.

    Ports count angle by angle: port p is at the angle `inputs[p // heights]` (or `outputs[...]`) and at the height p % `heights`.

    In every cycle each packet goes one angle further. In cylinder c, bit c of its destination height decides, counted from the
    most significant bit. If its present height has the same bit, the packet moves inwards; else it stays in the cylinder and
    changes that bit. A packet that stays has the right of way: a signal to the node outside deflects the packet there, which then
    also stays and changes its bit. In the innermost cylinder a packet circles to its angle and leaves. Packets enter after the
    movement, if the place is free (Gioiosa et al., section II).

    Raises:
        InputError: `heights` is not a power of two from 1 to 65,536, `angles` is not from 1 to 256, there is no input or output
            angle, an angle is named twice or does not exist, or there are more than 2²³ nodes.
    """

    heights: int
    angles: int = 1
    inputs: Any = None
    outputs: Any = None

    def __post_init__(self) -> None:
        heights = count("Switch", "heights", self.heights, low=1, high=MOST_HEIGHTS)
        if heights & (heights - 1):
            raise InputError(f"Switch, heights: expected a power of two, got {heights}")
        angles = count("Switch", "angles", self.angles, low=1, high=MOST_ANGLES)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "angles", angles)
        inputs = range(angles) if self.inputs is None else self.inputs
        object.__setattr__(self, "inputs", _angles("inputs", inputs, angles))
        object.__setattr__(self, "outputs", _angles("outputs", self.inputs if self.outputs is None else self.outputs, angles))
        if self.nodes > MOST_NODES:
            raise InputError(f"Switch: {heights} heights at {angles} angles are {self.nodes:,} nodes; at most {MOST_NODES:,} fit")

    @property
    def cylinders(self) -> int:
        """C = log₂ H + 1."""
        return self.heights.bit_length()

    @property
    def nodes(self) -> int:
        """C × H × A."""
        return self.cylinders * self.heights * self.angles

    @property
    def inputs_count(self) -> int:
        """Input ports."""
        return len(self.inputs) * self.heights

    @property
    def outputs_count(self) -> int:
        """Output ports."""
        return len(self.outputs) * self.heights

    def shortest(self, source: Any, destination: Any, deflections: Any = 0) -> Whole:
        """Hops of packets from input to output ports: (C − 1) + differing bits of the heights + 2 × deflections + the way around
        the innermost cylinder to their angle. The arguments are arrays of one length; a number stands for all packets.

        Without deflections, it is the latency at zero load less one cycle.

        Raises:
            InputError: a port does not exist, deflections are not whole numbers from 0 on, or lengths differ.
        """
        names = "source", "destination", "deflections"
        given = [
            whole_numbers(f"shortest, {name}", each) for name, each in zip(names, (source, destination, deflections), strict=True)
        ]
        within("shortest, source", given[0], self.inputs_count, "inputs")
        within("shortest, destination", given[1], self.outputs_count, "outputs")
        if len({len(each) for each in given} - {1}) > 1:
            raise InputError(f"shortest: expected arrays of one length, got {', '.join(str(len(each)) for each in given)}")
        source, destination, deflections = given
        begin, end = np.array(self.inputs)[source // self.heights], np.array(self.outputs)[destination // self.heights]
        differ = (source ^ destination) % self.heights
        bits = sum(differ >> bit & 1 for bit in range(self.cylinders - 1))
        way = self.cylinders - 1 + bits + 2 * deflections
        hops: Whole = way + (end - begin - way) % self.angles
        return hops

    def run(
        self,
        traffic: Traffic,
        cycles: int | None = None,
        *,
        seed: int = 0,
        warm: int = 0,
        backlog: int | None = None,
        record: bool = False,
    ) -> SwitchRun:
        """Send traffic through the switch, which is empty at first.

        - `cycles`: how many cycles to count. None, for a list of packets only: until all of them have left.
        - `seed`: a whole number below 2³², for all random choices. The same seed gives the same run.
        - `warm`: the number of cycles before the counted ones.
        - `backlog`: how many packets may wait at an input; further ones are refused. None: 1,024, and no limit for a list.
        - `record`: keep every packet, about 50 bytes each. Packets of a list are always kept.

        Raises:
            InputError: the traffic does not fit the ports, an argument is out of range, or drawn traffic has no number of cycles.
            MissingPartError: Numba is not installed.
        """
        if not callable(getattr(traffic, "packets", None)):
            raise InputError(f"Switch.run: expected traffic, such as Uniform(0.5), got {show(traffic)}")
        seed = count("Switch.run", "seed", seed, high=(1 << 32) - 1)
        count("Switch.run", "warm", warm, high=MOST_CYCLES)
        if cycles is not None:
            count("Switch.run", "cycles", cycles, low=1, high=MOST_CYCLES)
        if backlog is not None:
            count("Switch.run", "backlog", backlog, low=1, high=1 << 20)
        flag_argument("Switch.run", "record", record)
        packets = traffic.packets(self.inputs_count, self.outputs_count, seed)
        return Moving(self.heights, self.angles, self.inputs, self.outputs, packets, seed, backlog, record).run(cycles, warm)

    def saturate(self, cycles: int, *, seed: int = 0, warm: int = 0, record: bool = False) -> SwitchRun:
        """As `run`, with a packet waiting at every input in every cycle, to all outputs with equal chance."""
        return self.run(Uniform(1), cycles, seed=seed, warm=warm, backlog=1, record=record)


def _angles(name: str, given: Any, angles: int) -> tuple[int, ...]:
    found = tuple(count("Switch", name, angle, high=angles - 1) for angle in items(f"Switch, {name}", given, "angles"))
    if not found:
        raise InputError(f"Switch, {name}: expected at least one angle from 0 to {angles - 1}, got none")
    if len({*found}) < len(found):
        raise InputError(f"Switch, {name}: names an angle twice: {', '.join(map(str, found))}")
    return found
