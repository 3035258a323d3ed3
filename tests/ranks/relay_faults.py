"""A rank of a job in which a proxy of several paths is lost, or a rank is interrupted: `relay_faults.py WAY …`.

- `lost SIGNAL RANK KIND FOLDER [unfenced]`: a rank gets a signal in the middle of what it forwards. The others go on without it.
  `unfenced` plays a system that lets no rank end another one.
- `interrupted`: Ctrl-C on one rank after the other. All go on.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell
from relay_runs import machine_of
from stopped_rank import state, wait

from isoviz import FieldSpace, IndexSpace, Machine, Options, Plan, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled, RankError, RankLost
from isoviz.layouts import StridedCopy
from isoviz.planner import plan_of_paths
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

LIMIT = 3.0
PATTERN = 0xA5
SIZE = 6 << 20
AT = 4
"""The chunk in the middle of which a rank gets its signal."""


class Signalled:
    """Devices whose channels to other ranks send a signal to this process in the middle of their request number `AT`."""

    def __init__(self, devices: Any) -> None:
        self._made = devices.channel
        self._left = -1
        self._act: Callable[[], None] = lambda: None
        devices.channel = self.channel

    def arm(self, act: Callable[[], None]) -> None:
        self._act, self._left = act, AT

    def channel(self, described: Any, source: Any, destination: Any) -> Any:
        real = self._made(described, source, destination)
        if real is not None and described.kind.crosses_nodes:
            move = real.move

            def signalled(copies: Sequence[StridedCopy], *more: Any) -> Any:
                self._left -= 1
                if self._left:
                    return move(copies, *more)
                (copy,) = copies
                half = copy.run // 2
                move([copy._replace(run=half)], *more)
                self._act()
                rest = StridedCopy(copy.source_offset + half, copy.destination_offset + half, copy.run - half)
                return move([rest], *more)

            real.move = signalled
        return real


def planned(machine: Machine, first: int, last: int, memory: str) -> Plan:
    space, fields = IndexSpace(x=SIZE), FieldSpace(v="u1")
    ends = f"node{first}.{memory}", "<F, x>", f"node{last}.{memory}", "<F, x>"
    return plan(Transfer.whole(space, fields, *ends), machine, "multipath", Options(slot_limit=1 << 17))


def lost(world: World, which: signal.Signals, gone: int, kind: str, folder: Path) -> None:
    """Rank `gone` is a proxy of one of three paths."""
    first, other, last = (rank for rank in range(world.size) if rank != gone)
    memory = "reg" if kind == "Window" else "sys"
    signals = Signalled(world.devices)

    links = [(first, gone), (gone, last), (first, other), (other, last), (first, last)]
    machine = machine_of(world.hosts, links, lambda *_: (kind, memory, memory))
    engine, made = RankEngine(machine, world.devices, world.transport), planned(machine, first, last, memory)
    pids: Any = engine.gather(os.getpid())
    source, room = (world.array(SIZE) if memory == "reg" else np.zeros(SIZE, np.uint8) for _ in range(2))
    content = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)
    source[:] = content
    ends = source if world.rank == first else None, room if world.rank == last else None
    began = folder / "began"
    if world.rank == gone:

        def act() -> None:
            began.write_text(str(time.monotonic()))
            os.kill(os.getpid(), which)

        signals.arm(act)
    assert len(made.paths) == 3
    error = engine.submit(made, *ends).error(120)
    told = time.monotonic()
    if world.rank == gone:  # it was stopped, and nobody has ended it
        (folder / "finished").touch()
        os._exit(0)
    room[:] = PATTERN
    with contextlib.suppress(ProcessLookupError):
        os.kill(pids[gone], signal.SIGCONT)
    wait(lambda: (folder / "finished").exists() or state(pids[gone]) in ("", "Z", "X"))
    found: dict[str, Any] = {
        "error": type(error).__name__,
        "names": getattr(error, "rank", None),
        "words": str(error),
        "seconds": told - float(began.read_text()),
        "ended": not (folder / "finished").exists(),
        "overwritten": int(np.count_nonzero(room != PATTERN)),
        "source": bool(np.array_equal(source, content)),
    }
    # The same engine, over the paths that are left. Without rank 0 nobody grants buffers.
    halves = [({"x": (0, SIZE // 2)}, (first, last)), ({"x": (SIZE // 2, SIZE)}, (first, other, last))]
    left = halves if gone else [({}, (first, last))]
    again = plan_of_paths(
        made.transfer, engine.machine, [(share, [f"node{rank}.{memory}" for rank in ranks]) for share, ranks in left]
    )
    try:
        engine.submit(again, *ends).wait(120)
        found["again"] = len(again.paths), bool(world.rank != last or np.array_equal(room, content))
    except RankLost:  # each rank has left the others where one of them cannot be ended
        found["again"] = "left"
    note = folder / f"new{world.rank}"
    note.write_text(json.dumps(found))
    note.rename(folder / f"survivor{world.rank}")
    wait(lambda: len(list(folder.glob("survivor*"))) == world.size - 1)
    engine.close()
    world.close()
    os._exit(0)


def interrupted(world: World) -> dict[str, Any]:
    """Ctrl-C on the source's rank, on a proxy, and on the rank of the destination."""
    signals = Signalled(world.devices)
    first, proxy, other, last = range(4)
    links = [(first, proxy), (proxy, last), (first, other), (other, last), (first, last)]
    machine = machine_of(world.hosts, links, lambda *_: ("Packed", "sys", "sys"))
    found: dict[str, Any] = {}
    with RankEngine(machine, world.devices, world.transport) as engine:
        made: Plan = engine.agreed(lambda: planned(machine, first, last, "sys"))
        pids: Any = engine.gather(os.getpid())
        for victim in (first, proxy, last):
            if world.rank == proxy:
                signals.arm(lambda victim=victim: os.kill(pids[victim], signal.SIGINT))  # type: ignore[misc]
            try:
                error = engine.run_parts([Item(made)])[0].error
                said = "done" if error is None else type(error).__name__
                assert error is None or isinstance(error, Cancelled | RankError), error
            except KeyboardInterrupt:
                said = "interrupted"
            found[str(victim)] = engine.gather(said)
            report = engine.run(made)
            assert report.verified and len(made.paths) == 3
        assert engine.held_bytes == 0
    return found


def refused(*_: object) -> int:
    raise PermissionError(1, "Operation not permitted")


def main() -> None:
    begin()
    if sys.argv[1] == "lost":
        which, gone, kind, folder = sys.argv[2:6]
        if "unfenced" in sys.argv:
            os.pidfd_open = refused
        lost(World(period=LIMIT / 5, limit=LIMIT), signal.Signals[which], int(gone), kind, Path(folder))
    with World(limit=60) as world:
        found = interrupted(world)
        rank = world.rank
    tell(rank, found)


if __name__ == "__main__":
    main()
