"""A rank of a job with prepared transfers: `lane_runs.py WAY SEED CASES`; `main` has the ways."""

from __future__ import annotations

import ctypes
import errno
import gc
import itertools
import json
import os
import platform
import random
import signal
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell
from rank_runs import layout_of, machine_of

from isoviz import FieldSpace, IndexSpace, Instance, Machine, Plan, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled, InputError, RankError, RankLost
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth
from isoviz.runtime.ranks.lanes.lane_events import PATIENCE
from isoviz.runtime.ranks.lanes.lane_transfers import LaneTransfer
from isoviz.runtime.ranks.rank_engine import RankEngine

TYPES = ("u1", "<f4", ">f8", "i2", "S3", "c16", "V12", "V100", "V700")


def direct_plan(
    rng: random.Random,
    machine: Machine,
    size: int,
    ends: tuple[int, int],
    largest: int,
    kinds: tuple[str, ...] = ("sys", "reg"),
    most_hops: int = 1,
) -> Plan:
    """A plan between two ranks, of one hop unless more are allowed."""
    while True:
        space = IndexSpace.of({name: rng.randint(1, largest) for name in "xy"})
        fields = FieldSpace.of({f"f{i}": rng.choice(TYPES) for i in range(rng.randint(1, 3))})
        memories = [f"node{rank}.{rng.choice(kinds)}" for rank in ends]
        instances = [Instance(memory, space, fields, layout_of(rng, space)) for memory in memories]
        transfer = Transfer(*instances, priority=rng.choice((0, 0, 1)))
        if rng.random() < 0.2 and min(space.sizes) > 1:
            transfer = Transfer(
                *instances, shape=tuple(n - 1 for n in space.sizes), source_origin=(1, 1), destination_origin=(0, 1)
            )
        found = plan(transfer, machine, "simple")
        if len(found.every_hop) <= most_hops:
            return found


