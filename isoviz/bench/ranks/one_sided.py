"""Puts, gets and fetch-and-adds of `isoviz.rma` between two ranks, beside those of MPI's windows and beside messages.

Rank 0 times statements as programs write them. Rank 1 is in a call of MPI all the while, as some windows of MPI only move then.
Statements of MPI run in the thread that makes the MPI calls of the rank, a round in one call of it.
"""

from __future__ import annotations

import statistics
import threading
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import isoviz.rma
from isoviz.backends.pages import page_aligned
from isoviz.bench.aims import compared
from isoviz.launch.this_rank import this_rank
from isoviz.layouts.given_arrays import Array
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.bench.ranks.bench import Order
    from isoviz.machines import Machine

KIB, MIB = 1 << 10, 1 << 20
ALLOCATED, CREATED, MESSAGES = "MPI, Win.Allocate", "MPI, Win.Create", "two-sided"
PEERS = (ALLOCATED, CREATED, MESSAGES)
WORD = 8
WHOLE = (MIB, 16 * MIB)
RUNS = (WORD, 64, 512, 4 * KIB, 32 * KIB)
MOST_RUNS, STRIDED = 1 << 14, MIB
"""Most runs of a strided case, and its bytes at most."""
AIMS = {WORD: 5.0, 64: 1.5}
AIM, ARRAY_AIM, WORD_AIM = 0.95, 0.12, 1.0
"""Aims of longer runs, of an array by NumPy's index, and of a value or a kept place; all beside `ALLOCATED`."""
SPELL, QUICK_SPELL, MOST = 2e-3, 1e-4, 20_000
"""Seconds of a spell, about, and its statements at most. Other work on the computer leaves some spells alone."""
SPELLS, MOST_SPELLS = 9, 10
"""Spells of a round, whose median counts; a statement that takes longer than `MOST_SPELLS` has one."""
CALM = 5e-3
"""Seconds after which the thread that calls MPI sleeps, and no longer looks for messages."""
_STOP, _ANSWER, _FILL, _SHOW = range(4)
_TO = 1
"""The rank that is written to and read."""


class Statement(NamedTuple):
    """A statement and the names in it.

    `raw`: it calls MPI. `answered`: rank 1 takes part, by the answer of this number. `gives`: a function for what it gets.
    """

    text: str
    names: dict[str, Any]
    raw: bool = False
    answered: int | None = None
    gives: Callable[[], Any] | None = None


class Operation(NamedTuple):
    """What moves: the ways of isoviz by their words, each with its aim, and those of the peers.

    `kind` is "put", "get" or "add". `array` is the end of rank 0, `part` what moves of an array that lies as it does.
    """

    kind: str
    what: str
    own: Mapping[str, tuple[Statement, float]]
    peers: Mapping[str, Statement]
    array: Array
    part: Any = ...


