"""The bases of devices: what they do by default, and how a chunk is cut into requests."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Transfer, plan, simulate
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host.host_memory import HostStore, Memcpy
from isoviz.backends.verify import verify
from isoviz.errors import Cancelled, RunError, TransferError
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, Constant, Machine, MemoryKind, preset
from isoviz.machines import Memory as DescribedMemory
from isoviz.machines.cards import IN_MEMORY, ON_DISK, ON_GPU, PLAIN, REQUEST_BYTES
from isoviz.machines.kinds import request_rule
from isoviz.runtime.device_bases import AsynchronousChannel, BaseChannel, BaseEndpoint, BaseMemory, BaseSlot
from isoviz.runtime.pipeline import work_of
from isoviz.runtime.protocols import Holds

PAIR = FieldSpace(re="f4", im="f4")


class Store(BaseEndpoint, BaseSlot):
    nbytes = 4

    def read(self, offset: int, nbytes: int) -> bytes:
        return b"abcd"[offset : offset + nbytes]

    def clear(self) -> None: ...


class Memory(BaseMemory):
    def source(self, instance: Any, given: Any) -> Store:
        return Store()

    def destination(self, instance: Any, given: Any, partial: bool) -> Store:
        return Store()


class Link(BaseChannel):
    def __init__(self, result: Any) -> None:
        self.result = result

    def move(self, *args: Any) -> int:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def test_defaults() -> None:
    store, memory, link = Store(), Memory("m"), Link(3)
    assert (store.alignment, store.base, store.durable, store.notes, store.reads_in_place) == (1, 0, False, (), False)
    assert store.identity is store and Store().identity != store.identity
    store.place(5), store.flush(), store.publish(), store.close()
    assert (memory.name, memory.notes, memory.takes, memory.holds(np.zeros(1))) == ("m", (), "", Holds.NO)
    with pytest.raises(TransferError, match="m: keeps no intermediate buffers"):
        memory.slot(10)
    with pytest.raises(TransferError, match="m: cannot describe list"):
        memory.describe([], "<F, x>", None)
    copies = [StridedCopy(0, 0, 4, ())]
    assert (link.at_once, link.is_asynchronous, link.notes, link.kept_together(copies)) == (False, False, (), ([], copies))
    link.prepare(1 << 40)
    for abstract in (BaseChannel, AsynchronousChannel, BaseMemory, BaseSlot, BaseEndpoint):
        with pytest.raises(TypeError, match="abstract"):
            abstract()


@pytest.mark.parametrize("result", [3, RunError("no"), Cancelled("no"), KeyboardInterrupt()])
def test_an_ordinary_channel_can_be_started(result: Any) -> None:
    found: list[Any] = []
    Link(result).start([], Store(), Store(), lambda: None, found.append)
    assert found == [result]


@pytest.mark.parametrize("result", [3, RunError("no")])
@pytest.mark.parametrize("when", ["within start", "later"])
def test_an_asynchronous_channel_can_be_waited_for(result: Any, when: str) -> None:
    class Later(AsynchronousChannel):
        def start(self, copies: Any, source: Any, destination: Any, check: Any, done: Any) -> None:
            if when == "later":
                threading.Thread(target=done, args=(result,)).start()
            else:
                done(result)

    if isinstance(result, int):
        assert Later().move([], Store(), Store(), lambda: None) == result
    else:
        with pytest.raises(RunError, match="no"):
            Later().move([], Store(), Store(), lambda: None)


def test_verification_refuses_a_store_that_reads_too_little() -> None:
    transfer = Transfer.whole(IndexSpace(x=8), FieldSpace(v="u1"), "m", "<F, x>", "m", "<F, x>")
    with pytest.raises(RunError, match=r"Store\.read\(0, 8\) gave uint8 of shape \(4,\); expected 8 bytes"):
        verify(transfer, Store(), HostStore(np.zeros(8, "u1")))


# ---- requests


def test_rules_of_the_described_kinds() -> None:
    mib = 1 << 20
    assert request_rule(ChannelKind.MEMCPY) is IN_MEMORY and request_rule("Memcpy") is IN_MEMORY
    assert request_rule(ChannelKind.DISK_READ) is request_rule(ChannelKind.DISK_WRITE) is request_rule("GPUDirectRead") is ON_DISK
    assert request_rule(ChannelKind.REMOTE_MEMCPY) is request_rule("a kind of another package") is PLAIN
    for kind in ("GPUCopy", "GPURead", "GPUWrite", "ZeroCopyRead", "ZeroCopyWrite"):
        assert request_rule(kind) is ON_GPU
    for nbytes, run, plain, in_memory, on_disk, on_gpu in (
        (1, 1, 1, 1, 1, 1),
        (mib, mib, 1, 1, 1, 1),
        (2 * mib, 2 * mib, 2, 2, 2, 1),
        (8 * mib, 8 * mib, 8, 4, 4, 1),
        (32 * mib, 32 * mib, 32, 8, 8, 2),
        (33 * mib, 33 * mib, 33, 9, 9, 3),
        (8 * mib, 4096, 8, 4, 11, 1),
        (8 * mib, 512 << 10, 8, 4, 8, 1),
    ):
        found = [rule.requests(nbytes, run, mib) for rule in (PLAIN, IN_MEMORY, ON_DISK, ON_GPU)]
        assert found == [plain, in_memory, on_disk, on_gpu], (nbytes, run)


@pytest.mark.parametrize("rate", [1e9, 16e9, 55e9, 2.15e12])
def test_requests_of_gpus_last_half_a_millisecond_in_a_simulation(rate: float) -> None:
    """Or they have 8 to 16 MiB, where that lasts longer. A chunk that is shorter is one request."""
    memories = DescribedMemory("node0.zcm", MemoryKind.ZCM), DescribedMemory("node0.fbm0", MemoryKind.FBM)
    channel = Channel("", ChannelKind.GPU_WRITE, *(memory.name for memory in memories), Constant(rate))
    machine = Machine("one link", memories, (channel,))
    longest = max(16 << 20, rate * 1e-3)
    for nbytes in (int(longest * share) // 8 * 8 for share in (0.9, 1.2, 2.5, 7)):
        transfer = Transfer.whole(IndexSpace(x=nbytes // 8), PAIR, "node0.zcm", "<F, x>", "node0.fbm0", "<F, x>")
        made = plan(transfer, machine)
        each = made.chunk_bytes / (len(simulate(made).requests) / made.chunk_count)
        assert each <= longest * (1 + 1e-9), (nbytes, each)
        assert each >= longest / 2 or made.chunk_bytes < longest, (nbytes, each)


def test_shorter_requests_can_be_asked_for() -> None:
    """A sixteenth of the usual length is a sixteenth of it at every rate."""
    for rate in (1e9, 55e9, 2.15e12):
        usual, short = (ON_GPU.requests(1 << 32, 1 << 32, asked, rate) for asked in (REQUEST_BYTES, REQUEST_BYTES // 16))
        assert abs(short - 16 * usual) < 16


class InPieces(ThisComputer):
    """Copies that go in seven requests a chunk."""

    def channel(self, channel: Any, *ends: Any) -> Any:
        class Seven(Memcpy):
            def requests_of_chunk(self, plan: Any, hop: Any, request_bytes: int) -> int:
                assert plan.hops[hop.index] is hop and request_bytes == 1 << 16
                return 7

        return Seven()


def test_a_channel_cuts_its_own_requests() -> None:
    machine = preset("local", measure="assumed")
    made = plan(Transfer.whole(IndexSpace(x=1 << 16), PAIR, "node0.sys", "<F, x>", "node0.sys", "<x, F>"), machine)
    with Engine(machine, InPieces(), request_bytes=1 << 16) as engine:
        report = engine.run(made)
    assert report.verified and [measured.requests >= 7 for measured in report.hops] == [True] * len(made.hops)
    assert len(report.trace.requests) == 7 * made.chunk_count * len(made.hops)


def test_engine_and_simulator_agree_on_requests() -> None:
    machine = preset("local", measure="assumed")
    for count, request_bytes in ((1 << 10, 1 << 20), (1 << 18, 1 << 14), (1 << 20, 1 << 20)):
        for source, destination in (("node0.sys", "node0.sys"), ("node0.sys", "node0.dsk"), ("node0.dsk", "node0.sys")):
            made = plan(Transfer.whole(IndexSpace(x=count), PAIR, source, "<F, x>", destination, "<x, F>"), machine)
            with Engine(machine, request_bytes=request_bytes) as engine:
                real = engine.run(made).trace
            said = simulate(made, machine, request_bytes=request_bytes)
            assert sorted(span[1:4] for span in said.requests) == sorted(span[1:4] for span in real.requests)
            assert work_of(made, request_bytes=request_bytes).requests == tuple(
                made.only.requests(hop, request_bytes) for hop in made.hops
            )
