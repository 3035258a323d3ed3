"""A rank of a job in which Ctrl-C comes to one of the ranks at a random moment: `interrupts.py WHAT COUNT SEED`.

`WHAT` is what the ranks do together: a method of `Ways`. The rank is in the middle of it, has not yet begun, or is about to end.
All go on.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partialmethod
from types import FrameType
from typing import Any

from given.rank_program import begin, tell
from relay_runs import machine_of

import isoviz
from isoviz import FieldSpace, IndexSpace, Plan, Transfer
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled
from isoviz.planner import plan_of_paths
from isoviz.redistribution.running.on_rank import Redistributions, prepare_on_rank, redistribute_on_rank
from isoviz.runtime.engine.interrupts import defer_interrupts
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

SIZE = 3 << 20
SMALL = 32 << 10
SPACE, FIELDS = IndexSpace(x=SIZE), FieldSpace(v="u1")
AGAIN = 10
"""After so many rounds, it is run more often: the first run takes longer."""


Begin = Callable[[], None]
"""Called once Ctrl-C may come: not before isoviz is entered, because nobody could know then that this rank takes no part."""


class Interrupted:
    """Ctrl-C in this rank."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._raises = False
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._came.set()
        if self._raises:
            raise KeyboardInterrupt

    def during(self, seconds: float, act: Callable[[Begin], None]) -> str:
        """How a call ends if Ctrl-C comes some seconds after it has called what it gets. It may be over by then."""
        self._came.clear()
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        said = "interrupted"
        with contextlib.suppress(KeyboardInterrupt):
            self._raises = True
            said = ended(act, timer.start)
            self._raises = False
        self._raises = False
        while not self._came.wait(0.01):
            pass
        timer.join()
        return said


def ended(act: Callable[[Begin], None], begin: Begin = lambda: None) -> str:
    """How a call ends. Nothing but a cancel is expected."""
    try:
        act(begin)
    except Cancelled:
        return "cancelled"
    return "done"


