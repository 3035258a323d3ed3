"""`isoviz.vortex.on_ranks`: a VIC on each MPI rank."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

import isoviz.rma
from isoviz.checks import count
from isoviz.errors import InputError, RankError, RankLost, RunError, in_words
from isoviz.launch.this_rank import this_world
from isoviz.vortex.packet import MOST_NODES
from isoviz.vortex.program import Vic
from isoviz.vortex.ranks import places
from isoviz.vortex.ranks.host import RankHost, delivery
from isoviz.vortex.systems import ProgramRun, Stopped, System, came_back, of_node
from isoviz.vortex.vic import MOST_RACES, Race


def on_ranks(*, ring: int = 1 << 20) -> System:
    """A node of a Data Vortex on each MPI rank; programs for simulated nodes run on it unchanged. All ranks call it together.

    `mpiexec` or `srun` starts the ranks; without them this process is the only rank. In a notebook, call it in a function that
    `ranks.call` runs. All ranks must be on one host: a rank writes packets directly to the memory of their VICs, which it maps.
    Packets from one rank to one VIC arrive in order. Seconds are measured.

    `ring` is the number of words that the FIFO of a VIC holds. It is divided equally among the VICs that send to it, and each
    part is rounded down to a power of two.

    Raises:
        InputError: the ring has less than a word for each VIC.
        RunError: the ranks are on several hosts, or this rank has no room. RankError: another rank has no room.
        RankLost: a rank is lost. MissingPartError: mpi4py or Numba is not installed.
    """
    return OnRanks(count("on_ranks", "ring", ring, low=1, high=1 << 30))


class _Told(NamedTuple):
    """What a rank tells the others at the end of a program."""

    result: bytes
    error: InputError | RankError | None
    seconds: float
    packets: int
    races: list[Race]


class OnRanks(System):
    """VICs on ranks. This process has one of them. Made by `on_ranks`."""

    def __init__(self, ring: int) -> None:
        delivery()  # before there is memory
        nodes = this_world().size
        super().__init__(count("on_ranks", "ranks", nodes, low=1, high=MOST_NODES))
        if ring < nodes:
            raise InputError(f"on_ranks, ring: expected a word for each of {nodes} VICs, got {ring}")
        room = 1 << (ring // nodes).bit_length() - 1
        self._heap = isoviz.rma.malloc(places.size(nodes, room), "i8")
        try:
            self._host = RankHost(self._heap, room, self.races)
        except RunError as error:
            self._heap.free()
            raise RunError(f"on_ranks: {error}; expected ranks of one host") from None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self._heap.__exit__(kind, error, trace)

    def _run(self, program: Callable[..., Any], arguments: tuple[Any, ...]) -> ProgramRun:
        host, result, error = self._host, b"", None
        host.begin()
        try:
            found = program(Vic(host), *arguments)
            if len(back := host.came_back()):
                raise came_back(back.tolist())
            result = _pickled(found)
        except BaseException as caught:  # noqa: BLE001  # the other ranks wait for a word
            error = caught
        seconds = host.end(failed=error is not None)
        if isinstance(error, RankLost):
            raise error
        failure = None if error is None or isinstance(error, Stopped) else of_node(host.rank, error)
        told = [_Told(*each) for each in self._heap.exchange((result, failure, seconds, host.packets, self.races))]
        if error is not None and not isinstance(error, Exception | Stopped):
            raise error
        self.races[:] = [race for each in told for race in each.races][:MOST_RACES]
        for each in told:
            if each.error is not None:
                raise each.error from (error if each.error is failure else None)
        times = tuple(each.seconds for each in told)
        results = tuple(pickle.loads(each.result) for each in told)  # noqa: S301  # the ranks of a job trust each other
        return ProgramRun(results, max(times), times, sum(each.packets for each in told), tuple(self.races))


def _pickled(result: Any) -> bytes:
    try:
        return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise RunError(f"what it returns cannot be sent to the other ranks: {in_words(error)}") from error
