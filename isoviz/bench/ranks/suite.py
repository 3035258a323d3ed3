"""`isoviz bench ranks`: transfers between MPI ranks of this computer, beside MPI itself, NumPy and memcpy in the same run.

It starts two ranks and four ranks with the MPI of this Python's environment, measures their channels (`isoviz.probe`), plans with
what it found, and runs everything in turn with its peers. Ranks that wait have rows of their own: round trips of messages, and
the processors that idle ranks use.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.backends.host import kernels
from isoviz.backends.mpi.world import World
from isoviz.bench.aims import COLUMNS, AimsTable, compared, row
from isoviz.bench.ranks.bench import Order, RankBench, rank_bench
from isoviz.bench.ranks.choices import choices_on_rank
from isoviz.bench.ranks.pipelines import pipelines_on_rank
from isoviz.bench.ranks.prepared import prepared_on_rank
from isoviz.bench.ranks.transfers import contiguous_on_rank, layout_changes_on_rank, small_on_rank
from isoviz.bench.ranks.transposition import transposition_on_rank
from isoviz.bench.table import Table, scratch_folder
from isoviz.errors import InputError
from isoviz.launch.probe import ProbeProgress, probe
from isoviz.launch.ranks import Ranks, ranks
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, preset
from isoviz.measure.ranks.ranks_machine import mpi_here
from isoviz.planner import Plan, Transfer, plan, plan_of_paths
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.ranks.bench import Way


# Several paths from one rank to another of the same host: directly, and through other ranks.
#
# All paths share the memory and the processors of the host. So the figures say what proxies cost there, not what they
# gain: a gain needs links of their own (`tests/ranks/test_several_hosts.py`).

MIB = 1 << 20
SIZES = (MIB, 64 * MIB)
DIRECT, RELAYED = "one path", "through one proxy"


def several_paths_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """From rank 0 to the last rank, between pageable and between registered memories. Every path has an equal share."""
    rows: list[dict[str, Any]] = []
    with rank_bench(machine, order) as rank:
        for nbytes in SIZES:
            for memory in ("sys", "reg") if nbytes <= order.nbytes else ():
                rows += _rows(rank, nbytes, memory, order.repeat)
    return rows


def _rows(rank: RankBench, nbytes: int, memory: str, repeat: int) -> list[dict[str, Any]]:
    last = rank.size - 1
    array = rank.array(memory, nbytes) if rank.rank in (0, last) else None
    ends = array, array if rank.rank == last else None
    here, there = f"node0.{memory}", f"node{last}.{memory}"
    moved = Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), here, "<F, x>", there, "<F, x>")
    proxied = [(here, f"node{proxy}.{memory}", there) for proxy in range(1, last)]

    def shared(ways: Sequence[tuple[str, ...]]) -> Plan:
        cuts = [nbytes * number // len(ways) for number in range(len(ways) + 1)]
        entries = [({"x": (cuts[number], cuts[number + 1])}, way) for number, way in enumerate(ways)]
        return rank.agreed(lambda: plan_of_paths(moved, rank.machine, entries))

    plans = {DIRECT: shared([(here, there)]), RELAYED: shared(proxied[:1])}
    for count in range(1, len(proxied) + 1):
        plans[f"{count + 1} paths"] = shared([(here, there), *proxied[:count]])
    chosen = rank.agreed(lambda: plan(moved, rank.machine, "multipath"))
    plans[f"`multipath`: {len(chosen.paths)} path{'s' * (len(chosen.paths) > 1)}"] = chosen
    ways: dict[str, Way] = {name: rank.submitted(made, *ends) for name, made in plans.items()}
    stored = f"{RELAYED}, stored and forwarded"
    ways[stored] = rank.submitted(plans[RELAYED], *ends, pipelined=False)
    times = rank.interleaved(ways, repeat)
    what = f"{format_bytes(nbytes)}, {memory.upper()} → {memory.upper()}*"
    return [
        *(
            compared("several paths", f"{what}, {name}", times, name, DIRECT, predicted=made.seconds)
            for name, made in plans.items()
            if name != DIRECT
        ),
        compared("several paths", f"{what}, {RELAYED}", times, RELAYED, stored, predicted=plans[RELAYED].seconds),
    ]


PART_SIZES = {
    "contiguous": 64 << 20,
    "layout changes": 32 << 20,
    "pipeline": 64 << 20,
    "matrix": 4096 * 4096 * 8,
    "choices": 16 << 20,
}
QUICK_SIZES = {"contiguous": 1 << 20, "layout changes": 1 << 18, "pipeline": 1 << 20, "matrix": 64 * 64 * 8, "choices": 1 << 16}
"""Bytes of the largest transfer of each part; the second ones only show that everything runs."""
START, AGAIN = 3.0, 0.05
"""Aims: seconds until four ranks have started, and seconds of a plan that runs again on them."""
FEWEST = 7
"""The least number of rounds whose medians count for the report."""
ROUND_TRIP, IDLE = 2e-3, 0.05
"""Aims: seconds of a round trip in the median, and the share of a processor that all idle ranks use together."""
IDLE_SECONDS = 0.3
"""Seconds of idleness that are measured for each round."""
_PATIENCE = 120.0

Tell = Callable[[str], None]


class RanksPart(NamedTuple):
    """A part of the benchmark on two ranks: what it is about, its function, and its place among the sizes."""

    words: str
    measure: Callable[[Machine, Order], list[dict[str, Any]]]
    size: str


TWO_RANKS = {
    "prepared": RanksPart("prepared transfers", prepared_on_rank, "contiguous"),
    "contiguous": RanksPart("contiguous bytes", contiguous_on_rank, "contiguous"),
    "small": RanksPart("small transfers", small_on_rank, "contiguous"),
    "layouts": RanksPart("layout changes", layout_changes_on_rank, "layout changes"),
    "pipelines": RanksPart("a pipeline, an urgent transfer", pipelines_on_rank, "pipeline"),
    "choices": RanksPart("predictions and regret", choices_on_rank, "choices"),
}
FOUR_RANKS = ("transposition", "paths", "waiting", "launch")


def measure(
    repeat: int = FEWEST,
    directory: str | Path | None = None,
    quick: bool = False,
    parts: str | None = None,
    progress: Tell | None = None,
) -> Table:
    """Medians of `repeat` rounds in turn; files are written below `directory`. `progress` gets a text about each part.

    `parts` names those to measure, with commas between. With `quick` all transfers are small and rates are assumed instead of
    measured: it takes seconds, and its figures say nothing.

    Raises:
        MissingPartError: there is no MPI in this Python's environment. LaunchError: the ranks did not start.
        RankError, RankLost: a part failed on a rank. InputError: `repeat` is less than 1, or there is no such part.
    """
    if repeat < 1:
        raise InputError(f"bench ranks: repeat={repeat}; expected at least 1")
    chosen = chosen_parts("ranks", parts, (*TWO_RANKS, *FOUR_RANKS))
    tell = progress or nobody
    mpi, load = mpi_here(), os.getloadavg()[0]
    if not quick:
        kernels.prepare(wait=True)  # the ranks only load them then
    sizes = QUICK_SIZES if quick else PART_SIZES
    rows: list[dict[str, Any]] = []
    with scratch_folder(directory) as folder:

        def order(part: str) -> Order:
            return Order(repeat, sizes[part], str(folder), quick)

        start = 0.0
        if on_two := [part for name, part in TWO_RANKS.items() if name in chosen]:
            with ranks(2) as two:
                machine = machine_of_ranks(two, folder, quick, tell)
                start = max((each for _, each in machine.measurement.starts), default=0.0) if machine.measurement else 0.0
                for part in on_two:
                    tell(f"two ranks: {part.words}")
                    rows += two.call(part.measure, machine, order(part.size))[0]
        if any(name in chosen for name in FOUR_RANKS):
            with ExitStack() as stack:
                four, started = _started(stack, 1 if quick or "launch" not in chosen else 3, tell)
                machine = machine_of_ranks(four, folder, quick, tell)
                if "transposition" in chosen:
                    tell("four ranks: a transposition")
                    rows += four.call(transposition_on_rank, machine, order("matrix"))[0]
                if "paths" in chosen:
                    tell("four ranks: several paths")
                    rows += four.call(several_paths_on_rank, machine, order("contiguous"))[0]
                if "waiting" in chosen:
                    tell("four ranks: waiting")
                    rows += four.call(waiting_on_rank, order("matrix"))[0]
                if "launch" in chosen:
                    tell("four ranks: a plan again and again")
                    rows += [started, _again(four, machine, repeat)]
    found = [*rows, *_predicted(rows, start)]
    table = AimsTable("ranks", f"transfers between MPI ranks, {mpi}: medians of {repeat}", COLUMNS, found, NOTES)
    more = {
        "mpi": mpi,
        "load": f"load {load:.1f} to {os.getloadavg()[0]:.1f}",
        "rates": "assumed" if quick else "measured in this run",
    }
    return replace(table, machine={**table.machine, **more})


def chosen_parts(bench: str, parts: str | None, known: Sequence[str]) -> Collection[str]:
    """The names of the parts of a benchmark to measure; all where none is named.

    Raises:
        InputError: there is no such part.
    """
    if parts is None:
        return known
    wanted = [name.strip() for name in parts.split(",")]
    if unknown := [name for name in wanted if name not in known]:
        raise InputError(f"bench {bench}: there is no part {unknown[0]!r}; expected some of {', '.join(known)}")
    return wanted


def nobody(_what: str) -> None:
    """Progress that nobody follows."""


def machine_of_ranks(group: Ranks, folder: Path, quick: bool, tell: Tell) -> Machine:
    """The machine of these ranks: measured now, or with assumed rates."""
    hosts = [hello.host for hello in group.processes]
    if quick:
        return preset("ranks", ranks=len(group), hosts=hosts, directory=folder, measure="assumed")

    def told(found: ProbeProgress) -> None:
        tell(f"{len(group)} ranks: the probe, {found.done} of {found.steps}")

    return probe(folder, ranks=group, progress=told, keep=False)


def _started(stack: ExitStack, times: int, tell: Tell) -> tuple[Ranks, dict[str, Any]]:
    """Four ranks, and the median of the seconds that starting them takes."""
    seconds = []
    for turn in range(times):
        tell(f"four ranks: starting, {turn + 1} of {times}")
        if turn < times - 1:
            with ranks(4) as group:
                seconds.append(group.start_seconds)
        else:
            group = stack.enter_context(ranks(4))
            seconds.append(group.start_seconds)
    return group, row("launch", "start of 4 ranks", statistics.median(seconds), "3 s", START, 1.0)


def _again(group: Ranks, machine: Machine, repeat: int) -> dict[str, Any]:
    """A plan that runs again: from the call in this process to the report, with verification."""
    space, byte = IndexSpace(x=1 << 20), FieldSpace(v="uint8")
    made = plan(Transfer.whole(space, byte, "node0.sys", "<F, x>", "node1.sys", "<F, x>"), machine)
    seconds = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        group.run(made, machine=machine)
        seconds.append(time.perf_counter() - begin)
    return row("launch", "a plan of 1 MiB runs again, with its report", statistics.median(seconds[1:]), "50 ms", AGAIN, 1.0)


def _predicted(rows: Sequence[dict[str, Any]], start: float) -> Iterator[dict[str, Any]]:
    """The median errors of the predictions in this table against the times in it, as far as it has some.

    `start` is what a transfer that is not prepared takes to begin and to end, in seconds.
    """
    whole = f"from the call to the end, {format_seconds(start)} of it for a start"
    for what, is_prepared, more in (("prepared", True, 0.0), (whole, False, start)):
        mine = [each for each in rows if each["predicted"] and (each["part"] == "prepared") == is_prepared]
        known = {each["what"]: abs((each["predicted"] + more) / each["figure"] - 1) for each in mine}
        if known:
            said = f"median error, {what}: {len(known)} transfers of this table"
            yield row("predictions", said, statistics.median(known.values()), "10 %", 0.1, 1.0, unit="share")


NOTES = (
    "ratio: figure of the peer ÷ figure of isoviz, the median of all rounds; above 1, isoviz is faster",
    "a prepared transfer takes its share of a chain of them, each waited for; its peer waits for an empty answer",
    "any other takes from `submit` (or MPI's call) at the sender until both ranks know of its end; receives are posted before",
    "SYS is pageable memory, REG memory in the windows of a rank; * marks memory of the other rank",
    "paths through other ranks share the memory of this computer with the direct one: they show what proxies cost",
    "beside a report: what the plan says of set-up, chunks, and what each hop is busy; in brackets what it was busy in a run",
    "all ranks are on this computer; where they are more than its cores, MPI's blocking calls compete for them",
)


class _Echo:
    """Answers questions of other ranks, and waits for answers and for the last word of rank 0."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answered, self._over = threading.Event(), threading.Event()
        self._used: dict[int, float] = {}
        self._told = threading.Condition()
        world.transport.start(self._receive, lambda rank, reason: None)  # noqa: ARG005  # a wait ends at its limit

    def _receive(self, sender: int, message: object) -> None:
        if message == "question":
            self._world.transport.send(sender, "answer")
        elif message == "answer":
            self._answered.set()
        elif message == "over":
            self._over.set()
        elif isinstance(message, float):
            with self._told:
                self._used[sender] = message
                self._told.notify()

    def round_trip(self, rank: int) -> float:
        """Seconds from a question to the answer of a rank."""
        self._answered.clear()
        begin = time.perf_counter()
        self._world.transport.send(rank, "question")
        if not self._answered.wait(_PATIENCE):
            raise TimeoutError(f"rank {rank} did not answer")
        return time.perf_counter() - begin

    def wait_until_over(self) -> None:
        """Wait for the last word of rank 0."""
        self._over.wait(_PATIENCE)

    def used(self, own: float) -> float:
        """The sum of what all ranks tell."""
        with self._told:
            self._told.wait_for(lambda: len(self._used) == self._world.size - 1, _PATIENCE)
            return own + sum(self._used.values())


