"""Memory in windows, and copies cut into pieces: in one process, without MPI."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoviz.backends.mpi.channels.cutting import copies_of, pieces, plain
from isoviz.backends.mpi.piece_pool import PIECE, PiecePool
from isoviz.backends.mpi.rank_devices import PageableMemory, RegMemory
from isoviz.backends.mpi.thread.bells import LocalBell, own_bell
from isoviz.backends.mpi.windows import PeerWindows, Segment, Windows
from isoviz.errors import Cancelled, RunError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, StridedCopy, apply
from isoviz.planner import Instance
from isoviz.runtime.protocols import Holds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="windows are files in memory, which Linux has")
MIB = 1 << 20


@pytest.fixture
def windows() -> Iterator[Windows]:
    made = Windows()
    yield made
    made.close()


def window_links() -> list[str]:
    """The descriptors of windows in this process."""
    found = []
    for place in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(place.readlink()))
        except OSError:
            continue
    return [link for link in found if "isoviz window" in link]


def test_peers_see_the_same_bytes(windows: Windows) -> None:
    small, large = windows.array(1000), windows.array(10 * MIB)
    assert not small.any() and not large.any()
    peers = PeerWindows()
    for array in (small, large, large[4097:9000], small[999:]):
        place = windows.place(array)
        assert place is not None
        there = peers.array(place[0])[place[1] : place[1] + array.nbytes]
        array[:] = np.arange(array.nbytes, dtype=np.uint8)
        assert np.array_equal(there, array)
        there[:] = 7
        assert (array == 7).all()
        assert peers.array(place[0]) is peers.array(place[0]), "mapped once"
    assert windows.place(np.zeros(100, np.uint8)) is None
    peers.close()


def test_small_arrays_share_segments_and_do_not_overlap(windows: Windows) -> None:
    arrays = [windows.array(size) for size in (1, 4096, 4097, 100_000, MIB)]
    places = [windows.place(array) for array in arrays]
    assert len({place[0] for place in places if place is not None}) == 1
    for k, array in enumerate(arrays):
        array[:] = k + 1
    assert all((array == k + 1).all() for k, array in enumerate(arrays))
    assert all(array.__array_interface__["data"][0] % 4096 == 0 for array in arrays)


def test_a_segment_ends_with_its_last_array() -> None:
    ended: list[Segment] = []
    windows = Windows(ended=ended.append)
    array = windows.array(8 * MIB)
    place = windows.place(array)
    assert place is not None
    part = array[100:200]
    del array
    gc.collect()
    assert not ended and len(window_links()) > 0
    del part
    gc.collect()
    assert ended == [place[0]]
    assert not window_links()
    with pytest.raises(RunError, match=r"cannot be opened|was closed"):
        PeerWindows().array(place[0])
    kept = windows.array(100)
    windows.close()
    kept[:] = 1  # what is in use keeps its memory
    with pytest.raises(RunError, match="are closed"):
        windows.array(MIB)
    del kept
    gc.collect()
    assert not window_links()


def test_no_room_is_an_error_and_leaves_nothing() -> None:
    windows = Windows(limit=32 * MIB)
    first = windows.array(20 * MIB)
    with pytest.raises(RunError, match=r"no room for 20 MiB of registered memory: 20 MiB of at most 32 MiB are in use"):
        windows.array(20 * MIB)
    del first
    gc.collect()
    assert windows.array(20 * MIB).nbytes == 20 * MIB
    windows.close()
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 * MIB, hard))  # Python ignores the signal that comes with it
    try:
        limited = Windows()
        with pytest.raises(RunError, match=r"no room for 64 MiB of registered memory: .*RLIMIT_FSIZE"):
            limited.array(64 * MIB)
        assert not window_links()
        assert limited.array(8 * MIB).nbytes == 8 * MIB
        limited.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    gc.collect()
    assert not window_links()


def test_registered_memory_reuses_its_rooms(windows: Windows) -> None:
    memory = RegMemory("node0.reg", windows, kept=64 * MIB)
    instance = Instance("node0.reg", IndexSpace(x=MIB), FieldSpace(a="f8"), Layout("<x, F>"))
    sizes = []
    for _ in range(4):
        source, destination, slot = memory.source(instance, None), memory.destination(instance, None, False), memory.slot(MIB)
        assert all(windows.place(store.array) is not None for store in (source, destination, slot))
        assert source.array.any() and source.is_large == (source.nbytes >= 16 * MIB)
        slot.clear()
        assert not slot.array.any()
        for store in (source, destination, slot):
            store.close()
            store.close()
        sizes.append(windows.nbytes)
    assert len(set(sizes)) == 1, "closed rooms are used again"
    assert not memory.destination(instance, None, True).array.any(), "what a partial transfer leaves is zero"


def test_arrays_belong_to_the_memory_that_holds_them(windows: Windows) -> None:
    registered, pageable = RegMemory("node0.reg", windows), PageableMemory("node0.sys", windows)
    inside, outside = windows.array(800).view(np.float64), np.zeros(100)
    instance = Instance("node0.reg", IndexSpace(x=100), FieldSpace(a="f8"), Layout("<x, F>"))
    assert registered.holds(inside) is Holds.YES and pageable.holds(inside) is Holds.NO
    assert registered.holds(outside) is Holds.NO and pageable.holds(outside) is Holds.YES
    assert registered.holds("a path") is Holds.NO
    assert registered.holds(inside[::2]) is Holds.YES, "which then says that it is not dense"
    assert np.shares_memory(registered.source(instance, inside).array, inside)
    for make in (lambda: registered.source(instance, outside), lambda: registered.destination(instance, outside, False)):
        with pytest.raises(TransferError, match=r"the other ranks do not reach it; .* or take the memory node\d+\.sys"):
            make()


@st.composite
def copies(draw: st.DrawFn) -> list[StridedCopy]:
    """Copies that do not overlap at their destinations, with loops in any order at both ends."""
    found, at = [], 0
    for _ in range(draw(st.integers(1, 6))):
        run = draw(st.sampled_from((1, 3, 8, 40)))
        extents = draw(st.lists(st.integers(2, 5), max_size=3))
        ends = []
        for _ in range(2):
            step, by = run, [0] * len(extents)
            for k in draw(st.permutations(range(len(extents)))):
                step += draw(st.sampled_from((0, 0, 3)))
                by[k] = step
                step *= extents[k]
            ends.append((by, step))
        (here, _), (there, size) = ends
        loops = tuple(zip(extents, here, there, strict=True))
        found.append(StridedCopy(draw(st.integers(0, 200)), at, run, loops))
        at += size + draw(st.sampled_from((0, 0, 5)))
    return found


@given(copies(), st.sampled_from((1, 7, 64, 1000, 1 << 20)))
def test_pieces_carry_the_copies(given_copies: list[StridedCopy], most: int) -> None:
    source = np.random.default_rng(1).integers(1, 256, 200_000, np.uint8)
    expected, found = np.zeros(200_000, np.uint8), np.zeros(200_000, np.uint8)
    apply(given_copies, source, expected)
    total = 0
    for piece in pieces(given_copies, most):
        assert 0 < piece.nbytes <= most
        total += piece.nbytes
        message = np.zeros(piece.nbytes, np.uint8)
        apply(piece.pack, source, message)
        if piece.source is not None:
            assert np.array_equal(message, source[piece.source : piece.source + piece.nbytes])
        if piece.destination is not None:
            found[piece.destination : piece.destination + piece.nbytes] = message
        else:
            apply(copies_of(plain(piece.unpack)), message, found)
        direct = np.zeros(200_000, np.uint8)
        apply(piece.copies, source, direct)
        assert np.array_equal(direct[direct > 0], found[direct > 0])
    assert total == sum(copy.nbytes for copy in given_copies)
    assert np.array_equal(found, expected)


def test_a_pool_hands_out_each_piece_once(no_leaked_threads: None) -> None:
    made: list[np.ndarray] = []

    def make(nbytes: int) -> np.ndarray:
        made.append(np.zeros(nbytes, np.uint8))
        return made[-1]

    pool = PiecePool(make, most=2)
    first, second = pool.wait(lambda: None), pool.wait(lambda: None)
    assert first is not second and first.nbytes == PIECE
    got: list[np.ndarray] = []
    pool.take(got.append)
    assert not got
    pool.give(first)
    assert got[0] is first

    def cancelled() -> None:
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        pool.wait(cancelled)
    waiter = threading.Thread(target=lambda: got.append(pool.wait(lambda: None)))
    waiter.start()
    pool.give(second)
    waiter.join(120)
    assert got[1] is second and len(made) == 2
    pool.give(first)
    pool.give(second)
    assert {id(pool.wait(lambda: None)) for _ in range(2)} == {id(first), id(second)}, "the piece of the cancelled wait came back"


def test_a_pool_without_room_can_be_asked_again() -> None:
    answers = iter([RunError("no room"), np.zeros(PIECE, np.uint8)])

    def make(nbytes: int) -> np.ndarray:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    pool = PiecePool(make, most=1)
    with pytest.raises(RunError, match="no room"):
        pool.wait(lambda: None)
    assert pool.wait(lambda: None).nbytes == PIECE


@pytest.mark.parametrize("make", [own_bell, LocalBell])
def test_a_bell_wakes_its_owner(make: type[LocalBell], no_leaked_threads: None) -> None:
    bell = make()
    bell.ring()  # nobody sleeps: nothing happens
    assert bell.sleep(0.9, lambda: True), "there is work already"
    assert not bell.sleep(0.001, lambda: False)
    work: list[int] = []
    rounds, slept = 200, 0
    taken = threading.Semaphore(1)

    def ringer() -> None:
        for k in range(rounds):
            assert taken.acquire(timeout=250)
            work.append(k)
            bell.ring()

    thread = threading.Thread(target=ringer)
    thread.start()
    done = 0
    while done < rounds:
        slept += not bell.sleep(0.9, lambda: bool(work))
        if work:
            work.pop()
            done += 1
            taken.release()
    thread.join()
    assert slept <= rounds / 10, "no ring is lost: where one is, or the ringer gets no processor, it sleeps for 0.9 s"


def test_another_process_maps_a_window(windows: Windows) -> None:
    """A process of its own maps a window by its name in /proc."""
    array = windows.array(5 * MIB)
    place = windows.place(array)
    assert place is not None
    code = (
        "import sys; from isoviz.backends.mpi.windows import PeerWindows, Segment;"
        f"array = PeerWindows().array(Segment{tuple(place[0])!r}); array[12345] = 99; sys.exit(int(array[0]) - 42)"
    )
    array[0] = 42
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=250, env={**os.environ}).returncode == 0
    assert array[12345] == 99


def test_windows_with_pages_of_their_own_keep_bytes_and_addresses(windows: Windows) -> None:
    """Another process that has mapped them writes to pages that are no longer theirs."""
    array, small = windows.array(10 * MIB), windows.array(1000)
    peers = PeerWindows()
    place = windows.place(array)
    assert place is not None
    there = peers.array(place[0])
    array[:], small[:] = 3, 4
    address = array.__array_interface__["data"][0]
    windows.make_private()
    there[:] = 7
    assert (array == 3).all() and (small == 4).all() and array.__array_interface__["data"][0] == address
    array[::4096] = 5
    assert (there == 7).all() and windows.place(array) is None and windows.nbytes == 0
    assert windows.place(windows.array(1000)) is not None
    del there
