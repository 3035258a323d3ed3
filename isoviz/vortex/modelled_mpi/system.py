"""Modelled MPI: what programs of the Data Vortex are compared with (Gioiosa et al., sections V to VII: FDR InfiniBand, Open MPI).

    with isoviz.vortex.messages(nodes=32, seed=1) as system:
        system.run(program).seconds

`program(comm)` runs on every node. Data really move; time is modelled, by the figures of the preset `vortex-infiniband`, each of
which says whether it is from the paper, fitted or assumed (`isoviz.machines.presets.vortex.VortexFigures`).

- A host spends `message` seconds on each message that it sends. A message of up to `eager` bytes goes at once. A longer one waits
  until its receive is posted, and then `rendezvous` seconds.
- A message takes `latency` plus its bytes at `mpi_rate`. Messages between the same two nodes go one after the other. The link of
  a node carries at most `link` bytes per second in each direction, and at most one message per `message` seconds.
- So one message alone takes as long as in the preset. Nothing else is shared: the switch is a crossbar.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import count as numbers
from typing import Any, NamedTuple

import numpy as np

from isoviz.checks import amount, count, expect
from isoviz.errors import InputError, RunError
from isoviz.machines.presets.vortex import MOST_NODES, VortexFigures
from isoviz.vortex.systems import ProgramRun, ProgramThread, System, never, of_node, run_threads

ANY_SOURCE = ANY_TAG = -1


class SentMessage(NamedTuple):
    """A message: its nodes, its bytes, and modelled seconds from when it was sent until it had arrived."""

    source: int
    to: int
    bytes: int
    begin: float
    end: float


class Computed(NamedTuple):
    """A time in which a node computed: its begin and its end, in modelled seconds."""

    node: int
    begin: float
    end: float


class MessageSystem(System):
    """Nodes with communicators; `messages` makes it. Of the last run it has the messages (`sent`), and when nodes `computed`.

    `packets` of a run are its messages, those of collective calls included; it has no `races`.
    """

    def __init__(self, nodes: int, seed: int, figures: VortexFigures, skew: float, make: Callable[[MessageHost], Any]) -> None:
        call = "messages"
        super().__init__(count(call, "nodes", nodes, low=1, high=MOST_NODES))
        expect(f"{call}, figures", figures, VortexFigures, "VortexFigures")
        self.figures, self._make = figures, make
        self._draw = np.random.default_rng(count(call, "seed", seed, high=(1 << 32) - 1))
        self._skew = amount(call, "skew", skew, high=1)
        self.sent: list[SentMessage] = []
        self.computed: list[Computed] = []
        self.now = self.began = 0.0
        self._events: list[tuple[float, int, Callable[..., None], Any]] = []
        self._numbers = numbers()
        self._hosts: list[MessageHost] = []
        self._free: dict[Any, float] = {}
        """When each link, either way, and each pair of nodes is free."""

    def _run(self, program: Callable[..., Any], arguments: tuple[Any, ...]) -> ProgramRun:
        self.began, self.sent, self.computed = self.now, [], []
        skews = self._draw.random(self.nodes) * self._skew
        self._hosts = hosts = [MessageHost(self, rank, self.now + skew) for rank, skew in enumerate(skews.tolist())]
        run_threads(hosts, [self._make(host) for host in hosts], program, arguments, self._go)
        self.now = max(self.now, *(host.clock for host in hosts))
        times = tuple(host.clock - self.began for host in hosts)
        return ProgramRun(tuple(host.result for host in hosts), max(times), times, len(self.sent), ())

    def later(self, time: float, event: Callable[..., None], *what: Any) -> None:
        """Call `event` at a modelled time."""
        heapq.heappush(self._events, (time, next(self._numbers), event, what))

    def _go(self) -> None:
        for host in self._hosts:
            self.later(host.clock, host.go)
        while self._events:
            self.now, _, event, what = heapq.heappop(self._events)
            event(*what)
        for host in self._hosts:
            if not host.done:
                host.go()  # its wait finds that nothing can end it
        for host in self._hosts:
            for message in host.unexpected:
                text = f"node {host.rank} did not receive {message.size} bytes sent to it {_tagged(message.tag)}"
                raise of_node(message.source, RunError(text))

    # ---- events

    def send(self, message: Message) -> None:
        """A message is ready to go: the first receive that fits takes it."""
        receiver = self._hosts[message.to]
        receive = next((each for each in receiver.posted if each.takes(message)), None)
        if receive is not None:
            receiver.posted.remove(receive)
            self._pair(message, receive)
        else:
            receiver.unexpected.append(message)
        if message.request is None:
            self._leave(message)

    def post(self, receive: Request) -> None:
        """A node can receive: the first message that fits is taken."""
        receiver = receive.host
        message = next((each for each in receiver.unexpected if receive.takes(each)), None)
        if message is not None:
            receiver.unexpected.remove(message)
            self._pair(message, receive)
        else:
            receiver.posted.append(receive)

    def _pair(self, message: Message, receive: Request) -> None:
        message.receive = receive
        if message.request is not None:
            self.later(self.now + self.figures.rendezvous, self._leave, message)
        elif message.arrived:
            receive.complete(message, self.now)

    def _leave(self, message: Message) -> None:
        """The link of the sender takes it as soon as it can, and what the two sent one another before is through."""
        source, to, size, figures = message.source, message.to, message.size, self.figures
        if source == to:
            self.later(self.now + size / figures.copy, self._arrive, message)
            return
        begin = max(self.now, self._free.get((source, "out"), 0.0), self._free.get((source, to), 0.0))
        self._free[source, "out"] = begin + max(figures.message, size / figures.link)
        self._free[source, to] = begin + size / figures.mpi_rate
        self.later(begin + figures.latency, self._reach, message)

    def _reach(self, message: Message) -> None:
        """The link of the receiver takes it as soon as it can."""
        size, figures, link = message.size, self.figures, (message.to, "in")
        begin = max(self.now, self._free.get(link, 0.0))
        self._free[link] = begin + max(figures.message, size / figures.link)
        self.later(begin + size / figures.mpi_rate, self._arrive, message)

    def _arrive(self, message: Message) -> None:
        message.arrived = True
        begin = self.began
        self.sent.append(SentMessage(message.source, message.to, message.size, message.begin - begin, self.now - begin))
        if message.request is not None:
            message.request.end(self.now)
        if message.receive is not None:
            message.receive.complete(message, self.now)


class Message:
    """A message. `request`: that of its sender, where it waits until it is received."""

    def __init__(self, source: int, to: int, tag: int | str, data: np.ndarray[Any, Any], begin: float) -> None:
        self.source, self.to, self.tag, self.data, self.begin, self.size = source, to, tag, data, begin, data.nbytes
        self.request: Request | None = None
        self.receive: Request | None = None
        self.arrived = False


class MessageHost(ProgramThread):
    """A node while its program runs: its clock in seconds, messages that nobody has taken, and receives without a message."""

    def __init__(self, system: MessageSystem, rank: int, clock: float) -> None:
        super().__init__(rank)
        self.system, self.clock, self.began = system, clock, clock
        self.unexpected: list[Message] = []
        self.posted: list[Request] = []
        self.waits: Sequence[Request] | None = None
        self.enough: Callable[[Iterable[bool]], bool] = all

    def own(self, call: str) -> MessageHost:
        """Check that the program of this node calls."""
        self.check_own(call, "the communicator")
        return self

    def wait(self, requests: Sequence[Request]) -> None:
        """Wait until all requests have ended.

        Raises:
            RunError: one cannot, or a message does not fit its array.
        """
        if any(each.ended is None for each in requests):
            self.waits = requests
            self.pause()
            self.waits = None
        for each in requests:
            if each.ended is None:
                raise never(each.what, None)
            if each.wrong:
                raise RunError(each.wrong)
            self.clock = max(self.clock, each.ended)

    def wait_any(self, requests: Sequence[Request]) -> int:
        """Wait until a request has ended: the place of the first one that has.

        Raises:
            RunError: none can, or a message does not fit its array.
        """
        if all(each.ended is None for each in requests):
            self.waits, self.enough = requests, any
            self.pause()
            self.waits, self.enough = None, all
        ended = [math.inf if each.ended is None else each.ended for each in requests]
        first = ended.index(min(ended))
        self.wait(requests[first : first + 1])
        return first

    def send(self, data: np.ndarray[Any, Any], to: int, tag: int | str) -> Request:
        """Begin to send a copy of an array."""
        system, figures = self.system, self.system.figures
        begin = self.clock
        self.clock += figures.message
        request = Request(self, to, tag, f"node {to} to receive {data.nbytes} bytes {_tagged(tag)}")
        message = Message(self.rank, to, tag, data.reshape(-1).copy(), begin)
        if data.nbytes > figures.eager and to != self.rank:
            message.request = request
        else:
            request.ended = self.clock
        system.later(self.clock, system.send, message)
        return request

    def receive(self, into: np.ndarray[Any, Any], source: int, tag: int | str) -> Request:
        """Begin to receive into an array."""
        whom = "any node" if source == ANY_SOURCE else f"node {source}"
        request = Request(self, source, tag, f"a message from {whom} {_tagged(tag)}", into)
        self.system.later(self.clock, self.system.post, request)
        return request


class Request:
    """A message that is being sent or received; `Communicator.Isend` and `Communicator.Irecv` make it."""

    def __init__(
        self, host: MessageHost, other: int, tag: int | str, what: str, into: np.ndarray[Any, Any] | None = None
    ) -> None:
        self.host, self.what, self.wrong = host, what, ""
        self.ended: float | None = None
        self._other, self._tag, self._into = other, tag, into

    def Wait(self) -> None:  # noqa: N802  as mpi4py has it
        """Wait until the message has been sent, so that its array may be changed, or has been received.

        Raises:
            RunError: this will never happen, or the message is longer than its array.
        """
        self.host.own("Wait").wait([self])

    def Test(self) -> bool:  # noqa: N802
        """Whether the message has been sent or received by now."""
        host = self.host.own("Test")
        host.system.later(host.clock, host.go)
        host.pause()
        if self.ended is None or self.ended > host.clock:
            return False
        host.wait([self])
        return True

    @staticmethod
    def Waitall(requests: Iterable[Request]) -> None:  # noqa: N802
        """Wait for several requests of a node."""
        every = list(requests)
        for each in every:
            expect("Waitall", each, Request, "requests")
        if every:
            every[0].host.own("Waitall").wait(every)

    @staticmethod
    def Waitany(requests: Sequence[Request]) -> int:  # noqa: N802
        """Wait until one of several requests of a node has ended. Returns the index of the one that ended first.

        Raises:
            InputError: `requests` is empty.
            RunError: none of them will ever end.
        """
        every = list(requests)
        for each in every:
            expect("Waitany", each, Request, "requests")
        if not every:
            raise InputError("Waitany: expected requests, got none")
        return every[0].host.own("Waitany").wait_any(every)

    def takes(self, message: Message) -> bool:
        """Whether this receive is for a message."""
        tag = self._tag
        right = isinstance(message.tag, int) if tag == ANY_TAG else tag == message.tag
        return right and self._other in (ANY_SOURCE, message.source)

    def complete(self, message: Message, now: float) -> None:
        """A message is here."""
        if self._into is not None:
            data, into = message.data, self._into.reshape(-1)
            if data.dtype != into.dtype:
                self.wrong = f"{self.what}: it is of {data.dtype}, and the array for it of {into.dtype}"
            elif len(data) > len(into):
                self.wrong = f"{self.what}: it has {data.nbytes} bytes, and the array for it {into.nbytes}"
            else:
                into[: len(data)] = data
        self.end(now)

    def end(self, now: float) -> None:
        """It has ended now; its node goes on, where it waited for this one last."""
        self.ended = now
        if self.host.waits is not None and self.host.enough(each.ended is not None for each in self.host.waits):
            self.host.waits = None
            self.host.go()


def _tagged(tag: int | str) -> str:
    """A tag in words: that of a program, or the name of a collective call."""
    if isinstance(tag, str):
        return f"in {tag}"
    return "with any tag" if tag == ANY_TAG else f"with tag {tag}"