class Ways:
    """What ranks do together. Each is a function that raises what goes wrong."""

    def __init__(self, world: World, engine: RankEngine) -> None:
        self._world, self.engine = world, engine
        self._made: dict[str, Plan] = {}
        self._meets = False
        self._arrays: tuple[Plan, Any, Any] | None = None
        self.routes = Counter[str]()

    @property
    def has_left(self) -> bool:
        """Whether this rank comes to no further meeting of redistributions."""
        return self.engine.attached(Redistributions).meeting.is_over if self._meets else False

    def _plan(self, kind: str) -> Plan:
        """The whole over three paths, directly and through two other ranks; or over one."""
        made = self._made.get(kind)
        if made is None:
            moved = Transfer.whole(SPACE, FIELDS, "node0.reg", "<F, x>", "node3.reg", "<F, x>")
            ways = [[0, 3], [0, 1, 3], [0, 2, 3]] if kind == "relay" else [[0, 3]]
            cut = [SIZE * part // len(ways) for part in range(len(ways) + 1)]
            entries = [
                ({"x": (cut[at], cut[at + 1])}, [f"node{rank}.reg" for rank in way], (), 1 << 18) for at, way in enumerate(ways)
            ]
            made = self._made[kind] = plan_of_paths(moved, self.engine.machine, entries)
        return made

    def relay(self, begin: Begin) -> None:
        """A relay, as its parts."""
        with defer_interrupts():
            begin()
            error = self.engine.run_parts([Item(self._plan("relay"))])[0].error
        if error is not None:
            raise error

    def report(self, begin: Begin) -> None:
        """A relay, with a report of all ranks."""
        with defer_interrupts():
            begin()
            assert self.engine.run(self._plan("relay")).verified

    def direct(self, begin: Begin) -> None:
        """From one rank straight to another, with a report of all ranks."""
        with defer_interrupts():
            begin()
            assert self.engine.run(self._plan("direct")).verified

    def redistribution(self, begin: Begin) -> None:
        """An array from rows to columns."""
        self._meets = True
        Redistributions.prepare = partialmethod(begun, begin)  # type: ignore[assignment,method-assign]
        found = redistribute_on_rank(self.engine, *distributed())
        assert found.report.verified

    def prepared(self, begin: Begin) -> None:
        """The same, prepared and run several times."""
        self._meets = True
        with contextlib.ExitStack() as stack:
            with defer_interrupts():
                begin()
                prepared = stack.enter_context(prepare_on_rank(self.engine, *distributed()))
            for _ in range(3):
                prepared.run()

    def again(self, begin: Begin) -> None:
        """A small plan between arrays that were there before, with reports of all ranks: over a lane. Its bytes are right."""
        if self._arrays is None:
            space = IndexSpace(x=SMALL)
            moved = Transfer.whole(space, FIELDS, "node0.reg", "<F, x>", "node3.reg", "<F, x>")
            small = self.engine.agreed(lambda: isoviz.plan(moved, self.engine.machine, "direct"))
            self._arrays = small, self._world.array(SMALL), self._world.array(SMALL)
        plan, source, destination = self._arrays
        ends = source if self._world.rank == 0 else None, destination if self._world.rank == 3 else None
        with defer_interrupts():
            begin()
            source += 1
            report = self.engine.run(plan, *ends)
            assert report.verified and (self._world.rank != 3 or (destination == destination[0]).all())
            self.routes[report.route] += 1

    def lane(self, begin: Begin) -> None:
        """A prepared transfer of two ranks, run several times."""
        with contextlib.ExitStack() as stack:
            with defer_interrupts():
                begin()
                prepared = stack.enter_context(self.engine.prepare(self._plan("direct")))
            for _ in range(3):
                prepared.start().wait()


def begun(redistributions: Redistributions, begin: Begin, *given: Any, **options: Any) -> Any:
    """`Redistributions.prepare`, which a rank that is interrupted leaves with a word to the others."""
    begin()
    return PREPARE(redistributions, *given, **options)


PREPARE = Redistributions.prepare


def distributed() -> tuple[Any, Any]:
    space = IndexSpace(x=1024, y=1024)
    ends = [
        isoviz.DistributedInstance(space, FieldSpace(v="f4"), isoviz.Distribution({name: 4}), "<F, x, y>", "reg")
        for name in ("y", "x")
    ]
    return ends[0], ends[1]


def rounds(world: World, what: str, count: int, seed: str) -> dict[str, int]:
    links = [(here, there) for here in range(4) for there in range(4) if here != there]
    machine = machine_of(world.hosts, links, lambda *_: ("Window" if what == "again" else "Packed", "reg", "reg"))
    interrupts, rng = Interrupted(), random.Random(seed)
    seen: Counter[str] = Counter()
    with RankEngine(machine, world.devices, world.transport) as engine:
        ways = Ways(world, engine)
        act = getattr(ways, what)
        ranks = (0, 3) if what in ("direct", "lane") else range(world.size)  # those with a part
        for number in range(count):
            for _ in range(3 if number % AGAIN == 0 else 1):  # everything works as before, and takes as long as this
                engine.barrier()
                began = time.perf_counter()
                act(lambda: None)
                seconds = time.perf_counter() - began
            assert engine.held_bytes == 0
            victim, moment = rng.choice(ranks), rng.uniform(0, seconds)
            engine.barrier()
            mine = interrupts.during(moment, act) if world.rank == victim else ended(act)
            found: list[Any] = engine.gather((mine, ways.has_left))
            others = {found[rank][0] for rank in ranks if rank != victim}
            assert len(others) == 1, (number, victim, found)
            seen[f"{found[victim][0]}, the others {(other := others.pop())}"] += 1
            if found[victim][1] and other == "done":  # it was over for them, and they hear of it when they meet again
                assert world.rank == victim or ended(act) == "cancelled"
        routes = sum((each for each in engine.gather(ways.routes) if isinstance(each, Counter)), Counter[str]())
        assert what != "again" or routes["lane"] > routes["scheduler"], routes
    return dict(seen)


def main() -> None:
    begin()
    what, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with World(limit=60) as world:
        found = {each: rounds(world, each, count, seed) for each in what.split(",")}
        rank = world.rank
    tell(rank, found)


if __name__ == "__main__":
    main()
