"""Run under mpiexec: random strided copies through every kind of channel between ranks, bit for bit against a plain loop."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from given.rank_program import begin, tell

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.stores import MappedStore, RemoteStore
from isoviz.backends.mpi.world import World
from isoviz.errors import RunError
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, Constant, Memory, MemoryKind
from isoviz.runtime.protocols import Bound

KINDS = (
    ChannelKind.WINDOW,
    ChannelKind.PROCESS_WRITE,
    ChannelKind.TWO_SIDED,
    ChannelKind.PACKED,
    ChannelKind.DERIVED,
    ChannelKind.PUT,
    ChannelKind.REMOTE_MEMCPY,
    ChannelKind.ASSISTED,
)


def random_copies(rng: random.Random, room: int) -> list[StridedCopy]:
    """Copies whose destinations do not overlap. Loops run in any order; both ends of some are contiguous."""
    found: list[StridedCopy] = []
    there = rng.randrange(64)
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        run = rng.choice((1, 3, 4, 8, 24, 64, 1000, 70_000))
        extents = [rng.randint(2, 6) for _ in range(rng.randint(0, 3))] if run < 1000 else []
        if run in (4, 8) and rng.random() < 0.3:
            extents = [rng.choice((64, 300)), rng.choice((64, 100))]
        strides = []
        for _ in range(2):
            order = list(range(len(extents)))
            rng.shuffle(order)
            step, by = run, [0] * len(extents)
            for k in order:
                step += rng.choice((0, 0, run, 5))
                by[k] = step
                step *= extents[k]
            strides.append((by, step))
        (here_by, here_size), (there_by, there_size) = strides
        if there + there_size > room or here_size > room:
            break
        here = rng.randrange(room - here_size + 1)
        loops = tuple(sorted(zip(extents, here_by, there_by, strict=True), key=lambda loop: -loop[1]))
        found.append(StridedCopy(here, there, run, loops))
        there += there_size + rng.choice((0, 0, 7))
    return found


def expected(copies: list[StridedCopy], source: np.ndarray, before: np.ndarray) -> np.ndarray:
    """What the destination holds afterwards, by NumPy's fancy indices."""
    after = before.copy()
    for copy in copies:
        here, there = np.arange(copy.run), np.arange(copy.run)
        for extent, by_here, by_there in copy.loops:
            here = (np.arange(extent)[:, None] * by_here + here.reshape(-1)).reshape(-1)
            there = (np.arange(extent)[:, None] * by_there + there.reshape(-1)).reshape(-1)
        after[copy.destination_offset + there] = source[copy.source_offset + here]
    return after


