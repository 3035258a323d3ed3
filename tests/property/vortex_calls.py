"""A right call of every public constructor and method of the Data Vortex, for tests that make it wrong."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from wrong_values import Call, call

from isoviz import vortex
from isoviz.errors import IsovizError
from isoviz.vortex import FIFO, Communicator, System, Vic

SWITCH = vortex.Switch(8, 2)
RUN = SWITCH.run(vortex.Uniform(0.5), 50)
NODES = 2


def in_a_program(system: Callable[[int], System], act: Callable[[Any], Any], others: Callable[[Any], Any]) -> Any:
    """What node 0 does while the other one does its part. An error in it is raised as it was."""
    raised: list[Exception] = []

    def program(node: Any) -> Any:
        if node.rank:
            return others(node)
        try:
            return act(node)
        except Exception as error:
            raised.append(error)
            raise

    try:
        with system(NODES) as made:
            return made.run(program).results[0]
    except IsovizError:
        if raised:
            # Python has refused the arguments where the call itself is the last frame.
            refused = len(list(traceback.walk_tb(raised[0].__traceback__))) <= 3
            raise raised[0].with_traceback(None if refused else raised[0].__traceback__) from None
        raise


def _nothing(_node: Any) -> None:
    """The part of a node that has none."""


def on_a_vic(
    name: str, *arguments: Any, others: Callable[[Vic], Any] = _nothing, before: Any = _nothing, **keywords: Any
) -> Call:
    """A call of a method of a VIC, or of a function that takes one, in a program. Both nodes do `before`."""

    def make(*given: Any, **named: Any) -> Any:
        def act(vic: Vic) -> Any:
            before(vic)
            if name == "take":
                return vic.fifo.take(*given, **named)
            if hasattr(vortex, name):
                return getattr(vortex, name)(vic, *given, **named)
            return getattr(vic, name)(*given, **named)

        def other(vic: Vic) -> None:
            before(vic)
            others(vic)

        return in_a_program(vortex.simulated, act, other)

    return call(make, *arguments, **keywords)


def of_messages(name: str, *arguments: Any, others: Callable[[Communicator], Any] = _nothing, **keywords: Any) -> Call:
    """A call of a method of a communicator, in a program."""

    def make(*given: Any, **named: Any) -> Any:
        return in_a_program(vortex.messages, lambda comm: getattr(comm, name)(*given, **named), others)

    return call(make, *arguments, **keywords)


def aggregated(*arguments: Any, **keywords: Any) -> Any:
    """A send that is aggregated."""
    return in_a_program(vortex.simulated, lambda vic: vortex.Aggregated(vic).send(*arguments, **keywords), _nothing)


def together(name: str, *arguments: Any) -> Call:
    """A collective call of messages, in which the other node has the same arguments."""
    right = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    return of_messages(name, *arguments, others=lambda comm: getattr(comm, name)(*right))


def _run(make: Callable[..., System], program: Callable[..., Any]) -> Call:
    def run(*arguments: Any) -> Any:
        with make(NODES) as system:
            return system.run(*arguments)

    return call(run, program, 3)


TRAFFIC = {
    "Uniform": lambda: call(vortex.Uniform, 0.5),
    "HotSpot": lambda: call(vortex.HotSpot, 0.5, 0.1, port=3),
    "Bursty": lambda: call(vortex.Bursty, 0.5, 4.0),
    "Permutation": lambda: call(vortex.Permutation, 0.5, to=[1, 0, 2]),
    "Recorded": lambda: call(vortex.Recorded, [0, 1], [3, 2], cycles=[0, 2]),
    "Transposition": lambda: call(vortex.Transposition, 3, order="random", nodes=4),
}


def _made(name: str, _it: Any) -> Call:
    return TRAFFIC[name]()


def _sent(name: str, _it: Any) -> Call:
    """Traffic of a kind through a switch."""

    def send(*arguments: Any, **keywords: Any) -> Any:
        return vortex.Switch(2, 2).run(getattr(vortex, name)(*arguments, **keywords), 10)

    right = TRAFFIC[name]()
    if name == "Permutation":
        right.keywords["to"] = [1, 0, 2, 3]
    return call(send, *right.arguments, **right.keywords)


def four() -> np.ndarray[Any, Any]:
    return np.arange(4.0)


MATRIX = np.arange(8.0).reshape(2, 4)
VORTEX: dict[str, Callable[[Any], Call]] = {
    "vortex.Switch": lambda _it: call(vortex.Switch, 8, 2, inputs=[0], outputs=[1]),
    "vortex.Switch.run": lambda _it: call(SWITCH.run, vortex.Uniform(0.5), 20, seed=3, warm=5, backlog=4, record=True),
    "vortex.Switch.saturate": lambda _it: call(SWITCH.saturate, 20, seed=3, warm=5, record=True),
    "vortex.Switch.shortest": lambda _it: call(SWITCH.shortest, [0, 1], [3, 4], [0, 1]),
    **{f"vortex.{name}": partial(_made, name) for name in TRAFFIC},
    **{f"vortex.{name} (sent)": partial(_sent, name) for name in TRAFFIC},
    "vortex.Distribution.quantile": lambda _it: call(RUN.latencies.quantile, 0.5),
    "vortex.header": lambda _it: call(vortex.header, [0, 1], [3, 4], counter=2, onward=False),
    "vortex.Costs": lambda _it: call(vortex.Costs, 1e9, dma=2e9, start=0.0, entry=1e-8, latency=1e-6, turn=1e-7, cycle=1e-9),
    "vortex.simulated": lambda _it: call(
        vortex.simulated, 2, 1, switch=SWITCH, order="random", costs=vortex.Costs(), fifo=8, ring=8, skew=1e-6
    ),
    "vortex.messages": lambda _it: call(vortex.messages, 2, 1, skew=1e-6),
    "vortex.System.run": lambda _it: _run(vortex.simulated, lambda vic, number: vic.rank + number),
    "vortex.MessageSystem.run": lambda _it: _run(vortex.messages, lambda comm, number: comm.rank + number),
    "vortex.gups": lambda _it: call(vortex.gups, vortex.simulated(2), updates=20, table=8, seed=1),
    "vortex.on_ranks": lambda _it: call(vortex.on_ranks, ring=8),
    "vortex.Vic.compute": lambda _it: on_a_vic("compute", 1e-6),
    "vortex.Vic.set_counter": lambda _it: on_a_vic("set_counter", 3, 5, of=[1]),
    "vortex.Vic.counter": lambda _it: on_a_vic("counter", 3),
    "vortex.Vic.wait": lambda _it: on_a_vic("wait", 3, timeout=1e-3),
    "vortex.Vic.barrier": lambda _it: on_a_vic("barrier", [0, 1], others=lambda vic: vic.barrier()),
    "vortex.Vic.send": lambda _it: on_a_vic("send", [1, 0], [3, 4], [5.0, 6.0], counter=2, by="direct"),
    "vortex.Vic.send_own": lambda _it: on_a_vic("send_own", [1, 0], [3, 4], [5, 6], counter=2),
    "vortex.Vic.send_on": lambda _it: on_a_vic("send_on", 0, 9, [1], before=lambda vic: vic.load(9, vortex.header(1, 4))),
    "vortex.Vic.query": lambda _it: on_a_vic("query", 1, [3, 4], reply_to=(0, FIFO), counter=2),
    "vortex.Vic.load": lambda _it: on_a_vic("load", [3, 5, 7], np.arange(3), wait=False),
    "vortex.Vic.store": lambda _it: on_a_vic("store", 5, np.arange(3), wait=True),
    "vortex.DvMemory": lambda _it: call(lambda key: in_a_program(vortex.simulated, lambda vic: vic.memory[key], _nothing), 5),
    "vortex.FifoRing.take": lambda _it: on_a_vic("take", 0, timeout=1e-3),
    "vortex.Aggregated": lambda _it: on_a_vic("Aggregated", size=8),
    "vortex.Aggregated.send": lambda _it: call(aggregated, [1, 0], [3, 4], [5.0, 6.0], counter=2),
    "vortex.transposed": lambda _it: on_a_vic(
        "transposed", MATRIX, counter=3, at=5, order="random", others=lambda vic: vortex.transposed(vic, MATRIX, counter=3, at=5)
    ),
    "vortex.Communicator.compute": lambda _it: of_messages("compute", 1e-6),
    "vortex.Communicator.Isend": lambda _it: of_messages("Isend", four(), 1, tag=2, others=lambda comm: comm.Recv(four())),
    "vortex.Communicator.Irecv": lambda _it: of_messages("Irecv", four(), source=1, tag=2),
    "vortex.Communicator.Send": lambda _it: of_messages("Send", four(), 1, tag=2, others=lambda comm: comm.Recv(four())),
    "vortex.Communicator.Recv": lambda _it: of_messages(
        "Recv", four(), source=1, tag=2, others=lambda comm: comm.Send(four(), 0, 2)
    ),
    "vortex.Communicator.Sendrecv": lambda _it: of_messages(
        *("Sendrecv", four(), 1, 2, four(), 1, 2), others=lambda comm: comm.Sendrecv(four(), 0, 2, four(), 0, 2)
    ),
    "vortex.Communicator.Bcast": lambda _it: together("Bcast", four(), 0),
    "vortex.Communicator.Allreduce": lambda _it: together("Allreduce", four(), four(), np.maximum),
    "vortex.Communicator.Alltoall": lambda _it: together("Alltoall", four(), four()),
    "vortex.Communicator.Alltoallv": lambda _it: together("Alltoallv", [four(), [2, 2]], [four(), ([2, 2], [0, 2])]),
    "vortex.Communicator.Allgather": lambda _it: together("Allgather", four(), np.zeros(8)),
    "vortex.Communicator.Allgatherv": lambda _it: together("Allgatherv", four(), [np.zeros(8), [4, 4]]),
}
