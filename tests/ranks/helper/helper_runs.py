"""A rank of a job whose helpers are used: `helper_runs.py WAY MODE COUNT`; the functions with the names of the ways tell more."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from given.rank_program import begin, tell

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a rank that computes in NumPy takes one processor

import numpy as np
from rank_runs import layout_of

from isoviz import FieldSpace, IndexSpace, Instance, Machine, Plan, Transfer, plan
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.helper.client import Ticket
from isoviz.backends.mpi.helper.ring import ADD, CAS, MOST_RUNS, SWAP
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled, ForkedError, RankLost
from isoviz.machines import Channel, ChannelKind, Memory, MemoryKind, preset
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.measure.ranks import rank_probe
from isoviz.measure.ways import Effort
from isoviz.runtime.ranks.rank_engine import Item, RankEngine
from isoviz.this_computer import this_computer

Array = np.ndarray[Any, Any]
MIB = 1 << 20
SHORT = Effort(repeats=1, samples=5, seconds=1e-4, limit=1.0)
LAYOUTS = ("<F, x, y>", "<F, y, x>")
ROOM = 4 * MIB
LIMIT = 3.0
Told = dict[str, object]


class Room:
    """Memory of every rank in its windows, as this rank has mapped it, and the addresses in the processes of its ranks."""

    def __init__(self, world: World, nbytes: int = ROOM) -> None:
        self.mine = world.array(nbytes)
        handles = gather(world, world.stores.export(HostStore(self.mine)))
        self.of = [self.mine if k == world.rank else world.stores.reach(each).array for k, each in enumerate(handles)]
        self.at = [each.address for each in handles]


def gather(world: World, value: object) -> list[Any]:
    return list(world.meeting.gather(value))


def address(array: Array) -> int:
    return int(array.ctypes.data)


def spread(rng: random.Random, run: int, extents: list[int], most: int) -> list[int] | None:
    """Strides of loops, in any order and with gaps, so that no two runs overlap; None if they need more than `most` bytes."""
    strides, step = [0] * len(extents), run + rng.choice((0, 0, 1, 7, 64))
    for k in rng.sample(range(len(extents)), len(extents)):
        strides[k] = step
        step = step * extents[k] + rng.choice((0, 0, 8, 100))
    return strides if step < most else None


def strided(rng: random.Random) -> tuple[int, list[tuple[int, int, int]], int, int]:
    """A random copy: its run, its loops, and the offsets of the first run. Some steps are negative."""
    while True:
        run = rng.choice((1, 2, 3, 4, 7, 8, 12, 16, 24, 60, 64, 65, 200, 512, 5000, 70_000, MIB + 5))
        extents = [rng.choice((1, 2, 3, 5, 17, 300)) for _ in range(rng.randint(0, 5))]
        here, there = (spread(rng, run, extents, ROOM // 2) for _ in range(2))
        if here is None or there is None:
            continue
        first = [rng.randrange(64), rng.randrange(64)]
        for k, extent in enumerate(extents):
            for end, strides in enumerate((here, there)):
                if rng.random() < 0.1:
                    first[end] += (extent - 1) * strides[k]
                    strides[k] = -strides[k]
        return run, list(zip(extents, here, there, strict=True)), first[0], first[1]


def runs_of(run: int, loops: list[tuple[int, int, int]], at: int, to: int) -> Array:
    """All runs of a copy: source, destination, bytes."""
    rows = np.array([[at, to]])
    for extent, here, there in loops:
        rows = (rows[:, None] + np.arange(extent)[:, None] * np.array([here, there])).reshape(-1, 2)
    return np.concatenate([rows, np.full((len(rows), 1), run)], axis=1)


def moved(source: Array, destination: Array, runs: Array) -> Array:
    """What the destination holds after some runs, by NumPy."""
    found = destination.copy()
    for at, to, nbytes in runs:
        found[to : to + nbytes] = source[at : at + nbytes]
    return found


def copies(world: World, count: int) -> Told:
    """Random copies by the helpers of all ranks, from and to memory of their ranks; the other end lies here, in any memory."""
    room = Room(world)
    rng = random.Random(world.rank)
    data = np.random.default_rng(world.rank)
    plain = np.zeros(ROOM, np.uint8)
    mine = world.array(ROOM)
    done = {"windows": 0, "pageable": 0, "tables": 0, "many": 0}
    gather(world, 0)
    for number in range(count):
        rank = rng.randrange(world.size)
        client = world.helpers.client(rank)
        own = rng.choice((plain, mine))
        half = ROOM // world.size * world.rank  # each rank has a part of the room of another one for itself
        while True:
            run, loops, at, to = strided(rng)
            runs = runs_of(run, loops, at, to)
            if int((runs[:, :2] + runs[:, 2:]).max()) <= ROOM // world.size:
                break
        far = room.of[rank][half : half + ROOM // world.size]
        process, here = client.place_of(address(own), own.nbytes)
        for array in (own, far):
            array[:] = data.integers(0, 256, len(array), np.uint8)
        is_table = len(runs) <= 40 * MOST_RUNS and rng.random() < 0.5
        if rng.random() < 0.5:  # a put
            expected = moved(own, far, runs)
            kinds: Any = {"source_process": process}
            bases, changed = (here, room.at[rank] + half), far
        else:
            expected = moved(far, own, runs)
            kinds = {"destination_process": process}
            bases, changed = (room.at[rank] + half, here), own
        kinds["large"] = rng.random() < 0.3
        if is_table:
            runs[:, :2] += bases
            tickets = [client.copy_runs(runs[k : k + MOST_RUNS], **kinds) for k in range(0, len(runs), MOST_RUNS)]
            done["tables"] += 1
            done["many"] += len(tickets) > 1
        else:
            tickets = [client.copy(bases[0] + at, bases[1] + to, run, loops, **kinds)]
        for ticket in tickets:
            assert ticket.wait(100) == 0 and ticket.done
        done["pageable" if process else "windows"] += 1
        assert np.array_equal(changed, expected), (number, rank, run, loops, at, to, is_table, process)
    gather(world, 0)
    return done


def words(world: World, count: int) -> Told:
    """All ranks change words of rank 0 by its helper: additions, swaps and compare-and-swaps, mixed. Nothing is lost."""
    room = Room(world)
    client = world.helpers.client(0)
    at = room.at[0]
    gather(world, 0)
    tickets: list[Ticket] = []
    won = taken = 0
    swapped_in = swapped_out = 0
    count = count // (4 * world.size) * 4
    for number in range(count):
        kind = number % 4
        if kind == 0:
            tickets.append(client.rmw(ADD, at, 3))
        elif kind == 1:  # four bytes, which wrap around
            tickets.append(client.rmw(ADD, at + 64, -(1 << 20), size=4))
        elif kind == 2:  # Each value that is put there comes out once, or stays.
            value = 1 + number * world.size + world.rank
            swapped_in += value
            tickets.append(client.rmw(SWAP, at + 128, value))
        else:
            tickets.append(client.rmw(CAS, at + 192, 1, 0, size=4))
        if len(tickets) > 100 or number == count - 1:
            for ticket in tickets:
                old = ticket.wait(100)
                kind = taken % 4
                taken += 1
                if kind == 2:
                    swapped_out += old
                elif kind == 3 and old == 0:
                    won += 1
                    assert client.rmw(SWAP, at + 192, 0, size=4).wait(100) == 1
            tickets.clear()
    sums = gather(world, (swapped_in, swapped_out, won))
    found = room.of[0][:256].view(np.int64)
    each = count // 4
    return {
        "added": int(found[0]) == 3 * each * world.size,
        "added in 4 bytes": int(room.of[0][64:68].view(np.int32)[0]) == _wrapped(-(1 << 20) * each * world.size),
        "swapped": sum(one[0] - one[1] for one in sums) == int(found[16]),
        "won": sum(one[2] for one in sums),
        "changes": 4 * each * world.size,
    }


def _wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def threads(world: World, count: int) -> Told:
    """Several threads of a rank use one client at a time, with more requests than a ring holds."""
    room = Room(world)
    client = world.helpers.client(1 - world.rank)
    at = room.at[1 - world.rank]
    gather(world, 0)

    def work() -> None:
        for ticket in [client.rmw(ADD, at, 1) for _ in range(count)]:
            ticket.wait(100)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    gather(world, 0)
    return {"sum": int(room.mine[:8].view(np.int64)[0]) == 4 * count}


def start(world: World, _count: int) -> Told:
    """The helper of a rank runs from its first use on until the end of the world."""
    first = helper_threads(), world.helpers.is_running
    gather(world, 0)
    if world.rank == 0:
        world.helpers.client(1)
    gather(world, 0)
    second = gather(world, helper_threads())
    if world.rank == 1:
        assert world.helpers.client(1).rmw(ADD, address(np.zeros(1, np.int64)), 1).wait() == 0
    world.close()
    if world.rank == 1:
        print(json.dumps({"start": {"first": first, "second": second, "closed": helper_threads()}}), flush=True)
    return {}


def helper_threads() -> int:
    return sum(each.name == "isoviz helper" for each in threading.enumerate())


def left_open(world: World, _count: int) -> Told:
    """The interpreter ends while the helper sleeps or polls, and nobody has closed the world."""
    word = np.zeros(1, np.int64)
    world.helpers.client(0).rmw(ADD, address(word), 1).wait()
    return {"word": int(word[0])}


def cancels(world: World, count: int) -> Told:
    """Cancelled requests end soon and write nothing afterwards; those behind them are carried out."""
    room = Room(world, 64 * MIB)
    client = world.helpers.client(1 - world.rank)
    gather(world, 0)
    found = {"cancelled": 0, "ended": 0}
    source = room.at[1 - world.rank]
    for _ in range(count):
        first = client.copy(source, source + 32 * MIB, 32 * MIB)
        second = client.copy(source, source + 32 * MIB, 32 * MIB)
        third = client.rmw(ADD, source + 63 * MIB, 1)
        was_asked = first.cancel(), second.cancel()
        assert third.wait(100) >= 0 and first.done and second.done and not first.cancel()
        for ticket, asked in ((first, was_asked[0]), (second, was_asked[1])):
            try:
                ticket.wait(0)
                found["ended"] += 1
            except Cancelled:
                assert asked
                found["cancelled"] += 1
        with contextlib.suppress(TimeoutError):
            client.copy(source, source + 32 * MIB, 32 * MIB).wait(0)
    gather(world, 0)
    return found


def forked(world: World, _count: int) -> Told:
    """A forked child is refused, and its end leaves the helper of its parent alone."""
    client = world.helpers.client(0)
    word = np.zeros(1, np.int64)
    ticket = world.helpers.client(world.rank).rmw(ADD, address(word), 1)
    ticket.wait()
    left = world.helpers.client(world.rank).rmw(ADD, address(word), 1)
    said: list[str] = []
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        for call in (lambda: world.helpers.client(0), lambda: client.rmw(ADD, address(word), 1), left.wait):
            try:
                call()
                said.append("fine")
            except ForkedError:
                said.append("ForkedError")
            except Exception as error:  # noqa: BLE001
                said.append(repr(error))
        world.helpers.close()
        os.write(writes, json.dumps(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = json.loads(os.read(reads, 1000))
    again = world.helpers.client(world.rank).rmw(ADD, address(word), 1).wait(100)
    gather(world, 0)
    return {"child": said, "again": again, "word": int(word[0])}


def lost(world: World, count: int) -> Told:
    """Rank 1 is killed while rank 0 waits for its helper, and has requests of its own at that of rank 0."""
    room = Room(world, 64 * MIB)
    clients = [world.helpers.client(rank) for rank in range(2)]
    gather(world, 0)
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP if count else signal.SIGKILL)
    at = room.at[1]
    errors: list[str] = []

    def wait() -> None:
        try:
            while True:
                for ticket in [clients[1].copy(at, at + 32 * MIB, 32 * MIB) for _ in range(10)]:
                    ticket.wait()
        except RankLost as error:
            errors.append(f"rank {error.rank}")

    workers = [threading.Thread(target=wait) for _ in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(100)
    word = clients[0].rmw(ADD, room.at[0], 1).wait(100)
    return {"errors": errors, "own helper": word, "later": refused(lambda: clients[1].rmw(ADD, at, 1))}


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return ""


def dropped(world: World, _count: int) -> Told:
    """Rank 1 is killed while the helper of rank 0 copies for it: once it is lost, nothing more is written for it."""
    room = Room(world, 128 * MIB)
    client = world.helpers.client(0)
    gather(world, 0)
    if world.rank == 1:
        far = room.at[0]
        for _ in range(40):  # 40 × 64 MiB
            client.copy(far, far + 64 * MIB, 64 * MIB)
        os.kill(os.getpid(), signal.SIGKILL)
    gone = threading.Event()
    world.transport.when_lost(lambda *_: gone.set())
    assert gone.wait(100)
    room.mine[64 * MIB :] = 7
    for _ in range(20):
        assert client.copy(room.at[0], room.at[0] + 100, 8).wait(100) == 0
        assert (room.mine[64 * MIB :] == 7).all()
    return {"fine": True}


def stopped(world: World, count: int) -> Told:
    """Rank 1 stops for a moment while rank 0 has requests at its helper; they end after it continues."""
    room = Room(world)
    client = world.helpers.client(1)
    process = gather(world, os.getpid())[1]
    at, done = room.at[1], 0
    if world.rank == 0:
        for _ in range(count):
            os.kill(process, signal.SIGSTOP)
            until_state(process, "T")
            tickets = [client.rmw(ADD, at, 1) for _ in range(30)]
            waits = refused(partial(tickets[-1].wait, 0.05))
            os.kill(process, signal.SIGCONT)
            done += waits == "TimeoutError" and [each.wait(100) for each in tickets][-1] % 30 == 29
    gather(world, 0)
    return {"right": done, "word": int(room.mine[:8].view(np.int64)[0]) if world.rank else 0}


def until_state(process: int, state: str) -> None:
    end = time.monotonic() + 100
    while Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != state:
        assert time.monotonic() < end
        os.sched_yield()


def idle(world: World, _count: int) -> Told:
    """How much processor time the helper takes while it has nothing to do, and one that polls, over the same time."""
    client = world.helpers.client(world.rank)
    word = np.zeros(1, np.int64)
    found = {}
    for mode in ("blocking", "polling"):
        world.helpers.mode = mode
        client.rmw(ADD, address(word), 1).wait()
        begun, before = time.monotonic(), helper_seconds()
        threading.Event().wait(1.0)  # what is measured is this second
        found[mode] = (helper_seconds() - before) / (time.monotonic() - begun)
    world.helpers.mode = "blocking"
    return found


def helper_seconds() -> float:
    """Processor time of the helper of this rank."""
    thread = next(each for each in threading.enumerate() if each.name == "isoviz helper")
    return float(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9


def busy(world: World, count: int) -> Told:
    """How long 8 bytes by the helper of rank 1 take while it is idle, computes in NumPy and in Python: 50, 90, 99 % in µs.

    Beside them the same by the thread in Python that serves messages.
    """
    room = Room(world)
    key = gather(world, world.stores.export(HostStore(room.mine)).key)[1]
    client = world.helpers.client(1)
    found: Told = {}
    at = room.at[1]

    def copied() -> None:
        client.copy(at, at + 64, 8).wait()

    for way in ("idle", "numpy", "python"):
        flag = room.of[1][MIB : MIB + 1]
        gather(world, 0)
        if world.rank == 0:
            found[way] = timed(copied, count)
            found[f"{way}, thread"] = timed(lambda: world.exchange.ask(1, "read", key, [(0, 0, 8, ())]), count // 5)
            flag[0] = 1
        else:
            compute(way, flag)
            flag[0] = 0
        gather(world, 0)
    return found


def timed(call: Callable[[], object], count: int) -> list[float]:
    """50, 90 and 99 % of the µs of some calls, after a few others."""
    seconds = []
    for _ in range(count + count // 10):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return [round(float(each) * 1e6, 1) for each in np.quantile(seconds[count // 10 :], (0.5, 0.9, 0.99))]


def compute(way: str, flag: Array) -> None:
    some = np.random.default_rng(0).random((200, 200))
    total, never = 0, threading.Event()
    while not flag[0]:
        if way == "idle":
            never.wait(0.01)
        elif way == "numpy":
            some @ some
        else:
            for _ in range(1000):
                total += 1


def machine_of(size: int) -> Machine:
    """Registered memory of ranks that Assisted channels alone join."""
    memories = tuple(Memory(f"node{k}.reg", MemoryKind.REG, k) for k in range(size))
    ends = ((here.name, there.name) for here in memories for there in memories if here is not there)
    rate = LatencyBandwidth(1e-7, 5e9)
    return Machine("ranks", memories, tuple(Channel("", ChannelKind.ASSISTED, *each, rate, max_in_flight=2) for each in ends))


def plan_of(rng: random.Random, machine: Machine, largest: int) -> Plan:
    """A random plan between two ranks."""
    space = IndexSpace.of({name: rng.randint(1, largest) for name in "xy"})
    fields = FieldSpace.of({f"f{k}": rng.choice(("u1", "<f4", ">f8", "S3", "c16", "V700")) for k in range(rng.randint(1, 3))})
    here, there = rng.sample([memory.name for memory in machine.memories], 2)
    ends = (Instance(memory, space, fields, layout_of(rng, space)) for memory in (here, there))
    return plan(Transfer(*ends), machine, "simple")


def plans(world: World, count: int) -> Told:
    """Plans over Assisted channels, one by one and several at a time, verified; some are cancelled."""
    machine = machine_of(world.size)
    rng = random.Random(count)
    found = {"verified": 0, "cancelled": 0, "requests": 0}
    with RankEngine(machine, world.devices, world.transport, request_bytes=1 << 16) as engine:
        for number in range(count):
            some = [plan_of(rng, machine, rng.choice((12, 60, 300))) for _ in range(4)]
            for each in some:
                report = engine.run(each)
                assert report.verified and report.trace is not None
                found["verified"] += 1
                found["requests"] += len(report.trace.requests)
            parts = engine.run_parts([Item(each) for each in some])
            assert all(part.error is None for part in parts), [part.error for part in parts]
            large = plan_of(random.Random(number), machine, 2000)
            event = engine.submit(large)
            if engine.node_of(large.transfer.source.memory) == world.rank:
                event.cancel()
            found["cancelled"] += refused(partial(event.wait, 100)) in ("Cancelled", "RankError")
            engine.barrier()
    return found


def lost_plan(world: World, _count: int) -> Told:
    """Rank 1 is killed while its helper carries a plan of rank 0."""
    machine = machine_of(world.size)
    ends = [Instance(f"node{k}.reg", IndexSpace(x=1500, y=1500), FieldSpace(v="f8"), layout) for k, layout in enumerate(LAYOUTS)]
    made = plan(Transfer(*ends), machine, "simple")
    engine = RankEngine(machine, world.devices, world.transport)
    room = world.array(made.transfer.source.linearization.nbytes)
    room[:] = 1 - world.rank
    event = engine.submit(made, *((room, None) if world.rank == 0 else (None, room)))
    if world.rank == 1:
        while not room[0]:
            os.sched_yield()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"error": refused(event.wait)}


def probed(world: World, _count: int) -> Told:
    """A thorough probe measures Assisted beside the usual kinds; here beside Window, briefly."""
    rank_probe.THOROUGH = SHORT
    rank_probe.kinds_between = lambda usual=True: {
        "same host": (ChannelKind.WINDOW if usual else ChannelKind.ASSISTED,),
        "other host": (),
    }
    order = rank_probe.RankOrder(preset("local", measure="assumed"), this_computer(), SHORT, 64 * MIB, "2026-01-01")
    machine = rank_probe.probe_in_rank(world, order, lambda _: None, threading.Event())
    if machine is None:
        return {}
    found = [each for each in machine.channels if each.kind is ChannelKind.ASSISTED]
    return {
        "ends": sorted({f"{each.source} {each.destination}" for each in found}),
        "measured": all(each.provenance.startswith("measured 2026-01-01") for each in found),
        "samples": min(len(each.throughput.samples) for each in found),
    }


WAYS = (probed, plans, lost_plan, copies, words, threads, start, left_open, cancels, forked, lost, dropped, stopped, idle, busy)


def main() -> None:
    begin(100)
    name, mode, count = sys.argv[1:]
    names, counts = name.split(","), [int(each) for each in count.split(",")]
    ways = [next(each for each in WAYS if each.__name__ == one) for one in names]
    ends = name in ("lost", "dropped", "lost_plan")
    world = World(limit=LIMIT, period=0.2) if ends else World()
    world.helpers.mode = mode
    try:
        told = [way(world, each) for way, each in zip(ways, counts, strict=True)]
    except BaseException:
        faulthandler.dump_traceback()
        raise
    if ends:
        print(json.dumps(told[0]), flush=True)
        world.close()
        os._exit(0)
    if name == "start":
        return
    every = gather(world, told)
    tell(world.rank, dict(zip(names, zip(*every, strict=True), strict=True)))
    if name != "left_open":
        world.close()


if __name__ == "__main__":
    main()