def waiting_on_rank(order: Order) -> list[dict[str, Any]]:
    """Round trips from rank 0 to every other rank in turn, after which all ranks are idle."""
    with World() as world:
        echo = _Echo(world)
        others = range(1, world.size)
        if world.rank == 0:
            hot = [echo.round_trip(rank) for _ in range(20 * order.repeat) for rank in others]
            cold = []
            for _ in range(order.repeat):
                for rank in others:
                    threading.Event().wait(0.02)
                    cold.append(echo.round_trip(rank))
            for rank in others:
                world.transport.send(rank, "over")
        else:
            echo.wait_until_over()
        seconds = IDLE_SECONDS * order.repeat
        begin, used = time.perf_counter(), time.process_time()
        threading.Event().wait(seconds)
        share = (time.process_time() - used) / (time.perf_counter() - begin)
        if world.rank:
            world.transport.send(0, share)
            return []
        ranks = f"{world.size} ranks"
        return [
            row("waiting", f"round trip of a message, {ranks} at work", statistics.median(hot), "2 ms", ROUND_TRIP, 1.0),
            row("waiting", f"round trip of a message, {ranks} asleep", statistics.median(cold), "2 ms", ROUND_TRIP, 1.0),
            row("waiting", f"{ranks} idle: share of a core, all together", echo.used(share), "5 %", IDLE, 1.0, unit="share"),
        ]