class Case:
    """A prepared transfer with its arrays; the source is known on all ranks."""

    def __init__(self, world: World, engine: RankEngine, made: Plan, seed: int) -> None:
        self.plan, self.seed, self.turn, self.rank = made, seed, 0, world.rank
        self.world, self.engine = world, engine
        self.routes: dict[str, int] = {}
        transfer = made.transfer
        self.sends = engine.node_of(transfer.source.memory) == world.rank
        self.receives = engine.node_of(transfer.destination.memory) == world.rank
        self.source = self._array(world, transfer.source) if self.sends else None
        self.room = self._array(world, transfer.destination) if self.receives else None
        self.open()

    def open(self) -> None:
        self.prepared = self.engine.prepare(self.plan, self.source, self.room)

    def close(self) -> None:
        self.prepared.close()

    @staticmethod
    def _array(world: World, end: Instance) -> np.ndarray[Any, Any]:
        nbytes = end.linearization.nbytes
        return world.array(nbytes) if end.memory.endswith("reg") else np.zeros(nbytes, np.uint8)

    def content(self, turn: int) -> np.ndarray[Any, Any]:
        nbytes = self.plan.transfer.source.linearization.nbytes
        return np.random.default_rng((self.seed, turn)).integers(0, 256, nbytes, np.uint8)

    def start(self) -> Any:
        self.turn += 1
        if self.source is not None:
            self.source[:] = self.content(self.turn)
        return self.prepared.start()

    def check(self) -> None:
        """Every entry of the destination is that of the source, by the offsets of the layouts alone."""
        if self.room is None:
            return
        transfer, source, room = self.plan.transfer, self.content(self.turn), self.room
        lin, into = transfer.source.linearization, transfer.destination.linearization
        origin, there = transfer.source_origin, transfer.destination_origin
        every = max(1, int(np.prod(transfer.shape)) // 61)
        for index in itertools.islice(np.ndindex(*transfer.shape), 0, None, every):
            for name, size in zip(lin.fields.names, lin.fields.sizes, strict=True):
                at = lin.offset(tuple(i + o for i, o in zip(index, origin, strict=True)), name)
                to = into.offset(tuple(i + o for i, o in zip(index, there, strict=True)), name)
                assert source[at : at + size].tobytes() == room[to : to + size].tobytes(), f"{self.plan} at {index} {name}"


class SubmittedCase(Case):
    """The same transfer, submitted again and again: over a lane where nothing speaks against it."""

    def open(self) -> None:
        self.latest: Any = None

    def close(self) -> None:
        self.note()

    def note(self) -> None:
        if self.latest is not None:
            self.routes[self.latest.route] = self.routes.get(self.latest.route, 0) + 1
        self.latest = None

    def start(self, **options: Any) -> Any:
        self.note()
        self.turn += 1
        if self.source is not None:
            self.source[:] = self.content(self.turn)
        self.latest = self.engine.submit(self.plan, self.source, self.room, **options)
        return self.latest

    def start_otherwise(self, rng: random.Random) -> Any:
        """Sometimes with another array, or a token, of one rank; all ranks draw alike."""
        way, rank = rng.randrange(12), rng.randrange(2)
        is_mine = rank == self.rank
        if way == 0 and is_mine and self.source is not None:
            self.source = self._array(self.world, self.plan.transfer.source)
        if way == 1 and is_mine and self.room is not None:
            self.room = self._array(self.world, self.plan.transfer.destination)
        return self.start(cancel=threading.Event()) if way == 2 and is_mine else self.start()


def engine_of(world: World, seed: str, *, only_lanes: bool = False) -> tuple[Machine, RankEngine]:
    """The engine of a random machine; `only_lanes`: between ranks it has channels only that lanes stand for."""
    machine = machine_of(random.Random(f"{seed} machine"), world.hosts)
    machine = replace(machine, memories=tuple(replace(memory, capacity=None) for memory in machine.memories))
    if only_lanes:
        channels = [channel for channel in machine.channels if channel.kind.prepares or not channel.kind.crosses_nodes]
        rate = LatencyBandwidth(1e-7, 1e10)
        for here, there in itertools.permutations(range(world.size), 2):
            for kind, goal in ((ChannelKind.WINDOW, "reg"), (ChannelKind.PROCESS_WRITE, "sys")):
                for memory in ("reg", "sys"):
                    ends = f"node{here}.{memory}", f"node{there}.{goal}"
                    channels.append(Channel(f"{seed} {ends} {kind}", kind, *ends, rate))
        machine = replace(machine, channels=tuple(channels))
    return machine, RankEngine(machine, world.devices, world.transport)


def random_cases(world: World, seed: str, count: int) -> dict[str, Any]:
    """One after the other, several times each."""
    machine, engine = engine_of(world, seed)
    rng, lanes, done = random.Random(seed), 0, 0
    with engine:
        for number in range(count):
            here = rng.randrange(world.size)
            ends = here, (here + rng.randrange(1, world.size)) % world.size
            hops = rng.choice((1, 1, 4))
            made = direct_plan(rng, machine, world.size, ends, rng.choice((6, 40, 200)), most_hops=hops)
            case = Case(world, engine, made, number)
            lanes += isinstance(case.prepared, LaneTransfer)
            for _ in range(3):
                case.start().wait(120)
                case.check()
                done += 1
                engine.barrier()  # before the source changes
            case.prepared.close()
        found = [sum(x) for x in zip(*engine.gather((lanes, done)), strict=True)]
    return {"lanes": found[0] // 2, "done": found[1] // world.size}


class Interrupted(Exception):  # noqa: N818  # it is no error
    """What the signal handler of a test raises."""


class Signals:
    """Signals that come at some time while this process waits."""

    def __init__(self) -> None:
        self._is_on = False
        signal.signal(signal.SIGINT, self._came)

    def _came(self, *_: object) -> None:
        if self._is_on:
            raise Interrupted

    def interrupted(self, seconds: float, wait: Callable[[], object]) -> None:
        """Wait, and be interrupted after some seconds."""
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        try:
            self._is_on = True
            timer.start()
            wait()
            self._is_on = False
        except Interrupted:
            self._is_on = False
        timer.join()


def waited(event: Any, rng: random.Random, signals: Signals) -> BaseException | None:
    """Wait for a transfer, sometimes with a short limit or a signal before: neither stops the transfer."""
    way = rng.random()
    if way < 0.3:
        with suppress(TimeoutError):
            event.error(rng.choice((0, 1e-5, 1e-4, 1e-3)))
    elif way < 0.5:
        signals.interrupted(rng.choice((2e-5, 1e-4, 1e-3)), partial(event.error, 60))
    found: BaseException | None = event.error(120)
    return found


def submitted(world: World, seed: str, count: int) -> dict[str, Any]:
    """Random plans, each submitted some times, from several arrays; ranks that are late, also for longer than `PATIENCE`."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    rng, routes, done = random.Random(seed), dict[str, int](), 0
    with engine:
        for number in range(count):
            here = rng.randrange(world.size)
            ends = here, (here + rng.randrange(1, world.size)) % world.size
            largest = rng.choice((6, 6, 40, 200, 600))
            made = direct_plan(rng, machine, world.size, ends, largest, most_hops=rng.choice((1, 1, 4)))
            case = SubmittedCase(world, engine, made, number)
            for _ in range(12):
                late, who, seconds = rng.random(), rng.randrange(world.size), rng.choice((1e-4, 1e-3, 1e-3, 2 * PATIENCE))
                until = time.perf_counter() + seconds
                while late < 0.1 and who == world.rank and time.perf_counter() < until:
                    os.sched_yield()
                if rng.random() < 0.1:
                    case.note()
                    case.turn += 1
                    if case.source is not None:
                        case.source[:] = case.content(case.turn)
                    engine.run(made, case.source, case.room)
                else:
                    case.start_otherwise(rng).wait(120)
                case.check()
                done += 1
                engine.barrier()  # before the source changes
            case.close()
            for route, times in case.routes.items():
                routes[route] = routes.get(route, 0) + times
    return {"done": done, **routes}


def interleaved(world: World, seed: str, count: int, kind: type[Case] = Case) -> dict[str, Any]:
    """Many at a time, urgent ones and cancels among them. What ends well has the right bytes; what is cancelled stays usable."""
    machine, engine = engine_of(world, seed, only_lanes=kind is SubmittedCase)
    rng, outcomes = random.Random(seed), {"done": 0, "cancelled": 0}
    signals = Signals()
    with engine:
        cases = []
        for number in range(8):
            ends = (0, 1) if number % 2 else (1, 0)
            cases.append(kind(world, engine, direct_plan(rng, machine, world.size, ends, rng.choice((8, 100, 600))), number))
        for turn in range(count):
            order = rng.sample(range(8), 8)
            cancelled = {number for number in order if rng.random() < 0.15}
            by = {number: rng.randrange(2) for number in order}
            late = rng.random() < 0.3 and rng.randrange(2) == world.rank
            if late:
                for _ in range(2000):
                    os.sched_yield()
            events = {}
            for number in order:
                events[number] = cases[number].start()
                if number in cancelled and by[number] == world.rank:
                    events[number].cancel()
            ends_of = {}
            for number in rng.sample(order, 8):
                error = waited(events[number], rng, signals)
                assert error is None or (number in cancelled and isinstance(error, Cancelled)), f"{turn} {number} {error!r}"
                ends_of[number] = error is None
                outcomes["done" if error is None else "cancelled"] += 1
            engine.barrier()
            for number, was_done in ends_of.items():
                if was_done:
                    cases[number].check()
            engine.barrier()
        for case in cases:
            case.close()
    return outcomes | {"lane": sum(case.routes.get("lane", 0) for case in cases)}


def submitted_ends(world: World, seed: str, _count: int) -> dict[str, Any]:
    """What goes wrong where a plan has its lane: another plan, an array that does not fit, cancels, a fork."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    said: dict[str, str] = {}
    rng = random.Random(seed)
    with engine:
        case = SubmittedCase(world, engine, direct_plan(rng, machine, 2, (0, 1), 40), 1)
        other = direct_plan(rng, machine, 2, (0, 1), 30)

        def attempt(name: str, action: Callable[[], Any]) -> None:
            try:
                action()
            except Exception as error:  # noqa: BLE001  # the test looks at it
                said[name] = f"{type(error).__name__}: {error}"
            else:
                said[name] = "ok"

        def usual(name: str) -> None:
            on_lane(world, engine, case)
            said[f"after {name}"] = case.latest.route

        usual("nothing")
        attempt("another plan", lambda: engine.submit(case.plan if world.rank == 0 else other, case.source, None).wait(120))
        usual("another plan")
        attempt("another plan there", lambda: engine.submit(case.plan if world.rank else other, None, case.room).wait(120))
        usual("another plan there")
        short = np.zeros(1, np.uint8)
        attempt(
            "does not fit",
            lambda: engine.submit(case.plan, case.source if world.rank == 0 else None, short if world.rank else None).wait(120),
        )
        usual("an array that does not fit")
        for rank in range(2):  # one rank cancels before the other one has come
            if rank == world.rank:
                event = case.start()
                event.cancel()
            engine.barrier()
            if rank != world.rank:
                event = case.start()
            attempt(f"cancelled by {rank}", partial(event.wait, 120))
            engine.barrier()
            usual(f"a cancel of {rank}")
        attempt("urgent", lambda: engine.submit(case.plan, case.source, case.room, priority=True).wait(120))
        if world.rank == 0:
            said["forked"] = in_child(lambda: engine.submit(case.plan, case.source, None))
        engine.barrier()
        usual("a fork")
    return {str(rank): each for rank, each in enumerate(engine_words(world, said))}


def on_lane(world: World, engine: RankEngine, case: SubmittedCase) -> None:
    """Carry out a transfer until it goes over a lane on both ranks: how soon they have one depends on how busy they are."""
    for _ in range(200):
        case.start().wait(120)
        case.check()
        engine.barrier()
        if {each["route"] for each in engine_words(world, {"route": case.latest.route})} == {"lane"}:
            return
    raise AssertionError("no lane after 200 transfers")


def closing(world: World, seed: str, which: int) -> dict[str, Any]:
    """A rank closes its engine while it has a transfer over a lane that the other one does not begin."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    with engine:
        case = SubmittedCase(world, engine, direct_plan(random.Random(seed), machine, 2, (0, 1), 40), 1)
        on_lane(world, engine, case)
        error = None
        if world.rank == which:
            event = case.start()
            engine.close()
            error = event.error(0)
        engine_words(world, {})
    return {str(rank): each for rank, each in enumerate(engine_words(world, {"error": type(error).__name__}))}


def freed(world: World, seed: str, count: int) -> dict[str, Any]:
    """Lanes keep no array: each is freed, and made again, at the same address or not."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    rng, routes = random.Random(seed), dict[str, int]()
    with engine:
        for number in range(count):
            made = direct_plan(rng, machine, 2, rng.choice(((0, 1), (1, 0))), 700, (rng.choice(("sys", "reg")),))
            alive = []
            for _ in range(3):
                case = SubmittedCase(world, engine, made, number)
                alive += [weakref.ref(each) for each in (case.source, case.room) if each is not None]
                for _ in range(5):
                    case.start().wait(120)
                    case.check()
                    engine.barrier()
                case.close()
                for route, times in case.routes.items():
                    routes[route] = routes.get(route, 0) + times
                del case
            gc.collect()
            assert not any(each() for each in alive)
    return routes


def ends(world: World, seed: str, _count: int) -> dict[str, Any]:
    """What is wrong at one end is told at both; a closed transfer starts no more; one that is not started ends."""
    machine, engine = engine_of(world, seed)
    said: dict[str, str] = {}
    rng = random.Random(seed)
    with engine:
        made = direct_plan(rng, machine, 2, (0, 1), 20)
        transfer = made.transfer

        def attempt(name: str, action: Callable[[], Any]) -> Any:
            try:
                found = action()
            except Exception as error:  # noqa: BLE001  # the test looks at it
                said[name] = f"{type(error).__name__}: {error}"
                return None
            said[name] = "ok"
            return found

        short = np.zeros(1, np.uint8)
        attempt("wrong size", lambda: engine.prepare(made, short if world.rank == 0 else None, None))
        other = direct_plan(rng, machine, 2, (0, 1), 30)
        attempt("another plan", lambda: engine.prepare(made if world.rank == 0 else other))
        case = Case(world, engine, made, 1)
        case.start().wait(120)
        case.check()
        if world.rank == 1:  # the sender does not start: the receiver cancels, and later starts go on
            event = case.start()
            event.cancel()
            attempt("cancelled first", lambda: event.wait(120))
            case.turn -= 1
        engine.barrier()
        if world.rank == 0:
            event = case.start()
            attempt("cancelled first", lambda: event.wait(120))
            case.turn -= 1
        engine.barrier()
        case.start().wait(120)
        case.check()
        engine.barrier()
        if world.rank == 0:
            case.prepared.close()
            attempt("closed here", case.prepared.start)
        else:
            event = case.start()
            attempt("closed there", lambda: event.wait(120))
        engine.barrier()
        assert transfer is made.transfer
        if world.rank == 0:
            said["forked"] = in_child(case.prepared.start)
        engine.barrier()
    return {str(rank): each for rank, each in enumerate(engine_words(world, said))}


def in_child(action: Callable[[], object]) -> str:
    """What an action raises in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            action()
            told = "nothing"
        except Exception as error:  # noqa: BLE001  # the test looks at it
            told = type(error).__name__
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return file.read()


def refused(world: World, seed: str, which: int, most_hops: int = 1) -> dict[str, Any]:
    """The system lets one rank not reach memory of other processes, as in a container. Everything works, in another way."""
    if world.rank == which:
        refuse_access()
    rng, found = random.Random(seed), {}
    machine, engine = engine_of(world, seed)
    with engine:
        for memory, largest in (("sys", 12), ("reg", 12), ("reg", 300)):  # MPI sends small messages without the calls
            made = direct_plan(rng, machine, 2, (0, 1), largest, (memory,), most_hops)
            case = Case(world, engine, made, largest)
            for _ in range(3):
                case.start().wait(120)
                case.check()
                engine.barrier()
            found[f"{memory} {largest}"] = isinstance(case.prepared, LaneTransfer)
            case.prepared.close()
    return found


def without_room(world: World, seed: str, _count: int) -> dict[str, Any]:
    """Nothing more fits into /dev/shm. `small_shared_memory` mounts a small one."""
    if world.rank == 0:
        with suppress(OSError), Path("/dev/shm/isoviz-full").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        room = os.statvfs("/dev/shm")
        assert room.f_bavail == 0
    return refused(world, seed, -1)


def refuse_access() -> None:
    """Let `process_vm_readv` and `process_vm_writev` of this process fail with EPERM, by a filter of system calls."""
    first, seccomp = (310, 317) if platform.machine() == "x86_64" else (270, 277)
    load, compare, answer = 0x20, 0x15, 0x06
    instructions = [
        (load, 0, 0, 0),  # the number of the call
        (compare, 1, 0, first),
        (compare, 0, 1, first + 1),
        (answer, 0, 0, 0x50000 + errno.EPERM),
        (answer, 0, 0, 0x7FFF0000),
    ]
    code = b"".join(struct.pack("HBBI", *each) for each in instructions)
    room = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(room)))
    system = ctypes.CDLL(None, use_errno=True)
    assert system.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
    assert system.syscall(seccomp, 1, 1, program) == 0, os.strerror(ctypes.get_errno())  # for all threads


def engine_words(world: World, said: dict[str, str]) -> list[dict[str, str]]:
    comm = world.thread.mpi.COMM_WORLD
    found: list[dict[str, str]] = world.thread.call(lambda: comm.allgather(said))
    return found


def killed(world: World, seed: str, count: int, kind: type[Case] = Case) -> dict[str, Any]:
    """Rank 1 is killed in the middle of a chain: rank 0 learns of it, whether it sends or receives."""
    machine, engine = engine_of(world, seed, only_lanes=kind is SubmittedCase)
    rng = random.Random(seed)
    with engine:
        ends_of = (0, 1) if count % 2 else (1, 0)
        case = kind(world, engine, direct_plan(rng, machine, 2, ends_of, 900), 1)
        for _ in range(5):
            case.start().wait(120)
            engine.barrier()
        if world.rank == 1:
            case.start()
            os.kill(os.getpid(), signal.SIGKILL)
        case.start().error(120)
        try:
            case.start().wait(120)
        except (RankLost, RankError) as error:
            print(json.dumps({"error": type(error).__name__, "rank": error.rank}), flush=True)
        os._exit(0)


def main() -> None:
    begin()
    way, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with World(limit=20) as world:
        ways: dict[str, Callable[[World, str, int], Any]] = {
            "random": random_cases,
            "interleaved": interleaved,
            "ends": ends,
            "killed": killed,
            "submitted": submitted,
            "submitted at a time": partial(interleaved, kind=SubmittedCase),
            "submitted ends": submitted_ends,
            "submitted killed": partial(killed, kind=SubmittedCase),
            "closing": closing,
            "freed": freed,
            "refused": refused,
            "full": without_room,
            "apart": partial(refused, most_hops=3),  # between hosts, pageable memory goes through registered memory
        }
        found = ways[way](world, seed, count)
        tell(world.rank, found)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
