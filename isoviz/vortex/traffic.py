"""What is sent through a switch: values that say which packets arrive at its inputs, and when.

Ports are whole numbers, as `Switch` counts them. A packet arrives in a cycle, waits at its input for a free place, and goes to
an output. Chances are drawn while a switch runs, from the seed of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from isoviz.checks import amount, count, is_one_of
from isoviz.errors import InputError, show

Whole = np.ndarray[Any, np.dtype[np.int64]]


class Drawn(NamedTuple):
    """Packets that are drawn cycle by cycle, at every input alike.

    - `load`: the chance, from 0 to 1, that a packet arrives at an input in a cycle.
    - `burst`: 0 if cycles are independent; else the mean length of bursts, in which a packet arrives in every cycle.
    - `share`, `port`: the share of the packets that all go to one output.
    - `to`: the output of every input, −1 if each of its packets draws an output; None means −1 everywhere.
    """

    load: float
    burst: float = 0.0
    share: float = 0.0
    port: int = 0
    to: Whole | None = None


class Traffic(Protocol):
    """The interface of traffic for `Switch.run`."""

    def packets(self, inputs: int, outputs: int, seed: int, /) -> Drawn | Recorded:
        """The packets at a switch with this number of inputs and outputs. The same seed gives the same packets."""


@dataclass(frozen=True)
class Uniform:
    """Packets to all outputs with equal chance. `load` is the chance, from 0 to 1, that a packet arrives at an input in a
    cycle."""

    load: float

    def __post_init__(self) -> None:
        amount("Uniform", "load", self.load, high=1)

    def packets(self, *_: int) -> Drawn:
        return Drawn(self.load)


@dataclass(frozen=True)
class HotSpot:
    """As `Uniform`, but a `share` of the packets, from 0 to 1, goes to the output `port`, and the rest to all outputs with equal
    chance."""

    load: float
    share: float
    port: int = 0

    def __post_init__(self) -> None:
        amount("HotSpot", "load", self.load, high=1)
        amount("HotSpot", "share", self.share, high=1)

    def packets(self, _inputs: int, outputs: int, _seed: int, /) -> Drawn:
        return Drawn(self.load, share=self.share, port=count("HotSpot", "port", self.port, high=outputs - 1))


@dataclass(frozen=True)
class Bursty:
    """Packets to all outputs with equal chance, in bursts of `length` packets on average, one packet in every cycle.

    `load` is the mean chance, from 0 to 1, that a packet arrives at an input in a cycle.
    """

    load: float
    length: float

    def __post_init__(self) -> None:
        amount("Bursty", "load", self.load, high=1)
        amount("Bursty", "length", self.length, low=1)

    def packets(self, *_: int) -> Drawn:
        return Drawn(self.load, burst=self.length)


@dataclass(frozen=True, eq=False)
class Permutation:
    """Every input sends all its packets to one output, which no other input has: `to[input]`, or a random one from the seed."""

    load: float
    to: Any = None

    def __post_init__(self) -> None:
        amount("Permutation", "load", self.load, high=1)
        if self.to is not None:
            object.__setattr__(self, "to", whole_numbers("Permutation, to", self.to))

    def packets(self, inputs: int, outputs: int, seed: int, /) -> Drawn:
        if inputs > outputs:
            raise InputError(
                f"Permutation: the switch has {inputs} inputs and only {outputs} outputs, so that two inputs share one"
            )
        if self.to is None:
            return Drawn(self.load, to=np.random.default_rng(seed).permutation(outputs)[:inputs])
        if len(self.to) != inputs:
            raise InputError(f"Permutation, to: has {len(self.to)} outputs; the switch has {inputs} inputs")
        within("Permutation, to", self.to, outputs, "outputs")
        if len(np.unique(self.to)) != inputs:
            raise InputError("Permutation, to: names an output twice; expected another one for every input")
        return Drawn(self.load, to=self.to)


@dataclass(frozen=True, eq=False)
class Recorded:
    """A list of packets: arrays of their inputs, of their outputs and of the cycles in which they arrive (None: all in cycle 0).

    Packets of one input enter in the order of their arrival, and those that arrive together in the order of the list.

    Raises:
        InputError: the arrays do not have the same length, or hold something else than whole numbers from 0 on.
    """

    inputs: Any
    outputs: Any
    cycles: Any = None

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs", "cycles"):
            given = getattr(self, name)
            given = np.zeros(len(self.inputs), np.int64) if given is None and name == "cycles" else given
            object.__setattr__(self, name, whole_numbers(f"Recorded, {name}", given))
        if not len(self.inputs) == len(self.outputs) == len(self.cycles):
            lengths = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.cycles)} cycles"
            raise InputError(f"Recorded: expected arrays of one length, got {lengths}")
        within("Recorded, cycles", self.cycles, 1 << 48, "cycles")

    def packets(self, inputs: int, outputs: int, _seed: int, /) -> Recorded:
        within("Recorded, inputs", self.inputs, inputs, "inputs")
        within("Recorded, outputs", self.outputs, outputs, "outputs")
        return self


ORDERS = ("word by word", "node by node", "from node 0", "random")


@dataclass(frozen=True)
class Transposition:
    """Every node sends `words` packets to every node, itself included; all of them wait from cycle 0. Node n has port n.

    - `order` in which a node sends. `"word by word"`: one word to each node in turn, beginning with itself. `"node by node"`: all
      words for a node before those for the next node, beginning with itself. `"from node 0"`: the same, but every node begins
      with node 0. `"random"`: in a random order.
    - `nodes`: how many there are (None: as many as the switch has inputs).
    """

    words: int
    order: str = ORDERS[0]
    nodes: int | None = None

    def __post_init__(self) -> None:
        count("Transposition", "words", self.words, low=1)
        if not is_one_of(self.order, ORDERS):
            raise InputError(f"Transposition, order: expected one of {', '.join(map(repr, ORDERS))}, got {show(self.order)}")
        if self.nodes is not None:
            count("Transposition", "nodes", self.nodes, low=1)

    def packets(self, inputs: int, outputs: int, seed: int, /) -> Recorded:
        nodes = inputs if self.nodes is None else self.nodes
        if nodes > min(inputs, outputs):
            raise InputError(f"Transposition: {nodes} nodes; the switch has {inputs} inputs and {outputs} outputs")
        others = np.arange(nodes)
        by_node = np.repeat(others, self.words)
        if self.order == "random":
            draw = np.random.default_rng(seed)
            sent = [draw.permutation(by_node) for _ in others]
        elif self.order == "from node 0":
            sent = [by_node] * nodes
        else:
            turn = by_node if self.order == "node by node" else np.tile(others, self.words)
            sent = [(node + turn) % nodes for node in others]
        return Recorded(np.repeat(others, len(by_node)), np.concatenate(sent))


def whole_numbers(what: str, given: Any) -> Whole:
    """An array of one dimension of whole numbers from 0 on, as a copy that nobody changes.

    Raises:
        InputError: it is none.
    """
    try:
        array = np.atleast_1d(np.asarray(given))
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected an array of whole numbers, got {show(given)}") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{what}: expected an array of whole numbers of one dimension, got {array.ndim} of {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= 1 << 62):
        raise InputError(f"{what}: expected whole numbers from 0 on, got {array.min()} to {array.max()}")
    copied = array.astype(np.int64)
    copied.flags.writeable = False
    return copied


def within(what: str, array: Whole, below: int, words: str) -> None:
    """Check that all numbers of an array are below a limit.

    Raises:
        InputError: one is not.
    """
    if array.size and array.max() >= below:
        place = int(array.argmax())
        raise InputError(f"{what}: number {place} is {array[place]}; there are {below} {words}, from 0 to {below - 1}")