class Mail:
    """Messages of the transport, taken one by one from each sender."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: dict[int, list[object]] = {}
        self.ready = threading.Condition()
        self.lost: list[tuple[int, str]] = []
        world.transport.start(self.receive, self.gone)

    def receive(self, sender: int, message: object) -> None:
        with self.ready:
            self.found.setdefault(sender, []).append(message)
            self.ready.notify_all()

    def gone(self, rank: int, reason: str) -> None:
        with self.ready:
            self.lost.append((rank, reason))
            self.ready.notify_all()

    def take(self, sender: int) -> object:
        with self.ready:
            while not self.found.get(sender):
                assert not self.lost, self.lost
                assert self.ready.wait(200), f"rank {self.world.rank}: nothing from rank {sender}"
            return self.found[sender].pop(0)


def ends(world: World, kind: ChannelKind, to: int, source: str, destination: str) -> object:
    here, there = (
        Memory(f"node{node}.{name.lower()}", MemoryKind(name), node=node)
        for node, name in ((world.rank, source), (to, destination))
    )
    described = Channel("", kind, here.name, there.name, Constant(1e9))
    real = world.devices.memory(here)
    assert real is not None and world.devices.memory(there) is None
    return world.devices.channel(described, Bound(here, real), Bound(there, None))  # type: ignore[arg-type]


def store_in(world: World, name: str, array: np.ndarray) -> HostStore:
    """A store that holds a copy of the bytes."""
    if name == "REG":
        room = world.array(len(array))
        room[:] = array
        return HostStore(room)
    return HostStore(array.copy())


def cases(world: World, mail: Mail, seed: int, count: int, mapped: bool) -> Iterator[int]:
    """Every rank writes to the next one. Both know the random numbers of both."""
    to, by = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    for case in range(count):
        rng = random.Random(f"{seed} {case}")
        room = rng.choice((300, 5000, 200_000, 3_000_000))
        copies = random_copies(rng, room)
        names = rng.choice(("SYS", "REG")), rng.choice(("SYS", "REG"))
        data = [np.frombuffer(random.Random(f"{seed} {case} {rank}").randbytes(room), np.uint8) for rank in range(world.size)]
        source = store_in(world, names[0], data[world.rank])
        for kind in KINDS:
            if kind in (ChannelKind.WINDOW, ChannelKind.PUT) and names[1] == "SYS":
                continue
            if kind is ChannelKind.PROCESS_WRITE and names[1] == "REG":
                continue
            if kind is ChannelKind.ASSISTED and names != ("REG", "REG"):
                continue
            if kind in (ChannelKind.WINDOW, ChannelKind.PROCESS_WRITE, ChannelKind.ASSISTED) and not mapped:
                assert ends(world, kind, to, *names) is None
                continue
            if kind is ChannelKind.TWO_SIDED and sum(copy.nbytes // copy.run for copy in copies) > 3000:
                continue
            before = data[world.rank][::-1]
            store = store_in(world, names[1], before)
            handle = world.devices.export(store)
            world.transport.send(by, handle)
            there = world.devices.reach(mail.take(to))  # type: ignore[arg-type]
            world.transport.send(to, "reached")
            assert mail.take(by) == "reached"
            assert isinstance(there, MappedStore if mapped and names[1] == "REG" else RemoteStore)
            channel = ends(world, kind, to, *names)
            assert channel is not None
            if case % 2:  # the write comes after the clear
                there.clear()
                before = np.zeros(room, np.uint8)
            channel.move(copies, source, there, lambda: None)  # `start`, and a wait for `done`, where it is asynchronous
            # `done` promises that the bytes are in place, so that the writer can read them back.
            right = expected(copies, data[world.rank], np.zeros(room, np.uint8) if case % 2 else data[to][::-1])
            assert np.array_equal(np.frombuffer(there.read(0, room), np.uint8), right), f"{kind} {names} {copies}"
            world.transport.send(to, "written")
            assert mail.take(by) == "written"
            assert not channel.notes, channel.notes
            mine = expected(copies, data[by], before)
            assert np.array_equal(store.array, mine), f"{kind} {names}: {copies}"
            world.transport.send(by, "checked")
            assert mail.take(to) == "checked"
            there.clear()
            assert not np.frombuffer(there.read(0, room), np.uint8).any()
            world.transport.send(to, "cleared")
            assert mail.take(by) == "cleared"
            assert not store.array.any()
            world.devices.withdraw(handle)
            there.close()
            store.close()
            yield 1


def many_windows(world: World, mail: Mail) -> None:
    """MPI puts into more pieces of registered memory, one after the other, than Open MPI takes at a time (64); none is kept."""
    to, by = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    source = HostStore(np.ones(64, np.uint8))
    for _ in range(80):
        store = HostStore(world.array(4 << 20))
        handle = world.devices.export(store)
        world.transport.send(by, handle)
        there = world.devices.reach(mail.take(to))  # type: ignore[arg-type]
        ends(world, ChannelKind.PUT, to, "SYS", "REG").move([StridedCopy(0, 128, 64)], source, there, lambda: None)
        world.transport.send(to, "written")
        assert mail.take(by) == "written"
        assert store.array[128:192].all() and store.array.sum() == 64
        world.devices.withdraw(handle)
        there.close()
        del store, there
    assert world.windows.nbytes < 40 * (4 << 20)


def refusals(world: World, mail: Mail) -> None:
    """Writes to withdrawn stores, and beyond the end, are errors of the writer only."""
    to, by = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    store = HostStore(np.zeros(1 << 20, np.uint8))
    handle = world.devices.export(store)
    world.transport.send(by, handle)
    there = world.devices.reach(mail.take(to))  # type: ignore[arg-type]
    world.devices.withdraw(handle)
    world.transport.send(to, "withdrawn")
    assert mail.take(by) == "withdrawn"
    world.transport.send(by, "go")
    assert mail.take(to) == "go"
    source = HostStore(np.ones(1 << 20, np.uint8))
    for kind in (ChannelKind.TWO_SIDED, ChannelKind.PACKED, ChannelKind.DERIVED):
        for copies in ([StridedCopy(0, 0, 8)], [StridedCopy(0, 0, 1 << 20)], [StridedCopy(0, 0, 8, ((1000, 16, 24),))]):
            channel = ends(world, kind, to, "SYS", "SYS")
            with pytest.raises(RunError, match="was withdrawn"):
                channel.move(copies, source, there, lambda: None)
    there.clear()
    with pytest.raises(RunError, match="was withdrawn"):
        there.read(0, 8)
    world.transport.send(to, "refused")
    assert mail.take(by) == "refused"


def main() -> None:
    begin()
    seed, count, mapped = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "mapped"
    threads = set(threading.enumerate())
    with World(mapped=mapped, limit=60) as world:
        memory = {link for link in links() if "isoviz window" in link}
        mail = Mail(world)
        assert len(set(world.hosts)) == 1, world.hosts
        done = sum(cases(world, mail, seed, count, mapped))
        many_windows(world, mail)
        refusals(world, mail)
        before = {link for link in links() if "isoviz window" in link}
        assert before and not memory
        assert not [link for link in links() if "/dev/shm" in link and "isoviz" in link]
        rank = world.rank
    left = {link for link in links() if "isoviz" in link}
    assert not left, left
    for thread in set(threading.enumerate()) - threads - pools():
        thread.join(timeout=250)
    assert not set(threading.enumerate()) - threads - pools(), threading.enumerate()
    tell(rank, {"cases": done})


def pools() -> set[threading.Thread]:
    """Threads of copies that live as long as the process."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("isoviz copies")}


def links() -> Iterator[str]:
    """What the descriptors and the maps of this process refer to."""
    for place in Path("/proc/self/fd").iterdir():
        try:
            yield str(place.readlink())
        except OSError:
            continue
    yield from {line.split(maxsplit=5)[5].strip() for line in Path("/proc/self/maps").read_text().splitlines() if "memfd" in line}


main()