class Target:
    """What both ranks have: windows of both kinds, and rank 1's answers to messages."""

    def __init__(self, world: World, nbytes: int) -> None:
        self.world, self.mpi, self.is_origin = world, world.thread.mpi, world.rank == 0
        self.memories: dict[str, Array] = {MESSAGES: page_aligned(nbytes)}
        self.windows: dict[str, Any] = {}
        self._answers: list[tuple[Any, Any, Callable[[], None]]] = []
        self._types: list[Any] = []

        def made() -> Any:
            comm = self.mpi.COMM_WORLD.Dup()
            allocated = self.mpi.Win.Allocate(nbytes, 1, comm=comm)
            self.memories[ALLOCATED], self.memories[CREATED] = np.frombuffer(allocated.tomemory(), np.uint8), page_aligned(nbytes)
            self.windows = {ALLOCATED: allocated, CREATED: self.mpi.Win.Create(self.memories[CREATED], 1, comm=comm)}
            for window in self.windows.values():
                window.Lock_all()
            return comm

        self.comm = world.thread.call(made)
        for memory in self.memories.values():
            memory[:] = 0

    def free(self) -> None:
        """Give the windows back. Both ranks call it together."""

        def freed() -> None:
            for window in self.windows.values():
                window.Unlock_all()
                window.Free()
            for each in self._types:
                each.Free()
            self.comm.Free()

        self.world.thread.call(freed)

    def kind(self, count: int, words: int, stride: int) -> Any:
        """A committed datatype: `count` runs of `words` words, `stride` words apart."""
        found = self.world.thread.call(lambda: self.mpi.DOUBLE.Create_vector(count, words, stride).Commit())
        self._types.append(found)
        return found

    def answer(self, receives: Any, sends: Any, between: Callable[[], None] = lambda: None) -> int:
        """The number of an answer to messages: rank 1 receives one, does something, and sends one. Both ranks call it alike."""
        self._answers.append((receives, sends, between))
        return len(self._answers) - 1

    def serve(self) -> None:
        """Answer at rank 1 until rank 0 says stop. All of it is one call of the thread that calls MPI."""

        def answering() -> None:
            comm, header = self.comm, np.zeros(3, np.int64)
            while True:
                comm.Recv(header, 0)
                what, which, count = map(int, header)
                if what == _STOP:
                    return
                if what == _ANSWER:
                    receives, sends, between = self._answers[which]
                    for _ in range(count):
                        comm.Recv(receives, 0)
                        between()
                        comm.Send(sends, 0)
                    continue
                memory = self.memories[sorted(self.memories)[which]]
                if what == _FILL:
                    memory[:] = random_bytes(memory.size, count)
                comm.Send([memory if what == _SHOW else memory[:0], self.mpi.BYTE], 0)

        self.world.thread.call(answering)

    # ---- at rank 0

    def ask(self, answer: int, count: int = 1) -> None:
        """Have rank 1 give an answer some times. The thread that calls MPI calls it."""
        self.comm.Send(np.array([_ANSWER, answer, count], np.int64), _TO)

    def stop(self) -> None:
        """End `serve` at rank 1."""
        self._say(_STOP)

    def fill(self, name: str, seed: int) -> None:
        """Have rank 1 fill a memory with random bytes."""
        self._say(_FILL, sorted(self.memories).index(name), seed, np.zeros(0, np.uint8))

    def show(self, name: str) -> Array:
        """A memory of rank 1, as rank 1 sees it."""
        found = np.zeros(self.memories[name].size, np.uint8)
        self._say(_SHOW, sorted(self.memories).index(name), 0, found)
        return found

    def _say(self, what: int, which: int = 0, count: int = 0, answer: Array | None = None) -> None:
        def said() -> None:
            self.comm.Send(np.array([what, which, count], np.int64), _TO)
            if answer is not None:
                self.comm.Recv([answer, self.mpi.BYTE], _TO)

        self.world.thread.call(said)

    def seconds(self, way: Statement, count: int) -> float:
        """The seconds that a statement takes, `count` times in sequence."""
        timer = timeit.Timer(way.text, globals=way.names)
        if not way.raw:
            return timer.timeit(count) / count

        def timed() -> float:
            if way.answered is not None:
                self.ask(way.answered, count)
            return timer.timeit(count) / count

        return float(self.world.thread.call(timed))

    def in_turn(self, ways: Mapping[str, Statement], order: Order) -> dict[str, list[float]]:
        """The seconds of a statement of each way in each round."""
        wanted = QUICK_SPELL if order.quick else SPELL
        single = {name: self.seconds(way, 2) for name, way in ways.items()}
        for _ in range(2):  # The first ones are slow.
            single = {name: self.seconds(way, _count(wanted / 4, single[name])) for name, way in ways.items()}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(order.repeat):
            for name, way in ways.items():
                count = _count(wanted, single[name])
                spells = 1 if order.quick or single[name] > MOST_SPELLS * SPELL else SPELLS
                threading.Event().wait(CALM)
                self.seconds(way, count)  # What was before has left its own data in the caches.
                times[name].append(statistics.median(self.seconds(way, count) for _ in range(spells)))
        return times


def _count(seconds: float, single: float) -> int:
    """The number of statements of `single` seconds in a time."""
    return max(1, min(MOST, int(seconds / single)))


def random_bytes(nbytes: int, seed: int) -> Array:
    """Bytes that both ranks know."""
    return np.random.default_rng(seed).integers(0, 128, nbytes, np.uint8)  # no number among them is no number


@contextmanager
def two_ranks(nbytes: int) -> Iterator[Target]:
    """This rank and the other one."""
    target = Target(this_rank().world, nbytes)
    yield target
    target.free()


def one_sided_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:  # noqa: ARG001  # all parts are called alike
    """Rows for words, contiguous bytes and strided runs, put and got."""
    largest = min(WHOLE[-1], order.nbytes) if order.quick else WHOLE[-1]
    rows: list[dict[str, Any]] = []
    with two_ranks(max(largest, 2 * STRIDED)) as target:
        for count, words, stride in _shapes(order):
            with isoviz.rma.malloc((count, stride), "f8") as heap:
                rows += _measured(target, heap, _moves(target, heap, words), order)
        with isoviz.rma.malloc(8, "i8") as heap:
            rows += _measured(target, heap, _added(target, heap), order)
    return rows


def _shapes(order: Order) -> Iterator[tuple[int, int, int]]:
    """Numbers of runs, words of a run, and words from one run to the next."""
    yield 1, 1, 1
    for nbytes in (order.nbytes,) if order.quick else WHOLE:
        yield 1, nbytes // WORD, nbytes // WORD
    for run in RUNS[:2] if order.quick else RUNS:
        count = min(MOST_RUNS, (order.nbytes if order.quick else STRIDED) // run)
        yield count, run // WORD, 2 * run // WORD


def _measured(target: Target, heap: isoviz.rma.Heap, cases: Iterator[Operation], order: Order) -> list[dict[str, Any]]:
    """The rows of some cases at rank 0, while rank 1 answers."""
    target.memories["isoviz"] = heap.local.reshape(-1).view(np.uint8)
    if not target.is_origin:
        assert not list(cases), "rank 1 only prepares its answers"
        target.serve()
        return []
    rows = []
    try:
        for case in cases:
            ways = {name: way for name, (way, _) in case.own.items()} | dict(case.peers)
            for turn, (name, way) in enumerate(ways.items()):
                _check(target, heap, case, name, way, turn)
            times = target.in_turn(ways, order)
            for number, (name, (_, aim)) in enumerate(case.own.items()):
                for peer in PEERS if number == 0 else PEERS[:1]:
                    what = f"{case.what}, {name}" if name else case.what
                    rows.append(compared("one-sided", what, times, name, peer, aim if peer == ALLOCATED else None))
    finally:
        target.stop()
    return rows


def _check(target: Target, heap: isoviz.rma.Heap, case: Operation, name: str, way: Statement, seed: int) -> None:
    """Require that a way moves the right bytes and no others, as the rank sees it that they belong to."""
    memory, array, what = name if name in PEERS else "isoviz", case.array, f"{case.what}, {name}"

    def there() -> Array:
        return target.show(memory)[: array.nbytes].view(array.dtype).reshape(array.shape)

    target.fill(memory, 2 * seed)
    array[...] = random_bytes(array.nbytes, 2 * seed + 1).view(array.dtype).reshape(array.shape)
    here, before = array.copy(), there()
    way.names["value"] = array.flat[0].item()
    if way.gives is not None:
        assert way.gives() == before.flat[0], what
    elif case.kind == "get":
        target.seconds(way, 1)
        here[case.part] = before[case.part]
        assert np.array_equal(array, here), what
    else:
        target.seconds(way, 3)
        heap.fence()
        before[case.part] = here[case.part] if case.kind == "put" else before[case.part] + 3
        assert np.array_equal(there(), before), what


def _moves(target: Target, heap: isoviz.rma.Heap, words: int) -> Iterator[Operation]:
    """A put and a get of `words` words in each row of a heap."""
    count, stride = heap.shape
    array = page_aligned(heap.local.nbytes).view(heap.dtype).reshape(heap.shape)
    buffer = target.memories[MESSAGES][: array.nbytes].view(array.dtype)
    nothing = [np.empty(0, np.uint8), target.mpi.BYTE]
    if count == 1:
        here, there, answered = [array, target.mpi.DOUBLE], None, [buffer, target.mpi.DOUBLE]
    else:
        kind = target.kind(count, words, stride)
        here, there, answered = [array, 1, kind], [0, 1, kind], [buffer, 1, kind]
    moved = here, there, nothing
    numbers = {"put": target.answer(answered, nothing), "get": target.answer(nothing, answered)}
    size = format_bytes(count * words * WORD)
    size += "" if count == 1 else f" in runs of {format_bytes(words * WORD)}"
    part = np.s_[:, :words]
    aim = AIMS.get(words * WORD, AIM) if count > 1 else AIM
    for kind, number in numbers.items():
        if not target.is_origin:
            continue
        own = {"kept place": (_own(heap, array[part], part, kind), aim)} if array.size > 1 else _of_word(heap, array, kind)
        peers = _moved_by_mpi(target, kind, *moved, number)
        yield Operation(kind, f"{kind} of {size}", own, peers, array, part)


def _own(heap: isoviz.rma.Heap, end: Array, part: Any, kind: str) -> Statement:
    statement = "put(end)" if kind == "put" else "get(into=end)"
    return Statement(statement, {kind: getattr(heap.place(to=_TO, at=part), kind), "end": end})


def _of_word(heap: isoviz.rma.Heap, array: Array, kind: str) -> dict[str, tuple[Statement, float]]:
    """The ways to put or get one word."""
    place = heap.place(to=_TO, at=(0, 0))
    names = {"call": getattr(heap, kind), "kept": getattr(place, kind), "array": array, "at": np.s_[0:1, 0:1]}
    if kind == "put":
        return {
            "a value": (Statement("call(value, to=1, at=(0, 0))", names), WORD_AIM),
            "a value, kept place": (Statement("kept(value)", names), WORD_AIM),
            "an array by NumPy's index": (Statement("call(array, to=1, at=at)", names), ARRAY_AIM),
        }
    return {
        "a value": (Statement("call(of=1, at=(0, 0))", names, gives=partial(heap.get, of=_TO, at=(0, 0))), WORD_AIM),
        "a value, kept place": (Statement("kept()", names, gives=place.get), WORD_AIM),
        "an array by NumPy's index": (
            Statement("call(of=1, at=at)", names, gives=partial(heap.get, of=_TO, at=names["at"])),
            ARRAY_AIM,
        ),
    }


def _moved_by_mpi(target: Target, kind: str, here: Any, there: Any, nothing: Any, answered: int) -> dict[str, Statement]:
    found = {}
    for name, window in target.windows.items():
        names = {"move": getattr(window, kind.title()), "flush": window.Flush, "here": here, "there": there}
        found[name] = Statement("move(here, 1); flush(1)" if there is None else "move(here, 1, there); flush(1)", names, raw=True)
    sends, receives = (here, nothing) if kind == "put" else (nothing, here)
    names = {"send": target.comm.Send, "receive": target.comm.Recv, "sends": sends, "receives": receives}
    return {**found, MESSAGES: Statement("send(sends, 1); receive(receives, 1)", names, raw=True, answered=answered)}


def _added(target: Target, heap: isoviz.rma.Heap) -> Iterator[Operation]:
    """A fetch-and-add on a word."""
    one, old, given, before = np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    words = target.memories[MESSAGES].view(np.int64)

    def add() -> None:
        before[0] = words[0]
        words[0] += given[0]

    number = target.answer(given, before, add)
    if not target.is_origin:
        return
    word = heap.place(to=_TO, at=0)
    assert isinstance(word, isoviz.rma.Word)
    names = {"call": heap.fetch_and_add, "kept": word.fetch_and_add}
    own = {"": Statement("call(to=1, at=0, value=1)", names), "kept place": Statement("kept(1)", names)}
    peers = {}
    for name, window in target.windows.items():
        given_names = {"fetch": window.Fetch_and_op, "one": one, "old": old, "sum": target.mpi.SUM, "flush": window.Flush}
        peers[name] = Statement("fetch(one, old, 1, 0, sum); flush(1)", given_names, raw=True)
    messages = {"send": target.comm.Send, "receive": target.comm.Recv, "one": one, "old": old}
    peers[MESSAGES] = Statement("send(one, 1); receive(old, 1)", messages, raw=True, answered=number)
    aims = {name: (way, WORD_AIM) for name, way in own.items()}
    yield Operation("add", "fetch-and-add", aims, peers, np.zeros(heap.shape, heap.dtype), 0)
